"""Sources: a table written by each writer and opened as a person would; and what was stored, read back without the engine."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from duotone.tables.engines import open_source
from hostile.columns import COLUMNS, Column, Raw, array
from hostile.model import kind_of

Stored = Mapping[str, tuple[Column, list[Raw]]]
"""By column: what it is stored as, and its values."""
PLAIN = ("gid", "side", "person")


@dataclass(frozen=True)
class Written:
    """A table as it can be given to Duotone, what is said with it, and what is stored in it."""

    table: Any
    stored: Stored
    options: Mapping[str, Any]


def raws(column: pa.ChunkedArray) -> list[Raw]:
    """The values of an Arrow column as they lie in memory."""
    return [value for chunk in column.chunks for value in _raws(chunk)]


def _raws(values: pa.Array) -> list[Raw]:
    kind = values.type
    if pa.types.is_run_end_encoded(kind):
        runs, ends = _raws(values.values), values.run_ends.to_pylist()
        places = [bisect.bisect_right(ends, values.offset + i) for i in range(len(values))]
        return [runs[place] for place in places]
    if pa.types.is_dictionary(kind):
        places, entries = values.indices.to_pylist(), _raws(values.dictionary)
        return [None if place is None else entries[place] for place in places]
    plain = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}.get(kind)
    if plain is not None:
        return list(values.view(plain).to_pylist())
    if pa.types.is_boolean(kind):
        return list(values.to_pylist())
    _, data = values.buffers()
    width = kind.bit_width // 8
    signed = not (pa.types.is_floating(kind) or pa.types.is_unsigned_integer(kind))
    known = values.is_valid().to_pylist()
    start = values.offset
    bits = memoryview(data) if data is not None else memoryview(b"")
    return [int.from_bytes(bits[(start + i) * width : (start + i + 1) * width], "little", signed=signed) if ok else None
            for i, ok in enumerate(known)]  # fmt: skip


def stored(table: pa.Table, columns: Mapping[str, Column]) -> Stored:
    """The hostile columns of an Arrow table as they are there, whatever a writer made of them."""
    kinds = {n: _values_of(table.schema.field(n).type) for n in table.column_names if n in columns}
    return {n: (replace(columns[n], arrow=kind, kind=kind_of(kind)), raws(table[n])) for n, kind in kinds.items()}


def _values_of(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_run_end_encoded(kind) else kind


def _number(folder: Path, suffix: str) -> Path:
    return folder / f"t{next(_NUMBERS)}.{suffix}"


_NUMBERS = itertools.count()
Writer = Callable[[pa.Table, Mapping[str, Column], Path], Written]


def frame(table: pa.Table, columns: Mapping[str, Column], folder: Path) -> Written:
    """An Arrow table as it is."""
    return Written(table, stored(table, columns), {})


def chunks(table: pa.Table, columns: Mapping[str, Column], folder: Path) -> Written:
    """An Arrow table in many pieces, some of them empty, and slices of longer ones."""
    pieces = [table.slice(i, 3) for i in range(0, table.num_rows, 3)]
    cut = pa.concat_tables([table.slice(0, 0), *pieces, table.slice(0, 0)])
    return Written(cut, stored(cut, columns), {})


def polars(table: pa.Table, columns: Mapping[str, Column], folder: Path) -> Written:
    """A Polars frame."""
    import polars as pl

    data = pl.from_arrow(table)
    assert isinstance(data, pl.DataFrame)
    return Written(data, stored(data.to_arrow(), columns), {})


def pandas(table: pa.Table, columns: Mapping[str, Column], folder: Path) -> Written:
    """A pandas frame with pandas' own types: numpy arrays, and its nullable ones."""
    import numpy as np
    import pandas as pd

    held: dict[str, Any] = {}
    for name in table.column_names:
        kind, values = table.schema.field(name).type, raws(table[name])
        if pa.types.is_timestamp(kind):
            held[name] = pd.Series(np.array([-(2**63) if v is None else v for v in values], "i8").view(f"M8[{kind.unit}]"))
        elif pa.types.is_floating(kind):
            whole = np.array([0x7FF8 << (kind.bit_width - 16) if v is None else v for v in values], f"u{kind.bit_width // 8}")
            held[name] = pd.Series(whole.view(f"f{kind.bit_width // 8}"))
        elif pa.types.is_integer(kind):
            held[name] = pd.array(
                values, dtype=str(kind).replace("u", "U").replace("i", "I", 1).replace("UI", "UI").replace("Int", "Int")
            )
        elif pa.types.is_boolean(kind):
            held[name] = pd.array(values, dtype="boolean")
        else:
            held[name] = pd.Series(pd.arrays.ArrowExtensionArray(table[name]))
    back: dict[str, tuple[Column, list[Raw]]] = {}
    for name, (column, values) in stored(table, columns).items():
        missing = [None if pa.types.is_timestamp(column.arrow) and v == -(2**63) else v for v in values]  # not a time
        back[name] = (column, missing)
    return Written(pd.DataFrame(held), back, {})


