"""Audits of Duotone and its peers, each against its own claim. Usage: audits.py [FOLDER for pictures] [--quick]."""

from __future__ import annotations

import math
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from duotone import ApproxDP, Coin, audit_answers, balanced, partition_selection, plotting
from duotone.release.audit import Audit, audit_margins, one_by_one

SURE = 0.999


def report(name: str, audit: Audit, seconds: float) -> None:
    verdict = "REFUTED" if audit.caught else "stands"
    print(
        f"| {name} | {audit.claim.epsilon:.4g}, {float(audit.claim.delta):g} | {audit.draws:.0e} | "
        f"{audit.epsilon:.4f} | {verdict} | {seconds:.0f} s |"
    )


def main(folder: Path | None, fewer: int) -> None:
    """`fewer` divides the published number of draws."""
    warnings.simplefilter("ignore")
    import opendp.prelude as dp
    from diffprivlib.mechanisms import Binary

    dp.enable_features("contrib")
    claim, unit = ApproxDP(exp_epsilon=2, delta="1/10"), ApproxDP(1)
    coin, exact = Coin(balanced(claim)), Coin(balanced(ApproxDP(1, "1e-6")))
    tiny = ApproxDP(1, 1e-20)
    rule = partition_selection(tiny)
    groups = Coin(rule)
    rng = np.random.default_rng()

    def float32(people: int, n: int) -> Any:
        """A coin that compares a single-precision number with the probability of keeping a group."""
        return rng.random(n, dtype=np.float32) < np.float32(rule.yes(people - 1)) if people else np.zeros(n, dtype=bool)

    truth = dp.m.make_randomized_response_bool(prob=math.e / (1 + math.e))
    laplace = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)
    binary = Binary(epsilon=1.0, value0="no", value1="yes")
    cases: dict[str, tuple[Any, Any, Any, ApproxDP, int]] = {
        "Duotone, balanced": (lambda level, n: coin.answers(np.full(n, level)), 0, -1, claim, 10**8),
        "Duotone, balanced, small δ": (lambda level, n: exact.answers(np.full(n, level)), 0, -1, ApproxDP(1, "1e-6"), 10**8),
        "Duotone, one-person group": (lambda people, n: groups.answers(np.full(n, people - 1)), 1, 0, tiny, 10**8),
        "the introduction's off-by-one": (
            lambda level, n: coin.answers(np.full(n, level + 1 if level >= 0 else level - 1)), 0, -1, claim, 10**6,
        ),
        "float32 coin, one-person group": (float32, 1, 0, tiny, 4 * 10**9),
        "OpenDP randomised response": (one_by_one(truth), True, False, unit, 2 * 10**6),
        "OpenDP Laplace on a count, compared": (one_by_one(lambda count: laplace(count) >= 50), 50, 49, unit, 10**6),
        "diffprivlib Binary": (one_by_one(lambda v: binary.randomise(v) == "yes"), "yes", "no", unit, 10**7),
    }  # fmt: skip
    table = Coin(partition_selection(ApproxDP(1, "1e-6"))).table
    short = Coin(replace(table, entries=((0, 2**table.bits),) * 2 + table.entries[2:]))  # no group of one person is shown
    margins: dict[str, tuple[Any, Any, Any, ApproxDP, int]] = {
        "Duotone, margins": (lambda level, n: coin.margins(np.full(n, level)), 0, -1, claim, 10**8),
        "Duotone, margins, small δ": (lambda level, n: exact.margins(np.full(n, level)), 0, -1, ApproxDP(1, "1e-6"), 10**8),
        "noise one entry too short": (lambda level, n: short.margins(np.full(n, level)), 27, 26, ApproxDP(1, "1e-6"), 10**8),
    }
    print("| black box | claimed ε, δ | draws a side | ε at least (99.9 %) | claim | time |")
    print("| --- | --- | --- | --- | --- | --- |")
    for i, (name, (answers, left, right, claimed, draws)) in enumerate((cases | margins).items()):
        start = time.perf_counter()
        audit = (audit_margins if name in margins else audit_answers)(
            answers, left, right, claimed, draws=draws // fewer, confidence=SURE
        )
        report(name, audit, time.perf_counter() - start)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            plotting.save(plotting.audit_bound(audit), folder / f"audit-{i + 1}.png")


if __name__ == "__main__":
    folders = [Path(word) for word in sys.argv[1:] if word != "--quick"]
    main(folders[0] if folders else None, 1000 if "--quick" in sys.argv else 1)
