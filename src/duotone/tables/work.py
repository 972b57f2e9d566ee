"""The highest cost of a plan, from public facts alone: the plan, the number of rows, the longest stored text.

Whoever writes a question chooses the operations on each row, and could choose slow or memory-hungry ones for certain
values. So every operation of a plan has a rule here: how long a text it can make, and how many nanoseconds it can take.
The rules apply to the complete plan that the engine gets, including inner selects, joins, keys and conversions. An
operation without a rule is refused.

Guarantee: the numbers depend on the plan and on the limits alone, and never fall when a size, or the number of rows,
grows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import ibis.expr.operations as ops

from duotone.errors import DuotoneError
from duotone.model.notice import Notice, Refusal
from duotone.resources import EngineLimits
from duotone.tables.engines.stored_values import PublicSize
from duotone.tables.patterns import UNKNOWN, contained, like, matched, pattern_states
from duotone.tables.sql.functions.texts import LONGEST_TEXT

PRINTED = 64
"""Most characters of a number, a date or a time as text."""
PLAIN, CALENDAR, CAST = 12.0, 150.0, 300.0
"""Nanoseconds for arithmetic and comparisons; for parts of dates; and for converting a value."""
BY_CHARACTER, LETTER = 12.0, 80.0
"""Nanoseconds for each character of a text that is made, or parsed as a value, of four bytes each; and for one whose
class or case is looked up: about 35 were measured for letters from all of Unicode."""
CUT = 6.0
"""Nanoseconds for each character of a text up to the end of the part that is kept: about 5 were measured for mixed
letters of one to four bytes, and 1 to 2 for uniform ones."""
STORED = 10.0
"""Nanoseconds for each character of a stored text until an engine has read it, as far as it is kept: about 5 were
measured for Parquet files, as texts are unpacked and checked for being UTF-8."""
FIELD, TAKEN_APART = 250.0, 16.0
"""Nanoseconds for each field of a line of a text file, and for each read character of a field, used or not: about 240
and 13 were measured with all fields in quotes."""
COMPARED = 0.3
"""Nanoseconds for each byte that is compared, hashed or moved."""
SCANNED, GATHERED, ORDERED = 150.0, 1000.0, 2000.0
"""Nanoseconds for each row that is read; that is grouped or joined; that is sorted."""
PLANNED = 200_000.0
"""Nanoseconds for writing, planning and optimising an operation of a statement, once for all rows; a part that is used
twice is in the statement twice. 40,000 to 150,000 were measured on long ones."""
MOST_OPERATIONS = 20_000
"""Most operations of a statement."""
BYTES, VALUE = 4, 16
"""Bytes of a character, and of a value besides its text."""


class NoBound(DuotoneError):
    """A plan does something for which no bound is known, or none exists."""


@dataclass(frozen=True)
class Bound:
    """An expression's bound for one row: the characters of its text, the nanoseconds to compute it, the bytes of texts
    that are made for it, its own included (and what searches texts, with a row's part of its bytes), and its
    operations. Time is counted for each use of a part; in memory, an engine holds a part that is used twice once (less
    was measured)."""

    size: float = 0.0
    nanoseconds: float = 0.0
    texts: frozenset[tuple[Any, float]] = frozenset()
    operations: float = 1.0
    rows: float = 0.0
    """Rows of the public table, if it reads nothing else; infinite for a constant."""
    beneath: float = 0.0
    """Total nanoseconds for parts that read public columns alone: an engine may compute them for every public row
    before it joins, even if no private row is left."""


@dataclass(frozen=True)
class Work:
    """A plan's bound: total nanoseconds; bytes of texts for each row that is processed at a time; bytes kept for all
    rows, in memory; those of groups and sorting, which an engine may also spill to disk; and the operations of its
    statement."""

    nanoseconds: float = 0.0
    room: float = 0.0
    kept: float = 0.0
    spilled: float = 0.0
    operations: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


@dataclass(frozen=True)
class _Rows:
    """A relation: the bounds of its columns, its number of rows, and the work to produce them."""

    columns: Mapping[str, Bound]
    many: float
    work: Work

    def doing(self, bounds: Iterable[Bound], each: float = 0.0, kept: float = 0.0, spilled: float = 0.0) -> _Rows:
        """The same after a computation on each row."""
        every = list(bounds)
        operations = sum(b.operations for b in every)
        nanoseconds = (
            PLANNED * operations + sum(b.beneath for b in every) + self.many * (each + sum(b.nanoseconds for b in every))
        )
        texts = frozenset().union(*(b.texts for b in every))
        more = Work(nanoseconds, sum(size for _, size in texts), self.many * kept, self.many * spilled, operations)
        return _Rows(self.columns, self.many, self.work + more)


def work_of(plan: Any, rows: float, public: Mapping[Any, PublicSize] = MappingProxyType({}), stored: float = 0.0) -> Work:
    """The highest cost of a plan where each private table has at most this many rows; sizes of public ones are known.
    `stored` is the nanoseconds to make columns of a stored row: see `line`."""
    relation = _Interpreter(float(rows), public, stored).relation(plan.op())
    return relation.doing(relation.columns.values()).work


def held(plan: Any, rows: float, public: Mapping[Any, PublicSize] = MappingProxyType({})) -> Work:
    """What the result of a plan takes at most, if all of its rows are in memory at once."""
    columns = _Interpreter(float(rows), public).relation(plan.op()).columns
    return Work(kept=rows * sum(map(_bytes, columns.values())))


def line(fields: int, longest: int) -> float:
    """Nanoseconds to parse a line of a text file in which no field is longer than what is read."""
    return fields * (FIELD + TAKEN_APART * longest)


VECTOR = 2048
"""Rows that an engine processes at a time, in each of its threads."""


def require_room(work: Work, limits: EngineLimits) -> None:
    """Refuse a plan whose texts or groups might not fit into the engine's memory, or whose statement is so long that an
    engine is busy with it even without rows.

    Guarantee: decided by the plan and the limits; so no row can make an engine run out of memory, which would be
    visible.
    """
    if not work.operations <= MOST_OPERATIONS:
        raise DuotoneError(
            f"this question is too long for an engine: its statement has {work.operations:,.0f} operations, and "
            f"{MOST_OPERATIONS:,} are allowed: ask about less at a time"
        )
    at_once = VECTOR * limits.threads * work.room
    for need, have, what in (
        (at_once + work.kept, limits.memory, "its patterns and the texts that it makes and keeps"),
        (work.spilled, limits.memory + limits.spill, "its groups"),
    ):
        if not need <= have:
            raise Refusal("too much memory", need=need / 2**20, have=have / 2**20, what=what)


class _Interpreter:
    def __init__(self, rows: float, public: Mapping[Any, PublicSize], stored: float = 0.0) -> None:
        self.rows, self.public, self.stored = rows, public, stored
        self.relation: Callable[[Any], _Rows] = cache(self._relation)
        self.value: Callable[[Any], Bound] = cache(self._value)

    def _each(self, nodes: Iterable[Any]) -> list[Bound]:
        return [self.value(node) for node in nodes]

    def _relation(self, node: Any) -> _Rows:
        """What a select computes is counted at each use: engines may compute it there."""
        match node:
            case ops.DummyTable():
                return _Rows({name: self.value(value) for name, value in node.values.items()}, 1, Work())
            case ops.PhysicalTable() | ops.SQLQueryResult() | ops.SQLStringView():
                size = self.public.get(node)
                rows, texts = (self.rows, {}) if size is None else (float(size.rows), size.texts)
                columns = {
                    name: Bound(float(texts.get(name, math.inf)) if kind.is_string() else 0.0, rows=rows if size else 0.0)
                    for name, kind in node.schema.items()
                }
                stored = self.stored if size is None else 0.0
                return _Rows(columns, rows, Work(rows * (SCANNED * (1 + len(columns)) + stored)))
            case ops.JoinReference() | ops.SelfReference() | ops.DropColumns():
                return self.relation(node.parent)
            case ops.Distinct():
                inner = self.relation(node.parent)
                return self._gathered(inner, inner.columns.values())
            case ops.Limit():
                inner = self.relation(node.parent)
                return _Rows(inner.columns, min(inner.many, _number(node.n)), inner.work)
            case ops.Project():
                inner = self.relation(node.parent)
                columns = {name: self.value(value) for name, value in node.values.items()}
                windows = [found for value in node.values.values() for found in value.find(ops.WindowFunction, ops.Value)]
                stored = sum(columns[name].size for name, value in node.values.items() if self._is_cut(value))
                read = Work(inner.many * STORED * stored)
                return _Rows(columns, inner.many, self._windows(inner, windows).work + read)
            case ops.Filter():
                return self.relation(node.parent).doing(self._each(node.predicates))
            case ops.Sort():
                inner = self.relation(node.parent)
                return self._ordered(inner, self._each(key.arg for key in node.keys), inner.columns.values())
            case ops.Aggregate():
                return self._aggregate(node)
            case ops.JoinChain():
                return self._joined(node)
            case ops.Union():
                left, right = self.relation(node.left), self.relation(node.right)
                columns = {name: _largest([left.columns[name], right.columns[name]]) for name in left.columns}
                return _Rows(columns, left.many + right.many, left.work + right.work)
        raise _no_rule(node)

    def _is_cut(self, value: Any) -> bool:
        """Whether the value is a stored text that is cut to the longest length."""
        of = (self.value(field).size for field in value.find(ops.Field)) if value.dtype.is_string() else ()
        return math.inf in of and self.value(value).size < math.inf

    def _gathered(self, inner: _Rows, keys: Iterable[Bound]) -> _Rows:
        keys = list(keys)
        hashed = sum(GATHERED + COMPARED * BYTES * key.size for key in keys)
        return inner.doing(keys, GATHERED + hashed, spilled=sum(map(_bytes, keys)))

    def _ordered(self, inner: _Rows, keys: Sequence[Bound], moved: Iterable[Bound]) -> _Rows:
        depth = math.log2(inner.many + 2)
        compared = sum(ORDERED + COMPARED * BYTES * key.size * depth for key in keys)
        return inner.doing(keys, compared, spilled=sum(map(_bytes, [*keys, *moved])))

    def _windows(self, inner: _Rows, windows: Iterable[Any]) -> _Rows:
        for window in windows:
            keys = self._each([*window.group_by, *(key.arg for key in window.order_by)])
            inner = self._ordered(self._gathered(inner, keys), keys, inner.columns.values())
            inner = inner.doing(self._each(_arguments(window.func)), GATHERED)
        return inner

    def _aggregate(self, node: ops.Aggregate) -> _Rows:
        inner = self.relation(node.parent)
        keys, metrics = self._each(node.groups.values()), list(node.metrics.values())
        states = [found for metric in metrics for found in metric.find(_AGGREGATES, ops.Value)]
        done = self._gathered(inner, keys) if keys else inner
        for state in states:
            values = self._each(_arguments(state))
            room, heavy = sum(map(_bytes, values)), _gathers(state)
            if heavy or any(value.size for value in values):  # a text, or many values: of as many groups as there may be
                many = room if keys or heavy else room / max(1.0, done.many)
                done = done.doing(values, GATHERED if heavy else PLAIN, kept=many)
            else:
                done = done.doing(values, PLAIN, spilled=room if keys else 0.0)
        columns = {
            name: Bound(key.size, rows=key.rows, beneath=key.beneath) for name, key in zip(node.groups, keys, strict=True)
        }
        columns |= {name: Bound(self.value(metric).size) for name, metric in node.metrics.items()}
        many = inner.many if keys else 1.0
        printed = Work(many * CAST * len(metrics))
        return _Rows(columns, many, done.work + printed)

    def _joined(self, node: ops.JoinChain) -> _Rows:
        """A row has at most one partner: keys of public tables, of people and of groups are unique. So a join with a
        public table has no more rows than before, though all of the public ones may be read."""
        done = self.relation(node.first.parent)
        for link in node.rest:
            other, keys = self.relation(link.table.parent), self._each(link.predicates)
            crossed = done.many * other.many if link.how == "cross" else max(done.many, other.many)
            public = all(column.rows for column in other.columns.values())
            kept = done.many if public and link.how == "left" else crossed
            moved = [*done.columns.values(), *other.columns.values()]
            done = _Rows(done.columns, crossed, done.work + other.work).doing(keys, GATHERED, spilled=sum(map(_bytes, moved)))
            done = _Rows(done.columns, kept, done.work)
        columns = {name: self.value(value) for name, value in node.values.items()}
        return _Rows(columns, done.many, done.work)

    def _value(self, node: Any) -> Bound:
        if isinstance(node, ops.Field):
            return self.relation(node.rel).columns[node.name]
        if isinstance(node, ops.WindowFunction):
            return Bound(self.value(node.func).size)
        parts = self._each(_arguments(node))
        sizes = [part.size for part in parts]
        size, nanoseconds = _rule(node)(node, sizes)
        text = node.dtype.is_string()
        if text and not size < math.inf:
            raise NoBound("a text of this table is read without a limit on its length, so that no bound of time is known")
        if text and not size <= LONGEST_TEXT:
            raise NoBound(Notice("text too long", size=size, most=LONGEST_TEXT))
        parted = isinstance(node, ops.ScalarUDF) and node.__func_name__ == "split_part"
        by_character = BYTES + PARTS * VALUE * parted
        made = 0.0 if not text else VALUE if type(node).__name__ in REFERRED else VALUE + by_character * size
        made += SEARCHING / VECTOR if isinstance(node, ops.RegexSearch) else 0.0
        nanoseconds += PLAIN + sum(part.nanoseconds for part in parts)
        rows = min((part.rows for part in parts), default=math.inf)
        return Bound(
            size if text else 0.0,
            nanoseconds,
            frozenset([(node, made)] if made else ()).union(*(part.texts for part in parts)),
            1.0 + _compiled(node) + sum(part.operations for part in parts),
            rows,
            rows * nanoseconds if 0 < rows < math.inf else sum(part.beneath for part in parts),
        )


PARTS = 3
"""How many times a list of a text's parts is in memory: it is doubled when it is full, with the old one beside it. 40
bytes a character were measured."""
SEARCHING = 6 * 2**20
"""Most bytes of a regular expression in each thread: RE2 gives two thirds of its 8 MiB to its program and its cached
states. 2.2 MB were measured."""
BY_COMPILED = 20
"""States of a regular expression that take at most as long to compile as planning an operation: 43 were measured, and
each thread of an engine compiles them."""


def _compiled(node: Any) -> float:
    """Operations that are as slow as compiling a regular expression; if its states are not counted, its time is too
    long."""
    states = pattern_states(_constant(node.pattern)) if isinstance(node, ops.RegexSearch) else 0
    return states / BY_COMPILED if states < UNKNOWN else 0.0


def _arguments(node: Any) -> list[Any]:
    """The arguments of a value."""
    return [inner for inner in node.__children__ if isinstance(inner, ops.Value)] + [
        key.arg for key in node.__children__ if isinstance(key, ops.SortKey)
    ]


def _number(limit: Any) -> float:
    limit = limit.value if isinstance(limit, ops.Literal) else limit
    return float(limit) if type(limit) is int else math.inf


def _bytes(bound: Bound) -> float:
    return VALUE + BYTES * bound.size


def _largest(bounds: Sequence[Bound]) -> Bound:
    texts = frozenset().union(*(bound.texts for bound in bounds))
    operations = sum(bound.operations for bound in bounds)
    size, nanoseconds = max(bound.size for bound in bounds), max(bound.nanoseconds for bound in bounds)
    return Bound(size, nanoseconds, texts, operations, beneath=sum(bound.beneath for bound in bounds))


_AGGREGATES = (ops.Reduction, ops.AggUDF)


def _gathers(state: Any) -> bool:
    """Whether an aggregate stores each value: distinct ones, the largest few, a list."""
    return isinstance(state, ops.CountDistinct | ops.GroupConcat | ops.AggUDF)


Rule = Callable[[Any, Sequence[float]], tuple[float, float]]
"""From an operation and the sizes of its parts: the size of its text, and nanoseconds in addition to those of its
parts."""


def _plain(cost: float) -> Rule:
    return lambda _, sizes: (max(sizes, default=0.0), cost)


def _letters(_: Any, sizes: Sequence[float]) -> tuple[float, float]:
    return sizes[0], LETTER * sizes[0]


def _within(node: Any, sizes: Sequence[float]) -> tuple[float, float]:
    """If with two values. A text that is taken if it has at most n bytes has at most n characters: so stored texts are
    cut (`engines.stored_values`)."""
    size, cost = _chosen(node, sizes)
    test, kept, _ = node.args
    known = isinstance(test, ops.LessEqual) and isinstance(test.left, ops.ScalarUDF) and isinstance(test.right, ops.Literal)
    if known and test.left.__func_name__ in BYTES_OF and test.left.args[0] == kept:
        size = max(min(sizes[1], float(test.right.value)), sizes[2])
    return size, cost


def _chosen(_: Any, sizes: Sequence[float]) -> tuple[float, float]:
    """One of several values: if it is a text, each may be copied."""
    return max(sizes, default=0.0), COMPARED * sum(size for size in sizes if size < math.inf)


def _compare(_: Any, sizes: Sequence[float]) -> tuple[float, float]:
    """Texts are compared up to the end of the shorter one."""
    return 0.0, COMPARED * BYTES * min(sizes)


def _literal(node: Any, _: Sequence[float]) -> tuple[float, float]:
    return float(len(node.value)) if isinstance(node.value, str) else 0.0, 0.0


def _as_other(node: Any, sizes: Sequence[float]) -> tuple[float, float]:
    text = node.arg.dtype.is_string()
    size = 0.0 if not node.to.is_string() else sizes[0] if text else float(PRINTED)
    return size, CAST + (BY_CHARACTER * sizes[0] if text else 0.0)


def _joined_texts(_: Any, sizes: Sequence[float]) -> tuple[float, float]:
    size = sum(sizes)
    return size, COMPARED * BYTES * size


def _with_separators(_: Any, sizes: Sequence[float]) -> tuple[float, float]:
    size = sum(sizes[1:]) + sizes[0] * len(sizes)
    return size, COMPARED * BYTES * size


def _cut(node: Any, sizes: Sequence[float]) -> tuple[float, float]:
    """Characters are counted from the left: what precedes the part is skipped, what follows is not read."""
    start, kept = (float(at.value) if isinstance(at, ops.Literal) else math.inf for at in (node.start, node.length))
    start = start if start >= 0 else math.inf
    return min(sizes[0], kept), CUT * min(sizes[0], start + kept)


def _right(node: Any, sizes: Sequence[float]) -> tuple[float, float]:
    """Characters are counted from the left."""
    return min(sizes[0], float(node.nchars.value)), BY_CHARACTER * sizes[0]


def _replaced(node: Any, sizes: Sequence[float]) -> tuple[float, float]:
    old, new = (_constant(part) for part in (node.pattern, node.replacement))
    size = math.ceil(sizes[0] * max(1.0, len(new) / max(1, len(old))))
    return size, contained(len(old), sizes[0]) + BY_CHARACTER * size


def _constant(node: Any) -> str:
    if not (isinstance(node, ops.Literal) and isinstance(node.value, str)):
        raise NoBound("a text to search for must be a constant, so that its length is known")
    return node.value


def _searched(_: Any, sizes: Sequence[float]) -> tuple[float, float]:
    return 0.0, contained(int(sizes[1]), sizes[0])


def _among(node: Any, sizes: Sequence[float]) -> tuple[float, float]:
    return 0.0, PLAIN * len(node.options) + COMPARED * BYTES * sum(min(sizes[0], option) for option in sizes[1:])


BYTES_OF = ("strlen", "octet_length")
"""The bytes of a text, as engines call them: they are stored with it."""


def _function(node: Any, sizes: Sequence[float]) -> tuple[float, float]:
    """The largest result and the time of one of the engine's own functions."""
    match node.__func_name__:
        case "floor":
            return 0.0, PLAIN
        case "md5":
            return 32.0, BY_CHARACTER * sizes[0]
        case "split_part":
            return sizes[0], contained(int(sizes[1]), sizes[0]) + BY_CHARACTER * sizes[0]
        case name if name in BYTES_OF:
            return 0.0, PLAIN
        case "concat_ws":
            return _with_separators(node, sizes)
        case "max" | "min":
            return 0.0, GATHERED
    raise _no_rule(node)


def _gathered_text(_: Any, sizes: Sequence[float]) -> tuple[float, float]:
    """Numbers with commas: they are only sent; what is kept is counted with the aggregate."""
    return sizes[0] + sizes[1], 0.0


RULES: dict[str, Rule] = {
    "Literal": _literal,
    **dict.fromkeys(("Cast", "TryCast"), _as_other),
    "IfElse": _within,
    **dict.fromkeys(("SearchedCase", "Coalesce", "Greatest", "Least", "NullIf"), _chosen),
    **dict.fromkeys(("Equals", "NotEquals", "Less", "LessEqual", "Greater", "GreaterEqual"), _compare),
    "Between": lambda _, sizes: (0.0, COMPARED * BYTES * (sizes[1] + sizes[2])),
    "InValues": _among,
    **dict.fromkeys(("And", "Or", "Not", "IsNull", "NotNull", "IsNan", "Negate", "Abs", "Add", "Subtract", "Multiply", "Divide",
                     "Modulus", "Floor", "Ceil", "Round", "RowNumber"), _plain(PLAIN)),
    **dict.fromkeys(("Sqrt", "Exp", "Ln", "Log10"), _plain(CALENDAR)),
    **dict.fromkeys(("ExtractYear", "ExtractQuarter", "ExtractMonth", "ExtractWeekOfYear", "ExtractDay", "ExtractDayOfYear",
                     "ExtractHour", "ExtractMinute", "ExtractSecond", "ExtractEpochSeconds", "DayOfWeekIndex",
                     "TimestampTruncate", "DateTruncate", "TimestampAdd", "TimestampSub", "DateAdd", "DateSub",
                     "IntervalFromInteger"), _plain(CALENDAR)),
    "StringLength": lambda _, sizes: (0.0, BYTES * COMPARED * sizes[0]),
    # character by character, but on Spark, whose memory is elsewhere
    **dict.fromkeys(("Lowercase", "Uppercase", "Strip", "LStrip", "RStrip"), _letters),
    "Substring": _cut,
    "StrRight": _right,
    "StringReplace": _replaced,
    "StringConcat": _joined_texts,
    "StringJoin": _with_separators,
    **dict.fromkeys(("StringFind", "StringContains"), _searched),
    **dict.fromkeys(("StartsWith", "EndsWith"), lambda _, sizes: (0.0, COMPARED * BYTES * sizes[1])),
    "StringSQLLike": lambda node, sizes: (0.0, like(_constant(node.pattern), sizes[0])),
    "RegexSearch": lambda node, sizes: (0.0, matched(_constant(node.pattern), sizes[0])),
    **dict.fromkeys(("Count", "CountStar", "CountDistinct", "Sum", "Min", "Max"), _plain(PLAIN)),
    "GroupConcat": _gathered_text,
}  # fmt: skip
"""The most that each operation makes of its parts."""


REFERRED = ("Literal", "SearchedCase", "IfElse", "Coalesce", "Greatest", "Least", "NullIf", "Min", "Max")
"""Operations that return one of their parts, whose text is not copied."""


def _rule(node: Any) -> Rule:
    if isinstance(node, ops.ScalarUDF | ops.AggUDF):
        return _function
    rule = RULES.get(type(node).__name__)
    if rule is None:
        raise _no_rule(node)
    return rule


def _no_rule(node: Any) -> NoBound:
    return NoBound(f"no bound is known for the time of {type(node).__name__} on a row: ask without it")
