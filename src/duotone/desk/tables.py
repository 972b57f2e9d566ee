"""The tables of an office: opened when needed, kept open, and lent to one question at a time."""

from __future__ import annotations

import difflib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from duotone.desk.clock import Departure
from duotone.desk.made_up import Column, made_up
from duotone.desk.office import Listed, Office
from duotone.desk.same_table import refuse_public, refuse_twins, sibling_keys, tables_held
from duotone.desk.terms import Terms
from duotone.errors import DuotoneError, UnopenedTable
from duotone.model.checks import Mistakes
from duotone.model.dataset import Dataset
from duotone.model.notice import Refusal, why
from duotone.model.terms import DefiniteTerms
from duotone.privacy.text import Definition
from duotone.resources import limited
from duotone.tables.check_by_parts import prepare_by_parts
from duotone.tables.check_question import ToPrice, prepare, prepare_groups
from duotone.tables.declared import open_conforming, unit_in
from duotone.tables.engines.engine import Source, closed_on_error
from duotone.tables.engines.open import open_source
from duotone.tables.engines.public_tables import PublicTable
from duotone.tables.engines.stored_values import quoted
from duotone.tables.prepared import Prepared
from duotone.tables.sql.condition import Kind

Layout = tuple[tuple[tuple[str, Kind], ...], ...]
AGAIN = 0.5
"""Seconds after which an engine that continues is interrupted again."""


Version = tuple[int, int, int, int]


class PublicFiles:
    """The public tables of an office, by place; of each file, one version of the rows is in memory."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Path, str], tuple[Version, PublicTable]] = {}
        self._lock = threading.Lock()

    def table(self, path: Path, types: Mapping[str, str]) -> PublicTable:
        """The current table of a file, with these types of its columns."""
        key = path, json.dumps(sorted(types.items()))
        with self._lock:
            version, known = _version(path), self._kept.get(key)
            if known is not None and known[0] == version:
                return known[1]
            table = _read(path, types)
            if _version(path) == version:  # the file changed meanwhile: the next question reads it again
                self._kept[key] = version, table
            return table


def _read(path: Path, types: Mapping[str, str]) -> PublicTable:
    """Read the file in a thread of its own, so that whoever asks does not wait longer."""

    def work() -> PublicTable:
        with open_source(path, types=types, vouched=True) as source:
            table = PublicTable(source)
            table.keep()
            return table

    try:
        with ThreadPoolExecutor(1, "public file") as thread:
            return thread.submit(work).result()
    except DuotoneError as error:
        raise UnopenedTable(why(error)) from None


def _version(path: Path) -> Version:
    """A file's version; a missing file is an unreadable one."""
    try:
        about = path.stat()
    except OSError:
        raise UnopenedTable(f"there is no file {path}") from None
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


