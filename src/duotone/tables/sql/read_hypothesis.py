"""Hypotheses from SQL: what a test is about, and the question about counts that decides it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from duotone.errors import DuotoneError
from duotone.model.notice import Refusal
from duotone.privacy.numbers import number
from duotone.statistics.shares import Relation
from duotone.tables.sql.as_written import as_sql
from duotone.tables.sql.syntax import one_line, parse

_RELATIONS: dict[type[exp.Expression], tuple[Relation, Relation]] = {
    exp.EQ: ("=", "="), exp.LTE: ("<=", ">="), exp.GTE: (">=", "<="),
}  # fmt: skip
"""A relation, and the same with its sides exchanged."""


@dataclass(frozen=True)
class Hypothesis:
    """A share, or the difference of two, and what a test may reject about it. It is made by `read_hypothesis`.

    `cells` are conditions in SQL: who is a yes and who is a no; of two groups, four. Of two shares of the same people only
    those count for whom the two conditions differ: without a difference in the population, half of them are on either side.
    """

    text: str
    relation: Relation
    cells: tuple[str, ...]
    share: Fraction
    """The share that is compared; one half of two shares of the same people."""
    paired: bool = False
    where: str | None = None
    """Whose share it is, in SQL; None for everybody's, and of two shares."""

    @property
    def of_two_groups(self) -> bool:
        """Whether it is about two groups of people."""
        return len(self.cells) == len(LABELS)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its cells."""
        return LABELS[: len(self.cells)]

    def count(self, unit: str | None) -> str:
        """The question about the number of those who are a yes."""
        every = "*" if unit is None else f"distinct {_quoted(unit)}"
        return f"count({every}) filter (where {self.cells[0]}) > 0"

    def table(self, unit: str | None, *, all_others: bool = False) -> str:
        """The question about the number of people in each cell: everybody is in the first that fits. Of somebody with
        several rows, one that fits is enough. With `all_others`, who is not a yes is a no."""
        cells = (self.cells[0], *([] if self.where is None else [self.where])) if all_others else self.cells
        other = self.labels[1] if len(cells) == 1 else None
        if unit is None:
            return f"select {_case(cells, self.labels, other)} as cell, count(*) > 0 group by cell"
        names = [f"cell_{i}" for i in range(len(cells))]
        each = ", ".join(f"bool_or({cell}) as {name}" for cell, name in zip(cells, names, strict=True))
        people = f"select {each} group by {_quoted(unit)}"
        return f"select {_case(names, self.labels, other)} as cell, count(*) > 0 from ({people}) group by cell"


LABELS = ("yes", "no", "yes in the second", "no in the second")
"""What cells are called."""


def _case(conditions: Sequence[str], labels: Sequence[str], other: str | None) -> str:
    cases = [f"when {one} then '{label}'" for one, label in zip(conditions, labels, strict=other is None)]
    return " ".join(["case", *cases, *([] if other is None else [f"else '{other}'"]), "end"])


def _quoted(name: str) -> str:
    return exp.column(exp.to_identifier(name, quoted=True)).sql(dialect="duckdb")


def read_hypothesis(text: str) -> Hypothesis:
    """Parse a hypothesis, or refuse it with examples.

    >>> read_hypothesis("share(readmitted) filter (where age > 65) <= 0.1").cells
    ('(age > 65) AND (readmitted)', '(age > 65) AND (NOT (readmitted))')
    >>> read_hypothesis("share(after > before) = share(after < before)").share
    Fraction(1, 2)
    >>> read_hypothesis("share(drug = ‘A’) >= 70%").share
    Fraction(7, 10)
    """
    select = parse(as_sql(text)[0])
    compared, *others = (each.unnest() for each in select.expressions)
    if others or type(compared) not in _RELATIONS or any(select.args[name] for name in select.args if name != "expressions"):
        raise Refusal("no hypothesis")
    relation, exchanged = _RELATIONS[type(compared)]
    left, right = compared.this.unnest(), compared.expression.unnest()
    if not _is_share(left):
        left, right, relation = right, left, exchanged
    if not _is_share(left):
        raise Refusal("no hypothesis")
    first, where = _share(left)
    if not _is_share(right):
        cells = _both(where, first), _both(where, _not(first))
        return Hypothesis(one_line(text), relation, cells, _fraction(right), where=where)
    second, other = _share(right)
    if where == other:
        cells = _both(where, first, _not(second)), _both(where, second, _not(first))
        return Hypothesis(one_line(text), relation, cells, Fraction(1, 2), paired=True)
    if where is None or other is None:
        raise Refusal("groups of a hypothesis")
    four = _both(where, first), _both(where, _not(first)), _both(other, second), _both(other, _not(second))
    return Hypothesis(one_line(text), relation, four, Fraction(1, 2))


def _is_share(node: exp.Expression) -> bool:
    """Whether this is a share, which is the average of a condition."""
    inner = node.this if isinstance(node, exp.Filter) else node
    return isinstance(inner, exp.Avg)


def _share(node: exp.Expression) -> tuple[str, str | None]:
    """Its condition, and that of the rows which it is about."""
    if isinstance(node, exp.Filter):
        return _text(node.this.this), _text(node.expression.this)
    return _text(node.this), None


def _text(node: exp.Expression) -> str:
    return node.unnest().sql(dialect="duckdb", comments=False)


def _not(condition: str) -> str:
    return f"NOT ({condition})"


def _both(where: str | None, *conditions: str) -> str:
    return " AND ".join(f"({each})" for each in (where, *conditions) if each is not None)


def _fraction(node: exp.Expression) -> Fraction:
    """A share that is written as a number, or as a fraction of two."""
    top, bottom = (node.this.unnest(), node.expression.unnest()) if isinstance(node, exp.Div) else (node, exp.Literal.number(1))
    if not all(isinstance(part, exp.Literal) and not part.is_string for part in (top, bottom)):
        raise Refusal("no hypothesis")
    above, below = (Fraction(number(part.name, "a share")) for part in (top, bottom))
    if not (below > 0 and 0 <= above / below <= 1):
        raise DuotoneError(f"a share is from 0 to 1, got {node.sql(dialect='duckdb')}")
    return above / below
