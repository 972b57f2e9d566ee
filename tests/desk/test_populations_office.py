"""An office with a population: datasets of the same people, their one budget, and the allowances of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone import ApproxDP, open_ledger
from duotone.desk.accounts import check_office
from duotone.desk.office_file import read_office
from duotone.errors import DuotoneError, OfficeError
from support.offices import HEAD, at_desk, make_office

PEOPLE = """
[people.olga]
role = "owner"
[people.ana]
role = "analyst"
datasets = ["stays", "meals"]
[people.ben]
role = "analyst"
datasets = ["meals"]
allowances = { patients = { epsilon = "0.2", delta = "1e-6" } }
"""
POPULATION = """
[populations.patients]
budget = { epsilon = 1, delta = "1e-5" }
unit = "patient"
"""
MEMBER = """
[datasets.{name}]
source = "{name}.parquet"
version = "1"
rows = 1000
seconds = 0.05
unit = "patient"
max_rows = 2
population = "patients"
"""
WHOLE = POPULATION + MEMBER.format(name="stays") + MEMBER.format(name="meals")
ASKED: dict[str, Any] = {"question": "count(distinct patient) > 100", "delta": "1e-6"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"patient": [f"p{i}" for i in range(150)]}), tmp_path / "meals.parquet")
    return tmp_path


def test_datasets_of_a_population_spend_one_budget(folder: Path) -> None:
    office = make_office(folder, WHOLE, people=PEOPLE)
    assert not [note for note in check_office(office) if "refused" in note]
    with at_desk(office) as desk:
        status, first = desk.ask("ana", "stays", **ASKED, epsilon="0.5")
        assert (status, first["ledger"]["left"]["epsilon"]) == (200, 0.5)
        about = desk.now(desk.desk.dataset(desk.caller("ana"), "meals"))[1]
        assert (about["population"], about["left"]["epsilon"], about["lifetime"]["epsilon"]) == ("patients", 0.5, 0.5)
        assert desk.now(desk.desk.history(desk.caller("ana"), "meals"))[1]["charges"] == []
        (charge,) = desk.now(desk.desk.history(desk.caller("ana"), "stays"))[1]["charges"]
        assert charge["charge"] == first["charge"]
        assert desk.now(desk.desk.budget(desk.caller("ana"), "meals"))[1]["spent"]["epsilon"] == 0.5
        status, said = desk.ask("ana", "meals", **ASKED, epsilon="0.6")
        assert (status, "the budget of patients; left: ε 0.5" in json.dumps(said, ensure_ascii=False)) == (409, True)
        wanted = {**ASKED, "epsilon": "0.6", "purpose": "to see"}
        status, plan = desk.now(desk.desk.plan(replace(desk.caller("ana"), assistant=True), "meals", wanted))
        assert (status, "the budget of patients; left: ε 0.5" in plan["error"]) == (409, True)
        status, said = desk.ask("ben", "meals", **ASKED, epsilon="0.3")
        assert (status, "the allowance of ben for patients" in json.dumps(said)) == (409, True)
        status, second = desk.ask("ben", "meals", **ASKED, epsilon="0.2")
        assert (status, second["ledger"]["left"]["epsilon"]) == (200, pytest.approx(0.3))
        assert desk.ask("ana", "stays", **ASKED, epsilon="0.5")[1]["ledger"]["free"]
        status, made_up = desk.ask("ana", "meals", **ASKED, epsilon="0.9", made_up=True)
        assert (status, made_up["made_up"]) == (200, True)
        assert desk.desk.ledger.verify().holds
    with at_desk(office) as again:
        entries = [(entry["kind"], entry["dataset"], entry.get("member")) for entry in again.desk.ledger.entries()]
    registered = [entry for entry in entries if entry[0] in ("register", "member", "allowance")]
    assert registered == [
        ("register", "patients", None),
        ("allowance", "patients", None),
        ("member", "patients", "stays"),
        ("member", "patients", "meals"),
    ]
    assert [entry for entry in entries if entry[0] == "charge"] == [
        ("charge", "patients", "stays"),
        ("charge", "patients", "meals"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            'population = "patients"',
            'population = "clients"',
            "is not one of this office: write a heading [populations.clients]",
        ),
        (
            'population = "patients"',
            'population = "patients"\nbudget = { epsilon = 1 }',
            "budget is declared for the population",
        ),
        (
            'population = "patients"',
            'population = "patients"\npeople = "2026"',
            "people is declared for the population patients",
        ),
        (
            'population = "patients"',
            'population = "patients"\nallowance = { epsilon = 1 }',
            "write it under [populations.patients]",
        ),
        ('population = "patients"', 'population = "patients"\nclose_calls = { epsilon = 1 }', "under [populations.patients]"),
        (
            "max_rows = 2\n",
            'max_rows = 2\nneighbours = "replace"\n',
            "is replace, and that of the population patients is add-remove",
        ),
        ('unit = "patient"\n\n', 'unit = "guest"\n\n', "is patient, and that of the population patients is guest"),
        ("[populations.patients]", "[populations.stays]", "is the name of a dataset, too: rename one of them"),
        ("budget = { epsilon = 1,", "budget = { epsilon = -1,", "populations.patients.budget"),
        ("budget = { epsilon = 1,", "budget = { ", "populations.patients.budget"),
        ("allowances = { patients =", "allowances = { meals =", "is charged to patients: name that instead"),
        ("allowances = { patients =", "allowances = { stays =", "is for a dataset that ben may not ask about"),
        ('{ epsilon = "0.2",', "{ epsilon = 3,", "it is more than the whole budget"),
    ],
    ids=lambda text: text[:30] if isinstance(text, str) else text,
)
def test_mistakes_about_a_population(folder: Path, old: str, new: str, says: str) -> None:
    text = HEAD + PEOPLE + WHOLE
    assert old in text
    (folder / "office.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(OfficeError) as error:
        read_office(folder / "office.toml")
    assert says in str(error.value)


def test_an_office_does_not_change_what_is_registered(folder: Path) -> None:
    with open_ledger(folder / "budget.ledger") as ledger:
        ledger.register("meals", ApproxDP(1), unit="patient", neighbours="add-remove", version="1")
    office = make_office(folder, WHOLE, people=PEOPLE)
    with pytest.raises(
        DuotoneError, match="meals has a budget of its own in the ledger, and is charged to patients in the office file"
    ):
        check_office(office)
    with pytest.raises(DuotoneError, match="a dataset never leaves its budget"), at_desk(office):
        pass
    with open_ledger(folder / "budget.ledger") as ledger:
        assert ledger.stands("patients").left.epsilon == 1
    other = make_office(folder, WHOLE.replace("epsilon = 1,", "epsilon = 2,"), people=PEOPLE)
    with pytest.raises(DuotoneError, match="patients is registered in the ledger differently from the office file"):
        check_office(other)
