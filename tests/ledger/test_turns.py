"""Threads that ask at once: one pays, the others read its answer; nothing else waits."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from duotone import ApproxDP, Charge, balanced, open_ledger
from duotone.ledger import ledger as module
from duotone.ledger.ledger import Ledger, Turns
from duotone.model.cost import Receipt
from support import TESTS
from support.ledgers import ABOUT, HALF, ask, register


def at_once(*works: Callable[[], object]) -> None:
    """All of these, each in a thread of its own, started together."""
    gate, errors = threading.Barrier(len(works)), list[BaseException]()

    def run(work: Callable[[], object]) -> None:
        gate.wait()
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_24_threads_with_the_same_question_pay_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of them through ledgers of their own, at the same place by another path."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").symlink_to(tmp_path)
    receipts: list[Receipt] = []
    flips: list[int] = []
    with open_ledger(tmp_path / "l", wait=60) as shared:
        register(shared, ApproxDP(100))
        ledgers = [shared] * 12 + [open_ledger(path, wait=60) for path in (tmp_path / "l", Path("l"), Path("other/l")) * 4]

        def slow() -> bool:
            flips.append(1)
            time.sleep(0.2)  # long enough for every other thread to charge, if it could
            return True

        at_once(*(lambda ledger=ledger: receipts.append(_flipped(ledger, slow)) for ledger in ledgers))
        assert len(flips) == 1
        assert [receipt.free for receipt in receipts].count(False) == 1
        assert len({receipt.charge for receipt in receipts}) == 1
        assert shared.statement("census").state.charges == 1
        assert shared.verify().holds
        for ledger in ledgers:
            ledger.close()
    assert module._TURNS._turns == {}


def test_neither_again_nor_another_question_waits(tmp_path: Path) -> None:
    """While one question is being answered, each of these passes: were it held back, none would ever end."""
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger, ApproxDP(100))
        register(ledger, ApproxDP(100), dataset="other")
        begun, goes_on = threading.Event(), threading.Event()

        def slow() -> bool:
            begun.set()
            assert goes_on.wait(60)
            return True

        first = threading.Thread(target=lambda: ledger.ask("census", "q", HALF, slow, **ABOUT))
        first.start()
        assert begun.wait(60)
        assert not ask(ledger, "q", again=True).free
        assert ask(ledger, "q", again=True, flips=[]).charge
        assert not ask(ledger, "r").free
        assert not ask(ledger, "q", dataset="other").free
        assert not ask(ledger, "q", Charge(balanced(ApproxDP("0.25")))).free
        goes_on.set()
        first.join()
        assert ledger.verify().holds
    assert module._TURNS._turns == {}


def test_a_failure_lets_the_next_one_pay(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger, ApproxDP(100))
        with pytest.raises(ZeroDivisionError):
            ledger.ask("census", "q", HALF, lambda: 1 / 0, **ABOUT)
        assert not ask(ledger).free
    assert module._TURNS._turns == {}


def test_a_question_inside_a_question_waits_for_nobody(tmp_path: Path) -> None:
    """Two threads, each of which asks the other's question from inside its own: neither waits for the other for ever."""
    with open_ledger(tmp_path / "l", wait=60) as ledger:
        register(ledger, ApproxDP(100))
        both = threading.Barrier(2)

        def nested(question: str, other: str) -> None:
            def flip() -> bool:
                both.wait(60)
                ask(ledger, other)
                return True

            ledger.ask("census", question, HALF, flip, **ABOUT)

        at_once(lambda: nested("a", "b"), lambda: nested("b", "a"))
        assert ledger.verify().holds


def test_turns_are_taken_one_by_one_and_leave_nothing_behind() -> None:
    turns, inside, most = Turns(), [0], [0]

    def work() -> None:
        for _ in range(5):
            with turns.of("k"):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.001)
                inside[0] -= 1

    at_once(*[work] * 8)
    assert most == [1]
    assert turns._turns == {}


FORKED = """
import os, sys, threading
sys.path.insert(0, sys.argv[2])
from duotone import ApproxDP, open_ledger
from support.ledgers import ABOUT, HALF, ask, register
with open_ledger(sys.argv[1]) as ledger:
    register(ledger, ApproxDP(100))
    begun, goes_on = threading.Event(), threading.Event()
    def slow():
        begun.set()
        goes_on.wait()
        return True
    first = threading.Thread(target=lambda: ledger.ask("census", "q", HALF, slow, **ABOUT))
    first.start()
    begun.wait()
    if (child := os.fork()) == 0:  # the thread that has the turn is not in the child
        with open_ledger(sys.argv[1]) as own:
            ask(own)
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    goes_on.set()
    first.join()
    print(ledger.statement("census").state.charges, ledger.verify().holds)
"""


@pytest.mark.slow
def test_a_child_does_not_wait_for_threads_of_its_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED, str(tmp_path / "l"), str(TESTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["7", "2", "True"], done.stderr


@pytest.mark.slow
def test_two_processes_may_both_pay(tmp_path: Path) -> None:
    """As docs/budgets.md says: turns are of one process. Both charges are counted."""
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger, ApproxDP(100))

        def flip() -> bool:
            script = f"import sys; sys.path.insert(0, {str(TESTS)!r})\nfrom duotone import open_ledger\n"
            script += "from support.ledgers import ask\n"
            script += f"with open_ledger({str(tmp_path / 'l')!r}) as other:\n    print(ask(other).free)"
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
            assert done.stdout == "False\n", done.stderr
            return True

        assert not _flipped(ledger, flip).free
        assert ledger.statement("census").state.charges == 2
        assert ledger.verify().holds


def _flipped(ledger: Ledger, flip: Callable[[], bool]) -> Receipt:
    return ledger.ask("census", "q", HALF, flip, **ABOUT)
