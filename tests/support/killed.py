"""Writers that are killed at random moments: `python killed.py FOLDER KILLS WRITERS SEED`.

Each writer first notes outside the ledger that its coin is being flipped (so the charge was reported as durable), and
then what it released. Afterwards the ledger must know every one of them.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from duotone import ApproxDP, Charge, balanced, open_ledger
from duotone.ledger.ledger import Ledger

SALE = Charge(balanced(ApproxDP("0.001")))


def write(ledger: Ledger, notes: int, name: str) -> None:
    """Ask forever."""
    count = 0

    def flip() -> bool:
        os.write(notes, b"flipped\n")
        return True

    while True:
        count += 1
        receipt = ledger.ask(
            "census", f"question {name} {count % 5}", SALE, flip, again=True, unit="person", neighbours="replace"
        )
        os.write(notes, f"released {receipt.charge}\n".encode())


def fork(ledger: Ledger, folder: Path, name: str) -> int:
    child = os.fork()
    if child:
        return child
    try:
        notes = os.open(folder / "notes", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        write(ledger, notes, name)
    finally:
        os._exit(1)


def wait_for_a_flip(folder: Path) -> None:
    """Wait until a writer has charged once more."""
    start = time.monotonic()
    with open(folder / "notes", "a+b") as notes:
        notes.seek(0, os.SEEK_END)
        while b"flipped" not in notes.read():
            assert time.monotonic() < start + 120, "nobody gets on"
            time.sleep(0.001)


def check(ledger: Ledger, folder: Path) -> dict[str, int]:
    """Compare the ledger with the notes."""
    verdict = ledger.verify()
    assert verdict.holds, verdict.problems
    entries = ledger.entries()
    charged = {entry["seq"] for entry in entries if entry["kind"] == "charge"}
    answered = {entry["charge"] for entry in entries if entry["kind"] == "answer"}
    notes = (folder / "notes").read_text().splitlines()
    flipped = notes.count("flipped")
    released = [int(line.split()[1]) for line in notes if line.startswith("released")]
    assert len(set(released)) == len(released) <= len(charged)
    assert set(released) <= answered <= charged
    assert len(answered) <= flipped <= len(charged)
    return {"charged": len(charged), "flipped": flipped, "answered": len(answered), "released": len(released)}


def main() -> None:
    folder, kills, writers, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    chance = random.Random(seed)
    ledger = open_ledger(folder / "budget.ledger")
    ledger.register("census", ApproxDP(8000), version="1", unit="person", neighbours="replace")
    ledger.close()
    alive = [fork(ledger, folder, str(i)) for i in range(writers)]
    for kill in range(kills):
        if chance.random() < 0.6:
            wait_for_a_flip(folder)  # so that much is charged between kills, also on a slow disk
        time.sleep(chance.choice((0, 0.005, 0.03)) * chance.random())
        victim = chance.randrange(writers)
        os.kill(alive[victim], signal.SIGKILL)
        os.waitpid(alive[victim], 0)
        if kill % 250 == 249:  # all dead at once: the next to open recovers the log
            for child in alive:
                if child != alive[victim]:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
            check(ledger, folder)
            ledger.close()
            alive = [fork(ledger, folder, str(i)) for i in range(writers)]
        else:
            alive[victim] = fork(ledger, folder, str(victim))
    for child in alive:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    print(json.dumps({"kills": kills, **check(ledger, folder)}))


if __name__ == "__main__":
    main()
