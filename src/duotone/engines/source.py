"""A table and its engine; and tables in files and data frames, read by DuckDB inside the process."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError
from duotone.sql.condition import Kind

CSV = {"auto_detect": False, "header": True, "delim": ",", "quote": '"', "escape": '"', "comment": "", "null_padding": True,
       "ignore_errors": True, "strict_mode": False}  # fmt: skip
"""How a CSV file is read, said in full: what the engine would guess, it would guess from the rows."""
UNREADABLE = "the engine could not answer from this table (what it says might quote rows)"


@dataclass(frozen=True)
class Source:
    """A table and the engine that answers plans about it. Plans are Ibis expressions over `table`."""

    table: Any = field(repr=False)
    connection: Any = field(repr=False)
    name: str
    untyped: bool = False
    """Whether text may be read as numbers and dates, as in a CSV file."""
    embedded: bool = True
    """Whether the engine is DuckDB, inside the process."""
    proven: bool = True
    """Whether Duotone's tests run on this engine; any other is tried on made-up rows before the first question."""

    @cached_property
    def columns(self) -> Mapping[str, Kind]:
        """What each column holds."""
        return {name: _kind(dtype, self.untyped) for name, dtype in self.table.schema().items()}

    def require(self, columns: Sequence[str]) -> None:
        """Refuse columns that the table does not have, before anything is read."""
        for column in columns:
            if column not in self.columns:
                raise DuotoneError(f"the table has no column {column}; it has {', '.join(self.columns)}")

    def require_key(self, column: str, what: str) -> None:
        """Refuse what cannot name a person or a group: only values that are equal exactly when they look so."""
        self.require([column])
        if self.columns[column] in ("float", "decimal", "time", "other"):
            raise DuotoneError(f"column {column} cannot be {what}: it must hold text, whole numbers, Booleans or dates")

    def run(self, plan: Any) -> Any:
        """Execute a plan and give its result as an Arrow table.

        Guarantee: no message of the engine is shown, since it may quote rows.
        """
        return quietly(lambda: self.connection.to_pyarrow(plan), UNREADABLE)


def open_local(table: Any, name: str | None) -> Source:
    """A table in a file or a data frame, read by DuckDB inside the process."""
    import ibis

    if not isinstance(table, str | Path):
        connection, refusal = ibis.duckdb.connect(), "that is not a table: give a file or a data frame"
        return Source(quietly(lambda: ibis.memtable(_declared(table)), refusal), connection, "the table")
    path = Path(table)
    if not path.is_file():
        raise DuotoneError(f"there is no file {path}")
    if path.suffix in (".duckdb", ".db"):
        connection = quietly(lambda: ibis.duckdb.connect(path, read_only=True), f"{path} is not a DuckDB file, or is in use")
        return of_duckdb(connection, name, str(path))
    connection = ibis.duckdb.connect()
    match path.suffix:
        case ".csv":
            columns = dict.fromkeys(_header(path), "VARCHAR")
            refusal = f"{path} cannot be read as a CSV file in UTF-8, with commas and double quotes"
            return Source(
                quietly(lambda: connection.read_csv(path, columns=columns, **CSV), refusal), connection, path.name, True
            )
        case ".parquet":
            opened = quietly(lambda: connection.read_parquet(path), f"{path} is not a Parquet file")
            return Source(opened, connection, path.name)
    raise DuotoneError(f"{path} must end in .csv, .parquet or .duckdb")


def of_duckdb(connection: Any, name: str | None, place: str = "the DuckDB database") -> Source:
    """A table of a DuckDB database that Ibis is connected to."""
    if name is None:
        raise DuotoneError("a DuckDB file may hold many tables: say which (--table)")
    table = quietly(lambda: connection.table(name), f"{place} has no table {name}")
    query = "select sql from duckdb_tables() where table_name = ? union all select sql from duckdb_views() where view_name = ?"
    made = quietly(lambda: connection.con.execute(query, [name, name]).fetchall(), UNREADABLE)
    if any("collate" in (sql or "").lower() for (sql,) in made):
        raise DuotoneError(f"table {name} compares text by a collation, under which different texts are equal: drop it first")
    return Source(table, connection, name)


def _header(path: Path) -> list[str]:
    """The column names: the first line, and nothing else of the file, is read for them."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            names = next(csv.reader([file.readline(2**20)]), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        raise DuotoneError(f"the first line of {path} cannot be read as column names in UTF-8") from None
    if not names or not all(names) or len(set(names)) != len(names):
        raise DuotoneError(f"the first line of {path} must name every column, each differently")
    return names


def _declared(table: Any) -> Any:
    """A pandas frame with its object columns declared text: what Arrow would take them for depends on the rows."""
    if not hasattr(table, "dtypes") or not hasattr(table, "iloc"):
        return table
    objects = [column for column, dtype in table.dtypes.items() if dtype.kind == "O" and dtype.name == "object"]
    return table.astype(dict.fromkeys(objects, "string")) if objects else table


def quietly(work: Callable[[], Any], failure: str) -> Any:
    """Do some work of the engine; if it fails, say only that it did."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return work()
    except DuotoneError:
        raise
    except Exception:
        raise DuotoneError(failure) from None


def _kind(dtype: Any, untyped: bool) -> Kind:
    if dtype.is_string():
        return "untyped" if untyped else "text"
    for kind, fits in (
        ("boolean", dtype.is_boolean()),
        ("integer", dtype.is_integer() and not (dtype.is_unsigned_integer() and dtype.nbytes == 8)),
        ("float", dtype.is_floating()),
        ("decimal", dtype.is_decimal()),
        ("date", dtype.is_date()),
        ("time", dtype.is_timestamp() and dtype.timezone is None),
    ):
        if fits:
            return kind  # type: ignore[return-value]
    return "other"
