"""The office file: its tables, people and budgets; checked completely before anything starts.

These pydantic models describe the file. `office_file` reads it, and checks entries against each other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from duotone.desk.callers import Person, Role, encrypted
from duotone.errors import DatasetError, DuotoneError
from duotone.ledger.accounts import Account, allowed
from duotone.ledger.registration import Registered, registration
from duotone.line.three_way import ThreeWay
from duotone.model import checks
from duotone.model.checks import COHORT, AccountName, Neighbours
from duotone.model.dataset import Dataset
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import exact
from duotone.privacy.text import Definition
from duotone.resources import SPILL, EngineLimits, machine_limits
from duotone.tables.parts.question import MOST_PARTS, MOST_SECONDS


def _number(value: object) -> object:
    """A number as written: an integer, a decimal, or text with a decimal or a fraction."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        raise ValueError("must be a number, or a text with one, as 1/10")
    try:
        return exact(value if isinstance(value, int) else str(value))
    except DuotoneError as error:
        raise ValueError(str(error)) from None


def _printable(name: str) -> str:
    """A name as a ledger accepts it: without invisible characters, such as marks that reverse the direction of text."""
    if not name.isprintable():
        raise ValueError("has characters that a name cannot have")
    return name


def _trusted(issuer: str) -> str:
    """The address of a provider that can be trusted."""
    if not encrypted(issuer) or set(issuer) & set("?#@"):
        raise ValueError("must be an https:// address without user, query and fragment (http:// on this machine only)")
    return issuer


Number = Annotated[Fraction, BeforeValidator(_number)]
Seconds = Annotated[float, BeforeValidator(lambda value: float(value) if isinstance(value, Decimal) else value)]
Positive = Annotated[Seconds, Field(gt=0, le=3600)]
Name = Annotated[
    str, StringConstraints(min_length=1, max_length=60, pattern=r"^[^\x00-\x1f\x7f/@*\\]+$"), AfterValidator(_printable)
]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
Count = Annotated[int, Field(strict=True, ge=1, le=10**12)]


def called(account: str) -> str:
    """What people call the dataset of an account.

    >>> called("survey"), called("survey@spring 2026")
    ('survey', 'survey (spring 2026)')
    """
    name, at, people = account.partition(COHORT)
    return f"{name} ({people})" if at else name


