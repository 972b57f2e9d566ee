"""Whether two datasets are the same table under different names: one table has one budget."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from duotone.desk.records import Records
from duotone.errors import DuotoneError
from duotone.model.checks import Mistakes
from duotone.tables.engines.engine import Source, quietly
from duotone.tables.engines.open import files_of

NOTED = "table "
"""How the name of a note about a table begins."""
BLOCKS, BLOCK = 64, 2**20
"""Bytes that are hashed at most: a larger file is sampled at evenly spread parts."""


def tables_held(place: str, table: str | None, source: Source) -> frozenset[str]:
    """Keys that identify the tables of a place, without secrets. For a database: its own name of each table. For files:
    the real path, the disk's number of the file and its content, so that a second name or a copy is not a second
    table."""
    if source.sibling is None and "://" not in place:
        return frozenset(_files(place))
    name = (table or source.name).rpartition(".")[2].lower()
    if "://" not in place:
        return frozenset(f"{file} {name}" for file in _files(place))
    return frozenset({_in_database(source.identity) or f"{place.rpartition('@')[2].partition('?')[0]} {name}"})


def _files(place: str) -> Iterator[str]:
    files = files_of(place)
    for file in files:
        yield os.path.realpath(file)
        yield _on_disk(file)
        if len(files) == 1 or _has_rows(file):  # empty parts look alike everywhere
            yield f"content {hashlib.sha256(_content(file).encode()).hexdigest()}"


def _on_disk(file: str | Path) -> str:
    status = os.stat(file)
    return f"file {status.st_dev} {status.st_ino}"


def _has_rows(file: Path) -> bool:
    """Whether a Parquet file has rows."""
    import pyarrow.parquet as pq

    return int(quietly(lambda: pq.read_metadata(file).num_rows, f"{file} is not a Parquet file")) > 0


def _content(file: Path) -> str:
    """A file's content: its size and a digest of it, or of parts if it is large."""
    size, digest = file.stat().st_size, hashlib.sha256()
    with file.open("rb") as opened:
        for i in range(BLOCKS):
            if size > BLOCKS * BLOCK:
                opened.seek((size - BLOCK) * i // (BLOCKS - 1))
            digest.update(opened.read(BLOCK))
    return f"{size} {digest.hexdigest()}"


def _in_database(identity: str | None) -> str | None:
    """Database, schema and table; with the server's own number, if known, whatever the server is called."""
    if identity is None:
        return None
    address, number, *rest = json.loads(identity)
    return json.dumps([address if number is None else str(number), *rest])


def _lasting(keys: frozenset[str]) -> list[str]:
    """The keys that are noted. Numbers of files are not: a disk gives the number of a deleted file to another."""
    return sorted(key for key in keys if not key.startswith("file "))


def asked_as(keys: frozenset[str], records: Records) -> set[str]:
    """The names under which this table was asked about, in any run: by place, by content, or as the same file of the
    disk as one that is still in place."""
    before = {name.removeprefix(NOTED): value for name, value in records.notes(NOTED).items()}
    return {name for key, name in before.items() if key in keys or not keys.isdisjoint(_still_there(key))}


def remember(name: str, keys: frozenset[str], records: Records) -> set[str]:
    """Note that a table is asked about under this name; return all names noted now, since others may have been
    faster."""
    return {records.note(f"{NOTED}{key}", name) for key in _lasting(keys)}


def _still_there(key: str) -> Iterator[str]:
    """The disk's number of the file at a noted place: a file, or a file and the name of a table in it."""
    place, _, table = key.rpartition(" ")
    for file, end in ((key, ""), (place, f" {table}")):
        if os.path.isabs(file) and os.path.isfile(file):
            yield f"{_on_disk(file)}{end}"


def refuse_public(
    public: Mapping[str, str], held: Mapping[str, frozenset[str]], at: tuple[str, ...], mistakes: Mistakes
) -> None:
    """Refuse a public file that is also a dataset's table: joining it would publish its rows."""
    for name, place in public.items():
        keys = frozenset(_files(place)) if os.path.exists(place) else frozenset()
        for other in sorted(other for other, others in held.items() if keys & others)[:1]:
            mistakes.add((*at, "public", name), f"is the table of {other}, whose rows are private: leave it out")


def refuse_twins(held: Mapping[str, frozenset[str]], mistakes: Mistakes) -> None:
    """Record a mistake if two datasets of an office share a table; `held` has the keys of each dataset's tables."""
    first: dict[str, str] = {}
    for name, keys in held.items():
        others = {first.setdefault(key, name) for key in keys} - {name}
        if others:
            mistakes.add(
                ("datasets", name, "source"),
                f"has a table that is {min(others)}'s, too, and one table has one budget: ask about it by one name",
            )


def sibling_keys(place: str, source: Source, other: str) -> frozenset[str]:
    """The keys of a further table: in a file of its own, or in the same database."""
    if source.sibling is None:
        return frozenset(_files(other))
    try:
        beside = source.sibling(other)
    except DuotoneError:
        return frozenset()  # refused when it is opened
    return tables_held(place, other, beside)
