"""How many groups of a public list say yes: from SQL to level against brute force over all small tables, and the sign against
plain DuckDB on tables with hostile rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import ApproxDP, ask, open_ledger, prepare
from duotone.questions import Neighbours, verify
from duotone.tables.compile_question import levels_of
from duotone.tables.prepared import Prepared
from duotone.tables.sql.comparison import ParsedQuestion
from support.running import EXHAUSTIVE, examples
from support.small_questions import Person, table

P = ApproxDP(1, "1e-6")
SURE = ApproxDP(30, "1e-6")
LISTED = {"groups": ["a", "b"]}
Truth = Callable[[Sequence[Person]], bool]


def levels_of_tables(prepared: Prepared, many: int) -> list[float]:
    """The levels that answers are drawn from, of all datasets in one statement, as a trial asks about them."""
    people = replace(prepared.population, by=("d", *prepared.by), trial=True)
    asked = prepared.asked
    assert isinstance(asked, ParsedQuestion)
    assert prepared.compiled is not None
    keys, _, (levels,) = levels_of(people, [(asked, prepared.compiled)])
    known = dict.fromkeys(range(many), float(prepared.compiled.level_of_nobody()[0]))
    known |= {int(number): float(level) for (number,), level in zip(keys, levels, strict=True)}
    return [float(np.clip(level, -30, 29)) for level in known.values()]


@dataclass(frozen=True)
class OnTheEngine:
    """The question as brute force sees it: truth by plain Python, level by the engine."""

    reference: Truth
    known: dict[tuple[Person, ...], float]
    neighbours: Neighbours

    def truth(self, people: Sequence[Person]) -> bool:
        return self.reference(people)

    def level(self, people: Sequence[Person]) -> float:
        return self.known[tuple(people)]


def check(sql: str, reference: Truth, domain: Sequence[Person], *, exact: bool, people: int = 3, reach: int = 2,
          **options: Any) -> None:  # fmt: skip
    neighbours: Neighbours = options.get("neighbours", "add-remove")
    most = people + (reach if neighbours == "add-remove" else 0)
    datasets = [d for n in range(most + 1) for d in itertools.combinations_with_replacement(domain, n)]
    prepared = prepare(table(datasets), sql, P, **{**LISTED, **options})
    of_datasets = levels_of_tables(prepared, len(datasets))
    question = OnTheEngine(reference, dict(zip(datasets, of_datasets, strict=True)), neighbours)
    verdict = verify(question, domain, people=people, reach=reach)
    assert verdict.private, (sql, verdict.counterexample, [question.level(d) for d in verdict.counterexample or ()])
    assert (prepared.facts.basis == "exact distance") == exact, sql
    assert verdict.exact or not exact, (sql, verdict.counterexample, [question.level(d) for d in verdict.counterexample or ()])
    assert len({reference(d) for d in datasets}) == 2


def members(people: Sequence[Person], group: str) -> list[list[int]]:
    """The values of everybody in a group."""
    return [[x for v, x in person if v == group and x is not None] for person in people if any(v == group for v, _ in person)]


def crowded(people: Sequence[Person], least: int = 2) -> list[bool]:
    """Whether there are enough in each group; in a group without rows there are 0."""
    return [len(members(people, group)) >= least for group in LISTED["groups"]]


def averages(people: Sequence[Person]) -> list[Fraction | None]:
    """The average value of each group's people, null without one."""
    values = [[x for own in members(people, group) for x in own] for group in LISTED["groups"]]
    return [Fraction(sum(own), len(own)) if own else None for own in values]


OTHERS: list[Person] = [((None, 3),), (("z", 3),)]
"""Rows whose key is null, or not on the list."""
ROWS: list[Person] = [(("a", 1),), (("b", 1),), *OTHERS]
VALUED: list[Person] = [(("a", 0),), (("a", 3),), (("b", 0),), (("b", 3),), (("b", None),)]
ENOUGH = "from (select v, count(*) as n, count(*) >= 2 as ok, count(*) < 2 as few from t group by v)"
LONG = "from (select v, avg(x) > 1 as long, avg(x) as a, max(x) as top from t group by v)"
BOUNDS: dict[str, Any] = {"bounds": {"x": (0, 3)}}


def some_known(wanted: Callable[[Fraction], bool], unwanted: Callable[[Fraction], bool]) -> Truth:
    """Of averages: none unwanted, and one that is wanted."""
    return lambda p: (any(wanted(a) for a in averages(p) if a is not None)
                      and not any(unwanted(a) for a in averages(p) if a is not None))  # fmt: skip


