"""Sums over people against a limit: counts, majorities, shares, sums and averages; and quantiles, as votes for and
against the limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.model.dataset import INTEGER_STEPS, Dataset, Grid
from duotone.model.notice import Refusal
from duotone.questions.threshold import CROWD, People, Scores, somebody, who_matters
from duotone.questions.threshold import levels as levels_of_scores
from duotone.questions.units import NobodyUnits, TotalUnits, Units, ValuedUnits
from duotone.tables.comparisons import Array, CompiledComparison, Levels, Results
from duotone.tables.engines.person_columns import (
    PersonColumns,
    added_up,
    averaged,
    counted,
    flagged,
    ranked,
    require_short,
    valued,
    voted,
)
from duotone.tables.engines.results import Ends, Ranked, Request, Result, Tally
from duotone.tables.sql.comparison import LinearThreshold, QuantileThreshold, Settled
from duotone.tables.sql.condition import (
    ALWAYS,
    Compare,
    Condition,
    IsNull,
    Not,
    both,
    combinations,
    holds,
    independent,
    possible,
)
from duotone.tables.sql.scoring import Score, grid_of, score

MOST_VALUES = 64
"""Up to this many distinct scores, people are counted by score; otherwise the total and the extremes are fetched."""


@dataclass(frozen=True)
class Contribution:
    """What one person adds to the sum: the columns it is read from, its range, and the values to count people by, if
    there are few. `scale` and `shift` make a score of what is read."""

    columns: PersonColumns
    low: int
    high: int
    tally: Tally | None
    scale: int = 1
    shift: int = 0


def linear_threshold(atom: LinearThreshold, declared: Dataset, reach: int, rows: Condition) -> CompiledComparison:
    """Σ weight · value over people, at least or above a limit."""
    values = [term.value for term in atom.terms if term.value is not None]
    grids = {value.column: grid_of(value, declared.bounds, "sum or average") for value in values}
    scoring = score(atom, grids)
    one = _contribution(atom, scoring, grids, declared, rows)
    peopled = atom.present is not None
    # an average of nobody is a no, also where 0 would be enough; scores outside an average are absent, outside sums 0
    final: Callable[[int], int] = somebody if peopled and scoring.at_least == 0 else int
    absent = peopled and scoring.absent  # whether people without a score can be there
    bounds = _score_bounds(final(one.low), final(one.high), declared, absent)

    def scored(read: int) -> int:
        return one.scale * read + one.shift

    levels = _score_levels(scored, (one.low, one.high), scoring.at_least, declared, absent=absent, peopled=peopled)
    exact = scoring.exact and independent(declared.unit, [term.where for term in atom.terms], values)
    settled = _settled(atom, scoring, one.low, one.high)
    units = _units(atom, scoring, (*bounds, final(scoring.at_least)), grids, declared)
    request = one.tally or _score_ends(lambda read: final(scored(read)), bounds, declared, reach)
    return CompiledComparison(one.columns, {"s": request}, levels, exact, grids, settled, units)


def _units(
    atom: LinearThreshold, scoring: Score, ends: tuple[int, int, int], grids: Mapping[str, Grid], declared: Dataset
) -> Units | None:
    """The statistic itself (a count, sum, share or average); for several counts and sums, how far the comparison is
    from its limit. `ends` are the least and the greatest score, and the least sum of a yes."""
    weights = [term.weight for term in atom.terms]
    if -CROWD in weights:  # one such person outweighs everybody else
        return NobodyUnits()
    if not atom.terms:
        return None
    (scaled, first), *rest = scoring.terms
    grid = grids[first.value.column] if first.value is not None else None
    scale = scaled / (first.weight * (grid.step if grid is not None else 1))
    nobody_is_no = atom.present is not None and scoring.at_least == 0
    common: dict[str, Any] = {"replaced": declared.replaced, "somebody": nobody_is_no, "least": _least(scoring, declared)}
    if is_average(atom):
        limit = -rest[0][1].weight / first.weight if rest else Fraction(0)
        within = (grid.low * grid.step, grid.high * grid.step) if grid is not None else (Fraction(0), Fraction(1))
        rows = declared.max_rows if declared.max_rows is not None and declared.per_unit is None else 1
        per = scale * first.weight
        return TotalUnits(*ends, per=per, zero=limit, averaged=True, rows=rows, low=within[0], high=within[1], **common)
    total = TotalUnits(*ends, per=scale, zero=-atom.limit, **common)
    if len(weights) == 1:
        total = TotalUnits(*ends, per=scale * first.weight, **common)
    return ValuedUnits(total) if atom.present is not None else total


def is_average(atom: LinearThreshold) -> bool:
    """Whether it is a single average, or share, against a limit."""
    return atom.averaged and all(term.where == atom.present for term in atom.terms[1:])


def _least(scoring: Score, declared: Dataset) -> tuple[int, int]:
    """The least scores above and below 0, where each person has one row."""
    if scoring.possible is None or declared.unit is not None:
        return 1, 1
    above, below = ([abs(s) for s in scoring.possible if s * way > 0] for way in (1, -1))
    return min(above, default=1), min(below, default=1)


def of_one_value(atom: LinearThreshold) -> bool:
    """Whether it is an average of values, with one value per person."""
    return atom.averaged and any(term.value for term in atom.terms)


def _contribution(
    atom: LinearThreshold, scoring: Score, grids: Mapping[str, Grid], declared: Dataset, rows: Condition
) -> Contribution:
    """Per row if rows are people; else a person's rows counted once, reduced to one value, or added up and clipped."""
    low, high = scoring.lowest, scoring.highest
    if declared.unit is None:
        plain = added_up(scoring, atom.present, grids, low, high)
        return _one_column(atom, scoring, grids, rows) or Contribution(plain, low, high, _tally(atom, scoring.possible))
    if atom.people:
        return Contribution(counted(scoring), low, high, _tally(atom, scoring.possible))
    if declared.per_unit and of_one_value(atom):
        require_short(grids, declared.per_unit)
        (weight, term), *rest = scoring.terms
        value = next(term.value for term in atom.terms if term.value is not None)
        shift = sum(w for w, _ in rest)
        columns = averaged(weight, shift, value, term.where, grids[value.column], declared.per_unit)
        return Contribution(columns, low, high, _tally(atom, scoring.possible))
    if declared.max_rows is None:
        raise Refusal("max_rows or per_unit missing" if of_one_value(atom) else "max_rows missing", unit=declared.unit)
    return _several_rows(atom, scoring, grids, declared.max_rows)


