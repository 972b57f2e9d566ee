"""Ratios, weighted averages, spreads, distinct values, arithmetic of counts and computed values: each with its meaning
in plain Python, the people of its tables, and whether its levels are only a bound."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa

from support.small_questions import (
    ARMS,
    EARNERS,
    ENDS,
    HALF,
    PATIENTS,
    SOME,
    TO3,
    VALUES,
    VOTERS,
    VOTES,
    YES,
    Person,
    alone,
    flat,
    leads,
    lower_quantile,
    mean,
    of,
    reduced,
    values,
    votes,
)

Case = tuple[str, Callable[[Sequence[Person]], bool], list[Person], dict[str, Any], bool]
A, B = (f"avg(x) filter (where v = '{arm}')" for arm in "AB")
DIFFERENT = alone(*(("a", i) for i in range(6)), ("a", None))
IN_BOUNDS = {"bounds": TO3}


def arm(people: Sequence[Person], *arms: str) -> list[int]:
    return [min(max(x, 0), 3) for v, x in flat(people) if v in arms and x is not None]


def averages(rule: Callable[[Fraction, Fraction], bool]) -> Callable[[Sequence[Person]], bool]:
    """Of arms A and B: no if one of them is empty."""
    return lambda p: bool(a := arm(p, "A")) and bool(b := arm(p, "B")) and rule(mean(a), mean(b))


def against_all(sign: str, factor: Fraction = Fraction(1)) -> Callable[[Sequence[Person]], bool]:
    return lambda p: bool(a := arm(p, "A")) and of(sign)(mean(a), factor * mean(arm(p, "A", "B", "C")))


def spread(sign: str, limit: str, function: Callable[[Any], Any], least: int) -> Callable[[Sequence[Person]], bool]:
    return lambda p: len(v := list(map(Fraction, values(p, 0, 3)))) >= least and of(sign)(function(v), Fraction(limit))


def four(people: Sequence[Person]) -> tuple[int, int, int, int]:
    """Among Y and among N: how many have a positive value, and how many do not."""
    counts = [(v, x > 0) for v, x in flat(people)]
    return tuple(counts.count(cell) for cell in (("Y", True), ("Y", False), ("N", True), ("N", False)))  # type: ignore[return-value]


def odds(people: Sequence[Person]) -> bool:
    a, b, c, d = four(people)
    return b > 0 and d > 0 and c > 0 and Fraction(a, b) / Fraction(c, d) > 2


def risk(people: Sequence[Person]) -> bool:
    a, b, c, d = four(people)
    return a + b > 0 and c > 0 and Fraction(a, a + b) / Fraction(c, c + d) >= Fraction(3, 2)


COMPARED: list[Case] = [
    (f"{A} > 1.2 * {B}", averages(lambda a, b: a > Fraction(6, 5) * b), ENDS, IN_BOUNDS, False),
    (f"2 * {A} - 3 * {B} <= 1", averages(lambda a, b: 2 * a - 3 * b <= 1), ENDS, IN_BOUNDS, False),
    (f"{A} + {B} > 3", averages(lambda a, b: a + b > 3), ENDS, IN_BOUNDS, False),
    (f"{A} + {B} < 5/2", averages(lambda a, b: a + b < Fraction(5, 2)), ENDS, IN_BOUNDS, False),
    (f"{A} > avg(x)", against_all(">"), ENDS, IN_BOUNDS, False),
    (f"{A} < avg(x)", against_all("<"), ENDS, IN_BOUNDS, False),
    (f"avg(x) >= {A}", against_all("<="), ENDS, IN_BOUNDS, True),
    (f"{A} > 3/2 * avg(x)", against_all(">", Fraction(3, 2)), ENDS, IN_BOUNDS, True),
    (f"{A} / {B} > 3/2", averages(lambda a, b: b > 0 and a / b > Fraction(3, 2)), ENDS, IN_BOUNDS, True),
    (f"{A} / {B} <= 1", averages(lambda a, b: b > 0 and a / b <= 1), ENDS, IN_BOUNDS, True),
    (f"abs({A} - {B}) > 1", averages(lambda a, b: abs(a - b) > 1), ENDS, IN_BOUNDS, True),
    ("abs(avg(x) - 1) <= 1/2", lambda p: bool(v := values(p, 0, 3)) and abs(mean(v) - 1) <= HALF, VALUES, IN_BOUNDS, True),
    (f"1 > abs({YES} - count(*) filter (where v = 'N'))", lambda p: abs(votes(p)["Y"] - votes(p)["N"]) < 1, VOTES, {}, True),
    ("sum(x) / count(*) > 1", lambda p: bool(p) and Fraction(sum(values(p, 0, 3)), len(p)) > 1, VALUES, IN_BOUNDS, False),
    ("sum(x) / nullif(count(*), 0) > 1",
     lambda p: bool(p) and Fraction(sum(values(p, 0, 3)), len(p)) > 1, VALUES, IN_BOUNDS, False),
    ("percentile_disc(0.5) within group (order by x) > 1",
     lambda p: bool(v := sorted(values(p))) and v[(len(v) + 1) // 2 - 1] > 1, VALUES, {}, False),
    ("sum(x) / count(x) > 1", lambda p: bool(v := values(p, 0, 3)) and mean(v) > 1, VALUES, IN_BOUNDS, False),
    ("sum(x) filter (where v = 'A') / sum(x) filter (where v = 'B') > 1/2",
     lambda p: sum(arm(p, "B")) > 0 and Fraction(sum(arm(p, "A")), sum(arm(p, "B"))) > HALF, ARMS, IN_BOUNDS, True),
    ("sum(x) / (count(*) + 1) >= 1", lambda p: Fraction(sum(values(p, 0, 3)), len(p) + 1) >= 1, VALUES, IN_BOUNDS, False),
    *(
        (f"{name}(x) {sign} {limit}", spread(sign, str(Fraction(limit) ** power), function, least), VALUES, IN_BOUNDS, True)
        for name, function, least, power in [
            ("variance", statistics.variance, 2, 1), ("var_pop", statistics.pvariance, 1, 1),
            ("stddev", statistics.variance, 2, 2), ("stddev_pop", statistics.pvariance, 1, 2),
        ]
        for sign, limit in ((">", "1"), ("<=", "1.2"), (">=", "0.5"), ("<", "3/4"))
    ),
    ("stddev(x) > -1", spread(">=", "0", statistics.variance, 2), VALUES, IN_BOUNDS, True),
    *(
        (f"count(distinct x) {sign} {limit}", lambda p, s=sign, t=limit: of(s)(len(set(values(p))), t), DIFFERENT, {}, False)
        for sign, limit in ((">=", 2), (">", 2), ("<", 2), ("<=", 1))
    ),
    ("count(distinct x) = 2", lambda p: len(set(values(p))) == 2, DIFFERENT, {}, False),
    ("count(distinct x) filter (where x > 1) >= 2", lambda p: len({x for x in values(p) if x > 1}) >= 2, DIFFERENT, {}, True),
    ("(count(*) filter (where v = 'Y' and x > 0) / count(*) filter (where v = 'Y' and x <= 0))"
     " / (count(*) filter (where v = 'N' and x > 0) / count(*) filter (where v = 'N' and x <= 0)) > 2", odds, SOME, {}, False),
    ("avg(x > 0) filter (where v = 'Y') / avg(x > 0) filter (where v = 'N') >= 3/2", risk, SOME, {}, False),
    (f"{YES} * {YES} > 2 * count(*)", lambda p: votes(p)["Y"] ** 2 > 2 * len(p), VOTES, {}, False),
    ("count(*) / (count(*) + 1) > 2/3", lambda p: Fraction(len(p), len(p) + 1) > Fraction(2, 3), VOTES, {}, False),
    ("mode(v) in ('A', 'B')", lambda p: leads(p, "A") or leads(p, "B"), ARMS, {}, True),
    ("mean(x) > 1", lambda p: bool(v := values(p, 0, 3)) and mean(v) > 1, VALUES, IN_BOUNDS, False),
]  # fmt: skip


MEDIAN_A, MEDIAN_B = (f"median(x) filter (where v = '{arm}')" for arm in "AB")
MIDDLES = alone(("A", 0), ("A", 1), ("A", 3), ("B", 0), ("B", 3), ("C", 1))
TREATED = [PATIENTS[0], PATIENTS[1], *PATIENTS[3:6]]
SUMS = ", ".join(f"sum(x) filter (where v = '{v}') as {v.lower()}" for v in "AB")
Rule = Callable[[int, int], bool]


def median(numbers: Sequence[int]) -> int:
    return lower_quantile(numbers, HALF)


def quantiles(rule: Rule, q: str = "1/2", r: str = "1/2") -> Callable[[Sequence[Person]], bool]:
    """Of arms A and B: no if one of them is empty."""
    return lambda p: (bool(a := arm(p, "A")) and bool(b := arm(p, "B"))
                      and rule(lower_quantile(a, Fraction(q)), lower_quantile(b, Fraction(r))))  # fmt: skip


def of_all(rule: Callable[[list[int]], bool]) -> Callable[[Sequence[Person]], bool]:
    return lambda p: bool(v := values(p, 0, 3)) and rule(v)


QUANTILES: list[Case] = [
    *((f"{MEDIAN_A} {sign} {MEDIAN_B}", quantiles(of(sign)), MIDDLES, IN_BOUNDS, False) for sign in (">", ">=", "<", "<=")),
    (f"{MEDIAN_A} <= {MEDIAN_B}", quantiles(of("<=")), ENDS, IN_BOUNDS, False),
    (f"{MEDIAN_A} > {MEDIAN_B}", quantiles(of(">")), ENDS, IN_BOUNDS, False),
    ("quantile_disc(x, 0.25) filter (where v = 'A') > quantile(x, 2/3) filter (where v = 'B')",
     quantiles(of(">"), "1/4", "2/3"), ENDS, IN_BOUNDS, False),
    ("quantile_disc(x, 0.9) filter (where v = 'A') >= quantile_disc(x, 0.1) filter (where v = 'B')",
     quantiles(of(">="), "9/10", "1/10"), ENDS, IN_BOUNDS, False),
    (f"2 * {MEDIAN_A} > 3 * {MEDIAN_B} + 1", quantiles(lambda a, b: 2 * a > 3 * b + 1), ENDS, IN_BOUNDS, False),
    (f"{MEDIAN_A} + {MEDIAN_B} < 4", quantiles(lambda a, b: a + b < 4), ENDS, IN_BOUNDS, False),
    (f"abs({MEDIAN_A} - {MEDIAN_B}) >= 2", quantiles(lambda a, b: abs(a - b) >= 2), ENDS, IN_BOUNDS, True),
    ("max(x) filter (where v = 'A') > max(x) filter (where v = 'B')", quantiles(of(">"), "1", "1"), ENDS, IN_BOUNDS, False),
    ("min(x) filter (where v = 'A') >= max(x) filter (where v = 'B')",
     quantiles(of(">="), "1/1000", "1"), ENDS, IN_BOUNDS, False),
    (f"{A} > {MEDIAN_B}",
     lambda p: bool(a := arm(p, "A")) and bool(b := arm(p, "B")) and mean(a) > median(b), ENDS, IN_BOUNDS, False),
    (f"{MEDIAN_A} > median(x)",
     lambda p: bool(a := arm(p, "A")) and median(a) > median(values(p, 0, 3)), ENDS, IN_BOUNDS, True),
    ("avg(x) > median(x)", of_all(lambda v: mean(v) > median(v)), VALUES, IN_BOUNDS, True),
    ("max(x) - min(x) > 1", of_all(lambda v: max(v) - min(v) > 1), VALUES, IN_BOUNDS, True),
    ("quantile(x, 0.75) - quantile(x, 0.25) <= 1",
     of_all(lambda v: lower_quantile(v, Fraction(3, 4)) - lower_quantile(v, Fraction(1, 4)) <= 1), VALUES, IN_BOUNDS, True),
    ("median(x) >= median(2 - x)",
     of_all(lambda v: median(v) >= median([min(max(2 - x, -1), 2) for x in v])), VALUES,
     {"bounds": {"x": (0, 3), "2 - x": (-1, 2)}}, True),
    *(
        (f"{MEDIAN_A} {sign} {MEDIAN_B}",
         lambda p, h=how, s=sign: bool(a := reduced(p, h, "A")) and bool(b := reduced(p, h, "B"))
         and of(s)(median(a), median(b)), TREATED, {**IN_BOUNDS, "unit": "u", "per_unit": how}, True)
        for how, sign in (("avg", ">"), ("sum", ">"), ("min", "<="), ("max", ">"))
    ),
]  # fmt: skip


def inner(columns: str, where: str = "", having: str = "") -> str:
    return f"(select u, {columns} from t {where} group by u {having})"


def changes(people: Sequence[Person]) -> list[Fraction]:
    """For people in both arms: the average in arm A less that in arm B."""
    both = [([x for v, x in person if v == "A"], [x for v, x in person if v == "B"]) for person in people]
    return [mean(a) - mean(b) for a, b in both if a and b]


def medians(people: Sequence[Person]) -> bool:
    """The median of people's sums in arms A and B, clipped, if there is one."""
    sums = [[min(sum(xs), 3) for q in people if (xs := [x for v, x in q if v == arm])] for arm in "AB"]
    return all(sums) and median(sums[0]) > median(sums[1])


