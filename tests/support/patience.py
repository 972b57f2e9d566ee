"""How long tests wait for what is sure to come: so long that only what never comes is given up, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0
"""Seconds."""


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Wait for something that another thread or process does."""
    last = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < last, f"{what}, which should have been, was not after {PATIENCE:.0f} seconds"
        time.sleep(0.01)
