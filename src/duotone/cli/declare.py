"""The command for a table's owner who declares it: declare."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from duotone.cli.table_options import declaring
from duotone.cli.terminal import say, wrote
from duotone.errors import DuotoneError

if TYPE_CHECKING:
    from duotone.model.dataset import Dataset as Declared

WARNING = "NOT PRIVATE, for the table's owner only: types and formats are by the rows; answer the rest from public knowledge"


@declaring("table", "separator", "json_columns", "vouched")
def declare(
    declared: Declared,
    out: Annotated[Path | None, typer.Option(metavar="F.toml", help="Where to write it; else to standard output.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """A first DATASET.toml of a table, from its rows, with what its owner must answer. NOT PRIVATE: for the table's owner
    only."""
    from duotone.tables.first_declaration import first_declaration

    if out is None and force:
        raise DuotoneError("--force is for a file: name it by --out")
    if out is not None and out.exists() and not force:
        raise DuotoneError(f"{out} is there already: name another file, or write over it with --force")
    text = first_declaration(declared, Path.cwd() if out is None else out.absolute().parent)
    say(WARNING, line="duotone: ")
    if out is None:
        sys.stdout.write(text)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DuotoneError(f"{out} cannot be written: {error.strerror}") from None
    wrote(out)
