"""Who has a place: only what reads private rows, for a public time, and never one person all of them.

The clock stands still until a test moves it on.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from duotone.desk.answering import Answering
from duotone.desk.callers import Refused
from duotone.desk.terms import Terms
from duotone.desk.workers import LONG, STOPPED, STOPPING, Queue
from duotone.errors import DuotoneError
from duotone.tables.engines.duckdb import DuckDB
from support.offices import CALLS, PEOPLE, VOTES, AtDesk, at_desk, make_office, tables, told
from support.running import wait_until
from support.stopped_clock import Hands

SECONDS, TICK, LONGEST = 3, 1, 3000
"""When answers leave: a part of a tick is for what rows cost."""
HEAD = 'ledger = "budget.ledger"\n[clock]\ntick = 1\n[limits]\nworkers = 4\nwaiting = 16\nlongest = 4000\n'
SLOW = VOTES.replace("[datasets.votes]", "[datasets.slow]").replace('"votes.parquet"', '"copy.parquet"')
DATASETS = (
    VOTES.replace("seconds = 0.05", f"seconds = {SECONDS - 0.5}"),
    SLOW.replace("seconds = 0.05", f"seconds = {LONGEST - 0.5}"),
    CALLS.replace("seconds = 0.05", f"seconds = {SECONDS - 0.5}"),
)
ALL = PEOPLE.replace('datasets = ["votes"]', 'datasets = ["votes", "slow", "calls"]').replace('"stays"', '"slow"')
YES = "count(*) filter (where vote = 'Y') > {}"


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def office(tmp_path: Path, hands: Hands) -> Iterator[AtDesk]:
    pq.write_table(tables()["votes"].slice(1), tmp_path / "copy.parquet")  # two datasets have two tables
    with at_desk(make_office(tmp_path, *DATASETS, head=HEAD, people=ALL), clock=hands.clock(TICK)) as opened:
        yield opened


def asking(office: AtDesk, who: str, dataset: str, **terms: Any) -> asyncio.Task[Any]:
    priced = terms if dataset == "calls" else {"epsilon": "0.01", **terms}
    return asyncio.ensure_future(told(office.desk.ask(office.caller(who), dataset, priced)))


def test_made_up_questions_hold_nobody_up(office: AtDesk, hands: Hands) -> None:
    """Of a dataset with a long declared time, by one person: they are answered though the clock stands still, and so is
    whoever asks a question, at its time."""

    async def run() -> list[int]:
        tried = [asking(office, "ana", "slow", question=YES.format(i), made_up=True) for i in range(6)]
        statuses = [(await one)[0] for one in tried]
        answer = asking(office, "ben", "votes", question=YES.format(100))
        await hands.until_waiting(1)
        await hands.move(SECONDS)
        return [*statuses, (await answer)[0]]

    assert office.loop.run(run()) == [200] * 7


def test_what_reads_no_row_leaves_at_the_next_tick_and_holds_no_place(office: AtDesk, hands: Hands) -> None:
    """Over budget, recorded before, bad: each at the next tick, however long the declared time."""

    async def run() -> list[int]:
        first = asking(office, "ana", "slow", question=YES.format(1))
        await hands.until_waiting(1)
        await hands.move(LONGEST)
        assert (await first)[0] == 200
        await hands.move(TICK / 2)
        terms: list[dict[str, Any]] = [
            {"question": YES.format(1)},
            {"question": YES.format(2), "epsilon": 1000},
            {"question": "nonsense"},
        ]
        replies = [asking(office, "ana", "slow", **each) for each in terms * 2]
        await hands.until_waiting(len(replies))
        assert not office.desk.workers.queue.here
        await hands.move(TICK / 2)
        return [(await reply)[0] for reply in replies]

    assert office.loop.run(run()) == [200, 409, 422] * 2


def test_one_person_never_has_all_places_and_long_questions_half_of_them(office: AtDesk, hands: Hands) -> None:
    """Both analysts ask all the long questions that they like: a short one of either is answered at its time."""

    async def run() -> tuple[int, int]:
        long = [asking(office, who, "slow", question=YES.format(i)) for i, who in enumerate(("ana", "ben") * 3)]
        await hands.until_waiting(2)
        at_work = hands.waiting
        short = asking(office, "ana", "votes", question=YES.format(100))
        await hands.until_waiting(3)
        await hands.move(SECONDS)
        status = (await short)[0]
        for one in long:
            one.cancel()
        await asyncio.wait(long)
        return at_work, status

    assert SECONDS < LONG < LONGEST
    assert office.loop.run(run()) == (2, 200)


def test_who_goes_away_while_waiting_is_not_charged_and_frees_the_place(office: AtDesk, hands: Hands) -> None:
    async def run() -> tuple[int, dict[str, int]]:
        charges = office.desk.ledger.stands("slow").state.unanswered
        under_way = asking(office, "ana", "slow", question=YES.format(1))
        await hands.until_waiting(1)
        waiting = [asking(office, "ana", "slow", question=YES.format(i)) for i in range(2, 5)]
        while office.desk.workers.queue.here["ana"] < 4:
            await asyncio.sleep(0.01)
        for one in waiting:
            one.cancel()
        await asyncio.wait(waiting)
        here = dict(office.desk.workers.queue.here)
        charged = office.desk.ledger.stands("slow").state.unanswered - charges
        under_way.cancel()
        await asyncio.wait([under_way])
        return charged, here

    assert office.loop.run(run()) == (1, {"ana": 1})


def test_previews_and_made_up_questions_of_two_people_keep_no_check_waiting(
    office: AtDesk, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All threads for looking are taken: whoever asks is answered at their time."""
    free, busy = threading.Event(), threading.Semaphore(0)

    def endless(*_: Any) -> Any:
        busy.release()
        free.wait(60)
        return {}

    monkeypatch.setattr(Answering, "_rehearsed", endless)

    async def run() -> int:
        tried = [asking(office, who, "slow", question=YES.format(i), made_up=True) for who in ("ana", "ben") for i in range(3)]
        for _ in range(4):
            await asyncio.to_thread(busy.acquire)
        answer = asking(office, "ana", "votes", question=YES.format(100))
        try:
            await asyncio.wait_for(hands.until_waiting(1), 20)
            await hands.move(SECONDS)
            return int((await answer)[0])
        finally:
            free.set()
            await asyncio.wait([*tried, answer])

    assert office.loop.run(run()) == 200


