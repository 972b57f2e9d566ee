"""Groups that are computed from a row's values: the table with a column for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from duotone.errors import DuotoneError
from duotone.tables.engines.expressions import read
from duotone.tables.engines.source import Source
from duotone.tables.engines.stored_values import Columns
from duotone.tables.sql.condition import Operand, columns_read


def with_keys(source: Source, keys: Sequence[Operand]) -> Source:
    """The same table, and a column for each key, called as the question writes it.

    Guarantee: a row's key is a function of that row alone, and making it cannot fail.
    """
    made = {key.column: key for key in keys}
    for name in made:
        if name in source.columns:
            raise DuotoneError(f"group by {name}: the table has a column of that name; rename it, or group by it in quotes")
    kinds = {**source.columns, **{name: key.kind for name, key in made.items()}}

    def table(chosen: Sequence[str]) -> Any:
        asked = [made[name] for name in chosen if name in made]
        rows = source.only([*(name for name in chosen if name not in made), *sorted(columns_read(tuple(asked)))]).table
        return rows.mutate(**{key.column: read(key, rows) for key in asked})

    fixed = None if source.table is None else table(list(made))
    return replace(source, table=fixed, reading=Columns(kinds, table, stored=False))
