"""How an office is served: encrypted or on this machine alone, behind a proxy that it names, and keeping its secrets."""

from __future__ import annotations

import logging
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from duotone.desk.accounts import check_office
from duotone.desk.log import log_to
from duotone.desk.office import Office
from duotone.desk.records import Records
from duotone.errors import DuotoneError
from duotone.http import serve as serving_module
from duotone.http.serve import serve
from duotone.http.tokens import Tokens
from support.ledgers import execute
from support.offices import PEOPLE, VOTES, lines_of, make_office, plain_client, remember_wrong_tokens, serving
from support.raw_http import certificate, proxied, send
from support.running import PATIENCE, wait_until

ONE = PEOPLE.replace('"votes", "stays", "calls"', '"votes"')
QUESTION = {"question": "count(*) filter (where vote = 'Y') > 5", "epsilon": "0.1"}


# --- where it listens ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "10.0.0.1", "office.example", "127.0.0.1.example", "0", "*"])
def test_it_does_not_listen_beyond_this_machine_unencrypted(tmp_path: Path, host: str) -> None:
    office = _office(tmp_path, f'host = "{host}"')
    with pytest.raises(DuotoneError, match="unencrypted"):
        serve(office)
    assert not (tmp_path / "l").exists()  # nothing was opened


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_on_this_machine_it_listens(tmp_path: Path, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _listens(_office(tmp_path, f'host = "{host}"'), monkeypatch)["host"] == host


def test_elsewhere_it_listens_with_a_certificate_or_where_a_proxy_encrypts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everywhere = 'host = "0.0.0.0"'
    assert _listens(_office(tmp_path, everywhere), monkeypatch, unencrypted=True)["ssl_certfile"] is None
    certificate(tmp_path)
    listens = _listens(_office(tmp_path, f'{everywhere}\ncertificate = "certificate.pem"\nkey = "key.pem"'), monkeypatch)
    assert listens["ssl_certfile"] == str(tmp_path / "certificate.pem")


def test_an_address_that_is_taken_is_said_in_a_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            DuotoneError, match=f"nothing can listen at http://127.0.0.1:{port}: stop the program that listens there"
        ):
            serve(_office(tmp_path, f"port = {port}"))


def _office(folder: Path, server: str) -> Office:
    return make_office(folder, VOTES, head=f'ledger = "l"\n[clock]\ntick = 0.02\n[server]\n{server}\n', people=ONE)


def _listens(office: Office, monkeypatch: pytest.MonkeyPatch, **options: Any) -> dict[str, Any]:
    """What uvicorn is given, which does not start."""
    given: dict[str, Any] = {}
    monkeypatch.setattr(uvicorn, "Config", lambda _, **settings: given.update(settings))
    monkeypatch.setattr(serving_module, "AnnouncedServer", lambda _: type("Server", (), {"run": lambda _: None})())
    monkeypatch.setattr(serving_module, "open_desk", lambda _: None)
    monkeypatch.setattr(serving_module, "service", lambda _, **__: None)
    monkeypatch.setattr(serving_module, "log_to", lambda _: None)
    serve(office, **options)
    return given


