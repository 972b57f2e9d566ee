"""Billing: which ledger and which dataset a question is charged to, and the question's name in the ledger.

Equal questions about the same dataset and the same unit get the same normal form. Without a dataset's name, a file's
name without its ending is used. The ledger is named by `duotone.toml` beside the data, else by DUOTONE_LEDGER, so that
nobody forgets it.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from duotone.errors import DuotoneError, LedgerError
from duotone.ledger.accounts import Account
from duotone.ledger.ledger import Ledger, opened_ledger
from duotone.line.three_way import ThreeWay
from duotone.model.answer import Key
from duotone.model.dataset import Dataset
from duotone.model.notice import Notice, Refusal
from duotone.tables.engines.engine import Source
from duotone.tables.engines.open import files_of, is_local
from duotone.tables.sql.syntax import ENDINGS

LISTED = 10
"""Most datasets that an error names."""


class About(TypedDict):
    """The unit and neighbours of a question."""

    unit: str
    neighbours: str


def normal_form(text: str, declared: Dataset, most: int, listed: tuple[Key, ...] | None, stated: Mapping[str, Any]) -> str:
    """A question's text with every declaration that can change its answer."""
    bounds = {c: [str(b.low), str(b.high), b.grid and str(b.grid)] for c, b in declared.bounds.items()}
    everything = {
        "bounds": bounds,
        "max_rows": declared.max_rows,
        "per_unit": declared.per_unit,
        "max_groups": most,
        "at_least": declared.at_least,
        "listed": listed,
        **stated,
    }
    stands = {name: value for name, value in everything.items() if value and value != 1}
    return f"{text} WITH {json.dumps(stands, sort_keys=True)}" if stands else text


@dataclass(frozen=True)
class Bill:
    """A question as a ledger knows it: the dataset, the question's normal forms, its unit and neighbours."""

    dataset: str
    question: tuple[str, ...]
    about: About


def bill(forms: tuple[str, ...], declared: Dataset, source: Source, dataset: str | None, *, together: bool) -> Bill:
    """The bill for a ledger; `together` if the question joins private tables."""
    if declared.person == "row":
        raise DuotoneError("in a ledger, row means that each row is a person: rename the column that names a person")
    if dataset is None and together:
        raise Refusal("dataset missing of joined tables")
    about: About = {"unit": declared.person or "row", "neighbours": declared.neighbours}
    own = source.identity or (source.name if source.named else None)  # a data frame has none, so that no file is taken for it
    tables = [*([] if own is None else [own]), *source.beside]
    end = f" OF {' AND '.join(tables)}" if tables else ""
    return Bill(source.name if dataset is None else dataset, tuple(f"{form}{end}" for form in forms), about)


def own_names(source: Source) -> tuple[str, ...]:
    """Possible registered names of a table: a file's name without or with its ending; otherwise the table's name."""
    ending = next((ending for ending in ENDINGS if source.name.lower().endswith(ending)), "")
    in_a_file = source.named and source.engine.can.embedded and source.sibling is None
    if not (in_a_file and ending and len(ending) < len(source.name)):
        return (source.name,)
    return source.name[: -len(ending)], source.name


def dataset_of(source: Source, ledger: Ledger) -> str:
    """The dataset of a table, by its name; of a data frame, which has none, the only one. It must be registered, so that no
    name opens a second budget."""
    names, registered = own_names(source), ledger.datasets()
    if not source.named:
        if len(registered) == 1:
            return registered[0]
        raise Refusal("dataset missing of a data frame", datasets=", ".join(registered[:LISTED]) or "none")
    known = [name for name in names if name in registered]
    if len(known) > 1:
        raise Refusal("two datasets of a table", datasets=" and ".join(known))
    if known:
        return known[0]
    if not registered:
        raise LedgerError(Notice("table not registered", dataset=names[0]))
    raise LedgerError(Notice("table not registered among others", dataset=names[0], others=", ".join(registered[:LISTED])))


