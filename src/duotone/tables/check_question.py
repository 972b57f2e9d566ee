"""Checking: a question about a table becomes `Prepared`, or is refused, before any row is read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from duotone.errors import DuotoneError, got
from duotone.ledger.accounts import Account
from duotone.line.choice import boundary_for_costs, shared_by
from duotone.line.groups import size_line
from duotone.line.mechanism import balanced
from duotone.line.three_way import ThreeWay
from duotone.line.which import Which
from duotone.model.answer import Key
from duotone.model.dataset import Dataset, Note, Unused, at_once
from duotone.model.notice import Notice, Refusal, why
from duotone.model.terms import DefiniteTerms, PaidTerms, Terms, ThreeWayTerms, WhichTerms
from duotone.model.wanted import Line, Wanted, WantedError, budget_of
from duotone.options import options_of
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given
from duotone.privacy.renyi import RenyiDP, Shared
from duotone.privacy.text import Definition
from duotone.tables.billing import account_in
from duotone.tables.compile_question import compile_question, with_computed_bounds, without_per_unit
from duotone.tables.declared import (
    column_bounds,
    declared_by,
    groups_each,
    listed_answers,
    listed_groups,
    one_row_each,
    open_public,
    open_tables,
    public_groups,
    redeclared,
    require_same_columns,
    shaped,
    unit_in,
)
from duotone.tables.engines.engine import Source, closed_on_error, explained
from duotone.tables.engines.open import require_same_people
from duotone.tables.listed_groups import ListedGroups
from duotone.tables.prepared import Prepared, Reopen
from duotone.tables.sql.comparison import PRESENT, ParsedQuestion, TopGroup
from duotone.tables.sql.condition import Columns, columns_read
from duotone.tables.sql.read_question import read_question
from duotone.tables.sql.syntax import one_line
from duotone.tables.trial import Asked, require_trial


@dataclass(frozen=True)
class ToPrice:
    """What is wanted of an answer instead of a budget, and the account that prices it; None without a ledger."""

    wanted: Wanted
    account: Account | None

    def split(self, questions: int) -> ToPrice:
        """For each of several questions that share it."""
        return ToPrice(self.wanted.shared(questions), self.account)

    def budget(self, parts: int, line: Line = balanced) -> Definition:
        """The budget of this many answers about one person."""
        return self.wanted.alone(parts, line) if self.account is None else self.account.priced(self.wanted, parts, line)


def prepare(
    source: Any,
    question: str,
    privacy: Definition | ThreeWay | Wanted | ToPrice | None = None,
    *,
    epsilon: Given | None = None,
    delta: Given | None = None,
    wrong: Given | None = None,
    people: Any = None,
    one_of: int | None = None,
    price: Given | None = None,
    costs: tuple[Given, Given] | None = None,
    margins: bool | None = None,
    **declared: Any,
) -> Prepared:
    """Check a question without reading any row: everything that can be wrong with it is reported now.

    `source` is a `Dataset`; or a file, a URL, a data frame or a connection, with a `Dataset`'s declarations as
    keywords: `unit`, `bounds`, `max_rows`, `groups` … (`help(Dataset)` explains each). A keyword that the question does
    not use is refused.

    What was opened for it stays open until it is closed; `with prepare(…) as asked` does that. The budget is a `privacy`
    definition, or `epsilon` and `delta` (none if it is left out), which are taken as they are written. A `ThreeWay` in its
    place is for a dataset whose close calls a ledger counts (`Ledger.close_calls`): the answer may then be too close to call,
    groups must be listed, and a person may be in any number of them. A `duotone.privacy.renyi.RenyiDP` is for a dataset whose
    account is `renyi`: its answers are yes or no, without a margin, and groups have no sizes.

    Instead of a budget, say how accurate the answer must be: `wrong` at most with this probability, if this many `people`
    would flip it. The least sufficient ε follows; or, in a dataset with the account `renyi`, the least price. `one_of` is a
    number of answers: this one may cost one such part of the dataset's budget. `price` is for experts: a price of the
    account's Rényi order. The account is that of the dataset's ledger, where it declares one, or that of a `ToPrice`.
    (Without `wrong`, `people` is the label of a `Dataset`.) `costs` is how bad a false no and a false yes are, as (10, 1):
    the worst expected cost is then the least that is possible.

    If a person may be in many groups, ε and δ are for all answers together. With `margins` they are divided evenly, and
    each answer has its margin (or each private group its size); without (False) all answers are yes and no alone, and may
    share the budget by one Rényi order, if that takes fewer people (`duotone.line.choice.shared_by`). By default they do so
    where that takes half as many: at (1, 10^−6) from about 8 groups on.
    """
    given: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "wrong": wrong, "one_of": one_of, "price": price}
    dataset, budget = dataset_and_budget(source, privacy, declared, options_of(prepare), people=people, **given)
    if isinstance(budget, ThreeWay) and not all(each is None for each in (costs, margins, dataset.max_groups)):
        raise Refusal("options of definite answers")
    note = pass_over if isinstance(source, Dataset) else at_once
    return _prepared(dataset, question, budget, costs, note, margins)


QuestionBudget = Definition | ThreeWay | ToPrice


def dataset_and_budget(
    source: Any, privacy: object, declared: Mapping[str, Any], options: Collection[str], *, people: Any = None, **given: Any
) -> tuple[Dataset, QuestionBudget]:
    """The dataset and the budget, from the keywords of a question, or of several that share it: `people` belongs to the budget
    if an error is wanted (`wrong`), and else labels the dataset."""
    wrong = given.get("wrong") is not None
    dataset = declared_by(source, declared if people is None or wrong else {**declared, "people": people}, options)
    plain = all(each is None for each in given.values())
    if isinstance(privacy, ThreeWay) and not plain:
        raise Refusal("options of definite answers")
    if isinstance(privacy, QuestionBudget) and plain:
        return dataset, privacy
    budget = budget_of(privacy, **given, people=people if wrong else None)
    if isinstance(budget, Definition):
        return dataset, budget
    account = None if dataset.ledger is None else account_in(dataset.ledger, dataset, dataset.in_ledger)
    return dataset, ToPrice(budget, account)


def pass_over(_: Unused) -> None:
    """An unused declaration of a `Dataset` is no mistake: other questions may use it."""


def _noting_others(note: Note, used: Collection[str]) -> Note:
    """The same, except for declarations at these keys, which are used."""
    return lambda unused: None if unused.key in used else note(unused)


def _keep(refusals: dict[str, Unused], unused: Unused) -> None:
    """Note an unused declaration: it is a mistake only if no other question uses it either."""
    refusals[unused.key] = unused


def _prepared(
    dataset: Dataset,
    question: str,
    budget: QuestionBudget,
    costs: tuple[Given, Given] | None,
    note: Note,
    margins: bool | None,
) -> Prepared:
    checked = _checked(dataset, question, note)
    source, asked, declared, listed = checked.source, checked.asked, checked.declared, checked.listed
    with closed_on_error(source.close):
        terms, most = question_terms(budget, asked, declared, listed, costs, margins)
        if asked.of_groups:
            most = groups_each(asked.by, declared, listed, together=True)
        groups = ListedGroups.of(asked, declared, listed, most) if asked.of_groups else None
        compiled = compile_question(asked, declared, terms.reaches, source, groups)
        terms = terms.about(compiled.count, compiled.searched)
        if isinstance(budget, ToPrice) and isinstance(terms, DefiniteTerms) and terms.sized:  # known now that it is a size
            terms = DefiniteTerms(budget.budget(most, size_line), most, at_least=terms.at_least).about(compiled.count, None)
        prepared = Prepared(source, asked, asked.by, declared, most, listed, terms, compiled, checked.opened_anew).checked()
        require_trial(replace(checked.on_trial, most=most))
        return prepared


def question_terms(
    budget: QuestionBudget,
    asked: ParsedQuestion | None,
    declared: Dataset,
    listed: tuple[Key, ...] | None,
    costs: tuple[Given, Given] | None,
    margins: bool | None,
) -> tuple[Terms, int]:
    """The terms of a question, and the most groups in which a person counts."""
    by = () if asked is None or asked.of_groups else asked.by
    if not (margins is None or isinstance(margins, bool)):
        raise DuotoneError(f"margins must be True, False or None, got {got(margins)}")
    if asked is not None and asked.answers:
        if isinstance(budget, ThreeWay) or costs is not None or margins:
            raise Refusal("options of yes and no")
        if by and listed is None:
            raise Refusal("groups missing of several answers")
        most = groups_each(by, declared, listed)
        return _which_terms(budget, asked, most), most
    if isinstance(budget, ThreeWay):
        if by and listed is None:
            raise Refusal("groups missing")
        many = 1 if listed is None or not by else len(listed)
        return ThreeWayTerms(budget, many), 1 if declared.unit is None else many
    least, most = (declared.at_least or 1) if by and listed is None else 0, groups_each(by, declared, listed)
    if isinstance(budget, ToPrice):
        if costs is not None and isinstance(budget.wanted, WantedError):
            raise Refusal("costs of a wanted error")
        exact, budget = isinstance(budget.wanted, WantedError), budget.budget(most)
        if exact and not isinstance(budget, RenyiDP):
            margins = True  # they divide it
    if least and not budget.delta > 0:
        raise DuotoneError("with delta 0 no group may ever be shown: give a delta above 0, or the list of groups")
    if costs is not None and not (isinstance(costs, list | tuple) and len(costs) == 2):
        raise DuotoneError("costs must be two numbers, how bad a false no is and how bad a false yes is, as in (10, 1)")
    shared = _shared(budget, most, selected=least > 0, margins=margins)
    terms = DefiniteTerms(budget, most, at_least=least, shared=shared)
    return terms if costs is None else replace(terms, boundary=boundary_for_costs(terms.share, *costs)), most


def _which_terms(budget: Definition | ToPrice, asked: ParsedQuestion, most: int) -> WhichTerms:
    """The terms of a question which of several answers is true."""
    if isinstance(budget, ToPrice):
        budget = budget.budget(most, partial(Which, answers=len(asked.answers)))
    return WhichTerms(budget, most, answers=asked.answers, ordered=asked.ordered)


def _shared(budget: Definition, answers: int, *, selected: bool, margins: bool | None) -> Shared | None:
    """How several answers share the budget, if they do by one Rényi order. Margins are refused where there are none."""
    if margins and isinstance(budget, RenyiDP):
        raise DuotoneError("under one Rényi order an answer has no margin: leave margins out, or give epsilon and delta")
    return shared_by(budget, answers, selected=selected, margins=margins) if answers > 1 else None


@dataclass(frozen=True)
class _Checked:
    """A checked question: its derived table, the declarations for that, and the list of groups."""

    source: Source
    asked: ParsedQuestion
    declared: Dataset
    listed: tuple[Key, ...] | None
    on_trial: Asked
    """What its trial needs, apart from the groups of one person."""
    opened_anew: Reopen
    """Opens the question's tables again."""


