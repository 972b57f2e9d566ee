"""The ask page: a question from menus or in SQL, what it would cost and how accurate it would be, and its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from duotone.desk.callers import Refused
from duotone.errors import DuotoneError
from duotone.pages.menus import COMPARISONS, CONDITIONS, Chosen, composed, examples, groupable, offered
from duotone.pages.render import do, download, fields_of, form_of, number_of, partial, refusal, render
from duotone.pages.svg import Axis, Plot, plot
from duotone.privacy.numbers import exact, show
from duotone.words import budgets

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

    @classmethod
    def of(cls, dataset: Mapping[str, Any], sent: Mapping[str, str]) -> AskedForm:
        """The form that was sent, or one with the usual values."""
        many = dataset["account"] == "renyi"
        first = {
            "way": "close" if dataset["close_calls"] is not None else "number" if many else "epsilon",
            "epsilon": _usual(dataset),
            "delta": "" if many else next((delta for delta in DELTAS if float(delta) <= _room(dataset)[1]), "0"),
        }
        first |= {"wrong": "1/1000", "flip": "100", "one_of": str(dataset["answers"])} if many else {}
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
            about["max_groups"] = whole(self.max_groups, "the groups of one person")
        if self.at_least.strip():
            about["at_least"] = whole(self.at_least, "the people of a group that is shown")
        if self.parts.strip():
            about["parts"] = whole(self.parts, "the number of parts")
        if self.missed.strip() or self.alarm.strip():
            about["costs"] = [self.missed.strip() or "1", self.alarm.strip() or "1"]
        if self.private:
            about["groups"] = "private"
        if self.again:
            about["again"] = True
        if asked:
            return about | ({"purpose": self.purpose.strip()} if self.purpose.strip() else {})
        if self.people.strip() and "people" in about:
            raise Refused("bad question", "how many people there are is guessed for a given ε: empty that field, or give ε")
        return about | ({"people": whole(self.people, "the guess of people")} if self.people.strip() else {})

    def _price(self) -> dict[str, Any]:
        match self.way:
            case "close":
                return {}
            case "number":
                return {"one_of": whole(self.one_of, "the number of answers")}
            case "error":
                return {"wrong": self.wrong, "people": whole(self.flip, "the people who would flip it"), **self._delta()}
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


def whole(text: str, what: str) -> int:
    """A whole number as people write it."""
    plain = text.strip().replace(",", "")
    if not (plain.isascii() and plain.isdigit() and len(plain) <= 15):
        raise Refused("bad question", f"{what} must be a whole number, got {text.strip()[:40]}")
    return int(plain)


def query_of(terms: Mapping[str, Any], price: Fraction | None) -> str:
    """The address of the ask page with these terms, at this ε; for None, at the usual one."""
    sent = {"mode": "sql", "question": terms["question"], "way": "epsilon"}
    if price is not None:
        sent |= {"epsilon": OTHER, "epsilon_other": plain(price), "delta": terms.get("delta", "")}
    for name in ("max_groups", "at_least", "parts"):
        if terms.get(name):
            sent[name] = terms[name]
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


TENTHS = (0, 0.1, 0.2, 0.3, 0.4, 0.5)


async def ask_page(request: Request) -> Response:
    """The form, filled from the address."""
    dataset = await _dataset(request)
    return await _page(request, dataset, AskedForm.of(dataset, request.query_params))


async def check(request: Request) -> Response:
    """Mistakes in a question, or its cost and accuracy."""
    dataset = await _dataset(request)
    asked = AskedForm.of(dataset, await form_of(request))
    checked = await _checked(request, dataset, asked)
    return render(request, "ask_check.html", dataset=dataset, asked=asked, oob=True, **checked)


async def ask(request: Request) -> Response:
    """The answer, from the table or from made-up rows; or the menus' question as SQL for editing."""
    dataset, sent = await _dataset(request), await form_of(request)
    asked = AskedForm.of(dataset, sent)
    if sent.get("do") == "sql":
        try:
            return await _page(request, dataset, as_sql(dataset, asked))
        except Refused as refused:  # keep what stands in the menus
            why = f"The menus make no SQL yet: {refused.on_page}. Finish them, or write the question here."
            return await _page(request, dataset, replace(asked, mode="sql"), refused.status, mistake=why)
    if sent.get("do") not in ("ask", "made-up"):
        return await _page(request, dataset, asked)  # without scripts, show the price first
    terms = asked.terms(dataset, asked=True) | ({"made_up": True} if sent["do"] == "made-up" else {})
    try:
        answer = await do(request, "ask", dataset["name"], terms)
    except Refused as refused:
        if partial(request):
            return refusal(request, refused)
        return await _page(request, dataset, asked, refused.status, problem=refused.on_page)
    shown = answer_shown(dataset, answer)
    if partial(request):
        reply = render(request, "answer.html", **shown)
        reply.headers["HX-Trigger-After-Swap"] = "asked"
        return reply
    return await _page(request, dataset, asked, **shown)