class _Written(BaseModel):
    """A table of the file: unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Privacy(_Written):
    """A budget, or the privacy definition of an answer."""

    epsilon: Number
    delta: Number = Fraction(0)

    @property
    def definition(self) -> ApproxDP:
        """The checked definition."""
        return ApproxDP(self.epsilon, self.delta)


class Allowed(_Written):
    """An allowance: ε and δ, or a share of the budget."""

    epsilon: Number | None = None
    delta: Number = Fraction(0)
    share: Number | None = None

    def definition(self, account: Account) -> Definition:
        """The checked allowance of a dataset with this account."""
        budget = None if self.epsilon is None and not self.delta else ApproxDP(self.epsilon or 0, self.delta)
        return allowed(account, budget, self.share)


class AskedSo(_Written):
    """How questions are asked if only close calls are charged."""

    epsilon: Number
    wrong: Number = Fraction(1, 10**9)
    definite: Privacy | None = None

    @property
    def question(self) -> ThreeWay:
        """The terms of each question."""
        return ThreeWay(ApproxDP(self.epsilon), self.wrong)


def _budget(value: object) -> object:
    """A budget as a dataset declares it."""
    try:
        numbers = {key: str(one) for key, one in value.items()} if isinstance(value, Mapping) else value
        return checks.budget(numbers)
    except DatasetError as error:
        raise ValueError(", ".join(" ".join([*map(str, one.steps), one.words]) for one in error.mistakes)) from None


class Population(_Written):
    """People whom several datasets are about, and the budget of all answers about them."""

    budget: Annotated[ApproxDP, BeforeValidator(_budget)]
    unit: Text = "row"
    neighbours: Neighbours = "add-remove"
    account: AccountName = "sum"
    answers: Count | None = None
    close_calls: AskedSo | None = None
    allowance: Allowed | None = None
    """The allowance of each analyst without one of their own."""

    @property
    def registration(self) -> Registered:
        """The dataset as a ledger would register it, without its name."""
        return registration("population", self.budget, **self.registered_with)

    @property
    def registered_with(self) -> dict[str, Any]:
        """What a ledger is given besides the name, version and budget of a population."""
        about = {"unit": self.unit, "neighbours": self.neighbours, "account": self.account, "answers": self.answers}
        return {**about, **_asked_so(self.close_calls)}


def _asked_so(called: AskedSo | None) -> dict[str, Any]:
    """What a ledger is given about close calls."""
    if called is None:
        return {}
    return {"close_calls": called.question, "definite": None if called.definite is None else called.definite.definition}


class Listed(_Written):
    """A dataset of the office: what its owner declares, and how it may be asked about."""

    declared: Dataset
    shared: Population | None = None
    """The population that it is charged to: the office's, by the name that it declares."""
    about: str = ""
    close_calls: AskedSo | None = None
    allowance: Allowed | None = None
    """The allowance of each analyst without one of their own."""
    approval: bool = Field(default=False, strict=True)
    approvers: tuple[Name, ...] = ()
    """Who may approve besides owners."""
    rows: Count
    """The public upper limit of rows. Times of answers are computed from it."""
    seconds: Positive | None = None
    """Seconds that an engine needs for an empty table, if not the default; time for rows is added."""
    parts: Annotated[int, Field(strict=True, ge=1, le=MOST_PARTS)] | None = None
    """Most parts of the people that any SQL may be asked of; None if it may not."""
    part_seconds: Annotated[int, Field(strict=True, ge=1, le=MOST_SECONDS)] = 1
    """Most seconds of the processor for a part."""

    @property
    def budget(self) -> ApproxDP:
        """The budget of all answers together, with those about other datasets of its population."""
        if self.shared is not None:
            return self.shared.budget
        if self.declared.budget is None:
            raise DuotoneError("has no budget")
        return self.declared.budget

    @property
    def account(self) -> AccountName:
        """How answers add up."""
        return self.declared.account if self.shared is None else self.shared.account

    @property
    def version(self) -> str:
        """The version of the data."""
        return str(self.declared.version)

    @property
    def in_ledger(self) -> str:
        """Its name in a ledger: the dataset's, and the label of its `people` if it has one."""
        return str(self.declared.in_ledger)

    @property
    def registration(self) -> Registered:
        """The dataset that it is charged to, as a ledger would register it."""
        if self.shared is not None:
            return replace(self.shared.registration, dataset=str(self.declared.population))
        return registration(self.in_ledger, self.budget, **self.registered_with)

    @property
    def registered_with(self) -> dict[str, Any]:
        """What a ledger is given besides the name, version and budget of a dataset."""
        return self.declared.registered_with | ({} if self.shared is not None else _asked_so(self.close_calls))


class Member(_Written):
    """A person, and what they may do."""

    role: Role
    datasets: tuple[Name, ...] = ()
    allowances: Mapping[str, Allowed] = Field(default_factory=dict)
    """Allowances by dataset, or by population."""
    subject: Text | None = None
    """The subject by which a provider identifies this person; by default the name."""


class Server(_Written):
    """Where the service listens."""

    host: Text = "127.0.0.1"
    port: Annotated[int, Field(strict=True, ge=0, le=65535)] = 8351
    certificate: Text | None = None
    key: Text | None = None
    url: Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]+$")] | None = None
    """The public address, if a proxy stands before the service."""
    proxies: tuple[Text, ...] = ()
    """Proxies whose X-Forwarded headers are trusted."""


