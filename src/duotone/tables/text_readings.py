"""What the columns of a text file can be read as, counted from their rows; NOT private: for the table's owner only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ibis

from duotone.tables.engines.engine import Source
from duotone.tables.engines.stored_values import LONGEST, Reading, quoted
from duotone.tables.engines.text_types import of_text

NUMBERS = ("number", "money", "1.234,50 €", "1 234,50 €", "1'234.50", "percent", "12,5 %")
"""Types of numbers that are tried, a simpler one first."""
DATES = (
    "date", "time", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y%m%d", "%d/%m/%y", "%m/%d/%y", "%d %b %Y",
    "%d %B %Y", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S",
    "%d.%m.%Y %H:%M:%S",
)  # fmt: skip
TRIED = ("number", "yes/no", *NUMBERS[1:], *DATES)
LOST = 0.05
"""A column holds text, unless another type fits all but this share of its values and the marks of missing ones."""
SOME = 10_000
"""Rows at which every type is tried; all rows are counted for the likely ones alone."""
LIKELY = 3
AT_ONCE = 50
"""Columns per query."""
THERE, ZERO, CLOCK, MARK = "is there", "begins with zero", "has a clock", "is a mark of a missing value"
GUARDS = {
    THERE: "{} is not null",
    ZERO: r"regexp_matches({}, '^\s*0[0-9]')",
    CLOCK: "contains({}, ':')",
    MARK: r"regexp_full_match(lower({}), '\s*(#?n/?a|nan|null|none|missing|unknown|-+|\.|\?)\s*')",
}
"""What is counted beside types: as in 01234, a number would lose the zero, and a date the time; NA is no loss."""


@dataclass(frozen=True)
class TextColumn:
    """What a column of a text file seems to hold: a type, and of its `values`, how many that would lose."""

    column: str
    type: str
    values: int
    lost: int
    as_numbers: int = 0
    """How many values the type number would lose, if it is another type of numbers."""
    also: tuple[str, ...] = ()
    """Other ways to write dates that lose no more."""

    @property
    def remark(self) -> str:
        """What the choice loses."""
        if not self.values:
            return "no value is there"
        if self.type == "text":
            return f"all {self.values:,} values fit"
        fit = self.values - self.lost
        said = f"all {self.values:,} values fit"
        if self.lost:
            share = f"{self.lost / self.values:.2%}"
            said = f"{fit:,} of {self.values:,} values fit, and {self.lost:,} ({share}) would count as missing"
        if self.as_numbers:
            said += f"; as number {self.as_numbers:,} would not" if self.as_numbers < self.values else "; as number none would"
        return said + (f"; {' and '.join(self.also)} fit as well: which is it?" if self.also else "")


def text_columns(source: Source) -> Iterator[TextColumn]:
    """Every column without a declared type; none of another table."""
    names = [name for name, kind in source.columns.items() if kind == "untyped"]
    for start in range(0, len(names), AT_ONCE):
        some = names[start : start + AT_ONCE]
        tried = _counts(source, dict.fromkeys(some, TRIED), SOME)
        likely = {name: _likely(tried[name]) for name in some}
        counted = _counts(source, likely)
        unclear = {
            name: TRIED for name in some if _best(name, counted[name]).type == "text" and set(likely[name]) != set(TRIED)
        }
        counted |= _counts(source, unclear) if unclear else {}
        yield from (_best(name, counted[name]) for name in some)


def _likely(counts: Mapping[str, int]) -> tuple[str, ...]:
    """The types that fit most of some rows, and whether they are numbers; every type if there are no values."""
    if not counts[THERE]:
        return TRIED
    fitting = [one for one in sorted(TRIED, key=lambda one: -counts[one]) if _fits(counts[one], counts)]
    best = [one for one in fitting if counts[one] == counts[fitting[0]]]
    return tuple(dict.fromkeys(["number", *best, *fitting[:LIKELY]]))


def _fits(kept: int, counts: Mapping[str, int]) -> bool:
    """Whether a type that keeps so many values loses few, besides marks of missing ones."""
    return kept > 0 and kept >= (1 - LOST) * (counts[THERE] - counts[MARK])


def _counts(source: Source, tried: Mapping[str, Sequence[str]], rows: int | None = None) -> dict[str, dict[str, int]]:
    """How many values of each column each of its types reads, of all or of the first rows, in one pass."""
    only = source.only(tried).rows
    held, ways = ibis.to_sql(only if rows is None else only.limit(rows), dialect="duckdb"), dict[str, Reading]()
    for i, (name, types) in enumerate(tried.items()):
        for j, one in enumerate(types):
            ways[f"{i} {j}"] = of_text(one, quoted(name), source.longest or LONGEST)
        for guard, how in GUARDS.items():
            ways[f"{i} {guard}"] = Reading("boolean", "boolean", f"case when {how.format(quoted(name))} then true end")
    read: Any = source.engine.selected(ways, f"({held})")  # type: ignore[attr-defined]
    result = source.run(read.agg(**{key: read[key].count() for key in ways}))
    counted = {key: int(column[0].as_py()) for key, column in zip(ways, result.columns, strict=True)}
    return {
        name: {guard: counted[f"{i} {guard}"] for guard in GUARDS} | {one: counted[f"{i} {j}"] for j, one in enumerate(types)}
        for i, (name, types) in enumerate(tried.items())
    }


def _best(name: str, counts: Mapping[str, int]) -> TextColumn:
    """The first type that loses least, within a small limit."""
    values = counts[THERE]
    kept = {one: counts[one] for one in TRIED if one in counts}
    if counts[ZERO]:
        kept |= dict.fromkeys(NUMBERS, 0)
    if counts[CLOCK]:
        kept["date"] = 0
    for one in ("percent", "12,5 %"):  # signs here and there do not make a column of per cent
        if 2 * counts.get("number", 0) > values:
            kept.pop(one, None)
    best = max(kept, key=kept.__getitem__)
    if not _fits(kept[best], counts):
        return TextColumn(name, "text", values, 0)
    also = tuple(one for one in DATES[2:] if one != best and kept.get(one) == kept[best]) if best in DATES[2:] else ()
    return TextColumn(name, best, values, values - kept[best], values - counts["number"] if best in NUMBERS[1:] else 0, also)
