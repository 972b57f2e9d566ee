"""Whoever writes a question cannot make time tell about rows: what takes long on some rows only is refused or declared."""

from __future__ import annotations

import re
import time
import warnings
from pathlib import Path
from typing import Any, Self

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from duotone.desk import work
from duotone.desk.clock import Clock, Departure
from duotone.tables.patterns import UNKNOWN, pattern_states
from support.offices import CALLS, PEOPLE, STAYS, VOTES, AtDesk, at_desk, make_office

MACHINE = work.machine


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is as fast as the one on which constants were measured, however busy this one is."""
    monkeypatch.setattr(work, "machine", lambda: 1.0)


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
        assert "could take" in said["error"] or "could make a text" in said["error"]
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


def test_a_share_of_people_with_several_rows_is_asked_about(tmp_path: Path) -> None:
    """Its declared time is of one sum for each person, and not of one for each count of people: 24 s of a thousand rows."""
    with at_desk(make_office(tmp_path, VOTES, STAYS, CALLS)) as office:
        share = "count(*) filter (where days > 3 and days < 20 and patient <> 'p7') / count(*) > 0.05"
        status, said = preview(office, share, "stays", epsilon="0.5", delta="1e-6")
        assert status == 200, said
        assert said["seconds"] < 5


def test_load_at_the_first_question_is_not_taken_for_a_slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is measured once, and would make all later times longer by as much."""
    connect = duckdb.connect

    class Waiting:
        """A connection that has to wait for a processor before each statement."""

        def __enter__(self) -> Self:
            self.connection = connect()
            return self

        def __exit__(self, *_: object) -> None:
            self.connection.close()

        def execute(self, text: str) -> Any:
            time.sleep(0.4)
            return self.connection.execute(text)

    monkeypatch.setattr(duckdb, "connect", Waiting)
    assert 1 <= MACHINE.__wrapped__() < 0.4 / work.REFERENCE


def test_states_are_counted_as_they_are_repeated() -> None:
    assert pattern_states("((a{10}){10}){10}") == 1000
    assert pattern_states("(?:a|[b-d]{3,}){5}") >= 25
    assert pattern_states("[)(]{7}\\({2}") == 9
    assert pattern_states("\\Qa\\E") >= UNKNOWN
    assert pattern_states("(?P<n>e[a-z ]{990}q)") == pattern_states("(?:e[a-z ]{990}q)") == 992
    assert pattern_states("(?<n>a)") == pattern_states("(?P=n)") == pattern_states("(?'n'a)") == UNKNOWN
    assert pattern_states("[^\\pL]{5}") >= 5000
    assert pattern_states("\\x{1F642}{10}") >= 40


@given(st.text("ab{}0123456789,()[]^-\\.*+?|:P<n>éi", max_size=30), st.sampled_from(["({})", "(?:{})", "(?P<n>{})", "(?i:{})"]))
def test_no_group_hides_what_is_in_it(pattern: str, group: str) -> None:
    """However a pattern that Python's own parser takes is put into a group, it has no fewer states than by itself, and a group
    that is repeated has as many more."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        reject()
    around = group.replace("{}", pattern)
    assert pattern_states(around) >= pattern_states(pattern)
    assert pattern_states(f"(?:{around}){{7}}") >= 7 * pattern_states(pattern)


def test_what_a_named_group_hides_is_refused_before_anything_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the desk, and before the question's trial, which would search its made-up rows for the pattern."""
    trials: list[str] = []

    def trial(asked: Any) -> None:
        trials.append(asked.question.text)

    monkeypatch.setattr("duotone.tables.check_question.require_trial", trial)
    with at_desk(make_office(tmp_path, VOTES, STAYS, CALLS)) as one:
        trials.clear()  # of the start, which looks at the office's own questions
        for group in ("(?:", "(?P<n>"):
            long = f"count(*) filter (where regexp_matches(town, '{group}{'e[a-z ]{0,990}' * 60}q)')) > 5"
            status, reply = preview(one, long, epsilon="0.1")
            assert (status, reply["kind"]) == (422, "bad question")
            assert "could take" in reply["error"] or "operations" in reply["error"]
            assert trials == []
        short = {"question": "count(*) filter (where regexp_matches(town, 'e[a-z ]{9}q')) > 5", "epsilon": "0.1"}
        assert one.now(one.desk.preview(one.caller("ana"), "votes", short))[0] == 200
        assert len(trials) == 1


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
        assert 0.05 <= plain < 5  # the owner's seconds, and what a thousand rows can cost, however slow this machine is
        for question, longest in searched.items():  # as measured on two slow cores
            assert preview(office, question, epsilon=1, delta="1e-6")[1]["seconds"] > plain + longest
        nearer, farther = (
            preview(office, list(searched)[1], epsilon=epsilon, delta="1e-6")[1]["seconds"] for epsilon in ("0.1", "0.01")
        )
        assert farther > nearer
        grouped = "select town, avg(age) filter (where vote = 'Y') > avg(age) filter (where vote = 'N') group by town"
        status, said = preview(office, grouped, epsilon="0.1", delta="1e-6", groups="private", max_groups=1)
        assert (status, said["kind"]) == (422, "bad question")  # as many groups as there may be rows


