"""Requests for people's columns, and their results: a million groups as flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.questions.quantile import rank
from duotone.tables.engines.engine import UNREADABLE
from duotone.tables.sql.condition import Kind

Array = NDArray[Any]


@dataclass(frozen=True)
class Tally:
    """How many people have each of these scores. If `everyone` has the same one, people need not be counted again."""

    values: tuple[int, ...]
    everyone: bool = False


@dataclass(frozen=True)
class Ends:
    """How many people have a score, the total, and the extremes that can matter: the largest from `largest_from` on and
    the smallest up to `smallest_to`, `reach` of each; None if none is needed. Others may be included."""

    reach: int
    largest_from: int | None = -(2**62)
    smallest_to: int | None = 2**62
    farthest: int = 2**62
    """The largest absolute score."""


@dataclass(frozen=True)
class Votes:
    """How many people have the value asked for (`own`), and how many have each of the most frequent other ones."""

    reach: int


@dataclass(frozen=True)
class Rare:
    """How many distinct values people have, and how many people have each of the rarest ones, `reach` and one more."""

    reach: int


@dataclass(frozen=True)
class Middle:
    """How many people have a score, and the scores around their lower q-quantile: itself, and `reach` in each
    direction."""

    q: Fraction
    reach: int


Request = Tally | Ends | Votes | Rare | Middle


SHORT = 18
"""Most characters of a 64-bit number."""


@dataclass(frozen=True)
class Ranked:
    """Values with how many people have each, sorted within each group, and one group after the other: group g has those
    from `starts[g]` up to `starts[g + 1]`.

    Iterating returns the first of every group, then the second, …; an exhausted group returns 0, of nobody.
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

    def first(self, reach: int) -> Ranked:
        """The first `reach` people of every group."""
        if np.diff(self.starts).max(initial=0) <= reach and self.people.max(initial=0) <= 1:
            return self
        upto = np.append(0, np.cumsum(self.people))
        before = upto[:-1] - np.repeat(upto[self.starts[:-1]], np.diff(self.starts))
        kept = before < reach
        people = np.minimum(self.people, reach - before)[kept]
        return Ranked(self.values[kept], people, np.append(0, np.cumsum(kept))[self.starts])

    def joined(self, absent: Array, descending: bool) -> Ranked:
        """These, with this many people with the value 0 inserted in each group."""
        size = len(absent)
        groups = np.append(np.repeat(np.arange(size), np.diff(self.starts)), np.arange(size))
        values, people = np.append(self.values, np.zeros_like(absent)), np.append(self.people, absent)
        return _ranked(values, people, groups, size, descending)

    def farthest(self) -> int:
        """The largest absolute value."""
        return max(abs(int(self.values.max(initial=0))), abs(int(self.values.min(initial=0))))


def _ranked(values: Array, people: Array, groups: Array, size: int, descending: bool) -> Ranked:
    """Values with how many of a group's people have each, in any order."""
    way = -1 if descending else 1
    if not np.all(((further := np.diff(groups)) > 0) | ((further == 0) & (way * np.diff(values) >= 0))):
        order = np.lexsort((way * values, groups))
        values, people, groups = values[order], people[order], groups[order]
    return Ranked(values, people, np.searchsorted(groups, np.arange(size + 1)))


def nobody_ranked(size: int) -> Ranked:
    """Nobody, in each of this many groups."""
    nothing = np.zeros(0, dtype=np.int64)
    return Ranked(nothing, nothing, np.zeros(size + 1, dtype=np.int64))


def ranked_in(column: Any, reach: int, descending: bool) -> Ranked:
    """A column of lists from an engine: numbers, or text with commas, where a value of several people may be written
    once, with a star and their number. Nobody beyond `reach` people is needed."""
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
    return _ranked(whole(flat), people, groups, len(lists), descending).first(reach)


def in_order(lists: Sequence[Sequence[int]]) -> Ranked:
    """Ranked values from sorted lists; each value belongs to one person."""
    values = np.array([value for own in lists for value in own], dtype=np.int64)
    return Ranked(values, np.ones_like(values), np.append(0, np.cumsum([len(own) for own in lists], dtype=np.int64)))


def numbers(column: Any) -> Array:
    """Integers of any length, from text; an empty text is 0."""
    if (pc.max(pc.utf8_length(column)).as_py() or 0) <= SHORT:
        return whole(column)
    return np.array([int(text or 0) for text in column.to_pylist()], dtype=object)


def whole(column: Any) -> Array:
    """64-bit integers from an Arrow array or column; null is 0. Arrow's own conversions would load pandas."""
    array = column if str(column.type) == "int64" else column.cast("int64")
    array = array.combine_chunks() if hasattr(array, "combine_chunks") else array
    return np.from_dlpack(pc.coalesce(array, arrow(np.zeros(len(array)))) if array.null_count else array).copy()


def arrow(values: Array) -> Any:
    """64-bit integers as an Arrow array, without loading pandas."""
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values.astype(np.int64))])


@dataclass(frozen=True)
class Keys:
    """One key per group, as the table has its values; they are sent as text, one Arrow column for each group column."""

    columns: Sequence[Any]
    kinds: Sequence[Kind]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        read = [_values(column, kind) for column, kind in zip(self.columns, self.kinds, strict=True)]
        return zip(*read, strict=True)

    def at(self, places: Array) -> Keys:
        """The keys at some places, in that order."""
        taken = arrow(places)
        return Keys([column.take(taken) for column in self.columns], self.kinds)

    def order(self) -> Array:
        """Row numbers that sort the keys: numbers by size, texts by their characters."""
        ranks = [_ranks(column, kind) for column, kind in zip(self.columns, self.kinds, strict=True)]
        return np.lexsort(ranks[::-1])


