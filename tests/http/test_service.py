"""The service from outside, by plain HTTP: what each role may do, what is charged, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from duotone.errors import DuotoneError
from duotone.tables.prepared import Prepared
from support.offices import CALLS, SECRET, STAYS, VOTES, Served, make_office, serving
from support.running import PATIENCE

ROOT = Path(__file__).parents[2]
QUESTION = "count(*) filter (where vote = 'Y') > count(*) filter (where vote = 'N')"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(make_office(tmp_path_factory.mktemp("office"))) as running:
        yield running


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Served]:
    with serving(make_office(tmp_path)) as running:
        yield running


def test_an_answer_is_charged_recorded_and_proved(own: Served) -> None:
    status, first = own.ask("ana", "votes", question=QUESTION, epsilon=1, delta="1e-6")
    assert (status, first["answer"], first["private"], first["ledger"]["free"]) == (200, "yes", True, False)
    assert first["ledger"]["left"] == {"epsilon": 1.0, "delta": 9.9e-05}
    assert first["certain"] == (first["p_value"] == 0)
    sure = f"was answered yes, certain (at least {first['at_least']['1']} rows would have to be different to change it)"
    assert f"{sure}, with differential privacy, ε = 1" in first["quote"]
    status, same = own.ask("ben", "votes", question=QUESTION, epsilon="1", delta=1e-6)
    assert (status, same["ledger"]["free"], same["answer"], same["charge"]) == (200, True, "yes", first["charge"])
    with own.client("ana") as client:
        certificate = client.get(f"/api/datasets/votes/certificates/{first['charge']}")
        assert certificate.status_code == 200
    check = [sys.executable, str(ROOT / "tools" / "check_certificate.py"), "/dev/stdin"]
    done = subprocess.run(check, input=certificate.text, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_refusal_sends_an_analyst_to_the_table(tmp_path: Path) -> None:
    csv = VOTES.replace("votes.parquet", "votes.csv")
    (tmp_path / "votes.csv").write_text("vote,age,town\n" + "Y,30,Ely\n" * 500)
    with serving(make_office(tmp_path, csv, STAYS, CALLS)) as own:
        status, refused = own.ask("ana", "votes", question="avg(age) > 20", epsilon="0.5")
        assert status == 422
        assert "here the owner of the dataset declares that" in str(refused)
        assert "inspect" not in str(refused)


def test_the_document_is_the_commands(own: Served, tmp_path: Path) -> None:
    """What `duotone ask --json` prints of the same table and question, the service sends, and more."""
    _, sent = own.ask("ana", "votes", question="avg(age) > 35", epsilon="0.5", delta="1e-6")
    line = ["ask", str(tmp_path / "votes.parquet"), "avg(age) > 35", "--bounds", "age=0:100", "--json", "--no-ledger"]
    done = subprocess.run(
        [sys.executable, "-m", "duotone", *line, "--epsilon", "0.5", "--delta", "1e-6"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    printed = json.loads(done.stdout)
    drawn = {"answer", "margin", "p_value", "certain", "distance", "capped", "at_least"}
    assert printed.keys() >= drawn
    assert {name: value for name, value in sent.items() if name in printed.keys() - drawn} == {
        name: value for name, value in printed.items() if name not in drawn
    }
    assert sent.keys() >= printed.keys()


@pytest.mark.slow
def test_exactly_as_many_are_charged_for_as_the_budget_admits(own: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten threads ask forty questions at 1/10 of a budget of 2; thrice the engine fails, which is charged for, not free."""
    statuses: list[int] = []
    failures, release = iter(range(3)), Prepared._drawn

    def sometimes(self: Prepared) -> Any:
        if next(failures, None) is not None:
            raise DuotoneError("the engine could not answer")
        return release(self)

    monkeypatch.setattr(Prepared, "_drawn", sometimes)

    def ask(person: str, numbers: range) -> None:
        for number in numbers:
            statuses.append(own.ask(person, "votes", question=f"count(*) > {number}", epsilon="0.1")[0])

    threads = [threading.Thread(target=ask, args=("ana", range(10 * i, 10 * i + 4))) for i in range(1, 11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {status: statuses.count(status) for status in statuses} == {200: 17, 503: 3, 409: 20}
    account = own.desk.ledger.statement("votes")
    assert (len(account.charges), account.state.spent.numbers()["epsilon"], account.state.unanswered) == (20, Fraction(2), 3)


def test_an_allowance_lies_under_the_total_and_is_shown(own: Served) -> None:
    assert own.ask("ben", "votes", question="count(*) > 1", epsilon="0.5")[0] == 200
    status, refused = own.ask("ben", "votes", question="count(*) > 2", epsilon="0.1")
    assert (status, refused["kind"]) == (409, "over budget")
    assert "allowance of ben" in refused["error"]
    with own.client("ben") as client:
        assert client.get("/api/datasets/votes").json()["allowance"]["epsilon"] == 0
    assert own.ask("ana", "votes", question="count(*) > 2", epsilon="1.5")[0] == 200
    status, refused = own.ask("ana", "votes", question="count(*) > 3", epsilon="0.1")
    assert "budget of votes" in refused["error"]  # two who collude have no more than the total


def test_an_engine_that_fails_costs_what_was_asked_and_says_nothing(own: Served, tmp_path: Path) -> None:
    """Pages that are damaged behind a schema that is not; what is no table at all is refused before a charge."""
    own.ask("ana", "votes", question="count(*) > 5", epsilon="0.1")  # opened
    file = tmp_path / "votes.parquet"
    data, secret = file.read_bytes(), b"no page at all, and a secret: 4711"
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for content, says, spent in (
        (b"PAR1" + (secret * footer)[: footer - 4] + data[footer:], "charge stands", Fraction(1, 5)),
        (secret, "nothing was charged", Fraction(1, 5)),
    ):
        file.write_bytes(content)
        status, failed = own.ask("ana", "votes", question="count(*) filter (where vote = 'Y') > 6", epsilon="0.1")
        assert (status, failed["kind"]) == (503, "unavailable")
        assert "4711" not in json.dumps(failed)
        assert says in failed["error"]
        assert own.desk.ledger.statement("votes").state.spent.numbers()["epsilon"] == spent
    with own.client("olga") as owner:
        assert owner.get("/api/office").json()["failures"]["votes"] == 1


def test_columns_that_may_not_be_used_do_not_exist(served: Served) -> None:
    for text in (
        "count(*) filter (where name = 'x') > 1",
        "select name, count(*) > 1 from votes group by name",
        "mode(name) = 'x'",
    ):
        status, refused = served.ask("ana", "votes", question=text, epsilon=1, delta="1e-6")
        assert (status, refused["kind"]) == (422, "bad question")
        assert "no column name" in refused["error"]
    with served.client("ana") as client:
        everything = [client.get(path).text for path in ("/api/datasets", "/api/datasets/votes/made-up")]
        assert not any(SECRET in text or '"name"' in text.partition("columns")[2].partition("unit")[0] for text in everything)
        assert served.ask("ana", "votes", by=["name"], epsilon=1, delta="1e-6")[0] == 422


@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"question": "count(*) > 1"},
        {"question": "count(*) > 1", "by": ["town"], "epsilon": 1},
        {"question": "count(*) > 1", "epsilon": 1, "exp_epsilon": 2},
        {"question": "count(*) > 1", "epsilon": "nan"},
        {"question": "count(*) > 1", "epsilon": -1},
        {"question": "count(*) > 1", "epsilon": 1, "delta": 1},
        {"question": "count(*) > 1", "epsilon": True},
        {"question": "count(*) > 1", "epsilon": 1, "unit": "town"},
        {"question": "count(*) > 1", "epsilon": 1, "bounds": {"age": [0, 1]}},
        {"question": "count(*) > 1", "epsilon": 1, "neighbours": "replace"},
        {"question": "select 1", "epsilon": 1},
        {"question": "count(*) > 1; drop table votes", "epsilon": 1},
        {"question": "x" * 5000, "epsilon": 1},
        {"question": "count(*) > 1", "wrong": 0.01, "people": 10, "epsilon": 1},
        {"by": ["town"], "wrong": 0.01, "people": 10},
        {"request": 77},
        [],
        None,
    ],
)
def test_a_bad_question_is_refused_and_costs_nothing(served: Served, terms: Any) -> None:
    before = served.desk.ledger.statement("votes").state.spent
    with served.client("ana") as client:
        for route in ("ask", "preview"):
            reply = client.post(f"/api/datasets/votes/{route}", json=terms)
            assert reply.status_code in (404, 413, 422), reply.text
            assert reply.json()["error"]
            assert "\n" not in reply.json()["error"]
    assert served.desk.ledger.statement("votes").state.spent == before


