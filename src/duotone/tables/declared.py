"""The tables of a question, opened, and what its `Dataset` declares of them: who a person is, how much one may count for, and
which groups there are."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError, UnknownColumn, UnopenedTable
from duotone.model.answer import Key
from duotone.model.dataset import KEYS, OPENING, Bounds, Dataset, Note, Unused, at_once
from duotone.model.notice import Notice, Refusal, why
from duotone.options import require_known
from duotone.tables.engine_conformance import require_conforming
from duotone.tables.engines.derived_tables import per_person, with_keys
from duotone.tables.engines.duckdb import lent
from duotone.tables.engines.engine import Source, closed_on_error
from duotone.tables.engines.open import Others, closing, in_files, maybe_secret, open_beside, open_together, opened
from duotone.tables.engines.public_tables import PublicTable, join_public, opened_public
from duotone.tables.sql.comparison import ParsedQuestion, TopGroup
from duotone.tables.sql.condition import Columns, Kind
from duotone.tables.sql.read_choice import among
from duotone.tables.sql.read_question import value_name
from duotone.tables.sql.syntax import unknown_in


def declared_by(source: Any, declared: Mapping[str, Any], options: Collection[str] = ()) -> Dataset:
    """The declarations: of a dataset with more keys, or of a source with its keys. A misspelt one may also mean one of the
    `options` beside them."""
    require_known(declared, [*options, *KEYS])
    if isinstance(source, Dataset):
        return source.further(**declared)
    return Dataset(source, **declared)


def redeclared(dataset: Dataset, table: Any) -> Dataset:
    """The declarations for another table; for an open one, only its columns and the length of its texts may still be
    declared."""
    if not isinstance(table, Source):
        return replace(dataset, source=table)
    return replace(dataset.opened(table), columns=dataset.columns, longest_text=dataset.longest_text)


def open_tables(dataset: Dataset) -> tuple[Source, Others]:
    """The table, and further private ones on the same connection, which are closed together."""
    with _opening():
        if dataset.also and in_files(dataset.source):
            source, others = open_together(dataset)
        else:
            source, others = open_conforming(dataset), {}
    with closed_on_error(source.close):
        if dataset.also and not others:
            with _opening():
                others = open_beside(source, dataset)
            source = closing(source, others.values())
        if dataset.columns is not None:
            source = source.limited_to([*dataset.columns, *([] if dataset.unit is None else [dataset.unit])])
        if joined := [c for c in dataset.types if c not in dataset.types_of()]:  # with other types it is another question
            own = {**source.stated.get("types", {}), **{column: dataset.types[column] for column in joined}}
            source = replace(source, stated={**source.stated, "types": own})
        longest = dataset.longest_text
        return source.reading_up_to(longest), {called: other.reading_up_to(longest) for called, other in others.items()}


def open_conforming(declared: Dataset) -> Source:
    """Open a table on an engine that Duotone's tests cover, or that passes its trial here."""
    table = declared.source
    if isinstance(table, Source):  # whoever opened it closes it
        keys = [key for key in OPENING if key not in ("columns", "longest_text", "types")]
        if declared.types_of() or any(getattr(declared, key) for key in keys):
            raise DuotoneError("the table is open already: say which it is and how it is read where it is opened")
        table.checked()
        source = lent(table)
    else:
        source = opened(declared)
    if not source.engine.can.proven:
        with closed_on_error(source.close):
            require_conforming(source)
    return source


@contextmanager
def open_public(declared: Dataset) -> Iterator[Mapping[str, PublicTable]]:
    """The public tables of a dataset, open during the block."""
    types = {name: declared.types_of(name) for name in declared.public}
    with ExitStack() as stack:
        with _opening():
            tables = stack.enter_context(opened_public(declared.public, types)) if declared.public else {}
        yield tables


