"""The optimal mechanism on a line: φ iterated away from the boundary.

A level ℓ ≥ 0 is a blue (yes) dataset ℓ steps from the blue boundary, a level ℓ ≤ −1 a red (no) one −1 − ℓ steps from
the red boundary. Every boundary-homogeneous optimum is this mechanism, evaluated at a dataset's level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from duotone.cached import cached_property
from duotone.errors import DuotoneError
from duotone.html import bar, cell, table
from duotone.privacy.definition import (
    Array,
    ClosedForm,
    PrivacyDefinition,
    balance,
    certain_after,
    exactly,
    following,
    iterate,
    known,
    represent,
    tried,
    whole_number,
    whole_numbers,
)
from duotone.privacy.numbers import Given, Number, complement, probability

Boundary = Literal["balanced", "selection"] | Given
"""What is fixed at the boundary of a line: both sides alike, the empty group at no, or the truth on the blue side."""

MOST_POINTS = 10**6
MARGINS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""The margins at which errors are shown."""
NEVER = 2**63 - 1
"""The level of a blue dataset that no number of changes can turn red; −1 − NEVER for a red one."""


@dataclass(frozen=True, repr=False)
class LineMechanism:
    """Theorem 4. The optimal mechanism on the line with given probabilities of the truth at the boundary.

    Build it with `balanced`, `with_boundary` or `partition_selection`; `blue` is the probability of the truth at level
    0, `red` at level −1, and `boundary` the requested value.

    >>> from duotone import ApproxDP
    >>> voting = balanced(ApproxDP(exp_epsilon=2, delta="1/10"))
    >>> [str(voting.yes(level)) for level in (1, 0, -1, -2)]
    ['9/10', '7/10', '3/10', '1/10']
    """

    privacy: PrivacyDefinition
    blue: Number
    red: Number
    boundary: Boundary

    def truth(self, level: Any) -> Any:
        """Probability of the true answer, at one level or an array of them."""
        return self._at(level)[0]

    def error(self, level: Any) -> Any:
        """Probability of the wrong answer; accurate however small it is."""
        return self._at(level)[1]

    def yes(self, level: Any) -> Any:
        """Pr[yes] at one level or an array of them."""
        truth, error = self._at(level)
        return np.where(level >= 0, truth, error) if isinstance(level, np.ndarray) else truth if level >= 0 else error

    def mean_error(self, histogram: Mapping[float, int]) -> Number:
        """The average probability of a wrong answer over all datasets; `histogram` has the number of datasets with each
        level.

        >>> from duotone import ApproxDP
        >>> balanced(ApproxDP(exp_epsilon=2, delta="1/10")).mean_error({-2: 1, -1: 3, 0: 3, 1: 1})  # three voters
        Fraction(1, 4)
        """
        if not sum(histogram.values()) > 0:
            raise DuotoneError("the histogram has no dataset")
        wrong = sum(count * self.error(level) for level, count in histogram.items())
        return wrong / sum(histogram.values())  # type: ignore[no-any-return]

    @property
    def certain(self) -> tuple[float, float]:
        """The distances to the blue and to the red boundary from which the error is exactly 0."""
        return certain_after(self.privacy, self.blue), certain_after(self.privacy, self.red)

    def __repr__(self) -> str:
        boundary = self.boundary if isinstance(self.boundary, str) else f"boundary {self.boundary}"
        return f"<LineMechanism: {boundary}, {self.privacy}>"

    def _repr_html_(self) -> str:
        return self.page(repr(self)[1:-1])

    def page(self, title: str) -> str:
        """A small page for a notebook: how often each mistake is made, by how many people would flip the answer."""
        blue, red = (end + 1 for end in self.certain)
        errors = {"Pr[false no]": [float(self.error(m - 1)) for m in MARGINS]}
        if self.boundary == "balanced":
            errors, end = {"Pr[wrong]": errors["Pr[false no]"]}, f"never wrong from {blue:g} people on"
        else:
            errors["Pr[false yes]"] = [float(self.error(-m)) for m in MARGINS]
            end = f"no false no from {blue:g} people on, no false yes from {red:g}"
        rows = zip(MARGINS, *errors.values(), strict=True)
        shown = [(cell(m), *map(bar, wrong)) for m, *wrong in rows if any(wrong)]
        return table(("people from flipping", *errors), shown, before=title, after=[end])

    @cached_property
    def _starts(self) -> tuple[Number, Number]:
        """The two boundary values in exact form: near 1, a float loses the digits of the error."""
        if not isinstance(self.privacy, ClosedForm) or self.privacy is (exact := exactly(self.privacy)):
            return self.blue, self.red
        line = on_line(exact, self.boundary)
        return line.blue, line.red

    def _at(self, level: Any) -> tuple[Any, Any]:
        if isinstance(level, np.ndarray):
            return self._at_array(_integer_levels(level))
        if isinstance(level, float | np.floating) and np.isinf(level):
            return Fraction(1), Fraction(0)
        level = whole_numbers(level)
        if level in (NEVER, -1 - NEVER):
            return Fraction(1), Fraction(0)
        blue, red = self._starts
        return iterate(self.privacy, blue, level) if level >= 0 else iterate(self.privacy, red, -1 - level)

    def _at_array(self, levels: Array) -> tuple[Array, Array]:
        never = (levels == NEVER) | (levels == -1 - NEVER)
        at_blue, at_red = self._starts
        blue, not_blue = _iterate_array(self.privacy, at_blue, np.where((levels >= 0) & ~never, levels, 0))
        red, not_red = _iterate_array(self.privacy, at_red, np.where((levels < 0) & ~never, -1 - levels, 0))
        truth = np.where(never, 1, np.where(levels >= 0, blue, red))
        return truth, np.where(never, 0, np.where(levels >= 0, not_blue, not_red))


