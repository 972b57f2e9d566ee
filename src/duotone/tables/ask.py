"""Asking: a question about a table, checked without reading any row, then answered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack

from duotone.errors import DuotoneError
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given
from duotone.questions.protocol import Neighbours, check_neighbours
from duotone.tables.comparisons import Declared
from duotone.tables.engine_conformance import require_trial
from duotone.tables.engines import Source, open_source
from duotone.tables.engines.person_columns import Reduction
from duotone.tables.engines.source import closed_on_error
from duotone.tables.prepared import Answers, Key, Prepared, prepared_question, prepared_selection
from duotone.tables.sql.condition import Kind
from duotone.tables.sql.read_question import read_question
from duotone.tables.sql.scoring import Bounds

TRIAL = ApproxDP(1, "1e-6")
"""What engines are tried with."""
MOST = 2**31
"""Rows or groups of one person, at most."""


class Options(TypedDict, total=False):
    """What may be declared with a question.

    `unit` names the column that tells persons apart: all rows of a person count as one, as at most `max_rows` rows, or by
    one value, reduced by `per_unit`. Without it each row is a person. Values that are added up need `bounds`: {column: (low,
    high)} or (low, high, grid). `groups` is a public list of keys; without it groups are selected privately. A person counts
    in at most `max_groups` of them. `name` is the table of a database.
    """

    unit: str | None
    bounds: Mapping[str, Sequence[Given] | Bounds] | None
    neighbours: Neighbours
    max_rows: int
    per_unit: Reduction | None
    groups: Sequence[Sequence[Any]] | None
    max_groups: int
    name: str | None


def ask(table: Any, question: str, privacy: ApproxDP, **options: Unpack[Options]) -> Answers:
    """A private answer to a yes/no question about a table: a file, a data frame, or an open `Source`.

    The question is SQL: one Boolean expression over aggregates, or a select with one, with where and group by. What may be
    declared with it stands in `Options`.

    Guarantee: the answers together satisfy `privacy` between tables that differ in one person, as `neighbours` says.

    >>> import pyarrow as pa
    >>> votes = pa.table({"vote": ["Y"] * 868 + ["N"] * 700})
    >>> question = "count(*) filter (where vote = 'Y') > count(*) filter (where vote = 'N')"
    >>> print(ask(votes, question, ApproxDP(1, "1e-6")))
    yes
    """
    with prepare(table, question, privacy, **options) as prepared:
        return prepared.release()


def prepare(table: Any, question: str, privacy: ApproxDP, **options: Unpack[Options]) -> Prepared:
    """Check a question without reading any row: everything that can be wrong with it is reported now.

    What was opened for it stays open until it is closed; `with prepare(…) as asked` does that.
    """
    unknown = options.keys() - Options.__annotations__.keys()
    if unknown:  # a misspelt one would be left out, and with it what it protects
        raise DuotoneError(f"there is no option {min(unknown)}: there are {', '.join(Options.__annotations__)}")
    _require_privacy(privacy)
    source = _opened(table, options.get("name"))
    with closed_on_error(source.close):
        return _prepared(source, question, privacy, options)


def _prepared(source: Source, question: str, privacy: ApproxDP, options: Options) -> Prepared:
    unit, neighbours, max_groups = options.get("unit"), options.get("neighbours", "add-remove"), options.get("max_groups", 1)
    max_rows, per_unit, bounds = options.get("max_rows", 1), options.get("per_unit"), options.get("bounds") or {}
    check_neighbours(neighbours)
    if not isinstance(bounds, Mapping):
        raise DuotoneError("bounds are {column: (low, high)} or {column: (low, high, grid)}")
    _check_unit(source, unit, max_rows, per_unit)
    asked = read_question(question, source.columns, unit, source.name if source.named else None)
    source.require(list(bounds))
    column_bounds = {column: b if isinstance(b, Bounds) else _bounds(column, b) for column, b in bounds.items()}
    declared = Declared(unit, column_bounds, max_rows, per_unit, neighbours)
    listed = _check_groups(source, asked.by, unit, options.get("groups"), max_groups)
    if asked.by and declared.replaced:
        raise DuotoneError("with group by, someone who changes may leave one group for another: use add-remove")
    if asked.by and listed is None and not privacy.delta > 0:
        raise DuotoneError("with delta 0 no group may ever be shown: give a delta above 0, or the list of groups")
    return prepared_question(source, asked, declared, privacy, max_groups if asked.by else 1, listed)


def prepare_groups(
    table: Any, by: Sequence[str], privacy: ApproxDP, *, unit: str | None = None, max_groups: int = 1, name: str | None = None
) -> Prepared:
    """Prepare the question which groups there are."""
    _require_privacy(privacy)
    if isinstance(by, str) or not all(isinstance(column, str) for column in by):
        raise DuotoneError("the columns to group by are a list of names")
    source = _opened(table, name)
    with closed_on_error(source.close):
        return _prepared_groups(source, by, privacy, unit, max_groups)


def _prepared_groups(source: Source, by: Sequence[str], privacy: ApproxDP, unit: str | None, max_groups: int) -> Prepared:
    if not (by and len(set(by)) == len(by)):
        raise DuotoneError("name at least one column to group by, each once")
    _check_unit(source, unit, 1, None)
    _check_groups(source, tuple(by), unit, None, max_groups)
    if not privacy.delta > 0:
        raise DuotoneError("with delta 0 no group may ever be shown: give a delta above 0")
    return prepared_selection(source, tuple(by), Declared(unit), privacy, max_groups)


def select_groups(
    table: Any, by: Sequence[str], privacy: ApproxDP, *, unit: str | None = None, max_groups: int = 1, name: str | None = None
) -> Answers:
    """Release which keys occur, each with the largest probability that privacy allows for its number of people.

    With `unit`, all rows of a person count as one, and a person counts in at most `max_groups` groups: of more, those with
    the smallest MD5 of person and key, which looks at nobody else. Rows whose key or unit is null are nobody's.

    Guarantee: one person joining or leaving changes the number of people of at most `max_groups` keys, each by 1, and a key
    that nobody has is never shown. Keys come in their own order, not the engine's.

    >>> import pyarrow as pa
    >>> visits = pa.table({"town": ["Ely"] * 40 + ["Wells"], "person": range(41)})
    >>> list(select_groups(visits, ["town"], ApproxDP(1, "1e-6"), unit="person").answers)
    [('Ely',)]
    """
    with prepare_groups(table, by, privacy, unit=unit, max_groups=max_groups, name=name) as prepared:
        return prepared.release()


def _opened(table: Any, name: str | None) -> Source:
    """The table, on an engine that Duotone's tests cover or that passes its trial."""
    open_already = isinstance(table, Source)  # whoever opened it closes it
    source = replace(table, release=lambda: None) if open_already else open_source(table, name=name)
    with closed_on_error(source.close):
        require_trial(source, lambda tried, question, options: prepare(tried, question, TRIAL, **options))
    return source


