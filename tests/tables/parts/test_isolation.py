"""One part's process: what comes back is one bit, and nothing is left of it. Attempts to leave something, or to get out."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import support.part_functions as hostile
from duotone.resources import temporary_folder
from duotone.tables.parts import inside
from duotone.tables.parts.isolation import Nursery, answers, tried

LONG = [hostile.spins, hostile.ignores_signals_and_spins]
OUTSIDE = [hostile.writes, hostile.starts, hostile.kills, hostile.talks, hostile.unlocks]
ROWS = pa.table({"patient": ["a", "b", "c"], "days": [3.0, 9.0, 12.0], "age": [30.0, 50.0, 61.0]})
FILES = [hostile.__file__, str(Path(hostile.__file__).with_name("__init__.py"))]


def answer_of(rows: pa.Table, task: dict[str, Any]) -> bool:
    (yes,) = answers([rows], task)
    return yes


def of(function: Any, **changes: Any) -> dict[str, Any]:
    named = {"module": hostile.__name__, "function": function.__name__, "file": hostile.__file__, "files": FILES}
    return {**named, "memory": 2**29, "seconds": 2, "hide": True, "listed": [str(Path(FILES[0]).parents[1])], **changes}


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Every folder that was made is gone."""
    before = {*temporary_folder().iterdir()}
    yield
    assert {*temporary_folder().iterdir()} <= before


def sql(text: str, **changes: Any) -> dict[str, Any]:
    return {"sql": text, "names": ["stays"], "memory": 2**29, "seconds": 2, "hide": True, "files": [], "listed": [], **changes}


@pytest.mark.slow
def test_on_linux_all_three_layers_stand() -> None:
    wrong, kept_apart = tried(ROWS.slice(0, 0), of(hostile.longer))
    assert (wrong, kept_apart.complete, kept_apart.fenced) == ("", True, True)


@pytest.mark.slow
@pytest.mark.parametrize("hide", [True, False])
@pytest.mark.parametrize("function", [hostile.longer, hostile.everybody, hostile.has_threads])
def test_a_plain_yes_is_a_yes(function: Any, hide: bool) -> None:
    assert answer_of(ROWS, of(function, hide=hide))


@pytest.mark.slow
@pytest.mark.parametrize(
    "function",
    [hostile.numpy_yes, hostile.one, hostile.word, hostile.nothing, hostile.raises, hostile.leaves, hostile.prints,
     hostile.crashes, hostile.allocates],
    ids=lambda function: function.__name__,
)  # fmt: skip
def test_anything_else_is_a_no_and_shows_nowhere(function: Any, capfd: pytest.CaptureFixture[str]) -> None:
    assert not answer_of(ROWS, of(function))
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.parametrize("function", LONG, ids=lambda function: function.__name__)
def test_what_takes_too_long_is_a_no(function: Any) -> None:
    since = time.monotonic()
    assert not answer_of(ROWS, of(function, seconds=1))
    assert time.monotonic() - since < 30


