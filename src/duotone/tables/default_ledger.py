"""A ledger by default, so that nobody forgets it: what `duotone.toml` beside the data says, else what DUOTONE_LEDGER says."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError
from duotone.tables.engines.files import files_of
from duotone.tables.engines.open import is_local

FILE, VARIABLE = "duotone.toml", "DUOTONE_LEDGER"


@dataclass(frozen=True)
class DefaultLedger:
    """Where the ledger is, which dataset of it the data is (None: by its name), and what says so."""

    place: str
    dataset: str | None
    said_by: str


def default_ledger(table: Any) -> DefaultLedger | None:
    """The ledger for a table, as somebody names it; None where nothing says. No data is read.

    The file counts before the variable: it belongs to the data, and the variable to whoever asks.
    """
    try:
        files = list(dict.fromkeys(file for folder in _folders(table) if (file := folder / FILE).is_file()))
    except OSError as error:
        raise DuotoneError(f"cannot look for a {FILE} beside the data: {error.strerror}") from None
    if len(files) > 1:
        raise DuotoneError(f"there is more than one {FILE} beside the data: {' and '.join(map(str, files))}; keep one of them")
    if files:
        return _written(files[0])
    place = os.environ.get(VARIABLE, "")
    return DefaultLedger(place, None, VARIABLE) if place else None


def _folders(table: Any) -> Iterator[Path]:
    """The folders of a table's files, also where they are links; and that of a folder of them."""
    if not is_local(table):
        return
    for file in files_of(table):
        yield from (file.absolute().parent.resolve(), file.resolve().parent)
    if isinstance(table, str | Path) and Path(table).is_dir():
        yield from (Path(table).resolve(), Path(table).absolute().parent.resolve(), Path(table).resolve().parent)


def _written(file: Path) -> DefaultLedger:
    """What the file says; anything else in it is refused, since a misspelt word would be a ledger forgotten."""
    try:
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise DuotoneError(f'{file} cannot be read: it must be TOML, as ledger = "budget.ledger"') from None
    unknown = settings.keys() - {"ledger", "dataset"}
    if unknown:
        raise DuotoneError(f"{file} may say ledger and dataset, got {', '.join(sorted(unknown))}")
    place, dataset = settings.get("ledger"), settings.get("dataset")
    if not (isinstance(place, str) and place):
        raise DuotoneError(f'{file} must name a ledger, as ledger = "budget.ledger"')
    if not (dataset is None or (isinstance(dataset, str) and dataset)):
        raise DuotoneError(f"{file}: dataset must be a name")
    return DefaultLedger(place if "://" in place else str(file.parent / place), dataset, str(file))
