"""A file that is rewritten while it is served: questions about other columns are refused until its owner says that the data has
changed, and none is ever answered from another column."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone.tables import declared as opening
from support.offices import AtDesk, at_desk, make_office

AGES = pa.table({"person": range(400), "age": [30] * 400, "income": [90] * 400, "town": ["Ely"] * 400})
MOVED = AGES.select(["person", "income", "age", "town"])
DATASET = """
[datasets.people]
source = "{source}"
{more}
version = "1"
rows = 1000
seconds = 0.05
unit = "person"
per_unit = "max"
bounds = {{ age = [0, 100] }}
columns = ["age", "town"]
budget = {{ epsilon = 40, delta = "1e-4" }}
"""
HEAD = 'ledger = "budget.ledger"\n[clock]\ntick = 0.02\n'
PEOPLE = '[people.olga]\nrole = "owner"\n[people.ana]\nrole = "analyst"\ndatasets = ["people"]\n'


def _csv(table: pa.Table) -> bytes:
    rows = zip(*table.to_pydict().values(), strict=True)
    return "\n".join([",".join(table.column_names), *(",".join(map(str, row)) for row in rows)]).encode()


def _database(table: pa.Table, path: Path) -> None:
    beside = path.with_name("new.duckdb")
    with duckdb.connect(str(beside)) as database:
        database.register("rows", table)
        database.execute("create table t as from rows")
    beside.replace(path)


WRITERS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "t.csv": lambda table, path: path.write_bytes(_csv(table)),
    "t.csv.gz": lambda table, path: path.write_bytes(gzip.compress(_csv(table))),
    "t.parquet": lambda table, path: pq.write_table(table, path),
    "t.duckdb": _database,
}


@contextmanager
def served(name: str, folder: Path, more: str = "") -> Iterator[AtDesk]:
    types = 'types = { age = "number", income = "number" }\n' if ".csv" in name else ""
    office = make_office(folder, DATASET.format(source=name, more=types + more), head=HEAD, people=PEOPLE)
    with at_desk(office) as opened:
        yield opened


def older(desk: AtDesk, than: int) -> tuple[int, Any]:
    status, document = desk.ask("ana", "people", question=f"median(age) > {than}", epsilon=1, delta="1e-6")
    return status, document.get("answer")


@pytest.mark.parametrize("name", WRITERS)
def test_exchanged_columns_are_refused_until_relabelled(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    WRITERS[name](AGES, path)
    with served(name, tmp_path, 'table = "t"' if name == "t.duckdb" else "") as desk:
        assert [older(desk, 29), older(desk, 31)] == [(200, "yes"), (200, "no")]
        spent = desk.desk.ledger.statement("people").spent
        WRITERS[name](MOVED, path)
        for than in (50, 51, 52):
            assert older(desk, than) == (503, None)
        assert (
            desk.now(desk.desk.preview(desk.caller("ana"), "people", {"question": "median(age) > 53", "epsilon": 1}))[0] == 503
        )
        assert desk.desk.ledger.statement("people").spent == spent
        assert desk.now(desk.desk.relabel(desk.caller("olga"), "people", "2"))[0] == 200
        assert [older(desk, 29), older(desk, 50)] == [(200, "yes"), (200, "no")]


@pytest.mark.parametrize("name", WRITERS)
def test_a_hidden_column_is_not_read_under_an_allowed_name(name: str, tmp_path: Path) -> None:
    """Where a column is left out, those after it move to places that others had; also with idle connections beside."""
    path = tmp_path / name
    WRITERS[name](AGES, path)
    with served(name, tmp_path, 'table = "t"' if name == "t.duckdb" else "") as desk:
        assert older(desk, 31) == (200, "no")
        table = desk.desk.tables["people"]
        with table.lent(), table.lent():
            pass
        assert len(table.idle) == 2
        WRITERS[name](AGES.drop_columns(["age"]), path)
        for than in (50, 51, 52):
            assert older(desk, than) == (503, None)
        WRITERS[name](pa.concat_tables([AGES, AGES]), path)  # the same columns again: the data alone is new
        assert older(desk, 53) == (200, "no")


def test_further_tables_are_looked_at_as_well(tmp_path: Path) -> None:
    labs = tmp_path / "labs.csv"
    WRITERS["t.csv"](AGES, tmp_path / "people.csv")
    WRITERS["t.csv"](AGES, labs)
    more = 'also = { labs = "labs.csv" }'
    office = DATASET.format(source="people.csv", more=more).replace('columns = ["age", "town"]\n', "")
    text = "select count(*) > 100 from (select person, max(age::double) as a from people group by person) as p "
    text += "join (select person, max(age::double) as b from labs group by person) as l on p.person = l.person where b > {}"
    with at_desk(make_office(tmp_path, office, head=HEAD, people=PEOPLE)) as desk:
        status, document = desk.ask("ana", "people", question=text.format(50), epsilon=1, delta="1e-6")
        assert (status, document.get("answer")) == (200, "no"), json.dumps(document)
        WRITERS["t.csv"](MOVED, labs)
        assert desk.ask("ana", "people", question=text.format(51), epsilon=1, delta="1e-6")[0] == 503
        assert desk.now(desk.desk.relabel(desk.caller("olga"), "people", "2"))[0] == 200
        status, document = desk.ask("ana", "people", question=text.format(51), epsilon=1, delta="1e-6")
        assert (status, document.get("answer")) == (200, "no"), json.dumps(document)


def test_a_file_that_is_added_to_a_folder_is_read_from_the_next_question_on(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    pq.write_table(AGES, folder / "1.parquet")
    older_ones = pa.table({"person": range(400, 950), "age": [80] * 550, "income": [90] * 550, "town": ["Ely"] * 550})
    with served("people", tmp_path) as desk:
        assert older(desk, 50) == (200, "no")
        pq.write_table(older_ones, folder / "2.parquet")
        assert older(desk, 51) == (200, "yes")
        (folder / "2.parquet").unlink()
        assert older(desk, 52) == (200, "no")
        pq.write_table(older_ones.select(MOVED.column_names), folder / "2.parquet")
        assert older(desk, 53) == (503, None)


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_is_rewritten_while_a_question_is_read_tells_no_path(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    WRITERS[name](AGES, path)
    with served(name, tmp_path, 'table = "t"' if name == "t.duckdb" else "") as desk:
        assert older(desk, 29) == (200, "yes")
        opens = opening.open_conforming
        monkeypatch.setattr(opening, "open_conforming", lambda declared: (opens(declared), WRITERS[name](MOVED, path))[0])
        status, document = desk.ask("ana", "people", question="median(age) > 50", epsilon=1, delta="1e-6")
        assert (status, document["kind"]) == (503, "unavailable")
        assert str(tmp_path) not in document["error"]
