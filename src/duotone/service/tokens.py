"""Tokens: a secret that says who makes a request. Only a memory-hard hash of it is kept."""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from duotone.errors import DuotoneError

HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
"""Argon2id, with the parameters that OWASP's cheat sheet on password storage names first."""
SHAPE = re.compile(r"duo_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
REMEMBERED = 1024
"""The tokens whose hash need not be computed again, at most."""


@dataclass(frozen=True)
class Token:
    """What is kept of a token: whose it is, and how it is recognised."""

    id: str
    person: str
    hash: str
    made: str
    assistant: bool = False
    """Whether an assistant holds it, which asks only what its person approved or allowed."""
    expires: str | None = None

    def expired(self, now: datetime) -> bool:
        """Whether its time is over."""
        return self.expires is not None and now >= datetime.fromisoformat(self.expires)


class Tokens:
    """The tokens of an office, in a file that only its owner can read. A change of the file counts from the next request on."""

    def __init__(self, path: Path) -> None:
        self._path, self._key, self._lock = path, secrets.token_bytes(32), threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._tokens: dict[str, Token] = {}
        self._known: dict[bytes, str] = {}

    def add(self, person: str, *, assistant: bool = False, days: int | None = None) -> str:
        """A new token for a person: the only time that it is seen."""
        if days is not None and not 1 <= days <= 3650:
            raise DuotoneError(f"a token is for 1 to 3650 days, got {days}")
        now = datetime.now(UTC)
        ident, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        expires = None if days is None else (now + timedelta(days=days)).isoformat()
        with self._changed() as tokens:
            tokens[ident] = Token(ident, person, HASHER.hash(secret), now.isoformat(), assistant, expires)
        return f"duo_{ident}_{secret}"

    def revoke(self, person: str, ident: str | None = None) -> int:
        """Take away all tokens of a person, or one of them; how many these were."""
        with self._changed() as tokens:
            lost = [token.id for token in tokens.values() if token.person == person and ident in (None, token.id)]
            for each in lost:
                del tokens[each]
        return len(lost)

    def every(self) -> list[Token]:
        """All of them."""
        return list(self._read().values())

    def known(self, ident: str) -> Token | None:
        """A token by its public part, if it still holds."""
        token = self._read().get(ident)
        return None if token is None or token.expired(datetime.now(UTC)) else token

    def remembered(self, text: str) -> Token | None:
        """The token that this is, if it was verified before; that takes no time."""
        parts = SHAPE.fullmatch(text)
        token = None if parts is None else self.known(parts[1])
        return token if token is not None and self._mark(token, text) in self._known else None

    def verified(self, text: str) -> Token | None:
        """The token that this is; None for anything else. It takes a while the first time: do it in a thread."""
        parts = SHAPE.fullmatch(text)
        token = None if parts is None else self.known(parts[1])
        if parts is None or token is None:
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
        """By which a text that was verified is remembered, without the text."""
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
                self._tokens = {one["id"]: Token(**one) for one in written["tokens"]}
            except (OSError, ValueError, TypeError, KeyError):
                raise DuotoneError(f"{self._path} is no file of tokens: move it away, and make new tokens") from None
            self._stamp = stamp
        return self._tokens

    @contextmanager
    def _changed(self) -> Iterator[dict[str, Token]]:
        """The tokens, to be changed; the file is then replaced at once, and nobody else changes it meanwhile."""
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
