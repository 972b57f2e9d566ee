"""Files: which reader a file has, by its ending; which files a folder, a pattern or a list means; Parquet and Arrow files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from glob import glob
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

from duotone.errors import DuotoneError
from duotone.model.dataset import Dataset
from duotone.resources import literal_path
from duotone.tables.engines.data_frames import columns_of, of_arrow, plain_type, wide
from duotone.tables.engines.duckdb import Connect, connected, described, of_database, of_frame
from duotone.tables.engines.engine import closed_on_error, quietly
from duotone.tables.engines.source import Source, refuse_twins, same_columns, same_file, same_files
from duotone.tables.engines.stored_values import OTHER, Columns, Reading, literal, of_type, quoted
from duotone.tables.engines.text_files import of_json_lines, of_lines, refuse

LINES = (".csv", ".tsv", ".txt")
DATABASES = (".duckdb", ".db")
JSON_LINES = (".jsonl", ".ndjson")
ENDINGS = "it must end in .csv, .tsv, .txt, .jsonl or .ndjson (or one of these and .gz), .parquet, .arrow, .feather or .duckdb"
LONGEST_IDENTITY = 1_000
MAYBE_SECRET = r"(pass\w*|pwd?|host|user)\s*=|@|^\w\w+:"
"""As in a connection string, a URL's user, or a URL without its slashes; not as in C:\\data."""
CURES = {
    ".json": "if each of its lines is an object, call it .jsonl; else write it so, or as Parquet",
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "sheets of a spreadsheet are not read: save the sheet as CSV"),
}


def open_local(declared: Dataset, connect: Connect = connected) -> Source:
    """A table in a file, in several Parquet files, or a data frame: read by DuckDB inside the process."""
    table, listed, files = declared.source, _is_list(declared.source), files_of(declared.source)
    if not listed and not isinstance(table, str | Path):
        _refuse_name(declared.table)
        refuse(declared)
        return of_frame(*columns_of(table), connect=connect)
    if listed:
        _refuse_name(declared.table)
        return _several(files, "the table", declared, connect, named=False)
    path, folder = Path(table), Path(table).is_dir()
    if path.is_file():
        return _one(path, declared, connect)
    if folder and not files:
        raise DuotoneError(f"folder {path} has no .parquet file of its own: for those of its folders write {path}/*/*.parquet")
    if not files:
        raise _no_file(path, " like" if any(mark in str(path) for mark in "*?[") else "")
    _refuse_name(declared.table)
    source = _several(files, path.resolve().name if folder else "the table", declared, connect, named=folder)
    return replace(source, checked=same_files(path, files, lambda: files_of(path), source.checked))  # listed again each time


def maybe_secret(path: Path) -> bool:
    """Whether what is named may be a mistyped URL, with a password in it."""
    return re.search(MAYBE_SECRET, str(path), re.IGNORECASE) is not None


def _no_file(path: Path, like: str = "") -> DuotoneError:
    """What is raised where there is no such file: its name is not repeated where it may be a mistyped URL with a password."""
    if maybe_secret(path):
        return DuotoneError(
            "there is no such file, and a table of a server has a URL that begins with postgres:// or spark:// "
            "(what was named is not shown, since a password may be in it)"
        )
    return DuotoneError(f"there is no file{like} {path}")


def files_of(table: Any) -> list[Path]:
    """The files that a table is in, as `open_local` takes it: none of a data frame."""
    if _is_list(table):
        return [Path(path) for path in table]
    if not isinstance(table, str | Path):
        return []
    path = Path(table)
    if path.is_dir():
        return sorted(file for file in path.iterdir() if _ending(file) == ".parquet" and _is_data(file))
    return [path] if path.is_file() else [Path(file) for file in sorted(glob(str(path), recursive=True))]


def _is_list(table: Any) -> bool:
    return isinstance(table, list | tuple) and bool(table) and all(isinstance(path, str | Path) for path in table)


