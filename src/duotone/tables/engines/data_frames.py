"""Data frames: columns with declared types, as Arrow arrays of plain numbers and bytes; the engine converts them to
values.

Guarantee: declared types alone decide which columns there are and what they hold. Only requested columns are converted,
and no conversion here depends on a value, so none can fail on one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from duotone.errors import DuotoneError
from duotone.tables.engines.stored_values import OTHER, Reading, date, day, fresh, moment, number, quoted, text

NO_FRAME = "that is not a table: give a file, or a data frame of pandas or Polars or an Arrow table, whose columns have types"
NULLABLE = ("BooleanDtype", *(f"{kind}{bits}Dtype" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)), "Float32Dtype",
            "Float64Dtype")  # fmt: skip
"""pandas' nullable number types."""


def columns_of(frame: Any) -> tuple[Mapping[str, Reading], Callable[[Sequence[str]], pa.Table]]:
    """How each column of a frame is read, and a function that returns some of them as an Arrow table."""
    array: Callable[[Any, str], Any]
    match type(frame).__module__.partition(".")[0], type(frame).__name__:
        case "pandas", "DataFrame":
            types, array = {name: _pandas_type(kind) for name, kind in frame.dtypes.items()}, _pandas_array
        case "polars", "DataFrame":
            types, array = {name: _polars_type(frame, name) for name in frame.columns}, _polars_array
        case "pyarrow", "Table" | "RecordBatch":
            types, array = dict(zip(frame.schema.names, frame.schema.types, strict=True)), _arrow_array
        case _:
            raise DuotoneError(NO_FRAME)
    names = list(frame.schema.names if array is _arrow_array else frame.columns)
    if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise DuotoneError("the columns of a data frame need distinct text names: rename them")
    readings = {name: of_arrow(quoted(name), kind) for name, kind in types.items()}
    if array is _pandas_array:
        readings |= {name: _refused(name, frame.dtypes[name]) for name, how in readings.items() if how.kind == "other"}
    rows = fresh()  # a constant column, so that rows are counted if no column is asked about

    def some(columns: Sequence[str]) -> pa.Table:
        arrays = {name: _plain(array(frame, name)) for name in columns}
        return pa.table({**arrays, rows: pa.nulls(len(frame) if array is not _arrow_array else frame.num_rows, pa.bool_())})

    return readings, some


