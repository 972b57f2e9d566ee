"""Compiled: a question's comparisons as the engine is asked for them, and how their levels become the question's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from duotone.errors import DuotoneError
from duotone.model.dataset import Dataset
from duotone.model.notice import Notice
from duotone.privacy.definition import Array
from duotone.questions.combined import combined_level, negated_level
from duotone.tables.comparisons import CompiledComparison, Results, adds_rows, compile_comparison, one_value_each
from duotone.tables.declared import Note, Unused
from duotone.tables.engines import Source
from duotone.tables.engines.abilities import require_able
from duotone.tables.engines.results import Ends, Request, Result, Tally, nobody_ranked, require_reach
from duotone.tables.person_averages import as_numbers, finer_bounds, values_of
from duotone.tables.sql.comparison import Atom, BoolOp, DistinctThreshold, Negation, ParsedQuestion, Settled, Tree
from duotone.tables.sql.condition import ALWAYS, Condition

TENTH = Fraction(1, 10)


@dataclass(frozen=True)
class Compiled:
    """What `comparisons` ask of the engine, one for each comparison of `tree`, in order.

    `rows` are those that are looked at, None for all. `exact` tells whether levels are distances.
    """

    tree: Tree
    comparisons: tuple[CompiledComparison, ...]
    rows: Condition | None
    exact: bool
    rows_counted: bool
    """Whether a person's rows are counted, up to `max_rows`."""
    declared: Dataset
    """What was declared, but for bounds and `max_rows` that this question makes no use of."""
    notes: tuple[Notice, ...] = ()
    """What whoever asks should know about the question."""

    def levels(self, results: Sequence[Results], people: Array) -> Array:
        """The question's level in every group, from what came back for each comparison."""
        each = [c.levels(result, people) for c, result in zip(self.comparisons, results, strict=True)]
        return combined(self.tree, iter(each))

    def level_of_nobody(self) -> Array:
        """The level of a group that nobody is in."""
        return self.levels(
            [{n: nothing(r) for n, r in c.requests.items()} for c in self.comparisons], np.zeros(1, dtype=np.int64)
        )


def compile_question(asked: ParsedQuestion, declared: Dataset, reach: int, source: Source) -> Compiled:
    """Check a question against what is declared and what the engine can do, and compile its comparisons; `reach` is the
    mechanism's last level.

    Under replace all rows are looked at, since everybody may change; with group by, only those that take part.
    """
    require_able(source, asked)
    rows = asked.where if asked.by or not declared.replaced else None
    finer = finer_bounds([*_atoms(asked.tree)], declared)
    declared = replace(declared, bounds={**declared.bounds, **finer})
    every: list[CompiledComparison] = []

    def make(atom: Atom) -> CompiledComparison:
        every.append(compile_comparison(as_numbers(atom, finer.keys()), declared, reach, rows or ALWAYS))
        return every[-1]

    made = _made(asked.tree, make)
    if isinstance(made, Settled):
        answer = "yes" if made.answer else "no"
        raise DuotoneError(f"the answer would be {answer} on every table, since {made.why}: change the limit or the conditions")
    tree, comparisons = made
    require_reach(c.requests for c in comparisons)  # which no engine finds out before it has read rows
    one = declared.max_rows in (None, 1)  # who counts for more steps over a count that is asked for exactly
    anything = asked.people is None and not asked.keys and not asked.joins  # what these make need not be
    exact = anything and _exact(tree, iter(comparisons), one)
    counted = declared.max_rows is not None and any(adds_rows(atom, declared) for atom in _atoms(tree))
    notes = _notes(asked, declared, comparisons)
    return Compiled(tree, comparisons, rows, exact, counted, _used(asked, declared, every), notes)


def without_per_unit(asked: ParsedQuestion, declared: Dataset, note: Note) -> Dataset:
    """What is declared, without `per_unit` where no comparison has a use for it."""
    if declared.per_unit is None or any(map(one_value_each, _atoms(asked.tree))):
        return declared
    added = any(adds_rows(atom, declared) for atom in _atoms(asked.tree))
    note(Unused("per_unit", Notice("per_unit unused in a sum" if added else "per_unit unused")))
    return replace(declared, per_unit=None)


