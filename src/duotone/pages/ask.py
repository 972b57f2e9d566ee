"""The ask page: a question from menus or in SQL, what it would cost and how accurate it would be, and its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from duotone.desk.callers import Refused
from duotone.pages.asked_form import EPSILONS, FIELDS, OTHER, PRICES, WRONGS, AskedForm, dearer, mistakes_in, room_in
from duotone.pages.fields import Mistaken
from duotone.pages.menus import COMPARISONS, CONDITIONS, examples, groupable, kinds, offered, people_of
from duotone.pages.render import do, download, form_of, number_of, partial, refusal, render
from duotone.pages.svg import Axis, Plot, plot
from duotone.words import budgets

TENTHS = (0, 0.1, 0.2, 0.3, 0.4, 0.5)


async def ask_page(request: Request) -> Response:
    """The form, filled from the address."""
    dataset = await _dataset(request)
    return await _page(request, dataset, AskedForm.of(dataset, request.query_params))


async def check(request: Request) -> Response:
    """Mistakes in a question, or its cost and accuracy."""
    dataset = await _dataset(request)
    asked = AskedForm.of(dataset, await form_of(request))
    return _part(request, dataset, asked, await _checked(request, dataset, asked))


async def ask(request: Request) -> Response:
    """The answer, from the table or from made-up rows; or the menus' question as SQL for editing."""
    dataset, sent = await _dataset(request), await form_of(request)
    asked = AskedForm.of(dataset, sent)
    if sent.get("do") == "sql":
        return await _in_sql(request, dataset, asked)
    if sent.get("do") not in ("ask", "made-up"):
        return await _page(request, dataset, asked)  # without scripts, show the price first
    try:
        terms = asked.terms(dataset, asked=True) | ({"made_up": True} if sent["do"] == "made-up" else {})
        answer = await do(request, "ask", dataset["dataset"], terms)
    except Refused as refused:
        return await _unanswered(request, dataset, asked, refused)
    shown = answer_shown(dataset, answer, asked)
    if partial(request):
        reply = render(request, "answer.html", **shown)
        reply.headers["HX-Trigger-After-Swap"] = "asked"
        return reply
    return await _page(request, dataset, asked, **shown)


async def _in_sql(request: Request, dataset: Mapping[str, Any], asked: AskedForm) -> Response:
    """The form with the menus' question as SQL; or what is missing in the menus, which are kept."""
    try:
        terms = asked.terms(dataset, asked=False)
    except Refused as refused:
        return await _page(request, dataset, asked, refused.status, mistakes=mistakes_in(asked, refused))
    if "question" not in terms:
        why = {"what": "choose another question: which groups there are has no SQL"}
        return await _page(request, dataset, asked, Mistaken(why).status, mistakes=why)
    return await _page(request, dataset, replace(asked, mode="sql", question=terms["question"]))


async def _unanswered(request: Request, dataset: Mapping[str, Any], asked: AskedForm, refused: Refused) -> Response:
    """What is wrong, beside the field that it is in; or else where the answer would stand."""
    mistakes = mistakes_in(asked, refused)
    if not partial(request):
        shown = {"mistakes": mistakes} if mistakes else {"problem": refused.on_page}
        return await _page(request, dataset, asked, refused.status, **shown)
    if not mistakes:
        return refusal(request, refused)
    reply = _part(request, dataset, asked, {**UNCHECKED, "mistakes": mistakes}, refused.status)
    reply.headers.update({"HX-Retarget": "#check", "HX-Reswap": "innerHTML", "HX-Trigger-After-Settle": "mistaken"})
    return reply


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


UNCHECKED: Mapping[str, Any] = {
    "preview": None, "mistakes": {}, "refused": None, "sql": None, "curve": None, "beyond": "", "more": None,
}  # fmt: skip
"""What stands beside a form in which nothing was entered."""


