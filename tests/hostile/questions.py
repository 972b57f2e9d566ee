"""Questions of every kind about one column, each with its true answer by definition, in exact fractions.

A row is what the model reads: the column's value (None for null), the side it is on, and the person it belongs to. Nothing here
shares code with the package: aggregates are written out as docs/sql.md states them.
"""

from __future__ import annotations

import math
import operator
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from hostile.model import Value, as_number, day_parts, length, matches, trimmed


class Row(NamedTuple):
    """A row as the model reads it."""

    value: Value
    side: bool | None
    person: int


Rows = Sequence[Row]
Truth = Callable[..., bool]
Test = Callable[[Any], bool | None]
SIGNS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "=": operator.eq, "<>": operator.ne}
ORDERED = (">", ">=", "<", "<=")


@dataclass(frozen=True)
class Question:
    """A yes/no expression, what is declared with it, and its truth; for a plain count also how far it is above its limit."""

    text: str
    truth: Truth
    options: Mapping[str, Any] = field(default_factory=dict)
    level: Callable[..., int] | None = None


@dataclass(frozen=True)
class Constant:
    """A constant as it is written in a question, and what it is."""

    sql: str
    value: Any


def number(value: Fraction | int) -> str:
    """A number as SQL has it."""
    exact = Fraction(value)
    return str(exact.numerator) if exact.denominator == 1 else f"{exact.numerator}/{exact.denominator}"


def tests(name: str, kind: str, constants: Sequence[Constant]) -> Iterator[tuple[str, Test]]:
    """Conditions about a column of this kind, and what they say of a value."""

    def against(constant: Constant, sign: str) -> Test:
        return lambda v: None if v is None else bool(SIGNS[sign](v, constant.value))

    yield f"{name} is null", lambda v: v is None
    yield f"{name} is not null", lambda v: v is not None
    for constant in constants:
        for sign in SIGNS:
            yield f"{name} {sign} {constant.sql}", against(constant, sign)
    for first, second in pairwise(constants):
        yield f"{name} in ({first.sql}, {second.sql})", _among([first.value, second.value])
        yield f"{name} not in ({first.sql}, {second.sql})", _not(_among([first.value, second.value]))
        low, high = (first, second) if first.value <= second.value else (second, first)
        yield f"{name} between {low.sql} and {high.sql}", _both(against(low, ">="), against(high, "<="))
        yield f"not {name} > {first.sql}", _not(against(first, ">"))
        yield f"({name} < {low.sql} or {name} > {high.sql} or {name} is null)", _outside(low.value, high.value)
    if kind == "boolean":
        yield name, lambda v: v
        yield f"not {name}", _not(lambda v: v)
    if kind in ("date", "time"):
        for i, part in enumerate(("year", "month", "day")):
            for at in {"year": (1, 2000, 9999, 10000, 0, -5), "month": (2, 12), "day": (1, 29)}[part]:
                for sign in ("=", ">", "<="):
                    yield f"{part}({name}) {sign} {at}", _part(kind, i, sign, at)
    if kind in ("text", "untyped"):
        yield from _text_tests(name)


def _text_tests(name: str) -> Iterator[tuple[str, Test]]:
    for pattern in ("%", "a%", "%a", "_", "%_%", "", "a_b", "%u%e%"):
        yield f"{name} like '{pattern}'", _known(lambda v, p=pattern: matches(v, p))
        yield f"not {name} like '{pattern}'", _not(_known(lambda v, p=pattern: matches(v, p)))
    for n in (0, 1, 2, 4, 1000):
        for sign in ("=", ">", "<"):
            yield f"length({name}) {sign} {n}", _known(lambda v, n=n, s=sign: bool(SIGNS[s](length(v), n)))
    for word in (b"", b"a", b"1"):
        yield f"trim({name}) = '{word.decode()}'", _known(lambda v, w=word: trimmed(v) == w)


def _known(test: Callable[..., bool]) -> Test:
    return lambda v: None if v is None else test(v)


def _not(test: Test) -> Test:
    def opposite(value: Value) -> bool | None:
        known = test(value)
        return None if known is None else not known

    return opposite


def _both(first: Test, second: Test) -> Test:
    return lambda v: None if v is None else bool(first(v) and second(v))


