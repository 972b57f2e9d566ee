"""Small pages for notebooks: a table, with a bar for each probability; and tables in text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import zip_longest
from textwrap import wrap

WIDTH, HEIGHT = 120, 10
LONGEST = 60
"""Most characters of a line in a cell of text."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, before: str = "", after: Iterable[str] = ()) -> str:
    """A table with a line of text above it and some below. Cells must be escaped already: see `cell` and `bar`."""
    top = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td style=text-align:left>{one}</td>' for one in row)}</tr>" for row in rows)
    notes = "".join(f"<div><small>{escape(note)}</small></div>" for note in after)
    return f"<div><div>{escape(before)}</div><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{notes}</div>"


def aligned(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The same in text: columns stand below each other, and a cell of several lines takes several.

    >>> print(aligned(("town", "answer"), [("Ely", "yes"), ("Bath", "no")]))
    town  answer
    Ely   yes
    Bath  no
    """
    lines = [line for row in (head, *rows) for line in zip_longest(*map(_wrapped, row), fillvalue="")]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _wrapped(text: str) -> list[str]:
    return [part for line in text.split("\n") for part in wrap(line, LONGEST) or [""]]


def cell(value: object) -> str:
    """Any value as text."""
    return escape(str(value))


def bar(probability: float) -> str:
    """A probability as a number beside a bar, which is full at 1."""
    drawn = f"<rect width='{probability * WIDTH:.1f}' height='{HEIGHT}' fill='#0072B2'/>"
    return f"<svg width='{WIDTH}' height='{HEIGHT}' role='img'>{drawn}</svg> {probability:.3g}"
