"""Records: what an office keeps besides its ledger: requests and approvals, allowances of assistants, the wording of
questions, and counts for the owner. In SQLite, or in Postgres beside the ledger if several processes share them."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    insert,
    select,
    update,
)
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.sql.functions import count

from duotone.errors import DuotoneError
from duotone.ledger.allowances import Share
from duotone.ledger.sums import read_taken
from duotone.model.cost import CloseCallCharge, Cost
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.text import definition_text, read_either

UNOPENED = "the office's records cannot be opened: they are a file, or a Postgres URL"
State = Literal["waiting", "approved", "refused", "used"]
META = MetaData()
LATEST = 200
REQUESTS = Table(
    "duotone_requests",
    META,
    Column("request", Integer, primary_key=True, autoincrement=True),
    Column("dataset", String(200), nullable=False, index=True),
    Column("asked_by", String(200), nullable=False, index=True),
    Column("assistant", Boolean, nullable=False),
    Column("terms", JSON, nullable=False),
    Column("price", JSON, nullable=False),
    Column("accuracy", JSON, nullable=False),
    Column("purpose", Text),
    Column("own", Integer, nullable=False),  # 0: not needed, 1: needed, 2: given
    Column("other", Integer, nullable=False),
    Column("state", String(20), nullable=False),
    Column("decided_by", JSON, nullable=False),
    Column("at", String(40), nullable=False),
    Column("data", Text, nullable=False),
)
ASSISTANTS = Table(
    "duotone_assistants",
    META,
    Column("person", String(200), primary_key=True),
    Column("dataset", String(200), primary_key=True),
    Column("budget", Text, nullable=False),
    Column("spent", Text, nullable=False),
    Column("questions", Integer, nullable=False),
)
WORDS = Table(
    "duotone_words",
    META,
    Column("account", String(300), primary_key=True),
    Column("charge", Integer, primary_key=True),
    Column("terms", JSON, nullable=False),
)
NOTES = Table("duotone_notes", META, Column("name", String(300), primary_key=True), Column("value", Text, nullable=False))
COUNTS = Table("duotone_counts", META, Column("name", String(300), primary_key=True), Column("many", Integer, nullable=False))


@dataclass(frozen=True)
class Allowance:
    """What an assistant may ask by itself: a share of the dataset's budget, and a number of questions that may be close
    calls."""

    share: Share = field(default_factory=lambda: Share(budget=ApproxDP(0)))
    questions: int = 0

    def after(self, cost: Cost) -> Allowance | None:
        """What is left after a question; None if it does not fit."""
        if isinstance(cost, CloseCallCharge):
            left = self.questions - cost.answers
            return replace(self, questions=left) if left >= 0 else None
        share = self.share.plus(cost)
        return replace(self, share=share) if share.fits else None

    @property
    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {"left": None if self.share.left is None else self.share.left.document(), "questions": self.questions}

    def written(self) -> dict[str, Any]:
        """As stored."""
        budget = definition_text(self.share.budget or ApproxDP(0))
        return {"budget": budget, "spent": json.dumps(self.share.spent.written(), sort_keys=True), "questions": self.questions}


class Records:
    """The records at a place: a file, or a Postgres URL."""

    def __init__(self, place: str) -> None:
        try:
            self._engine = _engine(place)
        except (SQLAlchemyError, OSError):
            raise DuotoneError(UNOPENED) from None
        self.make_tables()

    @property
    def engine(self) -> Engine:
        """The connections."""
        return self._engine

    def make_tables(self) -> None:
        """Create missing tables."""
        for again in (True, False):
            try:
                META.create_all(self._engine)
            except SQLAlchemyError:
                if not again:  # another process may have created them first
                    raise DuotoneError(UNOPENED) from None

    def close(self) -> None:
        """Close the file or the connections."""
        self._engine.dispose()

    def reachable(self) -> bool:
        """Whether records can be read now. A deleted file cannot, even while it is open."""
        if self._engine.dialect.name == "sqlite" and not os.path.exists(str(self._engine.url.database)):
            return False
        try:
            with self._engine.connect() as connection:
                connection.execute(select(NOTES.c.name).limit(1)).all()
        except SQLAlchemyError:
            return False
        return True

    # Requests

    def add_request(
        self,
        dataset: str,
        asked_by: str,
        terms: Mapping[str, Any],
        *,
        own: bool,
        other: bool,
        **about: Any,
    ) -> dict[str, Any]:
        """Add a question that waits: for its own person, for another, or for both. `about` holds the other columns."""
        values = {
            **about,
            "dataset": dataset,
            "asked_by": asked_by,
            "terms": terms,
            "own": int(own),
            "other": int(other),
            "state": "waiting" if own or other else "approved",
            "decided_by": [],
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        with self._engine.begin() as connection:
            number = connection.execute(insert(REQUESTS).values(values)).inserted_primary_key
            if number is None:
                raise DuotoneError("the request could not be kept")
            return _one(connection, int(number[0]))

    def request(self, number: int) -> dict[str, Any] | None:
        """A request by its number."""
        with self._engine.connect() as connection:
            return _one_or_none(connection, number)

    def waiting(self, person: str, *, assistant: bool) -> int:
        """How many requests of a person, or of their assistant, wait, or are approved and not asked yet."""
        with self._engine.connect() as connection:
            theirs = (REQUESTS.c.asked_by == person) & (REQUESTS.c.assistant == assistant)
            here = theirs & REQUESTS.c.state.in_(("waiting", "approved"))
            return int(connection.execute(select(count()).select_from(REQUESTS).where(here)).scalar_one())

    def requests(self, person: str) -> list[dict[str, Any]]:
        """A person's latest requests, and all that wait, or are approved and not asked yet; the last first."""
        last = REQUESTS.c.request.desc()
        latest = select(REQUESTS.c.request).where(REQUESTS.c.asked_by == person).order_by(last).limit(LATEST)
        here = REQUESTS.c.request.in_(latest) | REQUESTS.c.state.in_(("waiting", "approved"))
        with self._engine.connect() as connection:
            return [row._asdict() for row in connection.execute(select(REQUESTS).where(here).order_by(last))]

    def decide(self, number: int, by: str, *, approve: bool, own: bool) -> dict[str, Any] | None:
        """The request with one more decision; None if it does not wait for a decision of this kind."""
        with self._engine.begin() as connection:
            row = connection.execute(select(REQUESTS).where(REQUESTS.c.request == number).with_for_update()).one_or_none()
            if row is None or row.state != "waiting" or (row.own if own else row.other) != 1:
                return None
            kinds = {"own": row.own, "other": row.other} | ({"own": 2} if own else {"other": 2})
            state = "refused" if not approve else "waiting" if 1 in kinds.values() else "approved"
            changed = update(REQUESTS).where(REQUESTS.c.request == number, REQUESTS.c.state == "waiting")
            if connection.execute(changed.values(state=state, decided_by=[*row.decided_by, by], **kinds)).rowcount != 1:
                return None
            return _one(connection, number)

    def move(self, number: int, before: State, after: State) -> bool:
        """Change a request's state, unless somebody else did so first: only one caller gets True."""
        with self._engine.begin() as connection:
            moved = update(REQUESTS).where(REQUESTS.c.request == number, REQUESTS.c.state == before).values(state=after)
            return connection.execute(moved).rowcount == 1

    # Assistants

    def allow(self, person: str, dataset: str, allowance: Allowance) -> None:
        """Set what a person's assistant may spend from now on."""
        self._put(ASSISTANTS, {"person": person, "dataset": dataset}, allowance.written())

    def allowance(self, person: str, dataset: str) -> Allowance:
        """What is left of the allowance."""
        with self._engine.connect() as connection:
            return _allowance(connection, person, dataset) or Allowance()

    def spend(self, person: str, dataset: str, cost: Cost) -> bool:
        """Take a question's cost from an assistant's allowance, if it fits: durably, and before anything is asked."""
        while True:
            with self._engine.begin() as connection:
                before = _allowance(connection, person, dataset)
                after = None if before is None else before.after(cost)
                if before is None or after is None:
                    return False
                same = (ASSISTANTS.c[name] == value for name, value in before.written().items())
                taken = update(ASSISTANTS).where(_of(person, dataset), *same).values(after.written())
                if connection.execute(taken).rowcount == 1:  # somebody else changed it first
                    return True

    # Wording, notes and counts

    def keep_words(self, account: str, charge: int, terms: Mapping[str, Any]) -> None:
        """Keep the wording of a charge's question, as it was first written."""
        with suppress(IntegrityError), self._engine.begin() as connection:
            connection.execute(insert(WORDS).values(account=account, charge=charge, terms=terms))

    def words(self, account: str, since: int = 0) -> dict[int, dict[str, Any]]:
        """The wording of every charge of an account, from one on."""
        here = (WORDS.c.account == account) & (WORDS.c.charge >= since)
        with self._engine.connect() as connection:
            rows = connection.execute(select(WORDS.c.charge, WORDS.c.terms).where(here))
            return {row.charge: row.terms for row in rows}

    def words_of(self, account: str, charge: int) -> dict[str, Any] | None:
        """The wording of one charge."""
        here = (WORDS.c.account == account) & (WORDS.c.charge == charge)
        with self._engine.connect() as connection:
            return connection.execute(select(WORDS.c.terms).where(here)).scalar_one_or_none()

    def note(self, name: str, value: str) -> str:
        """Store a note under a name, unless there is one; return the stored note."""
        noted = self.noted(name)
        if noted is not None:
            return noted
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(NOTES).values(name=name, value=value))
        except IntegrityError:
            return self.note(name, value)
        return value

    def noted(self, name: str) -> str | None:
        """The note under a name; None without one."""
        with self._engine.connect() as connection:
            return connection.execute(select(NOTES.c.value).where(NOTES.c.name == name)).scalar_one_or_none()

    def notes(self, beginning: str) -> dict[str, str]:
        """All notes whose names begin like this."""
        with self._engine.connect() as connection:
            rows = connection.execute(select(NOTES).where(NOTES.c.name.startswith(beginning, autoescape=True)))
            return {row.name: row.value for row in rows}

    def secret(self, name: str) -> str:
        """A secret of this office, created at its first use, the same in every process."""
        return self.note(f"secret {name}", secrets.token_urlsafe(32))

    def count(self, name: str) -> None:
        """Increase a counter by one."""
        self._put(COUNTS, {"name": name}, {"many": COUNTS.c.many + 1}, {"many": 1})

    def _put(self, table: Table, key: dict[str, Any], values: dict[str, Any], first: dict[str, Any] | None = None) -> None:
        """Update the row of a key, or insert it with its first values; safe against concurrent changes."""
        here = [table.c[name] == value for name, value in key.items()]
        for _ in range(2):
            with suppress(IntegrityError), self._engine.begin() as connection:
                if not connection.execute(update(table).where(*here).values(values)).rowcount:
                    connection.execute(insert(table).values(**key, **(values if first is None else first)))
                return

    def counts(self) -> dict[str, int]:
        """All counters."""
        with self._engine.connect() as connection:
            return {row.name: row.many for row in connection.execute(select(COUNTS))}


