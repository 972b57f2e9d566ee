"""What a budget buys, and previews in a question's own units, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.running import run

BUDGET = ("--epsilon", "1", "--delta", "1e-6")


@pytest.mark.slow
def test_budget(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = run(capsys, "budget", *BUDGET, "--draw", tmp_path / "b.svg")
    assert code == 0
    assert "never wrong from" in out
    assert "100" in out
    assert err == f"wrote {tmp_path / 'b.svg'}\n"
    assert (tmp_path / "b.svg").stat().st_size > 5000


def test_budget_of_a_size_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    size = ("--each-epsilon", "0.01", "--each-delta", "1e-12")
    _, out, _ = run(capsys, "budget", *BUDGET, *size, "--json")
    (each,) = json.loads(out)["each"]
    assert each["answers"] == {"sum": 100, "renyi": 484}
    assert each["certain_from"] > 1000
    assert each["error_by_margin"]["1"] == pytest.approx(0.4975, abs=1e-4)
    _, out, _ = run(capsys, "budget", "--exp-epsilon", "2", "--json")
    assert [each["answers"]["sum"] for each in json.loads(out)["each"]] == [1, 10, 100]


def test_what_was_counted_no_further_is_said_to_be_more(capsys: pytest.CaptureFixture[str]) -> None:
    each = ("--epsilon", "1", "--each-epsilon", "1e-9")
    _, out, _ = run(capsys, "budget", *each)
    assert "131,072 or more" in out
    (size,) = json.loads(run(capsys, "budget", *each, "--json")[1])["each"]
    assert (size["answers"]["sum"], size["or_more"]) == (2**17, ["sum"])


def test_bad_budgets(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in [
        ((), "give --epsilon E or --exp-epsilon R"),
        ((*BUDGET, "--each-delta", "1e-9"), "--each-delta needs --each-epsilon"),
        ((*BUDGET, "--each-epsilon", "-1"), "epsilon"),
    ]:
        code, _, err = run(capsys, "budget", *arguments)
        assert code == 2
        assert said in err


@pytest.fixture
def stars(tmp_path: Path) -> Path:
    path = tmp_path / "stars.csv"
    path.write_text("stars,town\n5,Ely\n")
    return path


@pytest.mark.slow
def test_people(capsys: pytest.CaptureFixture[str], stars: Path) -> None:
    asked = ("ask", stars, "avg(stars) > 4", "--types", "stars=number", "--bounds", "stars=1:5:1", *BUDGET)
    code, out, _ = run(capsys, *asked, "--preview", "--people", "1000")
    assert code == 0
    assert "of 1,000 people" in out
    assert "from 4.043" in out
    _, out, _ = run(capsys, *asked, "--preview", "--people", "1000", "--json")
    told = json.loads(out)["in_units"]
    assert told["people"] == 1000
    assert told["comparisons"] == [
        {
            "comparison": "avg(stars) > 4",
            "measure": "the average",
            "above": True,
            "true": {"toss_up_to": 4.003, "seldom_from": 4.013, "never_from": 4.043},
            "false": {"toss_up_to": 4, "seldom_from": 3.988, "never_from": 3.958},
        }
    ]
    plain = json.loads(run(capsys, *asked, "--preview", "--json")[1])
    assert plain == {key: value for key, value in json.loads(out).items() if key != "in_units"}
    code, _, err = run(capsys, *asked, "--people", "1000")
    assert code == 2
    assert "--people is for --wrong, and for previews: add --wrong or --preview, or leave it out" in err
    code, _, err = run(capsys, *asked, "--preview", "--people", "0")
    assert code == 2
    assert "whole number from 1" in err


def test_people_in_each_group(capsys: pytest.CaptureFixture[str], stars: Path) -> None:
    question = "select town, count(*) > 100 from stars group by town"
    _, out, _ = run(capsys, "ask", stars, question, *BUDGET, "--preview", "--people", "500", "--json")
    document = json.loads(out)
    assert document["in_units"]["comparisons"][0]["true"]["never_from"] == 100 + document["certain_from"]
