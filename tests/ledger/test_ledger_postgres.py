"""The ledger on a real Postgres server."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from ledgers import ask, askers, register, tampered
from postgres_server import programs, server

from duotone import ApproxDP, OverBudget, open_ledger
from duotone.cli.app import main
from duotone.errors import LedgerBusy, LedgerError
from duotone.ledger.ledger import Ledger
from duotone.ledger.stores.postgres import PostgresStore
from duotone.ledger.stores.store import MIGRATIONS, SCHEMA, Entries

psycopg = pytest.importorskip("psycopg") if "CI" not in os.environ else __import__("psycopg")


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    if programs() is None:
        if os.environ.get("CI"):
            pytest.fail("Postgres is not installed, and CI must have it")
        pytest.skip("Postgres is not installed: its tests are left out")
    with server() as url:
        yield url


@pytest.fixture
def url(cluster: str, request: pytest.FixtureRequest) -> str:
    """A database of its own."""
    name = f"d{abs(hash(request.node.name))}"
    with psycopg.connect(cluster, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return cluster.replace("/postgres?", f"/{name}?")


def execute(url: str, sql: str, *values: Any) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql, values or None)
        return list(cursor.fetchall()) if cursor.description else []


def test_the_same_life_as_in_a_file(url: str) -> None:
    ledger = open_ledger(url)
    register(ledger)
    assert not ask(ledger).free
    assert ask(ledger).free
    assert not ask(ledger, again=True).free
    with pytest.raises(OverBudget):
        ask(ledger, again=True)
    assert ledger.verify().holds
    assert len(ledger.statement("census").charges) == 2
    assert ledger.datasets() == ["census"]
    ledger.close()
    assert ask(ledger).free
    ledger.close()


@pytest.mark.slow
def test_64_askers_get_exactly_k_answers(url: str) -> None:
    ledger = open_ledger(url)
    register(ledger, ApproxDP("0.5"))  # ten answers at 0.05
    ledger.close()
    assert askers(url, 64) == 10
    assert ledger.verify().holds
    ledger.close()


def test_threads_share_a_ledger(url: str) -> None:
    ledger = open_ledger(url)
    register(ledger, ApproxDP(8))
    threads = [threading.Thread(target=ask, args=(ledger, f"q{i}")) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.statement("census").state.answers == 16
    ledger.close()


def _in_child(ledger: Ledger) -> None:
    ask(ledger, "from the child")


def test_a_fork_opens_its_own_connection(url: str) -> None:
    ledger = open_ledger(url)
    register(ledger)
    child = get_context("fork").Process(target=_in_child, args=(ledger,))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert ask(ledger, "from the child").free
    ledger.close()


def test_creation_races(url: str) -> None:
    ledgers = [open_ledger(url) for _ in range(8)]
    threads = [
        threading.Thread(target=register, args=(ledger,), kwargs={"dataset": f"d{i}"}) for i, ledger in enumerate(ledgers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ledgers[0].datasets()) == [f"d{i}" for i in range(8)]
    assert ledgers[0].verify().holds
    for ledger in ledgers:
        ledger.close()


def test_a_busy_database_waits_then_says_so(url: str) -> None:
    ledger = open_ledger(url, wait=0.2)
    register(ledger)
    flips: list[int] = []
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE duotone_entries IN EXCLUSIVE MODE")
        with pytest.raises(LedgerBusy, match=r"kept busy by others for 0.2 seconds"):
            ask(ledger, flips=flips)
    assert flips == []
    assert not ask(ledger, flips=flips).free
    ledger.close()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["edit", "remove", "cut", "swap", "refile", "head"])
def test_tampering_is_found(url: str, how: str) -> None:
    ledger = open_ledger(url)
    register(ledger, ApproxDP(8))
    for i in range(4):
        ask(ledger, f"q{i}")
    for sql in tampered(how):
        execute(url, sql)
    assert not ledger.verify().holds
    ledger.close()


def test_a_newer_ledger_is_refused(url: str) -> None:
    ledger = open_ledger(url)
    register(ledger)
    ledger.close()
    execute(url, "UPDATE duotone_ledger SET value = '99' WHERE name = 'schema'")
    flips: list[int] = []
    with pytest.raises(LedgerError, match=r"written by a newer Duotone \(schema 99"):
        ask(ledger, flips=flips)
    assert flips == []


def test_an_older_ledger_is_brought_up_to_date(url: str) -> None:
    ledger = open_ledger(url)
    register(ledger)
    ask(ledger)
    before = ledger.entries()
    ledger.close()
    for index in ("dataset", "kind", "question"):
        execute(url, f"DROP INDEX duotone_by_{index}")
    execute(url, "DROP FUNCTION duotone_append")
    execute(url, "DROP FUNCTION duotone_lock")
    execute(url, "UPDATE duotone_ledger SET value = '1' WHERE name = 'schema'")
    assert ask(ledger).free
    assert ledger.entries() == before
    assert execute(url, "SELECT value FROM duotone_ledger WHERE name = 'schema'") == [(str(SCHEMA),)]
    assert len(MIGRATIONS) == SCHEMA
    ledger.close()


@pytest.mark.parametrize(
    "part",
    [
        "CREATE TRIGGER t BEFORE INSERT ON duotone_entries EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "CREATE TRIGGER t BEFORE UPDATE ON duotone_ledger FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "CREATE RULE r AS ON INSERT TO duotone_entries DO INSTEAD NOTHING",
        "ALTER TABLE duotone_entries ENABLE ROW LEVEL SECURITY",
        "CREATE TABLE more () INHERITS (duotone_entries)",
    ],
    ids=["trigger", "head", "rule", "security", "inheritance"],
)
def test_parts_that_duotone_did_not_make(url: str, part: str) -> None:
    with open_ledger(url) as ledger:
        register(ledger)
        ask(ledger)
        execute(url, part)
        flips: list[int] = []
        with pytest.raises(LedgerError, match="has parts that Duotone did not make"):
            ask(ledger, "r", flips=flips)
        assert flips == []
        assert ledger.statement("census").state.charges == 1


@pytest.mark.slow
def test_a_connection_that_breaks_releases_nothing(url: str) -> None:
    ledger = open_ledger(url)
    register(ledger)
    execute(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()",
    )
    flips: list[int] = []
    with pytest.raises(LedgerError, match="nothing was released"):
        ask(ledger, flips=flips)
    assert flips == []
    assert not ask(ledger).free  # and the next one connects anew
    ledger.close()


def test_a_server_without_fsync_is_refused(url: str, cluster: str) -> None:
    execute(cluster, "ALTER SYSTEM SET fsync = off")
    execute(cluster, "SELECT pg_reload_conf()")
    try:
        for _ in range(100):
            if execute(cluster, "SHOW fsync") == [("off",)]:
                break
        with pytest.raises(LedgerError, match="fsync off"):
            register(open_ledger(url))
    finally:
        execute(cluster, "ALTER SYSTEM RESET fsync")
        execute(cluster, "SELECT pg_reload_conf()")
        while execute(cluster, "SHOW fsync") != [("on",)]:
            pass


def test_commits_wait_for_the_disk(url: str) -> None:
    execute(url, f"ALTER DATABASE {url.split('/')[3].split('?')[0]} SET synchronous_commit = off")
    store = PostgresStore(url, 5)
    with store.writing(create=True) as entries:
        assert entries.execute("SHOW synchronous_commit", ()) == [("on",)]
    store.close()


def test_a_missing_ledger_or_database(url: str) -> None:
    with pytest.raises(LedgerError, match="register a dataset first"):
        ask(open_ledger(url))
    with pytest.raises(LedgerError, match="cannot be reached or opened"):
        ask(open_ledger(url.replace("/d", "/nothing")))


def test_a_read_only_database(url: str) -> None:
    ledger = open_ledger(url)
    register(ledger)
    ledger.close()
    execute(url, f"ALTER DATABASE {url.split('/')[3].split('?')[0]} SET default_transaction_read_only = on")
    with pytest.raises(LedgerError, match="read-only"):
        ask(ledger)


def test_no_secret_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for secret in ("postgresql://me:hunter2@localhost:1/x", "postgres://localhost:1/x?password=hunter2&user=me"):
        with pytest.raises(SystemExit) as ended:
            main(["ledger", "show", secret])
        said = capsys.readouterr()
        assert ended.value.code == 2
        assert "postgresql://localhost:1/x cannot be reached or opened" in said.err
        assert "hunter2" not in said.out + said.err
    assert "hunter2" not in repr(open_ledger("postgresql://me:hunter2@h/x"))
    assert PostgresStore("postgresql://me:hunter2@h:port/x", 1).place == "postgresql://…"


def test_the_extra_is_named(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from duotone import open_ledger\nfrom duotone.errors import MissingExtra\n"
        "try: open_ledger('postgresql://h/x').verify()\n"
        "except MissingExtra as e: print(e)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == 'a ledger in Postgres needs an optional library: pip install "duotone[postgres]"'


def test_failed_creation_leaves_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Entries, version: int) -> None:
        self.execute("CREATE TABLE duotone_ledger (name TEXT)", ())
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Entries, "migrate", broken)
        with pytest.raises(KeyboardInterrupt):
            register(open_ledger(url))
    ledger = open_ledger(url)
    register(ledger)
    assert ledger.verify().holds
    ledger.close()
