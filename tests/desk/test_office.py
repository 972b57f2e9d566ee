"""The office file: what it may say, and that every mistake in it is one sentence with its line."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from duotone import ApproxDP, open_ledger
from duotone.cli.app import main
from duotone.desk.accounts import check_office
from duotone.desk.callers import Caller, Person, Refused, is_loopback
from duotone.desk.office import Engine, Limits, Listed, Member, Office, OpenId, Population, Server, Ticks
from duotone.desk.office_file import HERE, read_office
from duotone.errors import DuotoneError, OfficeError
from duotone.http.app import open_desk
from duotone.http.serve import serve
from duotone.http.tokens import Tokens
from support.offices import CALLS, HEAD, PEOPLE, STAYS, VOTES, make_office
from support.running import PATIENCE

ROOT = Path(__file__).parents[2]
WHOLE = HEAD + PEOPLE + VOTES + STAYS + CALLS


def line_with(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


OWNERS = 'role = "owner"\n[people.otto]\nrole = "owner"'
CHANGES = [
    ('role = "auditor"', 'role = "boss"', "people.iris.role must be 'owner', 'analyst' or 'auditor'"),
    ('unit = "patient"', 'unit = "patient"\ncolour = "red"', "datasets.stays.colour is not known; known are source, table"),
    ("budget = { epsilon = 2,", "budget = { epsilon = -2,", "datasets.votes.budget is refused"),
    ("budget = { epsilon = 2,", "budget = { epsilon = nan,", "datasets.votes.budget is refused: epsilon"),
    ('epsilon = 2, delta = "1e-4"', "epsilon = 2, delta = 1", "datasets.votes.budget is refused"),
    ('datasets = ["votes"]', 'datasets = ["votes", "vote"]', "people.ben.datasets.1 is not a dataset of this office: vote"),
    (OWNERS, OWNERS.replace("owner", "auditor"), "people has no owner"),
    ("bounds = { days = [0, 30] }", "bounds = { days = [30, 0] }", "datasets.stays.bounds.days is refused"),
    ("bounds = { days = [0, 30] }", "bounds = { days = [0] }", "bounds.days must be [low, high] or [low, high, grid]"),
    ('source = "stays.parquet"', 'source = "env:NO_SUCH_VARIABLE"', "datasets.stays.source is refused: the variable"),
    ("max_rows = 2", "max_rows = 0", "datasets.stays.max_rows must be a whole number from 1"),
    ("max_rows = 2", "max_rows = true", "datasets.stays.max_rows must be a whole number from 1 to"),
    ('ledger = "budget.ledger"\n', "", "ledger is missing"),
    ("tick = 0.02", "tick = 0", "clock.tick must be greater than 0"),
    ("rows = 10000", "rows = 10000\nallowance = { epsilon = 1 }", "datasets.calls.allowance is refused: close calls"),
    ('votes = { epsilon = "0.5"', "votes = { epsilon = 5", "people.ben.allowances.votes is refused: it is more than the whole"),
    ("approval = true", 'approval = true\napprovers = ["zoe"]', "stays.approvers.0 is not a person of this office: zoe"),
    ("[limits]", '[server]\ncertificate = "x.pem"\n[limits]', "server needs both certificate and key"),
    ("[people.iris]", '[people."i/x"]', "people"),
    ('datasets = ["votes", "stays", "calls"]', "", "people.ana is an analyst of no dataset"),
    ("bounds = { days = [0, 30] }", "bounds = { days = [2024-01-01, 2024-02-01] }", "bounds.days must be [low, high]"),
    ("budget = { epsilon = 2,", "bugdet = { epsilon = 2,", "datasets.votes.bugdet is not known: budget is"),
    ('budget = { epsilon = 2, delta = "1e-4" }', "budget = 2", "datasets.votes.budget must be { epsilon = …, delta = … }"),
    ('[datasets.stays]', '[dataset.stays]', "dataset is not known: datasets is"),
    ('rows = 10000', 'rows = 10000\nabout = 1', "datasets.calls.about must be a text, in quotes"),
    ('approval = true', 'approval = "yes"', "datasets.stays.approval must be true or false"),
    ('columns = ["vote", "age", "town"]', 'columns = "vote"', "datasets.votes.columns must be a list, in [ ]"),
    ("[clock]\ntick = 0.02\n", "clock = 0.02\n", "clock must be a table with tick"),
    ("version = \"1\"\nrows = 10000", "rows = 10000", "datasets.calls.version is missing: write version ="),
    ('source = "calls.parquet"', "source = 5", "datasets.calls.source must be a place, in quotes"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "sentence"), CHANGES, ids=[change[2][:40] for change in CHANGES])
def test_a_mistake_is_one_sentence_with_its_line(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    assert WHOLE.count(old) >= 1
    text = WHOLE.replace(old, new, 1)
    (tmp_path / "office.toml").write_text(text)
    with pytest.raises(OfficeError) as error:
        read_office(tmp_path / "office.toml")
    lines = str(error.value).splitlines()
    assert any(sentence in line for line in lines), lines
    assert len(lines) <= 2
    for line in lines:
        number = int((re.search(r"line (\d+):", line) or ["", "0"])[1])
        steps = (re.search(r": ([\w.]+) ", line) or ["", ""])[1].split(".")
        if number > 1:  # the line, or one after it, names the last step that the file has
            assert any(step in text.splitlines()[number - 1] for step in steps), (line, text.splitlines()[number - 1])


def test_what_a_declared_file_must_say_is_not_asked_for_beside_it(tmp_path: Path) -> None:
    """Each message is followed, one after the other; the last try succeeds."""
    text, declared = WHOLE, 'source = "calls.parquet"\n'
    start = text.index("[datasets.calls]")
    own = text[start:].split("\n\n")[0]
    needed = "\n".join(line for line in own.splitlines() if line.startswith(("version", "budget")))
    lines = f'[datasets.calls]\nfile = "calls.toml"\nrows = 10000\n{needed}\nbugdet = 1'
    misplaced = {f"{key} is declared in calls.toml: write it there" for key in ("version", "budget")}
    missing = {f"{key} is missing in calls.toml: write {key}" for key in ("version", "budget")}
    for beside, said in ((lines, misplaced | {"bugdet is not known"}), (lines.split("\nversion")[0], missing)):
        (tmp_path / "calls.toml").write_text(declared)
        (tmp_path / "office.toml").write_text(text.replace(own, beside))
        with pytest.raises(OfficeError) as error:
            read_office(tmp_path / "office.toml")
        sentences = str(error.value).splitlines()
        assert len(sentences) == len(said)
        assert all(any(f"datasets.calls.{one}" in sentence for sentence in sentences) for one in said)
    (tmp_path / "calls.toml").write_text(declared + needed)
    assert read_office(tmp_path / "office.toml").datasets["calls"].declared.version == "1"


def test_all_mistakes_are_said_at_once(tmp_path: Path) -> None:
    text = WHOLE.replace("max_rows = 2", "max_rows = 0").replace("tick = 0.02", "tick = -1").replace('"auditor"', '"boss"')
    (tmp_path / "office.toml").write_text(text)
    with pytest.raises(OfficeError) as error:
        read_office(tmp_path / "office.toml")
    numbers = [int(number) for number in re.findall(r"line (\d+)", str(error.value))]
    assert numbers == [line_with(text, part) for part in ("tick = -1", '"boss"', "max_rows = 0")]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('source = "votes.parquet"', 'source = "none.parquet"', "datasets.votes.source is refused"),
        ('source = "calls.parquet"', 'source = "./votes.parquet"', "has a table that is votes's"),
        ('source = "calls.parquet"', 'source = "vote*.parquet"', "has a table that is votes's"),
        ('source = "calls.parquet"', 'source = "linked.parquet"', "has a table that is votes's"),
        ('unit = "patient"', 'unit = "person"', "datasets.stays.unit is not a column of the table: one of patient, days is"),
        ('columns = ["vote", "age", "town"]', 'columns = ["vote", "weight", "town"]', "weight"),
        ("bounds = { days = [0, 30] }", "bounds = { day = [0, 30] }", "datasets.stays.bounds.day is not a column"),
        ("bounds = { age = [0, 100] }", "bounds = { name = [0, 100] }", "bounds.name has no use: that column may not be used"),
        ("bounds = { age = [0, 100] }", "bounds = { town = [0, 100] }", "bounds.town has no use: town does not hold numbers"),
        ('groups = { town = ["Ely", "Wells"] }', 'groups = { city = ["Ely"] }', "datasets.votes.groups.city is refused"),
        ('groups = { town = ["Ely", "Wells"] }', 'groups = { town = ["Ely", "Ely"] }', "a line twice"),
    ],
)
def test_what_is_declared_is_held_against_the_tables(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    make_office(tmp_path)
    os.link(tmp_path / "votes.parquet", tmp_path / "linked.parquet")
    text = WHOLE.replace(old, new, 1)
    (tmp_path / "office.toml").write_text(text)
    office = read_office(tmp_path / "office.toml")
    with pytest.raises(OfficeError, match=re.escape(sentence)) as error:
        check_office(office)
    assert f"line {line_with(text, new)}" in str(error.value)
    assert not (tmp_path / "budget.ledger").exists()


def test_no_toml_no_file_no_office(tmp_path: Path) -> None:
    for content in (b"a = [", b"\xff", b"a = 1\n" * 200_000):
        (tmp_path / "office.toml").write_bytes(content)
        with pytest.raises(OfficeError):
            read_office(tmp_path / "office.toml")
    with pytest.raises(OfficeError):
        read_office(tmp_path / "none.toml")


def test_a_budget_is_given_once(tmp_path: Path) -> None:
    """Neither a larger number, nor another name for the table, gives a dataset more than it had."""
    open_desk(make_office(tmp_path, VOTES, STAYS, CALLS)).close()
    more = VOTES.replace("epsilon = 2", "epsilon = 3")
    with pytest.raises(DuotoneError, match="a budget is given once"):
        open_desk(make_office(tmp_path, more, STAYS, CALLS))
    renamed = VOTES.replace("[datasets.votes]", "[datasets.ballots]")
    with pytest.raises(DuotoneError, match=r"was asked about as votes before.*keep that name"):
        open_desk(make_office(tmp_path, renamed, STAYS, CALLS, people=PEOPLE.replace("votes", "ballots")))


def test_new_people_have_a_new_budget_and_the_lifetime_shows_both(tmp_path: Path) -> None:
    first = open_desk(make_office(tmp_path))
    ask = Asker(first)
    ask.votes("count(*) > 1", "1.5")
    assert ask.dataset()["lifetime"] == {"epsilon": 1.5, "delta": 0.0, "budgets": 1}
    first.close()
    relabelled = open_desk(make_office(tmp_path, VOTES.replace('version = "1"', 'version = "2"'), STAYS, CALLS))
    ask = Asker(relabelled)
    assert ask.dataset()["left"]["epsilon"] == 0.5  # a new version alone renews nothing
    relabelled.close()
    renewed = open_desk(make_office(tmp_path, VOTES.replace('version = "1"', 'version = "2"\npeople = "2026"'), STAYS, CALLS))
    ask = Asker(renewed)
    assert ask.dataset()["left"]["epsilon"] == 2
    answer = ask.votes("count(*) > 1", "0.25")
    assert answer["quote"].startswith("In votes (2026), “count(*) > 1” was answered ")  # not as the ledger calls it
    assert ask.dataset()["lifetime"] == {"epsilon": 1.75, "delta": 0.0, "budgets": 2}
    with pytest.raises(Refused, match=r"does not fit into the budget of votes \(2026\); left: "):
        ask.votes("count(*) > 2", "1.8")
    renewed.close()
    with open_ledger(tmp_path / "budget.ledger") as ledger:
        assert {"votes", "votes@2026"} <= set(ledger.datasets())
        assert ledger.stands("votes").registered.budget == ApproxDP(2, "1e-4")


class Asker:
    """Asks a desk without a server."""

    def __init__(self, desk: Any) -> None:
        self.desk, self.caller = desk, Caller(Person("ana", "analyst", ("votes",)))

    def votes(self, question: str, epsilon: str) -> Any:
        return asyncio.run(self.desk.ask(self.caller, "votes", {"question": question, "epsilon": epsilon}))

    def dataset(self) -> Any:
        return asyncio.run(self.desk.dataset(self.caller, "votes"))


def test_it_listens_beyond_this_machine_only_with_tls_or_a_proxy(tmp_path: Path) -> None:
    office = make_office(tmp_path, head=HEAD + '[server]\nhost = "0.0.0.0"\n')
    with pytest.raises(DuotoneError, match="unencrypted"):
        serve(office)
    assert all(map(is_loopback, ("127.0.0.1", "127.8.9.1", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.1.2.3", "example.org")))


def test_the_page_names_every_key_and_its_example_is_an_office(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "serve.md").read_text()
    parts = {"server", "clock", "limits", "engine", "openid"}
    for model in (Office, Listed, Population, Member, Server, Limits, Engine, Ticks, OpenId):
        for key in model.model_fields.keys() - {"file", "text", "datasets", "people", "declared", "shared", "populations"}:
            assert f"`[{key}]`" in page if model is Office and key in parts else f"`{key}`" in page, key
    for key in HERE:
        assert f"`{key}`" in page, key
    (block,) = re.findall(r"```toml\n(.*?)```", page, re.S)
    (tmp_path / "office").mkdir()
    (tmp_path / "chile").symlink_to(ROOT / "examples" / "chile")
    (tmp_path / "office" / "office.toml").write_text(block)
    check_office(read_office(tmp_path / "office" / "office.toml"))


def test_tables_of_one_duckdb_file_are_told_apart_as_duckdb_does(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "all.duckdb")) as database:
        database.execute("create table stays as select 1 as x; create table visits as select 1 as x")
    about = 'version = "1"\nrows = 10\nbudget = { epsilon = 1 }\n'
    people = '[people.olga]\nrole = "owner"\n'

    def office(*names: str) -> Office:
        parts = (f'[datasets.d{i}]\nsource = "all.duckdb"\ntable = "{name}"\n{about}' for i, name in enumerate(names))
        (tmp_path / "office.toml").write_text('ledger = "b.ledger"\n' + people + "".join(parts))
        return read_office(tmp_path / "office.toml")

    check_office(office("stays", "visits"))
    for other in ("STAYS", "main.stays"):
        with pytest.raises(OfficeError, match="one table has one budget"):
            check_office(office("stays", other))
    os.link(tmp_path / "all.duckdb", tmp_path / "linked.duckdb")
    linked = office("stays", "stays")
    linked.file.write_text(linked.text.replace("all.duckdb", "linked.duckdb", 1))
    with pytest.raises(OfficeError, match="one table has one budget"):
        check_office(read_office(linked.file))


@pytest.mark.parametrize("name", ["votes.parquet", "linked.parquet", "folder"])
def test_the_table_of_a_dataset_is_nobodys_public_file(tmp_path: Path, name: str) -> None:
    """A question that joins it would read its rows as they are."""
    make_office(tmp_path)
    os.link(tmp_path / "votes.parquet", tmp_path / "linked.parquet")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "part.parquet").symlink_to(tmp_path / "votes.parquet")
    (tmp_path / "office.toml").write_text(WHOLE.replace("max_rows = 2", f'max_rows = 2\npublic = {{ towns = "{name}" }}'))
    office = read_office(tmp_path / "office.toml")
    with pytest.raises(OfficeError, match=r"datasets\.stays\.public\.towns is the table of votes"):
        check_office(office)
    with pytest.raises(OfficeError, match="is the table of votes"):
        open_desk(office)


def test_the_command_prints_each_mistake_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the words of the file: no flag of another command is in them, and what turns or breaks a line is written out."""
    make_office(tmp_path)
    text = WHOLE.replace("max_rows = 2", "max_rows = 0").replace("tick = 0.02", '"ti\\nck" = 1').replace('"auditor"', '"boss"')
    (tmp_path / "office.toml").write_text(text)
    said = command(capsys, "serve", str(tmp_path / "office.toml"), "--check")
    assert [re.sub(r"line \d+", "line", line) for line in said.splitlines()] == [
        "duotone: office.toml, line: clock.ti\\nck is not known: tick is",
        "duotone: office.toml, line: people.iris.role must be 'owner', 'analyst' or 'auditor'",
        "duotone: office.toml, line: datasets.stays.max_rows must be a whole number from 1 to 2147483647, got 0",
    ]
    (tmp_path / "office.toml").write_text(WHOLE.replace('unit = "patient"\n', ""))
    said = command(capsys, "serve", str(tmp_path / "office.toml"), "--check")
    assert "datasets.stays is refused: without a unit each row is a person" in said
    assert "--" not in said
    assert "is not there" in command(capsys, "serve", str(tmp_path / "none.toml"))


