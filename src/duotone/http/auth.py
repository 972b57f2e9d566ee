"""Who makes a request, by the token in its header or by a browser's session; and whether a form came from our own
page."""

from __future__ import annotations

import asyncio
import hmac
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from duotone.desk.callers import Caller, Refused
from duotone.desk.log import audit
from duotone.desk.office import Member, Office
from duotone.desk.office_file import read_office
from duotone.desk.records import Records
from duotone.errors import DuotoneError
from duotone.http.openid import Provider
from duotone.http.sessions import SECONDS, SECONDS_ELSEWHERE, Session, Sessions, csrf_of
from duotone.http.tokens import Tokens
from duotone.pages.render import form_of

SESSION, SIGNING_IN = "duotone", "duotone-sign-in"
STRANGER = "this needs a token: send it as Authorization: Bearer …, or log in"
WRONG = "this token is not known here: it may be revoked, expired or mistyped"
FORGED = "this form was not sent by a page of this service: open the page again"
FAILURES, WINDOW = 20, 60.0
"""After this number of wrong tokens from one address within these seconds, further wrong ones have to wait."""


@dataclass(frozen=True)
class _Known:
    """The owner of a token, and what a session stores of it: names, and its end."""

    caller: Caller
    named: Mapping[str, Any]
    until: float = math.inf


class Auth:
    """The people of an office, and how they are identified."""

    def __init__(self, office: Office, tokens: Tokens, records: Records, *, secure: bool) -> None:
        self._office, self._tokens, self._secure = office, tokens, secure
        self.sessions = Sessions(records)
        self._members = Members(office, changed=lambda now: self.sessions.keep_only(now.people))
        self._leaving = URLSafeTimedSerializer(records.secret("sign-in"), salt="sign-in")
        self.provider = None if office.openid is None else Provider(office.openid, office.client_secret)
        self._failures: dict[str, deque[float]] = {}

    @property
    def openid(self) -> str | None:
        """The name of the sign-in provider; None without one."""
        return None if self.provider is None else self.provider.openid.name

    async def identify(self, request: Request) -> tuple[Caller | None, str]:
        """Who makes a request (None for a stranger), and the token that its forms must carry. A wrong token is
        refused."""
        header = request.headers.get("authorization", "")
        if header:
            scheme, _, text = header.partition(" ")
            if scheme.lower() != "bearer":
                raise Refused("bad token", STRANGER)
            return (await self._known(request, text.strip())).caller, ""
        return await self._by_session(request)

    async def _known(self, request: Request, text: str) -> _Known:
        """The owner of this token, and what a session stores of it. Right tokens are checked first, at little cost, so
        they work however many wrong ones come from the same address."""
        address = request.client.host if request.client is not None else ""
        known, refused = None, Refused("bad token", WRONG)
        try:
            known = await self._looked_up(text)
        except Refused as refusal:
            if refusal.kind != "bad token":
                raise
            refused = refusal
        if known is None:
            self._must_wait(address)
            self._failures.setdefault(address, deque(maxlen=FAILURES)).append(time.monotonic())
            raise refused
        return known

    async def _looked_up(self, text: str) -> _Known | None:
        if self.provider is not None and text.count(".") == 2:
            claims = await self.provider.claims_of_bearer(text)
            known = self._person_of(claims)
            return None if known is None else replace(known, until=float(claims["exp"]))
        token = await asyncio.to_thread(self._tokens.verified, text)
        person = None if token is None else self._members.office().person(token.person)
        return None if token is None or person is None else _Known(Caller(person, token.assistant), {"token": token.id})

    def _must_wait(self, address: str) -> None:
        failures = self._failures.get(address, deque())
        if len(failures) == FAILURES and failures[0] > time.monotonic() - WINDOW:
            raise Refused("too many", "too many wrong tokens came from this address: try again later", int(WINDOW))
        if len(self._failures) > 10_000:
            self._failures.clear()

    def _person_of(self, claims: Mapping[str, Any]) -> _Known | None:
        subject = claims.get(self._office.openid.claim) if self._office.openid is not None else None
        person = self._members.office().person_of(subject) if isinstance(subject, str) else None
        sub, sid = (value if isinstance(value := claims.get(claim), str) else None for claim in ("sub", "sid"))
        named = {"subject": subject, "provider_subject": sub, "provider_session": sid}
        return None if person is None else _Known(Caller(person), named)

    # Browsers

    async def _by_session(self, request: Request) -> tuple[Caller | None, str]:
        text = request.cookies.get(SESSION, "")
        session = await asyncio.to_thread(self.sessions.current, text) if text else None
        caller = None if session is None else self._caller_of(session)
        if session is not None and caller is None:
            await asyncio.to_thread(self.sessions.end, session.id, "the person or the token is not known any more")
        return (None, "") if caller is None else (caller, csrf_of(text))

    def _caller_of(self, session: Session) -> Caller | None:
        """The person of this session, if the office still knows both the person and the token or sign-in that began
        it."""
        office = self._members.office()
        if session.token is None:
            person = None if self.provider is None else office.person_of(session.subject or "")
            return Caller(person) if person is not None and person.name == session.person else None
        token, person = self._tokens.known(session.token), office.person(session.person)
        return None if token is None or person is None or token.person != person.name else Caller(person, token.assistant)

    @staticmethod
    def had_session(request: Request) -> bool:
        """Whether this browser had a session, which may have ended."""
        return SESSION in request.cookies

    async def log_in(self, request: Request, text: str) -> Response:
        """Begin a session for the holder of a token, and redirect to the first page."""
        return await self._session(await self._known(request, text.strip()))

    async def _session(self, known: _Known) -> Response:
        text = await asyncio.to_thread(self.sessions.begin, known.caller.name, known.named, known.until)
        response = RedirectResponse("/", status_code=303)
        self._cookie(response, SESSION, text, SECONDS_ELSEWHERE if "subject" in known.named else SECONDS)
        return response

    async def log_out(self, request: Request) -> Response:
        """End the session, here and in the browser."""
        text = request.cookies.get(SESSION, "")
        session = await asyncio.to_thread(self.sessions.current, text) if text else None
        if session is not None:
            await asyncio.to_thread(self.sessions.end, session.id, "logged out", session.person)
        response = RedirectResponse("/login", status_code=303)
        response.delete_cookie(SESSION)
        return response

    async def logged_out_elsewhere(self, request: Request) -> Response:
        """End the sessions of a person who signed out at the provider (OpenID Connect Back-Channel Logout)."""
        named = await self._elsewhere().signed_out((await form_of(request)).get("logout_token", ""))
        await asyncio.to_thread(self.sessions.signed_out, *named)
        return Response()

    async def every_session(self) -> list[dict[str, Any]]:
        """All current sessions, each with its person."""
        held = [session for session in await asyncio.to_thread(self.sessions.every) if self._caller_of(session) is not None]
        return [_shown(session) for session in held]

    async def end_session(self, ident: str, by: str) -> None:
        """End a session, for an owner."""
        if not await asyncio.to_thread(self.sessions.end, ident, "ended by an owner", by):
            raise Refused("unknown", "there is no such session: it may have ended")

    async def leave(self, request: Request) -> Response:
        """Redirect to the sign-in provider."""
        url, kept = await self._elsewhere().authorize_url(f"{_own_origin(request, self._office)}/login/openid/callback")
        response = RedirectResponse(url, status_code=303)
        self._cookie(response, SIGNING_IN, str(self._leaving.dumps(kept)), 600)
        return response

    async def come_back(self, request: Request) -> Response:
        """Handle the return from the sign-in provider."""
        provider = self._elsewhere()
        try:
            kept = self._leaving.loads(request.cookies.get(SIGNING_IN, ""), max_age=600)
        except BadData:
            raise Refused("bad token", "this sign-in was not begun here, or took too long: begin again") from None
        known = self._person_of(await provider.claims_of_code(dict(request.query_params), kept))
        if known is None:
            raise Refused("not allowed", "you are signed in, but not a person of this office: its owner adds people")
        response = await self._session(known)
        response.delete_cookie(SIGNING_IN)
        return response

    def _elsewhere(self) -> Provider:
        if self.provider is None:
            raise Refused("unknown", "nobody signs in elsewhere here")
        return self.provider

    def _cookie(self, response: Response, name: str, value: str, seconds: int) -> None:
        response.set_cookie(name, value, max_age=seconds, httponly=True, samesite="lax", secure=self._secure, path="/")

    def must_come_from_here(self, request: Request) -> None:
        """Refuse a form from another site."""
        origin = request.headers.get("origin")
        foreign = origin is not None and origin != _own_origin(request, self._office)
        if foreign or request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Refused("not allowed", FORGED)

    def must_be_ours(self, csrf: str, sent: str) -> None:
        """Refuse a change in a session's name, unless one of its own pages sent it."""
        if not (csrf and hmac.compare_digest(csrf.encode(), sent.encode())):
            raise Refused("not allowed", FORGED)


