"""Close calls in a ledger, in a file and in Postgres: reserved before a coin, given back when clear, and never too many."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duotone import ApproxDP, Charge, DuotoneError, OverBudget, balanced, open_ledger
from duotone.errors import LedgerError
from duotone.ledger.close_calls import CloseCalls
from duotone.ledger.entries import digest
from duotone.ledger.ledger import Ledger
from duotone.ledger.stores.store import Row
from duotone.line.three_way import ThreeWay
from duotone.model.cost import CloseCallCharge, Receipt
from support import accountant
from support.ledgers import ABOUT
from support.running import examples

QUESTION = ThreeWay(ApproxDP("0.05"))
BUDGET = ApproxDP(1, "1e-6")
MOST = 9
"""The close calls of QUESTION under BUDGET."""


def registered(ledger: Ledger, definite: ApproxDP | None = None) -> CloseCalls:
    whole = BUDGET if definite is None else ApproxDP(2, "2e-6")
    calls = ledger.register("s", whole, version="1", close_calls=QUESTION, definite=definite, **ABOUT).close_calls
    assert calls is not None
    return calls


def call(ledger: Ledger, text: str, draw: Callable[[int], tuple[Any, int]], answers: int = 1, **options: Any) -> Receipt:
    return ledger.ask("s", text, CloseCallCharge(QUESTION, answers), draw, **ABOUT, **options)


def clear(_: int) -> tuple[Any, int]:
    return "yes", 0


def close(_: int) -> tuple[Any, int]:
    return "too close to call", 1


def test_only_close_calls_are_charged_and_after_the_last_nothing_is_answered(place: str) -> None:
    with open_ledger(place) as ledger:
        assert registered(ledger).count == MOST
        for i in range(30):
            receipt = call(ledger, f"clear {i}", clear)
            assert (receipt.calls, receipt.left.close_calls, str(receipt.left)) == (0, MOST, f"{MOST} close calls")
        for i in range(MOST):
            assert call(ledger, f"close {i}", close).left.close_calls == MOST - 1 - i
        with pytest.raises(
            OverBudget,
            match="needs, clear or not, does not fit into the budget of s; left: 0 close calls;",
        ):
            call(ledger, "one more, which is clear", clear)
        assert call(ledger, "close 3", clear).free
        state = ledger.statement("s").state
        assert state.calls is not None
        assert (state.calls.used, state.calls.reserved, state.unanswered) == (MOST, 0, 0)
        assert ledger.verify().holds


def test_a_call_is_reserved_before_the_coin_and_a_crash_wastes_it(place: str) -> None:
    with open_ledger(place) as ledger:
        registered(ledger)

        def crash(calls: int) -> tuple[Any, int]:
            with open_ledger(place) as other:
                seen = other.statement("s").state.calls
            assert seen is not None
            assert (calls, seen.reserved) == (1, 1)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            call(ledger, "lost", crash)
        other = call(ledger, "other", clear)
        assert other.left.close_calls == MOST - 1
        for i in range(MOST - 1):
            call(ledger, f"close {i}", close)
        with pytest.raises(OverBudget, match="left: 0 close calls, and 1 reserved for answers under way, or lost"):
            call(ledger, "late", clear)
        assert ledger.statement("s").state.unanswered == 1
        assert ledger.verify().holds


@examples(30)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5), st.booleans()), max_size=12))
def test_a_model_of_reserving_and_giving_back(steps: list[tuple[int, int, bool]]) -> None:
    """Batches of questions of which some are close, and some are lost: against plain counting."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder, open_ledger(f"{folder}/l") as ledger:
        registered(ledger)
        taken = 0
        for i, (answers, closes, lost) in enumerate(steps):
            expected = min(answers, MOST - taken)

            def draw(calls: int, expected: int = expected, closes: int = closes, lost: bool = lost) -> tuple[Any, int]:
                assert calls == expected
                if lost:
                    raise KeyboardInterrupt
                return "answers", min(closes, calls)

            if expected < 1:
                with pytest.raises(OverBudget):
                    call(ledger, f"q{i}", draw, answers)
                continue
            if lost:
                with pytest.raises(KeyboardInterrupt):
                    call(ledger, f"q{i}", draw, answers)
                taken += expected
            else:
                taken += min(closes, expected)
                assert call(ledger, f"q{i}", draw, answers).left.close_calls == MOST - taken
        assert ledger.verify().holds
        most, used, waiting = accountant.close_calls(ledger.entries())["s"]
        assert (most, used + waiting) == (MOST, taken)