def test_a_check_finds_what_would_keep_it_from_being_served(tmp_path: Path) -> None:
    """A budget that the ledger has otherwise, a table that had another name, a folder that is not there; it changes nothing."""
    open_desk(make_office(tmp_path)).close()
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    assert check_office(read_office(tmp_path / "office.toml")) == []
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before
    for part, changed, sentence in (
        (
            VOTES,
            VOTES.replace("epsilon = 2", "epsilon = 3"),
            r"votes is refused: .*it has ε = 2, δ = 0.0001, unit row.*; the office file has ε = 3, δ = 0.0001, unit row",
        ),
        (VOTES, VOTES.replace("datasets.votes", "datasets.ballots"), "datasets.ballots was asked about as votes before"),
        (HEAD, HEAD.replace('"budget.ledger"', '"none/budget.ledger"'), "ledger is in a folder that is not there"),
        (HEAD, HEAD.replace('"budget.ledger"', '"votes.parquet"'), "ledger is refused"),
    ):
        people = PEOPLE.replace("votes", "ballots") if "ballots" in changed else PEOPLE
        (tmp_path / "office.toml").write_text((HEAD + people + VOTES + STAYS + CALLS).replace(part, changed))
        with pytest.raises(OfficeError, match=sentence):
            check_office(read_office(tmp_path / "office.toml"))


