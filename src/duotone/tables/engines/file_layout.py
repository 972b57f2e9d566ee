"""What is declared about how a file is read, where nothing but its rows could tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duotone.errors import DuotoneError
from duotone.model.dataset import Dataset

NOT_FOR_THIS = {
    "separator": "only a CSV file has a separator: leave it out",
    "json_columns": "only JSON lines need their columns named (json_columns): leave them out",
    "formats": "only CSV files and JSON lines have formats of dates: leave them out",
    "types": "only CSV files and JSON lines have types declared: leave them out",
}


def refuse(declared: Dataset, *keys: str) -> None:
    """Refuse what a file has no use for: left out silently, another question would be answered."""
    for key in keys:
        if getattr(declared, key):
            raise DuotoneError(NOT_FOR_THIS[key])


def refuse_all(declared: Dataset) -> None:
    """Refuse everything, where the table is no file of text."""
    refuse(declared, *NOT_FOR_THIS)


def stated(declared: Dataset) -> Mapping[str, Any]:
    """What changes how a column is read, and so the question: as a ledger records it."""
    separator = {} if declared.separator is None else {"separator": declared.separator}
    # keys of JSON differ by case, columns do not
    cased = sorted(name for name in declared.json_columns or () if name != name.lower())
    columns = {"columns": cased} if cased else {}
    by_column = {key: dict(own) for key, own in (("formats", declared.formats), ("types", declared.types)) if own}
    return {**separator, **columns, **by_column}
