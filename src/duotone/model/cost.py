"""What an answer costs, what is left, and receipts and quotes of both: numbers, no sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

from duotone.errors import DuotoneError
from duotone.html import cell, table
from duotone.line.mechanism import Boundary, LineMechanism, on_line
from duotone.line.three_way import ThreeWay
from duotone.line.which import WHICH, Which, read_which
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import probability, show
from duotone.privacy.renyi import Shared
from duotone.privacy.text import Definition
from duotone.words import budgets as words

MOST_ANSWERS, MOST_QUESTIONS = 2**17, 2**31
"""Most answers of one charge; most questions at a time if close calls are counted."""
TOO_CLOSE = "too close to call"
"""How it is recorded."""


@dataclass(frozen=True)
class Charge:
    """A charge for answers of one mechanism: on a line, or of which of k.

    `answers` is how many of them one person can change: 1 for a question, n for a batch of n, and for groups the most
    that a person may be in, since groups that share nobody compose in parallel. Where neighbours replace a person, the
    groups left and the groups joined both count.

    >>> from duotone import balanced
    >>> print(Charge(balanced(ApproxDP("0.5")), 2))
    2 answers at ApproxDP(epsilon=0.5, delta=0)
    """

    mechanism: LineMechanism | Which
    answers: int = 1
    selected: bool = False
    """Whether the answers' groups are selected privately, which costs nothing more."""
    shared: Shared | None = None
    """If this is one of several answers that share (ε, δ) by one Rényi order: all of them are charged together, once."""

    def __post_init__(self) -> None:
        if self.shared is not None and not (self.answers == 1 and self.mechanism.privacy == self.shared.each):
            raise DuotoneError("answers that share a budget by one Rényi order have its definition, and are charged once")
        if not isinstance(self.mechanism.privacy, Definition):
            raise DuotoneError("a ledger charges for an ApproxDP or a RenyiDP")
        if self.selected and isinstance(self.mechanism, Which):
            raise DuotoneError("groups are selected privately for yes and no alone")
        if not (type(self.answers) is int and 1 <= self.answers <= MOST_ANSWERS):
            raise DuotoneError(f"a charge has from 1 to {MOST_ANSWERS} answers, got {self.answers}")

    def __str__(self) -> str:
        return words.price(self.numbers())

    @property
    def privacy(self) -> Definition:
        """The privacy definition of each answer, or of all that share one."""
        privacy = self.mechanism.privacy if self.shared is None else self.shared.privacy
        if not isinstance(privacy, Definition):
            raise DuotoneError("a ledger charges for an ApproxDP or a RenyiDP")
        return privacy

    @property
    def boundary(self) -> str:
        """The boundary value, or among how many answers, as a ledger records it."""
        shared = "" if self.shared is None else f"{SHARED}{self.shared.order} of {self.shared.answers}"
        line = self.mechanism
        return f"{line if isinstance(line, Which) else boundary_text(line.boundary)}{SELECTED * self.selected}{shared}"

    @classmethod
    def read(cls, privacy: Definition, boundary: str, answers: int) -> Self:
        """The charge of what a ledger recorded."""
        said = _BOUNDARY.fullmatch(boundary)
        if said is None:
            raise DuotoneError("this is not a boundary as a ledger writes it")
        value, selected, order, many = said.groups()
        mechanism = read_which if value.startswith(WHICH) else on_line
        if order is None:
            return cls(mechanism(privacy, value), answers, selected is not None)
        if not isinstance(privacy, ApproxDP):
            raise DuotoneError("answers share an ApproxDP by one Rényi order")
        shared = Shared(privacy, int(many), int(order))
        return cls(mechanism(shared.each, value), answers, selected is not None, shared)

    def numbers(self) -> dict[str, Any]:
        """How many answers at which privacy: of each, or of all together."""
        if self.shared is not None:
            return {"answers": self.shared.answers, "together": self.privacy}
        return {"answers": self.answers, "each": self.privacy}


