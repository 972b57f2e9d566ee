"""What a shell offers after <TAB> (`duotone --install-completion`): words of options, columns of the table, datasets.

It must be there at once, and may never fail: words need no library, columns are those of a file's first line or a Parquet
file's schema, never of its rows, and what cannot be read offers nothing.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TextIO

import typer

from duotone.errors import DuotoneError

Offer = Callable[[typer.Context, str], list[str]]
"""What is offered for a command's options so far and the beginning of a word."""
LONGEST = 2**16
"""Characters of a first line that are read."""
PATIENCE = 0.5
"""Seconds for a ledger that others are writing to."""


def words(*every: str) -> Offer:
    """One of some words."""

    def offered(_: typer.Context, incomplete: str) -> list[str]:
        return _starting(every, incomplete)

    return offered


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """A column of the table."""
    return _starting(_columns(ctx), incomplete)


def several_columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Columns with commas between them, each once."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _starting(_columns(ctx), last) if name not in before.split(",")]


def column_values(ctx: typer.Context, incomplete: str) -> list[str]:
    """A column and the sign after which its value is written."""
    return _starting((f"{name}=" for name in _columns(ctx)), incomplete)


def column_types(ctx: typer.Context, incomplete: str) -> list[str]:
    """A column and its type."""
    from duotone.model.text_types import TYPES

    name, equal, kind = incomplete.rpartition("=")
    return [f"{name}={one}" for one in _starting(TYPES, kind)] if equal else column_values(ctx, incomplete)


def datasets(ctx: typer.Context, incomplete: str) -> list[str]:
    """A dataset of the ledger that is named, or of the table's default one. A ledger that is not there is not made."""
    from duotone.ledger.ledger import open_ledger
    from duotone.tables.billing import default_ledger

    with contextlib.suppress(DuotoneError, OSError):
        place = _first(ctx, "place") if "place" in ctx.params else ctx.params.get("ledger")
        if place is None and "source" in ctx.params and (default := default_ledger(_first(ctx, "source"))) is not None:
            place = default.place
        if place is not None and Path(place).is_file():
            with open_ledger(place, wait=PATIENCE) as ledger:
                return _starting(ledger.datasets(), incomplete)
    return []


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _first(ctx: typer.Context, argument: str) -> str | None:
    """The first argument on the line; while an option lacks its value, arguments cannot be distinguished yet."""
    return ctx.params.get(argument) or next(iter(ctx.args), None)


def _columns(ctx: typer.Context) -> list[str]:
    """The columns of the table that is already on the line, by its file alone."""
    path = Path(_first(ctx, "source") or "")
    with contextlib.suppress(Exception):  # of a file in any state; the command itself will say what is wrong
        if path.suffix.lower() == ".toml":
            import tomllib

            path = path.parent / tomllib.loads(path.read_text(encoding="utf-8"))["source"]
        if path.suffix.lower() == ".parquet":
            import pyarrow.parquet as parquet

            return list(parquet.read_schema(path).names)
        if {".csv", ".tsv", ".txt"}.intersection(suffix.lower() for suffix in path.suffixes):
            opened: Any = gzip.open if path.suffix.lower() == ".gz" else open
            with opened(path, "rt", encoding="utf-8-sig") as file:
                return _first_line(file)
    return []


def _first_line(file: TextIO) -> list[str]:
    line = file.readline(LONGEST)
    separator = max(",;\t|", key=line.count)
    return next(csv.reader([line.rstrip("\r\n")], delimiter=separator), [])
