"""One person's flood of previews is their own: it is limited by the processor time that it takes, and nobody else's is."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

from duotone.desk.callers import Refused
from duotone.desk.workers import PERIOD, ProcessorTime
from support.offices import PEOPLE, VOTES, at_desk, make_office, told
from support.stopped_clock import Hands

HEAD = 'ledger = "b"\n[clock]\ntick = 1\n[limits]\nlooking = 0.2\n'
ONE = PEOPLE.replace('"votes", "stays", "calls"', '"votes"')


def test_a_flood_of_previews_is_refused_and_others_are_not(tmp_path: Path) -> None:
    hands = Hands()
    with at_desk(make_office(tmp_path, VOTES, head=HEAD, people=ONE), clock=hands.clock(1)) as office:

        async def looked(who: str, many: int, **more: Any) -> list[int]:
            desk, statuses = office.desk, list[int]()
            for i in range(many):
                terms = {"question": f"count(*) filter (where vote = 'Y') > {i}", "epsilon": "0.1", **more}
                work = desk.ask if more else desk.preview
                statuses.append((await told(work(office.caller(who), "votes", terms)))[0])
            return statuses

        async def run() -> list[Any]:
            flood = await looked("ana", 200)
            tried = await looked("ana", 1, made_up=True)
            others = await looked("ben", 1), await looked("olga", 1)
            _, document = await told(office.desk.preview(office.caller("ana"), "votes", {}))
            await hands.move(2 * PERIOD)
            return [flood[0], flood[-1], tried, others, document["kind"], await looked("ana", 1)]

        assert office.loop.run(run()) == [200, 429, [429], ([200], [200]), "too many", [200]]


@pytest.mark.parametrize("seed", range(10))
def test_an_allowance_is_filled_evenly(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a sum over all that was done: never more than the allowance and what time added, but for one piece of work."""
    draw, now, used = random.Random(seed), [0.0], [0.0]
    monkeypatch.setattr(time, "thread_time", lambda: used[0])
    bucket, refused, longest = ProcessorTime(10, lambda: now[0]), 0, 3.0
    for _ in range(500):
        now[0] += draw.uniform(0, 6)
        try:
            bucket.require("ana")
        except Refused as error:
            refused += 1
            now[0] += error.retry_after or 0
            bucket.require("ana")  # there is some again when it says so
        with bucket.measured("ana"):
            used[0] += draw.uniform(0, longest)
        bucket.require("ben")
        assert used[0] <= 10 * (1 + now[0] / PERIOD) + longest
    assert refused


def test_work_that_fails_counts_as_well() -> None:
    bucket = ProcessorTime(0.01, lambda: 0.0)

    def work() -> None:
        with bucket.measured("ana"):
            begun = time.thread_time()
            while time.thread_time() < begun + 0.02:
                pass
            raise OSError("it fails")

    with pytest.raises(OSError, match="it fails"):
        work()
    with pytest.raises(Refused, match="processor time"):
        bucket.require("ana")
