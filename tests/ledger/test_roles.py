"""A ledger in Postgres: who may do what, and which tables and settings are refused."""

from __future__ import annotations

import os
import re
import tempfile
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, Charge, balanced, open_ledger
from duotone.errors import LedgerError
from duotone.ledger.entries import row_of
from duotone.ledger.stores.postgres import PostgresStore
from duotone.ledger.stores.postgres_schema import FUNCTIONS, LOCK
from support import TESTS
from support.attacks import Asker
from support.ledgers import ABOUT, HALF, ask, execute, register
from support.postgres_server import Server

psycopg = pytest.importorskip("psycopg") if "CI" not in os.environ else __import__("psycopg")
TENTH = Charge(balanced(ApproxDP("0.1")))
SQL = re.findall(r"```sql\n(.*?)```", (TESTS.parent / "docs" / "operate.md").read_text(), re.S)


@pytest.fixture(scope="session")
def roles(server: Server) -> None:
    """Those of docs/operate.md, and a user for each."""
    execute(server.url, SQL[0])
    for name in ("asker", "reader", "member"):
        execute(server.url, f"CREATE ROLE {name} LOGIN")
    execute(server.url, "GRANT ledger_asker TO asker; GRANT ledger_reader TO reader; GRANT ledger_owner TO member")


@pytest.fixture
def url(database: str, roles: None) -> str:
    """A database of its own, in which the owner may make tables."""
    execute(database, "GRANT USAGE, CREATE ON SCHEMA public TO ledger_owner")
    return database


def by(url: str, name: str) -> str:
    return url.replace("duotone@", f"{name}@")


@pytest.fixture
def shared(url: str) -> str:
    """A ledger of the owner's with one answer left of two."""
    with open_ledger(by(url, "ledger_owner")) as ledger:
        register(ledger)
    execute(by(url, "ledger_owner"), SQL[1])
    with open_ledger(by(url, "asker")) as ledger:
        assert not ask(ledger).free
    return url


