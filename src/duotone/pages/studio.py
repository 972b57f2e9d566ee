"""The studio: draw a coloured graph, move the budget and the boundary, and watch the optimal mechanism change."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar, cast

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from duotone.desk.callers import Refused
from duotone.errors import DuotoneError, Infeasible
from duotone.graphs.document import document
from duotone.graphs.graph import ColouredGraph, label
from duotone.graphs.morphism import line_of
from duotone.graphs.optimum import Boundary, design, improvable, values_from
from duotone.line.mechanism import balanced, tradeoff
from duotone.model.notice import budget_notes
from duotone.pages.drawn_graph import EXAMPLES, MOST_TEXT, from_file, from_text, places_from, to_text
from duotone.pages.render import download, fields_of, form_of, render, who
from duotone.pages.svg import EMPTY, Axis, Bar, Drawing, Plot, bars, drawing, plot
from duotone.privacy.approx_dp import ApproxDP
from duotone.words import budgets

T = TypeVar("T")
LONGEST_NUMBER = 40
HALVES = (0, 0.25, 0.5, 0.75, 1)
NOTES = 5
"""Most datasets that are listed as having room for more."""


@dataclass(frozen=True)
class Asked:
    """The form's fields, all as text."""

    edges: str = ""
    blue: str = ""
    places: str = ""
    unit: str = "exp_epsilon"
    epsilon: str = "2"
    delta: str = "0.1"
    boundary: str = "balanced"
    value: str = "0.8"
    each: str = ""


@dataclass(frozen=True)
class Shown:
    """The result: as much of a drawing, the mechanism and its pictures as there is, and what is wrong."""

    drawing: Drawing | None = None
    problem: str | None = None
    clash: bool = False
    document: Mapping[str, Any] | None = None
    summary: str = ""
    bars: tuple[Bar, ...] = ()
    plots: tuple[Plot, ...] = ()
    notes: tuple[str, ...] = ()


def example(name: str) -> Asked:
    """An example, as a filled form."""
    if name not in EXAMPLES:
        raise Refused("unknown", f"there is no example {name}")
    chosen = EXAMPLES[name]
    edges, blue = to_text(chosen.graph())
    places = "" if chosen.places is None else json.dumps(chosen.places)
    boundary = "each" if chosen.each else "balanced"
    return Asked(edges, blue, places, "exp_epsilon", chosen.exp_epsilon, chosen.delta, boundary, each=chosen.each)


def show(asked: Asked) -> Shown:
    """The optimal mechanism, drawn; or the graph and the mistake."""
    if not asked.edges.strip():
        return Shown(EMPTY)
    try:
        graph, places = from_text(asked.edges, asked.blue), places_from(asked.places)
    except DuotoneError as error:
        return Shown(problem=str(error))
    plain = Shown(drawing(graph, places))
    try:
        privacy, boundary = _privacy_of(asked), _boundary_of(asked, graph)
        mechanism = design(graph, privacy, boundary)
    except Infeasible as error:
        path = [label(d) for d in error.path]
        return Shown(drawing(graph, places, path=path), str(error), clash=True)
    except DuotoneError as error:
        return replace(plain, problem=str(error))
    written = document(mechanism, privacy)
    entries = written["datasets"]
    free = improvable(graph, privacy, boundary)
    return Shown(
        drawing(graph, places, entries),
        document=written,
        summary=_summary(graph, entries, privacy),
        bars=tuple(bars(graph, entries)),
        plots=(_two_errors(graph, entries, privacy), _by_epsilon(privacy)),
        notes=(*map(str, budget_notes(privacy)), *_room(free)),
    )


def _privacy_of(asked: Asked) -> ApproxDP:
    """ε or e^ε, and δ."""
    for name, text in (("epsilon", asked.epsilon), ("delta", asked.delta), ("the value at the boundary", asked.value)):
        if len(text) > LONGEST_NUMBER:
            raise DuotoneError(f"{name} must have at most {LONGEST_NUMBER} characters")
    if asked.unit == "exp_epsilon":
        return ApproxDP(exp_epsilon=asked.epsilon.strip(), delta=asked.delta.strip())
    return ApproxDP(asked.epsilon.strip(), asked.delta.strip())


def _boundary_of(asked: Asked, graph: ColouredGraph) -> Boundary:
    """The boundary: both sides alike, one value, or one for each blue dataset of the boundary."""
    if asked.boundary == "balanced":
        return "balanced"
    if asked.boundary == "one":
        return asked.value.strip()
    values = values_from(" ".join(asked.each.split()), graph)
    for name, value in values.items():
        if len(value) > LONGEST_NUMBER:
            at = "all others" if name is ... else name
            raise DuotoneError(f"the value at {at} must have at most {LONGEST_NUMBER} characters")
    return values


def _summary(graph: ColouredGraph, entries: Mapping[str, Any], privacy: ApproxDP) -> str:
    blue, red = line_of(graph)
    worst = max(float(Fraction(entry["error"])) for entry in entries.values())
    if not (blue and red):
        return "All neighbours agree: nothing has to be hidden, and every answer is true."
    return (
        f"The optimum under ε = {privacy.epsilon:.4g}, δ = {float(privacy.delta):.4g} is wrong with probability "
        f"{worst:.4g} at most, next to the boundary; the graph leads to the ({blue}, {red})-line."
    )


