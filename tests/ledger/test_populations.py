"""Populations: datasets of the same people are charged to one budget, whatever happens at once, in between or afterwards."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, Charge, OverBudget, balanced, open_ledger
from duotone.errors import DuotoneError, LedgerError
from duotone.ledger.entries import member_key
from duotone.ledger.ledger import Ledger
from duotone.line.three_way import ThreeWay
from duotone.model.cost import CloseCallCharge
from support.forged import appended, next_charge, smaller
from support.ledgers import ABOUT, HALF, MemoryStore, ask, askers, chained_anew, register

NAMES = ("stays", "bills", "drugs")


def join(ledger: Ledger, *names: str, population: str = "census", version: str = "1", **options: Any) -> None:
    for name in names:
        ledger.register(name, population=population, version=version, **options)


@pytest.fixture
def shared() -> Iterator[Ledger]:
    """A population of two answers, with three members."""
    store = MemoryStore()
    ledger = Ledger(store)
    register(ledger)
    join(ledger, *NAMES)
    yield ledger
    store.end()


def test_what_one_member_spends_nobody_else_has(shared: Ledger) -> None:
    assert shared.datasets() == ["census", *NAMES]
    first = ask(shared, dataset="stays")
    assert shared.stands("bills").left == shared.stands("census").left == first.left
    other = ask(shared, dataset="bills")  # the same text about another table is another question
    assert (other.free, ask(shared, dataset="stays").free, ask(shared, dataset="bills").free) == (False, True, True)
    for name in ("census", *NAMES):
        with pytest.raises(OverBudget, match="does not fit into the budget of census; left: epsilon 0") as refused:
            ask(shared, "r", dataset=name)
        assert refused.value.dataset == "census"
        assert not shared.quote(name, [("r", HALF)], **ABOUT)[0].fits
        assert shared.stands(name).repeats(HALF) == 0
    assert [charge.member for charge in shared.statement("census").charges] == ["stays", "bills"]
    assert [charge.charge for charge in shared.statement("bills").charges] == [other.charge]
    assert [charge.charge for charge in shared.latest("bills", 5)] == [other.charge]
    assert shared.latest("drugs", 5) == []
    assert shared.statement("drugs").spent == shared.statement("census").spent == (1.0, 0.0)
    assert shared.verify().holds


def test_versions_are_each_members_own(shared: Ledger) -> None:
    ask(shared, dataset="stays")
    shared.relabel("census", "2")
    shared.relabel("bills", "2")
    assert ask(shared, dataset="stays").free
    shared.relabel("stays", "2026")
    assert [shared.stands(name).version for name in ("census", *NAMES)] == ["2", "2026", "2", "1"]
    otherwise = ask(shared, charge=Charge(balanced(ApproxDP("0.25"))), dataset="stays")
    assert (otherwise.free, otherwise.before) == (False, None)
    after = ask(shared, charge=Charge(balanced(ApproxDP("0.125"))), dataset="stays")
    assert after.before is not None
    assert after.before.charge == otherwise.charge
    with pytest.raises(DuotoneError, match="stays had the version 1 already"):
        shared.relabel("stays", "1")
    assert shared.verify().holds


def test_what_cannot_join(shared: Ledger) -> None:
    register(shared, dataset="own")
    ask(shared, dataset="own")
    before = shared.entries()
    cases: list[tuple[str, str, dict[str, Any]]] = [
        ("own is registered already", "own", {}),
        ("stays is registered already", "stays", {}),
        ("census is registered already", "census", {}),
        ("stays is itself charged to census: let new have the population census", "new", {"population": "stays"}),
        ("there is no dataset nobody", "new", {"population": "nobody"}),
        ("census is registered with unit person", "new", {"unit": "row"}),
        ("census is registered with neighbours replace", "new", {"neighbours": "add-remove"}),
        ("leave its budget, account and close calls out", "new", {"budget": ApproxDP(1)}),
        ("leave its budget, account and close calls out", "new", {"account": "renyi"}),
    ]
    for says, name, options in cases:
        with pytest.raises(DuotoneError, match=says):
            join(shared, name, **{"population": "census", **options})
    with pytest.raises(DuotoneError, match="give d a budget, and say what is protected"):
        shared.register("d", ApproxDP(1), version="1")
    with pytest.raises(LedgerError, match="stays is registered already"):
        register(shared, dataset="stays")
    with pytest.raises(DuotoneError, match="stays is charged to census: do this to census"):
        shared.allow("stays", "ann", ApproxDP(1))
    with pytest.raises(DuotoneError, match="stays is charged to census: do this to census"):
        shared.close_dataset("stays")
    assert shared.entries() == before
    shared.close_dataset("census")
    with pytest.raises(LedgerError, match="census is closed"):
        join(shared, "late")
    with pytest.raises(LedgerError, match="is closed"):
        ask(shared, dataset="bills")


def test_allowances_are_for_all_members_together() -> None:
    ledger = Ledger(MemoryStore())
    register(ledger, ApproxDP(9))
    join(ledger, *NAMES)
    ask(ledger, dataset="stays", asker="ann")
    ledger.allow("census", "ann", ApproxDP(1))
    assert ask(ledger, dataset="bills", asker="ann").allowance == ledger.share("drugs", "ann").left
    with pytest.raises(OverBudget, match="the allowance of ann for census"):
        ask(ledger, dataset="drugs", asker="ann")
    with pytest.raises(LedgerError, match="say who asks"):
        ask(ledger, dataset="drugs")
    assert ledger.verify().holds


def test_close_calls_and_prices_are_counted_for_the_population() -> None:
    asked = CloseCallCharge(ThreeWay(ApproxDP("0.05"), "1e-9"))
    ledger = Ledger(MemoryStore())
    register(ledger, ApproxDP(1, "1e-6"), close_calls=asked.question)
    register(ledger, ApproxDP(1, "1e-6"), dataset="many", account="renyi")
    join(ledger, *NAMES)
    join(ledger, "other", population="many")
    most = ledger.stands("stays").left.close_calls
    for i, name in enumerate(NAMES):
        answer = {"answers": [[[], "too close to call"]]}
        left = ledger.ask(name, "q", asked, lambda _, answer=answer: (answer, 1), **ABOUT).left.close_calls
        assert left == ledger.stands("census").left.close_calls == (most or 0) - 1 - i
    answer = {"answers": [[[], "yes"]]}
    ledger.ask("stays", "clear", asked, lambda _: (answer, 0), **ABOUT)
    assert [ledger.clear_answers(name) for name in NAMES] == [1, 1, 1]
    ask(ledger, charge=Charge(balanced(ApproxDP("0.01"))), dataset="other")
    assert ledger.stands("many").left == ledger.stands("other").left != ledger.stands("census").left
    assert ledger.verify().holds


def test_threads_and_members_get_what_there_is(place: str) -> None:
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP(4))
        join(ledger, *NAMES)
        refused: list[int] = []

        def one(i: int) -> None:
            try:
                ask(ledger, f"q{i}", dataset=NAMES[i % 3])
            except OverBudget:
                refused.append(i)

        threads = [threading.Thread(target=one, args=(i,)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == 12
        assert ledger.statement("census").state.answers == 8
        assert sum(len(ledger.statement(name).charges) for name in NAMES) == 8
        assert ledger.verify().holds


@pytest.mark.slow
def test_processes_of_several_members_get_exactly_k_answers(place: str) -> None:
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP("0.5"))  # ten answers at 0.05
        join(ledger, *NAMES)
    assert askers(place, 32, datasets=["census", *NAMES]) == 10
    with open_ledger(place) as ledger:
        assert ledger.verify().holds


def test_several_pipelines_register_at_once(place: str) -> None:
    """Each with its own connection, before there is a ledger: one entry each, and nobody is refused."""
    failed: list[Exception] = []
    gate = threading.Barrier(6)

    def pipeline() -> None:
        try:
            with open_ledger(place) as ledger:
                gate.wait()
                register(ledger, if_absent=True)
                join(ledger, *NAMES, if_absent=True)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=pipeline) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with open_ledger(place) as ledger:
        assert [entry["kind"] for entry in ledger.entries()] == ["register", "member", "member", "member"]
        assert ledger.verify().holds


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"budget": ApproxDP(2)}, r"budget epsilon=1 delta=1/1000000 \(given: epsilon=2 delta=0\); a budget is given once"),
        ({"unit": "row"}, r"unit person \(given: row\)"),
        ({"neighbours": "add-remove"}, r"neighbours replace \(given: add-remove\)"),
        ({"account": "renyi"}, r"account sum \(given: renyi\), answers none \(given: 1000\)"),
        ({"version": "2"}, r"version 1 \(given: 2\)"),
        ({"close_calls": ThreeWay(ApproxDP("0.05"))}, r"close_calls none \(given: epsilon=1/20 delta=0 wrong=1/1000000000\)"),
        ({"budget": None, "population": "other"}, r"population none \(given: other\);"),
    ],
    ids=str,
)
def test_what_differs_is_not_absent(options: dict[str, Any], says: str) -> None:
    ledger = Ledger(MemoryStore())
    same: dict[str, Any] = {"budget": ApproxDP(1, "1e-6"), "version": "1", "if_absent": True, **ABOUT}
    register(ledger, dataset="other")
    ledger.register("d", **same)
    ask(ledger, dataset="d")
    before = ledger.entries()
    registered = ledger.register("d", **{**same, "budget": ApproxDP("1.0", "0.000001")})
    assert registered == ledger.stands("d").registered
    with pytest.raises(LedgerError, match=f"d is registered already, and differently: .*{says}"):
        ledger.register("d", **{**same, **options})
    assert ledger.entries() == before
    ledger.close_dataset("d")
    with pytest.raises(LedgerError, match="closed permanently: register another name"):
        ledger.register("d", **same)


def test_a_crash_before_the_coin_costs_all_members(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger)
        join(ledger, *NAMES)
        if (child := os.fork()) == 0:
            ledger.ask("stays", "q", HALF, lambda: os._exit(7), **ABOUT)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert ask(ledger, dataset="bills").left.epsilon == 0
        assert ledger.statement("drugs").state.unanswered == 1
        with pytest.raises(OverBudget):
            ask(ledger, dataset="stays")
        verdict = ledger.backup(tmp_path / "copy")
        assert verdict.holds
    with open_ledger(tmp_path / "copy") as copy, pytest.raises(OverBudget):
        ask(copy, "r", dataset="drugs")


def test_there_is_no_exception_for_what_is_registered_already(shared: Ledger) -> None:
    """A pipeline that names another unit is refused, the first time and the second."""
    for name in ("stays", "new"):
        for about, says in (({"unit": "row"}, "unit person"), ({"neighbours": "add-remove"}, "neighbours replace")):
            with pytest.raises(DuotoneError, match=f"is registered with {says}"):
                join(shared, name, if_absent=True, **about)
    join(shared, "stays", if_absent=True, **ABOUT)
    assert shared.datasets() == ["census", *NAMES]


def test_a_members_statement_says_its_version_and_who_pays(shared: Ledger) -> None:
    shared.relabel("stays", "2026")
    named = "stays, version 2026: charged to census, like every dataset of the same people"
    assert repr(shared.statement("stays")).startswith(f"{named}: ApproxDP(epsilon=1.0")
    assert "stays, version 2026: charged to census" in shared.statement("stays")._repr_html_()
    assert repr(shared.statement("census")).startswith("census, version 1: ApproxDP")


@pytest.mark.parametrize("column", ["dataset", "question", "kind"])
def test_no_charge_goes_where_only_a_column_points(tmp_path: Path, column: str) -> None:
    """An entry is relied on only where it says itself that it belongs."""
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger)
        register(ledger, ApproxDP(9), dataset="rich")
        join(ledger, *NAMES)
        entries = len(ledger.entries())
    moved = {"dataset": "rich", "question": member_key("new"), "kind": "version"}
    with sqlite3.connect(tmp_path / "l") as connection:
        connection.execute(f"UPDATE duotone_entries SET {column} = ? WHERE seq = 3", (moved[column],))
    connection.close()
    with open_ledger(tmp_path / "l") as ledger:
        for name in ("stays", "new"):
            with pytest.raises(LedgerError, match=r"damaged|no dataset"):
                ask(ledger, dataset=name)
        assert len(ledger.entries()) == entries
        assert not ledger.verify().holds


FORGED: dict[str, tuple[int, dict[str, Any]]] = {
    "another member": (6, {"member": "bills"}),
    "no member": (6, {"member": None}),
    "a stranger": (6, {"member": "nobody"}),
    "another version": (6, {"version": "2"}),
    "charged elsewhere": (6, {"dataset": "own"}),
    "charged to a dataset of its name": (6, {"dataset": "stays", "member": None}),
    "of another population": (3, {"dataset": "own"}),
    "twice": (5, {"member": "stays", "filed": member_key("stays")}),
    "the name of a dataset": (4, {"member": "own", "filed": member_key("own")}),
    "a member with a budget of its own": (8, {"dataset": "stays"}),
    "filed elsewhere": (4, {"filed": member_key("drugs")}),
}


@pytest.mark.parametrize("how", FORGED)
def test_a_charge_that_would_leave_the_population_is_found(tmp_path: Path, how: str) -> None:
    """Whoever can write the whole ledger, with every hash, cannot move a charge away from its population."""
    place, (seq, changes) = tmp_path / "l", FORGED[how]
    with open_ledger(place) as ledger:
        register(ledger)
        register(ledger, dataset="own")
        join(ledger, *NAMES)
        ask(ledger, dataset="stays")
        register(ledger, dataset="late")
        body = next(entry for entry in ledger.entries() if entry["seq"] == seq)
        assert ledger.verify().holds
    body = {name: value for name, value in {**body, **changes}.items() if name not in ("seq", "hash") and value is not None}
    written = json.dumps(body, sort_keys=True, separators=(",", ":"))
    with sqlite3.connect(place) as connection:
        columns = body["dataset"], body["kind"], body.get("filed", body.get("key", "")), written, seq
        connection.execute("UPDATE duotone_entries SET dataset = ?, kind = ?, question = ?, body = ? WHERE seq = ?", columns)
        chained_anew(connection)
    connection.close()
    with open_ledger(place) as ledger:
        assert not ledger.verify().holds


def test_an_asker_cannot_forge_a_members_charge(url: str) -> None:
    with open_ledger(url) as ledger:
        register(ledger, ApproxDP(9))
        register(ledger, ApproxDP(9), dataset="own")
        join(ledger, *NAMES)
        join(ledger, "elsewhere", population="own")
        ledger.relabel("stays", "2")
        ask(ledger, dataset="stays")
        last, honest = next_charge(ledger, HALF, dataset="stays")
        assert (honest["dataset"], honest["member"], honest["version"]) == ("census", "stays", "2")
        for after in smaller(honest["after"]):
            assert not appended(url, last, {**honest, "after": after}), after
        for change in (
            {"member": "bills"},
            {"member": "nobody"},
            {"member": "elsewhere"},
            {"member": 1},
            {"dataset": "own"},
            {"dataset": "stays"},
            {"version": "1"},
        ):
            assert not appended(url, last, {**honest, **change}), change
        assert not appended(url, last, {name: value for name, value in honest.items() if name != "member"})
        _, other = next_charge(ledger, HALF, dataset="elsewhere")
        assert not appended(url, last, {**other, "dataset": "census", "after": honest["after"]})  # right but for the population
        assert appended(url, last, honest)
        assert ledger.verify().holds
