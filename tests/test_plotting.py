from __future__ import annotations

import dataclasses
import itertools
import math
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb
from matplotlib.dates import num2date
from matplotlib.figure import Figure

from duotone import ApproxDP, Charge, ColouredGraph, DuotoneError, Mechanism, balanced, design, plotting, prepare, with_boundary
from duotone.errors import MissingExtra
from duotone.graphs import families
from duotone.graphs.sweep import sweep
from duotone.ledger.capacity import capacities
from duotone.ledger.ledger import Ledger
from duotone.ledger.stores import open_store
from duotone.line.which import Which
from duotone.plotting.figures import figure_class
from duotone.plotting.graphs import columns_by_level
from duotone.words.sentences import brief

PRIVACY = ApproxDP(exp_epsilon=2, delta="1/10")


def texts(figure: object) -> str:
    return " ".join(t.get_text() for t in figure.findobj(lambda a: hasattr(a, "get_text")))  # type: ignore[attr-defined]


@pytest.mark.slow
def test_graph_names_and_probabilities(tmp_path: Path) -> None:
    mechanism = design(families.votes(3).graph(), PRIVACY)
    assert "111: 0.9" in texts(plotting.graph(mechanism))
    assert "Pr[truth]" not in texts(plotting.graph(mechanism.graph))
    first = plotting.save(plotting.graph(mechanism), tmp_path / "a.svg").read_bytes()
    assert first == plotting.save(plotting.graph(mechanism), tmp_path / "b.svg").read_bytes()
    assert plotting.save(plotting.graph(mechanism), tmp_path / "a.png").stat().st_size > 5000


def test_datasets_stand_in_columns_by_level() -> None:
    graph = ColouredGraph([(1, 2), (3, 4), (3, 5)], {1: "red", 2: "red", 3: "blue", 4: "blue", 5: "red"})
    where = columns_by_level(graph)
    assert set(where) == set(graph.names)
    assert len(set(where.values())) == 5
    assert where[4][0] < where[3][0] < where[5][0] < min(where[1][0], where[2][0])
    assert where == columns_by_level(graph)


PICTURED = {
    "figure 2": (families.figure_2(), families.FIGURE_2_POSITIONS),
    "figure 2 by level": (families.figure_2(), None),
    "path": (families.line(5, 4).graph(), None),
    "cycle": (ColouredGraph.from_networkx(nx.cycle_graph(9), lambda d: d < 4), None),
    "cube": (families.votes(3).graph(), None),
    "grid": (ColouredGraph.from_networkx(nx.grid_2d_graph(4, 5), lambda d: d[0] * d[1] >= 4), None),
    "names": (ColouredGraph([("a long name", "$x_$"), ("$x_$", "two\nlines")], lambda d: d == "$x_$"), None),
}


@pytest.mark.parametrize("name", PICTURED)
def test_labels_stand_off_edges_nodes_and_each_other(name: str) -> None:
    """As matplotlib draws them: the box of every label against every edge, every disc and every other label."""
    graph, where = PICTURED[name]
    figure = plotting.graph(design(graph, PRIVACY), where)
    figure.canvas.draw()
    ax = figure.axes[0]
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == len(graph)
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    places: Any = where or columns_by_level(graph)
    nodes = {d: ax.transData.transform(places[d]) for d in graph}
    radius = 200**0.5 / 2 * figure.dpi / 72
    for box in boxes:
        assert not any(
            box.x0 < x + radius and x - radius < box.x1 and box.y0 < y + radius and y - radius < box.y1
            for x, y in nodes.values()
        )
        for a, b in graph.edges:
            assert not box.count_contains(np.linspace(nodes[a], nodes[b], 500))


def test_an_edge_passes_no_third_dataset_by_itself() -> None:
    """Random graphs of twelve datasets: every edge is visible beside every other dataset, and no two stand together."""
    for seed in range(12):
        graph = ColouredGraph.from_networkx(nx.gnp_random_graph(12, 0.3, seed=seed), lambda d: d % 3 == 0)
        where = {d: np.array(place) for d, place in columns_by_level(graph).items()}
        assert min(np.hypot(*(where[a] - where[b])) for a, b in itertools.combinations(graph, 2)) > 0.5
        for a, b in graph.edges:
            for c in set(graph) - {a, b}:
                along = where[b] - where[a]
                share = np.clip((where[c] - where[a]) @ along / (along @ along), 0, 1)
                assert np.hypot(*(where[a] + share * along - where[c])) > 0.03, (seed, a, b, c)


