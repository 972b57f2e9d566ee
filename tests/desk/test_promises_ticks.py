"""What the clock promises: nothing of an answer is seen before its tick, errors leave at ticks, and what is late is counted.

The clock stands still until a test moves it on.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from duotone.desk.answering import Answering
from duotone.desk.tables import OpenTable
from duotone.desk.terms import Terms
from duotone.tables.engines.duckdb import DuckDB
from duotone.tables.prepared import Prepared
from support.offices import CALLS, PEOPLE, STAYS, VOTES, AtDesk, Told, at_desk, make_office, told
from support.running import wait_until
from support.stopped_clock import Hands

SECONDS, TICK = 3, 1
DATASETS = tuple(
    part.replace("seconds = 0.05", f"seconds = {SECONDS - 0.5}") for part in (VOTES, STAYS, CALLS)
)  # and what rows cost
ALL = PEOPLE.replace('datasets = ["votes"]', 'datasets = ["votes", "stays", "calls"]')
YES = {"question": "count(*) filter (where vote = 'Y') > 100", "epsilon": "0.1"}
CALL = {"question": "count(*) filter (where x = 1) > 100"}


@pytest.fixture(scope="module")
def hands() -> Hands:
    return Hands()


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory, hands: Hands) -> Iterator[AtDesk]:
    folder = tmp_path_factory.mktemp("office")
    with at_desk(make_office(folder, *DATASETS, people=ALL), clock=hands.clock(TICK)) as opened:
        yield opened


def asked(office: AtDesk, hands: Hands, terms: dict[str, Any]) -> Told:
    """What ana is told about votes, when its time has come."""
    return office.loop.run(hands.running(told(office.desk.ask(office.caller("ana"), "votes", terms))))


async def looked(office: AtDesk, dataset: str, terms: Any, next_charge: int) -> dict[str, Any]:
    """Everything that another analyst can see of a dataset, and of a question about it."""
    ben, desk = office.caller("ben"), office.desk
    seen = {
        "preview": await told(desk.preview(ben, dataset, terms)),
        "history": await told(desk.history(ben, dataset)),
        "budget": await told(desk.budget(ben, dataset)),
        "dataset": await told(desk.dataset(ben, dataset)),
        "certificate": await told(desk.certificate(ben, dataset, next_charge)),
    }
    return {name: document for name, (_, document) in seen.items()}


async def watched(office: AtDesk, hands: Hands, dataset: str, terms: Any) -> list[dict[str, Any]]:
    """What ben sees before ana asks, when the engine is done, a moment before the tick, and after it."""
    number = office.desk.ledger.verify().entries + 1
    seen = [await looked(office, dataset, terms, number)]
    answer = asyncio.create_task(told(office.desk.ask(office.caller("ana"), dataset, terms)))
    await hands.until_waiting(1)
    seen.append(await looked(office, dataset, terms, number))
    await hands.move(SECONDS - TICK / 2)
    seen.append(await looked(office, dataset, terms, number))
    assert not answer.done()
    await hands.move(TICK / 2)
    assert (await answer)[0] == 200
    return [*seen, await looked(office, dataset, terms, number)]


def test_nothing_of_an_answer_is_seen_before_its_tick(office: AtDesk, hands: Hands) -> None:
    """The engine has been done for long: the charge is seen, as everybody may know it, and nothing more."""
    before, done, still, after = office.loop.run(watched(office, hands, "votes", YES))
    assert still == done
    assert {name for name in done if done[name] == before[name]} == {"certificate"}
    first, *rest = done["history"]["charges"]
    assert (first["state"], first["question"], first["asker"]) == ("wasted, or under way", "a question", "ana")
    assert rest == before["history"]["charges"]
    assert [one["preview"]["ledger"]["free"] for one in (before, done, after)] == [False, False, True]
    assert after["history"]["charges"][0]["state"] == "answered"
    assert after["certificate"]["outcomes"] == ["yes", "no"]


def test_with_close_calls_nothing_at_all_is_seen_before_the_tick(office: AtDesk, hands: Hands) -> None:
    before, done, still, after = office.loop.run(watched(office, hands, "calls", CALL))
    assert before == done == still
    assert after["preview"]["ledger"]["free"]
    assert after["history"]["many"] == before["history"]["many"] + 1


def test_errors_leave_at_ticks_and_what_is_late_is_counted(
    office: AtDesk, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What reads no row leaves at the next tick, the rest at its own. What is later, as an engine that fails then, has the next
    tick but one, which the owner can see and read."""
    desk, lines = office.desk, list[str]()
    number = office.approved("ana", "stays", question="avg(days) > 9", epsilon="0.5")
    dear = office.approved("ana", "stays", question="avg(days) > 9", epsilon="1")  # all there is, until a little is spent
    little = office.approved("ana", "stays", question="avg(days) > 9", epsilon="0.1")
    spent = desk.ask(office.caller("ana"), "stays", {"request": little})
    assert office.loop.run(hands.running(told(spent)))[0] == 200
    run, check, handler = DuckDB.run, Answering.question, logging.Handler()
    handler.emit = lambda record: lines.append(f"{record.getMessage()}: {vars(record).get('dataset')}")  # type: ignore[method-assign]

    def failing(connection: Any, plan: Any) -> Any:
        if not threading.current_thread().name.startswith("ask"):
            return run(connection, plan)
        hands.sleep(SECONDS + TICK)
        raise OSError("row 4711")

    def checked(self: Answering, table: OpenTable, terms: Terms) -> Prepared:
        hands.sleep(SECONDS + TICK / 2 if terms.question == "slow" else 0)
        return check(self, table, terms)

    monkeypatch.setattr(DuckDB, "run", failing)
    monkeypatch.setattr(Answering, "question", checked)
    monkeypatch.setattr(desk, "_seconds", lambda *_: SECONDS)  # what rows may cost left out, so that the engine is late
    errors: dict[str, tuple[int, Any]] = {
        "bad question": (422, {"question": "nonsense", "epsilon": 1, "purpose": "to see"}),
        "no purpose": (422, {"question": "count(distinct patient) > 1", "epsilon": 1}),
        "too long": (413, {"question": "x" * 5000}),
        "no terms": (422, {"epsilon": "one"}),
        "over budget": (409, {"request": dear}),
        "unknown": (404, {"request": 4711}),
        "slow": (422, {"question": "slow", "epsilon": 1, "purpose": "to see"}),
        "engine": (503, {"request": number}),
    }

    def who(name: str) -> str:
        return "ben" if name == "slow" else "ana"  # one person's checks are made one after the other

    async def left() -> list[list[str]]:
        """Which errors have left at each time."""
        await hands.move(TICK / 2)
        replies = {
            name: asyncio.create_task(told(desk.ask(office.caller(who(name)), "stays", e[1]))) for name, e in errors.items()
        }
        seen = list[list[str]]()
        for seconds, waiting in ((TICK / 2, 8), (SECONDS, 2), (TICK / 2, 1), (TICK, 1), (TICK / 2, 1)):
            await hands.until_waiting(waiting)
            await hands.move(seconds)
            await hands.until_settled(replies.values())
            seen.append([name for name, reply in replies.items() if reply.done()])
        for name, reply in replies.items():
            status, document = await reply
            assert (name, status) == (name, errors[name][0])
            assert "4711" not in document["error"] or name == "unknown"
        return seen

    before = office.now(desk.overview(office.caller("olga")))[1]["late"]["stays"]
    logging.getLogger("duotone.service").addHandler(handler)
    try:
        seen = office.loop.run(left())
    finally:
        logging.getLogger("duotone.service").removeHandler(handler)
    soon = [*errors][:-2]
    assert seen == [soon, *[[*errors][:-1]] * 3, [*errors]]
    wait_until(lambda: office.now(desk.overview(office.caller("olga")))[1]["late"]["stays"] == before + 1, "a count")
    assert {"an answer was not there at its tick: stays", "the engine could not answer: stays"} <= {*lines}
    assert "4711" not in json.dumps(lines)


