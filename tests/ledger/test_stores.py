"""A ledger in a file, attacked: other names, copies, missing journals, other formats. Never more than the budget."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from attacks import HERE, Asker, stranger
from commands import run as command
from ledgers import ABOUT, ask, register

from duotone import ApproxDP, Charge, OverBudget, balanced, open_ledger
from duotone.errors import LedgerBusy, LedgerError
from duotone.ledger.stores.filelock import FileLock
from duotone.ledger.stores.sqlite import SqliteStore

ENDINGS = ("-wal", "-shm", "-journal")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A budget of two answers."""
    with open_ledger(tmp_path / "budget.ledger") as ledger:
        register(ledger)
    return tmp_path / "budget.ledger"


def charges(path: Path) -> int:
    """Counted by another program than the one on trial."""
    with sqlite3.connect(f"file:{path}?immutable=1", uri=True) as connection:
        (count,) = connection.execute("SELECT count(*) FROM duotone_entries WHERE kind = 'charge'").fetchone()
    connection.close()
    return int(count)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_at_rest_everything_is_in_the_one_file(path: Path) -> None:
    with Asker(path) as first:
        assert first.ask()
        assert [file.name for file in path.parent.iterdir()] == [path.name]
        assert charges(path) == 1


def test_a_commit_waits_for_the_disk_and_for_the_journal_to_be_gone(path: Path) -> None:
    store = SqliteStore(path, 1)
    with store.writing() as entries:
        assert entries.execute("PRAGMA synchronous", ()) == [(3,)]
        assert entries.execute("PRAGMA journal_mode", ()) == [("delete",)]
        assert entries.execute("PRAGMA mmap_size", ()) in ([(0,)], [])
    store.close()


def test_a_hard_link(path: Path, tmp_path: Path) -> None:
    with Asker(path) as first:
        assert first.ask()
        os.link(path, tmp_path / "link")
        with Asker(tmp_path / "link") as second:
            assert not second.ask()
            assert "has other names (hard links)" in second.said
            assert not first.ask()
            assert "has other names (hard links)" in first.said
            (tmp_path / "link").unlink()
            for _ in range(2):
                first.ask()
                second.ask()
            assert first.answers + second.answers == 2
    assert charges(path) == 2