def _checked(dataset: Dataset, question: str, note: Note) -> _Checked:
    """The table, the question, the declarations and the list of groups, checked against each other."""
    source, others = open_tables(dataset)
    with closed_on_error(lambda: source.close()):  # including what is joined to it by then
        declared = unit_in(dataset, source)
        if others:
            require_same_people(source, others, declared.unit)
            if declared.replaced:
                raise DuotoneError("with several private tables, someone who changes may leave one for another: use add-remove")
        unit, private = declared.unit, {source.name: source.columns, **{called: one.columns for called, one in others.items()}}
        with open_public(declared) as tables:
            public_sources = {called: one.source for called, one in tables.items()}
            columns, own = ({called: one.columns for called, one in each.items()} for each in (public_sources, others))
            with explained([source, *public_sources.values(), *others.values()]):
                called = source.name if source.named else None
                read = read_question(question, source.columns, declared.unit, called, columns, own, source.percents)
            read = listed_answers(read, declared, note)
            source, asked = shaped(source, others, tables, read, everybody=declared.replaced)

        def opened_anew(table: Any) -> tuple[Source, ParsedQuestion]:
            source, others = open_tables(redeclared(dataset, table))
            with closed_on_error(source.close), open_public(dataset) as tables:
                require_same_columns(list(private.values()), [source, *others.values()])
                require_same_columns(list(columns.values()), [one.source for one in tables.values()])
                return shaped(source, others, tables, read, everybody=dataset.replaced)

        declared, listed, said = _fitted(source, asked, declared, next(iter(private.values())), note)
        rows = Dataset(
            "made-up rows",
            unit=unit,
            neighbours=declared.neighbours,
            bounds=declared.bounds,
            max_rows=declared.max_rows,
            per_unit=declared.per_unit,
        )
        tried = Asked(read, private, columns, rows, 1, listed)
        return _Checked(source, replace(asked, notes=(*asked.notes, *said)), declared, listed, tried, opened_anew)


