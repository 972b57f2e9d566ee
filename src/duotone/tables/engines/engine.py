"""The engine interface, and a `Source`: a table and its engine. Plans have brackets in their text, and errors are quiet,
since an engine's messages may quote rows.

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
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import ibis
from sqlglot import exp

from duotone.cached import cached_property
from duotone.errors import DuotoneError, UnopenedTable, UnreadableColumn
from duotone.interrupts import held, uninterrupted
from duotone.model.notice import Notice, Refusal, why
from duotone.model.text_types import Numerals, text_type
from duotone.tables.engines.stored_values import LONGEST, Columns, PublicSize, only, shortened
from duotone.tables.sql.condition import Kind, columns_read
from duotone.tables.sql.syntax import no_column

UNREADABLE = Notice("engine failed")
ON_FAILURE: ContextVar[Callable[[str], None] | None] = ContextVar("ON_FAILURE", default=None)
"""Receives the kind of an engine's error, for the table's owner only."""
NO_OPERATORS = ("Paren", "Dot", "Kwarg", "PropertyEQ", "Escape")
"""Nodes that sqlglot calls unary or binary, but that are not operators between values."""


@dataclass(frozen=True)
class Abilities:
    """Optional abilities of an engine."""

    embedded: bool = False
    """Whether it is DuckDB inside the process: it has regular expressions, and keeps the extremes while it adds up."""
    proven: bool = True
    """Whether Duotone's tests run on it; any other is tested on made-up rows before the first question."""
    no_casts: str = ""
    """Why text cannot be read as a number or a date there; empty if it can."""
    same_functions: bool = True
    """Whether every function agrees with DuckDB's to the last digit."""
    public_rows: int = 10**4
    """Most rows of a joined public table: beyond DuckDB they are sent with every query."""
    bytes_of: str | None = "octet_length"
    """The function that returns the bytes of a text, if they are stored with it."""


class Engine(Protocol):
    """Executes plans (Ibis expressions), and returns Arrow tables."""

    @property
    def name(self) -> str:
        """Its name in errors."""
        ...

    @property
    def connection(self) -> Any:
        """Ibis's connection."""
        ...

    @property
    def can(self) -> Abilities:
        """Its abilities."""
        ...

    def run(self, plan: Any) -> Any:
        """The result of a plan. Call it through `quietly`."""
        ...

    def alive(self) -> bool:
        """Whether it responds; reads no row."""
        ...

    def interrupt(self) -> None:
        """Interrupt the running query, if possible."""
        ...

    def public_table(self, rows: Any, types: Mapping[str, str], /) -> tuple[Any, Callable[[], None]]:
        """A public Arrow table as one to join, and a function that drops it."""
        ...


Draw = Callable[[Any], tuple[Any, Any]]
"""A function of the people of each group: the places of the shown groups, and a noisy size of each
(`release.groups`)."""


@runtime_checkable
class Draws(Protocol):
    """An engine that can draw Duotone's coins where it counts."""

    def kept(self, plan: Any, keys: Sequence[str], draw: Draw) -> Any:
        """The keys of the shown groups, each with a noisy `size`, for a plan that counts the `people` of each."""
        ...


def answers(engine: Engine) -> bool:
    """Whether a remote engine responds; reads no row."""
    try:
        quietly(lambda: engine.run(ibis.literal(1).name("one").as_table()), UNREADABLE)
    except DuotoneError:
        return False
    return True


@contextmanager
def closed_on_error(close: Callable[[], Any]) -> Iterator[None]:
    """Close what was opened if the block fails."""
    try:
        yield
    except BaseException:
        close()
        raise


@uninterrupted
def quietly(work: Callable[[], Any], failure: Notice | str) -> Any:
    """Call the engine; if it fails, raise an error without details.

    Guarantee: the error contains nothing of the engine's, which might quote rows; an interrupt stays one, but a new
    one, without the frames that hold rows.
    """
    done = refused = leaving = None
    failed, kind = True, ""
    with held() as interrupts:
        try:
            with warnings.catch_warnings(action="ignore"), interrupts.heard():
                done = work()
                failed = False
        except DuotoneError as error:
            refused = why(error)
        except KeyboardInterrupt:
            interrupts.noted = True
        except SystemExit as error:
            leaving = (error.code,)
        except BaseException as error:  # an engine's panic may not be an Exception
            kind = type(error).__name__
        if interrupts.noted:
            done = None
    if interrupts.noted:  # raised here, so that it has no context
        raise interrupts.error or KeyboardInterrupt()
    if leaving:
        raise SystemExit(*leaving)
    if failed:
        if kind and (owner := ON_FAILURE.get()) is not None:
            owner(kind)
        raise DuotoneError(refused or failure)
    return done


def sqlglot_of(backend: Any, plan: Any) -> Any:
    """A plan as a sqlglot tree for this backend of Ibis, with brackets."""
    return bracketed(backend.compiler.to_sqlglot(plan))


def bracketed(tree: Any) -> Any:
    """The same tree with brackets around each nested operator. Ibis and sqlglot omit some: `(not a) is null` becomes
    `not a is null`, which engines read as `not (a is null)`.

    Guarantee: the tree's text parses to the tree, whatever precedence an engine gives its operators.
    """
    own = tree.copy()  # Ibis shares nodes
    for node in [node for node in own.walk() if _is_operator(node) and _is_operator(node.parent)]:
        same = isinstance(node, exp.And | exp.Or) and type(node) is type(node.parent)
        sign = isinstance(node.parent, exp.Is) and node.arg_key == "expression"  # is not null
        if not (same or sign):
            brackets = exp.Paren()
            node.replace(brackets)
            brackets.set("this", node)
    return own


def _is_operator(node: Any) -> bool:
    """Whether its text is its operands with words or signs before, between or after them."""
    return isinstance(node, exp.Unary | exp.Binary | exp.Between | exp.In) and type(node).__name__ not in NO_OPERATORS


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

    @property
    def percents(self) -> tuple[str, ...]:
        """Its columns of per cent, whoever opened it."""
        held = {column: text_type(one) for column, one in self.stated.get("types", {}).items() if column in self.columns}
        return tuple(column for column, one in held.items() if isinstance(one, Numerals) and one.percent)

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
        kind = self.columns[self.named_column(column)]
        if kind in ("float", "decimal", "time", "other"):
            why = self.refused.get(
                self.named_column(column), f"must hold text, whole numbers, Booleans or dates{_cure(kind, what)}"
            )
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
            raise DuotoneError("the table was opened by another process: open it in this one")


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


def _cure(kind: Kind, what: str) -> str:
    """How numbers and times can identify groups, and numbers persons."""
    if kind in ("float", "decimal"):
        if what == "grouped by":
            return "; make whole numbers of it, as in year::int"
        return "; in a text file declare it as text, anywhere else store it as text or as whole numbers"
    return "; make a date of it, as in date_trunc('day', seen)::date" if (kind, what) == ("time", "grouped by") else ""
