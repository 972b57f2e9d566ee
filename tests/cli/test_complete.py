"""What a shell offers after <TAB>, asked as a shell asks it."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from duotone import ApproxDP, open_ledger

ASKING = """
import sys
import duotone.cli.app as command
command.app(prog_name="duotone")
"""
CSV = 'patient,"a, b",days\n'


def offered(line: str, folder: Path, code: str = ASKING) -> list[str]:
    """The words that bash is offered for the last one of a line."""
    words = line.split(" ")
    asked = {"_DUOTONE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **asked}, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return list(filter(None, done.stdout.split("\n")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("here")
    (here / "t.csv").write_text(CSV + "secret,1,2\n", encoding="utf-8-sig")
    (here / "t.csv.gz").write_bytes(gzip.compress(b"x;y\n1;2\n"))
    (here / "d.toml").write_text('source = "t.csv"\n')
    (here / "broken.parquet").write_text("no")
    parquet.write_table(pa.table({"n": [1], "m": [2]}), here / "t.parquet")
    with open_ledger(here / "b.ledger") as ledger:
        for name in ("stays", "staff"):
            ledger.register(name, ApproxDP(3), unit="who", neighbours="add-remove", version="1")
    return here


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("duotone ask t.csv q --per-unit ", ["avg", "sum", "min", "max"]),
        ("duotone ask t.csv q --neighbours r", ["replace"]),
        ("duotone ledger register l d --account r", ["renyi"]),
        ("duotone ask t.csv q --unit p", ["patient"]),
        ("duotone ask t.csv q --bounds ", ["patient=", "a, b=", "days="]),
        ("duotone ask t.csv q --types days=n", ["days=number"]),
        ("duotone ask d.toml q --unit ", ["patient", "a, b", "days"]),
        ("duotone groups t.csv --by days,p", ["days,patient"]),
        ("duotone groups t.csv.gz --by ", ["x", "y"]),
        ("duotone inspect t.parquet --by ", ["n", "m"]),
        ("duotone ask broken.parquet q --unit ", []),
        ("duotone ask nothing.csv q --unit ", []),
        ("duotone ask t.csv q --ledger b.ledger --dataset ", ["stays", "staff"]),
        ("duotone ask t.csv q --ledger none.ledger --dataset ", []),
        ("duotone ledger show b.ledger --dataset staf", ["staff"]),
    ],
)
def test_what_is_offered(line: str, offers: list[str], folder: Path) -> None:
    before = sorted(folder.iterdir())
    assert offered(line, folder) == offers
    assert sorted(folder.iterdir()) == before


def test_words_and_columns_need_no_engine(folder: Path) -> None:
    """So they are there at once."""
    code = ASKING.replace(
        "command.app(", "sys.modules |= dict.fromkeys(['duckdb', 'ibis', 'numpy', 'sqlalchemy'])\ncommand.app("
    )
    assert offered("duotone ask t.csv q --per-unit m", folder, code) == ["min", "max"]
    assert offered("duotone ask t.csv q --unit d", folder, code) == ["days"]
