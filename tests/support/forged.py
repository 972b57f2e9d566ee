"""Entries that nobody wrote honestly: the next charge of a ledger, changed, and given to the append function of Postgres."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from duotone import Charge
from duotone.ledger.entries import row_of
from duotone.ledger.ledger import Ledger
from support.ledgers import ask, execute

CALL = "SELECT duotone_append(%s::integer, %s::text, %s::text, %s::text, %s::text, %s::text)"


def appended(url: str, last: dict[str, Any], body: dict[str, Any]) -> bool:
    """Whether the append function takes an entry, as an asker may give it one, without the ledger."""
    row = row_of(last["hash"], last["seq"] + 1, body)
    try:
        execute(url, CALL, row.seq, row.dataset, row.kind, row.question, row.body, row.hash)
    except Exception as refused:
        if getattr(refused, "sqlstate", None) not in ("DU001", "22P02"):
            raise
        return False
    return True


def without_place(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in ("seq", "hash")}


def next_charge(ledger: Ledger, charge: Charge, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The last entry of a ledger, and the charge that it would write next: an honest one, which is not written."""
    written: list[dict[str, Any]] = []

    class Stop(Exception):
        pass

    def chain(entries: Any, body: Any) -> int:
        written.append(json.loads(json.dumps(body)))
        raise Stop

    honest = ledger._chain
    ledger._chain = chain  # type: ignore[method-assign]
    try:
        with pytest.raises(Stop):
            ask(ledger, "next", charge, **more)
    finally:
        ledger._chain = honest  # type: ignore[method-assign]
    return ledger.entries()[-1], written[0]


def smaller(after: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same state with one number less than it is."""
    for name in ("charges", "answers"):
        for odd in (0, after[name] - 1, after[name] + 1):
            if odd != after[name]:
                yield {**after, name: odd}
    spent = after["spent"]
    for name, text in spent.items():
        if name == "answers":
            yield {**after, "spent": {**spent, name: text - 1}}
            yield {**after, "spent": {**spent, name: 0}}
            continue
        least = "1" if name == "exp_epsilon" else "0"
        for odd in (least, less(text)):
            if odd != text:
                yield {**after, "spent": {**spent, name: odd}}
    for name in spent:
        yield {**after, "spent": {other: value for other, value in spent.items() if other != name}}
    yield {**after, "version": "2"}
    yield {**after, "spent": {}}
    yield {}


def less(text: str, part: int = 10**60) -> str:
    """A little less, by much more than a rounding."""
    top, _, bottom = text.partition("/")
    value = Fraction(int(top), eval(bottom.replace("^", "**") or "1")) * (1 - Fraction(1, part))
    return f"{value.numerator}/{value.denominator}" if value.denominator > 1 else str(value)
