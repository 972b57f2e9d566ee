"""Questions about tables, charged to a ledger: the charge first, then the table, then the coin."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from duotone import ApproxDP, Charge, DuotoneError, OverBudget, balanced, open_ledger, prepare
from duotone.cli.app import main
from duotone.ledger.ledger import Ledger
from duotone.tables.check_question import prepare_all, prepare_groups
from duotone.tables.engines.any_ibis import AnyIbis
from duotone.tables.engines.open import _identity, files_of
from duotone.tables.prepared import Prepared, quote_all, require_all_fit
from support.ledgers import MemoryStore, ask, register

EACH = ApproxDP(1, "1e-6")
TABLE = pa.table({"town": ["Ely"] * 90 + ["Wells"] * 80, "x": [1] * 170, "who": range(170)})


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with open_ledger(tmp_path / "l.ledger") as opened:
        opened.register("t", ApproxDP(3, "1e-4"), unit="row", neighbours="add-remove", version="1")
        yield opened


def unreadable(prepared: Prepared) -> Prepared:
    return dataclasses.replace(prepared, source=dataclasses.replace(prepared.source, engine=AnyIbis(None)))


def test_the_same_question_is_answered_from_its_record_without_reading(ledger: Ledger) -> None:
    asked = prepare(TABLE, "count(*) > 10", EACH)
    first = asked.charge(ledger, "t", asker="ann")
    assert first.receipt is not None
    assert (bool(first), first.receipt.free, str(first.receipt.left)) == (True, False, "epsilon 2, delta 9.9e-05")
    again = unreadable(prepare(TABLE, "select COUNT( * ) > 10", EACH)).charge(ledger, "t")
    assert again.receipt is not None
    assert (again.answers, again.receipt.free) == (first.answers, True)
    assert asked.charge(ledger, "t", again=True).receipt is not None
    ledger.relabel("t", "2")
    newer = asked.charge(ledger, "t").receipt
    assert newer is not None
    assert not newer.free
    with pytest.raises(OverBudget, match="left: epsilon 0"):
        unreadable(prepare(TABLE, "count(x) > 11", EACH)).charge(ledger, "t")


@pytest.mark.slow
def test_what_changes_an_answer_is_another_question() -> None:
    bounds = {"x": (0, 1)}
    normals = [
        prepare(TABLE, "avg(x) > 0", EACH, bounds=bounds).normal,
        prepare(TABLE, "avg(x) > 0", EACH, bounds={"x": (0, 2)}).normal,
        prepare(TABLE, "avg(x) > 0", EACH, bounds=bounds, unit="who", max_rows=2).normal,
        prepare(TABLE, "avg(x) > 0", EACH, bounds=bounds, unit="who", per_unit="max").normal,
        prepare(TABLE, "select town, avg(x) > 0 from t group by town", EACH, bounds=bounds).normal,
        prepare(TABLE, "select town, avg(x) > 0 from t group by town", EACH, bounds=bounds, groups=[("Ely",)]).normal,
        prepare(
            TABLE, "select town, avg(x) > 0 from t group by town", EACH, bounds=bounds, unit="who", max_rows=1, max_groups=2
        ).normal,
        prepare_groups(TABLE, ["town"], EACH).normal,
    ]
    assert len(set(normals)) == len(normals)
    assert prepare(TABLE, "count(*) > 1", EACH).normal == "SELECT COUNT(*)"  # a noisy count has all limits
    assert prepare(TABLE, "count(*) > 1", ApproxDP(1)).normal == "SELECT COUNT(*) > 1"


def test_a_table_that_cannot_be_read_wastes_the_charge_and_says_so(ledger: Ledger) -> None:
    with pytest.raises(DuotoneError, match="no answer was released, and the charge stands"):
        unreadable(prepare(TABLE, "count(*) > 10", EACH)).charge(ledger, "t")
    after = prepare(TABLE, "count(*) > 10", EACH).charge(ledger, "t").receipt
    assert after is not None
    assert (after.unanswered, str(after.left)) == (1, "epsilon 1, delta 9.8e-05")


@pytest.mark.slow
def test_groups_cost_what_one_person_can_change(ledger: Ledger) -> None:
    question = "select town, count(*) > 20 from t group by town"
    reply = prepare(TABLE, question, EACH).charge(ledger, "t")
    assert reply.answers == {("Ely",): True, ("Wells",): True}
    cost = prepare(TABLE, question, EACH).cost
    assert (cost.answers, cost.boundary, cost.privacy) == (1, "selection", EACH)
    means = prepare(TABLE, "select town, avg(x) > 0 from t group by town", EACH, bounds={"x": (0, 1)}).cost
    assert (means.answers, means.boundary, means.privacy) == (1, "balanced+selection", EACH)
    shown = prepare_groups(TABLE, ["town"], EACH).charge(ledger, "t")
    assert list(shown.answers) == [("Ely",), ("Wells",)]
    assert prepare_groups(TABLE, ["town"], EACH, unit="who", max_groups=3).cost.answers == 3
    assert str(ledger.statement("t").left) == "epsilon 1, delta 9.8e-05"
    with pytest.raises(DuotoneError, match="registered with unit row, and the question has who: ask with that, or"):
        prepare(TABLE, question, EACH, unit="who", max_rows=1, max_groups=1).charge(ledger, "t")
    with pytest.raises(DuotoneError, match="add-remove, and the question has replace"):
        prepare(TABLE, "count(*) > 1", EACH, neighbours="replace").charge(ledger, "t")


@pytest.mark.slow
def test_the_command_charges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, place = tmp_path / "t.csv", str(tmp_path / "l.ledger")
    file.write_text("town\n" + "Ely\n" * 60)

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([*arguments])
        out = capsys.readouterr()
        return int(ended.value.code or 0), out.out, out.err

    budget = ["--epsilon", "1", "--delta", "1e-6"]
    assert run("ledger", "register", place, "t.csv", "--epsilon", "2", "--delta", "1e-5", "--version", "1")[0] == 0
    charged = ["ask", str(file), "count(*) > 9", *budget, "--ledger", place, "--asker", "ann", "--json"]
    code, out, err = run(*charged)
    assert (code, json.loads(out)["answer"]) == (0, "yes")
    assert "ledger: charged; left: epsilon 1" in err
    assert "free, as recorded" in run(*charged)[2]
    assert "Ely" in run("groups", str(file), "--by", "town", *budget, "--ledger", place)[1]
    code, out, err = run(*charged, "--again")
    assert (code, out) == (2, "")
    assert "does not fit into the budget of t.csv" in err
    assert run("ask", str(file), "count(*) > 9", *budget, "--again")[0] == 2
    assert run("ledger", "verify", place)[0] == 0


def test_what_could_be_mistaken_is_refused_or_told_apart(ledger: Ledger) -> None:
    rows = pa.table({"row": [1, 2], "x": [1, 1]})
    with pytest.raises(DuotoneError, match="rename the column that names a person"):
        prepare(rows, "count(*) > 1", EACH, unit="row", max_rows=1).charge(ledger, "t")
    ledger.register("another", ApproxDP(1), unit="row", neighbours="add-remove", version="1")
    with pytest.raises(DuotoneError, match="a data frame has no name"):
        prepare(rows, "count(*) > 1", EACH).charge(ledger)
    named = prepare(TABLE, "count(*) > 10", EACH)
    first = dataclasses.replace(named, source=dataclasses.replace(named.source, name="a", named=True))
    other = dataclasses.replace(named, source=dataclasses.replace(named.source, name="b", named=True))
    for asked in (first, other):
        receipt = asked.charge(ledger, "t").receipt
        assert receipt is not None
        assert not receipt.free


BUDGETS = ["0.1", "0.25", "0.3", "1/3", "0.5", "0.7", 1, 2, 0.1, math.log(2), math.log(3) / 7, 1e-300]


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters", [*({"epsilon": e} for e in BUDGETS), *({"exp_epsilon": r} for r in (2, 8, "3/2", 1.1))], ids=str
)
def test_all_of_equal_shares_are_sold_and_nothing_more(parameters: dict[str, Any]) -> None:
    """1 to 7 questions that share a budget evenly, each of 1 to 6 answers that share it in turn."""
    for shares in range(1, 8):
        for parts in (1, 2, 3, 4, 6):
            store = MemoryStore()
            ledger = Ledger(store)
            budget = ApproxDP(**parameters, delta="1e-6")
            register(ledger, budget)
            sale = Charge(balanced(budget.split(shares).split(parts)), parts)
            charged = [str(ask(ledger, f"q{i}", sale).left) for i in range(shares)]
            assert charged[-1] == "epsilon 0, delta 0" or "exp_epsilon" in parameters
            with pytest.raises(OverBudget):
                ask(ledger, "one more", Charge(balanced(ApproxDP("1e-30" if "epsilon" in parameters else "1e-9"))))
            assert ledger.verify().holds
            store.end()


def test_two_grouped_questions_at_half_the_budget_each(tmp_path: Path) -> None:
    question, half = "select town, {} from t group by town", ApproxDP("0.25", "5e-7")
    with open_ledger(tmp_path / "l") as opened:
        opened.register("t", ApproxDP("0.5", "1e-6"), unit="row", neighbours="add-remove", version="1")
        prepare(TABLE, question.format("count(*) > 20"), half).charge(opened, "t")
        prepare(TABLE, question.format("avg(x) > 0.3"), half, bounds={"x": (0, 1)}).charge(opened, "t")
        assert str(opened.statement("t").left) == "epsilon 0, delta 0"
        with pytest.raises(OverBudget):
            prepare(TABLE, question.format("avg(x) > 0.4"), half, bounds={"x": (0, 1)}).charge(opened, "t")
        again = prepare(TABLE, question.format("count(*) <= 40"), half).charge(opened, "t")  # the size is recorded
        assert again.receipt is not None
        assert again.receipt.free


@pytest.mark.slow
def test_of_several_questions_none_is_charged_unless_all_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, place, questions = tmp_path / "t.csv", str(tmp_path / "l.ledger"), tmp_path / "q.sql"
    file.write_text("town\n" + "Ely\n" * 60)
    questions.write_text("count(*) > 9; count(*) > 10; count(*) > 11")

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([*arguments])
        out = capsys.readouterr()
        return int(ended.value.code or 0), out.out, out.err

    assert run("ledger", "register", place, "t", "--epsilon", "2", "--version", "1")[0] == 0
    every = ["ask", str(file), str(questions), "--epsilon", "1", "--each", "--ledger", place]
    code, out, err = run(*every)
    assert (code, out) == (2, "")
    assert "question 3 of 3, 1 answer at ApproxDP(epsilon=1.0, delta=0) after those before it, does not fit" in err
    assert "nothing was charged" in err
    with open_ledger(place) as ledger:
        assert len(ledger.entries()) == 1
    assert run("ask", str(file), "count(*) > 10", "--epsilon", "1", "--ledger", place)[0] == 0
    questions.write_text("count(*) > 10; count(*) > 11; count(*) > 10.0")  # of which one is new
    assert run(*every)[0] == 0
    with open_ledger(place) as ledger:
        assert len(ledger.entries()) == 5


def test_a_unit_is_asked_for_where_the_dataset_has_one_or_people_are_counted(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l.ledger") as ledger:
        ledger.register("t", ApproxDP(3), unit="who", neighbours="add-remove", version="1")
        asked = prepare(TABLE, "count(distinct who) > 10", ApproxDP(1))
        with pytest.raises(DuotoneError, match=r"unit who, and the question has row: name the column .* \(unit\)"):
            asked.charge(ledger, "t")
    assert asked.notes == ("each row is a person: where one can have several, name the column that tells persons apart (unit)",)
    assert prepare(TABLE, "count(distinct who) > 10", ApproxDP(1), unit="who").notes == ()


def several(folder: Path) -> None:
    for name, rows in (("a", 200), ("b", 200), ("c", 2)):
        pq.write_table(pa.table({"who": range(rows)}), folder / f"{name}.parquet")


def free(source: Any, ledger: Ledger, **options: Any) -> bool:
    with prepare(source, "count(*) > 100", EACH, **options) as asked:
        receipt = asked.charge(ledger, "t").receipt
    assert receipt is not None
    return receipt.free


def test_other_files_are_another_question(tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    several(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert not free("[ab].parquet", ledger)
    assert not free("[c].parquet", ledger)
    assert free(["b.parquet", tmp_path / "a.parquet"], ledger)
    assert free(str(tmp_path / "[!c].parquet"), ledger)
    assert not free(["a.parquet"], ledger)


def test_many_files_are_known_by_their_hash(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        for n in range(60):
            (tmp_path / folder / f"{'long' * 9}{n}.parquet").touch()
    names = [_identity(files_of(tmp_path / f"{folder}/*{end}.parquet")) for folder in ("one", "two") for end in ("", "[0-8]")]
    assert len(set(names)) == 4
    assert names[0].startswith("60 files, ")
    assert all(len(name) < 100 for name in names)


def test_other_files_beside_are_another_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    several(tmp_path)
    monkeypatch.chdir(tmp_path)
    question = (
        "select count(*) > 100 from (select who, count(*) as n from a group by who) v"
        " left join (select who, count(*) as m from b group by who) w using (who) where m > 0"
    )
    with open_ledger("l") as own:
        own.register("t", ApproxDP(9, "1e-4"), unit="who", neighbours="add-remove", version="1")
        for also, known in (("[b].parquet", False), ("[c].parquet", False), (["b.parquet"], True)):
            with prepare("a.parquet", question, EACH, unit="who", also={"b": also}) as asked:
                receipt = asked.charge(own, "t").receipt
            assert receipt is not None
            assert receipt.free == known


def test_tables_of_one_name_in_two_databases_are_two(tmp_path: Path, ledger: Ledger) -> None:
    for month in ("jan", "feb"):
        with duckdb.connect(str(tmp_path / f"{month}.duckdb")) as database:
            database.execute("create table t as select range as x from range(200)")
    assert not free(tmp_path / "jan.duckdb", ledger, table="t")
    assert not free(tmp_path / "feb.duckdb", ledger, table="t")
    with duckdb.connect(str(tmp_path / "jan.duckdb")) as database:
        assert free(database, ledger, table="t")


def test_a_dataset_has_a_name(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n" + "1\n" * 99)
    refused = pytest.raises(DuotoneError, match="a dataset is a short printable text, got ''")
    with prepare(tmp_path / "t.csv", "count(*) > 10", EACH) as asked, refused:
        asked.charge(ledger, "")
    assert ledger.statement("t").charges == ()


def test_a_ledger_may_be_named_by_its_place(ledger: Ledger, tmp_path: Path) -> None:
    with prepare(TABLE, "count(*) > 100", EACH) as asked:
        for place, known in ((str(tmp_path / "l.ledger"), False), (tmp_path / "l.ledger", True)):
            receipt = asked.charge(place, "t", asker="ann").receipt
            assert receipt is not None
            assert receipt.free == known
        with pytest.raises(DuotoneError, match="there is no ledger"):
            asked.charge(tmp_path / "none.ledger", "t")
    assert [charge.asker for charge in ledger.statement("t").charges] == ["ann"]
    assert not (tmp_path / "none.ledger").exists()


def test_one_dataset_in_two_kinds_of_files_is_one_budget_and_two_questions(ledger: Ledger, tmp_path: Path) -> None:
    """A text file's column is read by other rules: here one answer is about texts, the other about numbers."""
    (tmp_path / "t.csv").write_text("x\n" + "NA\n" * 99)
    pq.write_table(pa.table({"x": pa.array([None] * 99, pa.int64())}), tmp_path / "t.parquet")
    answers = []
    for file in ("t.csv", "t.parquet"):
        with prepare(tmp_path / file, "count(x) > 50", EACH) as asked:
            answers.append(asked.charge(ledger))
    assert [bool(answer) for answer in answers] == [True, False]
    assert [charge.question for charge in ledger.statement("t").charges] == [
        f"SELECT COUNT(x) OF t.{ending}" for ending in ("csv", "parquet")
    ]


