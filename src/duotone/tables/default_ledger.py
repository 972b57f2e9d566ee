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


def default_ledger(table: Any, *also: Any) -> DefaultLedger | None:
    """The ledger for a table, asked about alone or together with further ones, as somebody names it; None where nothing says.
    No data is read.

    The file counts before the variable: it belongs to the data, and the variable to whoever asks.
    """
    files = list(dict.fromkeys(file for each in (table, *also) if (file := _file_beside(each)) is not None))
    if files:
        first, *others = map(_written, files)
        for other in others:
            if _same_place(other) != _same_place(first):
                raise DuotoneError(
                    f"{first.said_by} and {other.said_by} name different ledgers for tables that are asked about together:"
                    " say which one is charged"
                )
        return first
    place = os.environ.get(VARIABLE, "")
    return DefaultLedger(place, None, VARIABLE) if place else None


def _same_place(default: DefaultLedger) -> str:
    return default.place if "://" in default.place else os.path.realpath(default.place)


def _file_beside(table: Any) -> Path | None:
    """The one file beside a table, if there is any."""
    try:
        files = list(dict.fromkeys(file for folder in _folders(table) if _is_there(file := folder / FILE)))
    except OSError as error:
        raise DuotoneError(f"cannot look for a {FILE} beside the data: {error.strerror}") from None
    if len(files) > 1:
        raise DuotoneError(f"there is more than one {FILE} beside the data: {' and '.join(map(str, files))}; keep one of them")
    return files[0] if files else None


def _is_there(file: Path) -> bool:
    """Whether anything has this name, a broken link and a folder among them: what cannot be read is not forgotten."""
    try:
        file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


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
    if place.startswith("~"):
        raise DuotoneError(f"{file}: {place} would be another ledger for each who asks: write the path from this folder on")
    if not (dataset is None or (isinstance(dataset, str) and dataset)):
        raise DuotoneError(f"{file}: dataset must be a name")
    return DefaultLedger(place if "://" in place else str(file.parent / place), dataset, str(file))