def test_what_is_wrong_with_a_request_is_said_in_plain_words(served: Served) -> None:
    with served.client("ana") as client:
        for sent, said in (
            ({"eps": 1}, "eps is not known: epsilon is"),
            ({"colour": 1}, "colour is not known; known are question, by, epsilon"),
            ({"per_unit": "avg"}, "per_unit cannot be given: the owner of the dataset declares it"),
            ({"epsilon": [1]}, "epsilon must be a number, or a text with one"),
            (
                {"question": "count(*) > 1", "wrong": 0.1},
                "wrong is for a number of people who would flip the answer: say how many (people)",
            ),
            ({"max_groups": 0}, "max_groups must be at least 1"),
        ):
            assert client.post("/api/datasets/votes/preview", json=sent).json()["error"].startswith(said)


def test_the_price_of_an_error_is_enough_and_not_more(served: Served) -> None:
    with served.client("ana") as client:
        wanted = {"question": QUESTION, "wrong": "0.01", "people": 10, "delta": "1e-6"}
        preview = client.post("/api/datasets/votes/preview", json=wanted).json()
        assert preview["error_by_margin"]["10"] <= 0.01
        less = str(float(preview["terms"]["epsilon"]) - 0.001)
        cheaper = client.post(
            "/api/datasets/votes/preview", json={"question": QUESTION, "epsilon": less, "delta": "1e-6"}
        ).json()
        assert cheaper["error_by_margin"]["10"] > 0.01
        assert preview["ledger"]["how_many_more"] == 4


