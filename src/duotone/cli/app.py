"""The command. Heavy imports happen at use, so that `duotone --help` comes at once."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from duotone.cli.ledger import ledgers
from duotone.cli.tables import ask, groups
from duotone.cli.terminal import (
    AsJson,
    CertificateFile,
    Delta,
    Draw,
    Epsilon,
    Ratio,
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
INTERRUPTED, BROKEN_PIPE = 130, 141
"""Exit codes of 128 and a signal's number, as shells report for tools that SIGINT or SIGPIPE ended."""
HINTS = 5
"""The datasets that a note names, at most."""

app = typer.Typer(
    name="duotone",
    help="Private yes/no answers that are as accurate as differential privacy allows.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(ledgers, name="ledger")


def main(arguments: list[str] | None = None) -> None:
    """Run the command: exit code 0 when done, 1 when a check does not hold, 2 for bad input or for output that cannot be
    written, 130 when it was interrupted, and 141 when the reader of its output stopped reading: what shells report for
    other tools, too.
    """
    command_line = sys.argv[1:] if arguments is None else arguments
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (else notes would go to standard output)
    if sys.stdout is None:
        say("duotone: standard output is closed: nothing was asked, since there is nowhere to answer")
        sys.exit(2)
    output, place = sys.stdout, _place(sys.stdout)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without ε must not end the work
    try:
        with _interrupts() as interrupts:
            code = _ended(arguments, interrupts)
        output.flush()
        if sys.stdout is not output or _place(output) != place:  # how typer and rich end where a pipe is broken
            code = BROKEN_PIPE
    except KeyboardInterrupt:
        code = _interrupted()
    except (OSError, ValueError) as error:
        if not (isinstance(error, OSError) or output.closed):
            raise
        code = _unwritten(error, command_line)
    if code in (BROKEN_PIPE, 2):
        _drop(output)
    sys.exit(code)


def _ended(arguments: list[str] | None, interrupts: list[int]) -> int:
    """Run a command to its exit code; what is wrong with its input is reported in one line."""
    try:
        app(arguments)
    except Exception as error:
        if interrupts:
            return _interrupted()
        if isinstance(error, DuotoneError):
            say(error, line="duotone: ")
        elif isinstance(error, MemoryError | RecursionError):
            say("duotone: this does not fit into memory")
        else:
            raise
        return 2
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 2
        return _interrupted() if code == INTERRUPTED else code
    return 0


@contextlib.contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Takes note of each Ctrl-C: a library that is busy then may make any other error of it."""
    noted: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield noted
        return

    def note(number: int, frame: Any) -> None:
        noted.append(number)
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupted() -> int:
    say("duotone: interrupted")
    return INTERRUPTED


def _unwritten(error: OSError | ValueError, arguments: list[str]) -> int:
    """Say that the output is lost, and what that means for an answer that may have been drawn."""
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    why = (error.strerror if isinstance(error, OSError) else None) or "it is closed"
    lost = ""
    if arguments[:1] in (["ask"], ["groups"]):
        charged = any(text == "--ledger" or text.startswith("--ledger=") for text in arguments)
        lost = (
            "; an answer that was charged is recorded in the ledger, and asking again is free"
            if charged
            else "; an answer that was drawn is lost, and asking again is a new release"
        )
    say(f"duotone: the output cannot be written: {why}{lost}")
    return 2


def _place(output: TextIO) -> tuple[int, int] | None:
    """What standard output leads to."""
    try:
        there = os.fstat(output.fileno())
    except (OSError, ValueError):
        return None
    return there.st_dev, there.st_ino


def _drop(output: TextIO) -> None:
    """Let nothing that is left in the buffer fail once more when Python ends."""
    with contextlib.suppress(OSError, ValueError):
        output.flush()
        return
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, output.fileno())
        os.close(nowhere)


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
    graph: Annotated[Path, typer.Argument(help="GraphML, node-link JSON, or a CSV or Parquet edge list with --blue.")],
    epsilon: Epsilon = None,
    ratio: Ratio = None,
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
    from duotone.graphs._csr import small
    from duotone.graphs.files import EDGE_LISTS, read_graph
    from duotone.graphs.table import graph_table

    privacy = budget(epsilon, ratio, delta)
    if blue is not None and blue_from is not None:
        raise DuotoneError("give --blue or --blue-from, one of the two")
    if blue is None and blue_from is None and graph.suffix in EDGE_LISTS:
        raise DuotoneError("an edge list has no colours: name the blue nodes (--blue a,b,c)")
    coloured = read_graph(graph, blue=blue_from if blue is None else listed(blue))
    fixed = _boundary(boundary, {str(name): name for name in coloured.names} if "=" in boundary else {})
    mechanism = optimal.design(coloured, privacy, fixed)
    if small(len(coloured), len(coloured.indices)):
        _hint(optimal.improvable(coloured, privacy, fixed))
    if draw is not None:
        from duotone import plotting

        wrote(plotting.save(plotting.graph(mechanism), draw))
    if certificate is not None:
        write_json(certificate, graph_table(coloured, privacy, fixed).certificate())
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
    certificate: CertificateFile = None,
) -> None:
    """The optimal mechanism on the (NB, NR)-line."""
    from duotone.graphs import families
    from duotone.graphs import optimum as optimal
    from duotone.line.mechanism import on_line
    from duotone.line.table import line_table

    privacy = budget(epsilon, ratio, delta)
    if not (blue >= 1 and red >= 1):
        raise DuotoneError(f"a line needs at least one blue and one red dataset, got {blue} and {red}")
    if blue + red > LONGEST_LINE:
        raise DuotoneError(f"at most {LONGEST_LINE} datasets are listed, got {blue + red}: the error depends on distance alone")
    boundary = _boundary(blue_at_boundary, {})
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


@app.command()
def check(
    mechanism: Annotated[Path, typer.Argument(help="What `duotone design --json` printed, or a certificate.")],
    epsilon: Epsilon = None,
    ratio: Ratio = None,
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
        if (epsilon, ratio, delta) != (None, None, None):
            raise DuotoneError("a certificate is checked for its own budget: leave out --epsilon, --ratio and --delta")
        try:
            holds, sentence = True, prove(data)
        except Unproved as failure:
            holds, sentence = False, str(failure)
        text = printable(sentence if holds else f"NOT proved: {sentence}")
        print(json.dumps({"holds": holds, "says": sentence}) if as_json else text)
        raise typer.Exit(0 if holds else 1)
    parsed, claimed = document.from_document(data)
    privacy = claimed if (epsilon, ratio, delta) == (None, None, None) else budget(epsilon, ratio, delta or "0")
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


@app.command(context_settings={"ignore_unknown_options": True})  # so that a level may be -1
def audit(
    target: Annotated[str, typer.Argument(help="FILE.py:FUNCTION or MODULE:FUNCTION, called with a dataset and n; or `line`.")],
    left: Annotated[str, typer.Argument(help="A dataset, as JSON or text; for `line`, a level.")],
    right: Annotated[str, typer.Argument(help="Its neighbour.")],
    epsilon: Epsilon = None,
    ratio: Ratio = None,
    delta: Delta = "0",
    draws: Annotated[int, typer.Option(help="Answers to draw on each side.")] = 10**6,
    confidence: Annotated[float, typer.Option(help="How sure the bound must be.")] = 0.99,
    as_json: AsJson = False,
    draw: Draw = None,
) -> None:
    """How private an answering function can be at most, from its answers alone. Exit code 1 if the claim is refuted."""
    from duotone.release.audit import audit_answers

    claim = budget(epsilon, ratio, delta)
    sides = _dataset(left), _dataset(right)
    if target == "line" and not (all(type(level) is int for level in sides) and abs(sides[0] - sides[1]) <= 1):
        raise DuotoneError("neighbouring levels are whole numbers at most 1 apart")
    black_box = _black_box(target, claim)
    bound = audit_answers(black_box, *sides, claim, draws=draws, confidence=confidence)
    if draw is not None:
        from duotone import plotting

        wrote(plotting.save(plotting.audit_bound(bound), draw))
    if as_json:
        summary = {"epsilon_at_least": bound.epsilon, "claimed": claim.epsilon, "delta": float(claim.delta)}
        print(json.dumps({**summary, "confidence": confidence, "draws": draws, "yes": bound.yes, "refuted": bound.caught}))
    else:
        verdict = "REFUTED" if bound.caught else "not refuted"
        print(f"epsilon is at least {bound.epsilon:.4g}, at delta {float(claim.delta):g} and {confidence:g} confidence")
        print(f"the claim of {claim.epsilon:.6g} is {verdict} by {draws} answers on each side")
    if bound.caught:
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
        print_table(("where", "what", "paper", "Duotone", ""), rows)
        print(f"{sum(c.agrees for c in claims)} of {len(claims)} claims agree")
    for path in source.figures(folder):
        wrote(path)
    if not all(claim.agrees for claim in claims):
        raise typer.Exit(1)


app.command()(ask)
app.command()(groups)


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


def _boundary(text: str, names: dict[str, Any]) -> Any:
    """`balanced`, one value, or `name=value,…` for datasets of these names."""
    if "=" not in text:
        return text.strip()
    values: dict[Any, str] = {}
    for part in listed(text):
        name, _, value = part.rpartition("=")
        if name.strip() not in names:
            raise DuotoneError(f"there is no dataset {name.strip() or part} to fix at the boundary")
        if names[name.strip()] in values:
            raise DuotoneError(f"dataset {name.strip()} is given two values")
        values[names[name.strip()]] = value.strip()
    return values


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
        print(json.dumps(document.document(mechanism, privacy)))
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
