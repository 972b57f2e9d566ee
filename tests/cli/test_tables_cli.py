"""The commands about tables: what is said beside an answer, several questions, and what an owner may see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from duotone import ApproxDP, DuotoneError, prepare, with_boundary
from duotone.ledger.ledger import open_ledger
from duotone.privacy.numbers import show
from support.running import run

PRIVACY = ("--epsilon", "1", "--delta", "1e-3")


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    path = tmp_path / "visits.csv"
    rows = [f"p{i},{'Ely' if i % 3 else 'Wells'},{cost}" for i in range(60) for cost in range(0, 30 * (i % 4 + 1), 30)]
    path.write_text("\n".join(["person,town,cost", *rows, ",Ely,5"]) + "\n")
    return path


TYPED = ("--types", "cost=number", "--types", "person=number")
COSTS = (*TYPED[:2], "--bounds", "cost=0:50:1")


def test_what_is_clipped_is_said(capsys: pytest.CaptureFixture[str], visits: Path) -> None:
    options = (
        "--unit",
        "person",
        "--max-rows",
        "3",
        "--types",
        "cost=number",
        "--bounds",
        "cost=0:50:1",
        *PRIVACY,
        "--preview",
    )
    says = (
        "clipped before anything is counted: cost to [0, 50] in steps of 1, a person's rows to 3; "
        "Pr[wrong] does not include the effect of clipping"
    )
    assert says in run(capsys, "ask", visits, "avg(cost) > 20", *options)[1].splitlines()
    assert json.loads(run(capsys, "ask", visits, "avg(cost) > 20", *options, "--json")[1])["clipping"] == says
    reduced = (
        "--unit",
        "person",
        "--per-unit",
        "sum",
        "--max-groups",
        "2",
        "--types",
        "cost=number",
        "--bounds",
        "cost=0:50:1",
        *PRIVACY,
        "--preview",
    )
    grouped = run(capsys, "ask", visits, "select town, avg(cost) > 20 from visits group by town", *reduced)[1]
    assert "in steps of 1, a person's values to their sum, a person's groups to 2; Pr" in grouped
    assert "clipped" not in run(capsys, "ask", visits, "count(*) > 20", *PRIVACY, "--preview")[1]


def test_a_grouped_questions_table_is_of_one_answer(capsys: pytest.CaptureFixture[str], visits: Path) -> None:
    asked = (
        "ask",
        visits,
        "select town, count(*) > 9 from visits group by 1 order by 1",
        "--unit",
        "person",
        "--max-rows",
        "4",
    )
    code, out, _ = run(capsys, *asked, "--max-groups", "2", *PRIVACY, "--preview")
    assert code == 0
    each = "each answer has ApproxDP(epsilon=0.5, delta=1/2000): the budget is divided among 2 answers about a person"
    assert each in out.splitlines()
    assert "order by changes nothing, since answers have no order" in out
    share = json.loads(run(capsys, *asked, "--max-groups", "2", *PRIVACY, "--preview", "--json")[1])["share"]
    assert share == {"epsilon": 0.5, "exp_epsilon": show(ApproxDP("0.5").exp_epsilon), "delta": "1/2000"}
    assert "each answer" not in run(capsys, "ask", visits, "count(*) > 9", *PRIVACY, "--preview")[1]


def test_an_equality_is_said(capsys: pytest.CaptureFixture[str], visits: Path) -> None:
    says = "COUNT(*) = 9: one person is always enough for a no, so the other answer is never sure"
    assert says in run(capsys, "ask", visits, "count(*) = 9", *PRIVACY, "--preview")[1]


@pytest.mark.slow
def test_several_questions_share_a_budget(capsys: pytest.CaptureFixture[str], visits: Path, tmp_path: Path) -> None:
    questions = tmp_path / "two.sql"
    questions.write_text("count(*) > 20; -- the first\nselect town from visits group by town\nhaving count(*) > 3;\n")
    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.register("visits", ApproxDP(3, "1e-2"), unit="row", neighbours="add-remove", version="1")
    to_ledger = ("--ledger", tmp_path / "a.ledger", "--dataset", "visits")
    code, out, _ = run(capsys, "ask", visits, questions, *PRIVACY, *to_ledger)
    assert code == 0
    assert out.count("ApproxDP(epsilon=0.5, delta=1/2000); each row") == 2
    assert "select town from visits group by town having count(*) > 3" in out.splitlines()
    code, out, _ = run(capsys, "ask", visits, questions, *PRIVACY, *to_ledger, "--json")
    both = json.loads(out)["questions"]
    assert [(one["question"], one["ledger"]["free"]) for one in both] == [
        ("count(*) > 20", True),
        ("select town from visits group by town\nhaving count(*) > 3", True),
    ]
    code, out, err = run(capsys, "ask", visits, questions, *PRIVACY, *to_ledger, "--each", "--json")
    assert (code, err.count("charged")) == (0, 2)
    with open_ledger(tmp_path / "a.ledger") as ledger:
        assert len(ledger.statement("visits").charges) == 4  # each its own: 2 of half, 2 of all
    code, out, err = run(capsys, "ask", visits, questions, *PRIVACY, *to_ledger, "--each", "--again", "--json")
    assert (code, out) == (2, "")  # nothing is left: 3 were spent


def test_what_was_answered_before_a_refusal_is_shown(
    capsys: pytest.CaptureFixture[str], visits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duotone.cli.tables.require_fit", lambda *_: None)  # as if another had asked in the meantime
    questions = tmp_path / "two.sql"
    questions.write_text("count(*) > 20; count(town) > 30")
    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.register("visits", ApproxDP("1.5", "1e-2"), unit="row", neighbours="add-remove", version="1")
    options = ("--ledger", tmp_path / "a.ledger", "--dataset", "visits", "--each", "--json")
    code, out, err = run(capsys, "ask", visits, questions, *PRIVACY, *options)
    assert code == 2
    assert [one["question"] for one in json.loads(out)["questions"]] == ["count(*) > 20"]
    assert err.splitlines()[-1].startswith("duotone: ")
    questions.write_text("count(town) > 40; count(nothing) > 30")
    assert run(capsys, "ask", visits, questions, *PRIVACY, *options)[:2] == (2, "")
    with open_ledger(tmp_path / "a.ledger") as ledger:
        assert len(ledger.statement("visits").charges) == 1  # all questions are checked before the first is charged


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("", (), "has no question: write one or more, with ; between them"),
        ("count(*) > 3", ("--each",), "--each is for several questions: name a FILE.sql that has them"),
        ("count(*) > 3; count(*) > 4", ("--draw", "a.svg"), "--draw and --certificate are for a single question"),
        ("count(*) > 'x", (), "check their quotes"),
        (None, (), "cannot be read: it must be a file in UTF-8"),
    ],
)
def test_files_of_questions_that_are_refused(
    capsys: pytest.CaptureFixture[str], visits: Path, tmp_path: Path, text: str | None, options: tuple[str, ...], says: str
) -> None:
    file = tmp_path / "some.sql"
    if text is not None:
        file.write_text(text)
    code, out, err = run(capsys, "ask", visits, file, *PRIVACY, *options)
    assert (code, out) == (2, "")
    assert says in err


@pytest.mark.slow
def test_an_owner_sees_what_is_clipped(capsys: pytest.CaptureFixture[str], visits: Path) -> None:
    options = ("--unit", "person", "--types", "cost=number", "--bounds", "cost=10:60:20", "--per-unit", "sum")
    code, out, err = run(capsys, "inspect", visits, *options[:5], "cost=20:60:20", *options[6:])
    assert (code, err) == (0, "")
    assert out.startswith("NOT PRIVATE: for the table's owner only")
    assert "60 people have 150 rows" in out
    for cells in (("1", "45 (75.00%)", "90 (60.00%)"), ("3", "15 (25.00%)", "15 (10.00%)")):
        assert [c for line in out.splitlines() if all(cell in line for cell in cells) for c in cells] == list(cells)
    seen = json.loads(run(capsys, "inspect", visits, *options[:5], "cost=20:60:20", "--json")[1])
    assert seen["private"] is False
    assert seen["rows"]["above"]["2"] == {"people": 30, "rows": 45}
    assert run(capsys, "inspect", visits, *options)[0] == 2  # bounds that are no multiples of the grid
    code, out, _ = run(capsys, "inspect", visits)
    assert (code, "can be read as" in out) == (0, True)
    read = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if "│ cost" in line]
    assert read == [["cost", "151", "number", "0"]]
    assert "cost in [20, 60]" in run(capsys, "inspect", visits, "--types", "cost=number", "--bounds", "cost=20:60:20")[1]
    shown = run(capsys, "inspect", visits, "--types", "cost=%d/%m/%Y")[1]
    assert any("%d/%m/%Y" in line and " 151 " in line for line in shown.splitlines())


@pytest.mark.slow
def test_one_mistake_may_cost_more(capsys: pytest.CaptureFixture[str], visits: Path, tmp_path: Path) -> None:
    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.register("visits", ApproxDP(3, "1/2"), unit="row", neighbours="add-remove", version="1")
    asked = ("ask", visits, "count(*) > 20", "--exp-epsilon", "2", "--delta", "1/10", "--costs", "10:1")
    files = ("--draw", tmp_path / "c.svg", "--certificate", tmp_path / "c.json")
    code, out, _ = run(capsys, *asked, *files, "--ledger", tmp_path / "a.ledger", "--dataset", "visits", "--json")
    assert code == 0
    document = json.loads(out)
    line = with_boundary(ApproxDP(exp_epsilon=2, delta="1/10"), "37/40")
    assert document["boundary"] == "37/40"
    for margin in (1, 2, 3):
        assert document["false_no_by_margin"][str(margin)] == pytest.approx(float(line.error(margin - 1)))
        assert document["false_yes_by_margin"][str(margin)] == pytest.approx(float(line.error(-margin)))
        worst = max(line.error(margin - 1), line.error(-margin))
        assert document["error_by_margin"][str(margin)] == pytest.approx(float(worst))
    assert document["false_yes_by_margin"]["1"] == pytest.approx(10 * document["false_no_by_margin"]["1"])
    assert document["certain_from"] == max(line.certain) + 1
    with open_ledger(tmp_path / "a.ledger") as ledger:
        (entry,) = (body for body in ledger.entries() if body["kind"] == "charge")
        assert entry["boundary"] == "37/40"  # so that the same question with other costs is another charge
    assert run(capsys, "check", tmp_path / "c.json")[0] == 0
    assert json.loads((tmp_path / "c.json").read_text())["boundary"] == "37/40"
    out = run(capsys, *asked, "--preview")[1]
    assert "Pr[false no]" in out
    assert "Pr[false yes]" in out
    assert "boundary" not in json.loads(run(capsys, *asked[:-1], "2:2", "--preview", "--json")[1])
    assert "costs are NO:YES" in run(capsys, *asked[:-1], "10")[2]
    assert "the cost of a mistake must be above 0" in run(capsys, *asked[:-1], "0:1")[2]
    with pytest.raises(DuotoneError, match=r"costs must be two numbers, how bad .* as in \(10, 1\)"):
        prepare(visits, "count(*) > 20", ApproxDP(1), costs=(1, 2, 3))  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_separator_may_be_given(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Every command that opens a file takes it; a tab is also written as a shell leaves it."""
    for separator, stated in ((";", ";"), ("\t", "\\t")):
        file = tmp_path / "t.csv"
        file.write_text(f"who, full{separator}cost\n" + f"a, b{separator}5\n" * 90)
        assert "has a comma and" in run(capsys, "ask", file, "count(*) > 3", *PRIVACY)[2]
        given = ("--separator", stated)
        assert run(capsys, "ask", file, "count(*) filter (where cost = '5') > 30", *PRIVACY, *given)[1].startswith("yes")
        shown = run(capsys, "groups", file, "--by", "cost", *PRIVACY, *given, "--json")[1]
        assert json.loads(shown)["groups"] == [{"cost": "5"}]
        seen = json.loads(run(capsys, "inspect", file, "--types", "cost=number", "--bounds", "cost=0:9:1", *given, "--json")[1])
        assert seen["values"][0]["values"] == 90
    assert "separator must be one ASCII character" in run(capsys, "ask", file, "count(*) > 3", *PRIVACY, "--separator", "ab")[2]


