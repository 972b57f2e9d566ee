"""The lock on a part's process: after it, nothing can be written, sent, started or signalled, and no file be found but
Python's own.

Three layers, each of which stands where the others are missing. Namespaces, where the system permits them: a file tree
of Python's own folders and nothing else, no network, process numbers of its own. Landlock: no file outside these
folders is opened. A seccomp filter: only the system calls below, none of which outlives the process.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import site
import struct
import sys
import sysconfig
import time
from collections.abc import Collection, Iterable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

ARCHES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""The kernel's number of each architecture, and the place of its numbers in `CALLS`."""
CALLS = {
    "read": (0, 63), "readv": (19, 65), "pread64": (17, 67), "preadv": (295, 69), "write": (1, 64), "writev": (20, 66),
    "close": (3, 57), "lseek": (8, 62), "fcntl": (72, 25), "dup": (32, 23), "dup2": (33, -1), "dup3": (292, 24),
    "pipe": (22, -1), "pipe2": (293, 59), "poll": (7, -1), "ppoll": (271, 73), "select": (23, -1), "pselect6": (270, 72),
    "eventfd2": (290, 19), "epoll_create1": (291, 20), "epoll_ctl": (233, 21), "epoll_wait": (232, -1),
    "epoll_pwait": (281, 22), "access": (21, -1), "faccessat": (269, 48), "stat": (4, -1), "lstat": (6, -1),
    "fstat": (5, 80), "newfstatat": (262, 79), "statx": (332, 291), "readlink": (89, -1), "readlinkat": (267, 78),
    "getcwd": (79, 17), "getdents64": (217, 61), "munmap": (11, 215), "mprotect": (10, 226),
    "mremap": (25, 216), "madvise": (28, 233), "brk": (12, 214), "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132), "restart_syscall": (219, 128),
    "futex": (202, 98), "set_robust_list": (273, 99), "set_tid_address": (218, 96), "rseq": (334, 293),
    "membarrier": (324, 283), "sched_yield": (24, 124), "sched_getaffinity": (204, 123), "sched_getparam": (143, 121),
    "sched_getscheduler": (145, 120), "getcpu": (309, 168), "getpid": (39, 172), "getppid": (110, 173),
    "gettid": (186, 178), "getuid": (102, 174), "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177),
    "uname": (63, 160), "getrusage": (98, 165), "getrlimit": (97, 163), "times": (100, 153), "time": (201, -1),
    "gettimeofday": (96, 169), "clock_gettime": (228, 113), "clock_getres": (229, 114), "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115), "getrandom": (318, 278), "arch_prctl": (158, -1), "exit": (60, 93),
    "exit_group": (231, 94),
}  # fmt: skip
"""The system calls that a part may make, by their numbers on each architecture (−1: it has none). Not among them: what
writes, sends, starts, signals or traces, changes a file's times, or tells how busy the machine is."""
CLOCKS = "time", "gettimeofday", "clock_gettime"
"""Those of them that a part whose clock stands still does not need."""
STANDING = {
    "__vdso_clock_gettime": "31c0 ffc0 85ff 750a 48b8{now} 488906 48c7460800000000 31c0 c3",  # 1 for clocks but that of the day
    "__vdso_gettimeofday": "48b8{now} 4885ff 740b 488907 48c7470800000000 31c0 c3",
    "__vdso_time": "48b8{now} 4885ff 7403 488907 c3",
}
"""What tells the time on x86-64, without a system call, and code in its place that always says the same."""
OPEN, OPENAT, MMAP, CLONE, CLONE3 = (2, -1), (257, 56), (9, 222), (56, 220), (435, 435)
TGKILL, PRCTL, PRLIMIT = (234, 131), (157, 167), (302, 261)
"""System calls that a part may make with some arguments: to read a file, take memory that is its own alone, start a
thread, abort itself, name a thread, ask for its limits."""
SECCOMP, LANDLOCK = (317, 277), 444
WRITING = 0o1 | 0o2 | 0o100 | 0o1000
"""Flags of an opening that could write: write, read and write, create, truncate."""
THREAD, SET_NAME = 0x10000, 15
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
NOT_PERMITTED, NOT_THERE = 1, 38
SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo")
"""Folders of shared libraries and of time zones."""
NEW = 0x10000000 | 0x20000000 | 0x00020000 | 0x40000000 | 0x08000000 | 0x04000000
"""New namespaces: of users, processes, files, network, shared memory, names."""
RESERVED = 2**33
"""Addresses that libraries may reserve without using them."""
BIND, PRIVATE, RECURSIVE, NO_SUID, NO_DEVICES = 4096, 1 << 18, 16384, 2, 4
LINUX = sys.platform == "linux"
_C = ctypes.CDLL(None, use_errno=True) if LINUX else None