# --- behind a proxy -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_proxy_that_the_office_names_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is guessing has to wait by the address that the proxy says; others behind it need not. What browsers call the
    service is what the office file says, whatever Host and scheme come along."""
    remember_wrong_tokens(monkeypatch)
    with serving(_office(tmp_path, 'url = "https://office.example"\nproxies = ["127.0.0.1"]')) as office:
        inside = httpx2.URL(office.url).port or 0
        wrong = {"Authorization": "Bearer duo_0000000000000000_" + "A" * 43}
        known = {"Authorization": f"Bearer {office.token('ana')}"}
        guessers = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"}
        with proxied(inside, guessers) as port, plain_client(f"http://127.0.0.1:{port}") as client:
            for i in range(22):  # who make up where they come from, to which the proxy adds what it sees
                answer = client.get("/api/me", headers={**wrong, "X-Forwarded-For": f"10.9.9.{i}"})
            assert answer.status_code == 429
        others = {"X-Forwarded-For": "203.0.113.8", "X-Forwarded-Proto": "https", "Host": "office.example"}
        files = certificate(tmp_path)
        trusted = ssl.create_default_context(cafile=str(files[0]))
        with (
            proxied(inside, others, files) as port,
            httpx2.Client(base_url=f"https://localhost:{port}", verify=trusted, trust_env=False, timeout=PATIENCE) as client,
        ):
            assert client.get("/api/me", headers=wrong).status_code == 401
            reply = client.get("/api/me", headers=known)
            assert reply.json()["name"] == "ana"
            assert "max-age" in reply.headers["strict-transport-security"]
            for origin, status in (("https://office.example", 303), ("http://office.example", 403), ("https://a.example", 403)):
                assert client.post("/logout", headers={"Origin": origin}).status_code == status


def test_a_proxy_that_the_office_does_not_name_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even on this machine: whoever guesses could say of every guess that it comes from somewhere else."""
    remember_wrong_tokens(monkeypatch)
    with serving(_office(tmp_path, "")) as office, office.client(None) as guesser:
        for i in range(22):
            wrong = {"Authorization": "Bearer duo_0000000000000000_" + "A" * 43, "X-Forwarded-For": f"10.9.9.{i}"}
            answer = guesser.get("/api/me", headers=wrong)
        assert answer.status_code == 429


# --- encrypted, and without its secrets ---------------------------------------------------------------------------------


