"""The command. Heavy imports happen at use, so that `duotone --help` comes at once."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duotone.errors import DuotoneError

if TYPE_CHECKING:
    from duotone.mechanism import Mechanism
    from duotone.privacy import ApproxDP

ROWS = 60
"""The rows up to which a table is printed whole."""
LONGEST_LINE = 100_000

app = typer.Typer(
    name="duotone",
    help="Private yes/no answers that are as accurate as differential privacy allows.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Epsilon = Annotated[str | None, typer.Option(metavar="E", help="Privacy budget ε: a decimal or a fraction.")]
Ratio = Annotated[str | None, typer.Option(metavar="R", help="e^ε itself, exactly, instead of ε.")]
Delta = Annotated[str, typer.Option(metavar="D", help="Privacy budget δ, in [0, 1).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Draw = Annotated[Path | None, typer.Option(metavar="F.svg", help="Draw a picture (.svg, .png or .pdf).")]


def main(arguments: list[str] | None = None) -> None:
    """Run the command: exit code 0 when done, 1 when a check does not hold, 2 for bad input."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without ε must not end the work
    try:
        app(arguments)
    except DuotoneError as error:
        print(f"duotone: {error}", file=sys.stderr)
        sys.exit(2)
    except (MemoryError, RecursionError):
        print("duotone: this does not fit into memory", file=sys.stderr)
        sys.exit(2)


def _version(wanted: bool) -> None:
    if wanted:
        from duotone import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None: ...


@app.command()
def design(
    graph: Annotated[Path, typer.Argument(help="GraphML, node-link JSON, or a CSV edge list with --blue.")],
    epsilon: Epsilon = None,
    ratio: Ratio = None,
    delta: Delta = "0",
    boundary: Annotated[
        str, typer.Option(metavar="balanced|M|h=3/5,l=7/10", help="Pr[truth] on the blue boundary.")
    ] = "balanced",
    blue: Annotated[str | None, typer.Option(metavar="a,b,c", help="The blue nodes.")] = None,
    as_json: AsJson = False,
    draw: Draw = None,
) -> None:
    """The optimal mechanism on a coloured dataset graph."""
    from duotone import optimal
    from duotone.graph import ColouredGraph

    privacy = _privacy(epsilon, ratio, delta)
    coloured = ColouredGraph.read(graph, blue=None if blue is None else _listed(blue))
    mechanism = optimal.design(coloured, privacy, _boundary(boundary, {str(name): name for name in coloured.names}))
    if draw is not None:
        from duotone import draw as pictures

        _wrote(pictures.save(pictures.graph(mechanism), draw))
    _print_mechanism(mechanism, privacy, as_json)


@app.command()
def line(
    blue: Annotated[int, typer.Argument(metavar="NB", help="How many blue datasets.")],
    red: Annotated[int, typer.Argument(metavar="NR", help="How many red datasets.")],
    blue_at_boundary: Annotated[str, typer.Option(metavar="M", help="Pr[yes] at the blue boundary, or balanced.")],
    epsilon: Epsilon = None,
    ratio: Ratio = None,
    delta: Delta = "0",
    as_json: AsJson = False,
    draw: Draw = None,
) -> None:
    """The optimal mechanism on the (NB, NR)-line."""
    from duotone import families, optimal
    from duotone.line import on_line

    privacy = _privacy(epsilon, ratio, delta)
    if not (blue >= 1 and red >= 1):
        raise DuotoneError(f"a line needs at least one blue and one red dataset, got {blue} and {red}")
    if blue + red > LONGEST_LINE:
        raise DuotoneError(f"at most {LONGEST_LINE} datasets are listed, got {blue + red}: the error depends on distance alone")
    boundary = _boundary(blue_at_boundary, {})
    mechanism = optimal.design(families.line(blue, red).graph(), privacy, boundary)
    plain = on_line(privacy, boundary)
    if draw is not None:
        from duotone import draw as pictures

        _wrote(pictures.save(pictures.line_phases(plain, blue, red), draw))
    _print_mechanism(mechanism, privacy, as_json)
    if not as_json:
        tau = privacy.transition(plain.blue)
        print(f"transition τ = {tau:g}" + "".join(_certain(*at) for at in zip(("blue", "red"), plain.certain, strict=True)))


