"""How many close calls a budget admits, whatever is asked, adaptively and without end (docs/theory.md has the proof).

Neighbours' answers reveal what an observer sees in the *Poisson game*: a clock strikes at rate 1 or r, the observer may
swap at any time which of two worlds has the faster one, and must stop at the τ-th strike. With Λ the likelihood ratio
so far and h strikes left, let U_0(Λ) ≥ (Λ − e^ε)+ and, for each h,

    U_{h−1}(rΛ) ≤ U_h(Λ) + (r − 1)·Λ·U_h′(Λ),     r·U_{h−1}(Λ/r) ≤ r·U_h(Λ) − (r − 1)·Λ·U_h′(Λ),     U_{h−1} ≤ U_h.

Then U_τ(1) bounds δ for every strategy of any length. Here U_h is piecewise linear on the nodes g^i, with g = 1 + 1/M and
r = g^k, and is known by u(i) = U(g^i) / g^i: linear to (0, 0) below the nodes, of slope 1 above. The slope between nodes i − 1
and i is (M + 1)·u(i) − M·u(i − 1), so that the inequalities have whole numbers and r in them, and hold between nodes if they
hold at both ends with the slope there. It is best to swap where Λ = e^ε: that makes each U_h a pair of first-order
recurrences outwards from there. Rounding errors of floats are added as η·Λ, once for each close call, never for each
question.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duotone.errors import DuotoneError, LedgerError
from duotone.ledger.accounts import write
from duotone.ledger.entries import Calls
from duotone.line.three_way import ThreeWay, three_way_table
from duotone.model.cost import CloseCallCharge, Cost, Left
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import show
from duotone.privacy.text import definition_object, read_definition

FINEST, COARSEST = 256, 8
"""Nodes per factor r: more nodes make the bound tighter."""
WORK = 2**27
"""Most nodes times close calls (seconds of work)."""
MOST = 2**16
"""Most close calls."""
WIDTH, JUMPS = 1.7, 12
"""How far nodes go beyond 1 and e^ε, in parts of ε and in factors r. If that is too little, η is larger."""

SLACK = 2.0**-51
"""Rounding error of a float up to 1, with a safety factor. An inequality has a slope times r − 1, where the error is
multiplied by less than r·k, and a few terms of up to r; the first function has e^(E − x), where E and x are rounded."""
SPARE = 1 + 2**-7
"""Largest difference between floats on different machines."""
LARGEST, LEAST = 64, 1e-11
"""The largest ε and the least δ of a budget with close calls: beyond, rounding errors would dominate."""
SMALLEST = 1e-5
"""The least ε of questions: below, more would fit than can be counted, whatever the budget, and floats are too
coarse."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Grid:
    """Nodes g^i for i from `low` to `high`, g = 1 + 1/`fine`; g^`jump` is at least r."""

    fine: int
    jump: int
    low: int
    high: int

    @classmethod
    def of(cls, budget: ApproxDP, question: ThreeWay, jump: int) -> Grid:
        """Nodes for clocks that differ by e^ε of a question, under a budget."""
        step, total = _log(question.privacy.exp_epsilon), _log(budget.exp_epsilon)
        fine = math.floor(1 / math.expm1(step / jump)) + 1
        while not reaches(fine, jump, question.privacy.exp_epsilon):  # in rationals, whatever floats say
            if fine == 1:
                raise DuotoneError("the epsilon of a question is too large for close calls: lower it")
            fine -= 1
        width = math.log1p(1 / fine)
        far = WIDTH * total + JUMPS * step
        return cls(fine, jump, -math.ceil(far / width), math.ceil((total + far) / width))

    def turn(self, budget: ApproxDP) -> int:
        """The first node, after that of 1, that is at least e^ε."""
        turn = max(round(_log(budget.exp_epsilon) / math.log1p(1 / self.fine)), 1)
        while turn > 1 and reaches(self.fine, turn - 1, budget.exp_epsilon):
            turn -= 1
        while not reaches(self.fine, turn, budget.exp_epsilon):
            turn += 1
        return turn

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self.high - self.low + 1


def reaches(fine: int, node: int, ratio: Fraction) -> bool:
    """Whether (1 + 1/fine)^node is at least a ratio."""
    return bool((fine + 1) ** node * ratio.denominator >= ratio.numerator * fine**node)


