"""As many pairs as are asked for: `python tests/hostile/exhaustive.py 10000000`. Prints figures, and fails on a mismatch.

Every task has a seed of its own, which is printed with what it finds: the same seed makes the same tables and questions.
"""

from __future__ import annotations

import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from hostile import csvs, pairs, sources
from hostile.asked import Tally
from hostile.columns import COLUMNS

NAMES = [name for name in COLUMNS if name != "u64"]
WRITERS = list(sources.WRITERS)


def task(seed: int) -> Tally:
    """One task: mostly large worlds of some columns, in turn from every source; else small files, keys and tables alone."""
    some = [NAMES[(seed * 5 + i * 7) % len(NAMES)] for i in range(4)]
    writer = WRITERS[seed % len(WRITERS)]
    with tempfile.TemporaryDirectory() as place:
        folder, tally = Path(place), Tally()
        tally.add(pairs.grouped(writer, some, seed, folder, each=6, couples=1500))
        tally.add(pairs.grouped(writer, some, seed + 1, folder, each=6, couples=40, few=2))
        tally.add(pairs.grouped(writer, some, seed + 2, folder, each=4, couples=200, rows=1 + seed % 3))
        tally.add(pairs.alone(writer, some, seed, folder, each=3))
        tally.add(pairs.keyed(writer, some, seed, folder))
        tally.add(csvs.pairs(seed, folder, each=3, groups=150))
    return tally


def main(wanted: int, workers: int = 2) -> int:
    """Run tasks until there are enough pairs."""
    total, started, shown, seed = Tally(), time.monotonic(), 0.0, 1
    with ProcessPoolExecutor(workers) as pool:
        running = {pool.submit(task, s) for s in range(seed, seed + 4 * workers)}
        seed += 4 * workers
        while running:
            done = next(as_completed(running))
            running.discard(done)
            tally = done.result()
            for said in tally.wrong[:5]:
                print(said[:1000], flush=True)
            total.add(tally)
            if total.pairs < wanted:
                running.add(pool.submit(task, seed))
                seed += 1
            if time.monotonic() - shown > 30:
                shown = time.monotonic()
                print(f"{total.line()}, {total.tables} tables, {seed - 1} seeds, {shown - started:.0f} s", flush=True)
    print(f"{total.line()} ({total.tables} tables, seeds 1 to {seed - 1}, {time.monotonic() - started:.0f} s)")
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000))
