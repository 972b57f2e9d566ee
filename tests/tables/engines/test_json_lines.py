"""JSON lines: what a line is read as depends on nothing but itself, held against Python's own json."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from duotone import DuotoneError, ask, open_ledger, prepare, select_groups
from duotone.privacy.approx_dp import ApproxDP
from duotone.tables.engines import open_source
from duotone.tables.engines.text_files import LONGEST_LINE
from support.reading import ALL, P
from support.running import EXHAUSTIVE, run

Row = tuple[str | None, str | None]
KEYS = ["k", "x"]
PLAIN = [
    b'{"k": "a", "x": 1}', b'{"x": 2.5, "k": "b"}', b' {"k":"c"} ', b'{"k": null, "x": null}', b"{}", b'{"k": "", "x": ""}',
    b'{"k": true, "x": false}', b'{"k": "\\u00e9\\u0000\\ud83d\\ude00", "x": "\xc3\xa9"}', b'{"K": "upper", "x": -0}',
    b'{"k": "1", "x": 12345678901234567890123}', b'{"k": 1, "k": 2}', b'{"\\u006b": "escaped"}', b'{"k": "a\\nb", "x": 1e400}',
    b'{"k": {"k": 1}, "x": [1, "a"]}', b'{"y": {"k": 5}, "x": 5e-324}', b'{"k": "' + b"y" * 1000 + b'"}',
    b'\xef\xbb\xbf{"k":"m"}',
    b'{"k": "\\"", "x": "a\\\\b"}', b'{"k": "1,2", "x": "\'"}', b'{"k": NaN, "x": Infinity}',
]  # fmt: skip
"""Lines that are objects."""
NONE = [
    b"", b" ", b"{", b"}", b"[]", b"5", b'"k"', b"null", b'[{"k": 1}]', b'{"k": 1} x', b'{"k": 1}{"k": 2}', b"{k: 1}",
    b"{'k': 1}",
    b'{"k": 01}', b'{"k": +1}', b'{"k": "\t"}', b'{"k": "\\x"}', b'{"k": "\\ud800"}', b"/**/{}", b'{"k": "\xff"}', b"\xff",
    b"\x02",
    b'{"k": "a\x01"}', b'{"k": "\x01\x01\x01"}', b"\x01", b"\x00", b'{"k": \x00}', b"[" * 5000, b"k,x", b"#", b"nan",
    b'{"k": "' + b"y" * LONGEST_LINE + b'"}',
]  # fmt: skip
"""Lines that are none, and are passed over."""


def written(value: Any) -> str | None:
    """A value as a column's text, by docs/reading.md."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"))


def row(line: bytes) -> Row:
    """An object as Python reads it; of a key that is there twice, the first counts."""
    pairs = json.loads(line.decode("utf-8-sig"), object_pairs_hook=lambda pairs: dict(reversed(pairs)), parse_float=float)
    return written(pairs.get("k")), written(pairs.get("x"))


@contextmanager
def reader(file: Path) -> Iterator[Callable[[bytes], list[Row]]]:
    """What writes a file, and reads its rows; the file is opened once, and looked at anew each time."""

    def rows(data: bytes) -> list[Row]:
        file.write_bytes(gzip.compress(data, 1) if file.suffix == ".gz" else data)
        return [tuple(row[key] for key in KEYS) for row in read.run(read.table).to_pylist()]

    file.write_bytes(gzip.compress(b"") if file.suffix == ".gz" else b"")
    with open_source(file, json_columns=KEYS) as source:
        read = source.only(KEYS)
        yield rows


EXPECTED = {line: row(line) for line in PLAIN} | {
    b'{"k": "a\\nb", "x": 1e400}': ("a\nb", "1e400"),
    b'{"K": "upper", "x": -0}': (None, "0"),
}
"""A number beyond the floats is as it stands; there is no −0 among whole numbers."""


