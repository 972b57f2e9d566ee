"""From how many people on n answers that share (1, 10^-6) are wrong with at most 10^-3 and 10^-9: by a ledger's accounts, and
by noise that other libraries add to a count before it is compared with the limit.

    python benchmarks/many_answers/compare.py [LIBRARY=PYTHON …] [--draw FILE.svg]

A library (opendp, tumult, dp_accounting) is asked through the Python of an environment that has it; without one it is left
out. All noise is whole and wrong if it is as large as the number of people, as for a count.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import measure  # noqa: E402

from duotone import ApproxDP, balanced, open_ledger  # noqa: E402
from duotone.ledger.close_calls import most_close_calls  # noqa: E402
from duotone.line.table import line_table  # noqa: E402
from duotone.line.three_way import ThreeWay, clear_from, three_way_table  # noqa: E402
from duotone.model.checks import AccountName  # noqa: E402
from duotone.privacy.text import Definition  # noqa: E402

BUDGET = ApproxDP(1, "1e-6")
COUNTS = 10, 100, 1_000, 10_000
WRONG = Fraction(1, 10**3), Fraction(1, 10**9)
CURVE = [round(10 ** (place / 8)) for place in range(41)]
"""Numbers of answers, from 1 to 10^5, that a curve has."""
QUESTIONS = "0.02", "0.01"
"""Of close calls: ε of a question."""


def share(account: AccountName, answers: int) -> Definition:
    """What one of so many equal answers may cost, by a ledger that was registered for them."""
    with tempfile.TemporaryDirectory() as folder, open_ledger(Path(folder) / "ledger") as ledger:
        expected: Any = {"answers": answers} if account == "renyi" else {}
        ledger.register("d", BUDGET, unit="person", neighbours="add-remove", version="1", account=account, **expected)
        return ledger.stands("d").registered.account.part(Fraction(1, answers))


def people(privacy: Definition, wrong: Fraction) -> int:
    """From how many people on an answer is wrong with at most this probability, by the integers of its table."""
    table = line_table(balanced(privacy))
    return next(place for place, truth in enumerate(table.blue, 1) if 2**table.bits - truth <= wrong * 2**table.bits)


def people_of_noise(kind: str, scale: float, wrong: Fraction) -> int:
    """The same for whole noise whose weights fall like those of a Gaussian or of a Laplace distribution."""
    most = math.ceil(60 * scale) + 10
    if kind == "gaussian":
        weights = [math.exp(-((place / scale) ** 2) / 2) for place in range(most)]
    else:
        weights = [math.exp(-place / scale) for place in range(most)]
    limit, tail = float(wrong) * (2 * math.fsum(weights) - weights[0]), 0.0
    for place in range(most - 1, -1, -1):
        tail += weights[place]
        if tail > limit:
            return place + 1
    raise AssertionError("the noise has no tail")


def peers(pythons: dict[str, str]) -> dict[str, Any]:
    """By name, the kind of a library's noise and its scale for each number of answers."""
    found: dict[str, Any] = {}
    for library, python in pythons.items():
        script = HERE / f"{library}_noise.py"
        done = subprocess.run([python, script], capture_output=True, text=True, check=True)
        found |= json.loads(done.stdout.splitlines()[-1])
    return found


def draw(found: dict[str, Any], path: Path) -> None:
    """People for 99.9 % by the number of answers."""
    from matplotlib.figure import Figure

    from duotone import plotting

    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    ax = figure.subplots()
    sums = [people(share("sum", n), WRONG[0]) for n in CURVE if n <= 1000]
    ax.plot(CURVE[: len(sums)], sums, color=plotting.RED, lw=1.8, label="account sum")
    ax.plot(CURVE, [people(share("renyi", n), WRONG[0]) for n in CURVE], color=plotting.BLUE, lw=1.8, label="account renyi")
    for epsilon in QUESTIONS:
        asked = ThreeWay(ApproxDP(epsilon))
        calls, clear = most_close_calls(BUDGET, asked).count, clear_from(three_way_table(asked), WRONG[0]) or 0
        label = "close calls: clear answers are free" if epsilon == QUESTIONS[0] else None
        ax.axhline(clear, color=plotting.BLUE, lw=1.2, ls="--", label=label)
        ax.annotate(f"{calls} close calls", (1, clear), (2, 3), textcoords="offset points", fontsize=8)
    for (name, (kind, scales)), dashes in zip(found.items(), ("-", ":", "--", "-."), strict=False):
        if kind == "gaussian":
            needed = [people_of_noise(kind, scale, WRONG[0]) for scale in scales.values()]
            ax.plot([int(n) for n in scales], needed, color=plotting.INK, lw=1, ls=dashes, marker="s", ms=3, label=name)
    ax.set(xscale="log", yscale="log", xlabel="answers that share ε = 1, δ = 10⁻⁶")
    ax.set_ylabel("people from which an answer\nis right with 99.9 %")
    ax.legend(frameon=False, fontsize=8)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    plotting.save(figure, path)


def main() -> None:
    """Print a row for each way, and draw the curves."""
    arguments = sys.argv[1:]
    picture = Path(arguments.pop(at + 1)) if "--draw" in arguments and (at := arguments.index("--draw")) >= 0 else None
    found = peers(dict(argument.split("=", 1) for argument in arguments if "=" in argument))
    print(measure.machine())
    print("| way | " + " | ".join(f"{n:,}" for n in COUNTS) + " |\n| --- |" + " --- |" * len(COUNTS))
    accounts: tuple[AccountName, ...] = "sum", "renyi"
    for account in accounts:
        cells = ["/".join(f"{people(share(account, n), wrong):,}" for wrong in WRONG) for n in COUNTS]
        print(f"| account {account} | " + " | ".join(cells) + " |", flush=True)
    for name, (kind, scales) in found.items():
        known = [scales.get(str(n)) for n in COUNTS]
        cells = ["/".join(f"{people_of_noise(kind, each, wrong):,}" for wrong in WRONG) if each else "–" for each in known]
        print(f"| {name} | " + " | ".join(cells) + " |")
    if picture is not None:
        draw(found, picture)


if __name__ == "__main__":
    main()
