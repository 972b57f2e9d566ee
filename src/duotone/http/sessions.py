"""Sessions of browsers: kept in the records, so that they can be ended. A browser holds a random text, the records its
hash."""

from __future__ import annotations

import hashlib
import logging
import math
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Column, ColumnElement, String, Table, Text, delete, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from duotone.desk.callers import Refused
from duotone.desk.log import audit
from duotone.desk.records import META, Records

LOG = logging.getLogger("duotone.service")
SECONDS = 12 * 3600
"""Longest duration of a session that began with a token."""
SECONDS_ELSEWHERE = 3600
"""Longest duration after a sign-in at the provider: then the provider is asked again whether the person is still
there."""
MARKED = 60
"""Seconds after which the use of a session is noted again."""
NO_RECORDS = "sessions cannot be looked up at the moment, and the owner can see why"
SESSIONS = Table(
    "duotone_sessions",
    META,
    Column("id", String(32), primary_key=True),  # by the hash of the browser's text
    Column("person", String(200), nullable=False, index=True),
    Column("token", String(16)),
    Column("subject", Text),
    Column("provider_subject", Text),
    Column("provider_session", Text),
    Column("made", BigInteger, nullable=False),
    Column("used", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
)


@dataclass(frozen=True)
class Session:
    """What is stored of a session; times in seconds since 1970."""

    id: str
    person: str
    made: int
    used: int
    expires: int
    token: str | None = None
    """The id of the token that began it; None after a sign-in at the provider."""
    subject: str | None = None
    """The provider's name for the person."""
    provider_subject: str | None = None
    provider_session: str | None = None
    """How the provider refers to it to end it: `sub` and `sid`."""


class Sessions:
    """The sessions of an office, which all its processes share.

    Guarantee: a session that somebody ended, or that has expired, is unknown from the next request on.
    """

    def __init__(self, records: Records, *, clock: Callable[[], float] = time.time) -> None:
        self._records, self._clock = records, clock
        records.make_tables()

    def begin(self, person: str, named: Mapping[str, Any], until: float = math.inf) -> str:
        """Start a session, which ends by `until`; returns the text for the browser. It is `named` by its token, or as
        the provider does. Expired sessions are deleted."""
        text, now = secrets.token_urlsafe(32), int(self._clock())
        expires = int(min(now + (SECONDS_ELSEWHERE if "subject" in named else SECONDS), until))
        session = Session(_id(text), person, now, now, expires, **named)
        with _reached(), self._records.engine.begin() as connection:
            connection.execute(delete(SESSIONS).where(SESSIONS.c.expires <= now))
            connection.execute(insert(SESSIONS).values(vars(session)))
        audit("a session began", by=person, session=session.id, token=session.token)
        return text

    def current(self, text: str) -> Session | None:
        """The session of a browser's text; None if there is none, or if it has ended."""
        now, mine = int(self._clock()), SESSIONS.c.id == _id(text)
        with _reached(), self._records.engine.connect() as connection:
            row = connection.execute(select(SESSIONS).where(mine, SESSIONS.c.expires > now)).one_or_none()
        if row is not None and now >= row.used + MARKED:
            with _reached(), self._records.engine.begin() as connection:
                connection.execute(update(SESSIONS).where(mine).values(used=now))
        return None if row is None else Session(**row._asdict())

    def every(self) -> list[Session]:
        """All current sessions; the last used comes first."""
        now, last = int(self._clock()), SESSIONS.c.used.desc()
        with _reached(), self._records.engine.connect() as connection:
            rows = connection.execute(select(SESSIONS).where(SESSIONS.c.expires > now).order_by(last, SESSIONS.c.id)).all()
        return [Session(**row._asdict()) for row in rows]

    def end(self, ident: str, reason: str, by: str | None = None) -> bool:
        """End a session; returns whether there was one."""
        return self._end(reason, by, SESSIONS.c.id == ident) > 0

    def keep_only(self, people: Collection[str]) -> None:
        """End the sessions of everybody else."""
        self._end("taken out of the office file", None, SESSIONS.c.person.not_in(people))

    def signed_out(self, provider_subject: str | None, provider_session: str | None) -> None:
        """End the sessions that the provider names: by person, by session, or by both."""
        named = {SESSIONS.c.provider_subject: provider_subject, SESSIONS.c.provider_session: provider_session}
        if wanted := [column == value for column, value in named.items() if value is not None]:
            self._end("signed out elsewhere", None, *wanted)

    def _end(self, reason: str, by: str | None, *which: ColumnElement[bool]) -> int:
        with _reached(), self._records.engine.begin() as connection:
            rows: Any = connection.execute(select(SESSIONS.c.id, SESSIONS.c.person).where(*which)).all()
            ended = [row for row in rows if connection.execute(delete(SESSIONS).where(SESSIONS.c.id == row.id)).rowcount]
        for row in ended:
            audit("a session ended", whose=row.person, session=row.id, reason=reason, by=by)
        return len(ended)


def csrf_of(text: str) -> str:
    """The token that the forms of a session must carry: another site neither knows nor learns it."""
    return hashlib.sha256(f"form {text}".encode()).hexdigest()[:32]


def _id(text: str) -> str:
    return hashlib.sha256(f"session {text}".encode()).hexdigest()[:32]


@contextmanager
def _reached() -> Iterator[None]:
    """Turn failures of the records into a refusal."""
    try:
        yield
    except SQLAlchemyError as error:
        LOG.error("the records cannot be used", extra={"error": type(error).__name__})
        raise Refused("unavailable", NO_RECORDS) from None
