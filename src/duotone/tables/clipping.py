"""What clipping can change: how far a value as it is stored can be from the one that is compared, in public numbers.

Only the question, its bounds and `max_rows` are used, never a row: how much is really cut, only the table's owner can see
(`duotone.tables.inspection`). A value above its bounds [L, U] counts as U, one below as L; let W = U − L. If a share s of n
values is cut, by W on average:

- Their average moves by at most s·n·W / n = s·W; a weighted difference of two averages by the weighted sum of both.
- Their sum moves by at most s·n·W: it is said for 1,000 rows.
- Their variance is that of C + D, what counts and what was cut, where D > 0 only if C = U, and D < 0 only if C = L. So the
  covariance of both is at least 0, and clipping makes a variance only smaller. If no cut is larger than W, the difference,
  V(D) + 2·Cov(C, D), is at most s·W² + 2·s·W².
- A median or quantile, the smallest and the largest value with a limit within the bounds do not change: clipping takes no
  value across such a limit. But somebody's sum or average of clipped rows may be on the other side of the limit, and a share
  s of such people moves the share that meets it by s; and a quantile that is compared with another one may itself be cut.

A share s of the rows may also be beyond `max_rows` of one person, whose rows are added up and cut to what so many can have.
Each row beyond then moves a count by at most 1, a share by 1/n, an average by W/n (its limit is within the bounds), a sum by
the largest of |L|, |U| and W. Of two averages against each other, somebody's rows count less instead, and weights of rows
move by at most s in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from duotone.model.dataset import Dataset, Grid
from duotone.model.notice import Notice
from duotone.privacy.numbers import written
from duotone.questions.units import DifferenceUnits, ValuedUnits
from duotone.tables.comparisons import CompiledComparison
from duotone.tables.comparisons.threshold import is_average
from duotone.tables.sql.comparison import Atom, LinearThreshold, MeanDifference, QuantileThreshold, TopGroup, VarianceThreshold
from duotone.tables.sql.computed_bounds import range_of
from duotone.tables.sql.condition import Operand, holds, parts_of

FEW, MANY = Fraction(1, 100), Fraction(1, 10)
"""Shares of values that may be cut."""
ROWS = 1000
"""How many rows a sum is of."""
Grids = Mapping[str, Grid]


def clipping_notes(compared: Iterable[tuple[Atom, CompiledComparison, int | None]], declared: Dataset) -> Iterator[Notice]:
    """Notes on comparisons that clipping can change, or whose answer bounds decide alone: one for all that it changes alike.
    Each is compiled, with the most rows of one person that it adds up, if it does.

    Guarantee: they depend on the question and its declarations alone.
    """
    alike: dict[tuple[object, ...], tuple[Notice, list[str]]] = {}
    seen: set[str] = set()
    for atom, one, rows in compared:
        note = _note(atom, one, declared, rows)
        if note is not None and (not atom.text or atom.text not in seen):  # parts of one comparison have its text
            seen.add(atom.text)
            key = note.code, *note.fields.items()
            alike.setdefault(key, (note, []))[1].append(atom.text or "the comparison")
    for note, texts in alike.values():
        yield Notice(note.code, **{**note.fields, "comparisons": tuple(dict.fromkeys(texts))})


def _note(atom: Atom, one: CompiledComparison, declared: Dataset, rows: int | None) -> Notice | None:
    """The same for one comparison, without its text: `comparisons` is empty."""
    if _bounds_decide(atom, one):
        return Notice("bounds decide", ends=_ends(one.grids), comparisons=())
    cut = _CanBeCut(_cut_in(atom, one.grids), rows, declared.person)
    if not cut.grids and rows is None:
        return None
    match atom:
        case LinearThreshold():
            return _of_sum(atom, one.grids, cut)
        case QuantileThreshold():
            return cut.by_rows("share that meets it") or Notice("clipped before reduced", ends=cut.ends, **_shares(Fraction(1)))
        case MeanDifference(first=first, second=second):
            if first.q is not None or second.q is not None:
                return _of_quantiles([first.q, second.q], cut, declared)
            widths = (_width(side.value, one.grids) for side in (first, second))
            return cut.moved("difference", sum(abs(w) * width for w, width in zip(atom.weights, widths, strict=True)))
        case VarianceThreshold():
            (width,) = cut.widths
            return Notice("clipped variance", ends=cut.ends, by=written(width), **_shares(3 * width**2))
        case TopGroup(measure="quantile"):
            return _of_quantiles([atom.q], cut, declared)
        case TopGroup(measure="mean"):
            return cut.moved("average of a group", _width(atom.value, one.grids), near="a tie")
        case TopGroup(value=value):
            what = "count of a group" if value is None else "sum of a group"
            return cut.moved(what, _counting(value, one.grids, rows) * ROWS, of=ROWS, near="a tie")
    return None


@dataclass(frozen=True)
class _CanBeCut:
    """What can be cut: values of columns on these `grids`, and more than so many `rows` of one `person`."""

    grids: Grids
    rows: int | None
    person: str | None

    @property
    def widths(self) -> list[Fraction]:
        return list(dict.fromkeys(map(_between, self.grids.values())))

    @property
    def ends(self) -> str:
        return _ends(self.grids)

    def moved(self, what: str, most: Fraction | int, *, of: int = 1, near: str = "the limit", way: str = "away") -> Notice:
        """How far a statistic is moved, if as much as could be moved it by `most`; a total `of` so many rows."""
        beyond = {} if self.rows is None else {"most": f"{self.rows} row{'s' * (self.rows > 1)}", "unit": self.person}
        said = {"what": what, "near": near, "way": way, **_shares(Fraction(most))}
        many = f"{of:,} rows" if of > 1 else "them" if self.grids else "rows"
        if not self.grids:
            return Notice("rows beyond", of=many, **said, **beyond)
        by = " or ".join(map(written, self.widths))
        more = Notice("or rows beyond", **beyond) if beyond else ""
        return Notice("clipped values", of=many, **said, ends=self.ends, by=by, beyond=more)

    def by_rows(self, what: str) -> Notice | None:
        """The same, where only rows beyond can move a share."""
        return None if self.grids else self.moved(what, 1)


def _bounds_decide(atom: Atom, one: CompiledComparison) -> bool:
    """Whether a comparison holds for all values within their bounds, so that it is true wherever there are any."""
    if not one.grids:
        return False
    worst: Fraction | None = None
    match atom:
        case LinearThreshold(terms=(first, *others)) if is_average(atom) and first.value is not None:
            grid, limit = one.grids[first.value.column], sum((-term.weight for term in others), Fraction(0))
            worst = first.weight * (grid.low if first.weight > 0 else grid.high) * grid.step - limit
        case LinearThreshold() if isinstance(one.units, ValuedUnits) and one.units.total.lowest >= 0:
            return one.units.total.lowest >= one.units.total.at_least
        case QuantileThreshold(written=Fraction() as limit):
            grid = one.grids[atom.value.column]
            return holds((grid.low if atom.sign[0] == ">" else grid.high) * grid.step, atom.sign, limit)
        case MeanDifference() if isinstance(one.units, DifferenceUnits):
            worst = one.units.low - one.units.limit
        case VarianceThreshold():
            (grid,) = one.grids.values()
            most = _between(grid) ** 2 / (2 if atom.less else 4)
            return holds(Fraction(0), atom.sign, atom.limit) and holds(most, atom.sign, atom.limit)
    return worst is not None and (worst > 0 if getattr(atom, "strict", False) else worst >= 0)


def _of_sum(atom: LinearThreshold, grids: Grids, cut: _CanBeCut) -> Notice | None:
    """A count, sum, share or average against a limit, or several counts and sums."""
    if not atom.terms:
        return None
    first, *others = atom.terms
    alone = isinstance(first.value, Operand) and cut.rows is None
    if is_average(atom):
        way = _way(first.value, grids) if alone else "away"
        return cut.moved("share" if first.value is None else "average", _width(first.value, grids), way=way)
    if others:
        most = sum((abs(term.weight) * _counting(term.value, grids, cut.rows) for term in atom.terms), Fraction(0))
        return cut.moved("difference", most * ROWS, of=ROWS)
    what, way = ("count", "higher") if first.value is None else ("sum", _way(first.value, grids) if alone else "away")
    return cut.moved(what, _counting(first.value, grids, cut.rows) * ROWS, of=ROWS, way=way)


def _of_quantiles(orders: Iterable[Fraction | None], cut: _CanBeCut, declared: Dataset) -> Notice | None:
    """Quantiles against each other are cut only if at least as many values are; or if they are of sums of cut rows."""
    if all(q is None or MANY < q < 1 - MANY for q in orders) and declared.per_unit not in ("avg", "sum"):
        return None
    return Notice("clipped quantiles", ends=cut.ends, comparisons=())


def _cut_in(atom: Atom, grids: Grids) -> Grids:
    """The grids of values that may lie outside them: not of formulas whose values all lie within."""
    made = {part.column: range_of(part) for part in parts_of(atom) if isinstance(part, Operand) and part.made is not None}
    known = {name: ends for name, ends in made.items() if ends is not None and name in grids}
    inside = {name for name, (low, high) in known.items() if _low(grids[name]) <= low and high <= _high(grids[name])}
    return {name: grid for name, grid in grids.items() if name not in inside}


def _shares(most: Fraction) -> dict[str, str]:
    return {"one": written(FEW * most), "ten": written(MANY * most)}


def _low(grid: Grid) -> Fraction:
    return grid.low * grid.step


def _high(grid: Grid) -> Fraction:
    return grid.high * grid.step


def _between(grid: Grid) -> Fraction:
    return _high(grid) - _low(grid)


def _ends(grids: Grids) -> str:
    return " or ".join(dict.fromkeys(f"[{written(_low(grid))}, {written(_high(grid))}]" for grid in grids.values()))


def _width(value: object, grids: Grids) -> Fraction:
    """The width of the bounds of what is averaged; a share's is 1."""
    return _between(grids[value.column]) if isinstance(value, Operand) else Fraction(1)


def _counting(value: object, grids: Grids, rows: int | None) -> Fraction:
    """The most by which one row moves a sum or a count: by being cut or, with `rows` of a person, left out."""
    if not isinstance(value, Operand):
        return Fraction(int(rows is not None))
    grid = grids[value.column]
    return _between(grid) if rows is None else max(_between(grid), _high(grid), -_low(grid))


def _way(value: Operand | None, grids: Grids) -> str:
    """Where values can be cut on one side only, to which side that moves them."""
    known = None if value is None or value.made is None else range_of(value)
    if known is None or value is None:
        return "away"
    grid = grids[value.column]
    return "higher" if _low(grid) <= known[0] else "lower" if known[1] <= _high(grid) else "away"
