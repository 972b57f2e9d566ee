"""The form of the ask page: what stands in its fields, the terms that they make, and where its mistakes are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any
from urllib.parse import urlencode

from duotone.desk.callers import Refused
from duotone.errors import DuotoneError
from duotone.model.notice import Notice, why
from duotone.pages.fields import Mistaken, gathered, positive, whole
from duotone.pages.menus import Chosen, composed
from duotone.pages.render import fields_of
from duotone.privacy.numbers import digits_below, exact, show

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
    """How the price is given: epsilon, error, number or close."""
    epsilon: str = ""
    epsilon_other: str = ""
    delta: str = ""
    wrong: str = "1/100"
    flip: str = "10"
    one_of: str = "1000"
    people: str = ""
    max_groups: str = ""
    at_least: str = ""
    parts: str = ""
    missed: str = ""
    alarm: str = ""
    private: str = ""
    again: str = ""
    purpose: str = ""
    instead: str = ""
    """Whether the same question was asked at a lower price."""

    @classmethod
    def of(cls, dataset: Mapping[str, Any], sent: Mapping[str, str]) -> AskedForm:
        """The form that was sent, or one with the usual values."""
        many = dataset["account"] == "renyi"
        first = {
            "way": "close" if dataset["close_calls"] is not None else "number" if many else "epsilon",
            "epsilon": _usual(dataset),
            "delta": "" if many else next((delta for delta in DELTAS if float(delta) <= room_in(dataset)[1]), "0"),
        }
        first |= {"wrong": "1/1000", "flip": "100", "one_of": str(dataset["answers"])} if many else {}
        return cls(**{**first, **fields_of(cls, sent)})

    @classmethod
    def again_as(cls, terms: Mapping[str, Any]) -> AskedForm:
        """The form that asks recorded terms in SQL, without their price."""
        missed, alarm = terms.get("costs") or ("", "")
        given = {name: str(terms.get(name) or "") for name in ("delta", "max_groups", "at_least", "parts")}
        private = "yes" if terms.get("groups") == "private" else ""
        return cls(mode="sql", question=terms["question"], missed=missed, alarm=alarm, private=private, **given)

    @property
    def begun(self) -> bool:
        """Whether anything was entered: before that, nothing is wrong."""
        return bool(self.question.strip() if self.mode == "sql" else self.limit.strip() or self.what == "groups")

    @property
    def query(self) -> str:
        """Its fields in an address."""
        return urlencode({name: value for name, value in vars(self).items() if value})

    def terms(self, dataset: Mapping[str, Any], *, asked: bool) -> dict[str, Any]:
        """The terms of the form; a guess of people is for a preview, and for whoever approves; a purpose for a question."""
        about: dict[str, Any] = {}
        with gathered() as mistakes:
            with mistakes:
                about |= {"question": self.question} if self.mode == "sql" else composed(dataset, self)
            with mistakes:
                about |= self._price()
            if self.max_groups.strip():
                with mistakes:
                    about["max_groups"] = whole(self.max_groups, "max_groups", "the groups of one person")
            if self.at_least.strip():
                with mistakes:
                    about["at_least"] = whole(self.at_least, "at_least", "the people of a group that is shown")
            if self.parts.strip():
                with mistakes:
                    about["parts"] = self._parts(dataset["parts"])
            if self.missed.strip() or self.alarm.strip():
                with mistakes:
                    about["costs"] = self._costs()
            if self.people.strip() and (dataset["approval"] or not asked):
                with mistakes:
                    about["people"] = self._guess()
        if self.private:
            about["groups"] = "private"
        if self.again:
            about["again"] = True
        return about | ({"purpose": self.purpose.strip()} if asked and self.purpose.strip() else {})

    def _price(self) -> dict[str, Any]:
        match self.way:
            case "close":
                return {}
            case "number":
                return {"one_of": whole(self.one_of, "one_of", "the number of answers")}
        price: dict[str, Any] = {}
        with gathered() as mistakes:
            with mistakes:
                if self.way == "error":
                    price["wrong"] = self.wrong
                    price["people"] = whole(self.flip, "flip", "the people who would flip it")
                else:
                    price["epsilon"] = self._epsilon()
            if self.delta.strip():
                with mistakes:
                    price["delta"] = positive(self.delta, "delta", "the value of δ", below=1)
        return price

    def _epsilon(self) -> str:
        if self.epsilon == OTHER:
            return positive(self.epsilon_other, "epsilon_other", "the value of ε")
        if self.epsilon_other.strip():
            both = "two values of ε are given: choose “another value”, or empty its field"
            raise Mistaken({"epsilon_other": both})
        return self.epsilon

    def _parts(self, most: int | None) -> int:
        parts = whole(self.parts, "parts", "the number of parts")
        if most is not None and not (parts % 2 == 1 and parts <= most):
            raise Mistaken({"parts": f"the number of parts must be odd, and at most {most}, got {parts}"})
        return parts

    def _costs(self) -> list[str]:
        costs = {"missed": self.missed.strip() or "1", "alarm": self.alarm.strip() or "1"}
        return [positive(cost, name, "the cost of a mistake") for name, cost in costs.items()]

    def _guess(self) -> int:
        if self.way == "error":
            raise Mistaken({"people": "how many people there are is guessed for a given ε: empty this field, or give ε"})
        return whole(self.people, "people", "the guess of people")


PLACES = {"purpose missing": "purpose", "max_groups missing": "max_groups", "max_groups unused": "max_groups",
          "at_least unused": "at_least"}  # fmt: skip
"""The fields of some refusals, by code."""
FIELDS = tuple(field.name for field in fields(AskedForm) if field.name not in ("mode", "way", "again", "instead", "private"))
"""The fields beside which mistakes stand."""


PRICES = {"epsilon", "epsilon_other", "delta", "wrong", "flip", "one_of"}


def mistakes_in(asked: AskedForm, refused: Refused) -> dict[str, str]:
    """The mistakes of a form, by field; empty if it is refused for another reason."""
    if isinstance(refused, Mistaken):
        return refused.fields
    if refused.kind not in ("bad question", "too large"):
        return {}
    said = why(refused.why) if isinstance(refused.why, DuotoneError) else refused.why
    code = said.code if isinstance(said, Notice) else ""
    written = "question" if asked.mode == "sql" else "group" if asked.what == "groups" else "limit"
    return {PLACES.get(code, written): refused.on_page}


def _usual(dataset: Mapping[str, Any]) -> str:
    """The largest usual ε of which the budget allows four; or else what is left."""
    most = min(float(dataset["budget"]["epsilon"]) / 4, room_in(dataset)[0])
    fitting = [value for value in USUAL if float(value) <= most]
    return fitting[-1] if fitting else USUAL[0]


def room_in(dataset: Mapping[str, Any]) -> tuple[float, float]:
    """What is left of ε and δ for the caller: of the budget, and of an allowance."""
    rooms = [room for room in (dataset["budget"], dataset["left"], dataset["allowance"] or {}) if "epsilon" in room]
    return min(float(room["epsilon"]) for room in rooms), min(float(room["delta"]) for room in rooms)


@dataclass(frozen=True)
class Dearer:
    """The same question at a higher price: in words, and the form that asks it."""

    price: str
    asked: AskedForm


def dearer(asked: AskedForm, terms: Mapping[str, Any], ledger: Mapping[str, Any], room: float | None) -> Dearer | None:
    """The form at twice the price: twice the ε, or all of the ε that is left; or as one of half as many answers. None
    if nothing more is left, or if the price is none."""
    if "epsilon" in terms:
        paid = exact(str(terms["epsilon"]))
        most = 2 * paid if room is None else min(2 * paid, digits_below(exact(repr(room))) if room > 0 else Fraction(0))
        changes = {
            "way": "epsilon",
            "epsilon": OTHER,
            "epsilon_other": plain(most),
            "delta": asked.delta or str(terms.get("delta", "")),
        }
        return Dearer(f"ε {plain(most)}", replace(asked, **changes)) if most > paid else None
    many = ledger.get("one_of", ledger.get("price", {}).get("one_of", 1))
    if many < 2:
        return None
    return Dearer(f"one of {many // 2:,} such answers", replace(asked, way="number", one_of=str(many // 2)))


def plain(value: Fraction) -> str:
    """A number as people write it: as a decimal if that is exact.

    >>> plain(Fraction(1, 2)), plain(Fraction(1, 3))
    ('0.5', '1/3')
    """
    decimal = f"{float(value):.6g}"
    return decimal if exact(decimal) == value else show(value)
