from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duotone import ApproxDP, DuotoneError, prove
from duotone.cli import main
from duotone.engines import open_source
from duotone.groups import PEOPLE, counts, select_groups

SURE = ApproxDP(50, "0.9")  # a group of two is certain
rows = st.lists(st.tuples(st.sampled_from([1, 2, 3, 4, None]), st.sampled_from(["a", "b", "c", None])), max_size=12)


def table(content: list[tuple[Any, Any]]) -> pa.Table:
    return pa.table(
        {"person": pa.array([r[0] for r in content], pa.int64()), "key": pa.array([r[1] for r in content], pa.string())}
    )


def people(content: list[tuple[Any, Any]], unit: str | None, most: int) -> dict[str, int]:
    source = open_source(table(content))
    found = source.run(counts(source.table, ["key"], unit, most)).to_pydict()
    return dict(zip(found["key"], found[PEOPLE], strict=True))


@settings(max_examples=60)
@given(rows, st.integers(1, 3), st.integers(1, 4))
def test_one_person_changes_few_counts_by_one(content: list[tuple[Any, Any]], most: int, person: int) -> None:
    """The ±1 rule, on the engine itself: with and without a person, at most `most` keys differ, each by 1."""
    whole = people(content, "person", most)
    without = people([r for r in content if r[0] != person], "person", most)
    changed = {key: whole.get(key, 0) - without.get(key, 0) for key in whole.keys() | without.keys()}
    assert sum(v != 0 for v in changed.values()) <= most
    assert set(changed.values()) <= {0, 1}
    for key, n in people(content, "person", 3).items():
        assert n == len({r[0] for r in content if r[1] == key and r[0] is not None})


@settings(max_examples=30)
@given(rows)
def test_without_a_unit_rows_are_people(content: list[tuple[Any, Any]]) -> None:
    assert people(content, None, 1) == {k: sum(r[1] == k for r in content) for k in {r[1] for r in content} - {None}}


def test_every_kind_of_table(tmp_path: Path) -> None:
    content = [(i, "common") for i in range(40)] + [(99, "rare")] + [(7, "common")] * 50
    arrow = table(content)
    pq.write_table(arrow, tmp_path / "t.parquet")
    arrow.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.register("given", arrow)
        connection.execute("create table visits as select * from given")
    privacy = ApproxDP(1, "1e-9")
    sources: list[tuple[Any, str | None]] = [
        (arrow, None),
        (pd.DataFrame(arrow.to_pydict()), None),
        (pl.DataFrame(arrow.to_pydict()), None),
        (tmp_path / "t.parquet", None),
        (str(tmp_path / "t.csv"), None),
        (tmp_path / "t.duckdb", "visits"),
    ]
    for source, name in sources:
        chosen = select_groups(open_source(source, name=name), ["key"], privacy, unit="person")
        assert chosen.keys == (("common",),)
    assert prove(chosen.certificate()).startswith("private and optimal")


def test_keys_come_in_their_own_order_and_shares_are_even() -> None:
    nested = pa.table({"a": [[1], [2]], "u": [1, 2]})
    with pytest.raises(DuotoneError, match="column a cannot be a key"):
        select_groups(open_source(nested), ["a"], SURE, unit="u")
    with pytest.raises(DuotoneError, match="column a cannot be a key or a unit"):
        select_groups(open_source(nested), ["u"], SURE, unit="a")
    content = pa.table({"a": ["z", "y", "z", "y", "x"] * 9, "b": [2, 1, 1, 2, 1] * 9, "u": range(45)})
    chosen = select_groups(open_source(content), ["a", "b"], ApproxDP(ratio=2**60, delta="0.9"), unit="u", most=3)
    assert chosen.keys == (("x", 1), ("y", 1), ("y", 2), ("z", 1), ("z", 2))
    assert chosen.share == ApproxDP(ratio=2**20, delta="0.3")
    assert select_groups(open_source(content.slice(0, 0)), ["a"], SURE).keys == ()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"by": []}, "at least one column"),
        ({"by": ["key", "key"]}, "each once"),
        ({"by": ["none"]}, "the table has no column none; it has person, key"),
        ({"unit": "none"}, "the table has no column none"),
        ({"unit": "key"}, "the unit cannot be a key"),
        ({"most": 0}, "must be at least 1"),
        ({"unit": None, "most": 2}, "name the unit"),
        ({"privacy": ApproxDP(1)}, "with delta 0 no group may ever be shown"),
    ],
)
def test_bad_questions(arguments: dict[str, Any], says: str) -> None:
    given: dict[str, Any] = {"by": ["key"], "privacy": SURE, "unit": "person", "most": 1} | arguments
    with pytest.raises(DuotoneError, match=says):
        select_groups(open_source(table([(1, "a")])), given.pop("by"), given.pop("privacy"), **given)


def test_bad_sources(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_text("secret 4711")
    (tmp_path / "t.duckdb").write_text("secret 4711")
    (tmp_path / "t.xls").write_text("")
    for source, name, says in [
        (tmp_path / "none.csv", None, "there is no file"),
        (tmp_path / "t.xls", None, r"must end in .csv, .parquet or .duckdb"),
        (tmp_path / "t.parquet", None, "is not a parquet file"),
        (tmp_path / "t.duckdb", None, "say which"),
        (tmp_path / "t.duckdb", "visits", "is not a DuckDB file"),
        (4711, None, "that is not a table"),
    ]:
        with pytest.raises(DuotoneError, match=says) as caught:
            open_source(source, name=name)
        assert "4711" not in str(caught.value)
    with duckdb.connect(str(tmp_path / "good.duckdb")) as connection:
        connection.execute("create table t (a int)")
    with pytest.raises(DuotoneError, match="has no table visits"):
        open_source(tmp_path / "good.duckdb", name="visits")
    source = open_source(table([(1, "a")]))
    with pytest.raises(DuotoneError, match="might quote rows") as hidden:
        source.run(source.table.mutate(x=source.table.key.cast("int64")))
    assert hidden.value.__cause__ is None


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.csv"
    file.write_text("person,town\n" + "".join(f"{i},Ely\n" for i in range(40)) + "1,Wells\n")
    budget = ["--epsilon", "1", "--delta", "1e-9"]
    with pytest.raises(SystemExit) as ended:
        main(["groups", str(file), "--by", "town", "--unit", "person", *budget, "--json"])
    assert not ended.value.code
    assert json.loads(capsys.readouterr().out)["groups"] == [{"town": "Ely"}]
    with pytest.raises(SystemExit) as ended:
        main(["groups", str(file), "--by", "town", *budget])
    assert not ended.value.code
    assert "1 groups may be shown" in (out := capsys.readouterr().out)
    assert "each row is a person" in out
    with pytest.raises(SystemExit) as ended:
        main(["groups", str(file), "--by", "city", *budget])
    assert ended.value.code == 2
    assert "no column city" in capsys.readouterr().err