def _require_privacy(privacy: object) -> None:
    if not isinstance(privacy, ApproxDP):
        raise DuotoneError(f'a budget is an ApproxDP, as ApproxDP(1, "1e-6"), got {type(privacy).__name__}')


def _check_unit(source: Source, unit: str | None, max_rows: int, per_unit: str | None) -> None:
    if type(max_rows) is not int or not 1 <= max_rows < MOST:
        raise DuotoneError(f"the rows of one person that count must be a whole number from 1 to {MOST - 1}, got {max_rows}")
    if per_unit not in (None, "avg", "sum", "min", "max"):
        raise DuotoneError(f"a person's rows are reduced by avg, sum, min or max, got {per_unit}")
    if not isinstance(unit, str | None):
        raise DuotoneError(f"the unit is the name of one column, got {type(unit).__name__}")
    if unit is not None:
        source.require_key(unit, "a person's name")
    elif max_rows != 1 or per_unit is not None:
        raise DuotoneError("without a unit each row is a person: name the column that tells persons apart")


def _check_groups(
    source: Source, by: tuple[str, ...], unit: str | None, groups: Sequence[Sequence[Any]] | None, most: int
) -> tuple[Key, ...] | None:
    if type(most) is not int or not 1 <= most < MOST:
        raise DuotoneError(f"the number of groups a person may be in must be a whole number from 1 to {MOST - 1}, got {most}")
    if unit is None and most != 1:
        raise DuotoneError("without a unit each row is a person, in one group: name the unit")
    for column in by:
        source.require_key(column, "grouped by")
    if unit in by:
        raise DuotoneError("the unit cannot be a key too: its groups would be persons")
    if groups is None:
        return None
    if not by:
        raise DuotoneError("a list of groups is for a question with group by")
    if isinstance(groups, str) or not all(isinstance(key, list | tuple) for key in groups):
        raise DuotoneError("a list of groups has a list or tuple of values for each")
    listed = tuple(tuple(key) for key in groups)
    if not listed or any(len(key) != len(by) for key in listed):
        raise DuotoneError(f"the list of groups must have a value for {', '.join(by)} in each line")
    keys = tuple(tuple(_key(value, source.columns[c]) for value, c in zip(key, by, strict=True)) for key in listed)
    if len({tuple(map(str, key)) for key in keys}) != len(keys):  # as they are read: true and TRUE are one
        raise DuotoneError("the list of groups must have no line twice")
    return keys


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
            fits = isinstance(value, str)
    if not fits:
        raise DuotoneError(f"the list of groups has a key that is no {kind} value: {written}")
    return value


def _bounds(column: str, limits: Any) -> Bounds:
    if not isinstance(limits, list | tuple) or len(limits) not in (2, 3):
        raise DuotoneError(f"the bounds of {column} must be (low, high) or (low, high, grid)")
    return Bounds.of(*limits)
