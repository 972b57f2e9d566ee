"""Asking: a question about a table, checked without reading any row, then answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from duotone.errors import DuotoneError, UnopenedTable
from duotone.ledger.ledger import Ledger, opened_ledger
from duotone.line.choice import boundary_for_costs
from duotone.line.three_way import ThreeWay
from duotone.model.notice import Notice, Refusal, why
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given
from duotone.questions.protocol import Neighbours
from duotone.tables.answers import Answers
from duotone.tables.compile_question import compile_question
from duotone.tables.declared import (
    Declared,
    GroupLists,
    Key,
    Unused,
    budget_of,
    column_bounds,
    groups_each,
    groups_in,
    public_groups,
)
from duotone.tables.engine_conformance import open_conforming
from duotone.tables.engines.engine import closed_on_error
from duotone.tables.engines.open import (
    Others,
    closing,
    in_files,
    named_tables,
    open_beside,
    open_together,
    require_same_people,
)
from duotone.tables.engines.person_columns import Reduction
from duotone.tables.engines.public_rows import PublicTable
from duotone.tables.engines.public_tables import opened_public
from duotone.tables.engines.source import Source, explained
from duotone.tables.engines.text_files import FileLayout
from duotone.tables.prepared import Prepared, Reopen
from duotone.tables.shape import shaped
from duotone.tables.sql.comparison import ParsedQuestion
from duotone.tables.sql.condition import Columns
from duotone.tables.sql.question_tables import PRESENT
from duotone.tables.sql.read_question import read_question
from duotone.tables.sql.scoring import Bounds
from duotone.tables.sql.syntax import one_line
from duotone.tables.taking import taking
from duotone.tables.terms import DefiniteTerms, Terms, ThreeWayTerms, WantedError
from duotone.tables.trial import Asked, require_trial

Q = TypeVar("Q")


def prepare(
    table: Any,
    question: str,
    privacy: ApproxDP | ThreeWay | WantedError | None = None,
    *,
    epsilon: Given | None = None,
    delta: Given | None = None,
    unit: str | None = None,
    bounds: Mapping[str, Sequence[Given] | Bounds] | None = None,
    neighbours: Neighbours = "add-remove",
    max_rows: int | None = None,
    per_unit: Reduction | None = None,
    groups: Sequence[Any] | Path | GroupLists | None = None,
    max_groups: int | None = None,
    costs: tuple[Given, Given] | None = None,
    public: Mapping[str, Any] | None = None,
    also: Mapping[str, Any] | None = None,
    name: str | None = None,
    vouched: bool = False,
    separator: str | None = None,
    columns: Sequence[str] | None = None,
    formats: Mapping[str, str] | None = None,
    longest_text: int | None = None,
) -> Prepared:
    """Check a question without reading any row: everything that can be wrong with it is reported now.

    What was opened for it stays open until it is closed; `with prepare(…) as asked` does that. The budget is a `privacy`
    definition, or `epsilon` and `delta` (none if it is left out), which are taken as they are written. A `ThreeWay` in its
    place is for a dataset whose close calls a ledger counts (`Ledger.close_calls`): the answer may then be too close to call,
    groups must be listed, and a person may be in any number of them. A `WantedError` is for the least ε that makes an answer
    so accurate.

    `unit` names the column that tells persons apart: all rows of a person count as one, as at most `max_rows` rows, or by
    one value, reduced by `per_unit`. Without it each row is a person. Values that are added up need `bounds`: {column: (low,
    high)} or (low, high, grid). `groups` is a public list of keys, the path of a CSV file with one in each line, or
    `GroupLists`, of which the one counts that fits the question; without a list groups are selected privately. With a unit,
    `max_groups` says in how many of them a person counts at most. `costs` is how bad a false no and a false yes are, as (10,
    1): the worst expected cost is then the least that is possible. `public` are tables by name, files or data frames, whose
    rows all may know: the question may join them. `also` are further private tables by name, of the same people: the question
    may join their people to those of the first, each reduced to one row per person.

    `name` is the table of a database. `vouched` says, of a view or another query, that each of its rows belongs to one person
    and depends on nobody else's. `separator` is what stands between the fields of a CSV file whose first line has several
    candidates, `columns` are the keys of JSON lines that are columns, `formats` how dates are written in such files:
    {column: "%d/%m/%Y"}. `longest_text` is how many characters of a stored text are read, if not 10,000.
    """
    budget = privacy if isinstance(privacy, ThreeWay | WantedError) else budget_of(privacy, epsilon, delta)
    if isinstance(budget, ThreeWay) and not all(each is None for each in (epsilon, delta, costs, max_groups)):
        raise DuotoneError("a question that may be too close to call has no epsilon, delta, costs and max_groups of its own")
    declared = Declared(unit, {}, max_rows, per_unit, neighbours)
    layout = FileLayout(separator, columns, formats)
    checked = _checked(table, question, declared, bounds, groups, public, also, name, vouched, layout, longest_text)
    source, asked, declared, listed = checked.source, checked.asked, checked.declared, checked.listed
    with closed_on_error(source.close):
        terms, most = _terms(budget, asked.by, declared, max_groups, listed, costs)
        compiled = compile_question(asked, declared, terms.reach, source)
        prepared = Prepared(source, asked, asked.by, declared, most, listed, terms, compiled, checked.opened_anew).checked()
        require_trial(checked.on_trial(most))
        return prepared


def _terms(
    budget: ApproxDP | ThreeWay | WantedError,
    by: tuple[str, ...],
    declared: Declared,
    max_groups: int | None,
    listed: tuple[Key, ...] | None,
    costs: tuple[Given, Given] | None,
) -> tuple[Terms, int]:
    """The terms of a question, and in how many groups a person counts at most."""
    if isinstance(budget, ThreeWay):
        if by and listed is None:
            raise Refusal("groups missing")
        many = 1 if listed is None else len(listed)
        return ThreeWayTerms(budget, many), 1 if declared.unit is None else many
    selects = bool(by) and listed is None
    if selects and not budget.delta > 0:
        raise DuotoneError("with delta 0 no group may ever be shown: give a delta above 0, or the list of groups")
    if costs is not None and not (isinstance(costs, list | tuple) and len(costs) == 2):
        raise DuotoneError("costs are how bad a false no and a false yes are, as (10, 1)")
    most = groups_each(by, declared, max_groups, listed)
    parts = 2 * most if selects else most
    budget = budget.least(parts) if isinstance(budget, WantedError) else budget
    boundary = "balanced" if costs is None else boundary_for_costs(budget.split(parts), *costs)
    return DefiniteTerms(budget, parts, boundary, selects), most


@dataclass(frozen=True)
class _Checked:
    """A question that fits its tables: the one that it makes of them, what is declared of that, and the list of groups."""

    source: Source
    asked: ParsedQuestion
    declared: Declared
    listed: tuple[Key, ...] | None
    read: ParsedQuestion
    """The question as it was read, before public rows were joined."""
    private: Mapping[str, Columns]
    public: Mapping[str, Columns]
    unit: str | None
    opened_anew: Reopen
    """Opens the question's tables once more."""

    def on_trial(self, most: int) -> Asked:
        """What the question's trial needs."""
        declared = replace(self.declared, unit=self.unit, made_by=None)
        return Asked(self.read, self.private, self.public, declared, most, self.listed)


