"""A connection that fails says why, and nothing that the URL holds."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from duotone import DuotoneError, open_ledger, prepare
from duotone.errors import LedgerError
from support.ledgers import execute
from support.postgres_server import Server

SECRET = "pa55word"


@pytest.fixture(scope="module")
def guarded(server: Server) -> Iterator[Server]:
    """A server that asks one user for a password, and lets another not in."""
    ((rules,),) = execute(server.url, "SHOW hba_file")
    before = Path(rules).read_text()
    execute(server.url, "CREATE ROLE guarded LOGIN PASSWORD 'right'")
    Path(rules).write_text(f"local all guarded scram-sha-256\nlocal all barred reject\n{before}")
    execute(server.url, "SELECT pg_reload_conf()")
    for _ in range(100):
        if execute(server.url, "SELECT count(*) FROM pg_hba_file_rules WHERE 'barred' = ANY(user_name)") == [(1,)]:
            break
        time.sleep(0.05)
    yield server
    Path(rules).write_text(before)
    execute(server.url, "SELECT pg_reload_conf()")


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("duotone@", f"guarded:{SECRET}@"), "the server refuses the password, or none was given"),
        (("duotone@", "guarded@"), "the server refuses the password, or none was given"),
        (("duotone@", f"absent:{SECRET}@"), "the server has no such user"),
        (("duotone@", f"barred:{SECRET}@"), "the server does not let this user in from here"),
        (("/postgres?", f"/{SECRET}?"), "the server has no such database"),
        (("?host=", f"?application_name={SECRET}&host=/nowhere"), "no server answers there"),
        (("", ""), "no server answers there"),
        (("postgresql://duotone@/", f"postgresql://u:{SECRET}@no-such-host.invalid/"), "there is no host of this name"),
        (("?host=", f"?{SECRET}=1&host="), "its URL has parts that Postgres does not know"),
    ],
)
def test_a_failed_connection_says_why(
    guarded: Server, change: tuple[str, str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGPASSWORD", "PGPASSFILE"):
        monkeypatch.delenv(name, raising=False)
    url = guarded.url.replace(*change) if change[0] else f"postgresql://u:{SECRET}@127.0.0.1:{free_port()}/d"
    if "invalid" in url:
        url = url.partition("?")[0]
    with open_ledger(url, wait=2) as ledger, pytest.raises(LedgerError) as refused:
        ledger.entries()
    assert f"cannot be opened: {why}; nothing was released" in str(refused.value)
    assert f"/{SECRET}" in url or SECRET not in str(refused.value)  # a database is named where the ledger is
    with pytest.raises(DuotoneError) as unopened:
        prepare(url, "count(*) > 1", epsilon=1, table="t")
    assert str(unopened.value) == f"the Postgres database cannot be opened: {why}"