def test_listed_groups_are_the_owners_and_private_ones_can_be_asked_for(own: Served) -> None:
    text = "select town, count(*) > 100 from votes group by town"
    _, listed = own.ask("ana", "votes", question=text, epsilon="0.5", delta="1e-6")
    assert [row["town"] for row in listed["answers"]] == ["Ely", "Wells"]
    with own.client("ana") as client:
        parts = [
            client.post(
                "/api/datasets/votes/preview", json={"question": text, "epsilon": 1, "delta": "1e-6", "groups": how}
            ).json()
            for how in ("listed", "private")
        ]
    assert [one["privacy"]["parts"] for one in parts] == [1, 1]
    assert ["private_groups" in one for one in parts] == [False, True]
    _, shown = own.ask("ana", "votes", by=["town"], epsilon="0.5", delta="1e-6")
    assert [row["town"] for row in shown["answers"]] == ["Ely", "Wells"]
    assert len(shown["sizes"]) == 2
    _, few = own.ask("ana", "votes", by=["town"], epsilon="0.5", delta="1e-6", at_least=10**6)
    assert (few["answers"], few["sizes"], few["private_groups"]["at_least"]) == ([], [], 10**6)
    by_town = "select town, count(*) > 300 from votes group by town"
    for text, how, status in ((by_town, "private", 200), (by_town, "listed", 422), ("count(*) > 3", "listed", 422)):
        asked = {"question": text, "epsilon": 1, "delta": "1e-6", "groups": how, "at_least": 30}
        with own.client("ana") as client:
            reply = client.post("/api/datasets/votes/preview", json=asked)
        assert reply.status_code == status, reply.text
        assert ("at_least is for groups that are selected privately" in reply.text) == (status == 422)


