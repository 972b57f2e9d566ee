"""Notes on text: what a question reads as numbers or dates though it is stored as text, and so takes for null where it is none.

They depend on the question alone: how many are null is for the table's owner to see (`duotone.tables.inspection`).
"""

from __future__ import annotations

from collections.abc import Sequence

from duotone.tables.sql.comparison import ParsedQuestion
from duotone.tables.sql.condition import IsNull, Kind, Operand, parts_of
from duotone.tables.sql.formulas.casts import FROM_TEXT


def text_notes(asked: ParsedQuestion) -> tuple[str, ...]:
    """A sentence for all that is read as numbers, one for all dates, and one for each column that is also counted as text."""
    people = [] if asked.people is None else [asked.people, *(other.people for other in asked.beside)]
    rows = tuple((one.where, one.aggregates) for one in people) or asked  # where columns are a table's own
    parts = list(parts_of(rows))
    operands = [part for part in parts if isinstance(part, Operand)]
    numbers, dates = _read_as(operands, "float"), _read_as(operands, "date")
    counted = [part.operand.column for part in parts if isinstance(part, IsNull) and part.operand.kind == "untyped"]
    notes = [
        f"{column} is text here: NA or n/a is a value like any other; write count({column}::double) to count numbers"
        for column in dict.fromkeys(counted)
        if column in numbers
    ]
    if dates:
        notes.insert(0, f"{_are(dates)} read from text as yyyy-mm-dd, without a time: what is no such date is null")
    if numbers:
        notes.insert(0, f"{_are(numbers)} read from text: what is no number is null; duotone inspect counts how many")
    return tuple(notes)


def _read_as(operands: Sequence[Operand], kind: Kind) -> list[str]:
    tried = (
        operand.column
        for operand in operands
        if operand.kind == kind and (operand.reading == "try" or (operand.made and operand.made.function == FROM_TEXT[kind]))
    )
    return list(dict.fromkeys(tried))


def _are(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last} are" if others else f"{last} is"