def test_a_frame_and_a_file_of_one_registered_name_are_two_tables(ledger: Ledger, tmp_path: Path) -> None:
    """The file has nobody in it: what was recorded of the frame is no answer about it."""
    ledger.register("u.csv", ApproxDP(3, "1e-4"), unit="row", neighbours="add-remove", version="1")
    (tmp_path / "u.csv").write_text("x\n")
    answers = []
    for table in (TABLE, tmp_path / "u.csv", TABLE, tmp_path / "u.csv"):
        with prepare(table, "count(*) > 50", EACH) as asked:
            answers.append(asked.charge(ledger, "u.csv"))
    assert [bool(answer) for answer in answers] == [True, False, True, False]
    assert [answer.receipt is not None and answer.receipt.free for answer in answers] == [False, False, True, True]


def test_the_same_question_at_another_budget_is_said(ledger: Ledger) -> None:
    """On a quote and with the answer; not of another version, of a charge without an answer, or where it is asked again."""
    question, turned = "select count(*) > 100 where x > 0 and who >= 0", "count(*) filter (where who >= 0 and x > 0) > 100"

    def note(epsilon: str, text: str = question, **options: Any) -> str | None:
        with prepare(TABLE, text, ApproxDP(epsilon, "1e-7")) as asked:
            (quote,) = quote_all([asked], ledger, "t", **options)
            answers = asked.charge(ledger, "t", **options)
        assert answers.receipt is not None
        assert answers.receipt.before == quote.before
        assert answers.notes == (() if quote.before is None else (quote.before.note,))
        assert quote.before is None or answers.quote().endswith(f"; {quote.before.fact}.")
        return None if quote.before is None else quote.before.note

    with pytest.raises(DuotoneError), prepare(TABLE, question, ApproxDP("0.1")) as asked:
        unreadable(asked).charge(ledger, "t")
    assert note("0.5") is None
    assert note("0.5") is None  # free
    paid = ledger.statement("t").charges[-1].charge
    assert note("0.25", again=True) is None
    said = "answered before at another epsilon (charge {}): asked alone at epsilon {}, delta 1e-07 it is free"
    assert note("0.125", turned) == said.format(paid + 2, "0.25")  # the latest
    assert note("0.125", "count(*) > 100") is None
    ledger.relabel("t", "2")
    assert note("0.125") is None


