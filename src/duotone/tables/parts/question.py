"""By parts: a question that is asked of each of several parts of the people by itself, and how many of them say yes."""

from __future__ import annotations

import inspect
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from duotone.errors import DuotoneError, got
from duotone.model.dataset import Dataset
from duotone.model.notice import Notice, Refusal
from duotone.questions.by_parts import parts_level
from duotone.tables.engines.engine import Source
from duotone.tables.parts.division import divided
from duotone.tables.parts.inside import STARTING
from duotone.tables.parts.isolation import Isolation, answers, tried
from duotone.tables.parts.sandbox import own_folders
from duotone.tables.sql.syntax import ENDINGS
from duotone.words.sentences import plural

MOST_PARTS, MOST_SECONDS, MOST_MEMORY = 1001, 3600, 2**20
LEAST_MEMORY = 64
LONGEST_TRIAL = 5
"""Most seconds of the processor for a trial without rows."""
MOST_FILES = 5000
"""Most files of Python beside a function's own."""
STATEMENT = r"\s*(with|select|from|values|\(\s*select)\b|.*;"
"""How a text begins that is a statement, and no expression; or it has several."""
Function = Callable[[Any], Any]


@dataclass(frozen=True)
class ByParts:
    """A question to be asked of each of so many `parts` of the people, an odd number, with `part_seconds` of the processor
    and `part_memory` (MiB) for each. Like a question that was parsed, it has a text and a normal form; nothing else of it
    is known."""

    text: str
    normal: str
    parts: int
    part_seconds: int
    part_memory: int
    task: Mapping[str, Any] = field(repr=False)
    apart: Isolation | None = None
    """How processes are kept apart on this system, known after its trial."""
    digest: str = ""
    """The hash of the file that a function is in, and of those that it may import beside libraries."""
    key: bytes | None = field(default=None, repr=False)
    """What decides who is in which part; None to draw it when it is asked."""

    by = labels = beside = ()
    counted = None

    def scope(self, unit: str) -> str:
        """What an answer is about, in words."""
        return f"in most of {self.parts} random parts of the {plural(unit)}"

    @property
    def longest(self) -> float:
        """Seconds that all parts together take at most."""
        return self.parts * (self.part_seconds + STARTING)

    @property
    def notes(self) -> tuple[Notice, ...]:
        """What is not kept from a part's process on this system, if anything is not."""
        return () if self.apart is None or self.apart.complete else (Notice("parts in sight"),)

    def tried(self, source: Source) -> Self:
        """The same, tried without rows: SQL that does not fit the columns, or a function that cannot be loaded, is refused
        now, since it would be a no for every part."""
        seconds = min(self.part_seconds, LONGEST_TRIAL)
        task = {**self.task, "now": int(time.time())}  # before a row is read
        wrong, apart = tried(source.rows.schema().to_pyarrow().empty_table(), {**task, "seconds": seconds})
        if wrong:
            texts = "VARCHAR" in wrong and "untyped" in source.columns.values()
            raise Refusal("text for parts" if texts else "not a question for parts", what=self.text, why=wrong)
        return replace(self, apart=apart, task={**task, "hide": apart.hidden})

    def document(self) -> dict[str, int]:
        """The parts and their limits, as JSON."""
        return {"parts": self.parts, "part_seconds": self.part_seconds, "part_memory": self.part_memory}

    def keyed(self, key: bytes) -> Self:
        """The same, with the key of the dataset in its ledger."""
        return replace(self, key=key)

    def checked(self) -> None:
        """Refuse a function whose files were written to since it was checked."""
        if self.digest and _digest(self.task) != self.digest:
            raise DuotoneError(
                f"{self.task['file']}, or a file beside it, was written to since the question was checked: ask again"
            )

    def level(self, source: Source, declared: Dataset) -> int:
        """The level. NOT private.

        Guarantee: parts are asked one after the other, each in a process that knows its own rows alone; what becomes of
        one shows in nothing but its own yes or no.
        """
        rows: Any = None
        try:
            rows = source.run(source.rows)
            each = divided(rows, declared.unit, self.key or os.urandom(16), self.parts)
            return parts_level(sum(answers(each, self.task)), self.parts, declared.neighbours)
        finally:
            rows = None  # no traceback may show them