@pytest.mark.parametrize("ending", [".jsonl", ".ndjson.gz"])
def test_a_line_is_read_as_python_reads_it(ending: str, tmp_path: Path) -> None:
    """Alone, and among all others with every line end."""
    with reader(tmp_path / f"t{ending}") as rows:
        for line, own in EXPECTED.items():
            assert rows(line) == [own], line
        for line in NONE:
            assert rows(line) == [], line[:40]
        lines = random.Random(3).sample([*PLAIN, *NONE] * 5, 5 * len([*PLAIN, *NONE]))
        for end, last in itertools.product((b"\n", b"\r", b"\r\n"), (True, False)):
            assert rows(end.join(lines) + end * last) == [EXPECTED[line] for line in lines if line in EXPECTED]
        assert rows(b"") == []


def test_no_line_changes_how_another_is_read(tmp_path: Path) -> None:
    """Every file of two hostile lines, and some of three, has the rows of these lines."""
    hostile = [*PLAIN, *NONE] if EXHAUSTIVE else [PLAIN[i] for i in (0, 6, 13, 16)] + [NONE[i] for i in (0, 2, 19, 21, 22, -1)]
    threes = random.Random(5).sample(list(itertools.product(hostile, repeat=3)), 5_000 if EXHAUSTIVE else 20)
    with reader(tmp_path / "t.jsonl") as rows:
        for lines in [*itertools.product(hostile, repeat=2), *threes]:
            assert rows(b"\r\n".join(lines)) == [EXPECTED[line] for line in lines if line in EXPECTED], lines


@pytest.mark.slow
def test_levels_are_those_of_the_rows(tmp_path: Path) -> None:
    file, draw = tmp_path / "t.jsonl", random.Random(7)
    people = [(draw.randrange(40), draw.choice([0, 2, 5, 9.5, None]), draw.random() < 0.5) for _ in range(200)]
    lines = [
        json.dumps({"who": who, "x": x, "sick": sick} if x is not None else {"who": who, "sick": sick})
        for who, x, sick in people
    ]
    file.write_text("\n".join(lines))
    declared: Any = {"json_columns": ["who", "x", "sick"], "types": {"x": "number", "sick": "yes/no"}}
    numbers = [x for _, x, _ in people if x is not None]
    sick = sum(sick for *_, sick in people)
    some = len({who for who, x, _ in people if x is not None and x > 4})
    cases: list[tuple[str, Any, int]] = [
        ("count(*) > 190", {}, 9),
        ("count(x) > 10", {}, len(numbers) - 11),
        ("count(*) filter (where sick = true) > 90", {}, sick - 91),
        ("select count(*) > 60 from t where x > 4", {}, sum(x > 4 for x in numbers) - 61),
        ("count(distinct who) filter (where x > 4) > 30", {"unit": "who"}, some - 31),
    ]
    for question, options, level in cases:
        with prepare(file, question, P, **declared, **options) as asked:
            reach = asked.terms.reach if asked.terms.count is None else abs(level)  # of one count it is known however far
            assert asked._levels()[2].item() == max(min(level, reach), -reach - 1), question
    assert ask(file, "avg(x) > 1", P, bounds={"x": (0, 10)}, **declared)
    assert select_groups(file, ["sick"], ALL, **declared).answers.keys() == {("true",), ("false",)}


NAMES = ["a b", 'a"b', "it's", "é\U0001f600", "a.b", "*", "%s", "{x}", "a\\b", "?", "a,b", "a/b", "a~b", "~1", "0", "-1", "$",
         "$.a", "#", "[0]", "**", "/", "fields", "line", "one"]  # fmt: skip