def test_whatever_differs_is_named(ledger: Ledger) -> None:
    """A boundary that follows from costs changes with the budget: then nothing is said to be free."""
    budgets: list[tuple[str, str, tuple[int, int] | None]] = [
        ("1/4", "1e-7", None),
        ("1/4", "1e-8", None),
        ("1/4", "1e-8", (9, 1)),
        ("1/8", "1e-8", (9, 1)),
        ("1/8", "1e-7", None),
        ("1/4", "2e-7", None),
        ("0.25000000000000000001", "2e-7", None),
    ]
    bounds = {"x": (0, 1)}
    asked = [prepare(TABLE, "avg(x) > 0.5", ApproxDP(e, delta), costs=costs, bounds=bounds) for e, delta, costs in budgets]
    notes = [question.charge(ledger, "t").notes[1:] for question in asked]  # after that on clipping
    seq, free = ledger.statement("t").charges[0].charge, "asked alone at epsilon {}, delta {} it is free"
    assert notes == [
        (),
        (f"answered before at another delta (charge {seq}): {free.format('0.25', '1e-07')}",),
        (f"answered before at another choice of costs (charge {seq + 2})",),
        (f"answered before at another epsilon (charge {seq + 4})",),
        (f"answered before at another delta and choice of costs (charge {seq + 6})",),
        (f"answered before at another epsilon and delta (charge {seq + 8}): {free.format('0.125', '1e-07')}",),
        (f"answered before at another epsilon (charge {seq + 10}): {free.format('0.25', '2e-07')}",),
    ]


