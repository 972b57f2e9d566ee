"""Forks: a child never closes, uses or finalises what its parent opened, and nobody spends more than the budget."""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from multiprocessing import get_context
from pathlib import Path

import pytest

from duotone import ApproxDP, OverBudget, open_ledger
from duotone.cached import cached_property
from duotone.errors import LedgerError
from duotone.ledger.ledger import Ledger
from duotone.ledger.stores import open_store
from support import TESTS
from support.attacks import Asker
from support.ledgers import ask, register


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments), str(TESTS)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


CHILD_EXITS = """
import gc, os, sys
sys.path.insert(0, sys.argv[-1])
from duotone.ledger.stores import open_store
how, path = sys.argv[2], sys.argv[1]
store = open_store(path)
with store.writing() as entries:
    entries.execute("INSERT INTO duotone_ledger VALUES ('note', 'x')", ())
    def seen():
        state = os.stat(path + "-journal")
        return state.st_ino, state.st_size, open(path + "-journal", "rb").read()
    before = seen()
    child = os.fork()
    if child == 0:
        if how == "exit":
            sys.exit(0)  # the interpreter ends as it does at the end of a program
        if how == "close":
            store.close()
        if how == "collect":
            store = entries = None
            gc.collect()
        sys.exit(0)
    if how == "killed":
        os.waitpid(child, 0)
        os.kill(os.getpid(), 9)
    assert os.waitpid(child, 0)[1] != 9
    assert seen() == before
    entries.execute("DELETE FROM duotone_ledger WHERE name = 'note'", ())
store.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["exit", "close", "collect", "killed"])
def test_a_child_leaves_the_transaction_of_its_parent_alone(path: Path, how: str) -> None:
    done = run(CHILD_EXITS, path, how)
    assert done.returncode == (-signal.SIGKILL if how == "killed" else 0), done.stderr
    with Asker(path) as asker:
        assert [asker.ask() for _ in range(3)] == [True, True, False]


LEFT_BEHIND = """
import os, sys
from duotone import open_ledger
ledger = open_ledger(sys.argv[1])
ledger.datasets()
if os.fork() == 0:
    print("ready", flush=True)
    sys.stdin.read()
    sys.exit(0)  # what it inherited is finalised here
ledger.close()
os._exit(0)
"""


@pytest.mark.slow
def test_a_child_that_ends_after_an_asker_was_killed_hides_no_charge(path: Path) -> None:
    """The child outlives its parent and the asker, so that nobody else has the ledger open when it ends."""
    command = [sys.executable, "-c", LEFT_BEHIND, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        parent.wait(60)
        with Asker(path) as killed:
            assert killed.ask()
            assert killed.ask()
            killed.process.kill()
        parent.communicate(timeout=60)  # the child ends, and with it the last that holds the pipe
    with Asker(path) as asker:
        assert not asker.ask()
        assert asker.said.startswith("over budget")


IN_THE_BLOCK = """
import os, sys
from duotone.errors import LedgerError
from duotone.ledger.stores import open_store
store = open_store(sys.argv[1])
child = None
try:
    with store.writing() as entries:
        head = entries.head()
        child = os.fork()
        if child == 0:
            try:
                entries.head()
                os._exit(2)
            except LedgerError as error:
                assert "belongs to the process that was forked from" in str(error)
        assert child == 0 or os.waitpid(child, 0)[1] == 0
except LedgerError:
    assert child == 0
    with store.reading() as own:
        assert own.head() == head
    with store.writing() as own:
        assert own.head() == head
    os._exit(0)
