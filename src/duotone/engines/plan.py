"""The plan: from rows to people to the few aggregates that levels need, as one Ibis expression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
from numpy.typing import NDArray

from duotone.engines.expressions import holds
from duotone.engines.recipes import Recipe
from duotone.engines.source import UNREADABLE, Source
from duotone.errors import DuotoneError
from duotone.release import Coin
from duotone.sql.condition import ALWAYS, Condition

Array = NDArray[Any]


@dataclass(frozen=True)
class Tally:
    """How many people have each of these scores; where it is the same for `everyone`, they are counted already."""

    values: tuple[int, ...]
    everyone: bool = False


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
        conditions = named + ([holds(self.where, rows)] if self.where not in (None, ALWAYS) else [])
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
        ordered = people.mutate(order_=_md5(text))
        window = ibis.window(group_by="unit", order_by=["order_", *keys])
        return ordered.mutate(rank_=ibis.row_number().over(window)).filter(lambda t: t.rank_ < self.most)


@ibis.udf.scalar.builtin(name="md5", signature=(("string",), "string"))
def _md5(text): ...  # type: ignore[no-untyped-def]


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
    plan = _one_pass(people, keys, named, who) if who.source.embedded else _plan(people, keys, named, who)
    return _read(who.source.run(plan), who, keys, wants)


def kept(who: People, coin: Coin) -> list[tuple[Any, ...]]:
    """The keys that a coin keeps by their numbers of people, drawn where the people were counted: see `Spark.kept`."""
    keys = [f"k{i}" for i in range(len(who.by))]
    result = who.source.connection.kept(_plan(who.table([]), keys, {}, who), keys, coin)
    return list(_own({key: result[key].to_pylist() for key in keys}, who))


def _own(columns: Mapping[str, Any], who: People) -> Iterator[tuple[Any, ...]]:
    """Keys as the table has them; they travel as text."""
    kinds = [who.source.columns[column] for column in who.by]
    read = ([int(k) if kind == "integer" else k for k in columns[f"k{i}"]] for i, kind in enumerate(kinds))
    return zip(*read, strict=True)


def _plan(people: Any, keys: list[str], wants: Mapping[str, Want], who: People) -> Any:
    """The plan in words that every engine knows."""
    simple: dict[str, Any] = {"people": people.count()}
    parts: list[Any] = []
    for name, want in wants.items():
        match want:
            case Tally():
                simple |= _tallies(people, name, want)
            case Ends():
                hints = (None, None) if keys or who.unit else _first(people, name, want.reach, who.source)
                parts.append(_summed(people, keys, name, want.reach, hints))
            case Votes():
                parts.append(_votes(people, keys, name, want.reach))
    alone = len(parts) == len(simple) == 1 and any(isinstance(want, Ends) for want in wants.values())
    main = parts.pop() if alone else people.group_by(keys).agg(**simple) if keys else people.agg(**simple)
    for part in parts:
        main = _joined(main, part.drop("people") if "people" in part.columns else part, keys)
    return main.mutate(**{key: main[key].cast("string") for key in keys}) if keys else main


def _tallies(people: Any, name: str, want: Tally) -> dict[str, Any]:
    """How many have each score; where a score is only whether a condition holds, how many it holds for."""
    column = people[name]
    if want.everyone:
        return {}
    if column.type().is_boolean():
        return {f"{name}_0": people.count(where=column)}
    return {f"{name}_{i}": people.count(where=column == value) for i, value in enumerate(want.values)}


@ibis.udf.agg.builtin(name="max", signature=(("int64", "int64"), "array<int64>"))
def _largest(value, n): ...  # type: ignore[no-untyped-def]


@ibis.udf.agg.builtin(name="min", signature=(("int64", "int64"), "array<int64>"))
def _smallest(value, n): ...  # type: ignore[no-untyped-def]


def _one_pass(people: Any, keys: list[str], wants: Mapping[str, Want], who: People) -> Any:
    """The plan where the engine can keep the largest and the smallest while it adds up.

    Of a long table, the first rows tell from where on a value can be among them, and the rest is passed over quickly.
    """
    simple: dict[str, Any] = {"people": people.count()}
    votes = [_votes(people, keys, name, want.reach) for name, want in wants.items() if isinstance(want, Votes)]
    for name, want in wants.items():
        column = people[name]
        if isinstance(want, Tally):
            simple |= _tallies(people, name, want)
        elif isinstance(want, Ends):
            simple |= {f"{name}_n": column.count(), f"{name}_sum": column.sum().cast("string")}
            high, low = (None, None) if keys or who.unit else _hints(people, name, want.reach, who.source)
            ends = (
                ("largest", _largest(column, want.reach, where=None if high is None else column >= high)),
                ("smallest", _smallest(column, want.reach, where=None if low is None else column <= low)),
            )
            simple |= {f"{name}_{way}": end.cast("array<string>") for way, end in ends}
    main = people.group_by(keys).agg(**simple) if keys else people.agg(**simple)
    for part in votes:
        main = _joined(main, part, keys)
    return main.mutate(**{key: main[key].cast("string") for key in keys}) if keys else main


def _hints(people: Any, name: str, reach: int, source: Source) -> tuple[int | None, int | None]:
    """Values that at least `reach` people reach from above and from below, or None: they are among the first rows."""
    first = people.limit(HINT)
    found = source.run(first.agg(high=_largest(first[name], reach), low=_smallest(first[name], reach))).to_pylist()[0]
    high, low = (ends[-1] if ends is not None and len(ends) == reach else None for ends in (found["high"], found["low"]))
    return high, low


def _first(people: Any, name: str, reach: int, source: Source) -> tuple[int | None, int | None]:
    """The same in words that every engine knows."""
    first = people.limit(HINT // 5)  # which are sorted
    found = source.run(_summed(first, [], name, reach, (None, None))).to_pylist()[0]
    high, low = (_spread(found[f"{name}_{way}"], reach, way == "largest") for way in ("largest", "smallest"))
    return (high[-1], low[-1]) if len(high) == len(low) == reach else (None, None)


HINT = 100_000
"""Rows at the beginning of a table that are looked at for hints."""


def _joined(main: Any, part: Any, keys: list[str]) -> Any:
    if not keys:
        return main.cross_join(part)
    other = part.rename({f"{key}_": key for key in keys})
    both = main.left_join(other, [main[key] == other[f"{key}_"] for key in keys])
    return both.drop(*(f"{key}_" for key in keys))


def _summed(people: Any, keys: list[str], name: str, reach: int, hints: tuple[int | None, int | None]) -> Any:
    """People, the total and both ends in one pass: people are gathered by score where it can be among the ends, and all
    others together. Whatever the hints are, the result is the same."""
    high, low = hints
    value = people[name]
    apart = value if high is None or low is None else ibis.cases(((value >= high) | (value <= low), value))
    rows = people.select(*keys, value=value, apart=apart)
    scores = rows.group_by([*keys, "apart"]).agg(rows_=rows.count(), n_=rows.value.count(), total_=rows.value.sum())
    scores = scores.mutate(inner_=scores.apart.isnull())

    def ranks(order: Any) -> Any:
        return ibis.row_number().over(ibis.window(group_by=[*keys, "inner_"], order_by=order))

    scores = scores.mutate(down_=ranks(ibis.desc("apart")), up_=ranks(ibis.asc("apart")))
    each = scores.apart.cast("string").concat("*", scores.n_.cast("string"))
    found = {
        "people": scores.rows_.sum(),
        f"{name}_n": scores.n_.sum(),
        f"{name}_sum": scores.total_.cast("decimal(38, 0)").sum().cast("string"),
        f"{name}_largest": each.group_concat(",", where=~scores.inner_ & (scores.down_ < reach)),
        f"{name}_smallest": each.group_concat(",", where=~scores.inner_ & (scores.up_ < reach)),
    }
    return scores.group_by(keys).agg(**found) if keys else scores.agg(**found)


def _list(column: Any) -> Any:
    """Numbers as text with commas: what every engine can gather and send."""
    return column.cast("string").group_concat(",")


def _votes(people: Any, keys: list[str], name: str, reach: int) -> Any:
    """`name` is the vote, and `name`own whether it is the one asked for."""
    cast = people.filter(people[name].notnull())
    counted = cast.group_by([*keys, name, f"{name}own"]).agg(votes=cast.count())
    own = {f"{name}_own": counted.votes.sum(where=counted[f"{name}own"])}
    rivals = counted.filter(~counted[f"{name}own"])
    if not keys:
        some = rivals.order_by(ibis.desc("votes")).limit(reach + 2)
        return counted.agg(**own).cross_join(some.agg(**{f"{name}_rivals": _list(some.votes)}))
    window = ibis.window(group_by=keys, order_by=ibis.desc("votes"))
    ranked = rivals.mutate(rank_=ibis.row_number().over(window))
    some = ranked.filter(ranked.rank_ < reach + 2)
    collected = some.group_by(keys).agg(**{f"{name}_rivals": _list(some.votes)})
    return _joined(counted.group_by(keys).agg(**own), collected, keys)


def _read(result: Any, who: People, keys: list[str], wants: Sequence[Mapping[str, Want]]) -> Gathered:
    columns = {name: result[name].to_pylist() if name in keys or name.endswith(LISTS) else _counts(result[name])
               for name in result.column_names}  # fmt: skip
    size = result.num_rows
    found = tuple({n: _found(columns, f"m{i}{n}", want, size) for n, want in wanted.items()} for i, wanted in enumerate(wants))
    return Gathered(tuple(_own(columns, who)) if keys else ((),), columns["people"], found)


LISTS = ("_sum", "_largest", "_smallest", "_rivals")


def _counts(column: Any) -> Array:
    return np.array(column.fill_null(0).combine_chunks().to_numpy(zero_copy_only=False), dtype=np.int64)


def _found(columns: Mapping[str, Any], name: str, want: Want, size: int) -> Found:
    match want:
        case Tally():
            names = ["people"] if want.everyone else [f"{name}_{i}" for i in range(len(want.values))]
            counts = {value: columns[column] for value, column in zip(want.values, names, strict=True)}
            zero = np.zeros(size, dtype=np.int64)
            return Found(counts, zero, sum(counts.values(), zero))
        case Ends():
            total = np.array([int(text or 0) for text in columns[f"{name}_sum"]], dtype=object)
            ways = ("largest", "smallest")
            lists = [[_spread(v, want.reach, way == "largest") for v in columns[f"{name}_{way}"]] for way in ways]
            for values in lists:
                _complete(values, columns[f"{name}_n"], want.reach)
            largest, smallest = _ends(lists[0]), _ends(lists[1])
            return Found({}, total, columns[f"{name}_n"], largest, smallest, want.reach)
    rivals = _ends([_spread(v, want.reach + 2, True) for v in columns[f"{name}_rivals"]])
    return Found({}, columns[f"{name}_own"], columns["people"], rivals)


def _complete(lists: Sequence[Sequence[int]], people: Array, reach: int) -> None:
    """A table that changed while it was read could give too few; the answer would then be another table's."""
    if any(len(values) < min(reach, n) for values, n in zip(lists, people.tolist(), strict=True)):
        raise DuotoneError(UNREADABLE)


def _spread(given: Sequence[Any] | str | None, reach: int, descending: bool) -> list[int]:
    """The far end of a list; as text, a value of several people stands there once, with a star and their number."""
    if not isinstance(given, str):
        return sorted(map(int, given or ()), reverse=descending)
    pairs = [text.partition("*") for text in given.split(",")]
    whole = [int(value) for value, _, times in pairs for _ in range(min(int(times or 1), reach))]
    return sorted(whole, reverse=descending)[:reach]


def _ends(whole: Sequence[Sequence[int]]) -> list[tuple[Array, Array]]:
    """The i-th from the end, for every group at once."""
    longest = max(map(len, whole), default=0)
    return [
        (
            np.array([values[i] if i < len(values) else 0 for values in whole], dtype=object),
            np.array([int(i < len(values)) for values in whole], dtype=object),
        )
        for i in range(longest)
    ]