async def _checked(request: Request, dataset: Mapping[str, Any], asked: AskedForm) -> dict[str, Any]:
    """The preview for the template and the composed SQL; or the mistakes."""
    shown = dict(UNCHECKED)
    if not asked.begun:
        return shown
    try:
        terms = asked.terms(dataset, asked=False)
        shown["sql"] = terms.get("question") if asked.mode == "menus" else None
        preview = await do(request, "preview", dataset["dataset"], terms)
    except Refused as refused:
        return shown | {"mistakes": mistakes_in(asked, refused), "refused": refused}
    bill = preview["ledger"]
    more = None if bill["free"] else dearer(replace(asked, instead=""), preview["terms"], bill, _left(dataset))
    return shown | {"more": more} | previewed(preview)


def _left(dataset: Mapping[str, Any]) -> float | None:
    """The ε that is left for the caller, in an account of sums."""
    return room_in(dataset)[0] if "epsilon" in dataset["left"] else None


def previewed(preview: Mapping[str, Any]) -> dict[str, Any]:
    """A preview for its template."""
    beyond = budgets.beyond(tuple(preview["ledger"].get("beyond", ())), symbols=True)
    return {"preview": preview, "curve": accuracy(preview), "beyond": beyond}


def _part(
    request: Request, dataset: Mapping[str, Any], asked: AskedForm, checked: Mapping[str, Any], status: int = 200
) -> Response:
    """The check of a form, and the mistakes beside its fields, for a page that is open."""
    absent = {"max_groups" if not dataset["unit"] else "", "parts" if not dataset["parts"] else ""}
    absent |= set() if priced(dataset) else PRICES
    if not dataset["approval"] or not (asked.purpose.strip() or "purpose" in checked["mistakes"]):
        absent.add("purpose")  # it is looked at when one asks
    places = [name for name in FIELDS if name not in absent]
    return render(request, "ask_check.html", status, dataset=dataset, asked=asked, places=places, **checked)


async def _page(request: Request, dataset: Mapping[str, Any], asked: AskedForm, status: int = 200, **shown: Any) -> Response:
    lists = {"epsilons": EPSILONS, "wrongs": WRONGS, "other": OTHER, "comparisons": COMPARISONS, "conditions": CONDITIONS}
    lists |= {"offered": offered(dataset), "groupable": groupable(dataset), "examples": examples(dataset)}
    lists |= {"kinds": kinds(dataset), "people": people_of(dataset)}
    first = {"priced": priced(dataset), "answer": None, "problem": None, "dataset": dataset, "asked": asked}
    checked = await _checked(request, dataset, asked)
    return render(request, "ask.html", status, **{**first, **lists, **checked, **shown})


def answer_shown(dataset: Mapping[str, Any], answer: Mapping[str, Any], asked: AskedForm | None = None) -> dict[str, Any]:
    """An answer for its template, with links to spend more on it, or to get a definite one; in the form that it was asked
    by, if it was."""
    terms, ledger = answer.get("terms", {}), answer.get("ledger", {})
    known = "question" in terms and not answer.get("made_up")
    definite = known and answer.get("answer") == "too close to call" and priced(dataset)
    dearest = None
    if known:
        form = replace(AskedForm.again_as(terms) if asked is None else asked, instead="yes", again="", purpose="")
        lefts = [left for left in (ledger["left"], ledger.get("allowance") or {}) if "epsilon" in left]
        dearest = dearer(form, terms, ledger, min((float(left["epsilon"]) for left in lefts), default=None))
    return {
        "answer": answer,
        "name": dataset["dataset"],
        "dearest": dearest,
        "definite": replace(AskedForm.again_as(terms), way="epsilon").query if definite else None,
    }


def priced(dataset: Mapping[str, Any]) -> bool:
    """Whether answers have a price ε: if close calls are charged, only with a budget for definite answers."""
    return dataset["close_calls"] is None or dataset["close_calls"]["definite"] is not None


def accuracy(preview: Mapping[str, Any]) -> Plot:
    """The curve by margin: how often an answer is wrong, or too close to call, or a group is left out."""
    points = [(float(people), float(chance)) for people, chance in preview["curve"]]
    groups = not preview["says"]["words"]
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
