"""Table questions from SQL to level, on the engine, against brute force over all small tables, and against plain SQL."""

from __future__ import annotations

import dataclasses
import itertools
import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import ApproxDP
from duotone.questions import Neighbours, Rates, verify
from duotone.tables.check_question import prepare
from duotone.tables.engines.any_ibis import AnyIbis
from support.oracles import plain_duckdb
from support.running import EXHAUSTIVE, examples, thinned
from support.small_comparisons import COMPARED, COMPUTED, IN_PERSON, JOINED, JOINED_IN_PERSON, JOINED_PEOPLE, QUANTILES
from support.small_questions import BOTH, CASES, NO, UNIT_CASES, YES, P, Person, levels, table


@dataclass(frozen=True)
class OnTheEngine:
    """The question as brute force sees it: truth by plain Python, level by the engine."""

    reference: Callable[[Sequence[Person]], bool]
    known: dict[tuple[Person, ...], float]
    neighbours: Neighbours

    def truth(self, people: Sequence[Person]) -> bool:
        return self.reference(people)

    def level(self, people: Sequence[Person]) -> float:
        return self.known[tuple(people)]


def check(sql: str, reference: Callable[[Sequence[Person]], bool], domain: Sequence[Person], neighbours: Neighbours,
          *, bound: bool, people: int = 3, reach: int = 3, **options: Any) -> None:  # fmt: skip
    most = people + (reach if neighbours == "add-remove" else 0)
    datasets = [d for n in range(most + 1) for d in itertools.combinations_with_replacement(domain, n)]
    prepared = prepare(table(datasets), sql, P, neighbours=neighbours, **options)
    of_datasets = levels(prepared, len(datasets))
    question = OnTheEngine(reference, dict(zip(datasets, of_datasets, strict=True)), neighbours)
    verdict = verify(question, domain, people=people, reach=min(reach, 5))
    assert verdict.private, (sql, verdict.counterexample, [question.level(d) for d in verdict.counterexample or ()])
    assert (prepared.facts.basis == "safe bound") == bound, sql
    if prepared.facts.basis == "exact distance":
        assert verdict.exact, (sql, verdict.counterexample, [question.level(d) for d in verdict.counterexample or ()])


def is_bound(sql: str, several: bool = False) -> bool:
    """Which questions are known by a bound only: combinations, ratios that are to be large, and counts that are compared for
    equality with each other, or stepped over by someone with several rows."""
    if sql in SIMPLE:
        return False
    if "mode(v) <>" in sql:  # and somebody there
        return True
    ratio = "/" in sql and f"{YES} / {NO}" in sql and any(f" {sign} " in sql for sign in (">", ">="))
    return " and " in sql or " or " in sql or ratio or sql in EQUAL or (" = 2" in sql and several)


SIMPLE = ["count(*) between 0 and 2", "count(*) >= 0 and count(*) > 2", "count(*) < 0 or count(*) > 2"]
SIMPLE += [f"{YES} / {NO} {limit}" for limit in (">= 0", "> -1", ">= -1")]
"""Combinations of which one part alone can change."""
EQUAL = [
    f"{YES} = {NO}",
    f"2 * {YES} = 4",
    f"not {YES} / {NO} <= 1 and count(*) > 0",
    f"1 < {YES} / {NO}",
    f"not {YES} / {NO} < 1",
    f"-{YES} / {NO} < -1",
]


