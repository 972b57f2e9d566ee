"""A thousand different questions about one table of 10^5 people, at ε = 1, δ = 10^−6 in all: how many are answered, and how
many of these are wrong, by five ways of spending the same budget.

    python benchmarks/close_calls.py [--draw FILE.svg]
    python benchmarks/close_calls.py --levels [ROWS]

The second measures what it costs to gather the levels that a question at ε = 0.02 needs, beside those at ε = 1, δ = 10^−6.

- close calls: each question at ε = 0.02, asked through a ledger in a file; only "too close to call" is charged.
- one Rényi order: each question at the thousandth root of an account renyi, asked through a ledger in a file.
- sum: answers at ε = 0.02 whose ε and δ add up; the ledger admits a number of them, and then no more.
- noise: OpenDP's discrete Gaussian on what is compared, then compared with the limit; all thousand questions are known
  beforehand and share the budget by OpenDP's own accounting (zero-concentrated privacy, then (ε, δ)).
- sparse vector technique with its textbook constants (Dwork and Roth 2014, algorithm 2, for δ > 0): "below" is free, and each
  "above" is charged, for as many of these as there are close calls.

The table is made up, with a fixed seed: patients with ages, days, costs and one of twelve wards. Limits are drawn around what
is true: by up to half of it either way.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import measure
import numpy as np

import tables
from duotone import ApproxDP, OverBudget, balanced, open_ledger, prepare
from duotone.ledger.capacity import Capacity
from duotone.ledger.registration import Registered
from duotone.line.table import Outcome
from duotone.line.three_way import ThreeWay, clear_from, three_way_table
from duotone.release.coin import Coin

BUDGET, EACH = ApproxDP(1, "1e-6"), ApproxDP("0.02")
PEOPLE, QUESTIONS = 100_000, 1_000
COST = 0, 20_000
OUTCOMES = "right", "wrong", "too close to call", "not answered"


@dataclass(frozen=True)
class Question:
    """A question, and how much its total is above the limit, in units of what one person can change."""

    text: str
    surplus: float
    bounds: dict[str, tuple[int, int]]

    @property
    def yes(self) -> bool:
        """The true answer."""
        return self.surplus > 0


def make(file: Path) -> None:
    random = np.random.default_rng(18)
    columns = {
        "id": np.arange(PEOPLE),
        "age": np.clip(random.normal(55, 20, PEOPLE), 0, 105).astype(int),
        "days": np.minimum(random.geometric(0.18, PEOPLE), 90),
        "cost": np.clip(random.lognormal(8, 0.7, PEOPLE), *COST).astype(int),
        "ward": random.integers(0, 12, PEOPLE),
    }
    duckdb.from_arrow(_arrow(columns)).write_parquet(str(file))


def _arrow(columns: dict[str, Any]) -> Any:
    import pyarrow as pa

    return pa.table(columns)


def questions(file: Path) -> list[Question]:
    random, made, seen = np.random.default_rng(19), list[Question](), set[str]()
    while len(made) < QUESTIONS:
        ward, age, days = (int(random.integers(*limits)) for limits in ((0, 12), (20, 90), (2, 15)))
        group = [f"ward = {ward}", f"age >= {age}", f"days >= {days}", f"ward = {ward} and age >= {age}"][random.integers(4)]
        factor = 1 + random.uniform(-0.5, 0.5)
        if random.integers(2):
            (true,) = duckdb.execute(f"select count(*) from '{file}' where {group}").fetchone() or (0,)
            limit = round(true * factor)
            question = Question(f"count(*) filter (where {group}) > {limit}", true - limit, {})
        else:
            low, high = COST
            total, n = duckdb.execute(f"select sum(cost), count(*) from '{file}' where {group}").fetchone() or (0, 0)
            if not n:
                continue
            limit = round(float(total) / n * factor)
            text = f"avg(cost) filter (where {group}) > {limit}"
            question = Question(text, (float(total) - n * limit) / max(high - limit, limit - low), {"cost": COST})
        if question.text not in seen and question.surplus:
            seen.add(question.text)
            made.append(question)
    return made


def by_ledger(
    asked: list[Question], file: Path, folder: Path, terms: Callable[[Registered], Any], **registered: Any
) -> tuple[Counter[str], Registered, list[int]]:
    """Outcomes, the dataset as it was registered, and the questions' levels."""
    counted, levels = Counter[str](), []
    about: Any = {"unit": "row", "neighbours": "add-remove", "version": "1"}
    with tempfile.TemporaryDirectory(dir=folder) as name, open_ledger(Path(name) / "budget.ledger") as ledger:
        dataset = ledger.register("patients", BUDGET, **about, **registered)
        each = terms(dataset)
        for question in asked:
            with prepare(file, question.text, each, bounds=question.bounds) as prepared:
                levels.append(int(prepared._levels()[2][0]))
                try:
                    outcome = prepared.charge(ledger, "patients").answer
                except OverBudget:
                    counted["not answered"] += 1
                    continue
            counted["too close to call" if outcome is Outcome.TOO_CLOSE else _judged(bool(outcome), question)] += 1
        if not ledger.verify().holds:
            raise SystemExit("the ledger does not verify")
    return counted, dataset, levels