def _checked(
    table: Any,
    question: str,
    declared: Declared,
    bounds: Mapping[str, Sequence[Given] | Bounds] | None,
    groups: Sequence[Any] | Path | GroupLists | None,
    public: Mapping[str, Any] | None,
    also: Mapping[str, Any] | None,
    name: str | None,
    vouched: bool,
    layout: FileLayout,
    longest_text: int | None,
) -> _Checked:
    """The table, the question, what is declared and the list of groups, each as it fits the others."""
    further = {} if also is None else named_tables(also, public)

    def opened(table: Any) -> tuple[Source, Others]:
        source, others = _opened(table, name, vouched, layout, further)
        with closed_on_error(source.close):
            return source.reading_up_to(longest_text), {
                called: other.reading_up_to(longest_text) for called, other in others.items()
            }

    source, others = opened(table)
    with closed_on_error(lambda: source.close()):  # also what is joined to it by then
        declared = declared.of(source)
        if others:
            require_same_people(source, others, declared.unit)
            if declared.replaced:
                raise DuotoneError("with several private tables, someone who changes may leave one for another: use add-remove")
        unit, private = declared.unit, {source.name: source.columns, **{called: one.columns for called, one in others.items()}}
        with _opened_public(public) as tables:
            public_sources = {called: one.source for called, one in tables.items()}
            columns, own = ({called: one.columns for called, one in each.items()} for each in (public_sources, others))
            with explained([source, *public_sources.values(), *others.values()]):
                called = source.name if source.named else None
                read = read_question(question, source.columns, declared.unit, called, columns, own)
            source, asked = shaped(source, others, tables, read, everybody=declared.replaced)

        def opened_anew(table: Any) -> tuple[Source, ParsedQuestion]:
            source, others = opened(table)
            with closed_on_error(source.close), _opened_public(public) as tables:
                _require_columns(list(private.values()), [source, *others.values()])
                _require_columns(list(columns.values()), [one.source for one in tables.values()])
                return shaped(source, others, tables, read, everybody=declared.replaced)

        if asked.people is not None:
            declared = declared.one_row_each()
        made = {c: kind for c, kind in source.columns.items() if asked.people is None or c != PRESENT}
        declared = replace(declared, bounds=column_bounds(bounds or {}, made, asked.about))
        if isinstance(groups, Path):
            groups, said = groups_in(groups, asked.by, asked.labels)
            asked = replace(asked, notes=(*asked.notes, *said))
        elif isinstance(groups, GroupLists):
            groups = groups.of(asked.by)
        listed = public_groups(source, asked.by, declared.unit, groups)
        if asked.by and declared.replaced:
            raise DuotoneError("with group by, someone who changes may leave one group for another: use add-remove")
        return _Checked(source, asked, declared, listed, read, private, columns, unit, opened_anew)


