"""Notes that must not be missed: a warning at the caller's line, before anything is charged, and beside the answer."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import duotone.accessors
from duotone import AnswerWarning, ApproxDP, ask, open_ledger, select_groups, share_test
from duotone.client.answers import RemoteAnswers, read_reply
from duotone.model.notice import WARNED
from duotone.tables.ask import ask_all, ask_any
from duotone.words.codes import SENTENCES

TABLE = pa.table({"x": [1, 2, 3] * 60, "town": ["Ely", "Wells", "Bath"] * 60, "who": [*range(90)] * 2})
WEAK = ApproxDP(50, "1e-6")
SAID = "weak: with epsilon 50 answers may tell whether a certain person is in the table; 1 is usual"
ASKED: dict[str, Callable[..., Any]] = {
    "ask": lambda **more: ask(TABLE, "count(*) > 9", WEAK, **more),
    "ask_all": lambda **more: ask_all(TABLE, ["count(*) > 9", "count(*) > 10"], WEAK, each=True, **more)[0],
    "ask_any": lambda **more: ask_any(TABLE, "count(*) > 1", WEAK, parts=11, **more),
    "select_groups": lambda **more: select_groups(TABLE, "town", WEAK, **more),
    "share_test": lambda **more: share_test(TABLE, "share(x > 1) = 0.5", WEAK, **more),
    "a frame": lambda **more: duotone.accessors.FrameQuestions(TABLE).ask("count(*) > 9", WEAK, **more),
}


@pytest.mark.parametrize("name", ASKED)
def test_the_callers_line(name: str, tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l") as ledger:
        ledger.register("votes", ApproxDP(200, "1e-3"), unit="row", neighbours="add-remove", version="1")
    for charged in ({}, {"ledger": tmp_path / "l", "dataset": "votes"}):
        with pytest.warns(AnswerWarning) as seen:
            answer = ASKED[name](**charged)
        (warned,) = seen
        assert (str(warned.message), warned.category, warned.filename) == (SAID, AnswerWarning, __file__)
        assert warned.lineno == inspect.getsourcelines(ASKED[name])[1]
        assert str(answer).endswith(f"\nnote: {SAID}")
        assert repr(answer).endswith(f"; note: {SAID}>")
        assert SAID in answer._repr_html_()
        assert answer.quote().endswith(f"; note: {SAID}.")
        assert "note: " not in answer.said


def test_where_warnings_are_errors_nothing_is_charged(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l") as ledger, warnings.catch_warnings():
        ledger.register("votes", ApproxDP(200, "1e-3"), unit="row", neighbours="add-remove", version="1")
        warnings.simplefilter("error", AnswerWarning)
        for name, asked in ASKED.items():
            with pytest.raises(AnswerWarning):
                asked(ledger=ledger, dataset="votes")
            assert ledger.statement("votes").charges == (), name


def test_a_usual_answer_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        usual = ask(TABLE, "count(*) > 9", epsilon=1, delta=1e-6)
    assert str(usual) == "yes"
    assert "warnings" not in usual.facts.document()
    assert "note" not in usual.quote()


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("count(distinct town) > 2", "rows are people"),
        ("count(*) = 180", "equality"),
        ("select town from t group by town having count(*) > 3", "having is an answer"),
    ],
)
def test_an_answer_about_something_else(question: str, code: str) -> None:
    with pytest.warns(AnswerWarning) as seen:
        answer = ask(TABLE, question, epsilon=1, delta=1e-6)
    assert [note.code for note in answer.facts.warnings] == [code]
    assert [str(warned.message) for warned in seen] == answer.facts.document()["warnings"]


def test_codes() -> None:
    assert SENTENCES.keys() >= WARNED


def test_an_answer_of_a_service() -> None:
    with pytest.warns(AnswerWarning):
        local = ask(TABLE, "count(*) > 9", WEAK)
    sent = {
        **local.document("analyst"),
        "quote": local.quote("analyst"),
        "share": {"exp_epsilon": "2", "delta": "0"},
        "unit": "row",
    }
    sent = {key: value for key, value in sent.items() if key != "margin"}
    answer = read_reply(sent, "votes", lambda *_: {})
    assert isinstance(answer, RemoteAnswers)
    assert (str(answer), answer.warnings) == (f"yes\nnote: {SAID}", (SAID,))
    assert repr(answer).endswith(f"; note: {SAID}>")
