"""What holds of every query that is asked about as a table: refused, unless it is vouched for."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from duotone import ApproxDP, DuotoneError, prepare

P = ApproxDP(9, "0.1")
SAID = "vouched for, not checked: each row of {} belongs to one person, a p, and no row depends on other people's rows"
DATA = pa.table({"x": range(60), "p": [i % 7 for i in range(60)]})


def only_vouched(source: Any, what: str, **options: Any) -> None:
    """Refused by a sentence that names the option; with it answered, and said so."""
    with pytest.raises(DuotoneError, match=rf"^{what} is not a stored table.*\(vouched\)"):
        prepare(source, "count(*) > 40", P, **options)
    with pytest.raises(DuotoneError, match="vouched must be true or false"):
        prepare(source, "count(*) > 40", P, vouched="no", **options)
    asked = "count(*) filter (where x > 3) > 40"
    with prepare(source, asked, P, unit="p", max_rows=20, vouched=True, **options) as prepared:
        assert [str(note) for note in prepared.facts.remarks] == [SAID.format(what)]
        keys, people, levels = prepared._levels()
        with prepare(DATA, asked, P, unit="p", max_rows=20) as stored:
            assert stored._levels() == (keys, people, levels)
            assert stored.facts.remarks == ()
