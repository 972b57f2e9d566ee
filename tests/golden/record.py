"""Run the commands, and record what they do."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from os import urandom
from pathlib import Path
from typing import Any
from unittest import mock

HERE = Path(__file__).parent
CHILE = HERE.parents[1] / "examples" / "chile" / "chile.csv"
KEPT = HERE / "kept.json"
COMMANDS = [line for line in (HERE / "commands.txt").read_text().splitlines() if line and not line.startswith("#")]
MASKS = (
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?(\+00:00)?)?( UTC)?", "<time>"),
    (r"\b[0-9a-f]{64}\b", "<hash>"),
    (r"Usage: (?:python3? -m )?\S+ (.*?) *\n", r"Usage: duotone \1\n"),  # how this process was started
)


class Stream:
    """Bytes that look random and are the same each time, for the package: other libraries ask for some when they are
    first imported, which may be before."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, size: int) -> bytes:
        if not sys._getframe(1).f_globals["__name__"].startswith("duotone."):
            return urandom(size)
        self._count += 1
        return hashlib.shake_256(str(self._count).encode()).digest(size)


def record(folder: Path) -> Iterator[dict[str, Any]]:
    """Run every command in a folder, in order, and yield what it did."""
    for given in (HERE / "given").iterdir():
        shutil.copy(given, folder)
    shutil.copy(CHILE, folder)
    environment = {"COLUMNS": "128", "TERMINAL_WIDTH": "128", "NO_COLOR": "1", "TERM": "dumb"}
    one = mock.patch("duotone.resources.cores", return_value=1)  # with several, private groups are drawn in any order
    with contextlib.chdir(folder), mock.patch.dict(os.environ, environment), one:
        for command in COMMANDS:
            before = set(folder.iterdir())
            with mock.patch("os.urandom", Stream()):
                code, out, err = _run(shlex.split(command))
            written = sorted(path for path in folder.iterdir() if path not in before and path.suffix == ".json")
            yield {
                "command": command,
                "exit": code,
                "out": _masked(out),
                "err": _masked(err),
                "files": {path.name: path.read_text() for path in written},
            }


def _run(arguments: list[str]) -> tuple[int, str, str]:
    from duotone.cli.app import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
            code: Any = 0
        except SystemExit as ended:
            code = ended.code
    return int(code or 0), out.getvalue(), err.getvalue()


def _masked(text: str) -> str:
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return text


def kept() -> list[dict[str, Any]]:
    """The recorded behaviour."""
    return list(json.loads(KEPT.read_text()))
