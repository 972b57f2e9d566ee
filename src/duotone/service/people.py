"""People: who may do what, and who speaks for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["owner", "analyst", "auditor"]


@dataclass(frozen=True)
class Person:
    """Somebody whom the office knows: an owner sees the ledger and decides, an analyst asks about some datasets, an auditor
    reads the ledger and verifies it, and sees no answers."""

    name: str
    role: Role
    datasets: tuple[str, ...] = ()
    """Those that an analyst may ask about."""

    def may_see(self, dataset: str) -> bool:
        """Whether the dataset exists for this person."""
        return self.role != "analyst" or dataset in self.datasets


@dataclass(frozen=True)
class Caller:
    """Who makes a request: a person, or an assistant on their behalf, which asks only what its person approved or allowed."""

    person: Person
    assistant: bool = False

    @property
    def name(self) -> str:
        """Of the person."""
        return self.person.name
