"""What a test needs besides Python."""

from __future__ import annotations

import os

import pytest


def need(what: str | None) -> None:
    """On a laptop tests are left out with a sentence; CI must have everything."""
    if what is not None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{what} is not installed, and this test needs it")