def test_a_quote_takes_the_place_of_a_ledger_too(ledger: Ledger) -> None:
    with prepare(TABLE, "count(*) > 10", EACH) as asked, prepare(TABLE, "count(*) > 11", ApproxDP(4)) as large:
        (by_place,), (quote,) = (quote_all([asked], one, "t") for one in (ledger.place, ledger))
        assert by_place == quote
        assert quote.fits
        with pytest.raises(OverBudget, match="question 2 of 2"):
            require_all_fit([asked, large], Path(ledger.place), "t")
        with pytest.raises(DuotoneError, match="ledger must be the place of one"):
            quote_all([asked], 5, "t")  # type: ignore[arg-type]
        ledger.register("joined", population="t", version="1")
        with pytest.raises(OverBudget, match=r"question 2 of 2, .* does not fit into the budget of t;"):  # as a charge says it
            require_all_fit([asked, large], ledger, "joined")


GROUPED: dict[str, Any] = {"unit": "who", "max_groups": 2}
ONES = [
    (ApproxDP(exp_epsilon=3), {}),
    (ApproxDP("1/3"), {}),
    (ApproxDP(0.1, 1e-7), {}),
    (ApproxDP("1/3", "1e-6"), GROUPED),
    (ApproxDP("0.25000000000000000001", "3e-6"), {**GROUPED, "groups": ["Ely", "Wells"]}),
]


