"""What every test of a ledger does."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from duotone import ApproxDP, Ledger, Receipt, Sale, balanced

HALF = Sale(balanced(ApproxDP("0.5")))
ABOUT: dict[str, Any] = {"unit": "person", "neighbours": "replace"}


def register(ledger: Ledger, budget: ApproxDP | None = None, *, dataset: str = "census", **options: Any) -> None:
    ledger.register(dataset, budget or ApproxDP(1), version="1", **{**ABOUT, **options})


def ask(
    ledger: Ledger,
    question: str = "q",
    sale: Sale = HALF,
    *,
    flips: list[int] | None = None,
    dataset: str = "census",
    **options: Any,
) -> Receipt:
    def flip() -> bool:
        if flips is not None:
            flips.append(1)
        return True

    return ledger.ask(dataset, question, sale, flip, **{**ABOUT, **options})


ASKER = """
import sys
from duotone import ApproxDP, OverBudget, Sale, balanced, open_ledger
ledger, sale = open_ledger(sys.argv[1], wait=120), Sale(balanced(ApproxDP("0.05")))
sys.stdin.readline()
try:
    ledger.ask("census", sys.argv[2], sale, lambda: True, unit="person", neighbours="replace")
    print("answered")
except OverBudget:
    print("refused")
"""


def askers(place: str, count: int) -> int:
    """How many of so many processes, let loose at once, are answered."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", ASKER, place, f"q{i}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for i in range(count)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate()[0].strip() for process in started]
    assert all(process.returncode == 0 for process in started)
    assert set(said) == {"answered", "refused"}
    return said.count("answered")


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