@dataclass(frozen=True)
class CloseCalls:
    """How many close calls a budget allows: `count`; clear answers are unlimited.

    `delta` bounds what all of them reveal, at the budget's ε; `grid` proves that bound.

    >>> most_close_calls(ApproxDP(1, "1e-6"), ThreeWay(ApproxDP("0.05"))).count
    9
    """

    budget: ApproxDP
    question: ThreeWay
    count: int
    delta: float
    grid: Grid

    def accepts(self, cost: Cost) -> None:
        """Refuse a question with other terms."""
        if not isinstance(cost, CloseCallCharge) or cost.question != self.question:
            asked = cost.question if isinstance(cost, CloseCallCharge) else cost
            raise LedgerError(f"this dataset is asked by {self.question}, and this question by {asked}")

    def fits(self, taken: Calls) -> bool:
        """Whether no more are used and reserved than there are."""
        return taken.taken <= self.count

    def left(self, taken: Calls) -> Left:
        """Those that are neither used nor reserved."""
        return Left(close_calls=self.count - taken.taken, reserved=taken.reserved)

    def written(self) -> dict[str, Any]:
        """As a registration's entry carries it."""
        asked = {"question": write(self.question.privacy), "wrong": show(self.question.wrong)}
        return {"budget": write(self.budget), **asked, "count": self.count, "delta": self.delta, "nodes": asdict(self.grid)}

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> CloseCalls:
        """Read what an entry carries. The recorded count stands: its meaning never changes."""
        question = ThreeWay(read_definition(body["question"]), body["wrong"])
        if not (type(body["count"]) is int and 1 <= body["count"] <= MOST and body.keys() == _FIELDS):
            raise DuotoneError(f"a dataset has from 1 to {MOST} close calls")
        grid = Grid(**body["nodes"])
        if not (type(body["delta"]) is float and all(type(number) is int for number in asdict(grid).values())):
            raise DuotoneError("close calls are recorded with their delta and nodes as numbers")
        return cls(read_definition(body["budget"]), question, body["count"], body["delta"], grid)

    def certificate(self) -> dict[str, Any]:
        """The proof that this many close calls fit into the budget: the mechanism of each question in integers, and the
        nodes of the game."""
        called = {"budget": definition_object(self.budget), "close_calls": self.count, "nodes": asdict(self.grid)}
        beside = {"wrong": show(self.question.wrong), **called}
        return three_way_table(self.question).document({"private": True}, beside).as_dict()


_FIELDS = {"budget", "question", "wrong", "count", "delta", "nodes"}


def most_close_calls(budget: ApproxDP, question: ThreeWay) -> CloseCalls:
    """The most close calls that can be proved to fit, with the coarsest nodes that prove it."""
    if not isinstance(question, ThreeWay):
        raise DuotoneError("questions that may be too close to call need a ThreeWay")
    if not (budget.delta >= LEAST and budget.epsilon <= LARGEST):
        raise DuotoneError(f"close calls need a budget with delta of at least {LEAST:g} and epsilon of at most {LARGEST}")
    if not question.privacy.epsilon >= SMALLEST:
        raise _too_many_fit()
    if not (question.privacy.epsilon <= LARGEST and (most := attacked(budget, question))):
        raise _none_fits(budget)
    jump = FINEST
    while (grid := Grid.of(budget, question, jump)).nodes * most > WORK:
        if jump == COARSEST:
            raise _too_many_fit()
        jump //= 2
    best = _shown(budget, question, grid)
    if not best.count:
        raise _none_fits(budget)
    while jump > COARSEST:
        jump //= 2
        coarser = _shown(budget, question, Grid.of(budget, question, jump))
        if coarser.count < best.count:
            break
        best = coarser
    return best


def _too_many_fit() -> DuotoneError:
    return DuotoneError("the epsilon of a question is too small for this budget: too many close calls would fit to count")


def _none_fits(budget: ApproxDP) -> DuotoneError:
    return DuotoneError(f"not one close call fits into {budget}: lower the epsilon of a question, or raise this budget")


def beside(budget: ApproxDP, part: ApproxDP | None) -> ApproxDP:
    """What is left of a budget for close calls when a part is reserved: both together are within the budget, by basic
    composition, which holds for interactive mechanisms that run at the same time."""
    if part is None:
        return budget
    if not isinstance(part, ApproxDP):
        raise DuotoneError(f"definite must be an ApproxDP, got {type(part).__name__}")
    delta = Fraction(budget.delta) - Fraction(part.delta)
    if budget.epsilon_exact is not None and part.epsilon_exact is not None:
        rest = budget.epsilon_exact - part.epsilon_exact
        if rest > 0 and delta > 0:
            return ApproxDP(rest, delta)
    elif budget.exp_epsilon > part.above().exp_epsilon and delta > 0:
        return ApproxDP.from_exp_epsilon(budget.exp_epsilon / part.above().exp_epsilon, delta)
    raise DuotoneError("the budget for definite answers must leave some epsilon and some delta for close calls")


def attacked(budget: ApproxDP, question: ThreeWay) -> int:
    """The number of close calls above which a known attack exceeds the budget: ask until that many answers are too
    close to call, and observe how long it takes. It is the best non-adaptive attack, in closed form."""
    return bisect_left(range(1, 2 * MOST), True, key=lambda count: _gained(count, budget, question) > budget.delta)


def _gained(count: int, budget: ApproxDP, question: ThreeWay) -> float:
    """The δ of this attack: the better of noticing that the calls came early and that they came late. Calls are a
    Poisson process, so that their number by a time decides."""
    step, total = _log(question.privacy.exp_epsilon), _log(budget.exp_epsilon)
    ratio, alpha = math.exp(step), math.exp(total)
    soon, late = max(count * step - total, 0.0) / (ratio - 1), (count * step + total) / (ratio - 1)
    fewer, more = range(count), range(count, math.ceil(max(count, ratio * soon) + 12 * math.sqrt(ratio * soon)) + 64)
    sooner = _poisson(more, ratio * soon) - alpha * _poisson(more, soon)
    return max(sooner, _poisson(fewer, late) - alpha * _poisson(fewer, ratio * late))