@contextmanager
def running(folder: Path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """`duotone serve`, in a process of its own whose output goes to a file."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "duotone", "serve", str(folder / "office.toml"), "--port", str(port)]
    with (
        (folder / "output").open("wb") as output,
        subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        try:
            wait_until(lambda: process.poll() is not None or _listens_at(port), "the service")
            assert process.poll() is None, (folder / "output").read_text()
            yield port, process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)


def _listens_at(port: int) -> bool:
    with socket.socket() as knock:
        return knock.connect_ex(("127.0.0.1", port)) == 0


CANARY, CLIENT_SECRET = "canary-password-7c1d", "canary-secret-93ab"
HIDDEN = """
ledger = "env:LEDGER_URL"
log = "office.log"
[clock]
tick = 0.02
[server]
certificate = "certificate.pem"
key = "key.pem"
[openid]
issuer = "https://127.0.0.1:9"
client_id = "office"
client_secret_file = "secret"
"""


def with_secrets(folder: Path, url: str) -> Office:
    """An office whose table and ledger are in a database that has a password; the one is in the file, the other is not."""
    certificate(folder)
    (folder / "secret").write_text(CLIENT_SECRET)
    votes = VOTES.replace('"votes.parquet"', f'"{url}"\ntable = "votes"').replace('groups = { town = ["Ely", "Wells"] }\n', "")
    return make_office(folder, votes.replace(', "town"', ""), head=HIDDEN, people=ONE)


def used(client: httpx2.Client, tokens: dict[str, str]) -> Iterator[httpx2.Response]:
    """What people do, well and badly."""
    for token in tokens.values():
        headers = {"Authorization": f"Bearer {token}"}
        for path in ("me", "datasets", "datasets/votes", "datasets/votes/ledger", "office", "none"):
            yield client.get(f"/api/{path}", headers=headers)
        for terms in (QUESTION, {"question": "count(*) >", "epsilon": 1}, {"question": "count(*) > 1", "epsilon": 100}):
            yield client.post("/api/datasets/votes/ask", json=terms, headers=headers)
        yield client.get("/api/me", headers={"Authorization": f"Bearer {token[:-1]}"})
    for path in ("/login/openid", "/metrics", "/api/openapi.json"):
        yield client.get(path)


@pytest.mark.slow
def test_no_secret_is_shown(tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords of databases, tokens and a client's secret: in no reply, no line of any output, and in no process's title;
    also when the database goes away in the middle. All of that goes over TLS."""
    url = database.replace("//duotone@", f"//duotone:{CANARY}@")
    execute(database, "CREATE TABLE votes (vote text, age int)")
    execute(database, "INSERT INTO votes SELECT 'Y', 40 FROM generate_series(1, 20)")
    monkeypatch.setenv("LEDGER_URL", url)
    office = with_secrets(tmp_path, url)
    tokens = {who: Tokens(office.tokens_place).add(who) for who in ("ana", "olga")}
    trusted = ssl.create_default_context(cafile=str(tmp_path / "certificate.pem"))
    with running(tmp_path) as (port, process):
        here = f"https://127.0.0.1:{port}"
        with plain_client(here, verify=trusted) as client:
            replies = list(used(client, tokens))
            titles = [file.read_text() for file in Path("/proc").glob("[0-9]*/cmdline") if _mine(file, process.pid)]
            _close_database(database)
            for path in ("ask", "preview"):
                headers = {"Authorization": f"Bearer {tokens['ana']}"}
                terms = {**QUESTION, "epsilon": "0.2"}
                replies.append(client.post(f"/api/datasets/votes/{path}", json=terms, headers=headers))
        assert send(port, b"GET /api/me HTTP/1.1\r\nHost: x\r\n\r\n").status is None  # not encrypted
        with pytest.raises(httpx2.ConnectError):  # a certificate that nobody else knows
            httpx2.get(here, trust_env=False, timeout=PATIENCE)
    assert {reply.status_code for reply in replies[:-2]} == {200, 401, 403, 404, 409, 422, 503}
    assert [reply.status_code for reply in replies[-2:]] == [503, 503]
    assert all("max-age" in reply.headers["strict-transport-security"] for reply in replies)
    log, output, kept = ((tmp_path / name).read_text() for name in ("office.log", "output", "office.tokens"))
    assert titles
    assert '"status": 503' in log
    _is_of_public_facts(log, next(reply.text for reply in replies if reply.url.path == "/metrics"))
    secrets = [CANARY, CLIENT_SECRET, *(token.split("_", 2)[2][:-1] for token in tokens.values())]
    for text in (log, output, kept, *titles, *(f"{reply.headers}{reply.text}" for reply in replies)):
        assert not [secret for secret in secrets if secret in text], text
    assert office.tokens_place.stat().st_mode & 0o077 == 0


def _is_of_public_facts(log: str, metrics: str) -> None:
    """Who called which route when, with what status: no question, no answer; and in what is counted no names."""
    requests = [line for line in lines_of(log) if line["what"] == "request"]
    assert {frozenset(line) for line in requests} == {
        frozenset({"at", "level", "what", "person", "route", "method", "status", "seconds"})
    }
    assert {line["person"] for line in requests} == {None, "ana", "olga"}
    assert {"/api/datasets/{dataset}/ask", "/login/openid", "/metrics"} <= {line["route"] for line in requests}
    assert not [word for word in ("count(", "filter", "vote =", '"yes"', '"no"', "epsilon") if word in log]
    labels = re.findall(r'(\w+)="([^"]*)"', metrics)
    assert {name for name, _ in labels} == {"method", "route", "status"}
    assert not {value for _, value in labels} & {"ana", "olga", "votes"}
    assert 'duotone_requests_total{method="POST",route="/api/datasets/{dataset}/ask",status="200"} 1.0' in metrics


def test_a_database_that_is_not_there_does_not_show_its_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"postgresql://duotone:{CANARY}@127.0.0.1:9/none"
    monkeypatch.setenv("LEDGER_URL", url)
    office = with_secrets(tmp_path, url)
    for start in (partial(check_office, office), partial(serve, office), partial(Records, url)):
        with pytest.raises(DuotoneError) as caught:
            start()
        assert CANARY not in str(caught.value)


def _close_database(database: str) -> None:
    name = database.partition("?")[0].rpartition("/")[2]
    beside = database.replace(f"/{name}?", "/postgres?")
    execute(beside, f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    execute(beside, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")


def _mine(file: Path, pid: int) -> bool:
    """Whether it is about a process, or one that it started."""
    try:
        status = (file.parent / "stat").read_text()
    except OSError:
        return False
    return file.parent.name == str(pid) or status.rpartition(")")[2].split()[1] == str(pid)


def test_a_log_that_is_no_longer_written_to_is_closed(tmp_path: Path) -> None:
    log_to(tmp_path / "first")
    (first,) = logging.getLogger("duotone.service").handlers
    log_to(tmp_path / "second")
    assert isinstance(first, logging.FileHandler)
    assert first.stream is None
    logging.getLogger("duotone.service").info("open")
    log_to(None)
    assert ((tmp_path / "first").read_text(), "open" in (tmp_path / "second").read_text()) == ("", True)