def _fitted(
    source: Source, asked: ParsedQuestion, declared: Dataset, stored: Columns, note: Note
) -> tuple[Dataset, tuple[Key, ...] | None, tuple[Notice, ...]]:
    """The declarations for the question's own table, made from one with the `stored` columns; its list of groups; notes."""
    if asked.people is not None:
        declared = one_row_each(declared, note)
    made = {c: kind for c, kind in source.columns.items() if asked.people is None or c != PRESENT}
    of_rows = {} if asked.people is None else column_bounds(declared.bounds, stored, pass_over)
    used = _noting_others(note, {f"bounds.{column}" for column in columns_read(asked.people)})
    declared = replace(declared, bounds=column_bounds(declared.bounds, made, used, asked.about))
    declared, follow = with_computed_bounds(asked, declared, of_rows)
    declared = without_per_unit(asked, declared, note)
    if isinstance(asked.tree, TopGroup):
        declared = replace(declared, groups=None)  # they are its answers
    listed, said = listed_groups(source, asked, declared)
    if isinstance(declared.groups, Mapping) and asked.by not in declared.groups:
        note(Unused("groups", Notice("groups of others", by=asked.by) if asked.by else Notice("groups unused")))
    if declared.at_least is not None and (listed is not None or not asked.by):
        note(Unused("at_least", Notice("at_least unused")))
        declared = replace(declared, at_least=None)
    if asked.of_groups and listed is None:
        raise Refusal("groups missing of how many" if declared.person else "groups or unit missing", by=asked.by)
    if asked.by and declared.replaced and not asked.of_groups:
        raise DuotoneError("with group by, someone who changes may leave one group for another: use add-remove")
    return declared, listed, (*follow, *said)


