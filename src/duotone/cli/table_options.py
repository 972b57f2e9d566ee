"""What the commands about tables take: the options of a table and of a ledger, and the dataset that they make."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duotone.cli.terminal import listed
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
Asker = Annotated[str | None, typer.Option("--asker", metavar="NAME", help="Who asks, for the ledger.")]
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


FIRST = ("epsilon", "exp_epsilon", "delta")
"""What stands before the options of a table, where a command has it."""


def declaring(*keys: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command a table, and the options of some keys: it is called with the `Dataset` that they make."""

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def called(source: str, **options: Any) -> None:
            command(_dataset_of(source, {key: options.pop(key) for key in keys}), **options)

        _, *written = inspect.signature(command).parameters.values()
        own = [one.replace(annotation=eval(one.annotation, command.__globals__)) for one in written]
        kind = inspect.Parameter.KEYWORD_ONLY
        declared = [inspect.Parameter(key, kind, default=_nothing(key), annotation=_option(key)) for key in keys]
        needed = [one for one in own if one.default is inspect.Parameter.empty]
        first = [one for one in own if one.name in FIRST]
        others = [one for one in own if one not in (*needed, *first)]
        source = inspect.Parameter("source", kind, annotation=Table)
        every = [one.replace(kind=kind) for one in (source, *needed, *first, *declared, *others)]
        called.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in every}
        del called.__wrapped__
        return called

    return with_options


def _option(key: str) -> Any:
    kind, (value, said), flag = KINDS.get(key, str), OPTIONS[key], f"--{key.replace('_', '-')}"
    return Annotated[kind if kind is bool else kind | None, typer.Option(flag, metavar=value, help=said)]


def _nothing(key: str) -> Any:
    return False if KINDS.get(key) is bool else None


def _dataset_of(table: str, options: Mapping[str, Any]) -> Declared:
    """The dataset of a table with these options, or of a file with those that it leaves open."""
    from duotone.model.dataset import Dataset

    own = {key: _read(key, value) for key, value in options.items() if value not in (None, False, [])}
    if not table.lower().endswith(".toml"):
        return Dataset(without_password(table), **own)
    loaded = Dataset.load(table)
    if twice := [f"--{key.replace('_', '-')}" for key in loaded.declared(own)]:
        raise DuotoneError(f"{table} declares that already: leave {' and '.join(twice)} out, or change it there")
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