COUNTS: list[tuple[str, Truth, bool]] = [
    (f"select count(*) >= 2 {ENOUGH} where ok", lambda p: all(crowded(p)), True),
    (f"select count(*) filter (where ok) > 0 {ENOUGH}", lambda p: any(crowded(p)), True),
    (f"select count(*) < 2 {ENOUGH} where ok", lambda p: not all(crowded(p)), True),
    ("select count(*) >= 2 from (select v, count(*) as n from t group by v having n >= 2)", lambda p: all(crowded(p)), True),
    (f"select count(*) >= 2 {ENOUGH} where few", lambda p: not any(crowded(p)), True),
    (f"select count(*) = 1 {ENOUGH} where not ok", lambda p: sum(crowded(p)) == 1, False),
    (f"select count(*) <> 1 {ENOUGH} where not ok", lambda p: sum(crowded(p)) != 1, False),
    (f"select avg(ok) > 0.5 {ENOUGH}", lambda p: all(crowded(p)), True),
    (f"select avg(ok::int) <= 1/2 {ENOUGH}", lambda p: not all(crowded(p)), True),
    (f"select count(*) filter (where ok) >= 0.6 * count(*) {ENOUGH}", lambda p: all(crowded(p)), True),
    (f"select 2 * count(case when g.ok then 1 end) / count(*) >= 1.2 {ENOUGH} as g", lambda p: all(crowded(p)), True),
    (f"select sum(case when ok then 1 else 0 end) >= 1 {ENOUGH}", lambda p: any(crowded(p)), True),
    (f"select min(n) >= 2 {ENOUGH}", lambda p: all(crowded(p)), True),
    (f"select min(n) < 2 {ENOUGH}", lambda p: not all(crowded(p)), True),
    (f"select 1 < max(n) {ENOUGH}", lambda p: any(crowded(p)), True),
    (f"select max(n) <= 1 {ENOUGH}", lambda p: not any(crowded(p)), True),
    (f"select median(n) >= 2 {ENOUGH}", lambda p: all(crowded(p)), True),  # the lower one
    (f"select quantile(n, 0.6) < 2 {ENOUGH}", lambda p: not any(crowded(p)), True),
    (f"select bool_or(ok) {ENOUGH}", lambda p: any(crowded(p)), True),
    (f"select bool_and(ok) {ENOUGH}", lambda p: all(crowded(p)), True),
    (f"select not bool_and(ok) {ENOUGH}", lambda p: not all(crowded(p)), True),
    ("select count(*) >= 2 from (select v from t group by 1 having count(*) >= 2)", lambda p: all(crowded(p)), True),
    (f"select count(*) >= 1 and min(n) < 2 {ENOUGH} where n >= 1",
     lambda p: any(crowded(p, 1)) and any(len(members(p, g)) == 1 for g in "ab"), False),
]  # fmt: skip
VALUES: list[tuple[str, Truth, bool]] = [
    (f"select count(*) >= 2 {LONG} where long", lambda p: all(a is not None and a > 1 for a in averages(p)), True),
    (
        f"select count(*) filter (where not long) >= 1 {LONG}",
        lambda p: any(a is not None and a <= 1 for a in averages(p)),
        True,
    ),
    (f"select bool_and(long) {LONG}", some_known(lambda a: a > 1, lambda a: a <= 1), False),
    (f"select not bool_or(long) {LONG}", some_known(lambda a: a <= 1, lambda a: a > 1), False),
    (f"select min(a) > 1 {LONG}", some_known(lambda a: a > 1, lambda a: a <= 1), False),
    (f"select max(a) > 1 {LONG}", lambda p: any(a is not None and a > 1 for a in averages(p)), True),
]


@pytest.mark.slow
@pytest.mark.parametrize(("sql", "reference", "exact"), COUNTS, ids=lambda value: value if isinstance(value, str) else "")
def test_counts_against_brute_force(sql: str, reference: Truth, exact: bool) -> None:
    check(sql, reference, ROWS, exact=exact, people=3 if not EXHAUSTIVE else 4)


@pytest.mark.slow
@pytest.mark.parametrize(("sql", "reference", "exact"), VALUES, ids=lambda value: value if isinstance(value, str) else "")
def test_values_against_brute_force(sql: str, reference: Truth, exact: bool) -> None:
    check(sql, reference, [*VALUED, OTHERS[1]], exact=exact, **BOUNDS)


