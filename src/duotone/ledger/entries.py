"""A ledger's entries: their fields, and how each is chained to the one before.

The meaning of an entry never changes: a later version may write other kinds of entry, and reads these as they are.
Every entry of a dataset carries the state after it (`after`). Once a dataset has allowances, its charges also carry the
asker's sums. A charge with close calls may reserve some (`calls`), and its answer says how many occurred. A `member`
is a dataset that is charged to another, its population: entries of its charges are the population's, and name it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any

from duotone.errors import DuotoneError, LedgerError
from duotone.ledger.stores import Entries, Row
from duotone.ledger.sums import Prices, Spent, Taken, read_taken
from duotone.privacy.renyi import RenyiDP
from duotone.privacy.text import read_either

VERSION = 1
"""The version of every entry."""
LONGEST_LABEL, LONGEST_ANSWER = 200, 2**26
"""Most characters of a name, and of an answer written as JSON."""
DEEPEST = 64
"""Most nested lists of an answer: deeper JSON can be written, but not always read."""
LEDGER = ""
"""The dataset of an entry about the ledger itself: no dataset has this name."""
OF_LEDGER = ("clock", "standbys", "head")
"""Kinds of entry about the ledger itself."""
REMEMBERED = 20_000
"""Up to this many characters, an entry's contents are cached for a while."""
DAMAGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""Errors that reading a forged entry may raise."""

Body = Mapping[str, Any]
_FIELDS: Mapping[str, Mapping[str, type]] = {
    "register": {"version": str, "budget": str, "unit": str, "neighbours": str, "account": str, "after": dict},
    "version": {"version": str, "after": dict},
    "member": {"member": str, "version": str, "filed": str, "after": dict},
    "charge": {
        "version": str, "question": str, "notion": str, "boundary": str, "answers": int, "key": str, "again": object,
        "after": dict,
    },
    "answer": {"key": str, "charge": int, "answer": object, "after": dict},
    "asker": {"asker": str, "filed": str, "asker_spent": dict, "after": dict},
    "allowance": {"asker": str, "filed": str, "budget": str, "after": dict},
    "close": {"after": dict},
    "clock": {"before": str, "by": str},
    "standbys": {"words": str, "by": str},
    "head": {"place": str, "by": str},
}  # fmt: skip
_OF_ASKER: Mapping[str, type] = {"by": str, "filed": str, "asker_spent": dict, "allowance": int}
"""Further fields of a charge with allowances."""
_BY_CALLS: Mapping[str, Mapping[str, type]] = {
    "register": {"close_calls": dict},
    "charge": {"calls": int},
    "answer": {"calls": int, "reserved": int},
}
"""Further fields of a registration with close calls, and of a charge and its answer that reserved some."""
_AFTER, _AFTER_CALLS = {"version", "charges", "answers", "allowances", "closed", "spent"}, {"calls", "reserved"}
"""Fields of the state, and further ones with close calls."""
_LABELS = ("version", "unit", "neighbours", "by", "asker", "member")


@dataclass(frozen=True)
class Calls:
    """Close calls: how many occurred, and how many are reserved for answers under way, or lost."""

    used: int = 0
    reserved: int = 0

    @property
    def taken(self) -> int:
        """Those that are not left."""
        return self.used + self.reserved

    def after(self, body: Body) -> Calls:
        """The state after one more entry."""
        if "calls" not in body:
            return self
        if body["kind"] == "charge":
            return replace(self, reserved=self.reserved + body["calls"])
        if not 0 <= body["calls"] <= body["reserved"] <= self.reserved:
            raise DuotoneError("an answer has no more close calls than were reserved for it")
        return Calls(self.used + body["calls"], self.reserved - body["reserved"])


@dataclass(frozen=True)
class State:
    """A dataset after an entry: its version, and its charges. Every entry carries it, so that no earlier one need be
    read."""

    version: str = ""
    spent: Taken = field(default_factory=Spent)
    """The sums of charges."""
    charges: int = 0
    answers: int = 0
    allowances: bool = False
    """Whether some asker has an allowance: then every charge names its asker, and their spending."""
    closed: bool = False
    """Whether nothing more may be charged."""
    calls: Calls | None = None
    """The close calls, if they are counted."""

    @property
    def unanswered(self) -> int:
        """Charges without an answer: wasted by a crash, or under way."""
        return self.charges - self.answers

    def after(self, body: Body) -> State:
        """The state after one more entry, from what the entry charges and not from what it carries."""
        kind, spent = body["kind"], self.spent.bounded()
        if self.closed and kind != "answer":
            raise DuotoneError("a closed dataset has no more entries but answers to its charges")
        if self.calls is not None and kind in ("asker", "allowance"):
            raise DuotoneError("close calls are counted for all askers together")
        calls = self.calls.after(body) if self.calls is not None else None
        match kind:
            case "charge":
                if ("filed" in body) != self.allowances:
                    raise DuotoneError("a charge carries its asker's sums where there are allowances, and only there")
                if "calls" not in body:
                    spent = self.spent.plus(read_either(body["notion"]), body["answers"])
                return replace(self, spent=spent, charges=self.charges + 1, calls=calls)
            case "answer":
                return replace(self, spent=spent, answers=self.answers + 1, calls=calls)
            case "register":
                calls = Calls() if "close_calls" in body else None
                return replace(self, version=body["version"], spent=nothing_of(body), calls=calls)
            case "version":
                return replace(self, spent=spent, version=body["version"])
            case "asker" | "allowance":
                return replace(self, spent=spent, allowances=True)
            case "member":
                return replace(self, spent=spent)
            case "close":
                return replace(self, spent=spent, closed=True)
        raise DuotoneError(f"an entry of kind {kind} changes no dataset")

    def written(self) -> dict[str, Any]:
        """As an entry carries it."""
        counts = {"charges": self.charges, "answers": self.answers}
        counts |= {} if self.calls is None else {"calls": self.calls.used, "reserved": self.calls.reserved}
        flags = {"allowances": self.allowances, "closed": self.closed}
        return {"version": self.version, **counts, **flags, "spent": self.spent.bounded().written()}

    @classmethod
    def of(cls, body: Body) -> State:
        """Read what an entry carries."""
        after = body["after"]
        flags, counts = (after["allowances"], after["closed"]), [after["charges"], after["answers"]]
        called = "calls" in after
        counts += [after["calls"], after["reserved"]] if called else []
        whole = all(type(n) is int and n >= 0 for n in counts) and all(type(flag) is bool for flag in flags)
        if not (whole and is_label(after["version"]) and after.keys() == (_AFTER | _AFTER_CALLS if called else _AFTER)):
            raise DuotoneError("this is not what an entry carries")
        calls = Calls(*counts[2:]) if called else None
        return cls(after["version"], read_taken(after["spent"]), after["charges"], after["answers"], *flags, calls)


def is_label(text: object) -> bool:
    """Whether this may name a dataset, a version, a unit or a person: a short printable text."""
    return isinstance(text, str) and 0 < len(text) <= LONGEST_LABEL and text.isprintable()


def label(text: str, name: str) -> str:
    """A text that may be a label; anything else is an error."""
    if not is_label(text):
        raise DuotoneError(f"a {name} is a short printable text, got {text!r:.60}")
    return text


def nothing_of(body: Body) -> Taken:
    """The sums of a newly registered dataset: nothing, in the form of its account."""
    if body["account"] != "renyi":
        return Spent()
    prices = read_either(body["prices"])
    if not isinstance(prices, RenyiDP):
        raise DuotoneError("an account renyi has prices of one order")
    return Prices(prices.order)


def signed(by: str | None) -> dict[str, str]:
    """The field for an entry's author, if given."""
    return {} if by is None else {"by": label(by, "name")}