async def certificate(request: Request) -> Response:
    """A certificate as a file."""
    name, charge = request.path_params["dataset"], number_of(request, "charge")
    document = await do(request, "certificate", name, charge)
    return download(json.dumps(document, indent=1), f"certificate-{charge}.json")


async def made_up(request: Request) -> Response:
    """Made-up rows as a file."""
    return download((await do(request, "made_up", request.path_params["dataset"]))["csv"], "made-up.csv")


async def _dataset(request: Request) -> dict[str, Any]:
    return await do(request, "dataset", request.path_params["dataset"])


async def _checked(request: Request, dataset: Mapping[str, Any], asked: AskedForm) -> dict[str, Any]:
    """The preview for the template and the composed SQL; or the mistake."""
    shown: dict[str, Any] = {"preview": None, "mistake": None, "sql": None, "curve": None, "beyond": ""}
    if not asked.begun:
        return shown
    try:
        terms = asked.terms(dataset, asked=False)
        shown["sql"] = terms.get("question") if asked.mode == "menus" else None
        preview = await do(request, "preview", dataset["name"], terms)
    except Refused as refused:
        return shown | {"mistake": refused.on_page}
    beyond = budgets.beyond(tuple(preview["ledger"].get("beyond", ())), symbols=True)
    return shown | {"preview": preview, "curve": accuracy(preview, "by" in terms), "beyond": beyond}


async def _page(request: Request, dataset: Mapping[str, Any], asked: AskedForm, status: int = 200, **shown: Any) -> Response:
    lists = {"epsilons": EPSILONS, "wrongs": WRONGS, "other": OTHER, "comparisons": COMPARISONS, "conditions": CONDITIONS}
    lists |= {"offered": offered(dataset), "groupable": groupable(dataset), "examples": examples(dataset)}
    first = {"priced": priced(dataset), "answer": None, "problem": None, "more": None, "dataset": dataset, "asked": asked}
    checked = await _checked(request, dataset, asked)
    return render(request, "ask.html", status, **{**first, **lists, **checked, **shown})


def as_sql(dataset: Mapping[str, Any], asked: AskedForm) -> AskedForm:
    """The form with the menus' question as SQL."""
    terms = asked.terms(dataset, asked=False)
    if "question" not in terms:
        raise Refused("bad question", "choose another question: which groups there are has no SQL")
    return replace(asked, mode="sql", question=terms["question"])


def answer_shown(dataset: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer for its template, with links to spend more on it, or to get a definite one."""
    terms = answer.get("terms", {})
    asked = "question" in terms and not answer.get("made_up")
    more = twice(terms) if asked else None
    definite = asked and answer.get("answer") == "too close to call" and priced(dataset)
    return {
        "answer": answer,
        "name": dataset["name"],
        "more": None if more is None else {"epsilon": plain(more), "query": query_of(terms, more)},
        "definite": query_of(terms, None) if definite else None,
    }


def priced(dataset: Mapping[str, Any]) -> bool:
    """Whether answers have a price ε: if close calls are charged, only with a budget for definite answers."""
    return dataset["close_calls"] is None or dataset["close_calls"]["definite"] is not None


def accuracy(preview: Mapping[str, Any], groups: bool) -> Plot:
    """The curve by margin: how often an answer is wrong, or too close to call, or a group is left out."""
    points = [(float(people), float(chance)) for people, chance in preview["curve"]]
    close, last = "too_close_by_margin" in preview, max(2.0, points[-1][0])
    by_margin = preview["too_close_by_margin" if close else "error_by_margin"]
    top = 1.0 if close or groups or by_margin["1"] > 0.5 else 0.5
    word = "too close to call" if close else "not shown" if groups else "wrong"
    ticks = [1.0, *(10.0**power for power in range(1, 13) if 10.0**power < last / 1.5), last]
    label, log = "people in the group" if groups else "people who would flip the answer", last > 30
    return plot(
        points,
        x=Axis(1, last, f"{label} (logarithmic)" if log else label, tuple(ticks), log=log),
        y=Axis(0, top, word, tuple(2 * tenth for tenth in TENTHS) if top == 1 else TENTHS),
        title="How accurate",
        says=_said(by_margin, last, word),
    )


def _said(by_margin: Mapping[str, float], last: float, word: str) -> str:
    """The curve in a sentence: at a margin of one person, and at its last few margins."""
    unit, several = ("is in the group", "are") if word == "not shown" else ("would flip the answer", "would")
    others = [(people, chance) for people, chance in by_margin.items() if 1 < int(people) <= last][-4:]
    more = "".join(f", {chance:.3g} where {people} {several}" for people, chance in others)
    return f"{word.capitalize()} with probability {by_margin['1']:.3g} where one person {unit}{more}."