def test_a_table_is_opened_again_after_its_engine_failed(office: AtDesk, hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that is broken is not lent to the next question."""
    broken, run = list[Any](), DuckDB.run

    def once_broken(connection: Any, plan: Any) -> Any:
        broken.append(connection) if not broken else None
        if connection is broken[0]:
            raise OSError
        return run(connection, plan)

    for n in (1, 2):  # whose trials are over
        office.now(office.desk.preview(office.caller("ana"), "votes", {"question": f"count(*) > {n}", "epsilon": "0.1"}))
    monkeypatch.setattr(DuckDB, "run", once_broken)
    statuses = [asked(office, hands, {"question": f"count(*) > {n}", "epsilon": "0.1"})[0] for n in (1, 2)]
    assert statuses == [503, 200]


def test_a_desk_that_drains_waits_for_answers_under_way(office: AtDesk, hands: Hands) -> None:
    """Of a second process of this office: the answer is recorded, and leaves at its tick."""
    terms, others = {**YES, "epsilon": "0.3"}, Hands()
    with at_desk(office.desk.office, clock=others.clock(TICK)) as other:

        async def closing() -> tuple[Told, list[int]]:
            unanswered = [office.desk.ledger.stands("votes").state.unanswered]
            answer = asyncio.create_task(told(other.desk.ask(other.caller("ana"), "votes", terms)))
            await others.until_waiting(1)
            closed = asyncio.create_task(other.desk.workers.drain())
            await others.move(SECONDS - TICK / 2)
            unanswered.append(office.desk.ledger.stands("votes").state.unanswered)
            assert not closed.done()
            await others.move(TICK / 2)
            await closed
            return await answer, [*unanswered, office.desk.ledger.stands("votes").state.unanswered]

        (status, document), (before, under_way, after) = other.loop.run(closing())
        assert (status, document["answer"], under_way - before, after - before) == (200, "yes", 1, 0)
    assert asked(office, hands, terms)[1]["ledger"]["free"]
