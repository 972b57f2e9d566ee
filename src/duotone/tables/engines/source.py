"""A table and its engine, and quiet calls to engines.

A stored table or file is asked about as it is; a query's result only if its owner vouches for its rows. In a query,
rows of several people may become one, a row may depend on other people's, and one row may make it fail. No engine can
exclude this. Every engine calls `require_vouched` for what is not a stored table.

Files may change while a table is open: what was read of them when it was opened is compared before every question.

Guarantee: only a file's number, size and times, its first line or its schema are compared, all of them public; no row
is.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any, Self, TypeVar

from duotone.cached import cached_property
from duotone.errors import DuotoneError, UnopenedTable, UnreadableColumn
from duotone.model.notice import Notice, Refusal, why
from duotone.tables.engines.engine import UNREADABLE, Engine, quietly
from duotone.tables.engines.stored_values import LONGEST, Columns, PublicSize, only, shortened
from duotone.tables.sql.condition import Kind, columns_read
from duotone.tables.sql.syntax import no_column

FORKED = "the table was opened by another process: open it in this one"


@dataclass(frozen=True)
class Source:
    """A table and the engine that answers plans about it. Plans are Ibis expressions over `rows`."""

    engine: Engine = field(repr=False)
    name: str
    reading: Columns = field(repr=False)
    """What its columns hold, and how they are read by the rule of totality (docs/reading.md)."""
    table: Any = field(default=None, repr=False)
    """An Ibis table of the requested columns: see `only`."""
    named: bool = True
    """Whether the name is the table's own."""
    release: Callable[[], Any] = field(default=lambda: None, repr=False)
    """Closes what was opened for this table, and nothing that was open before."""
    stated: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Declarations about reading a file that can change an answer."""
    vouched: str | None = None
    """What its owner vouches for, if it is not a stored table: see `require_vouched`."""
    sibling: Callable[[str], Source] | None = field(default=None, repr=False)
    """Opens another table of the same database, by its name; None for a file, a data frame and a query."""
    beside: tuple[str, ...] = ()
    """The names of joined private tables, if they are their own."""
    identity: str | None = None
    """What identifies it in a ledger if its name does not: several files by their names, a database by its file or its
    server."""
    checked: Callable[[], object] = field(default=lambda: None, repr=False)
    """Refuses files whose columns have changed since they were opened: see `Check`."""
    public: Mapping[Any, PublicSize] = field(default_factory=dict, repr=False)
    """The joined public tables, as plans have them, for bounds on work."""
    longest: int = LONGEST
    """Most characters of a stored text that are read."""
    fields: int = 0
    """For text files, and others joined to them: longest line, in characters. All of a line is parsed."""
    process: int = field(default_factory=os.getpid, repr=False)

    def close(self) -> None:
        """Close what was opened for this table; after that, it can no longer be asked about.

        In a forked child nothing is closed: it is the parent's.
        """
        if os.getpid() == self.process:
            self.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def columns(self) -> Mapping[str, Kind]:
        """What each column holds."""
        return self.reading.kinds

    @property
    def refused(self) -> Mapping[str, str]:
        """Columns whose type cannot be read: what the type is, and how to convert it, if known."""
        return self.reading.refused

    @cached_property
    def rows(self) -> Any:
        """The table with all usable columns."""
        return self.only([name for name, kind in self.columns.items() if kind != "other"]).table

    def only(self, columns: Iterable[str]) -> Self:
        """The same table with these columns alone: no other is read or converted.

        Guarantee: how a value is read depends on nothing but itself and its column's declared type.
        """
        if self.table is not None:
            return self
        chosen, reading = list(dict.fromkeys(columns)), self.reading
        self._require_own()
        self.unchanged()
        made = quietly(lambda: reading.table(chosen), UNREADABLE)
        return replace(self, table=self.shortened(made) if reading.stored else made)

    def shortened(self, table: Any, more: int = 0) -> Any:
        """A table of this engine with texts cut like here, or to this many characters more."""
        return shortened(table, self.longest + more, self.engine.can.bytes_of)

    def reading_up_to(self, longest: int | None) -> Self:
        """The same table with this declared length of stored texts; None for the previous length."""
        if longest is None:
            return self
        return replace(self, longest=longest, stated={**self.stated, "longest_text": longest})

    def limited_to(self, columns: Iterable[str]) -> Self:
        """The same table as if it had these columns alone: no question can name another."""
        names = {self.named_column(name) for name in columns}
        kinds = {name: kind for name, kind in self.reading.kinds.items() if name in names}
        refused = {name: why for name, why in self.reading.refused.items() if name in names}
        return replace(self, reading=replace(self.reading, kinds=kinds, refused=refused))

    def asked_about(self, parts: Iterable[Any], named: Iterable[str]) -> Self:
        """The same table with only the columns that parts of a question use, and further named ones."""
        return self.only([*sorted(columns_read(tuple(parts))), *named])

    def within(self, by: Sequence[str], keys: Iterable[tuple[Any, ...]]) -> Self:
        """The same table with only the rows whose key, as it is written, is one of these."""
        texts = [self.table[column].cast("string") for column in by]
        if len(texts) > 1:  # each with its length before it, so that no two keys look the same
            texts = [text.length().cast("string").concat(":", text) for text in texts]
            listed = {"".join(f"{len(str(value))}:{value}" for value in key) for key in keys}
        else:
            listed = {str(key[0]) for key in keys}
        return replace(self, table=self.table.filter(reduce(operator.add, texts).isin(sorted(listed))))

    def named_column(self, name: str) -> str:
        """The column that a name means: itself, or the one that differs only in case."""
        if name in self.columns:
            return name
        matches = [column for column in self.columns if column.lower() == name.lower()]
        if len(matches) != 1:
            raise no_column(name, self.columns)
        return matches[0]

    def require_key(self, column: str, what: str) -> None:
        """Refuse what cannot identify a person or a group: only values that are equal exactly when they look so can."""
        if self.columns[self.named_column(column)] in ("float", "decimal", "time", "other"):
            why = self.refused.get(self.named_column(column), "must hold text, whole numbers, Booleans or dates")
            raise DuotoneError(f"column {column} cannot be {what}: it {why}")

    def run(self, plan: Any) -> Any:
        """Execute a plan and return its result as an Arrow table.

        Guarantee: no message of the engine is shown, since it may quote rows; and files are read as they were when just
        checked, or nothing is returned.
        """
        self._require_own()
        before = self.unchanged()
        result = quietly(lambda: self.engine.run(plan), UNREADABLE)
        if self.unchanged() != before:
            raise DuotoneError(f"{self.name} was written to while it was read: ask again")
        return result

    def unchanged(self) -> object:
        """The result of `checked`. A change of files is not the question's fault, and the sentence names the files."""
        try:
            return self.checked()
        except DuotoneError as error:
            raise UnopenedTable(why(error)) from None

    def _require_own(self) -> None:
        """Refuse a forked process: the engine's threads are gone, or its connection is another process's too."""
        if os.getpid() != self.process:
            raise DuotoneError(FORKED)


