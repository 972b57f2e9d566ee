"""Questions from a grammar, each tried on all small tables: `python tests/hostile/every_question.py QUESTIONS TABLES [SEED]`.

Three things are held of each: neighbours' levels differ by at most 1; the sign of a level is what plain SQL says, the
question's own text run by DuckDB on the same rows, clipped as declared, where null is a no; and no search through the tables
flips an answer in fewer changes than its level says. With groups each is held of every group.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import logging
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow as pa
import pyarrow.compute

from duotone import ApproxDP
from duotone.errors import DuotoneError, FailedTrial
from duotone.model.notice import is_about
from duotone.tables.check_question import prepare
from hostile.plain_truth import plain
from hostile.question_grammar import Grammar, Question

BUDGET = ApproxDP(2, "1e-2")
KINDS = {
    "x": pa.int64(),
    "y": pa.float64(),
    "z": pa.int64(),
    "b": pa.bool_(),
    "v": pa.string(),
    "day": pa.date32(),
    "seen": pa.timestamp("us"),
}
DAYS = [datetime.date(*day) for day in ((2024, 1, 1), (2023, 12, 31), (2020, 2, 29), (1969, 12, 31), (2024, 3, 31))]
CRITICAL: Mapping[str, Sequence[Any]] = {
    "x": (None, -9, -1, 0, 1, 2, 9),
    "y": (None, math.nan, math.inf, -math.inf, 1.0, 2.0, 3.0, 0.0),
    "z": (None, -3, -2, -1, 5, 0),
    "b": (None, True, False),
    "v": (None, "a", "b", "", "A", " a", "ab"),
    "day": (None, *DAYS),
    "seen": (
        None,
        *(datetime.datetime.combine(day, datetime.time()) for day in DAYS[:2]),
        datetime.datetime(2023, 12, 31, 23, 59, 59),
    ),
}
HELD = {name: [value for value in values if value is not None] for name, values in CRITICAL.items()}
REFUSED: Counter[str] = Counter()
"""How often a question was refused, by the beginning of the reason."""
Row = tuple[Any, ...]
Person = tuple[Row, ...]
Tables = list[tuple[Person, ...]]


def tables(draw: random.Random, question: Question, most: int) -> Tables:
    """All multisets of up to three persons, or two with several rows, over as many kinds of them as make `most` tables; a tenth
    of that where people have several rows."""
    kinds: list[Person] = []
    persons, many = (2, max(15, most // 10)) if question.inner else (3, most)  # the former are prepared one by one
    for _ in range(max(k for k in range(1, most) if math.comb(k + persons, persons) <= many)):
        kinds.append(_person(draw, draw.randint(1, question.rows)))
    kinds = list(dict.fromkeys(kinds))
    return [d for n in range(persons + 1) for d in itertools.combinations_with_replacement(kinds, n)][:most]


def _person(draw: random.Random, rows: int) -> Person:
    """Rows that are much alike, so that several of a person's meet a condition."""
    first = tuple(draw.choice(values) for values in CRITICAL.values())
    others = (
        tuple(old if draw.random() < 0.7 else draw.choice(values) for old, values in zip(first, CRITICAL.values(), strict=True))
        for _ in range(rows - 1)
    )
    return (first, *others)


def stored(datasets: Tables) -> pa.Table:
    rows = [(d, f"{d}-{i}", *row) for d, people in enumerate(datasets) for i, person in enumerate(people) for row in person]
    types = {"d": pa.int64(), "u": pa.string(), **KINDS}
    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    return pa.table(
        {name: pa.array(c, kind, from_pandas=False) for (name, kind), c in zip(types.items(), columns, strict=True)}
    )


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
        with _trial_heard() as heard:
            prepared = _used(content, question)
    except FailedTrial as error:  # which is no refusal: the question is right and its trial is wrong, or the question is wrong
        return [f"it failed its trial: {error.report}"]
    if prepared is None:
        return None
    with prepared:
        basis, fit, own = prepared.facts.basis, _fitting(prepared, question), prepared.declared
        try:
            every = _levels(prepared, content, question, len(datasets))
        except DuotoneError as error:
            return [f"an error after reading: {error}"] if is_about(error, "engine failed") else None
    said = [f"its trial did not run its text: {error}" for error in heard]
    truths = plain(question, content, [fit(d) for d in datasets], HELD, own.max_rows, own.per_unit)
    edges = list(neighbours_of(question.options["neighbours"], datasets))
    for levels, known in zip(every, truths, strict=True):
        said += _wrong_levels(levels, known, edges, datasets, basis)
    return said


