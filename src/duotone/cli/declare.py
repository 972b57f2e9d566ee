"""The commands for a table's owner, who may look at its rows: declare, inspect."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from duotone.cli.complete import several_columns
from duotone.cli.tables import OPENING, table
from duotone.cli.terminal import AsJson, listed, print_table, say, takes, waiting, wrote
from duotone.errors import DuotoneError
from duotone.words.sentences import printable

if TYPE_CHECKING:
    from duotone.model.dataset import Dataset as Declared
    from duotone.tables.inspection import ClippedValues, RowsPerPerson


@takes(declared=table("table", "separator", "json_columns", "vouched"))
def declare(
    declared: Declared,
    out: Annotated[Path | None, typer.Option(metavar="F.toml", help="The file to write; else standard output.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a first DATASET.toml for a table, from its rows, with questions for its owner. NOT PRIVATE: for the table's
    owner only."""
    from duotone.tables.first_declaration import first_declaration

    if out is None and force:
        raise DuotoneError("--force is for a file: name it by --out")
    if out is not None and out.exists() and not force:
        raise DuotoneError(f"{out} is there already: name another file, or write over it with --force")
    with waiting(f"reading {declared.source}"):
        text = first_declaration(declared, Path.cwd() if out is None else out.absolute().parent)
    say(
        "NOT PRIVATE, for the table's owner only: types are by the rows; answer the rest from public knowledge",
        line="duotone: ",
    )
    if out is None:
        sys.stdout.write(text)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DuotoneError(f"{out} cannot be written: {error.strerror}") from None
    wrote(out)


WARNING = "NOT PRIVATE: for the table's owner only; computed from the rows without noise, and charged to no ledger"


@takes(declared=table(*OPENING, "bounds", "per_unit"))
def inspect(
    declared: Declared,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COL[,COL]",
            help="The columns to group by: shows in how many groups people are.",
            autocompletion=several_columns,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """How much bounds, a grid and a limit on a person's rows would clip; for a text file alone, what its columns can be
    read as. NOT PRIVATE: for the table's owner only."""
    from duotone.tables.inspection import TEXTS, as_document, inspect_clipping

    with waiting(f"reading {declared.source}"):
        seen = inspect_clipping(declared, by=None if by is None else listed(by))
    if as_json:
        print(json.dumps({"warning": WARNING, **as_document(seen)}))
        return
    print(WARNING)
    if seen.rows is not None:
        _print_rows(seen.rows)
    if seen.groups is not None:
        print(printable(seen.groups.sentence))
        _print_above("max_groups", "groups", seen.groups.above, seen.groups.people, None)
    for values in seen.values:
        _print_values(values, declared.unit, declared.per_unit)
    if seen.types:
        rows = [(one.column, one.type, str(one.values), str(one.unread)) for one in seen.types]
        print_table(("column", "type", "values", "texts that do not fit: null"), rows)
    if seen.texts:
        print_table(TEXTS, [(one.column, str(one.values), one.type, str(one.lost)) for one in seen.texts])


def _print_rows(seen: RowsPerPerson) -> None:
    print(seen.sentence)
    if seen.people:
        print_table(("of people", "have at most this many rows"), [(_share(q), str(n)) for q, n in seen.quantiles.items()])
    _print_above("max_rows", "rows", seen.above, seen.people, seen.rows)


def _print_above(limit: str, what: str, above: Mapping[int, tuple[int, int]], everybody: int, total: int | None) -> None:
    """For some limits, print how many exceed them, and how much is then not counted."""
    if above:
        rows = [
            (str(most), _of(people, everybody), str(lost) if total is None else _of(lost, total))
            for most, (people, lost) in above.items()
        ]
        print_table((limit, f"people with more {what}", f"{what} that do not count"), rows)


def _print_values(seen: ClippedValues, unit: str | None, per_unit: str | None) -> None:
    from duotone.privacy.numbers import show

    print(f"{printable(seen.column)} in [{show(seen.low)}, {show(seen.high)}] in steps of {show(seen.step)}")
    rows = [("values", str(seen.values))]
    rows += [(what, _of(many, seen.values)) for what, many in (("below", seen.below), ("above", seen.above))]
    rows.append(("rounded", _of(seen.rounded, seen.values)))
    if seen.mean is not None and seen.mean_after is not None:
        rows += [("mean before", f"{seen.mean:.6g}"), ("mean after", f"{seen.mean_after:.6g}")]
    if unit is not None and per_unit is not None:
        rows += [("people with several values", str(seen.several)), ("people whose values differ", str(seen.differing))]
        if per_unit == "sum":
            rows.append(("people whose sum is out of bounds", str(seen.beyond)))
    print_table(("", "how many"), rows)


def _share(quantile: str) -> str:
    above, _, below = quantile.partition("/")
    return f"{100 * int(above) // int(below or 1)}%"


def _of(part: int, total: int) -> str:
    return f"{part} ({part / total:.2%})" if total else str(part)
