"""Which of several answers is true, asked at an office: through the desk, over HTTP, from a page, and by an assistant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from duotone import DuotoneError, connect, prove
from duotone.client.answers import RemoteAnswers
from support.offices import at_desk, make_office, serving

VOTE = "mode(vote) filter (where vote in ('Y', 'N', 'blank'))"
PRICE: dict[str, Any] = {"epsilon": "0.5", "delta": "1e-6"}


def test_an_office_answers_with_a_word(tmp_path: Path) -> None:
    with at_desk(make_office(tmp_path)) as office:
        ana = office.caller("ana")
        status, seen = office.now(office.desk.preview(ana, "votes", {"question": VOTE, **PRICE, "people": 1000}))
        assert (status, seen["among"], seen["ordered"]) == (200, ["Y", "N", "blank"], False)
        assert seen["curve"][0] == (1, seen["error_by_margin"]["1"])
        assert seen["seldom_wrong"]["people"] <= 20
        status, answer = office.ask("ana", "votes", question=VOTE, **PRICE)
        assert (status, answer["answer"], answer["among"]) == (200, "Y", ["Y", "N", "blank"])
        status, again = office.ask("ana", "votes", question=VOTE, **PRICE)
        assert (status, again["answer"], again["ledger"]["free"]) == (200, "Y", True)
        status, proof = office.now(office.desk.certificate(ana, "votes", answer["charge"]))
        assert (status, "one answer among 3" in prove(proof)) == (200, True)
        status, leads = office.ask(
            "ana", "votes", question="select town from votes group by town order by avg(age) limit 1", **PRICE
        )
        assert (status, leads["answer"]) == (200, "Ely")  # of the office's list of towns
        status, brackets = office.ask("ana", "votes", question="bracket(avg(age), 20, 35, 50)", made_up=True, **PRICE)
        assert (status, brackets["made_up"], brackets["answer"] in brackets["among"]) == (200, True, True)
        (charge, _) = office.now(office.desk.history(ana, "votes"))[1]["charges"][::-1]
        assert "Y" in str(charge)
        status, refused = office.ask("ana", "votes", question="mode(vote)", **PRICE)
        assert (status, "in the question, as in where vote in ('A', 'B')" in refused["error"]) == (422, True)


def test_a_connection_answers_like_python(tmp_path: Path) -> None:
    with serving(make_office(tmp_path)) as served, connect(served.url, token=served.token("ana")) as office:
        seen = office.preview("votes", VOTE, epsilon="0.5", delta="1e-6")
        assert seen.error(1) == pytest.approx(seen.by_margin[1])
        reply = office.ask("votes", VOTE, epsilon="0.5", delta="1e-6")
        assert isinstance(reply, RemoteAnswers)
        assert (reply.answer, str(reply), reply == "Y", reply == "N", reply.margins) == ("Y", "Y", True, False, {})
        assert repr(reply).startswith("<RemoteAnswers: Y; votes; left: ")
        assert "was answered Y with differential privacy" in reply.quote()
        assert reply.certificate()["claims"]["which"] == {"answers": 3, "ordered": False}
        with pytest.raises(DuotoneError, match="neither yes nor no"):
            bool(reply)
        by_town = office.ask(
            "votes", "select town, bracket(avg(age), 20, 45) from votes group by town", epsilon="0.5", delta="1e-6"
        )
        assert isinstance(by_town, RemoteAnswers)
        assert by_town.words == {("Ely",): "20 to below 45", ("Wells",): "45 or more"}
