"""Whether two datasets are of one table, by whatever names: one table has one budget."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from duotone.desk.records import Records
from duotone.errors import DuotoneError
from duotone.model.checks import Mistakes
from duotone.tables.engines.engine import quietly
from duotone.tables.engines.files import files_of
from duotone.tables.engines.source import Source

NOTED = "table "
"""With which a note about a table begins."""
BLOCKS, BLOCK = 64, 2**20
"""Of a file that is larger than all of these together, its content is known by as many, evenly spread."""


def tables_held(place: str, table: str | None, source: Source) -> frozenset[str]:
    """What tells the tables of a place apart, without secrets: a database's own name of a table; of files, where each really
    is, which file of the disk it is, and what it holds, so that a second name or a copy is no second table."""
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
        if len(files) == 1 or _has_rows(file):  # of several, those without rows are everywhere alike
            yield f"content {hashlib.sha256(_content(file).encode()).hexdigest()}"


def _on_disk(file: str | Path) -> str:
    status = os.stat(file)
    return f"file {status.st_dev} {status.st_ino}"


def _has_rows(file: Path) -> bool:
    """Of a Parquet file, as several are."""
    import pyarrow.parquet as pq

    return int(quietly(lambda: pq.read_metadata(file).num_rows, f"{file} is not a Parquet file")) > 0


def _content(file: Path) -> str:
    """What a file holds: its size and a digest of it, or of parts where it is large."""
    size, digest = file.stat().st_size, hashlib.sha256()
    with file.open("rb") as opened:
        for i in range(BLOCKS):
            if size > BLOCKS * BLOCK:
                opened.seek((size - BLOCK) * i // (BLOCKS - 1))
            digest.update(opened.read(BLOCK))
    return f"{size} {digest.hexdigest()}"


def _in_database(identity: str | None) -> str | None:
    """Database, schema and table; of the server its own number, where it is known, whatever it is called."""
    if identity is None:
        return None
    address, number, *rest = json.loads(identity)
    return json.dumps([address if number is None else str(number), *rest])


def lasting(keys: frozenset[str]) -> list[str]:
    """Those that are noted: a disk gives the number of a file that is gone to another."""
    return sorted(key for key in keys if not key.startswith("file "))


def asked_as(keys: frozenset[str], records: Records) -> set[str]:
    """The names under which this table was asked about before, at whatever start: by its place, by what it holds, and by being
    the same file of the disk as one that is still where it was."""
    before = {name.removeprefix(NOTED): value for name, value in records.notes(NOTED).items()}
    return {name for key, name in before.items() if key in keys or not keys.isdisjoint(_still_there(key))}


def remember(name: str, keys: frozenset[str], records: Records) -> set[str]:
    """Note that a table is asked about under this name; the names that are noted then, as others may have been faster."""
    return {records.note(f"{NOTED}{key}", name) for key in lasting(keys)}


def _still_there(key: str) -> Iterator[str]:
    """Which file of the disk is at a place that was noted: a file, or a file and the name of a table in it."""
    place, _, table = key.rpartition(" ")
    for file, end in ((key, ""), (place, f" {table}")):
        if os.path.isabs(file) and os.path.isfile(file):
            yield f"{_on_disk(file)}{end}"


def refuse_public(
    public: Mapping[str, str], held: Mapping[str, frozenset[str]], at: tuple[str, ...], mistakes: Mistakes
) -> None:
    """A file that all may know is no dataset's table: questions that join it would read its rows as they are."""
    for name, place in public.items():
        keys = frozenset(_files(place)) if os.path.exists(place) else frozenset()
        for other in sorted(other for other, others in held.items() if keys & others)[:1]:
            mistakes.add((*at, "public", name), f"is the table of {other}, whose rows are private: leave it out")


def refuse_twins(held: Mapping[str, frozenset[str]], mistakes: Mistakes) -> None:
    """Two datasets of an office that have a table in common are a mistake; `held` is what tells the tables of each apart."""
    first: dict[str, str] = {}
    for name, keys in held.items():
        others = {first.setdefault(key, name) for key in keys} - {name}
        if others:
            mistakes.add(
                ("datasets", name, "source"),
                f"has a table that is {min(others)}'s, too, and one table has one budget: ask about it by one name",
            )


def sibling_keys(place: str, source: Source, other: str) -> frozenset[str]:
    """The same of a further table, which is in a file of its own, or in the same database."""
    if source.sibling is None:
        return frozenset(_files(other))
    try:
        beside = source.sibling(other)
    except DuotoneError:
        return frozenset()  # it is refused where it is opened
    return tables_held(place, other, beside)
