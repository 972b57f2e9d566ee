"""Random inputs."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from duotone import ApproxDP, ColouredGraph
from duotone.privacy.renyi import RenyiDP

probabilities = st.fractions(0, 1, max_denominator=60)
ratios = st.one_of(st.just(Fraction(1)), st.fractions(1, 20, max_denominator=40))
deltas = st.one_of(st.just(Fraction(0)), st.fractions(0, Fraction(9, 10), max_denominator=50))
exact_budgets = st.builds(lambda r, d: ApproxDP(exp_epsilon=r, delta=d), ratios, deltas)
float_budgets = st.builds(
    ApproxDP,
    st.one_of(st.just(0.0), st.floats(1e-12, 20), st.floats(0, 700), st.sampled_from([5e-324, 1e-300, 1e-20, 1e308])),
    st.one_of(st.just(0.0), st.floats(0, 0.5), st.sampled_from([5e-324, 1e-200, 1e-20, 1e-6, 0.999999])),
)
orders = st.one_of(st.sampled_from([2, 3, 20]), st.integers(2, 40))
prices = st.one_of(st.just(Fraction(1)), st.fractions(1, Fraction(11, 10)), st.fractions(1, 40), st.integers(1, 10**9))
renyi_budgets = st.builds(RenyiDP, orders, prices, st.one_of(st.just(Fraction(0)), st.just(Fraction(1, 10**7)), deltas))


@st.composite
def coloured_graphs(draw: st.DrawFn, most: int = 9) -> ColouredGraph:
    """Any coloured graph: several components, one colour and isolated nodes included."""
    n = draw(st.integers(1, most))
    blue = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    pairs = [(i, j) for i in range(n) for j in range(i)]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=2 * n)) if pairs else []
    return ColouredGraph(edges, {i: "blue" if b else "red" for i, b in enumerate(blue)})
