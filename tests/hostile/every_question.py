"""Questions from a grammar, each tried on all small tables: `python tests/hostile/every_question.py QUESTIONS TABLES [SEED]`.

Three things are held of each: neighbours' levels differ by at most 1; the sign of a level is what plain SQL says, the
question's own text run by DuckDB on the same rows, clipped as declared, where null is a no; and no search through the tables
flips an answer in fewer changes than its level says. Plain SQL is given lower medians, as the docs state.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import duckdb
import pyarrow as pa
import pyarrow.compute

from duotone import ApproxDP
from duotone.errors import DuotoneError, FailedTrial
from duotone.model.notice import is_about
from duotone.tables.ask import prepare

BUDGET = ApproxDP(2, "1e-2")
BOUNDS = {"x": (-1, 2), "y": (1, 3), "z": (-3, -1)}
"""Around zero, above it, below it; grids are whole, so that sums in plain SQL are exact."""
KINDS = {"x": pa.int64(), "y": pa.float64(), "z": pa.int64(), "b": pa.bool_(), "v": pa.string()}
CRITICAL: Mapping[str, Sequence[Any]] = {
    "x": (None, -9, -1, 0, 1, 2, 9),
    "y": (None, math.nan, math.inf, -math.inf, 1.0, 2.0, 3.0, 0.0),
    "z": (None, -3, -2, -1, 5, 0),
    "b": (None, True, False),
    "v": (None, "a", "b", "", "A"),
}
Row = tuple[Any, ...]
Person = tuple[Row, ...]
Tables = list[tuple[Person, ...]]


@dataclass(frozen=True)
class Question:
    """A question, what is declared with it, and whether a person has several rows."""

    text: str
    options: Mapping[str, Any] = field(default_factory=dict)
    several: bool = False

    @property
    def asked(self) -> str:
        """As it is asked: without the marks of values that are clipped."""
        return self.text.translate({ord(mark): None for mark in "«»"})


class Grammar:
    """Draws questions."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw

    def one(self, *choices: str) -> str:
        return self.draw.choice(choices)

    def condition(self, depth: int = 2) -> str:
        if depth and self.draw.random() < 0.5:
            inner = [self.condition(depth - 1) for _ in range(2)]
            return self.one(
                f"({inner[0]} and {inner[1]})",
                f"({inner[0]} or {inner[1]})",
                f"(not {inner[0]})",
                f"(({inner[0]}) is null)",
                f"(({inner[0]}) is not null)",
                f"coalesce({inner[0]}, {self.one('true', 'false')})",
            )
        column = self.one("x", "y", "z")
        return self.one(
            "b",
            "not b",
            f"{column} is null",
            f"{column} is not null",
            f"{column} {self.sign()} {self.one('-1', '0', '1', '2')}",
            f"v = {self.one(repr('a'), repr('b'), repr(''))}",
            "v in ('a', 'b')",
            "x < z",
            "b is true",
            f"{column} between 0 and 2",
        )

    def sign(self) -> str:
        return self.one(">", ">=", "<", "<=")

    def filter(self) -> str:
        return self.one("", "", f" filter (where {self.condition(1)})")

    def value(self) -> str:
        """What is added up, marked, so that plain SQL can clip it."""
        computed = f"case when {self.condition(1)} then {self.one('x', '0')} end"
        return f"«{self.one('x', 'y', 'z', computed)}»"

    def count(self) -> str:
        return (
            self.one(
                "count(*)",
                f"count({self.one('x', 'y', 'b')})",
                f"count_if({self.condition(1)})",
                f"sum(({self.condition(1)})::int)",
                f"sum(case when {self.condition(1)} then 1 end)",
                f"sum(case when {self.condition(1)} then 1 else 0 end)",
            )
            + self.filter()
        )

    def total(self) -> str:
        summed = f"sum({self.value()}){self.filter()}"
        return f"coalesce({summed}, 0)" if self.draw.random() < 0.1 else summed

    def mean(self) -> str:
        return f"avg({self.one(self.value(), f'({self.condition(1)})::int')}){self.filter()}"

    def ranked(self, *, against: bool) -> str:
        """Alone against a number it is not clipped; against another aggregate it is."""
        value = self.one("x", "y", "z")
        return f"{self.one('min', 'max', 'median')}({f'«{value}»' if against else value}){self.filter()}"

    def side(self, *, against: bool = False) -> str:
        weight = self.one("", "", "2 * ", "-")
        return self.one(
            self.count(),
            self.total(),
            self.mean(),
            self.ranked(against=against),
            weight + self.count(),
            weight + self.total(),
            f"{self.total()} / {self.count()}",
            f"{self.count()} / {self.count()}",
            f"{self.mean()} - {self.mean()}",
            f"{self.total()} - {self.count()}",
            f"{self.total()} + {self.total()}",
            f"{self.total()} / {self.total()}",
            f"{self.ranked(against=True)} - {self.ranked(against=True)}",
            f"{self.mean()} / {self.mean()}",
            f"abs({self.total()})",
            f"count(distinct {self.one('v', 'x', 'b')})",
            f"{self.one('var_pop', 'variance')}(«{self.one('x', 'z')}»){self.filter()}",
        )

    def comparison(self) -> str:
        limit = self.one("-2", "-1", "0", "0", "1", "2", "1/2", "-3/2")
        return self.one(
            f"{self.side()} {self.sign()} {limit}",
            f"{self.side()} {self.sign()} {limit}",
            f"{self.total()} {self.sign()} {limit}",
            f"{self.count()} {self.one('=', '<>')} {self.one('0', '1', '2')}",
            f"{self.side(against=True)} {self.sign()} {self.side(against=True)}",
            f"{self.one('bool_or', 'bool_and')}({self.condition(1)}){self.filter()}",
            f"{self.total()} between -1 and 1",
        )

    def expression(self, depth: int = 1) -> str:
        if depth and self.draw.random() < 0.35:
            first, second = self.expression(depth - 1), self.expression(depth - 1)
            return self.one(
                f"({first}) and ({second})", f"({first}) or ({second})", f"not ({first})", f"not (({first}) and not ({second}))"
            )
        return self.comparison()

    def question(self) -> Question:
        text, shape = self.expression(), self.draw.random()
        neighbours = self.one("add-remove", "replace")
        options: dict[str, Any] = {"neighbours": neighbours}
        if shape < 0.2:
            text = f"select {text} from t where {self.condition(1)}"
        elif shape < 0.35:
            of = self.one("sum", "max", "min")
            kept = self.one("", f"where {self.condition(1)} ")
            b = self.one("bool_or(b)", "bool_and(b)", "not bool_or(b)", "bool_or(x > 0)")
            inner = f"select u, {of}(x) as x, max(y) as y, {self.one('min', 'sum')}(z) as z, {b} as b, max(v) as v"
            text = f"select {text} from ({inner} from t {kept}group by u)"
            return Question(text, {**options, "unit": "u"}, several=True)
        return Question(text, options)


