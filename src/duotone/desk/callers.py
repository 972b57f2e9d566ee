"""Callers: who may do what, who acts for whom, and why a request is refused."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from duotone.errors import DuotoneError
from duotone.model.notice import Notice
from duotone.words.sentences import sentence

Role = Literal["owner", "analyst", "auditor"]


@dataclass(frozen=True)
class Person:
    """A person of the office. An owner sees the ledger and decides; an analyst asks about some datasets; an auditor
    reads and verifies the ledger, and sees no answers."""

    name: str
    role: Role
    datasets: tuple[str, ...] = ()
    """The datasets that an analyst may ask about."""

    def may_see(self, dataset: str) -> bool:
        """Whether this person may know that the dataset exists."""
        return self.role != "analyst" or dataset in self.datasets


@dataclass(frozen=True)
class Caller:
    """Who makes a request: a person, or an assistant on their behalf, which asks only what its person approved or
    allowed."""

    person: Person
    assistant: bool = False

    @property
    def name(self) -> str:
        """The person's name."""
        return self.person.name


def encrypted(address: str) -> bool:
    """Whether a connection is encrypted, or does not leave this machine."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    host = parts.hostname or ""
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)))


def is_loopback(host: str) -> bool:
    """Whether an address is reachable from this machine only."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


Kind = Literal[
    "bad question", "over budget", "not allowed", "unknown", "too many", "unavailable", "bad token", "too large", "too slow"
]
STATUS: dict[Kind, int] = {
    "bad question": 422,
    "over budget": 409,
    "not allowed": 403,
    "unknown": 404,
    "too many": 429,
    "unavailable": 503,
    "bad token": 401,
    "too large": 413,
    "too slow": 408,
}


class Refused(Exception):
    """A refused request and the reason: an error, a notice or a sentence. `retry_after`: seconds until it may be
    repeated."""

    def __init__(self, kind: Kind, why: DuotoneError | Notice | str, retry_after: int | None = None) -> None:
        self.kind, self.why, self.retry_after = kind, why, retry_after
        super().__init__(sentence(why, "analyst"))

    @property
    def on_page(self) -> str:
        """The reason as a page shows it."""
        return sentence(self.why, "page")

    @property
    def status(self) -> int:
        """The HTTP status."""
        return STATUS[self.kind]

    @property
    def document(self) -> dict[str, str]:
        """The JSON document."""
        return {"error": str(self), "kind": self.kind}
