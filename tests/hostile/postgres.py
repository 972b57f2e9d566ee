"""Tables in Postgres: the same worlds, with the values that its types can store, its infinities among them."""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import psycopg

from duotone.tables.engines import open_source
from hostile import pairs
from hostile.asked import Tally, keys, levels
from hostile.columns import COLUMNS, Column, Raw
from hostile.model import as_key, day_parts, read
from hostile.worlds import places, value_at, woven

TYPES = {
    "i16": "smallint", "i32": "integer", "i64": "bigint", "f64": "double precision", "f32": "real", "d_9_2": "numeric(9, 2)",
    "d_38_10": "numeric(38, 10)",
    "d_18_4": "numeric", "flag": "boolean", "day": "date", "t_us": "timestamp", "text": "text", "large": "varchar",
    "view": "char(6000)",
}  # fmt: skip
EDGES = {"day": (2**31 - 1, -(2**31)), "t_us": (2**63 - 1, -(2**63))}
"""What stands for Postgres' own infinities."""


def literal(column: Column, raw: Raw) -> str | None:
    """A value as Postgres reads it."""
    if raw is None or isinstance(raw, bool):
        return None if raw is None else str(raw).lower()
    if isinstance(raw, bytes):
        return raw.decode()
    if raw in EDGES.get(column.name, ()):
        return "infinity" if raw > 0 else "-infinity"
    match COLUMNS[column.name].kind:
        case "float":
            wide = column.arrow.bit_width == 64
            return repr(struct.unpack("<d" if wide else "<f", struct.pack("<Q" if wide else "<I", raw))[0])
        case "decimal":
            return f"{raw}e-{column.arrow.scale}"
        case "date":
            return _dated(raw)
        case "time":
            days, micros = divmod(raw, 86_400_000_000)
            seconds, part = divmod(micros, 10**6)
            day, _, era = _dated(days).partition(" ")
            return f"{day} {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{part:06} {era}".strip()
    return str(raw)


def _dated(days: int) -> str:
    year, month, day = day_parts("date", days)
    return f"{year:04}-{month:02}-{day:02}" if year > 0 else f"{1 - year:04}-{month:02}-{day:02} BC"


def storable(connection: Any) -> dict[str, Column]:
    """The columns with the values that Postgres takes, each tried alone."""
    columns = {}
    for name, kind in TYPES.items():
        column = COLUMNS[name]
        fits = []
        for raw in column.hostile:
            try:
                text = literal(column, raw)
                ok = connection.execute(f"select cast(%s as {kind}) is null", (text,)).fetchone() == (False,)
            except (psycopg.Error, UnicodeDecodeError, OverflowError):
                ok = False
            fits += [raw] if ok else []
        columns[name] = replace(column, hostile=tuple(fits), kind="float" if kind == "numeric" else column.kind)
    return columns


def reading(column: Column, raw: Raw) -> Any:
    """What a value is read as: as elsewhere, but that blanks at the end of char(n) are dropped."""
    if raw in EDGES.get(column.name, ()):
        return None
    if column.name == "d_18_4" and raw is not None:
        return read(replace(column, kind="decimal"), raw)
    value = read(column, raw)
    return value.rstrip(b" ") if column.name == "view" and isinstance(value, bytes) else value


def ask(url: str, seed: int, each: int) -> Tally:
    """A world in a table of a server, every column asked some questions; and hostile keys."""
    draw, tally = random.Random(seed), Tally()
    with psycopg.connect(url, autocommit=True) as connection:
        columns = storable(connection)
        world = woven(draw, places(columns), 2, 60)
        stored = [(g, row) for g, rows in enumerate(world.groups) for row in rows]
        _create(connection, f"hostile{seed}", columns, [(g, row.side, row.person, [value_at(c,
        row.place) for c in columns.values()])
                                                       for g, row in stored])  # fmt: skip
    with open_source(url, table=f"hostile{seed}") as source:
        tally.tables += 1
        for name, column in columns.items():
            where = f"postgres, seed {seed}, column {name}"
            groups = [list(rows) for rows in world.rows(column, reading)]
            pairs.kinds(source, {name: column}, tally, where)
            for question in pairs.asked(column, groups, draw, each, 1):
                found = levels(source, question, "gid")
                pairs.answers(found, dict(enumerate(groups)), question, world.edges, tally, where)
            values = [row.value for rows in groups for row in rows]
            if name in ("text", "i64", "day"):
                tally.wrong += [f"{where} as a key: {said}" for said in keys(source, name, column.kind, values, as_key)]
                tally.pairs += 3
    return tally


def _create(connection: Any, table: str, columns: Mapping[str, Column], rows: Sequence[tuple[Any, ...]]) -> None:
    kinds = ", ".join(f"{name} {TYPES[name]}" for name in columns)
    connection.execute(f"create table {table} (gid bigint, side boolean, person bigint, {kinds})")
    with connection.cursor() as cursor, cursor.copy(f"copy {table} from stdin") as copy:
        for gid, side, person, values in rows:
            copy.write_row((gid, side, person, *(literal(c, v) for c, v in zip(columns.values(), values, strict=True))))
