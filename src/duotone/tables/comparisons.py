"""Measures: what each comparison asks of the engine, and the levels that follow from what comes back."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError
from duotone.questions.difference import Side, difference_level
from duotone.questions.plurality import plurality_level
from duotone.questions.protocol import Neighbours
from duotone.questions.threshold import Scores, levels, somebody
from duotone.tables.engines.person_columns import (
    PersonColumns,
    Reduction,
    added_up,
    averaged,
    counted,
    dueling,
    flagged,
    ranked,
    valued,
    voting,
)
from duotone.tables.engines.results import Ends, Request, Result, Tally, Votes
from duotone.tables.sql.atoms import Atom, LinearThreshold, Mean, MeanDifference, ModeIs, QuantileThreshold, Settled
from duotone.tables.sql.condition import ALWAYS, Compare, Condition, IsNull, Not, Operand, both, columns_of, combinations, holds
from duotone.tables.sql.scoring import FLOAT_STEPS, INTEGER_STEPS, LARGEST, Bounds, Grid, Score, grid_of, score

Array = NDArray[Any]
Results = Mapping[str, Result]
MOST_VALUES = 64
"""Up to so many different scores, people are counted by score; beyond, the total and the far ends are fetched."""

MOST_LEVELS: Mapping[Neighbours, int] = {"add-remove": 2000, "replace": 1000}
"""The levels of a difference of averages are searched for in time that grows with their square: some seconds for so many."""


@dataclass(frozen=True)
class Declared:
    """What is declared about people: which column names a person, how much one may count for, and who neighbours are."""

    unit: str | None = None
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    max_rows: int = 1
    per_unit: Reduction | None = None
    neighbours: Neighbours = "add-remove"

    @property
    def replaced(self) -> bool:
        """Whether neighbours differ by one person's data."""
        return self.neighbours == "replace"


@dataclass(frozen=True)
class CompiledComparison:
    """A comparison on the engine: how a person's columns are made, what is wanted of them, and the levels that follow, from
    what was found and how many people there are. `exact` tells whether these are distances; `settled`, that the answer is
    the same on every table."""

    recipe: PersonColumns
    wants: Mapping[str, Request]
    levels: Callable[[Results, Array], NDArray[np.float64]]
    exact: bool
    grids: Mapping[str, Grid] = field(default_factory=dict)
    settled: Settled | None = None


def measure(atom: Atom, declared: Declared, reach: int, rows: Condition = ALWAYS) -> CompiledComparison:
    """What an atom asks of the engine, with `reach` as the mechanism's last level; all `rows` that are looked at satisfy a
    condition already."""
    match atom:
        case LinearThreshold():
            return _total(atom, declared, reach, rows)
        case QuantileThreshold():
            return _ranked(atom, declared)
        case MeanDifference():
            return _duel(atom, declared, reach)
    return _winner(atom, declared, reach)


def one_value_each(atom: Atom) -> bool:
    """Whether a comparison can be of one value per person, and so makes use of `per_unit`."""
    return not isinstance(atom, LinearThreshold) or (atom.present is not None and any(term.value for term in atom.terms))


def _total(atom: LinearThreshold, declared: Declared, reach: int, rows: Condition) -> CompiledComparison:
    values = [t.value for t in atom.terms if t.value is not None]
    grids = {v.column: grid_of(v, declared.bounds, "sum or average") for v in values}
    rule = score(atom, grids)
    low, high = rule.lowest, rule.highest
    recipe, possible = None, rule.possible
    if declared.unit is not None and atom.people:
        recipe = counted(rule)
    elif declared.unit is not None and declared.per_unit and one_value_each(atom):
        _require_short(grids, declared.per_unit)
        (weight, term), *rest = rule.terms
        shift = sum(w for w, _ in rest)
        recipe = averaged(weight, shift, values[0], term.where, grids[values[0].column], declared.per_unit)
    elif declared.unit is not None:
        low, high = (low * declared.max_rows if low < 0 else low), (high * declared.max_rows if high > 0 else high)
        if not max(abs(low), abs(high)) <= INTEGER_STEPS:
            raise DuotoneError("so many rows of one person, within these bounds, cannot be added up: lower max_rows")
        possible = tuple(range(low, high + 1)) if high - low < MOST_VALUES and not values else None
    recipe = recipe or added_up(rule, atom.present, grids, low, high)
    final: Callable[[int], int] = somebody if atom.present is not None and not atom.strict else int
    # Scores outside an average are absent; of sums and counts they are 0.
    tallied = possible is not None and len(possible) <= MOST_VALUES
    asked: Tally | Ends = Tally(tuple(s for s in possible or () if s or atom.present is not None)) if tallied else Ends(reach)
    told = final
    if declared.unit is None and (simple := _simple(atom, rule, grids, rows)) is not None:
        recipe, weight, shift, everyone = simple
        asked = Tally((1,), everyone) if tallied else asked
        told = lambda s: final(weight * s + shift)  # noqa: E731
    absent = atom.present is not None and rule.absent
    where_from = _threshold(told, (final(low), final(high)), final(rule.at_least), declared, absent)
    exact = rule.exact and _free(declared, [t.where for t in atom.terms], values)
    return CompiledComparison(recipe, {"s": asked}, where_from, exact, grids, _settled_total(atom, rule, low, high))


