"""Settings of tests of the service."""

from __future__ import annotations

import pytest

from duotone.service import auth


@pytest.fixture
def long_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong tokens are remembered for an hour: on a busy machine, the first of twenty might be forgotten before the last."""
    monkeypatch.setattr(auth, "WINDOW", 3600.0)
