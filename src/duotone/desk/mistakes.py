"""Mistakes in an office file: each is one sentence with its line, which the parser itself finds."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError, OfficeError
from duotone.words.sentences import sentence


class Mistakes:
    """What is wrong with an office file, each with its line."""

    def __init__(self, path: Path, text: str) -> None:
        self._name, self._text, self.every = path.name, text, dict[str, int]()

    def add(self, steps: tuple[str | int, ...], what: str) -> None:
        """A mistake in what stands at these steps."""
        line = line_of(self._text, steps)
        where = ".".join(map(str, steps))
        self.every[f"{self._name}, line {line}: {where} {what}" if where else f"{self._name}: {what}"] = line

    @contextmanager
    def at(self, *steps: str | int) -> Iterator[None]:
        """Takes note of what is refused inside, as a mistake at these steps."""
        try:
            yield
        except DuotoneError as error:
            self.add(steps, f"is refused: {sentence(error, 'office')}")

    def error(self) -> OfficeError:
        """All of them, in order."""
        return OfficeError(*sorted(self.every, key=self.every.__getitem__))


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
