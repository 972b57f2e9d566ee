"""A byte of a text file is read the same wherever it stands: pieces of every size, and files of many pieces."""

from __future__ import annotations

import gzip
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from duotone import ask, prepare
from duotone.tables.engines import open_source, text_files
from hostile import csvs
from support.reading import P

LONGEST = 14
"""The longest line in these tests."""
HOSTILE = [
    b"a,1", b"", b'"b,c",2', b'"d', b"e,\x00", b"\x00", b"\xef\xbb\xbff,3", b"g,\xff", b"\xc3\xa9,\xe2\x82\xac", b"h,\xe2\x82",
    b"i," + b"x" * (LONGEST - 2), b"j," + b"x" * (LONGEST - 1), b"y" * 40, b'"k""",""', b"\x01,\x02", b"l,1,2,3", b",", b"m",
]  # fmt: skip
OBJECTS = [
    b'{"k":"a"}', b"", b'\xef\xbb\xbf{"k":1}', b'{"k":"\xff"}', b'{"k":"\xc3\xa9"}', b'{"k":"\x00"}', b"{", b'{"k":"123456"}',
    b'{"k":"1234567"}', b"[" * 40, b'{"x":2}', b"\x01", b'{"k":"}"}',
]  # fmt: skip
ENDS = [b"\n", b"\r", b"\r\n", b"\n\r", b"\r\r\n"]


def lines_of(data: bytes) -> list[bytes]:
    """The lines that count, by docs/reading.md."""
    return [line for line in re.split(rb"[\r\n]", data) if 0 < len(line) <= LONGEST and _is_text(line)]


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def rows_of_csv(data: bytes) -> list[tuple[str | None, ...]]:
    """The first two fields of every line after the first, by the model of the hostile tests."""
    rows = [csvs.fields(line) or [] for line in lines_of(re.split(rb"[\r\n]", data, maxsplit=1)[1])]
    return [tuple(None if field is None else field.decode() for field in (*row, None, None)[:2]) for row in rows]


def rows_of_json(data: bytes) -> list[tuple[str | None, ...]]:
    """The two keys of every object, by Python's own json."""
    rows = []
    for line in lines_of(data):
        try:
            value = json.loads(line.decode("utf-8-sig"))
        except ValueError:
            continue
        if isinstance(value, dict):
            rows.append(tuple(value[key] and str(value[key]) if key in value else None for key in ("k", "x")))
    return rows


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".jsonl", ".jsonl.gz"])
def test_a_cut_at_any_byte_changes_nothing(ending: str, end: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are read in pieces of 1 byte, 2 bytes, … up to the whole: every byte is the first of a piece once."""
    monkeypatch.setattr(text_files, "LONGEST_LINE", LONGEST)
    of_csv = ending.startswith(".csv")
    data = b"\xef\xbb\xbfk,x" + end + end.join(HOSTILE) if of_csv else end.join(OBJECTS)
    expected = rows_of_csv(data) if of_csv else rows_of_json(data)
    assert len(expected) >= 5
    path = tmp_path / f"t{ending}"
    path.write_bytes(gzip.compress(data) if ending.endswith(".gz") else data)
    with open_source(path, json_columns=None if of_csv else ["k", "x"]) as source:
        read = source.only(["k", "x"])
        for piece in range(1, len(data) + 2, 1 if end == b"\r\n" and ending == ".csv" else 5):
            monkeypatch.setattr(text_files, "PIECE", piece)
            assert [(row["k"], row["x"]) for row in read.run(read.table).to_pylist()] == expected, piece


def test_every_short_text_in_pieces_of_every_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All texts of four bytes of these, after a header with each line end: what is read is what the model reads."""
    monkeypatch.setattr(text_files, "LONGEST_LINE", 3)
    for piece in (1, 2, 3, 2**22):
        monkeypatch.setattr(text_files, "PIECE", piece)
        for end, tail in itertools.product((b"\n", b"\r", b"\r\n"), itertools.product(b'\r\n"x\xff', repeat=4)):
            data = b"k" + end + bytes(tail)
            path = tmp_path / "t.csv"
            path.write_bytes(data)
            kept = [line for line in re.split(rb"[\r\n]", data)[1:] if 0 < len(line) <= 3]
            batches = text_files.Lines(path, b"k")._batches()
            lines = [line.as_py() for batch in batches for line in batch["line"] if len(line.as_py()) <= 3]
            assert lines == kept, (data, piece)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".jsonl"])
def test_a_large_file_has_the_rows_that_stand_in_it(ending: str, tmp_path: Path) -> None:
    """Lines of 40 bytes of which carriage return and line feed stand on two sides of every multiple of 40: of 32,000,000 and
    64,000,000 bytes, where DuckDB's own reader cuts, and of every piece; and the neighbours, with a byte more and less."""
    many, path = 1_700_000, tmp_path / f"t{ending}"
    declared: Any = {} if ending.startswith(".csv") else {"json_columns": ["k"]}
    for shift in (31, 32, 33):
        if declared:
            first, line = b'{"k":"' + b"y" * shift + b'"}', b'{"k":"' + b"2" * 30 + b'"}'
        else:
            first, line = b"k,x\r\n1," + b"y" * shift, b"1," + b"2" * 36
        data = first + b"\r\n" + (line + b"\r\n") * many
        path.write_bytes(gzip.compress(data, 1) if ending.endswith(".gz") else data)
        with prepare(path, f"count(*) > {many}", P, **declared) as asked:
            assert asked._levels()[2].tolist() == [0], shift
    assert ask(path, f"count(*) > {many - 100}", P, **declared)
