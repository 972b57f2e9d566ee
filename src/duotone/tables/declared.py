"""What is declared with a question: who a person is, how much one may count for, and which groups there are."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError, UnknownColumn
from duotone.model.notice import Notice, Refusal, why
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given
from duotone.questions.protocol import Neighbours, check_neighbours
from duotone.tables.engines import Source
from duotone.tables.engines.files import maybe_secret
from duotone.tables.engines.person_columns import Reduction
from duotone.tables.sql.condition import Kind
from duotone.tables.sql.names import unknown_in
from duotone.tables.sql.read_question import value_name
from duotone.tables.sql.scoring import Bounds

Key = tuple[Any, ...]
MOST = 2**31
"""Rows or groups of one person, at most."""


class Unused(DuotoneError):
    """What is declared and is of no use to a question: `options` by name, or the bounds of `value`. Of several questions, for
    which all is declared once, another one must have a use for it."""

    def __init__(self, said: Notice | str, *options: str, value: str | None = None) -> None:
        self.options, self.value = options, value
        super().__init__(said)

    def without(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The others of what is declared."""
        others = {name: option for name, option in options.items() if name not in self.options}
        if self.value is not None:
            others["bounds"] = {name: limits for name, limits in options["bounds"].items() if name != self.value}
        return others


@dataclass(frozen=True)
class Declared:
    """What is declared about people: which column names a person, how much one may count for, and who neighbours are.

    It refuses what is wrong with itself; `of` holds it against a table.
    """

    unit: str | None = None
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    max_rows: int | None = None
    per_unit: Reduction | None = None
    neighbours: Neighbours = "add-remove"
    made_by: str | None = None
    """The unit, where an inner select has made one row of each person: then each row is a person, and `unit` is None."""

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        if self.max_rows is not None and (type(self.max_rows) is not int or not 1 <= self.max_rows < MOST):
            raise DuotoneError(
                f"the rows of one person that count must be a whole number from 1 to {MOST - 1}, got {self.max_rows}"
            )
        if self.per_unit not in (None, "avg", "sum", "min", "max"):
            raise DuotoneError(f"a person's rows are reduced by avg, sum, min or max, got {self.per_unit}")
        if not isinstance(self.unit, str | None):
            raise DuotoneError(f"the unit is the name of one column, got {type(self.unit).__name__}")
        if self.unit is None and not (self.max_rows is None and self.per_unit is None):
            raise DuotoneError("without a unit each row is a person: name the column that tells persons apart")

    @property
    def person(self) -> str | None:
        """The column that names a person; None where each row is one."""
        return self.unit or self.made_by

    @property
    def replaced(self) -> bool:
        """Whether neighbours differ by one person's data."""
        return self.neighbours == "replace"

    def one_row_each(self) -> Declared:
        """The same, where an inner select has made one row of each person."""
        if not (self.max_rows is None and self.per_unit is None):
            raise Unused(Notice("max_rows and per_unit unused"), "max_rows", "per_unit")
        return replace(self, unit=None, made_by=self.unit)

    def of(self, source: Source) -> Declared:
        """The same, with the unit as the table calls it; refuses one that cannot name a person."""
        if self.unit is None:
            return self
        source.require_key(self.unit, "a person's name")
        return replace(self, unit=source.named_column(self.unit))


@dataclass(frozen=True)
class GroupLists:
    """Public lists of groups, by the columns that groups are by: a question has the one that fits it, if there is one."""

    by: Mapping[tuple[str, ...], Sequence[Any]]

    def of(self, columns: tuple[str, ...]) -> Sequence[Any] | None:
        """The list for groups by these columns; None where there is none."""
        return self.by.get(columns) if columns else None


def budget_of(privacy: object, epsilon: Given | None, delta: Given | None) -> ApproxDP:
    """The budget of a question: a definition, or ε and δ, of which a float means the decimal that it is written as."""
    if privacy is None and epsilon is None:
        raise DuotoneError('say how private the answer must be: epsilon=1, delta=1e-6, or a definition as ApproxDP(1, "1e-6")')
    if privacy is None:
        return ApproxDP(_as_written(epsilon), 0 if delta is None else _as_written(delta))
    if not isinstance(privacy, ApproxDP):
        said = f"write epsilon={privacy}" if isinstance(privacy, int | float | str) else f"got {type(privacy).__name__}"
        raise DuotoneError(f'a budget is epsilon=1, delta=1e-6, or an ApproxDP, as ApproxDP(1, "1e-6"): {said}')
    if not (epsilon is None and delta is None):
        raise DuotoneError("there are two budgets: give a definition, or epsilon and delta")
    return privacy


def _as_written(given: Any) -> Any:
    return str(given) if isinstance(given, float) else given


