"""Parquet files: one, or several that have the same columns, as one table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError
from duotone.resources import literal_path
from duotone.tables.engines.data_frames import of_arrow, plain_type, wide
from duotone.tables.engines.duckdb import Connect, connected
from duotone.tables.engines.engine import closed_on_error, quietly
from duotone.tables.engines.file_changes import same_columns
from duotone.tables.engines.source import Source, refuse_twins
from duotone.tables.engines.stored_values import OTHER, Columns, Reading, literal, of_type, quoted

PARQUET = "can_have_nan = true, utf8_validation = 'replace', int96_as = 'timestamp', hive_partitioning = false"


def of_parquet(paths: Sequence[Path], name: str, *, named: bool = True, connect: Connect = connected) -> Source:
    """DuckDB's own reader, but for times in milliseconds: one out of range would be an error there, so that a question about
    such a column has the files read as Arrow, which leaves them numbers. The files' schemas alone decide.

    Guarantee: no value is converted to another file's type, since all files have the same columns, of the same types, for both
    readers: else they are refused, by their schemas.
    """
    engine, close = connect(*paths)
    with closed_on_error(close):
        schemas, checked = same_columns(paths, lambda: [_schemas(engine.connection, path) for path in paths])
        schema, types = schemas[0]
        refuse_twins(schema.names)
        for path, other in zip(paths, schemas, strict=True):
            if other != (schema, types):
                raise DuotoneError(
                    f"{path} has other columns than {paths[0]}, or other types, or another order: "
                    "write all files with the same ones, or ask about each alone"
                )
    native = {column: of_type(quoted(column), kind) for column, kind in types.items()}
    plain = {column: of_arrow(quoted(column), kind) for column, kind in zip(schema.names, schema.types, strict=True)}
    coarse = _in_milliseconds(schema)
    if coarse:  # a column is asked about only if both readers take it for the same
        native = {column: how if _alike(plain[column], how) else OTHER for column, how in native.items()}

    def table(columns: Sequence[str]) -> Any:
        if not coarse & set(columns):
            return engine.selected({column: native[column] for column in columns}, _rows(paths))
        return engine.selected_of({column: plain[column] for column in columns}, _as_arrow(paths, schema, columns))

    kinds = {column: how.kind for column, how in native.items()}
    return Source(None, engine, name, named=named, reading=Columns(kinds, table), release=close, checked=checked)


def _alike(one: Reading, other: Reading) -> bool:
    return (one.kind, one.zone) == (other.kind, other.zone)


def _rows(paths: Sequence[Path]) -> str:
    files = ", ".join(literal(literal_path(path.resolve())) for path in paths)
    return f"read_parquet([{files}], {PARQUET})"


def _schemas(connection: Any, path: Path) -> tuple[Any, dict[str, str]]:
    """The columns of a file and their types, for Arrow and for DuckDB."""
    import pyarrow.parquet as pq

    failure = f"{path} is not a Parquet file"
    schema = quietly(lambda: pq.read_schema(path).remove_metadata(), failure)
    query = f"describe select * from {_rows([path])}"
    described = quietly(lambda: connection.con.execute(query).fetchall(), failure)
    return schema, {column: kind for column, kind, *_ in described}


def _in_milliseconds(schema: Any) -> set[str]:
    """The columns that hold times in milliseconds, or in nanoseconds with a zone, of which DuckDB would make microseconds.

    A time that an old writer did not say the zone of is in UTC for Arrow and without a zone for DuckDB: so it is neither.
    """
    import pyarrow as pa

    times = [(name, kind) for name, kind in zip(schema.names, schema.types, strict=True) if pa.types.is_timestamp(kind)]
    return {name for name, kind in times if kind.unit in ("s", "ms") or (kind.unit == "ns" and kind.tz is not None)}


def _as_arrow(paths: Sequence[Path], schema: Any, columns: Sequence[str]) -> Any:
    import pyarrow as pa
    import pyarrow.dataset as ds

    plain = pa.schema([(name, wide(plain_type(schema.field(name).type))) for name in columns])
    options = ds.ParquetReadOptions(coerce_int96_timestamp_unit="us")
    return ds.dataset([str(path) for path in paths], schema=plain, format=ds.ParquetFileFormat(read_options=options))
