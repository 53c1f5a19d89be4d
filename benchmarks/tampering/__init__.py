"""Edits of stored trials and of public exports, each followed by `verify`."""
