"""What a question is called in a ledger: in a form in which the same looks the same, of which dataset, and about whom. Where
nobody says which dataset a table is, a file's is called as the file is, without its ending."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from duotone.errors import DuotoneError, LedgerError
from duotone.ledger.ledger import Ledger
from duotone.model.dataset import Dataset
from duotone.model.notice import Notice, Refusal
from duotone.tables.declared import Key
from duotone.tables.engines import Source
from duotone.tables.sql.names import ENDINGS

LISTED = 10
"""The datasets that an error names, at most."""


class About(TypedDict):
    """Whom a question is about."""

    unit: str
    neighbours: str


def normal_form(text: str, declared: Dataset, most: int, listed: tuple[Key, ...] | None, stated: Mapping[str, Any]) -> str:
    """A question's text with everything declared that can change its answer."""
    bounds = {c: [str(b.low), str(b.high), b.grid and str(b.grid)] for c, b in declared.bounds.items()}
    everything = {
        "bounds": bounds,
        "max_rows": declared.max_rows,
        "per_unit": declared.per_unit,
        "max_groups": most,
        "listed": listed,
        **stated,
    }
    stands = {name: value for name, value in everything.items() if value and value != 1}
    return f"{text} WITH {json.dumps(stands, sort_keys=True)}" if stands else text


@dataclass(frozen=True)
class Bill:
    """A question as a ledger knows it: the dataset, the question's text, and whom it is about."""

    dataset: str
    question: str
    about: About


def bill(normal: str, declared: Dataset, source: Source, dataset: str | None, *, together: bool) -> Bill:
    """What a ledger is given; `together` where the question joins private tables."""
    if declared.person == "row":
        raise DuotoneError("in a ledger, row means that each row is a person: rename the column that names a person")
    if dataset is None and together:
        raise Refusal("dataset missing of joined tables")
    if dataset is None and not source.named:
        raise DuotoneError("a data frame has no name: say which dataset of the ledger it is")
    about: About = {"unit": declared.person or "row", "neighbours": declared.neighbours}
    own = source.identity or (source.name if source.named else None)  # a data frame has none, so that no file is taken for it
    tables = [*([] if own is None else [own]), *source.beside]
    end = f" OF {' AND '.join(tables)}" if tables else ""
    return Bill(source.name if dataset is None else dataset, f"{normal}{end}", about)


def own_names(source: Source) -> tuple[str, ...]:
    """What a table may be registered as: a file without its ending, or with it, as it was first; any other by its name."""
    ending = next((ending for ending in ENDINGS if source.name.lower().endswith(ending)), "")
    in_a_file = source.named and source.engine.can.embedded and source.sibling is None
    if not (in_a_file and ending and len(ending) < len(source.name)):
        return (source.name,)
    return source.name[: -len(ending)], source.name


def dataset_of(source: Source, ledger: Ledger) -> str:
    """The dataset that a table is by its name. Only one that is registered is taken, so that no name opens a second budget."""
    names, registered = own_names(source), ledger.datasets()
    known = [name for name in names if name in registered]
    if len(known) > 1:
        raise Refusal("two datasets of a table", datasets=" and ".join(known))
    if known:
        return known[0]
    if not registered:
        raise LedgerError(Notice("table not registered", dataset=names[0]))
    raise LedgerError(Notice("table not registered among others", dataset=names[0], others=", ".join(registered[:LISTED])))
