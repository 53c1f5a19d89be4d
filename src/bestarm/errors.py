"""Everything that can go wrong, as one tree. Each message is one plain sentence: what is wrong, and what is allowed."""

from __future__ import annotations


class BestArmError(Exception):
    """Anything `bestarm` raises on purpose derives from this."""


class InputError(BestArmError, ValueError):
    """The caller's input cannot be used; the message says what is wrong and what is allowed (exit status 2)."""


class OperationError(BestArmError, RuntimeError):
    """The input is fine, but what it asks for could not be done (exit status 1)."""


class NoSuchTrial(InputError):
    """There is no trial of this name, or no longer the one that was meant."""
