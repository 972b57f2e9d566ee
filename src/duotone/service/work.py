"""How much work a question is, by its text and what is declared alone: on one row, and in the search of its level.

Whoever may write a question may write one that takes long on some rows only, or whose level is found soon only where it is
near; then an answer that is late says which. So declared times cover the longest search, and what a question does with the
text of one row is bounded. `late` bounds what is left: see docs/service.md.
"""

from __future__ import annotations

import re
from typing import Any

from duotone.service.refused import Refused
from duotone.service.tables import Question, atoms
from duotone.tables.engines.results import Tally
from duotone.tables.sql.arithmetic import Aggregate, Arithmetic
from duotone.tables.sql.comparison import CountsComparison, MeanDifference, VarianceThreshold
from duotone.tables.sql.condition import Formula, Like, Operand, parts_of

BY_PAIR = {False: 1e-5, True: 5e-5}
"""Seconds for each two levels of a difference or a variance; where people change, the second. Twice what was measured."""
BY_TABLE = {False: 4e-8, True: 8e-8}
"""Seconds for each step of an arithmetic of counts, of each table that its search looks at."""
LONGEST = 3600.0
"""Seconds that a search may take."""
MOST = 5000
"""Steps for each character that is stored in a row, at most."""
WIDE, WIDEST = 10, 1000
"""States of a character of many kinds, and of one by its class in Unicode."""
TOKEN = re.compile(
    r"(?P<unicode>\\[pP](?:\{[^}]*\}|.))|(?P<wide>\\[DWS]|\[\^\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\.)"
    r"|(?P<one>\\.|\[\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\])|(?P<open>\((?:\?[^):]*:?)?)|(?P<close>\))"
    r"|\{(?P<least>\d+)(?P<more>,(?P<most>\d*))?\}|(?P<other>.)",
    re.DOTALL,
)


def require_little(question: Question, rows: int) -> None:
    """Refuse a question that could take very long on a single row, or to search."""
    if row_steps(question) > MOST:
        raise Refused(
            "bad question",
            "what this question does with the text of each row could take very long, and how long would depend on rows: "
            "shorten its patterns and their repetitions, and the texts that it puts together",
        )
    if search_seconds(question, rows) > LONGEST:
        raise Refused(
            "bad question",
            "to search how near the answer is could take more than an hour: list the groups, raise epsilon, or ask about "
            "fewer counts",
        )


def row_steps(question: Question) -> float:
    """About how many steps an engine takes for each character that is stored in a row."""
    steps = 0.0
    for part in parts_of(question.asked) if question.asked is not None else ():
        match part:
            case Like():
                states = pattern_states(part.pattern) if part.how == "matches" else len(part.pattern)
                steps += growth(part.operand) * max(1, states)
            case Operand() if part.made is not None:
                steps += growth(part)
            case Operand() | Formula():
                steps += 1
    return steps


def growth(part: Any) -> float:
    """How many times as long as what is stored a text can become, at most; a constant's hundred characters count as a text."""
    if isinstance(part, str):
        return len(part) / 100
    if not isinstance(part, Operand) or part.made is None:
        return 1
    made, inner = part.made, [growth(each) for each in part.made.parts]
    match made.function:
        case "replace":
            old, new = str(made.parts[1]), str(made.parts[2])
            return max(1, inner[0]) * max(1, len(new) / len(old))
        case "join" | "concat" | "separated" | "pieces":
            return sum(inner)
    return max(inner, default=1)


def pattern_states(pattern: str) -> int:
    """How many states a regular expression has at most, as RE2 has it: what is repeated so often has so many.

    >>> pattern_states("a{10}b"), pattern_states("(ab|c{3}){2}"), pattern_states("[a-z]+@.{2}")
    (11, 12, 23)
    """
    if "\\Q" in pattern:  # a way to write brackets that are none
        return MOST + 1
    groups: list[list[int]] = [[]]
    for token in TOKEN.finditer(pattern):
        match token.lastgroup:
            case "open":
                groups.append([])
            case "close" if len(groups) > 1:
                inside = sum(groups.pop())
                groups[-1].append(max(1, inside))
            case "unicode":
                groups[-1].append(WIDEST)
            case "wide":
                groups[-1].append(WIDE)
            case "least" | "more" | "most" if groups[-1]:
                groups[-1][-1] *= max(1, int(token["least"]) + 1 * (token["more"] == ","), int(token["most"] or 0))
            case _:
                groups[-1].append(1)
    return sum(map(sum, groups))


def search_seconds(question: Question, rows: int) -> float:
    """How long it takes at most to search for the level of an answer: of every group, where there are some."""
    if question.compiled is None:
        return 0.0
    groups = 1 if not question.by else rows if question.listed is None else len(question.listed)
    reach, replaced, seconds = question.reach, question.declared.replaced, 0.0
    for atom, compared in zip(atoms(question.compiled.tree), question.compiled.comparisons, strict=True):
        match atom:
            case MeanDifference() | VarianceThreshold():
                seconds += BY_PAIR[replaced] * reach**2
            case CountsComparison():
                cells = sum(len(asked.values) for asked in compared.requests.values() if isinstance(asked, Tally))
                steps = sum(isinstance(part, Aggregate | Arithmetic) for part in parts_of(atom.expression))
                seconds += BY_TABLE[replaced] * steps * float(2 * reach + 1) ** cells
    return groups * seconds
