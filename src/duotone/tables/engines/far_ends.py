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
    ends = {}
    if request.largest_from is not None:
        ends[f"{name}_largest"] = _largest(column, request.reach, where=column >= request.largest_from)
    if request.smallest_to is not None:
        ends[f"{name}_smallest"] = _smallest(column, request.reach, where=column <= request.smallest_to)
    return {name: end.cast("array<int64>") for name, end in ends.items()}


def ends_apart(
    rows: Any, asked: Sequence[tuple[PersonColumns, Mapping[str, Request]]], *, embedded: bool
) -> dict[str, list[Any]]:
    """The far ends of rows that are people, each by a look of its own at a column in whose order their scores come: engines
    pass over a row that is not among so few in less time than they need to compute its score. The embedded engine does so
    where a stored whole number gives the order, and is quicker at other scores by keeping the ends while it adds up."""
    apart: dict[str, list[Any]] = {}
    for i, (columns, requests) in enumerate(asked):
        for n, request in requests.items():
            if isinstance(request, Ends) and (not embedded or _stored(rows, columns.ordered_by.get(n))):
                apart[f"m{i}{n}"] = list(_ends_of_rows(rows, columns, n, f"m{i}{n}", request))
    return apart


def _stored(rows: Any, order: Order | None) -> bool:
    """Whether a whole number as it is stored gives the order."""
    return order is not None and order.value.kind == "integer" and isinstance(order.of(rows).op(), Field)


def _ends_of_rows(rows: Any, columns: PersonColumns, column: str, name: str, request: Ends) -> Iterator[Any]:
    cheaper = columns.ordered_by.get(column)
    order = cheaper.of(rows) if cheaper else columns.alone(rows)[column]
    there = order <= math.inf if order.type().is_floating() else order.notnull()
    if request.largest_from is not None:
        limit = cheaper.from_on(request.largest_from) if cheaper else request.largest_from
        some = rows.filter(there if limit is None else there & (order >= limit)).order_by(ibis.desc(order, nulls_first=True))
        yield _scores(some, columns, column, f"{name}_largest", request)
    if request.smallest_to is not None:
        limit = cheaper.up_to(request.smallest_to) if cheaper else request.smallest_to
        some = rows.filter(there if limit is None else there & (order <= limit)).order_by(ibis.asc(order))
        yield _scores(some, columns, column, f"{name}_smallest", request)


def _scores(rows: Any, columns: PersonColumns, column: str, name: str, request: Ends) -> Any:
    some = rows.limit(request.reach)
    scores = some.select(s=columns.alone(some)[column])
    return scores.agg(**{name: listed(scores.s)})


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
