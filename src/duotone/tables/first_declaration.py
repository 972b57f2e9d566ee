"""A first declaration of a table, for its owner: what its columns hold, from the rows; NOT private.

What rows must not decide stays a question: who a person is, how much one counts, between which limits values lie.
Bounds and limits taken from the rows reveal something about their people, and no noise covers that.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from duotone.model.dataset import OPENING, Dataset
from duotone.tables.declared import open_conforming

TYPES = ("number", "date", "time", "yes/no")
FORMATS = (
    "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y%m%d", "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d %B %Y",
    "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%d.%m.%Y %H:%M:%S",
)  # fmt: skip
"""Formats of dates and times that are tried."""
LOST = 0.05
"""A column holds text, unless another type fits all but this share of its values."""
AT_ONCE = 50
"""Columns per query."""
HEAD = """\
# A first declaration of {source}, for its owner alone: duotone declare has made it from the rows, and it is NOT private.
# Check each line, answer the questions from what everybody may know, and take the # away before what you have answered.

source = {place}
"""
QUESTIONS = """
# Who is a person? The column that identifies persons; without it each row is a person. One of: {columns}
# unit =
# How many rows of a person count at most? Further rows are left out.
# max_rows =
# In how many groups does a person count at most? The price of a grouped question is divided by it.
# max_groups =
# Between which limits do values lie? Use public knowledge, never the rows: they would reveal something about people.
{bounds}
# Which groups exist, if that is public? Otherwise the shown groups are selected privately.
# groups = {{ COLUMN = ["…", "…"] }}
# Does a neighbouring table have one person more or less, or another one in someone's place ("replace")?
# neighbours = "add-remove"
# Where are answers charged, and what may they cost together?
# ledger = "budget.ledger"
# budget = {{ epsilon = 3, delta = "1e-6" }}
"""


@dataclass(frozen=True)
class Guess:
    """What a column of a text file seems to hold: a type or a format, and how many of its values it would lose."""

    column: str
    type: str
    format: str | None
    values: int
    lost: int
    also: tuple[str, ...] = ()
    """Other formats that lose no more."""

    @property
    def remark(self) -> str:
        """What the choice loses."""
        if not self.values:
            return "no value is there"
        none = f"all {self.values:,} values fit"
        lost = f"{self.lost:,} of {self.values:,} values ({self.lost / self.values:.2%}) do not fit: they count as missing"
        other = f"; {' and '.join(self.also)} fit as well: which is it?" if self.also else ""
        return (lost if self.lost else none) + other


def first_declaration(declared: Dataset, folder: Path) -> str:
    """The text of a file for `Dataset.load`, in a folder. NOT private: for the table's owner only."""
    with open_conforming(declared) as source:
        kinds = dict(source.columns)
    names = [name for name, kind in kinds.items() if kind == "untyped"]
    guesses = list(_guesses(declared, names))
    numbers = [name for name, kind in kinds.items() if kind in ("integer", "float", "decimal")]
    numbers += [guess.column for guess in guesses if guess.type == "number"]
    lines = [HEAD.format(source=Path(str(declared.source)).name, place=_text(_place(declared.source, folder)))]
    lines += [f"{key} = {_value(value)}\n" for key in OPENING if (value := getattr(declared, key)) and key not in TABLES]
    bounds = ", ".join(f"{_key(name)} = [LOWEST, HIGHEST]" for name in numbers) or "COLUMN = [LOWEST, HIGHEST]"
    lines.append(QUESTIONS.format(columns=", ".join(map(_commented, kinds)), bounds=f"# bounds = {{ {_commented(bounds)} }}"))
    types = {guess.column: (guess.type, guess.remark) for guess in guesses if guess.format is None}
    formats = {guess.column: (guess.format, guess.remark) for guess in guesses if guess.format is not None}
    for heading, table in (("types", types), ("formats", formats)):
        if table:
            lines.append(f"\n[{heading}]\n")
            lines += [f"{_key(name)} = {_text(str(one))}  # {remark}\n" for name, (one, remark) in table.items()]
    return "".join(lines)


TABLES = ("types", "formats")
"""Keys with a heading of their own."""


def _guesses(declared: Dataset, names: list[str]) -> Iterator[Guess]:
    """What each column seems to hold: the reading that loses least, within a small limit."""
    there = _present(declared, {}, names)
    colons, zeros = (_present(declared, {}, names, pattern) for pattern in (":", r"^\s*0[0-9]"))
    read = {one: _present(declared, {"types": dict.fromkeys(names, one)}, names) for one in TYPES}
    dated = {one: _present(declared, {"formats": dict.fromkeys(names, one)}, names) for one in FORMATS}
    for name in names:
        values = there[name]
        kept = {one: counts[name] for one, counts in read.items()}
        if zeros[name]:  # as in 01234: a number would lose them
            kept["number"] = 0
        if colons[name]:  # a date would lose the time
            kept["date"] = 0
        kept |= {one: counts[name] for one, counts in dated.items()}
        best = max(kept, key=kept.__getitem__)
        if not values or values - kept[best] > LOST * values:
            yield Guess(name, "text", None, values, 0)
            continue
        also = tuple(one for one in FORMATS if one != best and kept[one] == kept[best]) if best in FORMATS else ()
        formatted = best if best in FORMATS else None
        yield Guess(name, "date" if formatted else best, formatted, values, values - kept[best], also)


def _present(declared: Dataset, keys: Mapping[str, Any], names: list[str], pattern: str | None = None) -> dict[str, int]:
    """How many values of each column are not null, read as the keys say; with a pattern, how many texts match it."""
    counts: dict[str, int] = {}
    with open_conforming(replace(declared, **keys)) as source:
        for start in range(0, len(names), AT_ONCE):
            rows = source.only(names[start : start + AT_ONCE]).rows
            held = {name: rows[name] for name in names[start : start + AT_ONCE]}
            some = [one.count() if pattern is None else one.re_search(pattern).sum() for one in held.values()]
            result = source.run(rows.agg(**{f"c{i}": count for i, count in enumerate(some)}))
            counts |= {name: int(count[0].as_py() or 0) for name, count in zip(held, result.columns, strict=True)}
    return counts


def _place(source: Any, folder: Path) -> str:
    """Where the table is, relative to a folder."""
    text = str(source)
    return text if "://" in text else Path(os.path.relpath(text, folder)).as_posix()


def _key(name: str) -> str:
    """A name as a key in TOML."""
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    """A text in TOML, with any characters."""
    return json.dumps(text, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    return "true" if value is True else _text(value)


def _commented(name: str) -> str:
    """A name in a comment: on one line."""
    return "".join(c if c.isprintable() else "?" for c in name)
