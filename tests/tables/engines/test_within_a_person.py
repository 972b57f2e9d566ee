"""What an inner select takes of a person's rows, against plain Python: the first and the last value, any and all."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from duotone import ApproxDP, DuotoneError, prepare

P = ApproxDP(1, "1e-6")

INNER = (
    "select p, arg_max(x, d) as last, arg_min(x, d) filter (where f) as first, bool_or(f) as ever, bool_and(f) as always "
    "from t group by p"
)


def person(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Of several rows that are first or last, the largest value."""
    both = [row for row in rows if row["x"] is not None and row["d"] is not None]
    known = [row["f"] for row in rows if row["f"] is not None]
    return {
        "last": max(((row["d"], row["x"]) for row in both), default=(None, None))[1],
        "first": max(((-row["d"], row["x"]) for row in both if row["f"]), default=(None, None))[1],
        "ever": any(known) if known else None,
        "always": all(known) if known else None,
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_as_in_plain_python(seed: int) -> None:
    draw = random.Random(seed)
    rows = [
        {
            "p": draw.randrange(6),
            "x": draw.choice([1, 2, 3, None]),
            "d": draw.choice([1, 2, None]),
            "f": draw.choice([True, False, None]),
        }
        for _ in range(5 * seed)
    ]
    kinds = {"p": pa.int64(), "x": pa.int64(), "d": pa.int64(), "f": pa.bool_()}
    people = [person([row for row in rows if row["p"] == p]) for p in {row["p"] for row in rows}]
    for order in (rows, rows[::-1]):
        table = pa.table({name: pa.array([row[name] for row in order], kind) for name, kind in kinds.items()})
        for condition, number in (
            ("last = 3", sum(own["last"] == 3 for own in people)),
            ("first is null", sum(own["first"] is None for own in people)),
            ("ever and not always", sum(own["ever"] is True and own["always"] is False for own in people)),
            ("always is null", sum(own["always"] is None for own in people)),
        ):
            question = f"select count(*) filter (where {condition}) > 1 from ({INNER})"
            with prepare(table, question, ApproxDP(1, "1e-6"), unit="p") as asked:
                assert asked._levels()[2].tolist() == [number - 2]


def test_names_of_an_inner_select_are_its_own() -> None:
    """Two that differ by case alone would be one in the outer select; a column of the table is none of its aggregates."""
    rows = pa.table({"u": [1, 2], "x": [1, 1], "y": [9, 9], "0": [100, 100]})
    with pytest.raises(DuotoneError, match="two columns called N"):
        prepare(rows, "select count(*) > 0 from (select u, sum(x) as n, sum(y) as N from t group by u)", P, unit="u")
    for made in ('"0" as m', '"0" + count(*) as m', "x as m"):
        with pytest.raises(DuotoneError, match="an aggregate of a person's rows: count"):
            prepare(rows, f"select count(*) > 0 from (select u, count(*) as n, {made} from t group by u)", P, unit="u")
