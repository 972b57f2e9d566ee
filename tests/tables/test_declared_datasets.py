"""Datasets that are declared once: asked about in Python and by the command, with the types of their columns; and the first
declaration that is made of a table."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, Dataset, ask, open_ledger, prepare
from duotone.errors import DuotoneError
from duotone.tables.check_question import prepare_all
from duotone.tables.engines import open_source
from duotone.tables.inspection import inspect_clipping
from support.running import run

STAYS = Path(__file__).parents[2] / "examples" / "stays"
SURE = ApproxDP(9, "1e-6")
ROWS: dict[str, Any] = {"unit": "row", "neighbours": "add-remove", "version": "1"}
TEXTS = {
    "number": (["7", " 7.5 ", "-0", "1e3", "true", "x", "NaN", "1,5", ""], [7.0, 7.5, 0.0, 1000.0] + [None] * 5),
    "date": (["2025-12-31", "31/12/2025", "2025-02-30", "infinity", " 2025-01-02"], ["2025-12-31", *[None] * 3, "2025-01-02"]),
    "time": (["2025-12-31 10:30", "2025-12-31", "x"], ["2025-12-31 10:30:00", "2025-12-31 00:00:00", None]),
    "yes/no": (["yes", "No", "TRUE", "f", "1", "0", "maybe", "2"], [True, False, True, False, True, False, None, None]),
    "text": (["7", " x ", "true"], ["7", " x ", "true"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", TEXTS)
def test_a_column_has_the_type_that_is_declared(tmp_path: Path, kind: str) -> None:
    texts, values = TEXTS[kind]
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f'"{text}",1\n' for text in texts))
    with open_source(tmp_path / "t.csv", types={"x": kind}) as source:
        assert source.columns["x"] != "untyped"
        read = source.run(source.only(["x"]).rows)["x"].to_pylist()
    assert [value if value is None or isinstance(value, bool | float) else str(value) for value in read] == values


def test_what_a_type_is_for(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,late\n" + "7,yes\n" * 80 + "2,no\n" * 20 + "-,-\n" * 5)
    typed = Dataset(tmp_path / "t.csv", types={"x": "number", "late": "yes/no"}, bounds={"x": (0, 10)})
    with prepare(typed, "avg(x) > 5", SURE) as asked:
        assert [note.code for note in asked.facts.notes] == ["clipped values"]  # nothing is left to guess
    assert ask(typed, "avg(x) > 5", SURE)
    assert ask(typed, "avg(late) > 0.7", SURE)
    assert not ask(typed, "avg(late) > 0.9", SURE)
    late = "avg(x) filter (where late = {}) > 5"
    with prepare(typed, late.format("'Yes'"), SURE) as one, prepare(typed, late.format("true"), SURE) as other:
        assert one.normal == other.normal
    with pytest.raises(DuotoneError, match="column late holds Booleans: compare it with true or false"):
        prepare(typed, late.format("'late'"), SURE)
    with prepare(tmp_path / "t.csv", "count(*) > 1", SURE) as one, prepare(typed, "count(*) > 1", SURE) as other:
        assert one.normal != other.normal  # types are a part of what is asked
    with pytest.raises(DuotoneError, match="types names a column that is not there"):
        open_source(tmp_path / "t.csv", types={"z": "number"})
    with pytest.raises(DuotoneError, match="only CSV files and JSON lines have types"):
        prepare(_frame(), "count(*) > 1", SURE, types={"x": "number"})


def _frame() -> Any:
    import pyarrow as pa

    return pa.table({"x": [1]})


def test_what_one_question_has_no_use_for_another_may_have(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("who,x\n" + "".join(f"{n},{n % 9}\n" for n in range(90)))
    about: dict[str, Any] = {"unit": "who", "per_unit": "avg", "bounds": {"x": (0, 10), "z": (0, 1)}}
    about["types"] = {"x": "number"}
    declared = Dataset(tmp_path / "t.csv", groups={"who": ["1"]}, **about)
    assert ask(declared, "count(distinct who) > 20", SURE)
    assert ask(declared, "avg(x) > 1", SURE)
    with prepare_all(declared, ["count(distinct who) > 1", "avg(x) > 1"], SURE) as every:
        assert len(every) == 2
    with pytest.raises(DuotoneError, match="has no column z"):
        ask(tmp_path / "t.csv", "avg(x) > 1", SURE, **about)
    with pytest.raises(DuotoneError, match="per_unit is for"):
        ask(tmp_path / "t.csv", "count(distinct who) > 1", SURE, unit="who", per_unit="avg")
    with pytest.raises(DuotoneError, match="declares that already: leave unit out"):
        ask(declared, "avg(x) > 1", SURE, unit="who")
    with pytest.raises(TypeError, match="boundz is not known: bounds is"):
        ask(tmp_path / "t.csv", "avg(x) > 1", SURE, boundz={})


def test_only_the_columns_that_are_declared_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("who,x,secret\n1,2,3\n")
    declared = Dataset(tmp_path / "t.csv", unit="who", columns=["x"])
    with pytest.raises(DuotoneError, match="no column secret"):
        prepare(declared, "median(secret) > 1", SURE)
    prepare(declared, "count(distinct who) > 1", SURE).close()


def test_a_dataset_is_charged_to_its_ledger(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n" + "1\n" * 90)
    with open_ledger(tmp_path / "b.ledger") as ledger:
        ledger.register("visits", ApproxDP(3, "1e-5"), **ROWS)
    declared = Dataset(tmp_path / "t.csv", ledger=tmp_path / "b.ledger", dataset="visits")
    answer = ask(declared, "count(*) > 20", epsilon=1, delta=1e-6)
    assert (answer.about, answer.receipt is not None) == ("visits", True)


def test_the_command_asks_a_dataset(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, budget = str(STAYS / "stays.toml"), ("--epsilon", "20", "--delta", "1e-6", "--no-ledger")
    code, out, _ = run(capsys, "ask", file, "avg(days) > 3", *budget, "--json")
    assert (code, json.loads(out)["answer"]) == (0, "yes")
    assert "patient" in json.loads(out)["person"]
    grouped = "select ward, avg(cost) > 1000 from stays group by ward"
    code, out, _ = run(capsys, "ask", file, grouped, *budget, "--json")
    assert {row["ward"] for row in json.loads(out)["answers"]} == {"Cardiology", "Geriatrics", "Maternity", "Surgery"}
    code, _, err = run(capsys, "ask", file, "avg(days) > 3", *budget, "--unit", "patient", "--max-rows", "1")
    assert (code, "leave --unit and --max-rows out" in err) == (2, True)
    assert run(capsys, "groups", file, "--by", "ward", *budget)[0] == 0
    assert "age" in run(capsys, "inspect", file)[1]
    (tmp_path / "bad.toml").write_text('source = "t.csv"\nmax_rows = 0\nseparator = ",,"\n')
    code, _, err = run(capsys, "ask", str(tmp_path / "bad.toml"), "count(*) > 3", *budget)
    assert code == 2
    assert [line.partition(" must")[0] for line in err.splitlines()] == [
        "duotone: bad.toml, line 2: max_rows",
        "duotone: bad.toml, line 3: separator",
    ]


def test_the_command_charges_the_ledger_of_a_dataset(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n" + "1\n" * 90)
    (tmp_path / "t.toml").write_text('source = "t.csv"\nledger = "b.ledger"\ndataset = "visits"\n')
    with open_ledger(tmp_path / "b.ledger") as ledger:
        ledger.register("visits", ApproxDP(3, "1e-5"), **ROWS)
    asked = ("ask", str(tmp_path / "t.toml"), "count(*) > 20", "--epsilon", "1", "--json")
    code, out, _ = run(capsys, *asked)
    assert (code, "ledger" in json.loads(out)) == (0, True)
    assert "leave --ledger out" in run(capsys, *asked, "--ledger", "other.ledger")[2]
    assert "ledger" not in json.loads(run(capsys, *asked, "--no-ledger")[1])


def test_a_first_declaration_is_by_the_rows_and_leaves_questions(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = [
        f"{n:05},{n % 28 + 1}/12/2025,{'yes' if n % 3 else 'no'},{n if n % 50 else '-'},2025-01-02 10:30,"
        f'"${n % 7 + 1},234.50{"x" * (n == 9)}","{n},5 %"'
        for n in range(200)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["zip,day,late,a b,at,paid,rate", *rows]) + "\n")
    out = tmp_path / "t.toml"
    code, _, err = run(capsys, "declare", str(tmp_path / "t.csv"), "--out", str(out))
    assert (code, "NOT PRIVATE" in err) == (0, True)
    text, made = out.read_text(), Dataset.load(out)
    assert made.types == {
        "zip": "text", "late": "yes/no", "a b": "number", "at": "time", "day": "%d/%m/%Y", "paid": "money", "rate": "12,5 %",
    }  # fmt: skip
    assert "196 of 200 values fit, and 4 (2.00%) would count as missing" in text
    assert 'paid = "money"  # 199 of 200 values fit, and 1 (0.50%) would count as missing; as number none would' in text
    assert (made.source, made.unit, made.bounds, made.max_rows) == (str(tmp_path / "t.csv"), None, {}, None)
    assert '# bounds = { "a b" = [LOWEST, HIGHEST], paid' in text
    assert "NOT private" in text.splitlines()[0]
    code, _, err = run(capsys, "declare", str(tmp_path / "t.csv"), "--out", str(out))
    assert (code, "is there already" in err) == (2, True)
    assert run(capsys, "declare", str(tmp_path / "t.csv"), "--out", str(out), "--force")[0] == 0
    assert run(capsys, "declare", str(tmp_path / "t.csv"), "--force")[0] == 2
    assert "[types]" in run(capsys, "declare", str(tmp_path / "t.csv"))[1]


def test_the_example_holds_what_a_first_declaration_finds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shutil.copy(STAYS / "stays.csv", tmp_path)
    run(capsys, "declare", str(tmp_path / "stays.csv"), "--out", str(tmp_path / "stays.toml"))
    assert Dataset.load(tmp_path / "stays.toml").types == Dataset.load(STAYS / "stays.toml").types
    assert {one.unread for one in inspect_clipping(Dataset.load(STAYS / "stays.toml")).types} == {0}


def test_a_dataset_serves_grouped_questions_and_one_row_per_person(tmp_path: Path) -> None:
    """Its `max_groups` is for the first, and what is computed has bounds beside the declared ones."""
    (tmp_path / "t.csv").write_text("who,town,x\n" + "".join(f"p{n % 90},{'AB'[n % 2]},{n % 9}\n" for n in range(270)))
    held: dict[str, Any] = {"types": {"x": "number"}, "bounds": {"x": (0, 9)}}
    declared = Dataset(tmp_path / "t.csv", unit="who", max_rows=3, max_groups=1, **held)
    with prepare(declared, "select town, count(*) > 9 from t group by town", SURE, groups=["A", "B"]) as asked:
        assert "groups beyond" in [note.code for note in asked.facts.warnings]
    with prepare(declared, "select town, count(*) > 9 from t group by town", SURE, groups=["A"]) as asked:
        assert "groups beyond" not in [note.code for note in asked.facts.warnings]  # nobody is left out of the only one
    with prepare(replace(declared, max_groups=None), "count(*) > 9", SURE) as asked:
        assert "groups beyond" not in [note.code for note in asked.facts.warnings]
    spent = "select avg(spent) > 3 from (select who, sum(x) as spent from t group by who)"
    assert ask(replace(declared, max_groups=2), spent, SURE, bounds={"spent": (0, 40)})
    about: dict[str, Any] = {"types": {"x": "number"}, "bounds": {"spent": (0, 40)}}
    with pytest.raises(DuotoneError, match="leave max_groups out"):  # here it was meant for this question
        ask(tmp_path / "t.csv", spent, SURE, unit="who", max_groups=2, **about)
    with pytest.raises(DuotoneError, match="declares that already: leave bounds out"):
        ask(declared, spent, SURE, bounds={"x": (0, 7)})
