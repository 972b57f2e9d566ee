"""What is promised of requests: what becomes of one that could not be asked, how many wait, what they are about, and at which
price they are asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, update

from duotone.desk.records import REQUESTS
from duotone.errors import LedgerBusy
from duotone.tables.engines.duckdb import DuckDB
from support.offices import PEOPLE, STAYS, VOTES, AtDesk, at_desk, make_office

APPROVED = "[datasets.votes]", "[datasets.votes]\napproval = true"
ALL = PEOPLE.replace(', "calls"', "").replace('datasets = ["votes"]', 'datasets = ["votes", "stays"]')


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtDesk]:
    """Both datasets need approval."""
    made = make_office(tmp_path_factory.mktemp("office"), VOTES.replace(*APPROVED), STAYS, people=ALL)
    with at_desk(made) as opened:
        yield opened


def busy(office: AtDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on others write to the ledger all the time."""
    store = office.desk.ledger._store

    @contextmanager
    def writing(**_: Any) -> Iterator[Any]:
        raise LedgerBusy(store.place, 30)
        yield

    monkeypatch.setattr(store, "writing", writing)


def charges(office: AtDesk, dataset: str = "votes") -> int:
    return len(office.desk.ledger.statement(dataset).charges)


def test_a_request_that_was_not_charged_for_is_given_back(office: AtDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over budget, or where the ledger is busy; nobody is told where that is."""
    left = office.desk.ledger.stands("votes").left.document()["epsilon"]
    before, dear = charges(office), office.approved("ana", "votes", question="count(*) > 10", epsilon=str(left))
    number = office.approved("ana", "votes", question="count(*) > 10", epsilon="0.1")
    with monkeypatch.context() as patched:
        busy(office, patched)
        status, refused = office.ask("ana", "votes", request=number)
    assert (status, refused["kind"]) == (503, "unavailable")
    assert "busy" in refused["error"]
    assert not [part for part in (*office.desk.office.file.parent.parts[1:], "budget.ledger", "/") if part in refused["error"]]
    assert (office.state(number), charges(office)) == ("approved", before)
    assert office.ask("ana", "votes", request=number)[0] == 200
    assert (office.state(number), charges(office)) == ("used", before + 1)
    assert office.ask("ana", "votes", request=dear)[0] == 409  # for which there was room when it was approved
    assert (office.state(dear), charges(office)) == ("approved", before + 1)


def test_nobody_is_asked_to_approve_what_does_not_fit(office: AtDesk) -> None:
    """Neither a question nor an assistant's plan."""
    waiting = [office.desk.records.waiting("ana", assistant=assistant) for assistant in (False, True)]
    terms, ana = {"question": "count(*) > 1", "epsilon": "5", "purpose": "to see"}, office.caller("ana")
    for asked in (office.desk.ask(ana, "votes", terms), office.desk.plan(replace(ana, assistant=True), "votes", terms)):
        status, refused = office.now(asked)
        assert (status, refused["kind"]) == (409, "over budget")
        assert "1 answer at ε 5, δ 0 does not fit into the budget of votes; left: ε " in refused["error"]
    assert [office.desk.records.waiting("ana", assistant=assistant) for assistant in (False, True)] == waiting


def test_one_that_was_charged_for_stays_used(office: AtDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether an engine fails then, or the answer cannot be recorded."""
    before, run = charges(office), DuckDB.run
    failing, unrecorded = (office.approved("ana", "votes", question=f"count(*) > {n}", epsilon="0.1") for n in (20, 21))

    def fails(*_: Any) -> Any:
        raise OSError

    monkeypatch.setattr(DuckDB, "run", fails)
    assert office.ask("ana", "votes", request=failing)[0] == 503
    with monkeypatch.context() as patched:

        def in_between(connection: Any, plan: Any) -> Any:
            busy(office, patched)
            return run(connection, plan)

        patched.setattr(DuckDB, "run", in_between)
        assert office.ask("ana", "votes", request=unrecorded)[0] == 503
    for number in (failing, unrecorded):
        assert office.state(number) == "used"
        assert office.ask("ana", "votes", request=number)[0] == 403
    assert charges(office) == before + 2


def many(office: AtDesk, who: str, **states: int) -> None:
    """So many requests of a person about stays, at once."""
    about = {
        "terms": {"question": "count(distinct patient) > 1", "epsilon": "0.1"},
        "price": {},
        "accuracy": {},
        "data": "",
        "at": "then",
    }
    row = {"dataset": "stays", "asked_by": who, "assistant": False, "own": 0, "other": 1, "decided_by": [], **about}
    with office.desk.records._engine.begin() as connection:
        connection.execute(insert(REQUESTS), [{**row, "state": state} for state, n in states.items() for _ in range(n)])


def test_two_hundred_requests_of_one_person_wait_and_no_more(office: AtDesk) -> None:
    """Approved ones that were not asked are counted, and others' are not; nor are one's own that are done."""
    terms = {"question": "count(distinct patient) > 1", "epsilon": "0.1", "purpose": "to see"}
    many(office, "ben", waiting=99, approved=100, used=300, refused=300)
    last = office.ask("ben", "stays", **terms)[1]["request"]
    status, refused = office.ask("ben", "stays", **terms)
    assert (status, refused["kind"]) == (429, "too many")
    assert office.now(office.desk.plan(office.caller("ben"), "stays", terms))[0] == 429
    assert office.ask("ana", "stays", **terms)[1]["state"] == "waiting"
    assert office.now(office.desk.decide(office.caller("olga"), last, False))[0] == 200
    assert office.ask("ben", "stays", **terms)[1]["state"] == "waiting"


def test_others_do_not_crowd_ones_own_requests_out_of_the_list(office: AtDesk) -> None:
    first = office.approved("ana", "stays", question="avg(days) > 9", epsilon="0.1")
    assert office.ask("ana", "stays", request=first)[0] == 200  # done, and not the latest
    waiting = office.ask("ana", "stays", question="avg(days) > 8", epsilon="0.1", purpose="to see")[1]["request"]
    many(office, "ben", used=500)
    for who, numbers in (("ana", {first, waiting}), ("olga", {waiting})):
        listed = office.now(office.desk.requests(office.caller(who)))[1]["requests"]
        assert numbers <= {one["request"] for one in listed}
        assert all(who == "olga" or one["asker"] == "ana" for one in listed)
    many(office, "ana", used=300)  # of one's own, the latest; and all that wait
    listed = office.now(office.desk.requests(office.caller("ana")))[1]["requests"]
    assert waiting in {one["request"] for one in listed}
    assert len(listed) < 300


def test_a_request_is_asked_at_the_price_that_was_approved(office: AtDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planned by its error, from which a later version might compute another price."""
    number = office.approved("ana", "votes", question="count(*) > 30", wrong="0.1", people=20, delta="1e-6")
    request = office.desk.records.request(number) or {}
    priced = Fraction(request["terms"]["epsilon"])
    assert request["price"]["each"]["epsilon"] == float(priced)
    monkeypatch.setattr("duotone.model.wanted.least_epsilon", lambda *_, **__: Fraction(1))
    before = office.desk.ledger.statement("votes").state.spent.numbers()["epsilon"]
    status, answer = office.ask("ana", "votes", request=number)
    assert (status, Fraction(answer["terms"]["epsilon"])) == (200, priced)
    assert office.desk.ledger.statement("votes").state.spent.numbers()["epsilon"] - before == priced < 1


def test_a_request_belongs_to_its_dataset_and_to_its_data(office: AtDesk) -> None:
    """Here both datasets would take the question."""
    terms = {"question": "count(*) > 100", "epsilon": "0.1"}
    here, later = (office.approved("ana", "votes", **terms) for _ in range(2))
    before = charges(office, "stays")
    status, refused = office.ask("ana", "stays", request=here)
    assert (status, refused["error"]) == (404, f"there is no request {here} of yours about stays")
    assert office.ask("ben", "votes", request=here)[0] == 404
    assert office.state(here) == "approved"
    assert office.ask("ana", "votes", request=here)[0] == 200
    version = f"after {later}"
    assert office.now(office.desk.relabel(office.caller("olga"), "votes", version))[1]["version"] == version
    status, refused = office.ask("ana", "votes", request=later)
    assert (status, refused["kind"], "the data has changed" in refused["error"]) == (403, "not allowed", True)
    assert charges(office, "stays") == before


def test_who_decides_sees_the_preview_of_who_asks(tmp_path: Path) -> None:
    """With the asker's allowance, and the units of their guess; and nobody else sees the request."""
    with at_desk(make_office(tmp_path, VOTES.replace(*APPROVED), STAYS, people=ALL)) as office:
        terms = {"question": "count(*) > 300", "epsilon": "0.1", "delta": "1e-7", "people": 1000}
        ben, olga = office.caller("ben"), office.caller("olga")
        number = office.now(office.desk.plan(ben, "votes", {"purpose": "to see", **terms}))[1]["request"]
        seen = office.now(office.desk.preview(ben, "votes", terms))[1]
        for caller in (ben, olga):
            assert office.now(office.desk.request(caller, number))[1]["preview"] == seen
        assert seen["in_units"]["people"] == 1000
        assert seen["ledger"]["allowance"]["epsilon"] == pytest.approx(0.4)
        assert seen["says"] == {"words": ["yes", "no"], "by": [], "scope": None, "sure": True}
        for other in ("ana", "iris"):
            assert office.now(office.desk.request(office.caller(other), number))[0] == 404
        office.now(office.desk.decide(olga, number, True))
        assert office.ask("ben", "votes", request=number)[0] == 200
        assert office.now(office.desk.request(olga, number))[1]["preview"] is None


def test_a_request_that_cannot_be_asked_any_more_says_why(office: AtDesk) -> None:
    number = office.approved("ana", "votes", question="count(*) > 31", epsilon="0.1")
    with office.desk.records.engine.begin() as records:
        gone = {"question": "avg(height) > 1", "epsilon": "0.1"}
        records.execute(update(REQUESTS).where(REQUESTS.c.request == number).values(terms=gone))
    shown = office.now(office.desk.request(office.caller("olga"), number))[1]
    assert (shown["preview"], "has no column height" in shown["problem"]) == (None, True)
