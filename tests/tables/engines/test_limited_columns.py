"""A table that is limited to some columns: as if it had no other, in every kind of file and every way to name one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from duotone import ApproxDP, Dataset, prepare
from duotone.errors import DuotoneError
from duotone.tables.check_question import prepare_groups
from duotone.tables.engines.open import open_source

ROWS = pa.table(
    {"who": ["a", "b", "c", "a"], "town": ["Ely", "Wells", "Ely", "Ely"], "pay": [1, 2, 3, 4], "hidden": [5, 6, 7, 8]}
)
PRIVACY = ApproxDP(1, "1e-6")
REACHING = [
    "sum(hidden) > 1",
    "count(*) filter (where hidden > 5) > 1",
    "count(hidden) > 1",
    "avg(pay + hidden) > 1",
    'median("HIDDEN") > 1',
    "select hidden, count(*) > 1 from t group by hidden",
    "select count(*) > 1 from t where hidden is null",
    "select count(*) filter (where h > 5) > 1 from (select who, sum(hidden) as h from t group by who)",
    "count(distinct hidden) > 1",
]


def opened(kind: str, folder: Path) -> Any:
    match kind:
        case "csv":
            pyarrow.csv.write_csv(ROWS, folder / "t.csv")
            return open_source(folder / "t.csv", separator=",", types={"pay": "number", "hidden": "number"})
        case "parquet":
            pyarrow.parquet.write_table(ROWS, folder / "t.parquet")
            return open_source(folder / "t.parquet")
    return open_source(ROWS)


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_a_hidden_column_cannot_be_named(tmp_path: Path, kind: str) -> None:
    bounds = {"pay": (0, 9)}
    with opened(kind, tmp_path) as source:
        limited = source.limited_to(["WHO", "town", "pay"])
        assert list(limited.columns) == ["who", "town", "pay"]
        for question in REACHING:
            options: dict[str, Any] = {"unit": "who"} if "from (" in question else {}
            options |= {"bounds": {"hidden": (0, 9)}} if "avg" in question else {}
            with pytest.raises(DuotoneError, match=r"no column|has no|it has") as error:
                prepare(limited, question, PRIVACY, **options)
            assert "hidden, " not in str(error.value)
        with pytest.raises(DuotoneError):
            prepare_groups(limited, ["hidden"], PRIVACY)
        for unit in ("hidden", "HIDDEN"):
            with pytest.raises(DuotoneError):
                prepare(limited, "count(*) > 1", PRIVACY, unit=unit)
        levels = [prepare(table, "sum(pay) > 3", PRIVACY, bounds=bounds)._levels()[2].tolist() for table in (source, limited)]
        assert levels[0] == levels[1]
        with pytest.raises(DuotoneError, match="no column wealth"):
            source.limited_to(["wealth"])


def test_a_question_has_the_list_that_fits_it(tmp_path: Path) -> None:
    lists = {("town",): ["Ely", "Wells"], ("town", "who"): [("Ely", "a")]}
    with opened("parquet", tmp_path) as source:
        asked = {
            by: prepare(source, f"select {by}, count(*) > 1 from t group by {by}", PRIVACY, groups=lists).listed
            for by in ("town", "town, who")
        }
        assert asked == {"town": (("Ely",), ("Wells",)), "town, who": (("Ely", "a"),)}
        with pytest.raises(DuotoneError, match="groups has no list for who"):
            prepare(source, "select who, count(*) > 1 from t group by who", PRIVACY, groups=lists)
        declared = Dataset(source, groups=lists)
        assert prepare(declared, "select who, count(*) > 1 from t group by who", PRIVACY).listed is None
        assert prepare(Dataset(source, groups=lists), "count(*) > 1", PRIVACY).listed is None