@contextmanager
def prepare_all(
    source: Any,
    questions: Sequence[str],
    privacy: Definition | ThreeWay | Wanted | ToPrice | None = None,
    *,
    each: bool = False,
    epsilon: Given | None = None,
    delta: Given | None = None,
    wrong: Given | None = None,
    people: Any = None,
    one_of: int | None = None,
    price: Given | None = None,
    costs: tuple[Given, Given] | None = None,
    margins: bool | None = None,
    together: bool = False,
    strict: bool = False,
    **declared: Any,
) -> Iterator[list[Prepared]]:
    """Check several questions that share a budget, or (`each`) have it each, without reading any row; closed at the end
    of the block. (A `ThreeWay` is not shared, since close calls are counted; nor is a wanted error: each is as accurate.)

    Everything else that `prepare` takes is declared for all of them; a declaration that one question does not use, such
    as bounds of another's columns, another one must use. (`strict` requires that of a `Dataset`, too.)

    With `together`, all are to be released, and charged to no ledger: then they may share the budget by one Rényi order,
    as the answers of one question about many groups do (`margins`).
    """
    if isinstance(questions, str) or not questions:
        raise DuotoneError("questions must be a list of at least one")
    given: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "wrong": wrong, "one_of": one_of, "price": price}
    dataset, budget = dataset_and_budget(source, privacy, declared, options_of(prepare_all), people=people, **given)
    strict = strict or not isinstance(source, Dataset)
    share = budget if each or isinstance(budget, ThreeWay) else budget.split(len(questions))
    with ExitStack() as stack:
        if len(questions) == 1:
            note = at_once if strict else pass_over
            yield [stack.enter_context(_prepared(dataset, questions[0], share, costs, note, margins))]
            return
        every, unused = [], list[dict[str, Unused]]()
        for question in questions:
            refusals: dict[str, Unused] = {}
            with _named(question):
                note = partial(_keep, refusals)
                every.append(stack.enter_context(_prepared(dataset, question, share, costs, note, margins)))
            unused.append(refusals)
        for key, error in unused[0].items():
            if strict and all(key in refusals for refusals in unused):
                raise error
        yield _sharing(every, budget, costs, margins) if together and not each and isinstance(budget, ApproxDP) else every


