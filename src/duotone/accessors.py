"""Questions as a method of a data frame: after `import duotone.accessors`, pandas' and Polars' frames have `.duotone`.

Each of the two that is installed gets it, but not a Polars `LazyFrame`: collect it first.

>>> import duotone.accessors
>>> import polars as pl
>>> votes = pl.DataFrame({"vote": ["Y"] * 868 + ["N"] * 700})
>>> print(votes.duotone.ask("mode(vote) = 'Y'", epsilon=1, delta=1e-6))
yes
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

from duotone.errors import DuotoneError
from duotone.tables.ask import ask, select_groups
from duotone.tables.check_question import prepare
from duotone.tables.inspection import inspect_clipping


class FrameQuestions:
    """A frame's `.duotone`: `duotone.ask`, `prepare` and `select_groups`, and `inspect_clipping` (NOT private), each
    with the frame as its table."""

    def __init__(self, frame: Any) -> None:
        self.ask = partial(ask, frame)
        self.prepare = partial(prepare, frame)
        self.select_groups = partial(select_groups, frame)
        self.inspect_clipping = partial(inspect_clipping, frame)


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
        raise DuotoneError(".duotone needs data frames: install pandas or Polars first")


_register()
