"""Files that are rewritten while a table is open are never read by the places that columns had before."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from duotone import DuotoneError, open_ledger, prepare
from duotone.tables.engines import open_source, text_files
from duotone.tables.engines.duckdb import DuckDB
from support.reading import P

OLD = pa.table({"age": [30] * 100, "income": [9000] * 100})
NEW = pa.table({"income": [9000] * 100, "age": [30] * 100})
HIDDEN = pa.table({"income": [9000] * 100})
CHANGED = "columns of .* have changed since it was opened|was replaced or written to since it was opened"


def _csv(table: pa.Table) -> bytes:
    rows = zip(*table.to_pydict().values(), strict=True)
    return "\r\n".join([",".join(table.column_names), *(",".join(map(str, row)) for row in rows)]).encode()


def _database(table: pa.Table, path: Path) -> None:
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as database:
        database.register("rows", table)
        database.execute("create table t as from rows")


def _stream(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


WRITERS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "t.csv": lambda table, path: path.write_bytes(_csv(table)),
    "t.csv.gz": lambda table, path: path.write_bytes(gzip.compress(_csv(table))),
    "t.parquet": lambda table, path: pq.write_table(table, path),
    "t.feather": lambda table, path: feather.write_feather(table, path),
    "t.arrow": _stream,
    "t.duckdb": _database,
}
OLDER = "sum(age) > 5000"
"""No, and with incomes in the place of ages yes."""
TERMS: Any = {"bounds": {"age": (0, 10_000)}}


def _replaced(name: str, table: pa.Table, path: Path, *, in_place: bool) -> None:
    if in_place and name != "t.duckdb":
        WRITERS[name](table, path)
        return
    beside = path.with_name(f"new-{name}")
    WRITERS[name](table, beside)
    beside.replace(path)


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("name", WRITERS)
def test_columns_in_another_order_are_refused_before_a_charge(name: str, in_place: bool, tmp_path: Path) -> None:
    path, ledger = tmp_path / name, tmp_path / "budget.ledger"
    WRITERS[name](OLD, path)
    table: Any = {"table": "t"} if name == "t.duckdb" else {"types": {"age": "number"}} if "csv" in name else {}
    with open_source(path, **table) as source, prepare(source, OLDER, P, **TERMS) as asked, open_ledger(ledger) as opened:
        opened.register("t", P, unit="row", neighbours="add-remove", version="1")
        assert asked._levels()[2].item() < 0
        for other in (NEW, HIDDEN):
            _replaced(name, other, path, in_place=in_place)
            for attempt in (
                lambda: asked._levels(),
                lambda: asked.release(),
                lambda: asked.charge(opened, "t"),
                lambda: prepare(source, OLDER, P, **TERMS),
            ):
                with pytest.raises(DuotoneError, match=CHANGED):
                    attempt()
        assert opened.statement("t").charges == ()
    _replaced(name, NEW, path, in_place=in_place)
    with prepare(path, OLDER, P, **TERMS, **table) as anew:
        assert anew._levels()[2].item() < 0


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_new_rows_under_the_same_columns_are_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    WRITERS[name](OLD, path)
    with open_source(path) as source, prepare(source, "count(*) > 100", P) as asked:
        assert asked._levels()[2].item() == -1
        _replaced(name, pa.concat_tables([OLD, OLD]), path, in_place=False)
        assert asked._levels()[2].item() > 0
        path.unlink()
        with pytest.raises(DuotoneError, match=r"there is no file .* any more"):
            asked.release()


def test_keys_of_json_lines_are_read_by_name(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, OLD.to_pylist())))
    held = {"age": "number"}
    with open_source(path, json_columns=["age", "income"], types=held) as source, prepare(source, OLDER, P, **TERMS) as asked:
        before = asked._levels()[2].item()
        path.write_text("\n".join(map(json.dumps, NEW.to_pylist())))
        assert asked._levels()[2].item() == before < 0


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_file_that_is_rewritten_while_it_is_read(
    name: str, in_place: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each piece in turn: what is read is all of the old file, or nothing is given."""
    path, reads, limit = tmp_path / name, list[bytes](), [0]
    monkeypatch.setattr(text_files, "PIECE", 150)
    usual = text_files._batch

    def batch(lines: bytes) -> Any:
        reads.append(lines)
        if len(reads) == limit[0]:
            thread = threading.Thread(target=_replaced, args=(name, NEW, path), kwargs={"in_place": in_place})
            thread.start()
            thread.join()
        return usual(lines)

    monkeypatch.setattr(text_files, "_batch", batch)
    for limit[0] in range(1, 9):
        WRITERS[name](OLD, path)
        reads.clear()
        refused = pytest.raises(DuotoneError, match=f"{CHANGED}|could not answer")
        with prepare(path, OLDER, P, types={"age": "number"}, **TERMS) as asked, refused:
            asked._levels()
        assert len(reads) >= limit[0]


def test_a_parquet_file_that_is_replaced_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    WRITERS["t.parquet"](OLD, path)
    with open_source(path) as source:
        read = source.only(["age"])
        plan = read.table.agg(n=read.table.count())
        run = DuckDB.run

        def replacing(connection: Any, plan: Any) -> Any:
            _replaced("t.parquet", pa.concat_tables([OLD, OLD]), path, in_place=False)
            return run(connection, plan)

        with monkeypatch.context() as patched:
            patched.setattr(DuckDB, "run", replacing)
            with pytest.raises(DuotoneError, match="written to while it was read"):
                read.run(plan)
        assert read.run(plan)["n"].to_pylist() == [200]
