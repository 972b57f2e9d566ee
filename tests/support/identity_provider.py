"""A real identity provider on this machine, and tokens forged without the library that checks them."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from support.running import PATIENCE

FOLDER = Path(__file__).parents[1] / "http" / "provider"
REDIRECT = "https://office.example/login/openid/callback"
SECRET = "a-secret-that-only-the-office-and-its-provider-know"
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


@dataclass(frozen=True)
class IdentityProvider:
    """A running provider: its address, and its private keys by their ids."""

    issuer: str
    keys: Mapping[str, PrivateKey]


def new_keys() -> dict[str, PrivateKey]:
    """One key of each type; the name is the id."""
    return {
        "rsa": rsa.generate_private_key(65537, 2048),
        "ec": ec.generate_private_key(ec.SECP256R1()),
        "ed": ed25519.Ed25519PrivateKey.generate(),
    }


@contextlib.contextmanager
def running() -> Iterator[IdentityProvider]:
    """Run a provider with a client for each algorithm that may sign; the client `office` has a secret, the others have
    PKCE."""
    keys = new_keys()
    clients = [_client("office", "RS256", client_secret=SECRET)]
    clients += [_client(alg, alg, token_endpoint_auth_method="none") for alg in ("RS256", "PS256", "ES256", "EdDSA")]
    settings = json.dumps({"keys": [_as_jwk(name, key) for name, key in keys.items()], "clients": clients})
    with (
        (FOLDER / "server.mjs").open() as program,
        subprocess.Popen(
            ["node", "--input-type=module"],  # from standard input: what it imports is in its working folder
            cwd=_installed(),
            env={"PATH": os.environ["PATH"], "PROVIDER": settings},
            stdin=program,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            yield IdentityProvider(next(line.strip() for line in process.stdout if line.startswith("http://127.0.0.1:")), keys)
        finally:
            process.kill()


def signed_in(url: str, person: str) -> dict[str, str]:
    """What the browser brings back to the office when a person signs in at this address, through the provider's own
    forms."""
    with httpx2.Client(timeout=PATIENCE, trust_env=False) as browser:
        page = browser.get(url)
        while not (page.is_redirect and page.headers["location"].startswith(REDIRECT)):
            if page.is_redirect:
                page = browser.get(page.url.join(page.headers["location"]))
                continue
            assert page.status_code == 200, page.text
            form = re.search(r'action="([^"]+)" method="post">\s*<input type="hidden" name="prompt" value="(\w+)"', page.text)
            assert form is not None
            page = browser.post(page.url.join(form[1]), data={"prompt": form[2], "login": person, "password": "any"})
    return dict(parse_qsl(urlsplit(page.headers["location"]).query))


def forged(claims: Mapping[str, Any], key: PrivateKey | bytes | None, **header: Any) -> str:
    """A token with this header, signed with this key, with bytes (HMAC), or not at all."""
    text = f"{_base64(json.dumps(header).encode())}.{_base64(json.dumps(claims).encode())}"
    return f"{text}.{_base64(_signature(text.encode(), key, header.get('alg')))}"


def claims_now(issuer: str, audience: str, **others: Any) -> dict[str, Any]:
    """The claims of a valid token; None removes a claim."""
    now = int(time.time())
    about = {"sub": "ada", "email": "ada@example.org", "email_verified": True}
    claims = {"iss": issuer, "aud": audience, "iat": now, "exp": now + 60, **about, **others}
    return {name: value for name, value in claims.items() if value is not None}


def public_pem(key: PrivateKey) -> bytes:
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def _signature(text: bytes, key: PrivateKey | bytes | None, alg: object) -> bytes:
    match key:
        case None:
            return b""
        case bytes():
            return hmac.digest(key, text, hashlib.sha256)
        case rsa.RSAPrivateKey():
            pss = padding.PSS(padding.MGF1(hashes.SHA256()), 32)
            return key.sign(text, pss if alg == "PS256" else padding.PKCS1v15(), hashes.SHA256())
        case ec.EllipticCurvePrivateKey():
            r, s = decode_dss_signature(key.sign(text, ec.ECDSA(hashes.SHA256())))
            return r.to_bytes(32) + s.to_bytes(32)
        case _:
            return key.sign(text)


def _client(name: str, alg: str, **others: str) -> dict[str, Any]:
    return {"client_id": name, "redirect_uris": [REDIRECT], "id_token_signed_response_alg": alg, **others}


def _as_jwk(name: str, key: PrivateKey) -> dict[str, str]:
    match key:
        case rsa.RSAPrivateKey():
            n = key.private_numbers()
            parts = {"n": n.public_numbers.n, "e": n.public_numbers.e, "d": n.d, "p": n.p, "q": n.q}
            parts |= {"dp": n.dmp1, "dq": n.dmq1, "qi": n.iqmp}
            numbers = {part: _base64(number.to_bytes((number.bit_length() + 7) // 8)) for part, number in parts.items()}
            return {"kid": name, "use": "sig", "kty": "RSA", **numbers}
        case ec.EllipticCurvePrivateKey():
            secret, point = key.private_numbers().private_value, key.public_key().public_numbers()
            numbers = {part: _base64(n.to_bytes(32)) for part, n in {"d": secret, "x": point.x, "y": point.y}.items()}
            return {"kid": name, "use": "sig", "kty": "EC", "crv": "P-256", **numbers}
        case _:
            numbers = {"d": _base64(key.private_bytes_raw()), "x": _base64(key.public_key().public_bytes_raw())}
            return {"kid": name, "use": "sig", "kty": "OKP", "crv": "Ed25519", **numbers}


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _installed() -> Path:
    """A folder in which `node` finds the provider: installed once, by npm, and kept with other caches."""
    if not shutil.which("node") or not shutil.which("npm"):
        _do_without("node and npm are not installed")
    wanted = (FOLDER / "package.json").read_bytes()
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "duotone-tests"
    folder = caches / f"provider-{hashlib.sha256(wanted).hexdigest()[:12]}"
    if folder.exists():
        return folder
    caches.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=caches) as name:
        place = Path(name) / "provider"
        place.mkdir()
        (place / "package.json").write_bytes(wanted)
        words = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
        if subprocess.run(words, cwd=place, capture_output=True, timeout=120, check=False).returncode:
            _do_without("npm cannot install oidc-provider here")
        with contextlib.suppress(OSError):  # another process was faster
            place.rename(folder)
    return folder


def _do_without(reason: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(f"no identity provider to test against: {reason}")
    pytest.skip(f"no identity provider to test against: {reason}")
