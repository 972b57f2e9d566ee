"""A service whose answers share a price by one Rényi order: asked, previewed, recorded and read by a client."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone import ApproxDP
from duotone.client.answers import mechanism_of
from duotone.privacy.renyi import Shared
from support.offices import at_desk, make_office

PEOPLE = """
[people.ana]
role = "analyst"
datasets = ["votes"]
[people.olga]
role = "owner"
"""
TRIPS = """
[datasets.votes]
source = "trips.parquet"
version = "1"
rows = 2000
seconds = 0.05
unit = "who"
max_rows = 1
per_unit = "max"
bounds = { x = [0, 1] }
budget = { epsilon = 3, delta = "3e-6" }
"""
ASKED = {"epsilon": "1", "delta": "1e-6", "max_groups": 50}
BY_TOWN = "select town, avg(x) > 0.5 group by town"


def test_many_groups_share_a_price(tmp_path: Path) -> None:
    who = [i for i in range(600) for _ in range(2)]
    towns = [town for i in range(600) for town in ("Ely" if i < 500 else "Rye", "Wye" if i < 50 else "Hay")]
    pq.write_table(pa.table({"who": who, "town": towns, "x": [1.0] * 1200}), tmp_path / "trips.parquet")
    summed = make_office(tmp_path, TRIPS, people=PEOPLE)
    with at_desk(summed) as office:
        status, shown = office.ask("ana", "votes", by=["town"], **ASKED)
        assert status == 200, shown
        assert {"town": "Ely", "answer": "yes"} in shown["answers"], shown
        assert "sizes" not in shown
        status, said = office.ask("ana", "votes", question=BY_TOWN, **ASKED)
        assert status == 200, said
        assert {"town": "Ely", "answer": "yes"} in said["answers"]
        assert "margins" not in said
        assert said["ledger"]["left"] == {"epsilon": pytest.approx(1), "delta": pytest.approx(1e-6)}
        assert any("50 answers share the budget by one Rényi order" in note for note in said["notes"])
        assert mechanism_of(said).privacy == Shared.of(ApproxDP(1, "1e-6"), 50).each
        status, again = office.ask("ana", "votes", question=BY_TOWN, **ASKED)
        assert again["ledger"]["free"]
        preview = office.now(
            office.desk.preview(office.caller("ana"), "votes", {"question": BY_TOWN, **ASKED, "margins": True})
        )
        assert preview[0] == 200, preview
        assert preview[1]["ledger"]["price"] == {
            "answers": 50,
            "each": {"epsilon": pytest.approx(0.02), "delta": pytest.approx(2e-8)},
        }
        history = office.now(office.desk.history(office.caller("ana"), "votes"))
        assert history[0] == 200
        assert "'together'" in str(history[1])


def test_an_account_renyi_divides(tmp_path: Path) -> None:
    pq.write_table(pa.table({"who": [1, 2], "town": ["a", "b"], "x": [1.0, 0.0]}), tmp_path / "trips.parquet")
    budget = TRIPS.replace('epsilon = 3, delta = "3e-6" }', 'epsilon = 3, delta = "1e-4" }\naccount = "renyi"')
    with at_desk(make_office(tmp_path, budget, people=PEOPLE)) as office:
        status, said = office.ask("ana", "votes", by=["town"], **ASKED)
        assert status == 200, said
        assert not any("share the budget" in note for note in said["notes"])