def by_sum(asked: list[Question], levels: list[int]) -> tuple[Counter[str], int]:
    each = ApproxDP(EACH.epsilon_exact, "1e-12")
    most = Capacity(BUDGET, each).answers["sum"]
    coin, counted = Coin(balanced(each)), Counter[str]()
    for question, level in list(zip(asked, levels, strict=True))[:most]:
        counted[_judged(coin.answer(level).answer, question)] += 1
    counted["not answered"] = len(asked) - most
    return counted, most


def by_noise(asked: list[Question]) -> tuple[Counter[str], float]:
    """All questions are counts or sums of integers, in units of one person: the noise of each, by OpenDP's
    accounting."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    unit = 2**10

    def composed(scale: float) -> float:
        noise = dp.m.make_gaussian(*space, scale=scale)
        many = dp.c.make_composition([noise] * QUESTIONS)
        return float(dp.c.make_zCDP_to_approxDP(many).map(unit).epsilon(delta=float(BUDGET.delta)))

    low, high = 1.0 * unit, 10_000.0 * unit
    while high / low > 1.0001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if composed(middle) <= float(BUDGET.epsilon) else (middle, high)
    noise = dp.m.make_gaussian(*space, scale=high)
    counted = Counter(_judged(noise(round(q.surplus * unit)) > 0, q) for q in asked)
    return counted, high / unit


def by_sparse_vector(asked: list[Question], most: int) -> tuple[Counter[str], float]:
    """Dwork and Roth, algorithm 2 ("Sparse") for δ > 0."""
    random = np.random.default_rng(20)
    sigma = math.sqrt(32 * most * math.log(1 / float(BUDGET.delta))) / float(BUDGET.epsilon)
    counted, charged = Counter[str](), 0
    threshold = random.laplace(0, sigma)
    for question in asked:
        if charged == most:
            counted["not answered"] += 1
            continue
        above = question.surplus + random.laplace(0, 2 * sigma) >= threshold
        if above:
            charged += 1
            threshold = random.laplace(0, sigma)
        counted[_judged(bool(above), question)] += 1
    return counted, sigma


def geometric_margins(calls: int, wrong: float) -> tuple[float, int, int]:
    """Geometric noise on the level, and too close to call within a band: the largest ε per question that one attack
    allows with this many close calls (asking one question again and again, at the worst distance), half the band for
    this probability of a wrong answer at the boundary, and the number of people from which an answer is clear and right
    with 99.9 %."""
    low, high = 0.001, 0.05
    while high / low > 1.005:
        middle = math.sqrt(low * high)
        fits = _geometric_attack(middle, _band(middle, wrong), calls) <= float(BUDGET.delta)
        low, high = (middle, high) if fits else (low, middle)
    band = _band(low, wrong)
    return low, band, next(m for m in range(1, 10**5) if _geometric(low, band, m - 1)[0] >= 0.999)


def _band(epsilon: float, wrong: float) -> int:
    return max(1, math.ceil(-math.log(wrong * (1 + math.exp(-epsilon))) / epsilon))


def _geometric(epsilon: float, band: int, level: int) -> tuple[float, float]:
    """Pr[yes] and Pr[too close to call] at a level of 0 or more."""

    def tail(k: int) -> float:
        return math.exp(-epsilon * k) / (1 + math.exp(-epsilon)) if k >= 1 else 1 - tail(1 - k)

    yes, no = tail(band - level), tail(band + 1 + level)
    return yes, 1 - yes - no


def _geometric_attack(epsilon: float, band: int, calls: int) -> float:
    """The gain from how many answers are clear before the last close call, at the worst of some distances."""
    from scipy.stats import nbinom

    worst = 0.0
    for level in range(0, band + 40, max(1, band // 60)):
        for one, other in ((level, level + 1), (level + 1, level)):
            p, q = _geometric(epsilon, band, one)[1], _geometric(epsilon, band, other)[1]
            clear = np.arange(int(1.2 * nbinom.ppf(1 - 1e-13, calls, min(p, q))) + 10)
            learnt = nbinom.pmf(clear, calls, p) - math.exp(float(BUDGET.epsilon)) * nbinom.pmf(clear, calls, q)
            worst = max(worst, float(np.maximum(learnt, 0).sum()))
    return worst


def sparse_vector_margin(calls: int) -> int:
    """The number of people from which the sparse vector technique, with its textbook constants, is right with 99.9
    %."""
    sigma = math.sqrt(32 * calls * math.log(1 / float(BUDGET.delta))) / float(BUDGET.epsilon)
    # Laplace noise of scales σ and 2σ: Pr[sum > m] = (2/3)·e^(−m/2σ) − (1/6)·e^(−m/σ)
    return next(m for m in range(10**6) if 2 / 3 * math.exp(-m / (2 * sigma)) - math.exp(-m / sigma) / 6 <= 0.001)


def margins(calls: int) -> None:
    """The distance from which answers are clear, for three ways with the same number of close calls."""
    table = three_way_table(ThreeWay(EACH))
    print(f"\nclear and right with 99.9 %, {calls} close calls, from how many people on")
    print(f"  one clock, wrong with 1e-9 at most: {clear_from(table, '1e-3')}")
    for wrong in (1e-2, 1e-3, 1e-9):
        epsilon, band, clear = geometric_margins(calls, wrong)
        print(f"  geometric noise at ε = {epsilon:.4f}, band ±{band}, wrong with {wrong:g} at the boundary: {clear}")
    print(f"  sparse vector, textbook constants: {sparse_vector_margin(calls)}")


def _judged(answer: bool, question: Question) -> str:
    return "right" if answer == question.yes else "wrong"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "patients.parquet"
        make(file)
        asked = questions(file)
        close, called, levels = by_ledger(asked, file, folder, lambda _: ThreeWay(EACH), close_calls=ThreeWay(EACH))
        most = 0 if called.close_calls is None else called.close_calls.count
        share = Fraction(1, QUESTIONS)
        renyi, _, _ = by_ledger(asked, file, folder, lambda it: it.account.part(share), account="renyi", answers=QUESTIONS)
        definite, admitted = by_sum(asked, levels)
        noise, scale = by_noise(asked)
        sparse, sigma = by_sparse_vector(asked, most)
    ways = {
        "account renyi, each a thousandth": renyi,
        f"close calls, {most} of them": close,
        f"account sum, {admitted} answers": definite,
        f"noise of {scale:.0f} people, then compare": noise,
        f"sparse vector, noise of {2 * math.sqrt(2) * sigma:.0f} people, {most} above": sparse,
    }
    print(measure.machine())
    print(f"{QUESTIONS} questions, {sum(q.yes for q in asked)} of them yes, about {PEOPLE} people; {BUDGET} in all\n")
    print("| way | " + " | ".join(OUTCOMES) + " |\n| --- |" + " --- |" * len(OUTCOMES))
    for way, counted in ways.items():
        print(f"| {way} | " + " | ".join(str(counted[outcome]) for outcome in OUTCOMES) + " |")
    margins(most)
    if sys.argv[1:2] == ["--draw"]:
        _draw(ways, Path(sys.argv[2]))


def gather_levels(rows: int) -> None:
    """The time of both, on the table of `tables.py`, in turns."""
    income, salary, region = {"income": (10_000, 150_000)}, {"salary": (10_000, 150_000)}, {"groups": list(range(21))}
    cases: list[tuple[str, dict[str, Any]]] = [
        ("count(*) filter (where salary > 20000) > 1000", {}),
        ("avg(salary) > 50000", {"bounds": salary}),
        ("avg(income) > 50000", {"bounds": income}),
        ("sum(salary) > 10000000", {"bounds": salary}),
        ("median(salary) > 40000", {}),
        ("select region, avg(salary) > 50000 group by region", {"bounds": salary, **region}),
    ]
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "staff.parquet"
        tables.make(file, rows)
        for text, options in cases:
            usual = prepare(file, text, BUDGET, **options)
            close = prepare(file, text, ThreeWay(EACH), **options)
            first, second = measure.in_turns([usual._levels, close._levels], 6)
            print(f"{text:52} {first:.3f} s  {second:.3f} s  ×{second / first:.2f}", flush=True)


def _draw(ways: dict[str, Counter[str]], path: Path) -> None:
    from matplotlib.figure import Figure

    from duotone import plotting

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    ax = figure.subplots()
    left = np.zeros(len(ways))
    colours = plotting.BLUE, plotting.RED, plotting.INK, plotting.FAINT
    for outcome, colour in zip(OUTCOMES, colours, strict=True):
        widths = np.array([counted[outcome] for counted in ways.values()])
        ax.barh(list(ways), widths, left=left, color=colour, label=outcome, height=0.6)
        left += widths
    ax.invert_yaxis()
    ax.set_xlabel(f"of {QUESTIONS:,} questions about {PEOPLE:,} people, at ε = 1, δ = 10⁻⁶ in all")
    ax.legend(frameon=False, fontsize=8, ncols=4, loc="lower left", bbox_to_anchor=(0, 1))
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    plotting.save(figure, path)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--levels"]:
        gather_levels(int(float(sys.argv[2])) if len(sys.argv) > 2 else 10**7)
    else:
        main()
