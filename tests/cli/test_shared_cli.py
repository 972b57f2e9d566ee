"""The command with many groups: answers share a budget, or have margins, as it is said; in an account renyi they have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.running import run

GROUPS = ["--by", "town", "--unit", "who", "--max-groups", "50", "--epsilon", "1", "--delta", "1e-6", "--json"]
REGISTER = ["--epsilon", "2", "--delta", "2e-6", "--unit", "who", "--version", "1"]


def test_many_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{i},{town}" for i in range(600) for town in ("Ely" if i < 500 else "Rye", "Hay")]
    Path("trips.csv").write_text("\n".join(["who,town", *rows]) + "\n")
    code, out, _ = run(capsys, "groups", "trips.csv", *GROUPS)
    shown = json.loads(out)
    assert code == 0
    assert {"town": "Ely"} in shown["groups"]
    assert "sizes" not in shown
    assert any("(margins=True)" in note for note in shown["notes"])
    code, out, _ = run(capsys, "groups", "trips.csv", *GROUPS, "--margins")
    assert code == 0
    assert len(json.loads(out)["sizes"]) == len(json.loads(out)["groups"])
    code, out, _ = run(capsys, "groups", "trips.csv", *GROUPS[:-1], "--no-margins")
    assert code == 0
    assert "for margins and sizes, divide it (--margins)" in " ".join(out.split())
    assert run(capsys, "ledger", "register", "l.ledger", "trips", *REGISTER, "--account", "renyi")[0] == 0
    assert run(capsys, "ledger", "register", "sum.ledger", "trips", *REGISTER)[0] == 0
    question = ["ask", "trips.csv", "select town, count(*) > 5 group by town", "--max-rows", "1", *GROUPS[2:], "--preview"]
    for ledger, price in (("l.ledger", {"each", "share", "one_of"}), ("sum.ledger", {"together"})):
        code, out, err = run(capsys, *question, "--ledger", ledger)
        assert code == 0, err
        assert json.loads(out)["ledger"]["price"].keys() == {"answers", *price}
    assert run(capsys, "groups", "trips.csv", *GROUPS, "--ledger", "sum.ledger")[0] == 0
    code, out, _ = run(capsys, "ledger", "show", "sum.ledger")
    assert "50 answers" in out