def of_arrow(column: str, kind: pa.DataType | None) -> Reading:
    """How the engine reads a column of this Arrow type, once it is plain."""
    is_ = pa.types
    if kind is None:
        return OTHER
    if is_.is_dictionary(kind) or is_.is_run_end_encoded(kind):
        return of_arrow(column, kind.value_type)
    if is_.is_boolean(kind):
        return Reading("boolean", "boolean", column)
    if is_.is_integer(kind) and not is_.is_uint64(kind):
        return Reading("integer", "int64", f"cast({column} as bigint)")
    if is_.is_floating(kind):
        return number(column)
    if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind):
        return text(column)
    if is_.is_decimal(kind) and not is_.is_decimal256(kind) and 0 <= kind.scale <= kind.precision:
        return Reading("decimal", f"decimal({kind.precision}, {kind.scale})", column)
    if is_.is_date32(kind):
        return date(column)
    if is_.is_date64(kind):
        return day(column)
    if is_.is_timestamp(kind):  # with a time zone, its number is in UTC
        return replace(moment(column, kind.unit), zone=kind.tz is not None)
    return OTHER


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The Arrow type with the same bytes, in which each of them is a value."""
    is_ = pa.types
    if is_.is_dictionary(kind) or is_.is_run_end_encoded(kind):
        return wide(plain_type(kind.value_type))
    if is_.is_string(kind):
        return pa.binary()
    if is_.is_large_string(kind) or is_.is_string_view(kind):
        return pa.large_binary()
    if is_.is_timestamp(kind) or is_.is_date64(kind):
        return pa.int64()
    if is_.is_float16(kind):
        return pa.float32()
    if is_.is_decimal(kind):
        return pa.decimal128(kind.precision, kind.scale)
    return kind


def wide(kind: pa.DataType) -> pa.DataType:
    """Types for bytes of possibly more than two gigabytes."""
    return pa.large_binary() if pa.types.is_binary(kind) else kind


def _plain(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return pa.chunked_array([_plain_chunk(chunk) for chunk in chunks], type=plain_type(column.type))


def _plain_chunk(chunk: pa.Array) -> pa.Array:
    is_ = pa.types
    kind, target = chunk.type, plain_type(chunk.type)
    if is_.is_run_end_encoded(kind):
        places = pa.RunEndEncodedArray.from_arrays(chunk.run_ends, pa.array(range(len(chunk.values)), pa.int64()))
        return _taken(chunk.values, pc.run_end_decode(places).slice(chunk.offset, len(chunk)))
    if is_.is_dictionary(kind):
        return _taken(chunk.dictionary, chunk.indices)
    if is_.is_string_view(kind):
        return pc.cast(chunk.view(pa.binary_view()), target)
    if is_.is_float16(kind) or is_.is_decimal(kind):
        return pc.cast(chunk, target)
    return chunk if target == kind else chunk.view(target)


def _taken(values: pa.Array, places: pa.Array) -> pa.Array:
    plain = _plain_chunk(values)
    return plain.cast(wide(plain.type)).take(places)


def _arrow_array(table: Any, name: str) -> Any:
    return table.column(name)


def _polars_type(frame: Any, name: str) -> pa.DataType | None:
    """The Arrow type of a column, without its rows."""
    try:
        return frame.get_column(name).clear().to_arrow().type
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # Polars has no Arrow type for it, and may panic, which is not an Exception
        return None


def _polars_array(frame: Any, name: str) -> Any:
    return frame.get_column(name).to_arrow()


def _pandas_type(kind: Any) -> pa.DataType | None:
    """The Arrow type of a pandas type; None for objects and other types without one."""
    import pandas as pd

    if isinstance(kind, pd.ArrowDtype):
        return kind.pyarrow_dtype
    if isinstance(kind, pd.CategoricalDtype):
        return _pandas_type(kind.categories.dtype) if kind.categories is not None else None
    if isinstance(kind, pd.StringDtype):
        return pa.large_string()
    if type(kind).__name__ in NULLABLE and hasattr(kind, "numpy_dtype"):
        kind = kind.numpy_dtype
    if not isinstance(kind, np.dtype):
        return None
    if kind.kind == "M":
        return pa.timestamp(np.datetime_data(kind)[0])
    return pa.from_numpy_dtype(kind) if kind.kind in "biuf" and kind.itemsize <= 8 else None


def _refused(name: str, kind: Any) -> Reading:
    """A pandas type that cannot be read, with a cure: text is declared, never inferred from rows."""
    if str(kind) not in ("object", "category"):
        return replace(OTHER, refused=f"has dtype {kind}: convert it with astype to text, numbers, Booleans or dates")
    objects = " of objects" if str(kind) == "category" else ""
    unknown = f"has dtype {kind}{objects}, which does not say what its values are"
    return replace(OTHER, refused=f"{unknown}: convert it, for text with df[{name!r}].astype('string')")


def _pandas_array(frame: Any, name: str) -> Any:
    """A column as an Arrow array."""
    return _pandas_values(frame[name].array)


def _pandas_values(values: Any) -> Any:
    import pandas as pd

    if isinstance(values.dtype, pd.CategoricalDtype):
        codes = np.asarray(values.codes, dtype=np.int64)
        words = _plain(_pandas_values(values.categories.array)).combine_chunks()
        return _taken(words, pa.array(codes, mask=codes < 0))
    if isinstance(values.dtype, pd.StringDtype) and values.dtype.storage == "python":
        held = [str.encode(value, "utf-8", "replace") if isinstance(value, str) else None for value in values]
        return pa.array(held, pa.large_binary())
    if hasattr(values, "__arrow_array__"):
        return values.__arrow_array__()
    numbers = values.to_numpy()
    return pa.array(numbers.view(np.int64) if numbers.dtype.kind == "M" else numbers, from_pandas=False)
