"""CSV files: hostile lines and fields, read by a model of docs/reading.md, and asked as anything that a field can be."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

from duotone.tables.engines import open_source
from hostile.asked import Refused, Tally, levels, wrong_levels
from hostile.columns import BROKEN, TEXTS
from hostile.pairs import BOOLEANS, DATES, EIGHTHS, FLOATS, NARROW, NUMBERS, ONE_ANSWER, WIDE
from hostile.pairs import TEXTS as WORDS
from hostile.questions import Constant, Question, Row, every
from support.oracles import plain_duckdb

LONGEST = 1_000_000
FIELDS = [t for t in TEXTS if not set(b"\n\r") & set(t)]
QUIET = [b"3", b"5", b"a", b"2.5", b"2000-03-01", b"true"]
LINES = [
    b"", b",", b",,,,,,", b'"', b'""', b'"a', b'a"', b'"a"b', b'"a""b"', b'"a,b"', b'"a,b', b'a,"b', b'"a","b","c","d","e"',
    b"'a,b'", b"\t", b" , , ",
    b"#a", b"--", b"\\", b'\\"a\\"', b"a;b;c", b"\x00", b"a\x00b,c", b"\x01", b"\x02", b"\x02,1,1", b"a,\x01", b"a\x01b,2",
    b"a,3\x01\xff", b"\xff\x01a", b"\xef\xbb\xbf1,1,1",
    *(b"1,1," + t for t in BROKEN),
    *(t + b",1,1" for t in BROKEN), b"7,5,x" + b"," * 500, b"7," + b"9" * 400, b'7,"' + b'""' * 300 + b'"', b"\x1f",
    "語,語".encode(), b"7,8,9\r", b"1e1000,1,1",
    b"7,1," + b"x" * (LONGEST - 4), b"7,1," + b"x" * (LONGEST - 3), b"7,1," + b"x" * 3_000_000,
]  # fmt: skip
NAMES = ("gid", "side", "x")


def written(field: bytes) -> bytes:
    """A field as a careful writer would have it."""
    return b'"' + field.replace(b'"', b'""') + b'"' if set(b',"') & set(field) else field


def fields(line: bytes) -> list[bytes | None] | None:
    """The fields of a line; None for a line that is passed over."""
    if len(line) > LONGEST:
        return None
    try:
        line.decode()
    except UnicodeDecodeError:
        return None
    if line == b"":
        return None
    found: list[bytes | None] = []
    at = 0
    while at <= len(line):
        quoted = re.compile(rb'"(?:[^"]|"")*"(?=,|$)', re.DOTALL).match(line, at)
        end = quoted.end() if quoted else min(i for i in (line.find(b",", at), len(line)) if i >= 0)
        field = line[at + 1 : end - 1].replace(b'""', b'"') if quoted else line[at:end]
        found.append(field or None)
        at = end + 1
    return found


@dataclass(frozen=True)
class As:
    """What a field may be read as, by the expression that the rule names, of that field alone."""

    kind: str
    constants: Sequence[Constant]

    def read(self, field: bytes | None) -> object:
        if field is None or self.kind == "text":
            return field
        if self.kind == "float" and field.lower() in (b"true", b"false"):
            return float(field.lower() == b"true")
        return self._value(_cast({"float": "double", "date": "date", "boolean": "boolean"}[self.kind], field.decode()))

    def _value(self, text: str | None) -> object:
        if text is None:
            return None
        if self.kind == "boolean":
            return text == "true"
        if self.kind == "float":
            return None if text == "nan" else float(text) + 0.0
        import datetime

        return (
            (datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days
            if re.fullmatch(r"\d{4}-\d\d-\d\d", text)
            else None
        )


@cache
def _cast(kind: str, text: str) -> str | None:
    with plain_duckdb() as alone:
        value = alone.execute(f"select try_cast(? as {kind})::varchar", [text]).fetchone()
    assert value is not None
    return None if value[0] is None else str(value[0])


READINGS = [
    As("text", WORDS),
    As("float", [*(Constant(c.sql, float(c.value)) for c in NUMBERS), *FLOATS]),
    As("date", DATES),
    As("boolean", BOOLEANS),
]


def pairs(seed: int, folder: Path, each: int, groups: int = 40) -> Tally:
    """Files of lines in groups, and with one hostile line more in each; every reading asked some questions."""
    draw, tally = random.Random(seed), Tally()
    hostile = [line if draw.random() < 0.4 else None for line in draw.choices(LINES[:-3] if seed % 8 else LINES, k=groups)]
    base = [[_line(g, draw) for _ in range(draw.randrange(5))] for g in range(groups)]
    more = [[*rows, _line(g, draw) if line is None else line] for g, (rows, line) in enumerate(zip(base, hostile, strict=True))]
    tables = [(folder / f"{seed}-{i}.csv", [line for rows in world for line in rows]) for i, world in enumerate((base, more))]
    for path, lines in tables:
        path.write_bytes(b"gid,side,x\n" + draw.choice((b"\n", b"\r\n")).join(lines) + b"\n" * draw.randrange(2))
    with open_source(tables[0][0]) as first, open_source(tables[1][0]) as second:
        tally.tables += 2
        where = f"csv, seed {seed}"
        if dict(first.columns) != dict(second.columns) or set(first.columns.values()) != {"untyped"}:
            tally.wrong.append(f"{where}: the columns are {dict(first.columns)} and {dict(second.columns)}")
        for reading in READINGS:
            known: dict[bytes | None, object] = {}
            worlds = [_groups(lines, reading, known) for _, lines in tables]
            for question in _asked(reading, draw, each):
                found = [levels(source, question, "gid") for source in (first, second)]
                if isinstance(found[0], Refused) and found[0] == found[1] and ONE_ANSWER.search(found[0]):
                    tally.refused += 1
                    continue
                for said, world in zip(found, worlds, strict=True):
                    wrong = [said] if isinstance(said, str) else wrong_levels(said, world, question, [])
                    tally.wrong += [f"{where}, as {reading.kind}, {question.text}: {text}" for text in wrong]
                before, after = found
                if not isinstance(before, str) and not isinstance(after, str):
                    far = [g for g in before.keys() & after.keys() if abs(before[g] - after[g]) > _added(worlds, g)]
                    tally.wrong += [f"{where}, {question.text}: levels of group {g} are {before[g]}, {after[g]}" for g in far]
                tally.pairs += groups
    for path, _ in tables:
        path.unlink()
    return tally


def _added(worlds: Sequence[dict[str, list[Row]]], group: str) -> int:
    """Lines that were hostile may have got into another group than theirs."""
    return abs(len(worlds[1].get(group, [])) - len(worlds[0].get(group, [])))


def _line(group: int, draw: random.Random) -> bytes:
    return b",".join((b"%d" % group, draw.choice((b"true", b"false")), written(draw.choice(draw.choice((QUIET, FIELDS))))))


def _groups(lines: Sequence[bytes], reading: As, known: dict[bytes | None, object]) -> dict[str, list[Row]]:
    world: dict[str, list[Row]] = {}
    for line in re.split(rb"\r\n|\n|\r", b"\n".join(lines)):
        row = fields(line)
        gid, side, x = ([*row, None, None, None] if row is not None else [None, None, None])[:3]
        if row is None or gid is None or len(gid.decode()) > 1024:
            continue
        if x not in known:
            known[x] = reading.read(x)
        sides = {b"true": True, b"false": False}
        world.setdefault(gid.decode(), []).append(Row(known[x], sides.get(side or b""), len(world)))  # type: ignore[arg-type]
    return world


def _asked(reading: As, draw: random.Random, each: int) -> list[Question]:
    bounds = [(b, [Fraction(5), Fraction(8)]) for b in (NARROW, WIDE, EIGHTHS)] if reading.kind == "float" else []
    found = every("x", reading.kind, reading.constants, bounds, draw, 12 * each)
    plain = [
        q
        for q in found
        if "side" not in q.text and not LIKE_A_NUMBER.search(q.text) and (reading.kind == "text" or not NOT_SO.search(q.text))
    ]
    return draw.sample(plain, min(each, len(plain)))


NOT_SO = re.compile(r"null|count\(x\)|where x\)|where not x\)|_(or|and)\(x\)|avg\(x\) (>|<=|>=) (1/3|1/2|3/5)|\(not x\)")
"""What does not say that a field is anything but text."""
LIKE_A_NUMBER = re.compile(r"[<>]=? '[0-9]+'")
"""An order of text by a constant that looks like a number is refused."""
