"""What the clock promises: nothing of an answer is seen before its tick, errors leave at ticks, and what is late is counted."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from at_desk import AtDesk, Told, at_desk, told
from offices import CALLS, PEOPLE, STAYS, VOTES, make_office

from duotone.service.answering import Answering
from duotone.service.tables import OpenTable, Question
from duotone.service.terms import Terms
from duotone.tables.engines import source

SECONDS, TICK = 0.6, 0.2
SLOW, CLOSE = (part.replace("seconds = 0.05", f"seconds = {SECONDS}") for part in (VOTES, CALLS))
ALL = PEOPLE.replace('datasets = ["votes"]', 'datasets = ["votes", "stays", "calls"]')
YES = {"question": "count(*) filter (where vote = 'Y') > 100", "epsilon": "0.1"}
CALL = {"question": "count(*) filter (where x = 1) > 100"}


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtDesk]:
    folder = tmp_path_factory.mktemp("office")
    with at_desk(make_office(folder, SLOW, STAYS, CLOSE, people=ALL), tick=TICK) as opened:
        yield opened


async def looked(office: AtDesk, dataset: str, terms: Any, next_charge: int) -> dict[str, Told]:
    """Everything that another analyst can see of a dataset, and of a question about it."""
    ben, desk = office.caller("ben"), office.desk
    return {
        "preview": await told(desk.preview(ben, dataset, terms)),
        "history": await told(desk.history(ben, dataset)),
        "budget": await told(desk.budget(ben, dataset)),
        "dataset": await told(desk.dataset(ben, dataset)),
        "certificate": await told(desk.certificate(ben, dataset, next_charge)),
    }


async def watched(office: AtDesk, dataset: str, terms: Any) -> tuple[dict[str, list[Any]], dict[str, Any], int]:
    """How each thing that ben sees changes before the time at which ana's answer may leave; what he sees afterwards; and how
    often he looked."""
    many, clock, number = 0, office.desk.clock, office.desk.ledger.verify().entries + 1
    seen = {name: [document] for name, (_, document) in (await looked(office, dataset, terms, number)).items()}
    due = math.ceil((clock.now() + SECONDS) / TICK) * TICK
    asked = asyncio.create_task(told(office.desk.ask(office.caller("ana"), dataset, terms)))
    while not asked.done():
        now = await looked(office, dataset, terms, number)
        if clock.now() >= due:
            break
        many += 1
        for name, (_, document) in now.items():
            seen[name] += [] if document == seen[name][-1] else [document]
    assert (await asked)[0] == 200
    return seen, {name: document for name, (_, document) in (await looked(office, dataset, terms, number)).items()}, many


def test_nothing_of_an_answer_is_seen_before_its_tick(office: AtDesk) -> None:
    """The engine has been done for long: the charge is seen, as everybody may know it, and nothing more."""
    office.ask("ana", "votes", **{**YES, "epsilon": "0.2"})  # opened
    seen, after, many = office.loop.run(watched(office, "votes", YES))
    assert many >= 1
    assert {name: len(documents) for name, documents in seen.items()} == {**dict.fromkeys(seen, 2), "certificate": 1}
    before, charged = seen["history"]
    first, *rest = charged["charges"]
    assert (first["state"], first["question"], first["by"]) == ("wasted, or under way", "a question", "ana")
    assert rest == before["charges"]
    assert [one["ledger"]["free"] for one in (*seen["preview"], after["preview"])] == [False, False, True]
    assert after["history"]["charges"][0]["state"] == "answered"
    assert after["certificate"]["certificate"] == "line"


def test_with_close_calls_nothing_at_all_is_seen_before_the_tick(office: AtDesk) -> None:
    seen, after, many = office.loop.run(watched(office, "calls", CALL))
    assert many >= 1
    assert {name: len(documents) for name, documents in seen.items()} == dict.fromkeys(seen, 1)
    assert after["preview"]["ledger"]["free"]
    assert after["history"]["many"] == seen["history"][0]["many"] + 1


def test_errors_leave_at_ticks_and_what_is_late_is_counted(office: AtDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked a moment after a tick, about a dataset with 0.05 seconds: nothing comes before the next. What is later than
    that, as an engine that fails then, has the next tick but one, which the owner can see and read."""
    desk, clock, lines = office.desk, office.desk.clock, list[str]()
    number = office.approved("ana", "stays", question="avg(days) > 9", epsilon="0.5")
    dear = office.approved("ana", "stays", question="avg(days) > 9", epsilon="3")
    run, check, handler = source.run_embedded, Answering.question, logging.Handler()
    handler.emit = lambda record: lines.append(f"{record.getMessage()}: {vars(record).get('dataset')}")  # type: ignore[method-assign]
    logging.getLogger("duotone.service").addHandler(handler)

    def failing(connection: Any, plan: Any) -> Any:
        if not threading.current_thread().name.startswith("ask"):
            return run(connection, plan)
        time.sleep(TICK + 0.1)
        raise OSError("row 4711")

    def checked(self: Answering, table: OpenTable, terms: Terms) -> Question:
        time.sleep(TICK + 0.1 if terms.question == "slow" else 0)
        return check(self, table, terms)

    monkeypatch.setattr(source, "run_embedded", failing)
    monkeypatch.setattr(Answering, "question", checked)
    errors: dict[str, tuple[int, Any]] = {
        "bad question": (422, {"question": "nonsense", "epsilon": 1, "purpose": "to see"}),
        "late": (422, {"question": "slow", "epsilon": 1, "purpose": "to see"}),
        "no purpose": (422, {"question": "count(distinct patient) > 1", "epsilon": 1}),
        "too long": (413, {"question": "x" * 5000}),
        "no terms": (422, {"epsilon": "one"}),
        "over budget": (409, {"request": dear}),
        "unknown": (404, {"request": 4711}),
        "engine": (503, {"request": number}),
    }

    async def left(terms: Any) -> tuple[int, float]:
        status, document = await told(desk.ask(office.caller("ana"), "stays", terms))
        assert "4711" not in document["error"] or status == 404
        return status, clock.now()

    async def every() -> tuple[float, list[tuple[int, float]]]:
        await clock.until(math.ceil(clock.now() / TICK) * TICK)
        now = clock.now()
        return now, await asyncio.gather(*(left(terms) for _, terms in errors.values()))

    before = office.now(desk.overview(office.caller("olga")))[1]["late"]["stays"]
    try:
        asked, replies = office.loop.run(every())
    finally:
        logging.getLogger("duotone.service").removeHandler(handler)
    due = math.ceil((asked + 0.05) / TICK) * TICK
    for (name, (wanted, _)), (status, at) in zip(errors.items(), replies, strict=True):
        assert (status, at >= due + (2 * TICK if name in ("engine", "late") else 0)) == (wanted, True), name
    desk._looking.submit(int).result()
    assert office.now(desk.overview(office.caller("olga")))[1]["late"]["stays"] > before
    assert {"an answer was not there at its tick: stays", "the engine could not answer: stays"} <= {*lines}
    assert "4711" not in json.dumps(lines)