def own_folders() -> list[str]:
    """The folders that hold Python's libraries, and shared ones; none of them holds data."""
    paths = sysconfig.get_paths()
    known = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    known |= {f"{prefix}/lib" for prefix in (sys.base_prefix, sys.base_exec_prefix)}
    known |= {entry for entry in (*sys.path, *site.getsitepackages()) if entry.endswith(("site-packages", "dist-packages"))}
    folders = sorted({os.path.realpath(folder) for folder in (*known, *SYSTEM) if os.path.isdir(folder)})
    return [one for one in folders if not any(one.startswith(f"{other}/") for other in folders)]


def hide(folders: Iterable[str], files: Iterable[str], root: str) -> bool:
    """In namespaces of its own, make a file tree with these folders and copies of these files; False where the system does
    not permit that. The caller's child is then the first process of its numbers, and enters the tree."""
    if _C is None:
        return False
    user, group = os.getuid(), os.getgid()
    if _C.unshare(NEW) != 0:
        return False
    for name, value in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path("/proc/self", name).write_text(value, encoding="ascii")
    _mounted(None, "/", None, RECURSIVE | PRIVATE)
    _mounted(b"tmpfs", root, b"tmpfs", NO_SUID | NO_DEVICES)
    for folder in folders:
        os.makedirs(f"{root}{folder}")
        _mounted(folder.encode(), f"{root}{folder}", None, BIND | RECURSIVE)
    for link in SYSTEM:
        if os.path.islink(link) and not os.path.lexists(f"{root}{link}"):
            os.symlink(os.readlink(link), f"{root}{link}")
    for file in files:
        os.makedirs(os.path.dirname(f"{root}{file}"), exist_ok=True)
        shutil.copyfile(file, f"{root}{file}")
    return True


def _mounted(what: bytes | None, where: str, kind: bytes | None, flags: int) -> None:
    if _C is None or _C.mount(what, where.encode(), kind, ctypes.c_ulong(flags), None) != 0:
        raise OSError(ctypes.get_errno(), "mount")