def _outside(low: Any, high: Any) -> Test:
    return lambda v: v is None or bool(v < low or v > high)


def _among(values: Sequence[Any]) -> Test:
    return lambda v: None if v is None else v in values


def _part(kind: str, place: int, sign: str, at: int) -> Test:
    def part(value: Value) -> bool | None:
        return None if value is None else bool(SIGNS[sign](day_parts(kind, value)[place], at))

    return part


def counts(text: str, test: Test, limits: Sequence[int]) -> Iterator[Question]:
    """Counts of the rows that satisfy a condition."""

    def counted(rows: Rows) -> int:
        return sum(test(r.value) is True for r in rows)

    for k in limits:
        yield Question(f"count(*) filter (where {text}) > {k}", lambda rows, k=k: counted(rows) > k, {},
                       lambda rows, k=k: counted(rows) - k - 1)  # fmt: skip
        yield Question(f"count(*) filter (where {text}) <= {k}", lambda rows, k=k: counted(rows) <= k, {},
                       lambda rows, k=k: k - counted(rows))  # fmt: skip


def shares(text: str, test: Test) -> Iterator[Question]:
    """Shares, any and every."""

    def share(rows: Rows, sign: str, limit: Fraction, known: bool) -> bool:
        said = [test(r.value) for r in rows]
        base = [t for t in said if not known or t is not None]
        return bool(base) and bool(SIGNS[sign](Fraction(sum(t is True for t in base), len(base)), limit))

    for sign, limit in ((">", Fraction(1, 3)), ("<=", Fraction(1, 2)), (">=", Fraction(3, 5))):
        yield Question(f"avg({text}) {sign} {number(limit)}", lambda rows, s=sign, t=limit: share(rows, s, t, True))
        yield Question(f"count(*) filter (where {text}) / count(*) {sign} {number(limit)}",
                       lambda rows, s=sign, t=limit: share(rows, s, t, False))  # fmt: skip
    yield Question(f"bool_or({text})", lambda rows: any(test(r.value) is True for r in rows))
    yield Question(f"bool_and({text})", lambda rows: {test(r.value) for r in rows} - {None} == {True})
    yield Question(f"count(*) filter (where {text}) = 2", lambda rows: sum(test(r.value) is True for r in rows) == 2)
    yield Question(f"not (count(*) filter (where {text}) > 1) or count(*) > 4",
                   lambda rows: not sum(test(r.value) is True for r in rows) > 1 or len(rows) > 4)  # fmt: skip
    yield Question(f"avg({text}) filter (where side) > avg({text}) filter (where not side) + 1/10",
                   lambda rows: _duel([(_bit(test(r.value)), r.side) for r in rows], ">", Fraction(1, 10)))  # fmt: skip


def _bit(value: bool | None) -> Fraction | None:
    return None if value is None else Fraction(int(value))


def _duel(values: Sequence[tuple[Fraction | None, bool | None]], sign: str, limit: Fraction, q: Fraction | None = None) -> bool:
    """Of averages, or of quantiles."""
    sides = [sorted(v for v, side in values if side is way and v is not None) for way in (True, False)]
    if not all(sides):
        return False
    if q is None:
        first, second = (sum(side, Fraction(0)) / len(side) for side in sides)
    else:
        first, second = (side[math.ceil(q * len(side)) - 1] for side in sides)
    return bool(SIGNS[sign](first - second, limit))


@dataclass(frozen=True)
class Bounds:
    """What values are clipped to, and the grid that they are then put on."""

    low: Fraction
    high: Fraction
    grid: Fraction

    def declared(self) -> tuple[str, str, str]:
        """As an option."""
        return number(self.low), number(self.high), number(self.grid)

    def on_grid(self, value: Any) -> Fraction | None:
        """A value on the grid, the nearest, a half up, and clipped; of a float, the float nearest to value / grid is."""
        if value is None:
            return None
        if not self.low - self.grid < value < self.high + self.grid:
            return self.high if value > 0 else self.low
        steps = Fraction(value) / self.grid
        if isinstance(value, float):
            steps = Fraction(float(steps))
        return min(max(math.floor(steps + Fraction(1, 2)) * self.grid, self.low), self.high)


