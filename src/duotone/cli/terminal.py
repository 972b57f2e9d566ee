"""The terminal: options that several commands share, and how results are printed."""

from __future__ import annotations

import contextlib
import csv
import json
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duotone.errors import DuotoneError

if TYPE_CHECKING:
    from duotone.privacy.approx_dp import ApproxDP

UNPRINTABLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories: control, format (direction marks, invisible joiners), surrogate, private, unassigned, separators."""

Epsilon = Annotated[str | None, typer.Option(metavar="E", help="Privacy budget ε: a decimal or a fraction.")]
ExpEpsilon = Annotated[str | None, typer.Option(metavar="R", help="e^ε itself, exactly, instead of ε.")]
Delta = Annotated[str, typer.Option(metavar="D", help="Privacy budget δ, in [0, 1).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
CertificateFile = Annotated[
    Path | None, typer.Option(metavar="F.json", help="Write the exact table to release from, with its proof.")
]
Draw = Annotated[Path | None, typer.Option(metavar="F.svg", help="Draw a picture (.svg, .png or .pdf).")]


def budget(epsilon: str | None, exp_epsilon: str | None, delta: str) -> ApproxDP:
    """The budget as it was given."""
    from duotone.privacy.approx_dp import ApproxDP

    if (epsilon is None) == (exp_epsilon is None):
        raise DuotoneError("give --epsilon E or --exp-epsilon R (which is e^E), one of the two")
    return ApproxDP(epsilon, delta, exp_epsilon=exp_epsilon)


def listed(text: str) -> list[str]:
    """Names between commas; one with a comma in it stands in double quotes."""
    return [name.strip() for row in csv.reader([text], skipinitialspace=True) for name in row]


def printable(text: object) -> str:
    """Text as it may be shown: what would steer a terminal, or turn or break a line, is written out.

    Guarantee: no control character (C0, DEL, C1), no line or paragraph separator and no mark that changes the direction of
    text is in it, so that names and values from data cannot act on the screen that shows them.

    >>> printable("a\\x1b[31mb\\n\\u202ec é ε")
    'a\\\\x1b[31mb\\\\n\\\\u202ec é ε'
    """
    return "".join(_escaped(c) if unicodedata.category(c) in UNPRINTABLE else c for c in str(text))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def say(text: object, *, line: str = "") -> None:
    """A line on standard error that is safe to show; nothing where standard error cannot be written."""
    with contextlib.suppress(OSError, ValueError):
        print(f"{line}{printable(text)}", file=sys.stderr)


def print_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows under their headings, as `printable` text."""
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    table = Table(*(Column(Text(printable(name))) for name in head))
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    Console(width=None if sys.stdout.isatty() else 110).print(table)


def brief(value: str | float | Fraction) -> str:
    """A number to read: a fraction with its decimal value, if it is short."""
    from duotone.privacy.numbers import number, show

    exact = number(value)
    decimal = f"{float(exact):.6g}"
    if isinstance(exact, float) or exact.denominator == 1:
        return decimal
    return f"{show(exact)} = {decimal}" if exact.denominator < 10**6 else f"≈ {decimal}"


def write_json(path: Path, data: dict[str, Any] | Iterator[str]) -> None:
    """Write one JSON object, or its text in pieces, to a file."""
    pieces = iter([json.dumps(data)]) if isinstance(data, dict) else data
    try:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
            file.write("\n")
    except OSError as error:
        raise DuotoneError(f"cannot write {path}: {error.strerror}") from None
    wrote(path)


def wrote(path: Path) -> None:
    """Say on standard error that a file is there."""
    say(path, line="wrote ")