def require_same_columns(checked: Sequence[Columns], tables: Sequence[Source]) -> None:
    """Refuse tables whose columns differ from those that the question was checked against. This includes further
    tables: a new column could have the name that the question uses for a public table's column."""
    for columns, table in zip(checked, tables, strict=True):
        if _usable(columns) != _usable(table.columns):
            raise UnopenedTable(f"the columns of {table.name} have changed since the question was checked: ask again")


def _usable(columns: Columns) -> Columns:
    return {name: kind for name, kind in columns.items() if kind != "other"}


@contextmanager
def _opening() -> Iterator[None]:
    """Errors in the block are not the question's fault, and may say where a file is."""
    try:
        yield
    except DuotoneError as error:
        if type(error) not in (DuotoneError, Refusal):  # it names its subject itself
            raise
        raise UnopenedTable(why(error)) from None


def shaped(
    source: Source, others: Others, public: Mapping[str, PublicTable], asked: ParsedQuestion, *, everybody: bool
) -> tuple[Source, ParsedQuestion]:
    """The table as the question makes it, and the question with the digests of the joined public rows.

    `others` are further private tables; with `everybody`, an inner select keeps people without a row in its where.
    """
    joins, beside = asked.joins, [(others[joined.table], joined) for joined in asked.beside]
    with closed_on_error(lambda: source.close()):
        if joins:
            source, digest = join_public(source, asked, public)
            asked = asked.followed_by(f" JOIN {digest}")
        for i, (other, joined) in enumerate(beside):
            if joined.people.joins:
                other, digest = join_public(other, replace(asked, joins=joined.people.joins), public)
                source = replace(closing(source, [other]), public={**source.public, **other.public})
                beside[i] = (other, joined)
                asked = asked.followed_by(f" TO {joined.join.label} JOIN {digest}")
        source = replace(source, fields=max([source.fields, *(other.fields for other, _ in beside)]))
        if asked.people is not None:
            source = per_person(source, asked.people, beside, everybody=everybody)
        return (with_keys(source, asked.keys) if asked.keys else source), asked


def one_row_each(declared: Dataset, note: Note) -> Dataset:
    """The declarations for the rows of an inner select, one per person."""
    for key in ("max_rows", "per_unit"):
        if getattr(declared, key) is not None:
            note(Unused(key, Notice("max_rows and per_unit unused")))
    if declared.max_groups not in (None, 1):
        note(Unused("max_groups", Notice("max_groups unused")))
    return replace(declared, unit=None, made_by=declared.unit, max_rows=None, per_unit=None, max_groups=None)


def unit_in(declared: Dataset, source: Source) -> Dataset:
    """The same, with the unit as the table spells it; refuses one that cannot identify a person."""
    if declared.unit is None:
        return declared
    source.require_key(declared.unit, "a person's name")
    return replace(declared, unit=source.named_column(declared.unit))


def column_bounds(
    bounds: Mapping[str, Bounds], columns: Mapping[str, Kind], note: Note = at_once, about: str = "the table"
) -> Mapping[str, Bounds]:
    """Bounds by column, or by computed value: {"price * amount": (0, 100)}; `about` names the table in errors."""
    named: dict[str, Bounds] = {}
    for name, limits in bounds.items():
        try:
            with unknown_in(about):
                known = value_name(name, columns)
        except UnknownColumn as error:
            note(Unused(f"bounds.{name}", why(error)))
            continue
        if known in named:
            raise DuotoneError("two bounds are for the same values: give one pair for each")
        named[known] = limits
    return named


def groups_each(
    by: tuple[str, ...], declared: Dataset, listed: tuple[Key, ...] | None = None, *, together: bool = False
) -> int:
    """The most groups in which a person counts. Required, unless nobody can be in two of the groups; of listed groups that
    are asked about `together` a person may be in all."""
    unit, most = declared.unit, declared.max_groups
    if unit is None and most not in (None, 1):
        raise DuotoneError("without a unit each row is a person, in one group: name the unit")
    if not by or unit is None or (most is None and listed is not None and len(listed) == 1):
        return 1
    if most is None and together and listed is not None:
        return len(listed)
    if most is None:
        raise Refusal("max_groups missing", unit=unit)
    return most