@dataclass
class OpenTable:
    """A dataset of the office with its table: its public facts, and idle connections."""

    name: str
    office: Office
    dataset: Listed
    idle: list[Source] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    kinds: dict[str, Kind] = field(default_factory=dict)
    """The type of each column, from the first opening."""
    engine: str = "DuckDB"
    public: PublicFiles = field(default_factory=PublicFiles)
    keys: frozenset[str] = frozenset()
    """The keys that tell its tables apart from those of other datasets."""
    layout: Layout | None = None
    """The columns of its tables, in order, when last read: questions about other columns are refused."""

    @property
    def declared(self) -> Dataset:
        """The owner's declaration."""
        return self.dataset.declared

    @property
    def lists(self) -> Mapping[tuple[str, ...], tuple[Any, ...]]:
        """The public lists of groups, by group columns."""
        return self.declared.groups if isinstance(self.declared.groups, Mapping) else {}

    @contextmanager
    def lent(self) -> Iterator[Any]:
        """Lend the open table to one question at a time; with further tables, lend its place, since all are opened
        together."""
        if self.declared.also:
            with self._opened() as alone:
                self._require_layout(alone)
            yield self._place
            return
        with self.lock:
            source = self.idle.pop() if self.idle else None
        if source is not None and not _answers(source):
            source.close()
            source = None
        source = self.open() if source is None else source
        try:
            yield source
        finally:
            with self.lock:
                self.idle.append(source)

    def open(self) -> Source:
        """A new connection, with only the usable columns."""
        source, dataset = self._opened(), self.declared
        with closed_on_error(source.close):
            self._require_layout(source)
            if dataset.columns is not None:
                source = source.limited_to([*dataset.columns, *([] if dataset.unit is None else [dataset.unit])])
            return replace(source, name=self.name, named=True)

    def _opened(self) -> Source:
        with limited(self.office.engine_limits):
            return open_conforming(replace(self.declared, source=self._place, columns=None))

    @property
    def _place(self) -> str:
        return self.office.path(self.declared.source)

    def _require_layout(self, source: Source) -> None:
        """Refuse columns, or an order of them, that differ from what the owner has seen."""
        if self.layout is not None and self._layout(source) != self.layout:
            raise DuotoneError(f"the columns of {self.name} have changed: give the data a new version")

    def _layout(self, source: Source) -> Layout:
        """The columns of the table, and of further tables in files of their own."""
        files = [] if source.sibling is not None else [self.office.path(place) for place in self.declared.also.values()]
        with ExitStack() as opened_now:
            others = [opened_now.enter_context(open_source(file)) for file in files]
            return tuple(tuple(one.columns.items()) for one in (source, *others))

    def learn(self) -> None:
        """Open the table once, and store its columns."""
        dataset, place = self.declared, self._place
        with self._opened() as source:
            self.layout = self._layout(source)
            further = (self.office.path(other) if source.sibling is None else other for other in dataset.also.values())
            beside = (sibling_keys(place, source, other) for other in further)
            self.keys = tables_held(place, dataset.table, source).union(*beside)
        with self.open() as source:
            self.kinds = {name: kind for name, kind in source.columns.items() if kind != "other"}
            self.engine = source.engine.name

    def read_public(self) -> None:
        """Read the public files before the first question."""
        self._public()

    def _public(self) -> dict[str, PublicTable]:
        declared = self.declared
        places = {name: Path(self.office.path(place)) for name, place in declared.public.items()}
        return {name: self.public.table(path, declared.types_of(name)) for name, path in places.items()}

    def reopen(self) -> None:
        """Close idle connections: the next question opens the table anew."""
        with self.lock:
            sources, self.idle = self.idle, []
        for source in sources:
            source.close()

    def question(self, table: Any, terms: Terms, check: Callable[[Prepared], None] | None = None) -> Prepared:
        """A question about the table, or about made-up rows, with the owner's declarations, if `check` accepts it;
        reads no row."""
        with limited(self.office.engine_limits, check):
            return self._question(self._about(table), terms)

    def _about(self, table: Any) -> Dataset:
        """The declaration of an open table, or of one that is opened with the question."""
        declared = self.declared
        public = self._public()
        if isinstance(table, Source):
            own = replace(declared, public=public, also={})
            return own.opened(table.reading_up_to(declared.longest_text))
        return replace(declared, source=table, public=public, also=self._also)

    @property
    def _also(self) -> dict[str, str]:
        """Further private tables: in a database, by name."""
        elsewhere = self.declared.table is not None or "://" in self._place
        return {name: other if elsewhere else self.office.path(other) for name, other in self.declared.also.items()}

    def asked_again(self, question: Prepared, table: Any) -> Prepared:
        """The checked question for the connection that is lent now."""
        with limited(self.office.engine_limits):
            return question.on(table.reading_up_to(self.declared.longest_text) if isinstance(table, Source) else table)

    def _question(self, declared: Dataset, terms: Terms) -> Prepared:
        if (terms.question is None) == (terms.by is None):
            raise DuotoneError("give either a question, or by (which groups there are)")
        if terms.parts is not None:
            return self._by_parts(declared, terms)
        if terms.groups == "private":
            declared = replace(declared, groups=None)
        if terms.max_groups is not None:
            declared = replace(declared, max_groups=terms.max_groups)
        if terms.at_least is not None:  # what the owner declares stands
            declared = replace(declared, at_least=max(terms.at_least, declared.at_least or 1))
        by_epsilon = (terms.epsilon, terms.exp_epsilon) != (None, None)
        margins = True if by_epsilon and self.dataset.account == "renyi" else terms.margins
        if terms.question is None:
            if terms.wrong is not None or not terms.priced:
                raise DuotoneError("which groups there are has a price: give epsilon and delta")
            return prepare_groups(declared, terms.by or [], self._price(terms), margins=margins)
        if self.dataset.close_calls is not None and not terms.priced:
            if any(each is not None for each in (terms.max_groups, terms.at_least, terms.costs, terms.delta, terms.margins)):
                raise DuotoneError("this dataset counts close calls: leave out delta, max_groups, at_least, margins and costs")
            return prepare(replace(declared, max_groups=None), terms.question, self.dataset.close_calls.question)
        asked = prepare(declared, terms.question, self._price(terms), costs=terms.costs_exact, margins=margins)
        with closed_on_error(asked.close):
            if terms.at_least is not None and not (isinstance(asked.terms, DefiniteTerms) and asked.terms.at_least):
                raise Refusal("at_least unused")
        return asked

    def _by_parts(self, declared: Dataset, terms: Terms) -> Prepared:
        """Any SQL, asked of parts of the people, if the owner allows that. Functions are not sent."""
        most = self.dataset.parts
        if most is None:
            raise DuotoneError("parts are not asked here: the owner of the dataset allows no parts")
        if terms.parts is None or terms.question is None or terms.parts > most:
            raise DuotoneError(f"here a question is asked of at most {most} parts: give it, and up to so many parts")
        if terms.made_up:
            raise DuotoneError("made-up rows have no parts: preview the question, which says what is wrong with it")
        if any(each is not None for each in (terms.max_groups, terms.at_least)) or terms.groups == "private":
            raise DuotoneError("parts have no groups: leave out max_groups, at_least and groups")
        by_epsilon = self.dataset.close_calls is None or terms.priced
        price = self._price(terms) if by_epsilon or self.dataset.close_calls is None else self.dataset.close_calls.question
        limits: Any = {"parts": terms.parts, "part_seconds": self.dataset.part_seconds}
        return prepare_by_parts(declared, terms.question, price, **limits, costs=terms.costs_exact, margins=terms.margins)

    def _price(self, terms: Terms) -> Definition | ToPrice:
        """The price as given, or what is wanted instead, with the account that prices it."""
        budget = terms.budget
        return budget if isinstance(budget, Definition) else ToPrice(budget, self.dataset.registration.account)

    def in_ledger(self) -> str:
        """The name in the ledger."""
        return self.dataset.in_ledger

    def made_up_rows(self) -> Any:
        """Rows about nobody, with the table's columns."""
        return made_up(self.made_up_columns, self.declared.unit, max_rows=self.declared.max_rows)

    @property
    def made_up_columns(self) -> dict[str, Column]:
        """The public facts of each column, for made-up rows."""
        bounds, lists = self.declared.bounds, self.lists
        limits = {name: (str(bounds[name].low), str(bounds[name].high)) for name in self.kinds.keys() & bounds.keys()}
        listed = {name: lists[name,] for name in self.kinds if (name,) in lists}
        return {name: Column(kind, limits.get(name), listed.get(name)) for name, kind in self.kinds.items()}

    def check(self, mistakes: Mistakes) -> None:
        """Open the table, and compare declarations with its columns."""
        steps, dataset, every = ("datasets", self.name), self.declared, list[str]()
        with mistakes.at(*steps, "source"), self._opened() as source:
            every = [name.lower() for name in source.columns]
        unknown = [i for i, column in enumerate(dataset.columns or ()) if every and column.lower() not in every]
        for i in unknown:
            mistakes.add((*steps, "columns", i), f"is not a column of the table: {(dataset.columns or ())[i]}")
        if dataset.unit is not None and every and dataset.unit.lower() not in every:
            near = difflib.get_close_matches(dataset.unit.lower(), every, 1)
            mistakes.add(
                (*steps, "unit"), f"is not a column of the table: {near[0] if near else 'one of ' + ', '.join(every)} is"
            )
            unknown.append(0)
        if unknown or not every:
            return
        with mistakes.at(*steps), self.open() as source:
            unit_in(dataset, source)
            for by in map(",".join, self.lists):
                with mistakes.at(*steps, "groups", by):
                    self.question(source, self._trial(by)).close()
            self.learn()
        usable = every if dataset.columns is None else [name.lower() for name in (*dataset.columns, dataset.unit or "")]
        for column in dataset.bounds:  # others may belong to public tables, or to an inner select
            near = difflib.get_close_matches(column.lower(), map(str.lower, self.kinds), 1)
            if near and column.lower() not in map(str.lower, self.kinds):
                mistakes.add((*steps, "bounds", column), f"is not a column that can be asked about: {near[0]} is")
            if column.lower() in every and column.lower() not in usable:
                mistakes.add((*steps, "bounds", column), "has no use: that column may not be used (columns)")
            if self.kinds.get(column) in ("text", "date", "time"):
                mistakes.add((*steps, "bounds", column), f"has no use: {column} does not hold numbers")
        for name, file in dataset.public.items():
            if not Path(self.office.path(file)).exists():
                mistakes.add((*steps, "public", name), "is not a file")

    @property
    def has_more_rows(self) -> bool:
        """Whether the table has more rows than the office says; only its owner sees this."""
        with self.open() as source:
            counted = source.run(source.rows.agg(rows=source.rows.count()))
            return int(counted["rows"][0].as_py()) > self.dataset.rows

    def _trial(self, by: str) -> Terms:
        """A question that uses a list of groups."""
        keys = ", ".join(map(quoted, by.split(",")))
        each = 1 if self.declared.unit else None
        people = "*" if self.declared.unit is None else f"distinct {quoted(self.declared.unit)}"
        text = f"select count({people}) > 1 from {quoted(self.name)} group by {keys}"
        return Terms(question=text, epsilon=1, delta="1e-6", max_groups=each)