def test_a_table_is_opened_again_after_its_engine_failed(office: AtDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that is broken is not lent to the next question."""
    broken, run = list[Any](), source.run_embedded

    def once_broken(connection: Any, plan: Any) -> Any:
        broken.append(connection) if not broken else None
        if connection is broken[0]:
            raise OSError
        return run(connection, plan)

    monkeypatch.setattr(source, "run_embedded", once_broken)
    statuses = [office.ask("ana", "votes", question=f"count(*) > {n}", epsilon="0.1")[0] for n in (1, 2)]
    assert statuses == [503, 200]


def test_a_desk_that_closes_waits_for_answers_under_way(office: AtDesk) -> None:
    """Of a second process of this office: the answer is recorded, and leaves at its tick."""
    with at_desk(office.desk.office, tick=TICK) as other:

        async def closing() -> tuple[Told, int]:
            asked = asyncio.create_task(told(other.desk.ask(other.caller("ana"), "votes", {**YES, "epsilon": "0.3"})))
            unanswered = office.desk.ledger.stands("votes").state.unanswered
            while office.desk.ledger.stands("votes").state.unanswered == unanswered:
                await asyncio.sleep(0.02)
            await asyncio.to_thread(other.desk.close)
            left_open = office.desk.ledger.stands("votes").state.unanswered - unanswered
            return await asked, left_open

        (status, document), left_open = other.loop.run(closing())
        assert (status, document["answer"], left_open) == (200, "yes", 0)
    assert office.ask("ana", "votes", **{**YES, "epsilon": "0.3"})[1]["ledger"]["free"]