@dataclass(frozen=True)
class CloseCallCharge:
    """A charge for close calls alone: how questions are asked, and how many of them, in turn."""

    question: ThreeWay
    answers: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.question, ThreeWay):
            raise DuotoneError("questions that may be too close to call need a ThreeWay")
        if not (type(self.answers) is int and 1 <= self.answers <= MOST_QUESTIONS):
            raise DuotoneError(f"ask from 1 to {MOST_QUESTIONS} questions at a time, got {self.answers}")

    def __str__(self) -> str:
        return words.price(self.numbers())

    @property
    def privacy(self) -> ApproxDP:
        """The privacy of one question."""
        return self.question.privacy

    @property
    def boundary(self) -> str:
        """How it is asked, as a ledger records it beside its ε."""
        return f"{TOO_CLOSE}, wrong {show(self.question.wrong)}"

    def numbers(self) -> dict[str, Any]:
        """The most close calls that it can use, by name."""
        return {"close_calls_at_most": self.answers}


SELECTED = "+selection"
"""The end of a recorded boundary, if groups are selected privately."""
SHARED = "+order "
"""Then the order, and the number of answers, if these share a budget by one Rényi order."""
_BOUNDARY = re.compile(r"([^+]+)(\+selection)?(?:\+order ([1-9][0-9]{0,2}) of ([1-9][0-9]{0,9}))?")
Cost = Charge | CloseCallCharge
"""The cost of an answer."""


def boundary_text(boundary: Boundary) -> str:
    """A boundary as a ledger records it: a word, or an exact number."""
    return str(boundary) if boundary in ("balanced", "selection") else show(Fraction(probability(boundary)))


@dataclass(frozen=True, repr=False)
class Left:
    """What is left of a budget or an allowance.

    `epsilon` and `delta` are exact or rounded down, and at least 0. If close calls are counted, `close_calls` are left,
    and `reserved` ones are for answers under way, or lost; the rest is then for definite answers, and missing if there
    is no budget for them. In an account `renyi` a `share` of the budget is left, out of 1: about `answers` answers that
    are wrong with at most `wrong` if `people` people would flip them; `delta` is then left for answers that have one.

    >>> Left(Fraction(1, 2), Fraction(1, 10**6)), Left(Fraction(1, 3), Fraction(0)).document()
    (<Left: epsilon 0.5, delta 1e-06>, {'epsilon': 0.3333333333333333, 'delta': 0.0})
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    share: float | None = None
    answers: int | None = None
    wrong: float | None = None
    people: int | None = None
    close_calls: int | None = None
    reserved: int | None = None

    def __str__(self) -> str:
        return words.left(self.numbers())

    def __repr__(self) -> str:
        return f"<Left: {self}>"

    def _repr_html_(self) -> str:
        return table(("left", ""), [(cell(name.replace("_", " ")), cell(number)) for name, number in self.document().items()])

    def numbers(self) -> dict[str, Any]:
        """The existing numbers, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return as_json(self.numbers())


@dataclass(frozen=True)
class AnsweredBefore:
    """The same question with a recorded answer, at another budget or with other costs than now."""

    charge: int
    """The number of its charge."""
    differs: tuple[str, ...]
    """What differs."""
    free_at: str | None
    """The exact budget at which the question is free, asked alone and otherwise unchanged; None if that is not
    certain."""

    @property
    def fact(self) -> str:
        """The fact, for a report."""
        return words.answered_before(self.differs, self.charge)

    @property
    def note(self) -> str:
        """The same, for the asker: also how to get it free."""
        return words.answered_before(self.differs, self.charge, self.free_at)


