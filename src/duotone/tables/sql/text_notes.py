"""Notes on text: what a question reads as numbers, dates or Booleans though it is stored as text, and so takes for null where
it is none; and what it compares as text.

They depend on the question alone: how many are null is for the table's owner to see (`duotone.tables.inspection`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from duotone.model.notice import Notice
from duotone.tables.sql.comparison import ModeIs, ParsedQuestion, QuantileThreshold
from duotone.tables.sql.condition import Columns, Compare, IsNull, Kind, OneOf, Operand, Value, columns_read, parts_of
from duotone.tables.sql.functions import from_text
from duotone.tables.sql.functions.texts import ORDERED, iso_date, like_number
from duotone.tables.sql.question_tables import PeopleTable


def text_notes(
    asked: ParsedQuestion, columns: Columns, public: Mapping[str, Columns], also: Mapping[str, Columns]
) -> list[Notice]:
    """A notice for all that is read as numbers, one for all dates, one for all Booleans, one for each column of which texts
    are counted, and one for each that is compared as text. `columns` are the table's, the others those of other tables."""
    rows = [(asked.people or asked, columns), *((other.people, also[other.table]) for other in asked.beside)]
    parts: list[Any] = []
    compared: list[Notice] = []
    for one, own in rows:
        kinds = {**own, **{name: public[join.table][of] for join in one.joins for name, of in join.columns}}
        inside = list(
            parts_of((one.where, one.aggregates) if isinstance(one, PeopleTable) else (one.where, one.tree, one.keys))
        )
        compared += (note for part in inside for note in _compared_as_text(part, kinds))
        parts += inside
    operands = [part for part in parts if isinstance(part, Operand)]
    numbers, dates, flags = (_read_as(operands, kind) for kind in READ_AS)
    counted = [part for part in parts if isinstance(part, IsNull) and part.operand.kind == "untyped"]
    notes = [Notice("numbers from text", columns=numbers)] if numbers else []
    in_file = [name for name in dates if columns.get(name) == "untyped"]
    if in_file:
        notes.append(Notice("dates from a text file", columns=dates, first=in_file[0]))
    elif dates:
        notes.append(Notice("dates from text", columns=dates))
    if flags:
        notes.append(Notice("Booleans from text", columns=flags))
    held = {part.operand.column for part in parts if isinstance(part, Compare | OneOf) and part.operand.kind == "text"}
    columns_counted = dict.fromkeys(part.operand.column for part in counted)
    notes += (Notice("texts counted beside numbers", column=column) for column in columns_counted if column in numbers)
    notes += (Notice("texts counted", column=column) for column in columns_counted if column not in {*numbers, *held})
    return [*notes, *(note for i, note in enumerate(compared) if note not in compared[:i])]


READ_AS: tuple[Kind, ...] = ("float", "date", "boolean")


def _compared_as_text(part: Any, kinds: Columns) -> Iterator[Notice]:
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
        yield Notice("dates in the order of text", column=operand.column)
    elif sign in ORDERED:
        yield Notice("order of text", column=operand.column)
    elif operand.made is None and any(isinstance(text, str) and like_number(text) for text in texts):
        yield Notice("numbers equal as text", column=operand.column)


def _read_as(operands: Sequence[Operand], kind: Kind) -> tuple[str, ...]:
    tried = (
        operand.column for operand in operands if operand.kind == kind and (operand.reading == "try" or from_text(operand))
    )
    return tuple(dict.fromkeys(tried))