def test_an_asker_asks_and_does_nothing_else(shared: str) -> None:
    asker = by(shared, "asker")
    with open_ledger(asker) as ledger:
        assert ask(ledger).free
        with pytest.raises(LedgerError, match="this user may not do it"):
            register(ledger, dataset="another")
        with pytest.raises(LedgerError, match="this user may not do it"):
            ledger.relabel("census", "2")
        before = ledger.entries()
        for sql in (
            "UPDATE duotone_entries SET body = '{}'",
            "DELETE FROM duotone_entries",
            "TRUNCATE duotone_entries",
            "INSERT INTO duotone_entries VALUES (4, 'd', 'charge', '', '{}', '')",
            "UPDATE duotone_ledger SET value = '1 ' WHERE name = 'head'",
            "DELETE FROM duotone_ledger",
            "LOCK TABLE duotone_entries IN EXCLUSIVE MODE",
            "LOCK TABLE duotone_ledger IN ACCESS EXCLUSIVE MODE",
            "ALTER TABLE duotone_entries SET UNLOGGED",
            "DROP TABLE duotone_entries",
            "CREATE TRIGGER t BEFORE INSERT ON duotone_entries EXECUTE FUNCTION duotone_lock()",
            f"ALTER FUNCTION {LOCK} RESET search_path",
            "CREATE OR REPLACE FUNCTION duotone_lock() RETURNS void LANGUAGE sql AS ''",
            "SET ROLE ledger_owner",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                execute(asker, f"BEGIN; {sql}; COMMIT")
        assert ledger.entries() == before
        assert not ask(ledger, "r").free
        assert ledger.verify().holds


ALL_SPENT = {"answers": 2, "epsilon": "1", "exp_epsilon": "1", "delta": "0"}
KEY = sha256(b'{"same":["census","1","q","epsilon=1/2 delta=0","balanced",1,"person","replace"]}').hexdigest()
CHARGE: dict[str, Any] = {
    "kind": "charge", "dataset": "census", "version": "1", "question": "q", "notion": "epsilon=1/2 delta=0",
    "boundary": "balanced", "answers": 1, "key": KEY, "again": False, "v": 1, "at": "2026-11-15T00:00:00+00:00",
    "after": {"version": "1", "charges": 2, "answers": 1, "allowances": False, "closed": False, "spent": ALL_SPENT},
}  # fmt: skip


ANSWER: dict[str, Any] = {
    "kind": "answer", "dataset": "census", "key": "k", "charge": 2, "answer": None, "after": {}, "v": 1,
    "at": "2026-11-15T00:00:00+00:00",
}  # fmt: skip


def test_an_asker_dates_nothing_out_of_turn(shared: str) -> None:
    """An entry of next year would make every entry after it too early, for everybody."""
    asker = by(shared, "asker")
    call = "SELECT duotone_append(%s::integer, %s::text, %s::text, %s::text, %s::text, %s::text)"
    with open_ledger(asker) as ledger:
        *_, charge, last = ledger.entries()
        spent = {**charge["after"], "charges": 2, "answers": 1, "allowances": False, "closed": False, "spent": ALL_SPENT}
        for at in (
            "2999-01-01T00:00:00+00:00",
            "infinity",
            "tomorrow",
            "now",
            "2020-01-01T00:00:00+00:00",
            "2999-99-99T00:00:00+00:00",
            (datetime.now(UTC) + timedelta(minutes=3)).isoformat(),
        ):
            body = {name: value for name, value in charge.items() if name not in ("seq", "hash")} | {"at": at, "after": spent}
            row = row_of(last["hash"], last["seq"] + 1, body)
            with pytest.raises(psycopg.Error) as refused:
                execute(asker, call, row.seq, row.dataset, row.kind, row.question, row.body, row.hash)
            assert refused.value.sqlstate in ("DU001", "DU002", "22008"), at
        assert not ask(ledger, "r").free
        assert ledger.verify().holds


def test_a_clock_that_is_ahead_is_named(shared: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ahead(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(hours=1)

    monkeypatch.setattr("duotone.ledger.ledger.datetime", Ahead)
    with open_ledger(by(shared, "asker")) as ledger, pytest.raises(LedgerError, match="clock is ahead of the server's"):
        ask(ledger, "r")


@pytest.mark.slow
def test_an_entry_has_every_field_of_its_kind(shared: str) -> None:
    asker = by(shared, "asker")
    with open_ledger(asker) as ledger:
        head = ledger.entries()[-1]["hash"]
    call = "SELECT duotone_append(%s::integer, %s::text, %s::text, %s::text, %s::text, %s::text)"
    for body in (CHARGE, ANSWER):
        odds: list[Any] = [[], None, "", 0, -1, "x", 1.5]
        wrong = [{k: v for k, v in body.items() if k != name} for name in body]
        wrong += [{**body, name: odd} for name in body if name != "answer" for odd in odds]
        wrong += [{**body, "dataset": "another"}, {**body, "v": "1"}, {**body, "v": 2}]
        allowed = [{**CHARGE, name: odd} for name in ("version", "question", "notion", "boundary", "key") for odd in ("", "x")]
        allowed += [{**ANSWER, "key": odd} for odd in ("", "x")]
        for entry in wrong:
            if entry in allowed or {"kind", "dataset"} - entry.keys() or not isinstance(entry.get("key", ""), str):
                continue
            row = row_of(head, 4, entry)
            with pytest.raises(psycopg.Error):
                execute(asker, call, row.seq, row.dataset, row.kind, row.question, row.body, row.hash)
    with open_ledger(asker) as ledger:
        assert ledger.verify().holds
        assert not ask(ledger, "r").free


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "\\\ud83d\\\udc00 \udc00\ud83d", "\\\0\\u0000", "\U0001f600\0"])
def test_answers_and_questions_that_are_no_text_of_postgres(url: str, text: str) -> None:
    name = "a \\ \U0001f600"
    with open_ledger(url) as ledger:
        register(ledger, dataset=name)
        first = ledger.ask(name, text, HALF, lambda: {text: [text]}, **ABOUT)
        assert first.answer == {text: [text]}
        again = ledger.ask(name, text, HALF, lambda: None, **ABOUT)
        assert (again.free, again.answer) == (True, first.answer)
        assert ledger.statement(name).state.unanswered == 0
        assert ledger.verify().holds


@pytest.mark.slow
def test_a_damaged_entry_of_one_dataset_does_not_block_others(shared: str) -> None:
    owner = by(shared, "ledger_owner")
    with open_ledger(owner) as ledger:
        register(ledger, dataset="another")
        last = ledger.entries()[-1]
        row = row_of(last["hash"], last["seq"] + 1, {"kind": "charge", "dataset": "census", "at": "never"})
        execute(owner, "INSERT INTO duotone_entries VALUES (%s, 'census', 'charge', '', %s, %s)", row.seq, row.body, row.hash)
        execute(owner, "UPDATE duotone_ledger SET value = %s WHERE name = 'head'", f"{row.seq} {row.hash}")
        with pytest.raises(LedgerError, match="damaged"):
            ask(ledger, "r")
        assert not ask(ledger, dataset="another").free
        register(ledger, dataset="a third")
        assert [problem.split()[1] for problem in ledger.verify().problems] == [str(row.seq)]


def test_only_the_next_entry_is_appended(shared: str) -> None:
    asker = by(shared, "asker")
    with open_ledger(asker) as ledger:
        entries = ledger.entries()
    head = entries[-1]["hash"]
    good = row_of(head, 4, {**CHARGE, "at": datetime.now(UTC).isoformat()})
    values = [good.seq, good.dataset, good.kind, good.question, good.body, good.hash]
    call = "SELECT duotone_append(%s::integer, %s::text, %s::text, %s::text, %s::text, %s::text)"
    others = {0: 5, 1: "other", 2: "answer", 3: "other", 4: good.body + " ", 5: entries[0]["hash"]}
    for at, value in others.items():
        with pytest.raises(psycopg.Error) as refused:
            execute(asker, call, *(value if i == at else old for i, old in enumerate(values)))
        assert refused.value.sqlstate == "DU001"
    for at in range(6):
        with pytest.raises(psycopg.Error):
            execute(asker, call, *(None if i == at else old for i, old in enumerate(values)))
    for kind in ("register", "version", "anything"):
        row = row_of(head, 4, {"kind": kind, "dataset": "census"})
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            execute(asker, call, row.seq, row.dataset, row.kind, row.question, row.body, row.hash)
    execute(asker, call, *values)
    with pytest.raises(psycopg.Error):
        execute(asker, call, *values)
    with open_ledger(asker) as ledger:
        assert [entry["seq"] for entry in ledger.entries()] == [1, 2, 3, 4]
        assert ledger.verify().holds


@pytest.mark.slow
def test_a_reader_reads_and_does_nothing_else(shared: str, tmp_path: Path) -> None:
    reader = by(shared, "reader")
    with open_ledger(reader) as ledger:
        assert ledger.verify().holds
        assert len(ledger.entries()) == 3
        assert ledger.statement("census").state.charges == 1
        assert ledger.backup(tmp_path / "copy").entries == 3
        with pytest.raises(LedgerError, match="this user may not do it"):
            ask(ledger, "r")
    for sql in (f"SELECT {LOCK}", "DELETE FROM duotone_entries", "UPDATE duotone_ledger SET value = ''"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            execute(reader, sql)
    with Asker(tmp_path / "copy") as other:
        assert [other.ask() for _ in range(2)] == [True, False]


def test_a_stranger_gets_a_sentence(shared: str) -> None:
    execute(shared, "DROP ROLE IF EXISTS stranger")
    execute(shared, "CREATE ROLE stranger LOGIN")
    with open_ledger(by(shared, "stranger")) as ledger, pytest.raises(LedgerError, match="this user may not do it"):
        ledger.entries()
    allowed = "SELECT bool_or(has_function_privilege('stranger', f, 'EXECUTE')) FROM unnest(%s::text[]) f"
    assert execute(shared, allowed, list(FUNCTIONS)) == [(False,)]


def test_members_of_the_owner_may_register(shared: str) -> None:
    with open_ledger(by(shared, "member")) as ledger:
        register(ledger, dataset="another")
        ledger.relabel("census", "2")
        assert ledger.verify().holds


@pytest.mark.slow
def test_functions_are_pinned_and_the_owners(shared: str) -> None:
    columns = "proname, pg_get_userbyid(proowner), prosecdef, proconfig::text"
    rows = execute(shared, f"SELECT {columns} FROM pg_proc WHERE proname LIKE 'duotone%' ORDER BY 1")
    pinned = '{"search_path=pg_catalog, pg_temp"}'
    definers = {"duotone_append", "duotone_lock", "duotone_standbys"}
    names = sorted(function.partition("(")[0] for function in FUNCTIONS)
    assert rows == [(name, "ledger_owner", name in definers, pinned) for name in names]


def test_allowances_and_closings_are_the_owners(shared: str) -> None:
    asker = by(shared, "asker")
    call = "SELECT duotone_append(%s::integer, %s::text, %s::text, %s::text, %s::text, %s::text)"
    with open_ledger(asker) as ledger, open_ledger(by(shared, "ledger_owner")) as owner:
        with pytest.raises(LedgerError, match="this user may not do it"):
            ledger.allow("census", "eve", ApproxDP(1))
        with pytest.raises(LedgerError, match="this user may not do it"):
            ledger.close_dataset("census")
        owner.allow("census", "ann", ApproxDP("0.5"))
        assert not ask(ledger, "r", TENTH, asker="ann").free
        last = ledger.entries()[-1]
        of_asker = {"by": "ann", "filed": "f", "asker_spent": {}, "allowance": 0}
        odd = [{**CHARGE, **of_asker, name: 1.5} for name in of_asker]
        for body in (CHARGE, {**CHARGE, **of_asker}, *odd, ANSWER, {**ANSWER, "filed": "f"}):
            row = row_of(last["hash"], last["seq"] + 1, body)
            with pytest.raises(psycopg.Error) as refused:
                execute(asker, call, row.seq, row.dataset, row.kind, str(row.question), row.body, row.hash)
            assert refused.value.sqlstate == "DU001"
        owner.close_dataset("census")
        last = ledger.entries()[-1]
        row = row_of(last["hash"], last["seq"] + 1, {**CHARGE, **of_asker})
        with pytest.raises(psycopg.Error) as refused:
            execute(asker, call, row.seq, row.dataset, row.kind, row.question, row.body, row.hash)
        assert refused.value.sqlstate == "DU001"
        assert ledger.verify().holds


def test_a_table_of_the_same_name_does_not_stand_in(shared: str) -> None:
    with open_ledger(by(shared, "asker")) as ledger:
        ledger.datasets()
        pinned = ledger._store._connected()  # type: ignore[attr-defined]
        pinned.connection.execute("CREATE TEMP TABLE duotone_entries AS SELECT * FROM public.duotone_entries WHERE seq = 1")
        assert ask(ledger).free  # the recorded answer is found: the real table is read


def settled(url: str, setting: str, value: str) -> None:
    """Change a setting of the server, and wait until a new connection sees it."""
    execute(url, f"ALTER SYSTEM SET {setting} = {value}" if value else f"ALTER SYSTEM RESET {setting}")
    execute(url, "SELECT pg_reload_conf()")
    for _ in range(1000):
        if execute(url, f"SHOW {setting}") == [(value or "on",)]:
            return
    raise AssertionError(f"{setting} does not change")


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_may_forget_is_refused_from_then_on(server: Server, shared: str, setting: str) -> None:
    with Asker(by(shared, "asker")) as asker:
        settled(server.url, setting, "off")
        try:
            for _ in range(100):  # the asker's own session hears of it a little later
                if not asker.ask():
                    break
            assert f"{setting} off: a crash could hide spending; nothing was released" in asker.said
        finally:
            settled(server.url, setting, "")
        assert asker.answers <= 1


@pytest.mark.parametrize("table", ["duotone_entries", "duotone_ledger"])
def test_a_table_that_may_forget_is_refused(shared: str, table: str) -> None:
    with open_ledger(by(shared, "asker")) as ledger:
        ledger.datasets()
        execute(by(shared, "ledger_owner"), f"ALTER TABLE {table} SET UNLOGGED")
        flips: list[int] = []
        with pytest.raises(LedgerError, match="unlogged or temporary: a crash could hide spending"):
            ask(ledger, "r", flips=flips)
        assert flips == []


def test_a_commit_that_waits_for_more_than_the_disk_goes_on_to(shared: str) -> None:
    store = PostgresStore(f"{by(shared, 'asker')}&options=-c%20synchronous_commit%3Dremote_apply", 5)
    with store.writing() as entries:
        assert entries.execute("SHOW synchronous_commit", ()) == [("remote_apply",)]
    store.close()


def test_a_backup_of_a_database(shared: str) -> None:
    with tempfile.TemporaryDirectory() as folder, open_ledger(by(shared, "ledger_owner")) as ledger:
        verdict = ledger.backup(Path(folder) / "copy")
        with open_ledger(Path(folder) / "copy") as copy:
            assert copy.entries() == ledger.entries()
            assert copy.verify(verdict.head).holds