def _engine(place: str) -> Engine:
    if "://" in place:
        scheme, _, rest = place.partition("://")
        if scheme not in ("postgres", "postgresql"):
            raise DuotoneError("the office's records must be a file or a postgres:// URL")
        return create_engine(f"postgresql+psycopg://{rest}", pool_pre_ping=True)
    os.close(os.open(place, os.O_CREAT | os.O_RDWR, 0o600))  # it holds the secret of sessions
    engine = create_engine(URL.create("sqlite", database=place), connect_args={"timeout": 30})

    @event.listens_for(engine, "connect")
    def durable(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")

    return engine


def _one_or_none(connection: Connection, number: int) -> dict[str, Any] | None:
    row = connection.execute(select(REQUESTS).where(REQUESTS.c.request == number)).one_or_none()
    return None if row is None else row._asdict()


def _one(connection: Connection, number: int) -> dict[str, Any]:
    return connection.execute(select(REQUESTS).where(REQUESTS.c.request == number)).one()._asdict()


def _of(person: str, dataset: str) -> Any:
    return (ASSISTANTS.c.person == person) & (ASSISTANTS.c.dataset == dataset)


def _allowance(connection: Connection, person: str, dataset: str) -> Allowance | None:
    row = connection.execute(select(ASSISTANTS).where(_of(person, dataset))).one_or_none()
    if row is None:
        return None
    return Allowance(Share(read_taken(json.loads(row.spent)), read_either(row.budget)), row.questions)
