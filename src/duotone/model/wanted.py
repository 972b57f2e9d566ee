"""The budget of a question as it is given: a definition, ε and δ; or what is wanted instead, how accurate the answer is,
or which part of an account it costs. The account of the dataset turns that into a budget (`Account.priced`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from duotone.errors import DuotoneError, got
from duotone.line.choice import LineOrWhich, least_epsilon, required
from duotone.model.notice import Refusal
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given, exact, show
from duotone.privacy.renyi import RenyiDP
from duotone.privacy.text import Definition

Line = Callable[[Any], LineOrWhich]
"""The mechanism of an answer by its budget."""
MOST = 10**9


@dataclass(frozen=True)
class WantedError:
    """An answer may be `wrong` with at most this probability if this many `people` would flip it. The least sufficient
    ε, or price, follows, once it is known how many answers share it."""

    wrong: Given
    people: int
    delta: Given = Fraction(0)

    def __post_init__(self) -> None:
        required(self.wrong, self.people)

    def shared(self, questions: int) -> WantedError:  # noqa: ARG002
        """For each of several questions: each is as accurate."""
        return self

    def alone(self, parts: int, line: Line) -> ApproxDP:
        """The budget of this many answers together, each by this kind of line, without an account of prices."""
        return ApproxDP(least_epsilon(self.wrong, self.people, self.delta, parts=parts, line=line), self.delta)


@dataclass(frozen=True)
class OneOf:
    """One of `many` answers of equal price: this part of a dataset's whole budget, and of its δ."""

    many: int

    def __post_init__(self) -> None:
        if not (type(self.many) is int and 1 <= self.many <= MOST):
            raise DuotoneError(f"one_of is a number of answers, a whole number from 1 to {MOST}, got {got(self.many)}")

    def shared(self, questions: int) -> OneOf:
        """An even share of it."""
        return OneOf(self.many * questions)

    def alone(self, parts: int, line: Line) -> ApproxDP:  # noqa: ARG002
        """Refused: without an account there is nothing to divide."""
        raise Refusal("ledger missing")


@dataclass(frozen=True)
class GivenPrice:
    """A price of the Rényi order of a dataset's account."""

    price: Given
    delta: Given = Fraction(0)
    questions: int = field(default=1, repr=False)
    """Questions that share it."""

    def __post_init__(self) -> None:
        if not exact(self.price, "price") > 1:
            raise DuotoneError(f"price must be above 1, got {show(exact(self.price, 'price'))}")

    def shared(self, questions: int) -> GivenPrice:
        """An even share of it: its root."""
        return replace(self, questions=self.questions * questions)

    def alone(self, parts: int, line: Line) -> ApproxDP:  # noqa: ARG002
        """Refused: the order is that of an account."""
        raise Refusal("ledger missing")

    def of_order(self, order: int) -> RenyiDP:
        """The definition of this order."""
        return RenyiDP(order, self.price, self.delta).split(self.questions)


Wanted = WantedError | OneOf | GivenPrice


def budget_of(
    privacy: object = None,
    *,
    epsilon: Given | None = None,
    exp_epsilon: Given | None = None,
    delta: Given | None = None,
    wrong: Given | None = None,
    people: int | None = None,
    one_of: int | None = None,
    price: Given | None = None,
) -> Definition | Wanted:
    """The budget of a question, given in one way; a float means the decimal that it is written as.

    >>> budget_of(epsilon=0.1), budget_of(wrong=0.001, people=100), budget_of(one_of=1000)
    (ApproxDP(epsilon=0.1, delta=0), WantedError(wrong='0.001', people=100, delta=0), OneOf(many=1000))
    """
    ways = {"definition": privacy, "epsilon": epsilon, "exp_epsilon": exp_epsilon, "wrong": wrong, "one_of": one_of}
    named = [way for way, value in (ways | {"price": price}).items() if value is not None]
    if not named:
        raise Refusal("budget missing")
    if named == ["definition"] and not isinstance(privacy, Definition | Wanted):
        said = f"write epsilon={privacy}" if isinstance(privacy, int | float | str) else f"got {got(privacy)}"
        raise DuotoneError(f'a budget is epsilon=1, delta=1e-6, or an ApproxDP, as ApproxDP(1, "1e-6"): {said}')
    if len(named) > 1 or (delta is not None and named[0] in ("definition", "one_of")):
        raise Refusal("two budgets")
    d = 0 if delta is None else as_written(delta)
    if wrong is not None:
        if people is None:
            raise Refusal("people missing")
        return WantedError(as_written(wrong), people, d)
    if one_of is not None:
        return OneOf(one_of)
    if price is not None:
        return GivenPrice(as_written(price), d)
    if isinstance(privacy, Definition | Wanted):
        return privacy
    return ApproxDP(as_written(epsilon), d, exp_epsilon=as_written(exp_epsilon))


def as_written(given: Any) -> Any:
    """A float as the decimal that it is written as; anything else unchanged."""
    return str(given) if isinstance(given, float) else given
