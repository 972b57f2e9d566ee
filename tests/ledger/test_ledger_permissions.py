"""Files and folders that may only be read: reading works and changes nothing, charging ends in a sentence."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from duotone import open_ledger
from support import TESTS
from support.attacks import ENDINGS, contents, interrupt
from support.ledgers import ask, register

READ_ONLY = """
import os, sys
from duotone import OverBudget, open_ledger
from duotone.errors import LedgerError
from duotone.ledger import accounts
sys.path.insert(0, sys.argv[2])
from duotone.line.table import line_table
from support.ledgers import HALF, ask
line_table(HALF.mechanism)  # read while it may be
import duotone.ledger.stores.sqlite
if os.geteuid() == 0:  # root may write anything
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
flips = []
try:
    ask(open_ledger(sys.argv[1], wait=1), flips=flips)
except LedgerError as error:
    print(len(flips), error)
"""


@pytest.mark.slow
def test_a_read_only_file_or_folder() -> None:
    folder = Path(tempfile.mkdtemp(prefix="duotone-ro-"))  # one that others may look into
    try:
        path = folder / "l"
        with open_ledger(path) as ledger:
            register(ledger)
        path.chmod(0o444)
        folder.chmod(0o555)
        done = subprocess.run([sys.executable, "-c", READ_ONLY, path, TESTS], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"0 the ledger {path} cannot be"), done.stdout
        assert done.stdout.endswith("nothing was released\n")
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


READERS = """
import os, sys
from duotone.cli.app import main
def each(place, picture):
    for words in (["show", place], ["show", place, "--json"], ["verify", place], ["export", place], ["plot", place, picture]):
        try:
            main(["ledger", *words])
        except SystemExit as ended:
            assert not ended.code, words
each(sys.argv[1], sys.argv[3])  # everything is imported before the rights are given up
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
print("READ-ONLY", flush=True)
each(sys.argv[2], sys.argv[4])
try:
    main(["ledger", "register", sys.argv[2], "other", "--epsilon", "1", "--version", "1"])
except SystemExit as ended:
    assert ended.code == 2
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["journal", "interrupted"])
def test_reading_works_on_a_read_only_copy(path: Path, kind: str) -> None:
    folder, pictures = Path(tempfile.mkdtemp(prefix="duotone-ro-")), Path(tempfile.mkdtemp(prefix="duotone-pictures-"))
    try:
        with open_ledger(path) as ledger:
            ask(ledger)
        if kind == "interrupted":
            interrupt(path)
        for name in (path, *(path.with_name(path.name + ending) for ending in ENDINGS)):
            if name.exists() and not name.name.endswith("-shm"):
                shutil.copy(name, folder / name.name)
                (folder / name.name).chmod(0o444)
        folder.chmod(0o555)
        pictures.chmod(0o777)
        before = contents(folder)
        places = (path, folder / path.name, pictures / "a.svg", pictures / "b.svg")
        done = subprocess.run([sys.executable, "-c", READERS, *places], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        out = done.stdout.split("READ-ONLY\n")[1]
        assert "verified: " in out
        assert '"kind": "charge"' in out
        assert "spent: epsilon 0.5" in out
        assert "cannot be" in done.stderr
        assert contents(folder) == before
        assert (pictures / "b.svg").stat().st_size > 5000
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)
        shutil.rmtree(pictures)