@pytest.mark.slow
@pytest.mark.parametrize("function", [*OUTSIDE, hostile.looks], ids=lambda function: function.__name__)
def test_nothing_gets_out_or_is_left(function: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Each function tries many ways, and says yes if one of them works."""
    monkeypatch.setenv("A_SECRET", "known to the parent")
    before = Path(os.__file__).stat()
    assert not answer_of(ROWS, of(function))
    after = Path(os.__file__).stat()
    assert (before.st_mtime_ns, before.st_mode, before.st_ctime_ns) == (after.st_mtime_ns, after.st_mode, after.st_ctime_ns)
    assert not Path(hostile.LEFT).exists()
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.parametrize("function", OUTSIDE, ids=lambda function: function.__name__)
def test_without_namespaces_the_filter_alone_holds(function: Any) -> None:
    assert not answer_of(ROWS, of(function, hide=False))


@pytest.mark.slow
def test_without_namespaces_sql_is_answered_and_reads_no_file() -> None:
    assert [*answers([ROWS], sql("select corr(days, age) > 0.2 from stays", hide=False))] == [True]
    assert [*answers([ROWS], sql("select count(*) > 0 from read_text('/proc/self/cgroup')", hide=False))] == [False]


@pytest.mark.slow
def test_without_namespaces_names_of_files_can_be_found() -> None:
    """What docs/limits.md says: their size and times, not what is in them. (And the attack works where nothing stops it.)"""
    assert answer_of(ROWS, of(hostile.looks, hide=False))


@pytest.mark.slow
def test_a_part_remembers_no_other() -> None:
    assert [*answers([ROWS.slice(0, many) for many in (1, 2, 3)], of(hostile.remembers))] == [False] * 3


@pytest.mark.slow
def test_what_ends_its_process_or_the_nursery_is_one_no(monkeypatch: pytest.MonkeyPatch) -> None:
    with Nursery(frames=True) as nursery:
        crashed = nursery.asked(ROWS, of(hostile.crashes))[1]
        assert crashed != inside.YES
        assert nursery.asked(ROWS, of(hostile.everybody))[1] == inside.YES
        nursery._started.kill()  # type: ignore[union-attr]
        assert nursery.asked(ROWS, of(hostile.everybody))[1] == inside.YES


CLOCK = "select epoch(now()) = 1e9 and epoch(current_timestamp) = 1e9 and today() = date '2001-09-09'"


@pytest.mark.slow
@pytest.mark.parametrize("hide", [True, False])
@pytest.mark.parametrize("task", [sql(CLOCK), of(hostile.has_no_clock)], ids=["sql", "function"])
def test_the_clock_stands_still(task: dict[str, Any], hide: bool) -> None:
    """Else a part with somebody in it could take long, and all later ones say yes after a certain second."""
    assert answer_of(ROWS, {**task, "now": 10**9, "hide": hide})


@pytest.mark.slow
def test_sleep_is_over_at_once() -> None:
    assert answer_of(ROWS, of(hostile.sleeps, seconds=1))


SAYS_YES = "select true"
NOT_YES = [
    "select 1", "select 'true'", "select null::boolean", "select false", "select true, true", "select true where false",
    "select true union all select true", "create table t (x integer)", "select x", "selec", "", "select error('no')",
]  # fmt: skip
OUT = [
    "select count(*) > 0 from read_csv('/etc/passwd')",
    "select count(*) > 0 from '/etc/passwd'",
    "select count(*) > 0 from read_text('{file}')",
    "select count(*) > 0 from glob('/*')",
    "copy (select * from stays) to '/var/tmp/duotone-left-behind'; select true",
    "attach '/var/tmp/duotone-left-behind' as other; select true",
    "export database '/var/tmp/duotone-left-behind'; select true",
    "install httpfs; select true",
    "load httpfs; select true",
    "set memory_limit = '1TB'; select true",
    "set enable_external_access = true; select true",
    "reset lock_configuration; select true",
    "pragma threads = 8; select true",
    "pragma enable_profiling; select true",
    "create secret s (type s3); select true",
    "create persistent secret s (type s3); select true",
    "select getenv('HOME') is not null",
    "select count(*) > 0 from other_frame",
    "import database '/tmp'; select true",
]


@pytest.mark.slow
def test_sql_says_everything_that_duckdb_can_say() -> None:
    for text in (
        SAYS_YES,
        "select corr(days, age) > 0.2 from stays",
        "with long as (select * from stays where days > 5) select count(*) = 2 from long",
        "create table kept as select * from stays where age > 40; select count(*) = 2 from kept",
        "select regr_slope(days, age) between 0 and 1 from stays",
    ):
        assert answer_of(ROWS, sql(text)), text


@pytest.mark.slow
@pytest.mark.parametrize("text", [*NOT_YES, *OUT])
def test_sql_reads_no_file_changes_no_setting_and_says_nothing_but_true(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert not answer_of(ROWS, sql(text.format(file=FILES[0])))
    assert not Path(hostile.LEFT).exists()
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "select count(*) > 0 from range(10000000000000) r(i) where i % 7 = 9",
        "select sum(length(repeat('x', 100000000) || i)) > 0 from range(1000) r(i)",
    ],
)
def test_sql_has_its_limits(text: str) -> None:
    assert not answer_of(ROWS, sql(text, seconds=1))


@pytest.mark.slow
def test_on_trial_it_is_said_what_is_wrong_with_the_question_and_nothing_of_rows() -> None:
    empty = ROWS.slice(0, 0)
    assert tried(empty, sql("select corr(days, age) > 0.2 from stays"))[0] == ""
    assert "height" in tried(empty, sql("select avg(height) > 3 from stays"))[0]
    assert "1 columns (INTEGER)" in tried(empty, sql("select 1"))[0]
    assert "InvalidInputException" in tried(empty, sql("select error('x')"))[0]
    assert tried(empty, of(hostile.raises))[0] == ""
    missing = {**of(hostile.longer), "function": "shorter"}
    assert "AttributeError" in tried(empty, missing)[0]
    assert inside.YES not in (inside.NO, inside.UNHIDDEN)