def arrow_pandas(table: pa.Table, columns: Mapping[str, Column], folder: Path) -> Written:
    """A pandas frame with Arrow's types."""
    import pandas as pd

    return Written(table.to_pandas(types_mapper=pd.ArrowDtype), stored(table, columns), {})


def _parquet(write: Callable[[pa.Table, Path], None]) -> Writer:
    def writer(table: pa.Table, columns: Mapping[str, Column], folder: Path) -> Written:
        path = _number(folder, "parquet")
        write(table, path)
        return Written(path, stored(_read_back(path, table), columns), {})

    return writer


def _read_back(path: Path, table: pa.Table) -> pa.Table:
    """What is in a file; pyarrow cannot read short columns of DuckDB's newest encodings: these are as they were written."""
    try:
        with pq.ParquetFile(path, arrow_extensions_enabled=False) as file:
            return file.read()
    except OSError as error:
        if "InitBlock EOF" not in str(error):
            raise
        return table


def _by_pyarrow(**options: Any) -> Writer:
    return _parquet(lambda table, path: pq.write_table(table, path, **options))


def _by_polars(**options: Any) -> Writer:
    def write(table: pa.Table, path: Path) -> None:
        import polars as pl

        data = pl.from_arrow(table)
        assert isinstance(data, pl.DataFrame)
        data.write_parquet(path, **options)

    return _parquet(write)


@cache
def _duckdb() -> Any:
    """A connection that only writes; one for the process, because to open one takes longer than to write."""
    import duckdb

    return duckdb.connect()


def _by_duckdb(options: str) -> Writer:
    def write(table: pa.Table, path: Path) -> None:
        cursor = _duckdb().cursor()
        cursor.register("given", table)
        try:
            cursor.execute(f"copy given to '{path}' (format parquet{options})")
        finally:
            cursor.unregister("given")
            cursor.close()

    return _parquet(write)


def _by_pandas(table: pa.Table, path: Path) -> None:
    import pandas as pd

    table.to_pandas(types_mapper=pd.ArrowDtype).to_parquet(path)


def duckdb_file(table: pa.Table, columns: Mapping[str, Column], folder: Path) -> Written:
    """A table of a DuckDB file. Once a segment has a text beyond ASCII, DuckDB takes any bytes for text: so that comes first.

    In a long table another segment may begin with bytes that are no text, and DuckDB then takes none of it: such a table is
    written without them.
    """
    import duckdb

    try:
        return _duckdb_file(table, columns, folder)
    except duckdb.InvalidInputException:
        return _duckdb_file(_valid(table), columns, folder)


