"""Parquet and Arrow files; text files are in `text_files`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from duotone.errors import DuotoneError
from duotone.resources import literal_path
from duotone.tables.engines.data_frames import columns_of, of_arrow, plain_type, wide
from duotone.tables.engines.duckdb import Connect, connected, described, of_frame
from duotone.tables.engines.engine import Source, closed_on_error, quietly, refuse_twins, same_columns, same_file
from duotone.tables.engines.stored_values import OTHER, Columns, Reading, literal, of_type, quoted


def of_arrow_file(path: Path, connect: Connect) -> Source:
    """An Arrow or Feather file. Its schema is read now, and columns when they are asked about."""
    checked = same_file(path)
    schema = quietly(lambda: _arrow_reader(path).schema, f"{path} is not an Arrow file")
    readings, _ = columns_of(schema.empty_table())

    def some(columns: Sequence[str]) -> Any:
        places = [schema.names.index(column) for column in columns] or [0]
        return columns_of(_arrow_reader(path, places).read_all())[1](columns)

    return replace(of_frame(readings, some, path.name, named=True, connect=connect), checked=checked)


def _arrow_reader(path: Path, places: Sequence[int] = ()) -> Any:
    """A reader of some columns, by position: of the file format, or of a stream that was written to a file."""
    options = pa.ipc.IpcReadOptions(included_fields=list(places))
    with path.open("rb") as file:
        seekable = file.read(6) == b"ARROW1"
    opened = pa.ipc.open_file if seekable else pa.ipc.open_stream
    return opened(pa.memory_map(str(path)), options=options)


PARQUET = "can_have_nan = true, utf8_validation = 'replace', int96_as = 'timestamp', hive_partitioning = false"


def of_parquet(paths: Sequence[Path], name: str, *, named: bool = True, connect: Connect = connected) -> Source:
    """DuckDB's own reader, except for times in milliseconds: one out of range would be an error there, so a question
    about such a column reads the files as Arrow, which keeps them as numbers. The files' schemas alone decide.

    Guarantee: no value is converted to another file's type, since all files must have the same columns, of the same
    types, for both readers; else they are refused, by their schemas.
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
    if coarse:  # a column is usable only if both readers agree on its type
        native = {column: how if _alike(plain[column], how) else OTHER for column, how in native.items()}

    def table(columns: Sequence[str]) -> Any:
        if not coarse & set(columns):
            return engine.selected({column: native[column] for column in columns}, _rows(paths))
        return engine.selected_of({column: plain[column] for column in columns}, _as_arrow(paths, schema, columns))

    return Source(engine, name, Columns.of(native, table), named=named, release=close, checked=checked)


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
    return schema, quietly(lambda: described(connection, _rows([path])), failure)


def _in_milliseconds(schema: Any) -> set[str]:
    """The columns with times in milliseconds, or in nanoseconds with a zone, which DuckDB would convert to
    microseconds.

    If an old writer did not record the zone of a time, Arrow reads it as UTC and DuckDB as without a zone: so it is
    neither.
    """
    times = [(name, kind) for name, kind in zip(schema.names, schema.types, strict=True) if pa.types.is_timestamp(kind)]
    return {name for name, kind in times if kind.unit in ("s", "ms") or (kind.unit == "ns" and kind.tz is not None)}


def _as_arrow(paths: Sequence[Path], schema: Any, columns: Sequence[str]) -> Any:
    import pyarrow.dataset as ds

    plain = pa.schema([(name, wide(plain_type(schema.field(name).type))) for name in columns])
    options = ds.ParquetReadOptions(coerce_int96_timestamp_unit="us")
    return ds.dataset([str(path) for path in paths], schema=plain, format=ds.ParquetFileFormat(read_options=options))