def _one(path: Path, declared: Dataset, connect: Connect) -> Source:
    last = _ending(path)
    if last not in DATABASES:
        _refuse_name(declared.table)
    ending = _ending(Path(path.stem)) if last == ".gz" else last
    if ending in LINES:
        refuse(declared, ["json_columns"])
        return of_lines(path, declared, connect)
    if ending in JSON_LINES:
        refuse(declared, ["separator"])
        return of_json_lines(path, declared, connect)
    refuse(declared)
    match last:
        case _ if last in DATABASES:
            return of_database(path, declared.table, declared.vouched)
        case ".parquet":
            return of_parquet([path], path.name, connect=connect)
        case ".arrow" | ".feather":
            return _of_arrow_file(path, connect)
    raise DuotoneError(f"{path} cannot be read: {CURES.get(last, ENDINGS)}")


def _ending(path: Path) -> str:
    """By which a file's reader is chosen: .CSV is .csv."""
    return path.suffix.lower()


def _is_data(path: Path) -> bool:
    return path.is_file() and not path.name.startswith((".", "_"))


def _refuse_name(name: str | None) -> None:
    """Whoever names a table of a file that has one may have meant another file."""
    if name is not None:
        raise DuotoneError(f"only a database has tables to choose from: leave out the table's name ({name})")


def _several(paths: Sequence[Path], name: str, declared: Dataset, connect: Connect, *, named: bool = True) -> Source:
    """Parquet files as one table. One that is meant twice would count its people twice."""
    refuse(declared)
    for path in paths:
        if not path.is_file():
            raise _no_file(path)
        if _ending(path) != ".parquet":
            raise DuotoneError(f"several files must all be Parquet, and {path} is not: write it as Parquet")
    if len({path.resolve() for path in paths}) != len(paths):
        raise DuotoneError("a file is there twice, by the same or another name: name each once")
    source = of_parquet(paths, name, named=named, connect=connect)
    return source if named else replace(source, identity=_identity(paths))


def _identity(paths: Sequence[Path]) -> str:
    """Files as a ledger knows them: the folder that all are in, by its name, and their names from there on; a long list by its
    hash. In whatever order and by whatever pattern they are named, it is the same."""
    places = [path.parent.resolve() / path.name for path in paths]
    folder = Path(os.path.commonpath([place.parent for place in places]))
    text = json.dumps([folder.name, *sorted(place.relative_to(folder).as_posix() for place in places)])
    return text if len(text) <= LONGEST_IDENTITY else f"{len(paths)} files, {sha256(text.encode()).hexdigest()}"


def _of_arrow_file(path: Path, connect: Connect) -> Source:
    """An Arrow or Feather file. Its schema is read now, and the columns that are asked about when they are."""
    checked = same_file(path)
    schema = quietly(lambda: _arrow_reader(path).schema, f"{path} is not an Arrow file")
    readings, _ = columns_of(schema.empty_table())

    def some(columns: Sequence[str]) -> Any:
        places = [schema.names.index(column) for column in columns] or [0]
        return columns_of(_arrow_reader(path, places).read_all())[1](columns)

    return replace(of_frame(readings, some, path.name, named=True, connect=connect), checked=checked)


def _arrow_reader(path: Path, places: Sequence[int] = ()) -> Any:
    """A reader of some columns, by their places: of the file format, or of a stream that was written to a file."""
    options = pa.ipc.IpcReadOptions(included_fields=list(places))
    with path.open("rb") as file:
        seekable = file.read(6) == b"ARROW1"
    opened = pa.ipc.open_file if seekable else pa.ipc.open_stream
    return opened(pa.memory_map(str(path)), options=options)


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
    """The columns that hold times in milliseconds, or in nanoseconds with a zone, of which DuckDB would make microseconds.

    A time that an old writer did not say the zone of is in UTC for Arrow and without a zone for DuckDB: so it is neither.
    """
    times = [(name, kind) for name, kind in zip(schema.names, schema.types, strict=True) if pa.types.is_timestamp(kind)]
    return {name for name, kind in times if kind.unit in ("s", "ms") or (kind.unit == "ns" and kind.tz is not None)}


def _as_arrow(paths: Sequence[Path], schema: Any, columns: Sequence[str]) -> Any:
    import pyarrow.dataset as ds

    plain = pa.schema([(name, wide(plain_type(schema.field(name).type))) for name in columns])
    options = ds.ParquetReadOptions(coerce_int96_timestamp_unit="us")
    return ds.dataset([str(path) for path in paths], schema=plain, format=ds.ParquetFileFormat(read_options=options))