def all_checked(sources: Iterable[Source]) -> Callable[[], object]:
    """The check of several tables that are read together."""
    checks = [source.checked for source in sources]
    return lambda: [check() for check in checks]


@contextmanager
def explained(tables: Iterable[Source]) -> Iterator[None]:
    """Explain the type of an unusable column, and how to convert it, if one of the tables knows."""
    try:
        yield
    except UnreadableColumn as error:
        known = (table.refused[error.column] for table in tables if error.column in table.refused)
        raise UnreadableColumn(error.column, next(known, error.how)) from None


def refuse_twins(names: Iterable[str]) -> None:
    """Refuse columns whose names differ only in case."""
    known: dict[str, str] = {}
    for name in names:
        if (first := known.get(name.lower())) is not None:
            raise DuotoneError(
                f"two columns of the table have the same name but for upper and lower case, {first} and {name}: rename one"
            )
        known[name.lower()] = name


def of_table(table: Any, engine: Engine, name: str, **more: Any) -> Source:
    """An Ibis table, with values as its engine returns them."""
    kinds = {column: _kind(dtype) for column, dtype in table.schema().items()}
    return Source(engine, name, Columns(kinds, partial(only, table)), **more)


def _kind(dtype: Any) -> Kind:
    for kind, fits in (
        ("text", dtype.is_string()),
        ("boolean", dtype.is_boolean()),
        ("integer", dtype.is_integer() and not (dtype.is_unsigned_integer() and dtype.nbytes == 8)),
        ("float", dtype.is_floating() and dtype.nbytes >= 4),
        ("decimal", dtype.is_decimal() and (dtype.precision or 0) <= 38),
        ("date", dtype.is_date()),
        ("time", dtype.is_timestamp() and dtype.timezone is None),
    ):
        if fits:
            return kind  # type: ignore[return-value]
    return "other"


def require_vouched(what: str, vouched: bool) -> str:
    """The name of what is not a stored table; refused unless the owner vouches for it.

    >>> require_vouched("view visits", vouched=True)
    'view visits'
    """
    if vouched is not True:
        raise Refusal("not vouched", what=what)
    return what


def vouched_for(what: str, unit: str | None) -> Notice:
    """What the owner vouches for; it is shown beside answers."""
    return Notice("vouched for people", what=what) if unit is None else Notice("vouched for", what=what, unit=unit)


CHANGED = "the columns of {path} have changed since it was opened: open it again"
Check = Callable[[], object]
"""Refuses files whose columns are not those that a table was opened with. If it returns the same before and after a
read, the files were read as they were checked."""
C = TypeVar("C")


def same_columns(paths: Sequence[Path], columns: Callable[[], C]) -> tuple[C, Check]:
    """The columns of some files, and their check. They are read again only if a file was replaced or written to."""
    seen = [stamps(*paths)]
    opened = columns()

    def check() -> object:
        now = stamps(*paths)
        if now != seen[0]:
            if columns() != opened:
                raise DuotoneError(CHANGED.format(path=", ".join(map(str, paths[:3]))))
            seen[0] = now
        return now

    return opened, check


def same_file(path: Path) -> Check:
    """The check of a file that stays open: if it is replaced or written to, the table must be opened again."""
    opened = stamps(path)

    def check() -> object:
        if stamps(path) != opened:
            raise DuotoneError(f"{path} was replaced or written to since it was opened: open it again")
        return opened

    return check


def same_files(table: object, opened: Sequence[Path], listed: Callable[[], Sequence[Path]], checked: Check) -> Check:
    """The check of a folder or a pattern: of the files that were opened, and that there are no others now."""

    def check() -> object:
        if list(listed()) != list(opened):
            raise DuotoneError(f"{table} has other files than when it was opened: open it again")
        return checked()

    return check


def stamps(*paths: Path) -> list[tuple[int, ...]]:
    """Which files they are, and when they were written to."""
    facts: list[tuple[int, ...]] = []
    for path in paths:
        try:
            one = path.stat()
        except OSError:
            raise DuotoneError(f"there is no file {path} any more") from None
        facts.append((one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns))
    return facts
