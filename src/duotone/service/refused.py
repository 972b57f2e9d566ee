"""Refused: why a request is not served, in one sentence that depends on the request and the ledger alone."""

from __future__ import annotations

from typing import Literal

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
    """A request that is not served; `retry_after` are the seconds after which it may be made again."""

    def __init__(self, kind: Kind, sentence: str, retry_after: int | None = None) -> None:
        self.kind, self.sentence, self.retry_after = kind, sentence, retry_after
        super().__init__(sentence)

    @property
    def status(self) -> int:
        """As HTTP has it."""
        return STATUS[self.kind]

    @property
    def document(self) -> dict[str, str]:
        """As JSON has it."""
        return {"error": self.sentence, "kind": self.kind}