@dataclass(frozen=True)
class Receipt:
    """An answer with its cost: `free` if it was recorded before, `charge` the entry that paid for it.

    `unanswered` counts the dataset's other charges without an answer: wasted by a crash, or under way elsewhere.
    """

    answer: Any
    free: bool
    charge: int
    left: Left
    unanswered: int
    allowance: Left | None = None
    """What is left of the asker's allowance, if there is one."""
    before: AnsweredBefore | None = None
    """The same question with an answer at another budget, if this one was charged."""
    calls: int | None = None
    """How many of its answers were too close to call, and were charged; None if every answer is charged."""
    share: Fraction | None = None
    """The share of the whole budget that it costs, out of 1, in an account renyi."""
    mark: str = field(default="", repr=False)
    """The hash of the entry that paid for it, which was there before the answer was drawn."""

    @property
    def one_of(self) -> int | None:
        """The number of answers at this price in the whole budget."""
        return as_share(self.share).get("one_of")

    def document(self) -> dict[str, Any]:
        """The cost, as JSON."""
        if self.calls is not None:
            charged = 0 if self.free else self.calls
            counted = {"close_calls": charged, "close_calls_left": self.left.close_calls, "left": self.left.document()}
            return {"free": not charged, "recorded": self.free, "charge": self.charge, **counted}
        document = {"free": self.free, "charge": self.charge, "left": self.left.document()}
        document |= {} if self.free else as_share(self.share)
        document |= {} if self.allowance is None else {"allowance": self.allowance.document()}
        return document | ({} if self.before is None else {"answered_before": self.before.charge})


@dataclass(frozen=True)
class Quote:
    """What a question would cost: `free` if its answer is recorded, else `fits` if the budget covers its `cost`. `left`
    is what is left after it, or, if it does not fit, what is left now."""

    cost: Cost
    free: bool
    fits: bool
    left: Left
    allowance: Left | None = None
    """The same for the asker's allowance, if there is one."""
    before: AnsweredBefore | None = None
    """The same question with an answer at another budget, if this one is not free."""
    beyond: tuple[str, ...] = ()
    """The parts of the cost, epsilon or delta, that exceed what is left."""
    share: Fraction | None = None
    """The share of the whole budget that it costs, out of 1, in an account renyi."""

    @property
    def one_of(self) -> int | None:
        """The number of answers at this price in the whole budget."""
        return as_share(self.share).get("one_of")

    def document(self) -> dict[str, Any]:
        """As JSON, with the price if it is not free."""
        document: dict[str, Any] = {"free": self.free, "fits": self.fits, "left": self.left.document()}
        document |= {} if self.free else {"price": as_json(self.cost.numbers() | as_share(self.share))}
        document |= {} if self.fits else {"beyond": list(self.beyond)}
        document |= {} if self.before is None else {"answered_before": self.before.charge}
        return document | ({} if self.allowance is None else {"allowance": self.allowance.document()})


@dataclass(frozen=True)
class Shortfall:
    """A cost that does not fit into the budget of a dataset, or into the allowance of `asker`; `left` is what is left
    of that one.

    With `allowance`, it does not fit into one of the two, and `left` is the budget's.
    """

    dataset: str
    asked: Cost
    left: Left
    asker: str | None = None
    allowance: Left | None = None
    beyond: tuple[str, ...] = field(default=(), kw_only=True)
    """The parts of the cost, epsilon or delta, that exceed what is left."""
    question: tuple[int, int] | None = field(default=None, kw_only=True)
    """Its number among several questions, and how many there are."""
    set_aside: ApproxDP | None = field(default=None, kw_only=True)
    """The whole budget for definite answers, if even that is smaller."""

    def __str__(self) -> str:
        return words.over_budget(self.numbers())

    def numbers(self) -> dict[str, Any]:
        """The existing numbers, by name."""
        values = {name: value for name, value in vars(self).items() if value not in (None, ())}
        return {name: v.numbers() if isinstance(v, Charge | CloseCallCharge | Left) else v for name, v in values.items()}


NEARLY, MOST_SAID = 1 + Fraction(1, 2**100), 10**12
"""A number of answers this close to the next whole one is that; and there is no telling a larger one from no limit."""


def as_share(share: Fraction | None) -> dict[str, Any]:
    """A price as the share of a budget that it is, and how many such answers the budget holds; empty if it is none.

    >>> as_share(Fraction(699, 100_000)), as_share(None)
    ({'share': 0.00699, 'one_of': 143}, {})
    """
    known = share and share * MOST_SAID > 1
    return {"share": float(share), "one_of": math.floor(NEARLY / share)} if share and known else {}


def as_json(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers as JSON: fractions as floats, a definition as an object."""
    return {name: _plain(value) for name, value in numbers.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Definition):
        return words.definition_numbers(value)
    return float(value) if isinstance(value, Fraction) else value
