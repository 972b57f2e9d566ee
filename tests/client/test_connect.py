"""A connection to a service: what it sends, what it makes of what comes back, and what it never shows."""

from __future__ import annotations

import copy
import logging
import math
import pickle
import traceback
import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from duotone import AnswerWarning, ApproxDP, DuotoneError, OverBudget, balanced, connect
from duotone.client.answers import RemoteAnswers, Waiting
from duotone.client.connect import Connection
from duotone.desk.terms import OWNERS
from duotone.errors import OverBudgetThere, ServiceError
from duotone.line.table import Outcome
from duotone.model.dataset import KEYS
from support.fake_service import CERTIFICATE, COMMON, DATASET, MADE_UP, REFUSALS, TOKEN, Fake, served


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Fake, str]]:
    fake = Fake()
    with served(fake.app()) as url:
        yield fake, url


@pytest.fixture
def service(running: tuple[Fake, str]) -> Iterator[Connection]:
    with connect(running[1], token=TOKEN, wait=1) as service:
        yield service


def sent(running: tuple[Fake, str]) -> Any:
    return running[0].asked[-1][2]


def answered(reply: RemoteAnswers | Waiting) -> RemoteAnswers:
    assert isinstance(reply, RemoteAnswers)
    return reply


def test_an_answer_is_like_a_local_one(service: Connection, running: tuple[Fake, str]) -> None:
    reply = answered(service.ask("chile", "avg(age) > 38", epsilon="0.5", delta=1e-6))
    assert sent(running) == {"question": "avg(age) > 38", "epsilon": "0.5", "delta": "1e-06"}
    assert (bool(reply), str(reply), reply.answer, dict(reply.answers)) == (True, "yes", True, {(): True})
    assert reply == True  # noqa: E712
    assert reply == np.True_
    assert reply != False  # noqa: E712
    assert (reply == "yes", reply == "no", reply.margins) == (True, False, {})
    with pytest.raises(DuotoneError, match="no margin"):
        _ = reply.certain
    assert reply == copy.copy(reply)
    assert reply.private
    assert not reply.made_up
    assert reply.quote() == "In chile, …"
    assert reply.ledger["left"] == {"epsilon": 1.0, "delta": 8e-06}
    assert reply.terms == COMMON["terms"]
    assert reply.certificate() == CERTIFICATE
    assert repr(reply) == "<RemoteAnswers: yes; chile; left: epsilon 1, delta 8e-06>"
    assert "a note &amp; &lt;b&gt;more" in reply._repr_html_()
    assert reply.to_arrow().to_pydict() == {"answer": [True]}
    assert list(reply.to_pandas()["answer"]) == [True]


def test_a_warning_loses_no_answer_that_is_charged(service: Connection) -> None:
    with pytest.warns(AnswerWarning, match="^weak$") as seen:
        service.ask("chile", "weak", epsilon=50)
    assert (len(seen), seen[0].filename) == (2, __file__)
    with warnings.catch_warnings():
        warnings.simplefilter("error", AnswerWarning)
        reply = answered(service.ask("chile", "weak", epsilon=50))
    assert str(reply) == "yes\nnote: weak\nnote: coin toss"


def test_answers_by_group(service: Connection) -> None:
    reply = answered(service.ask("chile", "by vote", ApproxDP(1)))
    assert reply.answers == {("N",): False, ("Y",): True}
    assert str(reply) == "N: no\nY: yes"
    assert repr(reply).startswith("<RemoteAnswers: 1 no, 1 yes by vote;")
    assert reply.to_arrow().to_pydict() == {"vote": ["N", "Y"], "answer": [False, True]}
    assert "<td style=text-align:left>N</td>" in reply._repr_html_()
    with pytest.raises(DuotoneError, match="many answers"):
        bool(reply)


def test_which_groups_may_be_shown(service: Connection, running: tuple[Fake, str]) -> None:
    reply = answered(service.groups("chile", "vote", epsilon=1, delta="1e-6", max_groups=2))
    assert sent(running) == {"by": ["vote"], "epsilon": 1, "delta": "1e-6", "max_groups": 2}
    assert list(reply.answers) == [("Y",)]
    service.groups("chile", ["vote", "day"], epsilon=1)
    assert sent(running)["by"] == ["vote", "day"]