def test_red_is_red_and_blue_is_blue() -> None:
    for colour, own in ((plotting.RED, 0), (plotting.BLUE, 2)):
        rgb = to_rgb(colour)
        assert rgb[own] > 1.5 * max(x for i, x in enumerate(rgb) if i != own)
    figure = plotting.graph(design(families.figure_2(), PRIVACY), families.FIGURE_2_POSITIONS)
    shapes: dict[Any, set[int]] = {}
    for drawn in (c for c in figure.axes[0].collections if isinstance(c, PathCollection)):
        for face in np.asarray(drawn.get_facecolor())[:1]:
            shapes.setdefault(tuple(face[:3]), set()).add(len(np.asarray(drawn.get_paths()[0].vertices)))
    assert len(shapes[to_rgb(plotting.RED)] | shapes[to_rgb(plotting.BLUE)]) == 2  # squares and discs, without colour too


def test_boundary_ring_is_drawn_per_boundary_dataset() -> None:
    figure = plotting.graph(families.figure_2(), families.FIGURE_2_POSITIONS)
    drawn: list[Any] = [
        c for c in figure.axes[0].collections if isinstance(c, PathCollection) and len(np.asarray(c.get_offsets())) == 1
    ]
    rings = [c for c in drawn if len(c.get_facecolor()) == 0]
    assert len(rings) == 5  # h, l and i, n, q


def test_boundary_graph_lists_who_is_where() -> None:
    assert "c\ng\nk" in texts(plotting.boundary_graph(families.figure_2(), families.FIGURE_2_POSITIONS))


def test_line_phases() -> None:
    shown = texts(plotting.line_phases(with_boundary(PRIVACY, "1/100"), 6, 2))
    assert "initial" in shown
    assert "terminal" in shown
    assert "initial" not in texts(plotting.line_phases(balanced(PRIVACY), 6, 30))


def test_error_and_tradeoff() -> None:
    figure = plotting.error_by_distance([PRIVACY, ApproxDP(1, 1e-6), ApproxDP(1, 0)])
    assert "never wrong from 15 on" in texts(figure)  # people from flipping, as in the table of `duotone ask`
    drawn = figure.axes[0].lines[0]
    assert list(drawn.get_xdata()) == [1, 2]  # type: ignore[arg-type]
    assert list(drawn.get_ydata()) == pytest.approx([0.3, 0.1])  # type: ignore[arg-type]
    assert "e^ε = 2, δ = 0.1" in texts(figure)
    chosen = plotting.error_by_distance([Which(ApproxDP(1, 1e-6), 10), Which(ApproxDP(1), 3, ordered=True)])
    assert "which of 10; never wrong from 16 on" in texts(chosen)
    assert "which of 3 in order; never certain" in texts(chosen)
    shown = chosen.axes[0].lines[0].get_ydata()
    assert np.asarray(shown)[7] < 1e-3 < np.asarray(shown)[6]  # from 8 people on
    costly = texts(plotting.error_by_distance([with_boundary(PRIVACY, "9/10")]))
    assert "e^ε = 2, δ = 0.1: false no" in costly
    assert "e^ε = 2, δ = 0.1: false yes" in costly
    assert "balanced" in texts(plotting.tradeoff_curve([PRIVACY, ApproxDP(0, "0.1")]))


def test_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Own:
        def step(self, x: float) -> float:
            return x

        def __str__(self) -> str:
            return "own notion"

    assert "own notion" in texts(plotting.tradeoff_curve([Own()]))
    with pytest.raises(DuotoneError, match="phases can be drawn for"):
        plotting.line_phases(with_boundary(Own(), 0.5), 2, 2)
    with pytest.raises(DuotoneError, match="would not be legible"):
        plotting.graph(families.votes(9).graph())
    figure = plotting.graph(families.line(1, 1).graph())
    with pytest.raises(DuotoneError, match=r"must end in .svg, .png or .pdf, got a.txt"):
        plotting.save(figure, tmp_path / "a.txt")
    with pytest.raises(DuotoneError, match="cannot write"):
        plotting.save(figure, tmp_path / "missing" / "a.svg")
    figure_class.cache_clear()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r'pip install "duotone\[draw\]"'):
        plotting.graph(families.votes(2).graph())