def _settled_total(atom: LinearThreshold, rule: Score, low: int, high: int) -> Settled | None:
    """Whether a sum of scores from `low` to `high` is always, or never, at least so much; of nobody it is 0, and an average
    is a no."""
    if rule.nobody:
        return Settled(False, "no row can satisfy its condition")
    if atom.present is not None:
        return None if high >= rule.at_least else Settled(False, "the limit lies outside what the values can be")
    if rule.at_least > 0:
        reason = "no row can satisfy its condition" if low == high == 0 else "what is added up can never reach the limit"
        return None if high > 0 else Settled(False, reason)
    return None if low < 0 else Settled(True, "what is added up can never fall below the limit")


def _possible(*conditions: Condition) -> bool:
    """Whether a row can satisfy all conditions, as far as can be told from the question."""
    return (True,) in combinations([functools.reduce(both, conditions)])[0]


def _free(declared: Declared, conditions: Sequence[Condition], values: Sequence[Operand | Condition]) -> bool:
    """Whether what is counted does not also stand in a condition, which might then rule out the far ends of its values."""
    looked_at = set().union(*(columns_of(condition) for condition in conditions))
    aimed_at = {v.column for v in values if isinstance(v, Operand)} | ({declared.unit} if declared.unit else set())
    return not looked_at & aimed_at


def _simple(
    atom: LinearThreshold, rule: Score, grids: Mapping[str, Grid], rows: Condition
) -> tuple[PersonColumns, int, int, bool] | None:
    """One count, one sum or one average of rows that are people: the engine need not reckon, only count or add; with what a
    row's value is then to be multiplied by, what is to be added, and whether every row has it."""
    (weight, term), *rest = rule.terms or ((0, None),)
    if term is None or atom.people:
        return None
    if term.value is None:
        return None if rest or atom.present is not None else (flagged(term.where), weight, 0, term.where == rows)
    there = both(term.where, Not(IsNull(term.value)))
    if [t.where for _, t in rest] not in ([], [there]) or any(t.value for _, t in rest):
        return None
    where = ALWAYS if term.where == rows else term.where
    return valued(term.value, where, grids[term.value.column]), weight, sum(w for w, _ in rest), False


def _threshold(
    final: Callable[[int], int], bounds: tuple[int, int], at_least: int, declared: Declared, absent: bool
) -> Callable[[Results, Array], NDArray[np.float64]]:
    """Levels of a sum of final scores; `absent` tells whether someone can be there with no score at all."""

    def found_levels(found: Results, people: Array) -> NDArray[np.float64]:
        got = found["s"]
        low, high = (min(bounds[0], 0), max(bounds[1], 0)) if declared.replaced and absent else bounds
        missing = people - got.people if declared.replaced else np.zeros_like(people)
        scores = _tallied(got, missing, final, at_least) if got.counts else _ended(got, missing, final)
        return levels(scores, low, high, at_least, declared.neighbours)

    return found_levels


def _tallied(got: Result, missing: Array, final: Callable[[int], int], at_least: int) -> Scores:
    pairs = [(final(value), count) for value, count in got.counts.items()] + [(0, missing)]
    heaviest = (abs(at_least) + max(abs(v) for v, _ in pairs) + 1) * (int(got.people.max(initial=0)) + 1)
    kind: type = np.int64 if heaviest < 2**60 else object
    pairs = sorted(((v, n.astype(kind)) for v, n in pairs), key=lambda pair: -pair[0])
    return Scores(sum((v * n for v, n in pairs), np.zeros(len(missing), dtype=kind)), pairs, pairs[::-1])


