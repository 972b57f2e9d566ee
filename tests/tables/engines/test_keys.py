"""Keys of groups come in the order in which Python sorts them, whatever they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from duotone.tables.engines.results import Keys

TEXTS = st.text(st.sampled_from("aZé\uffff\U0001f600~ "), max_size=3)
NUMBERS = st.integers(-3, 3) | st.integers(-(2**70), 2**70)


@given(st.lists(st.tuples(NUMBERS, TEXTS), unique=True, max_size=12), st.data())
def test_keys_are_in_pythons_own_order(pairs: list[tuple[int, str]], data: st.DataObject) -> None:
    split = data.draw(st.integers(0, len(pairs)))
    columns = [_column([str(number) for number, _ in pairs], split), _column([text for _, text in pairs], split)]
    keys = Keys(columns, ["integer", "text"])
    assert list(keys.at(keys.order())) == sorted(pairs)
    some = np.array(data.draw(st.lists(st.integers(0, len(pairs) - 1), unique=True)) if pairs else [], dtype=np.int64)
    assert list(keys.at(some)) == [pairs[place] for place in some]


def _column(texts: list[str], split: int) -> Any:
    """As an engine sends it: in chunks."""
    return pa.chunked_array([texts[:split], texts[split:]], type=pa.string())
