"""Small pages for notebooks: a table, with a bar for each probability."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

WIDTH, HEIGHT = 120, 10


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, before: str = "", after: Iterable[str] = ()) -> str:
    """A table with a line of text above it and some below. Cells must be escaped already: see `cell` and `bar`."""
    top = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td style=text-align:left>{one}</td>' for one in row)}</tr>" for row in rows)
    notes = "".join(f"<div><small>{escape(note)}</small></div>" for note in after)
    return f"<div><div>{escape(before)}</div><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{notes}</div>"


def cell(value: object) -> str:
    """Any value as text."""
    return escape(str(value))


def bar(probability: float) -> str:
    """A probability as a number beside a bar, which is full at 1."""
    drawn = f"<rect width='{probability * WIDTH:.1f}' height='{HEIGHT}' fill='#0072B2'/>"
    return f"<svg width='{WIDTH}' height='{HEIGHT}' role='img'>{drawn}</svg> {probability:.3g}"
