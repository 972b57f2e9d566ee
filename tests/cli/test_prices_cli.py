"""The command asks at the price that an accuracy needs, at a part of the budget, or at a price; and says which part it was."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from duotone import ApproxDP, open_ledger
from support.running import run

QUESTION = "avg(days) > 5"


@pytest.fixture
def stays(tmp_path: Path) -> Path:
    """A dataset whose answers are many, in its file, with its ledger."""
    (tmp_path / "stays.csv").write_text("patient,days,ward\n" + "".join(f"{i},8,a\n" for i in range(400)))
    about = 'source = "stays.csv"\nunit = "patient"\nmax_rows = 1\ntypes.days = "number"\nbounds = { days = [0, 30] }\n'
    about += 'ledger = "office.ledger"\n'
    (tmp_path / "stays.toml").write_text(about)
    with open_ledger(tmp_path / "office.ledger") as ledger:
        named = {"unit": "patient", "neighbours": "add-remove", "version": "2025"}
        ledger.register("stays", ApproxDP(1, "1e-6"), account="renyi", **named)  # type: ignore[arg-type]
    return tmp_path / "stays.toml"


def test_the_price_follows_from_the_accuracy(capsys: pytest.CaptureFixture[str], stays: Path) -> None:
    code, out, err = run(capsys, "ask", stays, QUESTION, "--wrong", "0.001", "--people", "100")
    assert (code, out.splitlines()[0]) == (0, "yes")
    assert "ledger: one of 143 such answers; 0.69 % of the budget spent\n" in err
    code, out, err = run(capsys, "ask", stays, QUESTION, "--wrong", "0.001", "--people", "100", "--json")
    assert (code, json.loads(out)["ledger"]["free"]) == (0, True)
    code, out, err = run(capsys, "ask", stays, "avg(days) > 6", "--one-of", "1000", "--preview")
    assert (code, "price: 0.10 % of the budget, one of 1,000 such" in out) == (0, True)
    code, out, err = run(capsys, "ask", stays, "avg(days) > 6", "--price", "1.05", "--json")
    assert (code, json.loads(out)["privacy"]["price"]) == (0, "21/20")
    code, out, err = run(capsys, "ledger", "show", stays.parent / "office.ledger")
    assert "0.48 % of the budget" in out
    code, out, err = run(capsys, "ledger", "show", stays.parent / "office.ledger", "--json")
    assert re.search(r"\d{30}", out) is None
    first, second = json.loads(out)["datasets"]["stays"]["charges"]
    assert (first["one_of"], second["privacy"]) == (143, {"order": 21, "price": 1.05, "delta": 0.0})


def test_a_release_without_a_ledger_is_not_priced_by_one(capsys: pytest.CaptureFixture[str], stays: Path) -> None:
    code, out, err = run(capsys, "ask", stays, QUESTION, "--one-of", "1000", "--no-ledger")
    assert (code, out) == (2, "")
    assert "ledger" in err
    code, out, err = run(capsys, "ask", stays, QUESTION, "--wrong", "0.001", "--people", "100", "--no-ledger", "--json")
    assert (code, json.loads(out)["privacy"]["delta"], "epsilon" in json.loads(out)["privacy"]) == (0, "0", True)


def test_groups_may_cost_a_part(capsys: pytest.CaptureFixture[str], stays: Path) -> None:
    code, out, err = run(capsys, "groups", stays, "--by", "ward", "--one-of", "10", "--max-groups", "1")
    assert (code, "1 group may be shown under price" in out) == (0, True)
    assert "one of 10 such answers" in err


@pytest.mark.parametrize(
    "wanted",
    [
        "--wrong nan --people 3", "--wrong 0 --people 3", "--wrong 0.1 --people 0", "--wrong 0.1", "--people 3", "--one-of 0",
        "--one-of x", "--one-of 3 --price 2", "--epsilon 1 --one-of 2", "--price 1", "--price inf", "--one-of 9 --delta 1e-9",
        "--wrong 0.1 --people 9 --costs 10:1",
    ],
)  # fmt: skip
def test_what_cannot_be_wanted_is_refused_in_a_sentence(capsys: pytest.CaptureFixture[str], stays: Path, wanted: str) -> None:
    code, out, err = run(capsys, "ask", stays, QUESTION, *wanted.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    with open_ledger(stays.parent / "office.ledger") as ledger:
        assert ledger.statement("stays").charges == ()
