from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import ABOUT, HALF, ask, askers, ending, register, tampered

import duotone.ledger.stores.scan
from duotone import ApproxDP, Charge, Coin, DuotoneError, OverBudget, balanced, open_ledger, partition_selection
from duotone.errors import LedgerError
from duotone.ledger.entries import key_of, row_of
from duotone.ledger.ledger import Ledger
from duotone.ledger.stores import Entries, Row, open_store
from duotone.ledger.stores.scan import Scan
from duotone.ledger.stores.sqlite import SqliteStore
from duotone.ledger.stores.sqlite_connection import copied
from duotone.ledger.stores.store import MIGRATIONS, SCHEMA
from duotone.ledger.verify import verify

HERE = Path(__file__).parents[1] / "support"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.ledger"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with open_ledger(path, wait=5) as ledger:
        register(ledger)
        yield ledger


def execute(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for sql in statements:
        connection.execute(sql)
    connection.commit()
    connection.close()


def test_charge_then_flip(ledger: Ledger, path: Path) -> None:
    """While the coin is flipped, the charge is already there for everyone else; the answer is not."""
    seen: list[list[str]] = []

    def flip() -> bool:
        with open_ledger(path) as other:
            seen.append([entry["kind"] for entry in other.entries()])
        return Coin(HALF.mechanism).answer(3).answer

    receipt = ledger.ask("census", "q", HALF, flip, **ABOUT)
    assert seen == [["register", "charge"]]
    assert [entry["kind"] for entry in ledger.entries()] == ["register", "charge", "answer"]
    assert (receipt.charge, receipt.free, receipt.left, receipt.unanswered) == (2, False, "epsilon 0.5, delta 0", 0)


def test_the_same_question_is_free_and_never_flips(ledger: Ledger) -> None:
    flips: list[int] = []
    first = ask(ledger, flips=flips)
    same = ask(ledger, flips=flips)
    assert (len(flips), same.free, same.answer, same.charge) == (1, True, first.answer, first.charge)
    assert not ask(ledger, again=True, flips=flips).free
    assert len(flips) == 2
    assert ask(ledger, flips=flips).charge == 4  # the latest answer
    assert len(ledger.entries()) == 5


def test_a_recorded_answer_cannot_be_changed_through_a_receipt(ledger: Ledger) -> None:
    def again() -> Any:
        return ledger.ask("census", "q", HALF, lambda: {"towns": ["Ely"]}, **ABOUT).answer

    for _ in range(3):
        answer = again()
        assert answer == {"towns": ["Ely"]}
        answer["towns"].append("Wells")
        ledger.statement("census").charges[0].answer["towns"].clear()


@pytest.mark.parametrize("other", ["question", "notion", "boundary", "answers", "version"])
def test_another_question_is_charged(path: Path, other: str) -> None:
    with open_ledger(path) as ledger:
        register(ledger, ApproxDP(8))
        ask(ledger)
        sales = {
            "notion": Charge(balanced(ApproxDP("0.4"))),
            "boundary": Charge(partition_selection(ApproxDP("0.5"))),
            "answers": Charge(balanced(ApproxDP("0.5")), 2),
        }
        if other == "version":
            ledger.relabel("census", "2", by="ann")
        assert not ask(ledger, "another" if other == "question" else "q", sales.get(other, HALF)).free
        assert ledger.verify().holds


def test_a_refused_charge_releases_nothing_and_says_what_is_left(ledger: Ledger) -> None:
    ask(ledger)
    ask(ledger, "r", Charge(balanced(ApproxDP("0.2"))))
    before = ledger.entries()
    flips: list[int] = []
    with pytest.raises(
        OverBudget, match=r"1 answer at .* does not fit into the budget of census; left: epsilon 0.3"
    ) as refused:
        ask(ledger, "s", flips=flips)
    assert flips == []
    assert ledger.entries() == before
    assert (refused.value.dataset, refused.value.left) == ("census", "epsilon 0.3, delta 0")
    with pytest.raises(OverBudget, match="2 answers at"):
        ask(ledger, "s", Charge(balanced(ApproxDP("0.2")), 2))
    assert ask(ledger).free  # what was paid for stays


def test_a_wasted_charge_is_told(ledger: Ledger) -> None:
    def crash() -> bool:
        raise RuntimeError("the engine failed")

    with pytest.raises(RuntimeError, match="the engine failed"):
        ledger.ask("census", "q", Charge(balanced(ApproxDP("0.1"))), crash, **ABOUT)
    account = ledger.statement("census")
    assert account.state.unanswered == 1
    assert [charge.answered for charge in account.charges] == [False]
    assert account.spent == (0.1, 0.0)
    assert ask(ledger).unanswered == 1
    assert ask(ledger).unanswered == 1
    with pytest.raises(DuotoneError, match="what JSON can write; the charge stands"):
        ledger.ask("census", "r", Charge(balanced(ApproxDP("0.1"))), lambda: float("nan"), **ABOUT)
    assert ledger.statement("census").state.unanswered == 2
    assert ledger.verify().holds


def test_unit_and_neighbours_must_match(ledger: Ledger) -> None:
    flips: list[int] = []
    with pytest.raises(DuotoneError, match="registered with unit person, and the question has row"):
        ask(ledger, unit="row", flips=flips)
    with pytest.raises(DuotoneError, match="registered with neighbours replace, and the question has add-remove"):
        ask(ledger, neighbours="add-remove", flips=flips)
    with pytest.raises(LedgerError, match="there is no dataset other in this ledger"):
        ask(ledger, dataset="other", flips=flips)
    for dataset in (None, "", 7, "\ud800"):
        with pytest.raises(DuotoneError, match="a dataset is a short printable text"):
            ask(ledger, dataset=dataset, flips=flips)  # type: ignore[arg-type]
    with pytest.raises(DuotoneError, match="a question is a text"):
        ask(ledger, "", flips=flips)
    assert flips == []


def test_registration_is_checked(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="registered already"):
        register(ledger)
    with pytest.raises(DuotoneError, match="add-remove or replace, got swap"):
        register(ledger, dataset="d", neighbours="swap")
    for bad in ("", "x" * 201, "a\nb"):
        with pytest.raises(DuotoneError, match="a dataset is a short printable text"):
            register(ledger, dataset=bad)
    with pytest.raises(DuotoneError, match="a name is a short"):
        register(ledger, dataset="d", by="\0")
    with pytest.raises(DuotoneError, match="had the version 1 already"):
        ledger.relabel("census", "1")
    with pytest.raises(DuotoneError, match="a wait is"):
        open_ledger("x", wait=float("nan"))


def test_several_datasets_have_budgets_of_their_own(ledger: Ledger) -> None:
    register(ledger, ApproxDP(2, "1e-6"), dataset="trial", rule="plan", answers_at=ApproxDP("0.5", "1e-9"))
    ask(ledger)
    ask(ledger, dataset="trial")
    assert ledger.datasets() == ["census", "trial"]
    assert ledger.statement("trial").left.startswith("3 of 4 answers at ApproxDP(epsilon=0.5")
    assert ledger.statement("census").left == "epsilon 0.5, delta 0"
    with pytest.raises(DuotoneError, match="plan is for answers at"):
        ask(ledger, "r", Charge(balanced(ApproxDP(1))), dataset="trial")
    assert ledger.verify().holds


def test_batches_and_groups_are_charged_at_once(path: Path) -> None:
    with open_ledger(path) as ledger:
        register(ledger, ApproxDP(1, "1e-5"), rule="plan", answers_at=ApproxDP("0.01", "1e-9"))
        sale = Charge(partition_selection(ApproxDP("0.01", "1e-9")), 100)
        receipt = ledger.ask("census", "groups by town", sale, lambda: ["a", "b"], **ABOUT)
        assert receipt.answer == ["a", "b"]
        assert receipt.left.startswith("614 of 714 answers")


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["0.1", "0.25", "1/3"]), st.booleans(), st.booleans()), max_size=25
    )
)
def test_any_history(tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[str, str, bool, bool]]) -> None:
    """Against a list: what is free, what is charged, what is refused; crashes waste, and nothing is ever overspent."""
    spent, answered = Fraction(0), set()
    with open_ledger(tmp_path_factory.mktemp("any") / "l") as ledger:
        register(ledger)
        for question, epsilon, again, crash in moves:

            def flip(crash: bool = crash) -> int:
                if crash:
                    raise ZeroDivisionError
                return 1

            sale, key = Charge(balanced(ApproxDP(epsilon))), (question, epsilon)
            try:
                receipt = ledger.ask("census", question, sale, flip, again=again, **ABOUT)
            except OverBudget:
                assert spent + Fraction(epsilon) > 1
                continue
            except ZeroDivisionError:
                spent += Fraction(epsilon)
                assert again or key not in answered
                continue
            assert receipt.free == (key in answered and not again)
            spent += 0 if receipt.free else Fraction(epsilon)
            answered.add(key)
        assert spent <= 1
        assert ledger.statement("census").spent[0] == pytest.approx(float(spent))
        assert ledger.verify().holds


