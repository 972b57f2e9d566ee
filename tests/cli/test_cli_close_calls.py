"""The command on a dataset whose close calls are counted: what it prints, draws, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from duotone import open_ledger
from support.running import run

REGISTER = ("ledger", "register", "b.ledger", "people", "--version", "1", "--epsilon", "1", "--delta", "1e-6")
CALLS = ("--close-calls", "--question-epsilon", "0.05")
ASK = ("ask", "people.csv", "--ledger", "b.ledger")
CLEAR, CLOSE = "count(*) > 500", "count(*) >= 2000"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A table of 2,000 people, and a ledger in which it may have nine close calls."""
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("x,g\n" + "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(2000)))
    code, out, _ = run(capsys, *REGISTER, *CALLS)
    assert code == 0
    assert "9 close calls and any number of clear answers" in out
    assert "coin toss" not in out
    return tmp_path


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    return run(capsys, *ASK, *arguments)


def test_a_clear_answer_a_close_call_and_its_record(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = asked(capsys, CLEAR)
    assert (code, out.splitlines()[0]) == (0, "yes")
    assert "ledger: free, since it is clear; left: 9 close calls" in err
    _, out, err = asked(capsys, CLOSE)
    assert out.splitlines()[0] == "too close to call (charged; 8 left)"
    assert "charged: 1 close call; left: 8 close calls" in err
    _, out, err = asked(capsys, CLOSE)
    assert out.splitlines()[0] == "too close to call (as recorded)"
    assert "free, as recorded" in err
    _, out, _ = run(capsys, "ledger", "show", "b.ledger")
    assert "close calls: 1 of 9; clear answers, free: 1; left: 8 close calls" in out
    assert "free: clear" in out
    assert "1 close call" in out
    assert run(capsys, "ledger", "verify", "b.ledger")[0] == 0


def test_json_of_answers_previews_and_the_ledger(capsys: pytest.CaptureFixture[str]) -> None:
    made = json.loads(asked(capsys, CLOSE, "--json")[1])
    assert (made["answer"], made["ledger"]["close_calls"], made["wrong"]) == ("too close to call", 1, 1e-9)
    again = json.loads(asked(capsys, CLOSE, "--json")[1])["ledger"]
    assert (again["free"], again["recorded"], again["close_calls"], again["close_calls_left"]) == (True, True, 0, 8)
    assert made["clear_from"]["0.001"] == 200
    Path("g.csv").write_text("a\nb\n")
    grouped = json.loads(asked(capsys, "select g, count(*) > 100 from people group by g", "--groups", "g.csv", "--json")[1])
    assert grouped["answers"] == [{"g": "a", "answer": "yes"}, {"g": "b", "answer": "yes"}]
    assert (grouped["unanswered"], grouped["ledger"]["free"]) == ([], True)
    preview = json.loads(asked(capsys, CLEAR, "--preview", "--json")[1])
    assert "answer" not in preview
    assert preview["ledger"]["price"] == {"close_calls_at_most": 1}
    account = json.loads(run(capsys, "ledger", "show", "b.ledger", "--json")[1])["datasets"]["people"]
    assert (account["close_calls"]["used"], account["close_calls"]["left"]) == (1, 8)
    assert [charge["close_calls"] for charge in account["charges"]] == [1, 0]


def test_a_preview_reads_and_charges_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = asked(capsys, CLEAR, "--preview", "--draw", "p.svg")
    assert code == 0
    assert "Pr[too close to call]" in out
    assert "a wrong answer has probability 1e-09, at any distance" in out
    assert "ledger: it fits; left after it: 8 close calls; price: up to 1 close call" in out
    assert Path("p.svg").read_text().startswith("<?xml")
    code, out, _ = asked(capsys, "avg(x) > 2", "--types", "x=number", "--bounds", "x=0:6", "--preview", "--people", "2000")
    assert code == 0
    assert "too close in 10% of answers or more" in out
    assert "from 2.307" in out  # above 2 + 153 · 4 / 2,000: 153 people who leave lower the sum by up to 4 each
    with open_ledger("b.ledger") as ledger:
        assert len(ledger.entries()) == 1


def test_pictures_and_certificates(capsys: pytest.CaptureFixture[str]) -> None:
    asked(capsys, CLEAR, "--certificate", "c.json")
    code, out, _ = run(capsys, "check", "c.json")
    assert (code, out.split(",")[0]) == (0, "private: 9 close calls")
    assert run(capsys, "ledger", "plot", "b.ledger", "l.svg")[0] == 0
    assert Path("l.svg").stat().st_size > 1000


def test_several_questions_are_checked_before_the_first_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    Path("q.sql").write_text(f"{CLOSE};\ncount(*) > nothing;\n")
    code, _, err = asked(capsys, "q.sql")
    assert (code, err.count("\n")) == (2, 1)
    with open_ledger("b.ledger") as ledger:
        assert len(ledger.entries()) == 1
    Path("q.sql").write_text(f"{CLOSE};\n{CLEAR};\n")
    _, out, _ = asked(capsys, "q.sql", "--json")
    assert [each["answer"] for each in json.loads(out)["questions"]] == ["too close to call", "yes"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*ASK, CLEAR, "--delta", "1e-6"), "is asked with close calls"),
        ((*ASK, CLEAR, "--max-groups", "2"), "leave --max-groups out, or give --epsilon"),
        ((*REGISTER[:3], "t", *REGISTER[4:], *CALLS, "--account", "renyi"), "an account is for definite answers only"),
        (("budget", "--epsilon", "1", "--delta", "1e-6", "--close-calls", "--json"), "prints a table"),
        ((*ASK, CLEAR, "--epsilon", "0.1"), "does not fit into the budget of people"),
        ((*ASK, "select g, count(*) > 1 from people group by g"), "each group is a question of its own"),
        ((*ASK[:2], CLEAR), "give --epsilon E or --exp-epsilon R"),
        (
            ("ledger", "register", "b.ledger", "t", "--version", "1", "--epsilon", "1", "--question-epsilon", "0.1"),
            "--close-calls",
        ),
        ((*REGISTER[:3], "t", *REGISTER[4:], "--close-calls"), "--question-epsilon 0.02"),
        ((*REGISTER[:3], "t", *REGISTER[4:], "--close-calls", "--question-epsilon", "0"), "must be above 0"),
        ((*REGISTER[:3], "t", *REGISTER[4:], "--close-calls", "--question-epsilon", "0.2"), "not one close call fits"),
        ((*REGISTER[:3], "t", *REGISTER[4:], *CALLS, "--wrong", "0.9"), "from 2^-60 to 1/4"),
        ((*REGISTER[:3], "t", *REGISTER[4:], *CALLS, "--definite", "2"), "must leave some epsilon"),
        (("ledger", "register", "b.ledger", "people", "--version", "2", *CALLS), "takes --version alone"),
        (("ledger", "allow", "b.ledger", "people", "--asker", "ann", "--epsilon", "1"), "for all askers together"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert err.strip().count("\n") == 0
    with open_ledger("b.ledger") as ledger:
        assert len(ledger.entries()) == 1


@pytest.mark.slow
def test_what_a_budget_buys_before_it_is_registered(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "budget", "--epsilon", "0.5", "--delta", "1e-6", "--close-calls")
    assert code == 0
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if line.startswith("│")]
    assert [row[0] for row in rows] == ["0.025", "0.01", "0.005"]
    assert [row[2] for row in rows] == ["399", "995", "1,989"]
    assert 0 < int(rows[0][1]) < int(rows[1][1]) < int(rows[2][1])


def test_of_several_datasets_the_tables_name_decides(capsys: pytest.CaptureFixture[str]) -> None:
    plain: Any = (*REGISTER[:3], "plain", *REGISTER[4:])
    assert run(capsys, *plain)[0] == 0
    assert asked(capsys, CLEAR)[1].splitlines()[0] == "yes"
    Path("people.csv").rename("others.csv")
    code, _, err = run(capsys, "ask", "others.csv", CLEAR, "--ledger", "b.ledger")
    assert code == 2
    assert "asked in different ways" in err
