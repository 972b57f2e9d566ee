"""Whether two datasets are of one table, by whatever names: one table has one budget."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping

from duotone.errors import DuotoneError
from duotone.service.mistakes import Mistakes
from duotone.tables.engines.files import files_of
from duotone.tables.engines.source import Source


def tables_held(place: str, table: str | None, source: Source) -> frozenset[str]:
    """What tells the tables of a place apart, without secrets: a database's own name of a table; of files, where each really
    is, and which file of the disk it is, so that a second name of it is no second table."""
    if source.sibling is None and "://" not in place:
        return frozenset(_files(place))
    name = (table or source.name).rpartition(".")[2].lower()
    if "://" not in place:
        return frozenset(f"{file} {name}" for file in _files(place))
    return frozenset({_in_database(source.identity) or f"{place.rpartition('@')[2].partition('?')[0]} {name}"})


def _files(place: str) -> Iterator[str]:
    for file in files_of(place):
        yield os.path.realpath(file)
        status = file.stat()
        yield f"file {status.st_dev} {status.st_ino}"


def _in_database(identity: str | None) -> str | None:
    """Database, schema and table; of the server its own number, where it is known, whatever it is called."""
    if identity is None:
        return None
    address, number, *rest = json.loads(identity)
    return json.dumps([address if number is None else str(number), *rest])


def lasting(keys: frozenset[str]) -> list[str]:
    """Those that hold for longer than the files of today: a disk gives the number of a file that is gone to another."""
    return sorted(key for key in keys if not key.startswith("file "))


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
