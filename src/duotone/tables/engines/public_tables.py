"""Public tables: read completely before any private row, and given to the engine beside the private table.

Their rows are hashed in the order of their join keys, once for each choice of keys.

Guarantee: what is computed and checked here depends on the public rows alone, and not on their order; so errors may
quote them.
"""

from __future__ import annotations

import datetime
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from duotone.errors import DuotoneError
from duotone.tables.engines.any_ibis import NOT_JOINED
from duotone.tables.engines.engine import UNREADABLE, Source, closed_on_error, quietly
from duotone.tables.engines.open import open_source
from duotone.tables.engines.stored_values import TYPES, Columns, PublicSize, fresh, only
from duotone.tables.sql.comparison import ParsedQuestion, PublicJoin
from duotone.tables.sql.condition import Kind, columns_read

MOST = 10**6
"""Most joined rows."""
KEPT = 8
"""Most choices of keys for which a table is kept in order."""


@dataclass(frozen=True)
class Keyed:
    """A table's rows by some keys: the keys, their order, and hashes of them and of other columns in this order."""

    order: Any
    keys: tuple[Any, ...]
    digest: str
    hashes: dict[str, str] = field(default_factory=dict)


@dataclass
class PublicTable:
    """A public table: an open source, or one that is `kept`, with its rows in memory and its source possibly closed."""

    source: Source
    kept: pa.Table | None = None
    keyed: dict[Any, Keyed] = field(default_factory=dict)
    """Its rows by choices of keys."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    """Held while rows are sorted, so that concurrent questions do it once."""

    def keep(self) -> None:
        """Read every usable column."""
        self.kept = self.rows([name for name, kind in self.source.columns.items() if kind != "other"])

    def rows(self, names: Sequence[str]) -> pa.Table:
        """Read some columns: one row more than may be joined, so that a longer table is noticed."""
        if self.kept is not None:
            return self.kept.select(list(names))
        only = self.source.only(names)
        return only.run(only.table.select(*names).limit(MOST + 1))

    def digest(self, keyed: Keyed, columns: Mapping[str, Any]) -> list[str]:
        """A hash of the keys, and of each of these columns in the order of the keys."""
        with self.lock:
            for name, values in columns.items():
                if name not in keyed.hashes:
                    keyed.hashes[name] = hash_of(values.take(keyed.order))
            return [keyed.digest, *(keyed.hashes[name] for name in columns)]


def in_order(keys: Sequence[Any]) -> tuple[Any, int | None]:
    """The order of rows by their keys, and the place of a row with a duplicate key; None without one."""
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
    """The SHA-256 of an array's values in order: nulls, lengths of texts, and stored bytes."""
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
    """Values as numbers or texts that are equal exactly when the values are."""
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    kind = values.type
    if pa.types.is_null(kind) or pa.types.is_boolean(kind):
        return values.cast(pa.uint8())
    if pa.types.is_date32(kind):
        return values.cast(pa.int32())
    if pa.types.is_timestamp(kind):
        return values.cast(pa.int64())
    return values.cast(pa.string()) if pa.types.is_decimal(kind) else values


ARROW: Mapping[Kind, pa.DataType] = {
    "integer": pa.int64(), "float": pa.float64(), "text": pa.string(), "untyped": pa.string(), "boolean": pa.bool_(),
    "date": pa.date32(), "time": pa.timestamp("us"),
}  # fmt: skip


NO_TYPES: Mapping[str, Mapping[str, str]] = {}


@contextmanager
def opened_public(tables: object, types: Mapping[str, Mapping[str, str]] = NO_TYPES) -> Iterator[Mapping[str, PublicTable]]:
    """Public tables by name, as declared; closed at the end of the block, unless they were open, or kept, before."""
    if not (isinstance(tables, Mapping) and all(isinstance(name, str) and name for name in tables)):
        raise DuotoneError('public tables are given by name, as {"zones": "zones.csv"}')
    if len({name.lower() for name in tables}) != len(tables):
        raise DuotoneError("two public tables have the same name but for upper and lower case: rename one")
    with ExitStack() as opened:
        yield {name: _public(table, types.get(name, {}), opened) for name, table in tables.items()}


def _public(table: Any, types: Mapping[str, str], opened: ExitStack) -> PublicTable:
    if isinstance(table, PublicTable):  # with its types
        return table
    if isinstance(table, Source):
        return PublicTable(table)
    return PublicTable(opened.enter_context(open_source(table, types=types, vouched=True)))


@dataclass(frozen=True)
class _Joined:
    """A join, and its public rows: the keys as the table's columns hold them, under `keys`, and the used columns."""

    join: PublicJoin
    keys: tuple[str, ...]
    rows: pa.Table
    types: Mapping[str, str]
    digest: list[Any]