def test_how_many_listed_groups_is_one_answer(own: Served) -> None:
    text = "select count(*) >= 2 from (select town, count(*) > 100 as many from votes group by town) where many"
    status, reply = own.ask("ana", "votes", question=text, epsilon="0.5", delta="1e-6")
    assert (status, reply["answer"], reply["privacy"]["parts"], reply["basis"]) == (200, "yes", 1, "exact distance")
    assert reply["notes"][0].startswith("2 groups are counted, those of the list")
    with own.client("ana") as client:
        asked = {"question": text, "epsilon": 1, "delta": "1e-6", "groups": "private"}
        refused = client.post("/api/datasets/votes/preview", json=asked)
    assert refused.status_code == 422
    assert "one row per group of a public list, by town: give the list" in refused.text


def test_nobody_approves_their_own_question(own: Served) -> None:
    terms: dict[str, Any] = {"question": "avg(days) > 3", "epsilon": "0.5", "delta": "1e-6"}
    assert own.ask("ana", "stays", **terms)[1]["error"].endswith("(purpose)")
    status, waiting = own.ask("ana", "stays", purpose="a report", **terms)
    assert (status, waiting["state"], waiting["needs"]) == (202, "waiting", "another person")
    number = waiting["request"]
    assert own.ask("ana", "stays", request=number)[0] == 403
    with own.client("ana") as ana, own.client("ben") as ben, own.client("olga") as olga, own.client("iris") as iris:
        decide = f"/api/requests/{number}"
        assert ana.post(decide, json={"approve": True}).status_code == 403
        assert ben.post(decide, json={"approve": True}).status_code == 404
        assert iris.post(decide, json={"approve": True}).status_code == 404
        seen = olga.get("/api/requests").json()["requests"][0]
        assert seen["may_decide"] is True
        previewed = ana.post("/api/datasets/stays/preview", json=terms).json()
        assert seen["accuracy"].items() <= previewed.items()
        assert seen["accuracy"].keys() >= {"error_by_margin", "certain_by_margin", "certain_from", "always_certain_from"}
        assert olga.post(decide, json={"approve": True}).json()["state"] == "approved"
        assert olga.post(decide, json={"approve": False}).status_code == 403
    status, answer = own.ask("ana", "stays", request=number)
    assert (status, answer["answer"], answer["terms"]["epsilon"]) == (200, "yes", "0.5")
    assert own.ask("ana", "stays", request=number)[0] == 403
    assert len(own.desk.ledger.statement("stays").charges) == 1


def test_an_assistant_asks_what_its_person_approved_or_allowed(own: Served) -> None:
    terms: dict[str, Any] = {"question": "count(*) > 10", "epsilon": "0.2"}
    status, waiting = own.ask("ana", "votes", assistant=True, **terms)
    assert (status, waiting["state"], waiting["needs"]) == (202, "waiting", "your own person")
    number = waiting["request"]
    with own.client("ana", assistant=True) as machine, own.client("ana") as ana, own.client("olga") as olga:
        assert machine.post(f"/api/requests/{number}", json={"approve": True}).status_code == 403
        assert olga.post(f"/api/requests/{number}", json={"approve": True}).status_code == 403
        assert machine.put("/api/datasets/votes/assistant", json={"epsilon": 1}).status_code == 403
        assert own.ask("ana", "votes", assistant=True, request=number)[0] == 403
        assert ana.post(f"/api/requests/{number}", json={"approve": True}).json()["state"] == "approved"
        assert own.ask("ana", "votes", assistant=True, request=number)[0] == 200
        assert ana.put("/api/datasets/votes/assistant", json={"epsilon": "0.3"}).json()["left"] == {
            "epsilon": 0.3,
            "delta": 0.0,
        }
    states = [
        own.ask("ana", "votes", assistant=True, question=f"count(*) > {n}", epsilon="0.1")[1]["state"] for n in range(5, 9)
    ]
    assert states == ["approved"] * 3 + ["waiting"]
    assert [own.ask("ana", "votes", assistant=True, request=number + i)[0] for i in range(1, 5)] == [200, 200, 200, 403]


