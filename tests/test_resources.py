from __future__ import annotations

import gc
import io
import os
import sys
import threading
import time

import duckdb
import pytest

from duotone import DuotoneError
from duotone import resources as machine
from duotone.tables.engines.duckdb import connected


def test_every_piece_is_done_once_and_in_order() -> None:
    for size, least in ((1, 1), (10, 1), (10**6, 1000), (7, 100)):
        done: list[int] = []
        parts = machine.everywhere(lambda a, start, stop: (start, stop, a), size, "a", least=least, advance=done.append)
        assert [p[0] for p in parts] == [0, *(p[1] for p in parts[:-1])]
        assert (parts[-1][1], sum(done), {p[2] for p in parts}) == (size, size, {"a"})
        assert all(start % least == 0 for start, _, _ in parts)


def test_a_failing_piece_stops_the_work_and_is_told() -> None:
    started: list[int] = []

    def work(start: int, stop: int) -> None:
        started.append(start)
        if start == 0:
            raise KeyboardInterrupt
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        machine.everywhere(work, 8, least=1)
    count = len(started)
    time.sleep(0.05)
    assert len(started) == count  # nothing goes on behind one's back
    assert machine.everywhere(lambda start, stop: stop - start, 8, least=1)


def test_a_fork_has_threads_of_its_own() -> None:
    machine.everywhere(lambda *_: threading.get_ident(), 8, least=1)
    child = os.fork()
    if not child:
        os._exit(0 if sum(machine.everywhere(lambda start, stop: stop - start, 8, least=1)) == 8 else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.slow
def test_what_other_tests_left_behind_is_not_collected_by_a_child() -> None:
    """DuckDB ends a forked child that collects an open connection; `conftest` collects before it forks."""
    left: list[object] = [duckdb.connect()]
    left.append(left)
    del left
    if not (child := os.fork()):
        gc.collect()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_a_child_keeps_each_of_its_parents_connections() -> None:
    """Ibis calls two connections to memory equal: a set kept the first alone, and a child was ended by the other."""
    both = [connected() for _ in range(2)]
    if not (child := os.fork()):
        both.clear()
        gc.collect()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    for _, close in both:
        close()


def test_memory_is_refused_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 2**26 < machine.free_memory() < 2**60
    monkeypatch.setattr(machine, "free_memory", lambda: 2**30)
    machine.must_fit(2**30, "the levels")
    with pytest.raises(DuotoneError, match=r"the levels need 1\.5 GiB of memory, more than the 1\.0 GiB that are free"):
        machine.must_fit(3 * 2**29, "the levels")


def test_a_bar_shows_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with machine.progress(10, "levels") as told:
            told(10)
        assert ("levels" in stream.getvalue() and "100%" in stream.getvalue()) == shown
