"""`frame.duotone`: the same questions, as methods of a frame."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pandas as pd
import polars as pl
import pytest

import duotone.accessors
from duotone import DuotoneError, ask, prepare, select_groups
from duotone.tables.inspection import inspect_clipping

COLUMNS = {"person": [*range(400)], "town": ["Ely"] * 399 + ["Wells"], "cost": [40.0] * 400}


@pytest.fixture(params=[pd.DataFrame, pl.DataFrame])
def frame(request: pytest.FixtureRequest) -> Any:
    return request.param(COLUMNS)


def test_the_same_answers(frame: Any) -> None:
    assert frame.duotone.ask("count(*) > 200", epsilon=1, delta=1e-6)
    assert not frame.duotone.ask("avg(cost) > 60", epsilon=1, delta=1e-6, bounds={"cost": (0, 100)})
    with frame.duotone.prepare("count(*) > 200", epsilon=1, delta=1e-6) as asked:
        assert asked.error(1) > 0.2
    shown = frame.duotone.select_groups("town", epsilon=1, delta=1e-13, unit="person", max_groups=1)
    assert list(shown.answers) == [("Ely",)]
    assert frame.duotone.inspect_clipping(bounds={"cost": (0, 30)}).values[0].above == 400


def test_errors_are_the_same(frame: Any) -> None:
    with pytest.raises(DuotoneError, match="needs bounds"):
        frame.duotone.ask("avg(cost) > 60", epsilon=1)


@pytest.mark.parametrize("function", [ask, prepare, select_groups, inspect_clipping])
def test_each_takes_what_its_function_takes_after_the_table(function: Any) -> None:
    own = inspect.signature(getattr(pl.DataFrame(COLUMNS).duotone, function.__name__))  # type: ignore[attr-defined]
    assert [*own.parameters] == [*inspect.signature(function).parameters][1:]


def test_a_lazy_frame_has_none() -> None:
    assert not hasattr(pl.LazyFrame(COLUMNS), "duotone")
    assert duotone.accessors.__doc__


CHECKS = {
    "import duotone, sys; assert not {'pandas', 'polars'} & set(sys.modules)": "",
    "import sys; sys.modules['pandas'] = sys.modules['pandas.api.extensions'] = None; import duotone.accessors, polars as pl;"
    "print(hasattr(pl.DataFrame, 'duotone'))": "True",
    "import sys; sys.modules['polars'] = sys.modules['polars.api'] = None; import duotone.accessors, pandas as pd;"
    "print(hasattr(pd.DataFrame, 'duotone'))": "True",
    "import sys; sys.modules['polars'] = sys.modules['polars.api'] = sys.modules['pandas.api.extensions'] = None\n"
    "try: import duotone.accessors\nexcept Exception as error: print(type(error).__name__, error)":
    "DuotoneError .duotone needs data frames: install pandas or Polars first",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("program", CHECKS)
def test_neither_is_needed(program: str) -> None:
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == CHECKS[program]
