"""Which ledger and dataset are charged where the command line does not say: never a second budget, and never in silence."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone import ApproxDP, DuotoneError, open_ledger, prepare
from duotone.cli.app import main
from duotone.tables.billing import default_ledger

PRIVACY = ("--epsilon", "1", "--delta", "1e-6")
QUESTION = "count(*) > 50"


@pytest.fixture
def stays(tmp_path: Path) -> Path:
    (tmp_path / "stays.csv").write_text("x\n" + "1\n" * 99)
    return tmp_path / "stays.csv"


def registered(place: Path, *names: str) -> Path:
    with open_ledger(place) as ledger:
        for name in names:
            ledger.register(name, ApproxDP(9, "1/2"), unit="row", neighbours="add-remove", version="1")
    return place


def spent(place: Path) -> dict[str, int]:
    with open_ledger(place) as ledger:
        return {name: ledger.statement(name).state.charges for name in ledger.datasets()}


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def ask(capsys: pytest.CaptureFixture[str], table: Path, *options: object) -> tuple[int, str, str]:
    return run(capsys, "ask", table, QUESTION, *PRIVACY, *options)


def test_a_file_is_called_without_its_ending(stays: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = registered(stays.with_name("l"), "stays", "other")
    code, _, err = ask(capsys, stays, "--ledger", ledger)
    assert (code, spent(ledger)) == (0, {"stays": 1, "other": 0})
    assert f"ledger: stays in {ledger}\nledger: charged; left: epsilon 8" in err
    assert "free, as recorded" in ask(capsys, stays, "--ledger", ledger, "--dataset", "stays")[2]  # the same question
    packed, columns = stays.with_name("stays.csv.gz"), stays.with_name("stays.PARQUET")
    packed.write_bytes(gzip.compress(stays.read_bytes()))
    pq.write_table(pa.table({"x": [1] * 99}), columns)
    for other in (packed, columns):
        assert "charged" in ask(capsys, other, "--ledger", ledger)[2]  # another file is asked anew, from the same budget
    assert spent(ledger) == {"stays": 3, "other": 0}


def test_a_ledger_that_knows_a_file_by_its_full_name_goes_on(stays: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = registered(stays.with_name("l"), "stays.csv")
    with open_ledger(ledger) as own, prepare(stays, QUESTION, epsilon=1, delta=1e-6) as prepared:
        first = prepared.charge(own, "stays.csv").receipt  # as it always was
    assert first is not None
    code, _, err = ask(capsys, stays, "--ledger", ledger)
    assert (code, spent(ledger)) == (0, {"stays.csv": 1})
    assert f"ledger: stays.csv in {ledger}\nledger: free, as recorded" in err
    registered(ledger, "stays")
    code, _, err = ask(capsys, stays, "--ledger", ledger)
    assert (code, spent(ledger)) == (2, {"stays.csv": 1, "stays": 0})
    assert "the ledger has both stays and stays.csv: say which one this is (--dataset NAME)" in err
    with open_ledger(ledger) as own, prepare(stays, QUESTION, epsilon=1, delta=1e-6) as prepared:
        with pytest.raises(DuotoneError, match=r"has both stays and stays\.csv"):
            prepared.charge(own)
        assert prepared.charge(own, "stays.csv").receipt == first.__class__(**{**vars(first), "free": True})


def test_an_unknown_dataset_lists_those_there_are(stays: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = registered(stays.with_name("l"), "a", "b")
    says = "there is no dataset stays in this ledger; it has a, b: say which one this is (--dataset NAME), or register it first"
    for options in ((), ("--preview",)):
        code, out, err = ask(capsys, stays, "--ledger", ledger, *options)
        assert (code, out) == (2, "")
        assert says in err
    assert (
        "there is no dataset none in this ledger; it has a, b" in ask(capsys, stays, "--ledger", ledger, "--dataset", "none")[2]
    )


@pytest.mark.slow
def test_a_preview_shows_the_price(stays: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = registered(stays.with_name("l"), "stays")
    price = {"answers": 1, "each": {"epsilon": 1.0, "delta": 1e-06}}
    assert (
        "ledger: it fits; left after it: epsilon 8, delta 0.499999; price: 1 answer at ApproxDP(epsilon=1.0, delta=1/1000000)"
        in ask(capsys, stays, "--ledger", ledger, "--preview")[1]
    )
    assert json.loads(ask(capsys, stays, "--ledger", ledger, "--preview", "--json")[1])["ledger"] == {
        "free": False, "fits": True, "left": {"epsilon": 8.0, "delta": 0.499999}, "price": price,
    }  # fmt: skip
    with open_ledger(ledger) as own:
        own.allow("stays", "ann", ApproxDP("1/2", "1e-3"))
    shown = ask(capsys, stays, "--ledger", ledger, "--preview", "--asker", "ann")[1]
    assert "it does NOT fit; left: epsilon 9, delta 0.5; left of the allowance: epsilon 0.5, delta 0.001; price:" in shown
    assert "stays has allowances: say who asks (--asker)" in ask(capsys, stays, "--ledger", ledger)[2]
    err = ask(capsys, stays, "--ledger", ledger, "--asker", "bob")[2]
    assert "charged; left: epsilon 8, delta 0.499999\n" in err
    assert spent(ledger) == {"stays": 1}


def test_a_budget_that_no_ledger_counts_is_said_to_be_none(stays: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declared = stays.with_name("stays.toml")
    declared.write_text('source = "stays.csv"\nbudget = { epsilon = 3, delta = "1e-6" }\nversion = "1"\n')
    code, _, err = ask(capsys, declared)
    assert (code, "no ledger counts what is spent" in err) == (0, True)
    assert "no ledger counts" not in ask(capsys, declared, "--no-ledger")[2]
    assert "no ledger counts" not in ask(capsys, stays)[2]
    ledger = registered(stays.with_name("l"), "stays")
    assert "no ledger counts" not in ask(capsys, declared, "--ledger", ledger)[2]


@pytest.mark.slow
def test_a_file_beside_the_data_names_the_ledger(stays: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings, ledger = stays.with_name("duotone.toml"), registered(stays.with_name("budget"), "stays", "both")
    settings.write_text('ledger = "budget"\n')
    code, _, err = ask(capsys, stays)
    assert (code, spent(ledger)) == (0, {"stays": 1, "both": 0})
    assert f"ledger: stays in {ledger}, by {settings}" in err
    assert "charged" in run(capsys, "groups", stays, "--by", "x", *PRIVACY)[2]
    assert "ledger: free" in ask(capsys, stays, "--preview")[1]
    settings.write_text('ledger = "budget"\ndataset = "both"\n')
    ask(capsys, stays)
    assert spent(ledger) == {"stays": 2, "both": 1}
    assert "ledger" not in ask(capsys, stays, "--no-ledger")[2]
    other = registered(stays.with_name("other"), "stays")
    assert "charged" in ask(capsys, stays, "--ledger", other)[2]  # what is named wins, and its dataset is not the file's
    assert (spent(ledger), spent(other)) == ({"stays": 2, "both": 1}, {"stays": 1})
    assert "give --ledger or --no-ledger, not both" in ask(capsys, stays, "--ledger", other, "--no-ledger")[2]
    (stays.parent / "elsewhere").mkdir()
    link = stays.parent / "elsewhere" / "stays.csv"
    link.symlink_to(stays)
    assert "free" in ask(capsys, link)[2]


def test_the_variable_names_the_ledger_where_no_file_does(
    stays: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, other = registered(stays.with_name("l"), "stays"), registered(stays.with_name("other"), "stays")
    monkeypatch.setenv("DUOTONE_LEDGER", str(ledger))
    assert f"ledger: stays in {ledger}, by DUOTONE_LEDGER" in ask(capsys, stays)[2]
    stays.with_name("duotone.toml").write_text('ledger = "other"')
    assert f"ledger: stays in {other}, by" in ask(capsys, stays)[2]
    assert (spent(ledger), spent(other)) == ({"stays": 1}, {"stays": 1})
    monkeypatch.setenv("DUOTONE_LEDGER", "")
    stays.with_name("duotone.toml").unlink()
    assert default_ledger(stays) is None
    assert default_ledger(pa.table({"x": [1]})) is None
    monkeypatch.setenv("DUOTONE_LEDGER", "postgresql://h/d")
    for table in ("postgres://h/d", pa.table({"x": [1]}), stays):
        default = default_ledger(table)
        assert default is not None
        assert default.place == "postgresql://h/d"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ledger = ", "must be TOML"),
        ("ledger = 'a'\nledgr = 'b'", "may set ledger and dataset, got ledgr"),
        ("dataset = 'a'", "must name a ledger"),
        ("ledger = 1", "must name a ledger"),
        ("ledger = ''", "must name a ledger"),
        ("ledger = 'a'\ndataset = 3", "dataset must be a name"),
        ("ledger = '\xff'", "must be TOML"),
        ("ledger = 'absent'", "there is no ledger at"),
        ("ledger = '~/l'", "would be another ledger for each who asks"),
    ],
)
def test_a_bad_file_is_an_error_before_anything_is_read(
    stays: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    stays.with_name("duotone.toml").write_bytes(text.encode("latin-1"))
    code, out, err = ask(capsys, stays)
    assert (code, out) == (2, "")
    assert says in err


def test_a_folder_of_files_has_the_file_in_it_or_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "stays"
    folder.mkdir()
    for i in range(2):
        pq.write_table(pa.table({"x": [i]}), folder / f"{i}.parquet")
    (tmp_path / "duotone.toml").write_text('ledger = "/somewhere/l"')
    for table in (folder, str(folder)):
        default = default_ledger(table)
        assert default is not None
        assert default.place == "/somewhere/l"
    assert default_ledger(folder / "*.parquet") is None  # beside the files themselves there is none
    (folder / "duotone.toml").write_text('ledger = "l"')
    with pytest.raises(DuotoneError, match=r"more than one duotone\.toml beside the data"):
        default_ledger(folder)


def test_what_is_there_and_cannot_be_read_is_not_forgotten(stays: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = stays.with_name("duotone.toml")
    settings.symlink_to("nowhere")
    refused = [ask(capsys, stays)]
    settings.unlink()
    settings.mkdir()
    for code, out, err in (*refused, ask(capsys, stays)):
        assert (code, out) == (2, "")
        assert "duotone.toml cannot be read" in err


TOGETHER = (
    "select count(*) > 5 from (select who, count(*) as n from stays group by who) v"
    " left join (select who, count(*) as m from labs group by who) w using (who) where m > 0"
)


def test_every_private_table_is_looked_beside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, name in ((here, "stays"), (there, "labs")):
        folder.mkdir()
        (folder / f"{name}.csv").write_text("who\n" + "".join(f"{n}\n" for n in range(99)))
    with open_ledger(tmp_path / "l") as ledger:
        ledger.register("both", ApproxDP(9, "1/2"), unit="who", neighbours="add-remove", version="1")
    (there / "duotone.toml").write_text('ledger = "../l"')
    options = ("--unit", "who", "--also", f"labs={there / 'labs.csv'}", "--dataset", "both")
    together = ("ask", here / "stays.csv", TOGETHER, *PRIVACY, *options)
    code, _, err = run(capsys, *together)
    assert (code, spent(tmp_path / "l")) == (0, {"both": 1})
    assert f"by {there / 'duotone.toml'}" in err
    (here / "duotone.toml").write_text(f'ledger = "{tmp_path / "l"}"')  # the same one
    assert "free, as recorded" in run(capsys, *together)[2]
    (here / "duotone.toml").write_text('ledger = "other"')
    code, out, err = run(capsys, *together)
    assert (code, out) == (2, "")
    assert "name different ledgers" in err


def test_where_no_ledger_is_wanted_none_is_advised(stays: Path, capsys: pytest.CaptureFixture[str]) -> None:
    err = ask(capsys, stays, "--no-ledger", "--asker", "ann")[2]
    assert "leave them or --no-ledger out" in err
    assert "name it by" not in err
    assert "name it by --ledger" in ask(capsys, stays, "--asker", "")[2]


@pytest.mark.slow
def test_output_that_is_lost_is_said_to_be_recorded_only_where_it_is(stays: Path) -> None:
    other = stays.parent / "other"
    other.mkdir()
    registered(other / "l", "stays")
    (other / "duotone.toml").write_text('ledger = "l"')
    lost = []
    for table, options in (
        (stays, ["--certificate", str(other / "x.json")]),
        (other / "stays.csv", []),
        (stays, ["--preview"]),
    ):
        (other / "stays.csv").write_bytes(stays.read_bytes())
        command = [sys.executable, "-m", "duotone", "ask", str(table), QUESTION, *PRIVACY, *options]
        with Path("/dev/full").open("w") as full:
            lost.append(subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300).stderr)
    assert "drawn is lost" in lost[0]
    assert "charged is recorded in the ledger" in lost[1]
    assert "an answer" not in lost[2]


def test_the_repository_has_no_such_file() -> None:
    here = Path(__file__).parents[2]
    files = subprocess.run(["git", "ls-files"], cwd=here, capture_output=True, text=True).stdout.split()
    assert [file for file in files if file.endswith("duotone.toml")] == []
