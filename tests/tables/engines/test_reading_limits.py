"""What is too much to be read, or too much for an engine to keep."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from duotone import ApproxDP, DuotoneError, prepare, select_groups
from duotone.tables.engines.query import LONGEST
from duotone.tables.engines.results import MOST_ENDS
from support.reading import ALL, P, read_nothing


def test_what_no_engine_keeps_is_refused_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit of 13 instead of 65,536: a table of so many levels takes long to make."""
    monkeypatch.setattr("duotone.tables.engines.results.MOST_ENDS", 13)
    read_nothing(monkeypatch)
    rows = pa.table({"name": ["Bob"] * 2, "x": [5, 7]})
    for question in ("sum(x) filter (where name = 'Bob') > 1000000", "avg(x) > 3", "mode(name) = 'Bob'"):
        with pytest.raises(DuotoneError, match="engines keep at most 13: give a larger epsilon or delta"):
            prepare(rows, question, P, bounds={"x": (0, 10)})
    prepare(rows, "count(*) filter (where name = 'Bob') > 1000000", P).close()  # a count needs no ends


@pytest.mark.slow
@pytest.mark.parametrize("delta", ["5e-6", "5e-7"])
def test_a_hundred_thousand_and_a_million_levels_are_answered_or_refused(delta: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Bob and with him, whose value once met a limit of the engine's."""
    tables = [pa.table({"name": ["Ann", "Cy", "Di", name], "x": [1, 2, 3, 7]}) for name in ("Eve", "Bob")]
    privacy = ApproxDP(0, delta)
    for question, expected in (("count(*) filter (where name = 'Bob') > 0", [-1, 0]), ("median(x) > 3", [-3, -3])):
        for table, level in zip(tables, expected, strict=True):
            with prepare(table, question, privacy) as asked:
                assert asked._levels()[2].tolist() == [level]
    read_nothing(monkeypatch)
    for table in tables:
        with pytest.raises(DuotoneError, match="most influential people, and engines keep at most 65536"):
            prepare(table, "sum(x) filter (where name = 'Bob') > 1000000", privacy, bounds={"x": (0, 10)})


def test_the_engine_keeps_as_many_as_it_may_be_asked_for() -> None:
    with duckdb.connect() as connection:
        kept = connection.execute(f"select len(max(i, {MOST_ENDS + 2})) from range(5) t(i)").fetchall()
    assert kept == [(5,)]


def test_a_key_too_long_to_be_shown_is_nobodys(tmp_path: Path) -> None:
    keys = ["é" * LONGEST] * 30 + ["x" * (LONGEST + 1)] * 30 + ["y" * 3_000_000] + ["z"] * 30
    shown = select_groups(pa.table({"k": keys}), ["k"], ALL).answers
    assert sorted(len(key) for (key,) in shown) == [1, LONGEST]
    people = pa.table({"u": [str(i) for i in range(40)] + ["u" * 5000] * 40, "k": ["a"] * 40 + ["b"] * 40})
    assert list(select_groups(people, ["k"], ALL, unit="u", max_groups=1).answers) == [("a",)]


@pytest.mark.slow
def test_a_wide_file_is_read_by_its_used_columns_alone(tmp_path: Path) -> None:
    width = 20_000
    lines = [",".join(f"c{i}" for i in range(width)), *[",".join(str(i % 7) for i in range(width))] * 60]
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    code = "import resource; resource.setrlimit(resource.RLIMIT_CPU, (40, 40)); from duotone import *; "
    code += "print(ask('wide.csv', 'count(*) filter (where c17 > 2) > 20', ApproxDP(1, '1e-6'), types={'c17': 'number'}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.stdout == "yes\n", done.stderr


@pytest.mark.slow
def test_a_long_line_is_read_or_not_by_its_length_alone(tmp_path: Path) -> None:
    """DuckDB's own limit depends on where a line stands in the file: one row more or less must not move it."""
    file = tmp_path / "t.csv"
    for size, counted in ((999_999, 1), (10**6, 1), (10**6 + 1, 0), (1_999_999, 0), (2 * 10**6, 0), (2 * 10**6 + 1, 0)):
        for end in (b"\n", b"\r\n"):
            for before in (b"", b"N,1" + end, b"N," + b"1" * 10**5 + end):
                line = b"Y," + b"y" * (size - 2)
                file.write_bytes(b"a,b" + end + before + (line + end) * 9)
                with prepare(file, "count(*) filter (where a = 'Y') > 4", P) as asked:
                    assert asked._levels()[2].tolist() == [4 if counted else -5], (size, end, len(before))
