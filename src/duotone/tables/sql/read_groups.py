"""What a question is grouped by, and what it asks of each group."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.model.notice import Notice
from duotone.tables.sql.condition import Columns, Operand
from duotone.tables.sql.functions.numbers import as_whole
from duotone.tables.sql.names import column_name, find_column, written
from duotone.tables.sql.read_condition import read_operand

Keys = tuple[Operand, ...]


def answers_of(select: exp.Select, keys: Keys, columns: Columns) -> list[exp.Expression]:
    """What is selected besides that which the question is grouped by."""
    by = {key.column for key in keys}
    selected = [e.unalias().unnest() for e in select.expressions]
    return [e for e in selected if e.find(exp.AggFunc) is not None or _name(e, columns) not in by]


def labels_of(select: exp.Select, keys: Keys, columns: Columns) -> tuple[str, ...]:
    """What the question calls that which it is grouped by."""
    aliases = [e for e in select.expressions if isinstance(e, exp.Alias) and e.find(exp.AggFunc) is None]
    called = {_name(e.this.unnest(), columns): e.alias for e in aliases}
    return tuple(called.get(key.column, key.column) for key in keys)


def _name(node: exp.Expression, columns: Columns) -> str:
    """What a column is called, or how a computed value is written."""
    return column_name(node, columns) if isinstance(node, exp.Column) else written(node, columns)


def without_order(select: exp.Select) -> tuple[Notice, ...]:
    """Leave out order by, so that the question is the same with it and without, and say so."""
    if select.args.get("order") is None:
        return ()
    select.set("order", None)
    return (Notice("order by left out"),)


def without_having(select: exp.Select, keys: Keys, columns: Columns) -> tuple[Notice, ...]:
    """`select k … group by k having E` as the question E by group, `select k, E … group by k`."""
    having = select.args.get("having")
    if having is None:
        return ()
    if not keys:
        raise DuotoneError("having is about groups: add group by, or put the yes/no expression after select")
    if answers_of(select, keys, columns):
        raise DuotoneError("a question has one yes/no expression: put it after select or after having, not both")
    select.set("having", None)
    select.append("expressions", having.this)
    return (Notice("having is an answer"),)


def read_keys(select: exp.Select, columns: Columns) -> Keys:
    """What a question is grouped by: columns, and values computed from a row."""
    keys = (_key(key, columns) for key in group_keys(select, columns))
    return tuple({key.column: key for key in keys}.values())


def _key(node: exp.Expression, columns: Columns) -> Operand:
    """Values that are equal exactly when they look so."""
    if isinstance(node, exp.Column):
        name = column_name(node, columns)
        return Operand(name, columns[name])
    key = as_whole(replace(read_operand(node, columns), column=written(node, columns)))
    if key.made is None:
        raise DuotoneError(f"group by {key.column}: it may be another value than the column's own; group by the column itself")
    if key.kind == "time":
        raise DuotoneError(f"group by {key.column}: it is a time; make it a date, as in ({key.column})::date")
    if key.kind not in ("integer", "text", "boolean", "date"):
        raise DuotoneError(
            f"group by {key.column}: group by text, whole numbers, Booleans or dates; make "
            "whole numbers of others, as in floor(x / 10)"
        )
    return key


def group_keys(select: exp.Select, columns: Columns) -> list[exp.Expression]:
    """The keys of a select, none without group by. They are written out in the select too, so that its normal form is the
    same."""
    group = select.args.get("group")
    if group is None:
        return []
    if group.args.get("all"):
        raise DuotoneError("group by all: name the columns that it is grouped by")
    if any(value for name, value in group.args.items() if name != "expressions"):
        raise DuotoneError("group by takes columns and values computed from them, not rollup or cube")
    for key in list(group.expressions):
        if isinstance(key, exp.Rollup | exp.Cube | exp.GroupingSets):
            raise DuotoneError(f"group by {key.sql()}: group by columns and values computed from them")
        if isinstance(key, exp.Literal) and not key.is_string:
            key.replace(_selected(select, key.name))
        elif isinstance(key, exp.Column) and find_column(key.this, columns) is None:
            key.replace(_named(select, key))
    return [key.unnest() for key in group.expressions]


def _named(select: exp.Select, key: exp.Column) -> exp.Expression:
    """What is selected under a name."""
    named = [e.this for e in select.expressions if isinstance(e, exp.Alias) and e.alias.lower() == key.name.lower()]
    if len(named) != 1:
        return key  # which the table does not have either
    selected: exp.Expression = named[0].copy()
    return selected


def _selected(select: exp.Select, place: str) -> exp.Expression:
    """What is selected at a place, from 1 on."""
    chosen = [e.unalias() for i, e in enumerate(select.expressions, 1) if str(i) == place]
    if not chosen or chosen[0].find(exp.AggFunc) is not None:
        raise DuotoneError(f"group by {place}: it must be the place of a column after select, from 1 on; or name the column")
    selected: exp.Expression = chosen[0].copy()
    return selected