def by_turns(cases: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Each case under one relation, by turns; `make exhaustive` takes both."""
    both = [(i, case, j, neighbours) for i, case in enumerate(cases) for j, neighbours in enumerate(BOTH)]
    chosen = [(case, neighbours) for i, case, j, neighbours in both if EXHAUSTIVE or (i + j) % 2 == 0]
    return [pytest.param(*case, neighbours, id=f"{case[0]} {case[3]} {neighbours}") for case, neighbours in chosen]


@pytest.mark.slow
@pytest.mark.parametrize(("sql", "reference", "domain", "options", "neighbours"), by_turns(CASES))
def test_every_atom_against_brute_force(
    sql: str, reference: Any, domain: list[Person], options: dict[str, Any], neighbours: Neighbours
) -> None:
    wide = len(domain) >= 5
    bound = is_bound(sql)
    check(sql, reference, domain, neighbours, bound=bound, people=4 if wide else 5, reach=2 if wide else 3, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "reference", "domain", "options", "bound", "neighbours"), by_turns([*COMPARED, *COMPUTED, *QUANTILES, *JOINED])
)
def test_comparisons_and_computed_values_against_brute_force(
    sql: str, reference: Any, domain: list[Person], options: dict[str, Any], bound: bool, neighbours: Neighbours
) -> None:
    wide = len(domain) >= 5
    people = 4 if EXHAUSTIVE and not wide else 3
    check(sql, reference, domain, neighbours, bound=bound, people=people, reach=2 if wide else 3, **options)


@pytest.mark.slow
@pytest.mark.parametrize(("sql", "reference", "domain", "options", "neighbours"), by_turns(UNIT_CASES))
def test_every_atom_with_units_against_brute_force(
    sql: str, reference: Any, domain: list[Person], options: dict[str, Any], neighbours: Neighbours
) -> None:
    several = options.get("max_rows", 1) > 1
    bound = is_bound(sql, several) or "> avg(x)" in sql  # who is on both sides counts on both
    check(sql, reference, domain, neighbours, bound=bound, people=2 if len(domain) > 6 else 3, reach=2, unit="u", **options)


SEVERAL: list[Person] = [(("A", 3),) * 2, (("A", None),), (("A", -2),), (("A", -2),) * 2, (("B", 1), ("A", -2))]
SIGNS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


@pytest.mark.slow
@pytest.mark.parametrize(("sign", "limit"), thinned(itertools.product(SIGNS, (-5, -3, -1, 0, 1, 4)), 5))
@pytest.mark.parametrize("neighbours", BOTH)
def test_sums_of_people_with_several_rows(sign: str, limit: int, neighbours: Neighbours) -> None:
    """Exact, also where everybody with a value must leave."""

    def reference(people: Sequence[Person]) -> bool:
        rows = [[x for _, x in person if x is not None] for person in people]
        return any(rows) and SIGNS[sign](sum(map(sum, rows)), limit)

    options: Any = {"unit": "u", "max_rows": 2, "bounds": {"x": (-2, 3)}}
    check(f"sum(x) {sign} {limit}", reference, SEVERAL, neighbours, bound=False, people=3, reach=2, **options)


ROWS: list[Person] = [
    (("A", 3), ("A", 3)), (("A", 0),), (("A", 9), ("B", 0)), (("B", -4), ("B", 3)), (("B", 3), ("B", None), ("C", 0)),
    (("C", 1),), (("A", 3), ("A", 3), ("B", 0), ("B", 0)),
]  # fmt: skip
"""One row or two of A, of B and of both, beside others; nobody's; and more than count."""
ODD: Person = (("A", 3), ("A", 1), ("B", 0), ("B", 1), ("B", 0))
"""Of whom sums are rounded down, where a step is 1."""
ON = {"A": "v = 'A'", "B": "v = 'B'", "AB": "v in ('A', 'B')"}


def kept(person: Person, sides: Sequence[str], most: int) -> list[tuple[Fraction, Fraction]]:
    """How far someone's rows of each side are above 0 and below 3, together: of more than `most` in proportion."""
    own = [[min(max(x, 0), 3) for v, x in person if x is not None and v in side] for side in sides]
    every = sum(x is not None and v is not None and any(v in side for side in sides) for v, x in person)
    pairs = [(Fraction(sum(values)), Fraction(sum(3 - x for x in values))) for values in own]
    if every > most:
        pairs = [(high * most / every, low * most / every) for high, low in pairs]
    assert person is ODD or all(part.denominator == 1 for pair in pairs for part in pair)
    return [(Fraction(math.floor(high)), Fraction(math.floor(low))) for high, low in pairs]


def of_rows(people: Sequence[Person], sides: Sequence[str], most: int) -> list[Fraction] | None:
    """The averages of rows, if no side is empty."""
    every = [kept(person, sides, most) for person in people]
    sums = [(sum(pairs[i][0] for pairs in every), sum(sum(pairs[i]) for pairs in every)) for i in range(len(sides))]
    return [3 * Fraction(total) / rows for total, rows in sums] if all(rows for _, rows in sums) else None


RATES: list[tuple[str, tuple[str, str], Callable[[Fraction, Fraction], bool]]] = [
    ("{A} > {B}", ("A", "B"), operator.gt),
    ("{A} >= {B}", ("A", "B"), operator.ge),
    ("{A} < {B}", ("A", "B"), operator.lt),
    ("{A} - {B} >= 1/2", ("A", "B"), lambda a, b: a - b >= Fraction(1, 2)),
    ("{A} > 1.2 * {B}", ("A", "B"), lambda a, b: 5 * a > 6 * b),
    ("{A} + {B} > 3", ("A", "B"), lambda a, b: a + b > 3),
    ("2 * {B} - 3 * {A} <= -1", ("A", "B"), lambda a, b: 2 * b - 3 * a <= -1),
    ("{A} > {AB}", ("A", "AB"), operator.gt),
]


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "neighbours"), thinned(itertools.product(RATES, BOTH), 3))
def test_averages_of_rows_against_brute_force(asked: Any, neighbours: Neighbours) -> None:
    text, sides, rule = asked
    sql = text.format(**{side: f"avg(x) filter (where {condition})" for side, condition in ON.items()})

    def reference(people: Sequence[Person]) -> bool:
        averages = of_rows(people, sides, 2)
        return averages is not None and rule(*averages)

    domain = [*ROWS, ODD] if text in ("{A} > {B}", "{A} >= {B}", "{A} < {B}") else ROWS
    options: Any = {"unit": "u", "max_rows": 2, "bounds": {"x": (0, 3)}}
    check(sql, reference, domain, neighbours, bound=True, people=3, reach=1, **options)


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", BOTH)
def test_a_row_on_both_sides_counts_on_both(neighbours: Neighbours) -> None:
    """Of different values: one row may be as high as can be on one side, and as low on the other."""
    domain: list[Person] = [((arm, x),) for arm in "AB" for x in (0, 3)]

    def reference(people: Sequence[Person]) -> bool:
        rows = [row for person in people for row in person]
        return bool(rows) and sum(x for _, x in rows) > 3 * sum(v == "A" for v, _ in rows)

    options: Any = {"unit": "u", "max_rows": 1, "bounds": {"x": (0, 3)}}
    check("avg(x) > 3 * avg(v = 'A')", reference, domain, neighbours, bound=True, people=5, reach=1, **options)


