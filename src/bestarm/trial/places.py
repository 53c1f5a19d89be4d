"""Where trials are, before one of them is opened: the store, its names, and what creating one there would freeze."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bestarm.design import DEFAULT_ALGORITHM, Design, resolve
from bestarm.errors import InputError
from bestarm.storage import open_store
from bestarm.storage.contract import Store
from bestarm.trial import identity
from bestarm.trial.fold import Rules


def rehearse(store: str | Path | Store, *, name: str, **given: Any) -> Design:
    """The design that `Trial.create` would freeze, with everything checked and nothing written."""
    design = Design.make(**given)
    identity.check_name(name)
    Rules.of(design, resolve(given.get("algorithm", DEFAULT_ALGORITHM)))
    there = isinstance(store, Store) or "://" in str(store) or Path(store).exists()
    if there and name in trial_names(store):
        raise InputError("There is already a trial of this name; choose another one.")
    return design


def trial_names(store: str | Path | Store) -> list[str]:
    """The names of the trials in a store."""
    with opened(store) as place:
        names = place.names()
        if place is not store:
            place.close()
        return names


@contextmanager
def opened(store: str | Path | Store, create: bool = False) -> Iterator[Store]:
    """The store; one that was opened here is let go again when what follows fails."""
    place = open_store(store, create)
    try:
        yield place
    except BaseException:
        if place is not store:
            place.close()
        raise
