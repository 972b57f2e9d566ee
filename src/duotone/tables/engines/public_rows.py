"""The rows of a public table: read once, and hashed in the order of the keys that they are joined by, once for each choice.

Guarantee: what is computed here depends on the public rows alone, and not on their order.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from duotone.tables.engines.source import Source

MOST = 10**6
"""Rows that are joined, at most."""
KEPT = 8
"""Choices of keys by which a table is kept in order, at most."""


@dataclass(frozen=True)
class Keyed:
    """A table's rows by some keys: the keys, their order, and hashes of them and of other columns in this order."""

    order: Any
    keys: tuple[Any, ...]
    digest: str
    hashes: dict[str, str] = field(default_factory=dict)


@dataclass
class PublicTable:
    """A public table: an open source, or one that is `kept`, whose rows are in memory and whose source may be closed."""

    source: Source
    kept: pa.Table | None = None
    _keyed: dict[Any, Keyed] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def keep(self) -> None:
        """Read every column that can be asked about."""
        self.kept = self.rows([name for name, kind in self.source.columns.items() if kind != "other"])

    def rows(self, names: Sequence[str]) -> pa.Table:
        """Some columns, of one row more than may be joined at most."""
        if self.kept is not None:
            return self.kept.select(list(names))
        only = self.source.only(names)
        return only.run(only.table.select(*names).limit(MOST + 1))

    @property
    def lock(self) -> threading.RLock:
        """Held while rows are put in order, so that many who ask at once do it once."""
        return self._lock

    def keyed(self, choice: Any) -> Keyed | None:
        """The rows by a choice of keys, where it is kept."""
        return self._keyed.get(choice)

    def keep_keyed(self, choice: Any, keys: Sequence[Any], order: Any) -> Keyed:
        """Keep the rows by a choice of keys."""
        while len(self._keyed) >= KEPT:
            del self._keyed[next(iter(self._keyed))]
        digest = sha256("".join(hash_of(key.take(order)) for key in keys).encode()).hexdigest()
        made = self._keyed[choice] = Keyed(order, tuple(keys), digest)
        return made

    def digest(self, keyed: Keyed, columns: Mapping[str, Any]) -> list[str]:
        """A hash of the keys, and of each of these columns in the order of the keys."""
        with self._lock:
            for name, values in columns.items():
                if name not in keyed.hashes:
                    keyed.hashes[name] = hash_of(values.take(keyed.order))
            return [keyed.digest, *(keyed.hashes[name] for name in columns)]


def in_order(keys: Sequence[Any]) -> tuple[Any, int | None]:
    """The order of rows by their keys, and the place of a row whose keys another one has; None where there is none."""
    plain = [_plain(key) for key in keys]
    names = [str(i) for i in range(len(plain))]
    order = pc.sort_indices(pa.table(plain, names), sort_keys=[(name, "ascending") for name in names])
    same = np.ones(max(0, len(order) - 1), dtype=bool)
    for key in plain:
        values = key.take(order)
        same &= pc.equal(values.slice(1), values.slice(0, max(0, len(values) - 1))).to_numpy(zero_copy_only=False)
    twice = np.flatnonzero(same)
    return order, int(order[int(twice[0])].as_py()) if len(twice) else None


def hash_of(values: Any) -> str:
    """The SHA-256 of an array's values, one after the other: nulls, lengths of texts, and what is stored."""
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    parts = [pc.is_valid(values).cast(pa.uint8())]
    plain = _plain(values)
    if pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type):
        text = pc.fill_null(plain.cast(pa.large_string()), "")
        offsets = np.frombuffer(text.buffers()[1], np.int64)[text.offset : text.offset + len(text) + 1]
        stored = memoryview(text.buffers()[2] or b"")[int(offsets[0]) : int(offsets[-1])] if len(text) else b""
        parts.append(pc.binary_length(text))
    else:
        stored = b""
        parts.append(pc.fill_null(plain, 0))
    content = sha256(str(values.type).encode() + len(values).to_bytes(8, "big"))
    for part in parts:
        content.update(part.to_numpy(zero_copy_only=False).tobytes())
    content.update(stored)
    return content.hexdigest()


def _plain(values: Any) -> Any:
    """Values as numbers or texts that are equal exactly when these are."""
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    kind = values.type
    if pa.types.is_null(kind) or pa.types.is_boolean(kind):
        return values.cast(pa.uint8())
    if pa.types.is_date32(kind):
        return values.cast(pa.int32())
    if pa.types.is_timestamp(kind):
        return values.cast(pa.int64())
    return values.cast(pa.string()) if pa.types.is_decimal(kind) else values
