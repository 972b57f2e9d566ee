"""A service under load, on loopback: 64 clients with 10^4 questions about a dataset whose budget admits a tenth of them.

python benchmarks/service_load.py [QUESTIONS]      beside the ledger's own rate of charges and a bare Starlette app, in one run
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import measure
import pyarrow as pa

from duotone import ApproxDP, Charge, balanced, open_ledger
from support import postgres_server
from support.crowds import LOST, Reply, Running, crowd, free_port, held, make_office, questions, started, wait_for

CLIENTS, EACH = 64, "0.1"
ASK = "/api/datasets/votes/ask"
TABLE = {"votes": pa.table({"x": range(100_000)})}
ECHO = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

async def echo(request):
    return JSONResponse(await request.json())

app = Starlette(routes=[Route("/", echo, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[1]), log_level="critical", http="h11")
"""


def percentile(replies: list[Reply], part: float) -> float:
    """A percentile of the seconds that replies took."""
    times = sorted(reply.seconds for reply in replies)
    return times[min(len(times) - 1, int(part * len(times)))] if times else float("nan")


def shown(name: str, replies: list[Reply]) -> None:
    """The seconds of replies, and replies per second."""
    if not replies:
        return
    span = max(reply.asked + reply.seconds for reply in replies) - min(reply.asked for reply in replies)
    print(
        f"  {name}: {len(replies)}, {len(replies) / span:.0f} a second, p50 {percentile(replies, 0.5):.2f} s, "
        f"p99 {percentile(replies, 0.99):.2f} s",
        flush=True,
    )


def loaded(name: str, ledger: str, processes: int, many: int, kill: bool = False) -> None:
    """Ask, and compare every reply with the ledger; with `kill`, one process is ended at a twentieth of the
    questions."""
    admitted = many // 10
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        place = ledger or f"{folder}/budget.ledger"
        office = make_office(Path(folder), TABLE, ledger=place, epsilon=str(admitted / 10), tick=0.05, seconds=0.05)
        running = stack.enter_context(started(office, processes))
        before = set(running.workers())
        replies = crowd(running.url, running.token, ASK, questions(many, EACH), CLIENTS, _killing(running, kill, many // 20))
        outcome = held(place, "votes", replies)
        print(f"{name}: {outcome}", flush=True)
        assert outcome.charges == admitted, f"the budget admits {admitted}"
        assert outcome.answered + outcome.wasted <= admitted <= outcome.answered + outcome.lost
        if kill:
            print(f"  processes before {sorted(before)}, after {sorted(running.workers())}")
            last = max(reply.asked + reply.seconds for reply in replies if reply.status == LOST)
            shown("after the kill", [reply for reply in replies if reply.asked > last])
        for word, status in (("answered", 200), ("refused, over budget", 409)):
            shown(word, [reply for reply in replies if reply.status == status])
    print(f"  the ledger's own charges: {charges(place):.0f} a second, one after the other", flush=True)


def _killing(running: Running, kill: bool, at: int) -> Callable[[int], None]:
    def done(count: int) -> None:
        if kill and count == at:
            running.kill_one()

    return done


def charges(place: str, seconds: float = 3) -> float:
    """Charges a second of a ledger alone: each is two commits, of the charge and of its answer."""
    about: Any = {"unit": "row", "neighbours": "add-remove"}
    with tempfile.TemporaryDirectory() as folder, open_ledger(place if "://" in place else f"{folder}/bare.ledger") as ledger:
        ledger.register("bare", ApproxDP(10**6), version="1", **about)
        charge, count, start = Charge(balanced(ApproxDP(EACH))), 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < seconds:
            ledger.ask("bare", f"question {count}", charge, lambda: True, **about)
            count += 1
        return count / passed


def echoed(many: int) -> None:
    """A bare Starlette app under the same crowd."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", ECHO, str(port)])
    try:
        wait_for(port, process)
        replies = crowd(f"http://127.0.0.1:{port}", "none", "/", questions(many, EACH), CLIENTS)
        print("a bare Starlette app that sends back what it gets:")
        shown("echoes", replies)
    finally:
        process.terminate()
        process.wait()


def main(many: int) -> None:
    """SQLite in one process, Postgres in four, and the same with one killed."""
    print(measure.machine())
    echoed(many)
    loaded("SQLite, one process", "", 1, many)
    with postgres_server.running() as server:
        loaded("Postgres, four processes", server.url, 4, many)
    with postgres_server.running() as server:
        loaded("Postgres, four processes, one of them killed", server.url, 4, many // 5, kill=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
