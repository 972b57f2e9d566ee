"""Dividing people into parts: each person is in one, whoever else there is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Places = NDArray[np.int64]


def part_of(person: object, key: bytes, parts: int) -> int:
    """The part of a person: a keyed hash of the unit's value. Who does not know the key cannot choose a part.

    >>> part_of("p0227", b"1" * 16, 51), part_of("p0227", b"2" * 16, 51)
    (28, 34)
    """
    return int.from_bytes(blake2b(str(person).encode(), key=key, digest_size=8).digest()) % parts


def places(units: pa.ChunkedArray | None, rows: int, key: bytes, parts: int) -> Places:
    """The part of each row: that of its unit, −1 without one; or, if each row is a person, drawn anew for each.

    **Guarantee.** A unit's part depends on its value and the key alone, so all rows of a person are in one part, and
    nobody else moves when a person joins or leaves. Two values are one person if the table, as it is read, holds the
    same value in both rows (docs/reading.md): as wherever people are counted. A row's part is drawn independently of
    the other rows, their number and their order: couple the draws of two neighbouring tables, so that the rows that
    both have are in the same parts, and one part differs by one row. A row's place would not do, since rows move up
    when one leaves; nor would a hash of its values, which equal rows share.
    """
    if units is None:
        return (_random(rows) % np.uint64(parts)).astype(np.int64)
    coded = units.combine_chunks().dictionary_encode()
    own: Places = np.array([part_of(person, key, parts) for person in coded.dictionary.to_pylist()] + [-1], dtype=np.int64)
    codes: Places = coded.indices.fill_null(len(own) - 1).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.asarray(own[codes])


def divided(rows: pa.Table, unit: str | None, key: bytes, parts: int) -> Iterator[pa.Table]:
    """The rows of each part, in random order.

    The order in which an engine returns rows may depend on rows of other parts, and must not reach a question.
    """
    own: Any = None
    where: Any = places(None if unit is None else rows[unit], rows.num_rows, key, parts)
    order: Any = None
    try:
        for part in range(parts):
            own = np.flatnonzero(where == part)
            order = own[np.lexsort((_random(len(own)), _random(len(own))))]
            yield rows.take(order)
    finally:
        where = order = own = None  # no traceback may show them


def _random(many: int) -> NDArray[np.uint64]:
    """Numbers from the operating system."""
    return np.frombuffer(os.urandom(8 * many), dtype=np.uint64)
