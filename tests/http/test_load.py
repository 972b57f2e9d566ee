"""Many ask at once, in one process or several, and one is killed: exactly what the budget admits is answered, each answer for a
charge of its own. `benchmarks/service_load.py` does the same with 64 clients and 10^4 questions."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from support.crowds import LOST, Outcome, crowd, held, make_office, questions, started
from support.offices import serving

ASK = "/api/datasets/votes/ask"
TABLE = {"votes": pa.table({"x": range(1000)})}


@pytest.mark.slow
def test_exactly_as_many_are_answered_as_the_budget_admits(tmp_path: Path) -> None:
    """Ten questions again and again, each time at its price: prepared once, so that charges are what they wait for."""
    office = make_office(tmp_path, TABLE, epsilon="6")
    bodies = [{**question, "again": True} for question in questions(10, "0.1")] * 30
    with serving(office) as running:
        replies = crowd(running.url, running.token("ana"), ASK, bodies, 8)
    assert held(office.ledger_place, "votes", replies) == Outcome(60, 240, 0, 60, 0)


@pytest.mark.slow
def test_two_processes_on_one_postgres_ledger_of_which_one_is_killed(tmp_path: Path, url: str) -> None:
    """What the killed one was asked gets no reply, and may have been charged; whoever asked it goes on at the other."""
    office, bodies = make_office(tmp_path, TABLE, ledger=url, epsilon="6"), questions(200, "0.1")
    with started(office) as other, serving(office) as running:

        def kill(done: int) -> None:
            if done == 20:
                other.kill_one()

        replies = crowd([other.url, running.url], other.token, ASK, bodies, 8, kill)
        lost = [reply for reply in replies if reply.status == LOST]
        after = [reply.status for reply in replies if reply.asked > max(one.asked + one.seconds for one in lost)]
        outcome = held(office.ledger_place, "votes", replies)
        again = crowd(running.url, other.token, ASK, [bodies[reply.number] for reply in lost], 8)
    assert 1 <= outcome.lost <= 4
    assert len(after) >= 150
    assert outcome.charges == 60
    assert outcome.answered + outcome.wasted <= 60 <= outcome.answered + outcome.lost
    recorded = [reply for reply in again if reply.status == 200]
    assert len(recorded) == 60 - outcome.answered - outcome.wasted
    assert all(reply.document["ledger"]["free"] for reply in recorded)