def in_groups(*names: str) -> Person:
    return tuple((name, 1) for name in names)


SHARED = [in_groups("a"), in_groups("b"), in_groups("a", "b"), in_groups("a", "z"), OTHERS[0]]
OF_PEOPLE = "from (select v, count(distinct u) >= 2 as ok from t group by v)"


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2, 3, None])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("sign", [">= 2", ">= 1", "< 2"])
def test_people_in_several_groups_against_brute_force(most: int | None, neighbours: Neighbours, sign: str) -> None:
    """One group each is exact; of people in both, and of those who are replaced, it is a bound."""
    limit, turned = int(sign[-1]), sign[0] == "<"
    domain = SHARED if most != 1 else [person for person in SHARED if person != in_groups("a", "b")]
    options: dict[str, Any] = {"unit": "u", "neighbours": neighbours, **({} if most is None else {"max_groups": most})}
    check(f"select count(*) {sign} {OF_PEOPLE} where ok", lambda p: (sum(crowded(p)) >= limit) != turned, domain,
          exact=most == 1 and neighbours == "add-remove", people=3 if neighbours == "add-remove" else 4, **options)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2])
def test_values_of_people_who_are_replaced_against_brute_force(most: int) -> None:
    domain = [*VALUED, *([(("a", 3), ("b", 0))] if most > 1 else [])]
    check(f"select count(*) >= 2 {LONG} where long", lambda p: all(a is not None and a > 1 for a in averages(p)), domain,
          exact=False, people=4, reach=1, unit="u", max_rows=1, max_groups=most, neighbours="replace", **BOUNDS)  # fmt: skip


LONG_KEY = "k" * 2000
HOSTILE = st.tuples(
    st.sampled_from(["p", "q", "r", "s", None]), st.sampled_from(["a", "b", "c", "z", "A", "", None, LONG_KEY]),
    st.sampled_from([0, 1, 3, 2**62, -5, None]),
)  # fmt: skip
ASKED = {
    "count(distinct u) >= 2": "count(distinct u) >= 2",
    "sum(x) > 2": "sum(case when x is not null then least(greatest(x, 0), 3) end) > 2",
}
"""What is asked of a group, and the same after clipping, for people with one row in it."""
FOLDED = ["count(*) filter (where ok) >= 2", "bool_or(ok)", "count(*) filter (where ok) < 3", "bool_and(ok)"]


def by_plain_sql(rows: list[tuple[Any, ...]], asked: str, folded: str, most: int) -> bool:
    """The truth by DuckDB alone: in each group the people whom their own rows put there, and no group is left out."""
    with duckdb.connect() as connection:
        connection.execute("create table t(u varchar, v varchar, x bigint)")
        if rows:
            connection.executemany("insert into t values (?, ?, ?)", rows)
        ((truth,),) = connection.execute(f"""
            with kept as (from t where u is not null and v in ('a', 'b', 'c')
                          qualify row_number() over (partition by u, v order by x) = 1),
                 counted as (from kept qualify row_number() over (partition by u order by md5(u || chr(31) || v), v) <= {most}),
                 own as (select v, {asked} as ok from counted group by v),
                 nobody as (select {asked} as ok from counted where false),
                 every as (select case when own.v is null then nobody.ok else own.ok end as ok
                           from (values ('a'), ('b'), ('c')) l(v) left join own using (v) cross join nobody)
            select {folded} from every""").fetchall()
    return bool(truth)


