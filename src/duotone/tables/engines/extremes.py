"""Fetches a total and the people at its far ends. Who of them can matter is decided by `questions.threshold.who_matters`."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ibis
from ibis.expr.operations import Field

from duotone.tables.engines.person_columns import Order, PersonColumns
from duotone.tables.engines.results import Ends, Request


def sums(people: Any, name: str, short: bool) -> dict[str, Any]:
    """How many have a score, and the total; `short` scores are added up in 64 bits."""
    column = people[name]
    total = column.cast("int32").sum() if short else column.sum()
    return {f"{name}_n": column.count(), f"{name}_sum": total.cast("string")}


SMALL = 2**21
"""Numbers up to here are added up in 64 bits, for fewer than 2^42 rows; larger ones in more, which takes longer."""


@ibis.udf.agg.builtin(name="max", signature=(("int64", "int64"), "array<decimal(38, 0)>"))
def _largest(value, n): ...  # type: ignore[no-untyped-def]


@ibis.udf.agg.builtin(name="min", signature=(("int64", "int64"), "array<decimal(38, 0)>"))
def _smallest(value, n): ...  # type: ignore[no-untyped-def]


def kept_ends(people: Any, name: str, request: Ends) -> dict[str, Any]:
    """The far ends where the engine can keep them while it adds up."""
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
    """The far ends of rows that are people, each by a look of its own at a column in whose order their scores come: engines
    pass over a row that is not among so few in less time than they need to compute its score. The embedded engine does so
    where a stored whole number gives the order, and is quicker at other scores by keeping the ends while it adds up."""
    apart: dict[str, list[Any]] = {}
    for i, (columns, requests) in enumerate(asked):
        for n, request in requests.items():
            order = columns.ordered_by.get(n)
            if isinstance(request, Ends) and (not embedded or _stored(rows, order, request)):
                apart[f"m{i}{n}"] = list(_ends_of_rows(rows, columns, n, f"m{i}{n}", request))
    return apart


def _stored(rows: Any, order: Order | None, request: Ends) -> bool:
    """Whether a whole number as it is stored gives the order."""
    serves = order is not None and all(_serves(order, request))
    return serves and order is not None and order.value.kind == "integer" and isinstance(order.of(rows).op(), Field)


def _serves(order: Order, request: Ends) -> tuple[bool, bool]:
    """Whether the largest and the smallest can be looked for in this order: not where someone without a value can matter."""
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
        there = by <= math.inf if by.type().is_floating() else by.notnull()  # NaN is no value
        if limit is not None:
            there = there & (by <= limit if up else by >= limit)
        # nulls first, though there are none: as indexes of Postgres are read from their end
        some = rows.filter(there).order_by(ibis.asc(by) if up else ibis.desc(by, nulls_first=True)).limit(request.reach)
        scores = some.select(s=columns.alone(some)[column])
        yield scores.agg(**{f"{name}_{way}": listed(scores.s)})


def by_score(people: Any, keys: list[str], name: str, request: Ends) -> Any:
    """People, the total and both ends in one pass, in words that every engine knows: people are gathered by score where it
    matters, and all others together."""
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
    return scores.group_by(keys).agg(**aggregates) if keys else scores.agg(**aggregates)


def listed(column: Any) -> Any:
    """Numbers as text with commas: what every engine can gather and send."""
    return column.cast("string").group_concat(",")