@pytest.mark.parametrize(("budget", "options"), ONES)
@pytest.mark.parametrize("several", [False, True])
def test_what_is_said_to_be_free_is(ledger: Ledger, budget: ApproxDP, options: dict[str, Any], several: bool) -> None:
    """A note is followed to the letter, and also where the question that it comes with was one of two."""
    question = "select town, avg(x) > 0.5 group by town" if options else "avg(x) > 0.5"
    options = {**options, **({"max_rows": 1} if options else {}), "bounds": {"x": (0, 1)}}
    dataset = "people" if "unit" in options else "t"
    ledger.register("people", ApproxDP(9, "1e-3"), unit="who", neighbours="add-remove", version="1")
    with prepare(TABLE, question, budget, **options) as first:
        first.charge(ledger, dataset)
    if several:
        with prepare_all(TABLE, [question, question], ApproxDP("1/2", "1e-5"), **options) as both:
            note = both[0].charge(ledger, dataset).notes[-1]
    else:
        with prepare(TABLE, question, ApproxDP("1/5", "1e-5"), **options) as other:
            note = other.charge(ledger, dataset).notes[-1]
    (name, first_number, delta) = re.search(r"asked alone at (\S+) (\S+), delta (\S+) it is free", note).groups()  # type: ignore[union-attr]
    named = {"e^epsilon": "exp_epsilon", "epsilon": "epsilon"}[name]
    with prepare(TABLE, question, ApproxDP(**{named: first_number, "delta": delta}), **options) as same:
        receipt = same.charge(ledger, dataset).receipt
    assert receipt is not None
    assert receipt.free


