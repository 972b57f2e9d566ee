"""Checks of a dataset's declaration: for each key a function that returns the value to use, or refuses it. Mistakes are
collected, each with the steps to its key, and its line if it comes from a file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

from duotone.errors import DatasetError, DuotoneError, Mistake, got
from duotone.model.text_types import text_type
from duotone.privacy.approx_dp import ApproxDP
from duotone.words.sentences import sentence

Steps = tuple[str | int, ...]


class Wrong(DuotoneError):
    """A wrong value: the words follow its key."""


class Mistakes:
    """The mistakes of a declaration; with the name and the text of its file, each has a line."""

    def __init__(self, file: str = "", text: str | None = None) -> None:
        self._file, self._text, self.every = file, text, dict[Mistake, int]()

    def add(self, steps: Steps, words: str) -> None:
        """A mistake at these steps."""
        line = 0 if self._text is None else line_of(self._text, steps)
        self.every[Mistake(steps, words, self._place(steps, line))] = line

    def _place(self, steps: Steps, line: int) -> str:
        if self._text is None:
            return ""
        return f"{self._file}, line {line}: " if steps else f"{self._file}: "

    def include(self, error: DatasetError, *steps: str | int) -> None:
        """The mistakes of a part at these steps."""
        for mistake in error.mistakes:
            whole = not mistake.steps and steps
            self.add((*steps, *mistake.steps), f"is refused: {mistake.words}" if whole else mistake.words)

    @contextmanager
    def at(self, *steps: str | int) -> Iterator[None]:
        """Record errors raised in the block at this key path."""
        try:
            yield
        except DatasetError as error:
            self.include(error, *steps)
        except Wrong as error:
            self.add(steps, str(error))
        except DuotoneError as error:
            self.add(steps, f"is refused: {sentence(error, 'office')}")

    @property
    def sentences(self) -> list[str]:
        """All mistakes, in order."""
        return [mistake.sentence for mistake in sorted(self.every, key=self.every.__getitem__)]

    def refuse(self) -> None:
        """Raise all mistakes, in order, if there are any."""
        if self.every:
            raise DatasetError(*sorted(self.every, key=self.every.__getitem__))


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line of the statement that first gives a value to `path`; for a missing key, of the table that should contain
    it.

    It follows the longest beginning of the file that is valid TOML and does not have the value yet.

    >>> line_of("a = 1\\n\\n[people.bo]\\nrole = [\\n'x']\\n", ["people", "bo", "role"])
    4
    >>> line_of("a = 1\\n\\n[people.bo]\\n", ["people", "bo", "role"])
    3
    """
    lines = text.splitlines(keepends=True)
    while path and not _has(tomllib.loads(text), path):
        path = path[:-1]
    before, after = 0, len(lines) if path else 1
    while after - before > 1:
        middle = (before + after) // 2
        ends = (*range(middle, after), *range(middle - 1, before, -1))
        cut = next(((end, document) for end in ends if (document := _parsed(lines[:end])) is not None), None)
        if cut is None:
            break  # the file is one value of several lines
        if _has(cut[1], path):
            after = cut[0]
        else:
            before = cut[0]
    return before + 1


def _parsed(lines: Sequence[str]) -> dict[str, Any] | None:
    """The contents of a beginning of the file; None if it ends within a value."""
    try:
        return tomllib.loads("".join(lines))
    except tomllib.TOMLDecodeError:
        return None


def _has(document: Any, path: Sequence[str | int]) -> bool:
    for step in path:
        try:
            document = document[step]
        except (LookupError, TypeError):
            return False
    return True


Checked = Callable[[Any], Any]
Reduction = Literal["avg", "sum", "min", "max"]
"""How a person's values are reduced to one."""
Neighbours = Literal["add-remove", "replace"]
"""Neighbouring tables: one person joins or leaves, or one person's data changes."""
AccountName = Literal["sum", "renyi"]
"""How a dataset's answers add up."""
MOST = 2**31
"""Most rows or groups of one person."""
MOST_CHARACTERS = 1_000_000
COHORT = "@"
"""Between a dataset and the label of its people, if there is one, in its ledger name."""
NAME = re.compile(r"[^\x00-\x1f\x7f/@*\\]{1,60}")


def anything(value: Any) -> Any:
    """Any value: it is checked where it is used."""
    return value


def text(value: Any) -> str:
    """A text that is not empty."""
    if not isinstance(value, str):
        raise Wrong("must be a text, in quotes")
    if not value:
        raise Wrong("is empty")
    return value


def name(value: Any) -> str:
    """A name as a ledger accepts it: without invisible characters, such as marks that reverse the direction of text."""
    if not (NAME.fullmatch(text(value)) and value.isprintable()):
        raise Wrong("has characters that a name cannot have, or more than 60")
    return str(value)


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise Wrong("must be true or false")
    return value


