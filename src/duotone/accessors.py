"""Questions as a method of a data frame: `import duotone.accessors`, and pandas' and Polars' frames have `.duotone`.

Whichever of the two is installed gets it. A Polars `LazyFrame` does not: collect it first.

>>> import duotone.accessors
>>> import polars as pl
>>> votes = pl.DataFrame({"vote": ["Y"] * 868 + ["N"] * 700})
>>> print(votes.duotone.ask("mode(vote) = 'Y'", epsilon=1, delta=1e-6))
yes
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from duotone.errors import DuotoneError
from duotone.line.three_way import ThreeWay
from duotone.model.terms import WantedError
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given
from duotone.tables import ask as asking
from duotone.tables.answers import Answers
from duotone.tables.inspection import Inspection, inspect_clipping
from duotone.tables.prepared import Prepared


class FrameQuestions:
    """What a frame's `.duotone` has. Each method takes what the function of that name takes after the table, in whose place is
    the frame; a budget, whose person is who, and all else is as there."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def ask(
        self,
        question: str,
        privacy: ApproxDP | None = None,
        *,
        ledger: Any = None,
        dataset: str | None = None,
        again: bool = False,
        asker: str | None = None,
        **options: Any,
    ) -> Answers:
        """A private answer to a yes/no question about the frame: see `duotone.ask`."""
        charge = {"ledger": ledger, "dataset": dataset, "again": again, "asker": asker}
        return asking.ask(self._frame, question, privacy, **charge, **options)

    def prepare(
        self,
        question: str,
        privacy: ApproxDP | ThreeWay | WantedError | None = None,
        *,
        epsilon: Given | None = None,
        delta: Given | None = None,
        costs: tuple[Given, Given] | None = None,
        **declared: Any,
    ) -> Prepared:
        """Check a question without reading any row: see `duotone.prepare`. A ledger is charged by what this returns."""
        return asking.prepare(self._frame, question, privacy, epsilon=epsilon, delta=delta, costs=costs, **declared)

    def select_groups(self, by: Sequence[str] | str, privacy: ApproxDP | None = None, **options: Any) -> Answers:
        """Which keys may be shown: see `duotone.select_groups`."""
        return asking.select_groups(self._frame, by, privacy, **options)

    def inspect_clipping(self, *, by: Sequence[str] | str | None = None, **declared: Any) -> Inspection:
        """How much bounds and limits would clip, NOT private: see `duotone.tables.inspection.inspect_clipping`."""
        return inspect_clipping(self._frame, by=by, **declared)


def _register() -> None:
    registered = False
    with contextlib.suppress(ImportError):
        from pandas.api.extensions import register_dataframe_accessor

        register_dataframe_accessor("duotone")(FrameQuestions)
        registered = True
    with contextlib.suppress(ImportError):
        from polars.api import register_dataframe_namespace

        register_dataframe_namespace("duotone")(FrameQuestions)
        registered = True
    if not registered:
        raise DuotoneError("there is no data frame to give .duotone to: install pandas or Polars first")


_register()
