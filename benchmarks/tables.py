"""The cost of a private answer about a large table, beside the same aggregate in DuckDB directly, in one run.

    python benchmarks/tables.py [rows]

The table is made anew: a salary (32-bit whole numbers, log-uniform), the same as a double, a region of 21, one of a million
towns and a vote, as Parquet. Each pair of
times is the median of interleaved runs in one process; peak memory is that of a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import duckdb
import measure

from duotone import ApproxDP, prepare
from duotone.questions import Neighbours

BUDGET = ApproxDP(1, "1e-6")
ROUNDS = 7
WIDE = {"salary": (0, 500_000)}
"""Bounds that hold every salary: DuckDB sees in the file's statistics that nothing is clipped, and skips clipping."""
CLIPPED = "case when {0} between {1} and {2} then {0} when {0} < {1} then {1} when {0} > {2} then {2} end"
CASES: dict[str, tuple[str, dict[str, tuple[int, int]], str]] = {
    "count": (
        "count(*) filter (where salary > 20000) > 1000",
        {},
        "select count(*) filter (where salary > 20000) from '{}'",
    ),
    "grouped count": (
        "select region, count(*) > 1000 group by region",
        {},
        "select region, count(*) from '{}' group by region",
    ),
    "avg": ("avg(salary) > 50000", WIDE, "select avg(salary) from '{}'"),
    "avg of the clipped": ("avg(salary) > 50000", WIDE, f"select avg({CLIPPED.format('salary', 0, 500_000)}) from '{{}}'"),
    "avg of the clipped, some outside": (
        "avg(salary) > 50000",
        {"salary": (10_000, 150_000)},
        f"select avg({CLIPPED.format('salary', 10_000, 150_000)}) from '{{}}'",
    ),
    "sum of the clipped": (
        "sum(salary) > 10000000",
        {"salary": (10_000, 150_000)},
        f"select sum({CLIPPED.format('salary', 10_000, 150_000)}) from '{{}}'",
    ),
    "avg of the clipped, replace": (
        "avg(salary) > 50000 -- replace",
        {"salary": (10_000, 150_000)},
        f"select avg({CLIPPED.format('salary', 10_000, 150_000)}) from '{{}}'",
    ),
    "avg of clipped doubles": (
        "avg(income) > 50000",
        {"income": (10_000, 150_000)},
        f"select avg({CLIPPED.format('income', 10_000, 150_000)}) from '{{}}'",
    ),
    "avg by region, clipped": (
        "select region, avg(salary) > 50000 group by region",
        {"salary": (10_000, 150_000)},
        f"select region, avg({CLIPPED.format('salary', 10_000, 150_000)}) from '{{}}' group by region",
    ),
    "avg by town, clipped": (
        "select town, avg(salary) > 50000 group by town",
        {"salary": (10_000, 150_000)},
        f"select town, avg({CLIPPED.format('salary', 10_000, 150_000)}) from '{{}}' group by town",
    ),
}


def make(file: Path, rows: int) -> None:
    duckdb.execute(
        "copy (select salary, salary::double as income, region, town, vote from (select exp(random() * 3 + 9)::int as salary, "
        "(random() * 20)::int as region, (random() * 1000000)::int as town, "
        f"case when random() < 0.5 then 'Y' else 'N' end as vote from range({rows}))) to '{file}'"
    )


def plain(file: Path, name: str) -> Callable[[], object]:
    connection, sql = duckdb.connect(), CASES[name][2].format(file)
    return lambda: connection.execute(sql).fetchall()


def private(file: Path, name: str) -> Callable[[], object]:
    question, bounds, _ = CASES[name]
    question, _, relation = question.partition(" -- ")
    neighbours: Neighbours = "replace" if relation else "add-remove"
    return prepare(file, question, BUDGET, bounds=bounds, neighbours=neighbours).release


def peak(file: Path, name: str, kind: str) -> float:
    """MiB of a process that does only this, three times."""
    command = [sys.executable, __file__, "--peak", str(file), name, kind]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "staff.parquet"
        make(file, rows)
        print(measure.machine())
        print(f"{rows:.0e} rows, {file.stat().st_size / 2**20:.0f} MiB of Parquet\n")
        print("| question | DuckDB, s | Duotone, s | ratio | DuckDB, MiB | Duotone, MiB | ratio |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for name in CASES:
            theirs, ours = measure.in_turns([plain(file, name), private(file, name)], ROUNDS)
            memory = peak(file, name, "plain"), peak(file, name, "private")
            cells = f"{theirs:.3f} | {ours:.3f} | {ours / theirs:.2f} | {memory[0]:.0f} | {memory[1]:.0f}"
            print(f"| {name} | {cells} | {memory[1] / memory[0]:.2f} |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["--peak"]:
        chosen = {"plain": plain, "private": private}[sys.argv[4]](Path(sys.argv[2]), sys.argv[3])
        for _ in range(3):
            chosen()
        print(measure.peak_memory())
    else:
        main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**8)
