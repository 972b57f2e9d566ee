"""What only a ledger on a real Postgres server has: its settings, its connections, its crashes, its URL."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from duotone import ApproxDP, DuotoneError, open_ledger
from duotone.cli.app import main
from duotone.errors import LedgerBusy, LedgerError
from duotone.ledger.stores.postgres import PostgresStore
from support import TESTS
from support.attacks import Asker
from support.ledgers import ask, execute, register
from support.postgres_server import Server, running


def test_a_busy_database_waits_then_says_so(url: str) -> None:
    import psycopg

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


def test_a_cancelled_statement_is_not_a_server_that_stops(url: str) -> None:
    import psycopg

    register(open_ledger(url))
    flips: list[int] = []
    with open_ledger(f"{url}%20-c%20statement_timeout%3D200") as ledger, psycopg.connect(url) as other:
        other.execute("LOCK TABLE duotone_entries IN EXCLUSIVE MODE")
        with pytest.raises(LedgerError, match="the statement was cancelled") as refused:
            ask(ledger, flips=flips)
        assert "stopping" not in str(refused.value)
    assert flips == []


def test_a_transaction_that_takes_too_long_is_not_a_read_only_server(url: str) -> None:
    register(open_ledger(url))
    with open_ledger(f"{url}%20-c%20idle_in_transaction_session_timeout%3D50") as ledger:
        clock = ledger._clock

        def slow() -> datetime:
            time.sleep(0.5)
            return clock()

        ledger._clock = slow
        flips: list[int] = []
        with pytest.raises(LedgerError, match="the transaction took longer than the server allows; nothing was released"):
            ask(ledger, flips=flips)
    assert flips == []


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
def test_a_connection_that_breaks_releases_nothing(database: str) -> None:
    ledger = open_ledger(database)
    register(ledger)
    execute(
        database,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()",
    )
    flips: list[int] = []
    with pytest.raises(LedgerError, match="nothing was released"):
        ask(ledger, flips=flips)
    assert flips == []
    assert not ask(ledger).free  # and the next one connects anew
    ledger.close()


def test_a_server_without_fsync_is_refused(url: str, server: Server) -> None:
    execute(server.url, "ALTER SYSTEM SET fsync = off")
    execute(server.url, "SELECT pg_reload_conf()")
    try:
        for _ in range(100):
            if execute(server.url, "SHOW fsync") == [("off",)]:
                break
        with pytest.raises(LedgerError, match="fsync off"):
            register(open_ledger(url))
    finally:
        execute(server.url, "ALTER SYSTEM RESET fsync")
        execute(server.url, "SELECT pg_reload_conf()")
        while execute(server.url, "SHOW fsync") != [("on",)]:
            pass


def test_commits_wait_for_the_disk(database: str) -> None:
    execute(database, f"ALTER DATABASE {database.split('/')[3].split('?')[0]} SET synchronous_commit = off")
    store = PostgresStore(database, 5)
    with store.writing(create=True) as entries:
        assert entries.execute("SHOW synchronous_commit", ()) == [("on",)]
    store.close()


def test_a_missing_ledger_or_database(database: str) -> None:
    with pytest.raises(LedgerError, match="register a dataset first"):
        ask(open_ledger(database))
    with pytest.raises(LedgerError, match="cannot be opened: the server has no such database"):
        ask(open_ledger(database.replace("@/d", "@/nothing")))


def test_a_read_only_database(database: str) -> None:
    ledger = open_ledger(database)
    register(ledger)
    ledger.close()
    execute(database, f"ALTER DATABASE {database.split('/')[3].split('?')[0]} SET default_transaction_read_only = on")
    with pytest.raises(LedgerError, match="read-only"):
        ask(ledger)


def test_no_secret_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for secret in ("postgresql://me:hunter2@localhost:1/x", "postgres://localhost:1/x?password=hunter2&user=me"):
        with pytest.raises(SystemExit) as ended:
            main(["ledger", "show", secret])
        said = capsys.readouterr()
        assert ended.value.code == 2
        assert "postgresql://localhost:1/x cannot be opened: no server answers there" in said.err
        assert "hunter2" not in said.out + said.err
    assert "hunter2" not in repr(open_ledger("postgresql://me:hunter2@h/x"))
    assert PostgresStore("postgresql://me:hunter2@h:port/x", 1).place == "postgresql://…"


@pytest.mark.parametrize(
    "place",
    [
        "postgresql+psycopg://ann:Secret9@localhost/db", "host=localhost password=Secret9", "mysql://ann:Secret9@h/db",
        "postgresql://ann:5/Secret9@localhost:1/db", "postgresql://ann:1?Secret9@h/db",
        "postgres//u:Secret9@h/db", "postgres:u:Secret9@h/db", "host=h passwd=Secret9", "postgresql://localhost:1/db%3Fpassword=Secret9",
        " PostgreSQL://ann:Secret9@localhost:1/db",
    ],
)  # fmt: skip
def test_no_password_is_ever_shown(place: str) -> None:
    with pytest.raises(DuotoneError) as refused, open_ledger(place, wait=1) as opened:
        opened.entries()
    assert "Secret9" not in str(refused.value)
    assert not Path(place).exists()


@pytest.mark.slow
def test_the_extra_is_named(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from duotone import open_ledger\nfrom duotone.errors import MissingExtra\n"
        "try: open_ledger('postgresql://h/x').verify()\n"
        "except MissingExtra as e: print(e)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == 'a ledger in Postgres needs an optional library: pip install "duotone[postgres]"'


@pytest.fixture(scope="module")
def crashing(server: Server) -> Iterator[Server]:
    """Another server: after a crash all that it holds is forced to the disk, which takes long where there is much."""
    with running() as started:
        yield started


@pytest.mark.slow
@pytest.mark.parametrize("how", ["system", "role", "url"])
def test_a_crash_of_the_server_loses_no_charge(crashing: Server, how: str) -> None:
    """The setting is changed after connecting; the server writes its log slowly, so that only a commit forces it out."""
    settings = {
        "system": "ALTER SYSTEM SET synchronous_commit = off",
        "role": "ALTER ROLE duotone SET synchronous_commit = off",
    }
    execute(crashing.url, f"CREATE DATABASE by_{how}")
    url = crashing.url.replace("/postgres?", f"/by_{how}?")
    place = f"{url}&options=-c%20synchronous_commit%3Doff" if how == "url" else url
    execute(crashing.url, "ALTER SYSTEM SET wal_writer_delay = '10s'")
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP("1.5"))
    try:
        with Asker(place) as asker:
            assert asker.ask()  # connects, while the setting is still on
            if how in settings:
                execute(crashing.url, settings[how])
            execute(crashing.url, "SELECT pg_reload_conf(), pg_sleep(0.3)")
            with Asker(place) as second:
                for each in (asker, second) if how == "role" else (second, asker):
                    assert each.ask()  # the last to commit is whom the setting reaches: nobody forces its charge out
                crashing.crash()
                for each in (asker, second, asker, second):
                    each.ask()
                assert asker.answers + second.answers == 3
        with open_ledger(url) as ledger:
            assert ledger.statement("census").state.charges == 3
            assert ledger.verify().holds
    finally:
        execute(crashing.url, "ALTER SYSTEM RESET ALL")
        execute(crashing.url, "ALTER ROLE duotone RESET synchronous_commit; SELECT pg_reload_conf()")


FORKS = """
import gc, os, sys
sys.path.insert(0, sys.argv[2])
from duotone import OverBudget, open_ledger
from duotone.errors import LedgerError
from duotone.ledger.stores import open_store
from support.ledgers import ask
store = open_store(sys.argv[1])
with store.writing() as entries:
    for how in ("exit", "collect", "use"):
        child = os.fork()
        if child == 0:
            os.close(2)
            if how == "use":
                try:
                    entries.head()
                except LedgerError:
                    os._exit(0)
                os._exit(1)
            if how == "collect":
                store = entries = None
                gc.collect()
            sys.exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code == 0 or how != "use", code
    entries.head()  # the parent's session is alive
ledger = open_ledger(sys.argv[1])
ask(ledger, "parent")
answered = 1
for i in range(4):
    child = os.fork()
    if child == 0:
        try:
            ask(ledger, f"child {i}")
        except OverBudget:
            os._exit(20)
        os._exit(10)
    answered += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 10
assert ask(ledger, "parent").free
print(answered)
ledger.close()
store.close()
"""


@pytest.mark.slow
def test_forks_leave_the_connection_of_the_parent_alone(url: str) -> None:
    with open_ledger(url) as ledger:
        register(ledger, ApproxDP("1.5"))
    done = subprocess.run([sys.executable, "-c", FORKS, url, str(TESTS)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "3"