def test_a_close_call_is_neither_yes_nor_no(service: Connection, running: tuple[Fake, str]) -> None:
    reply = answered(service.ask("chile", "close"))
    assert sent(running) == {"question": "close"}
    assert reply.answer is Outcome.TOO_CLOSE
    assert str(reply) == "too close to call"
    assert reply != True  # noqa: E712
    assert reply != False  # noqa: E712
    assert reply.to_arrow().to_pydict() == {"answer": ["too close to call"]}
    with pytest.raises(DuotoneError, match="neither yes nor no"):
        bool(reply)


def test_what_is_not_private_says_so(service: Connection) -> None:
    assert str(service.ask("chile", "seed", epsilon=1)) == "no (NOT PRIVATE: test seed)"
    tried = answered(service.ask("chile", "count(*) > 3", epsilon=1, made_up=True))
    assert str(tried) == "yes (made-up rows: about nobody, and free)"
    assert not tried.private
    assert repr(tried) == "<RemoteAnswers: yes (made-up rows: about nobody, and free); chile; left: unchanged>"
    assert "made-up rows" in tried._repr_html_()
    for refused in (tried.quote, tried.certificate):
        with pytest.raises(DuotoneError, match="made-up rows"):
            refused()


def test_what_waits_is_no_answer(service: Connection, running: tuple[Fake, str]) -> None:
    reply = service.ask("chile", "wait", epsilon=1, purpose="a report")
    assert sent(running)["purpose"] == "a report"
    assert reply == Waiting(4, "chile", "another person")
    assert str(reply) == "request 4 about chile waits for another person"
    with pytest.raises(DuotoneError, match="no answer yet"):
        bool(reply)


def test_plans_requests_and_decisions(service: Connection, running: tuple[Fake, str]) -> None:
    plan = service.plan("chile", "avg(age) > 38", epsilon="0.5", purpose=None)
    assert sent(running) == {"question": "avg(age) > 38", "epsilon": "0.5"}
    assert plan["state"] == "waiting"
    with pytest.raises(ServiceError, match="has not approved"):
        service.ask("chile", request=plan["request"])
    assert service.requests()[-1]["request"] == plan["request"]
    assert service.decide(plan["request"], True)["state"] == "approved"
    assert service.ask("chile", request=plan["request"]) == True  # noqa: E712
    assert sent(running) == {"request": plan["request"]}


def test_a_preview_is_like_a_local_one(service: Connection, running: tuple[Fake, str]) -> None:
    asked = service.preview("chile", "avg(age) > 38", epsilon="0.5", delta="1e-6", people=1000, costs=(10, Fraction(1, 3)))
    assert sent(running) == {
        "question": "avg(age) > 38", "epsilon": "0.5", "delta": "1e-6", "people": 1000, "costs": [10, "1/3"],
    }  # fmt: skip
    local = balanced(ApproxDP("0.5", "1e-6"))
    assert [asked.error(m) for m in (1, 4, 26)] == pytest.approx([float(local.error(m - 1)) for m in (1, 4, 26)])
    assert (asked.error(27), asked.certain) == (0, 27)
    assert asked.by_margin[1] == pytest.approx(asked.error(1))
    assert asked.fits
    assert asked.price == "price: 1 answer at epsilon 0.5, delta 0; it fits; left after it: epsilon 1, delta 0"
    assert repr(asked) == f"<RemotePreview: avg(age) > 38 of chile; {asked.price}>"
    assert "<svg" in asked._repr_html_()
    assert asked.in_units is None
    assert "does NOT fit" in service.preview("chile", "large", epsilon=9).price
    assert service.preview("chile", "free", epsilon=9).price == "free, as recorded"
    with pytest.raises(DuotoneError, match="at least 1"):
        asked.error(0)


