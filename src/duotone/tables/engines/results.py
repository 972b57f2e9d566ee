"""What is requested of people's columns, and what came back of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.questions.quantile_side import rank
from duotone.tables.engines.source import UNREADABLE

Array = NDArray[Any]


@dataclass(frozen=True)
class Tally:
    """How many people have each of these scores; where it is the same for `everyone`, they are counted already."""

    values: tuple[int, ...]
    everyone: bool = False


@dataclass(frozen=True)
class Ends:
    """How many people have a score, the total, and those at the far ends who can matter: the largest from `largest_from` on
    and the smallest up to `smallest_to`, `reach` of each; None where nobody is needed. Others may come along."""

    reach: int
    largest_from: int | None = -(2**62)
    smallest_to: int | None = 2**62
    farthest: int = 2**62
    """How far from zero a score can be."""


@dataclass(frozen=True)
class Votes:
    """How many people have the value asked for (`own`), and how many have each of the most frequent other ones."""

    reach: int


@dataclass(frozen=True)
class Rare:
    """How many different values people have, and how many people have each of the rarest ones, `reach` and one more."""

    reach: int


@dataclass(frozen=True)
class Middle:
    """How many people have a score, and the scores around their lower q-quantile: itself, and `reach` from it each way."""

    q: Fraction
    reach: int


Request = Tally | Ends | Votes | Rare | Middle


@dataclass(frozen=True)
class Result:
    """What came back of a request, an entry per group. Lists from far ends inwards, or from a quantile upwards (`largest`)
    and downwards (`smallest`), are rows, padded by a count of 0."""

    counts: Mapping[int, Array]
    total: Array
    people: Array
    largest: Sequence[tuple[Array, Array]] = ()
    smallest: Sequence[tuple[Array, Array]] = ()
    reach: int | None = None


@dataclass(frozen=True)
class QueryResult:
    """Everything that travelled: the groups' keys (one group without a key where there are none), the people of each, and
    the results of what was requested."""

    keys: tuple[tuple[Any, ...], ...]
    people: Array
    results: tuple[Mapping[str, Result], ...]


MOST_ENDS = 2**16
"""People that are kept from each end, at most. DuckDB keeps fewer than 10^6, and finds out only once a value arrives; elsewhere
they travel as one text, of up to 3 MB then, where Postgres ends at 1 GB; and levels are computed from each of them."""


def require_reach(requests: Iterable[Mapping[str, Request]]) -> None:
    """Refuse a budget whose answer needs more people from each end than an engine keeps, before anything is read or charged."""
    reach = max((r.reach for own in requests for r in own.values() if not isinstance(r, Tally)), default=0)
    if not reach <= MOST_ENDS:
        raise DuotoneError(
            f"at this budget the answer depends on the {reach} most influential people, and engines keep at most {MOST_ENDS}: "
            "give a larger epsilon or delta"
        )


LISTS = ("_sum", "_largest", "_smallest", "_rivals", "_rarest", "_middle")


def counts(column: Any) -> Array:
    """A column of counts; nothing counted is 0."""
    return np.array(column.fill_null(0).combine_chunks().to_numpy(zero_copy_only=False), dtype=np.int64)


def result_of(columns: Mapping[str, Any], name: str, request: Request, size: int) -> Result:
    """What came back of one request, from the columns that are named after it."""
    match request:
        case Tally():
            names = ["people"] if request.everyone else [f"{name}_{i}" for i in range(len(request.values))]
            counts = {value: columns[column] for value, column in zip(request.values, names, strict=True)}
            zero = np.zeros(size, dtype=np.int64)
            return Result(counts, zero, sum(counts.values(), zero))
        case Ends():
            total = np.array([int(text or 0) for text in columns[f"{name}_sum"]], dtype=object)
            ways = ("largest", "smallest")
            texts = [columns.get(f"{name}_{way}", [None] * size) for way in ways]
            lists = [[spread(v, request.reach, way == "largest") for v in of] for of, way in zip(texts, ways, strict=True)]
            largest, smallest = _ends(lists[0]), _ends(lists[1])
            return Result({}, total, columns[f"{name}_n"], largest, smallest, request.reach)
        case Middle():
            people = columns[f"{name}_n"]
            each = zip(columns[f"{name}_middle"], columns[f"{name}_below"].tolist(), people.tolist(), strict=True)
            around = [_around(text, below, n, request) for text, below, n in each]
            upwards, downwards = (_ends([pair[way] for pair in around]) for way in (0, 1))
            return Result({}, np.zeros(size, dtype=np.int64), people, upwards, downwards, request.reach)
    if isinstance(request, Rare):
        rarest = _ends([spread(v, request.reach + 1, False) for v in columns[f"{name}_rarest"]])
        return Result({}, columns[f"{name}_different"], columns["people"], (), rarest)
    rivals = _ends([spread(v, request.reach + 2, True) for v in columns[f"{name}_rivals"]])
    return Result({}, columns[f"{name}_own"], columns["people"], rivals)


def spread(values: Sequence[Any] | str | None, reach: int, descending: bool) -> list[int]:
    """The far end of a list; as text, a value of several people stands there once, with a star and their number."""
    if not isinstance(values, str):
        return sorted(map(int, values or ()), reverse=descending)
    pairs = [text.partition("*") for text in values.split(",")]
    repeated = [int(value) for value, _, times in pairs for _ in range(min(int(times or 1), reach))]
    return sorted(repeated, reverse=descending)[:reach]


def _around(text: str | None, below: int, people: int, request: Middle) -> tuple[list[int], list[int]]:
    """From a quantile upwards, and from below it downwards; `text` has the scores around it, each with how many have it, and
    `below` people have lower ones. As above, a table that changed could give too few."""
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


def _ends(lists: Sequence[Sequence[int]]) -> list[tuple[Array, Array]]:
    """The i-th from the end, for every group at once."""
    longest = max(map(len, lists), default=0)
    return [
        (
            np.array([values[i] if i < len(values) else 0 for values in lists], dtype=object),
            np.array([int(i < len(values)) for values in lists], dtype=object),
        )
        for i in range(longest)
    ]