def tables(draw: random.Random, question: Question, most: int) -> Tables:
    """All multisets of up to three persons, or two with several rows, over as many kinds of them as make `most` tables; a tenth
    of that where people have several rows."""
    kinds: list[Person] = []
    persons, many = (2, max(15, most // 10)) if question.several else (3, most)  # the former are prepared one by one
    for _ in range(max(k for k in range(1, most) if math.comb(k + persons, persons) <= many)):
        rows = draw.choice((1, 1, 2)) if question.several else 1
        kinds.append(tuple(tuple(draw.choice(values) for values in CRITICAL.values()) for _ in range(rows)))
    kinds = list(dict.fromkeys(kinds))
    return [d for n in range(persons + 1) for d in itertools.combinations_with_replacement(kinds, n)][:most]


def stored(datasets: Tables) -> pa.Table:
    rows = [(d, f"{d}-{i}", *row) for d, people in enumerate(datasets) for i, person in enumerate(people) for row in person]
    types = {"d": pa.int64(), "u": pa.string(), **KINDS}
    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    return pa.table(
        {name: pa.array(c, kind, from_pandas=False) for (name, kind), c in zip(types.items(), columns, strict=True)}
    )


def declared(text: str) -> dict[str, tuple[int, int]]:
    """Bounds of every value that is added up, as the question writes it."""
    from sqlglot import parse_one

    computed = (parse_one(value, dialect="duckdb").sql(dialect="duckdb") for value in re.findall("«(case.*?)»", text))
    return {**BOUNDS, **dict.fromkeys(computed, BOUNDS["x"])}


def plain(question: Question, content: pa.Table, many: int) -> list[bool]:
    """The question's text, run by DuckDB as it is, about each table alone."""
    with duckdb.connect() as connection:
        connection.register("content", content)
        connection.execute("set error_on_division_by_zero = false")
        connection.execute("set ieee_floating_point_ops = false")
        clip = "select d, u, x, case when not isnan(y) then y end as y, z, b, v from content"
        connection.execute(f"create temp table everything as {clip}")
        clipped = _clipped(question.text)
        answers = []
        for d in range(many):
            connection.execute(f"create or replace temp view t as select * from everything where d = {d}")
            sql = clipped if clipped.startswith("select") else f"select {clipped} from t"
            answers.append(connection.execute(sql).fetchone() == (True,))
        return answers


def _clipped(text: str) -> str:
    """Values within their bounds; and lower medians."""

    def clip(value: re.Match[str]) -> str:
        low, high = BOUNDS.get(value[1], BOUNDS["x"])
        return f"(case when ({value[1]}) is not null then greatest(least({value[1]}, {high}), {low}) end)"

    text = re.sub(r"median\((«?\w»?)\)", r"quantile_disc(\1, 0.5)", text)
    return re.sub("«(.*?)»", clip, text)


def neighbours_of(relation: str, datasets: Tables) -> Iterator[tuple[int, int]]:
    place = {tuple(sorted(map(repr, d))): i for i, d in enumerate(datasets)}
    for i, d in enumerate(datasets):
        for out in range(len(d)):
            rest = [repr(p) for j, p in enumerate(d) if j != out]
            if relation == "add-remove":
                if (found := place.get(tuple(sorted(rest)))) is not None:
                    yield i, found
            else:
                for other in {repr(p) for e in datasets for p in e}:
                    found = place.get(tuple(sorted([*rest, other])))
                    if found is not None and found != i:
                        yield i, found


def wrong(question: Question, datasets: Tables) -> list[str] | None:
    """What does not hold of a question; None where it is refused before any row is read."""
    content = stored(datasets)
    try:
        prepared = _used(content, question)
    except FailedTrial as error:  # which is no refusal: the question is right and its trial is wrong, or the question is wrong
        return [f"it failed its trial: {error.report}"]
    if prepared is None:
        return None
    said = []
    with prepared:
        basis = prepared.facts.basis
        try:
            levels = _levels(prepared, content, question, len(datasets))
        except DuotoneError as error:
            return [f"an error after reading: {error}"] if is_about(error, "engine failed") else None
    truths = plain(question, content, len(datasets))
    said += [
        f"level {level} and plain SQL {truth} on {d}"
        for level, truth, d in zip(levels, truths, datasets, strict=True)
        if (level >= 0) != truth
    ][:2]
    relation = question.options["neighbours"]
    edges = list(neighbours_of(relation, datasets))
    said += [
        f"neighbours' levels {levels[i]} and {levels[j]}: {datasets[i]} and {datasets[j]}"
        for i, j in edges
        if abs(max(min(levels[i], 99), -99) - max(min(levels[j], 99), -99)) > 1
    ][:2]
    near: dict[int, list[int]] = {}
    for i, j in edges:
        near.setdefault(i, []).append(j)
        near.setdefault(j, []).append(i)
    for i, level in enumerate(levels):  # whatever is flipped in the search is no nearer than its level says
        distance = _distance(i, near, truths)
        if distance is not None and (level + 1 if level >= 0 else -level) > distance:
            said.append(f"level {level}, but {distance} changes flip it ({basis}): {datasets[i]}")
            break
    return said


def _distance(start: int, near: Mapping[int, Sequence[int]], truths: Sequence[bool]) -> int | None:
    seen, edge, steps = {start}, [start], 0
    while edge:
        if any(truths[i] != truths[start] for i in edge):
            return steps
        edge = [j for j in dict.fromkeys(j for i in edge for j in near.get(i, ())) if j not in seen]
        seen.update(edge)
        steps += 1
    return None


def _used(content: pa.Table, question: Question) -> Any:
    """With the bounds that the question uses, and no others."""
    every = declared(question.text)
    for _ in range(len(every) + 1):
        try:
            return prepare(content, question.asked, BUDGET, **question.options, bounds=every)
        except FailedTrial:
            raise
        except DuotoneError as error:
            unused = [name for name in every if name in str(error)]
            if "bounds" not in str(error) or not unused:
                return None
            every = {name: ends for name, ends in every.items() if name != max(unused, key=len)}
    return None


def _levels(prepared: Any, content: pa.Table, question: Question, many: int) -> list[float]:
    if not question.several:
        grouped = dataclasses.replace(prepared, by=("d",), most=2**31 - 1, listed=tuple((d,) for d in range(many)))
        return [float(level) for level in grouped._levels()[2]]
    bounds, each = prepared.declared.bounds, []
    for d in range(many):
        own = content.filter(pa.compute.equal(content["d"], d))
        with prepare(
            own, question.asked, BUDGET, **question.options, bounds={n: (b.low, b.high) for n, b in bounds.items()}
        ) as one:
            each.append(float(one._levels()[2][0]))
    return each


def main(questions: int, most: int, seed: int = 1) -> int:
    """Try so many questions on up to so many tables each; the number of those that fail."""
    failed = refused = 0
    for number in range(questions):
        draw = random.Random(f"{seed}-{number}")
        question = Grammar(draw).question()
        said = wrong(question, tables(draw, question, most))
        refused += said is None
        if said:
            failed += 1
            print(f"{seed}-{number}: {question.asked} {dict(question.options)}: {said[0]}", flush=True)
    print(f"{questions} questions, {refused} refused, {failed} wrong")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main(*map(int, sys.argv[1:])) else 0)
