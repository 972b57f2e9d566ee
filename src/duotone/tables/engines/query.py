"""The plan: from rows to people to the few aggregates that levels need, as one Ibis expression.

For a total, the people at its extremes are fetched; `questions.threshold.who_matters` decides which can matter.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ibis
from ibis.expr.operations import Field

from duotone.tables.engines.engine import Draw, Draws, Source
from duotone.tables.engines.expressions import holds
from duotone.tables.engines.person_columns import Expressions, Order, PersonColumns
from duotone.tables.engines.results import (
    Ends,
    Keys,
    Middle,
    QueryResult,
    Rare,
    Request,
    Tally,
    Votes,
    result_of,
    whole,
)
from duotone.tables.sql.comparison import ParsedQuestion
from duotone.tables.sql.condition import ALWAYS, Condition
from duotone.tables.sql.functions.function import wide


def sums(people: Any, name: str, short: bool) -> dict[str, Any]:
    """How many have a score, and the total; `short` scores are added up in 64 bits."""
    column = people[name]
    total = column.cast("int32").sum() if short else column.sum()
    return {f"{name}_n": column.count(), f"{name}_sum": total.cast("string")}


SMALL = 2**21
"""Numbers up to here are added up in 64 bits, for fewer than 2^42 rows; larger ones in more bits, which is slower."""


@ibis.udf.agg.builtin(name="max", signature=(("int64", "int64"), "array<decimal(38, 0)>"))
def _largest(value, n): ...  # type: ignore[no-untyped-def]


@ibis.udf.agg.builtin(name="min", signature=(("int64", "int64"), "array<decimal(38, 0)>"))
def _smallest(value, n): ...  # type: ignore[no-untyped-def]


def _kept_ends(people: Any, name: str, request: Ends) -> dict[str, Any]:
    """The extremes, where the engine can keep them while it adds up."""
    column = people[name]
    ways = ("largest", _largest, operator.ge, request.largest_from), ("smallest", _smallest, operator.le, request.smallest_to)
    return {
        f"{name}_{way}": ends(column, request.reach, where=within(column, end)).cast("array<int64>")
        for way, ends, within, end in ways
        if end is not None
    }


def ends_apart(
    rows: Any, asked: Sequence[tuple[PersonColumns, Mapping[str, Request]]], *, embedded: bool
) -> dict[str, list[Any]]:
    """The extremes of rows that are people, each by a separate query on a column with the same order as their scores:
    engines skip other rows faster than they compute scores. The embedded engine does so only if a stored integer gives
    the order; otherwise keeping the extremes while it adds up is faster."""
    apart: dict[str, list[Any]] = {}
    for i, (columns, requests) in enumerate(asked):
        for n, request in requests.items():
            order = columns.ordered_by.get(n)
            if isinstance(request, Ends) and (not embedded or _stored(rows, order, request)):
                apart[f"m{i}{n}"] = list(_ends_of_rows(rows, columns, n, f"m{i}{n}", request))
    return apart


def _stored(rows: Any, order: Order | None, request: Ends) -> bool:
    """Whether a stored integer gives the order."""
    serves = order is not None and all(_serves(order, request))
    return serves and order is not None and order.value.kind == "integer" and isinstance(order.of(rows).op(), Field)


def _serves(order: Order, request: Ends) -> tuple[bool, bool]:
    """Whether the largest and the smallest can be found in this order: not if someone without a value can matter."""
    largest, smallest = request.largest_from, request.smallest_to
    return not order.missing or largest is None or largest > 0, not order.missing or smallest is None or smallest < 0


def _ends_of_rows(rows: Any, columns: PersonColumns, column: str, name: str, request: Ends) -> Iterator[Any]:
    order = columns.ordered_by.get(column)
    serves = (False, False) if order is None else _serves(order, request)
    for way, served, end in zip(("largest", "smallest"), serves, (request.largest_from, request.smallest_to), strict=True):
        if end is None:
            continue
        up = way == "smallest"
        if order is not None and served:
            by, limit = order.of(rows), order.up_to(end) if up else order.from_on(end)
        else:
            by, limit = columns.alone(rows)[column], end
        there = by <= math.inf if by.type().is_floating() else by.notnull()  # NaN is null
        if limit is not None:
            there = there & (by <= limit if up else by >= limit)
        # nulls first, though there are none: as Postgres reads its indexes from the end
        some = rows.filter(there).order_by(ibis.asc(by) if up else ibis.desc(by, nulls_first=True)).limit(request.reach)
        scores = some.select(s=columns.alone(some)[column])
        yield scores.agg(**{f"{name}_{way}": listed(scores.s)})


def _by_score(people: Any, keys: list[str], name: str, request: Ends) -> Any:
    """People, the total and both extremes in one pass, in expressions that every engine has: people are grouped by
    score where it matters, and all others together."""
    value = people[name]
    bounds = (request.largest_from, operator.ge), (request.smallest_to, operator.le)
    matters = [compare(value, bound) for bound, compare in bounds if bound is not None]
    apart = ibis.cases((functools.reduce(operator.or_, matters), value)) if matters else ibis.null("int64")
    rows = people.select(*keys, value=value, apart=apart)
    scores = rows.group_by([*keys, "apart"]).agg(rows_=rows.count(), n_=rows.value.count(), total_=rows.value.sum())
    scores = scores.mutate(inner_=scores.apart.isnull())

    def ranks(order: Any) -> Any:
        return ibis.row_number().over(ibis.window(group_by=[*keys, "inner_"], order_by=order))

    scores = scores.mutate(down_=ranks(ibis.desc("apart")), up_=ranks(ibis.asc("apart")))
    each = scores.apart.cast("string").concat("*", scores.n_.cast("string"))
    aggregates = {
        "people": scores.rows_.sum(),
        f"{name}_n": scores.n_.sum(),
        f"{name}_sum": scores.total_.cast("decimal(38, 0)").sum().cast("string"),
        f"{name}_largest": each.group_concat(",", where=~scores.inner_ & (scores.down_ < request.reach)),
        f"{name}_smallest": each.group_concat(",", where=~scores.inner_ & (scores.up_ < request.reach)),
    }
    return scores.agg(by=keys, **aggregates)


def listed(column: Any) -> Any:
    """Numbers as text with commas: what every engine can aggregate and send."""
    return column.cast("string").group_concat(",")


@dataclass(frozen=True)
class People:
    """Who counts: the rows that take part, the columns that identify a person and a group, in how many groups one
    counts, and the list of groups, if it is public."""

    source: Source
    where: Condition | None = None
    unit: str | None = None
    by: tuple[str, ...] = ()
    most: int = 1
    listed: tuple[tuple[Any, ...], ...] | None = None
    trial: bool = False
    """Whether the first of `by` numbers the made-up tables of a trial: then people of different tables are different,
    and groups are listed without that number."""

    @property
    def seen(self) -> tuple[Any, ...]:
        """The expressions that decide who counts."""
        table = id(self.source.table), id(self.source.reading), id(self.source.engine)
        return table, self.where, self.unit, self.by, self.most, self.listed

    def asked(self, questions: Iterable[ParsedQuestion | None]) -> People:
        """The same with only the columns, and of a public list of groups only the rows, that questions use.

        A person's groups are limited among the listed ones, however long the list. Without a unit nothing is limited;
        with a long list, rows in no listed group are dropped after the groups are returned.
        """
        source = self.source.asked_about(questions, self.by if self.unit is None else (*self.by, self.unit))
        if self.listed and (len(self.listed) <= LISTED or self.unit is not None):
            source = source.within(self.by[1:] if self.trial else self.by, self.listed)
        return replace(self, source=source)

    def table(self, person_columns: Sequence[PersonColumns]) -> Any:
        """One row per person, or per person and group: these columns, and the keys as k0, k1, …

        A person's groups are limited to those with the smallest MD5 of person and key, which depends on nobody else.
        """
        rows = self.rows()
        keys = {f"k{i}": rows[column] for i, column in enumerate(self.by)}
        if self.unit is None:
            return rows.select(**keys, **(_named(person_columns, lambda c, _: c.alone(rows)) or NO_COLUMN))
        of_rows = rows.select(unit=rows[self.unit], **keys, **_named(person_columns, lambda c, _: c.of_rows(rows)))
        merged = _named(person_columns, lambda c, name: c.merged(of_rows, name))
        people = of_rows.group_by(["unit", *keys]).agg(**merged) if merged else of_rows.distinct()
        if self.by:
            people = self._bounded(people, list(keys))
        return people.select(*keys, **(_named(person_columns, lambda c, name: c.person(people, name)) or NO_COLUMN))

    def rows(self) -> Any:
        """The rows that take part, and that identify a person and a group."""
        rows = self.source.rows
        named = [nameable(rows[column]) for column in self.by]
        named += [nameable(rows[self.unit], self.source.longest)] if self.unit else []
        conditions = named + ([holds(self.where, rows)] if self.where not in (None, ALWAYS) else [])
        return rows.filter(conditions) if conditions else rows

    def _bounded(self, people: Any, keys: list[str]) -> Any:
        tables, own = (keys[:1], keys[1:]) if self.trial else ([], keys)
        text = ibis.literal("\x1f").join([people[column].cast("string") for column in ("unit", *own)])
        ordered = people.mutate(order_=_md5(text))
        window = ibis.window(group_by=["unit", *tables], order_by=["order_", *own])
        return ordered.mutate(rank_=ibis.row_number().over(window)).filter(lambda t: t.rank_ < self.most)


LISTED = 1000
"""A public list of at most this many groups filters rows to those in one of them; if people are in several groups,
every list does."""
LONGEST = 1024
"""Most characters of a key or a unit."""
NO_COLUMN = {"one": ibis.literal(1)}
"""A table has at least one column, even if people are only counted."""


def _named(person_columns: Sequence[PersonColumns], expressions: Callable[[PersonColumns, str], Expressions]) -> dict[str, Any]:
    """The expressions of every comparison, each with its own prefix: m0, m1, …"""
    return {f"m{i}{name}": e for i, c in enumerate(person_columns) for name, e in expressions(c, f"m{i}").items()}


def nameable(column: Any, read: int = LONGEST + 1) -> Any:
    """Whether a value can identify a person or a group: not null, and not a very long text. If `read` characters of a
    text are read, one of that length may have been cut, and identifies no person: two could have the same."""
    return column.length() <= min(LONGEST, read - 1) if column.type().is_string() else column.notnull()


@ibis.udf.scalar.builtin(name="md5", signature=(("string",), "string"))
def _md5(text): ...  # type: ignore[no-untyped-def]


def gather(who: People, asked: Sequence[tuple[PersonColumns, Mapping[str, Request]]]) -> QueryResult:
    """Execute the plan, and return its results."""
    result = who.source.run(plan_of(who, asked))
    results = ({n: result_of(result, f"m{i}{n}", request) for n, request in own.items()} for i, (_, own) in enumerate(asked))
    return QueryResult(_keys(result, who), whole(result["people"]), tuple(results))


def plan_of(who: People, asked: Sequence[tuple[PersonColumns, Mapping[str, Request]]]) -> Any:
    """One statement for all requests.

    Guarantee: it depends on the question and on declarations, and on no row.
    """
    people = who.table([columns for columns, _ in asked])
    keys = [f"k{i}" for i in range(len(who.by))]
    named = {f"m{i}{n}": request for i, (_, own) in enumerate(asked) for n, request in own.items()}
    apart = {} if who.unit or who.by else ends_apart(who.rows(), asked, embedded=who.source.engine.can.embedded)
    return _plan(people, keys, named, who, apart)


def kept(who: People, draw: Draw, engine: Draws) -> list[tuple[tuple[Any, ...], int]]:
    """The keys of the shown groups, and a noisy size of each, drawn where people were counted: see `Spark.kept`."""
    keys = [f"k{i}" for i in range(len(who.by))]
    result = engine.kept(_plan(who.table([]), keys, {}, who, {}), keys, draw)
    return sorted(zip(_keys(result, who), whole(result["size"]).tolist(), strict=True))


def _plan(
    people: Any, keys: list[str], requests: Mapping[str, Request], who: People, apart: Mapping[str, Sequence[Any]]
) -> Any:
    """One statement for all requests; extremes are `apart` if separate queries have fetched them."""
    simple: dict[str, Any] = {"people": people.count()}
    parts: list[Any] = []
    for name, request in requests.items():
        match request:
            case Tally() if len(request.values) > MOST_AT_ONCE:
                parts.append(_many_tallies(people, keys, name))
            case Tally():
                simple |= _tallies(people, name, request)
            case Ends() if name in apart:
                simple |= sums(people, name, not who.source.engine.can.embedded and request.farthest <= SMALL)
                parts += apart[name]
            case Ends() if who.source.engine.can.embedded:
                simple |= sums(people, name, False) | _kept_ends(people, name, request)
            case Ends():
                parts.append(_by_score(people, keys, name, request))
            case Votes():
                parts.append(_votes(people, keys, name, request.reach))
            case Rare():
                parts.append(_rare(people, keys, name, request.reach))
            case Middle():
                parts.append(_middle(people, keys, name, request))
    alone = len(parts) == len(simple) == 1 and "people" in parts[0].columns
    main = parts.pop() if alone else people.agg(by=keys, **simple)
    for part in parts:
        main = _joined(main, part.drop("people") if "people" in part.columns else part, keys)
    return main.mutate(**{key: main[key].cast("string") for key in keys}) if keys else main


MOST_AT_ONCE = 64
"""Up to this many scores are counted by an expression for each."""


def _tallies(people: Any, name: str, request: Tally) -> dict[str, Any]:
    """How many have each score; if a score is only whether a condition holds, how many it holds for."""
    column = people[name]
    if request.everyone:
        return {}
    if column.type().is_boolean():
        return {f"{name}_0": people.count(where=column)}
    return {f"{name}_{i}": people.count(where=column == value) for i, value in enumerate(request.values)}


def _many_tallies(people: Any, keys: list[str], name: str) -> Any:
    """The same for many scores: each with how many have it."""
    scored = people.filter(people[name].notnull())
    counted = scored.group_by([*keys, name]).agg(n_=scored.count())
    each = counted[name].cast("string").concat("*", counted.n_.cast("string"))
    return counted.agg(by=keys, **{f"{name}_tally": each.group_concat(",")})


def _joined(main: Any, part: Any, keys: list[str]) -> Any:
    return main.left_join(part, keys).drop(*(f"{key}_right" for key in keys)) if keys else main.cross_join(part)


def _votes(people: Any, keys: list[str], name: str, reach: int) -> Any:
    """`name` is the vote, and `name`own whether it is the one asked about."""
    cast = people.filter(people[name].notnull())
    counted = cast.group_by([*keys, name, f"{name}own"]).agg(votes=cast.count())
    own = {f"{name}_own": counted.votes.sum(where=counted[f"{name}own"])}
    rivals = counted.filter(~counted[f"{name}own"])
    if not keys:  # faster than a window over all values
        some = rivals.order_by(ibis.desc("votes")).limit(reach + 2)
        return counted.agg(**own).cross_join(some.agg(**{f"{name}_rivals": listed(some.votes)}))
    window = ibis.window(group_by=keys, order_by=ibis.desc("votes"))
    ranked = rivals.mutate(rank_=ibis.row_number().over(window))
    some = ranked.filter(ranked.rank_ < reach + 2)
    return _joined(counted.agg(by=keys, **own), some.agg(by=keys, **{f"{name}_rivals": listed(some.votes)}), keys)


def _rare(people: Any, keys: list[str], name: str, reach: int) -> Any:
    """How many distinct values there are, and the smallest numbers of people who share one."""
    labelled = people.filter(people[name].notnull())
    counted = labelled.group_by([*keys, name]).agg(holders=labelled.count())
    window = ibis.window(group_by=keys or None, order_by=["holders", name])
    ordered = counted.mutate(rank_=ibis.row_number().over(window))
    few = ordered.rank_ <= reach
    columns = {
        f"{name}_different": ordered.count(),
        f"{name}_rarest": ordered.holders.cast("string").group_concat(",", where=few),
    }
    return ordered.agg(by=keys, **columns)


def _middle(people: Any, keys: list[str], name: str, request: Middle) -> Any:
    """How many have a score, the scores around the quantile with how many have each, and how many have a lower one.

    A score is sent if its ranks may be among those next to ⌈q·n⌉: in integers, so that no engine rounds; one more than
    needed is harmless.
    """
    scored = people.filter(people[name].notnull())
    cells = scored.group_by([*keys, name]).agg(n_=scored.count())
    upto = cells.n_.sum().over(ibis.cumulative_window(group_by=keys or None, order_by=name))
    cells = cells.mutate(upto_=upto, all_=cells.n_.sum().over(ibis.window(group_by=keys or None)))
    at, scale = cells.all_ * wide(request.q.numerator), wide(request.q.denominator)
    below = cells.upto_ - cells.n_
    near = ((cells.upto_ + request.reach) * scale >= at) & ((below - (request.reach + 1)) * scale <= at)
    each = cells[name].cast("string").concat("*", cells.n_.cast("string"))
    around = {
        f"{name}_n": cells.n_.sum(),
        f"{name}_below": below.min(where=near),
        f"{name}_middle": each.group_concat(",", where=near),
    }
    return cells.agg(by=keys, **around)


def _keys(result: Any, who: People) -> Keys:
    return Keys([result[f"k{i}"] for i in range(len(who.by))], [who.source.columns[column] for column in who.by])
