"""A question is prepared once: its check, its price, its declared time, its answer and its document are of one `Prepared`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone.desk import tables
from duotone.tables.engines.engine import Source
from support.offices import CALLS, STAYS, VOTES, AtDesk, Served, at_desk, make_office, serving

YES = "count(*) filter (where vote = 'Y') > {}"
PRICE = {"epsilon": "0.1", "delta": "1e-6"}
ALSO = STAYS.replace("approval = true", 'also = { labs = "labs.parquet" }')
ZONES = VOTES.replace("columns =", 'public = { zones = "zones.csv" }\ncolumns =')
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "at a price": ("votes", {"question": YES.format(1), **PRICE}),
    "by its error": ("votes", {"question": YES.format(2), "wrong": "0.05", "people": 40, "delta": "1e-6"}),
    "grouped, by its error": (
        "votes",
        {"question": "select town, count(*) > 9 from votes group by town", "wrong": "0.05", "people": 40},
    ),
    "which groups": ("votes", {"by": ["town"], **PRICE}),
    "joined with public rows": (
        "votes",
        {"question": "select avg(age) > 20 from votes join zones on votes.town = zones.town where zone = '1'", **PRICE},
    ),
    "close calls": ("calls", {"question": "count(*) filter (where x = 1) > 9"}),
    "of several tables": (
        "stays",
        {
            "question": "select count(*) filter (where high) > 2 from (select patient from stays group by patient) s"
            " join (select patient, max(value) > 4 as high from labs group by patient) l on s.patient = l.patient",
            **PRICE,
        },
    ),
    "of made-up rows": ("votes", {"question": YES.format(3), "made_up": True, **PRICE}),
    "of made-up rows, by its error": (
        "votes",
        {"question": YES.format(4), "made_up": True, "wrong": "0.05", "people": 40},
    ),
}


def office(folder: Path) -> Any:
    (folder / "zones.csv").write_text("town,zone\nEly,1\nWells,2\n")
    pq.write_table(
        pa.table({"patient": [f"p{i // 3}" for i in range(300)], "value": [i % 9 for i in range(300)]}), folder / "labs.parquet"
    )
    return make_office(folder, ZONES, ALSO, CALLS)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(office(tmp_path_factory.mktemp("office"))) as running:
        yield running


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """By which function each question is prepared."""
    made: list[str] = []

    def counted(name: str) -> Any:
        prepare = getattr(tables, name)

        def count(*given: Any, **options: Any) -> Any:
            question = prepare(*given, **options)  # what is of no use to it is left out first
            made.append(name)
            return question

        return count

    for name in ("prepare", "prepare_groups"):
        monkeypatch.setattr(tables, name, counted(name))
    return made


@pytest.mark.parametrize("which", ASKED)
def test_a_question_over_http_is_prepared_once(served: Served, prepared: list[str], which: str) -> None:
    dataset, terms = ASKED[which]
    status, document = served.ask("ana", dataset, **terms)
    assert (status, document["made_up"], len(prepared)) == (200, "made_up" in terms, 1), document
    status, again = served.ask("ana", dataset, **terms)
    assert (status, len(prepared)) == (200, 2)
    if "made_up" not in terms:
        assert (again["ledger"]["free"], again["charge"], again["question"]) == (True, document["charge"], document["question"])


def test_the_error_that_is_wanted_has_its_least_price(served: Served) -> None:
    """A little more for a noisy size, whose mistakes are not quite alike; the table's own otherwise."""
    with served.client("ana") as client:
        for terms, epsilon in (
            ({"question": YES.format(5)}, "0.0583"),
            (
                {"question": "select town, count(*) > 9 from votes group by town", "groups": "private", "delta": "1e-6"},
                "0.0587",
            ),
        ):
            sent = {**terms, "wrong": "0.05", "people": 40}
            assert client.post("/api/datasets/votes/preview", json=sent).json()["terms"]["epsilon"] == epsilon


def test_nothing_is_open_for_a_question_that_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a question that was checked, the connection is idle again, and no view is left in it."""
    with at_desk(office(tmp_path)) as desk:
        for dataset, terms in list(ASKED.values())[:6]:
            _nothing_open(desk, dataset, terms)


def _nothing_open(desk: AtDesk, dataset: str, terms: dict[str, Any]) -> None:
    table, caller = desk.desk.tables[dataset], desk.caller("ana")
    _, question, reply = desk.desk.answering.unread(caller, table, terms)
    assert reply is None
    (idle,) = table.idle
    views = idle.engine.connection.con.sql("select view_name from duckdb_views() where not internal and temporary").fetchall()
    assert views == []
    with table.lent() as lent, table.asked_again(question, lent) as asked:
        assert isinstance(lent, Source)
        assert asked.source.engine is lent.engine
        assert (asked.normal, asked.terms, asked.compiled) == (question.normal, question.terms, question.compiled)
