"""Mistakes in a declaration: each with the steps to its key, and where it comes from a file, with its line."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from duotone.errors import DatasetError, DuotoneError, Mistake
from duotone.words.sentences import sentence

Steps = tuple[str | int, ...]
MOST_NAMED = 30
"""Keys that a sentence lists, at most."""


class Wrong(DuotoneError):
    """What is wrong with a value: words that follow its key."""


class Mistakes:
    """What is wrong with a declaration: of a file named `file`, whose text is given, each mistake has its line."""

    def __init__(self, file: str = "", text: str | None = None) -> None:
        self._file, self._text, self.every = file, text, dict[Mistake, int]()

    def add(self, steps: Steps, words: str) -> None:
        """A mistake in what stands at these steps."""
        line = 0 if self._text is None else line_of(self._text, steps)
        self.every[Mistake(steps, words, self._place(steps, line))] = line

    def _place(self, steps: Steps, line: int) -> str:
        if self._text is None:
            return ""
        return f"{self._file}, line {line}: " if steps else f"{self._file}: "

    def include(self, error: DatasetError, *steps: str | int) -> None:
        """The mistakes of a part that stands at these steps."""
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
        """All of them, in order."""
        return [mistake.sentence for mistake in sorted(self.every, key=self.every.__getitem__)]

    def refuse(self) -> None:
        """Raise all of them, in order, if there are any."""
        if self.every:
            raise DatasetError(*sorted(self.every, key=self.every.__getitem__))


def unknown(key: str, known: Collection[str]) -> str:
    """A key that nothing has: with the one that is probably meant, or with all.

    >>> unknown("bugdet", ["budget", "rule"]), unknown("colour", ["budget", "rule"])
    ('is not known: budget is', 'is not known; known are budget, rule')
    """
    near = close(key, known)
    named = [*known][:MOST_NAMED]
    return f"is not known: {near} is" if near else f"is not known; known are {', '.join(named)}"


def close(key: str, known: Collection[str]) -> str | None:
    """The key that is probably meant: one that is written almost so, or begins so."""
    near = difflib.get_close_matches(key.lower(), known, 1, 0.7)
    return next(iter([*near, *(name for name in known if len(key) > 2 and name.startswith(key.lower()))]), None)


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line at which the statement begins that first gives a value to `path`; of what is missing, to what it should be in.

    The longest beginning of the file that is TOML by itself, and does not have the value yet, ends before that line.

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
            break  # all of it is one value of several lines
        if _has(cut[1], path):
            after = cut[0]
        else:
            before = cut[0]
    return before + 1


def _parsed(lines: Sequence[str]) -> dict[str, Any] | None:
    """What a beginning of the file says; None where it ends within a value."""
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
