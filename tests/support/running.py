"""How tests run: what they need, how long they wait, how many cases they try, and how much memory work takes."""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

from duotone.cli.app import main


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def need(what: str | None) -> None:
    """On a laptop the test is skipped with a sentence; CI must have everything."""
    if what is not None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{what} is not installed, and this test needs it")


PATIENCE = 120.0
"""Seconds."""


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Wait for something that another thread or process does."""
    last = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < last, f"{what}, which should have been, was not after {PATIENCE:.0f} seconds"
        time.sleep(0.01)


Case = TypeVar("Case")
EXHAUSTIVE = "DUOTONE_EXHAUSTIVE" in os.environ
exhaustive_only = pytest.mark.skipif(not EXHAUSTIVE, reason="takes long: make exhaustive runs it")


def thinned(cases: Iterable[Case], every: int, start: int = 0) -> list[Case]:
    """Every n-th of these cases, or all."""
    return list(cases)[slice(None) if EXHAUSTIVE else slice(start, None, every)]


def examples(many: int, every: int = 3) -> settings:
    """This many examples of a property, or a part of them."""
    return settings(max_examples=many if EXHAUSTIVE else many // every, deadline=None)


def peak(work: Callable[[], Any]) -> tuple[int, Any]:
    """The peak of bytes beyond what was allocated before; and the result."""
    tracemalloc.start()
    try:
        result = work()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()
