"""The rule of totality: one row more, less or replaced changes no error, no message, no schema, no other row's reading, and
the level by at most one. What a pair is, and how so many are asked, stands in `hostile`. Seeds are fixed; a failure names its
own."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone import DuotoneError, prepare
from duotone.cli.app import main
from duotone.tables.engines import open_source
from hostile import by_spark, csvs, extras, pairs, sources
from hostile.asked import PRIVACY, Refused, Tally, levels, wrong_levels
from hostile.columns import COLUMNS, LONG, NANS64, double
from hostile.model import read
from hostile.questions import Question
from hostile.worlds import places, woven
from support import postgres_server, spark_cluster
from support.running import thinned

yes = Mock(return_value=True)
"""For questions whose truth is not asked here."""
NAMES = [name for name in COLUMNS if name != "u64"]


def no_mismatch(tally: Tally, least: int) -> None:
    """Nothing is wrong, and so many pairs were looked at."""
    print(tally.line())
    shown = "\n".join(said[:600] for said in tally.wrong[:12])
    assert not tally.wrong, f"{tally.line()}, the first of them:\n{shown}"
    assert tally.pairs >= least


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_a_hundred_thousand_pairs(part: int, tmp_path: Path) -> None:
    """Every column type with every hostile value, in worlds of hundreds of small tables."""
    tally = Tally()
    for i, name in enumerate(NAMES[part::4]):
        tally.add(pairs.grouped("arrow", [name], 100 * part + i, tmp_path, each=3, couples=450))
    no_mismatch(tally, 24_000)


@pytest.mark.slow
@pytest.mark.parametrize("writer", sources.WRITERS)
def test_every_writer(writer: str, tmp_path: Path) -> None:
    """Few hostile values in each file, so that what the file says of its values is about them."""
    tally = Tally()
    for seed in thinned(range(3), 3, list(sources.WRITERS).index(writer) % 3):  # a third of the types, by turns
        tally.add(pairs.grouped(writer, NAMES[seed::3], seed, tmp_path, each=1, couples=20, few=2))
    no_mismatch(tally, 250)


@pytest.mark.slow
@pytest.mark.parametrize("writer", sources.WRITERS)
def test_tables_alone(writer: str, tmp_path: Path) -> None:
    """Tables and their neighbours as files and frames of their own, under both relations."""
    tally, place = Tally(), list(sources.WRITERS).index(writer)
    for seed in thinned((place, place + 1), 2):
        tally.add(pairs.alone(writer, ["f64", *NAMES[seed % 6 :: 6]], seed, tmp_path, each=1))
    no_mismatch(tally, 4)


@pytest.mark.slow
@pytest.mark.parametrize("writer", [name for name in sources.WRITERS if name.startswith("parquet")])
def test_nan_beside_statistics(writer: str, tmp_path: Path) -> None:
    """One finite value and thirty NaN, of which a file's statistics say nothing; and one row more."""
    column, bounds = COLUMNS["f64"], {"bounds": {"f64": ("0", "8", "1")}}
    base = [double(5.0), *NANS64 * 4, *NANS64[:2]]
    questions = [
        "count(*) filter (where f64 is null) > {}",
        "count(f64) <= {}",
        "sum(f64) > {}",
        "count(*) filter (where not f64 <= 4) > {}",
    ]
    for more in (double(150.0), NANS64[1]):
        values: list[Any] = [read(column, v) for v in (*base, more)]
        clipped = [min(max(v, 0), 8) for v in values if v is not None]
        true = [values.count(None), len(clipped), sum(clipped), sum(v > 4 for v in values if v is not None)]
        written = sources.WRITERS[writer](pairs.plain_table(column, [*base, more]), {"f64": column}, tmp_path)
        with sources.opened(written) as source:
            for shape, exact in zip(questions, true, strict=True):
                for limit in (int(exact) - 1, int(exact)):
                    by_group = levels(source, Question(shape.format(limit), yes, bounds), None)
                    assert not isinstance(by_group, str), by_group
                    assert (by_group[None] >= 0) == ((exact <= limit) if "<=" in shape[:20] else exact > limit), (
                        shape,
                        limit,
                        more,
                    )


@pytest.mark.slow
@pytest.mark.parametrize("rows", [2, 3])
def test_people_with_several_rows(rows: int, tmp_path: Path) -> None:
    tally = Tally()
    for seed, name in enumerate(NAMES):
        tally.add(pairs.grouped("arrow", [name], seed, tmp_path, each=1, couples=60, rows=rows))
    no_mismatch(tally, 5_000)


