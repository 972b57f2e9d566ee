"""The terminal: options that several commands share, and how results are printed."""

from __future__ import annotations

import contextlib
import csv
import functools
import inspect
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duotone.errors import DuotoneError
from duotone.words.sentences import printable

if TYPE_CHECKING:
    from duotone.privacy.approx_dp import ApproxDP

Epsilon = Annotated[str | None, typer.Option(metavar="E", help="Privacy budget ε: a decimal or a fraction.")]
ExpEpsilon = Annotated[str | None, typer.Option(metavar="R", help="e^ε itself, exactly, instead of ε.")]
Delta = Annotated[str, typer.Option(metavar="D", help="Privacy budget δ, in [0, 1).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
CertificateFile = Annotated[
    Path | None, typer.Option(metavar="F.json", help="Write the exact table to release from, with its proof.")
]
Draw = Annotated[Path | None, typer.Option(metavar="F.svg", help="Draw a picture (.svg, .png or .pdf).")]


def budget(epsilon: str | None, exp_epsilon: str | None, delta: str) -> ApproxDP:
    """The budget of the options."""
    from duotone.privacy.approx_dp import ApproxDP

    if (epsilon is None) == (exp_epsilon is None):
        raise DuotoneError("give --epsilon E or --exp-epsilon R (which is e^E), one of the two")
    return ApproxDP(epsilon, delta, exp_epsilon=exp_epsilon)


@dataclass(frozen=True)
class Group:
    """Options that several commands share: by name, the form and default of each; and the function that combines them,
    possibly with the results of other groups."""

    options: Mapping[str, tuple[Any, Any]]
    made: Callable[..., Any]
    needs: tuple[str, ...] = ()


PRICE = Group({"epsilon": (Epsilon, None), "exp_epsilon": (ExpEpsilon, None), "delta": (Delta, "0")}, budget)


def takes(**groups: Group) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of groups in place of its parameters: it is called with the combined values, in
    order."""

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def called(**given: Any) -> None:
            for name, group in groups.items():
                own = {key: given.pop(key) for key in group.options}
                given[name] = group.made(*(given[other] for other in group.needs), **own)
            command(**given)

        every: list[inspect.Parameter] = []
        for name, one in inspect.signature(command).parameters.items():
            own = groups[name].options if name in groups else {name: (eval(one.annotation, command.__globals__), one.default)}
            kind = inspect.Parameter.KEYWORD_ONLY
            every += [inspect.Parameter(key, kind, default=default, annotation=how) for key, (how, default) in own.items()]
        every.sort(key=lambda one: one.name != "source")  # the table comes first
        called.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in every}
        del called.__wrapped__
        return called

    return with_options


def listed(text: str) -> list[str]:
    """Names separated by commas; one that contains a comma stands in double quotes."""
    return [name.strip() for row in csv.reader([text], skipinitialspace=True) for name in row]


def say(text: object, *, line: str = "") -> None:
    """Print a safe line on standard error; nothing if standard error cannot be written."""
    with contextlib.suppress(OSError, ValueError):
        print(f"{line}{printable(text)}", file=sys.stderr)


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show on a terminal what the command does, and for how many seconds, from the first one on until the block ends.

    It says nothing of rows: time is what everybody can measure who runs the command (docs/limits.md), while how much there
    is to read, and how far the reading is, would depend on them. A thread of its own writes it, which is given nothing but
    this text, so that interrupts find levels where they would without it. Services answer without the command.
    """
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    shown = threading.Thread(target=_seconds, args=(printable(what), ended), daemon=True)
    shown.start()
    try:
        yield
    finally:
        ended.set()
        shown.join(1)  # a terminal that is stopped must not stop the command


def _seconds(what: str, ended: threading.Event) -> None:
    """Write the seconds over each other, and blanks over the last."""
    began, length = time.monotonic(), 0
    with contextlib.suppress(OSError, ValueError):
        while not ended.wait(1):
            width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
            text = f"{what}: {time.monotonic() - began:.0f} s"[1 - width :]
            length = max(length, len(text))
            print(f"\r{text}", end="", file=sys.stderr, flush=True)
        if length:
            print(f"\r{' ' * length}\r", end="", file=sys.stderr, flush=True)


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
    """A number for display: a fraction with its decimal value, if it is short."""
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


def draw_to(path: Path | None, picture: str, *of: Any) -> None:
    """Write a picture, by its name in `duotone.plotting`, if one is wanted."""
    if path is not None:
        from duotone import plotting

        wrote(plotting.save(getattr(plotting, picture)(*of), path))


def wrote(path: Path) -> None:
    """Print on standard error that a file was written."""
    say(path, line="wrote ")