def test_the_mechanisms_picture_needs_no_graph_library_layout() -> None:
    mechanism = Mechanism.from_yes(families.line(1, 1).graph(), {1: 1, 2: "1/2"})
    assert "2: 0.5" in texts(plotting.graph(mechanism, {1: (0, 0), 2: (1, 0)}))


def test_a_sweep_has_a_curve_for_datasets_that_are_answered_alike() -> None:
    graph = families.votes(3).graph()
    figure = plotting.sweep(sweep(graph, [ApproxDP(e, "1e-6") for e in ("2", "0.5", "1")]))
    lines = figure.axes[0].lines
    assert len(lines) == 4
    assert all(list(line.get_xdata()) == [0.5, 1, 2] for line in lines)  # type: ignore[arg-type]
    assert "blue: 112, 121, 211" in texts(figure)
    assert figure.axes[0].get_xlabel() == "ε (δ = 1e-06)"
    by_delta = plotting.sweep(sweep(graph, [ApproxDP(1, d) for d in ("1e-6", "1e-3")]), ax=Figure().add_subplot())
    assert (by_delta.axes[0].get_xlabel(), by_delta.axes[0].get_xscale()) == ("δ (ε = 1)", "log")
    both = plotting.sweep(sweep(families.votes(7).graph(), [ApproxDP(1), ApproxDP(2, "1e-3")]))
    assert "ε = 2, δ = 0.001" in texts(both)
    assert " and 31 more" in texts(both)
    with pytest.raises(DuotoneError, match="a picture of 60 curves would not be legible: at most 40"):
        plotting.sweep(sweep(families.line(30, 30).graph(), [ApproxDP(1)]))


