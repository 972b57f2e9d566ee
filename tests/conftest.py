"""Settings for every test."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile(
    "duotone", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("duotone")

FALSE_ALARMS = 1e-6
"""How often a run of the whole suite may fail without cause, at most."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Statistical tests state how often each fails without cause; all together must stay below `FALSE_ALARMS`."""
    rates = [marker.args[0] for item in items for marker in item.iter_markers("false_alarm")]
    if not sum(rates) < FALSE_ALARMS:
        raise pytest.UsageError(f"the suite would fail without cause in {sum(rates):.2g} of its runs: make its tests surer")
