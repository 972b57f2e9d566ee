"""Settings for every test."""

from __future__ import annotations

import gc
import logging
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["support.ledgers"]

settings.register_profile(
    "duotone", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("duotone")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background processes inherit that it is ignored

os.register_at_fork(before=gc.collect)
# A child that collects an open DuckDB connection ends with a signal: collect what earlier tests left behind here.

os.environ.pop("DUOTONE_LEDGER", None)  # whoever runs the tests may have a ledger, which they must not charge


class Raised(logging.Handler):
    """Raises what is logged, which ends the test."""

    def emit(self, record: logging.LogRecord) -> None:
        raise record.__dict__.get("error") or AssertionError(record.getMessage())


logging.getLogger("duotone.trial").addHandler(Raised())  # an error that a trial ignores in production is a mistake of ours

FALSE_ALARMS = 1e-6
"""Highest probability that a run of the whole suite fails without cause."""


SLOW = ("spark", "six_nodes", "cluster", "wheel", "forked_child", "can_be_proved", "small_graph", "on_postgres", "mutation",
        "damaged")  # fmt: skip
"""Parts of the names of slow tests: each of two workers starts with some, so that neither ends with one."""


HERE = Path(__file__).parent
STATISTICAL = {f"duotone.release.audit.audit_{what}": 1e-10 for what in ("answers", "margins")}
"""Docstrings that run as statistical tests, and cannot carry the marker."""


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Statistical tests state how often each fails without cause; all together must stay below `FALSE_ALARMS`. Tests may ask
    what an answer warns of, as with an epsilon of 50; docs, docstrings and examples may not, but for clipped values."""
    for item in items:
        if item.name in STATISTICAL:
            item.add_marker(pytest.mark.false_alarm(STATISTICAL[item.name]))
        about = "" if HERE in item.path.parents else ".* ((is|are) about (clipped|at most)|counts in at most) "
        item.add_marker(pytest.mark.filterwarnings(f"ignore:{about}:duotone.errors.AnswerWarning"), append=False)
    yield  # then markers deselect some, and the others are shuffled
    slow = [[item for item in items if word in item.name or word in getattr(item, "fixturenames", ())] for word in SLOW]
    first, second = slow[0], [item for some in slow[1:] for item in some if item not in slow[0]]
    others = [item for item in items if item not in {*first, *second}]
    middle = len(items) // 2 - len(first)
    items[:] = [*first, *others[:middle], *dict.fromkeys(second), *others[middle:]]
    rates = [marker.args[0] for item in items for marker in item.iter_markers("false_alarm")]
    if not sum(rates) < FALSE_ALARMS:
        raise pytest.UsageError(f"the suite would fail without cause in {sum(rates):.2g} of its runs: make its tests surer")
