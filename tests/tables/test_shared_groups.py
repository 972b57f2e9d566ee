"""Questions whose many answers share (ε, δ) by one Rényi order: chosen by public facts, said, and charged once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from duotone import ApproxDP, Charge, DuotoneError, OverBudget, ask, balanced, open_ledger, prepare, prove, select_groups
from duotone.ledger.entries import canonical
from duotone.ledger.verify import verify
from duotone.line.three_way import ThreeWay
from duotone.model.terms import DefiniteTerms
from duotone.model.wanted import WantedError
from duotone.privacy.renyi import RenyiDP, Shared
from duotone.tables.ask import ask_all
from duotone.tables.check_question import prepare_all, prepare_groups
from support.ledgers import ending, rows_of

USUAL = ApproxDP(1, "1e-6")
TOWNS = pa.table({
    "who": [i for i in range(600) for _ in range(2)],
    "town": [town for i in range(600) for town in ("Ely" if i < 500 else "Rye", "Wye" if i < 50 else "Hay")],
    "x": [1.0] * 1200,
})  # fmt: skip
BY_TOWN = "select town, avg(x) > 0.5 from t group by town"
HALF: dict[str, Any] = {"per_unit": "max", "bounds": {"x": (0, 1)}}
ABOUT: dict[str, Any] = {"unit": "who", "neighbours": "add-remove", "version": "1"}


def terms_of(asked: Any) -> DefiniteTerms:
    assert isinstance(asked.terms, DefiniteTerms)
    return asked.terms


@pytest.mark.parametrize("groups", [None, ["Ely", "Rye", "Wye", "Hay"]])
@pytest.mark.parametrize(
    ("most", "margins", "shares"),
    [
        (1, None, False),
        (1, False, False),
        (4, None, False),
        (5, False, True),
        (50, None, True),
        (50, False, True),
        (50, True, False),
    ],
)
def test_public_facts_decide(most: int, margins: bool | None, shares: bool, groups: Any) -> None:
    """Also of listed groups; and it is never about rows."""
    for table in (TOWNS, TOWNS.slice(0, 0)):
        asked: dict[str, Any] = {**HALF, "unit": "who", "max_groups": most, "margins": margins}
        asked |= {} if groups is None else {"groups": {"town": groups}}
        with prepare(table, BY_TOWN, USUAL, **asked) as prepared:
            terms = terms_of(prepared)
            assert (terms.shared is not None) is shares
            assert isinstance(terms.share, RenyiDP if shares else ApproxDP)
            assert any("share the budget by one Rényi order" in note for note in prepared.notes) is shares
            assert prepared.facts.document()["privacy"]["parts"] == most
            assert prepared.facts.report("B").startswith("differential privacy, B")


def test_groups_are_shown_without_sizes_and_answers_have_no_margin() -> None:
    about: dict[str, Any] = {"unit": "who", "max_groups": 50}
    shown = select_groups(TOWNS, "town", USUAL, **about)
    assert {("Ely",), ("Hay",)} <= {*shown.answers}
    assert shown.sizes == {}
    assert "50 answers share the budget by one Rényi order" in shown.notes[0]
    assert prove(json.loads(json.dumps(shown.certificate()))).startswith("private and optimal")
    sized = select_groups(TOWNS, "town", ApproxDP(60, "1e-6"), **about, margins=True)
    assert set(sized.sizes) == {("Ely",), ("Hay",), ("Rye",), ("Wye",)}
    answers = ask(TOWNS, BY_TOWN, USUAL, **about, **HALF)
    assert answers.answers["Ely",] is True
    assert answers.margins == {}
    assert "ε = 1, δ = 1e-06 per who" in answers.quote()
    with prepare(TOWNS, BY_TOWN, USUAL, **about, **HALF, costs=(10, 1)) as asked:
        no, yes = terms_of(asked).accuracy.errors(1)
        assert 10 * no == pytest.approx(yes, rel=1e-6)


def test_a_ledger_is_charged_once_for_all(tmp_path: Path) -> None:
    """The whole (ε, δ), whatever the groups; asked again it is free, divided evenly it is another question."""
    with open_ledger(tmp_path / "l.ledger") as ledger:
        ledger.register("t", ApproxDP(3, "3e-6"), **ABOUT)
        asked: dict[str, Any] = {**HALF, "unit": "who", "max_groups": 50, "ledger": ledger, "dataset": "t"}
        first = ask(TOWNS, BY_TOWN, USUAL, **asked)
        assert first.receipt is not None
        assert str(first.receipt.left) == "epsilon 2, delta 2e-06"
        again = ask(TOWNS, BY_TOWN, USUAL, **asked)
        assert again.receipt is not None
        assert again.receipt.free
        assert again.answers == first.answers
        divided = ask(TOWNS, BY_TOWN, USUAL, **asked, margins=True)
        assert divided.receipt is not None
        assert divided.receipt.before is not None
        assert divided.receipt.before.differs == ("way of sharing the budget",)
        with prepare_groups(TOWNS, "town", USUAL, unit="who", max_groups=50) as shown:
            left = shown.charge(ledger, "t").receipt
            assert left is not None
            assert str(left.left) == "epsilon 0, delta 0"
        with pytest.raises(OverBudget, match="50 answers together at ApproxDP"):
            ask(TOWNS, BY_TOWN.replace("0.5", "0.4"), USUAL, **asked)
        order = Shared.of(USUAL, 50).order
        charges = ledger.statement("t").charges
        shared = f"+order {order} of 50"
        assert [c.boundary for c in charges] == [f"balanced+selection{shared}", "balanced+selection", f"selection{shared}"]
        assert [c.answers for c in charges] == [1, 50, 1]
        assert charges[0].cost.numbers() == {"answers": 50, "together": USUAL}
        assert (("Ely",), "yes") in [(tuple(key), said) for key, said in charges[0].in_words]
        assert ledger.verify().holds


def test_an_earlier_answer_that_was_shared_alike_differs_by_its_budget_or_costs(tmp_path: Path) -> None:
    """Not by its order, which follows from the budget."""
    with open_ledger(tmp_path / "l.ledger") as ledger:
        ledger.register("t", ApproxDP(9, "1e-4"), **ABOUT)
        asked: dict[str, Any] = {**HALF, "unit": "who", "max_groups": 50, "ledger": ledger, "dataset": "t"}
        said = []
        for privacy, costs in ((USUAL, None), (ApproxDP(3, "1e-6"), None), (ApproxDP(3, "1e-6"), (10, 1)), (USUAL, (10, 1))):
            receipt = ask(TOWNS, BY_TOWN, privacy, **asked, costs=costs).receipt
            assert receipt is not None
            said.append(receipt.before and receipt.before.differs)
        assert said == [None, ("epsilon",), ("choice of costs",), ("epsilon",)]
        assert len({charge.boundary.partition("+order ")[2] for charge in ledger.statement("t").charges}) == 2


def test_forged_sharing_is_found(tmp_path: Path) -> None:
    """With right hashes and sums: an order at which nothing fits, two answers, another word."""
    with open_ledger(tmp_path / "l.ledger") as ledger:
        ledger.register("t", ApproxDP(3, "3e-6"), **ABOUT)
        with prepare_groups(TOWNS, "town", USUAL, unit="who", max_groups=50) as shown:
            shown.charge(ledger, "t")
        entries = [{name: value for name, value in e.items() if name not in ("seq", "hash")} for e in ledger.entries()]

    def problems(boundary: str) -> tuple[str, ...]:
        from duotone.ledger.entries import key_of

        body = {**entries[1], "boundary": boundary}
        body["key"] = key_of("t", "1", body, ("who", "add-remove"))
        rows = rows_of([canonical(each) for each in (entries[0], body)])
        return verify(rows, ending(rows)).problems

    assert problems(entries[1]["boundary"]) == ()
    for forged in (
        "selection+order 3 of 50",
        "selection+order 300 of 50",
        "selection+order 19 of 0",
        "selection+order 19",
        "selection+x",
    ):
        assert problems(forged) == ("entry 2 is for an answer that the account sum does not cover",)


def test_what_shares_cannot_be_charged_otherwise(tmp_path: Path) -> None:
    shared = Shared.of(USUAL, 50)
    assert Charge(balanced(shared.each), shared=shared).numbers() == {"answers": 50, "together": USUAL}
    for mechanism, answers in ((balanced(USUAL), 1), (balanced(shared.each), 2)):
        with pytest.raises(DuotoneError, match="have its definition, and are charged once"):
            Charge(mechanism, answers, shared=shared)
    with open_ledger(tmp_path / "l.ledger") as ledger:
        ledger.register("t", ApproxDP(5, "1e-4"), account="renyi", **ABOUT)
        with (
            prepare(TOWNS, BY_TOWN, USUAL, **HALF, unit="who", max_groups=50) as asked,
            pytest.raises(DuotoneError, match=r"here give a price of order .*, or divide epsilon and delta"),
        ):
            asked.charge(ledger, "t")
        reply = ask(TOWNS, BY_TOWN, USUAL, **HALF, unit="who", max_groups=50, ledger=ledger, dataset="t")  # divided there
        assert terms_of(reply.facts).shared is None


def test_words_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(DuotoneError, match="under one Rényi order an answer has no margin"):
        prepare(TOWNS, BY_TOWN, RenyiDP(20, 9, "1e-7"), **HALF, unit="who", max_groups=9, margins=True)
    with pytest.raises(DuotoneError, match="under one Rényi order an answer has no margin"):
        prepare_groups(TOWNS, "town", RenyiDP(20, 9, "1e-7"), unit="who", max_groups=9, margins=True)
    with pytest.raises(DuotoneError, match="takes its budget from its ThreeWay"):
        prepare(TOWNS, BY_TOWN, ThreeWay(ApproxDP("0.1"), "1e-9"), margins=True)
    with prepare(TOWNS, BY_TOWN, WantedError("0.01", 30), **HALF, unit="who", max_groups=50, groups={"town": ["Ely"]}) as asked:
        assert terms_of(asked).shared is None  # its least ε is that of answers which divide it


MANY = [f"avg(x) > 0.{i:02}" for i in range(1, 100)] + ["count(*) > 30"]


def test_a_hundred_questions_share_by_one_order() -> None:
    """Wrong at most once in a thousand from 86 people on, and divided from 622; a question by group counts more than once."""
    about: dict[str, Any] = {"unit": "who", "max_rows": 1, **HALF}
    with prepare_all(TOWNS, MANY, USUAL, together=True, **about) as every:
        assert {terms_of(asked).shared for asked in every} == {Shared.of(USUAL, 100)}
        assert every[0].error(86) <= 0.001 < every[0].error(85)
        with pytest.raises(
            DuotoneError, match="100 questions share epsilon and delta by one Rényi order: release them together"
        ):
            _ = every[0].cost
        assert [every[0].release().answer, every[-1].release().answer] == [True, True]
        assert "100 such answers are private together" in prove(json.loads(json.dumps(every[0].release().certificate())))
    divided: list[dict[str, Any]] = [{}, {"together": True, "margins": True}, {"together": True, "each": True}]
    for options in divided:
        with prepare_all(TOWNS, MANY[:20], USUAL, **about, **options) as every:
            assert {terms_of(asked).shared for asked in every} == {None}
    with prepare_all(TOWNS, [*MANY[:20], BY_TOWN], USUAL, together=True, max_groups=30, **about) as every:
        assert sum(terms_of(asked).parts for asked in every) == 50
        assert {terms_of(asked).shared for asked in every} == {Shared.of(USUAL, 50)}
        assert set(every[-1].release().answers) >= {("Ely",), ("Hay",)}
    answers = ask_all(TOWNS, MANY[:20], USUAL, **about, costs=(10, 1))
    assert [answer.answer for answer in answers] == [True] * 20
    assert all(answer.margins == {} for answer in answers)