def on_line(privacy: PrivacyDefinition, boundary: Boundary) -> LineMechanism:
    """The optimal mechanism on the line with this boundary."""
    tried(privacy)
    if isinstance(boundary, np.ndarray):
        raise DuotoneError("the boundary of a line is balanced, selection, or one probability")
    if boundary == "balanced":
        m = balance(privacy)
        return LineMechanism(privacy, m, m, boundary)
    if boundary == "selection":
        empty = represent(privacy, Fraction(0))
        return LineMechanism(privacy, following(privacy, empty), 1 - empty, boundary)
    if isinstance(boundary, str) and boundary.strip()[:1].isalpha():
        raise DuotoneError(f"the boundary is balanced, or a probability such as 0.1 or 1/10, got {boundary}")
    value = probability(boundary, "the probability at the blue boundary")
    m = represent(privacy, value)
    return LineMechanism(privacy, m, following(privacy, complement(m)), value)


def balanced(privacy: PrivacyDefinition) -> LineMechanism:
    """The best private answer to a yes/no question when neither mistake is worse: yes and no are right equally often.

    Use it if in doubt. `privacy` is the budget of one answer, such as `ApproxDP(1, "1e-6")`. The result says how likely
    each answer is at a level, that is, at a number of people from flipping the true answer (`yes`, `truth`, `error`); a
    `Coin` draws from it. In the paper's words: Corollary 2, the optimum on the line whose two boundary values are
    equal.

    Guarantee: at no level is another private mechanism of equal boundary values more often right.

    >>> from duotone import ApproxDP
    >>> voting = balanced(ApproxDP(exp_epsilon=2, delta="1/10"))
    >>> [str(voting.truth(level)) for level in range(4)]
    ['7/10', '9/10', '1', '1']
    """
    return on_line(privacy, "balanced")


