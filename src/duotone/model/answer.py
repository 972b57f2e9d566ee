"""Released answers in the shapes that people use, whether they were drawn here or came from a service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from duotone.errors import DuotoneError, MissingExtra
from duotone.line.table import Outcome

SHOWN = 50
"""The groups that a notebook shows."""
Key = tuple[Any, ...]


def word(answer: bool | Outcome) -> str:
    """An answer as a word."""
    return str(answer) if isinstance(answer, Outcome) else "yes" if answer else "no"


def arrow_table(answers: Mapping[Key, bool | Outcome], labels: Sequence[str], *, definite: bool) -> Any:
    """A table with the group columns, by their labels, and `answer`: a Boolean, or yes, no or too close to call."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtra("an Arrow table", "tables") from None
    if "answer" in labels:
        raise DuotoneError("a column of the groups is called answer already: look at .answers")
    keys = list(zip(*answers, strict=True)) if answers else [()] * len(labels)
    columns = dict(zip(labels, (list(column) for column in keys), strict=True))
    held = [answer if definite else word(answer) for answer in answers.values()]
    return pa.table({**columns, "answer": pa.array(held, pa.bool_() if definite else pa.string())})
