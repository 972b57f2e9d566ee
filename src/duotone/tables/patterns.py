"""The cost of matching a pattern: from the pattern and the longest possible text alone."""

from __future__ import annotations

import math
import re

WIDE, WIDEST = 12, 1000
"""RE2's states for a character of many kinds, in bytes, and for one by its Unicode class."""
UNKNOWN = 10**9
"""For a pattern whose states are not counted: more than any question may have."""
CASELESS = re.compile(r"\(\?[a-zA-Z]*i")
UNICODE = re.compile(r"\[.*(\\[pPDWSxX0-7]|\[:\^)", re.DOTALL)
"""Items in brackets that stand for letters of all of Unicode."""
RANGE = re.compile(r"(?P<several>\[:\^?\w+:\]|\\[dsw])|(?:\\.|[^\\])(?:-(?:\\.|[^\]\\]))?", re.DOTALL)
"""An item in brackets: a class, which has up to four ranges of characters, a range, or a character."""
RANGES = 4
"""Most characters of a state: beyond, each makes a step about 3 nanoseconds longer."""
TOKEN = re.compile(
    r"(?P<unicode>\\[pP](?:\{[^}]*\}|.)|\\X)|(?P<wide>\\[DWSC]|\[\^\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\.)"
    r"|(?P<set>\[\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\])|(?P<code>\\x\{[^}]*\})|(?P<one>\\.)"
    r"|(?P<open>\((?:\?(?:P<\w+>|[a-zA-Z-]*:|(?=[a-zA-Z-]+\))))?(?!\?))|(?P<close>\))|(?P<unknown>\(\?)"
    r"|(?P<often>[*+?])|\{(?P<least>\d+)(?P<more>,(?P<most>\d*))?\}|(?P<other>.)",
    re.DOTALL,
)


def pattern_states(pattern: str) -> int:
    """A bound on the states of a regular expression in RE2: repeating a part n times multiplies its states by n.

    >>> pattern_states("a{10}b"), pattern_states("(ab|c{3}){2}"), pattern_states("[a-z]+@.{2}")
    (11, 12, 27)
    >>> pattern_states("(?P<named>a{10}b)"), pattern_states("(?i:a{10})"), pattern_states("(?'named'a{10})") == UNKNOWN
    (11, 30, True)
    >>> pattern_states("[a-z]{10}"), pattern_states("[acegikmoq]{10}"), pattern_states("[\\\\w.-]{10}")
    (10, 30, 20)
    """
    if "\\Q" in pattern:  # creates unbalanced brackets
        return UNKNOWN
    groups: list[list[int]] = [[]]
    for token in TOKEN.finditer(pattern):
        match token.lastgroup:
            case "unknown":  # another kind of group, which these rules do not cover
                return UNKNOWN
            case "open":
                groups.append([])
            case "close" if len(groups) > 1:
                inside = sum(groups.pop())
                groups[-1].append(max(1, inside))
            case "unicode":
                groups[-1].append(WIDEST)
            case "wide" | "set" if not token[0].isascii() or UNICODE.search(token[0]):
                groups[-1].append(WIDEST + _ranges(token[0]))
            case "wide":
                groups[-1].append(WIDE + _ranges(token[0]) // RANGES)
            case "set":
                groups[-1].append(1 + (_ranges(token[0]) - 1) // RANGES)
            case "code":
                groups[-1].append(4)
            case "often" if groups[-1]:  # what precedes it may still be repeated
                groups[-1][-1] += 1
            case "least" | "more" | "most" if groups[-1]:
                groups[-1][-1] *= max(1, int(token["least"]) + 1 * (token["more"] == ","), int(token["most"] or 0))
            case _:
                groups[-1].append(len(token[0].encode()) if token["other"] else 1)
    states = sum(map(sum, groups))
    return 3 * states if CASELESS.search(pattern) else states


def _ranges(token: str) -> int:
    """The most ranges of characters of a token in brackets."""
    return sum(RANGES if item["several"] else 1 for item in RANGE.finditer(token[1:-1]))


BY_STATE = 40.0
"""Nanoseconds for each state of a regular expression and each character. RE2 holds a set of states, and advances each
for a character; 10 to 27 were measured with texts that defeat its cache."""


def matched(pattern: str, size: float) -> float:
    """Nanoseconds to search a text for a regular expression: at most its states times the text's length."""
    return BY_STATE * (pattern_states(pattern) + 1) * (size + 1)


def like(pattern: str, size: float) -> float:
    """Nanoseconds to compare a text with a pattern of % and _.

    Without _, the parts between are searched one after the other. With it, DuckDB tries every position of each % for
    every position of those before it: as many as there are ways to choose that many positions.
    """
    literal = contained(len(pattern), size)
    if "_" not in pattern:
        return literal
    many = len(re.findall("%+", pattern))
    return literal + 5.0 * len(pattern) * (size + many) ** many / math.factorial(min(many, 20))


def contained(pattern: int, size: float) -> float:
    """Nanoseconds to search a text of this many characters in another: at each position, as far as they agree."""
    return (8.0 + pattern / 2) * (size + 1)
