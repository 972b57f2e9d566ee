"""What is decided before a row is read or anything is charged, and what is not built until it is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from duotone import ApproxDP, Dataset, DuotoneError, open_ledger, prepare
from duotone.errors import UnopenedTable
from duotone.line.table import line_table
from duotone.model import terms as terms_file
from duotone.model.terms import DefiniteTerms
from duotone.tables import engine_conformance
from duotone.tables.check_question import prepare_groups
from duotone.tables.engines import open_source
from duotone.tables.engines.any_ibis import AnyIbis
from duotone.tables.engines.engine import of_table
from support.reading import read_nothing

P = ApproxDP(1, "1e-6")
VISITS = pa.table({"town": ["Ely"] * 30, "person": range(30), "spent": range(30)})
GROUPED = "select town, count(*) > 3 from t group by town"
TOO_SMALL = [ApproxDP("1e-7", "1e-9"), ApproxDP("1e-5"), ApproxDP(5e-324, "1e-12"), ApproxDP("1e-1000", "1e-1000")]


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    read_nothing(monkeypatch)


@pytest.mark.slow
@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("privacy", TOO_SMALL, ids=range(len(TOO_SMALL)))
def test_a_budget_without_a_table_is_refused_before_anything_is_read(privacy: ApproxDP) -> None:
    with pytest.raises(DuotoneError, match="levels: raise epsilon or delta"):
        prepare(VISITS, "count(*) > 3", privacy)
    with pytest.raises(DuotoneError, match="levels: raise epsilon or delta"):
        prepare(VISITS, GROUPED, privacy, groups=[("Ely",)])
    if privacy.delta > 0:
        with pytest.raises(DuotoneError, match="levels: raise epsilon or delta"):
            prepare_groups(VISITS, ["town"], privacy)


@pytest.mark.slow
@pytest.mark.usefixtures("unread")
def test_a_budget_for_answers_but_not_for_groups_is_refused_before_anything_is_read() -> None:
    """Which groups may be shown takes twice as many levels: that table is needed only where groups are selected."""
    privacy = ApproxDP(0, "5e-7")
    prepare(VISITS, "count(*) > 3", privacy).close()
    prepare(VISITS, GROUPED, privacy, groups=[("Ely",)]).close()
    with pytest.raises(DuotoneError, match="a table of more than 1048576 levels"):
        prepare(VISITS, GROUPED, ApproxDP(0, "0.9e-6"))
    prepare(VISITS, GROUPED, ApproxDP(0, "1e-6")).close()


def test_a_table_of_probabilities_is_built_where_the_coin_is_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    built: list[Any] = []

    def build(mechanism: Any) -> Any:
        built.append(mechanism)
        return line_table(mechanism)

    monkeypatch.setattr(terms_file, "line_table", build)
    with prepare(VISITS, "avg(spent) > 3", P, bounds={"spent": (0, 30)}) as asked:
        assert isinstance(asked.terms, DefiniteTerms)
        assert asked.normal
        assert asked.cost
        assert not built
        assert asked.error(1) == pytest.approx(0.2689412)
        with open_ledger(tmp_path / "ledger.db") as ledger:
            ledger.register("visits", P, unit="row", neighbours="add-remove", version="1")
            certificate = asked.charge(ledger, "visits").certificate()
        assert certificate == {**line_table(asked.terms.mechanism).certificate(), "basis": "exact distance"}
        assert built == [asked.terms.mechanism]


def test_a_checked_question_is_of_no_other_columns() -> None:
    """A further column would stand for the public one of its name, under the name of the question that was checked."""
    zones = pa.table({"town": ["Ely", "Wells"], "zone": ["north", "south"]})
    question = "select count(*) filter (where zone = 'north') > 20 from t join zones on t.town = zones.town"
    for other in ({"zone": ["north"] * 30}, {"zone": [1.5] * 30}, {"more": range(30)}):
        further = pa.table({**{name: VISITS[name] for name in VISITS.column_names}, **other})
        with prepare(VISITS, question, P, public={"zones": zones}) as asked, asked.on(VISITS) as again:
            assert again._levels()[2].tolist() == asked._levels()[2].tolist() == [9]
            with pytest.raises(UnopenedTable, match="have changed"):
                asked.on(further)
        with prepare_groups(VISITS, ["town"], P) as groups, pytest.raises(UnopenedTable, match="have changed"):
            groups.on(further)


def test_a_checked_question_keeps_to_its_columns_and_texts_on_an_open_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("town,secret\n" + "Ely and more,1\n" * 30)
    declared = Dataset(tmp_path / "t.csv", columns=["town"], longest_text=3)
    question = "count(*) filter (where town = 'Ely') > 20"
    with prepare(declared, question, P) as asked, open_source(tmp_path / "t.csv") as table, asked.on(table) as again:
        assert (again.normal, list(again.source.columns)) == (asked.normal, ["town"])
        assert again._levels()[2].tolist() == asked._levels()[2].tolist() == [9]


def test_a_checked_question_is_not_given_to_an_engine_that_computes_it_otherwise() -> None:
    import ibis

    own = ibis.duckdb.connect()
    own.con.execute("create table visits (town text, person bigint, spent bigint)")
    other = of_table(open_source(own, table="visits").rows, AnyIbis(own), "visits")  # as if nobody knew this engine
    engine_conformance._PASSED.add(own)
    question = "count(*) filter (where starts_with(town, 'E')) > 3"
    with pytest.raises(DuotoneError, match="tested on"):
        prepare(other, question, P)
    with prepare(VISITS, question, P) as asked, pytest.raises(DuotoneError, match="tested on"):
        asked.on(other)


def test_a_further_table_that_cannot_be_opened_is_no_fault_of_the_question(tmp_path: Path) -> None:
    """An analyst is told nothing of it: the sentence has the path of the owner's file."""
    (tmp_path / "t.csv").write_text("person,x\n1,2\n")
    (tmp_path / "labs.csv").write_text("person;y,z\n1,2\n")
    (tmp_path / "labs.jsonl").write_text("{}\n")
    question = (
        "select count(*) filter (where n > 0) > 1 from (select person from t group by person) s"
        " join (select person, count(*) as n from labs group by person) l on s.person = l.person"
    )
    for labs in ("labs.csv", "labs.jsonl", "none.csv"):
        with pytest.raises(UnopenedTable, match=labs):
            prepare(tmp_path / "t.csv", question, P, unit="person", also={"labs": tmp_path / labs})


def test_a_unit_without_a_name_is_not_one_row_each() -> None:
    """A ledger that was told that each row is a person would have taken it for that."""
    people = pa.table({"": [1, 1, 2], "spent": [1, 2, 3]})
    with pytest.raises(DuotoneError, match="unit is empty"):
        prepare(people, "avg(spent) > 1", P, unit="", per_unit="avg", bounds={"spent": (0, 9)})
