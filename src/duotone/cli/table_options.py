"""What the commands about tables take: the options of a table, and the dataset that they make."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duotone.cli.terminal import Group, listed
from duotone.errors import DuotoneError

if TYPE_CHECKING:
    from duotone.model.dataset import Dataset as Declared

Table = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A CSV, JSON lines or Parquet file; with --table a DuckDB file, postgres://… or spark://…; "
        "or a DATASET.toml, which says what else there is to say.",
    ),
]
NAMED = "NAME=FILE"
OPTIONS = {
    "unit": ("COL", "The column that tells persons apart; else each row is one."),
    "bounds": ("COL=LO:HI[:GRID]", "What a column is clipped to; may be repeated."),
    "neighbours": ("add-remove|replace", "How neighbouring tables differ; else add-remove."),
    "max_rows": ("M", "As how many rows a person counts at most."),
    "per_unit": ("avg|sum|min|max", "How a person's values become one."),
    "groups": ("F.csv", "The public list of groups; else they are selected privately."),
    "max_groups": ("K", "In how many groups a person counts at most; with --unit and groups it must be given."),
    "table": ("NAME", "The table of a database."),
    "vouched": (None, "Of a view: its owner vouches that each row belongs to one person and depends on no other's."),
    "types": ("COL=TYPE", "What a column of a text file holds: number, date, time, yes/no, text; may be repeated."),
    "formats": ("COL=FORMAT", "How a text file writes dates, as %d/%m/%Y; may be repeated."),
    "separator": ("C", "What stands between a CSV file's fields, if its first line does not tell."),
    "json_columns": ("COL[,COL]", "The keys of JSON lines that are columns."),
    "columns": ("COL[,COL]", "The columns that may be used, besides the unit; else all."),
    "longest_text": ("N", "How many characters of a stored text are read; else 10,000."),
    "public": (NAMED, "A file that all may know, which the question may join; may be repeated."),
    "also": (NAMED, "A further private file, or table of the database, about the same persons; may be repeated."),
}
"""An option for each key of a `Dataset`, by its name: how its value is written, and what it says."""
REPEATED = ("bounds", "types", "formats", "public", "also")
KINDS: Mapping[str, Any] = {
    **dict.fromkeys(REPEATED, list[str]), **dict.fromkeys(("max_rows", "max_groups", "longest_text"), int),
    "groups": Path, "vouched": bool,
}  # fmt: skip
"""What the value of an option is, if not a text."""
OPENING = ("unit", "table", "vouched", "types", "formats", "separator", "json_columns", "columns", "longest_text")
"""What says how a table is opened, and by whom its rows are."""
RULES = {
    "types": "types are COL=TYPE, as amount=number, once for each column",
    "formats": "the format of dates is COL=FORMAT, as day=%d/%m/%Y, once for each column",
    "public": "public tables are NAME=FILE, each once",
    "also": "further private tables are NAME=FILE, each once",
}


def table(*keys: str) -> Group:
    """A table, and the options of some keys: a `Dataset` is made of them."""
    return Group({"source": (Table, inspect.Parameter.empty)} | {key: _option(key) for key in keys}, _dataset_of)


def _option(key: str) -> tuple[Any, Any]:
    kind, (value, said), flag = KINDS.get(key, str), OPTIONS[key], f"--{key.replace('_', '-')}"
    option = typer.Option(flag, metavar=value, help=said)
    return (Annotated[bool, option], False) if kind is bool else (Annotated[kind | None, option], None)


def _dataset_of(source: str, **options: Any) -> Declared:
    """The dataset of a table with these options, or of a file with those that it leaves open."""
    from duotone.model.dataset import Dataset

    own = {key: _read(key, value) for key, value in options.items() if value not in (None, False, [])}
    if not source.lower().endswith(".toml"):
        return Dataset(without_password(source), **own)
    loaded = Dataset.load(source)
    if twice := [f"--{key.replace('_', '-')}" for key in loaded.declared(own)]:
        raise DuotoneError(f"{source} declares that already: leave {' and '.join(twice)} out, or change it there")
    return loaded.further(**own)


def _read(key: str, value: Any) -> Any:
    """What is written as an option, as a dataset has it."""
    match key:
        case "bounds":
            return parsed_bounds(value)
        case "json_columns" | "columns":
            return listed(value)
        case _ if key in RULES:
            return named_values(value, RULES[key])
    return value


def without_password(table: str) -> str:
    """The table as it was named, if that tells no secret."""
    if "://" in table and re.search("://[^/?#]*:[^/?#]*@|password=", table):
        raise DuotoneError(
            "a password on the command line can be seen by everybody on this machine: leave it out of the URL, and put it into "
            "the environment (PGPASSWORD) or a password file"
        )
    return table


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
