"""How much memory a piece of work takes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any


def peak(work: Callable[[], Any]) -> tuple[int, Any]:
    """The most bytes that were held at once, beside what was there before; and the result."""
    tracemalloc.start()
    try:
        result = work()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()
