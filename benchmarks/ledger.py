"""The ledger: charges a second beside the disk's bare rate of syncs, both accounts side by side, and a picture of one.

python benchmarks/ledger.py [FOLDER [CHARGES]]      FOLDER is on the disk to be measured, and gets the figure

Registering, pricing and so many charges (10^5) are measured under each account, in turns.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import measure

from duotone import ApproxDP, Charge, balanced, open_ledger
from duotone.ledger.ledger import Ledger
from duotone.ledger.stores import open_store
from duotone.plotting import save, spending
from duotone.privacy.renyi import best_order

BUDGET = ApproxDP(8000, "1e-6")
SECONDS = 3.0


def rates(works: dict[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """Median calls a second of each, measured in turns, since a disk's speed changes."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            count, start = 0, time.perf_counter()
            while (passed := time.perf_counter() - start) < SECONDS / rounds:
                work()
                count += 1
            found[name].append(count / passed)
    return {name: median(some) for name, some in found.items()}


def bare_sync(folder: Path) -> Callable[[], None]:
    """Overwrite a page and force it to the disk: the limit."""
    file = os.open(folder / "bare", os.O_RDWR | os.O_CREAT)
    page, pages = bytes(4096), 1024
    os.write(file, page * pages)
    os.fsync(file)
    turn = 0

    def work() -> None:
        nonlocal turn
        turn = (turn + 1) % pages
        os.pwrite(file, page, turn * 4096)
        os.fdatasync(file)

    return work


def throughput(folder: Path) -> None:
    """Every figure is from this run, on this disk. An answer takes two commits: its charge, and the answer itself."""
    with open_ledger(folder / "budget.ledger") as ledger:
        ledger.register("d", BUDGET, unit="person", neighbours="replace", version="1")
        line = balanced(ApproxDP("0.000001"))

        def asking(answers: int, again: bool = True) -> Callable[[], object]:
            charge = Charge(line, answers)
            return lambda: ledger.ask("d", "q", charge, lambda: 1, unit="person", neighbours="replace", again=again)

        works = {"sync": bare_sync(folder), "free": asking(1, False), **{str(n): asking(n) for n in (1, 10, 100, 1000)}}
        found = rates(works)
        print(f"bare sync of one page: {found['sync']:.0f} a second")
        print(f"commits: {2 * found['1']:.0f} a second, {2 * found['1'] / found['sync']:.2f} of the bare rate")
        for n in (1, 10, 100, 1000):
            print(f"answers charged {n} at once: {n * found[str(n)]:.0f} a second")
        print(f"the same question again, free: {found['free']:.0f} a second")
        entries, start = ledger.verify().entries, time.perf_counter()
        assert ledger.verify().holds
        print(f"verify: {entries / (time.perf_counter() - start):.0f} entries a second")


def prepared(ledger: Ledger, account: Any, charges: int) -> Callable[[int], object]:
    """Registers a dataset and prices an equal share of (1, 10^-6); returns what charges one."""
    about: Any = {"unit": "person", "neighbours": "replace"}
    ledger.register("first", BUDGET, version="1", **about)  # makes the file
    expected: Any = {"answers": charges} if account == "renyi" else {}

    def register() -> None:
        best_order.cache_clear()
        ledger.register("d", ApproxDP(1, "1e-6"), version="1", account=account, **expected, **about)

    registering = measure.seconds(register)
    each = Charge(balanced(ledger.stands("d").registered.account.part(Fraction(1, charges))))
    pricing = median(measure.seconds(lambda: ledger.quote("d", [("q", each)], **about)) for _ in range(50))
    print(f"{account}: registered in {registering:.4f} s, priced in {1000 * pricing:.2f} ms")
    return lambda i: ledger.ask("d", f"q{i}", each, lambda: 1, **about)


def accounts(folder: Path, charges: int) -> None:
    """Equal shares of (1, 10^-6), all of them charged one by one, in turns of a hundred; CPU time, and time with the disk."""
    with open_ledger(folder / "sum") as by_sum, open_ledger(folder / "renyi") as by_renyi:
        ways = {name: prepared(ledger, name, charges) for name, ledger in (("sum", by_sum), ("renyi", by_renyi))}
        spent = {name: [0.0, 0.0] for name in ways}
        for start in range(0, charges, 100):
            for name, charge in ways.items():
                wall, busy = time.perf_counter(), time.process_time()
                for i in range(start, min(start + 100, charges)):
                    charge(i)
                spent[name][0] += time.perf_counter() - wall
                spent[name][1] += time.process_time() - busy
        for name, (wall, busy) in spent.items():
            print(f"{name}: {charges:,} charges in {wall:.1f} s, {1000 * busy / charges:.3f} ms of CPU time each")
        by_wall, by_cpu = (spent["renyi"][i] / spent["sum"][i] for i in (0, 1))
        print(f"renyi / sum: {by_wall:.3f} with the disk, {by_cpu:.3f} of CPU time")


def sample(folder: Path, path: Path) -> Path:
    """A month of questions, with one crash, as `duotone ledger plot` draws it."""
    now = [datetime(2026, 11, 1, 9, tzinfo=UTC)]
    line = balanced(ApproxDP("0.1", "1e-9"))
    with Ledger(open_store(folder / "sample"), clock=lambda: now[0]) as ledger:
        ledger.register("survey", ApproxDP(8, "1e-6"), unit="person", neighbours="replace", version="1")
        for day in range(60):
            now[0] += timedelta(hours=3 + 37 * day % 19)
            with contextlib.suppress(ZeroDivisionError):
                flip = (lambda: 1 // 0) if day == 40 else (lambda: 1)
                ledger.ask("survey", f"question {day}", Charge(line), flip, unit="person", neighbours="replace")
        return save(spending(ledger.statement("survey")), path)


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=out))
    print(measure.machine())
    try:
        throughput(folder)
        accounts(folder, int(float(sys.argv[2])) if len(sys.argv) > 2 else 10**5)
        print(sample(folder, out / "ledger-spent.svg"))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