@pytest.mark.slow
@pytest.mark.parametrize(("sign", "neighbours"), thinned(itertools.product((">", ">=", "<="), BOTH), 2))
def test_shares_of_rows_against_brute_force(sign: str, neighbours: Neighbours) -> None:
    """A click more or less, where who clicked more often counts more."""
    domain: list[Person] = [
        (("A", 1),), (("A", 1), ("A", 1), ("A", 0)), (("B", 0), ("B", 0)), (("B", 1), ("A", 0)), (("B", None), ("C", 1)),
        (("A", 0),) * 4,
    ]  # fmt: skip

    def reference(people: Sequence[Person]) -> bool:
        own = [[(x == 1) for p in people for v, x in p[:3] if v == arm and x is not None] for arm in "AB"]
        return all(own) and SIGNS[sign](*(Fraction(sum(clicks), len(clicks)) for clicks in own))

    sql = f"avg(x = 1) filter (where v = 'A') {sign} avg(x = 1) filter (where v = 'B')"
    check(sql, reference, domain, neighbours, bound=True, people=3, reach=1, unit="u", max_rows=3)


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize(
    ("name", "sign", "neighbours"), thinned(itertools.product(("median(x)", "quantile(x, 0.75)"), SIGNS, BOTH), 4)
)
def test_quantiles_of_rows_against_brute_force(name: str, sign: str, neighbours: Neighbours, most: int) -> None:
    """Someone's rows count for or against the limit, up to `max_rows` more for it than against it, or less."""
    domain: list[Person] = [(("A", 3),), (("A", 3),) * 4, (("A", -2), ("A", 3)), (("A", -2),) * 5, (("A", None),)]
    q = Fraction(1, 2) if name == "median(x)" else Fraction(3, 4)
    met, missed = (4 * q, 4 * q - 4) if sign[0] == ">" else (4 - 4 * q, -4 * q)

    def reference(people: Sequence[Person]) -> bool:
        votes = [[met if SIGNS[sign](x, 1) else missed for _, x in person if x is not None] for person in people]
        total = sum(min(max(sum(own), most * missed), most * met) for own in votes)
        return any(votes) and (total > 0 if sign[0] == ">" else total >= 0)

    check(f"{name} {sign} 1", reference, domain, neighbours, bound=False, people=3, reach=2, unit="u", max_rows=most)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sign", "neighbours"), thinned(itertools.product(("min", "max"), SIGNS, BOTH), 2))
def test_the_least_and_greatest_of_rows_against_brute_force(name: str, sign: str, neighbours: Neighbours) -> None:
    """Of however many rows, and without saying what becomes of one's rows."""

    def reference(people: Sequence[Person]) -> bool:
        every = [x for person in people for _, x in person if x is not None]
        return bool(every) and SIGNS[sign]({"min": min, "max": max}[name](every), 1)

    domain: list[Person] = [(("A", 3),), (("A", 3), ("A", -2), ("A", 1)), (("A", -2),) * 2, (("A", None),)]
    check(f"{name}(x) {sign} 1", reference, domain, neighbours, bound=False, people=3, reach=2, unit="u")


