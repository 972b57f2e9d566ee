"""CSV files: hostile lines and fields, read by a model of docs/reading.md, and asked as every type that may be declared."""

from __future__ import annotations

import datetime
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from duotone.tables.engines import open_source
from hostile.asked import Refused, Tally, levels, wrong_levels
from hostile.columns import BROKEN, TEXTS
from hostile.numerals import by_hand, decimal_by_hand, time_by_hand
from hostile.pairs import BOOLEANS, DATES, EIGHTHS, FLOATS, NARROW, NUMBERS, ONE_ANSWER, WIDE
from hostile.pairs import TEXTS as WORDS
from hostile.questions import Constant, Question, Row, every

LONGEST = 1_000_000
LONGEST_TEXT = 10_000
NUMERALS = [b"$5", b"1,234.50", b"1.234,50 \xe2\x82\xac", b"(3)", b"1,23", b"7 %", b"-$.5", b"5.", b"1 234", b"$", b"%"]
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


YES_NO = {
    **dict.fromkeys((b"true", b"t", b"yes", b"y", b"1"), True),
    **dict.fromkeys((b"false", b"f", b"no", b"n", b"0"), False),
}


@dataclass(frozen=True)
class As:
    """A declared type, the kind of its values, and constants that these are compared with."""

    type: str
    kind: str
    constants: Sequence[Constant]

    def read(self, field: bytes | None) -> object:
        """What the rule says of that field alone."""
        if field is None or self.type == "text":
            return field
        text = field.decode().strip(" ")
        if len(field.decode()) > LONGEST_TEXT:
            return None
        if self.type == "yes/no":
            return YES_NO.get(text.lower().encode())
        if self.type == "number":
            return decimal_by_hand(text)
        if self.type == "date":
            moment = time_by_hand(text)
            return None if moment is None else (moment.date() - datetime.date(1970, 1, 1)).days
        return by_hand(self.type, text)


_FLOATS = [*(Constant(c.sql, float(c.value)) for c in NUMBERS), *FLOATS]
READINGS = [
    As("text", "text", WORDS),
    As("number", "float", _FLOATS),
    As("money", "float", _FLOATS),
    As("percent", "float", _FLOATS),
    As("1.234,50 €", "float", _FLOATS),
    As("date", "date", DATES),
    As("yes/no", "boolean", BOOLEANS),
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
    tally.tables += 2
    where = f"csv, seed {seed}"
    for reading in READINGS:
        types = {"side": "yes/no", "x": reading.type}
        with open_source(tables[0][0], types=types) as first, open_source(tables[1][0], types=types) as second:
            if dict(first.columns) != dict(second.columns) or first.columns["x"] != reading.kind:
                tally.wrong.append(f"{where}: the columns are {dict(first.columns)} and {dict(second.columns)}")
            known: dict[bytes | None, object] = {}
            worlds = [_groups(lines, reading, known) for _, lines in tables]
            for question in _asked(reading, draw, each):
                found = [levels(source, question, "gid") for source in (first, second)]
                if isinstance(found[0], Refused) and found[0] == found[1] and ONE_ANSWER.search(found[0]):
                    tally.refused += 1
                    continue
                for said, world in zip(found, worlds, strict=True):
                    wrong = [said] if isinstance(said, str) else wrong_levels(said, world, question, [])
                    tally.wrong += [f"{where}, as {reading.type}, {question.text}: {text}" for text in wrong]
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
    return b",".join(
        (b"%d" % group, draw.choice((b"true", b"false")), written(draw.choice(draw.choice((QUIET, NUMERALS, FIELDS)))))
    )


def _groups(lines: Sequence[bytes], reading: As, known: dict[bytes | None, object]) -> dict[str, list[Row]]:
    world: dict[str, list[Row]] = {}
    for line in re.split(rb"\r\n|\n|\r", b"\n".join(lines)):
        row = fields(line)
        gid, side, x = ([*row, None, None, None] if row is not None else [None, None, None])[:3]
        if row is None or gid is None or len(gid.decode()) > 1024:
            continue
        if x not in known:
            known[x] = reading.read(x)
        on = YES_NO.get((side or b"").strip(b" ").lower())
        world.setdefault(gid.decode(), []).append(Row(known[x], on, len(world)))  # type: ignore[arg-type]
    return world


def _asked(reading: As, draw: random.Random, each: int) -> list[Question]:
    bounds = [(b, [Fraction(5), Fraction(8)]) for b in (NARROW, WIDE, EIGHTHS)] if reading.kind == "float" else []
    found = every("x", reading.kind, reading.constants, bounds, draw, 12 * each)
    return draw.sample(found, min(each, len(found)))