def test_an_answer_with_more_calls_than_reserved_is_not_recorded(place: str) -> None:
    with open_ledger(place) as ledger:
        registered(ledger)
        with pytest.raises(DuotoneError):
            call(ledger, "q", lambda _: ("answers", 3), 2)
        assert ledger.statement("s").state.unanswered == 1


@pytest.mark.parametrize("calls", [2, -1, 1.0, True, None, "1"])
def test_what_is_no_number_of_calls_is_refused_and_harms_nothing(place: str, calls: Any) -> None:
    with open_ledger(place) as ledger:
        registered(ledger)
        with pytest.raises(DuotoneError, match="the reserved close calls are wasted"):
            call(ledger, "q", lambda _: ("yes", calls))
        assert call(ledger, "r", clear).left.close_calls == MOST - 1
        assert ledger.verify().holds


def test_what_is_asked_is_of_its_kind(tmp_path: Any) -> None:
    wrong: Any
    for wrong in (0, -3, 2.5, True, "1"):
        with pytest.raises(DuotoneError, match="ask from 1 to"):
            CloseCallCharge(QUESTION, wrong)
    with pytest.raises(DuotoneError, match="need a ThreeWay"):
        CloseCallCharge("0.05")  # type: ignore[arg-type]
    with open_ledger(tmp_path / "l") as ledger:
        registered(ledger)
        with pytest.raises(DuotoneError, match="must be a Charge or a CloseCallCharge, got str"):
            ledger.ask("s", "q", "0.05", clear, **ABOUT)  # type: ignore[arg-type]
        options: Any
        for options in ({"close_calls": "0.05"}, {"close_calls": QUESTION, "definite": "0.5"}):
            with pytest.raises(DuotoneError, match=r"need a ThreeWay|must be an ApproxDP"):
                ledger.register("t", BUDGET, version="1", **ABOUT, **options)
        assert len(ledger.entries()) == 1


def test_quotes_count_close_calls(tmp_path: Any) -> None:
    with open_ledger(tmp_path / "l") as ledger:
        registered(ledger)
        call(ledger, "known", close)
        first, known, many, late = ledger.quote(
            "s",
            [
                ("q", CloseCallCharge(QUESTION)),
                ("known", CloseCallCharge(QUESTION)),
                ("m", CloseCallCharge(QUESTION, 50)),
                ("n", CloseCallCharge(QUESTION)),
            ],
            **ABOUT,
        )
        assert (first.free, first.fits, str(first.left)) == (False, True, f"{MOST - 2} close calls")
        assert (known.free, str(known.left)) == (True, f"{MOST - 2} close calls")
        assert (many.fits, str(many.left)) == (True, "0 close calls")
        assert not late.fits


def test_a_ratio_is_set_aside_too() -> None:
    from duotone.ledger.close_calls import beside

    rest = beside(ApproxDP(exp_epsilon=6, delta="3e-6"), ApproxDP(exp_epsilon=2, delta="1e-6"))
    assert rest == ApproxDP(exp_epsilon=3, delta="2e-6")
    mixed = beside(ApproxDP(exp_epsilon=6, delta="3e-6"), ApproxDP(1, "1e-6"))
    assert mixed.exp_epsilon * ApproxDP(1).above().exp_epsilon <= 6
    with pytest.raises(DuotoneError, match="must leave"):
        beside(ApproxDP(exp_epsilon=2, delta="3e-6"), ApproxDP(1, "1e-6"))


def test_definite_answers_have_a_budget_of_their_own(place: str) -> None:
    with open_ledger(place) as ledger:
        assert registered(ledger, ApproxDP(1, "1e-6")).budget == ApproxDP(1, "1e-6")
        half = Charge(balanced(ApproxDP("0.5")))
        call(ledger, "q", close)
        left = f"{MOST - 1} close calls; for definite answers: epsilon 0.5, delta 1e-06"
        assert str(ledger.ask("s", "q", half, lambda: True, **ABOUT).left) == left
        ledger.ask("s", "r", half, lambda: True, **ABOUT)
        with pytest.raises(OverBudget):
            ledger.ask("s", "t", half, lambda: True, **ABOUT)
        assert call(ledger, "t", clear).calls == 0
        assert ledger.verify().holds
        with pytest.raises(LedgerError, match="counted for all askers together"):
            ledger.allow("s", "ann", ApproxDP(1))
        ledger.close_dataset("s")
        with pytest.raises(LedgerError, match="closed"):
            call(ledger, "u", clear)
        assert call(ledger, "q", clear).free
        assert ledger.verify().holds


