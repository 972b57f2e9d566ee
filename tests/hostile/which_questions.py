"""Questions which of several answers is true, about hostile values: `python tests/hostile/which_questions.py PAIRS [SEED]`.

Of every two neighbouring tables the released distributions are private over all events, by exact fractions; the standings are
those of neighbours; and each question passes its trial.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow as pa

from duotone import ApproxDP, DuotoneError, prepare
from duotone.line.which import answer_at
from duotone.model.terms import WhichTerms
from duotone.tables.prepared import Prepared
from hostile.every_question import CRITICAL, KINDS

RATIO, DELTA = Fraction(2), Fraction(1, 10)
BUDGET = ApproxDP(exp_epsilon=RATIO, delta=DELTA)
BOUNDS = {"x": (-2, 3), "y": (0, 4), "z": (-5, 5, 5)}
LISTS = {
    "v": ["'a'", "'b'", "''", "'A'", "' a'"],
    "x": ["-9", "0", "1", "2"],
    "b": ["true", "false"],
    "day": ["date '2024-01-01'", "date '2023-12-31'", "date '1969-12-31'"],
}
NUMBERS = [
    "avg(x)",
    "avg(y)",
    "count(*)",
    "sum(z)",
    "median(y)",
    "avg(b)",
    "max(x)",
    "sum(x) - count(*)",
    "min(z)",
    "var_pop(x)",
]
ORDERS = ["count(*)", "sum(x)", "sum(y)", "avg(x)", "avg(z)", "avg(b)", "median(y)", "max(z)", "min(x)", "avg(x > 0)"]
WHERE = ["", "", " and b", " and x > 0", " and y is not null", " and not (x = 1 or b)"]
Person = tuple[tuple[Any, ...], ...]
Table = tuple[Person, ...]


def question(draw: random.Random) -> str:
    """One of the forms."""
    match draw.randrange(4):
        case 0:
            key = draw.choice([*LISTS])
            return f"mode({key}) filter (where {key} in ({', '.join(_some(draw, key))}){draw.choice(WHERE)})"
        case 1:
            limits = sorted(draw.sample(range(-2, 5), draw.choice((1, 2, 3))))
            return f"bracket({draw.choice(NUMBERS)}, {', '.join(map(str, limits))})"
        case 2:
            tests = [f"{draw.choice(NUMBERS)} {draw.choice(('>', '>=', '<', '<='))} {draw.randint(-1, 3)}" for _ in range(3)]
            one = f"{tests[0]} {draw.choice(('and', 'or'))} not {tests[2]}" if draw.random() < 0.3 else tests[0]
            return f"case when {one} then 'p' when {tests[1]} then '{draw.choice('pqq')}' else 'r' end"
    key, way = draw.choice([*LISTS]), draw.choice(("", " desc"))
    rows = f"{key} in ({', '.join(_some(draw, key))}){draw.choice(WHERE)}"
    return f"select {key} from t where {rows} group by {key} order by {draw.choice(ORDERS)}{way} limit 1"


def _some(draw: random.Random, key: str) -> list[str]:
    return draw.sample(LISTS[key], draw.randint(2, len(LISTS[key])))


def options(draw: random.Random) -> dict[str, Any]:
    """Who is a person, and who are neighbours."""
    own: dict[str, Any] = {"neighbours": draw.choice(("add-remove", "replace")), "bounds": BOUNDS}
    if draw.random() < 0.5:
        limits: list[tuple[str, Any]] = [("max_rows", 1), ("max_rows", 2), ("per_unit", "max"), ("per_unit", "avg")]
        own |= {"unit": "u", **dict([draw.choice(limits)])}
    return own


def arrow(table: Table) -> pa.Table:
    """The rows of a table, with their person."""
    rows = [(person, *row) for person, own in enumerate(table) for row in own]
    columns = zip(*rows, strict=True) if rows else [()] * (len(KINDS) + 1)
    schema = {"u": pa.int64(), **KINDS}
    return pa.table({name: pa.array(list(own), kind) for (name, kind), own in zip(schema.items(), columns, strict=True)})


def distribution(asked: Prepared) -> tuple[tuple[int, int], dict[int, Fraction]]:
    """The standing of a table, and the chances of each answer."""
    terms = asked.terms
    assert isinstance(terms, WhichTerms)
    ((answer, distance),) = asked._levels()[2].tolist()
    places = enumerate(terms.table.chances(distance))
    return (answer, distance), {int(answer_at(answer, place, len(terms.answers))): chance for place, chance in places}


def loss(first: Mapping[int, Fraction], second: Mapping[int, Fraction]) -> Fraction:
    """The least δ at this ratio."""
    return sum((max(Fraction(0), first[i] - RATIO * second[i]) for i in first), Fraction(0))


def pairs(draw: random.Random, asked: Prepared, *, several: bool, replaced: bool) -> Iterator[None]:
    """Every two neighbours among tables of up to three persons of a few hostile kinds."""
    kinds = list({_person(draw, draw.randint(1, 3) if several else 1): None for _ in range(5)})
    known = {}
    for table in (t for n in range(4) for t in itertools.combinations_with_replacement(range(len(kinds)), n)):
        with asked.on(arrow(tuple(kinds[i] for i in table))) as one:
            known[table] = distribution(one)
    for table, (stands, chances) in known.items():
        for i, new in itertools.product(range(len(table)), range(len(kinds)) if replaced else [None]):
            other = tuple(sorted((*table[:i], *table[i + 1 :], *([] if new is None else [new]))))
            there, others = known[other]
            far = abs(stands[1] - there[1]) > 1 if stands[0] == there[0] else max(stands[1], there[1]) > 0
            about = [kinds[i] for i in table], [kinds[i] for i in other], stands, there
            assert not far, about
            assert max(loss(chances, others), loss(others, chances)) <= DELTA, about
            yield


def _person(draw: random.Random, rows: int) -> Person:
    first = [draw.choice(values) for values in CRITICAL.values()]
    return tuple(tuple(v if draw.random() < 0.6 else draw.choice(c) for v, c in zip(first, CRITICAL.values(), strict=True))
                 for _ in range(rows))  # fmt: skip


def run(wanted: int, seed: int) -> Counter[str]:
    """At least this many pairs."""
    draw, seen = random.Random(seed), Counter[str]()
    while seen["pairs"] < wanted:
        text, own = question(draw), options(draw)
        try:
            with prepare(arrow(()), text, BUDGET, **own) as asked:
                seen["questions"] += 1
                for _ in pairs(draw, asked, several="unit" in own, replaced=own["neighbours"] == "replace"):
                    seen["pairs"] += 1
        except AssertionError:
            print(f"FAILED: {text} with {own}, seed {seed}")
            raise
        except DuotoneError as error:
            if type(error).__name__ == "FailedTrial":
                raise
            seen["refused"] += 1
    return seen


if __name__ == "__main__":
    print(dict(run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)))
