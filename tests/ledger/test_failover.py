"""A ledger on a server with standbys: charges that a failover would forget are refused, and a promoted ledger is found out."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from duotone import OverBudget, open_ledger
from duotone.errors import LedgerError
from support.ledgers import ask, execute, register
from support.postgres_server import Server, programs, running
from support.running import run

pytestmark = [pytest.mark.slow, pytest.mark.skipif(programs() is None and "CI" not in os.environ, reason="no Postgres")]


def eventually(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def primary() -> Iterator[Server]:
    with running() as started:
        yield started


def states(server: Server) -> list[str]:
    return [state for (state,) in execute(server.url, "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'")]


def has_replayed(primary: Server, standby: Server) -> bool:
    (position,) = execute(primary.url, "SELECT pg_current_wal_flush_lsn()::text")[0]
    return bool(execute(standby.url, f"SELECT pg_last_wal_replay_lsn() >= '{position}'::pg_lsn")[0][0])


@contextmanager
def halted(standby: Server) -> Iterator[None]:
    """A standby that is connected, and takes nothing."""
    ((receiver,),) = execute(standby.url, "SELECT pid FROM pg_stat_wal_receiver")
    os.kill(receiver, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(receiver, signal.SIGCONT)


def test_an_asynchronous_standby_is_refused_or_accepted_in_words(primary: Server) -> None:
    execute(primary.url, "CREATE ROLE asker LOGIN; CREATE ROLE owner LOGIN; GRANT ALL ON SCHEMA public TO owner")
    owned = primary.url.replace("duotone@", "owner@")
    with open_ledger(owned) as ledger:
        register(ledger)
        grant = "GRANT SELECT ON duotone_ledger, duotone_entries TO asker; GRANT EXECUTE ON FUNCTION duotone_lock(), "
        execute(owned, grant + "duotone_append(integer, text, text, text, text, text), duotone_standbys() TO asker")
    flips: list[int] = []
    with open_ledger(primary.url.replace("duotone@", "asker@")) as ledger, open_ledger(owned) as owner:
        ask(ledger, "alone", flips=flips)
        with primary.standby("s1", "-C", "-S", "slot1"):
            eventually(lambda: states(primary) == ["async"])
            with pytest.raises(LedgerError, match="GRANT pg_read_all_stats to the ledger's owner"):
                ask(ledger, "r", flips=flips)
            execute(primary.url, "GRANT pg_read_all_stats TO owner")
            with pytest.raises(LedgerError, match="a standby, or a replication slot for one, that commits do not wait for"):
                ask(ledger, "r", flips=flips)
            with pytest.raises(LedgerError, match="this user may not do it"):
                ledger.accept_standbys("fine", done_by="asker")
            execute(primary.url, "ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (s1)'")
            execute(primary.url, "SELECT pg_reload_conf()")
            eventually(lambda: states(primary) == ["sync"])
            assert not ask(ledger, "r", flips=flips).free
            assert flips == [1, 1]
        # the standby is gone, and its slot says that it may come back
        execute(primary.url, "ALTER SYSTEM RESET synchronous_standby_names")
        execute(primary.url, "SELECT pg_reload_conf()")
        eventually(lambda: execute(primary.url, "SHOW synchronous_standby_names") == [("",)])
        with pytest.raises(LedgerError, match="replication slot"):
            ask(ledger, "r")
        owner.accept_standbys("a failover may forget a minute of charges: agreed with the data office", done_by="ann")
        assert ask(ledger, "r").free
        accepted = ledger.entries()[-1]
        assert (accepted["kind"], accepted["by"], accepted["words"][:10]) == ("standbys", "ann", "a failover")
        assert ledger.verify().holds


def test_a_wait_for_a_standby_that_is_cancelled_releases_nothing(primary: Server) -> None:
    """The server has the charge then, the standby maybe not: Postgres says so in a warning, and calls it a success."""
    with open_ledger(primary.url) as ledger:
        register(ledger)
        with primary.standby("s1") as standby:
            execute(primary.url, "ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (s1)'")
            execute(primary.url, "SELECT pg_reload_conf()")
            eventually(lambda: states(primary) == ["sync"])
            flips: list[int] = []
            refused: list[str] = []

            def asked() -> None:
                try:
                    ask(ledger, flips=flips)
                except LedgerError as error:
                    refused.append(str(error))

            asker = threading.Thread(target=asked)
            with halted(standby):
                asker.start()
                cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
                eventually(lambda: execute(primary.url, cancel) == [(True,)])
                asker.join()
    assert flips == []
    assert "maybe not on its standbys" in refused[0]


def test_a_promoted_standby_is_older_than_its_kept_head(
    primary: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two answers of a budget of two, the primary is killed, the standby that missed them is promoted: nothing is left."""
    head = tmp_path / "elsewhere.head"
    with open_ledger(primary.url) as ledger:
        ledger.accept_standbys("its head is kept elsewhere", done_by="ann")
        register(ledger)
        ledger.keep_head(head, done_by="ann")
        with primary.standby("s1") as standby:
            eventually(lambda: has_replayed(primary, standby))
            execute(standby.url, "ALTER SYSTEM SET primary_conninfo = ''")  # it misses whatever comes now
            execute(standby.url, "SELECT pg_reload_conf()")
            eventually(lambda: states(primary) == [])
            flips: list[int] = []
            for text in ("a", "b"):
                ask(ledger, text, flips=flips)
            with pytest.raises(OverBudget):
                ask(ledger, "c", flips=flips)
            ledger.close()
            primary.stop()
            standby.promote()
            with open_ledger(standby.url) as promoted:
                assert promoted.statement("census").state.charges == 0
                for _ in range(2):
                    with pytest.raises(LedgerError, match=r"older than its head kept in .*elsewhere.head.* entry 7 was kept"):
                        ask(promoted, "c", flips=flips)
                with pytest.raises(LedgerError, match="older than its head"):
                    promoted.keep_head(tmp_path / "another.head", done_by="ann")
                assert promoted.verify().problems == (f"entry 7 is not the one whose head was kept in {head}",)
            assert run(capsys, "ledger", "verify", standby.url)[0] == 1
            primary.start()
            with open_ledger(primary.url) as ledger:  # the right one goes on
                assert ask(ledger, "a").free
                assert ledger.verify().holds
    assert flips == [1, 1]
