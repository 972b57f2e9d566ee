"""Questions about tables that may be too close to call: right where they are clear, charged where they are not."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from duotone import ApproxDP, DuotoneError, audit_answers, open_ledger
from duotone.errors import LedgerError, OverBudget
from duotone.ledger.close_calls import Grid, deltas
from duotone.ledger.ledger import Ledger
from duotone.line.table import Outcome
from duotone.line.three_way import ThreeWay, clear_from, three_way_table
from duotone.model.accuracy import Clearness
from duotone.model.cost import CloseCallCharge, Left, Quote
from duotone.release.coin import Coin, insecure_test_seed
from duotone.tables.ask import ask
from duotone.tables.check_question import prepare, prepare_all, prepare_groups
from support.running import EXHAUSTIVE

QUESTION = ThreeWay(ApproxDP("0.05"))
FAR = three_way_table(QUESTION).reach
PEOPLE = 4 * FAR


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with open_ledger(tmp_path / "l") as opened:
        about: Any = {"unit": "row", "neighbours": "add-remove", "version": "1"}
        opened.register("s", ApproxDP(1, "1e-6"), close_calls=QUESTION, **about)
        yield opened


def table(**columns: Any) -> pa.Table:
    values = {"x": [i % 2 for i in range(PEOPLE)], "g": [i % 3 for i in range(PEOPLE)]}
    return pa.table({**values, **columns})


def asked(ledger: Ledger, question: str, rows: pa.Table | None = None, **options: Any) -> Any:
    with prepare(table() if rows is None else rows, question, QUESTION, **options) as prepared:
        return prepared.charge(ledger, "s")


def test_clear_answers_are_right_and_free(ledger: Ledger) -> None:
    for question, outcome in (
        (f"count(*) > {PEOPLE - FAR}", Outcome.YES),
        (f"count(*) > {PEOPLE + FAR}", Outcome.NO),
        ("avg(x) > 0.2", Outcome.YES),
        ("avg(x) > 0.8", Outcome.NO),
        (f"count(*) filter (where x = 1) > 10 and count(*) < {PEOPLE + FAR}", Outcome.YES),
    ):
        answer = asked(ledger, question, bounds={"x": (0, 1)} if "avg" in question else None)
        assert (answer.answer, answer.receipt.calls, str(answer)) == (outcome, 0, str(outcome)), question
        assert bool(answer) == (outcome is Outcome.YES)
    assert str(ledger.statement("s").left) == "9 close calls"
    assert ledger.statement("s").clear == 5
    again = ask(table(), "avg(x) > 0.2", ledger=ledger, dataset="s", bounds={"x": (0, 1)}).receipt
    assert again is not None
    assert again.free
    unnamed = ask(table(), "avg(x) > 0.2", ledger=ledger, bounds={"x": (0, 1)}).receipt  # the only dataset
    assert unnamed is not None
    assert unnamed.free


def test_a_file_is_asked_as_the_dataset_of_its_name(ledger: Ledger, tmp_path: Path) -> None:
    about: Any = {"unit": "row", "neighbours": "add-remove", "version": "1"}
    file = tmp_path / "s.parquet"
    parquet.write_table(table(), file)
    assert ask(file, "count(*) > 3", ledger=ledger).answer is Outcome.YES
    ledger.register("definite", ApproxDP(1), **about)
    assert ask(file, "count(*) > 4", ledger=ledger).answer is Outcome.YES
    with pytest.raises(DuotoneError, match=r"^the datasets of this ledger are asked in different ways: say which one this is"):
        ask(table(), "count(*) > 3", ledger=ledger)
    assert ask(table(), "count(*) > 5", ledger=ledger, dataset="s").answer is Outcome.YES


def test_a_close_call_is_charged_and_says_so(ledger: Ledger) -> None:
    question = f"count(*) >= {PEOPLE}"
    answer = asked(ledger, question)
    assert (answer.answer, str(answer)) == (Outcome.TOO_CLOSE, "too close to call (charged; 8 left)")
    with pytest.raises(DuotoneError, match="neither yes nor no"):
        bool(answer)
    again = asked(ledger, question)
    assert (str(again), again.receipt.free, again.receipt.left.close_calls) == ("too close to call (as recorded)", True, 8)


def test_groups_are_asked_in_turn_until_nothing_is_left(ledger: Ledger) -> None:
    rows = table(g=[i % 20 for i in range(PEOPLE)])
    with pytest.raises(DuotoneError, match="each group is a question of its own"):
        asked(ledger, "select g, count(*) > 1 from s group by g", rows)
    question = f"select g, count(*) > {PEOPLE // 20} from s group by g"
    answer = asked(ledger, question, rows, groups=list(range(20)))
    assert list(answer.answers.values()) == [Outcome.TOO_CLOSE] * 9
    assert answer.unanswered == tuple((i,) for i in range(9, 20))
    assert ledger.statement("s").clear == 0
    assert answer.notes[-1] == "11 groups were not answered: there are no close calls left"
    with pytest.raises(OverBudget):
        asked(ledger, "count(*) > 1")
    assert ledger.verify().holds


def test_a_person_may_be_in_any_number_of_groups(tmp_path: Path) -> None:
    """Each group's level is that of all its people, though every person is in all of them: nothing is divided or bounded."""
    people = [i for i in range(FAR + 20) for _ in range(5)]
    rows = pa.table({"id": people, "g": list(range(5)) * (FAR + 20)})
    options: Any = {"unit": "id", "groups": list(range(5))}
    question = f"select g, count(distinct id) > {FAR + 10} from s group by g"
    with prepare(rows, question, QUESTION, **options) as prepared:
        assert prepared._levels()[2].tolist() == [9] * 5
        assert "in at most" not in prepared.facts.person
        assert str(prepared.cost) == "up to 5 close calls"


