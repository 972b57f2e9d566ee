"""What every test of a ledger does."""

from __future__ import annotations

import importlib
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from hashlib import sha256
from typing import Any

from duotone import ApproxDP, Charge, balanced
from duotone.ledger.ledger import Ledger
from duotone.ledger.stores import Row
from duotone.model.cost import Receipt

HALF = Charge(balanced(ApproxDP("0.5")))
ABOUT: dict[str, Any] = {"unit": "person", "neighbours": "replace"}


def register(ledger: Ledger, budget: ApproxDP | None = None, *, dataset: str = "census", **options: Any) -> None:
    ledger.register(dataset, budget or ApproxDP(1), version="1", **{**ABOUT, **options})


def ask(
    ledger: Ledger,
    question: str = "q",
    charge: Charge = HALF,
    *,
    flips: list[int] | None = None,
    dataset: str = "census",
    **options: Any,
) -> Receipt:
    def flip() -> bool:
        if flips is not None:
            flips.append(1)
        return True

    return ledger.ask(dataset, question, charge, flip, **{**ABOUT, **options})


def ending(rows: Sequence[Row]) -> Callable[[], tuple[int, str]]:
    """The head of a ledger with these entries."""
    return lambda: (rows[-1].seq, rows[-1].hash)


def execute(place: object, sql: str, *values: Any) -> list[Any]:
    """A statement to the database of a ledger, past the ledger."""
    if "//" not in str(place):
        with closing(sqlite3.connect(str(place), isolation_level=None)) as file:
            return file.execute(sql, values).fetchall()
    with importlib.import_module("psycopg").connect(place, autocommit=True) as connection:
        cursor = connection.execute(sql, values or None)
        return list(cursor.fetchall()) if cursor.description else []


ASKERS = """
import os, sys
from duotone import ApproxDP, OverBudget, Charge, balanced, open_ledger
place, count, by = sys.argv[1], int(sys.argv[2]), sys.argv[3] or None
if "//" in place:
    import psycopg
sale = Charge(balanced(ApproxDP("0.05")))
gate, opened = os.pipe()
children = []
for i in range(count):
    if (child := os.fork()) == 0:
        os.close(opened)
        os.read(gate, 1)  # all start at once, when the last holder closes the other end
        try:
            with open_ledger(place, wait=120) as ledger:
                ledger.ask("census", f"q{i}", sale, lambda: True, unit="person", neighbours="replace", by=by)
            os._exit(10)
        except OverBudget:
            os._exit(20)
        finally:
            os._exit(30)
    children.append(child)
os.close(opened)
print(*(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


def askers(place: str, count: int, by: str = "") -> int:
    """How many of so many processes, let loose at once, are answered; the others must have been refused."""
    command = [sys.executable, "-c", ASKERS, place, str(count), by]
    codes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert len(codes) == count
    assert set(codes) == {"10", "20"}
    return codes.count("10")


def tampered(how: str) -> list[str]:
    """Statements that change a ledger of one registration and four answered charges (entries 1 to 9)."""
    return {
        "edit": ["UPDATE duotone_entries SET body = replace(body, '1/2', '1/4') WHERE seq = 4"],
        "remove": ["DELETE FROM duotone_entries WHERE seq = 4"],
        "cut": ["DELETE FROM duotone_entries WHERE seq > 7"],
        "swap": [
            "UPDATE duotone_entries SET seq = 100 WHERE seq = 4",
            "UPDATE duotone_entries SET seq = 4 WHERE seq = 6",
            "UPDATE duotone_entries SET seq = 6 WHERE seq = 100",
        ],
        "refile": ["UPDATE duotone_entries SET question = 'another' WHERE seq = 5"],
        "head": ["UPDATE duotone_ledger SET value = '9 0' WHERE name = 'head'"],
    }[how]


def chained_anew(connection: sqlite3.Connection) -> None:
    """Give every entry the hash that it should have, as somebody would who can write the whole ledger."""
    previous, seq = "", 0
    for seq, body in connection.execute("SELECT seq, body FROM duotone_entries ORDER BY seq").fetchall():
        previous = sha256(f"{previous}\n{seq}\n{body}".encode(errors="replace")).hexdigest()
        connection.execute("UPDATE duotone_entries SET hash = ? WHERE seq = ?", (previous, seq))
    connection.execute("UPDATE duotone_ledger SET value = ? WHERE name = 'head'", (f"{seq} {previous}",))