CHANGED: list[Person] = [
    (("A", 0),), (("A", 3), ("B", 0)), (("A", 1), ("A", 2), ("B", 2)), (("A", 0), ("B", 2)), (("A", 9), ("B", 1)),
]  # fmt: skip
IN_PERSON: list[Case] = [
    (f"select count(*) >= 2 from {inner('count(*) as n')} where n >= 2",
     lambda p: sum(len(q) >= 2 for q in p) >= 2, VOTERS, {}, True),
    (f"select avg(change) > 0 from {inner(f'{A} - {B} as change')}",
     lambda p: bool(c := changes(p)) and sum(max(Fraction(-3), min(Fraction(3), x)) for x in c) > 0, CHANGED,
     {"bounds": {"change": (-3, 3, "1/2")}}, True),
    (f"select count(*) >= 2 from {inner('max(x) as top', having='having count(*) >= 2')} where top > 0",
     lambda p: sum(len(q) >= 2 and any(x is not None and x > 0 for _, x in q) for q in p) >= 2, EARNERS, {}, True),
    (f"select sum(s) > 4 from {inner('sum(x) as s', 'where x > 0')}",
     lambda p: sum(min(s, 5) for q in p if (s := sum(x for _, x in q if x is not None and x > 0))) > 4, EARNERS,
     {"bounds": {"s": (0, 5, 1)}}, True),
    (f"select count(*) filter (where kinds = 2) >= 2 from {inner('count(distinct v) as kinds')}",
     lambda p: sum(len({v for v, _ in q}) == 2 for q in p) >= 2, VOTERS, {}, True),
    (f"select avg(more) > 1/2 from {inner('count_if(x > 1) > count_if(x <= 1) as more', 'where x is not null')} as people",
     lambda p: bool(m := [sum(1 if x > 1 else -1 for _, x in q if x is not None) > 0 for q in p
                          if any(x is not None for _, x in q)]) and mean([int(x) for x in m]) > HALF, EARNERS, {}, True),
    (f"select max(last) < 2 from {inner('max(x) as last')}",
     lambda p: bool(v := [max(values([q])) for q in p if values([q])]) and max(v) < 2, EARNERS, {}, True),
    (f"select median(a) > median(b) from {inner(SUMS)}",
     medians, CHANGED, {"bounds": {"a": (0, 3), "b": (0, 3)}}, True),
]  # fmt: skip


