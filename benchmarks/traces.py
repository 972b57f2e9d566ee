"""Which files of the package a real run enters, and how often it switches between them.

    python benchmarks/traces.py charge        # Ledger.ask on a ledger in a file that is open
    python benchmarks/traces.py ask           # duotone ask on examples/chile/chile.csv, with everything that is imported
    python benchmarks/traces.py design        # design of a small graph
    python benchmarks/traces.py               # all of them

A switch is a call from one file of the package into another, or a return from there. Names of files stand in the order in which
they are first entered. Each is run once before, on other data: what only an import runs is not counted.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import duotone
from duotone import ApproxDP, Charge, balanced, design, open_ledger
from duotone.graphs import families

SOURCE = f"{Path(duotone.__file__).parent}/"
CHILE = Path(__file__).parents[1] / "examples" / "chile" / "chile.csv"


def traced(work: Callable[[], object]) -> list[str]:
    """The files of the package in the order of a run, each as often as the run returns to it."""
    visits: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event not in ("call", "return"):
            return
        here: FrameType | None = frame if event == "call" else frame.f_back
        name = "" if here is None else here.f_code.co_filename
        if here is not None and name.startswith(SOURCE):
            file = name.removeprefix(SOURCE)
            if not visits or visits[-1] != file:
                visits.append(file)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return visits


def charge() -> list[str]:
    """One charge, with its answer, on a ledger in a file that has been used before."""
    about: dict[str, Any] = {"unit": "row", "neighbours": "add-remove"}
    cost = Charge(balanced(ApproxDP("0.1")))
    with tempfile.TemporaryDirectory() as folder, open_ledger(f"{folder}/l") as ledger:
        ledger.register("votes", ApproxDP(1, "1e-6"), version="1", **about)
        ledger.ask("votes", "a question", cost, lambda: True, **about)
        return traced(lambda: ledger.ask("votes", "another question", cost, lambda: True, **about))


def ask() -> list[str]:
    """The command, without a ledger."""
    from duotone.cli.app import app

    def work(question: str) -> None:
        options = "--types age=number --bounds age=18:70:1 --epsilon 1 --delta 1e-6 --no-ledger"
        line = ["ask", str(CHILE), question, *options.split()]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            app(line, standalone_mode=False)

    work("avg(age) > 40")
    return traced(lambda: work("avg(age) > 38"))


def designed() -> list[str]:
    """Three voters."""
    graph, privacy = families.votes(3).graph(), ApproxDP(exp_epsilon=2, delta="1/10")
    design(families.votes(2).graph(), privacy)
    return traced(lambda: design(graph, privacy))


RUNS = {"charge": charge, "ask": ask, "design": designed}


if __name__ == "__main__":
    for run in sys.argv[1:] or RUNS:
        visits = RUNS[run]()
        files = dict.fromkeys(visits)
        print(f"{run}: {len(files)} files, {len(visits) - 1} switches between them")
        print(*(f"    {file}" for file in files), sep="\n")
