"""When an answer leaves tells nothing about the rows: with the clock two tables cannot be told apart, without it they can.

Time is made up here, so that a busy machine changes nothing. `benchmarks/service_timing.py` does the same over HTTP by a real
clock, with 10^4 replies about each table, and rows that really take longer.
"""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

from duotone.desk.clock import Clock
from duotone.tables.engines.engine import Source
from support.crowds import make_office
from support.offices import AtDesk, at_desk
from support.stopped_clock import Hands
from support.timings import NEIGHBOURS, QUESTION, NoClock, Times, tables

EACH, LEVEL = 32, 1e-9
TICK, SECONDS, STEP = 1.0, 3.0, 0.25
SLOWER = 1.25
"""Seconds that one more row costs here, by a made-up engine."""


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> Hands:
    """Of a clock by which an engine takes longer for one of the tables."""
    run, hands = Source.run, Hands()

    def slower(self: Source, plan: Any) -> Any:
        if self.name in NEIGHBOURS:  # and no made-up table
            hands.sleep(0.5 + SLOWER * (self.name == "with"))
        return run(self, plan)

    monkeypatch.setattr(Source, "run", slower)
    return hands


def times(folder: Path, hands: Hands, clock: Clock) -> Times:
    """Of replies about both tables in a random order: after they were asked for, and after their ticks."""
    office = make_office(folder, {name: tables(12, 1)[name] for name in NEIGHBOURS}, epsilon="8000", seconds=SECONDS)
    draw, names, seen = random.Random(1), [*NEIGHBOURS] * EACH, {name: list[float]() for name in NEIGHBOURS}
    draw.shuffle(names)

    async def observed(desk: AtDesk) -> None:
        price = {"question": QUESTION, "epsilon": "0.1"}
        both = [(await desk.desk.preview(desk.caller("ana"), name, price))["seconds"] for name in NEIGHBOURS]
        assert both[0] == both[1]  # by public facts
        declared = both[0]
        for name in names:
            hands.time += draw.uniform(0, TICK)
            asked = hands.time
            terms = {"question": QUESTION, "epsilon": "0.1", "again": True}
            await hands.running(desk.desk.ask(desk.caller("ana"), name, terms), STEP)
            due = asked if isinstance(clock, NoClock) else math.ceil((asked + declared) / TICK) * TICK
            seen[name].append(hands.time - due)

    with at_desk(office, clock=clock) as desk:
        desk.loop.run(observed(desk))
        assert desk.desk.records.counts() == {}  # nothing was late
    return Times(seen[NEIGHBOURS[0]], seen[NEIGHBOURS[1]])


@pytest.mark.slow
def test_the_clock_hides_the_rows(tmp_path: Path, hands: Hands) -> None:
    """Every reply comes at the first tick after its declared time; were the two tables' apart, that would be seen for sure."""
    assert Times([1.0] * EACH, [2.0] * EACH).p_value < LEVEL
    seen = times(tmp_path, hands, hands.clock(TICK))
    assert 0 <= min(seen.first + seen.second) <= max(seen.first + seen.second) < 2 * STEP
    assert seen.p_value > LEVEL


@pytest.mark.slow
def test_without_it_they_are_told_apart(tmp_path: Path, hands: Hands) -> None:
    seen = times(tmp_path, hands, NoClock(TICK, lambda: hands.time, hands.wait, hands.sleep_in_loop))
    assert seen.later == 1
    assert seen.p_value < LEVEL
