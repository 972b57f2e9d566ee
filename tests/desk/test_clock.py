"""The public clock, the queue, tokens and records: each by itself."""

from __future__ import annotations

import asyncio
import json
import stat
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import ApproxDP, balanced
from duotone.desk.callers import Refused
from duotone.desk.clock import Clock, Gone
from duotone.desk.records import Allowance, Records
from duotone.desk.workers import Queue
from duotone.errors import DuotoneError
from duotone.http.tokens import Tokens
from duotone.ledger.allowances import Share
from duotone.line.three_way import ThreeWay
from duotone.model.cost import Charge, CloseCallCharge


@given(st.floats(0, 1e6), st.floats(0.001, 100), st.sampled_from([0.25, 0.5, 1.0, 2.0]))
def test_an_answer_is_due_at_the_first_tick_after_its_time(since: float, seconds: float, tick: float) -> None:
    due = Clock(tick).due(since, seconds)
    assert due >= since + seconds
    assert due - tick < since + seconds
    assert due == tick * round(due / tick)


def test_what_is_not_done_in_time_leaves_at_the_next_tick_but_one() -> None:
    """Work of any length within its time leaves at one moment; longer work is counted, and leaves two ticks
    later, then four more."""

    def left_at(work: float) -> tuple[float, int]:
        """By a clock that moves on as far as one sleeps."""
        time, late = [0.25], list[int]()
        clock = Clock(1.0, lambda: time[0], lambda _, seconds: time.append(time.pop() + seconds))
        leaving = clock.departure(clock.now(), 1.5, lambda: late.append(1))
        time[0] += work
        leaving.hold()
        return clock.now(), len(late)

    assert {left_at(work) for work in (0, 0.5, 1.5, 1.75)} == {(2.0, 0)}
    assert {left_at(work) for work in (1.8, 2.5, 3.75)} == {(4.0, 1)}
    assert {left_at(work) for work in (3.8, 7.75)} == {(8.0, 2)}
    assert left_at(7.8) == (16.0, 3)


def test_what_reads_no_row_leaves_at_the_next_tick() -> None:
    time = [0.25]

    async def sleep(seconds: float) -> None:
        time.append(time.pop() + seconds)

    async def left() -> list[float]:
        clock, seen = Clock(1.0, lambda: time[0], sleep_in_loop=sleep), list[float]()
        for seconds in (0, 0.5, 2):
            await sleep(seconds)
            await clock.next_tick()
            seen.append(clock.now())
        return seen

    assert asyncio.run(left()) == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("done", [0.5, 2.5])
def test_what_is_given_up_before_its_tick_is_never_recorded(done: float) -> None:
    """Whether the engine was done when somebody went away or not."""
    time, stopped = [0.0], list[str]()

    def wait(event: threading.Event, seconds: float) -> None:
        time[0] += min(seconds, 0.25)
        if time[0] >= 2:
            leaving.give_up()
        event.wait(0)

    leaving = Clock(1.0, lambda: time[0], wait).departure(0, 3, lambda: None)
    leaving.interrupted_by(lambda: stopped.append("engine"))
    time[0] = done
    if done >= 2:
        leaving.give_up()
    with pytest.raises(Gone):
        leaving.hold()
    assert (leaving.begun, leaving.held, stopped) == (True, False, ["engine"])
    leaving.interrupted_by(lambda: stopped.append("at once"))
    assert stopped == ["engine", "at once"]


def test_what_has_left_cannot_be_given_up() -> None:
    time = [4.0]
    leaving = Clock(1.0, lambda: time[0]).departure(0, 4, lambda: None)
    leaving.hold()
    leaving.give_up()
    leaving.require_awaited()
    assert leaving.held


def test_a_place_is_kept_until_the_answer_leaves_and_a_full_queue_refuses() -> None:
    async def run() -> list[str]:
        queue, seen = Queue(workers=2, at_once=1, waiting=1), list[str]()

        async def ask(person: str) -> None:
            try:
                async with queue.place(person):
                    seen.append(f"{person} in")
                    await asyncio.sleep(0)
                    seen.append(f"{person} out")
            except Refused as refused:
                seen.append(f"{person} {refused.status}")

        await asyncio.gather(*(ask(person) for person in ("a", "a", "a", "b")))
        assert not queue.here
        return seen

    assert asyncio.run(run()) == ["a in", "a 429", "b in", "a out", "b out", "a in", "a out"]


