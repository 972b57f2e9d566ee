"""Who makes a request: by a token in its header, or by a browser's session; and that a form was sent by our own page."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections import deque
from typing import Any
from urllib.parse import urlsplit

from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from duotone.service.office import Office
from duotone.service.openid import Provider
from duotone.service.people import Caller
from duotone.service.records import Records
from duotone.service.refused import Refused
from duotone.service.tokens import Tokens

SESSION, SIGNING_IN = "duotone", "duotone-sign-in"
HOURS = 12
STRANGER = "this needs a token: send it as Authorization: Bearer …, or log in"
WRONG = "this token is not known here: it may be revoked, expired or mistyped"
FORGED = "this form was not sent by a page of this service: open the page again"
FAILURES, WINDOW = 20, 60.0
"""Wrong tokens from one address, and in how many seconds, after which it has to wait."""


class Auth:
    """The people of an office, and how they are recognised."""

    def __init__(self, office: Office, tokens: Tokens, records: Records, *, secure: bool) -> None:
        self._office, self._tokens, self._secure = office, tokens, secure
        self._signer = URLSafeTimedSerializer(records.secret("sessions"), salt="session")
        self._leaving = URLSafeTimedSerializer(records.secret("sessions"), salt="sign-in")
        client = office.openid_client
        self.provider = None if client is None else Provider(client)
        self._failures: dict[str, deque[float]] = {}

    @property
    def openid(self) -> str | None:
        """What the sign-in elsewhere is called; None where there is none."""
        return None if self.provider is None else self.provider.openid.name

    async def identify(self, request: Request) -> tuple[Caller | None, str]:
        """Who makes a request, None for a stranger, and what its forms must carry. A wrong token is refused."""
        header = request.headers.get("authorization", "")
        if header:
            scheme, _, text = header.partition(" ")
            if scheme.lower() != "bearer":
                raise Refused("bad token", STRANGER)
            return await self.by_token(request, text.strip()), ""
        return self._by_session(request)

    async def by_token(self, request: Request, text: str) -> Caller:
        """Whose token this is."""
        address = request.client.host if request.client is not None else ""
        if self._tokens.remembered(text) is None:  # a guesser does not lock out whoever shares their address
            self._must_wait(address)
        caller = await self._caller(text)
        if caller is None:
            self._failures.setdefault(address, deque(maxlen=FAILURES)).append(time.monotonic())
            raise Refused("bad token", WRONG)
        return caller

    async def _caller(self, text: str) -> Caller | None:
        if self.provider is not None and text.count(".") == 2:
            return self._person_of(await self.provider.claims_of_bearer(text))
        token = await asyncio.to_thread(self._tokens.verified, text)
        person = None if token is None else self._office.person(token.person)
        return None if token is None or person is None else Caller(person, token.assistant)

    def _must_wait(self, address: str) -> None:
        failures = self._failures.get(address, deque())
        if len(failures) == FAILURES and failures[0] > time.monotonic() - WINDOW:
            raise Refused("too many", "too many wrong tokens came from this address: try again later", int(WINDOW))
        if len(self._failures) > 10_000:
            self._failures.clear()

    def _person_of(self, claims: Any) -> Caller | None:
        subject = claims.get(self._office.openid.claim) if self._office.openid is not None else None
        person = self._office.person_of(subject) if isinstance(subject, str) else None
        return None if person is None else Caller(person)

    # Browsers

    def _by_session(self, request: Request) -> tuple[Caller | None, str]:
        try:
            session = self._signer.loads(request.cookies.get(SESSION, ""), max_age=HOURS * 3600)
            name, ident, csrf = session["person"], session["token"], session["csrf"]
        except (BadData, KeyError, TypeError):
            return None, ""
        token = None if ident is None else self._tokens.known(ident)
        person = self._office.person(name)
        elsewhere = ident is None and self.provider is not None  # a session of who signed in there has no token
        if person is None or not (elsewhere or (token is not None and token.person == name)):
            return None, ""
        return Caller(person, token is not None and token.assistant), csrf

    async def log_in(self, request: Request, text: str) -> Response:
        """A session for who has this token; back to the first page."""
        caller = await self.by_token(request, text.strip())
        return self._session(caller, text.strip().split("_")[1] if text.strip().startswith("duo_") else None)

    def _session(self, caller: Caller, token: str | None) -> Response:
        response = RedirectResponse("/", status_code=303)
        session = {"person": caller.name, "token": token, "csrf": secrets.token_urlsafe(16)}
        self._cookie(response, SESSION, str(self._signer.dumps(session)), HOURS * 3600)
        return response

    def log_out(self) -> Response:
        """The end of a session."""
        response = RedirectResponse("/login", status_code=303)
        response.delete_cookie(SESSION)
        return response

    async def leave(self, request: Request) -> Response:
        """To the sign-in elsewhere."""
        if self.provider is None:
            raise Refused("unknown", "nobody signs in elsewhere here")
        url, kept = await self.provider.authorize_url(self._callback(request))
        response = RedirectResponse(url, status_code=303)
        self._cookie(response, SIGNING_IN, str(self._leaving.dumps(kept)), 600)
        return response

    async def come_back(self, request: Request) -> Response:
        """From the sign-in elsewhere."""
        if self.provider is None:
            raise Refused("unknown", "nobody signs in elsewhere here")
        try:
            kept = self._leaving.loads(request.cookies.get(SIGNING_IN, ""), max_age=600)
        except BadData:
            raise Refused("bad token", "this sign-in was not begun here, or took too long: begin again") from None
        caller = self._person_of(await self.provider.claims_of_code(dict(request.query_params), kept))
        if caller is None:
            raise Refused("not allowed", "you are signed in, but nobody of this office: its owner adds people")
        response = self._session(caller, None)
        response.delete_cookie(SIGNING_IN)
        return response

    def _callback(self, request: Request) -> str:
        return f"{own_origin(request, self._office)}/login/openid/callback"

    def _cookie(self, response: Response, name: str, value: str, seconds: int) -> None:
        response.set_cookie(name, value, max_age=seconds, httponly=True, samesite="lax", secure=self._secure, path="/")

    def must_come_from_here(self, request: Request) -> None:
        """Refuse a form of another site."""
        origin = request.headers.get("origin")
        foreign = origin is not None and origin != own_origin(request, self._office)
        if foreign or request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Refused("not allowed", FORGED)

    def must_be_ours(self, csrf: str, sent: str) -> None:
        """Refuse what changes something for a session, unless one of its own pages sent it."""
        if not (csrf and hmac.compare_digest(csrf.encode(), sent.encode())):
            raise Refused("not allowed", FORGED)


def own_origin(request: Request, office: Office) -> str:
    """What browsers call this service."""
    if office.server.url is not None:
        return office.server.url
    parts = urlsplit(str(request.url))
    return f"{parts.scheme}://{parts.netloc}"
