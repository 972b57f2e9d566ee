"""What a command costs from a fresh process, beside what Ibis and DuckDB cost by themselves, in one run.

    python benchmarks/cold_start.py

`duotone ask` answers a question about a file of 3,000 rows, with and without `--preview`; beside it, a script imports
ibis and duckdb and runs the same query through Ibis, and one imports duckdb alone. Medians of interleaved runs:
elapsed time, and processor time, which other work on the machine changes less. Then the time of each import of `duotone
ask`.
"""

from __future__ import annotations

import os
import random
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median

import measure

ROUNDS = 9
THROUGH_IBIS = """
import ibis, duckdb
table = ibis.duckdb.connect().read_csv({file!r})
table.filter(table.vote == "Y").count().execute()
"""
STRAIGHT = """
import duckdb
duckdb.execute("select count(*) from {file} where vote = 'Y'").fetchall()
"""


def commands(file: Path) -> dict[str, list[str]]:
    ask = ["-m", "duotone", "ask", str(file), "count(*) filter (where vote = 'Y') > 1000", "--epsilon", "1", "--delta", "1e-6"]
    average = ["-m", "duotone", "ask", str(file), "avg(age) > 40", "--bounds", "age=0:100", "--epsilon", "1", "--delta", "1e-6"]
    return {
        "import ibis, duckdb; the query through Ibis": ["-c", THROUGH_IBIS.format(file=str(file))],
        "import duckdb; the query": ["-c", STRAIGHT.format(file=repr(str(file)))],
        "duotone ask, a count": ask,
        "duotone ask, an average": average,
        "duotone ask --preview": [*ask, "--preview"],
        "duotone --help": ["-m", "duotone", "--help"],
    }


def timed(command: list[str]) -> tuple[float, float]:
    """Elapsed and processor seconds of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    clock = measure.seconds(lambda: subprocess.run([sys.executable, *command], capture_output=True, check=True))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def imports(command: list[str]) -> Counter[str]:
    """Microseconds that importing each package took by itself."""
    done = subprocess.run([sys.executable, "-X", "importtime", *command], capture_output=True, text=True, check=True)
    spent: Counter[str] = Counter()
    for own, module in re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", done.stderr):
        spent[module.partition(".")[0]] += int(own)
    return spent


def main() -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # a second process uses what the first one compiled
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        file, rng = Path(folder) / "people.csv", random.Random(1)
        file.write_text("age,vote\n" + "".join(f"{rng.randint(18, 90)},{rng.choice('YN')}\n" for _ in range(3000)))
        works = commands(file)
        for command in works.values():
            timed(command)
        runs = [[timed(command) for command in works.values()] for _ in range(ROUNDS)]
        print(measure.machine() + "\n")
        print("| a fresh process | s | processor, s |\n| --- | --- | --- |")
        for name, own in zip(works, zip(*runs, strict=True), strict=True):
            print(f"| {name} | {median(t for t, _ in own):.2f} | {median(cpu for _, cpu in own):.2f} |")
        spent = imports(works["duotone ask, a count"])
        print(f"\nimports of a count, ms: {sum(spent.values()) / 1000:.0f} in all")
        print(", ".join(f"{package} {own / 1000:.0f}" for package, own in spent.most_common(12)))


if __name__ == "__main__":
    main()
