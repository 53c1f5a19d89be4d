"""Text as it can be kept and sent."""

from __future__ import annotations


def is_text(text: str) -> bool:
    """Whether this can be written as UTF-8; half of a surrogate pair, which JSON can spell, cannot."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)
