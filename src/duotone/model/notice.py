"""Notices and refusals: a code and fields. Their sentences, by audience, are in `duotone.words`."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from duotone.errors import AnswerWarning, DuotoneError
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.text import Definition
from duotone.words.sentences import sentence

LARGE_EPSILON, LARGE_DELTA = 10, Fraction(1, 1000)
"""Above these values a guarantee is weak, whatever the table."""
WARNED = frozenset(
    {"large epsilon", "large delta", "coin toss", "almost a coin toss", "rows are people", "having is an answer", "equality",
     "average rounded", "average rounded, with a cure", "numbers from text", "dates from text", "Booleans from text",
     "bounds decide", "percent beyond"}
)  # fmt: skip
"""Codes of notes that are warnings: whoever reads the answer alone would take it for what it is not, since it is about other
values or people than the question's words say, or less private or less sure than one expects. What an owner declares, and what
belongs to every answer of a kind, is a fact, which stands beside the answer."""
CLIPPED = frozenset(
    {"clipped values", "clipped variance", "clipped before reduced", "clipped quantiles", "rows beyond", "groups beyond"}
)
"""Codes of notes by how much clipping may move what is asked: they warn, and stand in a report, but not after each printed
answer, since who declares bounds knows of them."""
PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


@dataclass(frozen=True, init=False)
class Notice:
    """Something that a person should know: a `code` that programs can compare, and the `fields` that its sentence names.

    `str` is the sentence for Python; `duotone.words.sentences.sentence` says it to the command, an office file, an analyst or
    a page. A field may be a notice. Any error can be raised with a notice instead of a text.

    >>> note = Notice("bounds missing", what="variance", column="cost")
    >>> print(note)
    a variance of cost needs bounds: give the lowest and the highest value that counts (bounds={"cost": (low, high)})
    >>> note.code, note.fields["column"]
    ('bounds missing', 'cost')
    """

    code: str
    fields: Mapping[str, Any] = field(hash=False)

    def __init__(self, code: str, /, **fields: Any) -> None:
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "fields", fields)

    def __str__(self) -> str:
        return sentence(self)

    @property
    def warns(self) -> bool:
        """Whether it must not be missed."""
        return self.code in WARNED | CLIPPED

    @property
    def printed(self) -> bool:
        """Whether it is printed with the answer."""
        return self.code in WARNED


def warn(notes: Iterable[object]) -> None:
    """Issue notes as warnings, at the line of the program that called Duotone."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    for note in notes:
        warnings.warn(str(note), AnswerWarning, stacklevel=level)


class Refusal(DuotoneError):
    """Bad input, by a code and fields; errors with a class of their own are raised with a `Notice` instead.

    >>> from duotone.words.sentences import sentence
    >>> refusal = Refusal("max_rows missing", unit="guest")
    >>> print(refusal)
    with a unit, say how many rows of one guest may count (max_rows)
    >>> print(sentence(refusal, "command"))
    with a unit, say how many rows of one guest may count (--max-rows)
    """

    def __init__(self, code: str, /, **fields: Any) -> None:
        super().__init__(Notice(code, **fields))

    @property
    def notice(self) -> Notice:
        """Its code and fields."""
        own: Notice = self.args[0]
        return own


def why(error: DuotoneError) -> Notice | str:
    """The notice of an error, or its text if it has none."""
    said = error.args[0] if error.args else ""
    return said if isinstance(said, Notice) else str(error)


def is_about(error: DuotoneError, code: str) -> bool:
    """Whether an error has this code, itself or as its cause.

    >>> failed = Refusal("nothing released", why=Notice("engine failed"), cost="the charge stands")
    >>> is_about(failed, "engine failed"), is_about(DuotoneError("engine failed"), "engine failed")
    (True, False)
    """
    said: Any = why(error)
    while isinstance(said, Notice) and said.code != code:
        said = said.fields.get("why")
    return isinstance(said, Notice)


def budget_notes(privacy: Definition) -> tuple[Notice, ...]:
    """Warnings about a budget that few would choose knowingly; none about a usual one.

    >>> from duotone import ApproxDP
    >>> budget_notes(ApproxDP(1, "1e-6"))
    ()
    >>> print(*budget_notes(ApproxDP(50, "0.01")), sep="\\n")
    weak: with epsilon 50 answers may tell whether a certain person is in the table; 1 is usual
    weak: with probability up to delta, 0.01, answers may give a person away; keep it far below 1 / (number of people)
    >>> print(*budget_notes(ApproxDP(0)))
    a coin toss: with epsilon 0 and delta 0 an answer tells nothing about the table
    """
    notes = []
    if privacy.epsilon > LARGE_EPSILON:
        notes.append(Notice("large epsilon", epsilon=privacy.epsilon))
    if privacy.delta > LARGE_DELTA:
        notes.append(Notice("large delta", delta=float(privacy.delta)))
    if isinstance(privacy, ApproxDP) and privacy.exp_epsilon == 1:
        notes.append(Notice("coin toss" if privacy.delta == 0 else "almost a coin toss"))
    return tuple(notes)