def column_bounds(bounds: object, columns: Mapping[str, Kind], about: str = "the table") -> Mapping[str, Bounds]:
    """Bounds as they may be written, by column, or by what a question computes: {"price * amount": (0, 100)}; `about` is
    what has the columns, for errors."""
    if not (isinstance(bounds, Mapping) and all(isinstance(name, str) for name in bounds)):
        raise DuotoneError("bounds are {column: (low, high)} or {column: (low, high, grid)}")
    named = {_value_name(name, columns, about): limits for name, limits in bounds.items()}
    if len(named) != len(bounds):
        raise DuotoneError("two of the bounds are of the same values: give one pair for each")
    return {name: limits if isinstance(limits, Bounds) else _bounds(name, limits) for name, limits in named.items()}


def _value_name(name: str, columns: Mapping[str, Kind], about: str) -> str:
    try:
        with unknown_in(about):
            return value_name(name, columns)
    except UnknownColumn as error:
        raise Unused(why(error), value=name) from None


def _bounds(column: str, limits: Any) -> Bounds:
    if not isinstance(limits, list | tuple) or len(limits) not in (2, 3):
        raise DuotoneError(f"the bounds of {column} must be (low, high) or (low, high, grid)")
    return Bounds.of(*limits)


def groups_each(by: tuple[str, ...], declared: Declared, most: int | None, listed: tuple[Key, ...] | None = None) -> int:
    """In how many groups a person counts at most. It must be said, unless nobody can be in two that are asked about."""
    unit = declared.unit
    if most is not None and (type(most) is not int or not 1 <= most < MOST):
        raise DuotoneError(f"the number of groups a person may be in must be a whole number from 1 to {MOST - 1}, got {most}")
    if declared.made_by is not None and most not in (None, 1):
        raise Refusal("max_groups unused")
    if unit is None and most not in (None, 1):
        raise DuotoneError("without a unit each row is a person, in one group: name the unit")
    if not by or unit is None or (most is None and listed is not None and len(listed) == 1):
        return 1
    if most is None:
        raise Refusal("max_groups missing", unit=unit)
    return most


def public_groups(
    source: Source, by: tuple[str, ...], unit: str | None, groups: Sequence[Any] | None = None
) -> tuple[Key, ...] | None:
    """The keys of a public list as they come back from the engine, None without one; refuses what no group can be named by."""
    for column in by:
        source.require_key(column, "grouped by")
    if unit in by:
        raise DuotoneError("the unit cannot be a key too: its groups would be persons")
    if groups is None:
        return None
    if not by:
        raise DuotoneError("a list of groups is for a question with group by")
    if isinstance(groups, str | bytes | Mapping) or hasattr(groups, "columns"):  # iterating goes over letters or names
        raise DuotoneError("groups are a list of values, as list(frame.column), or the Path of a file with one in each line")
    if len(by) == 1:  # where there is one column, its values by themselves are understood
        groups = [key if isinstance(key, list | tuple) else (key,) for key in groups]
    if not all(isinstance(key, list | tuple) for key in groups):
        raise DuotoneError("a list of groups has a list or tuple of values for each")
    listed = tuple(tuple(key) for key in groups)
    if not listed or any(len(key) != len(by) for key in listed):
        raise DuotoneError(f"the list of groups must have a value for {', '.join(by)} in each line")
    keys = tuple(tuple(_key(value, source.columns[c]) for value, c in zip(key, by, strict=True)) for key in listed)
    if len({tuple(map(str, key)) for key in keys}) != len(keys):  # as they are read: true and TRUE are one
        raise DuotoneError("the list of groups must have no line twice")
    return keys


def groups_in(path: Path, by: tuple[str, ...], labels: tuple[str, ...]) -> tuple[list[list[str]], tuple[Notice, ...]]:
    """The public list of groups in a CSV file, one in each line, and what to know about it: a first line that has the names
    of the columns, or what the question calls them, is no group."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error):
        named = "the list of groups (its name is not shown, since a password may be in it)" if maybe_secret(path) else path
        raise DuotoneError(f"{named} cannot be read: it must be a CSV file in UTF-8 with one group in each line") from None
    first = [name.strip().lower() for name in lines[0]] if lines else []
    names = [[name.lower() for name in known] for known in (by, labels)]
    if first and first in names:
        return lines[1:], (Notice("group names in the first line", file=path.name),)
    if first and sorted(first) in map(sorted, names):
        raise DuotoneError(
            f"{path} has the columns {', '.join(first)}, and groups are by {', '.join(by)}: put them in this order"
        )
    return lines, ()


def _key(value: Any, kind: Kind) -> Any:
    """A listed key as it comes back from the engine, or an error: one that is written otherwise would match nobody."""
    written = str(value)
    match kind:
        case "integer":
            fits, value = re.fullmatch(r"-?[1-9][0-9]*|0", written) is not None, value
            value = int(written) if fits else value
        case "boolean":
            fits, value = written.lower() in ("true", "false"), written.lower()
        case "date":
            fits = re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", written) is not None
            value = written
        case _:
            fits = isinstance(value, str) and "\0" not in value and not any("\ud800" <= c <= "\udfff" for c in value)
    if not fits:
        what = "text, as a text file's columns are" if kind == "untyped" else f"{kind} value"
        raise DuotoneError(f"the list of groups has a key that is no {what}: {written}")
    return value