def _several_rows(atom: LinearThreshold, scoring: Score, grids: Mapping[str, Grid], max_rows: int) -> Contribution:
    """The scores of a person's rows, added up and clipped to the range of `max_rows` rows."""
    low = scoring.lowest * max_rows if scoring.lowest < 0 else scoring.lowest
    high = scoring.highest * max_rows if scoring.highest > 0 else scoring.highest
    if not max(abs(low), abs(high)) <= INTEGER_STEPS:
        raise Refusal("max_rows too large")
    few = high - low < MOST_VALUES and not grids
    columns = added_up(scoring, atom.present, grids, low, high)
    return Contribution(columns, low, high, _tally(atom, tuple(range(low, high + 1)) if few else None))


def _one_column(atom: LinearThreshold, scoring: Score, grids: Mapping[str, Grid], rows: Condition) -> Contribution | None:
    """One count, sum or average of rows that are people: the engine only counts or adds up, without computing scores.
    All examined `rows` satisfy a condition already."""
    (weight, term), *rest = scoring.terms or ((0, None),)
    if term is None or atom.people:
        return None
    counted_by = _tally(atom, scoring.possible)
    if term.value is None:
        if rest or atom.present is not None:
            return None
        tally = Tally((1,), everyone=term.where == rows) if counted_by else None
        return Contribution(flagged(term.where), scoring.lowest, scoring.highest, tally, scale=weight)
    there = both(term.where, Not(IsNull(term.value)))
    if atom.present not in (None, there):  # somebody without a value counts all the same
        return None
    if [t.where for _, t in rest] not in ([], [there]) or any(t.value for _, t in rest):
        return None
    where = ALWAYS if term.where == rows else term.where
    columns = valued(term.value, where, grids[term.value.column])
    tally = Tally((1,)) if counted_by else None
    return Contribution(columns, scoring.lowest, scoring.highest, tally, scale=weight, shift=sum(w for w, _ in rest))


def _tally(atom: LinearThreshold, possible: tuple[int, ...] | None) -> Tally | None:
    """The scores to count people by; in sums and counts, a score of 0 need not be counted."""
    if possible is None or len(possible) > MOST_VALUES:
        return None
    return Tally(tuple(s for s in possible if s or atom.present is not None))


def _settled(atom: LinearThreshold, scoring: Score, low: int, high: int) -> Settled | None:
    """Whether a sum of scores from `low` to `high` is always, or never, at least the limit; for nobody it is 0, and an
    average is a no."""
    if scoring.nobody:
        return Settled(False, "no row can satisfy its condition")
    if atom.present is not None:
        return None if high >= scoring.at_least else Settled(False, "the limit lies outside the possible values")
    if scoring.at_least > 0:
        reason = "no row can satisfy its condition" if low == high == 0 else "the sum can never reach the limit"
        return None if high > 0 else Settled(False, reason)
    return None if low < 0 else Settled(True, "the sum can never fall below the limit")


