"""Released answers in the shapes that people use, whether they were drawn here or came from a service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from duotone.errors import DuotoneError, MissingExtra
from duotone.line.table import Outcome

SHOWN = 50
"""The groups that a notebook shows."""
Key = tuple[Any, ...]


def word(answer: bool | Outcome) -> str:
    """An answer as a word."""
    return str(answer) if isinstance(answer, Outcome) else "yes" if answer else "no"


class Released:
    """Released answers: by group where the question is `grouped`, else under the empty key; `labels` are those of the group
    columns."""

    answers: Mapping[Key, bool | Outcome]
    labels: tuple[str, ...]
    grouped: bool

    @property
    def answer(self) -> bool | Outcome:
        """The answer of a question without groups."""
        if self.grouped:
            raise DuotoneError("a grouped question has many answers: look at .answers")
        return self.answers[()]

    def __bool__(self) -> bool:
        return bool(self.answer)

    def __eq__(self, other: object) -> bool:
        """Equal to True or False as its answer is, and to neither if it is too close to call."""
        if isinstance(other, bool | np.bool_):
            return self.answer is not Outcome.TOO_CLOSE and bool(self) == bool(other)
        return vars(self) == vars(other) if isinstance(other, type(self)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # what it was computed from is in dicts

    @property
    def words(self) -> dict[Key, str]:
        """The answers as words."""
        return {key: word(answer) for key, answer in self.answers.items()}

    def to_arrow(self) -> Any:
        """A table with the group columns, by their labels, and `answer`: a Boolean, or yes, no or too close to call."""
        try:
            import pyarrow as pa
        except ImportError:
            raise MissingExtra("an Arrow table", "tables") from None
        if "answer" in self.labels:
            raise DuotoneError("a column of the groups is called answer already: look at .answers")
        keys = list(zip(*self.answers, strict=True)) if self.answers else [()] * len(self.labels)
        columns = dict(zip(self.labels, (list(column) for column in keys), strict=True))
        definite = not any(isinstance(answer, Outcome) for answer in self.answers.values())
        held = list(self.answers.values() if definite else self.words.values())
        return pa.table({**columns, "answer": pa.array(held, pa.bool_() if definite else pa.string())})

    def to_pandas(self) -> Any:
        """The same as a data frame of pandas."""
        return self.to_arrow().to_pandas()
