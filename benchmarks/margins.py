"""What gathering people for margins costs beside gathering them for yes and no alone, in one run. Usage: margins.py
[rows].

Margins need twice as many levels: 29 people instead of 15 at (1, 1e-6). Times are medians of interleaved runs of the
questions of benchmarks/tables.py, in seconds of processor time, which other work on the machine changes little.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median
from unittest import mock

import measure

from duotone import prepare
from duotone.line.table import Reach
from duotone.model.terms import DefiniteTerms
from duotone.questions import Neighbours
from duotone.tables.prepared import Prepared
from tables import BUDGET, CASES, make

ROUNDS = 15


def prepared(file: Path, name: str, *, near: bool) -> Prepared:
    """A question; if `near`, people are gathered only as far as yes and no need."""
    question, bounds, _ = CASES[name]
    question, _, relation = question.partition(" -- ")
    neighbours: Neighbours = "replace" if relation else "add-remove"
    both = DefiniteTerms(BUDGET).reaches
    reaches = Reach(both.answers, both.answers) if near else both
    with mock.patch.object(DefiniteTerms, "reaches", reaches):
        return prepare(file, question, BUDGET, bounds=bounds, neighbours=neighbours)


def seconds(question: Prepared) -> float:
    """Processor time until all levels are known."""
    start = time.process_time()
    question._levels()
    return time.process_time() - start


def main(rows: int) -> None:
    both = DefiniteTerms(BUDGET).reaches
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "staff.parquet"
        make(file, rows)
        print(measure.machine())
        print(f"{rows:.0e} rows\n")
        print(f"| question | reach {both.answers}, s | reach {both.margins}, s | ratio |")
        print("| --- | --- | --- | --- |")
        for name in CASES:
            questions = [prepared(file, name, near=near) for near in (True, False)]
            near, far = (median(column) for column in zip(*(map(seconds, questions) for _ in range(ROUNDS)), strict=True))
            print(f"| {name} | {near:.3f} | {far:.3f} | {far / near:.2f} |", flush=True)
            for question in questions:
                question.close()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7)