def _shown(session: Session) -> dict[str, Any]:
    """A session as shown to the owner."""
    times = {name: datetime.fromtimestamp(getattr(session, name), UTC).isoformat() for name in ("made", "used", "expires")}
    return {"session": session.id, "person": session.person, "token": session.token, **times}


def _own_origin(request: Request, office: Office) -> str:
    """The address by which browsers reach this service."""
    if office.server.url is not None:
        return office.server.url
    parts = urlsplit(str(request.url))
    return f"{parts.scheme}://{parts.netloc}"


LOG = logging.getLogger("duotone.service")
EVERY = 1.0
"""Most seconds until the file is read again."""
Stamp = tuple[int, int, int, int]


class Members:
    """The people of an office, by its file as it is now.

    Guarantee: what the file takes away (a person, or one of their datasets) is gone within a second. What it adds
    counts from the next start, when allowances are given to the ledger: nobody asks beyond theirs. A file that cannot
    be read or has mistakes changes nothing, and the log says so.
    """

    def __init__(
        self, office: Office, *, changed: Callable[[Office], None] = lambda _: None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._started, self._now, self._changed, self._clock = office, office, changed, clock
        self._lock = threading.Lock()
        self._stamp: Stamp | None = None
        self._looked: float | None = None

    def office(self) -> Office:
        """The office with its current people."""
        with self._lock:
            if self._looked is None or self._clock() >= self._looked + EVERY:
                self._looked = self._clock()
                self._look()
            return self._now

    def _look(self) -> None:
        stamp = self._stamp_now()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            people = read_office(self._started.file).people
        except DuotoneError as error:
            LOG.error("the office file cannot be used: its people stay who they were", extra={"error": str(error)})
            return
        kept = {name: _both(was, people[name]) for name, was in self._started.people.items() if _same(was, people.get(name))}
        for name in self._now.people.keys() - kept.keys():
            audit("a person was taken out of the office file", whose=name)
        self._now = self._started.model_copy(update={"people": kept})
        self._changed(self._now)

    def _stamp_now(self) -> Stamp | None:
        try:
            status = self._started.file.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns


def _same(was: Member, now: Member | None) -> bool:
    """Whether this is the same person with the same role."""
    return now is not None and (now.role, now.subject) == (was.role, was.subject)


def _both(was: Member, now: Member) -> Member:
    """The datasets that a person had at the start and still has."""
    return was.model_copy(update={"datasets": tuple(name for name in was.datasets if name in now.datasets)})