@pytest.mark.slow
@examples(60)
@given(st.lists(HOSTILE, max_size=9), st.sampled_from(list(ASKED)), st.sampled_from(FOLDED), st.integers(1, 3))
def test_hostile_tables_and_their_neighbours(rows: list[tuple[Any, ...]], asked: str, folded: str, most: int) -> None:
    """The sign is the truth by plain DuckDB; without one person, or with another in that place, a level moves by 1 at most."""
    once = list({(u, v): (u, v, x) for u, v, x in rows}.values())  # one row of each in a group, so that SQL clips each alike
    without = [[row for row in once if row[0] != person] for person in "pqrs"]
    other = [[*own, (person, "c", 3), (person, "b", 0)] for own, person in zip(without, "pqrs", strict=True)]
    datasets = [once, *without, *other]
    content = pa.table({
        "d": pa.array([d for d, own in enumerate(datasets) for _ in own], pa.int64()),
        **{name: pa.array([row[i] for own in datasets for row in own], kind)
           for i, (name, kind) in enumerate((("u", pa.string()), ("v", pa.string()), ("x", pa.int64())))},
    })  # fmt: skip
    sql = f"select {folded} from (select v, {asked} as ok from t group by v)"
    options: dict[str, Any] = {"unit": "u", "max_groups": most, "groups": ["a", "b", "c"]}
    options |= {"max_rows": 1, "bounds": {"x": (0, 3)}} if "sum" in asked else {}
    for neighbours in ("add-remove", "replace"):
        with prepare(content, sql, P, neighbours=neighbours, **options) as prepared:
            levels = levels_of_tables(prepared, len(datasets))
        for own, level in zip(datasets, levels, strict=True):
            assert (level >= 0) == by_plain_sql(own, ASKED[asked], folded, most), (sql, own)
        if neighbours == "add-remove":
            pairs = [(0, i) for i in range(1, 5)] + [(i, i + 4) for i in range(1, 5)]
        else:
            pairs = [(0, i) for i, person in enumerate("pqrs", 5) if person in {row[0] for row in once}]
        assert all(abs(levels[one] - levels[other]) <= 1 for one, other in pairs), (sql, neighbours, once, levels)


def test_one_answer_costs_one_share(tmp_path: Path) -> None:
    """Its charge is that of a question without groups, and it is answered again free."""
    rows = pa.table({"u": [*range(90)], "v": ["a", "b", "c"] * 30})
    sql = "select count(*) >= 2 from (select v, count(distinct u) >= 8 as ok from t group by v) where ok"
    with open_ledger(tmp_path / "budget.ledger") as ledger:
        ledger.register("stays", ApproxDP(3, "1e-5"), unit="u", neighbours="add-remove", version="1")
        asked: dict[str, Any] = {"unit": "u", "max_groups": 2, "groups": ["a", "b", "c"], "ledger": ledger, "dataset": "stays"}
        first, again = (ask(rows, sql, P, **asked) for _ in range(2))
        assert first == "yes"
        assert again.receipt is not None
        assert again.receipt.free
        assert again.margins == first.margins
    with prepare(rows, sql, P, unit="u", groups=["a", "b", "c"]) as prepared:
        assert prepared.cost == prepare(rows, "count(distinct u) > 3", P, unit="u").cost
        assert (prepared.facts.by, prepared.facts.labels) == ((), ())
        assert "in at most" not in prepared.facts.person
        assert prepared.release().certificate()["basis"] == "safe bound"
    with prepare(rows, sql, P, unit="u", max_groups=2, groups=["a", "b", "c"]) as prepared:
        assert prepared.facts.person.endswith("in at most 2 groups")


@pytest.mark.parametrize("options", [{}, {"unit": "u", "max_rows": 1, "max_groups": 2}, {"neighbours": "replace"}])
@pytest.mark.parametrize("sql", ["count(*) >= 2", "count(*) < 2"])
def test_its_preview_is_about_the_group_that_decides(sql: str, options: dict[str, Any]) -> None:
    """From the shown count on in the second of three groups, the larger first, an answer is never wrong."""
    question = f"select {sql} from (select v, count(*) >= 20 as ok from t group by v) where ok"
    sizes = [(a, b, c) for a in (0, 15, 40) for b in (5, 6, 33, 34, 35) for c in (0, 4, 5, 6, 34, 50)]
    rows = [(d, f"{d} {v} {i}", v) for d, each in enumerate(sizes) for v, n in zip("abc", each, strict=True) for i in range(n)]
    content = pa.table(dict(zip("duv", map(pa.array, zip(*rows, strict=True)), strict=True)))
    with prepare(content, question, P, groups=["a", "b", "c"], **options) as prepared:
        levels = levels_of_tables(prepared, len(sizes))
        (shown,) = prepared.preview(50).comparisons
    assert "group number 2 of 3" in shown.measure
    assert shown.true.toss_up_to is shown.false.toss_up_to is None
    assert (shown.true.never_from, shown.false.never_from) == (Fraction(34), Fraction(5))
    for each, level in zip(sizes, levels, strict=True):
        second = sorted(each)[1]
        assert (level >= 0) == ((second >= 20) == (">" in sql))
        if second >= 34 or second <= 5:
            assert level >= 14 or level <= -15, each