def _opened(table: Any, name: str | None, vouched: bool, layout: FileLayout, also: Mapping[str, Any]) -> tuple[Source, Others]:
    """The table, and further private ones beside it on one connection, which are closed when it is."""
    with _opening():
        if also and in_files(table):
            return open_together(table, name, also, layout)
        source = open_conforming(table, name, prepare, vouched, layout)
        if not also:
            return source, {}
        with closed_on_error(source.close):
            others = open_beside(source, also)
            return closing(source, others.values()), others


@contextmanager
def _opened_public(public: Mapping[str, Any] | None) -> Iterator[Mapping[str, PublicTable]]:
    """Public tables, open for the length of the block."""
    with ExitStack() as opened:
        with _opening():
            tables = {} if public is None else opened.enter_context(opened_public(public))
        yield tables


def _require_columns(checked: Sequence[Columns], tables: Sequence[Source]) -> None:
    """Refuse tables with other columns than those that a question was checked against."""
    for columns, table in zip(checked, tables, strict=True):
        if any(table.columns.get(name) != kind for name, kind in columns.items() if kind != "other"):
            raise UnopenedTable(f"the columns of {table.name} have changed since the question was checked: ask again")


@contextmanager
def _opening() -> Iterator[None]:
    """What is refused inside is no fault of the question, and its sentence may say where a file is."""
    try:
        yield
    except DuotoneError as error:
        if type(error) is not DuotoneError:  # which says by itself what it is about
            raise
        raise UnopenedTable(why(error)) from None


def ask(
    table: Any,
    question: str,
    privacy: ApproxDP | None = None,
    *,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    again: bool = False,
    by: str | None = None,
    **options: Any,
) -> Answers:
    """A private answer to a yes/no question about a table: a file, a data frame, or an open `Source`.

    The question is SQL: one Boolean expression over aggregates, or a select with one, with where and group by. The budget is
    `epsilon` and `delta`, or a `privacy` definition. What else may be declared with it, `help(prepare)` says.

    With a `ledger`, its place or an open one, the answer is charged to a `dataset` there first: see `Prepared.charge`, also
    for `again` and `by`. One that was registered with close calls is asked without a budget, and an answer may then be too
    close to call.

    Guarantee: the answers together satisfy the budget between tables that differ in one person, as `neighbours` says.

    >>> import pyarrow as pa
    >>> votes = pa.table({"vote": ["Y"] * 868 + ["N"] * 700})
    >>> question = "count(*) filter (where vote = 'Y') > count(*) filter (where vote = 'N')"
    >>> print(ask(votes, question, epsilon=1, delta=1e-6))
    yes
    """
    if ledger is None:
        if again or not (dataset is None and by is None):
            raise DuotoneError("dataset, again and by are for a ledger: name it (ledger)")
        with prepare(table, question, privacy, **options) as prepared:
            return prepared.release()
    with opened_ledger(ledger) as opened:
        priced = not (privacy is None and options.get("epsilon") is None)
        called = None if priced or dataset is None else opened.close_calls(dataset)
        budget = privacy if called is None else called.question
        with prepare(table, question, budget, **options) as prepared:
            return prepared.charge(opened, dataset, again=again, by=by)


def ask_all(table: Any, questions: Sequence[str], privacy: ApproxDP | None = None, **options: Any) -> list[Answers]:
    """Private answers to several questions about a table, which share a budget evenly; `each` gives all of it to each.

    It takes what `prepare_all` takes.

    Guarantee: the answers together satisfy the budget; with `each`, each by itself does. Every question has been checked before
    the first is answered.

    >>> import pyarrow as pa
    >>> votes = pa.table({"vote": ["Y"] * 868 + ["N"] * 700})
    >>> [str(answer) for answer in ask_all(votes, ["count(*) > 500", "mode(vote) = 'N'"], epsilon=1, delta=1e-6)]
    ['yes', 'no']
    """
    with prepare_all(table, questions, privacy, **options) as prepared:
        return [question.release() for question in prepared]


