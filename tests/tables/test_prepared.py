"""What is decided before a row is read or anything is charged, and what is not built until it is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from unread import read_nothing

from duotone import ApproxDP, DuotoneError, open_ledger, prepare
from duotone.line.table import line_table
from duotone.model import terms as terms_file
from duotone.model.terms import DefiniteTerms
from duotone.tables.ask import prepare_groups

P = ApproxDP(1, "1e-6")
VISITS = pa.table({"town": ["Ely"] * 30, "person": range(30), "spent": range(30)})
GROUPED = "select town, count(*) > 3 from t group by town"
TOO_SMALL = [ApproxDP("1e-7", "1e-9"), ApproxDP("1e-5"), ApproxDP(5e-324, "1e-12"), ApproxDP("1e-1000", "1e-1000")]


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    read_nothing(monkeypatch)


@pytest.mark.slow
@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("privacy", TOO_SMALL, ids=range(len(TOO_SMALL)))
def test_a_budget_without_a_table_is_refused_before_anything_is_read(privacy: ApproxDP) -> None:
    with pytest.raises(DuotoneError, match="levels: raise epsilon or delta"):
        prepare(VISITS, "count(*) > 3", privacy)
    with pytest.raises(DuotoneError, match="levels: raise epsilon or delta"):
        prepare(VISITS, GROUPED, privacy, groups=[("Ely",)])
    if privacy.delta > 0:
        with pytest.raises(DuotoneError, match="levels: raise epsilon or delta"):
            prepare_groups(VISITS, ["town"], privacy)


@pytest.mark.slow
@pytest.mark.usefixtures("unread")
def test_a_budget_for_answers_but_not_for_groups_is_refused_before_anything_is_read() -> None:
    """Which groups may be shown takes twice as many levels: that table is needed only where groups are selected."""
    privacy = ApproxDP(0, "1e-6")
    prepare(VISITS, "count(*) > 3", privacy).close()
    prepare(VISITS, GROUPED, privacy, groups=[("Ely",)]).close()
    halved = ApproxDP(0, "2e-6")  # a half for the groups, and a half for the answers
    with pytest.raises(DuotoneError, match="a table of more than 1048576 levels"):
        prepare(VISITS, GROUPED, ApproxDP(0, "1.8e-6"))
    prepare(VISITS, GROUPED, halved).close()


def test_a_table_of_probabilities_is_built_where_the_coin_is_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    built: list[Any] = []

    def build(mechanism: Any) -> Any:
        built.append(mechanism)
        return line_table(mechanism)

    monkeypatch.setattr(terms_file, "line_table", build)
    with prepare(VISITS, "avg(spent) > 3", P, bounds={"spent": (0, 30)}) as asked:
        assert isinstance(asked.terms, DefiniteTerms)
        assert asked.normal
        assert asked.cost
        assert not built
        assert asked.error(1) == pytest.approx(0.2689412)
        with open_ledger(tmp_path / "ledger.db") as ledger:
            ledger.register("visits", P, unit="row", neighbours="add-remove", version="1")
            certificate = asked.charge(ledger, "visits").certificate()
        assert certificate == {**line_table(asked.terms.mechanism).certificate(), "basis": "exact distance"}
        assert built == [asked.terms.mechanism]
