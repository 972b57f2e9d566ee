"""Mistakes in an office file: each is one sentence with its line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from duotone.errors import DuotoneError, OfficeError
from duotone.service.toml_lines import line_of
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