@app.command()
def check(
    mechanism: Annotated[Path, typer.Argument(help="A mechanism as `duotone design --json` prints it.")],
    epsilon: Epsilon = None,
    ratio: Ratio = None,
    delta: Annotated[str | None, typer.Option(metavar="D", help="Privacy budget δ, in [0, 1).")] = None,
    as_json: AsJson = False,
) -> None:
    """Whether a mechanism is private, decided exactly over every pair of neighbours."""
    from duotone import certificate
    from duotone.number import show

    given, claimed = certificate.from_document(certificate.read(mechanism))
    privacy = claimed if (epsilon, ratio, delta) == (None, None, None) else _privacy(epsilon, ratio, delta or "0")
    result = given.check(privacy)
    edge = [certificate.dataset_name(d) for d in result.edge or ()]
    slack = None if result.slack is None else show(result.slack)
    if as_json:
        print(json.dumps({"holds": result.holds, "edge": edge or None, "slack": slack}))
    elif result.slack is None:
        print("private: no dataset has a neighbour")
    else:
        verdict = "private" if result.holds else "NOT private"
        print(f"{verdict} under {privacy}: worst pair {edge[0]} ~ {edge[1]}, slack {_brief(result.slack)}")
    if not result.holds:
        raise typer.Exit(1)


@app.command()
def paper(
    folder: Annotated[Path, typer.Argument(help="Where the figures go.")] = Path("paper"),
    as_json: AsJson = False,
) -> None:
    """Recompute every number of the paper and redraw every figure."""
    from duotone import paper as source

    claims = list(source.claims())
    if as_json:
        print(json.dumps({"claims": [vars(claim) for claim in claims]}))
    else:
        rows = [(c.place, c.what, c.claimed, c.computed, "✓" if c.agrees else "✗") for c in claims]
        _print_table(("where", "what", "paper", "Duotone", ""), rows)
        print(f"{sum(c.agrees for c in claims)} of {len(claims)} claims agree")
    for path in source.figures(folder):
        _wrote(path)
    if not all(claim.agrees for claim in claims):
        raise typer.Exit(1)


def _privacy(epsilon: str | None, ratio: str | None, delta: str) -> ApproxDP:
    from duotone.privacy import ApproxDP

    if (epsilon is None) == (ratio is None):
        raise DuotoneError("give --epsilon E or --ratio R (which is e^E), one of the two")
    return ApproxDP(epsilon, delta, ratio=ratio)


def _boundary(text: str, names: dict[str, Any]) -> Any:
    """`balanced`, one value, or `name=value,…` for datasets of these names."""
    if "=" not in text:
        return text.strip()
    values: dict[Any, str] = {}
    for part in _listed(text):
        name, _, value = part.rpartition("=")
        if name.strip() not in names:
            raise DuotoneError(f"there is no dataset {name.strip() or part} to fix at the boundary")
        if names[name.strip()] in values:
            raise DuotoneError(f"dataset {name.strip()} is given two values")
        values[names[name.strip()]] = value.strip()
    return values


def _listed(text: str) -> list[str]:
    """Names between commas; one with a comma in it stands in double quotes."""
    return [name.strip() for row in csv.reader([text], skipinitialspace=True) for name in row]


def _print_mechanism(mechanism: Mechanism, privacy: ApproxDP, as_json: bool) -> None:
    from duotone import certificate

    document = certificate.document(mechanism, privacy)
    if as_json:
        print(json.dumps(document))
        return
    rows = [
        (name, entry["colour"], _level(entry["level"]), _brief(entry["yes"]), _brief(entry["error"]))
        for name, entry in document["datasets"].items()
    ]
    _print_table(("dataset", "colour", "level", "Pr[yes]", "Pr[wrong]"), rows[:ROWS])
    if len(rows) > ROWS:
        print(f"… and {len(rows) - ROWS} more (--json prints all)")
    lines = document["line"]
    print(f"{privacy}; boundary graph: ({lines['blue']}, {lines['red']})-line")


def _print_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    table = Table(*(Column(Text(name)) for name in head))
    for row in rows:
        table.add_row(*map(Text, row))
    Console(width=None if sys.stdout.isatty() else 110).print(table)


def _level(level: int | None) -> str:
    return "∞" if level is None else str(level)


def _brief(value: str | float | Fraction) -> str:
    """A number to read: a fraction with its decimal value, if it is short."""
    from duotone.number import number, show

    exact = number(value)
    decimal = f"{float(exact):.6g}"
    if isinstance(exact, float) or exact.denominator == 1:
        return decimal
    return f"{show(exact)} = {decimal}" if exact.denominator < 10**6 else f"≈ {decimal}"


def _certain(side: str, distance: float) -> str:
    return f"; {side} error 0 from distance {distance:g}" if math.isfinite(distance) else f"; {side} error never exactly 0"


def _wrote(path: Path) -> None:
    print(f"wrote {path}", file=sys.stderr)
