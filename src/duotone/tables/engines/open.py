"""Opening: from the name of a table, or of several tables about the same people, to tables and their engine.

Guarantee: names, columns and types alone decide what is opened or refused; no row is read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from glob import glob
from hashlib import sha256
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError
from duotone.model.dataset import Dataset
from duotone.model.notice import Refusal
from duotone.tables.engines import duckdb, postgres, spark
from duotone.tables.engines.any_ibis import of_ibis
from duotone.tables.engines.data_frames import columns_of
from duotone.tables.engines.duckdb import Connect, DuckDB, connected, of_database, of_frame
from duotone.tables.engines.engine import Source, all_checked, closed_on_error, refuse_twins, same_files
from duotone.tables.engines.files import of_arrow_file, of_parquet
from duotone.tables.engines.text_files import of_json_lines, of_lines, refuse
from duotone.tables.sql.comparison import PRESENT
from duotone.tables.sql.condition import Kind

LINES = (".csv", ".tsv", ".txt")
DATABASES = (".duckdb", ".db")
JSON_LINES = (".jsonl", ".ndjson")
ENDINGS = "it must end in .csv, .tsv, .txt, .jsonl or .ndjson (or one of these and .gz), .parquet, .arrow, .feather or .duckdb"
LONGEST_IDENTITY = 1_000
MAYBE_SECRET = r"(pass\w*|pwd?|host|user)\s*=|@|^\w\w+:"
"""A connection string, a URL's user, or a URL without its slashes; but not C:\\data."""
CURES = {
    ".json": "if each line is an object, rename it .jsonl; else convert it to that, or to Parquet",
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "sheets of a spreadsheet are not read: save the sheet as CSV"),
}


def open_source(source: Any, **declared: Any) -> Source:
    """A CSV, JSON lines, Parquet or Arrow file, several Parquet files (a list, a folder or a pattern), a table of a DuckDB
    file or connection, a pandas, Polars or Arrow table; or a table beyond this machine, by a URL (postgres://…, spark://…),
    an Ibis connection or a table of one, or a Spark session or data frame; or a `Dataset` of one of these.

    A text file is read line by line: see `engines.text_files`. What only rows could tell about it is declared, by keys
    of `Dataset`: `table`, `types`, `separator`, `json_columns`, `vouched`. A view, a DuckDB relation, an
    Ibis query and a Spark data frame made by a query are accepted if `vouched` for: see `engine.require_vouched`.
    """
    return opened(source if isinstance(source, Dataset) else Dataset(source, **declared))


def opened(declared: Dataset) -> Source:
    """The table of a dataset."""
    return _without_twins(_opened(declared))


def _without_twins(source: Source) -> Source:
    """The same table; refuse two columns whose names differ only in case."""
    with closed_on_error(source.close):
        refuse_twins(source.columns)
    return source


def is_local(table: Any) -> bool:
    """Whether a table is a file or a data frame, which DuckDB reads inside the process."""
    return not (isinstance(table, str) and "://" in table) and _home(table) not in ("pyspark", "ibis", "duckdb", "_duckdb")


def _home(table: Any) -> str:
    return type(table).__module__.partition(".")[0]


def _opened(declared: Dataset) -> Source:
    table, name, vouched = declared.source, declared.table, declared.vouched
    if is_local(table):
        return _open_local(declared)
    refuse(declared)
    match _home(table):
        case "pyspark":
            session = hasattr(table, "createDataFrame")
            return spark.of_session(table, name, vouched) if session else spark.of_frame(table, vouched=vouched)
        case "ibis":
            return of_ibis(table, name, vouched)
        case "duckdb" | "_duckdb":
            connection = hasattr(table, "cursor")
            return duckdb.of_native(table, name, vouched) if connection else duckdb.of_relation(table, vouched)
    return _located(table, name, vouched)


def _located(url: str, name: str | None, vouched: bool) -> Source:
    """Open a table by its URL, which may hold a password: no error repeats it."""
    match url.partition("://")[0]:
        case "postgres" | "postgresql":
            return postgres.open_postgres(url, name, vouched)
        case "spark":
            return spark.open_spark(url, name, vouched)
        case scheme:
            said = f", not {scheme}://" if re.fullmatch(r"[\w+.-]+", scheme) else ""
            raise DuotoneError(
                f"a table's URL begins with postgres:// or spark://{said}; for others connect with Ibis in Python"
            )


def _open_local(declared: Dataset, connect: Connect = connected) -> Source:
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
    """Whether a name may be a mistyped URL that contains a password."""
    return re.search(MAYBE_SECRET, str(path), re.IGNORECASE) is not None


def _no_file(path: Path, like: str = "") -> DuotoneError:
    """The error for a missing file: it does not repeat a name that may be a mistyped URL with a password."""
    if maybe_secret(path):
        return DuotoneError(
            "there is no such file, and a table of a server has a URL that begins with postgres:// or spark:// "
            "(what was named is not shown, since a password may be in it)"
        )
    return DuotoneError(f"there is no file{like} {path}")


def files_of(table: Any) -> list[Path]:
    """The files of a table, as `_open_local` takes it; empty for a data frame."""
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
            return of_arrow_file(path, connect)
    raise DuotoneError(f"{path} cannot be read: {CURES.get(last, ENDINGS)}")


