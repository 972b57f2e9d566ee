"""Whether response times tell tables apart: two that differ in one row with a long text, and two of very different content.

python benchmarks/service_timing.py [EACH [PAIR]]      10^4 replies about each table, by the service's clock, and fewer without

The tests and their power are printed before the measurement. The ledger is in memory if there is such a folder, so that
the disk is not measured. The declared time must be enough for the machine: late answers leave two ticks later, more
often for the slower table, and that is visible (the third test).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import measure
import uvicorn

from duotone.desk.clock import Clock
from duotone.desk.office import Office
from duotone.desk.office_file import read_office
from duotone.http.app import open_desk, service
from duotone.http.tokens import Tokens
from support.crowds import make_office, wait_for
from support.timings import CONTENTS, NEIGHBOURS, NoClock, Times, declared, observed, power, shift_seen, tables

LEVEL, LATER = 0.01, 0.52
TICK, SECONDS, PAUSE = 0.05, 2.0, 0.4
"""The clock's tick; and the longest pause between a reply and the next request, without which all clients would ask at
the same tick."""
CONNECTIONS = 35
"""Connections, which ask about 16 questions a second: on two cores, each is then answered in far less than the declared
time."""
MEMORY = Path("/dev/shm")


def serve(file: Path, kind: str) -> None:
    """The service of an office, with its clock or without one, in this process."""
    logging.disable(logging.CRITICAL)
    office = read_office(file)
    desk = open_desk(office, clock=Clock(TICK) if kind == "clock" else NoClock(TICK))
    config = uvicorn.Config(service(desk), port=office.server.port, log_config=None, access_log=False, ws="none", http="h11")
    asyncio.run(uvicorn.Server(config).serve())


@contextlib.contextmanager
def served(office: Office, kind: str) -> Iterator[str]:
    """The same in a process of its own, so that clients take none of its time."""
    process = subprocess.Popen([sys.executable, __file__, "serve", str(office.file), kind])
    try:
        wait_for(office.server.port, process)
        yield f"http://127.0.0.1:{office.server.port}"
    finally:
        process.terminate()
        process.wait()


def show(name: str, seen: Times, what: str) -> None:
    """Print the tests' results."""
    first, second = (1000 * middle for middle in seen.medians)
    print(
        f"{name}: {len(seen.first)} replies about each; median {what} {first:.3f} and {second:.3f} ms; the second is later in "
        f"{seen.later:.4f}; Mann–Whitney p = {seen.p_value:.3g}, Kolmogorov–Smirnov p = {seen.shape_p_value:.3g}",
        flush=True,
    )


def main(each: int, pairs: Sequence[tuple[str, str]]) -> None:
    """First without the clock, then with it."""
    print(measure.machine())
    fewer = max(each // 20, 50)
    print(
        f"if replies about one table were later in {LATER} of pairs, {each} about each would show it at level {LEVEL} with "
        f"probability {power(each, LATER, LEVEL):.3f}; {fewer} are taken without the clock; tick {TICK}, "
        f"the engine has {SECONDS} s, and what rows can cost is added",
        flush=True,
    )
    every = tables()
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        for pair in pairs:
            for kind, many in (("none", fewer), ("clock", each)):
                own = Path(folder) / f"{pair[0]} {kind}"
                own.mkdir()
                chosen = {name: every[name] for name in pair}
                office = make_office(own, chosen, epsilon="8000", tick=TICK, seconds=SECONDS, workers=CONNECTIONS)
                compare(office, pair, kind, many)


def compare(office: Office, pair: tuple[str, str], kind: str, many: int) -> None:
    """Ask about two tables, and print whether the times of the replies tell them apart."""
    token = Tokens(office.tokens_place).add("ana")
    with served(office, kind) as url:
        clock = (TICK, declared(url, token, pair[0])) if kind == "clock" else None
        observed(url, token, pair, 2 * CONNECTIONS, CONNECTIONS, None)  # opened, and warm
        seen = observed(url, token, pair, many, 1 if clock is None else CONNECTIONS, clock, 0 if clock is None else PAUSE)
    show(f"{' / '.join(pair)}, {kind}", seen, "time" if clock is None else "time after the tick")
    if clock is not None:
        first, second, chance = seen.late(1.5 * TICK)
        shift = 1e6 * shift_seen([*seen.first, *seen.second], LATER)
        print(
            f"  not there at their tick: {first} and {second}, Fisher p = {chance:.3g}; a shift of {shift:.0f} microseconds "
            f"would make a share of {LATER}",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(Path(sys.argv[2]), sys.argv[3])
    else:
        named = [pair for pair in (NEIGHBOURS, CONTENTS) if len(sys.argv) < 3 or sys.argv[2] in pair]
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, named)
