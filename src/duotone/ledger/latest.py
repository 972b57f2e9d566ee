"""The end of a dataset's account, for who looks at it again and again: in a ledger of any length, only new entries are read."""

from __future__ import annotations

from duotone.ledger.account import ChargeRecord, charge_record
from duotone.ledger.entries import Body, State, decoded
from duotone.ledger.stores import Entries
from duotone.ledger.stores.store import CHUNK


def latest_charges(entries: Entries, dataset: str, many: int) -> list[ChargeRecord]:
    """The latest charges of a dataset, the last first, each with its answer.

    An answer stands after its charge, so those after the first of these charges are all that are looked at.
    """
    charges = entries.latest(dataset, "charge", many)
    answers: dict[int, Body] = {}
    after = charges[-1].seq if charges else 0
    while charges and (rows := entries.after(dataset, "answer", after)):
        answers |= {body["charge"]: body for body in map(decoded, rows)}
        after = rows[-1].seq
    bodies = ((row.seq, decoded(row)) for row in charges)
    return [charge_record(seq, body, State.of(body), answers.get(seq)) for seq, body in bodies]


class ClearAnswers:
    """Counts the clear answers of each dataset, which were free; each call goes on where the last one ended."""

    def __init__(self) -> None:
        self._counted: dict[str, tuple[int, str, int]] = {}
        """By dataset, the number and the hash of the last answer that was looked at, and how many were clear."""

    def of(self, entries: Entries, dataset: str) -> int:
        """The number of clear answers now; if the ledger was replaced, they are counted from the start."""
        after, digest, clear = self._counted.get(dataset, (0, "", 0))
        row = entries.at(after)
        if after and (row is None or row.hash != digest):
            after, digest, clear = 0, "", 0
        while rows := entries.after(dataset, "answer", after):
            for answer in (body for body in map(decoded, rows) if "calls" in body):
                charge = entries.at(answer["charge"])
                if charge is not None:
                    body = decoded(charge)
                    clear += charge_record(charge.seq, body, State.of(body), answer).clear
            after, digest = rows[-1].seq, rows[-1].hash
            if len(rows) < CHUNK:
                break
        self._counted[dataset] = after, digest, clear
        return clear