"""


@pytest.mark.slow
def test_a_block_that_was_entered_before_a_fork_ends_for_the_child(path: Path) -> None:
    code = IN_THE_BLOCK.replace("assert child == 0 or os.waitpid(child, 0)[1] == 0", "")
    done = run(code + "assert os.waitpid(child, 0)[1] == 0\nstore.close()\n", path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_child_that_lives_on_does_not_keep_the_lock_of_a_dead_parent(path: Path) -> None:
    code = (
        "import os, sys, time\nfrom duotone.ledger.stores import open_store\nstore = open_store(sys.argv[1])\n"
        "with store.writing() as entries:\n"
        "    entries.execute(\"INSERT INTO duotone_ledger VALUES ('note', 'x')\", ())\n"
        "    if os.fork() == 0:\n"
        "        os.close(1); os.close(2)\n"
        "        time.sleep(60)\n"
        "        os._exit(0)\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        parent.kill()
        parent.wait()
        with Asker(path, wait=20) as asker:
            assert asker.ask()
    finally:
        parent.stdout and parent.stdout.close()
        os.killpg(parent.pid, signal.SIGKILL)


def _asks(ledger: Ledger, results: str) -> None:
    answered = 0
    for i in range(3):
        try:
            ask(ledger, f"{os.getpid()} {i}")
            answered += 1
        except OverBudget:
            pass
    with open(results, "a") as file:
        file.write(f"{answered}\n")


def _idles(ledger: Ledger, results: str) -> None:
    gc.collect()


@pytest.mark.slow
def test_children_by_multiprocessing(path: Path, tmp_path: Path) -> None:
    with open_ledger(path) as ledger:
        ledger.datasets()
        ask(ledger)
        works = [_asks, _idles, _asks, _idles]
        children = [get_context("fork").Process(target=work, args=(ledger, str(tmp_path / "results"))) for work in works]
        for child in children:
            child.start()
        for child in children:
            child.join(120)
            assert child.exitcode == 0
        assert ledger.verify().holds
        assert ledger.statement("census").state.charges == 2
    assert sorted((tmp_path / "results").read_text().split()) == ["0", "1"]


THREADS = """
import os, sys, threading, time
sys.path.insert(0, sys.argv[-1])
from duotone import ApproxDP, OverBudget, Charge, balanced, open_ledger
from support.ledgers import ask
sys.setswitchinterval(1e-6)
ledger = open_ledger(sys.argv[1], wait=120)
sale = Charge(balanced(ApproxDP("0.05")))
stop, answers, errors = threading.Event(), [], []
def work(name):
    count = 0
    while not stop.is_set():
        count += 1
        try:
            ask(ledger, f"{name} {count}", sale, flips=answers)
        except OverBudget:
            ledger.verify()
            time.sleep(0.005)  # or four threads keep the interpreter from the one that forks
        except BaseException as error:
            errors.append(error)
            raise
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for thread in threads:
    thread.start()
codes = []
for i in range(int(sys.argv[2])):
    child = os.fork()
    if child == 0:
        if i % 3 == 0:
            os.close(2)
            sys.exit(0)
        flips = []
        try:
            ask(ledger, f"child {i}", sale, flips=flips)
        except OverBudget:
            pass
        os._exit(100 + len(flips))
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
for thread in threads:
    thread.join()
assert not errors, errors
assert set(codes) <= {0, 100, 101}, codes
print(len(answers) + codes.count(101))
ledger.close()
"""


def test_a_fork_while_a_thread_computes_what_is_kept_does_not_stop_the_child() -> None:
    """A thread stands in the middle of a kept property while the process forks: the child computes its own."""
    inside, go_on = threading.Event(), threading.Event()

    class Kept:
        def __init__(self, slow: bool) -> None:
            self.slow = slow

        @cached_property
        def value(self) -> int:
            if self.slow:
                inside.set()
                go_on.wait(60)
            return 1

    thread = threading.Thread(target=lambda: Kept(True).value)
    thread.start()
    inside.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        os._exit(0 if Kept(False).value else 1)
    try:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        go_on.set()
        thread.join()


@pytest.mark.slow
def test_threads_and_forks_in_a_loop(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger, ApproxDP(2))  # 40 answers at 0.05
    done = run(THREADS, tmp_path / "l", 60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 40
    with sqlite3.connect(tmp_path / "l") as connection:
        assert connection.execute("SELECT count(*) FROM duotone_entries WHERE kind = 'charge'").fetchone() == (40,)
    connection.close()
    with open_ledger(tmp_path / "l") as ledger:
        assert ledger.verify().holds


def test_a_store_that_is_dropped_lets_go_of_its_file(path: Path) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this system does not list open files")
    before = descriptors()
    for _ in range(20):
        store = open_store(path)
        with store.reading():
            pass
        with store.writing():
            pass
        del store
    gc.collect()
    assert descriptors() <= before + 1


def test_a_process_that_is_forked_from_says_so(path: Path) -> None:
    """The message is the same through a ledger: its transaction belongs to the parent."""
    with open_ledger(path) as ledger, ledger._store.writing() as entries:
        child = os.fork()
        if child == 0:
            try:
                entries.last()
            except LedgerError:
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert entries.last() is not None
