"""Columns: the numbers of many datasets that take few values, one small number per dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from duotone.privacy.definition import Array
from duotone.privacy.numbers import Number


@dataclass(frozen=True, eq=False)
class ValuesByDataset(Sequence[Number]):
    """`values[places[i]]` for dataset i: what a mechanism of millions of datasets keeps instead of as many numbers.

    >>> from fractions import Fraction
    >>> column = ValuesByDataset.of([Fraction(7, 10), Fraction(9, 10), Fraction(7, 10)])
    >>> len(column), str(column[2]), column.places.tolist(), column.array().tolist()
    (3, '7/10', [0, 1, 0], [0.7, 0.9, 0.7])
    """

    values: tuple[Number, ...]
    places: Array

    @classmethod
    def of(cls, numbers: Iterable[Number]) -> ValuesByDataset:
        """Numbers as given, equal ones kept once; a float and a fraction of the same value stay two."""
        if isinstance(numbers, ValuesByDataset):
            return numbers
        known: dict[tuple[type, Number], int] = {}
        places = [known.setdefault((type(x), x), len(known)) for x in numbers]
        return cls(tuple(x for _, x in known), np.array(places, dtype=np.min_scalar_type(len(known))))

    def array(self) -> Array:
        """As float64, each the nearest to its number: for reading."""
        return np.array([float(x) for x in self.values])[self.places]

    def counts(self) -> list[int]:
        """How many datasets have each value."""
        return [int(c) for c in np.bincount(self.places, minlength=len(self.values))]

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, i: int) -> Number: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Number, ...]: ...
    def __getitem__(self, i: Any) -> Any:
        return tuple(ValuesByDataset(self.values, self.places[i])) if isinstance(i, slice) else self.values[self.places[i]]

    def __iter__(self) -> Iterator[Number]:
        return map(self.values.__getitem__, self.places.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]
