"""A real Postgres server on a socket in a temporary folder."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


def programs() -> Path | None:
    """The folder of the newest initdb and pg_ctl; None without Postgres."""
    found = shutil.which("initdb")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: float(p.parts[-3]))
    return Path(found).resolve().parent if found else installed[-1].parent if installed else None


@dataclass(frozen=True)
class Server:
    """A running server: the URL of its superuser `duotone`; it can crash."""

    url: str
    folder: Path
    binaries: Path
    user: str | None

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c max_connections=120 -c shared_buffers=16MB"
        self._control("-l", self.folder / "log", "-o", options, "start")

    def stop(self) -> None:
        """Stop without a checkpoint, like a crash: what is not in its log on the disk is lost."""
        self._control("-m", "immediate", "stop")

    def crash(self) -> None:
        self.stop()
        self.start()

    def promote(self) -> None:
        """Make a standby an independent server."""
        self._control("promote")

    @contextlib.contextmanager
    def standby(self, name: str, *words: str) -> Iterator[Server]:
        """A standby that streams from this server under a name; stopped and removed at the end."""
        folder = Path(tempfile.mkdtemp(prefix="duotone-pg-"))
        if self.user is not None:
            shutil.chown(folder, self.user)
        source = f"host={self.folder} user=duotone dbname=postgres application_name={name}"
        copy = ("-d", source, "-D", folder / "data", "-R", "-c", "fast", "--no-sync", *words)
        try:
            _run(self.user, self.binaries / "pg_basebackup", *copy)
            standby = Server(self.url.replace(str(self.folder), str(folder)), folder, self.binaries, self.user)
            standby.start()
            try:
                yield standby
            finally:
                standby.stop()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _control(self, *words: object) -> None:
        _run(self.user, self.binaries / "pg_ctl", "-D", self.folder / "data", "-w", *words)


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """A new server, stopped and removed at the end."""
    binaries = programs()
    assert binaries is not None
    folder = Path(tempfile.mkdtemp(prefix="duotone-pg-"))
    user = _unprivileged()
    if user is not None:
        shutil.chown(folder, user)
    words = ("-U", "duotone", "--auth=trust", "--no-sync", "-E", "UTF8", "--no-locale")
    server = Server(f"postgresql://duotone@/postgres?host={folder}", folder, binaries, user)
    try:
        _run(user, binaries / "initdb", "-D", folder / "data", *words)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The URL of a new server."""
    with running() as started:
        yield started.url


def _unprivileged() -> str | None:
    """Postgres refuses to run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _run(user: str | None, *command: object) -> None:
    prefix = [] if user is None else ["runuser", "-u", user, "--"]
    folder = tempfile.gettempdir()
    with tempfile.TemporaryFile() as said:
        done = subprocess.run([*prefix, *map(str, command)], stdout=said, stderr=said, cwd=folder)
        said.seek(0)
        assert done.returncode == 0, said.read().decode()