def test_a_preview_of_close_calls(service: Connection) -> None:
    asked = service.preview("chile", "close")
    assert asked.by_margin == {1: 0.9, 1000: 0.0}
    assert (asked.error(1), asked.certain) == (1e-9, math.inf)
    assert "too close" in asked._repr_html_()


def test_datasets_history_budget_and_the_rest(service: Connection, running: tuple[Fake, str]) -> None:
    assert service.me()["name"] == "alice"
    assert service.datasets() == {"chile": DATASET}
    assert service.dataset("chile") == DATASET
    assert service.history("chile")["charges"][0]["charge"] == 17
    assert service.budget("chile")["how_many_more"] == 2
    assert service.allow_assistant("chile", epsilon="0.5", delta=0) == {"allowance": {"epsilon": "0.5", "delta": 0}}
    assert service.allow_assistant("chile", questions=3) == {"allowance": {"questions": 3}}
    assert service.made_up_csv("chile") == MADE_UP
    table = service.made_up("chile")
    assert table.schema.types == [pa.int64(), pa.string(), pa.date32()]
    assert table.to_pydict()["age"] == [18, None]


def test_budgets_are_sent_exactly(service: Connection, running: tuple[Fake, str]) -> None:
    for privacy, terms in (
        (ApproxDP("1/3", "1e-6"), {"epsilon": "1/3", "delta": "1/1000000"}),
        (ApproxDP(exp_epsilon=2), {"exp_epsilon": "2", "delta": "0"}),
    ):
        service.ask("chile", "a", privacy)
        assert sent(running) == {"question": "a", **terms}
    service.ask("chile", "a", wrong=0.01, people=10, groups="private", again=True)
    assert (sent(running)["wrong"], sent(running)["people"]) == ("0.01", 10)
    assert (sent(running)["groups"], sent(running)["again"]) == ("private", True)


def test_what_the_owner_declares_is_refused_before_anything_is_sent(running: tuple[Fake, str], service: Connection) -> None:
    before = len(running[0].asked)
    for name in OWNERS:
        declared: Any = {name: 1}
        for asked in (service.ask, service.preview):
            with pytest.raises(DuotoneError, match=f"^{name} is declared by the dataset.s owner"):
                asked("chile", "count(*) > 3", epsilon=1, **declared)
    with pytest.raises(TypeError, match="units"):
        service.ask("chile", "count(*) > 3", epsilon=1, units="id")  # type: ignore[call-arg]
    refused: list[tuple[str, dict[str, Any]]] = [
        ("owner's", {"groups": ["a"]}), ("as in \\(10, 1\\)", {"costs": (1,)}), ("two budgets", {"privacy": ApproxDP(1)}),
        ("text, numbers", {"purpose": object()}), ("text, numbers", {"people": math.inf}),
    ]  # fmt: skip
    for sentence, options in refused:
        with pytest.raises(DuotoneError, match=sentence):
            (service.preview if "people" in options else service.ask)("chile", "a", **{"epsilon": 1, **options})
    with pytest.raises(DuotoneError, match="an ApproxDP"):
        service.ask("chile", "a", 1)  # type: ignore[arg-type]
    with pytest.raises(DuotoneError, match="give a question"):
        service.ask("chile", epsilon=1)
    assert len(running[0].asked) == before
    assert set(KEYS) - OWNERS == {
        "at_least",
        "dataset",
        "groups",
        "max_groups",
        "people",
    }  # named otherwise, or said with a question, too


@pytest.mark.parametrize("question", REFUSALS)
def test_refusals_are_errors_with_the_services_sentence(question: str, service: Connection) -> None:
    status, kind, sentence = REFUSALS[question]
    with pytest.raises(ServiceError) as raised:
        service.ask("chile", question, epsilon=1)
    error = raised.value
    assert (str(error), error.status, error.kind) == (sentence, status, kind)
    assert error.retry_after == (7 if status == 429 else None)
    assert isinstance(error, OverBudget) is (kind == "over budget")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.status) == (type(error), sentence, status)
    if isinstance(error, OverBudgetThere):
        assert (error.dataset, error.left, error.asker) == ("", None, None)


