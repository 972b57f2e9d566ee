"""A ledger's entries: what each says, how each is chained to the one before, and what they add up to.

The meaning of an entry never changes: a later version may write other kinds of entry, and reads these as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from duotone.budget import Rule, Tally, read
from duotone.errors import DuotoneError
from duotone.plan import rule_of
from duotone.stores import Row

Body = Mapping[str, Any]


@dataclass(frozen=True)
class State:
    """A dataset after an entry: its version, and what was charged. Every entry carries it, so that none need be re-read."""

    version: str = ""
    tally: Mapping[str, int] = field(default_factory=dict)
    charges: int = 0
    answers: int = 0

    @property
    def notions(self) -> Tally:
        """The tally by notion."""
        return {read(text): n for text, n in self.tally.items()}

    @property
    def unanswered(self) -> int:
        """Charges without an answer: wasted by a crash, or under way."""
        return self.charges - self.answers

    def after(self, body: Body) -> State:
        """The state after one more entry."""
        if body["kind"] == "charge":
            tally = {**self.tally, body["notion"]: self.tally.get(body["notion"], 0) + body["answers"]}
            return replace(self, tally=tally, charges=self.charges + 1)
        if body["kind"] == "answer":
            return replace(self, answers=self.answers + 1)
        if body["kind"] not in ("register", "version"):
            raise DuotoneError(f"there is no entry of kind {body['kind']}")
        return replace(self, version=body["version"])

    @classmethod
    def of(cls, row: Row) -> State:
        """What an entry carries."""
        return cls(**json.loads(row.body)["after"])


@dataclass(frozen=True)
class Verdict:
    """What `verify` found: how many entries, the hash of the last, and every entry that does not hold."""

    entries: int
    head: str
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Nothing was edited, removed or reordered."""
        return not self.problems


def canonical(body: Body) -> str:
    """The one way to write a body: keys in order, no spaces, no NaN."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(previous: str, seq: int, body: str) -> str:
    """The hash of an entry, which covers the hash of the one before."""
    return sha256(f"{previous}\n{seq}\n{body}".encode()).hexdigest()


def row_of(previous: str, seq: int, body: Body) -> Row:
    """An entry as it is stored."""
    text = canonical(body)
    return Row(seq, body["dataset"], body["kind"], body.get("key", ""), text, digest(previous, seq, text))


def verify(rows: Iterable[Row], head: tuple[int, str], kept: str | None = None) -> Verdict:
    """Whether every entry is as it was written, in its place, and adds up.

    The chain shows any entry edited, removed or moved, and the stored head a tail cut off. Someone who can write the
    whole ledger can also write a whole new chain: against that, keep a head elsewhere and give it as `kept`.

    >>> row = row_of("", 1, {"kind": "register", "dataset": "d", "version": "1", "after": {"version": "1", "tally": {}}})
    >>> verify([replace(row, seq=2)], (1, row.hash)).problems[0]
    'entry 1 is missing'
    """
    problems: list[str] = []
    seen = kept is None
    previous, count = "", 0
    books: dict[str, _Book] = {}
    for row in rows:
        while count + 1 < row.seq:
            count += 1
            problems.append(f"entry {count} is missing")
            if len(problems) > 100:
                return Verdict(count, previous, (*problems, "…"))
        count = row.seq
        if digest(previous, row.seq, row.body) != row.hash:
            problems.append(f"entry {row.seq} is not the one that was written after entry {row.seq - 1}")
        else:
            problems += _consistent(row, books)
        previous = row.hash
        seen = seen or row.hash == kept
    if (count, previous) != head:
        problems.append(f"the ledger ends at entry {count}, but its head is entry {head[0]} with another hash or number")
    if not seen:
        problems.append("no entry has the head that was kept: the chain was cut or written anew")
    return Verdict(count, previous, tuple(problems))


@dataclass
class _Book:
    """A dataset as its entries have it so far."""

    rule: Rule
    state: State
    about: tuple[str, str]
    open: dict[int, str]
    versions: set[str]


def key_of(dataset: str, version: str, body: Body, about: tuple[str, str]) -> str:
    """What decides whether two questions are the same."""
    same = [dataset, version, body["question"], body["notion"], body["boundary"], body["answers"], *about]
    return sha256(canonical({"same": same}).encode()).hexdigest()


def _belongs(row: Row, body: Body, book: _Book) -> bool:
    """Whether an entry follows from those before it."""
    match body["kind"]:
        case "register" | "version":
            known = body["version"] in book.versions
            book.versions.add(body["version"])
            return not known
        case "charge":
            book.open[row.seq] = body["key"]
            key = key_of(row.dataset, body["version"], body, book.about)
            whole = type(body["answers"]) is int and body["answers"] >= 1
            return bool(whole and body["version"] == book.state.version and body["key"] == key)
        case "answer":
            return bool(book.open.pop(body["charge"], None) == body["key"])
    return False


def _consistent(row: Row, books: dict[str, _Book]) -> list[str]:
    """What is wrong with an entry whose hash is right: columns that differ from it, or sums that do not add up."""
    try:
        body = json.loads(row.body)
        if row_of("", row.seq, body) != replace(row, hash=digest("", row.seq, row.body)):
            return [f"entry {row.seq} is filed under another dataset, kind or question than it says"]
        if body["kind"] == "register":
            if row.dataset in books:
                return [f"entry {row.seq} registers {row.dataset} a second time"]
            about = (body["unit"], body["neighbours"])
            books[row.dataset] = _Book(rule_of(read(body["budget"]), body), State(), about, {}, set())
        book = books[row.dataset]
        if not _belongs(row, body, book):
            return [f"entry {row.seq} does not make sense where it stands"]
        book.state = book.state.after(body)
        if book.state != State.of(row) or not book.rule.fits(book.state.notions):
            return [f"entry {row.seq} does not add up"]
    except (KeyError, TypeError, ValueError, AttributeError, DuotoneError):
        return [f"entry {row.seq} does not make sense where it stands"]
    return []
