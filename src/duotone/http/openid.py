"""OpenID Connect: people sign in with their organisation, and programs show its tokens.

Authlib and joserfc speak the protocol and check the tokens. This file adds what they leave open: which algorithms may
sign, that a token is for us (`aud`), that addresses are encrypted, how often the provider is asked, and that no error
quotes a token.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any

import httpx2
from authlib.common.security import generate_token
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from authlib.oidc.core.claims import IDToken
from authlib.oidc.discovery import get_well_known_url
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError, UnsupportedAlgorithmError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from duotone.desk.callers import Refused, encrypted
from duotone.desk.office import OpenId

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
"""Algorithms that may sign a token: never `none`, nor one with a secret that the provider shares."""
TYPES = ("jwt", "at+jwt", "application/at+jwt")
"""Types of tokens that identify a person; a logout token or a proof of possession does not."""
LOGOUT_TYPES = ("jwt", "logout+jwt", "application/logout+jwt")
LOGOUT = "http://schemas.openid.net/event/backchannel-logout"
"""The event in a logout token."""
LOGOUT_AGE = 300
"""Seconds for which a logout token is valid."""
LEEWAY = 60
"""Seconds by which the provider's clock may differ from ours."""
HOUR = 3600.0
"""Seconds after which the provider's description and keys are fetched again."""
PAUSE = 30.0
"""Least seconds between two fetches, so that strangers with invented tokens do not cause more."""
PATIENCE = 10.0
"""Seconds that the provider has to answer."""
KEPT = {"state", "nonce", "verifier", "redirect_uri"}
"""What is kept while the browser is with the provider."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Fetched:
    """The provider's description, and when it was fetched."""

    description: dict[str, Any]
    keys: KeySet
    at: float


class _Signatures(JWSRegistry):
    """The algorithms that may sign. The library's own list would warn about EdDSA, whose newer name providers do not
    know yet."""

    def get_alg(self, name: str) -> Any:
        if name not in ALGORITHMS:
            raise UnsupportedAlgorithmError
        return self.algorithms[name]