def test_close_calls_must_be_asked_as_they_were_registered(place: str) -> None:
    with open_ledger(place) as ledger:
        registered(ledger)
        other = CloseCallCharge(ThreeWay(ApproxDP("0.04")))
        with pytest.raises(LedgerError, match=r"is asked by <ThreeWay: epsilon 0.05, wrong 1e-09>"):
            ledger.ask("s", "q", other, clear, **ABOUT)
        with pytest.raises(OverBudget, match=r"for definite answers only ApproxDP\(epsilon=0.0, delta=0\) was set aside"):
            ledger.ask("s", "q", Charge(balanced(ApproxDP("0.01"))), lambda: True, **ABOUT)
        ledger.register("plain", BUDGET, version="1", **ABOUT)
        with pytest.raises(LedgerError, match="was not registered with close calls"):
            ledger.ask("plain", "q", CloseCallCharge(QUESTION), clear, **ABOUT)


@pytest.mark.parametrize(
    ("budget", "question", "definite", "why"),
    [
        (ApproxDP(1), "0.02", None, "delta of at least 1e-11"),
        (ApproxDP(1, "1e-6"), "0.2", None, "not one close call fits"),
        (ApproxDP(1, "1e-6"), "1000000000", None, "not one close call fits"),
        (ApproxDP(1000, "1e-6"), "0.05", None, "epsilon of at most 64"),
        (ApproxDP(1, "1e-6"), "0.0001", None, "too small for this budget"),
        (ApproxDP("0.01", "1e-6"), "0.0002", None, "needs a table of more than"),
        (ApproxDP(1, "1e-6"), "0.02", ApproxDP(1), "must leave some epsilon"),
        (ApproxDP(2, "1e-6"), "0.02", ApproxDP(1, "1e-6"), "must leave some epsilon and some delta"),
    ],
)
def test_budgets_without_close_calls_are_refused(tmp_path: Any, budget: Any, question: str, definite: Any, why: str) -> None:
    with open_ledger(tmp_path / "l") as ledger, pytest.raises(DuotoneError, match=why):
        ledger.register("s", budget, version="1", close_calls=ThreeWay(ApproxDP(question)), definite=definite, **ABOUT)
    with open_ledger(tmp_path / "l") as ledger:
        ledger.register("s", ApproxDP(1), version="1", **ABOUT)  # the name is still there to be given


def _caller(place: str, name: str, results: Any) -> None:
    """Asks until nothing is left; every third answer is close."""
    answered = 0
    with open_ledger(place) as ledger:
        for i in range(40):
            try:
                call(ledger, f"{name} {i}", close if i % 3 == 0 else clear)
            except OverBudget:
                continue
            answered += i % 3 == 0
    results.put(answered)


@pytest.mark.slow
def test_processes_that_ask_at_once_never_have_more_than_there_are(place: str) -> None:
    with open_ledger(place) as ledger:
        registered(ledger)
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    callers = [context.Process(target=_caller, args=(place, name, results)) for name in "ab"]
    for caller in callers:
        caller.start()
    total = sum(results.get(timeout=60) for _ in callers)
    for caller in callers:
        caller.join()
    with open_ledger(place) as ledger:
        state = ledger.statement("s").state
        assert state.calls is not None
        assert 0 < total == state.calls.used <= MOST
        assert state.calls.reserved == 0
        assert accountant.close_calls(ledger.entries()) == {"s": (MOST, total, 0)}
        assert ledger.verify().holds


def _mutated(rows: list[Row], at: int, change: Callable[[dict[str, Any]], None]) -> list[Row]:
    """A ledger with an entry changed, and everything after it chained anew: only what entries say can show it."""
    made: list[Row] = []
    for row in rows:
        body = json.loads(row.body)
        if row.seq == at:
            change(body)
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        before = made[-1].hash if made else ""
        made.append(Row(row.seq, row.dataset, row.kind, row.question, text, digest(before, row.seq, text)))
    return made


