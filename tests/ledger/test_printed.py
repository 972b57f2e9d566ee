"""What is spent and what is left, as it is printed and as a notebook shows it; and a data frame in a ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from duotone import ApproxDP, Dataset, DuotoneError, ask, open_ledger
from duotone.html import LONGEST, aligned
from duotone.ledger.ledger import Ledger
from duotone.tables.ask import ask_all

TABLE = pa.table({"x": [*range(300)], "town": ["Ely", "Bath"] * 150})


@pytest.fixture
def stays(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "budget.ledger") as ledger:
        ledger.register("stays", ApproxDP(5, "1e-3"), unit="row", neighbours="add-remove", version="2026")
        yield ledger


def test_a_statement_is_a_table(stays: Ledger) -> None:
    named = "stays, version 2026: ApproxDP(epsilon=5.0, delta=1/1000)"
    assert repr(stays.statement("stays")) == f"{named}; left: epsilon 5, delta 0.001"
    ask(TABLE, "count(*) > 100", epsilon=1, delta="1e-6", ledger=stays)
    by_town = "select town, count(*) > 100 from t group by town"
    ask(TABLE, by_town, epsilon=1, delta="1e-6", groups=["Ely", "Bath"], ledger=stays)
    stands = stays.statement("stays")
    title, head, *rows = str(stands).splitlines()
    assert title == f"{named}; left: epsilon 3, delta 0.000998"
    assert head.split() == ["charge", "when", "(UTC)", "who", "question", "cost", "answer"]
    answers = [row[head.index("answer") :] for row in rows]
    assert [said.split(": ")[0] if ":" in said else said[:16] for said in answers[:3]] == ["a count of about", "Ely", "Bath"]
    assert max(map(len, rows)) < 3 * LONGEST
    page = stands._repr_html_()
    assert page.count("<tr>") == 3
    assert named in page


def test_what_is_left_is_a_table_in_a_notebook(stays: Ledger) -> None:
    left = stays.statement("stays").left
    assert (str(left), repr(left)) == ("epsilon 5, delta 0.001", "<Left: epsilon 5, delta 0.001>")
    assert ">epsilon</td><td style=text-align:left>5.0</td>" in left._repr_html_()


def test_what_is_no_place_of_a_ledger() -> None:
    place: Any
    for place in (3, None, {}):
        with pytest.raises(DuotoneError, match=r'^a ledger is named by its place, as "budget.ledger", got '):
            open_ledger(place)


def test_cells_of_several_lines() -> None:
    table = aligned(("a", "b"), [("x\ny", ""), ("z", "1 " * 40)]).splitlines()
    assert table == ["a  b", "x", "y", f"z  {'1 ' * 30}".rstrip(), f"   {'1 ' * 10}".rstrip()]


def test_a_data_frame_is_charged_to_the_only_dataset(stays: Ledger, tmp_path: Path) -> None:
    question, place = "count(*) > 100", tmp_path / "budget.ledger"
    first = ask(TABLE, question, epsilon=1, ledger=stays)
    for given in (place, str(place), stays):
        free = ask(TABLE, question, epsilon=1, ledger=given)
        named = ask(TABLE, question, epsilon=1, ledger=given, dataset="stays")
        assert free.receipt is not None
        assert named.receipt is not None
        assert (free.receipt.free, named.receipt.free, free.answers) == (True, True, first.answers)
        (of_all,) = ask_all(TABLE, [question], epsilon=1, ledger=given)
        of_dataset = ask(Dataset(TABLE, ledger=given), question, epsilon=1)
        assert of_all.answers == of_dataset.answers == first.answers
        with pytest.raises(DuotoneError, match="there is no dataset stay in this ledger; it has stays: name one of these"):
            ask(TABLE, question, epsilon=1, ledger=given, dataset="stay")
    with pytest.raises(DuotoneError, match=r'ledger must be the place of one, as "budget\.ledger", or an open one, got dict'):
        ask(TABLE, question, epsilon=1, ledger={})  # type: ignore[arg-type]
    stays.register("votes", ApproxDP(1), unit="row", neighbours="add-remove", version="1")
    several = r"^a data frame has no name, and the datasets of this ledger are stays, votes: say which one it is \(dataset\)$"
    with pytest.raises(DuotoneError, match=several):
        ask(TABLE, question, epsilon=1, ledger=stays)
    assert stays.statement("stays").state.charges == 1
