"""A table and its engine; and tables in files and data frames, read by DuckDB inside the process."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from duotone.engines.lines import lines_as_columns
from duotone.errors import DuotoneError
from duotone.machine import literal_path
from duotone.sql.condition import Kind

UNREADABLE = "the engine could not answer from this table (what it says might quote rows)"
UNNAMED = "a DuckDB file may hold many tables: say which (--table)"


@dataclass(frozen=True)
class Source:
    """A table and the engine that answers plans about it. Plans are Ibis expressions over `table`."""

    table: Any = field(repr=False)
    connection: Any = field(repr=False)
    name: str
    untyped: bool = False
    """Whether text may be read as numbers and dates, as in a CSV file."""
    named: bool = True
    """Whether the name is the table's own."""
    embedded: bool = True
    """Whether the engine is DuckDB, inside the process."""
    proven: bool = True
    """Whether Duotone's tests run on this engine; any other is tried on made-up rows before the first question."""
    release: Callable[[], Any] = field(default=lambda: None, repr=False)
    """Lets go of what was opened for this table, and of nothing that was there before."""

    def close(self) -> None:
        """Let go of what was opened for this table; after that, it can no longer be asked about."""
        self.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def draws(self) -> bool:
        """Whether the engine can toss Duotone's coins where it counts."""
        return hasattr(self.connection, "kept")

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
        refusal = "that is not a table: give a file or a data frame"
        rows = quietly(lambda: ibis.memtable(_declared(table)), refusal)
        connection = ibis.duckdb.connect()
        return Source(rows, connection, "the table", named=False, release=connection.disconnect)
    path = Path(table)
    if not path.is_file():
        raise DuotoneError(f"there is no file {path}")
    if path.suffix in (".duckdb", ".db"):
        if name is None:
            raise DuotoneError(UNNAMED)
        connection = quietly(lambda: ibis.duckdb.connect(path, read_only=True), f"{path} is not a DuckDB file, or is in use")
        with closed_on_error(connection.disconnect):
            return replace(of_duckdb(connection, name, str(path)), release=connection.disconnect)
    if path.suffix not in (".csv", ".parquet"):
        raise DuotoneError(f"{path} must end in .csv, .parquet or .duckdb")
    connection = ibis.duckdb.connect()
    with closed_on_error(connection.disconnect):
        if path.suffix == ".csv":
            rows = quietly(lambda: lines_as_columns(connection, path), f"{path} cannot be read as a CSV file")
        else:
            rows = quietly(lambda: connection.read_parquet(literal_path(path)), f"{path} is not a Parquet file")
    return Source(rows, connection, path.name, untyped=path.suffix == ".csv", release=connection.disconnect)


@contextmanager
def closed_on_error(close: Callable[[], Any]) -> Iterator[None]:
    """Let go of what was opened if what follows fails."""
    try:
        yield
    except BaseException:
        close()
        raise


def of_duckdb(connection: Any, name: str | None, place: str = "the DuckDB database") -> Source:
    """A table of a DuckDB database that Ibis is connected to."""
    if name is None:
        raise DuotoneError(UNNAMED)
    table = quietly(lambda: connection.table(name), f"{place} has no table {name}")
    query = "select sql from duckdb_tables() where table_name = ?"
    made = quietly(lambda: connection.con.execute(query, [name]).fetchall(), UNREADABLE)
    if not made:
        raise DuotoneError(f"{name} is a view, whose query might fail on a row or look at others: name a table")
    if any(word in (sql or "").lower() for (sql,) in made for word in (" collate ", " generated ")):
        raise DuotoneError(f"table {name} has a collation, under which different texts are equal, or a generated column")
    return Source(table, connection, name)


def _declared(table: Any) -> Any:
    """A pandas frame with its columns of objects as text: what Arrow would take them for depends on the rows."""
    if not hasattr(table, "dtypes") or not hasattr(table, "iloc"):
        return table
    held = {column: getattr(getattr(dtype, "categories", None), "dtype", dtype) for column, dtype in table.dtypes.items()}
    objects = [column for column, dtype in held.items() if str(dtype) == "object"]
    texts = {column: [_text(value) for value in table[column].tolist()] for column in objects}
    return table.assign(**{str(column): _strings(values, table.index) for column, values in texts.items()})


def _text(value: Any) -> str | None:
    """An object as text, whatever it is; None and NaN are null."""
    if value is None or value != value:
        return None
    return str(value).encode("utf-8", "replace").decode()


def _strings(values: list[str | None], index: Any) -> Any:
    import pandas as pd

    return pd.Series(values, index=index, dtype="string")


def quietly(work: Callable[[], Any], failure: str) -> Any:
    """Do some work of the engine; if it fails, say only that it did.

    Guarantee: the error that is raised has no trace of the engine's, which might quote rows.
    """
    done = refused = None
    failed = True
    try:
        with warnings.catch_warnings(action="ignore"):
            done = work()
            failed = False
    except DuotoneError as error:
        refused = str(error)
    except Exception:
        pass
    if failed:  # out here, so that nothing is remembered as the context
        raise DuotoneError(refused or failure)
    return done


def _kind(dtype: Any, untyped: bool) -> Kind:
    if dtype.is_string():
        return "untyped" if untyped else "text"
    for kind, fits in (
        ("boolean", dtype.is_boolean()),
        ("integer", dtype.is_integer() and not (dtype.is_unsigned_integer() and dtype.nbytes == 8)),
        ("float", dtype.is_floating() and dtype.nbytes >= 4),
        ("decimal", dtype.is_decimal() and (dtype.precision or 0) <= 38),
        ("date", dtype.is_date()),
        ("time", dtype.is_timestamp() and dtype.timezone is None),
    ):
        if fits:
            return kind  # type: ignore[return-value]
    return "other"
