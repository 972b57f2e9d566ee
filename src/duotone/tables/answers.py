"""Answers: what was released, in the shapes that people use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from duotone.errors import DuotoneError, MissingExtra
from duotone.html import cell, table
from duotone.ledger.account import Receipt
from duotone.line.table import LineTable
from duotone.privacy.approx_dp import ApproxDP
from duotone.release.coin import Basis
from duotone.tables.declared import Key

SHOWN = 50
"""The groups that a notebook shows."""
WORDS = {True: "yes", False: "no"}


@dataclass(frozen=True, repr=False)
class Answers:
    """Released answers: by group where the question is grouped, else under the empty key.

    `share` is the budget of each single answer; `basis` whether levels were exact distances. Levels and truths are not in it.
    `str` of it is yes or no, or a line for each group; `bool` the answer of a question without groups. `to_arrow` and
    `to_pandas` make a table of it.
    """

    answers: Mapping[Key, bool]
    by: tuple[str, ...]
    privacy: ApproxDP
    share: ApproxDP
    basis: Basis
    person: str
    grids: Mapping[str, str]
    private: bool
    table: LineTable = field(repr=False)
    receipt: Receipt | None = None
    """What it cost, where a ledger was charged."""
    vouched: str | None = None
    """What the owner vouched for, in a sentence, where the table is no stored one."""
    question: str = ""
    """What was asked, in SQL."""

    def __bool__(self) -> bool:
        if self.by:
            raise DuotoneError("a grouped question has many answers: look at .answers")
        return self.answers[()]

    def __str__(self) -> str:
        warning = "" if self.private else " (NOT PRIVATE: test seed)"
        if not self.by:
            return WORDS[self.answers[()]] + warning
        return "\n".join(f"{', '.join(map(str, key))}: {WORDS[answer]}{warning}" for key, answer in self.answers.items())

    def __repr__(self) -> str:
        if not self.by:
            said = str(self)
        else:
            yes = sum(self.answers.values())
            said = f"{yes} yes and {len(self.answers) - yes} no by {', '.join(self.by)}"
        return f"<Answers: {said}; {self.privacy}; {self.basis}>"

    def _repr_html_(self) -> str:
        rows = [[*map(cell, key), cell(WORDS[answer])] for key, answer in list(self.answers.items())[:SHOWN]]
        said = [f"{self.privacy}; {self.person}; {self.basis}", *filter(None, [self.vouched])]
        if len(self.answers) > SHOWN:
            said.insert(0, f"{len(self.answers) - SHOWN} more groups")
        if not self.private:
            said.append("NOT PRIVATE: test seed")
        return table((*self.by, "answer"), rows, before=self.question, after=said)

    def to_arrow(self) -> Any:
        """A table with the columns that the question is grouped by, and `answer`, a Boolean."""
        try:
            import pyarrow as pa
        except ImportError:
            raise MissingExtra("an Arrow table", "tables") from None
        if "answer" in self.by:
            raise DuotoneError("a column of the groups is called answer already: look at .answers")
        keys = list(zip(*self.answers, strict=True)) if self.answers else [()] * len(self.by)
        columns = dict(zip(self.by, (list(column) for column in keys), strict=True))
        return pa.table({**columns, "answer": pa.array(self.answers.values(), pa.bool_())})

    def to_pandas(self) -> Any:
        """The same as a data frame of pandas."""
        return self.to_arrow().to_pandas()

    def certificate(self) -> dict[str, Any]:
        """What proves the mechanism behind each answer: see `duotone check`."""
        return {**self.table.certificate(), "basis": self.basis}