@pytest.mark.slow
@pytest.mark.parametrize("writer", ["arrow", "polars", "pandas", "parquet by pyarrow", "duckdb"])
def test_hostile_keys(writer: str, tmp_path: Path) -> None:
    """Values as keys of groups and names of people; and refusals word for word the same."""
    tally = Tally()
    for seed in range(2):
        tally.add(pairs.keyed(writer, ["text", "i64", *NAMES[seed::5]], seed, tmp_path))
    no_mismatch(tally, 40)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["f64", "text", "i64"])
def test_listed_groups(name: str, tmp_path: Path) -> None:
    """Groups of a public list, those that nobody is in among them; a short list and one that is too long to look only there."""
    draw = random.Random(6)
    columns = sources.storable("arrow", [name], tmp_path)
    world = woven(draw, places(columns), 1, 30)
    written = sources.WRITERS["arrow"](world.table(list(columns.values())), columns, tmp_path)
    column, raw = written.stored[name]
    groups = dict(enumerate(pairs.regrouped(world, column, raw)))
    tally = Tally()
    with sources.opened(written) as source:
        for question in pairs.asked(column, list(groups.values()), draw, 4, 1):
            for more in (0, 1200):
                listed = {**groups, **{key: [] for key in range(len(groups), len(groups) + more)}}
                by_group = levels(source, question, "gid", groups=[[key] for key in listed])
                if not isinstance(by_group, Refused):
                    wrong = (
                        [by_group]
                        if isinstance(by_group, str)
                        else wrong_levels(by_group, listed, question, world.edges, nobody=True)
                    )
                    tally.wrong += [f"{question.text}: {said}" for said in wrong]
                    tally.pairs += len(world.edges)
    no_mismatch(tally, 400)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 8])
def test_csv_lines(seed: int, tmp_path: Path) -> None:
    """Lines and fields of every kind, as text, numbers, dates and Booleans."""
    no_mismatch(csvs.pairs(seed, tmp_path, each=3), 400)


@pytest.mark.slow
def test_postgres() -> None:
    if postgres_server.programs() is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("PostgreSQL is not installed, and this test needs it")
    from hostile import postgres

    with postgres_server.server() as url:
        no_mismatch(postgres.ask(url, 1, 2), 5_000)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_parquet_by_spark(tmp_path: Path) -> None:
    if spark_cluster.missing() is not None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            f"{spark_cluster.missing()} is not installed, and this test needs it"
        )
    names = ["i8", "i64", "f64", "f32", "d_9_2", "d_38_10", "flag", "day", "t_us", "text"]
    columns, draw = sources.storable("parquet by pyarrow", names, tmp_path), random.Random(4)
    nans = [None, 0, 2]  # so that its statistics are about few values
    world = woven(draw, nans, 4, 60)
    path = by_spark.written(world.table(list(columns.values())), tmp_path, spark_cluster.environment())
    written = sources.Written(path, sources.stored(pq.read_table(path), columns), {})
    no_mismatch(pairs.of_world(world, written, "parquet by Spark", draw, 4), 1_500)


@pytest.mark.parametrize("writer", ["arrow", "polars", "parquet by pyarrow", "duckdb"])
def test_three_million_characters(writer: str, tmp_path: Path) -> None:
    """As a value it is cut; as a key or a name it is nobody's, as any of more than 1,024 characters."""
    edge = "e" * 1024
    table = pa.table({"x": pa.array(["a", edge, edge + "e", LONG.decode(), None])})
    written = sources.WRITERS[writer](table, {}, tmp_path)
    with sources.opened(written) as source:
        for text, level in (
            ("count(x) > 2", 1),
            ("count(*) filter (where x > 'f') > 0", 0),
            ("max(x) > 'long'", 0),
            ("count(*) filter (where length(x) = 10000) = 1", 0),
            ("count(distinct x) >= 2", 0),
        ):
            unit = {"unit": "x"} if "distinct" in text else {}
            assert levels(source, Question(text, yes, unit), None) == {None: level}, text
        assert levels(source, Question("count(*) > 0", yes), "x") == {"a": 0, edge: 0}


@pytest.mark.slow
def test_columns_that_cannot_be_asked_about(tmp_path: Path) -> None:
    """Nested ones, with nulls at every depth, and types that are none of ours: nothing changes, and they are refused alike."""
    quiet, neighbours = extras.arrow_tables(4)
    pairs_seen = 0
    for name in ("arrow", "parquet by pyarrow", "polars"):
        kept = [
            c
            for c in quiet.column_names
            if not (name == "polars" and c == "wide") and _opens(name, quiet.select([c]).slice(0, 0), tmp_path)
        ]
        assert "x" in kept
        said = _said(name, quiet.select(kept), tmp_path)
        for neighbour in neighbours:
            assert _said(name, neighbour.select(kept), tmp_path, 1) == said
            pairs_seen += len(kept)
    assert pairs_seen >= 100