def _score_bounds(low: int, high: int, declared: Dataset, absent: bool) -> tuple[int, int]:
    """The scores that a newcomer can have; with `absent`, also no score, which is 0."""
    return (min(low, 0), max(high, 0)) if declared.replaced and absent else (low, high)


def _score_ends(final: Callable[[int], int], bounds: tuple[int, int], declared: Dataset, reach: int) -> Ends:
    """The extreme scores that levels need. Final scores are linear in what is read."""
    down, up = who_matters(*bounds, declared.neighbours)
    shift = final(0)
    scale = final(1) - shift
    read = [None if score is None else Fraction(score - shift, scale) for score in (down, up)]
    largest, smallest = read if scale > 0 else read[::-1]
    return Ends(
        reach,
        largest_from=None if largest is None else math.ceil(largest),
        smallest_to=None if smallest is None else math.floor(smallest),
        farthest=max(math.ceil(abs(Fraction(end - shift, scale))) for end in bounds),
    )


def _score_levels(
    read: Callable[[int], int], ends: tuple[int, int], at_least: int, declared: Dataset, *, absent: bool, peopled: bool
) -> Levels:
    """Levels of a sum of scores within `ends`, linear in what is read, or counted by score. `absent`: people without a
    score can be there; `peopled`: an empty table is a no (see `somebody`)."""

    def levels_of(results: Results, people: Array) -> NDArray[np.float64]:
        result = results["s"]
        missing = people - result.people if declared.replaced else np.zeros_like(people)
        crowded = peopled and at_least == 0
        crowd = _crowd(people, max(map(abs, ends)), at_least, result.reach)

        def final(score: int) -> int:
            return somebody(score, crowd) if crowded else score

        def seen(value: int) -> int:
            return final(read(value))

        low, high = _score_bounds(final(ends[0]), final(ends[1]), declared, absent)
        scored = _tallied if result.counts else _ended
        beside = abs(final(at_least)) + high - low
        tally = scored(result, missing, seen, beside)
        there = People(result.people, people, absent) if peopled and at_least < 0 else None
        return levels_of_scores(tally, low, high, final(at_least), declared.neighbours, there)

    return levels_of


def _crowd(people: Array, farthest: int, at_least: int, reach: int | None) -> int:
    """More people than any group has, or could have after as many changes as a level counts; levels beyond `reach` need
    not be exact."""
    most = int(people.max(initial=0))
    return most + (reach if reach is not None else most * farthest + abs(at_least)) + 4


def _tallied(result: Result, missing: Array, seen: Callable[[int], int], beside: int) -> Scores:
    pairs = [(seen(value), count) for value, count in result.counts.items()] + [(0, missing)]
    kind = _kind((beside + max(abs(v) for v, _ in pairs) + 1) * (int(result.people.max(initial=0)) + 1))
    pairs = sorted(((v, n.astype(kind)) for v, n in pairs), key=lambda pair: -pair[0])
    return Scores(sum((v * n for v, n in pairs), np.zeros(len(missing), dtype=kind)), pairs, pairs[::-1])


def _ended(result: Result, missing: Array, seen: Callable[[int], int], beside: int) -> Scores:
    """Final scores are linear in the results, so totals follow from totals."""
    shift = seen(0)
    scale = seen(1) - shift
    largest, smallest = (result.largest, result.smallest) if scale > 0 else (result.smallest, result.largest)
    totals = abs(scale) * _farthest(result.total) + abs(shift) * _farthest(result.people)
    each = abs(scale) * max(largest.farthest(), smallest.farthest()) + abs(shift)
    kind = _kind(totals + each + beside)
    total: Array = scale * result.total.astype(kind) + shift * result.people.astype(kind)
    ends = []
    for side, descending in ((largest, True), (smallest, False)):
        scored = Ranked(scale * side.values.astype(kind) + shift, side.people, side.starts)
        ends.append(scored.joined(missing, descending) if missing.any() else scored)
    return Scores(total, ends[0], ends[1], result.reach)


def _farthest(numbers: Array) -> int:
    return max(abs(int(numbers.max(initial=0))), abs(int(numbers.min(initial=0))))


def _kind(heaviest: int) -> type:
    """64-bit integers if all intermediate sums fit into them."""
    return np.int64 if heaviest < 2**60 else object


