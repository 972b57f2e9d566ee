"""How cost grows: designs on large graphs beside graph libraries and the linear program, and levels of truth tables.

    python benchmarks/scale.py [FOLDER for pictures] [--quick]

Every figure is a median in one run on one machine. Other libraries are given the boundary and only search; Duotone's
time includes the boundaries of both colours, distances, and the optimal mechanism.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import igraph
import measure
import networkx as nx
import numpy as np
import rustworkx as rx
from large_graphs import KINDS, Made, random_graph
from matplotlib.figure import Figure
from measure import timed
from numba import njit
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from duotone import ApproxDP, ColouredGraph, TruthTable, design
from duotone.graphs.values import ValuesByDataset
from duotone.resources import everywhere
from support.oracles import Problem, linear_programs
from support.running import peak

PRIVACY = ApproxDP(1, 1e-3)
VALUE = 0.6
VALUES = (0.5, 0.52, 0.55, 0.6, 0.58)
SIZES = [10**3, 10**4, 10**5, 10**6, 10**7]
LARGEST = {
    "networkx": 140_000, "rustworkx": 140_000, "igraph": 1_100_000, "scipy": 1_100_000, "graphblas": 1_100_000,
    "linear program": 10**4,
}  # fmt: skip


def designed(graph: ColouredGraph, boundary: Any) -> Any:
    graph.__dict__.pop("distances", None)  # nothing is cached from the last time
    return design(graph, PRIVACY, boundary)


@njit(cache=True, nogil=True)
def bare_search(indptr: Any, indices: Any, sources: Any) -> Any:
    """The near limit: a queue, a loop, one thread."""
    distance = np.full(len(indptr) - 1, -1, np.int32)
    queue = np.empty(len(distance), np.int32)
    head, tail = 0, len(sources)
    queue[:tail] = sources
    distance[sources] = 0
    while head < tail:
        i = queue[head]
        head += 1
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if distance[j] < 0:
                distance[j] = distance[i] + 1
                queue[tail] = j
                tail += 1
    return distance


def rivals(graph: ColouredGraph) -> dict[str, Callable[[], Any]]:
    """A search from the boundary by each library, its own graph built beforehand."""
    n, sources = len(graph), np.flatnonzero(graph.on_boundary)
    work: dict[str, Callable[[], Any]] = {"bare numba": partial(bare_search, graph.indptr, graph.indices, sources)}
    if n > 2 * max(LARGEST.values()):
        return work
    pairs = graph.edge_array()
    with_root = np.concatenate([pairs, np.stack([np.full(len(sources), n), sources], 1)])
    if n <= LARGEST["scipy"]:
        data = np.ones(2 * len(with_root), dtype=np.int8)
        rows, columns = np.concatenate([with_root, with_root[:, ::-1]]).T
        matrix = csr_array((data, (rows, columns)), shape=(n + 1, n + 1))
        work["scipy"] = partial(breadth_first_order, matrix, n, directed=True, return_predecessors=True)
    if n <= LARGEST["igraph"]:
        tree = igraph.Graph(n=n + 1, edges=with_root)
        work["igraph"] = partial(tree.bfs, n)
    if n <= LARGEST["rustworkx"]:
        other: Any = rx.PyGraph()
        other.add_nodes_from(range(n + 1))
        other.extend_from_edge_list([*map(tuple, with_root.tolist())])
        work["rustworkx"] = partial(rx.graph_bfs_layers, other, [n])
    if n <= LARGEST["networkx"]:
        plain = graph.to_networkx()
        near = set(sources.tolist())
        work["networkx"] = partial(nx.multi_source_dijkstra_path_length, plain, near, weight=None)
    if n <= LARGEST["graphblas"]:
        work["graphblas"] = partial(by_graphblas, *_graphblas(graph), sources)
    return work


def _graphblas(graph: ColouredGraph) -> tuple[Any, Any]:
    import graphblas as gb

    n = len(graph)
    rows = np.repeat(np.arange(n), np.diff(graph.indptr))
    return gb, gb.Matrix.from_coo(rows, graph.indices, True, nrows=n, ncols=n, dtype=bool)


def by_graphblas(gb: Any, matrix: Any, sources: Any) -> Any:
    n = matrix.nrows
    distance = gb.Vector(gb.dtypes.INT32, n)
    frontier = gb.Vector.from_coo(sources, True, size=n, dtype=bool)
    step = 0
    while frontier.nvals:
        distance(frontier.S) << step
        frontier(~distance.S, replace=True) << gb.semiring.any_pair(frontier @ matrix)
        step += 1
    return distance


def by_linear_program(graph: ColouredGraph) -> Any:
    """The same optimum from a linear program of Definition 1."""
    fixed = dict.fromkeys(np.flatnonzero(graph.blue & graph.on_boundary).tolist(), VALUE)
    solved = linear_programs([Problem(graph, PRIVACY.exp_epsilon, Fraction(PRIVACY.delta), fixed)])
    assert solved is not None
    return solved[0]


def bandwidth() -> float:
    """Bytes read and written a second by a plain copy on every core."""
    a = np.ones(2**25, dtype=np.uint64)
    b = np.ones_like(a)

    def copy(start: int, stop: int) -> None:
        b[start:stop] = a[start:stop]

    seconds, _ = timed(lambda: everywhere(copy, len(a)))
    return 2 * a.nbytes / seconds


def on_graphs(sizes: list[int]) -> list[dict[str, Any]]:
    results = []
    bare_search(np.zeros(2, np.int32), np.zeros(0, np.int32), np.zeros(1, np.int64))  # compiled
    for kind, make in KINDS.items():
        for size in sizes:
            pairs, blue = make(size)
            building, graph = timed(partial(ColouredGraph.from_arrays, pairs, blue), 1)
            work = len(graph) + len(graph.indices) // 2
            few = ValuesByDataset(VALUES, np.random.default_rng(0).integers(0, 5, len(graph)).astype(np.uint8))
            seconds = {"design": timed(partial(designed, graph, "balanced"))[0]}
            seconds["unequal"], unequal = timed(partial(designed, graph, few), 3)
            seconds["check"], _ = timed(partial(unequal.check, PRIVACY), 3)
            for name, rival in rivals(graph).items():
                seconds[name], _ = timed(rival, 3)
            if size <= LARGEST["linear program"] * (10 if kind == "grid" else 1):
                seconds["linear program"], yes = timed(partial(by_linear_program, graph), 0)
                assert np.allclose(yes, np.array([*design(graph, PRIVACY, VALUE).yes.values()], dtype=float), atol=1e-6)
            results.append({"kind": kind, "nodes": len(graph), "edges": len(graph.indices) // 2, "build": building} | seconds)
            fastest = {name: f"{work / s:.2g}" for name, s in seconds.items()}
            print(f"{kind:>9} {len(graph):>9} nodes, build {building:.3f} s; nodes + edges a second: {fastest}", flush=True)
    return results


def memory(make: Callable[[int], Made], size: int) -> tuple[float, float]:
    """Peak while building, and while designing, as a multiple of the graph's arrays."""
    pairs, blue = make(size)
    design(ColouredGraph.from_arrays(pairs, blue), PRIVACY)  # compiled and imported
    built, graph = peak(partial(ColouredGraph.from_arrays, pairs, blue))
    arrays = graph.indptr.nbytes + graph.indices.nbytes + graph.blue.nbytes
    searched, _ = peak(partial(design, graph, PRIVACY))
    return (built + blue.nbytes) / arrays, 1 + searched / arrays


