"""What a preview says of every table of so many people, against all small tables: their truth in plain Python, and how many
people flip it by looking at every table near them."""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from duotone import DuotoneError, prepare
from duotone.privacy.numbers import written
from duotone.questions import Difference, Variance
from duotone.questions.units import Units
from duotone.tables.preview import _root, rounded

Person = tuple[str, int | None]
People = Sequence[Person]
EXHAUSTIVE = "DUOTONE_EXHAUSTIVE" in os.environ
MOST, REACH = (6, 4) if EXHAUSTIVE else (4, 3)
TABLE = pa.table({"v": pa.array([], pa.string()), "x": pa.array([], pa.int64()), "y": pa.array([], pa.int64())})
OF = {">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b}

SIGNS = (*OF,) if EXHAUSTIVE else (">", "<=")


def xs(people: People, v: str | None = None) -> list[int]:
    return [x for w, x in people if x is not None and v in (None, w)]


def mean(numbers: Sequence[int]) -> Fraction | None:
    return Fraction(sum(numbers), len(numbers)) if numbers else None


def share(people: People, met: Callable[[int], bool]) -> Fraction | None:
    return mean([int(met(x)) for x in xs(people)])


def lead(people: People) -> Fraction:
    votes = Counter(v for v, _ in people)
    return Fraction(votes["A"] - max((n for v, n in votes.items() if v != "A"), default=0))


def lower(numbers: Sequence[int], q: Fraction) -> int | None:
    return sorted(numbers)[-(-q.numerator * len(numbers) // q.denominator) - 1] if numbers else None


def spread(people: People, less: int) -> Fraction | None:
    values = xs(people)
    if len(values) <= less:
        return None
    return sum((x - Fraction(sum(values), len(values))) ** 2 for x in values) / Fraction(len(values) - less)


def apart(people: People) -> Fraction | None:
    a, b = mean(xs(people, "A")), mean(xs(people, "B"))
    return None if a is None or b is None else a - b


VALUES: list[Person] = [("A", 0), ("A", 1), ("A", 3), ("A", None)]
SIGNED: list[Person] = [("A", -2), ("A", 0), ("A", 1), ("A", 3)]
LETTERS: list[Person] = [("A", 0), ("B", 0), ("C", 0)]
ARMS: list[Person] = [("A", 0), ("A", 3), ("B", 0), ("B", 3)]
FROM1: list[Person] = [("A", 1), ("A", 3), ("A", None)]
TO31: dict[str, Any] = {"bounds": {"x": (1, 3)}}
TO3, TO2 = {"bounds": {"x": (0, 3)}}, {"bounds": {"x": (-2, 3)}}
HALF, TENTH = Fraction(1, 2), Fraction(1, 10)


def present(people: People) -> list[int]:
    return [len(xs(people))]


def everybody(people: People) -> list[int]:
    return [len(people)]


def arms(people: People) -> list[int]:
    return [len(xs(people, "A")), len(xs(people, "B"))]


def cases() -> list[Any]:
    """The question, what it compares, how, with what; the statistic, whose number is guessed, people, what is declared."""
    made: list[Any] = []
    for s in SIGNS:
        made.append(
            (
                f"count(*) filter (where v = 'A') {s} 3",
                lambda p: sum(v == "A" for v, _ in p),
                s,
                3,
                lambda p: sum(v == "A" for v, _ in p),
                everybody,
                LETTERS,
                {},
            )
        )
        made.append(
            (
                f"2 * count(*) filter (where v = 'A') {s} 3 * count(*) filter (where v = 'B') + 1",
                lambda p: 2 * lead_of(p, "A") - 3 * lead_of(p, "B"),
                s,
                1,
                lambda p, s=s: (2 * lead_of(p, "A") - 3 * lead_of(p, "B") - 1) * (1 if s[0] == ">" else -1),
                everybody,
                LETTERS,
                {},
            )
        )
        made.append((f"sum(x) {s} 4", lambda p: sum(xs(p)), s, 4, lambda p: sum(xs(p)), everybody, VALUES, TO3))
        made.append((f"sum(x) {s} -1", lambda p: sum(xs(p)), s, -1, lambda p: sum(xs(p)), everybody, SIGNED, TO2))
        for limit in ("1", "1/2", "5/2") if EXHAUSTIVE else ("1", "5/2"):
            made.append(
                (f"avg(x) {s} {limit}", lambda p: mean(xs(p)), s, Fraction(limit), lambda p: mean(xs(p)), present, VALUES, TO3)
            )
        made.append((f"avg(x) {s} 0", lambda p: mean(xs(p)), s, 0, lambda p: mean(xs(p)), present, SIGNED, TO2))
        made.append(
            (
                f"avg(x > 0) {s} 1/3",
                lambda p: share(p, lambda x: x > 0),
                s,
                Fraction(1, 3),
                lambda p: share(p, lambda x: x > 0),
                present,
                VALUES,
                {},
            )
        )
        for q, name in ((HALF, "median(x)"), (Fraction(1, 4), "quantile(x, 0.25)")):
            made.append(
                (
                    f"{name} {s} 1",
                    lambda p, q=q: lower(xs(p), q),
                    s,
                    1,
                    lambda p, s=s: share(p, lambda x: OF[s](x, 1)),
                    present,
                    VALUES,
                    {},
                )
            )
        for name, f in (("min", min), ("max", max)):
            all_of = (name == "min") == (s[0] == ">")
            made.append(
                (
                    f"{name}(x) {s} 1",
                    lambda p, f=f: f(xs(p), default=None),
                    s,
                    1,
                    lambda p, s=s, a=all_of: sum(OF[s](x, 1) != a for x in xs(p)),
                    present,
                    VALUES,
                    {},
                )
            )
    for s in (">", ">="):
        made.append(
            (
                f"count(distinct v) {s} 2",
                lambda p: len({v for v, _ in p}),
                s,
                2,
                lambda p: len({v for v, _ in p}),
                everybody,
                [*LETTERS, ("D", 0)],
                {},
            )
        )
        for limit in ("0", "1", "-1/2") if EXHAUSTIVE else ("1",):
            made.append(
                (
                    f"avg(x) filter (where v = 'A') {s} avg(x) filter (where v = 'B') + {limit}",
                    apart,
                    s,
                    Fraction(limit),
                    apart,
                    arms,
                    ARMS,
                    TO3,
                )
            )
    made.append(("mode(v) = 'A'", lead, ">", 0, lead, everybody, LETTERS, {}))
    return made


def lead_of(people: People, v: str) -> int:
    return sum(w == v for w, _ in people)


def flips(domain: Sequence[Person], truth: Callable[[People], bool], most: int, replaced: bool) -> dict[tuple[int, ...], float]:
    """Of every table, as how many of each kind of person it has: how many changes flip its answer; REACH + 1 for more."""
    tables = [t for t in itertools.product(range(most + 1), repeat=len(domain)) if sum(t) <= most]
    answers = {t: truth(people_of(t, domain)) for t in tables}
    places = range(len(domain))
    moves = [
        tuple((i == a) - (i == b) for i in places)
        for a in ([*places] if replaced else [*places, -1])
        for b in ([*places] if replaced else [*places, -1])
        if a != b and (replaced or -1 in (a, b))
    ]
    near = {t: [n for m in moves if (n := tuple(map(sum, zip(t, m, strict=True)))) in answers] for t in tables}
    margins: dict[tuple[int, ...], float] = {t: 1 for t in tables if any(answers[n] != answers[t] for n in near[t])}
    for k in range(2, REACH + 2):
        margins |= {t: k for t in tables if t not in margins and any(margins.get(n) == k - 1 for n in near[t])}
    return {t: margins.get(t, REACH + 1) for t in tables}


def people_of(counts: Sequence[int], domain: Sequence[Person]) -> list[Person]:
    return [person for person, n in zip(domain, counts, strict=True) for _ in range(n)]


def beyond(units: Units, value: Fraction, bound: Fraction, yes: bool) -> bool:
    return value >= bound if yes == units.upward else value <= bound


def units_of(question: str, replaced: bool, options: dict[str, Any]) -> tuple[Units, bool]:
    with prepare(
        TABLE, question, epsilon=1, delta=1e-3, neighbours="replace" if replaced else "add-remove", **options
    ) as asked:
        (compared,) = asked.comparisons
        assert compared.units is not None
        return compared.units, compared.exact


def hold(case: Any, replaced: bool, claims: Counter[tuple[str, str]]) -> None:
    """Whatever is said of a question holds for every small table."""
    question, compared, sign, limit, statistic, sizes, domain, options = case
    units, _ = units_of(question, replaced, options)

    def truth(people: People) -> bool:
        value = compared(people)
        return value is not None and OF[sign](value, limit)

    most = MOST * len(sizes([]))
    margins = flips(domain, truth, most + (0 if replaced else REACH), replaced)
    for counts, margin in margins.items():
        people = people_of(counts, domain)
        value, there = statistic(people), sizes(people)
        if value is None or not min(there) or len(people) > most:
            continue
        yes = truth(people)
        for k in range(1, REACH + 1):
            for n in range(1, min(min(there), MOST) + 1):
                far = units.far(k, n, yes)
                if far is not None and beyond(units, value, far, yes):
                    assert margin >= k, (question, people, k, n, far)
                    claims[question, "far"] += k > 1
            near = units.near(k, min(there), yes) if min(there) == max(there) else None
            if near is not None and beyond(units, near, value, yes):
                assert margin <= k, (question, people, k, near)
                claims[question, "near"] += 1


@pytest.mark.slow
@pytest.mark.parametrize("replaced", [False, True])
def test_of_all_small_tables(replaced: bool) -> None:
    claims: Counter[tuple[str, str]] = Counter()
    for case in cases():
        hold(case, replaced, claims)
    said = {kind: {q for (q, k), n in claims.items() if k == kind and n} for kind in ("far", "near")}
    asked = {case[0] for case in cases()}
    assert asked - said["far"] <= {q for q in asked if replaced and q.startswith(("avg(x) filter", "count(distinct"))}
    assert asked == said["near"]


def at_the_ends() -> Iterator[Any]:
    """Averages and shares against limits that are one of the bounds, or outside of them."""
    for sign, limit in [(s, n) for s in OF for n in (0, 1, 3, 4)]:
        if (sign, limit) not in ((">", 3), (">", 4), (">=", 4), ("<", 0), ("<=", 0), ("<", 1)):
            yield f"avg(x) {sign} {limit}", lambda p: mean(xs(p)), sign, limit, lambda p: mean(xs(p)), present, FROM1, TO31
    for sign, text in (("<", "11/8"), ("<=", "1"), (">=", "0"), (">", "-1"), (">=", "1"), ("<=", "0")):
        met = (lambda p: share(p, lambda x: x > 1),) * 2
        yield f"avg(x > 1) {sign} {text}", met[0], sign, Fraction(text), met[1], present, FROM1, {}


@pytest.mark.slow
@pytest.mark.parametrize("replaced", [False, True])
def test_of_limits_at_and_beyond_the_bounds(replaced: bool) -> None:
    claims: Counter[tuple[str, str]] = Counter()
    for case in at_the_ends():
        hold(case, replaced, claims)
    assert {kind for _, kind in claims} == {"far", "near"}


def test_no_toss_up_is_promised_where_there_is_none() -> None:
    beyond_all = preview_of("avg(x) > 0", 1000, bounds={"x": (1, 5)}).table
    assert beyond_all[0][2:] == ("–", "from 1", "from 1")
    assert beyond_all[1][2:] == ("–", "–", "–")


@pytest.mark.slow
def test_of_safe_bounds() -> None:
    """Levels of a variance, and of sides that share people, are not distances: these are what an answer is drawn by."""
    claims: Counter[tuple[Any, bool, bool]] = Counter()
    numbers = [d for n in (1, 2, 3, 14) for d in itertools.combinations_with_replacement([0, 1, 4], n)]
    for sign, less, replaced in itertools.product(SIGNS, (0, 1), (False, True)):
        units, _ = units_of(f"{'variance' if less else 'var_pop'}(x) {sign} 1.5", replaced, {"bounds": {"x": (0, 4)}})
        neighbours = "replace" if replaced else "add-remove"
        levels = Variance(lambda x: x, (0, 4), sign, "3/2", less, neighbours, reach=8)  # type: ignore[arg-type]
        for values in numbers:
            value = spread([("A", x) for x in values], less)
            if value is not None:
                held(units, value, levels.level(values), len(values), claims, "variance")
    both = list(itertools.product([0, 3], [0, 2]))
    units, exact = units_of("avg(x) > avg(y) + 1", False, {"bounds": {"x": (0, 3), "y": (0, 2)}})
    shared = Difference(lambda p: p[0], lambda p: p[1], ((0, 3), (0, 2)), 1, shared=True, reach=8)
    for people in (d for n in (1, 2, 3, 8) for d in itertools.combinations_with_replacement(both, n)):
        value = Fraction(sum(a - b for a, b in people), len(people))
        held(units, value, shared.level(people), len(people), claims, "shared")
    assert not exact
    assert all(claims[kind, far, yes] for kind in ("variance", "shared") for far in (True, False) for yes in (True, False))


def held(units: Units, value: Fraction, level: float, people: int, claims: Counter[Any], kind: str) -> None:
    yes, margin = level >= 0, level + 1 if level >= 0 else -level
    for k in range(1, 5):
        for n in (people, people - 1):
            far = units.far(k, n, yes) if n else None
            if far is not None and beyond(units, value, far, yes):
                assert margin >= k, (units, value, people, k)
                claims[kind, True, yes] += k > 1
        near = units.near(k, people, yes)
        if near is not None and beyond(units, near, value, yes):
            assert margin <= k, (units, value, people, k)
            claims[kind, False, yes] += 1


def test_of_people_with_several_rows() -> None:
    """A person has one row or two: an average over rows, whose number is between that of people and twice it."""
    units, _ = units_of("avg(x) > 1", False, {"bounds": {"x": (0, 3)}, "unit": "v", "max_rows": 2})
    kinds = [(0,), (3,), (0, 0), (0, 3), (3, 3)]

    def truth(people: Sequence[Any]) -> bool:
        rows = [x for person in people for x in person]
        return bool(rows) and mean(rows) > 1  # type: ignore[operator]

    margins = flips(kinds, truth, 4 + REACH, False)  # type: ignore[arg-type]
    claims: Counter[Any] = Counter()
    for counts, margin in margins.items():
        people: Any = people_of(counts, kinds)  # type: ignore[arg-type]
        if people and len(people) <= 4:
            value, yes = mean([x for person in people for x in person]), truth(people)
            assert value is not None
            held(units, value, margin - 1 if yes else -margin, len(people), claims, "rows")
    assert all(claims["rows", far, yes] for far in (True, False) for yes in (True, False))


def preview_of(question: str, people: Any, **options: Any) -> Any:
    with prepare(TABLE, question, epsilon=1, delta=1e-6, **options) as asked:
        return asked.preview(people)


def test_what_it_says() -> None:
    told = preview_of("avg(x) > 4", 10_000, bounds={"x": (0, 10)})
    assert told.table == [
        ("avg(x) > 4: the average", "true", "up to 4.0004", "from 4.0025", "from 4.0085"),
        ("avg(x) > 4: the average", "false", "from 3.9995", "up to 3.9976", "up to 3.9916"),
    ]
    assert "of 10,000 people" in repr(told)
    assert "up to 4.0004" in told._repr_html_()
    (compared,) = told.document()["comparisons"]
    assert compared["true"] == {"toss_up_to": 4.0004, "seldom_from": 4.0025, "never_from": 4.0085}
    assert preview_of("avg(x) > 4", 100, bounds={"x": (0, 10)}).table[0][-1] == "from 4.85"


@pytest.mark.parametrize(
    ("question", "labels"),
    [
        ("stddev(x) > 4", ["stddev(x) > 4: the standard deviation"]),
        ("avg(x) < avg(y)", ["avg(x) < avg(y): the second average less the first"]),
        ("avg(x) - avg(y) > 1", ["avg(x) - avg(y) > 1: the first average less the second"]),
        ("2 * avg(x) > avg(y)", ["2 * avg(x) > avg(y): the first average less the second, by their weights"]),
        ("avg(x) + avg(y) > 1", ["avg(x) + avg(y) > 1: both averages together, by their weights"]),
        ("sum(x) > 3 * sum(y)",
         ["sum(x) > 3 * sum(y) (sum(x) - 3 * sum(y) > 0): by how much it holds",
          *["sum(x) > 3 * sum(y) (count > 0): the count"] * 2]),
        ("coalesce(sum(x), 0) > 3 * coalesce(sum(y), 0)",
         ["coalesce(sum(x), 0) > 3 * coalesce(sum(y), 0): by how much it holds"]),
        ("count(v) filter (where x > 1) > 0.5 * count(*)",
         ["count(v) FILTER(WHERE x > 1) > 0.5 * count(*): by how much it holds"]),
        ("count(*) filter (where v = 'a') > 5 and count(*) filter (where v = 'b') > 5",
         ["count(*) FILTER(WHERE v = 'a') > 5: the count", "count(*) FILTER(WHERE v = 'b') > 5: the count"]),
        ("count(x) / count(y) > 9/8",
         ["count(x) / count(y) > 9 / 8 (count 1 - 1.125 * count 2 > 0): by how much it holds",
          "count(x) / count(y) > 9 / 8 (count > 0): the count"]),
        ("count(*) = 5", ["count(*) = 5 (count >= 5): the count", "count(*) = 5 (count <= 5): the count"]),
        ("count(distinct v) < 5", ["count(distinct v) >= 5: the count"]),
        ("bool_and(x > 1)", ["bool_and(CAST(x > 1 AS BOOLEAN)): people who do not"]),
    ],
)  # fmt: skip
def test_a_comparison_is_called_as_it_is_written(question: str, labels: list[str]) -> None:
    rows = preview_of(question, 1000, bounds={"x": (0, 30), "y": (0, 30)}).table
    assert [row[0] for row in rows[::2]] == labels


def test_a_standard_deviation_is_shown_by_its_root() -> None:
    options: Any = {"bounds": {"x": (0, 30)}}
    root, square = (preview_of(q, 1000, **options).comparisons[0] for q in ("stddev(x) > 4", "variance(x) > 16"))
    for one, other in ((root.true, square.true), (root.false, square.false)):
        for shown, exact in zip(vars(one).values(), vars(other).values(), strict=True):
            assert (shown is None) == (exact is None)
            assert shown is None or abs(shown**2 - exact) <= exact / 50
    for value in (Fraction(n, d) for n in (0, 1, 2, 9, 10**9) for d in (1, 3, 10**7 + 1)):
        low, high = (_root(value, up=up) for up in (False, True))
        assert low**2 <= value <= high**2
        assert high - low <= Fraction(1, 10**12)


def test_a_comparison_under_not_is_wrong_the_other_way() -> None:
    costs: dict[str, Any] = {"costs": (10, 1)}
    plain, negated = (preview_of(f"{word}count(distinct v) >= 100", 10_000, **costs).comparisons[0] for word in ("", "not "))
    assert plain.true != negated.true
    with prepare(TABLE, "not count(distinct v) >= 100", epsilon=1, delta=1e-6, **costs) as asked:
        false_no, false_yes = (next(m for m in itertools.count(1) if asked.accuracy.errors(m)[i] <= 0.01) for i in (0, 1))
        assert negated.true.seldom_from == 100 + false_yes - 1
        assert negated.false.seldom_from == 100 - false_no


def test_where_there_is_no_unit_people_are_told() -> None:
    told = preview_of("count(*) * count(v) > 100 and count(*) > 5", 10)
    assert told.comparisons[0].above is None
    assert told.table[0][2:] == ("up to 1 people", "from 5 people", "from 15 people")
    assert len(told.notes) == 2


def test_never_certain_without_delta() -> None:
    with prepare(TABLE, "count(*) > 5", epsilon=1) as asked:
        assert [row[-1] for row in asked.preview(10).table] == ["–", "–"]


def test_without_a_budget_everything_is_a_toss_up() -> None:
    with prepare(TABLE, "count(*) > 5", epsilon=0) as asked:
        rows = [row[2:] for row in asked.preview(10).table]
    assert rows == [("up to 10", "–", "–"), ("from 0", "–", "–")]


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("count(*) > 1000000", [("–", "–", "–"), ("–", "up to 100", "up to 100")]),
        ("sum(x) > 1000000", [("–", "–", "–"), ("–", "up to 300", "up to 300")]),
        ("sum(x) < 1000000", [("–", "up to 300", "up to 300"), ("–", "–", "–")]),
        ("count(distinct v) >= 1000000", [("–", "–", "–"), ("–", "up to 100", "up to 100")]),
    ],
)
def test_nothing_is_said_of_values_that_so_many_people_cannot_have(question: str, sides: list[Any]) -> None:
    assert [row[2:] for row in preview_of(question, 100, bounds={"x": (0, 3)}).table] == sides


@pytest.mark.parametrize("people", [0, -1, 2.5, True, "10", 2**43])
def test_a_guess_is_a_number_of_people(people: Any) -> None:
    with pytest.raises(DuotoneError, match="whole number from 1"):
        preview_of("count(*) > 5", people)


def test_rounding_keeps_what_is_said_true() -> None:
    for numerator, denominator in itertools.product(range(-40, 40, 7), (3, 7, 999, 10**7 + 1)):
        value, limit = Fraction(numerator, denominator), Fraction(1, 3)
        assert rounded(value, limit, up=False) <= value <= rounded(value, limit, up=True)
        apart = abs(value - limit) or abs(value)
        assert rounded(value, limit, up=True) - rounded(value, limit, up=False) <= apart / 99
        assert Fraction(written(rounded(value, limit, up=True)).replace(",", "")) == rounded(value, limit, up=True)


def on_grid(x: float) -> Fraction:
    """Between −3 and 10 in steps of a half."""
    return Fraction(round(min(max(x, -3), 10) * 2), 2)


ON_GRID = {"bounds": {"x": (-3, 10, 0.5)}}
BY_ENGINE: list[Any] = [
    ("avg(x) filter (where v = 'A') >= 2", lambda r: mean_of(x for _, v, x in r if v == "A"),
     lambda r: sum(v == "A" for _, v, _ in r), ON_GRID),
    ("avg(x) > 2", lambda r: mean_of(max(x for w, _, x in r if w == u) for u in {u for u, _, _ in r}),
     lambda r: len({u for u, _, _ in r}), {**ON_GRID, "unit": "u", "per_unit": "max"}),
    ("avg(x) <= 2", lambda r: mean_of(x for _, _, x in r),
     lambda r: len({u for u, _, _ in r}), {**ON_GRID, "unit": "u", "max_rows": 3}),
    ("0.5 * sum(x) < 75", lambda r: sum(on_grid(x) for _, _, x in r), len, {**ON_GRID, "neighbours": "replace"}),
    ("count(distinct u) filter (where v = 'A') > 25", lambda r: Fraction(len({u for u, v, _ in r if v == "A"})),
     lambda r: len({u for u, _, _ in r}), {"unit": "u"}),
    ("quantile(x, 0.7) > 2", lambda r: Fraction(sum(x > 2 for _, _, x in r), len(r)), len, {}),
]  # fmt: skip


def mean_of(values: Any) -> Fraction:
    numbers = [on_grid(x) for x in values]
    return Fraction(sum(numbers), len(numbers))


@pytest.mark.slow
def test_of_the_levels_that_an_engine_brings() -> None:
    """Grids, conditions and people with many rows, on larger tables: what answers are drawn by is as far as was said."""
    chance = random.Random(14)
    claims: Counter[Any] = Counter()
    for _ in range(30 if EXHAUSTIVE else 4):
        often = [chance.random() for _ in range(7)]
        rows = [
            (u, chance.choice("AB"), chance.choices([-4, 0, 0.5, 2, 2.5, 9.5, 30], often)[0])
            for u in range(chance.choice([9, 30, 60]))
            for _ in range(chance.choice([1, 1, 2, 3]))
        ]
        table = pa.table({"u": [u for u, _, _ in rows], "v": [v for _, v, _ in rows], "x": [float(x) for _, _, x in rows]})
        for question, statistic, people, options in BY_ENGINE:
            with prepare(table, question, epsilon=1, delta=1e-3, **options) as asked:
                (level,) = asked._levels()[2].tolist()
                (compared,) = asked.comparisons
            assert compared.units is not None
            held(compared.units, statistic(rows), level, people(rows), claims, question)
    for question, *_ in BY_ENGINE:
        assert any(claims[question, True, yes] for yes in (True, False))


def test_a_quantile_of_rows_is_about_rows() -> None:
    about: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "unit": "v"}
    for options, who in (({"max_rows": 3}, "rows"), ({"max_rows": 1}, "people"), ({"per_unit": "max"}, "people")):
        with prepare(TABLE, "median(x) > 1", **about, **options) as asked:
            (compared,) = asked.preview(500).comparisons
            assert compared.measure == f"{who} with x > 1"
