"""Sign-in by OpenID Connect, against a certified provider that runs here; tokens are forged without the library under test."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import ValidationError

from duotone.desk.callers import Refused
from duotone.desk.office import OpenId
from duotone.http.openid import HOUR, PAUSE, Provider
from support.identity_provider import (
    REDIRECT,
    SECRET,
    IdentityProvider,
    PrivateKey,
    claims_now,
    forged,
    new_keys,
    public_pem,
    running,
    signed_in,
)
from support.offices import VOTES, make_office, serving
from support.running import PATIENCE

NOT_VALID = "this sign-in is not valid, or has expired: sign in again"
NOBODY = "this sign-in does not name a person, or only by an email address that is not verified"
UNREACHABLE = "the identity provider cannot be reached: try again in a minute"


@pytest.fixture(scope="module")
def identity() -> Iterator[IdentityProvider]:
    with running() as identity:
        yield identity


@pytest.fixture(scope="module")
def strangers() -> dict[str, PrivateKey]:
    return new_keys()


class Between(httpx2.AsyncBaseTransport):
    """Stands between the service and the provider: notes what is asked, and may change what is answered."""

    def __init__(self, change: Callable[[str, dict[str, Any]], Any] = lambda _, document: document) -> None:
        self.paths: list[str] = []
        self.change = change

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.paths.append(request.url.path)
        async with httpx2.AsyncHTTPTransport() as transport:
            answer = await transport.handle_async_request(request)
            document = json.loads(await answer.aread())
        return httpx2.Response(answer.status_code, json=self.change(request.url.path, document))


EXAMPLE = OpenId(issuer="https://login.example", client_id="office")


def provider(identity: IdentityProvider, client: str = "office", **others: Any) -> Provider:
    secret = SECRET if client == "office" else None
    transport, clock = others.pop("transport", None), others.pop("clock", lambda: 0.0)
    there = OpenId(issuer=identity.issuer, client_id=client, **others)
    return Provider(there, secret, transport=transport, clock=clock)


def sign_in(service: Provider, person: str = "ada") -> dict[str, Any]:
    url, kept = asyncio.run(service.authorize_url(REDIRECT))
    return asyncio.run(service.claims_of_code(signed_in(url, person), json.loads(json.dumps(kept))))


def refused(call: Any) -> tuple[str, str]:
    """Why; and neither the error nor what led to it says more."""
    with pytest.raises(Refused) as caught:
        asyncio.run(call)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value.kind, str(caught.value)


# --- the whole way ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", ["office", "RS256", "PS256", "ES256", "EdDSA"])
def test_a_person_signs_in(identity: IdentityProvider, client: str) -> None:
    """With a secret, or with PKCE alone, by every algorithm; this provider keeps the email address out of the token."""
    service = provider(identity, client)
    claims = sign_in(service)
    assert (claims["sub"], claims["email"], claims["aud"]) == ("ada", "ada@example.org", client)
    assert service.person(claims) == "ada@example.org"


def test_the_address_carries_pkce_state_and_nonce_that_are_new_each_time(identity: IdentityProvider) -> None:
    service = provider(identity)
    (one, kept), (two, _) = (asyncio.run(service.authorize_url(REDIRECT)) for _ in range(2))
    first, second = httpx2.URL(one).params, httpx2.URL(two).params
    assert first["response_type"] == "code"
    assert first["code_challenge_method"] == "S256"
    assert "openid" in first["scope"].split()
    assert (first["state"], first["nonce"], first["redirect_uri"]) == (kept["state"], kept["nonce"], REDIRECT)
    assert kept["verifier"] not in one
    assert SECRET not in one
    assert all(first[name] != second[name] for name in ("state", "nonce", "code_challenge"))


def test_a_claim_that_is_in_the_token_is_not_fetched(identity: IdentityProvider) -> None:
    between = Between()
    service = provider(identity, claim="sub", transport=between)
    assert service.person(sign_in(service)) == "ada"
    assert "/me" not in between.paths


def test_an_access_token_for_the_audience_is_a_bearer_token(identity: IdentityProvider) -> None:
    """As the provider itself issues it for a resource."""
    url, kept = asyncio.run(provider(identity, "ES256").authorize_url(REDIRECT))
    back = signed_in(f"{url}&resource=urn:duotone", "ada")
    answer = httpx2.post(
        f"{identity.issuer}/token",
        data={
            "grant_type": "authorization_code",
            "code": back["code"],
            "client_id": "ES256",
            "code_verifier": kept["verifier"],
            "redirect_uri": REDIRECT,
            "resource": "urn:duotone",
        },
        timeout=PATIENCE,
    ).json()
    service = provider(identity, audience="urn:duotone")
    assert service.person(asyncio.run(service.claims_of_bearer(answer["access_token"]))) == "ada@example.org"
    for other in ({"audience": "urn:another"}, {}):
        assert refused(provider(identity, **other).claims_of_bearer(answer["access_token"])) == ("bad token", NOT_VALID)
    assert refused(service.claims_of_bearer(answer["id_token"])) == ("bad token", NOT_VALID)


# --- the way back, tampered with ----------------------------------------------------------------------------------------


def test_the_way_back_is_taken_once_by_the_browser_that_set_out(identity: IdentityProvider) -> None:
    service = provider(identity)
    url, kept = asyncio.run(service.authorize_url(REDIRECT))
    back = signed_in(url, "ada")
    other = asyncio.run(service.authorize_url(REDIRECT))[1]
    wrong = [
        ({**back, "state": other["state"]}, kept),
        ({**back, "state": "\udcff"}, kept),
        (back, other),
        (back, {}),
        ({}, {}),
        ({"state": back["state"], "error": "access_denied"}, kept),
        ({name: value for name, value in back.items() if name != "state"}, kept),
        ({name: value for name, value in back.items() if name != "iss"}, kept),
        ({**back, "iss": "https://another.example"}, kept),
    ]
    for parameters, state in wrong:
        assert refused(service.claims_of_code(parameters, state)) == ("bad token", NOT_VALID)
    assert asyncio.run(service.claims_of_code(back, kept))["sub"] == "ada"
    assert refused(service.claims_of_code(back, kept)) == ("bad token", NOT_VALID)  # the code is spent


@pytest.mark.parametrize("name", ["nonce", "verifier", "redirect_uri"])
def test_what_was_kept_must_be_what_was_sent(identity: IdentityProvider, name: str) -> None:
    service = provider(identity)
    url, kept = asyncio.run(service.authorize_url(REDIRECT))
    back = signed_in(url, "ada")
    changed = {**kept, name: f"{kept[name]}A"}
    assert refused(service.claims_of_code(back, changed)) == ("bad token", NOT_VALID)


def test_a_wrong_secret_is_the_owners_to_put_right(identity: IdentityProvider, caplog: pytest.LogCaptureFixture) -> None:
    service = provider(identity)
    url, kept = asyncio.run(service.authorize_url(REDIRECT))
    wrong = Provider(OpenId(issuer=identity.issuer, client_id="office"), "wrong-secret")
    assert refused(wrong.claims_of_code(signed_in(url, "ada"), kept)) == ("unavailable", UNREACHABLE)
    assert "invalid_client" in caplog.text
    assert "wrong-secret" not in caplog.text + repr(wrong)


def test_an_email_address_that_is_not_verified_names_nobody(identity: IdentityProvider) -> None:
    service = provider(identity)
    url, kept = asyncio.run(service.authorize_url(REDIRECT))
    assert refused(service.claims_of_code(signed_in(url, "mallory"), kept)) == ("bad token", NOBODY)


@pytest.mark.slow
def test_the_id_token_of_a_code_is_checked(identity: IdentityProvider) -> None:
    """Each is signed by the provider, and exchanged for a good code."""
    wrong: list[dict[str, Any]] = [
        {"nonce": None},
        {"nonce": "another"},
        {"aud": "another"},
        {"aud": "another", "azp": "office"},
        {"aud": ["office", "another"]},
        {"azp": "another"},
        {"exp": 1},
        {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
    ]
    cases = iter([{}, *wrong])
    nonce = ""

    def change(path: str, document: dict[str, Any]) -> dict[str, Any]:
        if path == "/token":
            claims = claims_now(identity.issuer, "office", **{"nonce": nonce, **next(cases)})
            document["id_token"] = forged(claims, identity.keys["rsa"], alg="RS256", kid="rsa")
        return document

    service = provider(identity, transport=Between(change))
    for case in [{}, *wrong]:
        url, kept = asyncio.run(service.authorize_url(REDIRECT))
        nonce, back = kept["nonce"], signed_in(url, "ada")
        if case:
            assert refused(service.claims_of_code(back, kept)) == ("bad token", NOT_VALID), case
        else:
            assert asyncio.run(service.claims_of_code(back, kept))["email"] == "ada@example.org"


def test_what_the_provider_says_of_somebody_else_is_not_taken(identity: IdentityProvider) -> None:
    between = Between(lambda path, document: {**document, "sub": "bob"} if path == "/me" else document)
    service = provider(identity, transport=between)
    url, kept = asyncio.run(service.authorize_url(REDIRECT))
    assert refused(service.claims_of_code(signed_in(url, "ada"), kept)) == ("bad token", NOT_VALID)


# --- bearer tokens, forged ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kid", "alg"), [("rsa", "RS256"), ("rsa", "PS256"), ("ec", "ES256"), ("ed", "EdDSA")])
def test_a_forgery_with_the_providers_own_key_passes(identity: IdentityProvider, kid: str, alg: str) -> None:
    """So that what is refused below is refused for its one fault."""
    for typ in ({}, {"typ": "JWT"}, {"typ": "at+jwt"}):
        token = forged(claims_now(identity.issuer, "office"), identity.keys[kid], alg=alg, kid=kid, **typ)
        assert asyncio.run(provider(identity).claims_of_bearer(token))["sub"] == "ada"


CLAIMS: dict[str, dict[str, Any]] = {
    "expired": {"exp": 1_700_000_000},
    "without an end": {"exp": None},
    "ends at no number": {"exp": "never"},
    "ends at infinity": {"exp": float("inf")},
    "from tomorrow": {"iat": 4_000_000_000},
    "not yet": {"nbf": 4_000_000_000},
    "without a beginning": {"iat": None},
    "another issuer": {"iss": "https://another.example"},
    "no issuer": {"iss": None},
    "another audience": {"aud": "another"},
    "other audiences": {"aud": ["another", "third"]},
    "several audiences, none authorized": {"aud": ["office", "another"]},
    "no audience": {"aud": None},
    "an audience that holds ours": {"aud": "office2"},
    "audience is an object": {"aud": {"office": True}},
    "another party": {"azp": "another"},
    "of nobody": {"sub": None},
    "a subject that is a number": {"sub": 1},
    "bound to a key": {"cnf": {"jkt": "x"}},
}


@pytest.mark.parametrize("fault", CLAIMS)
def test_a_token_with_a_wrong_claim_is_refused(identity: IdentityProvider, fault: str) -> None:
    claims = claims_now(identity.issuer, "office", **CLAIMS[fault])
    token = forged(claims, identity.keys["rsa"], alg="RS256", kid="rsa")
    assert refused(provider(identity).claims_of_bearer(token)) == ("bad token", NOT_VALID)


@pytest.mark.parametrize(
    "claims",
    [{"email_verified": False}, {"email_verified": "true"}, {"email_verified": None}, {"email": None}, {"email": ["a"]}],
)
def test_a_token_that_names_nobody_surely_is_refused(identity: IdentityProvider, claims: dict[str, Any]) -> None:
    token = forged(claims_now(identity.issuer, "office", **claims), identity.keys["rsa"], alg="RS256", kid="rsa")
    assert refused(provider(identity).claims_of_bearer(token)) == ("bad token", NOBODY)


def test_a_token_with_a_wrong_signature_is_refused(identity: IdentityProvider, strangers: dict[str, PrivateKey]) -> None:
    claims = claims_now(identity.issuer, "office")
    ours = identity.keys["rsa"]
    good = forged(claims, ours, alg="RS256", kid="rsa")
    header, payload, signature = good.split(".")
    jwk = {"kty": "oct", "k": base64.urlsafe_b64encode(b"known").decode().rstrip("=")}
    wrong = {
        "another's key": forged(claims, strangers["rsa"], alg="RS256", kid="rsa"),
        "another's curve": forged(claims, strangers["ec"], alg="ES256", kid="ec"),
        "another's key, unknown": forged(claims, strangers["rsa"], alg="RS256", kid="mine"),
        "a key of its own": forged(claims, strangers["rsa"], alg="RS256", kid="mine", jku="https://evil.example/keys"),
        "no key named": forged(claims, ours, alg="RS256"),
        "another kind of key": forged(claims, ours, alg="RS256", kid="ec"),
        "none": forged(claims, None, alg="none"),
        "none, with a key": forged(claims, None, alg="none", kid="rsa"),
        "None": forged(claims, None, alg="None", kid="rsa"),
        "the public key as a secret": forged(claims, public_pem(ours), alg="HS256", kid="rsa"),
        "a secret of its own": forged(claims, b"known", alg="HS256", jwk=jwk),
        "a longer hash": forged(claims, ours, alg="RS512", kid="rsa"),
        "no algorithm": forged(claims, ours, kid="rsa"),
        "an algorithm that is a list": forged(claims, ours, alg=["RS256"], kid="rsa"),
        "a key id that is an object": forged(claims, ours, alg="RS256", kid={"rsa": 1}),
        "what must be understood": forged(claims, ours, alg="RS256", kid="rsa", crit=["new"], new=1),
        "a logout token": forged(claims, ours, alg="RS256", kid="rsa", typ="logout+jwt"),
        "a type that is a number": forged(claims, ours, alg="RS256", kid="rsa", typ=1),
        "a claim changed": f"{header}.{forged({**claims, 'sub': 'bob'}, None).split('.')[1]}.{signature}",
        "cut": good[:-4],
        "without a signature": f"{header}.{payload}.",
        "not claims": forged([], ours, alg="RS256", kid="rsa"),  # type: ignore[arg-type]
        "encrypted": f"{good}.AAAA.AAAA",
        "nothing": "",
        "dots": "..",
        "no JSON": "e30.e30.e30",
        "no base64": "ä.ö.ü",
        "deep": f"{base64.urlsafe_b64encode(b'[' * 380).decode()}.e30.",
        "long": f"{header}.{'A' * 10**6}.{signature}",
    }
    service = provider(identity)
    assert asyncio.run(service.claims_of_bearer(good))["sub"] == "ada"
    for fault, token in wrong.items():
        assert refused(service.claims_of_bearer(token)) == ("bad token", NOT_VALID), fault


# --- how often the provider is asked ------------------------------------------------------------------------------------


def test_description_and_keys_are_fetched_once_an_hour(identity: IdentityProvider) -> None:
    between, now = Between(), [0.0]
    service = provider(identity, transport=between, clock=lambda: now[0])
    token = forged(claims_now(identity.issuer, "office"), identity.keys["ec"], alg="ES256", kid="ec")

    both = ["/.well-known/openid-configuration", "/jwks"]

    async def many_at_once() -> None:
        for seconds, times in ((0.0, 1), (HOUR - 1, 1), (HOUR, 2)):
            now[0] = seconds
            await asyncio.gather(*(service.claims_of_bearer(token) for _ in range(8)))
            assert between.paths == both * times

    asyncio.run(many_at_once())


def test_a_new_key_is_fetched_and_a_made_up_one_does_not_make_us_ask_more_often(identity: IdentityProvider) -> None:
    hidden = itertools.chain(["ec"], itertools.repeat(""))

    def change(path: str, document: dict[str, Any]) -> dict[str, Any]:
        if path == "/jwks":
            secret = next(hidden)
            document["keys"] = [key for key in document["keys"] if key["kid"] != secret]
        return document

    between, now = Between(change), [0.0]
    service = provider(identity, transport=between, clock=lambda: now[0])
    claims, key = claims_now(identity.issuer, "office"), identity.keys["ec"]
    newer, made_up = (forged(claims, key, alg="ES256", kid=kid) for kid in ("ec", "made-up"))
    assert refused(service.claims_of_bearer(newer)) == ("bad token", NOT_VALID)  # fetched just now
    now[0] = PAUSE
    assert asyncio.run(service.claims_of_bearer(newer))["sub"] == "ada"
    asked = len(between.paths)
    for _ in range(5):
        assert refused(service.claims_of_bearer(made_up)) == ("bad token", NOT_VALID)
    assert len(between.paths) == asked


# --- what the owner may write, and a provider that fails ----------------------------------------------------------------


@pytest.mark.parametrize(
    "issuer",
    ["http://login.example", "login.example", "", "https://", "ftp://login.example", "https://a.example/?b", "https://a.example#b",
     "https://user@a.example", "http://[::1", "http://127.0.0.1.example", "http://localhost.example"],
)  # fmt: skip
def test_the_issuer_is_encrypted_or_here(issuer: str) -> None:
    with pytest.raises(ValidationError, match=r"must be an https:// address|at least 1 character"):
        OpenId(issuer=issuer, client_id="office")


@pytest.mark.parametrize(
    "issuer", ["https://login.example/realm", "http://127.0.0.1:9", "http://localhost:9", "http://[::1]:9"]
)
def test_an_issuer_that_may_be_used(issuer: str) -> None:
    assert OpenId(issuer=issuer, client_id="office").issuer == issuer


@pytest.mark.parametrize(
    "answer",
    [
        [],
        {"issuer": "https://another.example"},
        {"token_endpoint": None},
        {"token_endpoint": "http://another.example/token"},
        {"jwks_uri": "ftp://127.0.0.1/"},
        {"jwks_uri": "http://127.0.0.1:1/jwks"},
        {"userinfo_endpoint": "http://another.example/me"},
    ],
)
def test_a_provider_that_does_not_describe_itself_well_is_unavailable(identity: IdentityProvider, answer: Any) -> None:
    def change(path: str, document: dict[str, Any]) -> Any:
        return document if "well-known" not in path else {**document, **answer} if answer else answer

    between = Between(change)
    assert refused(provider(identity, transport=between).claims_of_bearer("a.b.c")) == ("unavailable", UNREACHABLE)


def test_an_encrypted_issuer_does_not_send_us_to_this_machine() -> None:
    """Nothing is asked of the address that it names."""
    description = {"issuer": "https://login.example", "authorization_endpoint": "https://login.example/auth"}
    description |= {"token_endpoint": "http://127.0.0.1:1/token", "jwks_uri": "http://127.0.0.1:1/jwks"}
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path)
        return httpx2.Response(200, json=description)

    service = Provider(EXAMPLE, transport=httpx2.MockTransport(answer))
    assert refused(service.authorize_url(REDIRECT)) == ("unavailable", UNREACHABLE)
    assert asked == ["/.well-known/openid-configuration"]


def test_a_provider_that_is_not_there_is_not_asked_all_the_time() -> None:
    asked, now = [], [0.0]

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path)
        raise httpx2.ConnectError("no such host: secret.internal")

    service = Provider(EXAMPLE, transport=httpx2.MockTransport(answer), clock=lambda: now[0])
    for seconds, times in ((0.0, 1), (1.0, 1), (PAUSE, 2)):
        now[0] = seconds
        assert refused(service.claims_of_bearer("a.b.c")) == ("unavailable", UNREACHABLE)
        assert len(asked) == times


def test_a_redirect_or_a_page_is_no_description(identity: IdentityProvider) -> None:
    for response in (httpx2.Response(302, headers={"location": identity.issuer}), httpx2.Response(200, text="<html>")):
        transport = httpx2.MockTransport(lambda _, response=response: response)
        service = Provider(EXAMPLE, transport=transport)
        assert refused(service.authorize_url(REDIRECT)) == ("unavailable", UNREACHABLE)


# --- the whole service --------------------------------------------------------------------------------------------------


OFFICE = """
ledger = "l"
[server]
url = "https://office.example"
[openid]
issuer = "{issuer}"
client_id = "ES256"
name = "Our sign-in"
"""
PEOPLE = """
[people.olga]
role = "owner"
[people.ana]
role = "analyst"
datasets = ["votes"]
subject = "ada@example.org"
"""


@pytest.mark.slow
def test_people_sign_in_elsewhere_and_are_known_here(identity: IdentityProvider, tmp_path: Path) -> None:
    """A browser that goes there and comes back has a session; a program shows its token; nobody else comes in."""

    def cookie(reply: httpx2.Response, name: str) -> dict[str, str]:
        (text,) = [
            value for value in reply.headers.get_list("set-cookie") if value.startswith(f"{name}=") and "Max-Age=0" not in value
        ]
        assert "httponly" in text.lower()
        assert "secure" in text.lower()
        return {"Cookie": text.partition(";")[0]}

    head = OFFICE.format(issuer=identity.issuer)
    with serving(make_office(tmp_path, VOTES, head=head, people=PEOPLE)) as office, office.client(None) as browser:
        assert "Our sign-in" in browser.get("/login").text

        def come_back(person: str) -> tuple[dict[str, str], dict[str, str]]:
            left = browser.get("/login/openid")
            assert left.status_code == 303
            return signed_in(left.headers["location"], person), cookie(left, "duotone-sign-in")

        parameters, kept = come_back("ada")
        for wrong in ({}, come_back("ada")[1], {"Cookie": kept["Cookie"][:-1]}):  # a browser that did not set out for this
            assert browser.get("/login/openid/callback", params=parameters, headers=wrong).status_code == 401
        back = browser.get("/login/openid/callback", params=parameters, headers=kept)
        assert (back.status_code, back.headers["location"]) == (303, "/")
        assert browser.get("/api/me", headers=cookie(back, "duotone")).json()["name"] == "ana"
        assert browser.get("/login/openid/callback", params=parameters, headers=kept).status_code == 401
        for person, status in (("carol", 403), ("mallory", 401)):  # nobody of this office; an unverified address
            parameters, kept = come_back(person)
            refusal = browser.get("/login/openid/callback", params=parameters, headers=kept)
            assert refusal.status_code == status
            assert not [value for value in refusal.headers.get_list("set-cookie") if value.startswith("duotone=")]

        def who(token: str) -> tuple[int, str | None]:
            reply = browser.get("/api/me", headers={"Authorization": f"Bearer {token}"})
            return reply.status_code, reply.json().get("name")

        claims, key = claims_now(identity.issuer, "ES256"), identity.keys["ec"]
        assert who(forged(claims, key, alg="ES256", kid="ec")) == (200, "ana")
        stranger = {**claims, "sub": "carol", "email": "carol@example.org"}
        for token in (forged(stranger, key, alg="ES256", kid="ec"), forged(claims, None, alg="none")):
            assert who(token) == (401, None)
