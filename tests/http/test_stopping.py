"""A service that stops, and people who go away: by HTTP, in a process of its own, with a declared time of almost an hour."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from duotone.desk.office import Office
from duotone.http.tokens import Tokens
from duotone.ledger.ledger import open_ledger
from support.offices import PEOPLE, VOTES, make_office, plain_client
from support.raw_http import request
from support.running import PATIENCE, wait_until

STOP, SECONDS = 2, 3000
HEAD = f'ledger = "budget.ledger"\n[clock]\ntick = 0.05\n[limits]\nstop = {STOP}\nworkers = 2\nlongest = 4000\n'
ONE = PEOPLE.replace('"votes", "stays", "calls"', '"votes"')
LONG = {"question": "count(*) filter (where vote = 'Y') > 5", "epsilon": "0.1"}


@contextmanager
def running(office: Office) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "duotone", "serve", str(office.file), "--port", str(port)]
    with (office.file.parent / "output").open("wb") as output, subprocess.Popen(words, stdout=output, stderr=output) as process:
        try:
            wait_until(lambda: process.poll() is not None or _listens(port), "the service")
            assert process.poll() is None, (office.file.parent / "output").read_text()
            yield f"http://127.0.0.1:{port}", process
        finally:
            process.kill()
            process.wait(PATIENCE)


def _listens(port: int) -> bool:
    with socket.socket() as knock:
        return knock.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return make_office(tmp_path, VOTES.replace("seconds = 0.05", f"seconds = {SECONDS}"), head=HEAD, people=ONE)


def unanswered(office: Office) -> int:
    with open_ledger(office.ledger_place) as ledger:
        return ledger.stands("votes").state.unanswered


def asked(url: str, headers: dict[str, str], replies: list[httpx2.Response]) -> threading.Thread:
    def ask() -> None:
        with plain_client(url) as client:
            replies.append(client.post("/api/datasets/votes/ask", json=LONG, headers=headers))

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_that_is_told_to_stop_ends_in_time(
    office: Office, number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits for an answer that is due in almost an hour is told at once; the charge is wasted, as a crash wastes it. No
    temporary folder is left."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    headers, replies = {"Authorization": f"Bearer {Tokens(office.tokens_place).add('ana')}"}, list[httpx2.Response]()
    with running(office) as (url, process):
        thread = asked(url, headers, replies)
        wait_until(lambda: unanswered(office) == 1, "the charge")
        assert list(temporary.glob("duotone-*/*"))
        process.send_signal(number)
        process.wait(PATIENCE)  # which is long, but not the hour in which the answer is due
        thread.join(PATIENCE)
    (reply,) = replies
    assert reply.status_code == 503
    assert "the service stopped before the answer was due" in reply.json()["error"]
    with open_ledger(office.ledger_place) as ledger:
        assert ledger.verify().holds
    assert unanswered(office) == 1
    assert not list(temporary.glob("duotone-*"))


def test_until_it_has_drained_it_refuses_in_a_sentence(office: Office) -> None:
    """A question that is due within the time to stop is answered; meanwhile whoever comes is told that the service stops, and
    so is whoever keeps it running."""
    short = office.file.read_text().replace(f"seconds = {SECONDS}", "seconds = 8").replace(f"stop = {STOP}", "stop = 30")
    office.file.write_text(short)
    headers, replies = {"Authorization": f"Bearer {Tokens(office.tokens_place).add('ana')}"}, list[httpx2.Response]()
    with running(office) as (url, process), plain_client(url) as client:
        thread = asked(url, headers, replies)
        wait_until(lambda: unanswered(office) == 1, "the charge")
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: client.get("/readyz").status_code == 503, "that it stops")
        assert client.get("/readyz").json()["status"] == client.get("/healthz").json()["status"] == "stopping"
        refused = client.post("/api/datasets/votes/ask", json=LONG, headers=headers)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")
        assert "the service is stopping" in refused.json()["error"]
        process.wait(PATIENCE)
        thread.join(PATIENCE)
    assert [reply.status_code for reply in replies] == [200]
    assert unanswered(office) == 0


def test_whoever_closes_the_connection_frees_the_place(office: Office) -> None:
    """Ten people who ask for an hour's time and hang up hold nobody up; what was charged for them is wasted."""
    headers = {"Authorization": f"Bearer {Tokens(office.tokens_place).add('ana')}", "Content-Type": "application/json"}
    others = {"Authorization": f"Bearer {Tokens(office.tokens_place).add('ben')}"}
    with running(office) as (url, process):
        port = int(url.rpartition(":")[2])
        body = json.dumps(LONG).encode()
        sent = request("POST", "/api/datasets/votes/ask", {**headers, "Content-Length": str(len(body))}, body)
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(sent)
            wait_until(lambda: unanswered(office) == 1, "the charge")
        replies = list[httpx2.Response]()
        thread = asked(url, others, replies)
        wait_until(lambda: unanswered(office) == 2, "a place for somebody else")
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)
        thread.join(PATIENCE)
        log: list[dict[str, Any]] = [
            json.loads(line) for line in (office.file.parent / "output").read_text().splitlines() if line.startswith("{")
        ]
    assert [line["status"] for line in log if line["what"] == "request" and "/ask" in line["route"]] == [499, 503]
