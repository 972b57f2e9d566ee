"""What the commands about tables take: the options of a table and of a ledger, and what is written in one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from duotone.cli.terminal import listed
from duotone.errors import DuotoneError

Table = Annotated[
    str,
    typer.Argument(
        metavar="TABLE", help="A CSV, JSON lines or Parquet file; with --table a DuckDB file, postgres://… or spark://…"
    ),
]
Unit = Annotated[str | None, typer.Option(metavar="COL", help="The column that tells persons apart; else each row is one.")]
BoundsOf = Annotated[
    list[str] | None, typer.Option(metavar="COL=LO:HI[:GRID]", help="What a column is clipped to; may be repeated.")
]
PerUnit = Annotated[str | None, typer.Option(metavar="avg|sum|min|max", help="How a person's values become one.")]
MaxGroups = Annotated[
    int | None,
    typer.Option(metavar="K", help="In how many groups a person counts at most; with --unit and groups it must be given."),
]
LedgerPlace = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="LEDGER",
        help="The file or URL of the ledger to charge; else as duotone.toml or DUOTONE_LEDGER say.",
    ),
]
NoLedger = Annotated[bool, typer.Option("--no-ledger", help="Charge none, whatever is the default.")]
Dataset = Annotated[str | None, typer.Option(metavar="NAME", help="Its name in the ledger; else the file's, or the table's.")]
Again = Annotated[bool, typer.Option("--again", help="Draw a new answer to a question asked before, and pay for it.")]
By = Annotated[str | None, typer.Option("--as", metavar="NAME", help="Who asks, for the ledger.")]
Name = Annotated[str | None, typer.Option("--table", metavar="NAME", help="The table of a database.")]
Separator = Annotated[
    str | None, typer.Option(metavar="C", help="What stands between a CSV file's fields, if its first line does not tell.")
]
Columns = Annotated[str | None, typer.Option(metavar="COL[,COL]", help="The keys of JSON lines that are columns.")]
DateFormats = Annotated[
    list[str] | None,
    typer.Option("--date-format", metavar="COL=FORMAT", help="How a text file writes dates, as %d/%m/%Y; may be repeated."),
]
Vouched = Annotated[
    bool,
    typer.Option(
        "--vouched", help="Of a view: its owner vouches that each row belongs to one person and depends on no other's."
    ),
]


def without_password(table: str) -> str:
    """The table as it was named, if that tells no secret."""
    if "://" in table and re.search("://[^/?#]*:[^/?#]*@|password=", table):
        raise DuotoneError(
            "a password on the command line can be seen by everybody on this machine: leave it out of the URL, and put it into "
            "the environment (PGPASSWORD) or a password file"
        )
    return table


FORMATS = "the format of dates is COL=FORMAT, as day=%d/%m/%Y, once for each column"


def file_options(separator: str | None, columns: str | None, formats: list[str] | None) -> dict[str, Any]:
    """How a file is read, as the options say; a tab, which is hard to type in a shell, also as \\t."""
    return {
        "separator": "\t" if separator == "\\t" else separator,
        "columns": None if columns is None else listed(columns),
        "formats": None if formats is None else named_values(formats, FORMATS),
    }


def named_values(texts: list[str], rule: str) -> Mapping[str, str]:
    """What was written as NAME=VALUE, by name."""
    values: dict[str, str] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not value or name in values:
            raise DuotoneError(f"{rule}, got {text}")
        values[name] = value
    return values


def parsed_costs(text: str) -> tuple[str, str]:
    """How bad a false no and a false yes are."""
    no, _, yes = text.partition(":")
    if not no.strip() or not yes.strip():
        raise DuotoneError(f"costs are NO:YES, how bad a false no and a false yes are, as 10:1, got {text}")
    return no.strip(), yes.strip()


def parsed_bounds(texts: list[str]) -> Mapping[str, tuple[str, ...]]:
    """Bounds as they were written, by column."""
    bounds: dict[str, tuple[str, ...]] = {}
    for text in texts:
        column, _, limits = text.rpartition("=")
        parts = tuple(part.strip() for part in limits.split(":"))
        if not column or len(parts) not in (2, 3) or column in bounds:
            raise DuotoneError(f"bounds are COL=LO:HI or COL=LO:HI:GRID, once for each column, got {text}")
        bounds[column] = parts
    return bounds
