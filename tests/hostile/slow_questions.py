"""Questions that are made to be slow on one row: `python tests/hostile/slow_questions.py PAIRS [SEED] [SECONDS]`.

Each is drawn from a grammar of all that may be computed from texts, numbers and dates, and asked about two tables that differ
in one row, which is made to take long: as long as may be, near to the question's own patterns. Both must be refused alike, or
have the same declared seconds; and what the engine takes for such rows, in processor time, must be no more than their part of
the declared work. Since one row takes less than can be measured, it is measured on as many rows of its kind as take some
milliseconds, less what the engine takes for no rows. Prints the largest ratios; fails where one is above 1 three times.
"""

from __future__ import annotations

import datetime
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from duotone import ApproxDP, DuotoneError
from duotone.desk.callers import Refused
from duotone.desk.office import Limits, Listed
from duotone.desk.work import machine, require_little, seconds_of
from duotone.model.dataset import Dataset
from duotone.resources import EngineLimits, limited
from duotone.tables import check_question
from duotone.tables.engines.engine import sqlglot_of

LIMITS = EngineLimits(2**31, 1, 2**32)
"""One thread, so that the time of the process is the engine's."""
BUDGET = ApproxDP(1, "1e-6")
ROWS = 1000
"""Of the dataset, for which a question is refused or has declared seconds."""
LEAST, MOST, DISTINCT = 0.02, 20_000, 60
"""Seconds that the rows that are measured may take at least, by their bound; how many there are at most, and different
ones among them."""
TRIES = 3
KINDS = {
    "p": pa.int64(), "n": pa.int64(), "f": pa.float64(), "d": pa.date32(), "at": pa.timestamp("us"), "s": pa.string(),
    "s2": pa.string(), "k": pa.string(),
}  # fmt: skip
LETTERS = "ab e%_-.,1209é語🙂İßŉΐǆ \t"
WORDS = ["a", "ab", "e", "aab", "-", ".", " ", "é", "語", "🙂", "12", "e" * 9, "ab" * 6 + "c", "a" * 40, "%", "ß"]
PATTERNS = [
    "e[a-z ]{{{}}}q", "(a|b)*a(a|b){{{}}}x", "(a|ab|aab)*c", ".*a.*b.*c", "[^a]{{{}}}$", "(?i)[a-z]{{{}}}q", "^(a|b|ab)*$",
    "[à-ü]{{2}}q", "(a*)*b", "(.a|b.){{{}}}z", "a.{{{}}}b", r"\d{{{}}}x", r"(\w+\s?)*$", "(x+x+)+y", r"\bab\b",
    "(?s)^.*🙂.{{{}}}$",
    r"\p{{L}}{{2}}q", "語|é|(a🙂)*b", "(?P<n>e[a-z ]{{{}}}q)", "(?P<n>(?P<m>[ab]{{{}}}x)+)", "(?i:(?P<n>[a-z]{{{}}})q)",
]  # fmt: skip
DATE_FORMATS = ["%Y-%m", "%d.%m.%Y %H:%M:%S, %j%%", "%A %B", "%A %A %A %j"]
UNITS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"]

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Asked:
    """A question, what is declared with it, and the most characters that are read of a text."""

    text: str
    longest: int
    options: Mapping[str, Any] = field(default_factory=dict)