def _duckdb_file(table: pa.Table, columns: Mapping[str, Column], folder: Path) -> Written:
    path, name = _number(folder, "duckdb"), f"written{next(_NUMBERS)}"
    texts = [field.name for field in table.schema if kind_of(field.type) == "text"]
    plain = table.cast(
        pa.schema([f.with_type(pa.large_string()) if pa.types.is_dictionary(f.type) else f for f in table.schema])
    )
    first = {field.name: pa.array(["é" if field.name in texts else None], field.type) for field in plain.schema}
    cursor = _duckdb().cursor()
    cursor.register("given", pa.concat_tables([pa.table(first, plain.schema), plain]).combine_chunks())
    cursor.execute(f"attach '{path}' as {name}")
    try:
        cursor.execute(f"create table {name}.t as select * from given")
        cursor.execute(f"delete from {name}.t where rowid = 0")
    finally:
        cursor.unregister("given")
        cursor.execute(f"detach {name}")
        cursor.close()
    return Written(path, stored(table, columns), {"table": "t"})


def _valid(table: pa.Table) -> pa.Table:
    """Nulls in place of bytes that are no text."""
    for place, field in enumerate(table.schema):
        if kind_of(field.type) == "text":
            texts = [raw.decode() if isinstance(raw, bytes) and _is_text(raw) else None for raw in raws(table[field.name])]
            table = table.set_column(place, field, pa.array(texts, pa.large_string()).cast(field.type))
    return table


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


WRITERS: Mapping[str, Writer] = {
    "arrow": frame,
    "arrow in pieces": chunks,
    "polars": polars,
    "pandas": pandas,
    "pandas of arrow": arrow_pandas,
    "parquet by pyarrow": _by_pyarrow(),
    "parquet by pyarrow, no statistics": _by_pyarrow(write_statistics=False, compression="none"),
    "parquet by pyarrow, small row groups": _by_pyarrow(row_group_size=3, data_page_version="2.0", compression="zstd"),
    "parquet by pyarrow, plain, page index": _by_pyarrow(use_dictionary=False, write_page_index=True, row_group_size=7),
    "parquet by pyarrow, no Arrow schema": _by_pyarrow(store_schema=False, data_page_size=64, compression="gzip"),
    "parquet by polars": _by_polars(),
    "parquet by polars, no statistics": _by_polars(statistics=False, compression="uncompressed", row_group_size=4),
    "parquet by polars, full statistics": _by_polars(statistics="full", compression="snappy"),
    "parquet by duckdb": _by_duckdb(""),
    "parquet by duckdb, version 2": _by_duckdb(", parquet_version v2, compression zstd, row_group_size 2048"),
    "parquet by duckdb, bloom filters": _by_duckdb(", dictionary_size_limit 100000, bloom_filter_false_positive_ratio 0.5"),
    "parquet by pandas": _parquet(_by_pandas),
    "duckdb": duckdb_file,
}


def storable(writer: str, names: Sequence[str], folder: Path) -> dict[str, Column]:
    """Columns, each with the values that this writer can store; a column that it cannot store at all is left out."""
    for name in names:
        if (writer, name) not in _STORABLE:
            _STORABLE[writer, name] = _kept(writer, COLUMNS[name], folder)
    columns = {name: _STORABLE[writer, name] for name in names}
    return {name: column for name, column in columns.items() if column.hostile and column.quiet}


_STORABLE: dict[tuple[str, str], Column] = {}


def _kept(writer: str, column: Column, folder: Path) -> Column:
    def fitting(values: tuple[Raw, ...]) -> tuple[Raw, ...]:
        """Halved until what cannot be stored stands alone."""
        if not values or _fits(writer, column, values, folder):
            return values
        middle = len(values) // 2
        return () if len(values) == 1 else fitting(values[:middle]) + fitting(values[middle:])

    if not _fits(writer, column, [], folder):
        return replace(column, hostile=())
    return replace(column, hostile=fitting(column.hostile), quiet=fitting(column.quiet))


def _fits(writer: str, column: Column, values: Sequence[Raw], folder: Path) -> bool:
    try:
        written = WRITERS[writer](pa.table({column.name: array(column, values)}), {column.name: column}, folder)
    except Exception:
        return False
    if isinstance(written.table, Path):
        written.table.unlink()
    return True


@contextmanager
def opened(written: Written) -> Iterator[Any]:
    """The table, opened; a file is removed afterwards."""
    with open_source(written.table, **written.options) as source:
        yield source
    if isinstance(written.table, Path):
        written.table.unlink(missing_ok=True)