def sums(name: str, bounds: Bounds, limits: Sequence[Fraction], means: Sequence[Fraction]) -> Iterator[Question]:
    """Sums, averages and the difference of two averages, or of two quantiles."""
    options = {"bounds": {name: bounds.declared()}}

    def values(rows: Rows) -> list[Fraction]:
        return [v for r in rows if (v := bounds.on_grid(as_number(r.value))) is not None]

    def sided(rows: Rows) -> list[tuple[Fraction | None, bool | None]]:
        return [(bounds.on_grid(as_number(r.value)), r.side) for r in rows]

    def mean(rows: Rows, sign: str, limit: Fraction) -> bool:
        there = values(rows)
        return bool(there) and bool(SIGNS[sign](sum(there, Fraction(0)) / len(there), limit))

    for sign in ORDERED:
        for limit in limits:
            yield Question(f"sum({name}) {sign} {number(limit)}",
                           lambda rows, s=sign, t=limit: bool(vs := values(rows)) and bool(SIGNS[s](sum(vs, Fraction(0)), t)),
                           options)  # fmt: skip
        for limit in means:
            yield Question(f"avg({name}) {sign} {number(limit)}", lambda rows, s=sign, t=limit: mean(rows, s, t), options)
    for sign, limit in ((">", Fraction(0)), (">=", Fraction(1, 4)), ("<", Fraction(-1)), ("<=", Fraction(2))):
        yield Question(f"avg({name}) filter (where side) - avg({name}) filter (where not side) {sign} {number(limit)}",
                       lambda rows, s=sign, t=limit: _duel(sided(rows), s, t), options)  # fmt: skip
        for q in (Fraction(1, 2), Fraction(4, 5)):
            of_side = f"quantile({name}, {number(q)}) filter (where"
            yield Question(f"{of_side} side) - {of_side} not side) {sign} {number(limit)}",
                           lambda rows, s=sign, t=limit, q=q: _duel(sided(rows), s, t, q), options)  # fmt: skip


def ranks(name: str, constants: Sequence[Constant]) -> Iterator[Question]:
    """Medians, quantiles, the smallest and the largest."""
    shapes = {"median({})": Fraction(1, 2), "quantile({}, 0.25)": Fraction(1, 4), "quantile({}, 9/10)": Fraction(9, 10),
              "min({})": Fraction(0), "max({})": Fraction(1)}  # fmt: skip
    for shape, q in shapes.items():
        for constant in constants:
            for sign in ORDERED:
                yield Question(f"{shape.format(name)} {sign} {constant.sql}",
                               lambda rows, q=q, s=sign, c=constant: _ranked([r.value for r in rows], q, s,
                               c.value))  # fmt: skip


def _ranked(values: Sequence[Any], q: Fraction, sign: str, limit: Any) -> bool:
    """The ⌈q·n⌉-th smallest, where 0 stands for the smallest."""
    there = sorted(v for v in values if v is not None)
    return bool(there) and bool(SIGNS[sign](there[max(math.ceil(q * len(there)), 1) - 1], limit))


def modes(name: str, constants: Sequence[Constant]) -> Iterator[Question]:
    """The most frequent value."""
    for constant in constants:
        yield Question(f"mode({name}) = {constant.sql}", lambda rows, c=constant: _leads([r.value for r in rows], c.value))
        yield Question(f"mode({name}) <> {constant.sql}", lambda rows, c=constant: _beaten([r.value for r in rows], c.value))


def _leads(values: Sequence[Any], chosen: Any) -> bool:
    votes = Counter(v for v in values if v is not None)
    own = votes.pop(chosen, 0)
    return own > max(votes.values(), default=0)


def _beaten(values: Sequence[Value], value: Value) -> bool:
    """Whether it is not the most frequent value; of nobody, no."""
    return any(v is not None for v in values) and not _leads(values, value)


def by_person(rows: Rows) -> dict[int, list[Any]]:
    """The values of each person."""
    people: dict[int, list[Any]] = {}
    for row in rows:
        people.setdefault(row.person, []).append(row.value)
    return people


