"""The command for parts of the people: what it prints, charges and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from duotone import open_ledger
from support.running import run

ASK = ("ask", "stays.csv", "corr(age, days) > 0.2", "--unit", "patient", "--types", "age=number", "--types", "days=number")
PRICE = ("--epsilon", "1", "--delta", "1e-6")
SCOPE = "in most of 3 random parts of the patients"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("stays.csv").write_text("patient,age,days\n" + "".join(f"p{i},{i},{i % 9 + i}\n" for i in range(90)), encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_it_says_in_most_of_the_parts_wherever_it_answers(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *ASK, "--parts", "3", *PRICE)
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith((f"yes, {SCOPE}, p = ", f"no, {SCOPE}, p = "))
    assert "most of them, and not more" in out
    code, out, _ = run(capsys, *ASK, "--parts", "3", "--part-seconds", "5", "--part-memory", "512", *PRICE, "--json")
    document = json.loads(out)
    assert document["by_parts"] == {"scope": SCOPE, "parts": 3, "part_seconds": 5, "part_memory": 512}
    code, out, _ = run(capsys, *ASK, "--parts", "3", *PRICE, "--preview")
    assert code == 0
    assert "most of them, and not more" in out


@pytest.mark.slow
def test_a_ledger_is_charged_once(capsys: pytest.CaptureFixture[str]) -> None:
    with open_ledger("b.ledger"):
        pass
    run(
        capsys,
        "ledger",
        "register",
        "b.ledger",
        "stays",
        "--unit",
        "patient",
        "--version",
        "1",
        "--epsilon",
        "2",
        "--delta",
        "1e-5",
    )
    charged = ("--parts", "3", *PRICE, "--ledger", "b.ledger")
    _, first, err = run(capsys, *ASK, *charged)
    assert "charged; left: epsilon 1" in err
    _, again, err = run(capsys, *ASK, *charged)
    assert again == first
    assert "free, as recorded" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--parts", "4"), "an odd number"),
        (("--part-seconds", "4"), "are for --parts"),
        (("--parts", "3", "--max-rows", "2"), "max_rows is not used"),
        (("--parts", "3", "--preview", "--people", "100"), "has no preview"),
    ],
)
def test_what_makes_no_sense_is_refused(options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, *ASK, *PRICE, *options)
    assert code == 2
    assert said in err


@pytest.mark.slow
def test_a_misspelt_column_is_refused_before_anything_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "ask", "stays.csv", "corr(age, dayz) > 0.2", "--parts", "3", *PRICE)
    assert code == 2
    assert "dayz" in err
    Path("two.sql").write_text("select true; select false;", encoding="utf-8")
    code, _, err = run(capsys, "ask", "stays.csv", "two.sql", "--parts", "3", *PRICE)
    assert code == 2
    assert "--parts is for a single question" in err