def count(value: Any) -> int:
    """How many rows or groups of one person count."""
    if type(value) is not int or not 1 <= value < MOST:
        raise Wrong(f"must be a whole number from 1 to {MOST - 1}, got {got(value)}")
    return value


def longest_text(value: Any) -> int:
    """How many characters are read."""
    if type(value) is not int or not 1 <= value <= MOST_CHARACTERS:
        raise Wrong(f"must be a whole number of characters, from 1 to {MOST_CHARACTERS:,}, got {got(value)}")
    return value


def unit(value: Any) -> str:
    """The name of a column."""
    if not isinstance(value, str):
        raise Wrong(f"must be the name of one column, got {type(value).__name__}")
    return text(value)


def _one_of(words: Any) -> Checked:
    """A check for one of several words: a misspelt one must not be taken for another."""
    *others, last = known = get_args(words)

    def check(value: Any) -> str:
        if value not in known:
            raise Wrong(f"must be {', '.join(others)} or {last}, got {value}")
        return str(value)

    return check


neighbours, per_unit, account = map(_one_of, (Neighbours, Reduction, AccountName))


def columns(value: Any) -> tuple[str, ...]:
    """Names of columns."""
    if not (isinstance(value, list | tuple) and all(isinstance(one, str) and one for one in value)):
        raise Wrong("must be a list, in [ ], of names")
    return tuple(value)


def json_columns(value: Any) -> tuple[str, ...]:
    """JSON keys that become columns."""
    keys = columns(value)
    if not keys or len(set(keys)) != len(keys) or any("\0" in key for key in keys):
        raise Wrong("must name at least one column, each once")
    return keys


def separator(value: Any) -> str:
    """One character; a tab, which is hard to type in a shell, also as \\t."""
    if value == "\\t":
        return "\t"
    if not isinstance(value, str) or len(value) != 1 or value in '"\r\n\0' or not value.isascii():
        raise Wrong(f"must be one ASCII character other than a double quote or a line end, got {value!r}")
    return value


def types(value: Any) -> Mapping[str, str]:
    """Types by column, as they are written."""
    mistakes = Mistakes()
    for column, one in named(value, 'must be {column: type}, as {"amount": "number", "day": "%d/%m/%Y"}').items():
        try:
            text_type(one)
        except DuotoneError as error:
            mistakes.add((column,), str(error))
    mistakes.refuse()
    return dict(value)


def tables(value: Any) -> Mapping[str, Any]:
    """Tables by name."""
    return dict(named(value, 'must be given by name, as {"labs": "labs.csv"}'))


def groups(value: Any) -> Any:
    """Public lists of groups by their columns, separated by commas; or one list, or its file."""
    if not isinstance(value, Mapping):
        if isinstance(value, Path):
            return value
        if isinstance(value, str | bytes) or hasattr(value, "columns") or not isinstance(value, Iterable):  # letters, or names
            raise Wrong("must be a list of values, as list(frame.column), or the Path of a file with one in each line")
        return tuple(value)
    mistakes = Mistakes()
    for by, listed in value.items():
        if not isinstance(listed, list | tuple):
            mistakes.add((by,), "must be a list, in [ ]")
        elif not listed:
            mistakes.add((by,), "lists no group")
    mistakes.refuse()
    return {tuple(by.split(",")) if isinstance(by, str) else tuple(by): tuple(listed) for by, listed in value.items()}


def budget(value: Any) -> ApproxDP:
    """ε, or e^ε itself, and δ."""
    if isinstance(value, ApproxDP):
        return value
    if not isinstance(value, Mapping):
        raise Wrong('must be { epsilon = …, delta = … }, as { epsilon = 1, delta = "1e-6" }')
    mistakes = Mistakes()
    for key in value.keys() - {"epsilon", "exp_epsilon", "delta"}:
        mistakes.add((key,), "is not known; known are epsilon, exp_epsilon, delta")
    if ("epsilon" in value) == ("exp_epsilon" in value):
        mistakes.add(("epsilon",), "is missing: write epsilon = 1" if "epsilon" not in value else "or exp_epsilon: give one")
    mistakes.refuse()
    epsilon, delta, power = (value.get(key) for key in ("epsilon", "delta", "exp_epsilon"))
    every: list[Any] = [str(one) if isinstance(one, float) else one for one in (epsilon, 0 if delta is None else delta, power)]
    return ApproxDP(every[0], every[1], exp_epsilon=every[2])


def answers(value: Any) -> int:
    """How many answers are expected."""
    if type(value) is not int or not 1 <= value <= 10**9:
        raise Wrong(f"must be a whole number of answers, from 1 to {10**9:,}, got {got(value)}")
    return value


def named(value: Any, otherwise: str) -> Mapping[str, Any]:
    """Values by name."""
    if not (isinstance(value, Mapping) and all(isinstance(one, str) and one for one in value)):
        raise Wrong(otherwise)
    return value