class Provider:
    """The organisation's identity provider.

    **Guarantee.** Claims are returned only from a token that the provider signed with a key that it publishes now or
    did within the last hour, for this client or audience, that has not expired, and that names a person; otherwise
    `Refused`.
    """

    def __init__(
        self,
        openid: OpenId,
        secret: str | None = None,
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.openid, self._secret = openid, secret
        self._transport, self._clock = transport, clock
        self._tls = httpx2.create_ssl_context()
        self._fetched: _Fetched | None = None
        self._tried: float | None = None
        self._turn = asyncio.Lock()

    async def authorize_url(self, redirect_uri: str) -> tuple[str, dict[str, str]]:
        """Where to send the browser, and what to keep for `claims_of_code` until it comes back to `redirect_uri`."""
        description = (await self._current()).description
        kept = {"state": generate_token(32), "nonce": generate_token(32), "verifier": generate_token(64)}
        async with self._client(description) as client:
            url, _ = client.create_authorization_url(
                description["authorization_endpoint"],
                state=kept["state"],
                code_verifier=kept["verifier"],
                nonce=kept["nonce"],
                redirect_uri=redirect_uri,
            )
        return url, {**kept, "redirect_uri": redirect_uri}

    async def claims_of_code(self, parameters: Mapping[str, str], kept: Mapping[str, str]) -> dict[str, Any]:
        """The person's claims, from the parameters with which the browser came back; `kept` is from `authorize_url`."""
        if not kept.keys() >= KEPT or not _same(parameters.get("state", ""), kept["state"]) or "code" not in parameters:
            raise _bad()
        description = (await self._current()).description
        silent = None if description.get("authorization_response_iss_parameter_supported") else self.openid.issuer
        if parameters.get("iss", silent) != self.openid.issuer:  # RFC 9207: the answer of another provider
            raise _bad()
        token = await self._exchange(description, parameters["code"], kept)
        facts = {"nonce": kept["nonce"], "client_id": self.openid.client_id, "access_token": token.get("access_token")}
        claims = await self._checked(token.get("id_token"), self.openid.client_id, facts)
        if self.openid.claim not in claims and "userinfo_endpoint" in description:
            claims = {**claims, **await self._userinfo(description, token.get("access_token"), claims["sub"])}
        self.person(claims)
        return claims

    async def claims_of_bearer(self, token: str) -> dict[str, Any]:
        """The claims of a JWT access token for the stated audience, or of an ID token if that is the client."""
        audience = self.openid.audience or self.openid.client_id
        # `azp` must be the client only if we are the client: any client may ask for a token with an audience of its own.
        facts = {"client_id": audience} if audience == self.openid.client_id else {}
        claims = await self._checked(token, audience, facts)
        if "cnf" in claims:  # bound to a key: whoever shows the token alone may have stolen it
            raise _bad()
        self.person(claims)
        return claims

    async def signed_out(self, token: str) -> tuple[str | None, str | None]:
        """The person who signed out, or the session that ended: `sub` and `sid` of a logout token.

        OpenID Connect Back-Channel Logout 1.0, section 2.6. A repeated token ends sessions twice, which changes
        nothing.
        """
        signed = await self._signed(token)
        claims, kind, now = signed.claims, str(signed.header.get("typ", "JWT")).lower(), time.time()
        audience, events = claims.get("aud"), claims.get("events")
        made, ends = (moment if isinstance(moment := claims.get(claim), int | float) else math.nan for claim in ("iat", "exp"))
        named = [name if isinstance(name := claims.get(claim), str) and name else None for claim in ("sub", "sid")]
        if not (
            kind in LOGOUT_TYPES
            and claims.get("iss") == self.openid.issuer
            and self.openid.client_id in (audience if isinstance(audience, list) else [audience])
            and isinstance(events, dict)
            and isinstance(events.get(LOGOUT), dict)
            and "nonce" not in claims
            and now - LOGOUT_AGE <= made <= now + LEEWAY
            and now <= ends + LEEWAY
            and any(named)
        ):
            raise _bad()
        return named[0], named[1]

    def person(self, claims: Mapping[str, Any]) -> str:
        """The person of the claims, by the name that the office file uses."""
        name = claims.get(self.openid.claim)
        unverified = self.openid.claim == "email" and claims.get("email_verified") is not True
        if not isinstance(name, str) or not name or unverified:
            raise Refused("bad token", "this sign-in does not name a person, or only by an email address that is not verified")
        return name

    async def _checked(self, token: object, audience: str, facts: dict[str, Any]) -> dict[str, Any]:
        """The claims of a token with a valid signature, checked by Authlib against the facts that we know."""
        signed = await self._signed(token)
        options = {
            "iss": {"essential": True, "value": self.openid.issuer},
            "aud": {"essential": True, "value": audience},
            "sub": {"essential": True},
        }
        try:
            IDToken(signed.claims, signed.header, options, facts).validate(leeway=LEEWAY)
        except Exception:  # whatever a forged token makes a library raise; its text may quote the token
            raise _bad() from None
        if signed.header.get("typ", "JWT").lower() not in TYPES:
            raise _bad()
        return signed.claims

    async def _signed(self, token: object) -> jwt.Token:
        if not isinstance(token, str) or token.count(".") != 2 or not token.isascii():
            raise _bad()
        fetched = await self._current()
        try:
            return _verified(token, fetched.keys)
        except InvalidKeyIdError:
            fetched = await self._newer(fetched)
        try:
            return _verified(token, fetched.keys)
        except InvalidKeyIdError:
            raise _bad() from None

    async def _current(self) -> _Fetched:
        """The provider's description, at most an hour old."""
        async with self._turn:
            if self._fetched is not None and self._clock() < self._fetched.at + HOUR:
                return self._fetched
            return await self._fetch()

    async def _newer(self, known: _Fetched) -> _Fetched:
        """A newer description than `known`, if it is time to fetch."""
        async with self._turn:
            if self._fetched is not known and self._fetched is not None:
                return self._fetched
            return await self._fetch() if self._may_ask() else known

    def _may_ask(self) -> bool:
        return self._tried is None or self._clock() >= self._tried + PAUSE

    async def _fetch(self) -> _Fetched:
        if not self._may_ask():
            raise _down()
        self._tried = self._clock()
        async with self._client({}) as client:
            description = await _document(client, get_well_known_url(self.openid.issuer, external=True))
            if description.get("issuer") != self.openid.issuer:
                _log.warning("the identity provider calls itself another issuer than the office file does")
                raise _down()
            needed = [description.get(name) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")]
            if not all(map(self._may_be_called, [*needed, description.get("userinfo_endpoint", self.openid.issuer)])):
                _log.warning("the identity provider names addresses that are missing or not encrypted")
                raise _down()
            keys = KeySet.import_key_set(await _document(client, description["jwks_uri"]))  # type: ignore[arg-type]
        self._fetched = _Fetched(description, keys, self._tried)
        return self._fetched

    def _may_be_called(self, address: object) -> bool:
        """Whether an address may be called: an issuer elsewhere must not send us to this machine."""
        here = self.openid.issuer.startswith("http:")
        return isinstance(address, str) and encrypted(address) and (here or address.startswith("https:"))

    async def _exchange(self, description: dict[str, Any], code: str, kept: Mapping[str, str]) -> dict[str, Any]:
        async with self._client(description) as client:
            try:
                token: dict[str, Any] = await client.fetch_token(
                    description["token_endpoint"],
                    grant_type="authorization_code",
                    code=code,
                    code_verifier=kept["verifier"],
                    redirect_uri=kept["redirect_uri"],
                )
            except OAuthError as error:
                if error.error != "invalid_grant":  # not the person's fault
                    _log.warning("the identity provider refuses this client: %r", error.error)
                    raise _down() from None
                raise _bad() from None
        return token

    async def _userinfo(self, description: dict[str, Any], access_token: object, subject: str) -> dict[str, Any]:
        """Claims from the userinfo address: a provider that keeps to the standard puts them here, not into the ID
        token."""
        async with self._client(description) as client:
            headers = {"Authorization": f"Bearer {access_token}"}
            userinfo = await _document(client, description["userinfo_endpoint"], headers)
        if userinfo.get("sub") != subject:
            raise _bad()
        return userinfo

    @asynccontextmanager
    async def _client(self, description: Mapping[str, Any]) -> AsyncIterator[AsyncOAuth2Client]:
        """A client for one conversation, since Authlib's remembers the last token; a failed connection is
        `unavailable`."""
        try:
            methods = description.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
            method = "client_secret_basic" if "client_secret_basic" in methods else "client_secret_post"
            async with (
                asyncio.timeout(PATIENCE),
                AsyncOAuth2Client(
                    self.openid.client_id,
                    self._secret,
                    token_endpoint_auth_method=method if self._secret else "none",
                    scope="openid email profile",
                    code_challenge_method="S256",
                    transport=self._transport,
                    verify=self._tls,
                ) as client,
            ):
                yield client
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, JoseError, ValueError, KeyError, TypeError) as error:
            _log.warning("the identity provider cannot be used: %s", type(error).__name__)
            raise _down() from None


async def _document(client: AsyncOAuth2Client, url: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
    response = await client.request("GET", url, headers=headers, withhold_token=True)
    response.raise_for_status()
    document = response.json()
    if not isinstance(document, dict):
        raise ValueError("not a JSON object")
    return document


def _verified(token: str, keys: KeySet) -> jwt.Token:
    """Verify the signature; raises InvalidKeyIdError if it is by a key that is not listed."""
    try:
        return jwt.decode(token, keys, registry=_Signatures(strict_check_header=False))
    except InvalidKeyIdError:
        raise
    except Exception:  # as above
        raise _bad() from None


def _same(one: str, other: str) -> bool:
    return compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))


def _bad() -> Refused:
    return Refused("bad token", "this sign-in is not valid, or has expired: sign in again")


def _down() -> Refused:
    return Refused("unavailable", "the identity provider cannot be reached: try again in a minute", retry_after=int(PAUSE))