def _notes(asked: ParsedQuestion, declared: Dataset, comparisons: Sequence[CompiledComparison]) -> tuple[Notice, ...]:
    different = declared.person is None and any(isinstance(atom, DistinctThreshold) for atom in _atoms(asked.tree))
    equalities = () if declared.replaced else asked.equalities
    rounded = [] if declared.per_unit != "avg" else _rounded(asked, declared, comparisons)
    return (*([Notice("rows are people")] if different else []), *asked.notes, *rounded, *equalities)


def _rounded(asked: ParsedQuestion, declared: Dataset, comparisons: Sequence[CompiledComparison]) -> Iterator[Notice]:
    """A person's average of whole numbers is one, of computed values and where bounds are too wide for a finer grid."""
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
    """What was declared, without what makes no difference. A comparison that bounds or `max_rows` settle uses them, too."""
    bounds = {column: declared.bounds[column] for compared in every for column in compared.grids}
    rows = declared.max_rows if any(adds_rows(atom, declared) for atom in _atoms(asked.tree)) else None
    return replace(declared, bounds=bounds, max_rows=rows)


def _atoms(tree: Tree) -> Iterator[Atom]:
    if isinstance(tree, BoolOp):
        for part in tree.parts:
            yield from _atoms(part)
    elif isinstance(tree, Negation):
        yield from _atoms(tree.part)
    elif not isinstance(tree, Settled):
        yield tree


Made = tuple[Tree, tuple[CompiledComparison, ...]] | Settled


def _made(tree: Tree, make: Callable[[Atom], CompiledComparison]) -> Made:
    """The question with each comparison compiled. Those that are settled are left out, or settle it altogether."""
    if isinstance(tree, Settled):
        return tree
    if isinstance(tree, BoolOp):
        return _joined(tree, [_made(part, make) for part in tree.parts])
    if isinstance(tree, Negation):
        part = _made(tree.part, make)
        return Settled(not part.answer, part.why) if isinstance(part, Settled) else (Negation(part[0]), part[1])
    made = make(tree)
    return made.settled or (tree, (made,))


def _joined(tree: BoolOp, parts: Sequence[Made]) -> Made:
    decisive = tree.rule == "or"
    settled = [part for part in parts if isinstance(part, Settled)]
    open_parts = [part for part in parts if not isinstance(part, Settled)]
    decided = [part for part in settled if part.answer == decisive]
    if decided or not open_parts:
        return (decided or settled)[0]
    if len(open_parts) == 1:
        return open_parts[0]
    comparisons = tuple(c for _, own in open_parts for c in own)
    return replace(tree, parts=tuple(part for part, _ in open_parts)), comparisons


def combined(tree: Tree, levels: Iterator[Array]) -> Array:
    """And is the least level, or the greatest, not the other side."""
    if isinstance(tree, BoolOp):
        return np.asarray(combined_level(tree.rule, [combined(part, levels) for part in tree.parts]))
    if isinstance(tree, Negation):
        return np.asarray(negated_level(combined(tree.part, levels)))
    return np.asarray(next(levels))


def _exact(tree: Tree, comparisons: Iterator[CompiledComparison], one: bool) -> bool:
    if isinstance(tree, BoolOp):
        parts = [_exact(part, comparisons, one) for part in tree.parts]
        return tree.exact and one and all(parts)
    return _exact(tree.part, comparisons, one) if isinstance(tree, Negation) else next(comparisons).exact


def nothing(request: Request) -> Result:
    """What comes back of a group that nobody is in."""
    zero, ends = np.zeros(1, dtype=np.int64), (nobody_ranked(1), nobody_ranked(1))
    tallied = dict.fromkeys(request.values, zero) if isinstance(request, Tally) else {}
    return Result(tallied, zero, zero, *ends, request.reach if isinstance(request, Ends) else None)
