"""Answers: what was released, in the shapes that people use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from duotone.errors import DuotoneError, MissingExtra
from duotone.html import cell, table
from duotone.ledger.account import Receipt
from duotone.line.mechanism import LineMechanism, on_line
from duotone.line.table import LineTable
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.unusual import budget_notes
from duotone.release.coin import Basis
from duotone.tables.accuracy import Accuracy, clipping, method
from duotone.tables.declared import Key

SHOWN = 50
"""The groups that a notebook shows."""
WORDS = {True: "yes", False: "no"}


@dataclass(frozen=True, repr=False)
class Answers:
    """Released answers: by group where the question is grouped, else under the empty key.

    `share` is the budget of each single answer; `basis` whether levels were exact distances. Levels and truths are not in it.
    `str` of it is yes or no, or a line for each group; `bool` the answer of a question without groups, which is also `== True`
    or `== False`. `to_arrow` and
    `to_pandas` make a table of it, `accuracy` says how often an answer is wrong, `quote` is a sentence for a report.
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
    protected: str = ""
    """Whom the budget is about, and what of them, for a report."""
    clipped: str = ""
    """What was cut to what before it was counted."""
    remarks: tuple[str, ...] = ()
    """What whoever reads the answer should know about the table and the question: each a sentence."""
    text: str = ""
    """What was asked, as it was written."""
    about: str = "the table"
    """What it was asked about: a dataset of a ledger, or the table by its name."""
    parts: int = 1
    """Among how many answers about one person the budget is divided."""
    selected: bool = False
    """Whether the groups that it answers for were selected privately, so that small ones may be missing."""
    labels: tuple[str, ...] = ()
    """What the question calls that which it is grouped by, in tables and pictures."""

    def __bool__(self) -> bool:
        if self.by:
            raise DuotoneError("a grouped question has many answers: look at .answers")
        return self.answers[()]

    def __eq__(self, other: object) -> bool:
        """Equal to True or False as its answer is; to other answers if all that is said of them is the same."""
        if isinstance(other, bool | np.bool_):
            return bool(self) == bool(other)
        return vars(self) == vars(other) if isinstance(other, Answers) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # what it was computed from is in dicts

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
            said = f"{yes} yes and {len(self.answers) - yes} no by {', '.join(self.labels)}"
        return f"<Answers: {said}; {self.privacy}; {self.basis}; {self.accuracy.brief}>"

    def _repr_html_(self) -> str:
        rows = [[*map(cell, key), cell(WORDS[answer])] for key, answer in list(self.answers.items())[:SHOWN]]
        said = [f"{self.privacy}; {self.person}; {self.basis}", *filter(None, [self.clipping]), *self.notes]
        if self.share != self.privacy:
            said.append(f"each answer gets {self.share}, its share of the budget")
        said += [*filter(None, [self.accuracy.by_margin]), self.accuracy.ending]
        if len(self.answers) > SHOWN:
            said.insert(0, f"{len(self.answers) - SHOWN} more groups")
        if not self.private:
            said.append("NOT PRIVATE: test seed")
        return table((*self.labels, "answer"), rows, before=self.question, after=said)

    @property
    def mechanism(self) -> LineMechanism:
        """By which each answer was drawn."""
        return on_line(self.table.privacy, self.table.boundary)

    @property
    def accuracy(self) -> Accuracy:
        """How often each answer is wrong, by how many people would flip it."""
        return Accuracy(self.table, self.parts)

    @property
    def clipping(self) -> str | None:
        """What was cut to size before it was counted, in a sentence; None for nothing."""
        return clipping(self.clipped)

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever reads the answer should know: each a sentence."""
        before = None if self.receipt is None else self.receipt.before
        return (*budget_notes(self.privacy), *self.remarks, *([] if before is None else [before.note]))

    def quote(self) -> str:
        """A sentence for a report: the question, the answers, and what a reader needs to judge them.

        >>> import pyarrow as pa
        >>> from duotone import ask
        >>> stays = pa.table({"patient": range(60), "days": [3, 9] * 30})
        >>> about = {"unit": "patient", "per_unit": "avg", "bounds": {"days": (0, 30)}}
        >>> longer = ask(stays, "avg(days) > 5", epsilon=1, delta=1e-6, **about)
        >>> print(longer.quote().replace("; ", ";\\n"))
        In the table, “avg(days) > 5” was answered yes with differential privacy, ε = 1, δ = 1e-06 per patient under addition \
or removal;
        a person is a patient (rows without one do not count), with the avg of its rows;
        clipped: days to [0, 30] in steps of 1/100000, a person's values to their avg, rounded down;
        wrong with probability at most 0.269, and never if 15 or more people would have to be different to change it.
        """
        keys = {" ".join(map(str, key)): WORDS[answer] for key, answer in self.answers.items()}
        if not self.by:
            said = f"{self.text} was answered {WORDS[bool(self)]}"
        elif self.table.boundary == "selection":
            said = f"{', '.join(keys) or 'none'} of {self.text} may be shown, selected"
        elif keys:
            said = f"{self.text} was answered {', '.join(f'{word} for {key}' for key, word in keys.items())},"
        else:
            said = f"{self.text} was answered for no group, since none may be shown,"
        warning = "" if self.private else "NOT PRIVATE, by a test seed: "
        before = "" if self.receipt is None or self.receipt.before is None else f"; {self.receipt.before.fact}"
        return f"{warning}In {self.about}, {said} with {method(self)}{before}."

    def to_arrow(self) -> Any:
        """A table with the columns that the question is grouped by, as it calls them, and `answer`, a Boolean."""
        try:
            import pyarrow as pa
        except ImportError:
            raise MissingExtra("an Arrow table", "tables") from None
        if "answer" in self.labels:
            raise DuotoneError("a column of the groups is called answer already: look at .answers")
        keys = list(zip(*self.answers, strict=True)) if self.answers else [()] * len(self.by)
        columns = dict(zip(self.labels, (list(column) for column in keys), strict=True))
        return pa.table({**columns, "answer": pa.array(self.answers.values(), pa.bool_())})

    def to_pandas(self) -> Any:
        """The same as a data frame of pandas."""
        return self.to_arrow().to_pandas()

    def certificate(self) -> dict[str, Any]:
        """What proves the mechanism behind each answer: see `duotone check`."""
        return {**self.table.certificate(), "basis": self.basis}