@pytest.mark.slow
def test_no_backend_is_chosen_and_nothing_stays_open() -> None:
    """In a process of its own: whoever draws with pyplot afterwards has the backend that they would have had."""
    code = (
        "import sys; from duotone import ApproxDP, plotting; figure = plotting.error_by_distance([ApproxDP(1, '1e-6')]);"
        "assert 'matplotlib.pyplot' not in sys.modules; assert figure._repr_png_().startswith(b'\\x89PNG');"
        "import matplotlib; matplotlib.use('svg'); import matplotlib.pyplot as plt; plotting.graph;"
        "plotting.tradeoff_curve([ApproxDP(1)], ax=plt.subplots()[1]);"
        "assert (plt.get_backend(), plt.get_fignums()) == ('svg', [1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_picture_takes_axes() -> None:
    line = with_boundary(PRIVACY, "1/100")
    pictures: list[Callable[[Any], object]] = [
        lambda ax: plotting.graph(families.figure_2(), ax=ax),
        lambda ax: plotting.line_phases(line, 6, 2, ax=ax),
        lambda ax: plotting.error_by_distance([line], ax=ax),
        lambda ax: plotting.tradeoff_curve([PRIVACY], ax=ax),
    ]
    for draw in pictures:
        figure = Figure()
        ax = figure.add_subplot()
        assert draw(ax) is figure
        assert ax.has_data()


def test_the_names_of_phases_do_not_cross_the_boundary() -> None:
    for blue in (3, 6, 30):
        figure = plotting.line_phases(with_boundary(PRIVACY, "1/1000"), blue, 4)
        ax = figure.axes[0]
        figure.canvas.draw()
        edge = ax.transData.transform((blue + 0.5, 0))[0]
        names = [text for text in ax.texts if text.get_text() in ("initial", "terminal")]
        assert names
        boxes = [text.get_window_extent() for text in names]
        assert all(ax.bbox.x0 <= box.x0 and box.x1 <= edge for box in boxes)
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_what_a_budget_buys() -> None:
    sizes = capacities(ApproxDP(1, "1e-6"))
    figure = plotting.capacities(sizes)
    shown = texts(figure)
    assert "484 answers (account renyi), each at ε = 0.01, δ = 1e-11; never wrong from 2005 on" in shown
    assert "a budget of ε = 1, δ = 1e-06 buys" in shown
    ends = [line.get_xdata()[-1] for line in figure.axes[0].lines if line.get_marker() == "|"]  # type: ignore[index]
    assert ends == [one.mechanism.certain[0] for one in sizes]
    assert figure.axes[0].get_xlim()[1] > max(ends)


def test_long_curves_end_where_they_say() -> None:
    slow = ApproxDP("0.01", "1e-6")
    end = balanced(slow).certain[0] + 1
    figure = plotting.error_by_distance([slow], title="Is it so?")
    assert f"never wrong from {end:g} on" in texts(figure)
    assert "Is it so?" in texts(figure)
    curve = figure.axes[0].lines[0]
    assert (curve.get_xdata()[-1], curve.get_marker()) == (end - 1, "None")  # type: ignore[index]


def test_grouped_answers() -> None:
    visits = pa.table({"town": ["Ely"] * 90 + ["Wells"] * 40})
    question = "select town, count(*) > 60 from visits group by town"
    with prepare(visits, question, ApproxDP(9, "1e-3"), groups=[("Ely",), ("Wells",)]) as asked:
        released = asked.release()
        figure = plotting.question(released, question)
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["Ely", "Wells"]
    no, yes = figure.axes[0].collections
    assert (np.asarray(no.get_offsets()).tolist(), np.asarray(yes.get_offsets()).tolist()) == ([[0, 1]], [[1, 0]])
    assert "each answer: ε = 9, δ = 0.001" in texts(figure.axes[1])
    with prepare(visits, "select town as place, count(*) > 60 from visits group by town", PRIVACY, groups=["Ely"]) as asked:
        assert plotting.answers(asked.release()).axes[0].get_ylabel() == "place"
    with pytest.raises(DuotoneError, match="ask with group by"):
        plotting.answers(dataclasses.replace(released, facts=dataclasses.replace(released.facts, by=())))


def test_a_question_is_its_own_title() -> None:
    with prepare(pa.table({"town": ["Ely"] * 90}), "count(*) > 60", ApproxDP(1, "1e-6")) as asked:
        assert plotting.question(asked).axes[0].get_title(loc="left") == "SELECT COUNT(*) > 60"
        assert plotting.question(asked, "More than 60?").axes[0].get_title(loc="left") == "More than 60?"
        assert "each answer" not in texts(plotting.question(asked))
        answer = asked.release()
        marked = texts(plotting.question(answer))
        (mark,) = re.findall(r"yes, (?:certain|p = \S+)", marked)
        assert marked.replace(f" {mark} ", "").split() == texts(plotting.question(asked)).split()
        assert mark == f"yes, {brief(answer.sure.numbers())}"


@pytest.mark.parametrize("gaps", [[], [0], [3, 4], [0, 90_000], [90 * 86_400, 400 * 86_400]])
def test_spending_starts_at_nothing_when_the_dataset_was_registered(tmp_path: Path, gaps: list[int]) -> None:
    """Whatever the time between: ticks of whole seconds or longer, and a year to know the date by."""
    now = datetime(2026, 11, 16, 8, 28, 30, 123_456, tzinfo=UTC)
    ledger = Ledger(open_store(tmp_path / "s.ledger", wait=9), clock=lambda: now)
    ledger.register("stays", ApproxDP(1), unit="row", neighbours="add-remove", version="1")
    charge = Charge(balanced(ApproxDP("0.25")))
    for gap in gaps:
        now += timedelta(seconds=gap)
        ledger.ask("stays", f"after {now}", charge, lambda: True, unit="row", neighbours="add-remove")
    account = ledger.statement("stays")
    ledger.close()
    figure = plotting.spending(account)
    figure.canvas.draw()
    ax = figure.axes[0]
    assert account.since == datetime(2026, 11, 16, 8, 28, 30, 123_456, tzinfo=UTC)
    assert ax.get_title(loc="left") == f"stays: {len(gaps)} charge{'s' * (len(gaps) != 1)}"
    assert list(ax.lines[0].get_ydata()) == [0, *(0.25 * (i + 1) for i in range(len(gaps)))]  # type: ignore[arg-type]
    first, last = (num2date(end) for end in ax.get_xlim())  # type: ignore[no-untyped-call]
    assert first < account.since < now + timedelta(seconds=1) < last
    assert last - first <= max(timedelta(minutes=1), now - account.since) * 1.11
    shown = [*(tick.get_text() for tick in ax.get_xticklabels()), ax.xaxis.get_major_formatter().get_offset()]
    assert not any("." in text for text in shown)
    assert re.search("202[678]", " ".join(shown))


def test_spending_in_an_account_renyi_is_a_share_of_its_budget(tmp_path: Path) -> None:
    """An answer at ε costs (e^((k+1)ε) + e^(−kε)) / (1 + e^ε), and logarithms of prices add up."""
    ledger = Ledger(open_store(tmp_path / "s.ledger", wait=9))
    ledger.register("stays", ApproxDP(1, "1e-6"), unit="row", neighbours="add-remove", version="1", account="renyi")
    for place in range(3):
        charge = Charge(balanced(ApproxDP("0.1")))
        ledger.ask("stays", f"question {place}", charge, lambda: True, unit="row", neighbours="add-remove")
    account = ledger.statement("stays")
    ledger.close()
    k = account.registered.account.written()["prices"].split()  # "order=… price=… delta=…"
    order = int(k[0].removeprefix("order=")) - 1
    whole = math.log(0.9e-6) + (order + 1) * math.log(order + 1) - order * math.log(order) + order
    each = math.log((math.exp((order + 1) / 10) + math.exp(-order / 10)) / (1 + math.exp(0.1)))
    ax = plotting.spending(account).axes[0]
    shares = [0, *(100 * each * (place + 1) / whole for place in range(3))]
    assert list(ax.lines[0].get_ydata()) == pytest.approx(shares, rel=1e-6, abs=1e-9)  # type: ignore[arg-type]
    assert ax.get_ylabel() == "% of the budget"


def test_a_picture_says_what_it_shows() -> None:
    """Without labels, the legend names none; and each dataset needs a place."""
    few, many = (design(families.line(n, n).graph(), ApproxDP(1)) for n in (2, 100))
    titles = [plotting.graph(of).axes[0].get_legend().get_title().get_text() for of in (few, many)]  # type: ignore[union-attr]
    assert titles == ["label and opacity: Pr[truth]", "opacity: Pr[truth]"]
    with pytest.raises(DuotoneError, match="dataset 2 has no position: give each one a pair of numbers"):
        plotting.graph(few, {1: (0, 0)})
    plain: Any = nx.path_graph(3)
    with pytest.raises(DuotoneError, match="a ColouredGraph is needed, got Graph"):
        plotting.graph(plain)


def test_positions_of_networkx_leave_room_for_labels() -> None:
    """They lie between −1 and 1; the picture grows with the number of datasets all the same."""
    graph = families.figure_2()
    unit = {d: (float(x) / 10, float(y) / 10) for d, (x, y) in families.FIGURE_2_POSITIONS.items()}
    near, far = (plotting.graph(graph, where).get_size_inches() for where in (unit, families.FIGURE_2_POSITIONS))
    assert near[1] > far[1]
    wrong: Any = dict.fromkeys(graph, "here")
    with pytest.raises(DuotoneError, match="a position is a pair of numbers, one for each dataset"):
        plotting.graph(graph, wrong)


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda: plotting.tradeoff_curve(ApproxDP(1)), "a picture takes a list of budgets, got ApproxDP"),  # type: ignore[arg-type]
        (lambda: plotting.error_by_distance(ApproxDP(1)), "a list of budgets, got ApproxDP"),  # type: ignore[arg-type]
        (lambda: plotting.line_phases(ApproxDP(1), 3, 2), "phases are of a line, as balanced and with_boundary make it"),  # type: ignore[arg-type]
        (lambda: plotting.sweep(ApproxDP(1)), "needs what duotone.graphs.sweep.sweep returns, got ApproxDP"),  # type: ignore[arg-type]
        (lambda: plotting.boundary_graph(3), "a ColouredGraph is needed, got int"),  # type: ignore[arg-type]
    ],
)
def test_pictures_of_something_else(draw: Callable[[], object], says: str) -> None:
    with pytest.raises(DuotoneError, match=says):
        draw()


def test_a_mechanism_has_a_boundary_graph() -> None:
    graph = families.figure_2()
    assert texts(plotting.boundary_graph(design(graph, ApproxDP(1)))) == texts(plotting.boundary_graph(graph))