COMPUTED: list[Case] = [
    ("count_if(x > 0) >= 2", lambda p: sum(x > 0 for x in values(p)) >= 2, VALUES, {}, False),
    ("sum((x > 0)::int) >= 2", lambda p: sum(x > 0 for x in values(p)) >= 2, VALUES, {}, False),
    ("sum(x > 0) >= 2", lambda p: sum(x > 0 for x in values(p)) >= 2, VALUES, {}, False),
    ("avg((x > 0)::int) > 1/2", lambda p: bool(v := values(p)) and mean([int(x > 0) for x in v]) > HALF, VALUES, {}, False),
    ("avg(if(v = 'Y', 1, 0)) > 1/2", lambda p: bool(p) and votes(p)["Y"] > len(p) / 2, VOTES, {}, False),
    ("count(*) filter (where x + 1 > 2) > 1", lambda p: sum(x + 1 > 2 for x in values(p)) > 1, VALUES, {}, True),
    ("count(*) filter (where x / 2 >= 0.5) > 1", lambda p: sum(x >= 1 for x in values(p)) > 1, VALUES, {}, True),
    ("count(*) filter (where x % 2 = 1) > 1", lambda p: sum(x % 2 == 1 for x in values(p)) > 1, VALUES, {}, True),
    ("count(*) filter (where coalesce(x, 0) = 0) > 1",
     lambda p: sum((x or 0) == 0 for _, x in flat(p)) > 1, VALUES, {}, True),
    ("count(*) filter (where nullif(x, 0) is null) > 1",
     lambda p: sum(not x for _, x in flat(p)) > 1, VALUES, {}, True),
    ("count(*) filter (where case when x > 2 then 'big' when x > 0 then 'small' end = 'small') > 1",
     lambda p: sum(0 < x <= 2 for x in values(p)) > 1, VALUES, {}, True),
    ("count(*) filter (where x is distinct from 0) > 1", lambda p: sum(x != 0 for _, x in flat(p)) > 1, VALUES, {}, False),
    ("count(*) filter (where v ilike 'y%') > 1", lambda p: votes(p)["Y"] > 1, VOTES, {}, False),
    ("count(*) filter (where not starts_with(v, 'Y')) > 1", lambda p: votes(p)["N"] > 1, VOTES, {}, False),
    ("count(*) filter (where left(v || 'es', 3) = 'Yes') > 1", lambda p: votes(p)["Y"] > 1, VOTES, {}, True),
    ("sum(2 * x) > 3", lambda p: sum(2 * x for x in values(p, 0, 3)) > 3, VALUES, {"bounds": {"2*x": (0, 6)}}, True),
    ("avg(abs(x - 1)) > 1/2", lambda p: bool(v := values(p)) and mean([abs(x - 1) for x in v]) > HALF, VALUES,
     {"bounds": {"abs(x - 1)": (0, 2, 1)}}, True),
    ("avg(case when v = 'A' then x else 0 end) > 1",
     lambda p: bool(p) and mean([min(max(x, 0), 3) if v == "A" else 0 for v, x in flat(p)]) > 1, ENDS,
     {"bounds": {"case when v = 'A' then x else 0 end": (0, 3)}}, True),
    ("median(x * x) > 1", lambda p: bool(v := sorted(values(p))) and v[(len(v) + 1) // 2 - 1] ** 2 > 1, VALUES, {}, True),
    ("avg(x) > avg(2 - x)",
     lambda p: bool(v := values(p, 0, 3)) and mean(v) > mean([min(max(2 - x, -1), 2) for x in v]), VALUES,
     {"bounds": {"x": (0, 3), "2 - x": (-1, 2)}}, True),
]  # fmt: skip


ZONES = {"a": ("n", 3), "b": ("s", 0)}
"""The public facts of a vote: its region and a weight."""
PUBLIC = {"zones": pa.table({"v": list(ZONES), "region": [r for r, _ in ZONES.values()], "w": [w for _, w in ZONES.values()]})}
ROWS = alone(("a", 0), ("a", 2), ("b", 2), ("c", 2), (None, 0))
SEVERAL: list[Person] = [(("a", 1),), (("b", 1),), (("c", 1),), (("a", 1), ("b", 1)), (("a", 1), ("a", 1), ("c", 1))]


def regions(people: Sequence[Person]) -> list[str | None]:
    """The region of each row, None without one."""
    return [ZONES[v][0] if v in ZONES else None for v, _ in flat(people)]


def weights(people: Sequence[Person]) -> list[int]:
    return [ZONES[v][1] for v, _ in flat(people) if v in ZONES]


def mean_above(values: Sequence[int], limit: Fraction) -> bool:
    return bool(values) and Fraction(sum(values), len(values)) > limit


JOINED: list[Case] = [
    ("select count(*) >= 2 from t join zones using (v)", lambda p: len(weights(p)) >= 2, ROWS, {"public": PUBLIC}, True),
    ("select avg(w) > 1 from t join zones z on z.v = t.v", lambda p: mean_above(weights(p), Fraction(1)), ROWS,
     {"public": PUBLIC, "bounds": {"w": (0, 3)}}, True),
    ("select count(*) filter (where zones.v is null) > count(*) filter (where region = 'n') from t left join zones using (v)",
     lambda p: regions(p).count(None) > regions(p).count("n"), ROWS, {"public": PUBLIC}, True),
    ("select avg(x + w) > 3 from t inner join zones using (v) where region <> 'x'",
     lambda p: mean_above([x + ZONES[v][1] for v, x in flat(p) if v in ZONES], Fraction(3)), ROWS,
     {"public": PUBLIC, "bounds": {"x + w": (0, 5, 1)}}, True),
]  # fmt: skip
JOINED_PEOPLE: list[Case] = [
    ("select count(distinct u) >= 2 from t join zones using (v) where region = 'n'",
     lambda p: sum("n" in regions([q]) for q in p) >= 2, SEVERAL, {"public": PUBLIC}, True),
    ("select sum(w) > 4 from t join zones using (v)", lambda p: sum(min(6, sum(weights([q]))) for q in p) > 4, SEVERAL,
     {"public": PUBLIC, "bounds": {"w": (0, 3)}, "max_rows": 2}, True),
]  # fmt: skip
JOINED_IN_PERSON: list[Case] = [
    ("select count(*) >= 2 from (select u, sum(w) as s from t join zones using (v) group by u) where s > 2",
     lambda p: sum(sum(weights([q])) > 2 for q in p) >= 2, SEVERAL[2:], {"public": PUBLIC}, True),
]  # fmt: skip