@pytest.mark.parametrize(
    ("at", "change"),
    [
        (2, lambda body: body.update(calls=2)),
        (2, lambda body: body.update(calls=0)),
        (2, lambda body: body.pop("calls")),
        (3, lambda body: body.update(calls=0)),
        (3, lambda body: body.update(reserved=2)),
        (3, lambda body: (body.pop("calls"), body.pop("reserved"))),
        (3, lambda body: body["after"].update(calls=0)),
        (3, lambda body: body["after"].update(reserved=1)),
        (1, lambda body: body["close_calls"].update(count=0)),
        (1, lambda body: body.pop("close_calls")),
        (1, lambda body: body.update(v=2)),
        (2, lambda body: body.update(notion="epsilon=1/25 delta=0")),
    ],
)
def test_what_does_not_add_up_is_shown(tmp_path: Any, at: int, change: Callable[[dict[str, Any]], None]) -> None:
    from duotone.ledger.verify import verify

    with open_ledger(tmp_path / "l") as ledger:
        registered(ledger)
        call(ledger, "q", close)
        with ledger._store.reading() as entries:
            rows = entries.some()
    assert verify(rows, lambda: (rows[-1].seq, rows[-1].hash)).holds
    changed = _mutated(rows, at, change)
    assert not verify(changed, lambda: (changed[-1].seq, changed[-1].hash)).holds


@pytest.mark.parametrize(
    ("listed", "calls", "answers", "holds"),
    [
        (["yes"], 0, 1, True),
        (["too close to call"], 1, 1, True),
        (["too close to call"], 0, 1, False),
        (["yes"], 1, 1, False),
        (["yes", "no"], 0, 3, False),
        (["too close to call", "yes"], 1, 3, False),
        (["yes"] * 4, 0, 3, False),
    ],
)
def test_answers_must_say_what_they_used(tmp_path: Any, listed: list[str], calls: int, answers: int, holds: bool) -> None:
    with open_ledger(tmp_path / "l") as ledger:
        registered(ledger)
        made = {"answers": [[[i], outcome] for i, outcome in enumerate(listed)], "private": True}
        call(ledger, "q", lambda _: (made, calls), answers)
        assert ledger.verify().holds == holds


def test_more_close_calls_than_fit_are_no_registration(tmp_path: Any) -> None:
    from duotone.ledger.verify import verify

    with open_ledger(tmp_path / "l") as ledger:
        registered(ledger)
        with ledger._store.reading() as entries:
            rows = entries.some()
    for change in (
        {"count": MOST + 1},
        {"nodes": {"fine": 10**9, "jump": 16, "low": -735, "high": 1055}},
        {"nodes": {"fine": 400, "jump": 16, "low": -735, "high": 1055}},
        {"nodes": {"fine": 319, "jump": 16, "low": -735, "high": 100}},
        {"delta": None},
    ):
        changed = _mutated(rows, 1, lambda body, change=change: body["close_calls"].update(change))  # type: ignore[misc]
        assert not verify(changed, lambda changed=changed: (1, changed[-1].hash)).holds, change  # type: ignore[misc]


def test_a_ratio_in_floats_is_asked_as_it_was_registered(tmp_path: Any) -> None:
    question = ThreeWay(ApproxDP(exp_epsilon=1.05))
    with open_ledger(tmp_path / "l") as ledger:
        ledger.register("s", BUDGET, version="1", close_calls=question, **ABOUT)
        assert ledger.ask("s", "q", CloseCallCharge(question), clear, **ABOUT).calls == 0


def test_more_calls_than_there_are_do_not_verify(tmp_path: Any) -> None:
    from duotone.ledger.verify import verify

    with open_ledger(tmp_path / "l") as ledger:
        registered(ledger)
        call(ledger, "q", close)
        call(ledger, "r", close)
        with ledger._store.reading() as entries:
            rows = entries.some()
    fewer = _mutated(rows, 1, lambda body: body["close_calls"].update(count=1))
    assert any("beyond the close calls of s" in problem for problem in verify(fewer, lambda: (5, fewer[-1].hash)).problems)
