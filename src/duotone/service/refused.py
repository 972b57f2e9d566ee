"""Refused: why a request is not served, in one sentence that depends on the request and the ledger alone."""

from __future__ import annotations

from typing import Literal

from duotone.errors import DuotoneError
from duotone.model.notice import Notice
from duotone.words.sentences import sentence

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
    """A request that is not served, and why: an error, a notice or a sentence; `retry_after` are the seconds after which it may
    be made again."""

    def __init__(self, kind: Kind, why: DuotoneError | Notice | str, retry_after: int | None = None) -> None:
        self.kind, self.why, self.retry_after = kind, why, retry_after
        super().__init__(sentence(why, "analyst"))

    @property
    def sentence(self) -> str:
        """Why, for a program and in JSON."""
        return str(self)

    @property
    def on_page(self) -> str:
        """The same on a page."""
        return sentence(self.why, "page")

    @property
    def status(self) -> int:
        """As HTTP has it."""
        return STATUS[self.kind]

    @property
    def document(self) -> dict[str, str]:
        """As JSON has it."""
        return {"error": self.sentence, "kind": self.kind}