arms = st.lists(st.tuples(st.sampled_from(["A", "B", "C", None]), st.one_of(st.none(), st.integers(-9, 40))), max_size=9)


def values_of(arm: str, person: Person) -> list[int]:
    return [x for v, x in person if v == arm and x is not None]


@pytest.mark.slow
@examples(20)
@given(
    st.lists(arms.map(tuple), max_size=20), st.integers(1, 6), st.sampled_from(BOTH), st.sampled_from([">", ">="]),
    st.sampled_from([(1, "0"), (1, "7/3"), ("1.1", "0")]),
)  # fmt: skip
def test_a_release_has_the_levels_of_the_question(
    people: list[Person], most: int, neighbours: Neighbours, sign: str, asked: tuple[Any, str]
) -> None:
    """What engines add up, also by the portable plan, against the same question in plain Python, whose levels brute force
    has checked."""
    factor, limit = asked
    sides = [f"avg(x) filter (where v = '{arm}')" for arm in "AB"]
    sql = f"{sides[0]} {sign} {factor} * {sides[1]} + {limit}"
    prepared = prepare(table([people]), sql, P, neighbours=neighbours, unit="u", max_rows=most, bounds={"x": (-4, 30)})
    first, second = (partial(values_of, arm) for arm in "AB")
    question = Rates(
        first, second, ((-4, 30), (-4, 30)), limit, most, (1, factor), neighbours, prepared.terms.reach, sign == ">"
    )
    expected = np.clip(question.level([p for p in people if p]), -30, 29)
    elsewhere = dataclasses.replace(prepared.source, engine=AnyIbis(prepared.source.engine.connection))
    for each in (prepared, dataclasses.replace(prepared, source=elsewhere)):
        assert np.clip(levels(each, 1, by=None)[0], -30, 29) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("sql", "reference", "domain", "options", "bound", "neighbours"), by_turns(JOINED_PEOPLE))
def test_people_and_a_public_table_against_brute_force(
    sql: str, reference: Any, domain: list[Person], options: dict[str, Any], bound: bool, neighbours: Neighbours
) -> None:
    check(sql, reference, domain, neighbours, bound=bound, people=3, reach=2, unit="u", **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "reference", "domain", "options", "bound", "neighbours"),
    thinned(by_turns([*IN_PERSON, *JOINED_IN_PERSON]), 3),
)
def test_one_row_per_person_first_against_brute_force(
    sql: str, reference: Any, domain: list[Person], options: dict[str, Any], bound: bool, neighbours: Neighbours
) -> None:
    """One by one: of who has no row in the inner where, the engine does not know the dataset."""
    most = 3 if neighbours == "add-remove" else 2
    datasets = [d for n in range(most + 1) for d in itertools.combinations_with_replacement(domain, n)]
    known: dict[tuple[Person, ...], float] = {}
    for dataset in datasets:
        with prepare(table([dataset]), sql, P, neighbours=neighbours, unit="u", **options) as prepared:
            known[dataset] = levels(prepared, 1, by=None)[0]
            assert (prepared.facts.basis == "safe bound") == bound
    verdict = verify(OnTheEngine(reference, known, neighbours), domain, people=2, reach=1)
    assert verdict.private, (sql, verdict.counterexample, [known[d] for d in verdict.counterexample or ()])


people = st.lists(
    st.tuples(st.tuples(st.sampled_from(["A", "B", "Y", "N", None]), st.one_of(st.none(), st.integers(-9, 9)))), max_size=25
)
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("count(*) filter (where v = 'Y') > count(*) filter (where v = 'N')", {}),
    ("avg(x) > 1/3", {"bounds": {"x": (-4, 6)}}),
    ("sum(x) <= 7", {"bounds": {"x": (-4, 6)}}),
    ("avg(x) filter (where v = 'A') - avg(x) filter (where v = 'B') >= 1", {"bounds": {"x": (-4, 6)}}),
    ("median(x) filter (where v = 'A') > quantile(x, 0.3) filter (where v = 'B')", {"bounds": {"x": (-4, 6)}}),
    ("mode(v) = 'A'", {}),
    ("2 * sum(x) - 3 * count(*) filter (where v = 'Y') > 1", {"bounds": {"x": (-4, 6)}}),
    ("quantile(x, 0.8) >= 2 and not bool_or(v = 'N')", {}),
]


