"""Arithmetic of aggregates: what stands on the two sides of a comparison, and what of it is a sum with weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from duotone.errors import DuotoneError
from duotone.tables.sql.condition import Condition, Operand

AggregateKind = Literal[
    "count", "people", "sum", "mean", "quantile", "min", "max", "mode", "variance", "stddev", "distinct",
]  # fmt: skip


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of the question, as text and as what it is: of the rows that satisfy `where`. A mean of a condition is a
    share. `q` is that of a quantile, `less` what the number of people is reduced by in a variance."""

    text: str
    kind: AggregateKind
    where: Condition
    value: Operand | Condition | None = None
    q: Fraction = Fraction(1, 2)
    less: int = 1
    needs: Condition | None = None
    """The rows of which there must be one for a sum, which is null otherwise."""

    @property
    def averaged(self) -> Operand | Condition:
        """What a mean is of."""
        if self.value is None:
            raise DuotoneError(f"{self.text} is not an average of anything")
        return self.value

    @property
    def ordered(self) -> Operand:
        """What a quantile, min, max or variance is of."""
        if not isinstance(self.value, Operand):
            raise DuotoneError(f"{self.text} is not of a column")
        return self.value

    @property
    def is_share(self) -> bool:
        """Whether it is a mean of a condition."""
        return self.kind == "mean" and not isinstance(self.value, Operand)


@dataclass(frozen=True)
class Arithmetic:
    """Two expressions joined by +, -, * or /."""

    rule: Literal["+", "-", "*", "/"]
    left: Expression
    right: Expression


Expression = Fraction | Aggregate | Arithmetic
Part = Aggregate | Arithmetic
"""What a sum with weights is made of: aggregates, and products and quotients of them."""
Sum = tuple[dict[Part, Fraction], Fraction]


def linear(expression: Expression) -> Sum:
    """An expression as weights of its parts, and what is left over."""
    if isinstance(expression, Fraction):
        return {}, expression
    if isinstance(expression, Aggregate):
        return {expression: Fraction(1)}, Fraction(0)
    (left, a), (right, b) = linear(expression.left), linear(expression.right)
    match expression.rule:
        case "+":
            return _added(left, right, 1), a + b
        case "-":
            return _added(left, right, -1), a - b
        case "*" if not left or not right:
            weights, factor = (right, a) if not left else (left, b)
            return {part: w * factor for part, w in weights.items()}, a * b
        case "/" if not right:
            return {part: w / b for part, w in left.items()}, a / b
    return {expression: Fraction(1)}, Fraction(0)


def _added(left: dict[Part, Fraction], right: dict[Part, Fraction], way: int) -> dict[Part, Fraction]:
    """Weights added up; those that cancel out stay, with weight 0."""
    return {part: left.get(part, Fraction(0)) + way * right.get(part, Fraction(0)) for part in dict.fromkeys((*left, *right))}


def aggregates(expression: Expression) -> Iterator[Aggregate]:
    """The aggregates that an expression is made of."""
    if isinstance(expression, Aggregate):
        yield expression
    elif isinstance(expression, Arithmetic):
        yield from aggregates(expression.left)
        yield from aggregates(expression.right)
