"""What every benchmark needs: timing, and a description of the machine. Import it first: it also makes tests/
importable, whose package `support` has helpers that benchmarks share with the tests."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


def machine() -> str:
    """The machine of the measurements."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"machine: {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}"


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes, once."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def timed(work: Callable[[], Any], repeats: int = 5) -> tuple[float, Any]:
    """Median seconds after a first run that is not counted, unless it took long; and the last result."""
    times: list[float] = []
    while len(times) <= repeats and sum(times) < 5:
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return median(times[1:] or times), result


def in_turns(works: list[Callable[[], Any]], rounds: int) -> list[float]:
    """Median seconds of each, one after the other in every round, since a machine's speed changes."""
    times = [[seconds(work) for work in works] for _ in range(rounds)]
    return [median(column) for column in zip(*times, strict=True)]


def peak_memory() -> float:
    """Peak MiB of this process. (getrusage starts from what its parent held when it was started.)"""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 2**10
