"""A ledger, in a file and in Postgres: what is charged, what is free, what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duotone import ApproxDP, Charge, Coin, DuotoneError, OverBudget, balanced, open_ledger, partition_selection
from duotone.errors import LedgerError
from duotone.ledger.ledger import Ledger
from support.ledgers import ABOUT, HALF, ask, register


def test_from_the_registration_to_the_last_answer(place: str) -> None:
    ledger = open_ledger(place)
    register(ledger)
    assert not ask(ledger).free
    assert ask(ledger).free
    assert not ask(ledger, again=True).free
    with pytest.raises(OverBudget):
        ask(ledger, again=True)
    assert ledger.verify().holds
    assert len(ledger.statement("census").charges) == 2
    assert ledger.datasets() == ["census"]
    assert repr(ledger) == f"<Ledger: {ledger.place}>"
    ledger.close()
    assert ask(ledger).free
    ledger.close()


def test_charge_then_flip(ledger: Ledger, place: str) -> None:
    """While the coin is flipped, the charge is already there for everyone else; the answer is not."""
    seen: list[list[str]] = []

    def flip() -> bool:
        with open_ledger(place) as other:
            seen.append([entry["kind"] for entry in other.entries()])
        return Coin(HALF.mechanism).answer(3).answer

    receipt = ledger.ask("census", "q", HALF, flip, **ABOUT)
    assert seen == [["register", "charge"]]
    assert [entry["kind"] for entry in ledger.entries()] == ["register", "charge", "answer"]
    assert (receipt.charge, receipt.free, str(receipt.left), receipt.unanswered) == (2, False, "epsilon 0.5, delta 0", 0)


@pytest.mark.slow
def test_the_same_question_is_free_and_never_flips(ledger: Ledger) -> None:
    flips: list[int] = []
    first = ask(ledger, flips=flips)
    same = ask(ledger, flips=flips)
    assert (len(flips), same.free, same.answer, same.charge) == (1, True, first.answer, first.charge)
    assert not ask(ledger, again=True, flips=flips).free
    assert len(flips) == 2
    assert ask(ledger, flips=flips).charge == 4  # the latest answer
    assert len(ledger.entries()) == 5


def test_a_recorded_answer_cannot_be_changed_through_a_receipt(ledger: Ledger) -> None:
    def again() -> Any:
        return ledger.ask("census", "q", HALF, lambda: {"towns": ["Ely"]}, **ABOUT).answer

    for _ in range(3):
        answer = again()
        assert answer == {"towns": ["Ely"]}
        answer["towns"].append("Wells")
        ledger.statement("census").charges[0].answer["towns"].clear()


@pytest.mark.parametrize("other", ["question", "notion", "boundary", "answers", "version"])
def test_another_question_is_charged(place: str, other: str) -> None:
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP(8))
        ask(ledger)
        sales = {
            "notion": Charge(balanced(ApproxDP("0.4"))),
            "boundary": Charge(partition_selection(ApproxDP("0.5"))),
            "answers": Charge(balanced(ApproxDP("0.5")), 2),
        }
        if other == "version":
            ledger.relabel("census", "2", done_by="ann")
        assert not ask(ledger, "another" if other == "question" else "q", sales.get(other, HALF)).free
        assert ledger.verify().holds


def test_a_refused_charge_releases_nothing_and_says_what_is_left(ledger: Ledger) -> None:
    ask(ledger)
    ask(ledger, "r", Charge(balanced(ApproxDP("0.2"))))
    before = ledger.entries()
    flips: list[int] = []
    with pytest.raises(
        OverBudget, match=r"1 answer at .* does not fit into the budget of census; left: epsilon 0.3"
    ) as refused:
        ask(ledger, "s", flips=flips)
    assert flips == []
    assert ledger.entries() == before
    assert (refused.value.dataset, str(refused.value.left)) == ("census", "epsilon 0.3, delta 0")
    with pytest.raises(OverBudget, match="2 answers at"):
        ask(ledger, "s", Charge(balanced(ApproxDP("0.2")), 2))
    assert ask(ledger).free  # what was paid for stays


def test_a_wasted_charge_is_told(ledger: Ledger) -> None:
    def crash() -> bool:
        raise RuntimeError("the engine failed")

    with pytest.raises(RuntimeError, match="the engine failed"):
        ledger.ask("census", "q", Charge(balanced(ApproxDP("0.1"))), crash, **ABOUT)
    account = ledger.statement("census")
    assert account.state.unanswered == 1
    assert [charge.answered for charge in account.charges] == [False]
    assert account.spent == (0.1, 0.0)
    assert ask(ledger).unanswered == 1
    assert ask(ledger).unanswered == 1
    with pytest.raises(DuotoneError, match="JSON can hold; the charge stands"):
        ledger.ask("census", "r", Charge(balanced(ApproxDP("0.1"))), lambda: float("nan"), **ABOUT)
    assert ledger.statement("census").state.unanswered == 2
    assert ledger.verify().holds


def test_unit_and_neighbours_must_match(ledger: Ledger) -> None:
    flips: list[int] = []
    with pytest.raises(DuotoneError, match="registered with unit person, and the question has row"):
        ask(ledger, unit="row", flips=flips)
    with pytest.raises(DuotoneError, match="registered with neighbours replace, and the question has add-remove"):
        ask(ledger, neighbours="add-remove", flips=flips)
    with pytest.raises(LedgerError, match="there is no dataset other in this ledger"):
        ask(ledger, dataset="other", flips=flips)
    for dataset in (None, "", 7, "\ud800"):
        with pytest.raises(DuotoneError, match="a dataset is a short printable text"):
            ask(ledger, dataset=dataset, flips=flips)  # type: ignore[arg-type]
    with pytest.raises(DuotoneError, match="a question is a text"):
        ask(ledger, "", flips=flips)
    assert flips == []


def test_a_wrong_registration_is_put_right_under_another_name_while_nothing_is_charged(ledger: Ledger) -> None:
    advice = r"register another name, and ask by that name \(dataset\)$"
    register(ledger, dataset="wrong", unit="row")
    with pytest.raises(LedgerError, match=rf"nothing was charged to it, and if .* close it \(close_dataset\), {advice}"):
        register(ledger, dataset="wrong")
    ledger.close_dataset("wrong")
    with pytest.raises(LedgerError, match=f"nothing was charged to it, and it is closed: {advice}"):
        register(ledger, dataset="wrong")
    register(ledger, dataset="right")
    assert not ask(ledger, dataset="right").free
    with pytest.raises(
        LedgerError, match=r"right is registered already: its budget cannot be given twice; .* say so \(if_absent\)$"
    ):
        register(ledger, dataset="right")
    assert ledger.verify().holds


def test_registration_is_checked(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="registered already"):
        register(ledger)
    with pytest.raises(DuotoneError, match="add-remove or replace, got swap"):
        register(ledger, dataset="d", neighbours="swap")
    for bad in ("", "x" * 201, "a\nb"):
        with pytest.raises(DuotoneError, match="a dataset is a short printable text"):
            register(ledger, dataset=bad)
    with pytest.raises(DuotoneError, match="a name is a short"):
        register(ledger, dataset="d", done_by="\0")
    with pytest.raises(DuotoneError, match="had the version 1 already"):
        ledger.relabel("census", "1")
    with pytest.raises(DuotoneError, match="a wait is"):
        open_ledger("x", wait=float("nan"))


def test_several_datasets_have_budgets_of_their_own(ledger: Ledger) -> None:
    register(ledger, ApproxDP(2, "1e-6"), dataset="trial", account="sum")
    ask(ledger)
    ask(ledger, dataset="trial")
    assert ledger.datasets() == ["census", "trial"]
    assert str(ledger.statement("trial").left) == "epsilon 1.5, delta 1e-06"
    assert str(ledger.statement("census").left) == "epsilon 0.5, delta 0"
    with pytest.raises(OverBudget):
        ask(ledger, "r", Charge(balanced(ApproxDP(1))))
    assert ledger.verify().holds


def test_batches_and_groups_are_charged_at_once(place: str) -> None:
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP(1, "1e-5"))
        sale = Charge(partition_selection(ApproxDP("0.01", "1e-9")), 100)
        receipt = ledger.ask("census", "groups by town", sale, lambda: ["a", "b"], **ABOUT)
        assert receipt.answer == ["a", "b"]
        assert str(receipt.left) == "epsilon 0, delta 9.9e-06"


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["0.1", "0.25", "1/3"]), st.booleans(), st.booleans()), max_size=25
    )
)
def test_any_history(tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[str, str, bool, bool]]) -> None:
    """Against a list: what is free, what is charged, what is refused; crashes waste, and nothing is ever overspent."""
    spent, answered = Fraction(0), set()
    with open_ledger(tmp_path_factory.mktemp("any") / "l") as ledger:
        register(ledger)
        for question, epsilon, again, crash in moves:

            def flip(crash: bool = crash) -> int:
                if crash:
                    raise ZeroDivisionError
                return 1

            sale, key = Charge(balanced(ApproxDP(epsilon))), (question, epsilon)
            try:
                receipt = ledger.ask("census", question, sale, flip, again=again, **ABOUT)
            except OverBudget:
                assert spent + Fraction(epsilon) > 1
                continue
            except ZeroDivisionError:
                spent += Fraction(epsilon)
                assert again or key not in answered
                continue
            assert receipt.free == (key in answered and not again)
            spent += 0 if receipt.free else Fraction(epsilon)
            answered.add(key)
        assert spent <= 1
        assert ledger.statement("census").spent[0] == pytest.approx(float(spent))
        assert ledger.verify().holds


def test_arguments_that_are_wrong_are_no_damage(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger)
        wrong: list[Any] = [
            lambda: ledger.relabel("census", ["x"]),  # type: ignore[arg-type]
            lambda: ask(ledger, unit=["u"]),
            lambda: ask(ledger, dataset=["d"]),  # type: ignore[arg-type]
            lambda: ask(ledger, charge=None),  # type: ignore[arg-type]
            lambda: open_ledger(tmp_path / "l", wait="3"),  # type: ignore[arg-type]
            lambda: open_ledger("postgresql://h/d", wait=float("inf")),
        ]
        for mistake in wrong:
            with pytest.raises(DuotoneError, match=r"^(a|charge must be a) ?"):
                mistake()
        with pytest.raises(DuotoneError, match="no dataset survey in this ledger; it has census: name one of these"):
            ask(ledger, dataset="survey")
        assert ledger.statement("census").state.charges == 0


def test_an_answer_is_not_nested_too_deeply(tmp_path: Path) -> None:
    deep: Any = True
    for _ in range(600):
        deep = [deep]
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger)
        with pytest.raises(DuotoneError, match="at most 64 lists within lists; the charge stands"):
            ledger.ask("census", "q", HALF, lambda: deep, **ABOUT)
        assert ledger.statement("census").state.unanswered == 1
        assert ask(ledger, "q").answer is True
