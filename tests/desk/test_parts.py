"""Parts at an office: where its owner allows them, any SQL and no function; its time covers the sum of all limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from duotone import connect
from duotone.desk import work
from duotone.desk.office import Office
from duotone.errors import OfficeError
from duotone.tables.parts import inside, question
from duotone.tables.parts.isolation import Isolation
from support.offices import CALLS, STAYS, VOTES, at_desk, make_office, serving

ALLOWED = VOTES.replace("seconds = 0.05", "seconds = 0.05\nparts = 5")
SQL = "corr(age, age) > 0.2"
TERMS: dict[str, Any] = {"question": SQL, "epsilon": "0.5", "delta": "1e-6", "parts": 3}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts say yes in this process, and their limits take no time by the clock."""
    monkeypatch.setattr(question, "answers", lambda parts, _: (True for rows in parts))
    monkeypatch.setattr(question, "tried", lambda *_: ("", Isolation(True, True, True, True)))
    monkeypatch.setattr(question, "STARTING", -0.9)
    monkeypatch.setattr(work, "NURSERY", 0.0)


def office(folder: Path, votes: str = ALLOWED) -> Office:
    return make_office(folder, votes, STAYS, CALLS)


def test_an_answer_says_in_most_of_the_parts_in_every_form(tmp_path: Path, quick: None) -> None:
    scope = "in most of 3 random parts of the rows"
    with at_desk(office(tmp_path)) as desk:
        status, seen = desk.now(desk.desk.preview(desk.caller("ana"), "votes", TERMS))
        assert (status, seen["by_parts"]["scope"]) == (200, scope)
        status, answer = desk.ask("ana", "votes", **TERMS)
        assert (status, answer["answer"] in ("yes", "no")) == (200, True)
        assert answer["by_parts"] == {"scope": scope, "parts": 3, "part_seconds": 1, "part_memory": 1024}
        assert f"“{SQL}” {scope} was answered" in answer["quote"]
        assert scope in answer["question"]
        assert answer["terms"]["parts"] == 3
        status, again = desk.ask("ana", "votes", **TERMS)
        assert (again["ledger"]["free"], again["answer"]) == (True, answer["answer"])
        status, history = desk.now(desk.desk.history(desk.caller("ana"), "votes"))
        assert history["charges"][0]["question"] == f"{SQL} in most of 3 random parts"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"parts": 4}, "an odd number"),
        ({"parts": 7}, "at most 5 parts"),
        ({"by": ["town"], "question": None}, "at most 5 parts"),
        ({"made_up": True}, "made-up rows have no parts"),
        ({"max_groups": 2}, "parts have no groups"),
        ({"groups": "private"}, "parts have no groups"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, change: dict[str, Any], said: str, quick: None) -> None:
    with at_desk(office(tmp_path)) as desk:
        terms = {name: value for name, value in {**TERMS, **change}.items() if value is not None}
        status, answer = desk.ask("ana", "votes", **terms)
    assert status == 422
    assert said in answer["error"]


def test_the_owner_allows_parts_or_not(tmp_path: Path, quick: None) -> None:
    with at_desk(office(tmp_path, VOTES)) as desk:
        assert desk.now(desk.desk.dataset(desk.caller("ana"), "votes"))[1]["parts"] is None
        status, answer = desk.ask("ana", "votes", **TERMS)
        assert (status, "allows no parts" in answer["error"]) == (422, True)
        status, answer = desk.ask("ana", "votes", question=SQL, epsilon="0.5")
        assert status == 422
    for wrong in ("parts = 0", "parts = 2000", "part_seconds = 0"):
        with pytest.raises(OfficeError, match="part"):
            office(tmp_path, VOTES + wrong + "\n")


@pytest.mark.slow
def test_sql_that_does_not_fit_is_refused_before_a_charge_and_time_covers_the_sum_of_limits(tmp_path: Path) -> None:
    with at_desk(office(tmp_path)) as desk:
        status, answer = desk.ask("ana", "votes", **{**TERMS, "question": "avg(height) > 3"})
        assert (status, "height" in answer["error"]) == (422, True)
        status, answer = desk.ask("ana", "votes", **{**TERMS, "question": "select count(*) > 0 from read_csv('/etc/passwd')"})
        assert status == 422
        status, seen = desk.now(desk.desk.preview(desk.caller("ana"), "votes", TERMS))
        assert seen["seconds"] >= 3 * (1 + inside.STARTING) + work.NURSERY
        status, answer = desk.ask("ana", "votes", **TERMS)
        assert status == 200
    slow = ALLOWED.replace("parts = 5", "parts = 51\npart_seconds = 60")
    (tmp_path / "slow").mkdir()
    with at_desk(office(tmp_path / "slow", slow)) as desk:
        status, answer = desk.ask("ana", "votes", **{**TERMS, "parts": 51})
        assert (status, "could take" in answer["error"]) == (422, True)


def test_rows_that_may_not_fit_into_memory_are_refused(tmp_path: Path, quick: None) -> None:
    with at_desk(office(tmp_path, ALLOWED.replace("rows = 1000", "rows = 100_000_000"))) as desk:
        status, answer = desk.ask("ana", "votes", **TERMS)
    assert (status, "MiB" in answer["error"]) == (422, True)


@pytest.mark.slow
def test_a_connection_and_a_page(tmp_path: Path, quick: None) -> None:
    with serving(office(tmp_path)) as running, connect(running.url, token=running.token("ana"), insecure=True) as there:
        answer = there.ask("votes", SQL, epsilon="0.5", delta="1e-6", parts=3)
        assert "in most of 3 random parts of the rows" in str(answer)
        assert "in most of 3 random parts of the rows" in repr(answer)