def on_truth_tables(voters: list[int]) -> dict[int, tuple[float, float]]:
    """Datasets a second, and peak bytes per dataset."""
    rates = {}
    TruthTable.from_weights([1, 2], 2).histogram()  # compiled and imported
    for n in voters:
        weights = [2 * i + 1 for i in range(n)]
        held = peak(lambda: TruthTable.from_weights(weights, n * n // 2).levels())[0] / 2**n  # noqa: B023
        table = TruthTable.from_weights(weights, n * n // 2)
        seconds, _ = timed(table.levels, 5 if n <= 30 else 1)
        rates[n] = 2**n / seconds, held
        print(f"truth table of {n} voters: {2**n / seconds:.3g} datasets a second, {held:.3f} bytes each at most", flush=True)
    return rates


def picture(results: list[dict[str, Any]], tables: dict[int, tuple[float, float]], folder: Path) -> None:
    figure = Figure(figsize=(9, 7), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
    names = ["design", "unequal", "bare numba", "graphblas", "scipy", "igraph", "rustworkx", "networkx", "linear program"]
    labels = {"design": "Duotone: design", "unequal": "Duotone: unequal values", "linear program": "linear program (HiGHS)"}
    for axis, kind in zip(axes, KINDS, strict=True):
        for number, name in enumerate(names):
            points = [(r["nodes"] + r["edges"], r[name]) for r in results if r["kind"] == kind and name in r]
            ours = name in ("design", "unequal")
            x, y = [w for w, _ in points], [1e9 * s / w for w, s in points]
            axis.plot(x, y, marker="o", markersize=3, color=f"C{number}", lw=2 if ours else 1, label=labels.get(name, name))
        axis.set(xscale="log", yscale="log", title=kind)
        axis.grid(alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    for axis in (axes[0], axes[2]):
        axis.set_ylabel("nanoseconds per node or edge")
    for axis in axes[2:]:
        axis.set_xlabel("nodes + edges")
    figure.savefig(folder / "scale-graphs.svg")
    figure = Figure(figsize=(6, 3.4), layout="constrained")
    axis = figure.subplots()
    axis.plot([*tables], [rate for rate, _ in tables.values()], marker="o")
    axis.axhline(1e9, color="grey", lw=1, ls="--")
    axis.set(xlabel="voters", ylabel="datasets a second", yscale="log", title="Level of every dataset of a truth table")
    axis.grid(alpha=0.3)
    figure.savefig(folder / "scale-truth-tables.svg")


def main() -> None:
    quick = "--quick" in sys.argv
    folders = [Path(word) for word in sys.argv[1:] if word != "--quick"]
    print(f"{measure.machine()}; medians")
    copied = bandwidth()
    print(f"copying memory, read + write, every core: {copied / 1e9:.1f} GB a second", flush=True)
    tables = on_truth_tables([20, 22] if quick else [20, 22, 24, 26, 28, 30, 32])
    size = 10**5 if quick else 10**6
    for kind, make in KINDS.items():
        built, searched = memory(make, size)
        print(f"memory, {kind} of {size:,} nodes: building {built:.2f}, designing {searched:.2f} times the arrays", flush=True)
    results = on_graphs(SIZES[:2] if quick else SIZES)
    if not quick:
        pairs, blue = random_graph(25_000_000)
        seconds, graph = timed(partial(ColouredGraph.from_arrays, pairs, blue), 1)
        del pairs
        designing, _ = timed(partial(designed, graph, "balanced"), 3)
        work = len(graph) + len(graph.indices) // 2
        results.append(
            {"kind": "random", "nodes": len(graph), "edges": len(graph.indices) // 2, "build": seconds, "design": designing}
        )
        rate = work / designing
        print(f"random graph of {work - len(graph)} edges: build {seconds:.1f} s, design {designing:.2f} s, {rate:.3g}")
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        picture(results, tables, folder)
        (folder / "scale.json").write_text(json.dumps({"bandwidth": copied, "graphs": results, "tables": tables}))


if __name__ == "__main__":
    main()
