"""Asking: the levels of every group of a world, or of each table alone, through the path that is released."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from duotone import ApproxDP, DuotoneError, prepare
from duotone.tables.check_question import prepare_groups
from duotone.tables.engines import Source
from duotone.tables.prepared import Prepared
from hostile.model import Value
from hostile.questions import Question, Row

PRIVACY = ApproxDP(1, "1e-6")


@dataclass
class Tally:
    """How many pairs were looked at, and what was wrong, in words that name the case."""

    pairs: int = 0
    tables: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take over another's figures."""
        self.pairs, self.tables = self.pairs + other.pairs, self.tables + other.tables
        self.refused += other.refused
        self.wrong += other.wrong

    def line(self) -> str:
        """The figures in one line."""
        return f"{self.pairs} pairs, {len(self.wrong)} mismatches"


class Refused(str):
    """The sentence with which a question was refused before any row was read."""


def levels(source: Source, question: Question, by: str | None, **more: Any) -> Mapping[Any, int] | str:
    """The level of each group, or the sentence with which the question was refused, or failed."""
    text = question.text if by is None else f"select {by}, {question.text} group by {by}"
    most: dict[str, Any] = {"max_groups": 1} if by is not None and "unit" in question.options else {}
    try:
        prepared = prepare(source, text, PRIVACY, **question.options, **most, **more)
    except DuotoneError as error:
        return Refused(error)
    try:
        keys, _, found = prepared._levels()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return {(key[0] if by is not None else None): int(level) for key, level in zip(keys, found.tolist(), strict=True)}


def wrong_levels(
    found: Mapping[Any, int],
    groups: Mapping[Any, Sequence[Row]],
    question: Question,
    edges: Sequence[tuple[Any, Any]],
    nobody: bool = False,
) -> list[str]:
    """What is wrong with the levels of groups, by the truth of each and by their neighbours."""
    wrong = []
    expected = {key for key, rows in groups.items() if rows or nobody}
    if found.keys() != expected:
        return [f"groups {sorted(found.keys() ^ expected)[:3]} should not be there, or should"]
    for key, level in found.items():
        truth = question.truth(groups[key])
        if truth != (level >= 0):
            wrong.append(f"level {level} of {_shown(groups[key])}, whose answer is {'yes' if truth else 'no'}")
        elif question.level is not None and not _agree(question.level(groups[key]), level):
            wrong.append(f"level {level} of {_shown(groups[key])}, which should be {question.level(groups[key])}")
    for a, b in edges:
        if a in found and b in found and abs(found[a] - found[b]) > 1:
            wrong.append(f"levels {found[a]} and {found[b]} of {_shown(groups[a])} and {_shown(groups[b])}")
    return wrong


def _agree(exact: int, level: int) -> bool:
    """Levels are cut where the mechanism no longer tells them apart."""
    return exact == level or (level >= 12 and exact >= level) or (level <= -12 and exact <= level)


def _shown(rows: Sequence[Row]) -> str:
    text = str([(r.value if not isinstance(r.value, bytes) else r.value[:20], r.side, r.person % 64) for r in rows[:9]])
    return text if len(rows) <= 9 else f"{text} and {len(rows) - 9} more"


def keys(source: Source, name: str, kind: str, values: Sequence[Value], written: Callable[[str, Value], Any]) -> list[str]:
    """What is wrong where a column's values are keys of groups or names of people; nothing if it cannot be."""
    there = Counter(v for v in values if v is not None)
    if kind not in ("integer", "text", "boolean", "date"):
        return [] if all(isinstance(found, str) for found in _keyed(source, name)) else [f"a {kind} column is taken as a key"]
    groups, counted, people = _keyed(source, name)
    if isinstance(groups, str) or isinstance(counted, str) or isinstance(people, str):
        return [str((groups, counted, people))]
    expected = {written(kind, v): n for v, n in there.items() if written(kind, v) is not None}
    wrong = [*_different("groups", groups, expected, 1), *_different("counts", counted, expected, 3)]
    if not _agree(len(expected) - 3, people[()]):
        wrong.append(f"{len(expected)} people have level {people[()]}")
    return wrong


def _different(what: str, found: Mapping[Any, int], expected: Mapping[Any, int], less: int) -> list[str]:
    """Where levels of keys are not by so many less than their people."""
    keys = [key for key in found.keys() | expected.keys() if key not in found or key not in expected]
    keys += [key for key in found.keys() & expected.keys() if not _agree(expected[key] - less, found[key])]
    return [f"{what} { ({str(key)[:60]: (found.get(key), expected.get(key)) for key in keys}) }"] if keys else []


def _keyed(source: Source, name: str) -> list[Mapping[Any, int] | str]:
    """Levels of the groups, of a count in each, and of a count of people."""
    found: list[Mapping[Any, int] | str] = []
    asked: list[Callable[[], Prepared]] = [
        lambda: prepare_groups(source, [name], PRIVACY),
        lambda: prepare(source, f"select {name}, count(*) > 2 group by {name}", PRIVACY),
        lambda: prepare(source, f"count(distinct {name}) > 2", PRIVACY, unit=name),
    ]
    for prepared in asked:
        try:
            named, _, levels = prepared()._levels()
            found.append({key[0] if key else (): int(level) for key, level in zip(named, levels.tolist(), strict=True)})
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
    return found


REFUSED = (
    "{} = 5",
    "{} = 'a'",
    "{}",
    "{} + 1 > 2",
    "{} > nothing",
    "{} = true",
    "{} = date '2000-01-01'",
    "{} like 'a'",
    "length({}) > 1",
)


def refusals(source: Source, name: str) -> list[str]:
    """What is said to questions that may not fit the column; levels are not looked at."""
    said = []
    for text in (
        *(f"count(*) filter (where {shape.format(name)}) > 2" for shape in REFUSED),
        f"sum({name}) > 1",
        f"mode({name}) = 5",
    ):
        try:
            prepare(source, text, PRIVACY)
            said.append("")
        except DuotoneError as error:
            said.append(str(error))
    return said
