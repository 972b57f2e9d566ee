"""Questions that join a public table, each with what it means in plain Python and the people it is asked about."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pyarrow as pa
from small_comparisons import Case
from small_questions import alone, flat
from small_tables import Person

ZONES = {"a": ("n", 3), "b": ("s", 0)}
"""What is public about a vote: its region and a weight."""
PUBLIC = {"zones": pa.table({"v": list(ZONES), "region": [r for r, _ in ZONES.values()], "w": [w for _, w in ZONES.values()]})}
ROWS = alone(("a", 0), ("a", 2), ("b", 2), ("c", 2), (None, 0))
SEVERAL: list[Person] = [(("a", 1),), (("b", 1),), (("c", 1),), (("a", 1), ("b", 1)), (("a", 1), ("a", 1), ("c", 1))]


def regions(people: Sequence[Person]) -> list[str | None]:
    """The region of each row, None where nothing is public about it."""
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