@contextmanager
def prepare_all(
    table: Any,
    questions: Sequence[str],
    privacy: ApproxDP | ThreeWay | None = None,
    *,
    each: bool = False,
    epsilon: Given | None = None,
    delta: Given | None = None,
    **options: Any,
) -> Iterator[list[Prepared]]:
    """Check several questions that share a budget, or have it each, without reading any row; closed where the block ends. (A
    `ThreeWay` is not shared: close calls are counted.)

    Whatever else `prepare` takes is declared for all of them; what one has no use for, as bounds of another's columns, another
    one must use.
    """
    if isinstance(questions, str) or not questions:
        raise DuotoneError("questions are a list of at least one: ask a single one by itself")
    share: ApproxDP | ThreeWay
    if isinstance(privacy, ThreeWay):
        share = privacy
    else:
        budget = budget_of(privacy, epsilon, delta)
        share = budget if each else budget.split(len(questions))
    with ExitStack() as opened:
        if len(questions) == 1:
            yield [opened.enter_context(prepare(table, questions[0], share, **options))]
            return
        every, unused = [], []
        for question in questions:
            with _named(question):
                prepared, refusals = with_used(partial(prepare, table, question, share), options)
                every.append(opened.enter_context(prepared))
                unused.append(refusals)
        for what, error in unused[0].items():
            if all(what in refusals for refusals in unused):
                raise error
        yield every


@contextmanager
def _named(question: str) -> Iterator[None]:
    """Says which of several questions is refused."""
    try:
        yield
    except DuotoneError as error:
        named = Notice("in a question", question=one_line(str(question)), why=why(error))
        error.args = (named,)  # the kind and what it carries stay
        raise


def with_used(prepare: Callable[..., Q], options: Mapping[str, Any]) -> tuple[Q, dict[str, Unused]]:
    """A question with what it has a use for, of all that is declared; and the refusals of the rest."""
    refusals: dict[str, Unused] = {}
    while True:
        try:
            return prepare(**options), refusals
        except Unused as error:
            options = error.without(options)
            refusals |= dict.fromkeys([*error.options, *([] if error.value is None else [f"bounds of {error.value}"])], error)


def prepare_groups(
    table: Any,
    by: Sequence[str] | str,
    privacy: ApproxDP | None = None,
    *,
    epsilon: Given | None = None,
    delta: Given | None = None,
    unit: str | None = None,
    max_groups: int | None = None,
    name: str | None = None,
    vouched: bool = False,
    separator: str | None = None,
    columns: Sequence[str] | None = None,
    formats: Mapping[str, str] | None = None,
    longest_text: int | None = None,
) -> Prepared:
    """Prepare the question which groups there are."""
    budget = budget_of(privacy, epsilon, delta)
    keys = (by,) if isinstance(by, str) else tuple(by)
    if not (keys and all(isinstance(column, str) for column in keys) and len(set(keys)) == len(keys)):
        raise DuotoneError("name at least one column to group by, each once")
    layout = FileLayout(separator, columns, formats)

    def opened(table: Any) -> Source:
        source = open_conforming(table, name, prepare, vouched, layout)
        with closed_on_error(source.close):
            return source.reading_up_to(longest_text)

    def opened_anew(table: Any) -> tuple[Source, None]:
        again = opened(table)
        with closed_on_error(again.close):
            _require_columns([source.columns], [again])
        return again, None

    source = opened(table)
    with closed_on_error(source.close):
        keys = tuple(map(source.named_column, keys))
        if len(set(keys)) != len(keys):
            raise DuotoneError("name at least one column to group by, each once")
        declared = Declared(unit).of(source)
        public_groups(source, keys, declared.unit)
        if not budget.delta > 0:
            raise DuotoneError("with delta 0 no group may ever be shown: give a delta above 0")
        most = groups_each(keys, declared, max_groups)
        terms = DefiniteTerms(budget, most, "selection", selects=True)
        return Prepared(source, None, keys, declared, most, None, terms, None, opened_anew).checked()


@taking(prepare_groups)
def select_groups(*table: Any, **options: Any) -> Answers:
    """Release which keys occur, each with the largest probability that privacy allows for its number of people.

    With `unit`, all rows of a person count as one, and a person counts in at most `max_groups` groups: of more, those with
    the smallest MD5 of person and key, which looks at nobody else. Rows whose key or unit is null take no part.

    Guarantee: one person joining or leaving changes the number of people of at most `max_groups` keys, each by 1, and a key
    that nobody has is never shown. Keys come in their own order, not the engine's.

    >>> import pyarrow as pa
    >>> visits = pa.table({"town": ["Ely"] * 90 + ["Wells"], "person": range(91)})
    >>> list(select_groups(visits, "town", epsilon=1, delta=1e-13, unit="person", max_groups=1).answers)
    [('Ely',)]
    """
    with prepare_groups(*table, **options) as prepared:
        return prepared.release()