def test_what_is_late_says_less_and_less_of_when_it_was_done() -> None:
    now, late = [0.0], list[float]()
    leaving = Departure(Clock(1.0, lambda: now[0]), 1.0, lambda: late.append(now[0]))
    now[0] = 40.5
    leaving._settle()
    assert (leaving.due, leaving.missed, len(late)) == (1 + 2 + 4 + 8 + 16 + 32, 5, 5)


AGREEING = " = ".join(f"(age > {i})" for i in range(40))
COUNTS = " * ".join(f"count(*) filter (where age % {i} = 1)" for i in range(2, 32))
LIKE = " * ".join(f"count(*) filter (where town like '{i}%')" for i in range(2, 32))


@pytest.mark.parametrize("text", [f"count(*) filter (where {AGREEING}) > 1", f"{COUNTS} > 1", f"{LIKE} > 1"])
def test_what_doubles_with_every_condition_is_refused(tmp_path: Path, text: str) -> None:
    """A preview is free: one that takes for ever, and memory without end, would keep everybody's answers from their ticks."""
    with at_desk(make_office(tmp_path, VOTES, STAYS, CALLS)) as office:
        status, said = preview(office, text, epsilon="0.5", delta="1e-6")
        assert (status, said["kind"]) == (422, "bad question")


PATIENTS = """
[datasets.notes]
source = "notes.parquet"
version = "1"
rows = 2100
longest_text = 100
unit = "patient"
seconds = 0.05
budget = { epsilon = 1, delta = "1e-6" }
close_calls = { epsilon = "0.05" }
"""
LONGER = "replace(replace(notes, 'e', 'eeeeeeeeee'), 'a', 'eeeeeeeeee')"


def test_nobody_is_named_by_lateness(tmp_path: Path) -> None:
    """Two thousand patients with ordinary notes, asked with close calls: what takes long where one of them has a diagnosis is
    refused, in an inner select as without; and what is answered has the same declared time, whoever has it."""
    people = PEOPLE.replace('"calls"]', '"calls", "notes"]')
    times = dict[str, set[float]]()
    for ill in ((3, 700, 1999), (3, 700)):
        folder = tmp_path / str(len(ill))
        folder.mkdir()
        kinds = ["HIV" if i in ill else "flu" for i in range(2000)]
        notes = pa.table({"patient": range(2000), "notes": ["seen here again"] * 2000, "dx": kinds})
        pq.write_table(notes, folder / "notes.parquet")
        with at_desk(make_office(folder, VOTES, STAYS, CALLS, PATIENTS, people=people)) as office:
            for patient in (3, 1999):
                chosen = f"dx = 'HIV' and patient = {patient}"
                inner = f"select patient, max({LONGER}) as t where {chosen} group by patient"
                text = f"select count(*) > 3 from ({inner}) where regexp_matches(t, 'e[a-z ]{{990}}q')"
                status, said = office.ask("ana", "notes", question=text)
                assert (status, said["kind"]) == (422, "bad question"), said
                assert "could take" in said["error"]  # and not for the length of a text alone
                for pattern in ("e[a-z]{5}q", "again"):
                    text = f"select count(*) > 3 from ({inner}) where regexp_matches(t, '{pattern}')"
                    status, said = preview(office, text, "notes")
                    times.setdefault(text, set()).add(said.get("seconds", said["error"] if status != 200 else 0.0))
    assert all(len(seen) == 1 for seen in times.values())
    assert len(times) == 4
