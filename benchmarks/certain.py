"""How many answers are certain at (1, 1e-6): of the questions of the docs' first pages, and of analysts' questions about three
public tables, each with a round number near the truth for its limit. Usage: certain.py.

Nothing is drawn: each question's true level is read, and the chances that its answer is certain or wrong are exact.
"""

from __future__ import annotations

import contextlib
import doctest
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import measure

from duotone import ApproxDP, DuotoneError, prepare
from duotone.model.accuracy import Accuracy
from duotone.tables import prepared
from duotone.tables.prepared import Prepared
from support.real_questions import ANSWERED, Real, load

BUDGET = ApproxDP(1, "1e-6")
PAGES = ("docs/start.md", "docs/questions.md")
TABLES = {"wages": "545 workers", "injuries": "7,150 injured", "happiness": "17,137 asked"}
DIGITS = (2, 1)
"""Significant digits that a limit has: 9.92 becomes 9.9, or 10."""

Chances = tuple[float, float]
"""Of one answer: that it is certain, and that it is wrong."""


def chances(question: Prepared, levels: Any) -> Iterator[Chances]:
    """Of each group's answer."""
    accuracy = question.accuracy
    assert isinstance(accuracy, Accuracy)
    for level in levels:
        margin = int(level) + 1 if level >= 0 else -int(level)
        yield accuracy.sure(margin), accuracy.error(margin)


def of(question: Real, digits: int) -> list[Chances]:
    """What one question's answers have, its limit rounded from the truth."""
    truth = sum(map(float, question.limits)) / 2
    limit = f"{float(f'{truth:.{digits}g}'):.10g}"
    with prepare(load(question.table), question.sql(limit), BUDGET, **question.options) as asked:
        return list(chances(asked, asked._levels()[2]))


def of_pages(root: Path) -> list[Chances]:
    """What the answers of the docs' pages have, as doctest asks them."""
    found: list[Chances] = []
    read = prepared.levels_of_all

    def seen(questions: Any) -> Any:
        keys, people, levels = read(questions)
        for question, at in zip(questions, levels, strict=True):
            if question.asked is not None and isinstance(question.accuracy, Accuracy):
                found.extend(chances(question, at))
        return keys, people, levels

    with contextlib.chdir(root), mock.patch.object(prepared, "levels_of_all", seen):
        for page in PAGES:
            failed, _ = doctest.testfile(page, module_relative=False, optionflags=doctest.ELLIPSIS)
            assert not failed, page
    return found


def row(name: str, found: list[Chances]) -> None:
    certain, wrong = (sum(column) for column in zip(*found, strict=True))
    print(f"| {name} | {len(found)} | {certain:.1f} | {wrong:.2f} |", flush=True)


def main() -> None:
    print(measure.machine())
    print("\n| questions | answers | certain | wrong |\n| --- | --- | --- | --- |")
    row("start.md, questions.md", of_pages(Path(__file__).parents[1]))
    for table, people in TABLES.items():
        for digits in DIGITS:
            found: list[Chances] = []
            for question in ANSWERED:
                if question.table == table:
                    with contextlib.suppress(DuotoneError):  # refused where a rounded limit is out of reach
                        found += of(question, digits)
            row(f"{table} ({people}), limits of {digits} digit{'s' * (digits > 1)}", found)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