def answer_text(answer: Any) -> str:
    """An answer as it is recorded. Whether that is possible depends only on the answer, which is private itself."""
    try:
        text = json.dumps(answer, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise DuotoneError("an answer must be a value that JSON can hold; the charge stands, nothing was released") from None
    if not _depth(answer) <= DEEPEST:
        raise DuotoneError(
            f"an answer to be recorded has at most {DEEPEST} lists within lists; the charge stands, nothing was released"
        )
    if not len(text) <= LONGEST_ANSWER:
        raise DuotoneError(
            f"an answer to be recorded has at most {LONGEST_ANSWER} characters as JSON, got {len(text)}; the charge stands, "
            "nothing was released"
        )
    return text


def _depth(answer: Any) -> int:
    """The depth of nested lists and objects."""
    depth, inside = 0, [answer]
    while inside := [
        v for x in inside if isinstance(x, dict | list | tuple) for v in (x.values() if isinstance(x, dict) else x)
    ]:
        depth += 1
    return depth


def canonical(body: Body) -> str:
    """The only way to write a body: sorted keys, no spaces, no NaN."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(previous: str, seq: int, body: str) -> str:
    """The hash of an entry, which covers the hash of the one before."""
    return sha256(f"{previous}\n{seq}\n{body}".encode()).hexdigest()


def row_of(previous: str, seq: int, body: Body) -> Row:
    """An entry as it is stored."""
    text = canonical(body)
    return Row(seq, *_columns(body), text, digest(previous, seq, text))


def _columns(body: Body) -> tuple[str, str, str]:
    """What an entry is searched by."""
    return body["dataset"], body["kind"], body.get("filed", body.get("key", ""))


def key_of(dataset: str, version: str, body: Body, about: tuple[str, str]) -> str:
    """The key by which two questions are the same."""
    same = [dataset, version, body["question"], body["notion"], body["boundary"], body["answers"], *about]
    return sha256(canonical({"same": same}).encode()).hexdigest()


def member_key(name: str) -> str:
    """The key of a member's entries: the last one says its population, and its version."""
    return sha256(canonical({"member": [name]}).encode()).hexdigest()


def intact(entries: Entries, row: Row) -> Body:
    """Check an entry that is relied on: its hash must be right, after the one before it, and its columns must be what
    it says."""
    before = entries.at(row.seq - 1)
    if digest(before.hash if before is not None else "", row.seq, row.body) != row.hash:
        raise damaged(row)
    body = decoded(row)
    if (row.dataset, row.kind, row.question) != _columns(body):
        raise damaged(row)
    return body


def loaded(row: Row) -> dict[str, Any]:
    """An entry's JSON object; an error if it is none."""
    body = _object(row.body)
    if body is None or not isinstance(row.hash, str):
        raise damaged(row)
    return body


def decoded(row: Row) -> Body:
    """An entry with every field of its kind, each of its type; anything else is an error."""
    short = isinstance(row.body, str) and len(row.body) <= REMEMBERED
    body = _decoded(row.body) if short else _checked(_object(row.body))
    if body is None:
        raise damaged(row)
    return body


def _object(text: object) -> dict[str, Any] | None:
    try:
        body = json.loads(text, parse_constant=_no_number) if isinstance(text, str) else None
    except DAMAGE:
        return None
    return body if isinstance(body, dict) else None


@lru_cache(maxsize=64)
def _decoded(text: str) -> Body | None:
    """Recent entries are cached: a charge reads the entries before it several times."""
    return _checked(_object(text))


def _checked(body: dict[str, Any] | None) -> Body | None:
    """The body, if it is that of an entry; None otherwise."""
    kind, v = (body.get("kind"), body.get("v")) if body is not None else (None, None)
    if body is None or not (isinstance(kind, str) and kind in _FIELDS and type(v) is int and v == VERSION):
        return None
    fields, by_calls = dict(_FIELDS[kind]), {"calls", "reserved", "close_calls"} & body.keys()
    fields |= _OF_ASKER if kind == "charge" and "filed" in body else {}
    fields |= _BY_CALLS.get(kind, {}) if by_calls else {}
    if not by_calls <= fields.keys() or ("filed" in body) != ("filed" in fields) or (by_calls and "filed" in body):
        return None
    typed = all(name in body and (form is object or type(body[name]) is form) for name, form in fields.items())
    labels = all(is_label(body[name]) for name in _LABELS if name in body)
    named = body.get("dataset") == LEDGER if kind in OF_LEDGER else is_label(body.get("dataset"))
    charges = typed and (kind != "charge" or (body["answers"] >= 1 and body.get("calls", 1) >= 1))
    return body if charges and labels and named and _dated(body.get("at")) else None


@contextmanager
def damage_as_error() -> Iterator[None]:
    """Turn unreadable parts of a ledger into a LedgerError."""
    try:
        yield
    except DuotoneError:
        raise
    except DAMAGE as error:
        raise LedgerError(f"the ledger is damaged ({type(error).__name__}): run verify; nothing was released") from None


def damaged(row: Row) -> LedgerError:
    """The error for an entry that cannot be read."""
    return LedgerError(f"entry {row.seq} of the ledger is damaged: run verify; nothing was released")


def at(body: Body) -> datetime:
    """When an entry was written."""
    return datetime.fromisoformat(body["at"])


def dated(row: Row) -> datetime | None:
    """When an entry was written, if it says so, whatever else is wrong with it."""
    body = _object(row.body)
    time = None if body is None else body.get("at")
    return datetime.fromisoformat(time) if isinstance(time, str) and _dated(time) else None


def _dated(text: object) -> bool:
    try:
        return isinstance(text, str) and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _no_number(text: str) -> None:
    raise ValueError(text)
