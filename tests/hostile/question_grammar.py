"""Questions drawn from a grammar over what the docs say can be asked, with what is declared of each."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

BOUNDS = {"x": (-1, 2), "y": (1, 3), "z": (-3, -1), "rate": (0, 2)}
"""Around zero, above it, below it; grids are whole, so that sums in plain SQL are exact."""
COMPUTED = {"year": (2020, 2024), "length": (0, 2)}
"""Bounds of what is computed by these; of anything else those of x."""
PUBLIC = {
    "zones": pa.table(
        {"v": ["a", "b", "A"], "region": ["north", "south", None], "rate": pa.array([1, 2, None], pa.int64())},
    )
}
GROUPS: Mapping[str, tuple[Any, ...]] = {
    "v": ("a", "b", "", "nobody's"),
    "b": (True, False),
    "x": (0, 1, 9),
    "year(day)": (2024, 2020, 1900),
    "month(day)": (12, 1, 2),
    "x > 0": (True, False),
    "lower(v)": ("a", ""),
    "case when x < 1 then 'few' else 'many' end": ("few", "many"),
    "date_trunc('month', day)": ("2024-01-01", "2023-12-01"),
}
REDUCED = ("min", "max", "avg", "sum")


@dataclass(frozen=True)
class Question:
    """A question, what is declared with it, and what people have."""

    text: str
    options: Mapping[str, Any] = field(default_factory=dict)
    rows: int = 1
    """How many rows a person has at most."""
    inner: bool = False
    """Whether it first makes one row of each person."""
    key: str = ""
    """What it is grouped by."""

    @property
    def asked(self) -> str:
        """As it is asked: without the marks of values that are clipped."""
        return self.text.translate({ord(mark): None for mark in "«»"})

    @property
    def ungrouped(self) -> str:
        """The same about everybody."""
        return f"select {self.text.removeprefix(f'select {self.key}, ')}".removesuffix(f" group by {self.key}")

    @cached_property
    def bounds(self) -> dict[str, tuple[int, int]]:
        """Of every value that is added up, as the question writes it."""
        from sqlglot import parse_one

        marked = (value for value in re.findall("«(.*?)»", self.text) if value not in BOUNDS)
        public = {} if "public" in self.options else {"rate": None}
        return {
            **{name: ends for name, ends in BOUNDS.items() if name not in public},
            **{parse_one(value, dialect="duckdb").sql(dialect="duckdb"): bounds_of(value) for value in marked},
        }


def bounds_of(value: str) -> tuple[int, int]:
    """The declared bounds of a value that is marked."""
    return BOUNDS.get(value) or COMPUTED.get(value.split("(")[0], BOUNDS["x"])


class Grammar:
    """Draws questions."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.joined = draw.random() < 0.1
        self.unit = draw.random() < 0.3
        self.reduced = draw.choice((*REDUCED, None)) if self.unit else None
        self.inner = not self.unit and draw.random() < 0.25

    def one(self, *choices: str) -> str:
        return self.draw.choice(choices)

    def condition(self, depth: int = 2) -> str:
        if depth and self.draw.random() < 0.5:
            inner = [self.condition(depth - 1) for _ in range(2)]
            return self.one(
                f"({inner[0]} and {inner[1]})",
                f"({inner[0]} or {inner[1]})",
                f"(not {inner[0]})",
                f"(({inner[0]}) is null)",
                f"(({inner[0]}) is not null)",
                f"coalesce({inner[0]}, {self.one('true', 'false')})",
                f"(({inner[0]}) = ({inner[1]}))",
                f"(({inner[0]}) is distinct from ({inner[1]}))",
                f"(case when {inner[0]} then {inner[1]} end)",
            )
        shape = self.draw.random()
        if self.joined and shape < 0.4:
            return self.one("region = 'north'", "region is null", "rate > 1", "rate < x", "region in ('south', 'west')")
        if shape < 0.55:
            return self.plain_condition()
        return self.one(self.dated(), self.worded(), self.numeric())

    def plain_condition(self) -> str:
        column = self.one("x", "y", "z")
        return self.one(
            "b",
            "not b",
            f"{column} is null",
            f"{column} is not null",
            f"{column} {self.sign()} {self.one('-1', '0', '1', '2')}",
            f"v = {self.one(repr('a'), repr('b'), repr(''))}",
            "v in ('a', 'b')",
            "v not in ('a', '')",
            "x < z",
            "b is true",
            "b is not false",
            f"{column} between 0 and 2",
            f"{column} not between 0 and 1",
            "x is distinct from 1",
            "nullif(x, 1) is null",
        )

    def dated(self) -> str:
        """Of a date or a time: comparisons, parts and differences."""
        day, sign = self.one("2024-01-01", "2023-12-31", "2020-02-29", "1969-12-31"), self.sign()
        part = self.one("year", "quarter", "month", "week", "day", "dayofyear", "dayofweek", "isodow")
        return self.one(
            f"day {sign} date '{day}'",
            f"day = date '{day}'",
            f"{part}(day) {sign} {self.one('1', '6', '12', '52')}",
            f"year(seen) {self.one('=', sign)} {self.one('2023', '2024')}",
            f"extract({self.one('year', 'month', 'day')} from day) = {self.one('2', '12', '31', '2024')}",
            f"{self.one('hour', 'minute', 'second')}(seen) {sign} {self.one('0', '23', '59')}",
            f"seen {sign} timestamp '{day} 00:00:00'",
            f"seen::date {sign} date '{day}'",
            f"date_trunc('{self.one('month', 'year', 'week', 'day')}', {self.one('day', 'seen')}) {sign} date '{day}'",
            f"date_diff('{self.one('day', 'month', 'year', 'quarter')}', day, date '{day}') {sign} {self.one('0', '1')}",
            f"date_diff('{self.one('day', 'hour')}', seen, timestamp '{day} 12:00:00') {sign} 0",
            f"day - date '{day}' {sign} {self.one('0', '1', '-1')}",
            f"day + interval 1 {self.one('day', 'month', 'year')} {sign} date '{day}'",
            f"day - 30 {sign} date '{day}'",
            f"strftime(day, '%Y-%m') = '{day[:7]}'",
            "dayname(day) = 'Monday'",
            "monthname(day) = 'December'",
            f"last_day(day) {sign} date '{day}'",
            "day between date '2020-01-01' and date '2023-12-31'",
            "day is null",
            "seen is not null",
            "day::text = '2024-01-01'",
            "day < seen",
        )

    def worded(self) -> str:
        """Of texts."""
        text = self.one("a", "b", "", "ab")
        return self.one(
            f"lower(v) = '{text}'",
            f"upper(v) = '{text.upper()}'",
            f"trim(v) = '{text}'",
            f"ltrim(v) <> '{text}'",
            f"rtrim(v) = '{text}'",
            f"length(v) {self.sign()} {self.one('0', '1', '2')}",
            f"substr(v, {self.one('1', '2')}, 1) = '{text[:1]}'",
            f"{self.one('left', 'right')}(v, 1) = '{text[:1]}'",
            f"replace(v, 'a', '{self.one('', 'b', 'aa')}') = '{text}'",
            f"split_part(v, 'a', {self.one('1', '2')}) = '{text}'",
            "strpos(v, 'b') > 0",
            f"concat(v, 'b') = '{text}b'",
            f"v || 'b' = '{text}b'",
            f"concat_ws('-', v, 'b') = '{text}-b'",
            f"v {self.one('like', 'ilike', 'not like')} '{self.one('a%', '%b', '_', '%', '')}'",
            f"{self.one('starts_with', 'ends_with', 'contains')}(v, '{text}')",
            f"{self.one('regexp_matches', 'regexp_full_match')}(v, '{self.one('a', '^$', '[ab]+', 'A|b')}')",
            "x::text = '1'",
            "b::text = 'true'",
            "nullif(v, '') is null",
            f"v {self.sign()} '{text}x'",
        )

    def numeric(self) -> str:
        """Of arithmetic in a row."""
        limit, sign = self.one("-1", "0", "1", "1/2"), self.sign()
        return self.one(
            f"x {self.one('+', '-', '*')} z {sign} {limit}",
            f"x / 2 {sign} {limit}",
            f"x / z {sign} {limit}",
            f"x // 2 {sign} {self.one('-1', '0', '1')}",
            f"x % 2 {self.one('=', '<>')} {self.one('0', '1', '-1')}",
            f"abs({self.one('x', 'y', 'z')}) {sign} {limit}",
            f"{self.one('round', 'trunc', 'floor', 'ceil', 'sign')}({self.one('x', 'z', 'x / 2')}) {sign} {limit}",
            f"{self.one('greatest', 'least')}(x, z) {sign} {limit}",
            f"power(x, 2) {sign} {limit}",
            f"- -x {sign} {limit}",
            f"x - (1 - x) {sign} {limit}",
            f"coalesce(x, z, 0) {sign} {limit}",
            f"if(b, x, z) {sign} {limit}",
            f"b::int {sign} {limit}",
        )

    def sign(self) -> str:
        return self.one(">", ">=", "<", "<=")

    def filter(self) -> str:
        return self.one("", "", f" filter (where {self.condition(1)})")

    def value(self) -> str:
        """What is added up, marked, so that plain SQL can clip it."""
        computed = self.one(
            f"case when {self.condition(1)} then {self.one('x', '0')} end",
            "abs(x)",
            "x + z",
            "x * x",
            "coalesce(x, 0)",
            "length(v)",
            "year(day)",
            "date_diff('day', day, date '2024-01-01')",
            "day - date '2024-01-01'",
        )
        return f"«{self.one('x', 'y', 'z', computed, *(['rate'] if self.joined else []))}»"

    def count(self) -> str:
        return (
            self.one(
                "count(*)",
                f"count({self.one('x', 'y', 'b', 'v', 'day')})",
                f"count_if({self.condition(1)})",
                f"sum(({self.condition(1)})::int)",
                f"sum(case when {self.condition(1)} then 1 end)",
                f"sum(case when {self.condition(1)} then 1 else 0 end)",
                *(["count(distinct u)"] * 3 if self.unit else []),
            )
            + self.filter()
        )

    def total(self) -> str:
        summed = f"sum({self.value()}){self.filter()}"
        return f"coalesce({summed}, 0)" if self.draw.random() < 0.1 else summed

    def mean(self) -> str:
        return f"avg({self.one(self.value(), f'({self.condition(1)})::int')}){self.filter()}"

    def ranked(self, *, against: bool) -> str:
        """Alone against a number it is not clipped; against another aggregate, or of averages and sums of people, it is."""
        value = self.one("x", "y", "z")
        value = f"«{value}»" if against or self.reduced in ("avg", "sum") else value
        rank = self.one("1/4", "0.5", "0.75", "0.1", "0.9") if not against else self.one("0.25", "0.75")
        return self.one(f"{self.one('min', 'max', 'median')}({value})", f"quantile({value}, {rank})") + self.filter()

    def side(self, *, against: bool = False) -> str:
        weight = self.one("", "", "2 * ", "-")
        return self.one(
            self.count(),
            self.total(),
            self.mean(),
            self.ranked(against=against),
            self.ranked(against=against),
            weight + self.count(),
            weight + self.total(),
            f"{self.total()} / {self.count()}",
            f"{self.count()} / {self.count()}",
            f"{self.mean()} - {self.mean()}",
            f"{self.total()} - {self.count()}",
            f"{self.total()} + {self.total()}",
            f"{self.total()} / {self.total()}",
            f"{self.ranked(against=True)} - {self.ranked(against=True)}",
            f"{self.mean()} / {self.mean()}",
            f"abs({self.total()})",
            f"abs({self.mean()} - {self.mean()})",
            f"count(distinct {self.one('v', 'x', 'b', 'day')}){self.filter()}",
            f"{self.one('var_pop', 'variance')}(«{self.one('x', 'z')}»){self.filter()}",
        )

    def mode(self) -> str:
        """Of texts or of whole numbers."""
        value, constants = self.draw.choice([("v", ("'a'", "'b'", "''", "'c'")), ("x", ("0", "1", "7")), ("b", ("true",))])
        asked = self.one(f"= {self.one(*constants)}", f"<> {self.one(*constants)}", f"in ({constants[0]}, {constants[-1]})")
        return f"mode({value}){self.filter()} {asked}"

    def comparison(self) -> str:
        limit = self.one("-2", "-1", "0", "0", "1", "2", "1/2", "-3/2")
        return self.one(
            f"{self.side()} {self.sign()} {limit}",
            f"{self.side()} {self.sign()} {limit}",
            f"{self.side()} {self.sign()} {limit}",
            f"{self.total()} {self.sign()} {limit}",
            f"{self.count()} {self.one('=', '<>')} {self.one('0', '1', '2')}",
            f"{self.side(against=True)} {self.sign()} {self.side(against=True)}",
            f"{self.one('bool_or', 'bool_and')}({self.condition(1)}){self.filter()}",
            f"{self.total()} between -1 and 1",
            self.mode(),
            f"{self.one('min', 'max')}(day){self.filter()} {self.sign()} date '2024-01-01'",
        )

    def expression(self, depth: int = 1) -> str:
        if depth and self.draw.random() < 0.3:
            first, second = self.expression(depth - 1), self.expression(depth - 1)
            return self.one(
                f"({first}) and ({second})", f"({first}) or ({second})", f"not ({first})", f"not (({first}) and not ({second}))"
            )
        return self.comparison()

    def question(self) -> Question:
        text = self.expression()
        options: dict[str, Any] = {"neighbours": self.one("add-remove", "replace")}
        where = f" where {self.condition(1)}" if self.draw.random() < 0.25 else ""
        table = "t"
        if self.joined:
            options["public"], table = PUBLIC, f"t {self.one('', 'left ')}join zones using (v)"
        if self.inner:
            return Question(f"select {text} from ({self.people(table)}){where}", {**options, "unit": "u"}, rows=2, inner=True)
        rows = 1
        if self.unit:
            most = self.draw.choice((1, 2))
            options |= {"unit": "u", "max_rows": most, "per_unit": self.reduced}
            rows = most + self.draw.choice((0, 1))
        if self.draw.random() < 0.2:
            return self.by_group(text, table, where, options, rows)
        return Question(f"select {text} from {table}{where}" if where or self.joined else text, options, rows)

    def by_group(self, text: str, table: str, where: str, options: dict[str, Any], rows: int) -> Question:
        """About each group of a public list; a person with a unit counts in two of them at most."""
        key = self.one(*GROUPS)
        groups = [(value,) for value in self.draw.sample(GROUPS[key], self.draw.randrange(1, len(GROUPS[key]) + 1))]
        options = {**options, "neighbours": "add-remove", "groups": groups}
        if self.unit and len(groups) > 1:
            options["max_groups"] = 2
        return Question(f"select {key}, {text} from {table}{where} group by {key}", options, min(rows, 2), key=key)

    def people(self, table: str) -> str:
        """An inner select: one row of each person."""
        x = self.one("sum(x)", "max(x)", "min(x)", "count(*)", f"count_if({self.condition(1)})", "count(distinct v)")
        y, z = self.one("max(y)", "min(y)", f"max(y) filter (where {self.condition(0)})"), self.one("min(z)", "sum(z)")
        b = self.one("bool_or(b)", "bool_and(b)", "not bool_or(b)", "bool_or(x > 0)", "max(x) > 0", "bool_or(b) is null")
        rest = "max(v) as v, min(day) as day, max(seen) as seen" + (", max(region) as region, max(rate) as rate" * self.joined)
        kept = self.one("", f" where {self.condition(1)}")
        return f"select u, {x} as x, {y} as y, {z} as z, {b} as b, {rest} from {table}{kept} group by u"
