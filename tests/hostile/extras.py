"""Columns that nothing can be asked about, or that hold objects: they must change nothing, whatever stands in them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

PAIRED: Mapping[str, tuple[pa.DataType, Sequence[Any], Sequence[Any]]] = {
    "list": (pa.list_(pa.int64()), [[1], [2, 3]], [None, [], [None], [2**63 - 1, None]]),
    "lists": (pa.list_(pa.list_(pa.string())), [[["a"]]], [None, [], [None], [[]], [[None]], [["\x00", None], None]]),
    "struct": (pa.struct({"a": pa.float64(), "b": pa.string()}), [{"a": 1.0, "b": "x"}],
               [None, {"a": None, "b": None}, {"a": float("nan"), "b": ""}, {"a": float("inf"), "b": "\x00"}]),
    "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1)]], [None, [], [("a", None)], [("", -(2**63))]]),
    "null": (pa.null(), [None], [None]),
    "duration": (pa.duration("ns"), [1], [None, 2**63 - 1, -(2**63) + 1, 0]),
    "clock": (pa.time64("ns"), [datetime.time(12)], [None, datetime.time(0), datetime.time(23, 59, 59, 999999)]),
    "clock32": (pa.time32("ms"), [datetime.time(12)], [None, datetime.time(23, 59, 59, 999000)]),
    "bytes": (pa.binary(), [b"x"], [None, b"", b"\xff\x00"]),
    "zoned": (pa.timestamp("us", "UTC"), [0], [None, 2**63 - 1, -(2**63) + 1]),
    "half": (pa.float16(), [1.0], [None, float("nan"), float("-inf")]),
    "wide": (pa.decimal256(76, 0), [Decimal(1)], [None, Decimal(10) ** 27]),
    "u64": (pa.uint64(), [1], [None, 2**64 - 1, 0]),
}  # fmt: skip
"""By name: the type, quiet values and hostile ones."""


class Failing:
    """An object that can neither be printed, compared nor measured."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = object.__hash__

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __float__(self) -> float:
        raise RuntimeError("no number")


def objects() -> list[Any]:
    """What a pandas column of objects may hold, however it came there."""
    import numpy as np
    import pandas as pd

    return [
        None, pd.NA, pd.NaT, float("nan"), Decimal("sNaN"), Decimal("NaN"), np.array([1, 2]), np.array([]), np.array(["a"],
        dtype=object), {}, {"a": 1},
        {"a": {"b": None}}, [], [1, "a"], [{"a": 1}, {"b": 2}], (1, 2), {1, 2}, frozenset(), b"\xff", "\ud800", "a\ud800b", "",
        "\x00", "1", 1, 1.5, True,
        2**70, -(2**70), 1j, datetime.date(1, 1, 1), datetime.datetime(9999, 12, 31), datetime.timedelta(1), datetime.time(1),
        np.datetime64("NaT"),
        np.datetime64("2000-01-01T00:00:00.000000001"), np.float32("nan"), np.int8(3), pd.Timestamp(0), pd.Timedelta(1),
        pd.Interval(0, 1),
        Failing(), object(), type, lambda: 0, Ellipsis, NotImplemented, range(3), memoryview(b"a"), "x" * 10_000,
        pd.Series([1]), pd.DataFrame({"a": [1]}),
        Exception("x"), float("inf"), -0.0, np.str_("a"), np.bool_(True),
    ]  # fmt: skip


def arrow_tables(base: int, quiet: Sequence[int] = (5, 3, 9)) -> tuple[pa.Table, list[pa.Table]]:
    """A quiet table of all these columns and a column x, and its neighbours with one hostile row more."""
    rows = [quiet[i % len(quiet)] for i in range(base)]
    calm = {n: pa.array([q[i % len(q)] for i in range(base)], t) for n, (t, q, _) in PAIRED.items()}
    table = pa.table({"x": pa.array(rows, pa.int64()), **calm})
    neighbours = []
    for i in range(max(len(h) for _, _, h in PAIRED.values())):
        row = {n: pa.array([h[i % len(h)]], t) for n, (t, _, h) in PAIRED.items()}
        neighbours.append(pa.concat_tables([table, pa.table({"x": pa.array([7], pa.int64()), **row})]))
    return table, neighbours