class Grammar:
    """Draws questions that may be slow on some rows."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.texts = ["s", "s2", "s", "k"]

    def one(self, *choices: Callable[[], str] | str) -> str:
        chosen = self.draw.choice(choices)
        return chosen if isinstance(chosen, str) else chosen()

    def word(self) -> str:
        return self.draw.choice(WORDS) if self.draw.random() < 0.8 else "".join(self.draw.choices(LETTERS[:12], k=12))

    def quoted(self) -> str:
        return "'" + self.word().replace("'", "''") + "'"

    def many(self, most: int = 60) -> int:
        """Mostly small."""
        return int(most ** self.draw.random())

    def text(self, depth: int) -> str:
        if depth <= 0:
            return self.one(*self.texts)

        def inner() -> str:
            return self.text(depth - 1)

        def other() -> str:
            return self.text(self.draw.randrange(depth))

        return self.one(
            lambda: f"lower({inner()})",
            lambda: f"upper({inner()})",
            lambda: f"{self.one('trim', 'ltrim', 'rtrim')}({inner()})",
            lambda: f"substr({inner()}, {self.many(1200)})",
            lambda: f"substr({inner()}, {self.many(1200)}, {self.many(1200)})",
            lambda: f"{self.one('left', 'right')}({inner()}, {self.many(1200)})",
            lambda: f"({' || '.join([inner(), other(), *[self.quoted()] * self.draw.randrange(2)])})",
            lambda: f"concat({', '.join([inner(), *[other() for _ in range(self.draw.randrange(1, 4))]])})",
            lambda: f"concat_ws({self.quoted()}, {inner()}, {other()})",
            lambda: f"replace({inner()}, {self.quoted()}, {self.one(self.quoted, chr(39) * 2)})",
            lambda: f"replace(replace({inner()}, 'a', 'bb'), 'b', {self.quoted()})",
            lambda: f"split_part({inner()}, {self.quoted()}, {self.many(1000)})",
            lambda: f"coalesce({inner()}, {other()})",
            lambda: f"nullif({inner()}, {other()})",
            lambda: f"{self.one('greatest', 'least')}({inner()}, {other()})",
            lambda: f"case when {self.condition(depth - 1)} then {inner()} else {other()} end",
            lambda: f"concat({inner()}, n, n::varchar)",
            lambda: f"strftime({self.date(depth - 1)}, '{self.draw.choice(DATE_FORMATS)}')",
        )

    def number(self, depth: int) -> str:
        if depth <= 0:
            return self.one("n", "f", "length(s)")

        def inner() -> str:
            return self.number(depth - 1)

        return self.one(
            lambda: f"({self.text(depth - 1)})::{self.one('double', 'int', 'bigint')}",
            lambda: f"length({self.text(depth - 1)})",
            lambda: f"strpos({self.text(depth - 1)}, {self.quoted()})",
            lambda: f"({inner()} {self.one('+', '-', '*', '/')} {inner()})",
            lambda: f"{self.one('abs', 'floor', 'ceil', 'sqrt', 'exp', 'ln', 'log10', 'sign', 'trunc')}({inner()})",
            lambda: f"round({inner()}, {self.draw.randrange(-3, 4)})",
            lambda: f"{self.one('year', 'month', 'week', 'dayofyear', 'isodow', 'quarter')}({self.date(depth - 1)})",
            lambda: f"date_diff('{self.draw.choice(UNITS)}', {self.date(depth - 1)}, {self.date(0)})",
            lambda: f"(n {self.one('%', '//')} {self.draw.randrange(1, 99)})",
            lambda: f"case when {self.condition(depth - 1)} then {inner()} else {inner()} end",
            lambda: f"coalesce({inner()}, {inner()}, 0)",
        )

    def date(self, depth: int) -> str:
        if depth <= 0:
            return self.one("d", "at")

        def inner() -> str:
            return self.date(depth - 1)

        return self.one(
            lambda: f"({self.text(depth - 1)})::date",
            lambda: f"date_trunc('{self.draw.choice(UNITS[:5])}', {inner()})",
            lambda: f"({inner()} {self.one('+', '-')} interval '{self.many(900)} {self.draw.choice(UNITS[:5])}s')",
            lambda: f"last_day({inner()})",
            lambda: f"greatest(({inner()})::date, ({inner()})::date)",
        )

    def pattern(self) -> str:
        made = self.draw.choice(PATTERNS).format(self.many(400)).replace("'", "''")
        return made if self.draw.random() < 0.8 else f"{made}|{self.draw.choice(PATTERNS).format(self.many(50))}"

    def like(self) -> str:
        parts = [self.draw.choice(["a", "ab", "e", "_", "a_", "語", "🙂_", "aaaab", "b"]) for _ in range(self.many(4))]
        return self.one("%", "") + "%".join(parts) + self.one("%", "")

    def condition(self, depth: int) -> str:

        def text() -> str:
            return self.text(max(0, depth - 1))

        choices: list[Callable[[], str]] = [
            lambda: f"{self.one('regexp_matches', 'regexp_matches', 'regexp_full_match')}({text()}, '{self.pattern()}')",
            lambda: f"{text()} {self.one('like', 'ilike', 'not like')} '{self.like()}'",
            lambda: f"{self.one('contains', 'starts_with', 'ends_with')}({text()}, {self.quoted()})",
            lambda: f"{text()} {self.one('=', '<>', '<', '>=')} {self.one(self.quoted, text)}",
            lambda: f"{text()} in ({', '.join(self.quoted() for _ in range(self.many(9)))})",
            lambda: f"{self.number(depth)} {self.one('>', '<', '=')} {self.draw.randrange(-2, 99)}",
            lambda: f"{self.date(depth)} {self.one('>', '<', '=')} date '2020-02-29'",
            lambda: f"{text()} is null",
        ]
        if depth > 1:
            choices += [
                lambda: f"({self.condition(depth - 1)} {self.one('and', 'or')} {self.condition(depth - 1)})",
                lambda: f"(not {self.condition(depth - 1)})",
                lambda: f"coalesce({self.condition(depth - 1)}, {self.one('true', 'false')})",
            ]
        return self.one(*choices)

    def question(self) -> Asked:
        depth, longest = self.draw.choice([1, 1, 2, 2, 3, 4]), self.draw.choice([1, 16, 100, 100, 300, 1000, 1000, 3000])
        shape = self.draw.randrange(12)
        where = self.one("", "", lambda: f" where {self.condition(1)}")
        limit = f"> {self.draw.randrange(5)}"
        match shape:
            case 0 | 1 | 2:
                return Asked(f"count(*) filter (where {self.condition(depth)}) {limit}", longest)
            case 3:
                several = " or ".join(self.condition(1) for _ in range(self.many(12)))
                return Asked(f"select count(*) filter (where {several}) {limit}{where}", longest)
            case 4 | 5:
                of = self.one("max", "min")
                inner = f"select p, {of}({self.text(depth)}) as t, count(*) as n, max(f) as f, max(d) as d, max(at) as at"
                inner += f", max(length(s)) as l{where} group by p"
                self.texts = ["t"]
                asked = self.condition(depth).replace("length(s)", "l")
                return Asked(f"select count(*) {limit} from ({inner}) where {asked}", longest, {"unit": "p"})
            case 6:
                self.texts = ["names.w", "s", "names.w"]
                text = f"select count(*) {limit} from t {self.one('join', 'left join')} names on t.k = names.k"
                return Asked(f"{text} where {self.condition(depth)}", longest, {"public": {"names": names()}})
            case 7:
                key = self.one(lambda: self.text(depth), lambda: self.number(1), lambda: self.date(1), "k")
                return Asked(f"select {key}, count(*) {limit}{where} group by {key}", longest)
            case 8:
                return Asked(f"select count(distinct {self.text(depth)}) {limit}{where}", longest)
            case 9:
                return Asked(f"select mode({self.text(depth)}) = {self.quoted()}{where}", longest)
            case 10:
                of = self.one("max", "min", "median")
                return Asked(f"select {of}({self.text(depth)}) > {self.quoted()}{where}", longest)
        value = self.number(depth)
        return Asked(f"select {self.one('avg', 'sum')}({value}) {limit}{where}", longest, {"bounds": {value: (-9, 99)}})


def names() -> pa.Table:
    """A public table, whose texts are long, too."""
    keys = [*WORDS, "Ely", "Wells", *(f"x{i}" for i in range(80))]
    return pa.table({"k": keys, "w": [("ab" * 40 + key)[:90] for key in keys]})


OF_ROWS = 15
"""Kinds of rows."""


class Rows:
    """Draws rows that take long, all of one kind: as many characters as are read, near to what a question looks for."""

    def __init__(self, draw: random.Random, asked: Asked, kind: int | None = None) -> None:
        self.draw, self.longest = draw, asked.longest
        constants: list[str] = [text.replace("''", "'") for text in re.findall("'((?:[^']|'')*)'", asked.text)] or ["a"]
        parts = [part for text in constants for part in re.split(r"[%_]|\[[^\]]*\]|\{\d+\}|[(){}|*+?^$\\.]", text) if part]
        self.near: list[str] = [text for text in (*constants, *parts) if text]
        self.letters = "".join(dict.fromkeys("".join(parts))) or "a"
        self.word, self.kind = draw.choice(self.near), draw.randrange(OF_ROWS) if kind is None else kind

    def text(self) -> str:
        """Of `longest` characters, or less where it is a number or a date."""
        size, draw, word = self.longest, self.draw, self.word
        made: str
        match self.kind:
            case 0:
                made = word * (size // len(word) + 1)
            case 1:
                made = (word[:-1] or word) * (size // max(1, len(word) - 1) + 1)
            case 2:
                made = word[0] * max(0, size - len(word)) + word
            case 3 | 4:
                made = "".join(draw.choices(self.letters, k=size))
            case 5:
                made = "".join(draw.choices(self.letters[: draw.randrange(1, 4)], k=size))
            case 6:
                made = "🙂" * size
            case 7:
                made = "".join(map(chr, draw.choices((*range(33, 0xD800, 7), *range(0x1F300, 0x1F600)), k=size)))
            case 8:
                made = draw.choice("İßŉΐǆ語é ") * size
            case 9:
                made = draw.choice(["1", "9", "0", "0.", "1e", "-"]) + "".join(draw.choices("0123456789", k=max(0, size - 2)))
            case 10:
                made = " " * max(0, size - 10) + draw.choice(["2020-02-29", "12.5", "1e308", "x"])
            case 11:
                made = draw.choice(["2020-02-29", "9999-12-31", "1e308", "-7.5", "12"])
            case 12:
                made = "".join(draw.choices("a語é🙂", k=size))
            case 13:
                made = "".join(draw.choices(self.letters + "🙂é", k=size))
            case _:
                made = "".join(draw.choices("ab e", k=size - 1)) + "🙂"
        return made[: max(1, size)]

    def row(self, person: int) -> Row:
        draw = self.draw
        day = draw.choice([datetime.date(9999, 12, 31), datetime.date(1, 1, 1), datetime.date(2020, 2, 29)])
        at = datetime.datetime(draw.choice([1, 2020, 9999]), 12, 31, 23, 59, 59, 999999)
        number = draw.choice([2**63 - 1, -(2**63), 2**53 + 1, 7])
        return (person, number, draw.choice([1e308, 5e-324, -1.5, 1e149]), day, at, self.text(), self.text(), self.text()[:40])


PLAIN: Row = (7, 1, 1.0, datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), "a", "b", "Ely")


def stored(rows: list[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(KINDS)
    return pa.table({name: pa.array(own, kind) for (name, kind), own in zip(KINDS.items(), columns, strict=True)})


@dataclass(frozen=True)
class Found:
    """Of a pair: the words by which both are refused, or the declared seconds of both; and what was measured."""

    said: tuple[Any, Any]
    ratio: float | None = None
    """Of the processor time of slow rows to its bound; None where nothing was measured."""
    per_row: float = 0.0
    """Nanoseconds that were measured."""

    @property
    def accepted(self) -> bool:
        return isinstance(self.said[0], float)


def dataset(asked: Asked) -> Listed:
    """As an office declares it."""
    declared = Dataset("t.parquet", unit=asked.options.get("unit"), longest_text=asked.longest)
    return Listed(declared=declared, rows=ROWS)


def said(question: Any, asked: Asked) -> float:
    """The declared seconds; refused where a service would."""
    require_little(question, dataset(asked), "DuckDB", Limits(), LIMITS)
    return seconds_of(question, dataset(asked), "DuckDB", Limits())


@contextmanager
def opened(content: list[Row], asked: Asked, folder: Path | None) -> Iterator[Any]:
    """A question about some rows, in a Parquet file where there is a folder."""
    table: Any = stored(content)
    if folder is not None:
        place = folder / "t.parquet"
        pq.write_table(table, place, use_dictionary=False)
        table = str(place)
    with (
        limited(LIMITS),
        check_question.prepare(table, asked.text, BUDGET, longest_text=asked.longest, **asked.options) as question,
    ):
        yield question


def tried(asked: Asked, draw: random.Random, folder: Path | None = None, measuring: bool = True) -> Found:
    """A question about two tables of which one has a slow row more, and what rows of its kind take."""
    rows = Rows(draw, asked)
    others: list[Row] = [(i, *PLAIN[1:]) for i in range(draw.randrange(3) * (not measuring))]
    try:
        with opened(others, asked, folder) as without:
            seconds = said(without, asked)
            least, none = (without.work(many).nanoseconds * 1e-9 for many in (ROWS, 0))
            start, each = _seconds(without) if measuring else 0.0, (least - none) / ROWS
            many = int(min(MOST, max(8, max(LEAST, start / 5) / each)))
            bound = (without.work(many).nanoseconds * 1e-9 - none) * machine()
    except (DuotoneError, Refused) as error:
        return Found((str(error), refused(rows, others, asked, folder)))
    with opened([*others, rows.row(7)], asked, folder) as beside:
        both = seconds, said(beside, asked)
    if not measuring:
        return Found(both)
    some = [rows.row(i) for i in range(min(many, DISTINCT))]
    content = [(i, *some[i % DISTINCT][1:]) for i in range(many)]
    taken = float("inf")
    with opened(content, asked, folder) as question:
        for _ in range(TRIES):
            taken = min(taken, max(0.0, _seconds(question) - start))
            if taken <= bound:
                break
    return Found(both, taken / bound, taken / many * 1e9)


def refused(rows: Rows, others: list[Row], asked: Asked, folder: Path | None) -> str:
    """The words by which a question is refused where there is a slow row."""
    try:
        with opened([*others, rows.row(7)], asked, folder) as question:
            return f"not refused: {said(question, asked)}"
    except (DuotoneError, Refused) as error:
        return str(error)


def _seconds(question: Any) -> float:
    """Processor time of the statement that is released, the best of a few."""
    connection, best = question.source.engine.connection, float("inf")
    text = sqlglot_of(connection, question._plan).sql(connection.dialect)
    for _ in range(TRIES):
        since = time.process_time()
        connection.con.sql(text).to_arrow_table()
        best = min(best, time.process_time() - since)
    return best


def drawn(seed: int, number: int) -> tuple[Asked, random.Random]:
    draw = random.Random(f"{seed}-{number}")
    return Grammar(draw).question(), draw


def main(pairs: int, seed: int = 1, seconds: float = float("inf")) -> int:
    """Measure so many pairs whose question is accepted; how many are told apart, or take longer than their bound."""
    worst: list[tuple[float, str]] = []
    accepted = refused = wrong = number = 0
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as place:
        while accepted < pairs and time.monotonic() < until:
            number += 1
            asked, draw = drawn(seed, number)
            found = tried(asked, draw, Path(place) if number % 2 else None)
            accepted, refused = accepted + found.accepted, refused + (not found.accepted)
            what = f"{seed}-{number}: {asked.text} (longest_text {asked.longest})"
            if found.said[0] != found.said[1]:
                wrong += 1
                print(f"told apart: {found.said} {what}", flush=True)
            elif found.ratio is not None:
                worst = sorted([*worst, (found.ratio, f"{found.per_row:,.0f} ns a row, {what}")], reverse=True)[:10]
                if found.ratio > 1:
                    wrong += 1
                    print(f"{found.ratio:.2f} of its bound, {found.per_row:,.0f} ns a row: {what}", flush=True)
            if number % 500 == 0:
                print(f"{accepted} pairs, {refused} questions refused, {wrong} wrong, at most {worst[0][0]:.2f}", flush=True)
    for ratio, what in worst:
        print(f"{ratio:.2f}  {what[:300]}")
    print(f"{accepted} pairs, {refused} questions refused, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    given = sys.argv[1:]
    # other tests are about trials, which take longer than all that is measured here
    check_question.__dict__["require_trial"] = lambda *_, **__: None
    sys.exit(1 if main(int(given[0]), *(int(one) for one in given[1:2]), *(float(one) for one in given[2:3])) else 0)