def _sharing(
    every: list[Prepared], budget: ApproxDP, costs: tuple[Given, Given] | None, margins: bool | None
) -> list[Prepared]:
    """The same questions, all answers sharing the budget by one Rényi order if that takes fewer people; else as they are,
    each with its even share."""
    divided = [prepared.terms for prepared in every if isinstance(prepared.terms, PaidTerms)]
    selected = any(isinstance(terms, DefiniteTerms) and terms.at_least for terms in divided)
    answers = sum(terms.parts for terms in divided)
    shared = shared_by(budget, answers, selected=selected, margins=margins)
    if shared is None:
        return every
    boundary = "balanced" if costs is None else boundary_for_costs(shared.each, *costs)
    common: Any = {"privacy": budget, "shared": shared, "questions": len(every)}
    of = [
        DefiniteTerms(parts=terms.parts, boundary=boundary, at_least=terms.at_least, **common)
        if isinstance(terms, DefiniteTerms)
        else replace(terms, **common)
        for terms in divided
    ]
    if any(new.reaches.answers > old.reaches.answers for new, old in zip(of, divided, strict=True)):
        return every  # levels were requested only as far as even shares need them
    return [replace(prepared, terms=terms) for prepared, terms in zip(every, of, strict=True)]


@contextmanager
def _named(question: str) -> Iterator[None]:
    """Name the refused one among several questions."""
    try:
        yield
    except DuotoneError as error:
        named = Notice("in a question", question=one_line(str(question)), why=why(error))
        error.args = (named,)  # the class and its fields stay
        raise


def prepare_groups(
    source: Any,
    by: Sequence[str] | str,
    privacy: Definition | Wanted | ToPrice | None = None,
    *,
    epsilon: Given | None = None,
    delta: Given | None = None,
    one_of: int | None = None,
    price: Given | None = None,
    margins: bool | None = None,
    **declared: Any,
) -> Prepared:
    """Prepare the question which groups there are: with their sizes, or by many groups without (`margins` as for
    `prepare`). It has no wrong answer, so its budget is no wanted error."""
    given: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "one_of": one_of, "price": price}
    dataset, wanted = dataset_and_budget(source, privacy, declared, options_of(prepare_groups), **given)
    if isinstance(wanted, ThreeWay):
        raise DuotoneError("which groups there are is never too close to call: give epsilon and delta")
    if isinstance(wanted, ToPrice) and isinstance(wanted.wanted, WantedError):
        raise Refusal("groups have no error")
    keys = (by,) if isinstance(by, str) else tuple(by)
    if not (keys and all(isinstance(column, str) for column in keys) and len(set(keys)) == len(keys)):
        raise DuotoneError("name at least one column to group by, each once")
    if dataset.replaced:
        raise DuotoneError("which groups may be shown is not asked where someone who changes may leave one for another")
    dataset = replace(dataset, also={})

    def opened_anew(table: Any) -> tuple[Source, None]:
        again, _ = open_tables(redeclared(dataset, table))
        with closed_on_error(again.close):
            require_same_columns([own.columns], [again])
        return again, None

    own, _ = open_tables(dataset)
    with closed_on_error(own.close):
        keys = tuple(map(own.named_column, keys))
        if len(set(keys)) != len(keys):
            raise DuotoneError("name at least one column to group by, each once")
        about = replace(unit_in(dataset, own), bounds={}, max_rows=None, per_unit=None)
        public_groups(own, keys, about.unit)
        most = groups_each(keys, about)
        budget = wanted.budget(most) if isinstance(wanted, ToPrice) else wanted
        if not budget.delta > 0:
            raise DuotoneError("with delta 0 no group may ever be shown: give a delta above 0")
        shared = _shared(budget, most, selected=True, margins=margins)
        terms = DefiniteTerms(budget, most, "selection", about.at_least or 1, shared=shared)
        return Prepared(own, None, keys, about, most, None, terms, None, opened_anew).checked()
