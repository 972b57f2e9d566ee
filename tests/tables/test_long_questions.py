"""What is the longest that a service takes: whether it is answered or refused, it is read by few steps."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from duotone import prepare
from duotone.errors import DuotoneError

LONGEST = 4000
TABLE = pa.table({"region": ["N"], "x": [1]})
FORMS: dict[str, Callable[[int], str]] = {
    "joined texts": lambda n: f"count(*) filter (where {'||'.join(['region'] * n)} = 'a') > 1",
    "sums of a row": lambda n: f"count(*) filter (where {'+'.join(['x'] * n)} > 2) > 1",
    "calls": lambda n: f"count(*) filter (where {'lower(' * n}region{')' * n} = 'a') > 1",
    "wide and deep": lambda n: f"count(*) filter (where {'lower(' * 20}concat({','.join(['region'] * n)}){')' * 20} = 'a') > 1",
    "conditions": lambda n: f"count(*) filter (where {' and '.join(['x = 1'] * n)}) > 1",
    "questions": lambda n: " and ".join(["count(*) > 1"] * n),
    "lists": lambda n: f"count(*) filter (where x in ({','.join(map(str, range(n)))})) > 1",
    "choices": lambda n: f"count(*) filter (where {'case when x = 1 then ' * n}region{' end' * n} = 'a') > 1",
    "brackets": lambda n: f"{'(' * n}count(*) > 1{')' * n}",
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("most", [90, LONGEST])
def test_a_long_question_is_read_soon(form: str, most: int) -> None:
    many = max(n for n in range(1, most) if len(FORMS[form](n)) <= LONGEST)
    refused, calls = "", 0

    def counted(_: Any, event: str, __: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(counted)
    try:
        prepare(TABLE, FORMS[form](many), epsilon=1).close()
    except DuotoneError as error:
        refused = str(error)
    finally:
        sys.setprofile(None)
    assert calls < 15e6  # with its trial; an unbounded depth took hundreds of millions
    assert not refused or "nested too deeply" in refused or "could need" in refused


def test_conditions_may_be_many() -> None:
    """Those that are connected are not inside one another."""
    prepare(TABLE, FORMS["conditions"](300), epsilon=1).close()
    with pytest.raises(DuotoneError, match="at most 100 operations may be inside one another"):
        prepare(TABLE, FORMS["joined texts"](150), epsilon=1)
