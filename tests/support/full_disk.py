"""Disks that are full: `python full_disk.py FOLDER RUNS SEED [ext4]`, with a file system of its own if allowed.

A disk with little room left (tmpfs, as root) or a limit on the size of files (elsewhere, and for half of the runs)
makes some write fail, a different one each time. Nothing may be released then, and with room again the ledger must
continue.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from duotone import ApproxDP, Charge, balanced, open_ledger
from duotone.errors import LedgerError
from duotone.ledger.ledger import Ledger

SALE = Charge(balanced(ApproxDP("0.001")))
SIZE = 1024 * 1024


@contextlib.contextmanager
def little_room(folder: Path, room: int) -> Iterator[None]:
    """Create a file that leaves `room` bytes of the file system."""
    filler = folder / "filler"
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    filler.write_bytes(bytes(max(0, free - room)))
    try:
        yield
    finally:
        filler.unlink()


@contextlib.contextmanager
def short_files(path: Path, room: int) -> Iterator[None]:
    """Limit files to `room` bytes more than the ledger's file has now."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + room, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def ask(ledger: Ledger, flips: list[int], padding: int) -> None:
    def flip() -> str:
        flips.append(1)
        return "x" * padding

    ledger.ask("census", "question " * 20, SALE, flip, again=True, unit="person", neighbours="replace")


def run(folder: Path, chance: random.Random, mounted: bool) -> tuple[str, int]:
    """One disk: the message when it was full, and how many answers were released before."""
    path = folder / "budget.ledger"
    ledger = open_ledger(path, wait=1)
    ledger.register("census", ApproxDP(8000), version="1", unit="person", neighbours="replace")
    flips: list[int] = []
    released, said = 0, ""
    room = chance.randrange(0, 160_000) if chance.random() < 0.5 else chance.randrange(8_000, 60_000)
    ledger.close()  # files beside an open ledger have to be created anew, when the disk is full
    with little_room(folder, room) if mounted else short_files(path, room):
        for _ in range(200):
            try:
                ask(ledger, flips, chance.choice((0, 4000)))
                released += 1
            except LedgerError as error:
                said = str(error)
                break
    ledger.close()
    charges = [entry for entry in ledger.entries() if entry["kind"] == "charge"]
    answers = [entry for entry in ledger.entries() if entry["kind"] == "answer"]
    assert ledger.verify().holds
    assert released <= len(answers) <= len(flips) <= len(charges)
    ask(ledger, flips, 0)
    assert ledger.verify().holds
    ledger.close()
    for file in folder.glob("budget*"):
        file.unlink()
    return said, released


def mount(folder: Path, small_blocks: bool) -> bool:
    """Mount a small file system in the folder, if allowed: in memory, or an ext4 with blocks of 1 KiB."""
    if os.geteuid() != 0:
        return False
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    if small_blocks:
        image = folder.with_name(folder.name + ".image")
        image.write_bytes(bytes(4 * SIZE))
        make = ["mkfs.ext4", "-q", "-b", "1024", "-m", "0", str(image)]
        if not shutil.which("mkfs.ext4") or subprocess.run(make, capture_output=True).returncode:
            return False
        command = ["mount", "-o", "loop", str(image), str(folder)]
    return subprocess.run(command, capture_output=True).returncode == 0


def main() -> None:
    folder, runs, chance = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    small_blocks = sys.argv[4:] == ["ext4"]
    mounted = mount(folder, small_blocks)
    try:
        found = [run(folder, chance, mounted and (small_blocks or i % 2 == 0)) for i in range(runs)]
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)
    full = [said for said, _ in found if "full" in said]
    print(json.dumps({"runs": runs, "full": len(full), "mounted": mounted, "said": sorted({s for s, _ in found})}))


if __name__ == "__main__":
    main()