def test_what_is_no_service_is_named(service: Connection, running: tuple[Fake, str]) -> None:
    with pytest.raises(ServiceError, match="is the address right"):
        service.ask("chile", "broken", epsilon=1)
    with pytest.raises(ServiceError, match="both up to date"):
        service.ask("chile", "odd", epsilon=1)
    with pytest.raises(ServiceError, match="no dataset of this name"):
        service.dataset("other?x#y")
    for name in ("", ".", ".."):
        with pytest.raises(DuotoneError, match="name a dataset"):
            service.dataset(name)
    with connect(running[1] + "/elsewhere", token=TOKEN) as other, pytest.raises(ServiceError, match="status 404"):
        other.me()
    with connect("http://127.0.0.1:1", token=TOKEN) as nobody, pytest.raises(ServiceError, match="nobody answers"):
        nobody.me()


def test_an_answer_that_does_not_come_may_be_charged(running: tuple[Fake, str]) -> None:
    with connect(running[1], token=TOKEN, wait=0.1) as service:
        with pytest.raises(ServiceError, match="did not answer in time; the question may have been charged") as raised:
            service.ask("chile", "slow", epsilon=1)
        assert raised.value.status is None


def test_the_token_is_never_shown(
    running: tuple[Fake, str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("DUOTONE_TOKEN", TOKEN)
    with connect(running[1]) as service:
        shown = [repr(service), str(service), repr(service.transport), repr(service.transport.client.headers)]
        assert service.me()
        reply = service.ask("chile", "a", epsilon=1)
        shown += [repr(reply), repr(service.preview("chile", "a", epsilon=1))]
        with pytest.raises(ServiceError) as raised:
            service.ask("chile", "over", epsilon=1)
        shown += traceback.format_exception(raised.value)
    with connect("http://127.0.0.1:1") as nobody, pytest.raises(ServiceError) as raised:
        nobody.me()
    assert raised.value.__context__ is None
    shown += [*traceback.format_exception(raised.value), caplog.text]
    assert TOKEN not in "".join(shown)


@pytest.mark.parametrize("token", ["a b", "é" + TOKEN, "x\n", ""])
def test_a_token_that_is_none_is_refused_unseen(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DUOTONE_TOKEN", raising=False)
    with pytest.raises(DuotoneError) as raised:
        connect("https://duotone.example.org", token=token)
    assert TOKEN not in str(raised.value)
    with pytest.raises(DuotoneError, match="DUOTONE_TOKEN"):
        connect("https://duotone.example.org")


def test_a_wrong_token_is_the_services_to_refuse(running: tuple[Fake, str]) -> None:
    with connect(running[1], token="dt_other") as service, pytest.raises(ServiceError, match="not known here") as raised:
        service.datasets()
    assert (raised.value.status, raised.value.kind) == (401, "bad token")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://duotone.example.org", "not encrypted"),
        ("http://10.0.0.1:8000", "not encrypted"),
        ("http://localhost.example.org", "not encrypted"),
        ("ftp://localhost", "is a URL"),
        ("localhost:8000", "is a URL"),
        ("https://", "is a URL"),
        ("https://a.example?x=1", "is a URL"),
        ("https://a.example:port", "is a URL"),
        ("https://alice:secret@a.example", "not shown here"),
    ],
)
def test_addresses_that_are_refused(url: str, sentence: str) -> None:
    with pytest.raises(DuotoneError, match=sentence) as raised:
        connect(url, token=TOKEN)
    assert "secret" not in str(raised.value)


def test_addresses_that_are_taken() -> None:
    for url in ("http://localhost:8000/", "http://127.0.0.1", "http://[::1]:8000", "https://duotone.example.org/office"):
        with connect(url, token=TOKEN) as service:
            assert repr(service) == f"<Connection to {url.rstrip('/')}>"
            assert service.transport.client.trust_env is url.startswith("https")
    with connect("http://10.0.0.1:8000", token=TOKEN, insecure=True) as service:
        assert service.transport.client.timeout.read == 600