@pytest.mark.slow
@examples(40)
@given(people, st.sampled_from(ASKED), st.sampled_from(BOTH), st.booleans())
def test_one_table_and_many_have_the_same_levels(
    rows: list[Person], asked: tuple[str, dict[str, Any]], neighbours: Neighbours, units: bool
) -> None:
    """The plan for a whole table against the plan by group, which brute force has checked; and against other engines' plan."""
    sql, options = asked
    added_up = re.match(r"count|sum|2 \*|bool|avg\(v", sql) is not None
    options = options | ({"unit": "u", **({"max_rows": 1} if added_up else {"per_unit": "max"})} if units else {})
    for privacy in (P, ApproxDP(2, "1e-2")):  # the latter fetches no more than 5 from each end
        prepared = prepare(table([rows]), sql, privacy, neighbours=neighbours, **options)
        alone = levels(prepared, 1, by=None)
        elsewhere = AnyIbis(prepared.source.engine.connection)
        portable = dataclasses.replace(prepared, source=dataclasses.replace(prepared.source, engine=elsewhere))
        assert levels(portable, 1, by=None) == alone
        if rows:
            assert alone == levels(prepared, 1) == levels(portable, 1)


@pytest.mark.slow
@given(people, st.sampled_from(["avg(x) > 1/3", "sum(x) > 2", "count(*) >= 3", "median(x) < 2"]), st.sampled_from(BOTH))
@examples(30)
def test_only_the_mechanisms_levels_are_looked_at(rows: list[Person], sql: str, neighbours: Neighbours) -> None:
    """Levels from few fetched people agree with those from many, as far as the mechanism tells them apart."""
    each = []
    for privacy in (ApproxDP(2, "1e-1"), ApproxDP("0.5", "1e-9")):
        prepared = prepare(table([rows]), sql, privacy, neighbours=neighbours, bounds={"x": (-4, 6)})
        each.append(levels(prepared, 1, by=None)[0])
    reach = prepare(table([rows]), sql, ApproxDP(2, "1e-1"), bounds={"x": (-4, 6)}).terms.reach
    assert np.clip(each[0], -reach - 1, reach) == np.clip(each[1], -reach - 1, reach)


FLOATS = ("- avg(x > 0)", "1e-200")
"""Where plain SQL is off by the last bits."""
PLAIN = [c for c in CASES if not any(word in c[0] for word in ("median", "quantile", "mode", "not ", *FLOATS))]


@pytest.mark.slow
@pytest.mark.parametrize(("sql", "domain", "options"), [(c[0], c[2], c[3]) for c in PLAIN], ids=[c[0] for c in PLAIN])
def test_truth_is_what_plain_sql_says(sql: str, domain: list[Person], options: dict[str, Any]) -> None:
    """The question itself, asked of DuckDB about the clipped table; where it is null, the answer is no."""
    datasets = [d for n in range(1, 5) for d in itertools.combinations_with_replacement(domain, n)]
    content = table(datasets)
    low, high = options.get("bounds", {"x": (-99, 99)})["x"]
    with prepare(content, sql, P, **options) as prepared:
        truths = [level >= 0 for level in levels(prepared, len(datasets))]
    head, _, rest = sql.removeprefix("select ").partition(" from t")
    with plain_duckdb() as connection:
        connection.register("content", content)
        connection.execute("set ieee_floating_point_ops = false")
        connection.execute("set error_on_division_by_zero = false")  # what is divided by 0 is null
        head = re.sub(r"avg\((v = 'Y'|x > 0)\)", r"avg((\1)::int)", head)
        clip = f"select d, v, case when x is not null then greatest(least(x, {high}), {low}) end as x from content"
        query = f"with t as ({clip}) select d, coalesce({head}, false) from t {rest} group by d"
        said = dict(connection.execute(query).fetchall())
    nobody = "from t" in sql  # a group without a row in where does not come back
    assert len(said) == len(datasets) or nobody
    assert truths == [said.get(d, False) for d in range(len(datasets))]


@pytest.mark.slow
@pytest.mark.parametrize("sql", [case[0] for case in CASES if "from t" not in case[0]])
def test_every_question_has_an_answer_on_every_table(sql: str) -> None:
    tables: list[list[Person]] = [[], [((None, None),)], [((None, None),)] * 30, [(("A", 1),)]]
    for rows, neighbours in thinned(itertools.product(tables, BOTH), 6, len(sql) % 6):
        reply = prepare(table([rows]), sql, P, bounds={"x": (-2, 3)}, neighbours=neighbours).release()
        assert reply.answers.keys() == {()}
