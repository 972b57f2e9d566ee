"""A connection that many questions use is left as it was: no view stays behind, whatever becomes of a question."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone import prepare
from duotone.errors import DuotoneError
from duotone.tables.engines.engine import Source
from duotone.tables.engines.open import open_source

QUESTIONS = (
    "count(*) > 2",
    "sum(x) > 3",
    "select town, count(*) > 1 from t group by town",
    "count(*) filter (where upper(town) = 'A') > 0",
    "select count(*) > 1 from (select u, max(x) as m from t group by u) where m > 1",
    "sum(y) > 3",
    "nonsense(",
)
TABLE = pa.table({"u": [1, 2, 3], "x": [1, 2, 3], "town": ["a", "b", "a"]})


def of_kind(kind: str, folder: Path) -> Any:
    path = folder / f"t.{kind}"
    match kind:
        case "parquet":
            pq.write_table(TABLE, path)
        case "arrow":
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, TABLE.schema) as writer:
                writer.write_table(TABLE)
        case "csv":
            path.write_text("u,x,town\n1,1,a\n2,2,b\n3,3,a\n")
        case "duckdb":
            with duckdb.connect(path) as database:
                database.execute("create table t as select * from (values (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'a')) v(u, x, town)")
    return path


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the garbage collector, which may come late: rows in memory are released when a question is closed."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def views(source: Source) -> int:
    """Views of the connection: registered rows have one, too."""
    ((many,),) = source.engine.connection.con.execute("select count(*) from duckdb_views() where not internal").fetchall()
    return int(many)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "csv", "duckdb", "arrow"])
def test_no_view_stays_behind(tmp_path: Path, kind: str) -> None:
    ways: dict[str, dict[str, Any]] = {"duckdb": {"table": "t"}, "csv": {"types": {"x": "number"}}}
    opening = ways.get(kind, {})
    with open_source(of_kind(kind, tmp_path), **opening) as source, uncollected():
        before, answered = views(source), 0
        for i in range(1000 if kind == "parquet" else 100):
            question = QUESTIONS[i % 7]
            about: dict[str, Any] = {"unit": "u"} if "from (" in question else {}
            about |= {"bounds": {"x": (0, 9)}} if "sum(x)" in question else {}
            with suppress(DuotoneError):
                with prepare(source, question, epsilon=1, delta="1e-6", **about) as asked:
                    if i % 50 < 7:
                        asked.release()
                answered += 1
            assert views(source) == before, question
        assert answered >= i * 4 // 7
