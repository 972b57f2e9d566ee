"""What is requested of people's columns, and what came back of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.questions.quantile_side import rank
from duotone.tables.engines.keys import Keys
from duotone.tables.engines.places import Places, listed, nowhere, numbers, places_of, whole
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
    """What came back of a request, an entry per group: from far ends inwards, or from a quantile upwards (`largest`) and
    downwards (`smallest`)."""

    counts: Mapping[int, Array]
    total: Array
    people: Array
    largest: Places
    smallest: Places
    reach: int | None = None


@dataclass(frozen=True)
class QueryResult:
    """Everything that travelled: the groups' keys, the people of each, and the results of what was requested."""

    keys: Keys
    people: Array
    results: tuple[Mapping[str, Result], ...]


DESCENDING = ("largest", "rivals")
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


def result_of(columns: Any, name: str, request: Request) -> Result:
    """What came back of one request, from the columns of an Arrow table that are named after it."""

    def ends(way: str, reach: int) -> Places:
        column = f"{name}_{way}"
        present = column in columns.column_names
        return places_of(columns[column], reach, way in DESCENDING) if present else nowhere(columns.num_rows)

    nobody = nowhere(columns.num_rows)
    match request:
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
            upwards, downwards = (listed([pair[way] for pair in around]) for way in (0, 1))
            return Result({}, np.zeros_like(people), people, upwards, downwards, request.reach)
        case Rare(reach):
            rarest = ends("rarest", reach + 1)
            return Result({}, whole(columns[f"{name}_different"]), whole(columns["people"]), nobody, rarest)
        case Votes(reach):
            return Result({}, whole(columns[f"{name}_own"]), whole(columns["people"]), ends("rivals", reach + 2), nobody)


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
