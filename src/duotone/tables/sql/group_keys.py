"""What stands after group by, written out: a place after select or an alias as that which it means."""

from __future__ import annotations

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.tables.sql.column_names import find_column
from duotone.tables.sql.condition import Columns


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