def with_boundary(privacy: PrivacyDefinition, blue: Given) -> LineMechanism:
    """The best private answer when one mistake is worse: you fix how often a yes that one person could flip is answered
    by yes.

    `privacy` is the budget of one answer. `blue` is that probability, such as "0.9": the larger it is, the fewer true
    yeses are missed, and the more often a no is taken for a yes; the best probability for a no then follows. In the
    paper's words: Definition 7, a line whose blue boundary has this value. `duotone.line.mechanism.tradeoff` has the
    pairs to choose from.

    Guarantee: at no level is another private mechanism with this boundary value more often right.

    >>> from duotone import ApproxDP
    >>> cautious = with_boundary(ApproxDP(exp_epsilon=2, delta="1/10"), "9/10")
    >>> str(cautious.truth(0)), str(cautious.truth(-1))
    ('9/10', '3/10')
    >>> with_boundary(ApproxDP(exp_epsilon="1.3", delta="1/10"), "1/5").truth(3)
    Fraction(242, 325)
    """
    return on_line(privacy, probability(blue, "the probability at the blue boundary"))


def partition_selection(privacy: PrivacyDefinition) -> LineMechanism:
    """The best private rule for which groups of a table may be shown: large ones always, small ones rarely, empty ones
    never.

    Use it if the very presence of a group reveals something, as in a group by over rare values (`select_groups` does it
    for a table). `privacy` is the budget of one person's presence in one group, with δ above 0: with 0, nothing could
    ever be shown. A group of n people has level n − 1, so `yes(n - 1)` is how likely it is shown.

    This is the optimum of Desfontaines, Voss, Gipson and Mandayam (2022), here as the optimum on the line
    whose red boundary, the empty group, is pinned at no.

    >>> from duotone import ApproxDP
    >>> [str(partition_selection(ApproxDP(exp_epsilon=2, delta="1/10")).yes(n - 1)) for n in range(6)]
    ['0', '1/10', '3/10', '7/10', '9/10', '1']
    """
    return on_line(privacy, "selection")


def recurrence(privacy: PrivacyDefinition, start: Number, count: int) -> list[Number]:
    """x, φ(x), φ²(x), …: at most `count` values, ending early when φ changes nothing more.

    Guarantee: each value is at most φ of the one before it, exactly, even in floats.
    """
    known(privacy)
    if not whole_number(count, "a number of values") >= 1:
        raise DuotoneError(f"a recurrence has at least one value, got {count}")
    values = [probability(start)]
    while len(values) < count and (further := following(privacy, values[-1])) != values[-1]:
        values.append(further)
    return values


def tradeoff(privacy: PrivacyDefinition, points: int = 101) -> list[tuple[Number, Number]]:
    """Truth at the blue boundary against the most truth then possible at the red one: no mechanism lies above it."""
    tried(privacy)
    if not 2 <= whole_number(points, "the number of points") <= MOST_POINTS:
        raise DuotoneError(f"a curve has from 2 to {MOST_POINTS} points, got {points}")
    points = int(points)
    grid = (Fraction(i, points - 1) for i in range(points))
    return [(represent(privacy, m), privacy.step(represent(privacy, 1 - m))) for m in grid]


def _integer_levels(levels: Array) -> Array:
    """Levels as integers; an infinite one is `NEVER`."""
    infinite = np.isinf(levels) if levels.dtype.kind == "f" else np.zeros(levels.shape, dtype=bool)
    if not infinite.any():
        return whole_numbers(levels)  # type: ignore[no-any-return]
    return np.where(infinite, np.where(levels > 0, NEVER, -1 - NEVER), whole_numbers(np.where(infinite, 0, levels)))


def _iterate_array(privacy: PrivacyDefinition, start: Number, n: Array) -> tuple[Array, Array]:
    if isinstance(privacy, ClosedForm):
        truth, error = privacy.iterate(start, n)
        return truth, error
    values = np.array(recurrence(privacy, start, int(n.max(initial=0)) + 1))
    truth = values[np.minimum(n, len(values) - 1)]
    return truth, 1 - truth