def _poisson(numbers: range, mean: float) -> float:
    """Pr[a Poisson number of this mean is one of these]."""
    if mean == 0:
        return float(0 in numbers)
    first = numbers.start * math.log(mean) - mean - math.lgamma(numbers.start + 1)
    ratios = np.log(mean / np.arange(numbers.start + 1, numbers.stop))
    return float(np.exp(first + np.append(0.0, np.cumsum(ratios))).sum())


def _shown(budget: ApproxDP, question: ThreeWay, grid: Grid) -> CloseCalls:
    """How many close calls some nodes prove to fit."""
    fitting = list(itertools.islice(itertools.takewhile(lambda delta: delta <= budget.delta, deltas(budget, grid)), MOST))
    return CloseCalls(budget, question, len(fitting), fitting[-1] if fitting else 0.0, grid)


@lru_cache(maxsize=64)
def proved(calls: CloseCalls) -> bool:
    """Whether this many close calls fit into the budget, checked in floats at the recorded nodes; another machine may
    round differently. A certificate proves it exactly."""
    grid, budget, ratio = calls.grid, calls.budget, calls.question.privacy.exp_epsilon
    within = 1 <= grid.fine <= 2**24 and 1 <= grid.jump <= FINEST and -(2**22) < grid.low < 0 < grid.high < 2**22
    if not (within and 2 * grid.jump < grid.nodes and grid.nodes * calls.count <= 2 * WORK):
        return False
    if not (reaches(grid.fine, grid.jump, ratio) and grid.turn(budget) < grid.high):
        return False
    return next(itertools.islice(deltas(budget, grid), calls.count - 1, None)) <= budget.delta * SPARE


def deltas(budget: ApproxDP, grid: Grid) -> Iterator[float]:
    """Bounds on δ at the budget's ε, for 1, 2, 3, … close calls."""
    fine, jump, width = float(grid.fine), grid.jump, math.log1p(1 / grid.fine)
    ratio, total = math.exp(jump * width), _log(budget.exp_epsilon)
    turn = grid.turn(budget) - grid.low
    parts = 1 + (ratio - 1) * (fine + 1)  # which is ratio + (ratio − 1)·fine
    falling, rising = (ratio - 1) * fine / parts, (ratio - 1) * (fine + 1) / parts
    powers = np.exp(-width * np.arange(1, jump + 1))
    before = np.maximum(1 - np.exp(np.minimum(total - np.arange(grid.low, grid.high + 1) * width, 1)), 0)
    paid = SLACK * 2**4 * (4 + total)
    while True:
        up = np.append(before[jump:], 1 - (1 - before[-1]) * powers)  # u(i + k)
        down = np.append(np.full(jump, before[0]), before[:-jump])  # u(i − k)
        from_above, from_below = ratio * up / parts, down / parts
        at_turn = (from_above[turn] + falling * from_below[turn - 1]) / (1 - falling * rising)
        beside = from_below[turn - 1] + rising * at_turn
        upper = _scan(from_above[turn + 1 :], falling, at_turn)
        lower = _scan(from_below[: turn - 1][::-1], rising, beside)[::-1]
        now = np.concatenate([lower, [beside, at_turn], upper])
        paid += max(_violation(before, now, up, down, grid, ratio), 0.0) + ratio * (jump + 8) * SLACK
        before = now
        yield float(now[-grid.low]) + paid


def _violation(before: Array, now: Array, up: Array, down: Array, grid: Grid, ratio: float) -> float:
    """The largest failure of the inequalities, relative to Λ."""
    fine, jump = float(grid.fine), grid.jump
    slopes = np.concatenate([now[:1], (fine + 1) * now[1:] - fine * now[:-1], [1.0]])
    left, right = slopes[:-1], slopes[1:]
    first = ratio * up - now - (ratio - 1) * np.minimum(left, right)
    second = down - ratio * now + (ratio - 1) * np.maximum(left, right)
    beneath = before[: jump + 1] - now[0]  # the first, between the lowest node and a factor r below it
    widths = np.exp(math.log1p(1 / grid.fine) * np.arange(jump, -1, -1))
    beyond = (1 - now[-1]) * widths - (1 - before[-jump - 1 :])  # the second, between the highest node and a factor r above it
    return float(max(part.max() for part in (first, second, before - now, beneath, beyond)))


def _scan(x: Array, factor: float, first: float) -> Array:
    """y(i) = x(i) + factor·y(i − 1), after a first y; without scipy, in Python, which takes six
    times as long. Sums in another order would round neighbouring values apart, which `_violation` makes budgets pay for."""
    try:
        from scipy.signal import lfilter
    except ImportError:
        return np.array(list(itertools.accumulate(x.tolist(), lambda y, each: each + factor * y, initial=first))[1:])
    y: Array = lfilter([1.0], [1.0, -factor], x, zi=[factor * first])[0]
    return y


def _log(x: Fraction) -> float:
    return math.log1p(x - 1)