@pytest.mark.slow
def test_64_askers_get_exactly_k_answers(path: Path) -> None:
    with open_ledger(path) as ledger:
        register(ledger, ApproxDP("0.5"))  # ten answers at 0.05
    assert askers(str(path), 64) == 10
    with open_ledger(path) as ledger:
        assert ledger.verify().holds
        assert ledger.statement("census").state.charges == 10


def test_threads_share_a_ledger(path: Path) -> None:
    with open_ledger(path) as ledger:
        register(ledger, ApproxDP(4))
        refused: list[int] = []

        def one(i: int) -> None:
            try:
                ask(ledger, f"q{i}")
            except OverBudget:
                refused.append(i)

        threads = [threading.Thread(target=one, args=(i,)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == 12
        assert ledger.verify().holds


def _in_child(ledger: Ledger) -> None:
    ask(ledger, "from the child")


def test_a_fork_opens_its_own_connection(ledger: Ledger) -> None:
    ask(ledger)
    child = get_context("fork").Process(target=_in_child, args=(ledger,))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert ask(ledger, "from the child").free
    assert ledger.verify().holds


def test_creation_races(path: Path) -> None:
    ledgers = [open_ledger(path, wait=20) for _ in range(8)]
    named = [{"dataset": f"d{i}"} for i in range(8)]
    threads = [threading.Thread(target=register, args=(a,), kwargs=b) for a, b in zip(ledgers, named, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ledgers[0].datasets()) == [f"d{i}" for i in range(8)]
    assert ledgers[0].verify().holds
    for ledger in ledgers:
        ledger.close()


def run(script: str, *arguments: object) -> dict[str, Any]:
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.slow
def test_1000_kills(tmp_path: Path) -> None:
    """SIGKILL at random moments, four writers: nothing released uncharged, nothing lost, every ledger verifies."""
    found = run("killed.py", tmp_path, 1000, 4, 6)
    assert found["released"] <= found["answered"] <= found["flipped"] <= found["charged"]
    assert found["charged"] > 500


@pytest.mark.slow
def test_100_full_disks(tmp_path: Path) -> None:
    found = run("full_disk.py", tmp_path, 100, 6)
    assert found["full"] == 100
    assert all("nothing was released" in said for said in found["said"])


def test_a_clock_that_runs_backwards(path: Path) -> None:
    now = datetime(2026, 11, 15, 12, tzinfo=UTC)
    times = [now]
    with Ledger(open_store(path), clock=lambda: times[0]) as ledger:
        register(ledger)
        times[0] = now - timedelta(seconds=30)
        ask(ledger, "q", Charge(balanced(ApproxDP("0.1"))))  # clocks differ a little
        assert {entry["at"] for entry in ledger.entries()} == {now.isoformat()}
        times[0] = now.replace(tzinfo=None)
        with pytest.raises(DuotoneError, match="times with a time zone"):
            ask(ledger, "r")
        times[0] = now - timedelta(hours=1)
        flips: list[int] = []
        with pytest.raises(LedgerError, match=r"the clock says 2026-11-15 11:00:00 UTC, before the ledger's last entry"):
            ask(ledger, "r", flips=flips)
        assert flips == []

        def late() -> bool:
            times[0] = now - timedelta(hours=5)
            return True

        times[0] = now
        assert ledger.ask("census", "s", HALF, late, **ABOUT).answer is True  # paid for, and recorded
        assert ledger.verify().holds


READ_ONLY = """
import os, sys
from duotone import OverBudget, open_ledger
from duotone.errors import LedgerError
from duotone.ledger import planned_composition, privacy_filters
sys.path.insert(0, sys.argv[2])
from ledgers import ask
HALF_TABLES = __import__("ledgers").HALF.tables
import duotone.ledger.stores.sqlite
if os.geteuid() == 0:  # root may write anything
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
flips = []
try:
    ask(open_ledger(sys.argv[1], wait=1), flips=flips)
except LedgerError as error:
    print(len(flips), error)
"""


def test_a_read_only_file_or_folder() -> None:
    folder = Path(tempfile.mkdtemp(prefix="duotone-ro-"))  # one that others may look into
    try:
        path = folder / "l"
        with open_ledger(path) as ledger:
            register(ledger)
        path.chmod(0o444)
        folder.chmod(0o555)
        done = subprocess.run([sys.executable, "-c", READ_ONLY, path, HERE], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"0 the ledger {path} cannot be"), done.stdout
        assert done.stdout.endswith("nothing was released\n")
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


@pytest.mark.parametrize("how", ["half", "garbage", "empty", "another", "folder"])
def test_a_half_written_file(path: Path, ledger: Ledger, how: str) -> None:
    for i in range(2):
        ask(ledger, f"q{i}")
    ledger.close()
    whole = path.read_bytes()
    for beside in path.parent.iterdir():
        beside.unlink()
    if how == "half":
        path.write_bytes(whole[: len(whole) // 2])
    elif how == "garbage":
        path.write_bytes(b"no database" * 1000)
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "another":
        execute(path, "CREATE TABLE t (x)")
    else:
        path.mkdir()
    flips: list[int] = []
    with pytest.raises(LedgerError) as said:
        ask(ledger, "r", flips=flips)
    assert flips == []
    assert "\n" not in str(said.value)


def test_a_missing_ledger_is_not_made_by_asking(path: Path) -> None:
    with pytest.raises(LedgerError, match="register a dataset first"):
        ask(open_ledger(path))
    assert not path.exists()
    with pytest.raises(LedgerError, match="its folder does not exist"):
        register(open_ledger(path.parent / "no" / "l"))


def test_a_relative_or_odd_path_stays_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with open_ledger("odd ?#%20é.ledger") as ledger:
        register(ledger)
        ledger.close()
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert not ask(ledger).free
    assert (tmp_path / "odd ?#%20é.ledger").exists()


def test_a_newer_ledger_is_refused(path: Path, ledger: Ledger) -> None:
    ledger.close()
    execute(path, "UPDATE duotone_ledger SET value = '99' WHERE name = 'schema'")
    flips: list[int] = []
    with pytest.raises(LedgerError, match=r"newer Duotone \(schema 99, this one knows 3\): update Duotone"):
        ask(ledger, flips=flips)
    with pytest.raises(LedgerError, match="newer Duotone"):
        register(ledger, dataset="d")
    assert flips == []


@pytest.mark.parametrize("version", range(1, SCHEMA + 1))
def test_every_older_ledger_is_brought_up_to_date(path: Path, version: int, ledger: Ledger, tmp_path: Path) -> None:
    """A ledger of that version, with the very same entries: they mean and say the same afterwards."""
    ask(ledger)
    rows = ledger.entries()
    ledger.close()
    old = tmp_path / "old"
    execute(old, *(statement for step in MIGRATIONS[:version] for statement in step))
    execute(old, f"UPDATE duotone_ledger SET value = '{version}' WHERE name = 'schema'")
    execute(old, f"ATTACH '{path}' AS n", "INSERT INTO duotone_entries SELECT * FROM n.duotone_entries")
    execute(
        old,
        f"ATTACH '{path}' AS n",
        "UPDATE duotone_ledger SET value = (SELECT value FROM n.duotone_ledger WHERE name = 'head') WHERE name = 'head'",
    )
    with open_ledger(old) as moved:
        assert ask(moved).free
        assert moved.entries() == rows
        assert moved.verify().holds
        assert not ask(moved, "r").free


@pytest.mark.parametrize("how", ["edit", "remove", "cut", "swap", "refile", "head"])
def test_tampering_is_found(path: Path, how: str) -> None:
    with open_ledger(path) as ledger:
        register(ledger, ApproxDP(8))
        for i in range(4):
            ask(ledger, f"q{i}")
        kept = ledger.verify().head
        ledger.close()
        execute(path, *tampered(how))
        found = ledger.verify()
        assert not found.holds
        expected = {
            "edit": ("entry 4 is not the one that was written after entry 3",),
            "remove": ("entry 4 is missing", "entry 5 is not the one that was written after entry 4"),
            "cut": ("the ledger ends at entry 7, but its head is entry 9",),
            "swap": tuple(f"entry {n} is not the one that was written after entry {n - 1}" for n in (4, 5, 6, 7)),
            "refile": ("entry 5 is filed under another dataset, kind or question than it says",),
            "head": ("the ledger ends at entry 9, but its head is entry 9 with another hash or number",),
        }
        for said in expected[how]:
            assert sum(problem.startswith(said) for problem in found.problems) == 1, said
        assert ledger.verify(kept).problems[: len(found.problems)] == found.problems


def test_every_single_change_of_any_entry_is_found(path: Path) -> None:
    with open_ledger(path) as ledger:
        register(ledger, ApproxDP(8))
        for i in range(3):
            ask(ledger, f"q{i}")
        with ledger._store.reading() as entries:
            rows = entries.some()
            assert entries.head() == (len(rows), rows[-1].hash)
    head = ending(rows)
    assert verify(rows, head).holds
    for i, row in enumerate(rows):
        assert not verify(rows[:i] + rows[i + 1 :], head).holds
        for name in ("dataset", "kind", "question", "body", "hash"):
            value = getattr(row, name)
            for at in range(0, len(value) + 1, 7):
                changed = Row(**{**vars(row), name: value[:at] + "x" + value[at + 1 :]})
                assert not verify([*rows[:i], changed, *rows[i + 1 :]], head).holds
        for j in range(i):
            swapped = list(rows)
            swapped[i], swapped[j] = Row(**{**vars(rows[j]), "seq": i + 1}), Row(**{**vars(rows[i]), "seq": j + 1})
            assert not verify(swapped, head).holds


def test_a_chain_written_anew_is_found_by_a_head_kept_elsewhere(path: Path, ledger: Ledger) -> None:
    ask(ledger)
    kept = ledger.verify().head
    rows, previous = [], ""
    for entry in ledger.entries()[:1]:
        body = {name: value for name, value in entry.items() if name not in ("seq", "hash")}
        rows.append(row_of(previous, entry["seq"], body))
        previous = rows[-1].hash
    assert verify(rows, lambda: (1, previous)).holds
    assert verify(rows, lambda: (1, previous), kept).problems == (
        "no entry has the head that was kept: the chain was cut or written anew",
    )
    ask(ledger, again=True)
    assert ledger.verify(kept).holds  # it may have grown


NOTHING = {"answers": 0, "epsilon": "0", "exp_epsilon": "1", "delta": "0", "squares": "0"}


@pytest.mark.parametrize("v", [1, 2])
def test_entries_with_right_hashes_and_wrong_sums_are_found(v: int) -> None:
    common = {"dataset": "d", "v": v, "at": "2026-11-15T11:00:00+00:00"}
    first = {"kind": "register", "version": "1", "budget": "epsilon=1 delta=0", "rule": "sum", **common}
    first |= {"unit": "row", "neighbours": "replace"}
    start: dict[str, Any] = {"version": "1", "charges": 0, "answers": 0}
    start |= {"tally": {}} if v == 1 else {"spent": NOTHING}

    def charge(epsilon: str) -> dict[str, Any]:
        body: dict[str, Any] = {"kind": "charge", "version": "1", "question": "q", "notion": f"epsilon={epsilon} delta=0"}
        body |= {"boundary": "balanced", "answers": 1, "again": False, **common}
        return {**body, "key": key_of("d", "1", body, ("row", "replace"))}

    def paid(epsilon: str, squares: str, **other: Any) -> dict[str, Any]:
        sums = {"epsilon": epsilon, "squares": squares, "answers": 1}
        carried = {"tally": {f"epsilon={epsilon} delta=0": 1}} if v == 1 else {"spent": {**NOTHING, **sums}}
        return {**start, "charges": 1, **carried, **other}

    answer = {"kind": "answer", "key": "k", "charge": 7, "answer": 1, **common}
    half, two = charge("1/2"), charge("2")
    fits = {**half, "after": paid("1/2", "1/4")}
    begun = {**first, "after": start}
    other = {"tally": {"epsilon=1/3 delta=0": 1}} if v == 1 else {"spent": {**paid("1/2", "1/4")["spent"], "delta": "1/9"}}
    stories: list[tuple[str, list[dict[str, Any]]]] = [
        ("", [begun, fits]),
        ("goes beyond the budget of d", [begun, {**two, "after": paid("2", "4")}]),
        ("does not add up", [begun, {**half, "after": paid("1/2", "1/4", **other)}]),
        ("does not add up", [begun, {**half, "after": start}]),
        ("does not add up", [{**first, "after": {**start, "charges": 3}}]),
        ("does not make sense", [begun, {**answer, "after": {**start, "answers": 1}}]),
        ("does not make sense", [fits]),
        ("does not make sense", [{**begun, "rule": "guess"}]),
        ("a second time", [begun, {**begun, "budget": "epsilon=9 delta=0"}]),
        ("does not make sense", [begun, {**begun, "kind": "gift"}]),
        ("does not make sense", [begun, {**fits, "answers": -3}]),
        ("does not make sense", [begun, {**fits, "version": "9"}]),
        ("does not make sense", [begun, {**fits, "key": "k"}]),
        ("does not make sense", [begun, {**begun, "kind": "version"}]),
        ("does not make sense", [{**begun, "v": 3}]),
        ("dated before the one it follows", [begun, {**fits, "at": "2026-11-15T10:59:59.999999+00:00"}]),
    ]
    for said, bodies in stories:
        rows, previous = [], ""
        for seq, body in enumerate(bodies, 1):
            rows.append(row_of(previous, seq, body))
            previous = rows[-1].hash
        problems = verify(rows, ending(rows)).problems
        if said == "":
            assert problems == ()
        else:
            (problem,) = problems
            assert said in problem
    assert len(verify([row_of("", 10**6, begun)], lambda: (1, "")).problems) == 102


def test_nothing_private_is_stored(path: Path, ledger: Ledger) -> None:
    """The bytes of the file hold what is public and no level, margin or row."""
    secret = 987654321
    coin = Coin(HALF.mechanism)
    ledger.ask("census", "mean(pay) > 3", HALF, lambda: coin.answer(secret).answer, by="ann", **ABOUT)
    with pytest.raises(DuotoneError):
        ledger.ask("census", "r", HALF, lambda: coin.answer("987654321"), **ABOUT)
    ledger.close()
    stored = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"mean(pay) > 3" in stored
    assert str(secret).encode() not in stored


def test_a_long_ledger_is_read_in_pieces(path: Path) -> None:
    store = open_store(path)
    with store.writing(create=True) as entries:
        previous = ""
        for seq in range(1, 2502):
            row = row_of(previous, seq, {"kind": "version", "dataset": "d", "version": str(seq)})
            entries.append(row)
            previous = row.hash
    rows = Scan(store, Entries.head)
    with pytest.raises(LedgerError, match="has not been read to its end"):
        rows.end()
    assert [row.seq for row in rows] == list(range(1, 2502))
    assert rows.end() == (2501, previous)
    assert [row.seq for row in Scan(store, Entries.head, "d")] == list(range(1, 2502))
    assert list(Scan(store, Entries.head, "e")) == []
    store.close()


def test_charges_do_not_wait_for_those_who_read(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long ledger is verified, shown, exported and copied while another program charges it in the middle of that."""
    monkeypatch.setattr(duotone.ledger.stores.store, "CHUNK", 8)
    monkeypatch.setattr(duotone.ledger.stores.scan, "CHUNK", 8)
    with open_ledger(path) as ledger, open_ledger(path, wait=0.2) as other:
        register(ledger, ApproxDP(8))
        for i in range(12):
            ask(ledger, f"q{i}")
        reads: dict[str, Callable[[], int]] = {
            "verify": lambda: ledger.verify().entries,
            "entries": lambda: len(ledger.entries()),
            "statement": lambda: 1 + 2 * len(ledger.statement("census").charges),
            "backup": lambda: ledger.backup(tmp_path / "copy").entries,
        }
        for count, (name, read) in enumerate(reads.items()):

            def charging(rows: Scan[Any], *, name: str = name, iterate: Any = Scan.__iter__) -> Iterator[Row]:
                for row in iterate(rows):
                    if row.seq == 20:
                        ask(other, f"while {name}")
                    yield row

            with monkeypatch.context() as patched:
                patched.setattr(Scan, "__iter__", charging)
                assert read() == 25 + 2 * (count + 1)
        assert ledger.verify().holds


def test_a_copy_that_is_made_to_read_from_is_made_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that is still in the first version's format is read from a copy, of any length."""
    monkeypatch.setattr(duotone.ledger.stores.store, "CHUNK", 8)
    monkeypatch.setattr(duotone.ledger.stores.scan, "CHUNK", 8)
    with open_ledger(path) as ledger:
        register(ledger, ApproxDP(8))
        for i in range(12):
            ask(ledger, f"q{i}")
    execute(path, "PRAGMA journal_mode = WAL")
    copies: list[Path] = []

    def counted(file: Path) -> Any:
        copies.append(file)
        return copied(file)

    monkeypatch.setattr(duotone.ledger.stores.sqlite, "copied", counted)
    with open_ledger(path) as ledger:
        assert ledger.verify().holds
        assert len(copies) == 1
        assert [entry["seq"] for entry in ledger.entries()] == list(range(1, 26))


def test_a_ledger_that_is_replaced_while_it_is_read_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duotone.ledger.stores.store, "CHUNK", 8)
    monkeypatch.setattr(duotone.ledger.stores.scan, "CHUNK", 8)
    for name in ("a", "b"):
        with open_ledger(tmp_path / name) as ledger:
            register(ledger, ApproxDP(8))
            for i in range(12):
                ask(ledger, f"{name}{i}")
    with open_ledger(tmp_path / "a") as ledger:
        rows = iter(Scan(ledger._store, Entries.head))
        next(rows)
        os.replace(tmp_path / "b", tmp_path / "a")
        with pytest.raises(LedgerError, match="was changed or replaced while it was read"):
            list(rows)


def test_failed_creation_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Entries, version: int) -> None:
        self.execute("CREATE TABLE duotone_ledger (name TEXT)", ())
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Entries, "migrate", broken)
        with pytest.raises(KeyboardInterrupt):
            register(open_ledger(path))
    with open_ledger(path) as ledger:
        register(ledger)
        assert ledger.verify().holds


def test_other_failures_say_their_code(path: Path) -> None:
    error = sqlite3.DatabaseError("private words")
    assert (
        str(SqliteStore(path, 1)._ledger_error(error))
        == f"the ledger {path} cannot be used (DatabaseError); nothing was released"
    )


def test_a_file_that_was_replaced_is_the_ledger(path: Path, ledger: Ledger, tmp_path: Path) -> None:
    """A backup put in place, or a file taken away, under an open ledger: what is at the path counts, and only that."""
    ledger.close()
    shutil.copy(path, tmp_path / "copy")
    assert not ask(ledger).free
    ledger_left = ledger.statement("census").left
    os.replace(tmp_path / "copy", path)
    for extra in ("-wal", "-shm"):
        path.with_name(path.name + extra).unlink(missing_ok=True)
    assert ledger.statement("census").state.charges == 0
    assert ask(ledger, "r").left == ledger_left
    path.unlink()
    for extra in ("-wal", "-shm"):
        path.with_name(path.name + extra).unlink(missing_ok=True)
    with pytest.raises(LedgerError, match="there is no ledger"):
        ask(ledger, "s")


def test_an_answer_whose_charge_is_gone_is_not_released(path: Path, ledger: Ledger, tmp_path: Path) -> None:
    ledger.close()
    shutil.copy(path, tmp_path / "copy")

    def flip() -> bool:
        ledger.close()
        os.replace(tmp_path / "copy", path)
        for extra in ("-wal", "-shm"):
            path.with_name(path.name + extra).unlink(missing_ok=True)
        return True

    with pytest.raises(LedgerError, match="any more; nothing was released"):
        ledger.ask("census", "q", HALF, flip, **ABOUT)
    assert ledger.verify().holds


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM duotone_ledger WHERE name = 'head'",
        "UPDATE duotone_ledger SET value = 'x y' WHERE name = 'head'",
        "UPDATE duotone_ledger SET value = 'x' WHERE name = 'schema'",
        "UPDATE duotone_entries SET body = '{' WHERE seq = 1",
        "UPDATE duotone_entries SET body = '{}' WHERE seq = 3",
    ],
)
def test_a_damaged_ledger_ends_in_a_sentence_and_sells_nothing(path: Path, ledger: Ledger, damage: str) -> None:
    ask(ledger)
    ledger.close()
    execute(path, damage)
    with open_ledger(path) as damaged:
        flips: list[int] = []
        with pytest.raises(LedgerError) as told:
            damaged.ask("census", "other", HALF, lambda: flips.append(1), **ABOUT)
        assert "\n" not in str(told.value)
        assert not flips
        try:
            assert not damaged.verify().holds
        except LedgerError:
            assert "schema" in damage


@pytest.mark.parametrize(
    "place",
    [
        "postgresql+psycopg://ann:Secret9@localhost/db", "host=localhost password=Secret9", "mysql://ann:Secret9@h/db",
        "postgresql://ann:5/Secret9@localhost:1/db", "postgresql://ann:1?Secret9@h/db", " PostgreSQL://ann:Secret9@localhost:1/db",
    ],
)  # fmt: skip
def test_no_password_is_ever_shown(place: str) -> None:
    with pytest.raises(DuotoneError) as told, open_ledger(place, wait=1) as opened:
        opened.entries()
    assert "Secret9" not in str(told.value)
    assert not Path(place).exists()


def test_arguments_that_are_wrong_are_no_damage(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger)
        wrong: list[Any] = [
            lambda: ledger.relabel("census", ["x"]),  # type: ignore[arg-type]
            lambda: ask(ledger, unit=["u"]),
            lambda: ask(ledger, dataset=["d"]),  # type: ignore[arg-type]
            lambda: ask(ledger, charge=None),  # type: ignore[arg-type]
            lambda: open_ledger(tmp_path / "l", wait="3"),  # type: ignore[arg-type]
            lambda: open_ledger("postgresql://h/d", wait=float("inf")),
        ]
        for mistake in wrong:
            with pytest.raises(DuotoneError, match=r"^(a|what is charged for is a) ?"):
                mistake()
        with pytest.raises(DuotoneError, match="no dataset survey in this ledger; it has census: name one of these"):
            ask(ledger, dataset="survey")
        assert ledger.statement("census").state.charges == 0


def test_an_answer_is_not_nested_too_deeply(tmp_path: Path) -> None:
    deep: Any = True
    for _ in range(600):
        deep = [deep]
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger)
        with pytest.raises(DuotoneError, match="at most 64 lists within lists; the charge stands"):
            ledger.ask("census", "q", HALF, lambda: deep, **ABOUT)
        assert ledger.statement("census").state.unanswered == 1
        assert ask(ledger, "q").answer is True


def test_a_plan_is_verified_answer_by_answer(tmp_path: Path) -> None:
    """A plan counts answers: one that tells more than it sells shows, though its count is within the plan."""
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger, ApproxDP(1, "1e-6"), rule="plan", answers_at=ApproxDP("0.01", "1e-12"))
        ask(ledger, "small", Charge(balanced(ApproxDP("0.01", "1e-12"))))
        assert ledger.verify().holds
    with open_ledger(tmp_path / "l") as ledger, pytest.MonkeyPatch.context() as patch:
        patch.setattr("duotone.ledger.planned_composition.PlannedComposition.accepts", lambda *_: None)
        ask(ledger, "large", Charge(balanced(ApproxDP(50, "1/2"))))
    with open_ledger(tmp_path / "l") as ledger:
        assert ledger.verify().problems == ("entry 4 is for an answer that a budget with the rule plan does not cover",)