def check_tables(tables: Mapping[str, OpenTable], mistakes: Mistakes) -> None:
    """Open every table once, and compare declarations with columns; a table has one budget, and is not a public
    file."""
    for table in tables.values():
        table.check(mistakes)
    held = {name: table.keys for name, table in tables.items()}
    refuse_twins(held, mistakes)
    for name, table in tables.items():
        public = {one: table.office.path(place) for one, place in table.declared.public.items()}
        refuse_public(public, held, ("datasets", name), mistakes)


def _answers(source: Source) -> bool:
    """Before a charge: whether a remote engine responds, and files are the ones that were opened; reads no row."""
    try:
        source.checked()
    except DuotoneError:
        return False
    return source.engine.alive()


@contextmanager
def given_up(source: Source, seconds: float, leaving: Departure) -> Iterator[Callable[[], None]]:
    """Interrupt an engine that works longer than `seconds` and than its answer takes to leave, or whose answer nobody
    waits for; call the yielded function when the engine is done.

    It is interrupted repeatedly: an engine between two queries, or one that waits for its charge, misses the first
    time.
    """
    done, wake, lock = threading.Event(), threading.Event(), threading.Lock()

    def interrupt() -> None:
        wake.wait(max(seconds, leaving.due - leaving.clock.now()))
        while not done.is_set():
            with lock:  # never the next question of the same connection
                if not done.is_set():
                    source.engine.interrupt()
            done.wait(AGAIN)

    def finish() -> None:
        with lock:
            done.set()
        wake.set()

    threading.Thread(target=interrupt, name="given up", daemon=True).start()
    leaving.interrupted_by(wake.set)
    try:
        yield finish
    finally:
        finish()
