"""Released answers in the forms that people use, whether drawn here or received from a service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from duotone.errors import DuotoneError, MissingExtra, got
from duotone.line.mechanism import on_line
from duotone.line.noise import Margin, Noise, Sure, same_answer
from duotone.line.table import THREE_WAY, Outcome, line_table
from duotone.line.which import WHICH
from duotone.model.cost import SELECTED, SHARED
from duotone.privacy.text import Definition
from duotone.words.sentences import brief

SHOWN = 50
"""Most groups that a notebook shows."""
Key = tuple[Any, ...]
"""The key of a group: a value for each column that a question is grouped by."""


def word(answer: bool | str | Outcome) -> str:
    """An answer as a word."""
    return str(answer) if isinstance(answer, str | Outcome) else "yes" if answer else "no"


@dataclass(frozen=True)
class CountLimit:
    """A count of people against a limit: yes if it is at least `at` (or, if not `above`, at most).

    A noisy count has a margin for every limit, so all limits on one count are one question.

    >>> CountLimit(100, above=True).margin(103), CountLimit(100, above=False).margin(103)
    (3, -3)
    """

    at: int
    above: bool
    everybody: bool = False
    """Whether everybody counts, whatever their rows hold: then a group's count is its size."""

    def margin(self, count: int) -> int:
        """How far a noisy count is from making the answer a no."""
        return count - self.at if self.above else self.at - count

    def count(self, margin: int) -> int:
        """The noisy count that has this margin."""
        return self.at + margin if self.above else self.at - margin


@lru_cache(maxsize=32)
def _noise(privacy: Definition, boundary: str) -> Noise:
    table = line_table(on_line(privacy, boundary.removesuffix(SELECTED)))
    return table.of_groups().noise if boundary.endswith(SELECTED) else table.noise


def in_words(recorded: Any, privacy: Definition, boundary: str) -> str:
    """A recorded answer in words: with how sure it is, if it has a margin. `boundary` is that of its charge.

    >>> from duotone import ApproxDP
    >>> usual = ApproxDP(1, "1e-6"), "balanced"
    >>> in_words(40, *usual), in_words(-6, *usual), in_words(True, *usual), in_words({"count": -2}, *usual)
    ('yes, certain', 'no, p = 0.0019', 'yes', 'a count of about 0')
    """
    if isinstance(recorded, dict):
        count = recorded.get("count")
        return f"a count of about {max(count, 0) if type(count) is int else count}"
    said, numbers = recorded_answer(recorded, privacy, boundary)
    return f"{said}, {brief(numbers)}" if numbers else said


def recorded_answer(recorded: Any, privacy: Definition, boundary: str) -> tuple[str, dict[str, Any]]:
    """A recorded answer: as a word, and the numbers that say how sure it is, if any.

    >>> from duotone import ApproxDP
    >>> said, numbers = recorded_answer(-6, ApproxDP(1, "1e-6"), "balanced")
    >>> said, numbers["certain"], numbers["distance"]
    ('no', False, 6)
    >>> recorded_answer({"count": 203}, ApproxDP(1, "1e-6"), "balanced")
    ('count', {'estimate': 203, 'give_or_take': 3})
    >>> recorded_answer("north", ApproxDP(1, "1e-6"), "which of 4")
    ('north', {})
    """
    if boundary.startswith(WHICH) or (SHARED in boundary and not isinstance(recorded, bool)):
        return str(recorded), {}  # one of k; and answers that share a budget by one Rényi order are yes and no alone
    if isinstance(recorded, dict):
        return "count", {"estimate": recorded.get("count"), "give_or_take": _noise(privacy, boundary).give_or_take}
    if type(recorded) is not int:
        return word(recorded) if isinstance(recorded, bool) else str(recorded), {}
    return word(recorded >= 0), Margin(recorded, _noise(privacy, boundary)).numbers()


