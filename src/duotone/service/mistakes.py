"""Mistakes in an office file: each is one sentence with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from duotone.errors import DuotoneError, OfficeError
from duotone.service.toml_lines import line_of

KEYS = (("say which (name)", "say which (table)"), ("say which there are (columns)", "say which there are (json_columns)"))
"""Advice of the library that names an option which an office file calls otherwise."""
BOUNDS = re.compile(r"\(bounds=\{([\"'])(.*)\1: \(low, high\)\}\)")


class Mistakes:
    """What is wrong with an office file, each with its line."""

    def __init__(self, path: Path, text: str) -> None:
        self._name, self._text, self.every = path.name, text, dict[str, int]()

    def add(self, steps: tuple[str | int, ...], sentence: str) -> None:
        """A mistake in what stands at these steps."""
        line = line_of(self._text, steps)
        where = ".".join(map(str, steps))
        self.every[f"{self._name}, line {line}: {where} {sentence}" if where else f"{self._name}: {sentence}"] = line

    @contextmanager
    def at(self, *steps: str | int) -> Iterator[None]:
        """Takes note of what is refused inside, as a mistake at these steps."""
        try:
            yield
        except DuotoneError as error:
            self.add(steps, f"is refused: {with_keys(str(error))}")

    def error(self) -> OfficeError:
        """All of them, in order."""
        return OfficeError(*sorted(self.every, key=self.every.__getitem__))


def with_keys(sentence: str) -> str:
    """A sentence of the library in the words of an office file.

    >>> with_keys("may hold many tables: say which (name)")
    'may hold many tables: say which (table)'
    >>> with_keys('give the lowest and the highest value (bounds={"age": (low, high)})')
    'give the lowest and the highest value (bounds = { "age" = [low, high] })'
    """
    for library, file in KEYS:
        sentence = sentence.replace(library, file)
    return BOUNDS.sub(r'(bounds = { "\2" = [low, high] })', sentence)
