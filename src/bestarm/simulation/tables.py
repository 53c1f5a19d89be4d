"""Long tables as files: Parquet with notes in its metadata, CSV with the same notes as columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bestarm.errors import InputError
from bestarm.files import replacing

if TYPE_CHECKING:
    import pandas as pd

PREFIX = "bestarm."


def write_table(frame: pd.DataFrame, path: Path, notes: Mapping[str, Any]) -> None:
    """Write the table whole or not at all; the ending of the file's name says how."""
    if path.suffix == ".parquet":
        _write_parquet(frame, path, notes)
    elif path.suffix == ".csv":
        with replacing(path) as temporary:
            frame.assign(**{key: _text(value) for key, value in notes.items()}).to_csv(temporary, index=False)
    else:
        raise InputError(f"A table cannot be written to {path.name}; its name must end in .parquet or .csv.")


def _write_parquet(frame: pd.DataFrame, path: Path, notes: Mapping[str, Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(frame, preserve_index=False)
    named = {f"{PREFIX}{key}": _text(value) for key, value in notes.items()}
    with replacing(path) as temporary:
        pq.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), **named}), temporary)


def read_table(path: Path) -> tuple[pd.DataFrame, dict[str, str]]:
    """A Parquet table and its notes."""
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not a table of results; move it away or choose another folder.") from error
    metadata = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    notes = {key.removeprefix(PREFIX): value for key, value in metadata.items() if key.startswith(PREFIX)}
    frame: pd.DataFrame = table.to_pandas()
    return frame, notes


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
