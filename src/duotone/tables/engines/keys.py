"""The keys of groups as they came back: a million of them cost little until they are looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from duotone.tables.engines.places import Array, arrow, numbers, whole
from duotone.tables.sql.condition import Kind


@dataclass(frozen=True)
class Keys:
    """One key per group, as the table has its values; they travel as text, in one Arrow column for each that groups are by."""

    columns: Sequence[Any]
    kinds: Sequence[Kind]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        read = [_values(column, kind) for column, kind in zip(self.columns, self.kinds, strict=True)]
        return zip(*read, strict=True)

    def at(self, places: Array) -> Keys:
        """Those at some places only, in the order of these."""
        taken = arrow(places)
        return Keys([column.take(taken) for column in self.columns], self.kinds)

    def order(self) -> Array:
        """The places from the first key to the last: numbers in their order, texts in that of their characters."""
        ranks = [_ranks(column, kind) for column, kind in zip(self.columns, self.kinds, strict=True)]
        return np.lexsort(ranks[::-1])


def _values(column: Any, kind: Kind) -> list[Any]:
    values: list[Any] = numbers(column).tolist() if kind == "integer" else column.to_pylist()
    return values


def _ranks(column: Any, kind: Kind) -> Array:
    """Numbers of 64 bits in whose order a column is."""
    import pyarrow.compute as pc

    if kind != "integer":
        return whole(pc.rank(column, tiebreaker="dense"))
    values = numbers(column)
    return values if values.dtype == np.int64 else np.unique(values, return_inverse=True)[1]
