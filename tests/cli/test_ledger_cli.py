from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import duotone
from duotone import ApproxDP, Charge, balanced, open_ledger, plotting
from support.ledgers import ABOUT, HALF, ask, register
from support.running import run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with an answer, a wasted charge and a question asked again."""
    with open_ledger(tmp_path / "budget.ledger") as ledger:
        register(ledger, ApproxDP(4, "1e-6"), done_by="owner")
        ask(ledger, "mean(pay) > 3 [bold]", asker="ann")
        with pytest.raises(ZeroDivisionError):
            ledger.ask("census", "crash", Charge(balanced(ApproxDP("0.5")), 2), lambda: 1 / 0, **ABOUT)
        ask(ledger, "mean(pay) > 3 [bold]", again=True)
    return tmp_path / "budget.ledger"


def test_register(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place = tmp_path / "l"
    options = ("--unit", "person", "--neighbours", "replace", "--version", "2026-11", "--done-by", "owner")
    code, out, _ = run(capsys, "ledger", "register", place, "census", "--epsilon", "1", "--delta", "1e-6", *options)
    assert code == 0
    assert out == (
        "census, version 2026-11: ApproxDP(epsilon=1.0, delta=1/1000000), unit person, replace, account sum\n"
        "spent: epsilon 0, delta 0, in 0 charges; left: epsilon 1, delta 1e-06\n"
    )
    code, out, _ = run(capsys, "ledger", "register", place, "weak", "--epsilon", "50", "--version", "1")
    assert (code, out.splitlines()[-1]) == (
        0,
        "weak: with epsilon 50 answers may tell whether a certain person is in the table; 1 is usual",
    )
    named = ("--account", "sum", "--json", "--version", "1")
    code, out, _ = run(capsys, "ledger", "register", place, "trial", "--epsilon", "20", "--delta", "1e-6", *named)
    assert code == 0
    account = json.loads(out)["trial"]
    assert (account["account"], account["unit"], account["neighbours"]) == ("sum", "row", "add-remove")
    code, out, _ = run(capsys, "ledger", "register", place, "trial", "--version", "2")
    assert code == 0
    assert out.startswith("trial, version 2: ")
    for bad in (
        ("census", "--epsilon", "1", "--version", "1"),
        ("new", "--version", "1"),
        ("new", "--version", "1", "--epsilon", "1", "--account", "guess"),
        ("new", "--version", "1", "--epsilon", "1", "--exp-epsilon", "2"),
        ("new", "--version", "1", "--epsilon", "x"),
    ):
        code, out, err = run(capsys, "ledger", "register", place, *bad)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("duotone: ")
        assert "exp_epsilon" not in err  # an option is written as a flag


def test_answers_do_not_act_on_a_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """An answer is what somebody recorded: any text at all."""
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger, ApproxDP(2))
        for i, key in enumerate(([], ["g\x1b[2J"])):
            ledger.ask("census", f"q{i}", HALF, lambda key=key: {"answers": [[key, "yes\x1b[2J\u202e"]]}, **ABOUT)
    code, out, _ = run(capsys, "ledger", "show", tmp_path / "l")
    assert (code, "\x1b" in out, "\u202e" in out, out.count("yes\\x1b")) == (0, False, False, 2)


def test_show(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    code, out, err = run(capsys, "ledger", "show", path)
    assert (code, err) == (0, "")
    for part in ("mean(pay) > 3 [bold]", "(again)", "ann", "2 × (ε 0.5, δ 0)", "none: wasted or", "yes"):
        assert part in out
    with open_ledger(path) as ledger:
        ask(ledger, "\x1b[31mred")
    assert "\x1b" not in run(capsys, "ledger", "show", path)[1]
    assert "1 charged without an answer: wasted by a crash, or still under way" in out
    assert "left: epsilon 2, delta 1e-06" in out
    code, out, _ = run(capsys, "ledger", "show", path, "--dataset", "census", "--json")
    account = json.loads(out)["datasets"]["census"]
    assert [charge.get("answer") for charge in account["charges"]] == [True, None, True, True]
    assert [charge.get("wasted") for charge in account["charges"]] == [None, True, None, None]
    assert account["wasted"] == 1
    assert 0 < account["spent"]["epsilon"] <= 2.5
    code, _, err = run(capsys, "ledger", "show", path, "--dataset", "none")
    assert code == 2
    assert "there is no dataset none" in err


def test_json_says_how_sure_each_answer_was_by_the_names_that_the_answer_has(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = pa.table({"town": ["Ely"] * 90 + ["Wells"] * 10, "x": [1] * 100, "who": range(100)})
    kept: dict[str, Any] = {"unit": "who", "max_rows": 1, "bounds": {"x": (0, 2)}}
    grouped = {**kept, "max_groups": 1, "groups": [("Ely",), ("Wells",)]}
    with open_ledger(tmp_path / "l") as ledger:
        ledger.register("people", ApproxDP(9, "1e-3"), unit="who", neighbours="add-remove", version="1")
        options: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "ledger": ledger, "dataset": "people"}
        one = duotone.ask(table, "avg(x) > 1", **kept, **options)
        each = duotone.ask(table, "select town, avg(x) > 0.5 from t group by town", **grouped, **options)
        duotone.ask(table, "count(*) > 50", unit="who", max_rows=1, **options)
    written = json.loads(run(capsys, "ledger", "show", tmp_path / "l", "--json")[1])
    said = [(charge["answer"], charge["margins"]) for charge in written["datasets"]["people"]["charges"]]
    assert said[0] == (one.words[()], [one.sure.numbers()])
    assert said[1] == ([[[key], word] for (key,), word in each.words.items()], [m.numbers() for m in each.margins.values()])
    assert (said[2][0], list(said[2][1][0])) == ("count", ["estimate", "give_or_take"])


def test_export_and_verify(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    code, out, _ = run(capsys, "ledger", "export", path)
    entries = json.loads(out)["entries"]
    assert [entry["kind"] for entry in entries] == ["register", "charge", "answer", "charge", "charge", "answer"]
    code, out, _ = run(capsys, "ledger", "verify", path, "--head", entries[2]["hash"])
    assert (code, out) == (0, f"verified: 6 entries, head {entries[-1]['hash']}\n")
    code, out, _ = run(capsys, "ledger", "verify", path, "--head", "0" * 64, "--json")
    assert code == 1
    assert json.loads(out)["problems"] == ["no entry has the head that was kept: the chain was cut or rewritten"]
    code, out, _ = run(capsys, "ledger", "verify", path, "--head", "0")
    assert code == 1
    assert out.splitlines()[-1].startswith("NOT verified: 6 entries")


def test_plot(capsys: pytest.CaptureFixture[str], path: Path, tmp_path: Path) -> None:
    code, _, err = run(capsys, "ledger", "plot", path, tmp_path / "spent.svg")
    assert (code, err) == (0, f"wrote {tmp_path / 'spent.svg'}\n")
    assert (tmp_path / "spent.svg").stat().st_size > 5000
    with open_ledger(path) as ledger:
        register(ledger, dataset="empty")
        plotting.save(plotting.spending(ledger.statement("empty")), tmp_path / "empty.png")  # nothing spent, and no warning
    code, _, err = run(capsys, "ledger", "plot", path, tmp_path / "spent.svg")
    assert code == 2
    assert "this ledger has 2 datasets: name one with --dataset" in err
    code, _, err = run(capsys, "ledger", "plot", path, tmp_path / "spent.svg", "--dataset", "census")
    assert code == 0


def test_the_name_of_a_copy_does_not_act_on_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger)
    for command in (("backup",), ("plot",)):
        code, out, err = run(capsys, "ledger", *command, str(tmp_path / "l"), str(tmp_path / "c\x1b[2J\u202e.svg"))
        assert (code, "\x1b" in out + err, "\u202e" in out + err) == (0, False, False)
        (tmp_path / "c\x1b[2J\u202e.svg").unlink()


DECLARED = """source = "stays.csv"
unit = "patient"
ledger = "l"
version = "2025"
account = "renyi"
answers = 100
budget = { epsilon = 1, delta = 1e-6 }
"""


def test_a_dataset_is_registered_as_its_file_declares_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "stays.toml"
    file.write_text(DECLARED)
    code, out, err = run(capsys, "ledger", "register", str(file))
    assert code == 0, err
    assert "stays, version 2025: " in out
    with open_ledger(tmp_path / "l") as ledger:
        registered = ledger.stands("stays").registered
    assert (registered.unit, registered.neighbours, registered.account.name) == ("patient", "add-remove", "renyi")
    assert run(capsys, "ledger", "register", str(file))[0] == 2  # a label is used once
    file.write_text(DECLARED.replace("2025", "2026"))
    assert "stays, version 2026: " in run(capsys, "ledger", "register", str(file))[1]
    file.write_text(DECLARED.replace("100", "200"))
    assert "differently: answers 100 (given: 200)" in run(capsys, "ledger", "register", str(file))[2]


@pytest.mark.parametrize(
    ("left_out", "flags", "says"),
    [
        ("ledger", (), "must say the ledger, the dataset, its version and its budget"),
        ("version", (), "must say the ledger, the dataset, its version and its budget"),
        ("budget", (), "must say the ledger, the dataset, its version and its budget"),
        ("", ("--epsilon", "1"), "declares its dataset"),
        ("", ("--unit", "who"), "declares its dataset"),
        ("", ("other",), "declares its dataset"),
        ("", ("--version", "7"), "version"),
    ],
)
def test_what_a_file_declares_is_not_given_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], left_out: str, flags: tuple[str, ...], says: str
) -> None:
    file = tmp_path / "stays.toml"
    file.write_text("".join(line for line in DECLARED.splitlines(True) if not left_out or not line.startswith(left_out)))
    code, _, err = run(capsys, "ledger", "register", str(file), *flags)
    assert (code, says in err) == (2, True), err
    assert not (tmp_path / "l").exists()


def test_a_version_may_be_given_beside_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "stays.toml"
    file.write_text(DECLARED.replace('version = "2025"\n', ""))
    assert "stays, version 7: " in run(capsys, "ledger", "register", str(file), "--version", "7")[1]
    assert "name the dataset and a version" in run(capsys, "ledger", "register", str(tmp_path / "l"), "stays")[2]