def per_person(name: str, kind: str, constants: Sequence[Constant], bounds: Bounds | None) -> Iterator[Question]:
    """Questions about people with several rows: people counted, rows of one counted up to a number, one value each."""
    unit = {"unit": "person"}
    yield Question("count(distinct person) > 2", lambda rows: len(by_person(rows)) > 2, unit,
                   lambda rows: len(by_person(rows)) - 3)  # fmt: skip
    yield Question(f"count({name}) >= 4",
                   lambda rows: sum(min(2, sum(v is not None for v in vs)) for vs in by_person(rows).values()) >= 4,
                   {**unit, "max_rows": 2})  # fmt: skip
    for how, pick in (("min", min), ("max", max)):
        options = {**unit, "per_unit": how}

        def one(rows: Rows, pick: Any = pick) -> list[Any]:
            return [pick((v for v in vs if v is not None), default=None) for vs in by_person(rows).values()]

        for constant in constants:
            for sign in (">", "<=") if kind != "boolean" else ():
                yield Question(f"median({name}) {sign} {constant.sql}",
                               lambda rows, s=sign, c=constant, one=one: _ranked(one(rows), Fraction(1, 2), s, c.value),
                               options)  # fmt: skip
            yield Question(
                f"mode({name}) = {constant.sql}", lambda rows, c=constant, one=one: _leads(one(rows), c.value), options
            )
    if bounds is not None:
        yield from _reduced(name, bounds)


def _reduced(name: str, bounds: Bounds) -> Iterator[Question]:
    def steps(values: Sequence[Any]) -> list[Fraction]:
        return [s for v in values if (s := bounds.on_grid(as_number(v))) is not None]

    def total(values: Sequence[Any], times: int = 1) -> Fraction | None:
        there = steps(values)
        return min(max(sum(there, Fraction(0)), bounds.low * times), bounds.high * times) if there else None

    def average(values: Sequence[Any]) -> Fraction | None:
        there = steps(values)
        return math.floor(sum(there, Fraction(0)) / len(there) / bounds.grid) * bounds.grid if there else None

    for how, reduce in (("sum", total), ("avg", average)):
        options = {"unit": "person", "per_unit": how, "bounds": {name: bounds.declared()}}

        def values(rows: Rows, reduce: Any = reduce) -> list[Fraction]:
            return [v for vs in by_person(rows).values() if (v := reduce(vs)) is not None]

        for limit in (Fraction(5), Fraction(11, 4)):
            yield Question(f"median({name}) >= {number(limit)}",
                           lambda rows, t=limit, of=values: _ranked(of(rows), Fraction(1, 2), ">=", t), options)  # fmt: skip
            yield Question(f"avg({name}) > {number(limit)}",
                           lambda rows, t=limit, of=values: bool(vs := of(rows)) and sum(vs, Fraction(0)) / len(vs) > t,
                           options)  # fmt: skip
    twice: dict[str, Any] = {"unit": "person", "max_rows": 2, "bounds": {name: bounds.declared()}}
    if bounds.low <= 0 <= bounds.high:
        yield Question(
            f"sum({name}) > 12", lambda rows: sum((total(vs, 2) or 0) for vs in by_person(rows).values()) > 12, twice
        )


def every(name: str, kind: str, constants: Sequence[Constant], bounds: Sequence[tuple[Bounds, Sequence[Fraction]]],
          draw: random.Random, most: int) -> list[Question]:  # fmt: skip
    """A sample of questions about rows that are persons, each kind of question among them."""
    picked = list(tests(name, kind, constants))
    kinds: list[list[Question]] = [
        [Question(f"count({name}) > {k}", lambda rows, k=k: sum(r.value is not None for r in rows) > k, {},
                  lambda rows, k=k: sum(r.value is not None for r in rows) - k - 1) for k in (0, 2, 4)],
        [q for text, test in picked for q in counts(text, test, [draw.randrange(5)])],
        [q for text, test in draw.sample(picked, min(12, len(picked))) for q in shares(text, test)],
        list(ranks(name, constants)) if kind != "boolean" else [],
        list(modes(name, constants)),
    ]  # fmt: skip
    kinds += [
        list(sums(name, b, limits, [limits[0] / 4, Fraction(7, 2)] if b.high - b.low < 2**20 else [])) for b, limits in bounds
    ]
    chosen: list[Question] = []
    for of_kind in kinds:
        chosen += draw.sample(of_kind, min(len(of_kind), max(1, most // len(kinds))))
    return chosen