def quantile_threshold(atom: QuantileThreshold, declared: Dataset, reach: int) -> CompiledComparison:
    """Values that meet the limit score for it, others against it, weighted by the quantile; a person's rows are added up
    like those of an average, or reduced to one value. For a smallest or largest value that is their own one."""
    grids: dict[str, Grid] = {}
    how = declared.per_unit or (None if declared.unit is None or extreme_of(atom) is None else extreme_word(atom))
    if declared.unit is not None and declared.per_unit in ("avg", "sum"):
        if atom.value.kind not in ("integer", "float", "decimal"):
            raise Refusal("per_unit of no numbers", column=atom.value.column)
        grids[atom.value.column] = grid_of(atom.value, declared.bounds, "reduction")
    require_short(grids, declared.per_unit)
    settled = _settled_quantile(atom, grids.get(atom.value.column))
    scale = math.lcm(atom.met.denominator, atom.missed.denominator)
    met, missed = int(atom.met * scale), int(atom.missed * scale)
    exact = combinations([atom.where])[1] and independent(declared.unit, [atom.where], [atom.value])
    at_least, rows = int(atom.strict), 1
    if declared.unit is not None and how is None:
        rows = _rows_of_a_quantile(atom, declared)
        columns, ends = voted(atom, met, missed, rows), (min(met, missed) * rows, max(met, missed) * rows)
        final: Callable[[int], int] = int if atom.strict else somebody
        request: Request = Tally(tuple(range(ends[0], ends[1] + 1)))
        if not ends[1] - ends[0] < MOST_VALUES:
            bounds = _score_bounds(final(ends[0]), final(ends[1]), declared, absent=True)
            request = _score_ends(final, bounds, declared, reach)
        levels = _score_levels(int, ends, at_least, declared, absent=True, peopled=True)
    else:
        columns, ends = ranked(atom, how, grids.get(atom.value.column)), (min(met, missed), max(met, missed))
        request = Tally((1, 0))
        levels = _score_levels({1: met, 0: missed}.__getitem__, ends, at_least, declared, absent=True, peopled=True)
    units = _quantile_units(atom, ends, scale, rows, declared)
    return CompiledComparison(columns, {"s": request}, levels, exact, grids, settled, units)


def _rows_of_a_quantile(atom: QuantileThreshold, declared: Dataset) -> int:
    if declared.max_rows is None:
        raise Refusal("max_rows or per_unit missing", unit=declared.unit)
    denominator = max(atom.met.denominator, atom.missed.denominator)
    if not denominator * declared.max_rows <= INTEGER_STEPS:
        raise Refusal("max_rows too large")
    return declared.max_rows


def _quantile_units(atom: QuantileThreshold, ends: tuple[int, int], scale: int, rows: int, declared: Dataset) -> Units:
    """The share of values that meet the limit; for the smallest or largest value, how many people do, or do not."""
    if (extreme := extreme_of(atom)) is not None:
        return NobodyUnits() if extreme else TotalUnits(0, 1, 1, replaced=declared.replaced, low=Fraction(0))
    apart = atom.met - atom.missed
    low, high, at_least = (*ends, 1) if atom.strict else map(somebody, (*ends, 0))
    return TotalUnits(
        *_score_bounds(low, high, declared, absent=True),
        at_least,
        replaced=declared.replaced,
        per=apart * scale,
        zero=-atom.missed / apart,
        averaged=True,
        rows=rows,
        somebody=not atom.strict,
        low=Fraction(0),
        high=Fraction(1),
    )


def extreme_of(atom: QuantileThreshold) -> bool | None:
    """For a smallest or largest value, whether everybody or anybody must meet the limit; None for a quantile."""
    return None if 0 < -atom.missed < 1 else atom.missed != 0


def extreme_word(atom: QuantileThreshold) -> Literal["min", "max"]:
    """Whether it is a smallest or a largest value, if it is one of the two."""
    return "min" if (atom.sign in (">", ">=")) == extreme_of(atom) else "max"


def _settled_quantile(atom: QuantileThreshold, grid: Grid | None) -> Settled | None:
    """Settled if no value can meet the limit, or if every value does."""
    if grid is not None:
        if atom.written is None:
            raise DuotoneError(f"column {atom.value.column} holds numbers: compare it with one")
        best = (grid.high if atom.sign in (">", ">=") else grid.low) * grid.step
        if not holds(best, atom.sign, atom.written):
            return Settled(False, "the limit lies outside the possible values")
    met = Not(IsNull(atom.value)) if grid is not None else Compare(atom.value, atom.sign, atom.limit)
    return None if possible(atom.where, met) else Settled(False, "no row can satisfy its condition and meet the limit")
