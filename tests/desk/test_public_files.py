"""Public files are read once for each version of a file, however many ask."""

from __future__ import annotations

import hashlib
import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone import prepare
from duotone.desk import tables as public_files
from duotone.tables.engines import public_tables
from duotone.tables.engines.public_tables import PublicTable, hash_of, in_order
from support.offices import PEOPLE, VOTES, AtDesk, at_desk, make_office

ONE = PEOPLE.replace('"votes", "stays", "calls"', '"votes"')
TOWNS = VOTES + 'public = { towns = "towns.parquet" }\n'
JOINED = "select count(*) > 5 from votes join towns on votes.town = towns.town where {}"


def write(path: Path, many: int, ely: str = "east") -> None:
    towns = ["Ely", "Wells", *(f"town {i}" for i in range(many))]
    regions, sizes = [ely, "west", *["north"] * many], [1, 2, *range(many)]
    pq.write_table(pa.table({"town": towns, "region": regions, "size": sizes, "name": [f"{t}!" for t in towns]}), path)


def test_a_file_is_read_once_for_each_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By previews and questions, by whatever columns: another version is another question, and read once more."""
    reads, keep = list[str](), PublicTable.keep

    def noted(self: PublicTable) -> None:
        reads.append(self.source.name)
        keep(self)

    monkeypatch.setattr(PublicTable, "keep", noted)
    write(tmp_path / "towns.parquet", 10)
    with at_desk(make_office(tmp_path, TOWNS, people=ONE)) as office:
        assert reads == ["towns.parquet"]  # when the office opened
        asked = [_asked(office, where) for where in ("region = 'east'", "size = 1", "region = 'east'")]
        assert [(answer["answer"], answer["ledger"]["free"]) for answer in asked] == [
            ("yes", False),
            ("yes", False),
            ("yes", True),
        ]
        assert reads == ["towns.parquet"]
        write(tmp_path / "towns.parquet", 10, ely="south")
        os.utime(tmp_path / "towns.parquet", ns=(1, 1))
        asked = [_asked(office, "region = 'east'"), _asked(office, "size = 1")]
        assert [answer["ledger"]["free"] for answer in asked] == [False, True]  # of none of them, yes is said one time in ten
        assert reads == ["towns.parquet"] * 2
        (tmp_path / "towns.parquet").unlink()
        status, document = office.ask("ana", "votes", question=JOINED.format("size = 2"), epsilon="0.1")
        assert (status, str(tmp_path) in document["error"]) == (503, False)


def _asked(office: AtDesk, where: str) -> dict[str, Any]:
    status, document = office.ask("ana", "votes", question=JOINED.format(where), epsilon="0.3")
    assert status == 200, document
    return dict(document)


def test_rows_are_hashed_and_ordered_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million rows took seven seconds, for each preview."""
    write(tmp_path / "towns.parquet", 1000)
    kept, hashed, ordered = public_files.PublicFiles(), list[str](), list[int]()

    def noted_hash(values: Any) -> str:
        hashed.extend([str(values.type)] if len(values) > 1000 else [])  # a trial has small tables of its own
        return hash_of(values)

    def noted_order(keys: Any) -> Any:
        ordered.extend([len(keys)] if len(keys[0]) > 1000 else [])
        return in_order(keys)

    monkeypatch.setattr(public_tables, "hash_of", noted_hash)
    monkeypatch.setattr(public_tables, "in_order", noted_order)
    votes = pa.table({"town": ["Ely", "Wells"] * 50})
    for where in ("region = 'east'", "region = 'east'", "size = 1", "size = 1", "region = 'west'"):
        public = {"towns": kept.table(tmp_path / "towns.parquet", {})}
        question = f"select count(*) > 5 from t join towns on t.town = towns.town where {where}"
        prepare(votes, question, epsilon=1, public=public).close()
    assert (hashed, ordered) == (["string", "string", "int64"], [1])  # towns, regions, sizes


@pytest.mark.parametrize("seed", range(20))
def test_hashes_are_of_values_alone(seed: int) -> None:
    """Equal for equal values, in whatever order rows come and however Arrow stores them."""
    draw = random.Random(seed)
    keys = draw.sample(range(100), 20)
    values = [draw.choice([None, "", "a", "é", "ab"]) for _ in keys]
    numbers = [draw.choice([None, 0, 1, -5]) for _ in keys]
    seen = set[tuple[str, ...]]()
    plain = hashlib.sha256(repr(sorted(zip(keys, values, numbers, strict=True), key=lambda row: row[0])).encode()).hexdigest()
    for _ in range(5):
        rows = list(zip(keys, values, numbers, strict=True))
        draw.shuffle(rows)
        cut = draw.randrange(20)
        chunked = [pa.chunked_array([pa.array(c[:cut], t), pa.array(["x" if t == pa.string() else 7, *c[cut:]], t).slice(1)])
                   for c, t in zip(zip(*rows, strict=True), (pa.int64(), pa.string(), pa.int64()), strict=True)]  # fmt: skip
        order, twice = in_order([chunked[0]])
        assert twice is None
        seen.add((plain, *(hash_of(column.take(order)) for column in chunked)))
    assert len(seen) == 1
    place = draw.randrange(20)
    for other in (None, "", "b"):
        if other != values[place]:
            assert hash_of(pa.array([*values[:place], other, *values[place + 1 :]])) != hash_of(pa.array(values))
    assert hash_of(pa.array(["ab", "c"])) != hash_of(pa.array(["a", "bc"]))
    twice = in_order([pa.array([*keys, keys[3]])])[1]
    assert twice in (3, 20)


def test_a_kept_table_is_in_memory(tmp_path: Path) -> None:
    write(tmp_path / "towns.parquet", 3)
    table = public_files.PublicFiles().table(tmp_path / "towns.parquet", {})
    assert table.rows(["size"])["size"].to_pylist() == [1, 2, 0, 1, 2]