def test_a_mount_of_the_file_alone(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "mounted ledger"
    other.parent.mkdir()
    other.touch()
    if os.geteuid() != 0 or subprocess.run(["mount", "--bind", path, other], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        with Asker(path) as first, Asker(other) as second:
            assert first.ask()
            for _ in range(3):
                assert not second.ask()
            assert "mount its folder instead" in second.said
            with open_ledger(other) as reader:
                assert reader.statement("census").state.charges == 1
            for _ in range(2):
                first.ask()
            assert (first.answers, second.answers) == (2, 0)
    finally:
        subprocess.run(["umount", other], check=True)
    assert charges(path) == 2


@pytest.mark.slow
def test_a_folder_may_be_mounted_or_linked(path: Path, tmp_path: Path) -> None:
    (tmp_path / "other").symlink_to(tmp_path)
    (tmp_path / "l").symlink_to(path)
    with Asker(path) as first, Asker(tmp_path / "other" / path.name) as second, Asker(tmp_path / "l") as third:
        assert first.ask()
        assert second.ask()
        assert not third.ask()
        assert third.said.startswith("over budget")


@pytest.mark.slow
def test_an_open_ledger_is_moved(path: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    with Asker(path) as first:
        assert first.ask()
        path.rename(moved)
        with Asker(moved) as second:
            for _ in range(2):
                second.ask()
                assert not first.ask()
            assert "there is no ledger" in first.said
            moved.rename(path)
            first.ask()
            second.ask()
            assert (first.answers, second.answers) == (1, 1)
    assert charges(path) == 2


@pytest.mark.slow
@pytest.mark.parametrize("when", ["between", "during"])
def test_files_beside_it_are_deleted(path: Path, when: str) -> None:
    def clean() -> None:
        for ending in ENDINGS:
            path.with_name(path.name + ending).unlink(missing_ok=True)

    with Asker(path) as first, Asker(path) as second:
        assert first.ask()
        clean()
        for _ in range(3):
            second.send()
            if when == "during":
                clean()
            second.hear()
            clean()
            first.ask()
        answers = first.answers + second.answers
    if when == "between":
        assert answers == charges(path) == 2
    else:  # a commit whose journal is taken away may fail, which wastes a charge and never hides one
        assert 1 <= answers <= charges(path) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("how", ["cp", "copy"])
def test_a_copy_shows_every_charge(path: Path, tmp_path: Path, how: str) -> None:
    copy = tmp_path / "copy"
    with Asker(path) as first:
        for expected in (1, 2):
            assert first.ask()
            if how == "cp":
                subprocess.run(["cp", path, copy], check=True)
            else:
                shutil.copy(path, copy)
            with open_ledger(copy) as ledger:
                assert ledger.statement("census").state.charges == expected
                assert ledger.verify().holds
    with Asker(copy) as second:
        assert not second.ask()
        assert second.said.startswith("over budget")


STOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=float(sys.argv[3]))
for statement in sys.argv[2].split(";"):
    connection.execute(statement)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_the_program_itself_copies_the_file_during_a_transaction(path: Path, tmp_path: Path) -> None:
    """Closing any descriptor of a file drops a process's POSIX locks on it."""
    store = SqliteStore(path, 1)
    with Asker(path, wait=0.3) as other:
        with store.writing() as entries:
            entries.execute("UPDATE duotone_ledger SET value = value", ())
            shutil.copy(path, tmp_path / "copy")
            path.read_bytes()
            assert not other.ask()
            assert "kept busy by others" in other.said
            stock = [sys.executable, "-c", STOCK, str(path), "BEGIN IMMEDIATE", "0.1"]
            assert "database is locked" in subprocess.run(stock, input="", capture_output=True, text=True).stderr
            with pytest.raises(LedgerBusy), open_ledger(path, wait=0.2) as same_process:
                same_process.statement("census")
        assert other.ask()
    store.close()


@pytest.mark.slow
def test_other_programs_are_waited_for(path: Path) -> None:
    with Asker(path, wait=0.2) as hasty, Asker(path, wait=60) as patient:
        with stranger(STOCK, path, "BEGIN IMMEDIATE", 5):
            assert not hasty.ask()
            assert "kept busy by others for 0.2 seconds; nothing was released" in hasty.said
            patient.send()
        assert patient.hear()
    with open_ledger(path, wait=0.2) as ledger, stranger(STOCK, path, "BEGIN EXCLUSIVE", 5):
        with pytest.raises(LedgerBusy) as busy:
            ledger.statement("census")
        assert busy.value.wait == 0.2


def test_several_ledgers_in_one_process(path: Path, tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l") as ledger:
        register(ledger, ApproxDP("0.5"))
    refused: list[int] = []

    def one(i: int) -> None:
        try:
            with open_ledger(tmp_path / "l") as own:
                ask(own, f"q{i}", Charge(balanced(ApproxDP("0.05"))))
        except OverBudget:
            refused.append(i)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 14
    assert charges(tmp_path / "l") == 10


@pytest.fixture
def old(path: Path) -> Path:
    """A ledger as Duotone 0.1 left it when it was killed: one charge is in the log beside the file."""
    with open_ledger(path) as ledger:
        ask(ledger)
    copy = path.with_name("old.ledger")
    shutil.copy(path, copy)
    answers = "DELETE FROM duotone_entries WHERE seq = 3; UPDATE duotone_ledger SET value = (SELECT seq || ' ' || hash FROM "
    answers += "duotone_entries WHERE seq = 2) WHERE name = 'head'; UPDATE duotone_ledger SET value = '2' WHERE name = 'schema'"
    beginning = f"ATTACH '{path}' AS n; PRAGMA journal_mode = WAL; DELETE FROM duotone_entries WHERE seq > 1; "
    beginning += "PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO duotone_entries SELECT * FROM n.duotone_entries WHERE seq > 1;"
    with stranger(STOCK, copy, beginning + answers, 5):
        pass
    assert charges(copy) == 0
    assert copy.with_name(copy.name + "-wal").stat().st_size > 0
    return copy


def test_a_ledger_with_a_log_is_read_as_it_is(old: Path) -> None:
    before = contents(old.parent)
    with open_ledger(old) as ledger:
        assert ledger.statement("census").state.charges == 1
        assert ledger.verify().holds
        assert contents(old.parent) == before


def test_a_ledger_with_a_log_is_converted_by_writing(old: Path) -> None:
    with Asker(old) as first:
        first.ask()
        assert not first.ask()
        assert first.said.startswith("over budget")
        assert first.answers == 1
    assert old.read_bytes()[18:20] == b"\x01\x01"
    assert not any(old.with_name(old.name + ending).exists() for ending in ENDINGS)
    assert charges(old) == 2


def test_a_log_of_an_older_state_is_not_laid_over_the_file(old: Path) -> None:
    log = old.with_name(old.name + "-wal")
    stale = log.read_bytes()
    with Asker(old) as first:
        assert first.ask()
        log.write_bytes(stale)
        for again in range(2):
            assert not first.ask(str(again))
            assert "does not belong to the ledger" in first.said
        with pytest.raises(LedgerError, match="does not belong to the ledger"), open_ledger(old) as reader:
            reader.verify()
        log.unlink()
        assert not first.ask()
        assert first.said.startswith("over budget")
    assert charges(old) == 2


@pytest.mark.slow
def test_a_ledger_with_a_log_in_use_is_not_converted(old: Path) -> None:
    with stranger(STOCK, old, "SELECT * FROM duotone_ledger", 5), Asker(old, wait=0.2) as first:
        assert not first.ask()
        assert "every program that has it open has to close it once" in first.said
        with open_ledger(old) as ledger:
            assert ledger.statement("census").state.charges == 1
    with Asker(old) as second:
        assert second.ask()


OPEN_AND_CLOSED = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("SELECT * FROM duotone_ledger").fetchall()
open(sys.argv[1], "rb").close()  # this takes away every lock of the process on the file
print("ready", flush=True)
sys.stdin.readline()
"""


def test_a_log_is_in_use_though_its_user_has_lost_the_lock_on_the_file(old: Path) -> None:
    before = contents(old.parent)
    with stranger(OPEN_AND_CLOSED, old), Asker(old, wait=0.2) as first:
        assert not first.ask()
        assert "every program that has it open has to close it once" in first.said
        assert old.read_bytes() == before[old.name]
    with Asker(old) as second:
        assert second.ask()
    assert charges(old) == 2


@pytest.mark.slow
def test_somebody_changes_the_journal_mode_later(path: Path) -> None:
    with Asker(path, wait=0.5) as first:
        assert first.ask()
        with stranger(STOCK, path, "PRAGMA journal_mode = WAL; UPDATE duotone_ledger SET value = value", 5):
            assert not first.ask()
        assert path.read_bytes()[18:20] == b"\x02\x02"
        assert first.ask()
        assert path.read_bytes()[18:20] == b"\x01\x01"
        assert not first.ask()
        assert first.answers == 2
    assert charges(path) == 2


READERS = """
import os, sys
from duotone.cli.app import main
def each(place, picture):
    for words in (["show", place], ["show", place, "--json"], ["verify", place], ["export", place], ["plot", place, picture]):
        try:
            main(["ledger", *words])
        except SystemExit as ended:
            assert not ended.code, words
each(sys.argv[1], sys.argv[3])  # everything is imported before the rights are given up
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
print("READ-ONLY", flush=True)
each(sys.argv[2], sys.argv[4])
try:
    main(["ledger", "register", sys.argv[2], "other", "--epsilon", "1", "--version", "1"])
except SystemExit as ended:
    assert ended.code == 2
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["journal", "log", "interrupted"])
def test_reading_works_on_a_read_only_copy(path: Path, old: Path, kind: str) -> None:
    folder, pictures = Path(tempfile.mkdtemp(prefix="duotone-ro-")), Path(tempfile.mkdtemp(prefix="duotone-pictures-"))
    try:
        if kind == "interrupted":
            interrupt(path)
        source = old if kind == "log" else path
        for name in (source, *(source.with_name(source.name + ending) for ending in ENDINGS)):
            if name.exists() and not name.name.endswith("-shm"):
                shutil.copy(name, folder / name.name)
                (folder / name.name).chmod(0o444)
        folder.chmod(0o555)
        pictures.chmod(0o777)
        before = contents(folder)
        places = (source, folder / source.name, pictures / "a.svg", pictures / "b.svg")
        done = subprocess.run([sys.executable, "-c", READERS, *places], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        out = done.stdout.split("READ-ONLY\n")[1]
        assert "verified: " in out
        assert '"kind": "charge"' in out
        assert "spent: epsilon 0.5" in out
        assert "cannot be" in done.stderr
        assert contents(folder) == before
        assert (pictures / "b.svg").stat().st_size > 5000
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)
        shutil.rmtree(pictures)


INTERRUPTED = """
import os, resource, signal, sys
sys.path.insert(0, sys.argv[2])
from duotone import open_ledger
from ledgers import ask
ledger = open_ledger(sys.argv[1])
ledger.datasets()
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
size = os.stat(sys.argv[1]).st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
ask(ledger, "x" * 90_000, again=True)
"""


def interrupt(path: Path) -> None:
    """A writer that dies in the midst of its commit: some pages are written, and the journal lies there."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, path, HERE], capture_output=True, text=True)
    assert done.returncode == -signal.SIGXFSZ, done.stderr
    assert path.with_name(path.name + "-journal").stat().st_size > 512


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """A ledger of several pages, with two of four answers left."""
    with open_ledger(tmp_path / "long.ledger") as ledger:
        register(ledger, ApproxDP(2))
        for i in range(2):
            ask(ledger, str(i) * 60_000)
    return tmp_path / "long.ledger"


def test_an_interrupted_commit_is_read_without_a_change_and_undone_by_writing(long: Path) -> None:
    interrupt(long)
    before = contents(long.parent)
    with open_ledger(long) as ledger:
        assert ledger.statement("census").state.charges == 2
        assert ledger.verify().holds
        assert contents(long.parent) == before
    with Asker(long) as first:
        assert [first.ask() for _ in range(3)] == [True, True, False]
    assert charges(long) == 4
    assert [file.name for file in long.parent.iterdir()] == [long.name]


@pytest.mark.slow
def test_an_interrupted_commit_without_its_journal_sells_nothing(long: Path) -> None:
    interrupt(long)
    moved = long.with_name("moved")
    shutil.copy(long, moved)
    long.with_name(long.name + "-journal").unlink()
    for place in (moved, long):
        with Asker(place) as first:
            assert not first.ask()
            assert "damaged" in first.said


@pytest.mark.slow
@pytest.mark.parametrize("commits", [1, 2])
def test_a_journal_of_an_older_state_is_not_played_back(long: Path, commits: int) -> None:
    """The file goes on under another name after a crash, and comes back to the journal that it left behind."""
    moved = long.with_name("moved")
    shutil.copy(long, moved)
    interrupt(long)
    with open_ledger(moved) as ledger:
        if commits == 2:
            ask(ledger, "elsewhere")
        else:
            with pytest.raises(ZeroDivisionError):
                ledger.ask("census", "elsewhere", Charge(balanced(ApproxDP("0.5"))), lambda: 1 / 0, **ABOUT)
    moved.rename(long)
    before = contents(long.parent)
    with Asker(long) as first, open_ledger(long) as reader:
        assert not first.ask()
        assert "does not belong to its present state" in first.said
        with pytest.raises(LedgerError, match="does not belong to its present state"):
            reader.verify()
        assert contents(long.parent) == before
        long.with_name(long.name + "-journal").unlink()
        assert [first.ask() for _ in range(2)] == [True, False]
    assert charges(long) == 4


def test_a_torn_copy_sells_nothing(long: Path, tmp_path: Path) -> None:
    """A copy that was made while pages were written: the index that finds the last charge is of before it."""
    with sqlite3.connect(long) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'duotone_by_dataset'").fetchone()
    connection.close()
    before = long.read_bytes()
    with open_ledger(long) as ledger:
        ask(ledger, "another")
    after, torn = bytearray(long.read_bytes()), tmp_path / "torn"
    after[(root - 1) * 4096 : root * 4096] = before[(root - 1) * 4096 : root * 4096]
    for place in (torn, long):
        place.write_bytes(after)
        with Asker(place) as first:
            assert not first.ask()
            assert "damaged" in first.said or "does not end where its head says" in first.said


CREATORS = """
import os, sys
sys.path.insert(0, sys.argv[3])
from duotone import open_ledger
from ledgers import register
gate, opened = os.pipe()
children = []
for i in range(int(sys.argv[2])):
    if (child := os.fork()) == 0:
        try:
            os.close(opened)
            os.read(gate, 1)
            with open_ledger(sys.argv[1], wait=300) as ledger:
                register(ledger, dataset=f"d{i}")
            os._exit(0)
        except BaseException as error:
            print(error, flush=True)
        finally:
            os._exit(1)
    children.append(child)
os.close(opened)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


@pytest.mark.slow
def test_240_creations_at_once(tmp_path: Path) -> None:
    place = tmp_path / "l"
    done = subprocess.run([sys.executable, "-c", CREATORS, place, "240", HERE], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    with open_ledger(place) as ledger:
        assert len(ledger.datasets()) == 240
        assert ledger.verify().holds


@pytest.mark.slow
def test_a_creation_waits_for_who_writes_to_the_empty_file(tmp_path: Path) -> None:
    """What once made some of 240 creations busy at once, whatever they were ready to wait: another was ahead by a moment."""
    place = tmp_path / "l"
    with stranger(STOCK, place, "BEGIN IMMEDIATE", 5) as writer:
        done = threading.Timer(1, writer.kill)
        done.start()
        with open_ledger(place, wait=60) as ledger:
            register(ledger)
            assert ledger.datasets() == ["census"]
        done.join()


@pytest.mark.slow
def test_a_full_disk_with_small_blocks(tmp_path: Path) -> None:
    """A mapped file on a full file system ends a process by SIGBUS: nothing is mapped any more."""
    done = subprocess.run(
        [sys.executable, str(HERE / "full_disk.py"), str(tmp_path), "12", "7", "ext4"], capture_output=True, text=True
    )
    if done.returncode and os.path.ismount(tmp_path):
        subprocess.run(["umount", tmp_path], check=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
    told = json.loads(done.stdout)
    if not told["mounted"]:
        pytest.skip("mounting is not allowed here")
    assert told["full"] == 12
    assert all("nothing was released" in said for said in told["said"])


def test_a_backup_while_others_write(tmp_path: Path) -> None:
    place = tmp_path / "l"
    with open_ledger(place) as ledger:
        register(ledger, ApproxDP(100))
    with Asker(place) as writer, open_ledger(place) as ledger:
        for i in range(12):
            for _ in range(3):
                writer.send()
            verdict = ledger.backup(tmp_path / f"copy{i}")
            for _ in range(3):
                assert writer.hear()
            assert verdict.holds
            with open_ledger(tmp_path / f"copy{i}") as copy:
                assert copy.verify().head == verdict.head
                entries = copy.entries()
            assert entries == ledger.entries()[: verdict.entries]
            assert sum(entry["kind"] == "charge" for entry in entries) >= 3 * i
    assert {file.name for file in tmp_path.iterdir()} == {"l", *(f"copy{i}" for i in range(12))}


def test_a_backup_replaces_nothing_and_is_whole_or_absent(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_ledger(path) as ledger:
        ask(ledger)
        head = ledger.verify().head
    copy = tmp_path / "copies" / "copy"
    copy.parent.mkdir()
    assert command(capsys, "ledger", "backup", path, copy) == (0, f"wrote {copy}: 3 entries, head {head}\n", "")
    before = copy.read_bytes()
    code, out, err = command(capsys, "ledger", "backup", path, copy)
    assert (code, out) == (2, "")
    assert "a backup replaces none" in err
    assert copy.read_bytes() == before
    code, out, _ = command(capsys, "ledger", "backup", path, copy.with_name("second"), "--json")
    assert json.loads(out) == {"backup": str(copy.with_name("second")), "entries": 3, "head": head}
    assert copy.stat().st_nlink == 1
    with Asker(copy) as asker:
        assert [asker.ask() for _ in range(2)] == [True, False]
    code, _, err = command(capsys, "ledger", "backup", path, tmp_path / "no" / "copy")
    assert code == 2
    assert "cannot write" in err
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE duotone_entries SET body = replace(body, '1/2', '1/4') WHERE seq = 2")
    connection.close()
    code, _, err = command(capsys, "ledger", "backup", path, copy.with_name("third"))
    assert code == 2
    assert "does not verify" in err
    assert sorted(file.name for file in copy.parent.iterdir()) == ["copy", "second"]


def test_without_locks_of_descriptors(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system has none, `flock` keeps Duotone's own processes apart."""
    import duotone.ledger.stores.filelock as filelock

    monkeypatch.setattr(filelock, "OWN_DESCRIPTOR", None)
    first, second = SqliteStore(path, 0.1), SqliteStore(path, 0.1)
    with first.writing(), pytest.raises(LedgerBusy), second.writing():
        pass
    with first.reading() as entries, second.reading() as same:
        assert entries.head() == same.head()
    with second.writing():
        pass
    first.close()
    second.close()


def test_a_writer_that_waits_goes_before_new_readers(path: Path) -> None:
    reader, writer, later = (FileLock(path, writing=writes, create=False) for writes in (False, True, False))
    try:
        assert reader.acquire(0)
        assert not writer.acquire(0)
        assert not later.acquire(0)
        reader.release()
        assert writer.acquire(0)
        assert not later.acquire(0)
        writer.release()
        assert later.acquire(0)
        assert reader.acquire(0)
    finally:
        for lock in (reader, writer, later):
            lock.close()


@pytest.mark.parametrize(
    "part",
    [
        "CREATE TRIGGER t AFTER UPDATE ON duotone_ledger BEGIN DELETE FROM duotone_entries WHERE seq > 1; END",
        "CREATE TRIGGER t BEFORE INSERT ON duotone_entries BEGIN SELECT RAISE(IGNORE); END",
        "CREATE VIEW v AS SELECT * FROM duotone_entries",
        "CREATE TABLE notes (x)",
        "DROP INDEX duotone_by_kind",
        "ALTER TABLE duotone_entries ADD COLUMN more TEXT",
    ],
)
def test_parts_that_duotone_did_not_make(path: Path, part: str) -> None:
    with open_ledger(path) as ledger:
        ask(ledger)
        with sqlite3.connect(path) as connection:
            connection.execute(part)
        connection.close()
        flips: list[int] = []
        for use in (lambda: ask(ledger, "r", flips=flips), ledger.verify, lambda: ledger.statement("census"), ledger.entries):
            with pytest.raises(LedgerError, match="has parts that Duotone did not make"):
                use()
        assert flips == []
    assert charges(path) == 1