def listed_groups(
    source: Source, asked: ParsedQuestion, declared: Dataset
) -> tuple[tuple[Key, ...] | None, tuple[Notice, ...]]:
    """The public list of a question's groups, if there is one, and notes about it."""
    groups: Any = declared.groups_by(asked.by)
    said: tuple[Notice, ...] = ()
    if isinstance(groups, Path):
        groups, said = groups_in(groups, asked.by, asked.labels)
    return public_groups(source, asked.by, declared.unit, groups), said


def public_groups(
    source: Source, by: tuple[str, ...], unit: str | None, groups: Sequence[Any] | None = None
) -> tuple[Key, ...] | None:
    """The keys of a public list as the engine returns them, None without one; refuses what cannot be a group's key."""
    for column in by:
        source.require_key(column, "grouped by")
    if unit in by:
        raise DuotoneError("the unit cannot be a key too: its groups would be persons")
    if groups is None:
        return None
    if not by:
        raise DuotoneError("a list of groups is for a question with group by")
    return _keys_of(groups, by, source.columns)


def listed_answers(asked: ParsedQuestion, declared: Dataset, note: Note) -> ParsedQuestion:
    """A question which group leads, with the groups of the dataset's public list, if it names none itself."""
    if not isinstance(asked.tree, TopGroup):
        return asked
    key, by = asked.tree.key, (asked.tree.key.column,)
    groups: Any = declared.groups_by(by)
    if asked.tree.values:
        if declared.groups is not None:
            note(Unused("groups", Notice("groups unused")))
        return asked
    if groups is None:
        two = "1, 2" if key.kind == "integer" else "'A', 'B'"
        raise Refusal("groups missing of a leader", column=key.column, two=two)
    said: tuple[Notice, ...] = ()
    if isinstance(groups, Path):
        groups, said = groups_in(groups, by, by)
    top = among(asked.tree, [listed for (listed,) in _keys_of(groups, by, {key.column: key.kind})])
    named = replace(asked, tree=top, notes=(*asked.notes, *said))
    return named.followed_by(f" AMONG {json.dumps(named.answers)}")


def _keys_of(groups: Sequence[Any], by: tuple[str, ...], kinds: Mapping[str, Kind]) -> tuple[Key, ...]:
    """The keys of a public list as the engine returns them."""
    if len(by) == 1:  # with one column, plain values are accepted
        groups = [key if isinstance(key, list | tuple) else (key,) for key in groups]
    if not all(isinstance(key, list | tuple) for key in groups):
        raise DuotoneError("each entry of a list of groups must be a list or tuple of values")
    listed = tuple(tuple(key) for key in groups)
    if not listed or any(len(key) != len(by) for key in listed):
        raise DuotoneError(f"the list of groups must have a value for {', '.join(by)} in each line")
    keys = tuple(tuple(_key(value, kinds[c], c) for value, c in zip(key, by, strict=True)) for key in listed)
    if len({tuple(map(str, key)) for key in keys}) != len(keys):  # as they are read: true and TRUE are the same
        raise DuotoneError("the list of groups has a line twice: remove one")
    return keys


def groups_in(path: Path, by: tuple[str, ...], labels: tuple[str, ...]) -> tuple[list[list[str]], tuple[Notice, ...]]:
    """The public list of groups in a CSV file, one per line, and notes about it: a first line with the columns' names,
    or the question's names for them, is not a group."""
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


def _key(value: Any, kind: Kind, column: str) -> Any:
    """A listed key as the engine returns it, or an error: one written differently would match nobody."""
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
        what = "text" if kind in ("text", "untyped") else f"a{'n' * (kind == 'integer')} {kind} value"
        cure = f"; list '{written}', or group by ({column})::int" if what == "text" and isinstance(value, int) else ""
        raise DuotoneError(f"the list of groups has a key that is not {what}: {written}{cure}")
    return value