class Released(Sure):
    """Released answers: by group if the question is `grouped`, else under the empty key; `labels` are those of the
    group columns. `margins` say how sure each is; an answer that was recorded without a margin, or may be too close to
    call, has none."""

    answers: Mapping[Key, bool | str | Outcome]
    margins: Mapping[Key, Margin]
    estimates: Mapping[Key, int]
    """For a single count of people: the estimated count."""
    sizes: Mapping[Key, int]
    """For private groups with a noisy size: the estimated number of people in each."""
    labels: tuple[str, ...]
    grouped: bool

    @property
    def among(self) -> tuple[str, ...]:
        """The possible answers, if the question is which of several is true; else empty."""
        return ()

    @property
    def has_margins(self) -> bool:
        """Whether its answers have margins; also true if no group is shown."""
        return bool(self.margins)

    @property
    def has_sizes(self) -> bool:
        """Whether its groups have sizes; also true if no group is shown."""
        return bool(self.sizes)

    @property
    def answer(self) -> bool | str | Outcome:
        """The answer of a question without groups."""
        if self.grouped:
            raise DuotoneError("a grouped question has many answers: look at .answers")
        return self.answers[()]

    @property
    def sure(self) -> Margin:
        """The margin of a question without groups, and all that follows from it."""
        if self.grouped:
            raise DuotoneError("a grouped question has many answers: look at .margins")
        if () not in self.margins:
            raise DuotoneError(
                "this answer has no margin: it is one of several, may be too close to call, or is yes or no alone"
            )
        return self.margins[()]

    @property
    def estimate(self) -> int:
        """For a single count of people: the estimated count; usually off by at most `sure.noise.give_or_take`."""
        if self.grouped:
            raise DuotoneError("a grouped question has many counts: look at .estimates")
        if () not in self.estimates:
            raise DuotoneError("only one count of people that is compared with a limit has an estimate")
        return self.estimates[()]

    @property
    def margin(self) -> int:
        """The estimated distance from flipping: 0 or more for a yes, below 0 for a no."""
        return self.sure.value

    def __bool__(self) -> bool:
        if isinstance(self.answer, str):
            raise DuotoneError(
                f"the answer is one of several, and neither yes nor no: compare it with one, as == {self.answer!r}"
            )
        return bool(self.answer)

    def __eq__(self, other: object) -> bool:
        """Equal to True or "yes", False or "no" like its answer; to neither if it is too close to call. One of several answers
        is equal to its word."""
        if isinstance(other, type(self)):
            return vars(self) == vars(other)
        if not self.grouped and isinstance(self.answer, str):
            if isinstance(other, bool | np.bool_) or (isinstance(other, str) and other not in self.among):
                raise DuotoneError(
                    f"the answer is one of {', '.join(self.among)}: compare it with one of them, got {got(other)}"
                )
            return self.answer == other
        if isinstance(self.answer, Outcome) and isinstance(other, str) and other in map(str, THREE_WAY):
            return other == str(self.answer)
        if self.answer is Outcome.TOO_CLOSE and isinstance(other, bool | np.bool_):
            return False
        equal: bool = same_answer(self.answer, other)
        return equal

    __hash__ = None  # type: ignore[assignment]  # what it was computed from is in dicts

    @property
    def words(self) -> dict[Key, str]:
        """The answers as words."""
        return {key: word(answer) for key, answer in self.answers.items()}

    def to_arrow(self) -> Any:
        """A table with the group columns, by their labels, and `answer`: a Boolean, or a word if it may be another one. If
        answers have margins, `margin`, `p_value` and `certain` follow; if private groups have sizes, `size`."""
        try:
            import pyarrow as pa
        except ImportError:
            raise MissingExtra("an Arrow table", "tables") from None
        sure: dict[str, Any] = {}
        if self.has_margins:
            held = [self.margins[key] for key in self.answers]
            sure["margin"] = pa.array([margin.value for margin in held], pa.int64())
            sure["p_value"] = pa.array([margin.p_value for margin in held], pa.float64())
            sure["certain"] = pa.array([margin.certain for margin in held], pa.bool_())
        if self.has_sizes:
            sure["size"] = pa.array([self.sizes.get(key) for key in self.answers], pa.int64())
        for taken in {"answer", *sure}.intersection(self.labels):
            raise DuotoneError(f"a column of the groups is called {taken} already: look at .answers and .margins")
        keys = list(zip(*self.answers, strict=True)) if self.answers else [()] * len(self.labels)
        columns = dict(zip(self.labels, (list(column) for column in keys), strict=True))
        definite = not any(isinstance(answer, str | Outcome) for answer in self.answers.values())
        said = list(self.answers.values() if definite else self.words.values())
        return pa.table({**columns, "answer": pa.array(said, pa.bool_() if definite else pa.string()), **sure})

    def to_pandas(self) -> Any:
        """The same as a pandas data frame."""
        return self.to_arrow().to_pandas()