@pytest.mark.parametrize(("first", "then"), [("1e-6", 0), (0, "1e-6")])
@pytest.mark.parametrize("options", [{}, {**GROUPED, "max_rows": 1, "groups": [("Ely",)]}])
def test_a_count_that_was_answered_with_its_limit_or_without_it_is_said_to_be_free(
    ledger: Ledger, first: Any, then: Any, options: dict[str, Any]
) -> None:
    """With a delta the count is recorded for every limit, without one the answer about its limit: each is free at its own."""
    question, dataset = ("select town, count(*) > {} group by town", "people") if options else ("count(*) > {}", "t")
    ledger.register("people", ApproxDP(9, "1e-3"), unit="who", neighbours="add-remove", version="1")

    def charged(limit: int, delta: Any) -> Any:
        with prepare(TABLE, question.format(limit), ApproxDP("1/4", delta), **options) as asked:
            (quote,) = quote_all([asked], ledger, dataset)
            reply = asked.charge(ledger, dataset)
        assert reply.receipt is not None
        assert (quote.free, quote.before) == (reply.receipt.free, reply.receipt.before)
        return reply

    charged(10, first)
    entry, delta = ledger.statement(dataset).charges[0].charge, f"{float(first):g}"
    note = f"answered before at another delta (charge {entry}): asked alone at epsilon 0.25, delta {delta} it is free"
    assert charged(10, then).notes[-1] == note
    assert charged(10, first).receipt.free
    other = charged(30, then)
    if first:  # the count is recorded, which tells the answer about every limit
        assert other.notes[-1] == note
        assert charged(30, first).receipt.free
    else:
        assert not other.receipt.before
        assert not charged(30, first).receipt.free


