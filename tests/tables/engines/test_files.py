"""Files of every kind: hostile names of columns, separators, gzip, several Parquet files, Arrow files, DuckDB connections."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from duotone import DuotoneError, ask, prepare, select_groups
from duotone.tables.engines import open_source
from duotone.tables.engines.text_files import LONGEST_LINE
from hostile import csvs
from support.reading import ALL, P, column, values

NAMES = ["self", "count", "name", "schema", "columns", "mutate", "select", "k0", "m0s", "unit", "one", "people", "line", "rest",
         "fields", "filename", "rowid", "class", "None", "a b", 'a"b', "it's", "é\U0001f600", "a.b", "*", "%s", "{x}", "a\\b",
         "duotone_rows0", "null", "?", "a,b"]  # fmt: skip


def _csv(table: pa.Table, path: Path) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([table.column_names, *zip(*table.to_pydict().values(), strict=True)])
    return path


def _parquet(table: pa.Table, path: Path) -> Path:
    pq.write_table(table, path)
    return path


SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "csv": lambda table, folder: _csv(table, folder / "t.csv"),
    "parquet": lambda table, folder: _parquet(table, folder / "t.parquet"),
    "arrow": lambda table, _: table,
    "pandas": lambda table, _: table.to_pandas(),
    "polars": lambda table, _: pl.from_arrow(table),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SOURCES)
def test_a_column_may_have_any_name(kind: str, tmp_path: Path) -> None:
    """All of them in one table, and each as what is counted and added up, as a person and as a key."""
    table = pa.table({name: [i, i + 1, i + 1] for i, name in enumerate(NAMES)})
    with open_source(SOURCES[kind](table, tmp_path)) as source:
        assert list(source.columns) == NAMES
        rows = source.only(NAMES)
        read = rows.run(rows.table).to_pydict()
        assert {name: [int(x) for x in read[name]] for name in NAMES} == table.to_pydict()
        for i, name in enumerate(NAMES):
            quoted = '"' + name.replace('"', '""') + '"'
            value = f"{quoted}::double" if kind == "csv" else quoted
            question = f"count(*) filter (where {value} = {i + 1}) > 0 and sum({value}) > 1"
            with prepare(
                source, question, P, bounds={value if kind == "csv" else name: (0, 99)}, unit=NAMES[i - 1], max_rows=2
            ) as asked:
                assert asked._levels()[2].item() >= 0, name
        for name in NAMES[::8]:
            shown = select_groups(source, [name], ALL, unit=NAMES[1], max_groups=1).answers
            assert len(shown) <= 2


ODD = [line for line in csvs.LINES if len(line) <= 3_000_000]


@pytest.mark.slow
@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " ", "^"])
@pytest.mark.parametrize("ending", [".csv", ".txt", ".csv.gz"])
def test_a_line_is_read_by_itself_with_every_separator(separator: str, ending: str, tmp_path: Path) -> None:
    """Hostile lines between quiet ones: these are as they were, and each hostile one is at most as many rows as it has ends."""
    path, mark = tmp_path / f"t{ending}", separator.encode()
    quiet = [b"k%d,x" % i for i in range(3)]
    hostile = [line.replace(b",", mark) for line in ODD[:: 1 if separator == ";" else 3]]
    lines = [b"k,x", *(line for odd in hostile for line in (*quiet, odd)), *quiet]
    data = b"\n".join(line.replace(b",", mark) if line in (*quiet, b"k,x") else line for line in lines) + b"\n"
    path.write_bytes(gzip.compress(data, 1) if ending.endswith("gz") else data)
    with open_source(path, separator=None if separator in ",;\t|" else separator) as source:
        read = source.only(["k", "x"])
        rows = read.run(read.table).to_pydict()
    found = list(zip(rows["k"], rows["x"], strict=True))
    for key in ("k0", "k1", "k2"):
        assert found.count((key, "x")) == len(hostile) + 1
    swap = bytes.maketrans(b"," + mark, mark + b",")
    modelled = [csvs.fields(part.translate(swap)) for odd in hostile for part in odd.split(b"\r")]
    expected = [[f and f.translate(swap).decode() for f in row][:2] for row in modelled if row]
    others = [row for row in found if row[0] not in ("k0", "k1", "k2")]
    assert sorted(map(repr, others)) == sorted(repr((*row, None, None)[:2]) for row in expected)


@pytest.mark.slow
def test_a_long_line_of_a_compressed_file_is_read_or_not_by_its_length_alone(tmp_path: Path) -> None:
    file = tmp_path / "t.csv.gz"
    for size, counted in ((LONGEST_LINE, True), (LONGEST_LINE + 1, False), (2 * 10**6 + 1, False), (40 * 10**6, False)):
        for before in (b"", b"N,1\n", b"N," + b"1" * 10**5 + b"\n"):
            line = b"Y," + b"y" * (size - 2) + b"\n"
            file.write_bytes(gzip.compress(b"a,b\n" + before + line * 3 + b"N,2\n", 1))
            with prepare(file, "count(*) filter (where a = 'Y') > 1", P) as asked:
                assert asked._levels()[2].tolist() == [1 if counted else -2], (size, len(before))


@pytest.mark.slow
def test_the_separator_is_found_in_the_first_line_alone(tmp_path: Path) -> None:
    cases = {
        "a;b\n1,2;3\n": ["a", "b"], "a\tb\n": ["a", "b"], "a|b\n1;2|3": ["a", "b"], '"a,b";c\n': ["a,b", "c"],
        'a,"b;c"\n': ["a", "b;c"], "a\n1;2\n1,2\n": ["a"], "a b\n": ["a b"], "\ufeffa;b\r1;2\r": ["a", "b"],
    }  # fmt: skip
    for ending in (".csv", ".txt", ".txt.gz"):
        file = tmp_path / f"t{ending}"
        for text, names in cases.items():
            file.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
            with open_source(file) as source:
                assert list(source.columns) == names, text
    for name in ("t.tsv", "t.tsv.gz"):
        data = b"a,b\tc;d\n1\t2\n"
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
        assert values(tmp_path / name, "a,b", "c;d") == [("1", "2")]
    file = tmp_path / "t.csv"
    file.write_text("a,b;c\n1,2;3\n" * 60)
    with pytest.raises(DuotoneError, match=r"has a comma and a semicolon, and either could .* \(separator\)"):
        open_source(file)
    assert ask(file, "count(*) filter (where c = 3) > 20", P, types={"c": "number"}, separator=";")
    assert list(select_groups(file, ["a"], ALL, separator=",").answers) == [("1",), ("a",)]
    for wrong in ("", ",,", '"', "\n", "é", 3):
        with pytest.raises(DuotoneError, match="separator must be one ASCII character"):
            open_source(file, separator=wrong)
    for table in (pa.table({"x": [1]}), "postgres://h/d", tmp_path):
        _parquet(pa.table({"x": [1]}), tmp_path / "t.parquet")
        with pytest.raises(DuotoneError, match="only a CSV file has a separator"):
            open_source(table, separator=";")


@pytest.mark.slow
def test_no_row_can_make_the_first_line_unreadable(tmp_path: Path) -> None:
    """Where a carriage return ends the lines, rows follow the first one closely."""
    file = tmp_path / "t.csv"
    for row in (b"1,2", b"\xff,2", b"1,\xe2\x82", "1,\u2028".encode()):
        file.write_bytes(b"a,b\r" + row + b"\r3,4\r")
        assert values(file, "a", "b")[-1] == ("3", "4")
    file.write_text("a\x0bb,c\u2028d\n1,2\n")  # ends of lines for Python alone
    assert values(file, "a\x0bb", "c\u2028d") == [("1", "2")]
    for name in ("x" * 200_000, "x" * 2**21):
        file.write_text(f"{name}\n1\n")
        with pytest.raises(DuotoneError, match="the first line of") as caught:
            open_source(file)
        assert caught.value.__context__ is None


def test_a_link_is_read_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(gzip.compress(b"a;b\n1;2\n"))
    (tmp_path / "t.csv.gz").symlink_to(tmp_path / "blob")
    assert values(tmp_path / "t.csv.gz", "b", "a") == [("2", "1")]
    (tmp_path / "plain.gz").write_text("a;b\n1;2\n")
    (tmp_path / "t.csv").symlink_to(tmp_path / "plain.gz")
    assert values(tmp_path / "t.csv", "b", "a") == [("2", "1")]


def test_damaged_gzip_is_one_sentence(tmp_path: Path) -> None:
    data = gzip.compress(b"a,b\n" + b"".join(b"%d,secret\n" % i for i in range(200_000)))
    for damaged in (b"a,b\n1,2\n", b"", data[:8], data[:20] + b"\xff" * 30 + data[50:]):
        (tmp_path / "t.csv.gz").write_bytes(damaged)
        with pytest.raises(DuotoneError, match=r"is not a gzip file, or is damaged|must name every column"):
            open_source(tmp_path / "t.csv.gz")
    (tmp_path / "t.csv.gz").write_bytes(data[:-20_000])
    with pytest.raises(DuotoneError, match="might quote rows"):
        ask(tmp_path / "t.csv.gz", "count(*) > 5", P)


@pytest.mark.slow
def test_several_parquet_files_are_one_table(tmp_path: Path) -> None:
    folder = tmp_path / "visits"
    folder.mkdir()
    times = pa.array([0, 2**62], pa.timestamp("ms"))
    for i in range(3):
        pq.write_table(pa.table({"x": [i, None], "s": ["a", "b"], "t": times}), folder / f"part[{i}].parquet")
    pq.write_table(pa.table({"y": [1]}), folder / "_other.parquet")
    (folder / "_SUCCESS").write_text("")
    files = sorted(folder.glob("p*.parquet"))
    for table in (folder, str(folder), f"{folder}/p*.parquet", str(folder / "**" / "p*"), files, tuple(map(str, files))):
        assert sorted(map(repr, column(table))) == sorted(map(repr, [0, 1, 2, None, None, None]))
        assert [t is None for _, t in values(table, "x", "t")].count(True) == 3  # which Arrow reads
    with prepare(folder, "select s, count(*) > 2 from visits group by s", P) as asked:
        assert asked.source.name == "visits"
    with pytest.raises(DuotoneError, match="a file is listed twice"):
        open_source([*files, folder / ".." / "visits" / files[0].name])
    for paths, says in (
        ([*files, folder / "gone.parquet"], "there is no file"),
        ([*files, folder / "_SUCCESS"], "several files must all be Parquet"),
        (tmp_path, "has no .parquet file of its own"),
        (f"{tmp_path}/z*", "there is no file like"),
    ):
        with pytest.raises(DuotoneError, match=says):
            open_source(paths)


@pytest.mark.parametrize(
    "other",
    [
        pa.table({"x": [1.0], "s": ["a"], "t": pa.array([0], pa.timestamp("us"))}),
        pa.table({"x": pa.array([1], pa.int32()), "s": ["a"], "t": pa.array([0], pa.timestamp("us"))}),
        pa.table({"x": [1], "s": ["a"], "t": pa.array([0], pa.timestamp("ms"))}),
        pa.table({"x": [1], "t": pa.array([0], pa.timestamp("us")), "s": ["a"]}),
        pa.table({"x": [1], "s": ["a"]}),
        pa.table({"x": [1], "S": ["a"], "t": pa.array([0], pa.timestamp("us"))}),
        pa.table({"x": pa.array([None], pa.null()), "s": ["a"], "t": pa.array([0], pa.timestamp("us"))}),
    ],
    ids=str,
)
def test_files_with_other_columns_are_refused_before_a_row_is_read(other: pa.Table, tmp_path: Path) -> None:
    table = pa.table({"x": [1], "s": ["a"], "t": pa.array([0], pa.timestamp("us"))})
    files = [_parquet(table, tmp_path / "1.parquet"), _parquet(other, tmp_path / "2.parquet")]
    with pytest.raises(DuotoneError, match=r"2.parquet has other columns than .*1.parquet, or other types"):
        open_source(files)
    files[1].write_text("secret")
    with pytest.raises(DuotoneError, match=r"2.parquet is not a Parquet file"):
        open_source(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_arrow_files_are_read_as_the_tables_they_hold(compression: str, tmp_path: Path) -> None:
    raw = pa.array([b"ok", b"\xff\xfe", None], pa.binary()).view(pa.string())
    table = pa.table(
        {
            "x": [1.5, float("nan"), None], "s": raw, "t": pa.array([0, 2**62, None], pa.timestamp("ms")),
            "d": pa.array(["a", "b", "a"]).dictionary_encode(), "o": [[1], [2], None],
        }
    )  # fmt: skip
    feather.write_feather(table, tmp_path / "t.feather", compression=compression)
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    for name in ("t.feather", "t.arrow"):
        assert values(tmp_path / name, "x", "s", "t", "d") == values(table, "x", "s", "t", "d")
        assert column(tmp_path / name, "d") == ["a", "b", "a"]
        with prepare(tmp_path / name, "select count(*) > 2 from t", P) as asked:
            assert asked._levels()[2].tolist() == [0]
        with pytest.raises(DuotoneError, match=r"column o .*convert it"):
            prepare(tmp_path / name, "count(o) > 1", P)
        (tmp_path / name).write_text("secret 4711")
        with pytest.raises(DuotoneError, match="is not an Arrow file"):
            open_source(tmp_path / name)
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink, pa.ipc.new_file(sink, twice.schema) as writer:
        writer.write_table(twice)
    with pytest.raises(DuotoneError, match="need distinct text names"):
        open_source(tmp_path / "t.arrow")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("t.jsonl", r"depend on its rows: name them \(json_columns\)"),
        ("t.ndjson.gz", "name them"), ("t.json", "rename it .jsonl"), ("t.json.gz", "must end in"),
        ("t.xlsx", "save the sheet as CSV"), ("t.csv.zip", "must end in .csv, .tsv, .txt, .jsonl"), ("t.gz", "must end in"),
    ],
)  # fmt: skip
def test_what_is_not_read_has_a_cure(name: str, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text('{"a": 1}\n')
    with pytest.raises(DuotoneError, match=says):
        open_source(tmp_path / name)


@pytest.mark.slow
def test_a_table_of_a_duckdb_connection() -> None:
    with duckdb.connect() as own:
        own.execute("set timezone = 'Europe/Paris'; create table t as select range as x, 'a' as s from range(60)")
        own.execute("create view v as select * from t; create schema q; create table q.t as select 1 as z; use q")
        assert ask(own, "count(*) filter (where s = 'a') > 20", P, table="main.t")
        assert column(own, of="memory.main.t") == list(range(60))
        assert own.execute("select current_setting('timezone'), current_schema()").fetchall() == [("Europe/Paris", "q")]
        assert own.execute("select count(*) from duckdb_views() where not internal").fetchall() == [(1,)]
        with pytest.raises(DuotoneError, match=r"say which \(table\)"):
            open_source(own)
        with pytest.raises(DuotoneError, match="view v is not a stored table"):
            open_source(own, table="v")
        for query in ("from main.t", "select random() as x", "select * from main.t a join main.t b using (s)"):
            with pytest.raises(DuotoneError, match=r"DuckDB relation is not a stored table.*\(vouched\)"):
                open_source(own.sql(query))
    with pytest.raises(DuotoneError, match="connection is closed"):
        open_source(own, table="t")


@pytest.mark.parametrize(
    "mistyped",
    [
        "postgres:user:hunter2@host/db",
        "postgres:/user:hunter2@host/db",
        "postgres//user:hunter2@host/db",
        "user:hunter2@host/db",
        "user:hun*ter2@host/db",
        "host=h PASSWORD = hunter2",
        "postgresql:hunter2",
        "postgres:user:hunter2://host/db",
        "ann/hunter2@host/clinic",
        "pw=hunter2 host=localhost",
    ],
)
def test_a_mistyped_url_is_not_repeated(mistyped: str) -> None:
    """Neither as a table nor beside one, nor in a list of files, nor as the list of groups."""
    beside = {"t": mistyped}
    for ask_it in (
        lambda: open_source(mistyped),
        lambda: open_source([mistyped, mistyped]),
        lambda: ask(pa.table({"x": [1]}), "count(*) > 1", P, public=beside),
        lambda: ask(pa.table({"x": [1]}), "count(*) > 1", P, unit="x", also=beside),
        lambda: ask(pa.table({"x": [1]}), "select x, count(*) > 1 group by x", P, groups=Path(mistyped)),
    ):
        with pytest.raises(DuotoneError) as raised:
            ask_it()
        assert not re.search("hunter|ter2", str(raised.value)), raised.value