@pytest.mark.parametrize("made_up", [False, True])
def test_a_made_up_question_is_no_check_however_it_comes(
    office: AtDesk, hands: Hands, monkeypatch: pytest.MonkeyPatch, made_up: bool
) -> None:
    """Over HTTP terms come as they are read, and not as a dict."""
    names: list[str] = []

    def unread(*_: Any) -> Any:
        names.append(threading.current_thread().name.partition("_")[0])
        raise Refused("too many", "enough")

    monkeypatch.setattr(Answering, "unread", unread)
    sent = {"question": YES.format(1), "epsilon": "0.01", "made_up": made_up}
    for terms in (sent, Terms.read(sent)):
        assert office.now(office.desk.ask(office.caller("ana"), "votes", terms))[0] == 429
    assert names == ["look" if made_up else "check"] * 2


class Engine:
    """An engine that works until it is interrupted, or let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.working, self.ended, self.patient = threading.Event(), threading.Event(), True
        run = DuckDB.run

        def endless(connection: Any, plan: Any) -> Any:
            if not (self.patient and threading.current_thread().name.startswith("ask")):
                return run(connection, plan)
            self.working.set()
            try:  # DuckDB's own: it must really hear the interrupt
                return connection.connection.con.sql(
                    "select count(*) from range(100000000) a, range(100000) b"
                ).to_arrow_table()
            finally:
                self.ended.set()

        monkeypatch.setattr(DuckDB, "run", endless)


@pytest.mark.parametrize(("dataset", "wasted"), [("slow", 1), ("calls", 0)])
def test_who_goes_away_while_the_engine_works_stops_it(
    office: AtDesk, hands: Hands, monkeypatch: pytest.MonkeyPatch, dataset: str, wasted: int
) -> None:
    """The engine is interrupted, the place is free at once; the charge is wasted, or with close calls never made; and the
    asker's own share stays taken until the tick at which the answer would have left."""
    engine = Engine(monkeypatch)
    question = YES.format(7) if dataset == "slow" else "count(*) filter (where x = 1) > 7"

    async def run() -> tuple[int, int, int]:
        before = office.desk.ledger.stands(dataset).state.unanswered
        one = asking(office, "ana", dataset, question=question)
        await asyncio.to_thread(wait_until, engine.working.is_set, "the engine")
        one.cancel()
        await asyncio.wait([one])
        taken = len(office.desk.workers.queue._taken)
        await asyncio.to_thread(wait_until, engine.ended.is_set, "the end of the engine")
        own = office.desk.workers.queue.here["ana"]
        await hands.until_waiting(1)
        await hands.move(LONGEST)
        await asyncio.to_thread(wait_until, lambda: not office.desk.workers.queue.here, "the end of the share")
        return taken, own, office.desk.ledger.stands(dataset).state.unanswered - before

    assert office.loop.run(run()) == (0, 1, wasted)
    engine.patient = False
    assert office.now(office.desk.history(office.caller("ana"), dataset))[1]["many"] == wasted


