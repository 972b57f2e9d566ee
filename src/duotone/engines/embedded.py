"""Tables in files and data frames, read by DuckDB inside the process."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError

READERS = {".csv": "read_csv", ".parquet": "read_parquet"}


@dataclass(frozen=True)
class Source:
    """A table and the engine that answers plans about it. Plans are Ibis expressions over `table`."""

    table: Any
    connection: Any

    def require(self, columns: Sequence[str]) -> None:
        """Refuse columns that the table does not have, before anything is read."""
        for column in columns:
            if column not in self.table.columns:
                raise DuotoneError(f"the table has no column {column}; it has {', '.join(self.table.columns)}")

    def run(self, plan: Any) -> Any:
        """Execute a plan and give its result as an Arrow table.

        Guarantee: no message of the engine is shown, since it may quote rows.
        """
        return _quietly(
            lambda: self.connection.to_pyarrow(plan), "the engine could not read the table (details might quote rows)"
        )


def open_source(table: Any, *, name: str | None = None) -> Source:
    """A CSV or Parquet file, a table of a DuckDB file, or a pandas, Polars or Arrow table.

    A CSV file is read as text throughout, so that no column's type depends on the rows.
    """
    import ibis

    if not isinstance(table, str | Path):
        connection = ibis.duckdb.connect()
        return Source(_quietly(lambda: ibis.memtable(table), "that is not a table: give a file or a data frame"), connection)
    path = Path(table)
    if not path.is_file():
        raise DuotoneError(f"there is no file {path}")
    if path.suffix in (".duckdb", ".db"):
        if name is None:
            raise DuotoneError("a DuckDB file may hold many tables: say which (--table)")
        connection = _quietly(lambda: ibis.duckdb.connect(path, read_only=True), f"{path} is not a DuckDB file")
        return Source(_quietly(lambda: connection.table(name), f"{path} has no table {name}"), connection)
    if path.suffix not in READERS:
        raise DuotoneError(f"{path} must end in .csv, .parquet or .duckdb")
    connection = ibis.duckdb.connect()
    read = getattr(connection, READERS[path.suffix])
    options = {"all_varchar": True, "header": True} if path.suffix == ".csv" else {}
    return Source(_quietly(lambda: read(path, **options), f"{path} is not a {path.suffix[1:]} file"), connection)


def _quietly(work: Callable[[], Any], failure: str) -> Any:
    try:
        with warnings.catch_warnings(action="ignore"):
            return work()
    except Exception:
        raise DuotoneError(failure) from None