def test_close_calls_alone_cost(own: Served) -> None:
    status, clear = own.ask("ana", "calls", question="count(*) filter (where x = 1) > 100")
    assert (status, clear["answer"], clear["ledger"]["close_calls"]) == (200, "yes", 0)
    _, close = own.ask("ana", "calls", question="count(*) filter (where x = 1) > 4000")
    assert (close["answer"], close["ledger"]["close_calls"]) == ("too close to call", 1)
    with own.client("ana") as client:
        preview = client.post("/api/datasets/calls/preview", json={"question": "count(*) > 3"}).json()
        assert preview["ledger"]["how_many_more"] == own.desk.ledger.stands("calls").left.close_calls
        certificate = client.get(f"/api/datasets/calls/certificates/{close['charge']}").json()
        assert certificate["outcomes"] == ["yes", "too close to call", "no"]
        assert client.get("/api/datasets/calls").json()["close_calls"]["left"] == own.desk.ledger.close_calls("calls").count - 1  # type: ignore[union-attr]


def test_made_up_rows_are_free_and_about_nobody(own: Served) -> None:
    for dataset, terms in (("votes", {"epsilon": 1, "question": QUESTION}), ("calls", {"question": "count(*) > 10"})):
        status, answer = own.ask("ana", dataset, made_up=True, **terms)
        assert (status, answer["private"], answer["made_up"], answer["charge"]) == (200, False, True, None)
        assert not own.desk.ledger.statement(dataset).charges


def test_each_role_sees_what_it_may(own: Served) -> None:
    own.ask("ana", "votes", question="count(*) > 10", epsilon="0.1")
    answers = {}
    for who in ("ana", "ben", "olga", "iris"):
        with own.client(who) as client:
            (charge,) = client.get("/api/datasets/votes/history").json()["charges"]
            answers[who] = "answer" in charge
            assert charge["question"] == "count(*) > 10"
    assert answers == {"ana": True, "ben": False, "olga": True, "iris": False}
    with own.client("iris") as auditor, own.client("olga") as owner, own.client("ana") as analyst:
        assert auditor.get("/api/datasets/votes/ledger").json()["verified"] is True
        assert analyst.get("/api/datasets/votes/ledger").status_code == 403
        assert analyst.get("/api/office").status_code == 403
        for client in (auditor, owner):
            assert client.post("/api/datasets/votes/ask", json={"question": "count(*) > 1", "epsilon": 1}).status_code == 403
        assert analyst.post("/api/datasets/votes/version", json={"version": "2"}).status_code == 403
        assert owner.post("/api/datasets/votes/version", json={"version": "2"}).json()["version"] == "2"
        assert owner.post("/api/datasets/votes/version", json={"version": "1"}).status_code == 422
    assert own.ask("ana", "votes", question="count(*) > 10", epsilon="0.1")[1]["ledger"]["free"] is False


def test_a_full_queue_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One question is answered, when two of the others have been refused, and one waits."""
    head = 'ledger = "b.ledger"\n[clock]\ntick = 0.02\n[limits]\nat_once = 1\nwaiting = 1\n'
    replies, refused, release = list[int](), threading.Event(), Prepared._drawn

    def later(self: Prepared) -> Any:
        refused.wait(PATIENCE)
        refused.set()  # if nobody is refused, the test fails below
        return release(self)

    monkeypatch.setattr(Prepared, "_drawn", later)
    with serving(make_office(tmp_path, head=head)) as own:
        own.token("ana")

        def ask(number: int) -> None:
            replies.append(own.ask("ana", "votes", question=f"count(*) > {number}", epsilon="0.1")[0])
            if replies.count(429) == 2:
                refused.set()

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(replies) == [200, 200, 429, 429]
    assert not own.desk.workers.queue.here