@pytest.mark.slow
def test_a_header_in_the_list_of_groups_is_no_group(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table, groups = tmp_path / "t.csv", tmp_path / "groups.csv"
    table.write_text("town,arm\n" + "Rome,A\n" * 90 + "Oslo,B\n" * 90)
    question = "select town, arm, count(*) > 30 from t group by town, arm"
    asked = ("ask", table, question, "--groups", groups, *PRIVACY, "--max-groups", "1", "--json")
    listed = [{"town": "Rome", "arm": "A", "answer": "yes"}, {"town": "town", "arm": "B", "answer": "no"}]
    for first, said in (("", []), ("town,arm\n", [1]), ("\ufeffTown, ARM\r\n\r\n", [1])):
        groups.write_text(first + "Rome,A\ntown,B\n")
        document = json.loads(run(capsys, *asked)[1])
        assert document["answers"] == listed
        assert document["notes"] == ["the first line of groups.csv names the columns, and is not a group" for _ in said]
    groups.write_text("place\nrome\n")
    renamed = ("ask", table, "select lower(town) as place, count(*) > 30 from t group by place", "--groups", groups, *PRIVACY)
    assert [answer["answer"] for answer in json.loads(run(capsys, *renamed, "--json")[1])["answers"]] == ["yes"]
    groups.write_text("town,B\nRome,A\n")  # where it is not all of the names it is a group
    assert [row["town"] for row in json.loads(run(capsys, *asked)[1])["answers"]] == ["town", "Rome"]
    for text, says in (
        ("arm,town\nA,Rome\n", "has the columns arm, town, and groups are by town, arm: put them in this order"),
        ("town,arm\n", "must have a value for town, arm in each line"),
        ("", "must have a value for town, arm in each line"),
        ("town,arm\nRome,A\nRome,A\n", "a line twice"),
    ):
        groups.write_text(text)
        assert says in run(capsys, *asked)[2]
    groups.unlink()
    assert "with one group in each line" in run(capsys, *asked)[2]


@pytest.mark.slow
def test_which_dataset_a_table_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A file is not what was registered under another name, and a file has no tables; answers by group are shown in full."""
    table, ledger, groups = tmp_path / "stays.csv", tmp_path / "a.ledger", tmp_path / "groups.csv"
    towns = [f"t{i}" for i in range(30)]
    table.write_text("town\n" + "".join(f"{town}\n" * 99 for town in towns[::2]))
    asked = ("ask", table, "select town, count(*) between 51 and 150 from stays group by town", "--ledger", ledger, *PRIVACY)
    assert "there is no ledger" in run(capsys, *asked)[2]
    with open_ledger(ledger) as own:
        for name in ("wards", "beds"):
            own.register(name, ApproxDP(9, "1/2"), unit="row", neighbours="add-remove", version="1")
    _, out, err = run(capsys, *asked)
    assert out == ""
    has = "it has wards, beds: say which one this is (--dataset NAME), or register it first (duotone ledger register)"
    assert f"there is no dataset stays in this ledger; {has}; nothing was released" in err
    with open_ledger(ledger) as own:
        own.register("stays", ApproxDP(9, "1/2"), unit="row", neighbours="add-remove", version="1")
    assert "leave out the table's name (stays)" in run(capsys, *asked, "--dataset", "stays", "--table", "stays")[2]
    for many in (3, 30):
        groups.write_text("".join(f"{town}\n" for town in towns[:many]))
        assert run(capsys, *asked, "--dataset", "stays", "--groups", groups)[0] == 0
        shown = run(capsys, "ledger", "show", ledger, "--dataset", "stays")[1].splitlines()
        last = [said for line in shown if line.startswith("│") and (said := line.split("│")[-2].strip())]
        expected = [f"t{i}: {'no' if i % 2 else 'yes'}, certain" for i in range(min(many, 20))]
        assert last[-len(expected) - 1 * (many > 20) :][: len(expected)] == expected
        assert ("and 10 more" in last) == (many > 20)


@pytest.mark.slow
def test_a_preview_says_whether_the_budget_suffices(capsys: pytest.CaptureFixture[str], visits: Path, tmp_path: Path) -> None:
    ledger, file = tmp_path / "a.ledger", tmp_path / "q.sql"
    with open_ledger(ledger) as own:
        own.register("visits", ApproxDP("1.6", "1/2"), unit="row", neighbours="add-remove", version="1")
    charged = ("--ledger", ledger, "--dataset", "visits", *PRIVACY)
    first = ("ask", visits, "count(*) > 20", *charged)
    assert "ledger: it fits; left after it: epsilon 0.6," in run(capsys, *first, "--preview")[1]
    assert run(capsys, *first)[0] == 0
    code, out, err = run(capsys, *first, "--preview")
    assert (code, err) == (0, "")
    assert "ledger: free, as recorded; left: epsilon 0.6," in out
    assert "ledger: it does NOT fit; left: epsilon 0.6," in run(capsys, *first, "--preview", "--again")[1]
    file.write_text("count(*) > 30; count(*) > 40; count(*) > 20")
    several = run(capsys, "ask", visits, file, *charged[:4], "--epsilon", "1.2", "--preview", "--json")[1]
    quotes = [document["ledger"] for document in json.loads(several)["questions"]]
    assert [(quote["free"], quote["fits"]) for quote in quotes] == [(False, True), (False, False), (False, False)]
    with open_ledger(ledger) as own:
        assert [body["kind"] for body in own.entries()] == ["register", "charge", "answer"]
    assert "ledger: free, as recorded" in run(capsys, *first[:5], *PRIVACY, "--preview")[1]  # the file is called visits


@pytest.mark.slow
def test_advice_names_the_flag(capsys: pytest.CaptureFixture[str], visits: Path, tmp_path: Path) -> None:
    def refused(*arguments: object) -> str:
        code, _, err = run(capsys, "ask", *arguments, *PRIVACY)
        assert code == 2
        return err

    (tmp_path / "a.jsonl").write_text("{}\n")
    (tmp_path / "a.csv").write_text("a,b;c\n")
    (tmp_path / "a.duckdb").write_text("")
    assert "may count (--max-rows), or how its rows become one value (--per-unit)" in refused(
        visits, "avg(cost) > 1", "--unit", "person", "--types", "cost=number", "--bounds", "cost=0:9"
    )
    assert "name them (--json-columns)" in refused(tmp_path / "a.jsonl", "count(*) > 1")
    assert "say which one does (--separator)" in refused(tmp_path / "a.csv", "count(*) > 1")
    assert "say which (--table)" in refused(tmp_path / "a.duckdb", "count(*) > 1")
    assert "declare one (--public)" in refused(visits, "select count(*) > 1 from visits join towns using (town)")
    inner = "select avg(n) > 1 from (select person, count(*) as n from visits group by 1)"
    assert "say which column that is (--unit)" in refused(visits, inner)
    of_both = refused(visits, "avg(cost / person) > 1", *TYPED, "--bounds", "cost=0:9", "--bounds", "person=0:9")
    assert '(--bounds "cost / person=LOW:HIGH"); they do not follow from bounds of its columns' in of_both
    assert "one value per person: --per-unit avg, sum, min or max (--max-rows does not say" in refused(
        visits, "stddev(cost) > 1", "--unit", "person", "--types", "cost=number", "--bounds", "cost=0:9"
    )
    longer = "replace(" * 4 + "town" + f", 'x', '{'y' * 9}')" * 4
    too_long = f"count(*) filter (where length({longer}) > 5) > 5"
    assert "read less of stored texts (--longest-text)" in refused(visits, too_long)
    assert run(capsys, "ask", visits, too_long, *PRIVACY, "--longest-text", "1")[0] == 0


def test_where_no_error_is_worth_a_line_there_is_no_table(capsys: pytest.CaptureFixture[str], visits: Path) -> None:
    code, out, _ = run(capsys, "ask", visits, "count(*) > 9", "--epsilon", "50", "--preview")
    assert code == 0
    weak = "weak: with epsilon 50 answers may tell whether a certain person is in the table; 1 is usual"
    never = "with delta 0 no answer is ever certain; with delta 1e-6 one would be from 2 people on"
    assert out.splitlines()[1:] == [weak, never]
    assert "people from flipping" in run(capsys, "ask", visits, "count(*) > 9", *PRIVACY, "--preview")[1]


def test_answers_stand_under_the_alias(capsys: pytest.CaptureFixture[str], visits: Path, tmp_path: Path) -> None:
    ledger, towns = tmp_path / "l", tmp_path / "towns.csv"
    towns.write_text("Ely\n")
    registered = (
        "ledger",
        "register",
        ledger,
        "visits.csv",
        "--version",
        "1",
        "--unit",
        "row",
        "--epsilon",
        "9",
        "--delta",
        ".1",
    )
    assert run(capsys, *registered)[0] == 0
    options = ("--groups", towns, *PRIVACY, "--ledger", ledger)
    question = "select town as place, count(*) > 9 from visits group by {}"
    code, out, _ = run(capsys, "ask", visits, question.format("place"), *options)
    assert code == 0
    assert "┃ place ┃ answer ┃" in out
    code, out, err = run(capsys, "ask", visits, question.format("town"), *options, "--json")
    assert json.loads(out)["answers"] == [{"place": "Ely", "answer": "yes"}]
    assert "free, as recorded" in err


def test_which_of_several_answers_is_a_word(capsys: pytest.CaptureFixture[str], visits: Path, tmp_path: Path) -> None:
    question = "bracket(count(*), 20, 100)"
    code, out, _ = run(capsys, "ask", visits, question, *PRIVACY, "--certificate", tmp_path / "proof.json")
    assert (code, out.splitlines()[0]) == (0, "100 or more")
    assert "never wrong from" in out
    code, out, _ = run(capsys, "check", tmp_path / "proof.json")
    assert (code, "one answer among 3" in out) == (0, True)
    document = json.loads(run(capsys, "ask", visits, question, *PRIVACY, "--json")[1])
    assert (document["answer"], document["among"]) == ("100 or more", ["below 20", "20 to below 100", "100 or more"])
    code, out, error = run(capsys, "ask", visits, "mode(town)", *PRIVACY)
    assert (code, out, "give it (--groups FILE), or in the question, as in where town in ('A', 'B')" in error) == (2, "", True)
    (tmp_path / "towns.csv").write_text("town\nEly\nWells\n")
    code, out, _ = run(capsys, "ask", visits, "mode(town)", *PRIVACY, "--groups", tmp_path / "towns.csv")
    assert (code, out.splitlines()[0]) == (0, "Ely")
    assert run(capsys, "ask", visits, question, *PRIVACY, "--preview", "--people", "100", "--draw", tmp_path / "a.svg")[0] == 0
