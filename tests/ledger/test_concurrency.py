"""Many at once: processes and threads get exactly what the budget admits, in a file and in Postgres."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import duotone.ledger.stores.store
from duotone import ApproxDP, Charge, OverBudget, balanced, open_ledger
from duotone.ledger.ledger import Ledger
from duotone.ledger.stores import Row
from duotone.ledger.stores.store import Scan
from support import TESTS
from support.attacks import STOCK, charges, stranger
from support.ledgers import ask, askers, register
from support.running import EXHAUSTIVE


@pytest.mark.slow
def test_64_askers_get_exactly_k_answers(place: str) -> None:
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP("0.5"))  # ten answers at 0.05
    assert askers(place, 64) == 10
    with open_ledger(place) as ledger:
        assert ledger.verify().holds
        assert ledger.statement("census").state.charges == 10


def test_threads_share_a_ledger(place: str) -> None:
    with open_ledger(place) as ledger:
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
        assert ledger.statement("census").state.answers == 8
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


def test_creation_races(place: str) -> None:
    ledgers = [open_ledger(place, wait=60) for _ in range(8)]
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


def test_charges_do_not_wait_for_those_who_read(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long ledger is verified, shown, exported and copied while another program charges it in the middle of that."""
    monkeypatch.setattr(duotone.ledger.stores.store, "CHUNK", 8)
    with open_ledger(place) as ledger, open_ledger(place, wait=0.2) as other:
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


def test_several_ledgers_in_one_process(path: Path, tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger, ApproxDP("0.5"))
    refused: list[int] = []

    def one(i: int) -> None:
        try:
            with open_ledger(tmp_path / "l") as own:
                ask(own, f"q{i}", Charge(balanced(ApproxDP("0.05"))))
        except OverBudget:
            refused.append(i)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 14
    assert charges(tmp_path / "l") == 10


CREATORS = """
import os, sys
sys.path.insert(0, sys.argv[3])
from duotone import open_ledger
from support.ledgers import register
gate, opened = os.pipe()
children = []
for i in range(int(sys.argv[2])):
    if (child := os.fork()) == 0:
        try:
            os.close(opened)
            os.read(gate, 1)
            with open_ledger(sys.argv[1], wait=300) as ledger:
                register(ledger, dataset=f"d{i}")
            os._exit(0)
        except BaseException as error:
            print(error, flush=True)
        finally:
            os._exit(1)
    children.append(child)
os.close(opened)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


@pytest.mark.slow
def test_many_creations_at_once(tmp_path: Path) -> None:
    place, many = tmp_path / "l", 240 if EXHAUSTIVE else 80
    done = subprocess.run([sys.executable, "-c", CREATORS, place, str(many), TESTS], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    with open_ledger(place) as ledger:
        assert len(ledger.datasets()) == many
        assert ledger.verify().holds


@pytest.mark.slow
def test_a_creation_waits_for_who_writes_to_the_empty_file(tmp_path: Path) -> None:
    """What once made some of 240 creations busy at once, whatever they were ready to wait: another was ahead by a moment."""
    place = tmp_path / "l"
    with stranger(STOCK, place, "BEGIN IMMEDIATE", 5) as writer:
        done = threading.Timer(1, writer.kill)
        done.start()
        with open_ledger(place, wait=60) as ledger:
            register(ledger)
            assert ledger.datasets() == ["census"]
        done.join()