def test_a_check_notes_what_one_might_not_expect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unlimited, crowded = STAYS.replace("max_rows = 2\n", ""), CALLS.replace("rows = 10000", "rows = 7999")
    make_office(tmp_path, VOTES, unlimited, crowded, head=HEAD + '[server]\nhost = "0.0.0.0"\n')
    with pytest.raises(SystemExit) as ended:
        main(["serve", str(tmp_path / "office.toml"), "--check"])
    assert ended.value.code == 0
    output = capsys.readouterr()
    assert output.out == "office.toml holds: 3 datasets, 5 people\n"
    assert [line[:60] for line in output.err.splitlines()] == [
        "duotone: note: stays has a unit, and neither max_rows nor per_unit"[:60],
        "duotone: note: calls has more rows than rows says: answers may be late"[:60],
        "duotone: note: 0.0.0.0 can be reached from other machines, and"[:60],
    ]


def test_what_cannot_be_served_together_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_office(tmp_path)
    for more in ("--check", "--processes=4"):
        assert "the demonstration is served by one process" in command(capsys, "serve", "--demo", more)
    assert "several processes need a ledger in Postgres" in command(
        capsys, "serve", str(tmp_path / "office.toml"), "--processes=2"
    )
    assert not (tmp_path / "budget.ledger").exists()


