"""The paper, recomputed: every number in its text beside ours, and every figure drawn again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from duotone import plotting
from duotone.errors import DuotoneError, Infeasible
from duotone.graphs import families
from duotone.graphs.graph import ColouredGraph
from duotone.graphs.mechanism import Mechanism
from duotone.graphs.morphism import boundary_morphism, line_of
from duotone.graphs.optimum import design
from duotone.line.mechanism import balanced, with_boundary
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Number, show

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Claim:
    """A statement of the paper and what Duotone computes. Numbers with four decimals agree to 10^-4, others exactly."""

    place: str
    what: str
    claimed: str
    computed: str
    agrees: bool


def claims() -> Iterator[Claim]:
    """Every number in the paper's text."""
    yield from _example_1()
    yield from _topology()
    yield from _unequal()
    yield from _lines()
    yield from _homogeneous()
    yield from _voting()


def figures(folder: Path) -> Iterator[Path]:
    """Write every figure of the paper, and the two that its results suggest, as SVG and PNG."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DuotoneError(f"cannot write to {folder}: {error.strerror}") from None
    cube: dict[Hashable, tuple[float, float]] = {
        "111": (1, 1), "211": (3, 1), "112": (1, 3), "212": (3, 3),
        "121": (2, 2), "221": (4, 2), "122": (2, 4), "222": (4, 4),
    }  # fmt: skip
    joins = {(1,): (1, 1), (2,): (3, 1), (3,): (5, 1), (1, 2): (1, 3), (1, 3): (3, 3), (2, 3): (5, 3), (1, 2, 3): (3, 5)}
    loose, tight = ApproxDP(exp_epsilon=2, delta="1/10"), ApproxDP(exp_epsilon="1.3", delta="1/10")
    fig_2 = families.figure_2()
    pictures: dict[str, Callable[[], Figure]] = {
        "figure-1a": lambda: plotting.graph(families.votes(3).graph(), cube),
        "figure-1b": lambda: plotting.graph(families.turnout(2, 1).graph(), {frozenset(k): v for k, v in joins.items()}),
        "figure-1c": lambda: plotting.graph(families.line(2, 2).graph(), {i: (i, 0) for i in range(1, 5)}),
        "figure-2": lambda: plotting.boundary_graph(fig_2, families.FIGURE_2_POSITIONS),
        "figure-2-mechanism": lambda: plotting.graph(
            design(fig_2, loose, {"h": "0.6", "l": "0.7"}), families.FIGURE_2_POSITIONS
        ),
        "figure-3": lambda: plotting.line_phases(with_boundary(tight, "1/50"), 12, 4),
        "error-by-distance": lambda: plotting.error_by_distance([ApproxDP(e, "1e-6") for e in ("0.5", "1", "2")] + [loose]),
        "trade-off": lambda: plotting.tradeoff_curve([tight, loose, ApproxDP(1, "1e-6")]),
    }
    for name, picture in pictures.items():
        for ending in ("svg", "png"):
            yield plotting.save(picture(), folder / f"{name}.{ending}")


def _claim(place: str, what: str, claimed: str, computed: Number) -> Claim:
    tolerance = Fraction(1, 10_000) if "." in claimed and len(claimed.split(".")[1]) == 4 else 0
    agrees = abs(Fraction(claimed) - Fraction(computed)) <= tolerance
    return Claim(place, what, claimed, show(computed), agrees)


def _statement(place: str, what: str, claimed: object, computed: object) -> Claim:
    return Claim(place, what, str(claimed), str(computed), claimed == computed)


def _values(place: str, symbol: str, expected: Mapping[str, str], computed: Mapping[Hashable, Number]) -> Iterator[Claim]:
    for claimed, datasets in expected.items():
        for d in datasets.split():
            yield _claim(place, f"{symbol}_{d}", claimed, computed[d])


def _example_1() -> Iterator[Claim]:
    edge = ColouredGraph([(1, 2)], {1: "blue", 2: "red"})
    first = Mechanism.from_yes(edge, {1: "0.58", 2: "0.24"})
    second = Mechanism.from_yes(edge, {1: "0.64", 2: "0.27"})
    privacy = ApproxDP(exp_epsilon=2, delta="0.1")
    for name, m in (("M₁", first), ("M₂", second)):
        yield _statement("Example 1", f"{name} is (log 2, 0.1)-private", True, m.check(privacy).holds)
    yield _statement("Example 1", "M₁ dominates M₂", False, first.dominates(second))
    yield _statement("Example 1", "M₂ dominates M₁", False, second.dominates(first))


def _topology() -> Iterator[Claim]:
    g = families.figure_2()
    yield _statement("Section III", "B of Fig. 2", "a b c g h k l", " ".join(map(str, g.coloured("blue"))))
    yield _statement("Section III", "interior of B", "a b c g k", " ".join(map(str, g.interior("blue"))))
    yield _statement("Section III", "boundary of B", "h l", " ".join(map(str, g.boundary("blue"))))
    lines = {"Fig. 1(a)": families.votes(3).graph(), "Fig. 1(b)": families.turnout(2, 1).graph()}
    for name, graph in lines.items():
        yield _statement("Definition 9", f"boundary graph of {name}", (2, 2), line_of(graph))
    yield _statement("Definition 9", "boundary graph of Fig. 2", (3, 4), line_of(g))
    votes = boundary_morphism(families.votes(3).graph())
    parts = "; ".join(" ".join(str(d) for d in votes.map if votes.map[d] == node) for node in (1, 2, 3, 4))
    yield _statement("Example 3", "g⁻¹ of d₁; d₂; d₃; d₄", "111; 112 121 211; 122 212 221; 222", parts)
    n = 10
    yield _statement("Introduction", f"datasets of {2 * n + 1} voters on the line", 2 * (n + 1), sum(
        line_of(families.line(n + 1, n + 1).graph())))  # fmt: skip


def _unequal() -> Iterator[Claim]:
    graph, boundary = families.figure_2(), {"h": "0.6", "l": "0.7"}
    m = design(graph, ApproxDP(exp_epsilon=2, delta="0.1"), boundary)
    yield from _values("Theorem 2", "B", {"1": "a b", "0.9": "g k", "0.85": "c"}, m.yes)
    yield from _values("Theorem 2", "R", {"0.7": "q", "0.75": "i n", "0.9": "m", "0.925": "d o", "1": "e f j p r"}, m.no)
    try:
        design(graph, ApproxDP(exp_epsilon="1.1"), boundary)
        path = "feasible"
    except Infeasible as clash:
        path = f"none: {'–'.join(map(str, clash.path))}"
    yield _statement("Theorem 2", "(log 1.1, 0)-private mechanism with these values", "none: h–n–q–l", path)


def _lines() -> Iterator[Claim]:
    privacy = ApproxDP(exp_epsilon="1.3", delta="0.1")
    yield _claim("Example 4", "τ", "1", Fraction(privacy.transition("0.2")))
    m = with_boundary(privacy, "0.2")
    for node, claimed in {3: "0.64", 2: "0.432", 1: "0.2553"}.items():
        yield _claim("Example 4", f"R_{node}", claimed, m.error(4 - node))
    for node, claimed in {5: "1/13", 6: "0", 7: "0"}.items():
        yield _claim("Example 4, dual", f"B_{node}", claimed, m.yes(4 - node))


def _homogeneous() -> Iterator[Claim]:
    m = design(families.figure_2(), ApproxDP(exp_epsilon="1.3", delta="0.1"), "12/13")
    expected = {"0": "a b c g k", "0.2": "i n q", "0.36": "d o m", "0.568": "j p r", "0.7447": "e f"}
    yield from _values("Theorem 5", "R", expected, m.no)


def _voting() -> Iterator[Claim]:
    privacy = ApproxDP(exp_epsilon=2, delta="0.1")
    m = design(families.votes(3).graph(), privacy)
    expected = {"0.1": "111", "0.3": "211 121 112", "0.7": "122 212 221", "0.9": "222"}
    yield from _values("Corollary 2", "R", expected, m.no)
    for distance, claimed in enumerate(("0.3", "0.1", "0")):
        yield _claim("Summary of results", f"P_e at distance {distance}", claimed, balanced(privacy).error(distance))
