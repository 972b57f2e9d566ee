"""Compilation: a question's comparisons as requests to the engine, and how their levels become the question's level.

What an engine computes differently from the embedded one is refused by name. A person's average of whole numbers may be
fractional: where rows are averaged, such columns get a finer grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar, cast

import numpy as np

from duotone.errors import DuotoneError
from duotone.line.table import Reach
from duotone.model.answer import CountLimit, Key
from duotone.model.dataset import FLOAT_STEPS, SQUARED_STEPS, Bounds, Dataset, Note, Unused
from duotone.model.notice import Notice
from duotone.privacy.definition import Array
from duotone.privacy.numbers import show
from duotone.questions.enough_groups import Step
from duotone.questions.protocol import combined_level
from duotone.questions.threshold import CROWD
from duotone.questions.which import first_that_holds
from duotone.tables.clipping import clipping_notes
from duotone.tables.comparisons import CompiledComparison, Results
from duotone.tables.comparisons.counts import counts_comparison, distinct_threshold, mode_is
from duotone.tables.comparisons.difference import mean_difference, variance_threshold
from duotone.tables.comparisons.threshold import extreme_of, linear_threshold, of_one_value, quantile_threshold
from duotone.tables.comparisons.top_group import top_group
from duotone.tables.engines.engine import Source
from duotone.tables.engines.expressions import require_able
from duotone.tables.engines.query import People, gather, plan_of
from duotone.tables.engines.results import MOST_ENDS, Ends, Keys, Request, Result, Tally, nobody_ranked, require_reach
from duotone.tables.listed_groups import ListedGroups, inside
from duotone.tables.sql.comparison import (
    Atom,
    BoolOp,
    Choice,
    CountsComparison,
    DistinctThreshold,
    LinearThreshold,
    MeanDifference,
    Measure,
    OfGroups,
    ParsedQuestion,
    QuantileThreshold,
    Settled,
    Term,
    TopGroup,
    Tree,
    VarianceThreshold,
    atoms,
)
from duotone.tables.sql.computed_bounds import bounds_of_people, computed_bounds
from duotone.tables.sql.condition import (
    ALWAYS,
    Condition,
    IsNull,
    Joined,
    Known,
    Not,
    Operand,
    columns_read,
    combinations,
    parts_of,
)

Part = TypeVar("Part")


def finer_bounds(values: Iterable[Operand], declared: Dataset, squared: Set[str] = frozenset()) -> dict[str, Bounds]:
    """Bounds on a finer grid for columns of whole numbers whose rows are averaged, if no grid is declared and a finer
    one helps; `squared` columns are also squared. A ledger records them, since they are part of the question."""
    if declared.per_unit != "avg":
        return {}
    names = dict.fromkeys(v.column for v in values if v.kind == "integer" and v.made is None and v.column in declared.bounds)
    limits = {name: SQUARED_STEPS if name in squared else FLOAT_STEPS for name in names}
    return {name: finer for name, most in limits.items() if (finer := declared.bounds[name].finer(most)) is not None}


def values_of(every: Iterable[Atom]) -> list[Operand]:
    """The values that comparisons add up, compare or order."""
    return [part for atom in every for part in parts_of(_values(atom)) if isinstance(part, Operand)]


def _values(atom: Atom) -> tuple[object, ...]:
    match atom:
        case LinearThreshold():
            return tuple(term.value for term in atom.terms)
        case MeanDifference():
            return atom.first.value, atom.second.value
        case QuantileThreshold() | VarianceThreshold():
            return (atom.value,)
        case TopGroup():
            return (atom.value,)
    return ()


def as_numbers(part: Part, columns: Set[str]) -> Part:
    """A comparison, or a value, that reads these columns as numbers that need not be whole. Conditions are unchanged; a
    value is null in both readings or in neither."""
    read: Any = part
    if isinstance(read, tuple):
        read = tuple(as_numbers(inner, columns) for inner in read)
    elif isinstance(read, TopGroup):
        read = replace(read, value=as_numbers(read.value, columns))
    elif isinstance(read, AVERAGED):
        read = replace(read, **{name: as_numbers(inner, columns) for name, inner in vars(read).items()})
    elif isinstance(read, Operand) and read.column in columns and read.made is None:
        read = replace(read, kind="float")
    return cast(Part, read)


AVERAGED = (
    LinearThreshold, MeanDifference, QuantileThreshold, VarianceThreshold, Term, Measure, Joined, Not, Known, IsNull,
)  # fmt: skip
"""Comparisons that may contain a person's average."""
TENTH = Fraction(1, 10)