def test_tokens_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    office = ["--office", str(make_office(tmp_path).file)]

    def done(*arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["token", *arguments, *office])
        assert ended.value.code == 0
        return capsys.readouterr().out

    mine, assistants = done("add", "ana").strip(), done("add", "ana", "--assistant", "--days", "7").strip()
    tokens = Tokens(tmp_path / "office.tokens")
    assert [tokens.verified(text) is not None for text in (mine, assistants, mine[:-1])] == [True, True, False]
    shown = done("list")
    assert all(word in shown for word in ("held by", "their assistant", "the person", "ends", mine.split("_")[1]))
    assert mine.split("_", 2)[2] not in shown
    assert "zoe is not a person of this office" in command(capsys, "token", "add", "zoe", *office)
    assert done("revoke", "ana", "--id", mine.split("_")[1]) == "1 token of ana revoked\n"
    assert (tokens.verified(mine), tokens.verified(assistants) is None) == (None, False)
    assert "ana has no such token" in command(capsys, "token", "revoke", "ana", "--id", mine.split("_")[1], *office)


@pytest.mark.slow
def test_a_demonstration_that_is_ended_leaves_nothing(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "duotone", "serve", "--demo", "--port", "0"]
    places = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=places) as process:
        assert process.stdout is not None
        said = next(text for text in process.stdout if text.startswith("open "))
        address = re.match(r"open (http://127.0.0.1:\d+) in a browser", said)
        assert address is not None
        assert httpx2.get(f"{address[1]}/healthz", trust_env=False, timeout=PATIENCE).json()["status"] == "ok"
        assert list(tmp_path.iterdir())
        process.terminate()
        assert process.wait(PATIENCE) == 143
    assert list(tmp_path.iterdir()) == []


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command says where it refuses."""
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    assert ended.value.code == 2
    return capsys.readouterr().err
