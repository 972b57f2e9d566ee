"""An office whose dataset has the account renyi: prices by accuracy and by number, as shares of the budget."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from duotone.desk.callers import Caller
from duotone.errors import OfficeError
from duotone.privacy.renyi import RenyiDP
from support.offices import HEAD, AtDesk, at_desk, make_office

PEOPLE = """
[people.olga]
role = "owner"
[people.ana]
role = "analyst"
datasets = ["votes"]
allowances = { votes = { share = "1/2" } }
"""
MANY = """
[datasets.votes]
source = "votes.parquet"
version = "1"
rows = 1000
seconds = 0.05
bounds = { age = [0, 100] }
budget = { epsilon = 1, delta = "1e-6" }
account = "renyi"
answers = 100
"""
QUESTION = "count(*) filter (where vote = 'Y') > 300"
WANTED: Any = {"question": QUESTION, "wrong": "0.001", "people": 100}


@pytest.fixture
def office(tmp_path: Path) -> Iterator[AtDesk]:
    with at_desk(make_office(tmp_path, MANY, people=PEOPLE)) as office:
        yield office


def test_a_price_by_accuracy_is_the_same_in_every_document(office: AtDesk) -> None:
    ana, olga = office.caller("ana"), office.caller("olga")
    status, seen = office.now(office.desk.preview(ana, "votes", WANTED))
    assert (status, seen["seldom_wrong"]) == (200, {"wrong": 0.001, "people": 100})
    price = seen["ledger"]["price"]
    budget = office.desk.ledger.stands("votes").registered.account.budget  # type: ignore[attr-defined]
    share = math.log(price["each"]["price"]) / math.log(budget.price)
    assert (price["share"], price["one_of"]) == (pytest.approx(share), math.floor(1 / share))
    status, answer = office.ask("ana", "votes", **WANTED)
    assert (status, answer["answer"], answer["ledger"]["one_of"]) == (200, "yes", price["one_of"])
    assert answer["terms"]["price"] == str(Fraction(str(price["each"]["price"])))
    (charge,) = office.now(office.desk.history(ana, "votes"))[1]["charges"]
    assert charge["price"] == price
    again = answer["terms"]
    assert office.ask("ana", "votes", **again)[1]["ledger"]["free"]
    status, seen = office.now(office.desk.budget(olga, "votes"))
    assert (status, seen["spent"]["share"]) == (200, pytest.approx(share))
    assert seen["left"]["answers"] == math.floor(100 * (1 - share))


def test_by_number_and_by_price(office: AtDesk) -> None:
    assert office.ask("ana", "votes", question=QUESTION, one_of=50)[1]["ledger"]["one_of"] == 50
    assert office.ask("ana", "votes", question="count(*) > 9", price="1.05")[0] == 200
    assert office.desk.ledger.latest("votes", 1)[0].privacy == RenyiDP(19, "1.05")
    status, refused = office.ask("ana", "votes", question="count(*) > 8", one_of=2)
    assert (status, refused["kind"]) == (409, "over budget")  # half of everything, of which her allowance had a half


def test_an_assistant_is_allowed_a_share(office: AtDesk) -> None:
    ana = office.caller("ana")
    assistant = Caller(ana.person, assistant=True)
    status, left = office.now(office.desk.allow_assistant(ana, "votes", {"share": "1/10"}))
    assert (status, left["left"]["share"]) == (200, 1)
    states = []
    for limit in (10, 20, 30):
        terms = {"question": f"count(*) > {limit}", "one_of": 20}
        states.append(office.now(office.desk.plan(assistant, "votes", terms))[1])
    assert [plan["state"] for plan in states] == ["approved", "approved", "waiting"]
    assert states[0]["price"]["one_of"] == 20
    assert "one_of" not in states[0]["terms"]  # approved at its price
    status, refused = office.now(office.desk.allow_assistant(ana, "votes", {"epsilon": "0.1"}))
    assert (status, "share of the budget" in refused["error"]) == (422, True)


@pytest.mark.parametrize(
    "terms",
    [
        {"wrong": "nan", "people": 3}, {"wrong": 0, "people": 3},
        {"wrong": "0.1", "people": 0},
        {"one_of": 0}, {"one_of": "9"}, {"price": 1}, {"price": "nan"}, {"one_of": 9, "epsilon": 1},
        {"one_of": 9, "delta": "1e-9"},
        {"wrong": "0.1", "people": 3, "costs": [1, 2]},
    ],
)  # fmt: skip
def test_what_cannot_be_wanted_is_refused_and_costs_nothing(office: AtDesk, terms: dict[str, Any]) -> None:
    status, refused = office.ask("ana", "votes", question=QUESTION, **terms)
    assert (status, refused["kind"]) == (422, "bad question")
    assert office.desk.ledger.statement("votes").charges == ()


def test_a_mistake_in_the_account_of_an_office_has_its_key(tmp_path: Path) -> None:
    for wrong, says in (
        (MANY.replace('"renyi"', '"more"'), "account must be sum or renyi, got more"),
        (MANY.replace("answers = 100", "answers = 0"), "answers must be a whole number of answers"),
    ):
        with pytest.raises(OfficeError, match=says):
            make_office(tmp_path, wrong, people=PEOPLE)
    with pytest.raises(OfficeError, match="an allowance is a share of the budget"):
        make_office(tmp_path, MANY, people=PEOPLE.replace('share = "1/2"', "epsilon = 1"), head=HEAD)
