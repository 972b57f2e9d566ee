"""What is promised of an office from one start to the next, and of what it keeps: labels, allowances, sessions, records."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from duotone.desk.office import Office
from duotone.desk.office_file import read_office
from support.offices import CALLS, PEOPLE, VOTES, AtDesk, at_desk, make_office

DEFINITE = CALLS.replace("budget = { epsilon = 1,", "budget = { epsilon = 1.5,").replace(
    'close_calls = { epsilon = "0.05" }', 'close_calls = { epsilon = "0.05", definite = { epsilon = "0.5" } }'
)


def changed(office: Office, old: str, new: str) -> Office:
    """The office after a change of its file."""
    assert office.text.count(old) == 1
    office.file.write_text(office.text.replace(old, new), encoding="utf-8")
    return read_office(office.file)


def test_labels_and_allowances_from_one_start_to_the_next(tmp_path: Path) -> None:
    """A label of the owner's page survives a restart, and a new one in the file counts; so do new allowances, up and down."""
    office = make_office(tmp_path, VOTES, people=PEOPLE.replace(', "stays", "calls"', ""))
    with at_desk(office) as first:
        assert first.ask("ben", "votes", question="count(*) > 1", epsilon="0.3")[0] == 200
        assert first.now(first.desk.relabel(first.caller("olga"), "votes", "by hand"))[0] == 200
    office = changed(office, 'votes = { epsilon = "0.5", delta = "1e-6" }', 'votes = { epsilon = "0.8" }')
    with at_desk(office) as again:
        assert seen(again, "version") == "by hand"
        assert seen(again, "allowance") == {"epsilon": 0.5, "delta": 0.0}
        assert again.ask("ben", "votes", question="count(*) > 1", epsilon="0.3")[1]["ledger"]["free"] is False
    office = changed(changed(office, 'version = "1"', 'version = "2"'), 'epsilon = "0.8"', 'epsilon = "0.7"')
    with at_desk(office) as third:
        assert seen(third, "version") == "2"
        status, refused = third.ask("ben", "votes", question="count(*) > 2", epsilon="0.2")
        assert (status, "allowance of ben" in refused["error"]) == (409, True)
        assert third.ask("ben", "votes", question="count(*) > 2", epsilon="0.1")[0] == 200


def seen(office: AtDesk, what: str) -> Any:
    return office.now(office.desk.dataset(office.caller("ben"), "votes"))[1][what]


def test_close_calls_cost_their_whole_budget_from_the_first_question_on(tmp_path: Path) -> None:
    """In the lifetime's loss, beside what definite answers cost; and again under a new label of people."""
    people = PEOPLE.replace('"votes", "stays", "calls"', '"calls"').partition("[people.ben]")[0]
    office = make_office(tmp_path, DEFINITE, people=people)
    losses = []

    def loss(office: AtDesk) -> None:
        losses.append(office.now(office.desk.dataset(office.caller("ana"), "calls"))[1]["lifetime"])

    with at_desk(office) as first:
        loss(first)
        assert first.ask("ana", "calls", question="count(*) filter (where x = 1) > 100")[1]["ledger"]["close_calls"] == 0
        loss(first)
        assert first.ask("ana", "calls", question="count(*) filter (where x = 1) > 100", epsilon="0.2")[0] == 200
        loss(first)
        assert first.desk.ledger.stands("calls").registered.close_calls.budget.epsilon == 1  # type: ignore[union-attr]
    with at_desk(changed(office, 'version = "1"', 'version = "1"\npeople = "new"')) as renewed:
        loss(renewed)
        assert renewed.ask("ana", "calls", question="count(*) filter (where x = 1) > 100")[0] == 200
        loss(renewed)
    assert [(one["epsilon"], one["budgets"]) for one in losses] == [(0, 1), (1, 1), (1.2, 1), (1.2, 2), (2.2, 2)]
    assert losses[1]["delta"] == pytest.approx(1e-6)


def test_records_are_durable_and_their_owners_alone(tmp_path: Path) -> None:
    """Where the process itself would let everybody read what it makes."""
    office, before = make_office(tmp_path, VOTES, people=PEOPLE.replace(', "stays", "calls"', "")), os.umask(0)
    try:
        with at_desk(office) as opened, opened.desk.records._engine.connect() as connection:
            assert connection.execute(text("PRAGMA synchronous")).scalar() == 2  # FULL
            assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
            opened.desk.records.count("one")
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("budget.ledger.office*")}
    finally:
        os.umask(before)
    assert "budget.ledger.office-wal" in modes
    assert {*modes.values()} == {0o600}


BOTH = """
[datasets.both]
source = "first.csv"
version = "1"
rows = 1000
seconds = 0.05
unit = "p"
also = { other = "second.csv" }
public = { towns = "towns.csv" }
budget = { epsilon = 1 }
"""
EITHER = (
    "select count(*) > 10 from (select p, max(x::int) as x from first group by p) a "
    "join (select p, max(y::int) as y from other group by p) b on a.p = b.p where x > 2"
)


@pytest.mark.parametrize("text", [None, ""])
@pytest.mark.parametrize("name", ["first.csv", "second.csv"])
def test_where_the_owners_files_are_is_no_analysts_business(tmp_path: Path, name: str, text: str | None) -> None:
    """Files that are opened with the question, of which one is gone or has become something else."""
    for file, column in (("first.csv", "x"), ("second.csv", "y"), ("towns.csv", "z")):
        (tmp_path / file).write_text(f"p,{column}\n" + "".join(f"{i},{i % 7}\n" for i in range(100)), encoding="utf-8")
    people = '[people.olga]\nrole = "owner"\n[people.ana]\nrole = "analyst"\ndatasets = ["both"]\n'
    with at_desk(make_office(tmp_path, BOTH, people=people)) as office:
        terms = {"question": EITHER, "epsilon": "0.1"}
        assert office.now(office.desk.preview(office.caller("ana"), "both", terms))[0] == 200
        (tmp_path / name).unlink()
        if text is not None:
            (tmp_path / name).write_text(text, encoding="utf-8")
        said = [office.now(office.desk.preview(office.caller("ana"), "both", terms)), office.ask("ana", "both", **terms)]
        for status, document in said:
            assert (status, document["kind"]) == (503, "unavailable"), document
            assert str(tmp_path) not in document["error"]
            assert name not in document["error"]
