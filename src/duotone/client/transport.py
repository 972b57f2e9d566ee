"""Transport: requests to a service under a secret token, and its refusals as errors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from ssl import SSLContext
from typing import Any, Literal, TypedDict
from urllib.parse import quote, urlsplit

import httpx2

from duotone.desk.callers import is_loopback
from duotone.desk.operations import Document, Operation
from duotone.desk.terms import OWNERS
from duotone.errors import DuotoneError, OverBudgetThere, ServiceError
from duotone.options import require_known
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given, show

CONNECTING = 10.0
"""Seconds within which a service must accept a connection."""
PERHAPS_CHARGED = "; the question may have been charged: ask the same again, which is free then"
"""What may have happened to a question whose answer did not arrive."""


@dataclass(frozen=True)
class Transport:
    """A connection to a service by its URL. The token is only in what `client` sends."""

    url: str
    client: httpx2.Client = field(repr=False)

    def call(self, operation: Operation, *given: Any) -> Any:
        """The service's reply to an operation; positional arguments fill its path, keywords are its body."""
        many = len(operation.places)
        body = None if operation.takes is None else operation.body(given[many])
        response = self._response(operation, given[:many], body)
        if operation.gives == "csv":
            return response.text
        try:
            return response.json()
        except ValueError:
            raise self._no_service(response) from None

    def close(self) -> None:
        """Close the connection."""
        self.client.close()

    def _response(self, operation: Operation, named: tuple[object, ...], body: Document | None) -> httpx2.Response:
        if any(str(part) in ("", ".", "..") for part in named):  # it would lead elsewhere
            raise DuotoneError("name a dataset: . and .. are not names")
        parts = dict(zip(operation.places, (quote(str(part), safe="") for part in named), strict=True))
        place, lost = f"{self.url}/api{operation.path.format(**parts)}", "" if operation.name != "ask" else PERHAPS_CHARGED
        response = failure = None
        try:
            response = self.client.request(operation.method, place, json=body)
        except httpx2.ConnectError:
            failure = f"nobody answers at {self.url}: is the service running, and is the address right?"
        except httpx2.TimeoutException:
            failure = f"{self.url} did not answer in time{lost}"
        except httpx2.HTTPError:
            failure = f"the connection to {self.url} broke{lost}"
        if response is None:  # raised here, so that its context holds no request with the token
            raise ServiceError(failure or "", kind="unreachable")
        if response.is_success:
            return response
        raise self._refusal(response)

    def _refusal(self, response: httpx2.Response) -> ServiceError:
        """A service's refusal, in its own words."""
        try:
            said = response.json()
            sentence, kind = str(said["error"]), str(said["kind"])
        except (ValueError, TypeError, KeyError):
            return self._no_service(response)
        wait = response.headers.get("retry-after", "")
        raised = OverBudgetThere if kind == "over budget" else ServiceError
        return raised(sentence, response.status_code, kind, int(wait) if re.fullmatch("[0-9]{1,6}", wait) else None)

    def _no_service(self, response: httpx2.Response) -> ServiceError:
        return ServiceError(
            f"{self.url} does not reply like a service (status {response.status_code}): is the address right?",
            response.status_code,
        )


def open_transport(url: str, token: str, wait: float, insecure: bool, verify: SSLContext | None) -> Transport:
    """A transport, for a checked URL and token."""
    near, place = _checked(url, insecure)
    if not re.fullmatch(r"[!-~]+", token):
        raise DuotoneError("a token has letters, digits and signs without blanks (the given one is not shown)")
    trusted: Any = {} if verify is None else {"verify": verify}
    client = httpx2.Client(
        headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
        timeout=httpx2.Timeout(wait, connect=CONNECTING),
        trust_env=not near,  # no proxy stands between a machine and itself
        **trusted,
    )
    return Transport(place, client)


def _checked(url: str, insecure: bool) -> tuple[bool, str]:
    """The address, and whether it is on this machine; an error never shows one with a password."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise DuotoneError("the address of a service is a URL, as https://duotone.example.org") from None
    if parts.username is not None or parts.password is not None:
        raise DuotoneError("leave the name and the password out of the address (it is not shown here): a token says who asks")
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise DuotoneError(f"the address of a service is a URL, as https://duotone.example.org, got {url}")
    near = is_loopback(host)
    if parts.scheme == "http" and not (near or insecure):
        raise DuotoneError(
            f"{url} is not encrypted, and others on the network could read the token: use https://, or, where something else"
            " encrypts the way, insecure=True"
        )
    return near, url.rstrip("/")


def as_body(given: Document) -> Document:
    """The body of a request: the given values, as JSON allows them."""
    body = {name: value for name, value in given.items() if value is not None}
    try:
        json.dumps(body, allow_nan=False)
    except (TypeError, ValueError):
        raise DuotoneError("the terms of a question must be text, numbers or lists of these") from None
    return body


def budget_terms(privacy: ApproxDP | None = None, epsilon: Given | None = None, delta: Given | None = None) -> Document:
    """A budget as a service takes it: a definition, or ε and δ as they are written; empty for close calls."""
    if privacy is None:
        return {"epsilon": written(epsilon), "delta": written(delta)}
    if not isinstance(privacy, ApproxDP):
        raise DuotoneError(f'a budget is epsilon=1, delta=1e-6, or an ApproxDP, as ApproxDP(1, "1e-6"): got {privacy}')
    if not (epsilon is None and delta is None):
        raise DuotoneError("there are two budgets: give a definition, or epsilon and delta")
    exact, below = privacy.epsilon_exact, show(privacy.exp_epsilon)
    return {**({"exp_epsilon": below} if exact is None else {"epsilon": show(exact)}), "delta": show(Fraction(privacy.delta))}


class Asked(TypedDict, total=False):
    """What may be given with a question: the same names as in a service's `Terms`."""

    epsilon: Given | None
    delta: Given | None
    wrong: Given | None
    one_of: int | None
    price: Given | None
    max_groups: int | None
    at_least: int | None
    costs: tuple[Given, Given] | None
    margins: bool | None
    groups: Literal["listed", "private"] | None
    people: int | None
    parts: int | None
    again: bool
    purpose: str | None
    request: int | None
    made_up: bool


def question_terms(question: str | None, by: str | Sequence[str] | None, privacy: ApproxDP | None, asked: Asked) -> Document:
    """All given terms of a question; refuses what the owner declares."""
    given: Document = dict(asked)
    for name in given.keys() - Asked.__annotations__.keys():
        if name in OWNERS:
            raise DuotoneError(f"{name} is declared by the dataset's owner: leave it out")
        require_known([name], [*Asked.__annotations__, "by"])
    if given.get("groups") not in (None, "listed", "private"):
        raise DuotoneError('groups must be "listed" (the owner\'s list) or "private" (select groups privately)')
    costs = given.get("costs")
    if costs is not None and not (isinstance(costs, list | tuple) and len(costs) == 2):
        raise DuotoneError("costs must be two numbers, how bad a false no is and how bad a false yes is, as in (10, 1)")
    given |= budget_terms(privacy, given.get("epsilon"), given.get("delta"))
    given |= {name: written(given[name]) for name in given.keys() & {"wrong", "price", "costs"}}
    given |= {"question": question, "by": [by] if isinstance(by, str) else by if by is None else list(by)}
    return as_body({name: value for name, value in given.items() if value is not False or name == "margins"})


def written(value: Any) -> Any:
    """A number as it is written: exact ones as text, since JSON may lose digits."""
    if isinstance(value, Mapping):
        return {name: written(one) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [written(one) for one in value]
    return str(value) if isinstance(value, float | Fraction | Decimal) else value