class Limits(_Written):
    """Limits for requests."""

    body: Annotated[int, Field(strict=True, ge=1024, le=2**24)] = 2**18
    question: Annotated[int, Field(strict=True, ge=100, le=100_000)] = 4000
    at_once: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = None
    """Questions of one person that run at a time: fewer than `workers`, unless that is 1; by default half."""
    waiting: Annotated[int, Field(strict=True, ge=0, le=10_000)] = 16
    """Questions of one person that may wait."""
    workers: Annotated[int, Field(strict=True, ge=1, le=256)] = 4
    """Questions of all people that run at a time."""
    seconds: Positive = 20.0
    """Seconds within which a request must have arrived completely."""
    longest: Annotated[Seconds, Field(gt=0, le=86400)] = 120.0
    """Most seconds until an answer leaves; a question that could take longer is refused."""
    engine_seconds: Annotated[Seconds, Field(gt=0, le=86400)] = 600.0
    """Seconds after which an engine is interrupted; never before the question's answer would leave."""
    looking: Positive = 20.0
    """Processor seconds per minute for one person's previews, made-up questions and the like."""
    stop: Positive = 10.0
    """Seconds within which answers may still leave when the service stops."""

    @property
    def share(self) -> int:
        """Most places of one person."""
        return max(1, self.workers // 2) if self.at_once is None else self.at_once


class Engine(_Written):
    """What DuckDB may use for one question about files."""

    memory: Annotated[int, Field(strict=True, ge=2**28, le=2**50)] | None = None
    """Bytes of memory; by default half of the machine's memory, divided by the questions that run at a time."""
    threads: Annotated[int, Field(strict=True, ge=1, le=1024)] | None = None
    spill: Annotated[int, Field(strict=True, ge=0, le=2**50)] = SPILL
    """Bytes of disk, for grouping and sorting that does not fit into memory."""


class Ticks(_Written):
    """The public clock by which answers leave."""

    tick: Annotated[Seconds, Field(gt=0, le=600)] = 1.0


class OpenId(_Written):
    """An OpenID Connect provider, where people sign in."""

    issuer: Annotated[Text, AfterValidator(_trusted)]
    client_id: Text
    client_secret_file: Text | None = None
    """None for a public client, which PKCE alone protects."""
    name: Text = "OpenID"
    """The provider's name on the button."""
    claim: Text = "email"
    """The claim that identifies the person; an email address counts only if the provider has verified it."""
    audience: Text | None = None
    """The audience of bearer tokens; None means the client's id."""


class Office(_Written):
    """The whole file; paths are relative to its folder."""

    file: Path
    text: str = Field(repr=False)
    """The text of the file."""
    ledger: Text
    records: Text | None = None
    tokens: Text = "office.tokens"
    log: Text | None = None
    server: Server = Server()
    clock: Ticks = Ticks()
    limits: Limits = Limits()
    engine: Engine = Engine()
    openid: OpenId | None = None
    people: Annotated[Mapping[Name, Member], Field(min_length=1)]
    populations: Mapping[Name, Population] = Field(default_factory=dict)
    datasets: Annotated[Mapping[Name, Listed], Field(min_length=1)]

    def path(self, text: str) -> str:
        """An absolute path, relative to the office's folder; an address with a scheme is unchanged."""
        place = from_environment(text)
        return place if "://" in place else str(self.file.parent / place)

    @property
    def engine_limits(self) -> EngineLimits:
        """What an engine may use for one question."""
        own, machine = self.engine, machine_limits()
        memory = max(2**28, machine.memory // self.limits.workers) if own.memory is None else own.memory
        return EngineLimits(memory, own.threads or machine.threads, own.spill)

    @property
    def ledger_place(self) -> str:
        """Where budgets are kept."""
        return self.path(self.ledger)

    @property
    def records_place(self) -> str:
        """Where requests and approvals are kept: in the ledger's database, or in a file beside the ledger."""
        if self.records is not None:
            return self.path(self.records)
        return self.ledger_place if "://" in self.ledger_place else f"{self.ledger_place}.office"

    @property
    def tokens_place(self) -> Path:
        """Where hashes of tokens are kept."""
        return Path(self.path(self.tokens))

    def person(self, name: str) -> Person | None:
        """A person by name; None for a stranger."""
        member = self.people.get(name)
        return None if member is None else Person(name, member.role, member.datasets)

    def person_of(self, subject: str) -> Person | None:
        """A person by the provider's subject."""
        names = [name for name, member in self.people.items() if (member.subject or name) == subject]
        return self.person(names[0]) if len(names) == 1 else None

    @property
    def client_secret(self) -> str | None:
        """The secret by which the provider knows this office; None without a provider."""
        file = None if self.openid is None else self.openid.client_secret_file
        return None if file is None else Path(self.path(file)).read_text(encoding="utf-8").strip()


def from_environment(text: str) -> str:
    """A text, or the value of the variable after env:, so that no password must stand in a file."""
    if not text.startswith("env:"):
        return text
    value = os.environ.get(text.removeprefix("env:"), "")
    if not value:
        raise DuotoneError(f"the variable {text.removeprefix('env:')} is not set, and the office file names it")
    return value
