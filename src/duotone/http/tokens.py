"""Tokens: a secret that identifies the caller. Only a memory-hard hash of it is stored."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from duotone.desk.log import audit
from duotone.errors import DuotoneError

HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
"""Argon2id, with the first parameters of OWASP's cheat sheet on password storage."""
SHAPE = re.compile(r"duo_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
DAYS, MOST_DAYS = 90, 3650
"""Days until a token expires: by default, and at most."""
REMEMBERED = 1024
"""Most verified tokens that are remembered, so that their hash need not be computed again."""


@dataclass(frozen=True)
class Token:
    """What is stored of a token: its owner, and how it is recognised."""

    id: str
    person: str
    hash: str
    check: str
    """A few digits of a cheap hash, which refuses a wrong secret without computing the expensive one."""
    made: str
    expires: str
    assistant: bool = False
    """Whether an assistant holds it, which asks only what its person approved or allowed."""

    def holds(self, now: datetime) -> bool:
        """Whether the token has not expired."""
        return now < datetime.fromisoformat(self.expires)


class Tokens:
    """The tokens of an office, in a file that only its owner can read. A change of the file counts from the next
    request on; if `audited`, changes are logged."""

    def __init__(self, path: Path, *, audited: bool = False) -> None:
        self._audited = audited
        self._path, self._key, self._lock = path, secrets.token_bytes(32), threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._tokens: dict[str, Token] = {}
        self._known: dict[bytes, str] = {}

    def add(self, person: str, *, assistant: bool = False, days: int = DAYS) -> str:
        """A new token for a person; it is shown only now."""
        if not 1 <= days <= MOST_DAYS:
            raise DuotoneError(f"a token is for 1 to {MOST_DAYS} days, got {days}")
        now = datetime.now(UTC)
        ident, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        made, expires = now.isoformat(), (now + timedelta(days=days)).isoformat()
        with self._changed() as tokens:
            tokens[ident] = Token(ident, person, HASHER.hash(secret), _check(secret), made, expires, assistant)
        return f"duo_{ident}_{secret}"

    def revoke(self, person: str, ident: str | None = None) -> int:
        """Revoke all tokens of a person, or one of them; returns how many."""
        with self._changed() as tokens:
            lost = [token.id for token in tokens.values() if token.person == person and ident in (None, token.id)]
            for each in lost:
                del tokens[each]
        return len(lost)

    def every(self) -> list[Token]:
        """All tokens."""
        return list(self._read().values())

    def known(self, ident: str) -> Token | None:
        """A token by its public part, if still valid."""
        token = self._read().get(ident)
        return token if token is not None and token.holds(datetime.now(UTC)) else None

    def verified(self, text: str) -> Token | None:
        """The token that this text is; None for anything else, quickly. The first check of a token is slow: do it in a
        thread."""
        parts = SHAPE.fullmatch(text)
        token = None if parts is None else self.known(parts[1])
        if parts is None or token is None or not hmac.compare_digest(_check(parts[2]), token.check):
            return None
        seen = self._mark(token, text)
        if seen in self._known:
            return token
        try:
            with self._lock:  # one at a time: each takes 19 MiB
                HASHER.verify(token.hash, parts[2])
        except (Argon2Error, InvalidHashError):
            return None
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[seen] = token.id
        return token

    def _mark(self, token: Token, text: str) -> bytes:
        """By what a verified text is remembered, without the text."""
        return hmac.digest(self._key, f"{token.hash} {text}".encode(), "sha256")

    def _read(self) -> dict[str, Token]:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return {}
        stamp = status.st_mtime_ns, status.st_size, status.st_ino
        if stamp != self._stamp:
            try:
                written = json.loads(self._path.read_text(encoding="utf-8"))
                tokens = {one["id"]: Token(**one) for one in written["tokens"]}
            except (OSError, ValueError, TypeError, KeyError):
                raise DuotoneError(f"{self._path} is not a file of tokens: move it away, and make new tokens") from None
            self._note(tokens)
            self._tokens, self._stamp = tokens, stamp
        return self._tokens

    def _note(self, tokens: Mapping[str, Token]) -> None:
        """Log the changes of the file, also those by the command, which runs in a process of its own."""
        if not self._audited:
            return
        if self._stamp is None:
            audit("tokens at the start", token=sorted(tokens))
            return
        for ident in sorted(tokens.keys() - self._tokens.keys()):
            audit("a token was added", whose=tokens[ident].person, token=ident)
        for ident in sorted(self._tokens.keys() - tokens.keys()):
            audit("a token was revoked", whose=self._tokens[ident].person, token=ident)

    @contextmanager
    def _changed(self) -> Iterator[dict[str, Token]]:
        """The tokens, for a change; then the file is replaced in one step, and nobody else changes it meanwhile."""
        import fcntl

        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path.parent / f".{self._path.name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            tokens = dict(self._read())
            yield tokens
            descriptor, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")  # mode 600
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump({"tokens": [asdict(token) for token in tokens.values()]}, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self._path)


def _check(secret: str) -> str:
    """32 bits of the 256-bit secret: without a token one almost never causes the memory-hard hash to be computed."""
    return hashlib.sha256(secret.encode()).hexdigest()[:8]
