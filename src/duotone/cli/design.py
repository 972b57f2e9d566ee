"""The commands about mechanisms: design, line, check, audit, paper."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duotone.cli.terminal import (
    PRICE,
    AsJson,
    CertificateFile,
    Draw,
    Epsilon,
    ExpEpsilon,
    brief,
    budget,
    draw_to,
    listed,
    print_table,
    say,
    takes,
    waiting,
    write_json,
    wrote,
)
from duotone.errors import DuotoneError
from duotone.words.sentences import printable

if TYPE_CHECKING:
    from duotone.graphs.mechanism import Mechanism
    from duotone.privacy.approx_dp import ApproxDP

ROWS = 60
"""Up to this many rows, a table is printed completely."""
LONGEST_LINE = 100_000
HINTS = 5
"""Most datasets that a note names."""


@takes(privacy=PRICE)
def design(
    graph: Annotated[
        Path, typer.Argument(help="GraphML, GML, node-link JSON, or an edge list (CSV, Parquet, text) with --blue.")
    ],
    privacy: ApproxDP,
    boundary: Annotated[
        str, typer.Option(metavar="balanced|M|h=3/5,M", help="Pr[truth] on the blue boundary; M alone is for all others.")
    ] = "balanced",
    colour: Annotated[
        str | None, typer.Option(metavar="NAME", help="The node attribute that is the colour, if not `colour`.")
    ] = None,
    blue: Annotated[str | None, typer.Option(metavar="a,b,c", help="The blue nodes.")] = None,
    blue_from: Annotated[Path | None, typer.Option(metavar="FILE", help="A CSV or Parquet file of the blue nodes.")] = None,
    as_json: AsJson = False,
    draw: Draw = None,
    certificate: CertificateFile = None,
) -> None:
    """The optimal mechanism on a coloured dataset graph."""
    from duotone.graphs import optimum as optimal
    from duotone.graphs.edges import small
    from duotone.graphs.files import EDGE_LISTS, read_graph
    from duotone.graphs.table import graph_table

    if blue is not None and blue_from is not None:
        raise DuotoneError("give --blue or --blue-from, one of the two")
    if blue is None and blue_from is None and graph.suffix in EDGE_LISTS:
        raise DuotoneError("an edge list has no colours: name the blue nodes (--blue a,b,c)")
    coloured = read_graph(graph, colour=colour, blue=blue_from if blue is None else listed(blue))
    fixed = optimal.values_from(boundary, coloured) if "=" in boundary else boundary.strip()
    mechanism = optimal.design(coloured, privacy, fixed)
    if small(len(coloured), len(coloured.indices)):
        _hint(optimal.improvable(coloured, privacy, fixed))
    draw_to(draw, "graph", mechanism)
    if certificate is not None:
        write_json(certificate, graph_table(coloured, privacy, fixed).certificate_text())
    _print_mechanism(mechanism, privacy, as_json)


@takes(privacy=PRICE)
def line(
    blue: Annotated[int, typer.Argument(metavar="NB", help="How many blue datasets.")],
    red: Annotated[int, typer.Argument(metavar="NR", help="How many red datasets.")],
    blue_at_boundary: Annotated[str, typer.Option(metavar="M", help="Pr[yes] at the blue boundary, or balanced.")],
    privacy: ApproxDP,
    as_json: AsJson = False,
    draw: Draw = None,
    certificate: CertificateFile = None,
) -> None:
    """The optimal mechanism on the (NB, NR)-line."""
    from duotone.graphs import families
    from duotone.graphs import optimum as optimal
    from duotone.line.mechanism import on_line
    from duotone.line.table import line_table

    if not (blue >= 1 and red >= 1):
        raise DuotoneError(f"a line needs at least one blue and one red dataset, got {blue} and {red}")
    if blue + red > LONGEST_LINE:
        raise DuotoneError(
            f"at most {LONGEST_LINE} datasets can be listed, got {blue + red}: the error depends on distance alone"
        )
    boundary = blue_at_boundary.strip()
    mechanism = optimal.design(families.line(blue, red).graph(), privacy, boundary)
    plain = on_line(privacy, boundary)
    draw_to(draw, "line_phases", plain, blue, red)
    if certificate is not None:
        write_json(certificate, line_table(plain).certificate())
    _print_mechanism(mechanism, privacy, as_json)
    if not as_json:
        tau = privacy.transition(plain.blue)
        print(f"transition τ = {tau:g}" + "".join(_certain(*at) for at in zip(("blue", "red"), plain.certain, strict=True)))


def check(
    mechanism: Annotated[Path, typer.Argument(help="What `duotone design --json` printed, or a certificate.")],
    epsilon: Epsilon = None,
    exp_epsilon: ExpEpsilon = None,
    delta: Annotated[str | None, typer.Option(metavar="D", help="Privacy budget δ, in [0, 1).")] = None,
    as_json: AsJson = False,
) -> None:
    """Whether a mechanism is private, or a certificate proves its claim; decided exactly, over all pairs."""
    from duotone.graphs import document
    from duotone.graphs.graph import label
    from duotone.privacy.numbers import show
    from duotone.release.certificate import Unproved, prove

    data = document.read(mechanism)
    if isinstance(data, dict) and "certificate" in data:
        if (epsilon, exp_epsilon, delta) != (None, None, None):
            raise DuotoneError("a certificate states its own budget: leave out --epsilon, --exp-epsilon and --delta")
        try:
            with waiting(f"proving {mechanism.name}"):
                holds, sentence = True, prove(data)
        except Unproved as failure:
            holds, sentence = False, str(failure)
        text = printable(sentence if holds else f"NOT proved: {sentence}")
        print(json.dumps({"holds": holds, "says": sentence}) if as_json else text)
        raise typer.Exit(0 if holds else 1)
    parsed, claimed = document.from_document(data)
    privacy = claimed if (epsilon, exp_epsilon, delta) == (None, None, None) else budget(epsilon, exp_epsilon, delta or "0")
    with waiting(f"checking {mechanism.name}"):
        result = parsed.check(privacy)
    edge = [label(d) for d in result.edge or ()]
    slack = None if result.slack is None else show(result.slack)
    if as_json:
        print(json.dumps({"holds": result.holds, "edge": edge or None, "slack": slack}))
    elif result.slack is None:
        print("private: no dataset has a neighbour")
    else:
        verdict = "private" if result.holds else "NOT private"
        pair = " ~ ".join(map(printable, edge))
        print(f"{verdict} under {privacy}: worst pair {pair}, slack {brief(result.slack)}")
    if not result.holds:
        raise typer.Exit(1)


@takes(claim=PRICE)
def audit(
    target: Annotated[str, typer.Argument(help="FILE.py:FUNCTION or MODULE:FUNCTION, called with a dataset and n; or `line`.")],
    left: Annotated[str, typer.Argument(help="A dataset, as JSON or text; for `line`, a level.")],
    right: Annotated[str, typer.Argument(help="Its neighbour.")],
    claim: ApproxDP,
    draws: Annotated[int, typer.Option(help="Answers to draw on each side.")] = 10**6,
    confidence: Annotated[float, typer.Option(help="The confidence of the bound.")] = 0.99,
    as_json: AsJson = False,
    draw: Draw = None,
) -> None:
    """A lower bound on the ε of an answering function, from its answers alone. Exit code 1 if the claim is refuted."""
    from duotone.release.audit import audit_answers

    sides = _dataset(left), _dataset(right)
    if target == "line" and not (all(type(level) is int for level in sides) and abs(sides[0] - sides[1]) <= 1):
        raise DuotoneError("neighbouring levels are whole numbers at most 1 apart")
    black_box = _black_box(target, claim)
    bound = audit_answers(black_box, *sides, claim, draws=draws, confidence=confidence)
    draw_to(draw, "audit_bound", bound)
    if as_json:
        summary = {"epsilon_at_least": bound.epsilon, "claimed": claim.epsilon, "delta": float(claim.delta)}
        print(json.dumps({**summary, "confidence": confidence, "draws": draws, "yes": bound.yes, "refuted": bound.caught}))
    else:
        verdict = "REFUTED" if bound.caught else "not refuted"
        print(f"epsilon is at least {bound.epsilon:.4g}, at delta {float(claim.delta):g} and {confidence:g} confidence")
        print(f"the claim of {claim.epsilon:.6g} is {verdict} by {draws} answers on each side")
    if bound.caught:
        raise typer.Exit(1)


def paper(
    folder: Annotated[Path, typer.Argument(help="The folder for the figures.")] = Path("paper"),
    as_json: AsJson = False,
) -> None:
    """Recompute every number of the paper and redraw every figure."""
    from duotone import paper as source

    claims = list(source.claims())
    if as_json:
        print(json.dumps({"claims": [vars(claim) for claim in claims]}))
    else:
        rows = [(c.place, c.what, c.claimed, c.computed, "✓" if c.agrees else "✗") for c in claims]
        print_table(("where", "what", "paper", "Duotone", ""), rows)
        print(f"{sum(c.agrees for c in claims)} of {len(claims)} claims agree")
    for path in source.figures(folder):
        wrote(path)
    if not all(claim.agrees for claim in claims):
        raise typer.Exit(1)


def _hint(free: dict[Any, Any]) -> None:
    """Name boundary values that could be larger at no cost."""
    from duotone.graphs.graph import label

    for name in [*free][:HINTS]:
        say(f"note: dataset {label(name)} could tell the truth with {brief(free[name])}, at no cost to any other dataset")
    if len(free) > HINTS:
        say(f"note: so could {len(free) - HINTS} more datasets tell it more often")


def _print_mechanism(mechanism: Mechanism, privacy: ApproxDP, as_json: bool) -> None:
    from duotone.graphs import document
    from duotone.graphs.graph import label
    from duotone.graphs.morphism import line_of

    graph, truth = mechanism.graph, mechanism.truth
    if as_json:
        sys.stdout.writelines(document.document_text(mechanism, privacy))
        print()
        return
    rows = []
    for i, name in enumerate(graph.names[:ROWS]):
        level, wrong = graph.level(name), 1 - truth[i]
        yes = truth[i] if graph.blue[i] else wrong
        shown_level = _level(int(level) if math.isfinite(level) else None)
        rows.append((label(name), graph.colour(name), shown_level, brief(yes), brief(wrong)))
    print_table(("dataset", "colour", "level", "Pr[yes]", "Pr[wrong]"), rows)
    if len(graph) > ROWS:
        print(f"… and {len(graph) - ROWS} more (--json prints all)")
    blue, red = line_of(graph)
    print(f"{privacy}; boundary graph: ({blue}, {red})-line")
    if not (blue or red):
        say("note: no neighbours have different true answers, so there is nothing to hide: every answer is true")


def _level(level: int | None) -> str:
    return "∞" if level is None else str(level)


def _certain(side: str, distance: float) -> str:
    return f"; {side} error 0 from distance {distance:g}" if math.isfinite(distance) else f"; {side} error never exactly 0"


def _black_box(target: str, claim: ApproxDP) -> Any:
    """The function to audit; `line` is Duotone's own balanced mechanism."""
    from duotone.release.audit import named

    if target == "line":
        import numpy as np

        from duotone.line.mechanism import balanced
        from duotone.release.coin import Coin

        coin = Coin(balanced(claim))
        return lambda level, n: coin.answers(np.full(n, level))
    return named(target)


def _dataset(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
