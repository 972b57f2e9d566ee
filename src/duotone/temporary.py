"""Temporary folders, which may hold rows that an engine spilled: one for each process, in a folder that its user alone can see
into. What a process that was killed left there is removed when the next one starts."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where a user's temporary folder is their own
    fcntl = None  # type: ignore[assignment]

TRIES = 100


@dataclass(frozen=True)
class _Own:
    """This process's folder, and the descriptor whose lock says that it lives."""

    folder: Path
    descriptor: int | None
    process: int
    whose: tuple[str, int]
    """Where temporary files were, and who the process was: one may give up its rights."""


_OWN: list[_Own] = []
_TURN = [threading.Lock()]


def temporary_folder() -> Path:
    """The folder of this process, with mode 700, made at its first use and removed at its end.

    Guarantee: as long as the process lives, no other one removes it; after that, the next one that calls this does, whatever
    the first one died of.
    """
    with _TURN[0]:
        whose = tempfile.gettempdir(), _user()
        if not (_OWN and _OWN[0].whose == whose and _OWN[0].folder.is_dir()):
            _OWN[:] = [_made(whose)]
            atexit.register(_leave, _OWN[0])
        return _OWN[0].folder


def leave_temporary_folder() -> None:
    """Remove it now: for a process that a signal will end, before anything else is done at its end."""
    with _TURN[0]:
        for own in _OWN:
            _leave(own)
        _OWN.clear()


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _made(whose: tuple[str, int]) -> _Own:
    base, user = whose
    if fcntl is not None:
        parent = Path(base) / f"duotone-{user}"
        for _ in range(TRIES):
            try:
                folder, descriptor = _inside(parent)
            except FileNotFoundError:  # whoever ends last removes the parent
                continue
            except OSError:
                break
            return _Own(folder, descriptor, os.getpid(), whose)
    return _Own(Path(tempfile.mkdtemp(prefix="duotone-", dir=base)), None, os.getpid(), whose)


def _inside(parent: Path) -> tuple[Path, int]:
    """A new folder in the parent, locked; OSError where the parent is not ours alone, or is being removed."""
    with suppress(FileExistsError):
        parent.mkdir(mode=0o700)
    turn = _opened(parent)
    try:
        status = os.fstat(turn)
        if status.st_uid != _user() or stat.S_IMODE(status.st_mode) & 0o077:
            raise PermissionError(f"{parent} is somebody else's, too")
        fcntl.flock(turn, fcntl.LOCK_EX)
        if os.stat(parent).st_ino != status.st_ino:
            raise FileNotFoundError(parent)
        for other in parent.iterdir():
            _remove_if_dead(other)
        folder = Path(tempfile.mkdtemp(dir=parent))
        descriptor = _opened(folder)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return folder, descriptor
    finally:
        os.close(turn)


def _opened(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _remove_if_dead(folder: Path) -> None:
    with suppress(OSError):  # it is no folder, or its process lives
        descriptor = _opened(folder)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(descriptor)


def _leave(own: _Own) -> None:
    """At the end of the process that made it: not at that of one that was forked from it."""
    if own.process == os.getpid():
        shutil.rmtree(own.folder, ignore_errors=True)
        if own.descriptor is not None:
            with suppress(OSError):  # others are in the parent
                own.folder.parent.rmdir()


def _in_child() -> None:
    """A process that was forked has a folder of its own; the lock may have been held by a thread that it does not have."""
    _OWN.clear()
    _TURN[:] = [threading.Lock()]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
