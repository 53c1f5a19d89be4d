"""Keys that must not lie in the store: under local privacy, whoever reads the whole store must not undo an answer.

A key has a mark, which anybody may know (the trial's first event commits to it), and a file of its own, named after the
mark: beside the SQLite file, or in the folder that the environment variable BESTARM_KEYS names. A database server's
keys lie in that folder always. The file is its owner's alone from the first byte.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Final

from bestarm.errors import InputError, OperationError
from bestarm.files import OURS_ALONE

FOLDER: Final = "BESTARM_KEYS"
"""The environment variable that names the folder of keys."""


def mark_of(key: bytes) -> str:
    """What anybody may know of a key of 32 random bytes: enough to recognise it, not enough to guess it."""
    return hashlib.sha256(b"bestarm coin key\0" + key).hexdigest()


class Keys(ABC):
    """Where keys are kept that must not lie in the store."""

    @abstractmethod
    def keep(self, key: bytes) -> None:
        """Keep a new key; it is there for good, whatever happens to the machine, before this returns."""

    @abstractmethod
    def drop(self, mark: str) -> None:
        """Forget the key with this mark."""

    @abstractmethod
    def _found(self, mark: str) -> bytes | None:
        """What is kept for this mark, if anything."""

    def spoilt(self, mark: str) -> bool:
        """Whether something is kept for this mark that is not its key. A key may well be somewhere else."""
        key = self._found(mark)
        return key is not None and mark_of(key) != mark

    def find(self, mark: str) -> bytes:
        """The key with this mark."""
        key = self._found(mark)
        if key is None:
            raise OperationError(
                f"The key of this trial's coins is not there ({file_of(mark)}, beside the store or in the folder "
                f"{FOLDER}); without it no outcome can be recorded."
            )
        if mark_of(key) != mark:
            raise OperationError(
                f"The key of this trial's coins ({file_of(mark)}) is not the one it was created with; "
                "without it no outcome can be recorded."
            )
        return key


def file_of(mark: str) -> str:
    """The name of the file that holds the key with this mark."""
    return f"bestarm-{mark[:16]}.key"


class KeyFiles(Keys):
    """Keys as files in a folder, each as a line of hexadecimal digits."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, key: bytes) -> None:
        path = self._folder / file_of(mark_of(key))
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OURS_ALONE)
        except OSError as error:
            raise OperationError(
                f"The key of the trial's coins cannot be kept in {self._folder}: {error.strerror}."
            ) from error
        with os.fdopen(handle, "w", encoding="ascii") as out:
            out.write(key.hex() + "\n")
            out.flush()
            os.fsync(out.fileno())
        _sync(self._folder)

    def drop(self, mark: str) -> None:
        with suppress(OSError):
            (self._folder / file_of(mark)).unlink()

    def _found(self, mark: str) -> bytes | None:
        try:
            text = (self._folder / file_of(mark)).read_text(encoding="ascii")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError):
            return b""
        try:
            return bytes.fromhex(text)
        except ValueError:
            return b""


def _sync(folder: Path) -> None:
    # A new file is there for good once its folder is on disk too.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class KeysInMemory(Keys):
    """Keys that last as long as the process."""

    def __init__(self) -> None:
        self._keys: dict[str, bytes] = {}

    def keep(self, key: bytes) -> None:
        self._keys[mark_of(key)] = key

    def drop(self, mark: str) -> None:
        self._keys.pop(mark, None)

    def _found(self, mark: str) -> bytes | None:
        return self._keys.get(mark)


class NoFolder(Keys):
    """A database without a folder for its keys: nothing can be kept, and nothing is found."""

    def keep(self, key: bytes) -> None:
        raise InputError(
            f"Under local privacy the key of the coins must not lie in the database; set {FOLDER} to a folder for it."
        )

    def drop(self, mark: str) -> None:
        """There is none."""

    def _found(self, mark: str) -> bytes | None:
        return None


def keys_beside(folder: Path | None) -> Keys:
    """The keys of a store in this folder; None if the store is on a database server."""
    named = os.environ.get(FOLDER, "")
    if named:
        return KeyFiles(Path(named))
    return NoFolder() if folder is None else KeyFiles(folder)
