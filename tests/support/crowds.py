"""Crowds: many clients that ask a service at once, and what each of them received. For benchmarks and tests.

The client is a few lines of HTTP/1.1 over a socket: on a small machine, a real one would take more time than the
service.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

import duotone
from duotone import open_ledger
from duotone.desk.office import Office
from duotone.desk.office_file import read_office
from duotone.http.tokens import Tokens
from support.running import PATIENCE, wait_until

OFFICE = """
ledger = "{ledger}"
log = "office.log"
[server]
port = {port}
[clock]
tick = {tick}
[limits]
at_once = {share}
waiting = 10000
looking = 3600
workers = {workers}
[people.olga]
role = "owner"
[people.ana]
role = "analyst"
datasets = [{names}]
"""
DATASET = """
[datasets.{name}]
source = "{name}.parquet"
version = "1"
rows = {rows}
seconds = {seconds}
budget = {{ epsilon = "{epsilon}" }}
"""
LOST = 0
"""The status of a missing reply."""


@dataclass(frozen=True)
class Reply:
    """A reply: its status, its document, the time of the request, and the seconds until it arrived."""

    number: int
    status: int
    document: Any
    asked: float
    seconds: float


@dataclass
class Client:
    """A client with one kept connection; if that breaks, it continues at the next of its addresses."""

    places: list[tuple[str, int]]
    head: bytes
    reader: asyncio.StreamReader | None = None
    writer: asyncio.StreamWriter | None = None

    async def post(self, path: str, body: Any) -> tuple[int, bytes]:
        """The status and body of a reply; a lost one has neither."""
        try:
            if self.reader is None or self.writer is None:
                self.reader, self.writer = await asyncio.open_connection(*self.places[0])
            content = json.dumps(body).encode()
            length = f"content-length: {len(content)}\r\n\r\n".encode()
            self.writer.write(b"POST " + path.encode() + b" HTTP/1.1\r\n" + self.head + length + content)
            head = await self.reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            return int(head.split(b" ", 2)[1]), await self.reader.readexactly(size)
        except (OSError, asyncio.IncompleteReadError, ValueError):
            self.close()
            self.places = [*self.places[1:], self.places[0]]
            return LOST, b"null"

    def close(self) -> None:
        """Close the connection."""
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


@contextlib.asynccontextmanager
async def clients(urls: Sequence[str], token: str, many: int) -> AsyncIterator[list[Client]]:
    """This many clients of a service, which start at its addresses in turn."""
    places = [(urlsplit(url).hostname or "", urlsplit(url).port or 80) for url in urls]
    head = f"host: {urlsplit(urls[0]).netloc}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n".encode()
    every = [Client(places[i % len(places) :] + places[: i % len(places)], head) for i in range(many)]
    try:
        yield every
    finally:
        for client in every:
            client.close()


def crowd(
    urls: str | Sequence[str],
    token: str,
    paths: str | Iterable[str],
    bodies: Iterable[Any],
    many: int,
    done: Callable[[int], None] = lambda _: None,
    pause: Callable[[], float] = lambda: 0.0,
) -> list[Reply]:
    """Clients take turns with the bodies; each waits for its reply, and then for a pause, before its next one."""
    asked_at = itertools.repeat(paths) if isinstance(paths, str) else paths
    left, replies = iter(enumerate(zip(asked_at, bodies, strict=False))), list[Reply]()

    async def one(client: Client) -> None:
        for number, (path, body) in left:
            asked = time.perf_counter()
            status, content = await client.post(path, body)
            replies.append(Reply(number, status, json.loads(content), asked, time.perf_counter() - asked))
            done(len(replies))
            await asyncio.sleep(pause())

    async def main() -> None:
        async with clients([urls] if isinstance(urls, str) else urls, token, many) as every:
            await asyncio.gather(*(one(client) for client in every))

    asyncio.run(main())
    return replies


def questions(many: int, epsilon: str, first: int = 0) -> list[dict[str, str]]:
    """Different questions at one price."""
    return [{"question": f"count(*) > {number}", "epsilon": epsilon} for number in range(first, first + many)]


def free_port() -> int:
    """A port that is not in use."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def make_office(folder: Path, tables: dict[str, pa.Table], *, ledger: str = "budget.ledger", epsilon: str = "1",
                tick: float = 0.02, seconds: float = 0.02, workers: int = 8) -> Office:  # fmt: skip
    """An office with one analyst, who may ask about all of these tables."""
    names = ", ".join(f'"{name}"' for name in tables)
    text = OFFICE.format(ledger=ledger, port=free_port(), tick=tick, workers=workers, share=workers - 1, names=names)
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
        rows = max(table.num_rows, 1000)
        text += DATASET.format(name=name, rows=rows, seconds=seconds, epsilon=epsilon)
    (folder / "office.toml").write_text(text)
    return read_office(folder / "office.toml")