def datasets_for(ledger: Ledger, source: Any, table: str | None, dataset: str | None) -> list[str]:
    """The datasets that a table may be charged to, before it is opened: the named one; or those with its name; or all of
    the ledger."""
    place = Path(source) if isinstance(source, str | Path) else Path()
    every = ledger.datasets()
    own = [known for known in every if known in {table, place.name, place.stem}]
    return [dataset] if dataset is not None else own or every


def account_in(ledger: Ledger | str | Path, declared: Dataset, dataset: str | None) -> Account | None:
    """The account of the dataset that a table will be charged to; None if the ledger has no dataset."""
    with opened_ledger(ledger) as opened:
        known = datasets_for(opened, declared.source, declared.table, dataset)
        accounts = {opened.stands(name).registered.account for name in known}
    if len(accounts) > 1:
        raise Refusal("several accounts")
    return next(iter(accounts), None)


def asked_with(ledger: Ledger, declared: Dataset, dataset: str | None) -> ThreeWay | None:
    """How the dataset of a table is asked, if its close calls are counted: all that it may be are asked alike."""
    calls = [ledger.close_calls(name) for name in datasets_for(ledger, declared.source, declared.table, dataset)]
    questions = {None if called is None else called.question for called in calls}
    if len(questions) > 1:
        raise Refusal("asked in different ways")
    return next(iter(questions), None)


FILE, VARIABLE = "duotone.toml", "DUOTONE_LEDGER"


@dataclass(frozen=True)
class DefaultLedger:
    """Where the ledger is, which dataset of it the data is (None: by its name), and the source of this setting."""

    place: str
    dataset: str | None
    said_by: str


def default_ledger(table: Any, *also: Any) -> DefaultLedger | None:
    """The default ledger for a table, alone or with further ones; None if none is set. Reads no data.

    The file takes precedence over the variable: it belongs to the data, the variable to the asker.
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
    """The one settings file beside a table, if any."""
    try:
        files = list(dict.fromkeys(file for folder in _folders(table) if _is_there(file := folder / FILE)))
    except OSError as error:
        raise DuotoneError(f"cannot look for a {FILE} beside the data: {error.strerror}") from None
    if len(files) > 1:
        raise DuotoneError(f"there is more than one {FILE} beside the data: {' and '.join(map(str, files))}; keep one of them")
    return files[0] if files else None


def _is_there(file: Path) -> bool:
    """Whether this name exists, even as a broken link or a folder: an unreadable file must not be ignored."""
    try:
        file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _folders(table: Any) -> Iterator[Path]:
    """The folders of a table's files, and of the files that links point to; for a folder of files, its parent too."""
    if not is_local(table):
        return
    for file in files_of(table):
        yield from (file.absolute().parent.resolve(), file.resolve().parent)
    if isinstance(table, str | Path) and Path(table).is_dir():
        yield from (Path(table).resolve(), Path(table).absolute().parent.resolve(), Path(table).resolve().parent)


def _written(file: Path) -> DefaultLedger:
    """The settings in the file; unknown keys are refused, since a misspelt word would be a forgotten ledger."""
    try:
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise DuotoneError(f'{file} cannot be read: it must be TOML, as ledger = "budget.ledger"') from None
    unknown = settings.keys() - {"ledger", "dataset"}
    if unknown:
        raise DuotoneError(f"{file} may set ledger and dataset, got {', '.join(sorted(unknown))}")
    place, dataset = settings.get("ledger"), settings.get("dataset")
    if not (isinstance(place, str) and place):
        raise DuotoneError(f'{file} must name a ledger, as ledger = "budget.ledger"')
    if place.startswith("~"):
        raise DuotoneError(f"{file}: {place} would be another ledger for each who asks: write the path from this folder on")
    if not (dataset is None or (isinstance(dataset, str) and dataset)):
        raise DuotoneError(f"{file}: dataset must be a name")
    return DefaultLedger(place if "://" in place else str(file.parent / place), dataset, str(file))
