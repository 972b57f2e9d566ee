"""Whoever writes a question cannot make time tell about rows: what takes long on some rows only is refused or declared, and
what is late all the same is bounded."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from at_desk import AtDesk, at_desk
from offices import CALLS, HEAD, PEOPLE, STAYS, VOTES, make_office

from duotone.service.clock import Clock, Departure
from duotone.service.work import MOST, pattern_states
from duotone.tables.engines import source

FEW = HEAD.replace("late = 1_000_000", "late = 2")


def preview(office: AtDesk, question: str, dataset: str = "votes", **terms: Any) -> tuple[int, Any]:
    return office.now(office.desk.preview(office.caller("ana"), dataset, {"question": question, **terms}))


def grown(text: str, times: int) -> str:
    return text if not times else f"replace({grown(text, times - 1)}, 'o', 'oooooooooooooooooooo')"


@pytest.mark.parametrize(
    "condition",
    [
        "regexp_matches(town, '((o|oo)(.|o.){0,20}){20}x.{200}~')",
        f"regexp_matches({grown('town', 3)}, 'o+x')",
        f"contains({grown('town', 4)}, 'x')",
        r"regexp_matches(town, '(\pL{3}){2}x')",
        r"regexp_matches(town, '\Q[\E(o.){500}\Q]\E')",
    ],
)
def test_a_question_cannot_take_long_on_a_row_of_its_choice(tmp_path: Path, condition: str) -> None:
    with at_desk(make_office(tmp_path, VOTES, STAYS, CALLS)) as office:
        text = f"count(*) filter (where town = 'John Doe' and {condition}) > 5"
        status, said = preview(office, text, epsilon="0.1")
        assert (status, said["kind"]) == (422, "bad question"), said
        assert "depend on rows" in said["error"]
        assert office.ask("ana", "votes", question=text, epsilon="0.1")[0] == 422


@pytest.mark.parametrize(
    "condition",
    [
        "town like '%e%l%y%'",
        r"regexp_matches(town, '^\d{4}-\d{2}-\d{2}$')",
        "regexp_matches(lower(town), '[a-z0-9._%+-]{1,64}@[a-z0-9.-]+[.][a-z]{2,}')",
        "replace(town, 'Ely', 'Wells') = 'Wells'",
        "town || '-' || vote = 'Ely-Y'",
    ],
)
def test_ordinary_texts_are_asked_about(tmp_path: Path, condition: str) -> None:
    with at_desk(make_office(tmp_path, VOTES, STAYS, CALLS)) as office:
        status, said = preview(office, f"count(*) filter (where {condition}) > 5", epsilon="0.1")
        assert status == 200, said


def test_states_are_counted_as_they_are_repeated() -> None:
    assert pattern_states("((a{10}){10}){10}") == 1000
    assert pattern_states("(?:a|[b-d]{3,}){5}") >= 25
    assert pattern_states("[)(]{7}\\({2}") == 9
    assert pattern_states("\\Qa\\E") > MOST


def test_the_declared_time_covers_the_longest_search(tmp_path: Path) -> None:
    """However soon the level of this table is found: a search ends where the answer turns, so that its time tells the level.
    The owner's own seconds are the engine's alone."""
    counts = [f"count(*) filter (where age = {age})" for age in range(5)]
    searched = {
        f"{counts[0]} * {counts[1]} + {counts[2]} > {counts[3]} * {counts[4]}": 5.5,
        "avg(age) filter (where vote = 'Y') > avg(age) filter (where vote = 'N')": 0.0005,
        "stddev(age) > 20": 0.0005,
    }
    with at_desk(make_office(tmp_path, VOTES, STAYS, CALLS)) as office:
        plain = preview(office, "count(*) > 5", epsilon=1, delta="1e-6")[1]["seconds"]
        assert plain == 0.05
        for question, longest in searched.items():  # as measured on two slow cores
            assert preview(office, question, epsilon=1, delta="1e-6")[1]["seconds"] > plain + longest
        nearer, farther = (
            preview(office, list(searched)[1], epsilon=epsilon, delta="1e-6")[1]["seconds"] for epsilon in ("0.1", "0.01")
        )
        assert farther > 50 * nearer / 10 > nearer
        grouped = "select town, avg(age) filter (where vote = 'Y') > avg(age) filter (where vote = 'N') group by town"
        status, said = preview(office, grouped, epsilon="0.1", delta="1e-6", groups="private", max_groups=1)
        assert status == 200
        assert said["seconds"] > 500 * (nearer - 0.05)  # as many groups as there may be rows


def test_what_is_late_says_less_and_less_of_when_it_was_done() -> None:
    now, late = [0.0], list[float]()
    leaving = Departure(Clock(1.0, lambda: now[0]), 1.0, lambda: late.append(now[0]))
    now[0] = 40.5
    leaving._settle()
    assert (leaving.due, leaving.missed, len(late)) == (1 + 2 + 4 + 8 + 16 + 32, 5, 5)


def test_late_answers_are_bounded_for_each_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, slow = source.run_embedded, [True]

    def later(connection: Any, plan: Any) -> Any:
        time.sleep(0.3 if slow[0] and threading.current_thread().name.startswith("ask") else 0)
        return run(connection, plan)

    monkeypatch.setattr(source, "run_embedded", later)
    people = PEOPLE.replace('allowances = { votes = { epsilon = "0.5", delta = "1e-6" } }\n', "")
    with at_desk(make_office(tmp_path, VOTES, STAYS, CALLS, head=FEW, people=people)) as office:

        def ask(who: str, limit: int, **more: Any) -> tuple[int, Any]:
            return office.ask(who, "votes", question=f"count(*) > {limit}", epsilon="0.01", **more)

        assert [ask("ana", limit)[0] for limit in (1, 1, 2)] == [200, 200, 200]  # the second is recorded: no engine was late
        before = office.desk.ledger.verify().entries
        status, said = ask("ana", 3)
        assert (status, said["kind"]) == (403, "not allowed")
        assert "late" in said["error"]
        assert office.desk.ledger.verify().entries == before
        assert ask("ana", 3, made_up=True)[0] == 200
        assert ask("ben", 4)[0] == 200
        assert office.now(office.desk.overview(office.caller("olga")))[1]["late_by"]["votes"] == {"ana": 2, "ben": 1}


@pytest.mark.parametrize("dataset", ["votes", "calls"])
def test_an_engine_that_fails_late_is_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dataset: str) -> None:
    """Where only close calls are charged, what is not read costs nothing: it could be tried again and again."""
    run = source.run_embedded

    def failing(connection: Any, plan: Any) -> Any:
        if not threading.current_thread().name.startswith("ask"):
            return run(connection, plan)
        time.sleep(0.3)
        raise OSError

    monkeypatch.setattr(source, "run_embedded", failing)
    everything = PEOPLE.replace('datasets = ["votes"]', 'datasets = ["votes", "stays", "calls"]')
    with at_desk(make_office(tmp_path, VOTES, STAYS, CALLS, head=FEW, people=everything)) as office:
        column: str = "vote = 'Y'" if dataset == "votes" else "x = 1"
        price: dict[str, Any] = {"epsilon": "0.01"} if dataset == "votes" else {}
        terms = [{"question": f"count(*) filter (where {column}) > {limit}", **price} for limit in (1, 2, 3)]
        assert [office.ask("ana", dataset, **each)[0] for each in terms] == [503, 503, 403]


AGREEING = " = ".join(f"(age > {i})" for i in range(40))
COUNTS = " * ".join(f"count(*) filter (where age % {i} = 1)" for i in range(2, 32))
LIKE = " * ".join(f"count(*) filter (where town like '{i}%')" for i in range(2, 32))


@pytest.mark.parametrize("text", [f"count(*) filter (where {AGREEING}) > 1", f"{COUNTS} > 1", f"{LIKE} > 1"])
def test_what_doubles_with_every_condition_is_refused(tmp_path: Path, text: str) -> None:
    """A preview is free: one that takes for ever, and memory without end, would keep everybody's answers from their ticks."""
    with at_desk(make_office(tmp_path, VOTES, STAYS, CALLS)) as office:
        status, said = preview(office, text, epsilon="0.5", delta="1e-6")
        assert (status, said["kind"]) == (422, "bad question")
