"""The keys of groups as they came back: a million of them cost little until they are looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from duotone.tables.engines.places import Array, numbers
from duotone.tables.sql.condition import Kind


@dataclass(frozen=True)
class Keys:
    """One key per group, as the table has its values; they travel as text, in one Arrow column for each that groups are by."""

    columns: Sequence[Any]
    kinds: Sequence[Kind]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        read = [_values(column, kind) for column, kind in zip(self.columns, self.kinds, strict=True)]
        return zip(*read, strict=True)

    def chosen(self, groups: Array) -> Keys:
        """Those of some groups only."""
        return Keys([column.filter(groups) for column in self.columns], self.kinds)


def _values(column: Any, kind: Kind) -> list[Any]:
    values: list[Any] = numbers(column).tolist() if kind == "integer" else column.to_pylist()
    return values
