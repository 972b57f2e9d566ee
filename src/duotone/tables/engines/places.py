"""People at an end, or around a quantile, of many groups at once, as flat arrays: what a million groups send."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
LONGEST = 18
"""The characters of a number that 64 bits hold, whatever they are."""


@dataclass(frozen=True)
class Places:
    """Values, each with how many people have it, in order within each group, and one group after the other: group g has
    those from `starts[g]` up to `starts[g + 1]`.

    Iterating gives the first of every group, then the second, …; a group that has no more has 0, of nobody.
    """

    values: Array
    people: Array
    starts: Array

    def __iter__(self) -> Iterator[tuple[Array, Array]]:
        values, people = np.append(self.values, 0), np.append(self.people, 0)
        lengths = np.diff(self.starts)
        for place in range(lengths.max(initial=0)):
            at = np.where(place < lengths, self.starts[:-1] + place, len(self.values))
            yield values[at], people[at]

    def of(self, group: int) -> list[int]:
        """The values of a group, as often as people have them."""
        own = slice(self.starts[group], self.starts[group + 1])
        return [int(v) for v in np.repeat(self.values[own], self.people[own].astype(np.int64))]

    def first(self, reach: int) -> Places:
        """The first so many people of every group."""
        if np.diff(self.starts).max(initial=0) <= reach and self.people.max(initial=0) <= 1:
            return self
        upto = np.append(0, np.cumsum(self.people))
        before = upto[:-1] - np.repeat(upto[self.starts[:-1]], np.diff(self.starts))
        kept = before < reach
        people = np.minimum(self.people, reach - before)[kept]
        return Places(self.values[kept], people, np.append(0, np.cumsum(kept))[self.starts])

    def joined(self, absent: Array, descending: bool) -> Places:
        """These, and in each group so many people with the value 0, in their place."""
        size = len(absent)
        groups = np.append(np.repeat(np.arange(size), np.diff(self.starts)), np.arange(size))
        values, people = np.append(self.values, np.zeros_like(absent)), np.append(self.people, absent)
        return placed(values, people, groups, size, descending)

    def farthest(self) -> int:
        """How far from zero a value is."""
        return max(abs(int(self.values.max(initial=0))), abs(int(self.values.min(initial=0))))


def placed(values: Array, people: Array, groups: Array, size: int, descending: bool) -> Places:
    """Values with how many of a group's people have each, in any order."""
    way = -1 if descending else 1
    if not np.all(((further := np.diff(groups)) > 0) | ((further == 0) & (way * np.diff(values) >= 0))):
        order = np.lexsort((way * values, groups))
        values, people, groups = values[order], people[order], groups[order]
    return Places(values, people, np.searchsorted(groups, np.arange(size + 1)))


def nowhere(size: int) -> Places:
    """Nobody, in each of so many groups."""
    nothing = np.zeros(0, dtype=np.int64)
    return Places(nothing, nothing, np.zeros(size + 1, dtype=np.int64))


def places_of(column: Any, reach: int, descending: bool) -> Places:
    """A column of lists, as an engine sends them: numbers, or text with commas between them, in which a value of several
    people may stand once, with a star and their number. Nobody beyond `reach` people is needed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lists = column.combine_chunks()
    as_text = not pa.types.is_list(lists.type)
    if as_text:
        lists = pc.split_pattern(lists, ",")
    groups = np.repeat(np.arange(len(lists)), whole(pc.list_value_length(lists)))
    flat = lists.flatten()
    people = np.ones(len(flat), dtype=np.int64)
    if as_text:
        starred = pc.match_substring(flat, "*")
        people[whole(starred) == 1] = whole(pc.replace_substring_regex(flat.filter(starred), r".*\*", ""))
        flat = pc.replace_substring_regex(flat, r"\*.*", "")
    return placed(whole(flat), people, groups, len(lists), descending).first(reach)


def listed(lists: Sequence[Sequence[int]]) -> Places:
    """Places of which each is one person's, in order already."""
    values = np.array([value for own in lists for value in own], dtype=np.int64)
    return Places(values, np.ones_like(values), np.append(0, np.cumsum([len(own) for own in lists], dtype=np.int64)))


def numbers(column: Any) -> Array:
    """Whole numbers that were sent as text, of any length; none is 0."""
    import pyarrow.compute as pc

    if (pc.max(pc.utf8_length(column)).as_py() or 0) <= LONGEST:
        return whole(column)
    return np.array([int(text or 0) for text in column.to_pylist()], dtype=object)


def whole(column: Any) -> Array:
    """Whole numbers of 64 bits, from an Arrow array or column; none is 0. Arrow's own ways to an array, and from a number,
    would load pandas."""
    import pyarrow.compute as pc

    array = column if str(column.type) == "int64" else column.cast("int64")
    array = array.combine_chunks() if hasattr(array, "combine_chunks") else array
    return np.from_dlpack(pc.coalesce(array, arrow(np.zeros(len(array)))) if array.null_count else array).copy()


def arrow(values: Array) -> Any:
    """Whole numbers of 64 bits as an Arrow array, without loading pandas."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values.astype(np.int64))])
