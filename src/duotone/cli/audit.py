"""The commands that hold claims against what is computed or drawn: audit, paper."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duotone.cli.terminal import AsJson, Delta, Draw, Epsilon, ExpEpsilon, budget, print_table, wrote
from duotone.errors import DuotoneError

if TYPE_CHECKING:
    from duotone.privacy.approx_dp import ApproxDP


def audit(
    target: Annotated[str, typer.Argument(help="FILE.py:FUNCTION or MODULE:FUNCTION, called with a dataset and n; or `line`.")],
    left: Annotated[str, typer.Argument(help="A dataset, as JSON or text; for `line`, a level.")],
    right: Annotated[str, typer.Argument(help="Its neighbour.")],
    epsilon: Epsilon = None,
    exp_epsilon: ExpEpsilon = None,
    delta: Delta = "0",
    draws: Annotated[int, typer.Option(help="Answers to draw on each side.")] = 10**6,
    confidence: Annotated[float, typer.Option(help="How sure the bound must be.")] = 0.99,
    as_json: AsJson = False,
    draw: Draw = None,
) -> None:
    """How private an answering function can be at most, from its answers alone. Exit code 1 if the claim is refuted."""
    from duotone.release.audit import audit_answers

    claim = budget(epsilon, exp_epsilon, delta)
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