def test_a_key_may_have_any_name(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text("\n".join(json.dumps({name: f"{i}{at}" for i, name in enumerate(NAMES)}) for at in "xy"))
    with open_source(file, json_columns=NAMES) as source:
        read = source.only(NAMES)
        assert read.run(read.table).to_pydict() == {name: [f"{i}x", f"{i}y"] for i, name in enumerate(NAMES)}


def test_what_is_declared_wrongly_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text('{"a": 1}\n')
    for columns, says in (
        (None, "name them"), ("a", "of names"), ([], "at least one"), (["a", "a"], "each once"),
        ([""], "of names"), (["a\0"], "at least one"),
        ([1], "of names"), (["a", "A"], "the same name but for upper and lower case"),
    ):  # fmt: skip
        with pytest.raises(DuotoneError, match=says):
            open_source(file, json_columns=columns)
    with pytest.raises(DuotoneError, match="only a CSV file has a separator"):
        open_source(file, json_columns=["a"], separator=";")
    with pytest.raises(DuotoneError, match="the table has no column b"):
        ask(file, "count(*) > 1", P, json_columns=["a"], unit="b")
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(DuotoneError, match="only JSON lines need their columns named"):
        open_source(tmp_path / "t.csv", json_columns=["a"])
    with open_source(file, json_columns=["a"]) as source, pytest.raises(DuotoneError, match="is open already"):
        prepare(source, "count(*) > 1", P, json_columns=["a"])
    (tmp_path / "t.jsonl.gz").write_text('{"a": 1}\n')
    with pytest.raises(DuotoneError, match="is not a gzip file"):
        open_source(tmp_path / "t.jsonl.gz", json_columns=["a"])


def test_the_command_takes_columns(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, ledger = tmp_path / "visits.jsonl", tmp_path / "a.ledger"
    file.write_text('{"who, full": "a", "cost": 5, "day": "31/12/2025"}\n' * 90)
    flags: tuple[str, ...] = (
        "--json-columns",
        '"who, full",cost,day',
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--types",
        "cost=number",
    )
    flags = (*flags, "--types", "day=%d/%m/%Y")
    with open_ledger(ledger) as own:
        own.register("visits.jsonl", ApproxDP(9, "1/2"), unit="row", neighbours="add-remove", version="1")
    question = "select count(*) filter (where day = '2025-12-31' and cost = 5) > 30 from visits"
    assert run(capsys, "ask", file, question, *flags, "--ledger", ledger)[1].startswith("yes")
    with open_ledger(ledger) as own:
        (entry,) = (body for body in own.entries() if body["kind"] == "charge")
    assert re.search(r'WITH \{"types": \{"cost": "number", "day": "%d/%m/%Y"\}\} OF visits.jsonl$', entry["question"])
    other = (*flags[:-1], "day=%d/%m/%y")
    assert run(capsys, "ask", file, question, *other, "--ledger", ledger)[1].startswith("no")  # another reading, asked anew
    assert "name them" in run(capsys, "ask", file, question, *flags[2:])[2]
    for wrong in ("day", "=%d", "day="):
        assert "are COL=TYPE" in run(capsys, "ask", file, question, *flags[:-1], wrong)[2]
    assert "are COL=TYPE" in run(capsys, "ask", file, question, *flags, "--types", "day=%d/%m/%Y")[2]


def test_keys_that_differ_by_case_are_not_one_question(tmp_path: Path) -> None:
    """A column is found whatever its case, a key is not: what was recorded of one key is no answer about the other."""
    file = tmp_path / "t.jsonl"
    file.write_text('{"x": 1, "X": 9}\n' * 50)
    with open_ledger(tmp_path / "l") as ledger:
        ledger.register("t.jsonl", ApproxDP(500, "1e-4"), unit="row", neighbours="add-remove", version="1")
        for columns, answer in ((["x"], False), (["X"], True), (["x"], False)):
            question = "count(*) filter (where x::double > 5) > 20"
            with prepare(file, question, ApproxDP(50, "1e-6"), json_columns=columns) as asked:
                assert asked.charge(ledger).answers == {(): answer}
        assert ledger.statement("t.jsonl").state.charges == 2
