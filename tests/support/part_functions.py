"""Functions of a part's data frame, for parts: honest ones, and ones that try to leave something behind, or to get out."""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

SEEN: list[Any] = []
"""What a part would remember of an earlier one."""
LEFT = "/var/tmp/duotone-left-behind"


def longer(frame: Any) -> bool:
    return bool(frame["days"].mean() > 5)


def everybody(frame: Any) -> bool:
    return len(frame) >= 0


def has_no_clock(frame: Any) -> bool:
    """Whether no way of asking for the time says more than another one, and what waits comes back."""
    before = time.time(), time.monotonic(), time.perf_counter(), time.clock_gettime(time.CLOCK_BOOTTIME)
    time.sleep(0.05)
    threading.Event().wait(0.05)
    after = time.time(), time.monotonic(), time.perf_counter(), time.clock_gettime(time.CLOCK_BOOTTIME)
    room = ctypes.create_string_buffer(16)
    asked = [
        ctypes.CDLL(None).syscall(number, *rest) for number, rest in ((228, (0, room)), (96, (room, None)), (201, (None,)))
    ]
    return before == after == (1e9, 1.0, 1.0, 1.0) and asked == [-1] * 3


def numpy_yes(frame: Any) -> Any:
    return frame["days"].mean() > -1


def one(frame: Any) -> Any:
    return 1


def word(frame: Any) -> Any:
    return "True"


def nothing(frame: Any) -> Any:
    return None


def raises(frame: Any) -> Any:
    raise ValueError(frame.to_string())


def leaves(frame: Any) -> Any:
    sys.exit(0)


def prints(frame: Any) -> Any:
    print(frame.to_string())
    print(frame.to_string(), file=sys.stderr)
    os.write(1, b"yes")
    return False


def sleeps(frame: Any) -> Any:
    time.sleep(600)
    return True


def spins(frame: Any) -> Any:
    while True:
        pass


def ignores_signals_and_spins(frame: Any) -> Any:
    for number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    while True:
        pass


def allocates(frame: Any) -> Any:
    kept = []
    while True:
        kept.append(bytearray(2**26))


def crashes(frame: Any) -> Any:
    ctypes.string_at(0)
    return True


def remembers(frame: Any) -> bool:
    """A yes to every part but the first, if anything is remembered."""
    before = list(SEEN)
    SEEN.append(len(frame))
    return bool(before)


def _in_spite_of(*ways: Callable[[], object]) -> bool:
    """Whether any of these can be done: each is tried."""
    done = False
    for way in ways:
        try:
            way()
            done = True
        except BaseException:
            continue
    return done


def _made(path: str) -> None:
    Path(path).write_text("left", encoding="utf-8")


def writes(frame: Any) -> bool:
    """To the disk, to its own folder, to what processes share, to a file's times and rights."""
    own = Path(__file__)
    return _in_spite_of(
        *(
            lambda place=place: _made(place)
            for place in (LEFT, "left", f"{tempfile.gettempdir()}/left", "/dev/shm/left", f"{own}.left")
        ),
        lambda: os.mkdir("left"),
        lambda: os.mkdir(LEFT),
        lambda: os.symlink("left", LEFT),
        lambda: os.mkfifo(LEFT),
        lambda: shared_memory.SharedMemory("left", create=True, size=8),
        lambda: os.utime(own, (1, 1)),
        lambda: os.utime(os.__file__, (1, 1)),
        lambda: os.chmod(own, 0o700),
        lambda: os.chmod(os.__file__, 0o600),
        lambda: os.setxattr(os.__file__, "user.left", b"left"),
        lambda: os.remove(own),
        lambda: os.truncate(own, 0),
        lambda: os.memfd_create("left"),
        lambda: shutil.rmtree(Path(os.__file__).parent / "this"),
    )


def starts(frame: Any) -> bool:
    """Processes that would outlive it."""
    return _in_spite_of(
        os.fork,
        os.forkpty,
        lambda: subprocess.run(["/bin/true"], check=True),
        lambda: os.posix_spawn("/bin/true", ["true"], {}),
        lambda: os.execv(sys.executable, ["python", "-c", "pass"]),
    )


def kills(frame: Any) -> bool:
    """Its parent, its session, everybody."""
    targets = (os.getppid(), 0, -1)
    return _in_spite_of(
        *(lambda target=target: os.kill(target, signal.SIGKILL) for target in targets),
        lambda: os.killpg(0, signal.SIGKILL),
        lambda: os.setsid(),
        lambda: signal.pidfd_send_signal(os.pidfd_open(os.getppid()), signal.SIGKILL),
        lambda: _called("ptrace", 16, os.getppid(), 0, 0),
        lambda: _called("kill", os.getppid(), 9),
    )


def _called(name: str, *arguments: int) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


def talks(frame: Any) -> bool:
    """Over sockets, and by what the kernel keeps for processes."""
    return _in_spite_of(
        lambda: socket.create_connection(("127.0.0.1", 9), 1),
        lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        lambda: socket.socket(socket.AF_UNIX),
        lambda: _called("shmget", 12345, 4096, 0o1666),
        lambda: _called("msgget", 12345, 0o1666),
        lambda: _called("semget", 12345, 1, 0o1666),
        lambda: _called("syscall", 248, 0, 0, 0, 0),  # add_key
        lambda: _called("syscall", 425, 8, 0),  # io_uring_setup
    )


def looks(frame: Any) -> bool:
    """For other files than Python's own, and for other processes."""
    folders = ("/etc/passwd", "/tmp", "/home", "/proc/self", "/sys", f"{__file__}.csv")
    files = ("/etc/passwd", "/proc/1/environ", "/proc/self/environ", "/dev/sda")
    found = _in_spite_of(
        *(lambda place=place: os.stat(place) for place in folders),
        *(lambda place=place: Path(place).read_bytes() for place in files),
        lambda: os.listdir(tempfile.gettempdir()),
        lambda: os.getloadavg(),
        lambda: _called("sysinfo", 0),
    )
    return found or any("SECRET" in name for name in os.environ)


def unlocks(frame: Any) -> bool:
    """Out of the lock."""
    import resource

    return _in_spite_of(
        lambda: os.chroot("/"),
        lambda: _called("unshare", 0x10000000),
        lambda: _called("mount", 0, 0, 0, 0),
        lambda: _called("setuid", 1),
        lambda: resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)),
        lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1, 1)),
        lambda: os.nice(-1),
        lambda: mmap.mmap(-1, 4096),  # shared, and counted nowhere
        lambda: os.sched_setaffinity(0, {0}),
    )


def has_threads(frame: Any) -> bool:
    """What is allowed: threads, and memory of its own."""
    counted: list[int] = []
    thread = threading.Thread(target=lambda: counted.append(len(frame)))
    thread.start()
    thread.join()
    return counted == [len(frame)]