def join_public(source: Source, asked: ParsedQuestion, public: Mapping[str, PublicTable]) -> tuple[Source, str]:
    """The table with the columns of the joined public tables, and how a ledger identifies those joins: with other
    public rows, it is another question.

    Guarantee: every row of the table occurs once, since a key is in a public table once.
    """
    if not source.engine.can.proven:
        raise DuotoneError(NOT_JOINED)
    used = columns_read(asked) | set(asked.by)
    parts = [_joined(source, join, public[join.table], used) for join in asked.joins]
    kinds = dict(source.columns)
    for part in parts:
        own = public[part.join.table].source.columns
        kinds |= {name: own[column] for name, column in part.join.columns} | {part.join.matched: "boolean"}
    tables: list[tuple[Any, Callable[[], None]]] = []

    def forget() -> None:
        for _, forget_one in tables:
            forget_one()

    def release() -> None:
        forget()
        source.close()

    with closed_on_error(forget):
        for part in parts:
            tables.append(quietly(partial(source.engine.public_table, part.rows, part.types), UNREADABLE))

    def table(columns: Sequence[str]) -> Any:
        keys = [own for part in parts for own, _ in part.join.keys]
        rows = source.only([*(name for name in columns if name in source.columns), *keys]).table
        for part, (other, _) in zip(parts, tables, strict=True):
            other = source.shortened(other, 1)  # one more character, so that a cut key equals no key of the table
            pairs = zip(part.join.keys, part.keys, strict=True)
            rows = rows.left_join(other, [rows[own] == other[key] for (own, _), key in pairs])
        return only(rows, columns)

    digest = json.dumps(sorted((part.digest for part in parts), key=json.dumps))
    sizes = {other.op(): _size(part.rows) for part, (other, _) in zip(parts, tables, strict=True)}
    reading = Columns(kinds, table, stored=False)
    return replace(source, reading=reading, release=release, public={**source.public, **sizes}), digest


def _size(rows: pa.Table) -> PublicSize:
    texts = [name for name in rows.column_names if pa.types.is_string(rows[name].type)]
    return PublicSize(rows.num_rows, {name: pc.max(pc.utf8_length(rows[name])).as_py() or 0 for name in texts})


def _joined(source: Source, join: PublicJoin, table: PublicTable, used: set[str]) -> _Joined:
    public = table.source
    for own, key in join.keys:
        source.require_key(own, "joined by")
        public.require_key(key, "joined by")
    chosen = [(name, column) for name, column in join.columns if name in used]
    names = list(dict.fromkeys([*(key for _, key in join.keys), *(column for _, column in chosen)]))
    most = min(MOST, source.engine.can.public_rows)
    rows = table.rows(names)
    if rows.num_rows > most:
        where = "" if source.engine.can.embedded else f" on {source.engine.name}"
        raise DuotoneError(f"the public table {join.table} has more than {most:,} rows, the limit for joins{where}")
    keyed = _keyed(source, join, table, rows)
    columns: dict[str, Any] = {}
    types: dict[str, str] = {}
    places = tuple(fresh() for _ in join.keys)
    for place, values, (own, _) in zip(places, keyed.keys, join.keys, strict=True):
        columns[place], types[place] = values, TYPES[source.columns[own]]
    held = {column: rows[column].cast(ARROW.get(public.columns[column], rows[column].type)) for _, column in chosen}
    for name, column in chosen:
        kind, values = public.columns[column], held[column]
        columns[name] = values
        types[name] = f"decimal({values.type.precision}, {values.type.scale})" if kind == "decimal" else TYPES[kind]
    columns[join.matched], types[join.matched] = pa.repeat(pa.scalar(True), rows.num_rows), "boolean"
    named = [[name, public.columns[column]] for name, column in sorted(chosen)]
    content = table.digest(keyed, {column: held[column] for _, column in sorted(chosen)})
    digest = [join.label, [own for own, _ in join.keys], named, "left" if join.left else "inner", content]
    return _Joined(join, places, pa.table(columns), types, digest)


def _keyed(source: Source, join: PublicJoin, table: PublicTable, rows: pa.Table) -> Keyed:
    """The rows in the order of their keys, each of which occurs once; sorted once if the table is kept."""
    choice = tuple((key, source.columns[own]) for own, key in join.keys)
    with table.lock:
        if choice in table.keyed:
            return table.keyed[choice]
        keys = [_keys(source.columns[own], table.source.columns[key], rows[key], join, key) for own, key in join.keys]
        order, twice = in_order(keys)
        if twice is not None:
            said = ", ".join(str(key[twice].as_py()) for key in keys)
            raise DuotoneError(
                f"the public table {join.table} has {said} twice, and is a join key: a row may have at most one "
                "public row, so give it once"
            )
        while len(table.keyed) >= KEPT:
            del table.keyed[next(iter(table.keyed))]
        digest = sha256("".join(hash_of(key.take(order)) for key in keys).encode()).hexdigest()
        made = table.keyed[choice] = Keyed(order, tuple(keys), digest)
        return made


def _keys(wanted: Kind, held: Kind, column: Any, join: PublicJoin, name: str) -> Any:
    """Public keys as the table's column holds them: equal to one exactly when they look the same."""
    if column.null_count:
        raise DuotoneError(f"column {name} of the public table {join.table} is a join key and has a null: remove it")
    texts: set[Kind] = {"text", "untyped"}
    if held == wanted or {held, wanted} <= texts:
        return column.cast(ARROW[wanted])
    if wanted == "untyped" and held in ("integer", "date"):
        return pa.array(map(str, column.to_pylist()), ARROW[wanted])
    if held != "untyped":
        raise DuotoneError(
            f"column {name} of the public table {join.table} holds {held} values, and is joined to {wanted} ones: "
            "convert one to the other's type"
        )
    values = column.to_pylist()
    read = [typed(value, wanted) for value in values]
    if None in read:
        raise DuotoneError(
            f"column {name} of the public table {join.table} has {values[read.index(None)]!r}, and is joined to {wanted} "
            "values: write them as 12, true or 2025-12-31"
        )
    return pa.array(read, ARROW[wanted])


def typed(text: str, kind: Kind) -> Any:
    """Convert a text to a value of a type; None if it is not written as such a value."""
    match kind:
        case "integer" if re.fullmatch(r"-?[1-9][0-9]{0,18}|0", text) and -(2**63) <= int(text) < 2**63:
            return int(text)
        case "boolean" if text in ("true", "false"):
            return text == "true"
        case "date" if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            try:
                return datetime.date.fromisoformat(text)
            except ValueError:
                return None
    return None