def test_going_away_wastes_the_charge_whether_or_not_the_engine_was_done(office: AtDesk, hands: Hands) -> None:
    """Else whether an answer was recorded would tell how long the engine took."""

    async def run() -> tuple[int, str]:
        one = asking(office, "ana", "slow", question=YES.format(7))
        await hands.until_waiting(1)  # which the engine is done for
        one.cancel()
        await asyncio.wait([one])
        await hands.move(LONGEST)
        _, history = await told(office.desk.history(office.caller("ana"), "slow"))
        return office.desk.ledger.stands("slow").state.unanswered, history["charges"][0]["state"]

    assert office.loop.run(run()) == (1, "wasted, or under way")


def test_a_desk_that_drains_says_so_and_keeps_its_time(office: AtDesk, hands: Hands) -> None:
    """What is due in time leaves; what is not is given up at once, and its charge is wasted; what waits, and what comes, is
    refused; nothing of that waits for the long one."""

    async def run() -> list[tuple[int, int]]:
        short = asking(office, "ana", "votes", question=YES.format(100))
        long = [asking(office, "ben", "slow", question=YES.format(i)) for i in range(2)]  # the second waits
        await hands.until_waiting(2)
        while office.desk.workers.queue.here["ben"] < 2:
            await asyncio.sleep(0.01)
        drained = asyncio.ensure_future(office.desk.workers.drain())
        await asyncio.sleep(0.05)
        new = [asking(office, "ana", "votes", question=YES.format(101))]
        new.append(asyncio.ensure_future(told(office.desk.datasets(office.caller("ana")))))
        await hands.until_waiting(3)  # the short one, what drains, and the share of the long one
        await hands.move(TICK)
        refused = [(await one)[1].get("error") for one in (*long, *new)]
        assert sorted(refused) == sorted([STOPPED, STOPPING, STOPPING, STOPPING])
        assert not any(one.done() for one in (short, drained))
        await hands.move(SECONDS)
        await drained
        return [((await short)[0], office.desk.ledger.stands(name).state.unanswered) for name in ("votes", "slow")]

    assert office.loop.run(run()) == [(200, 0), (200, 1)]


def test_a_share_is_less_than_all_places(tmp_path: Path) -> None:
    with pytest.raises(DuotoneError, match="at_once must be less than workers"):
        make_office(tmp_path, VOTES, head=HEAD.replace("workers = 4", "workers = 4\nat_once = 4"))


def test_whoever_comes_first_is_served_first_and_going_away_leaves_a_share_taken() -> None:
    """The queue by itself, against who should be in at each step."""

    async def run() -> list[list[str]]:
        queue, inside, seen = Queue(workers=4, at_once=3, waiting=9), list[str](), list[list[str]]()
        forgiven = asyncio.Event()

        async def stay(name: str, *, long: bool) -> None:
            async with queue.place(name[0], long=long) as place:
                inside.append(name)
                try:
                    await asyncio.Event().wait()
                finally:
                    inside.remove(name)
                    place.until = forgiven.wait()

        tasks = {}
        for name in ("a1L", "a2L", "b1L", "c1L", "a3", "a4", "b2", "c2"):
            tasks[name] = asyncio.ensure_future(stay(name, long=name.endswith("L")))
        for leaving in (None, "a3", "b1L", "a1L"):
            if leaving is not None:
                tasks[leaving].cancel()
            await asyncio.sleep(0.01)
            seen.append(sorted(inside))
        forgiven.set()
        await asyncio.sleep(0.01)
        seen.append(sorted(inside))
        for task in tasks.values():
            task.cancel()
        await asyncio.wait(tasks.values())
        await asyncio.sleep(0.01)
        assert not queue.here
        queue.close(Refused("unavailable", "done"))
        with pytest.raises(Refused, match="done"):
            await queue.place("a").__aenter__()
        return seen

    assert asyncio.run(run()) == [
        ["a1L", "a3", "a4", "b1L"],  # one long question of a person, two of all; and three of a person
        ["a1L", "a4", "b1L", "b2"],  # a's share is still three
        ["a1L", "a4", "b2", "c1L"],
        ["a4", "b2", "c1L", "c2"],
        ["a4", "b2", "c1L", "c2"],
    ]