def _ended(got: Result, missing: Array, final: Callable[[int], int]) -> Scores:
    """Final scores are linear in what came back, so that totals follow from totals."""
    shift = final(0)
    scale = final(1) - shift
    ends = []
    largest, smallest = (got.largest, got.smallest) if scale > 0 else (got.smallest, got.largest)
    for side, way in ((largest, 1), (smallest, -1)):
        scored = [(np.where(n == 1, scale * v + shift, 0), n) for v, n in side]
        ends.append(_with_absent(scored, missing.tolist(), way) if missing.any() else scored)
    return Scores(scale * got.total + shift * got.people.astype(object), ends[0], ends[1], got.reach)


def _with_absent(scored: Sequence[tuple[Array, Array]], missing: Sequence[int], way: int) -> list[tuple[Array, Array]]:
    """Those without a score take their place at 0."""
    whole = [[(v[g], n[g]) for v, n in scored if n[g]] + [(0, m)] for g, m in enumerate(missing)]
    for pairs in whole:
        pairs.sort(key=lambda pair: -way * pair[0])
    longest = max(map(len, whole))
    padded = [pairs + [(0, 0)] * (longest - len(pairs)) for pairs in whole]
    places = [list(zip(*place, strict=True)) for place in zip(*padded, strict=True)]
    return [(np.array(values, dtype=object), np.array(counts, dtype=object)) for values, counts in places]


def _ranked(atom: QuantileThreshold, declared: Declared) -> CompiledComparison:
    grids: dict[str, Grid] = {}
    if declared.unit is not None and declared.per_unit is None:
        raise DuotoneError(
            "with a unit, a median, quantile, min or max needs one value per person: per_unit avg, sum, min or max"
        )
    if declared.unit is not None and declared.per_unit in ("avg", "sum"):
        _require_number(atom.value)
        grids[atom.value.column] = grid_of(atom.value, declared.bounds, "reduction")
    _require_short(grids, declared.per_unit)
    recipe = ranked(atom, declared.per_unit, grids.get(atom.value.column))
    scale = math.lcm(atom.met.denominator, atom.missed.denominator)
    scores = {1: int(atom.met * scale), 0: int(atom.missed * scale)}
    final = {s: v if atom.strict else somebody(v) for s, v in scores.items()}
    least = 1 if atom.strict else somebody(0)
    bounds = min(final.values()), max(final.values())
    exact = combinations([atom.where])[1] and _free(declared, [atom.where], [atom.value])
    threshold = _threshold(final.__getitem__, bounds, least, declared, True)
    return CompiledComparison(
        recipe, {"s": Tally((1, 0))}, threshold, exact, grids, _settled_rank(atom, grids.get(atom.value.column))
    )


def _settled_rank(atom: QuantileThreshold, grid: Grid | None) -> Settled | None:
    """Some value must meet the limit for a yes; and where only such a value is there, it is one."""
    if grid is not None:
        if atom.written is None:
            raise DuotoneError(f"column {atom.value.column} holds numbers: compare it with one")
        best = (grid.high if atom.sign in (">", ">=") else grid.low) * grid.step
        if not holds(best, atom.sign, atom.written):
            return Settled(False, "the limit lies outside what the values can be")
    met = Not(IsNull(atom.value)) if grid is not None else Compare(atom.value, atom.sign, atom.limit)
    return None if _possible(atom.where, met) else Settled(False, "no row can satisfy its condition and meet the limit")


def _require_short(grids: Mapping[str, Grid], how: Reduction | None) -> None:
    """A person's average is divided out as a float."""
    if how == "avg" and any(max(abs(g.low), abs(g.high)) > FLOAT_STEPS for g in grids.values()):
        raise DuotoneError("the bounds are too far apart for a person's average: give a coarser grid")


def _require_number(value: Operand) -> None:
    if value.kind not in ("integer", "float", "decimal"):
        raise DuotoneError(f"column {value.column} does not hold numbers: use per_unit min or max")


