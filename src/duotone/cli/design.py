"""The commands about mechanisms on graphs and lines: design, line, check."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duotone.cli.terminal import (
    AsJson,
    CertificateFile,
    Delta,
    Draw,
    Epsilon,
    ExpEpsilon,
    brief,
    budget,
    listed,
    print_table,
    printable,
    say,
    write_json,
    wrote,
)
from duotone.errors import DuotoneError

if TYPE_CHECKING:
    from duotone.graphs.mechanism import Mechanism
    from duotone.privacy.approx_dp import ApproxDP

ROWS = 60
"""The rows up to which a table is printed whole."""
LONGEST_LINE = 100_000
HINTS = 5
"""The datasets that a note names, at most."""


def design(
    graph: Annotated[Path, typer.Argument(help="GraphML, node-link JSON, or a CSV or Parquet edge list with --blue.")],
    epsilon: Epsilon = None,
    exp_epsilon: ExpEpsilon = None,
    delta: Delta = "0",
    boundary: Annotated[
        str, typer.Option(metavar="balanced|M|h=3/5,l=7/10", help="Pr[truth] on the blue boundary.")
    ] = "balanced",
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

    privacy = budget(epsilon, exp_epsilon, delta)
    if blue is not None and blue_from is not None:
        raise DuotoneError("give --blue or --blue-from, one of the two")
    if blue is None and blue_from is None and graph.suffix in EDGE_LISTS:
        raise DuotoneError("an edge list has no colours: name the blue nodes (--blue a,b,c)")
    coloured = read_graph(graph, blue=blue_from if blue is None else listed(blue))
    fixed = optimal.values_from(boundary, coloured) if "=" in boundary else boundary.strip()
    mechanism = optimal.design(coloured, privacy, fixed)
    if small(len(coloured), len(coloured.indices)):
        _hint(optimal.improvable(coloured, privacy, fixed))
    if draw is not None:
        from duotone import plotting

        wrote(plotting.save(plotting.graph(mechanism), draw))
    if certificate is not None:
        write_json(certificate, graph_table(coloured, privacy, fixed).certificate_text())
    _print_mechanism(mechanism, privacy, as_json)


def line(
    blue: Annotated[int, typer.Argument(metavar="NB", help="How many blue datasets.")],
    red: Annotated[int, typer.Argument(metavar="NR", help="How many red datasets.")],
    blue_at_boundary: Annotated[str, typer.Option(metavar="M", help="Pr[yes] at the blue boundary, or balanced.")],
    epsilon: Epsilon = None,
    exp_epsilon: ExpEpsilon = None,
    delta: Delta = "0",
    as_json: AsJson = False,
    draw: Draw = None,
    certificate: CertificateFile = None,
) -> None:
    """The optimal mechanism on the (NB, NR)-line."""
    from duotone.graphs import families
    from duotone.graphs import optimum as optimal
    from duotone.line.mechanism import on_line
    from duotone.line.table import line_table

    privacy = budget(epsilon, exp_epsilon, delta)
    if not (blue >= 1 and red >= 1):
        raise DuotoneError(f"a line needs at least one blue and one red dataset, got {blue} and {red}")
    if blue + red > LONGEST_LINE:
        raise DuotoneError(
            f"at most {LONGEST_LINE} datasets can be listed, got {blue + red}: the error depends on distance alone"
        )
    boundary = blue_at_boundary.strip()
    mechanism = optimal.design(families.line(blue, red).graph(), privacy, boundary)
    plain = on_line(privacy, boundary)
    if draw is not None:
        from duotone import plotting

        wrote(plotting.save(plotting.line_phases(plain, blue, red), draw))
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
    """Whether a mechanism is private, or a certificate proves what it claims; decided exactly over every pair."""
    from duotone.graphs import document
    from duotone.graphs.graph import label
    from duotone.privacy.numbers import show
    from duotone.release.certificate import Unproved, prove

    data = document.read(mechanism)
    if isinstance(data, dict) and "certificate" in data:
        if (epsilon, exp_epsilon, delta) != (None, None, None):
            raise DuotoneError("a certificate is checked for its own budget: leave out --epsilon, --exp-epsilon and --delta")
        try:
            holds, sentence = True, prove(data)
        except Unproved as failure:
            holds, sentence = False, str(failure)
        text = printable(sentence if holds else f"NOT proved: {sentence}")
        print(json.dumps({"holds": holds, "says": sentence}) if as_json else text)
        raise typer.Exit(0 if holds else 1)
    parsed, claimed = document.from_document(data)
    privacy = claimed if (epsilon, exp_epsilon, delta) == (None, None, None) else budget(epsilon, exp_epsilon, delta or "0")
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


def _level(level: int | None) -> str:
    return "∞" if level is None else str(level)


def _certain(side: str, distance: float) -> str:
    return f"; {side} error 0 from distance {distance:g}" if math.isfinite(distance) else f"; {side} error never exactly 0"
