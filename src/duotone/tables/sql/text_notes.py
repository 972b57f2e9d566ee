"""Notes on text: what a question reads as numbers, dates or Booleans though it is stored as text, and so takes for null where
it is none; and what it compares as text.

They depend on the question alone: how many are null is for the table's owner to see (`duotone.tables.inspection`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from duotone.tables.sql.comparison import ModeIs, ParsedQuestion, QuantileThreshold
from duotone.tables.sql.condition import Columns, Compare, IsNull, Kind, OneOf, Operand, Value, columns_read, parts_of
from duotone.tables.sql.functions import from_text
from duotone.tables.sql.functions.texts import ORDERED, iso_date, like_number
from duotone.tables.sql.names import in_python
from duotone.tables.sql.question_tables import PeopleTable


def text_notes(
    asked: ParsedQuestion, columns: Columns, public: Mapping[str, Columns], also: Mapping[str, Columns]
) -> list[str]:
    """A sentence for all that is read as numbers, one for all dates, one for all Booleans, one for each column of which texts
    are counted, and one for each that is compared as text. `columns` are the table's, the others those of other tables."""
    rows = [(asked.people or asked, columns), *((other.people, also[other.table]) for other in asked.beside)]
    parts: list[Any] = []
    compared: list[str] = []
    for one, own in rows:
        kinds = {**own, **{name: public[join.table][of] for join in one.joins for name, of in join.columns}}
        inside = list(
            parts_of((one.where, one.aggregates) if isinstance(one, PeopleTable) else (one.where, one.tree, one.keys))
        )
        compared += (note for part in inside for note in _compared_as_text(part, kinds))
        parts += inside
    operands = [part for part in parts if isinstance(part, Operand)]
    numbers, dates, flags = (_read_as(operands, kind) for kind in READ)
    counted = [part.operand.column for part in parts if isinstance(part, IsNull) and part.operand.kind == "untyped"]
    in_file = [name for name in dates if columns.get(name) == "untyped"][:1]
    how = {**READ, "date": READ["date"] + "".join(OTHERWISE.format(in_python(name)) for name in in_file)}
    notes = [f"{_are(names)} {said}" for names, said in zip((numbers, dates, flags), how.values(), strict=True) if names]
    held = {part.operand.column for part in parts if isinstance(part, Compare | OneOf) and part.operand.kind == "text"}
    notes += (COUNTED.format(column) for column in dict.fromkeys(counted) if column in numbers)
    notes += (THERE.format(column) for column in dict.fromkeys(counted) if column not in {*numbers, *held})
    return [*notes, *dict.fromkeys(compared)]


READ: Mapping[Kind, str] = {
    "float": "read from text: what is no number is null; duotone inspect counts how many",
    "date": "read from text as yyyy-mm-dd, and a time after the date is left out: what is no such date is null",
    "boolean": "read from text: true, t, yes, y and 1 are true, false, f, no, n and 0 false, and what is else is null",
}
OTHERWISE = ', and duotone inspect counts how many; if dates are written otherwise, say how (formats={{{}: "%d/%m/%Y"}})'
"""Of a text file's column that is read as dates."""

COUNTED = "{0} is text here: NA or n/a is a value like any other; write count({0}::double) to count numbers"
THERE = (
    "{0} is text here, null only where nothing is written: NA is a value like any other; write {0} <> 'NA' to leave it out, or "
    "count({0}::double) to count numbers"
)
"""Of a text file's column that is only asked whether it is there; who compares it with a text knows that it holds texts."""


def _compared_as_text(part: Any, kinds: Columns) -> Iterator[str]:
    """What to know where a text file's column is put in the order of text, or held against a number in quotes."""
    match part:
        case Compare(operand, sign, str(text)) | QuantileThreshold(operand, _, sign, str(text)):
            texts: tuple[Value, ...] = (text,)
        case OneOf(operand, texts):
            sign = "="
        case ModeIs(operand, _, winner):
            sign, texts = "=", (winner,)
        case _:
            return
    if operand.kind != "text" or not any(kinds.get(column) == "untyped" for column in columns_read(operand)):
        return
    if sign in ORDERED and any(isinstance(text, str) and iso_date(text) for text in texts):
        yield (
            f"{operand.column} is compared as text, letter by letter, which is the order of dates only where all are written "
            "as 2025-12-31: write date before the constant to compare dates"
        )
    elif sign in ORDERED:
        yield f"{operand.column} is compared as text, letter by letter"
    elif operand.made is None and any(isinstance(text, str) and like_number(text) for text in texts):
        yield f"{operand.column} is compared as text, of which 10 and 10.0 are two: leave out the quotes to compare numbers"


def _read_as(operands: Sequence[Operand], kind: Kind) -> list[str]:
    tried = (
        operand.column for operand in operands if operand.kind == kind and (operand.reading == "try" or from_text(operand))
    )
    return list(dict.fromkeys(tried))


def _are(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last} are" if others else f"{last} is"
