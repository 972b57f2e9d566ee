"""The machine: its cores, its memory, its temporary folders, and a progress bar for long work."""

from __future__ import annotations

import atexit
import ctypes
import os
import re
import shutil
import stat
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError

try:
    import fcntl
except ImportError:  # Windows, where a user's temporary folder is private
    fcntl = None  # type: ignore[assignment]

PIECES = 4
"""Pieces of work per core: enough to balance the cores, few enough to cost nothing."""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def everywhere(
    work: Callable[..., Any], size: int, *arguments: Any, least: int = 2**17, advance: Callable[[int], None] | None = None
) -> list[Any]:
    """Run work(*arguments, start, stop) over 0 … size in pieces, on every core; returns the results in order.

    The work releases Python's lock (`nogil`). A piece is a multiple of `least`; `advance` gets the size of each
    finished one.
    """
    piece = -(-size // (cores() * PIECES * least)) * least
    parts = [(work, arguments, start, min(start + piece, size), advance) for start in range(0, size, piece)]
    if len(parts) == 1 or cores() == 1:
        return [_piece(*part) for part in parts]
    tasks = [_pool(os.getpid()).submit(_piece, *part) for part in parts]
    try:
        return [task.result() for task in tasks]
    except BaseException:
        for task in tasks:
            task.cancel()
        wait(tasks)
        raise


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads are not inherited by a fork, so each process has its own pool."""
    return ThreadPoolExecutor(cores(), thread_name_prefix=f"duotone-{process}")


def _piece(
    work: Callable[..., Any], arguments: tuple[Any, ...], start: int, stop: int, advance: Callable[[int], None] | None
) -> Any:
    result = work(*arguments, start, stop)
    if advance is not None:
        advance(stop - start)
    return result


_OPEN: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
"""By identity: Ibis calls all connections to memory equal, and a set would keep the first alone."""


def keep_in_child(connection: Any) -> None:
    """Keep a connection that a forked child must never finalise, even at its exit: it belongs to its parent."""
    _OPEN[id(connection)] = connection


def _keep() -> None:
    for connection in list(_OPEN.values()):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


os.register_at_fork(after_in_child=_keep)


def free_memory() -> int:
    """The bytes that this process may still take without swapping."""
    # psutil 7.2 reads /proc/meminfo too and ignores cgroups: in a container it returns the free memory of the whole machine.
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else sys.maxsize
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            fields = dict(line.split(":") for line in lines)
        free = int(fields["MemAvailable"].split()[0]) * 1024
        top, used = (int(Path(f"/sys/fs/cgroup/memory.{name}").read_text()) for name in ("max", "current"))
        return min(free, top - used)
    except (OSError, KeyError, ValueError):  # no such file on this system, or no limit
        return free


@dataclass(frozen=True)
class EngineLimits:
    """Limits of an engine inside the process: bytes of memory, threads, and bytes of disk."""

    memory: int
    threads: int
    spill: int


SPILL = 64 * 2**30


def machine_limits() -> EngineLimits:
    """The default limits: half of the machine's memory, and all of its cores."""
    return EngineLimits(memory() // 2, cores(), SPILL)


_LIMITS: ContextVar[EngineLimits | None] = ContextVar("_LIMITS", default=None)


def engine_limits() -> EngineLimits:
    """The limits of the current block, or of the machine."""
    return _LIMITS.get() or machine_limits()


_CHECK: ContextVar[Callable[[Any], None] | None] = ContextVar("_CHECK", default=None)


def further_check(question: Any) -> None:
    """Apply the current block's `check` to a question."""
    check = _CHECK.get()
    if check is not None:
        check(question)


@contextmanager
def limited(limits: EngineLimits, check: Callable[[Any], None] | None = None) -> Iterator[None]:
    """Set limits for engines that are opened, and questions that are checked, in the block. `check` refuses further
    questions, before anything is done with their text, even their trial."""
    before, checked_before = _LIMITS.set(limits), _CHECK.set(check)
    try:
        yield
    finally:
        _LIMITS.reset(before)
        _CHECK.reset(checked_before)


def memory() -> int:
    """The bytes of memory of the machine, or of its container."""
    every = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 8 * 2**30
    try:
        return min(every, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no such file on this system, or no limit
        return every


def must_fit(need: int, what: str) -> None:
    """Refuse work that would not fit into memory, before it starts.

    >>> must_fit(2**60, "the levels of 60 voters")
    Traceback (most recent call last):
    duotone.errors.DuotoneError: the levels of 60 voters need 1073741824.0 GiB of memory, more than the ... GiB that are free
    """
    free = free_memory()
    if not need <= free:
        raise DuotoneError(f"{what} need {need / 2**30:.1f} GiB of memory, more than the {free / 2**30:.1f} GiB that are free")


@contextmanager
def progress(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """A progress bar with the time left, on standard error and only on a terminal; call the returned function with each
    amount done."""
    if not sys.stderr.isatty() or find_spec("rich") is None:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)


def literal_path(path: Path) -> str:
    """A path for an engine that treats *, ? and [ as patterns: this file and no other.

    >>> literal_path(Path("visits[1]*.csv"))
    'visits[[]1][*].csv'
    """
    return re.sub(r"[*?\[]", r"[\g<0>]", str(path))


TRIES = 100
"""Attempts to create a folder within one that the user's other processes may remove."""


@dataclass(frozen=True)
class _Own:
    """This process's folder, and the descriptor whose lock shows that it lives."""

    folder: Path
    descriptor: int | None
    process: int
    whose: tuple[str, int]
    """Where temporary files were before, and the user of the process, which may give up its rights."""


_OWN: list[_Own] = []
_TURN = [threading.Lock()]


def temporary_folder() -> Path:
    """The folder of this process, with mode 700, created at its first use and removed at its end.

    Guarantee: as long as the process lives, no other one removes it; after that, the next one that calls this does,
    however the first one ended.
    """
    with _TURN[0]:
        whose = tempfile.gettempdir(), _user()
        if not (_OWN and _OWN[0].whose == whose and _OWN[0].folder.is_dir()):
            _OWN[:] = [_made(whose)]
            atexit.register(_leave, _OWN[0])
        return _OWN[0].folder


def leave_temporary_folder() -> None:
    """Remove the folder now: for a process that a signal will end, as the first step of ending."""
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
            except FileNotFoundError:  # the last process removes the parent
                continue
            except OSError:
                break
            return _Own(folder, descriptor, os.getpid(), whose)
    return _Own(Path(tempfile.mkdtemp(prefix="duotone-", dir=base)), None, os.getpid(), whose)


def _inside(parent: Path) -> tuple[Path, int]:
    """A new, locked folder in the parent; OSError if the parent is not ours alone, or is being removed."""
    with suppress(FileExistsError):
        parent.mkdir(mode=0o700)
    turn = _opened(parent)
    try:
        status = os.fstat(turn)
        if status.st_uid != _user() or stat.S_IMODE(status.st_mode) & 0o077:
            raise PermissionError(f"{parent} belongs to another user")
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
    with suppress(OSError):  # not a folder, or its process lives
        descriptor = _opened(folder)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(descriptor)


def _leave(own: _Own) -> None:
    """At the end of the process that created it, not of a fork."""
    if own.process == os.getpid():
        shutil.rmtree(own.folder, ignore_errors=True)
        if own.descriptor is not None:
            with suppress(OSError):  # others are in the parent
                own.folder.parent.rmdir()


def _in_child() -> None:
    """Give a forked process a folder of its own; the lock may be held by a thread that the fork does not have."""
    _OWN.clear()
    _TURN[:] = [threading.Lock()]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