@dataclass
class Running:
    """A service in processes of its own."""

    url: str
    token: str
    process: subprocess.Popen[bytes] = field(repr=False)

    def workers(self) -> list[int]:
        """The processes that answer."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        named = [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
        return named or [self.process.pid]

    def kill_one(self) -> int:
        """End one of them, as a crash would."""
        lost = self.workers()[-1]
        os.kill(lost, signal.SIGKILL)
        return lost


@contextlib.contextmanager
def started(office: Office, processes: int = 1, port: int | None = None) -> Iterator[Running]:
    """Run the command `duotone serve` during a block."""
    token, port = Tokens(office.tokens_place).add("ana"), office.server.port if port is None else port
    environment = {**os.environ, "PYTHONPATH": str(Path(duotone.__file__).parents[1])}
    options = ["--processes", str(processes), "--port", str(port)]
    log, ready = office.file.parent / f"{port}.log", _ready(office)
    with log.open("wb") as said:
        line = [sys.executable, "-m", "duotone", "serve", str(office.file), *options]
        process = subprocess.Popen(line, stdout=said, stderr=said, env=environment)
    try:
        wait_for(port, process, log)
        _wait_until(lambda: _ready(office) >= ready + processes, process, log)
        yield Running(f"http://127.0.0.1:{port}", token, process)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _ready(office: Office) -> int:
    """How many processes have reported that they are ready."""
    log = office.file.parent / "office.log"
    return log.read_text().count("startup complete") if log.exists() else 0


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path | None = None) -> None:
    """Wait until a port is in use."""

    def listened() -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), PATIENCE):
            return True
        return False

    _wait_until(listened, process, log)


def _wait_until(holds: Callable[[], bool], process: subprocess.Popen[bytes], log: Path | None) -> None:
    wait_until(lambda: holds() or process.poll() is not None, "the service")
    assert process.poll() is None, f"the service did not start: {'' if log is None else log.read_text()}"


@dataclass(frozen=True)
class Outcome:
    """What a crowd received, compared with the ledger."""

    answered: int
    refused: int
    lost: int
    charges: int
    wasted: int


def held(place: str, dataset: str, replies: Iterable[Reply]) -> Outcome:
    """Compare every reply with the ledger: each answer has a charge of its own, and is the recorded one."""
    replies = list(replies)
    odd = [reply for reply in replies if reply.status not in (200, 409, LOST)]
    assert not odd, odd[:3]
    answered = [reply for reply in replies if reply.status == 200]
    with open_ledger(place) as ledger:
        assert ledger.verify().holds
        account = ledger.statement(dataset)
    charges = {charge.charge: charge for charge in account.charges}
    assert len({reply.document["charge"] for reply in answered}) == len(answered)
    for reply in answered:
        charge = charges[reply.document["charge"]]
        assert charge.answered
        assert reply.document["answer"] == ("yes" if charge.answer["answers"][0][1] else "no")
    wasted = sum(not charge.answered for charge in account.charges)
    refused = sum(reply.status == 409 for reply in replies)
    assert account.registered.fits(account.state)
    return Outcome(len(answered), refused, len(replies) - len(answered) - refused, len(charges), wasted)
