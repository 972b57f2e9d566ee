"""Files: which reader a file has, by its ending, and which files a folder, a pattern or a list means."""

from __future__ import annotations

from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError
from duotone.tables.engines.data_frames import columns_of
from duotone.tables.engines.duckdb import of_database, of_frame, of_lines
from duotone.tables.engines.parquet import of_parquet
from duotone.tables.engines.source import Source, quietly

NO_SEPARATOR = "only a CSV file has a separator: leave it out"
LINES = (".csv", ".tsv", ".txt")
ENDINGS = "it must end in .csv, .tsv or .txt (or one of these and .gz), .parquet, .arrow, .feather or .duckdb"
CURES = {
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "which columns a JSON file has depends on its rows: write it as Parquet"),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "sheets of a spreadsheet are not read: save the sheet as CSV"),
}


def open_local(table: Any, name: str | None, separator: str | None = None, vouched: bool = False) -> Source:
    """A table in a file, in several Parquet files, or a data frame: read by DuckDB inside the process."""
    if isinstance(table, list | tuple) and table and all(isinstance(path, str | Path) for path in table):
        return _several([Path(path) for path in table], "the table", separator, named=False)
    if not isinstance(table, str | Path):
        _require_lines(separator, False)
        return of_frame(*columns_of(table))
    path = Path(table)
    if path.is_dir():
        found = sorted(file for file in path.glob("*.parquet") if file.is_file() and not file.name.startswith((".", "_")))
        if not found:
            raise DuotoneError(
                f"folder {path} has no .parquet file of its own: for those of its folders write {path}/*/*.parquet"
            )
        return _several(found, path.resolve().name, separator)
    if not path.is_file() and any(mark in str(path) for mark in "*?["):
        matches = [Path(file) for file in sorted(glob(str(path), recursive=True))]
        if not matches:
            raise DuotoneError(f"there is no file like {path}")
        return _several(matches, "the table", separator, named=False)
    if not path.is_file():
        raise DuotoneError(f"there is no file {path}")
    return _one(path, name, separator, vouched)


def _one(path: Path, name: str | None, separator: str | None, vouched: bool) -> Source:
    lines = path.suffix in LINES or (path.suffix == ".gz" and Path(path.stem).suffix in LINES)
    _require_lines(separator, lines)
    if lines:
        return of_lines(path, separator)
    match path.suffix:
        case ".duckdb" | ".db":
            return of_database(path, name, vouched)
        case ".parquet":
            return of_parquet([path], path.name)
        case ".arrow" | ".feather":
            return _of_arrow_file(path)
    raise DuotoneError(f"{path} cannot be read: {CURES.get(path.suffix, ENDINGS)}")


def _require_lines(separator: str | None, lines: bool) -> None:
    if separator is not None and not lines:
        raise DuotoneError(NO_SEPARATOR)


def _several(paths: Sequence[Path], name: str, separator: str | None, *, named: bool = True) -> Source:
    """Parquet files as one table. One that is meant twice would count its people twice."""
    _require_lines(separator, False)
    for path in paths:
        if not path.is_file():
            raise DuotoneError(f"there is no file {path}")
        if path.suffix != ".parquet":
            raise DuotoneError(f"several files must all be Parquet, and {path} is not: write it as Parquet")
    if len({path.resolve() for path in paths}) != len(paths):
        raise DuotoneError("a file is there twice, by the same or another name: name each once")
    return of_parquet(paths, name, named=named)


def _of_arrow_file(path: Path) -> Source:
    """An Arrow or Feather file. Its schema is read now, and the columns that are asked about when they are."""
    schema = quietly(lambda: _arrow_reader(path).schema, f"{path} is not an Arrow file")
    readings, _ = columns_of(schema.empty_table())

    def some(columns: Sequence[str]) -> Any:
        places = [schema.names.index(column) for column in columns] or [0]
        return columns_of(_arrow_reader(path, places).read_all())[1](columns)

    return of_frame(readings, some, path.name, named=True)


def _arrow_reader(path: Path, places: Sequence[int] = ()) -> Any:
    """A reader of some columns, by their places: of the file format, or of a stream that was written to a file."""
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(included_fields=list(places))
    with path.open("rb") as file:
        whole = file.read(6) == b"ARROW1"
    opened = pa.ipc.open_file if whole else pa.ipc.open_stream
    return opened(pa.memory_map(str(path)), options=options)
