"""What is on trial: a question as it was read, with what decides it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from duotone.model.dataset import Dataset
from duotone.tables.declared import Key
from duotone.tables.sql.comparison import ParsedQuestion
from duotone.tables.sql.condition import Kind
from duotone.tables.trial.made_up_tables import MadeUp


@dataclass(frozen=True)
class Asked:
    """A question as it was read, and the columns of the tables that it is about, by their names: the first is the table."""

    question: ParsedQuestion
    private: Mapping[str, Mapping[str, Kind]]
    public: Mapping[str, Mapping[str, Kind]]
    declared: Dataset
    """What is declared of the table's rows, with bounds; before an inner select makes one row of each person."""
    most: int
    listed: tuple[Key, ...] | None

    @property
    def key(self) -> str:
        """What decides the trial: a question is tried once."""
        known = [self.question, self.question.text, self.private, self.public, self.declared, self.most, self.listed]
        return hashlib.sha256(repr(known).encode()).hexdigest()


def judged(asked: Asked, made: MadeUp) -> bool:
    """Whether plain SQL can judge a made-up table: it reads every value as the rules do, and each person has one row, an inner
    select reduces them to one, or they add up, no more of them than count."""
    there = [stranger for stranger, many in zip(made.strangers, made.counts, strict=True) if many]
    declared = asked.declared
    alone = declared.unit is None or asked.question.people is not None or all(len(s.rows) == 1 for s in there)
    if not asked.question.by and declared.per_unit is None:
        alone |= declared.max_rows is None or all(len(s.rows) <= declared.max_rows for s in there)
    return alone and all(s.usual for s in there)