@contextmanager
def _trial_heard() -> Iterator[list[str]]:
    """Where a question's own text failed in its trial for no value's sake, which the trial itself only logs."""
    heard: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(str(getattr(record, "error", record)))  # type: ignore[method-assign]
    log = logging.getLogger("duotone.trial")
    log.addHandler(handler)
    try:
        yield heard
    finally:
        log.removeHandler(handler)


def _fitting(prepared: Any, question: Question) -> Any:
    """Says of a table whether what is declared of people changes none of them, so that plain SQL can judge."""
    own = prepared.declared
    if question.inner or own.unit is None:
        return lambda _: True
    most = 1 if own.per_unit is not None else own.max_rows or question.rows
    return lambda d: all(len(person) <= most for person in d)


def _wrong_levels(
    levels: Sequence[float], truths: Sequence[bool | None], edges: Sequence[tuple[int, int]], datasets: Tables, basis: str
) -> list[str]:
    said = [
        f"level {level} and plain SQL {truth} on {d}"
        for level, truth, d in zip(levels, truths, datasets, strict=True)
        if truth is not None and (level >= 0) != truth
    ][:2]
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
        distance = None if truths[i] is None else _distance(i, near, truths)
        if distance is not None and (level + 1 if level >= 0 else -level) > distance:
            said.append(f"level {level}, but {distance} changes flip it ({basis}): {datasets[i]}")
            break
    return said


def _distance(start: int, near: Mapping[int, Sequence[int]], truths: Sequence[bool | None]) -> int | None:
    seen, edge, steps = {start}, [start], 0
    while edge:
        if any(truths[i] not in (None, truths[start]) for i in edge):
            return steps
        edge = [j for j in dict.fromkeys(j for i in edge for j in near.get(i, ())) if j not in seen]
        seen.update(edge)
        steps += 1
    return None


def _used(content: pa.Table, question: Question) -> Any:
    """With what the question uses of what is declared, and nothing else."""
    every, options = dict(question.bounds), dict(question.options)
    for _ in range(len(every) + len(options)):
        try:
            return prepare(content, question.asked, BUDGET, **options, bounds=every)
        except FailedTrial:
            raise
        except DuotoneError as error:
            said = str(error)
            unused = [name for name in every if name in said] if "bounds" in said else []
            needless = [name for name in ("per_unit", "max_rows", "max_groups") if name in said and name in options]
            if unused:
                del every[max(unused, key=len)]
            elif needless:
                del options[needless[0]]
            else:
                REFUSED[re.sub(r".*: ", "", said)[:90]] += 1
                return None
    return None


def _levels(prepared: Any, content: pa.Table, question: Question, many: int) -> list[list[float]]:
    """By group, if there are any, then by table."""
    if not question.inner:
        keys = prepared.listed or ((),)
        every = tuple((d, *key) for key in keys for d in range(many))
        most = prepared.most if prepared.by else 2**31 - 1
        grouped = dataclasses.replace(prepared, by=("d", *prepared.by), most=most, listed=every)
        levels = [float(level) for level in grouped._levels()[2]]
        return [levels[i * many : (i + 1) * many] for i in range(len(keys))]
    each = []
    for d in range(many):
        with prepared.on(content.filter(pa.compute.equal(content["d"], d))) as one:
            each.append(float(one._levels()[2][0]))
    return [each]


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
    print(*(f"{many} {said}" for said, many in REFUSED.most_common(20)), sep="\n")
    print(f"{questions} questions, {refused} refused, {failed} wrong")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main(*map(int, sys.argv[1:])) else 0)