def test_levels_reach_as_far_as_the_table(ledger: Ledger) -> None:
    """The far ends are fetched as deep as the mechanism looks: by plain counting, and by a sort, in Python."""
    values = [(i * 7919) % 1000 for i in range(PEOPLE)]
    rows = table(x=values)
    for question, expected in (
        (f"count(*) filter (where x >= 500) >= {PEOPLE // 2 - 100}", sum(v >= 500 for v in values) - PEOPLE // 2 + 100),
        ("avg(x) >= 400", _steps_to_lower(values, 400, 0)),
    ):
        with prepare(rows, question, QUESTION, bounds={"x": (0, 999)} if "avg" in question else None) as prepared:
            assert prepared._levels()[2].tolist() == [expected], question


def _steps_to_lower(values: list[int], limit: int, lowest: int) -> int:
    """How many may leave, largest first, or join at the lowest value, before an average is below its limit."""
    surplus, steps, left = sum(v - limit for v in values), 0, sorted(values)
    while surplus >= 0:
        gain = max(left[-1] - limit, limit - lowest)
        if gain == left[-1] - limit:
            left.pop()
        surplus -= gain
        steps += 1
    return steps - 1


def test_what_fails_in_the_engine_wastes_nothing(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many groups there are: close calls are reserved for the moment between two entries only."""
    reserved: list[Any] = []

    def broken(_: Any) -> Any:
        reserved.append(ledger.statement("s").state.calls)
        raise KeyboardInterrupt

    question = "select g, count(*) > 5 from s group by g"
    with monkeypatch.context() as patched:
        patched.setattr("duotone.tables.prepared.Prepared._levels", broken)
        with pytest.raises(KeyboardInterrupt):
            asked(ledger, question, groups=[0, 1, 2])
    assert [calls.taken for calls in reserved] == [0]
    assert str(ledger.statement("s").left) == "9 close calls"
    assert asked(ledger, question, groups=[0, 1, 2]).receipt.calls == 0


def test_nothing_is_read_for_what_is_recorded_or_does_not_fit(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    asked(ledger, "count(*) > 5")
    for i in range(9):
        asked(ledger, f"count(*) >= {PEOPLE - i}")
    monkeypatch.setattr("duotone.tables.prepared.Prepared._levels", None)
    assert asked(ledger, "count(*) > 5").receipt.free
    with pytest.raises(OverBudget):
        asked(ledger, "count(*) > 6")


@pytest.mark.parametrize("key", ["a\0", "\ud800"])
def test_keys_that_no_engine_takes_are_refused(ledger: Ledger, key: str) -> None:
    rows = pa.table({"g": ["a", "b"]})
    with pytest.raises(DuotoneError, match="the list of groups has a key that is not text"):
        asked(ledger, "select g, count(*) > 5 from s group by g", rows, groups=["a", key])


@pytest.mark.parametrize("broken", ["_charge", "_record"])
def test_no_traceback_holds_a_level(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """Whatever the ledger fails at after the table was read."""

    def fails(*_: Any) -> Any:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(Ledger, broken, fails)
    with prepare(pa.table({"x": [0] * 637}), "count(*) >= 100", QUESTION) as prepared:
        assert prepared._levels()[2].tolist() == [537]
        with pytest.raises(LedgerError) as raised:
            prepared.charge(ledger, "s")
    frame = raised.tb.tb_next
    while frame is not None:
        assert "537" not in repr(frame.tb_frame.f_locals), frame.tb_frame.f_code.co_name
        frame = frame.tb_next


def test_what_is_read_too_late_is_said_to_be_wasted(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where others held every close call when it was looked, and gave one back before it was reserved."""
    monkeypatch.setattr(
        Ledger, "quote", lambda *_, **__: [Quote(CloseCallCharge(QUESTION), free=False, fits=False, left=Left())]
    )
    with prepare(table(), "count(*) > 5", QUESTION) as prepared:
        assert prepared.charge(ledger, "s").answer is Outcome.YES
    with prepare(table(), "count(*) > 6", QUESTION) as prepared:
        monkeypatch.setattr("duotone.tables.prepared.Prepared._levels", None)
        with pytest.raises(DuotoneError, match="no answer was released, and the reserved close calls are wasted"):
            prepared.charge(ledger, "s")
    assert str(ledger.statement("s").left) == "8 close calls"


def test_without_a_ledger_nothing_is_answered() -> None:
    with prepare(table(), "count(*) > 5", QUESTION) as prepared:
        with pytest.raises(DuotoneError, match="through a ledger"):
            prepared.release()
        assert isinstance(prepared.accuracy, Clearness)
        right, wrong, close = prepared.accuracy.chances(1)
        assert right == pytest.approx(wrong) == pytest.approx(1e-9)
        assert close == pytest.approx(1)
        assert prepared.accuracy.chances(FAR)[2] < 2**-35
        assert "close_calls" not in repr(prepared)
    with pytest.raises(DuotoneError, match="leave epsilon, delta, costs, margins and max_groups out"):
        prepare(table(), "count(*) > 5", QUESTION, max_groups=2)


def test_groups_and_prices_are_of_definite_answers() -> None:
    with pytest.raises(DuotoneError, match="never too close to call"):
        prepare_groups(table(), "g", QUESTION)  # type: ignore[arg-type]
    for options in ({"epsilon": 1}, {"delta": "1e-6"}, {"one_of": 3}):
        for refused in (lambda given: prepare(table(), "count(*) > 3", QUESTION, **given), several):
            with pytest.raises(DuotoneError, match="leave"):
                refused(options)


def several(options: dict[str, Any]) -> None:
    with prepare_all(table(), ["count(*) > 3", "count(*) > 4"], QUESTION, **options):
        pass


def test_pages_and_words(ledger: Ledger) -> None:
    answer = asked(ledger, "count(*) > 5")
    assert repr(answer) == "<Answers: yes; <ThreeWay: epsilon 0.05, wrong 1e-09>; exact distance>"
    assert "yes" in answer._repr_html_()
    grouped = asked(ledger, "select g, count(*) > 5 from s group by g", groups=[0, 1, 2])
    assert repr(grouped).startswith("<Answers: 3 yes by g;")
    assert str(grouped) == "0: yes\n1: yes\n2: yes"
    with pytest.raises(DuotoneError, match="many answers"):
        bool(grouped)
    certificate = answer.certificate()
    assert (len(certificate["outcomes"]), certificate["close_calls"], certificate["basis"]) == (3, 9, "exact distance")
    with prepare(table(), "count(*) > 5", QUESTION) as prepared:
        assert "Pr[too close to call]" in prepared._repr_html_()


def _any_close(each: ThreeWay, questions: int) -> Any:
    """Transcripts of some questions at a level, until one is too close to call: whether one was."""
    coin = Coin(three_way_table(each))

    def transcripts(level: int, n: int) -> Any:
        return (coin._drawn(np.full(n * questions, level)) == 1).reshape(n, questions).any(axis=1)

    return transcripts


@pytest.mark.slow
@pytest.mark.false_alarm(4e-9)
@pytest.mark.parametrize("level", [2, 12])
def test_transcripts_tell_neighbours_apart_no_better_than_is_claimed(level: int) -> None:
    """Six questions with one close call, in bulk; the same audit catches neighbours whose levels differ by four."""
    each = ThreeWay(ApproxDP("0.3"), "1e-4")
    claimed = next(deltas(ApproxDP("0.25", "1e-3"), Grid.of(ApproxDP("0.25", "1e-3"), each, 32)))
    claim, answers = ApproxDP("0.25", claimed), _any_close(each, 6)
    options: Any = {"draws": 10**6 if EXHAUSTIVE else 10**5, "confidence": 1 - 1e-9}
    for left, right in ((level, level + 1), (level + 1, level)):
        assert not audit_answers(answers, left, right, claim, **options).caught
    assert audit_answers(answers, 8, 12, claim, **options).caught


def test_a_transcript_through_the_ledger_is_what_the_coin_draws(tmp_path: Path) -> None:
    """The same levels, the same coins: a hundred questions at a level where half are close."""
    each = ThreeWay(ApproxDP("0.05"), "1e-4")
    half = clear_from(three_way_table(each), "1/2")
    assert half is not None
    rows, about = pa.table({"x": [0] * (99 + half)}), {"unit": "row", "neighbours": "add-remove", "version": "1"}
    with open_ledger(tmp_path / "l") as ledger:
        ledger.register("s", ApproxDP(3, "1e-3"), close_calls=each, **about)  # type: ignore[arg-type]
        with warnings.catch_warnings(action="ignore"), insecure_test_seed(3):
            coin = Coin(three_way_table(each))
            expected = [coin.outcomes([half - 1])[0] for _ in range(40)]
        with (
            warnings.catch_warnings(action="ignore"),
            insecure_test_seed(3),
            prepare(rows, "count(*) >= 100", each) as prepared,
        ):
            drawn = [prepared.charge(ledger, "s", again=True) for _ in range(40)]
        assert [answer.answer for answer in drawn] == expected
        assert expected.count(Outcome.TOO_CLOSE) > 5
        assert not any(answer.private for answer in drawn)
        state = ledger.statement("s").state
        assert state.calls is not None
        assert state.calls.used == expected.count(Outcome.TOO_CLOSE)
        assert ledger.statement("s").clear == 40 - state.calls.used


def test_a_report_and_tables_of_answers(ledger: Ledger) -> None:
    answer = asked(ledger, "avg(x) > 0.2", bounds={"x": (0, 1)})
    assert answer.quote() == (
        "In s, “avg(x) > 0.2” was answered yes with differential privacy, ε = 1, δ = 1e-06 per row under addition or removal, "
        "together with every other clear answer and up to 9 that are too close to call; each row is a person; "
        "clipped: x to [0, 1] in steps of 1; "
        "wrong with probability 1e-09, and clear with 99.9 % if 200 or more people would have to be "
        "different to change it; note: avg(x) > 0.2 is about clipped values: with 1% of them cut to [0, 1], by 1 on average, "
        "the average as stored is up to 0.01 away, with 10% up to 0.1, so near the limit the answer may be another."
    )
    grouped = asked(ledger, "select g, count(*) > 5 from s group by g", groups=[2, 0])
    assert grouped.to_arrow().to_pylist() == [{"g": 2, "answer": "yes"}, {"g": 0, "answer": "yes"}]
    assert "yes for 2, yes for 0" in grouped.quote()
