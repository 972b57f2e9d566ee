"""The form of the ask page: its fields, and the terms that they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from urllib.parse import urlencode

from duotone.desk.callers import Refused
from duotone.errors import DuotoneError
from duotone.pages.menus import Chosen, composed
from duotone.pages.render import fields_of
from duotone.privacy.numbers import exact, show

EPSILONS = {"0.1": "0.1: very private", "0.2": "0.2", "0.5": "0.5: careful", "1": "1: usual", "2": "2: less private"}
WRONGS = {
    "1/10": "one time in ten", "1/20": "one time in twenty", "1/100": "one time in a hundred",
    "1/1000": "one time in a thousand", "1/1000000": "one time in a million",
}  # fmt: skip
OTHER = "other"
USUAL, DELTAS = ("0.1", "0.2", "0.5", "1"), ("1e-6", "1e-7", "1e-8", "1e-9", "1e-10", "1e-12")
"""Default values of ε and δ."""


@dataclass(frozen=True)
class AskedForm(Chosen):
    """All fields as text: the menus and the others."""

    mode: str = "menus"
    """"menus" or "sql"."""
    question: str = ""
    way: str = ""
    """How the price is given: epsilon, error or close."""
    epsilon: str = ""
    epsilon_other: str = ""
    delta: str = ""
    wrong: str = "1/100"
    flip: str = "10"
    people: str = ""
    max_groups: str = ""
    missed: str = ""
    alarm: str = ""
    private: str = ""
    again: str = ""
    purpose: str = ""

    @classmethod
    def of(cls, dataset: Mapping[str, Any], sent: Mapping[str, str]) -> AskedForm:
        """The form that was sent, or one with the usual values."""
        first = {
            "way": "epsilon" if dataset["close_calls"] is None else "close",
            "epsilon": _usual(dataset),
            "delta": next((delta for delta in DELTAS if float(delta) <= _room(dataset)[1]), "0"),
        }
        return cls(**{**first, **fields_of(cls, sent)})

    @property
    def begun(self) -> bool:
        """Whether anything was entered: before that, nothing is wrong."""
        return bool(self.question.strip() if self.mode == "sql" else self.limit.strip() or self.what == "groups")

    def terms(self, dataset: Mapping[str, Any], *, asked: bool) -> dict[str, Any]:
        """The terms of the form; a guess of people is for a preview, a purpose for a question."""
        about: dict[str, Any] = {"question": self.question} if self.mode == "sql" else composed(dataset, self)
        about |= self._price()
        if self.max_groups.strip():
            about["max_groups"] = _whole(self.max_groups, "the groups of one person")
        if self.missed.strip() or self.alarm.strip():
            about["costs"] = [self.missed.strip() or "1", self.alarm.strip() or "1"]
        if self.private:
            about["groups"] = "private"
        if self.again:
            about["again"] = True
        if asked:
            return about | ({"purpose": self.purpose.strip()} if self.purpose.strip() else {})
        return about | ({"people": _whole(self.people, "the guess of people")} if self.people.strip() else {})

    def _price(self) -> dict[str, Any]:
        match self.way:
            case "close":
                return {}
            case "error":
                return {
                    "error": {"wrong": self.wrong, "people": _whole(self.flip, "the people who would flip it")},
                    **self._delta(),
                }
        if self.epsilon == OTHER:
            return {"epsilon": self.epsilon_other.strip(), **self._delta()}
        if self.epsilon_other.strip():
            raise Refused("bad question", "two values of ε are given: choose “another value”, or empty its field")
        return {"epsilon": self.epsilon, **self._delta()}

    def _delta(self) -> dict[str, str]:
        return {"delta": self.delta.strip()} if self.delta.strip() else {}


def _usual(dataset: Mapping[str, Any]) -> str:
    """The largest usual ε of which the budget allows four; or else what is left."""
    most = min(float(dataset["budget"]["epsilon"]) / 4, _room(dataset)[0])
    fitting = [value for value in USUAL if float(value) <= most]
    return fitting[-1] if fitting else USUAL[0]


def _room(dataset: Mapping[str, Any]) -> tuple[float, float]:
    """What is left of ε and δ for the caller: of the budget, and of an allowance."""
    rooms = [room for room in (dataset["budget"], dataset["left"], dataset["allowance"] or {}) if "epsilon" in room]
    return min(float(room["epsilon"]) for room in rooms), min(float(room["delta"]) for room in rooms)


def _whole(text: str, what: str) -> int:
    plain = text.strip().replace(",", "")
    if not (plain.isascii() and plain.isdigit() and len(plain) <= 15):
        raise Refused("bad question", f"{what} must be a whole number, got {text.strip()[:40]}")
    return int(plain)


def query_of(terms: Mapping[str, Any], price: Fraction | None) -> str:
    """The address of the ask page with these terms, at this ε; for None, at the usual one."""
    sent = {"mode": "sql", "question": terms["question"], "way": "epsilon"}
    if price is not None:
        sent |= {"epsilon": OTHER, "epsilon_other": plain(price), "delta": terms.get("delta", "")}
    if terms.get("max_groups"):
        sent["max_groups"] = terms["max_groups"]
    if terms.get("costs"):
        sent["missed"], sent["alarm"] = terms["costs"]
    if terms.get("groups") == "private":
        sent["private"] = "yes"
    return urlencode(sent)


def twice(terms: Mapping[str, Any]) -> Fraction | None:
    """Twice the ε of the terms, if they have one."""
    try:
        return 2 * exact(str(terms["epsilon"]))
    except (KeyError, DuotoneError):
        return None


def plain(value: Fraction) -> str:
    """A number as people write it: as a decimal if that is exact.

    >>> plain(Fraction(1, 2)), plain(Fraction(1, 3))
    ('0.5', '1/3')
    """
    decimal = f"{float(value):.6g}"
    return decimal if exact(decimal) == value else show(value)