def _room(free: Mapping[Any, Any]) -> list[str]:
    notes = [
        f"dataset {label(d)} could tell the truth with probability {budgets.decimal(free[d])}, at no cost to any other dataset"
        for d in free
    ]
    return notes[:NOTES] if len(notes) <= NOTES else [*notes[:NOTES], f"so could {len(notes) - NOTES} more, more often"]


def _two_errors(graph: ColouredGraph, entries: Mapping[str, Any], privacy: ApproxDP) -> Plot:
    """The trade-off between both errors at the boundary, and where its pairs of neighbours lie."""
    names = graph.labels()
    errors = {name: float(Fraction(entry["error"])) for name, entry in entries.items()}
    dots: dict[tuple[float, float], list[str]] = {}
    for a, b in graph.edge_array().tolist():
        if graph.blue[a] != graph.blue[b]:
            yes, no = (names[a], names[b]) if graph.blue[a] else (names[b], names[a])
            dots.setdefault((errors[yes], errors[no]), []).append(f"{yes} and {no}")
    curve = [(1 - float(blue), 1 - float(red)) for blue, red in tradeoff(_floats(privacy), 61)]
    said = "; ".join(f"wrong with {x:.4g} and {y:.4g} at {', '.join(pairs[:3])}" for (x, y), pairs in [*dots.items()][:6])
    return plot(
        curve,
        x=Axis(0, 1, "wrong where yes is true", HALVES),
        y=Axis(0, 1, "wrong where no is true", HALVES),
        title="The trade-off at the boundary",
        says="No private mechanism lies below the curve" + (f"; here {said}." if said else "."),
        dots=[(x, y, f"{', '.join(pairs[:3])}: {x:.4g} and {y:.4g}") for (x, y), pairs in dots.items()],
    )


def _by_epsilon(privacy: ApproxDP) -> Plot:
    """The error at the boundary, equal on both sides, as ε grows."""
    now = privacy.epsilon
    most = max(3.0, min(12.0, math.ceil(1.5 * now)))
    curve = [(e, _wrong(ApproxDP(e, float(privacy.delta)))) for e in (most * i / 60 for i in range(61))]
    here = _wrong(privacy)
    return plot(
        curve,
        x=Axis(0, most, "ε, both sides alike", (0, most / 3, 2 * most / 3, most)),
        y=Axis(0, 0.5, "wrong at the boundary", (0, 0.1, 0.2, 0.3, 0.4, 0.5)),
        title="What a larger ε buys",
        says=f"With δ as it is, ε = {now:.4g} makes {here:.4g} at the boundary when both sides are alike.",
        dots=[(now, here, f"ε = {now:.4g}: {here:.4g}")],
    )


def _wrong(privacy: ApproxDP) -> float:
    return float(balanced(privacy).error(0))


def _floats(privacy: ApproxDP) -> ApproxDP:
    return ApproxDP(float(privacy.epsilon), float(privacy.delta))


async def studio_page(request: Request) -> Response:
    """The whole page: an example, or the form of a browser without scripts."""
    if request.method == "POST":
        asked = await _asked(request)
    else:
        asked = example(request.query_params.get("example", "voters"))
    return await _answer(request, "studio.html", asked)


async def result(request: Request) -> Response:
    """The pictures alone: the page asks for them anew while somebody draws or types."""
    return await _answer(request, "studio_result.html", await _asked(request))


async def load(request: Request) -> Response:
    """Load a graph from a file."""
    async with request.form(max_files=1, max_fields=20, max_part_size=MOST_TEXT) as form:
        sent = form.get("file")
        if not isinstance(sent, UploadFile) or not sent.filename:
            raise Refused("bad question", "choose a file first")
        name, content = sent.filename, await sent.read(MOST_TEXT + 1)
    asked = Asked(unit="epsilon", epsilon="1", delta="0.01")
    try:
        if name.lower().endswith(".csv"):
            asked = replace(asked, edges=content.decode())
        else:
            edges, blue = to_text(await _drawn(request, partial(from_file, name, content)))
            asked = replace(asked, edges=edges, blue=blue)
    except UnicodeDecodeError:
        raise Refused("bad question", "the file must be text in UTF-8") from None
    return await _answer(request, "studio.html", asked)


async def mechanism_file(request: Request) -> Response:
    """The mechanism as `duotone design --json` prints it."""
    shown = await _drawn(request, partial(show, await _asked(request)))
    if shown.document is None:
        raise Refused("bad question", shown.problem or "there is no dataset yet")
    return download(json.dumps(shown.document), "mechanism.json")


async def _answer(request: Request, template: str, asked: Asked) -> Response:
    shown = await _drawn(request, partial(show, asked))
    status = 422 if shown.problem and not shown.clash else 200
    return render(request, template, status, asked=asked, shown=shown, examples=EXAMPLES)


async def _drawn(request: Request, drawing: Callable[[], T]) -> T:
    """Run a drawing in the desk's threads, which all callers share."""
    return cast("T", await request.app.state.desk.draw(who(request), drawing))


async def _asked(request: Request) -> Asked:
    return Asked(**fields_of(Asked, await form_of(request)))