def _ending(path: Path) -> str:
    """The ending that chooses a file's reader: .CSV is .csv."""
    return path.suffix.lower()


def _is_data(path: Path) -> bool:
    return path.is_file() and not path.name.startswith((".", "_"))


def _refuse_name(name: str | None) -> None:
    """Refuse a table's name for a file: another file may have been meant."""
    if name is not None:
        raise DuotoneError(f"only a database has tables to choose from: leave out the table's name ({name})")


def _several(paths: Sequence[Path], name: str, declared: Dataset, connect: Connect, *, named: bool = True) -> Source:
    """Parquet files as one table. A file given twice would count its people twice."""
    refuse(declared)
    for path in paths:
        if not path.is_file():
            raise _no_file(path)
        if _ending(path) != ".parquet":
            raise DuotoneError(f"several files must all be Parquet, and {path} is not: write it as Parquet")
    if len({path.resolve() for path in paths}) != len(paths):
        raise DuotoneError("a file is listed twice, by the same or another name: list each once")
    source = of_parquet(paths, name, named=named, connect=connect)
    return source if named else replace(source, identity=_identity(paths))


def _identity(paths: Sequence[Path]) -> str:
    """The name of files in a ledger: their common folder, and their paths within it; a long list is hashed. Order and
    patterns do not matter."""
    places = [path.parent.resolve() / path.name for path in paths]
    folder = Path(os.path.commonpath([place.parent for place in places]))
    text = json.dumps([folder.name, *sorted(place.relative_to(folder).as_posix() for place in places)])
    return text if len(text) <= LONGEST_IDENTITY else f"{len(paths)} files, {sha256(text.encode()).hexdigest()}"


Others = Mapping[str, Source]
APART = "{name} is in a database, or open already, and the table is not: give both as files or data frames"


def in_files(table: Any) -> bool:
    """Whether a table is in files or is a data frame, and was not opened before."""
    database = isinstance(table, str | Path) and Path(table).suffix.lower() in DATABASES
    return is_local(table) and not isinstance(table, Source) and not database


def open_together(declared: Dataset) -> tuple[Source, Others]:
    """Files and data frames on one connection, which is locked to all of their files when it is opened."""
    table, also = declared.source, declared.also
    for other, held in also.items():
        if not in_files(held):
            raise DuotoneError(APART.format(name=other))
    engine, close = connected(*(file for held in (table, *also.values()) for file in files_of(held)))
    with closed_on_error(close):
        source = _without_twins(_open_local(declared, connect=_shared(engine)))
        others = {
            other: _without_twins(_open_local(Dataset(held, types=declared.types_of(other)), connect=_shared(engine)))
            for other, held in also.items()
        }
        return replace(source, release=close, checked=all_checked([source, *others.values()])), others


def _shared(engine: DuckDB) -> Connect:
    """Returns an engine that is open already, and closes nothing."""
    return lambda *_: (engine, lambda: None)


def open_beside(source: Source, declared: Dataset) -> Others:
    """Further tables on the connection of an open one: in its database, by name; beside a file or a frame, frames."""
    also = declared.also
    for name in also:
        if declared.types_of(name):
            raise DuotoneError(f"types are for text files, and {name} is none: leave those of its columns out")
    with ExitStack() as opened:
        others = {name: opened.enter_context(_without_twins(_beside(source, name, held))) for name, held in also.items()}
        opened.pop_all()
        return others


def _beside(source: Source, name: str, table: Any) -> Source:
    if source.sibling is not None:
        if not isinstance(table, str):
            raise DuotoneError(f"{name} must be in the same database as the first table: give its name there")
        return source.sibling(table)
    if not isinstance(engine := source.engine, DuckDB):
        raise DuotoneError(
            "several private tables are joined in files and data frames, and where all have names in one database of DuckDB, "
            "Postgres or Spark: create such tables"
        )
    if not in_files(table):
        raise DuotoneError(APART.format(name=name))
    if files := files_of(table):
        raise DuotoneError(f"the table is open already, and cannot be joined with the file {files[0]}: give both as files")
    return _open_local(Dataset(table), connect=_shared(engine))


def closing(source: Source, others: Iterable[Source]) -> Source:
    """The same table; closing or checking it does the same to others."""
    every = [*others, source]

    def release() -> None:
        for each in every:
            each.close()

    return replace(source, release=release, checked=all_checked(every))


def require_same_people(source: Source, others: Others, unit: str | None) -> None:
    """Refuse tables in which the unit cannot identify the same people."""
    if unit is None:
        raise Refusal("unit missing between tables")
    if unit.lower() == PRESENT:
        raise DuotoneError(f"column {unit} has a name that is needed here: rename it")
    for name, other in others.items():
        if unit not in other.columns:
            raise DuotoneError(
                f"{name} has no column {unit}, which names a person in every table; it has {', '.join(other.columns)}"
            )
        other.require_key(unit, "a person's name")
        kinds = [source.columns[unit], other.columns[unit]]
        if len(set(map(_alike, kinds))) > 1:
            raise DuotoneError(
                f"column {unit} holds {kinds[0]} values in the table and {kinds[1]} ones in {name}, and names the same people: "
                "convert one to the other's type"
            )


def _alike(kind: Kind) -> Kind:
    return "text" if kind == "untyped" else kind