def fence(folders: Iterable[str], files: Iterable[str], listed: Iterable[str]) -> bool:
    """By Landlock, for this thread and those that it starts: only what is in these folders, and these files, can be
    opened, for reading alone, and names in other folders be listed; False where the kernel has none."""
    if _C is None:
        return False
    version = _C.syscall(LANDLOCK, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if version < 1:
        return False
    handled = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    words = (handled, 3 if version >= 4 else 0, 3 if version >= 6 else 0)  # files; binding and connecting; sockets, signals
    rules = struct.pack("=QQQ", *words)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = _C.syscall(LANDLOCK, rules, ctypes.c_size_t(len(rules)), ctypes.c_uint(0))
    execute, read, folder = 1, 4, 8
    every = (dict.fromkeys(folders, execute | read | folder), dict.fromkeys(files, read), dict.fromkeys(listed, folder))
    for path, rights in (rule for rules_of in every for rule in rules_of.items()):
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        added = _C.syscall(LANDLOCK + 1, ruleset, 1, struct.pack("=Qi", rights, opened), ctypes.c_uint(0))
        os.close(opened)
        if added != 0:
            return False
    alone = _C.prctl(38, 1, 0, 0, 0) == 0 and _C.syscall(LANDLOCK + 2, ruleset, ctypes.c_uint(0)) == 0
    os.close(ruleset)
    return bool(alone)


def memory_of_this() -> BinaryIO | None:
    """The file in which the kernel says how much memory this process has, opened while it can still be found."""
    return open("/proc/self/statm", "rb", buffering=0) if LINUX else None


def limit(statm: BinaryIO | None, memory: int, seconds: int) -> None:
    """From here on at most these bytes of memory and seconds of the processor; no file is written, nothing is dumped.
    What was used before does not count."""
    import resource  # not on Windows, where no part is asked

    used = resource.getrusage(resource.RUSAGE_SELF)
    with statm or nullcontext() as file:
        pages = [0] * 6 if file is None else [int(field) for field in file.read().split()]
    room, data = (pages[field] * resource.getpagesize() + memory for field in (0, 5))
    ends = int(used.ru_utime + used.ru_stime) + 1 + seconds
    for name, most in (
        (resource.RLIMIT_DATA, data),
        (resource.RLIMIT_AS, room + RESERVED),
        (resource.RLIMIT_CPU, ends),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with nullcontext() if LINUX else suppress(ValueError, OSError):  # others do not have all of these
            resource.setrlimit(name, (most, most))


def stopped(now: int) -> bool:
    """From here on the clock of this process says this second: an earlier part that took long could else tell a later one so.
    False where that is not known how to do."""
    if not LINUX or platform.machine() != "x86_64":
        return False
    with suppress(OSError, AttributeError):
        clock = ctypes.CDLL("linux-vdso.so.1", mode=os.RTLD_NOLOAD)
        places = [ctypes.cast(getattr(clock, name), ctypes.c_void_p).value or 0 for name in STANDING]
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            for place, code in zip(places, STANDING.values(), strict=True):
                memory.seek(place)
                memory.write(bytes.fromhex(code.format(now=struct.pack("=q", now).hex())))
        return time.time_ns() == now * 10**9
    return False


def filtered(without: Collection[str] = ()) -> bool:
    """By seccomp, for all threads of this process: only the calls of `CALLS`, `without` some; False where the system has no
    filter."""
    arch = ARCHES.get(platform.machine())
    if _C is None or arch is None:
        return False
    program = _program(*arch, [call for name, call in CALLS.items() if name not in without])
    code = ctypes.create_string_buffer(b"".join(program))
    pointer = struct.pack("=HxxxxxxQ", len(program), ctypes.addressof(code))
    return bool(_C.prctl(38, 1, 0, 0, 0) == 0 and _C.syscall(SECCOMP[arch[1]], 1, ctypes.c_uint(1), pointer) == 0)


def _program(arch: int, place: int, calls: Iterable[tuple[int, int]]) -> list[bytes]:
    """The filter: each test allows and ends, or falls through to the next; what none allows is not permitted."""
    load, equal, any_bit, end = 0x20, 0x15, 0x45, 0x06
    number, machine = 0, 4

    def one(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
        return struct.pack("=HBBI", code, then, otherwise, value)

    def low(argument: int) -> bytes:
        return one(load, 16 + 8 * argument)

    allow, refuse = one(end, ALLOW), one(end, ERRNO | NOT_PERMITTED)
    steps = [one(load, machine), one(equal, arch, 1, 0), refuse, one(load, number)]
    for call in calls:
        if call[place] >= 0:
            steps += [one(equal, call[place], 0, 1), allow]
    for opening, argument in ((OPEN, 1), (OPENAT, 2)):
        if opening[place] >= 0:
            steps += [one(equal, opening[place], 0, 4), low(argument), one(any_bit, WRITING, 0, 1), refuse, allow]
    shared = [low(3), one(any_bit, 0x20, 0, 2), one(any_bit, 1, 0, 1)]  # memory without a file, which others may share
    steps += [one(equal, MMAP[place], 0, len(shared) + 2), *shared, refuse, allow]
    steps += [one(equal, CLONE[place], 0, 4), low(0), one(any_bit, THREAD, 1, 0), refuse, allow]
    steps += [one(equal, TGKILL[place], 0, 4), low(0), one(equal, os.getpid(), 1, 0), refuse, allow]
    steps += [one(equal, PRCTL[place], 0, 4), low(0), one(equal, SET_NAME, 1, 0), refuse, allow]
    unset = [low(2), one(equal, 0, 0, 2), one(load, 16 + 8 * 2 + 4), one(equal, 0, 1, 0)]  # no new limits: both halves are 0
    steps += [one(equal, PRLIMIT[place], 0, len(unset) + 2), *unset, refuse, allow]
    return [*steps, one(equal, CLONE3[place], 0, 1), one(end, ERRNO | NOT_THERE), refuse]