@dataclass(frozen=True)
class Compiled:
    """The requests of `comparisons` to the engine, one for each comparison of `tree`, in order.

    `rows` are the examined rows, None for all. `exact`: levels are distances.
    """

    tree: Tree | Choice
    comparisons: tuple[CompiledComparison, ...]
    rows: Condition | None
    exact: bool
    rows_counted: bool
    """Whether a person's rows are counted, up to `max_rows`."""
    declared: Dataset
    """The declarations, without bounds and `max_rows` that this question does not use."""
    notes: tuple[Notice, ...] = ()
    """Notes for the asker."""
    count: CountLimit | None = None
    """The limit, for a single count of people: its level is the distance of the count from the limit, at any
    distance."""
    groups: ListedGroups | None = None
    """The list of groups, if it is asked how many of them say yes."""

    def levels(self, results: Sequence[Results], people: Array, places: Array | None = None) -> Array:
        """The question's level in every group, from the results of each comparison; for which of several answers is true,
        rows of an answer and its distance (`questions.which.Standing`). With `places`, in listed groups: each is the place
        of a group in the results, or −1 for an empty one. How many `groups` say yes has a level in each row of places."""
        each = [c.levels(result, people) for c, result in zip(self.comparisons, results, strict=True)]
        if places is not None:
            each = [np.concatenate([own, nobody])[places] for own, nobody in zip(each, self._of_nobody, strict=True)]
        return _combined(self.tree, iter(each), self.groups)

    @property
    def _of_nobody(self) -> list[Array]:
        """The level of each comparison in an empty group."""
        return [c.levels({n: nothing(r) for n, r in c.requests.items()}, np.zeros(1, dtype=np.int64)) for c in self.comparisons]

    @property
    def searched(self) -> int | None:
        """Most changes for which all its levels are searched; None if they are exact at any distance."""
        one = 1 if self.groups is None else self.groups.step.one
        return min((c.searched // one for c in self.comparisons if c.searched), default=None)

    def level_of_nobody(self) -> Array:
        """The level of an empty group; or, of how many groups, of an empty table."""
        nobody = self._of_nobody
        if self.groups is not None:
            nobody = [np.repeat(own, self.groups.many)[None] for own in nobody]
        return _combined(self.tree, iter(nobody), self.groups)


def compile_question(
    asked: ParsedQuestion, declared: Dataset, reaches: Reach, source: Source, groups: ListedGroups | None = None
) -> Compiled:
    """Check a question against declarations and the engine's abilities, and compile its comparisons; `reaches` are the
    mechanism's last levels, and `groups` those of which it asks how many say yes.

    Under replace all rows are examined, since everybody may change; with group by, only those that take part.
    """
    require_able(source, asked)
    each, own = reaches, declared
    if groups is not None:
        (groups, each), own = groups.within(reaches), inside(declared)
    rows = asked.where if asked.by or not declared.replaced else None
    every = _atoms(asked.tree)
    squared = {value.column for value in values_of(atom for atom in every if isinstance(atom, VarianceThreshold))}
    finer = finer_bounds(values_of(every), declared, squared)
    declared, own = (replace(known, bounds={**known.bounds, **finer}) for known in (declared, own))
    compiled: list[CompiledComparison] = []

    def make(atom: Atom) -> CompiledComparison:
        compiled.append(_compile_comparison(as_numbers(atom, finer.keys()), own, each, rows or ALWAYS))
        return compiled[-1]

    tree: Tree | Choice
    many = 0 if groups is None else groups.many
    if isinstance(asked.tree, Choice):
        tree, comparisons = _chosen(asked.tree, make)
    else:
        tree, comparisons = _unsettled(_made(asked.tree, make, many))
    require_reach(c.requests for c in comparisons)  # which no engine detects before it has read rows
    one = declared.max_rows in (None, 1)  # people who count for more steps, over a count that is requested exactly
    anything = asked.people is None and not asked.keys and not asked.joins  # what these make need not be
    if groups is not None:  # and each group may have anybody, who then is in no other one
        alone = not declared.replaced and groups.step == Step()
        anything &= alone and columns_read((asked.tree, asked.where)).isdisjoint(asked.by)
    exact = anything and _exact_at_all(tree, iter(comparisons), one)
    counted = declared.max_rows is not None and any(_adds_rows(atom, declared) for atom in _atoms(tree))
    notes = (
        *([] if groups is None else [groups.note]),
        *_notes(asked, declared, comparisons),
        *_clipping_notes(tree, comparisons, declared),
    )
    known = asked.counted is not None and all(map(_however_far, comparisons))
    count = _count_limit(tree, one, asked.where, replaced=declared.replaced) if known else None
    return Compiled(tree, comparisons, rows, exact, counted, _used(asked, declared, compiled), notes, count, groups)


def _count_limit(tree: Tree | Choice, one: bool, rows: Condition, *, replaced: bool) -> CountLimit | None:
    """The limit of a single count in which each person counts at most once; None for other questions, and for a limit
    so far from all counts that a level does not determine the count. Groups are of people with one of these `rows`.

    Where a person is `replaced`, no change reaches a limit above the number of people, so levels determine the count only if
    the question is whether anybody counts, and somebody may not.
    """
    match tree:
        case LinearThreshold(terms=(Term(weight=1 | -1 as weight, value=None) as term,), present=None) if tree.people or one:
            least = math.floor(tree.limit) + 1 if tree.strict else math.ceil(tree.limit)
            if abs(least) > CROWD:
                return None
            if replaced and not (least == weight == 1 and (False,) in combinations([term.where])[0]):
                return None
            everybody = term.where in (ALWAYS, rows)
            return CountLimit(least, True, everybody) if weight == 1 else CountLimit(-least, False, everybody)
    return None


def with_computed_bounds(asked: ParsedQuestion, declared: Dataset, rows: Mapping[str, Bounds]) -> tuple[Dataset, list[Notice]]:
    """The declarations, with the bounds that follow for the question's values, and a note on each; `rows` are bounds of the
    columns of an inner select's table."""
    values = values_of(_atoms(asked.tree))
    if asked.people is None and all(value.made is None or value.column in declared.bounds for value in values):
        return declared, []
    made = {} if asked.people is None else bounds_of_people(asked.people, rows)
    bounds = {**made, **declared.bounds}
    follow = {**made, **computed_bounds(values, bounds)}
    used = [name for name in dict.fromkeys(value.column for value in values) if name in follow and name not in declared.bounds]
    notes = [Notice("bounds follow", value=name, low=show(follow[name].low), high=show(follow[name].high)) for name in used]
    return replace(declared, bounds={**declared.bounds, **{name: follow[name] for name in used}}), notes


def without_per_unit(asked: ParsedQuestion, declared: Dataset, note: Note) -> Dataset:
    """The declarations, without `per_unit` if no comparison uses it."""
    if declared.per_unit is None or any(map(_one_value_each, _atoms(asked.tree))):
        return declared
    added = any(_adds_rows(atom, declared) for atom in _atoms(asked.tree))
    note(Unused("per_unit", Notice("per_unit unused in a sum" if added else "per_unit unused")))
    return replace(declared, per_unit=None)


def _notes(asked: ParsedQuestion, declared: Dataset, comparisons: Sequence[CompiledComparison]) -> tuple[Notice, ...]:
    different = declared.person is None and any(isinstance(atom, DistinctThreshold) for atom in _atoms(asked.tree))
    equalities = () if declared.replaced else asked.equalities
    rounded = [] if declared.per_unit != "avg" else _rounded(asked, declared, comparisons)
    no_test = [Notice("no test")] if any(map(_of_shares, _atoms(asked.tree))) else []
    return (*([Notice("rows are people")] if different else []), *asked.notes, *rounded, *equalities, *no_test)


def _clipping_notes(tree: Tree | Choice, comparisons: Sequence[CompiledComparison], declared: Dataset) -> Iterator[Notice]:
    """Notes on what clipping can change."""
    rows = [declared.max_rows if _adds_rows(atom, declared) else None for atom in _atoms(tree)]
    if any(compared.grids for compared in comparisons) or any(most is not None for most in rows):
        yield from clipping_notes(zip(_atoms(tree), comparisons, rows, strict=True), declared)


def _of_shares(atom: Atom) -> bool:
    """Whether it compares a share with a number, or two shares: what a test would be about."""
    match atom:
        case LinearThreshold(averaged=True, terms=terms):
            return all(term.value is None for term in terms)
        case MeanDifference(first=first, second=second):
            return not (isinstance(first.value, Operand) or isinstance(second.value, Operand))
    return False


def _rounded(asked: ParsedQuestion, declared: Dataset, comparisons: Sequence[CompiledComparison]) -> Iterator[Notice]:
    """Notes about rounding a person's average of whole numbers: for computed values, and if bounds are too wide for a
    finer grid."""
    integers = {value.column for value in values_of(_atoms(asked.tree)) if value.kind == "integer"}
    for column in dict.fromkeys(column for compared in comparisons for column in compared.grids):
        bounds = declared.bounds[column]
        if bounds.grid is None and column in integers:
            grid = "bounds" if bounds.finer() else "bounds and a grid of 1/10" if bounds.takes(TENTH) else None
            if grid is None:
                yield Notice("average rounded", column=column)
            else:
                yield Notice("average rounded, with a cure", column=column, declared=grid)


def _used(asked: ParsedQuestion, declared: Dataset, every: Sequence[CompiledComparison]) -> Dataset:
    """The declarations, without those that make no difference. A comparison that bounds or `max_rows` settle uses them,
    too."""
    bounds = {column: declared.bounds[column] for compared in every for column in compared.grids}
    rows = declared.max_rows if any(_adds_rows(atom, declared) for atom in _atoms(asked.tree)) else None
    return replace(declared, bounds=bounds, max_rows=rows)


def _atoms(tree: Tree | Choice) -> list[Atom]:
    return [atom for atom, _ in atoms(tree)]


Made = tuple[Tree, tuple[CompiledComparison, ...]] | Settled


def _unsettled(made: Made) -> tuple[Tree, tuple[CompiledComparison, ...]]:
    if isinstance(made, Settled):
        answer = "yes" if made.answer else "no"
        raise DuotoneError(f"the answer would be {answer} on every table, since {made.why}: change the limit or the conditions")
    return made


def _chosen(choice: Choice, make: Callable[[Atom], CompiledComparison]) -> tuple[Choice, tuple[CompiledComparison, ...]]:
    """The conditions of several answers, none of which may be the same on every table."""
    trees, comparisons = [], list[CompiledComparison]()
    for condition, label in zip(choice.conditions, choice.labels, strict=False):
        made = _made(condition, make)
        if isinstance(made, Settled):
            always = "the condition of {} always holds" if made.answer else "the condition of {} never holds"
            raise DuotoneError(f"{always.format(label)}, since {made.why}: leave it out")
        trees.append(made[0])
        comparisons += made[1]
    return replace(choice, conditions=tuple(trees)), tuple(comparisons)


def _made(tree: Tree, make: Callable[[Atom], CompiledComparison], groups: int = 0) -> Made:
    """The question with each comparison compiled. Settled ones are left out, or settle the question; so does a number of
    groups that there never, or always, are."""
    if isinstance(tree, Settled):
        return tree
    if isinstance(tree, OfGroups):
        least = tree.at_least(groups)
        if not 1 <= least <= groups:
            return Settled(least < 1, f"the list has {groups} group{'s' * (groups > 1)}")
        inner = _made(tree.part, make, groups)
        return inner if isinstance(inner, Settled) else (replace(tree, part=inner[0]), inner[1])
    if not isinstance(tree, BoolOp):
        made = make(tree)
        return made.settled or (tree, (made,))
    parts = [_made(part, make, groups) for part in tree.parts]
    settled = [part for part in parts if isinstance(part, Settled)]
    open_parts = [part for part in parts if not isinstance(part, Settled)]
    if tree.rule == "not" and settled:
        return Settled(not settled[0].answer, settled[0].why)
    decided = [part for part in settled if part.answer == (tree.rule == "or")]
    if decided or not open_parts:
        return (decided or settled)[0]
    if len(open_parts) == 1 and tree.rule != "not":
        return open_parts[0]
    comparisons = tuple(c for _, own in open_parts for c in own)
    return replace(tree, parts=tuple(part for part, _ in open_parts)), comparisons


def _combined(tree: Tree | Choice, levels: Iterator[Array], groups: ListedGroups | None = None) -> Array:
    """The least level for and, the greatest for or, the negated side for not; for several answers, the standings;
    for how many groups, the level of all of them."""
    if isinstance(tree, Choice):
        standings = first_that_holds([_combined(condition, levels) for condition in tree.conditions])
        standings[:, 0] = np.array([tree.answers.index(label) for label in tree.labels])[standings[:, 0]]
        return standings
    if isinstance(tree, OfGroups) and groups is not None:
        return groups.levels(_combined(tree.part, levels, groups), tree.at_least(groups.many))
    if not isinstance(tree, BoolOp):
        return np.asarray(next(levels))
    return np.asarray(combined_level(tree.rule, [_combined(part, levels, groups) for part in tree.parts]))


def _exact_at_all(tree: Tree | Choice, comparisons: Iterator[CompiledComparison], one: bool) -> bool:
    """Whether the level is the distance; of several answers, if each has one condition."""
    if not isinstance(tree, Choice):
        return _exact(tree, comparisons, one)
    each = [_exact(condition, comparisons, one) for condition in tree.conditions]
    return all(each) and len(tree.answers) == len(tree.labels)


def _exact(tree: Tree, comparisons: Iterator[CompiledComparison], one: bool) -> bool:
    if isinstance(tree, OfGroups):
        return _exact(tree.part, comparisons, one)
    if not isinstance(tree, BoolOp):
        return next(comparisons).exact
    parts = [_exact(part, comparisons, one) for part in tree.parts]
    return tree.exact and (one or tree.rule == "not") and all(parts)


def nothing(request: Request) -> Result:
    """The result for an empty group."""
    zero, ends = np.zeros(1, dtype=np.int64), (nobody_ranked(1), nobody_ranked(1))
    tallied = dict.fromkeys(request.values, zero) if isinstance(request, Tally) else {}
    return Result(tallied, zero, zero, *ends, request.reach if isinstance(request, Ends) else None)


Groups = Keys | tuple[Key, ...]


def plan_for(population: People, questions: Sequence[tuple[ParsedQuestion | None, Compiled | None]]) -> Any:
    """The plan for questions about the same people; runs nothing."""
    comparisons = [c for _, compiled in questions if compiled is not None for c in compiled.comparisons]
    return plan_of(population.asked(asked for asked, _ in questions), [(c.columns, c.requests) for c in comparisons])


def levels_of(
    population: People, questions: Sequence[tuple[ParsedQuestion | None, Compiled | None]]
) -> tuple[Groups, Array, list[Array]]:
    """Groups, their people, and the levels of each compiled question. The result is NOT private."""
    every = [compiled for _, compiled in questions]
    comparisons = [() if compiled is None else compiled.comparisons for compiled in every]
    who = population.asked(asked for asked, _ in questions)
    gathered = gather(who, [(c.columns, c.requests) for own in comparisons for c in own])
    results = iter(gathered.results)
    keys, people = gathered.keys, gathered.people
    one_answer = any(compiled is not None and compiled.groups is not None for compiled in every)
    tables: tuple[Key, ...] = ((),)
    places = None
    if population.listed is not None and (one_answer or not population.trial):
        tables, places = _listed(keys, population.listed, numbered=population.trial)
        places = places if one_answer else places[0]
    levels = []
    for compiled, compared in zip(every, comparisons, strict=True):
        own = [next(results) for _ in compared]
        sizes = people - 1 if places is None else np.append(people - 1, -1)[places]
        levels.append(sizes if compiled is None else compiled.levels(own, people, places))
    if one_answer:
        return tables, np.zeros(len(tables), dtype=np.int64), levels  # nobody is counted in all groups together
    if places is None:
        return keys if population.by else ((),), people, levels
    return population.listed or (), np.append(people, 0)[places], levels


def _listed(keys: Any, listed: Sequence[Key], *, numbered: bool) -> tuple[tuple[Key, ...], Array]:
    """The tables of a trial, which are `numbered` before their groups' keys, or the only table; and for each the place of
    every listed group among the keys, −1 for an empty one."""
    place = {tuple(map(str, key)): i for i, key in enumerate(keys)}
    tables = tuple(dict.fromkeys(key[:1] for key in keys)) if numbered else ((),)
    rows = [[place.get(tuple(map(str, (*table, *key))), -1) for key in listed] for table in tables]
    return tables, np.array(rows, dtype=np.int64).reshape(len(tables), len(listed))


SEARCHED = 64
"""Up to this many changes, a search for pairs of changes takes negligible time."""


def _compile_comparison(atom: Atom, declared: Dataset, reaches: Reach, rows: Condition = ALWAYS) -> CompiledComparison:
    """What a comparison requests of the engine. Levels are searched as far as margins use them; if that is slow, only
    as far as answers use them; if no search is needed, without limit. All examined `rows` satisfy a condition already.

    Guarantee: levels are clipped at the same distance for all tables, and answers are the same as without clipping.
    """
    reach = reaches.margins if reaches.margins <= MOST_ENDS else reaches.answers
    if isinstance(atom, MeanDifference | VarianceThreshold | TopGroup) and reach > SEARCHED:
        reach = reaches.answers
    compared = _compiled(atom, declared, reach, reaches, rows)
    within = min(reach, compared.searched or reach)
    return compared if _however_far(compared) or within == reaches.margins else _clipped(compared, within)


def _compiled(atom: Atom, declared: Dataset, reach: int, reaches: Reach, rows: Condition) -> CompiledComparison:
    match atom:
        case LinearThreshold():
            return linear_threshold(atom, declared, reach, rows)
        case QuantileThreshold():
            return quantile_threshold(atom, declared, reach)
        case MeanDifference():
            return mean_difference(atom, declared, reach)
        case VarianceThreshold():
            return variance_threshold(atom, declared, reach)
        case DistinctThreshold():
            return distinct_threshold(atom, declared, reach)
        case CountsComparison():
            return counts_comparison(atom, declared, reaches)
        case TopGroup():
            return top_group(atom, declared, reach)
    return mode_is(atom, declared, reach)


def _however_far(compared: CompiledComparison) -> bool:
    """Whether a level is exact at any distance: it follows from how many people have each score."""
    return not compared.searched and all(isinstance(request, Tally) for request in compared.requests.values())


def _clipped(compared: CompiledComparison, reach: int) -> CompiledComparison:
    """The same comparison with levels clipped at `reach`: a larger distance becomes some number above it."""

    def levels_of(results: Results, people: Array) -> Array:
        return np.clip(compared.levels(results, people), -reach - 1, reach)

    return replace(compared, levels=levels_of, searched=reach)


def _adds_rows(atom: Atom, declared: Dataset) -> bool:
    """Whether a comparison adds up a person's rows, and so uses `max_rows`."""
    if isinstance(atom, TopGroup):
        return declared.unit is not None and atom.measure in ("count", "sum") and not atom.voted
    reduced = declared.per_unit is not None and _one_value_each(atom)
    if isinstance(atom, LinearThreshold):
        return not atom.people and not reduced
    added = isinstance(atom, MeanDifference) or (isinstance(atom, QuantileThreshold) and extreme_of(atom) is None)
    return added and not reduced and declared.unit is not None


def _one_value_each(atom: Atom) -> bool:
    """Whether a comparison can be about one value per person, and so uses `per_unit`."""
    match atom:
        case LinearThreshold():
            return of_one_value(atom)
        case TopGroup():
            return atom.voted or atom.measure in ("mean", "quantile")
    return not isinstance(atom, CountsComparison)
