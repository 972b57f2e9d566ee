"""When an answer leaves tells nothing about the rows: with the clock two tables cannot be told apart, without it they can.
`benchmarks/service_timing.py` does the same with 10^4 replies about each table, and rows that really take longer."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from crowds import make_office
from fake_service import served
from timings import NEIGHBOURS, NoClock, Times, observed, tables

from duotone.service.app import open_desk, service
from duotone.service.clock import Clock
from duotone.service.tokens import Tokens
from duotone.tables.engines.source import Source

EACH, LEVEL = 32, 1e-9
TICK, SECONDS = 0.1, 1.5
SLOWER = 0.25
"""Seconds that one more row costs here, by a made-up engine: what a busy machine does is small beside it, and the declared time
is long beside both."""


def times(folder: Path, clock: Clock) -> Times:
    """Of a service in this process."""
    every = tables(12, 1)
    office = make_office(folder, {name: every[name] for name in NEIGHBOURS}, epsilon="8000", tick=TICK, seconds=SECONDS)
    token, desk = Tokens(office.tokens_place).add("ana"), open_desk(office, clock=clock)
    with served(service(desk)) as url:
        observed(url, token, NEIGHBOURS, 2, 4, None)  # opened
        ticks = None if isinstance(clock, NoClock) else (TICK, SECONDS)
        return observed(url, token, NEIGHBOURS, EACH, 2 if ticks is None else 8, ticks)


@pytest.fixture(autouse=True)
def _slow_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that takes longer for one of the tables."""
    run = Source.run

    def slower(self: Source, plan: Any) -> Any:
        time.sleep(SLOWER if self.name == "with" else 0)
        return run(self, plan)

    monkeypatch.setattr(Source, "run", slower)


@pytest.mark.slow
@pytest.mark.false_alarm(1e-9)
def test_the_clock_hides_the_rows(tmp_path: Path) -> None:
    """No reply comes before the first tick after its declared time, however busy the machine is; without the clock almost all
    do, as the engine needs less. Nor are the two tables' replies apart after their ticks: that would be seen for sure."""
    assert Times([1.0] * EACH, [2.0] * EACH).p_value < LEVEL
    seen = times(tmp_path, Clock(TICK))
    assert min(seen.first + seen.second) > -1e-6, seen
    assert seen.p_value > LEVEL, seen


@pytest.mark.slow
def test_without_it_they_are_told_apart(tmp_path: Path) -> None:
    seen = times(tmp_path, NoClock(TICK))
    assert seen.later > 0.7  # 0.99 on a quiet machine
    assert seen.p_value < 1e-3