def test_a_token_is_kept_as_a_hash_alone(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "office.tokens")
    text = tokens.add("ana")
    kept = (tmp_path / "office.tokens").read_text()
    assert text not in kept
    assert text.split("_", 2)[2] not in kept
    assert "$argon2id$" in json.loads(kept)["tokens"][0]["hash"]
    assert stat.S_IMODE((tmp_path / "office.tokens").stat().st_mode) == 0o600
    other = Tokens(tmp_path / "office.tokens")  # another process
    for known in (tokens, other):
        token = known.verified(text)
        assert token is not None
        assert (token.person, token.assistant) == ("ana", False)
        last, stranger = "A" if text[-1] != "A" else "B", f"duo_{'0' * 16}_{text[21:]}"
        for wrong in ("", "duo_", text[:-1], text[:-1] + last, text + "x", stranger):
            assert known.verified(wrong) is None
    assert other.revoke("ana") == 1
    assert tokens.verified(text) is None
    assert other.revoke("ana") == 0


def test_a_token_ends(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "t")
    text = tokens.add("ana", days=1, assistant=True)
    token = tokens.verified(text)
    assert token is not None
    assert token.assistant
    changed = json.loads((tmp_path / "t").read_text())
    changed["tokens"][0]["expires"] = "2020-01-01T00:00:00+00:00"
    (tmp_path / "t").write_text(json.dumps(changed))
    assert tokens.verified(text) is None
    with pytest.raises(DuotoneError):
        tokens.add("ana", days=0)
    (tmp_path / "t").write_text("no tokens")
    with pytest.raises(DuotoneError, match="not a file of tokens"):
        tokens.every()


def test_an_assistants_allowance_is_never_exceeded_by_threads(tmp_path: Path) -> None:
    records = Records(str(tmp_path / "r"))
    records.allow("ana", "d", Allowance(Share(budget=ApproxDP(1, "1e-6")), 3))
    taken: list[bool] = []
    charge = Charge(balanced(ApproxDP("0.1", "1e-8")))

    def spend() -> None:
        taken.extend(records.spend("ana", "d", charge) for _ in range(4))

    threads = [threading.Thread(target=spend) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken.count(True) == 10  # exactly: ten tenths are one
    assert records.allowance("ana", "d").share.spent.numbers()["epsilon"] == Fraction(1)
    asked = CloseCallCharge(ThreeWay(ApproxDP("0.1")), 2)
    assert [records.spend("ana", "d", asked) for _ in range(2)] == [True, False]
    for cost in (charge, Charge(balanced(ApproxDP(0)))):
        assert not records.spend("ben", "d", cost)  # who allowed nothing, not even what costs nothing


def test_rows_that_many_write_at_once_are_there_once(tmp_path: Path) -> None:
    records, errors = Records(str(tmp_path / "r")), list[BaseException]()

    def write() -> None:
        try:
            for charge in range(20):
                records.keep_words("d", charge, {"question": "q"})
                records.count("late d")
                records.allow("ana", "d", Allowance(questions=charge))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(records.words("d")) == 20
    assert records.counts() == {"late d": 120}
    assert stat.S_IMODE((tmp_path / "r").stat().st_mode) == 0o600


def test_a_request_is_used_once(tmp_path: Path) -> None:
    records, wins = Records(str(tmp_path / "r")), list[bool]()
    about: dict[str, Any] = {"assistant": True, "price": {}, "accuracy": {}, "purpose": None, "data": ""}
    request = records.add_request("d", "ana", {}, own=True, other=True, **about)["request"]
    assert records.decide(request, "ana", approve=True, own=True)["state"] == "waiting"  # type: ignore[index]
    assert records.decide(request, "ana", approve=True, own=True) is None
    assert records.decide(request, "olga", approve=True, own=False)["state"] == "approved"  # type: ignore[index]
    threads = [threading.Thread(target=lambda: wins.append(records.move(request, "approved", "used"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wins.count(True) == 1