def test_a_count_that_was_answered_is_noted_where_costs_are_given(ledger: Ledger) -> None:
    with prepare(TABLE, "count(*) > 10", ApproxDP("1/4", "1e-6")) as asked:
        asked.charge(ledger, "t")
    with prepare(TABLE, "count(*) > 20", ApproxDP("1/4", "1e-6"), costs=(10, 1)) as asked:
        before = asked.charge(ledger, "t").receipt.before  # type: ignore[union-attr]
    assert before is not None
    assert (before.differs, before.free_at) == (("choice of costs",), None)


def test_a_budget_that_was_rounded_when_it_was_divided_is_not_said_to_be_free(ledger: Ledger) -> None:
    ledger.register("people", ApproxDP(9, "1e-3"), unit="who", neighbours="add-remove", version="1")
    question, options = "select town, count(*) > 10 group by town", {**GROUPED, "max_rows": 1}
    for budget in (ApproxDP(exp_epsilon=3, delta="1e-6"), ApproxDP(1, "1e-6")):
        with prepare(TABLE, question, budget, **options) as asked:
            note = asked.charge(ledger, "people").notes[-1]
    assert note == f"answered before at another epsilon (charge {ledger.statement('people').charges[0].charge})"


def test_the_command_says_that_a_question_was_answered_at_another_epsilon(
    ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text("x\n" + "1\n" * 99)
    command = ["ask", str(tmp_path / "t.csv"), "count(*) > 10", "--ledger", str(tmp_path / "l.ledger"), "--delta", "1e-7"]
    shown = []
    for words in (["0.1"], ["0.2", "--preview"], ["0.2", "--preview", "--json"], ["0.2", "--json"], ["0.3"]):
        with pytest.raises(SystemExit):
            main([*command, "--epsilon", *words])
        shown.append(capsys.readouterr())
    said, paid = "answered before at another epsilon (charge ", ledger.statement("t").charges[0].charge
    assert [said in out for out, _ in shown] == [False, True, False, False, False]
    assert [said in err for _, err in shown] == [False, False, False, True, True]
    assert [json.loads(shown[n].out)["ledger"]["answered_before"] for n in (2, 3)] == [paid, paid]