def _duel(atom: MeanDifference, declared: Declared, reach: int) -> CompiledComparison:
    first, second = atom.first, atom.second
    values = [side.value for side in (first, second)]
    most = MOST_LEVELS[declared.neighbours]
    if reach > most:
        raise DuotoneError(
            f"with this budget an answer has {reach} levels, and a difference of averages may have at most {most} under "
            f"{declared.neighbours}: raise epsilon or delta"
        )
    if not all(isinstance(v, Operand) for v in values) and any(isinstance(v, Operand) for v in values):
        raise DuotoneError("compare two averages of values, or two shares, not one with the other")
    if isinstance(values[0], Operand) and values[0] != values[1]:
        raise DuotoneError("two averages are compared of the same column: it has one pair of bounds")
    if any(all(row) for row in combinations([first.where, second.where])[0]):
        raise DuotoneError("the two averages must be over different rows: filter one by arm = 'A', the other by arm = 'B'")
    if declared.unit is not None and declared.per_unit is None:
        raise DuotoneError("with a unit, a difference needs one value per person: per_unit avg, sum, min or max")
    if declared.unit is not None and not isinstance(values[0], Operand) and declared.per_unit == "avg":
        raise DuotoneError("with a unit, a person has a share's condition by any row or by all: per_unit max or min")
    grids = {}
    grid = Grid(0, 1, Fraction(1))
    if isinstance(values[0], Operand):
        grid = grids[values[0].column] = grid_of(values[0], declared.bounds, "sum or average")
    _require_short(grids, declared.per_unit)
    limit = atom.limit / grid.step
    if not abs(limit) <= LARGEST:
        raise DuotoneError("the numbers of the question are too large or too fine")
    conditions = [first.where, second.where, *(v for v in values if not isinstance(v, Operand))]
    exact = combinations(conditions)[1] and _free(declared, conditions, values) and _shares_are_free(first, second)

    def found_levels(found: Results, people: Array) -> NDArray[np.float64]:
        sides = zip(_sides(found["a"]), _sides(found["b"]), people.tolist(), strict=True)
        bounds = (grid.low, grid.high)
        neither = ((a, b, n - a.people - b.people if declared.replaced else None) for a, b, n in sides)
        return np.array([difference_level(a, b, bounds, limit, reach, n, atom.strict) for a, b, n in neither], float)

    both_sides = {"a": (first.value, first.where), "b": (second.value, second.where)}
    recipe, wants = dueling(both_sides, grid, declared.per_unit), dict.fromkeys("ab", Ends(reach))
    return CompiledComparison(recipe, wants, found_levels, exact, grids, _settled_difference(atom, grid, limit))


def _settled_difference(atom: MeanDifference, grid: Grid, limit: Fraction) -> Settled | None:
    """Without anybody on a side it is a no; so some difference must be large enough for there to be a yes."""
    ranges = []
    for side in (atom.first, atom.second):
        if isinstance(side.value, Operand):
            ends = [grid.low, grid.high] if _possible(side.where, Not(IsNull(side.value))) else []
        else:
            rows = combinations([side.where, side.value])[0]
            ends = [int(met) for there, met in rows if there]
        if not ends:
            return Settled(False, "no row can be on one of its sides")
        ranges.append(ends)
    most = max(ranges[0]) - min(ranges[1])
    enough = most > limit if atom.strict else most >= limit
    return None if enough else Settled(False, "no difference of values within their bounds reaches the limit")


def _shares_are_free(first: Mean, second: Mean) -> bool:
    """Whether a share's condition can be met and missed by rows on its side."""
    for side in (first, second):
        if not isinstance(side.value, Operand):
            found = combinations([side.where, side.value])[0]
            if not {(True, True), (True, False)} <= found:
                return False
    return True


def _sides(found: Result) -> Sequence[Side]:
    def values(end: Sequence[tuple[Array, Array]], group: int) -> list[int]:
        return [int(v[group]) for v, n in end if n[group]]

    groups = range(len(found.people))
    return [
        Side(int(found.people[g]), int(found.total[g]), values(found.largest, g), values(found.smallest, g)) for g in groups
    ]


def _winner(atom: ModeIs, declared: Declared, reach: int) -> CompiledComparison:
    if declared.unit is not None and declared.per_unit not in ("min", "max"):
        raise DuotoneError("with a unit, a mode needs one value per person: per_unit min or max")
    recipe = voting(atom.value, atom.where, atom.winner, declared.per_unit)

    def found_levels(found: Results, people: Array) -> NDArray[np.float64]:
        got = found["v"]
        others = (people - got.total).tolist() if declared.replaced else [None] * len(people)
        rivals = [[int(v[g]) for v, n in got.largest if n[g]] for g in range(len(people))]
        votes = zip(got.total.tolist(), rivals, others, strict=True)
        return np.array([plurality_level(own, rest, n, reach) for own, rest, n in votes], dtype=float)

    exact = combinations([atom.where])[1] and _free(declared, [atom.where], [atom.value])
    votes = _possible(atom.where, Compare(atom.value, "=", atom.winner))
    settled = None if votes else Settled(False, "no row can have that value")
    return CompiledComparison(recipe, {"v": Votes(reach)}, found_levels, exact, {}, settled)