def _opens(writer: str, table: pa.Table, folder: Path) -> bool:
    try:
        with sources.opened(sources.WRITERS[writer](table, {}, folder)):
            return True
    except (DuotoneError, pa.ArrowException, NotImplementedError):
        return False


def _said(writer: str, table: pa.Table, folder: Path, more: int = 0) -> Any:
    with sources.opened(sources.WRITERS[writer](table, {}, folder)) as source:
        refused = {}
        for column in table.column_names:
            try:
                prepare(source, f"count(*) filter (where {column} is null) > 2", PRIVACY)
            except DuotoneError as error:
                refused[column] = str(error)
        by_group = levels(source, Question("count(*) > 2", yes), None)
        assert isinstance(by_group, dict)
        return dict(source.columns), refused, by_group[None] - more


@pytest.mark.slow
def test_pandas_objects() -> None:
    """One object of any kind more, in a column that the question uses or does not use."""
    import pandas as pd

    def asked(values: list[Any], unused: bool) -> Any:
        frame = pd.DataFrame({"x": range(len(values)), "o": pd.Series(values, dtype="object")})
        questions = (
            ["count(*) > 2", "sum(x) > 2"]
            if unused
            else ["count(o) > 1", "count(*) filter (where o = 'a') > 0", "mode(o) = 'a'"]
        )
        try:
            with open_source(frame) as source:
                options = {"bounds": {"x": (0, 9)}}
                return source.columns["o"], [levels(source, Question(q, yes, options), None) for q in questions]
        except DuotoneError as error:
            return str(error)

    for unused in (True, False):
        quiet = asked(["a", "b", "a"], unused)
        for value in extras.objects():
            hostile = asked(["a", "b", "a", value], unused)
            assert type(hostile) is type(quiet), type(value)
            if isinstance(quiet, str):
                assert hostile == quiet
                continue
            assert hostile[0] == quiet[0], type(value)
            for before, after in zip(quiet[1], hostile[1], strict=True):
                if isinstance(before, str):
                    assert after == before
                else:
                    assert isinstance(after, dict), (type(value), after)
                    assert abs(after[None] - before[None]) <= 1


COMMANDS = [
    ("count(*) > 3", ()), ("count({}) > 3", ()), ("count(*) filter (where {} is null) > 1", ()),
    ("avg({}) > 3", ("--bounds", "{}=0:8:1")), ("median({}) > 3", ()), ("mode({}) = 5", ()),
    ("count(*) filter (where {} = 'a') > 1", ()), ("select {}, count(*) > 1 group by {}", ()),
    ("count(*) filter (where {} like 'a%') > 1", ()), ("count(distinct {}) > 2", ("--unit", "{}")),
]  # fmt: skip


DRAWN = {"answer", "answers", "margin", "margins", "p_value", "certain", "distance", "capped", "at_least", "estimate"}
"""What is drawn, and follows from that."""


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(["f64", "i64", "text", "day", "t_ms", "d_38_10"], 2))
def test_the_command_says_the_same(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit codes, messages, previews and the keys of JSON objects, of a file and of it with a hostile row more."""
    column = COLUMNS[name]
    writer = sources.WRITERS["parquet by pyarrow"]
    hostile = sources.storable("parquet by pyarrow", [name], tmp_path)[name].hostile
    for i, value in enumerate((hostile[0], hostile[len(hostile) // 2])):
        said = []
        for values in ([*column.quiet], [*column.quiet, value]):
            path = tmp_path / "t.parquet"
            writer(pairs.plain_table(column, values), {name: column}, tmp_path).table.rename(path)
            said.append([_run(path, name, question, options, capsys) for question, options in COMMANDS[i % 3 :: 3]])
        assert said[0] == said[1], value


def _run(path: Path, name: str, question: str, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> Any:
    outcomes = []
    for more in (["--json"], ["--preview"]):
        asked = [question.replace("{}", name), *(o.replace("{}", name) for o in options)]
        with pytest.raises(SystemExit) as ended:
            main(["ask", str(path), *asked, "--epsilon", "1", "--delta", "1e-6", *more])
        out, err = capsys.readouterr()
        if more == ["--json"] and out:
            document = json.loads(out)
            out = str({key: None if key in DRAWN else value for key, value in document.items()})
        outcomes.append((ended.value.code, out, err))
    return outcomes
