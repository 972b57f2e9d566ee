"""The plan: from rows to people to the few aggregates that levels need, as one Ibis expression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
from numpy.typing import NDArray

from duotone.engines.expressions import holds
from duotone.engines.recipes import Recipe
from duotone.engines.source import Source
from duotone.sql.condition import Condition

Array = NDArray[Any]


@dataclass(frozen=True)
class Tally:
    """How many people have each of these scores."""

    values: tuple[int, ...]


@dataclass(frozen=True)
class Ends:
    """How many people have a score, the total, and the largest and the smallest, `reach` from each end."""

    reach: int


@dataclass(frozen=True)
class Votes:
    """How many people have the value asked for (`own`), and how many have each of the most frequent other ones."""

    reach: int


Want = Tally | Ends | Votes


@dataclass(frozen=True)
class Found:
    """What came back of a want, an entry per group. Lists from far ends inwards are rows, padded by a count of 0."""

    counts: Mapping[int, Array]
    total: Array
    people: Array
    largest: Sequence[tuple[Array, Array]] = ()
    smallest: Sequence[tuple[Array, Array]] = ()
    reach: int | None = None


@dataclass(frozen=True)
class People:
    """Who counts: the rows that take part, the columns that name a person and a group, and in how many groups one counts."""

    source: Source
    where: Condition | None = None
    unit: str | None = None
    by: tuple[str, ...] = ()
    most: int = 1

    def table(self, recipes: Sequence[Recipe]) -> Any:
        """One row per person, or per person and group: the recipes' columns, and the keys as k0, k1, …

        A person's groups are bounded by the smallest MD5 of person and key, which looks at nobody else.
        """
        rows = self.source.table
        named = [rows[column].notnull() for column in (*self.by, *([self.unit] if self.unit else []))]
        conditions = named + ([holds(self.where, rows)] if self.where is not None else [])
        rows = rows.filter(conditions) if conditions else rows
        keys = {f"k{i}": rows[column] for i, column in enumerate(self.by)}
        if self.unit is None:
            columns = {f"m{i}{n}": e for i, m in enumerate(recipes) for n, e in m.alone(rows).items()}
            return rows.select(**keys, **(columns or {"one": ibis.literal(1)}))
        columns = {f"m{i}{n}": e for i, m in enumerate(recipes) for n, e in m.rows(rows).items()}
        flat = rows.select(unit=rows[self.unit], **keys, **columns)
        merged = {f"m{i}{n}": e for i, m in enumerate(recipes) for n, e in m.merged(flat, f"m{i}").items()}
        people = flat.group_by(["unit", *keys]).agg(**merged) if merged else flat.distinct()
        if self.by and self.most is not None:
            people = self._bounded(people, list(keys))
        columns = {f"m{i}{n}": e for i, m in enumerate(recipes) for n, e in m.person(people, f"m{i}").items()}
        return people.select(*keys, **(columns or {"one": ibis.literal(1)}))

    def _bounded(self, people: Any, keys: list[str]) -> Any:
        text = ibis.literal("\x1f").join([people[column].cast("string") for column in ("unit", *keys)])
        ordered = people.mutate(order_=text.hexdigest("md5"))
        window = ibis.window(group_by="unit", order_by=["order_", *keys])
        return ordered.mutate(rank_=ibis.row_number().over(window)).filter(lambda t: t.rank_ < self.most)


@dataclass(frozen=True)
class Gathered:
    """Everything that travelled: the groups' keys (one group without a key where there are none), the people of each, and
    what was wanted."""

    keys: tuple[tuple[Any, ...], ...]
    people: Array
    found: tuple[Mapping[str, Found], ...]


def gather(who: People, asked: Sequence[tuple[Recipe, Mapping[str, Want]]]) -> Gathered:
    """Run the plan, and give what came back."""
    people = who.table([recipe for recipe, _ in asked])
    keys = [f"k{i}" for i in range(len(who.by))]
    wants = [wanted for _, wanted in asked]
    named = {f"m{i}{n}": want for i, wanted in enumerate(wants) for n, want in wanted.items()}
    return _read(who.source.run(_plan(people, keys, named)), who, keys, wants)


def _plan(people: Any, keys: list[str], wants: Mapping[str, Want]) -> Any:
    simple: dict[str, Any] = {"people": people.count()}
    parts: list[Any] = []
    for name, want in wants.items():
        column = people[name]
        match want:
            case Tally():
                simple |= {f"{name}_{i}": people.count(where=column == value) for i, value in enumerate(want.values)}
            case Ends():
                simple |= {f"{name}_n": column.count(), f"{name}_sum": column.sum().cast("string")}
                parts += [_end(people, keys, name, want.reach, way) for way in ("largest", "smallest")]
            case Votes():
                parts.append(_votes(people, keys, name, want.reach))
    main = people.group_by(keys).agg(**simple) if keys else people.agg(**simple)
    for part in parts:
        main = _joined(main, part, keys)
    return main.mutate(**{key: main[key].cast("string") for key in keys}) if keys else main


def _joined(main: Any, part: Any, keys: list[str]) -> Any:
    if not keys:
        return main.cross_join(part)
    other = part.rename({f"{key}_": key for key in keys})
    both = main.left_join(other, [main[key] == other[f"{key}_"] for key in keys])
    return both.drop(*(f"{key}_" for key in keys))


def _end(people: Any, keys: list[str], name: str, reach: int, way: str) -> Any:
    there = people.filter(people[name].notnull()).select(*keys, value=people[name])
    there = there.filter(there.value.notnull())
    order = ibis.desc("value") if way == "largest" else ibis.asc("value")
    if not keys:
        some = there.order_by(order).limit(reach)
        return some.agg(**{f"{name}_{way}": some.value.cast("string").collect()})
    ranked = there.mutate(rank_=ibis.row_number().over(ibis.window(group_by=keys, order_by=order)))
    some = ranked.filter(ranked.rank_ < reach)
    return some.group_by(keys).agg(**{f"{name}_{way}": some.value.cast("string").collect()})


def _votes(people: Any, keys: list[str], name: str, reach: int) -> Any:
    """`name` is the vote, and `name`own whether it is the one asked for."""
    cast = people.filter(people[name].notnull())
    counted = cast.group_by([*keys, name, f"{name}own"]).agg(votes=cast.count())
    own = {f"{name}_own": counted.votes.sum(where=counted[f"{name}own"])}
    rivals = counted.filter(~counted[f"{name}own"])
    if not keys:
        some = rivals.order_by(ibis.desc("votes")).limit(reach + 2)
        return counted.agg(**own).cross_join(some.agg(**{f"{name}_rivals": some.votes.collect()}))
    window = ibis.window(group_by=keys, order_by=ibis.desc("votes"))
    ranked = rivals.mutate(rank_=ibis.row_number().over(window))
    some = ranked.filter(ranked.rank_ < reach + 2)
    collected = some.group_by(keys).agg(**{f"{name}_rivals": some.votes.collect()})
    return _joined(counted.group_by(keys).agg(**own), collected, keys)


def _read(result: Any, who: People, keys: list[str], wants: Sequence[Mapping[str, Want]]) -> Gathered:
    columns = {name: result[name].to_pylist() if name in keys or name.endswith(LISTS) else _counts(result[name])
               for name in result.column_names}  # fmt: skip
    kinds = [who.source.columns[column] for column in who.by]
    own = [[int(k) if kind == "integer" else k for k in columns[key]] for key, kind in zip(keys, kinds, strict=True)]
    size = result.num_rows
    found = tuple({n: _found(columns, f"m{i}{n}", want, size) for n, want in wanted.items()} for i, wanted in enumerate(wants))
    return Gathered(tuple(zip(*own, strict=True)) if keys else ((),), columns["people"], found)


LISTS = ("_sum", "_largest", "_smallest", "_rivals")


def _counts(column: Any) -> Array:
    return np.array(column.fill_null(0).combine_chunks().to_numpy(zero_copy_only=False), dtype=np.int64)


def _found(columns: Mapping[str, Any], name: str, want: Want, size: int) -> Found:
    match want:
        case Tally():
            counts = {value: columns[f"{name}_{i}"] for i, value in enumerate(want.values)}
            zero = np.zeros(size, dtype=np.int64)
            return Found(counts, zero, sum(counts.values(), zero))
        case Ends():
            total = np.array([int(text or 0) for text in columns[f"{name}_sum"]], dtype=object)
            largest, smallest = (_ends(columns[f"{name}_{way}"], way == "largest") for way in ("largest", "smallest"))
            return Found({}, total, columns[f"{name}_n"], largest, smallest, want.reach)
    rivals = _ends(columns[f"{name}_rivals"], True)
    return Found({}, columns[f"{name}_own"], columns["people"], rivals)


def _ends(lists: Sequence[Sequence[Any] | None], descending: bool) -> list[tuple[Array, Array]]:
    """The i-th from the end, for every group at once."""
    whole = [sorted(map(int, values or ()), reverse=descending) for values in lists]
    longest = max(map(len, whole), default=0)
    return [
        (
            np.array([values[i] if i < len(values) else 0 for values in whole], dtype=object),
            np.array([int(i < len(values)) for values in whole], dtype=object),
        )
        for i in range(longest)
    ]