def by_parts(question: str | Function, source: Source, parts: int, seconds: int, memory: int) -> ByParts:
    """A question to be asked of parts of this table."""
    limits = {"seconds": seconds, "memory": memory * 2**20}
    if isinstance(question, str):
        text = question.strip().rstrip(";").rstrip()
        called = names_of(source)
        rows = '"' + called[0].replace('"', '""') + '"'
        statement = text if re.match(STATEMENT, text, re.IGNORECASE | re.DOTALL) else f"select (\n{text}\n) from {rows}"
        task: dict[str, Any] = {"sql": statement, "names": called, "files": [], "listed": []}
        written, digest = text, ""
    else:
        task = _task_of(question)
        digest, text = _digest(task), f"{task['function']} of {Path(task['file']).name}"
        written = f"{task['module']}.{task['function']}, SHA-256 {digest}"
    normal = f"IN MOST OF {parts} PARTS ({seconds} s, {memory} MiB): {written}"
    return ByParts(text, normal, parts, seconds, memory, {**task, **limits}, digest=digest)


def require_parts(parts: int, seconds: int, memory: int) -> None:
    """Refuse a number of parts that has no middle, and limits that are none."""
    if not hasattr(os, "fork"):
        raise DuotoneError("parts are asked by processes that this system does not have: use Linux or macOS")
    if not (type(parts) is int and 1 <= parts <= MOST_PARTS and parts % 2):
        raise DuotoneError(f"parts must be an odd number from 1 to {MOST_PARTS}, so that most of them agree, got {got(parts)}")
    if not (type(seconds) is int and 1 <= seconds <= MOST_SECONDS):
        raise DuotoneError(f"part_seconds must be a whole number from 1 to {MOST_SECONDS}, got {got(seconds)}")
    if not (type(memory) is int and LEAST_MEMORY <= memory <= MOST_MEMORY):
        raise DuotoneError(f"part_memory must be a whole number of MiB from {LEAST_MEMORY} to {MOST_MEMORY}, got {got(memory)}")


def names_of(source: Source) -> list[str]:
    """What SQL may call the table: its name, that of a file without its ending; `data` for one without a name."""
    if not source.named:
        return ["data"]
    ending = next((ending for ending in ENDINGS if source.name.lower().endswith(ending)), "")
    return list(dict.fromkeys([source.name[: -len(ending)] if ending else source.name, source.name]))


def _task_of(function: Function) -> dict[str, Any]:
    """Where a fresh interpreter finds a function: it carries nothing along, neither values nor data."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    home = sys.modules.get(module or "")
    try:
        file = str(Path(inspect.getsourcefile(inspect.unwrap(function)) or "").resolve(strict=True))
        found: Any = reduce(getattr, name.split("."), home)
    except (TypeError, OSError, AttributeError):
        file, found = "", None
    if not file.endswith(".py") or found is not function:
        raise Refusal("not a function of a file", name=name or type(function).__name__)
    where = [os.path.realpath(entry or ".") for entry in sys.path]
    folders = [entry for entry in where if file.startswith(f"{entry}/")]
    return {"module": module, "function": name, "file": file, "files": _beside(file, str(module)), "listed": folders}


def _beside(file: str, module: str) -> list[str]:
    """The files of Python that a function's file may import besides libraries: of its package, or of its folder."""
    if any(file.startswith(f"{folder}/") for folder in own_folders()):
        return []
    packages = module.count(".")
    if not packages:
        return sorted(map(str, Path(file).parent.glob("*.py")))[:MOST_FILES]
    is_package = Path(file).name == "__init__.py"
    top = Path(file).parents[packages - 1 + is_package]
    return sorted(map(str, top.rglob("*.py")))[:MOST_FILES]


def _digest(task: Mapping[str, Any]) -> str:
    """The hash of all files that may decide a function's answer: in a ledger, with another one it is another question."""
    every = sha256()
    for file in sorted({task["file"], *task["files"]}):
        try:
            every.update(sha256(f"{Path(file).name} ".encode() + Path(file).read_bytes()).digest())
        except OSError:
            raise DuotoneError(f"there is no file {file} any more") from None
    return every.hexdigest()