def _values(column: Any, kind: Kind) -> list[Any]:
    values: list[Any] = numbers(column).tolist() if kind == "integer" else column.to_pylist()
    return values


def _ranks(column: Any, kind: Kind) -> Array:
    """64-bit numbers in the order of a column."""
    if kind != "integer":
        return whole(pc.rank(column, tiebreaker="dense"))
    values = numbers(column)
    return values if values.dtype == np.int64 else np.unique(values, return_inverse=True)[1]


@dataclass(frozen=True)
class Result:
    """The result of a request, an entry per group: from the extremes inwards, or from a quantile upwards (`largest`)
    and downwards (`smallest`)."""

    counts: Mapping[int, Array]
    total: Array
    people: Array
    largest: Ranked
    smallest: Ranked
    reach: int | None = None


@dataclass(frozen=True)
class QueryResult:
    """All results: the groups' keys, the people of each, and the results of each request."""

    keys: Keys
    people: Array
    results: tuple[Mapping[str, Result], ...]


DESCENDING = ("largest", "rivals")
MOST_ENDS = 2**16
"""Most people that are kept from each end. DuckDB keeps fewer than 10^6, and fails only once a value arrives; elsewhere
they are sent as one text, of up to 3 MB then (Postgres' limit is 1 GB); and levels are computed from each of them."""


def require_reach(requests: Iterable[Mapping[str, Request]]) -> None:
    """Refuse a budget whose answer needs more people from each end than an engine keeps, before anything is read or
    charged."""
    reach = max((r.reach for own in requests for r in own.values() if not isinstance(r, Tally)), default=0)
    if not reach <= MOST_ENDS:
        raise DuotoneError(
            f"at this budget the answer depends on the {reach} most influential people, and engines keep at most {MOST_ENDS}: "
            "give a larger epsilon or delta"
        )


def result_of(columns: Any, name: str, request: Request) -> Result:
    """The result of one request, from the columns of an Arrow table with its name."""

    def ends(way: str, reach: int) -> Ranked:
        column = f"{name}_{way}"
        present = column in columns.column_names
        return ranked_in(columns[column], reach, way in DESCENDING) if present else nobody_ranked(columns.num_rows)

    nobody = nobody_ranked(columns.num_rows)
    match request:
        case Tally() if f"{name}_tally" in columns.column_names:
            by_value = _tallied(columns[f"{name}_tally"].to_pylist(), request.values)
            zero = np.zeros(columns.num_rows, dtype=np.int64)
            return Result(by_value, zero, sum(by_value.values(), zero), nobody, nobody)
        case Tally():
            names = ["people"] if request.everyone else [f"{name}_{i}" for i in range(len(request.values))]
            by_value = {value: whole(columns[column]) for value, column in zip(request.values, names, strict=True)}
            zero = np.zeros(columns.num_rows, dtype=np.int64)
            return Result(by_value, zero, sum(by_value.values(), zero), nobody, nobody)
        case Ends(reach):
            total, people = numbers(columns[f"{name}_sum"]), whole(columns[f"{name}_n"])
            return Result({}, total, people, ends("largest", reach), ends("smallest", reach), reach)
        case Middle():
            people, lower = (whole(columns[f"{name}_{what}"]) for what in ("n", "below"))
            each = zip(columns[f"{name}_middle"].to_pylist(), lower.tolist(), people.tolist(), strict=True)
            around = [_around(text, below, n, request) for text, below, n in each]
            upwards, downwards = (in_order([pair[way] for pair in around]) for way in (0, 1))
            return Result({}, np.zeros_like(people), people, upwards, downwards, request.reach)
        case Rare(reach):
            rarest = ends("rarest", reach + 1)
            return Result({}, whole(columns[f"{name}_different"]), whole(columns["people"]), nobody, rarest)
        case Votes(reach):
            return Result({}, whole(columns[f"{name}_own"]), whole(columns["people"]), ends("rivals", reach + 2), nobody)


def _tallied(texts: Sequence[str | None], values: Sequence[int]) -> Mapping[int, Array]:
    """How many have each score, from texts of scores with their numbers of people, one for each group."""
    pairs = [[one.partition("*") for one in text.split(",")] if text else [] for text in texts]
    own = [{int(value): int(many) for value, _, many in each} for each in pairs]
    return {value: np.array([one.get(value, 0) for one in own], dtype=np.int64) for value in values}


def _around(text: str | None, below: int, people: int, request: Middle) -> tuple[list[int], list[int]]:
    """From a quantile upwards, and from below it downwards; `text` has the scores around it, each with how many have
    it, and `below` people have lower ones. As above, a table that changed could return too few."""
    pairs = (one.partition("*") for one in text.split(",")) if text else ()
    at = rank(request.q, people)
    first, last = max(1, at - request.reach), min(people, at + request.reach)
    values: list[int] = []
    for value, many in sorted((int(value), int(n)) for value, _, n in pairs):
        values += [value] * (min(last, below + many) - max(first - 1, below))
        below += many
    if len(values) != last - first + 1:
        raise DuotoneError(UNREADABLE)
    return values[at - first :], values[: at - first][::-1]
