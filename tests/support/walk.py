"""Which files a story names: the files whose functions its own files call straight, as a reader would follow them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import duotone

HOUSE = Path(duotone.__file__).parent
COMMON = {"cached.py", "errors.py"}
"""What every file leans on, and no story is about."""


def walk(act: Callable[[], Any], *story: str) -> set[str]:
    """The files of a story, and those it calls by name, while `act` is done. A with block counts as a call."""
    own, called = {str(HOUSE / file) for file in story}, set(story)

    def caller(frame: FrameType) -> FrameType | None:
        before = frame.f_back
        while before is not None and before.f_code.co_filename == contextlib.__file__:
            before = before.f_back
        return before

    def watch(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(HOUSE):
            before = caller(frame)
            if before is not None and before.f_code.co_filename in own:
                called.add(str(file.relative_to(HOUSE)))

    sys.setprofile(watch)
    try:
        act()
    finally:
        sys.setprofile(None)
    return called - COMMON
