"""Coloured graphs: datasets are nodes, neighbours are edges, the true answer is the colour."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from duotone.cached import cached_property
from duotone.errors import DuotoneError, got
from duotone.graphs.edges import checked, compressed, far, to_boundary
from duotone.html import cell, table
from duotone.line.mechanism import NEVER
from duotone.privacy.definition import Array

Colour = Literal["blue", "red"]
Colours = Mapping[Any, Any] | Callable[[Any], Any]
"""The colour of each dataset, as a mapping or a function: "blue" and True for yes, "red" and False for no."""
BUDGETS = {"epsilon", "eps", "ε", "delta", "δ", "ratio", "rho", "ρ", "mu", "μ", "privacy", "budget"}
"""Attributes that look like a privacy budget, which a graph must not have."""
SHOWN = 12
"""Most datasets that a notebook shows."""


class ColouredGraph:
    """Every possible dataset, which of them are neighbours, and the true answer on each: what `design` takes.

    Use it for questions whose datasets can be listed, even millions of them; a question about a table of people needs
    no graph (`ask`). A node is a dataset, an edge joins two that differ in one person, and a node's colour is the true
    answer on it: blue for yes, red for no. In the paper's words, (D, ~, f).

    `edges` are pairs of names, which may be any hashable values; duplicates and directions do not matter. `colour` has
    "blue" or "red", or whether it is yes (True or False), for every name, also for a dataset without neighbours; or it is
    a function of the name, for the datasets of the edges. There are other ways to make one: `from_networkx`,
    `from_arrays`, `from_csr`, `from_sparse`, `duotone.graphs.files.read_graph`, and `duotone.graphs.families` for votes,
    histograms and the like.

    A graph is a collection of its datasets: `for dataset in graph`, `dataset in graph`, `len(graph)`.

    A dataset is on the boundary if a neighbour has the other answer. Its `level` is its signed distance from there; by
    default, the best private answer depends on nothing else.

    The datasets `names` are numbered in order. The neighbours of number i are `indices[indptr[i]:indptr[i + 1]]`, and
    `blue[i]` is whether it is blue.

    >>> votes = ColouredGraph([("11", "12"), ("12", "22"), ("22", "21"), ("21", "11")],
    ...                       {"11": "blue", "12": "blue", "21": "blue", "22": "red"})
    >>> votes.boundary("blue"), votes.interior("blue"), votes.level("11"), votes.level("22")
    (('12', '21'), ('11',), 1, -1)
    >>> [d for d in ColouredGraph(votes.edges, lambda d: "1" in d) if d in votes], len(votes), len(votes.edges)
    (['11', '12', '21', '22'], 4, 4)
    """

    def __init__(self, edges: Iterable[tuple[Hashable, Hashable]], colour: Colours) -> None:
        edges = list(edges)
        if not all(isinstance(pair, Collection) and len(pair) == 2 for pair in edges):
            raise DuotoneError("edges are pairs of datasets (a networkx graph goes to from_networkx)")
        if (unnamed := next((name for pair in edges for name in pair if not _hashable(name)), None)) is not None:
            raise DuotoneError(f"a dataset's name must be hashable, such as a text, a tuple or a frozenset, got {got(unnamed)}")
        colour = _each(colour, (name for pair in edges for name in pair))
        names = tuple(colour)
        position = {name: i for i, name in enumerate(names)}
        ends: list[tuple[int, int]] = []
        for a, b in edges:
            if a not in position or b not in position:
                raise DuotoneError(f"node {b if a in position else a} has no colour: give each node blue or red")
            ends.append((position[a], position[b]))
        pairs = np.array(ends, dtype=np.int64).reshape(-1, 2)
        blue = np.array([_is_blue(name, one) for name, one in colour.items()], dtype=bool)
        self._fill(compressed(lambda: [(pairs[:, 0], pairs[:, 1])], len(blue), names.__getitem__), blue, names)

    def _fill(self, rows: tuple[Array, Array], blue: Array, names: Sequence[Hashable]) -> None:
        (self.indptr, self.indices), self.blue, self.names = rows, blue, names

    @classmethod
    def from_arrays(cls, pairs: Any, blue: Any, names: Sequence[Hashable] | None = None) -> ColouredGraph:
        """From an (edges × 2) array of node numbers and one Boolean per node; names default to the numbers.

        Edges may come in any order and direction, and more than once.
        """
        ends, colours, names = np.asarray(pairs), *_coloured(blue, names)
        if not ends.size:
            ends = np.zeros((0, 2), dtype=np.int64)
        if not (ends.ndim == 2 and ends.shape[1] == 2 and np.issubdtype(ends.dtype, np.integer)):
            raise DuotoneError("edges must be an array of two integer columns (an adjacency matrix goes to from_sparse)")
        if ends.dtype not in (np.int32, np.int64):
            ends = ends.astype(np.int64)
        return cls.from_rows(compressed(lambda: [(ends[:, 0], ends[:, 1])], len(colours), names.__getitem__), colours, names)

    @classmethod
    def from_csr(cls, indptr: Any, indices: Any, blue: Any, names: Sequence[Hashable] | None = None) -> ColouredGraph:
        """From compressed rows, not copied if they are 32-bit: the neighbours of i, in order, are
        `indices[indptr[i]:indptr[i + 1]]`.

        >>> ColouredGraph.from_csr([0, 1, 2], [1, 0], np.array([True, False])).level(1)
        -1
        """
        colours, names = _coloured(blue, names)
        return cls.from_rows(checked(indptr, indices, len(colours)), colours, names)

    @classmethod
    def from_rows(cls, rows: tuple[Array, Array], blue: Array, names: Sequence[Hashable]) -> ColouredGraph:
        """For the library itself: from compressed rows that are known to be correct, and the colour of each node."""
        graph = cls.__new__(cls)
        graph._fill(rows, blue, names)
        return graph

    @classmethod
    def from_networkx(cls, graph: Any, colour: str | Colours = "colour") -> ColouredGraph:
        """From a networkx graph. `colour` is the attribute of its nodes that has their colour, or gives the colour of a
        node, as a function or a mapping: "blue" or True for yes, "red" or False for no.

        Privacy is an argument of `design`, the same for every pair of neighbours: a graph that carries a budget is
        refused.

        >>> import networkx as nx
        >>> votes = nx.hypercube_graph(3)                      # nodes (0, 0, 0) to (1, 1, 1)
        >>> ColouredGraph.from_networkx(votes, lambda votes: sum(votes) >= 2)
        <ColouredGraph: 4 blue, 4 red, 12 edges>
        """
        if not hasattr(graph, "nodes"):
            raise DuotoneError(f"from_networkx takes a networkx graph, got {type(graph).__name__}")
        _require_no_budget(graph)
        colour = by_name(colour)
        if isinstance(colour, str):
            attribute = colour
            if missing := [name for name, data in graph.nodes(data=True) if attribute not in data]:
                raise DuotoneError(f"node {missing[0]} has no attribute {attribute}: give each node blue or red")
            colour = {name: data[attribute] for name, data in graph.nodes(data=True)}
        elif isinstance(colour, Mapping):
            if unknown := [name for name in colour if name not in graph]:
                raise DuotoneError(f"there is no node {unknown[0]} to be coloured")
            if missing := [name for name in graph if name not in colour]:
                raise DuotoneError(f"node {missing[0]} has no colour: give each node blue or red")
            colour = {name: colour[name] for name in graph}
        return cls(((a, b) for a, b, *_ in graph.edges), _each(colour, graph))

    @classmethod
    def from_sparse(cls, matrix: Any, blue: Any, names: Sequence[Hashable] | None = None) -> ColouredGraph:
        """From a square matrix, sparse (scipy) or not (numpy): any entry that is not 0 is an edge."""
        colours, names = _coloured(blue, names)
        coordinates = matrix.tocoo() if hasattr(matrix, "tocoo") else np.asarray(matrix)
        if coordinates.shape != (len(colours), len(colours)):
            raise DuotoneError(f"the matrix must have one row and one column per node, {len(colours)}, got {coordinates.shape}")
        if isinstance(coordinates, np.ndarray):
            first, second = np.nonzero(coordinates)
        else:
            kept = coordinates.data != 0
            ends = (coordinates.row, coordinates.col)
            first, second = ends if kept.all() else (end[kept] for end in ends)
        return cls.from_rows(compressed(lambda: [(first, second)], len(colours), names.__getitem__), colours, names)

    def to_networkx(self) -> Any:
        """As a networkx graph with the node attributes `colour`."""
        import networkx as nx

        graph: Any = nx.Graph()
        graph.add_nodes_from((name, {"colour": self.colour(name)}) for name in self.names)
        graph.add_edges_from(self.edges)
        return graph

    def __len__(self) -> int:
        return len(self.blue)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return self.find(name) is not None

    def __eq__(self, other: object) -> bool:
        """Whether they have the same datasets, colours and neighbours, in whatever order."""
        return self is other or (isinstance(other, ColouredGraph) and self.places_in(other) is not None)

    def __hash__(self) -> int:
        return hash((len(self), len(self.indices)))

    def __repr__(self) -> str:
        blues = int(self.blue.sum())
        return f"<ColouredGraph: {blues} blue, {len(self) - blues} red, {len(self.indices) // 2} edges>"

    def _repr_html_(self) -> str:
        return self.page(repr(self)[1:-1])

    def page(self, title: str, more: str | None = None, of: Callable[[Hashable], str] | None = None) -> str:
        """A small page for a notebook: the first datasets with their colours and levels, and further columns from
        `of`."""
        head, rows = ["dataset", "colour", "level"], []
        for name in self.names[:SHOWN]:
            level = self.level(name)
            apart = "never flips" if math.isinf(level) else str(level)
            rows.append([cell(label(name)), self.colour(name), apart, *([] if of is None else [of(name)])])
        left = [f"{len(self) - SHOWN} more"] if len(self) > SHOWN else []
        return table(head if more is None else [*head, more], rows, before=title, after=left)

    @cached_property
    def _position(self) -> dict[Hashable, int]:
        return {name: i for i, name in enumerate(self.names)}

    def find(self, name: Hashable) -> int | None:
        """The number of a node in the arrays; None for an unknown node."""
        try:
            if isinstance(self.names, range):  # the names are the numbers: no dictionary of millions
                return self.names.index(name) if name in self.names else None  # type: ignore[arg-type]
            return self._position.get(name)
        except TypeError:  # not hashable
            return None
        finally:
            del name

    def position(self, name: Hashable) -> int:
        """The number of a node in the arrays."""
        i = self.find(name)
        if i is None:
            raise DuotoneError(f"there is no dataset {label(name)}")
        return i

    def labels(self) -> list[str]:
        """The datasets' names as distinct texts."""
        if isinstance(self.names, range):
            return [*map(str, self.names)]
        labels = [label(name) for name in self.names]
        if len(set(labels)) != len(labels):
            raise DuotoneError("two datasets have the same name as text: rename one of them")
        return labels

    def edge_array(self, start: int = 0, stop: int | None = None) -> Array:
        """Each edge once, as two columns of node numbers, the smaller first; only edges whose smaller number is in a
        range."""
        ends = self.indptr[start : len(self) + 1 if stop is None else stop + 1]
        rows: Array = np.repeat(np.arange(start, start + len(ends) - 1), np.diff(ends))
        others = self.indices[ends[0] : ends[-1]]
        once = rows < others
        return np.stack([rows[once], others[once].astype(np.int64)], axis=1)

    @property
    def edges(self) -> Edges:
        """Each edge once, by names."""
        return Edges(self)

    def neighbours(self, name: Hashable) -> tuple[Hashable, ...]:
        """The neighbours of a dataset."""
        i = self.position(name)
        return tuple(self.names[j] for j in self.indices[self.indptr[i] : self.indptr[i + 1]].tolist())

    def colour(self, name: Hashable) -> Colour:
        """The true answer, as a colour."""
        return "blue" if self.blue[self.position(name)] else "red"

    def coloured(self, colour: Colour) -> tuple[Hashable, ...]:
        """Every dataset of a colour: B or R of Definition 5."""
        return self._named(self._is(colour))

    def interior(self, colour: Colour) -> tuple[Hashable, ...]:
        """The datasets of a colour whose neighbours all have it (Definition 5)."""
        return self._named(self._is(colour) & ~self.on_boundary)

    def boundary(self, colour: Colour) -> tuple[Hashable, ...]:
        """The datasets of a colour with a neighbour of the other one: ∂B or ∂R of Definition 5."""
        return self._named(self._is(colour) & self.on_boundary)

    def distance(self, name: Hashable) -> float:
        """Distance to the boundary of the dataset's own colour; infinite in a component of one colour."""
        distance = int(self.distances[self.position(name)])
        return math.inf if distance == far(self.distances) else distance

    def level(self, name: Hashable) -> float:
        """How far a dataset is from the boundary, and on which side: 0, 1, 2, … for yes, −1, −2, −3, … for no.

        dist(d, ∂B) for a blue dataset, −1 − dist(d, ∂R) for a red one; ±infinity in a component of one colour.
        """
        distance = self.distance(name)
        return distance if self.blue[self.position(name)] else -1 - distance

    @property
    def on_boundary(self) -> Array:
        """Whether each node has a neighbour of the other colour."""
        return cast(Array, self.distances == 0)

    @cached_property
    def distances(self) -> Array:
        """The distance of every node to the boundary of its own colour; the largest number of the array's type stands
        for infinity."""
        return to_boundary(self.indptr, self.indices, self.blue)

    @property
    def levels(self) -> Array:
        """The level of every node; `line.NEVER` stands for infinity."""
        levels = self.distances.astype(np.int64)
        levels[self.distances == far(self.distances)] = NEVER
        return np.subtract(-1, levels, out=levels, where=~self.blue)

    def same_neighbours(self, other: ColouredGraph) -> bool:
        """Whether two graphs have the same datasets and neighbours, in the same order; colours may differ."""
        arrays = ((self.indptr, other.indptr), (self.indices, other.indices))
        return list(self.names) == list(other.names) and all(np.array_equal(a, b) for a, b in arrays)

    def places_in(self, other: ColouredGraph) -> Array | None:
        """For the library itself: the place of each dataset in an equal graph (the same names, colours and neighbours
        in any order); None if the graphs differ."""
        if len(self) != len(other) or len(self.indices) != len(other.indices):
            return None
        if self.same_neighbours(other):
            return np.arange(len(self)) if bool((self.blue == other.blue).all()) else None
        positions = [other.find(d) for d in self.names]
        if None in positions:
            return None
        places = np.array(positions, dtype=np.int64)
        ends, others = np.sort(places[self.edge_array()], axis=1), other.edge_array()
        alike = set(map(tuple, ends.tolist())) == set(map(tuple, others.tolist()))
        return places if alike and bool((self.blue == other.blue[places]).all()) else None

    def dual(self) -> ColouredGraph:
        """The same datasets with the colours swapped (Remark 2)."""
        return ColouredGraph.from_rows((self.indptr, self.indices), ~self.blue, self.names)

    def _is(self, colour: Colour) -> Array:
        if not isinstance(colour, str) or colour not in ("blue", "red"):
            raise DuotoneError(f"a colour is blue or red, got {colour}")
        return cast(Array, self.blue == (colour == "blue"))

    def _named(self, chosen: Array) -> tuple[Hashable, ...]:
        return tuple(self.names[i] for i in np.flatnonzero(chosen).tolist())


@dataclass(frozen=True, eq=False, repr=False)
class Edges(Collection[tuple[Hashable, Hashable]]):
    """The edges of a graph, each once, as pairs of names; an edge is in it in either direction.

    >>> edges = ColouredGraph([("a", "b")], {"a": "blue", "b": "red", "c": "red"}).edges
    >>> list(edges), len(edges), ("b", "a") in edges, ("a", "c") in edges
    ([('a', 'b')], 1, True, False)
    """

    graph: ColouredGraph
    """The graph."""

    def __len__(self) -> int:
        return len(self.graph.indices) // 2

    def __iter__(self) -> Iterator[tuple[Hashable, Hashable]]:
        names = self.graph.names
        return ((names[a], names[b]) for a, b in self.graph.edge_array().tolist())

    def __contains__(self, pair: object) -> bool:
        if not (isinstance(pair, tuple) and len(pair) == 2):
            return False
        a, b = map(self.graph.find, pair)
        return a is not None and b in self.graph.indices[self.graph.indptr[a] : self.graph.indptr[a + 1]]

    def __repr__(self) -> str:
        return f"<{len(self)} edges>"


def _hashable(name: object) -> bool:
    try:
        hash(name)
    except TypeError:
        return False
    return True


def _each(colour: Any, names: Iterable[Hashable]) -> Mapping[Any, Any]:
    """The colours of these datasets, from a mapping (or a pandas Series) or a function."""
    colour = by_name(colour)
    if isinstance(colour, Mapping):
        return colour
    if not callable(colour):
        raise DuotoneError(f"colours are a mapping or a function of the dataset, got {type(colour).__name__}")
    return {name: colour(name) for name in dict.fromkeys(names)}


def required(graph: Any) -> ColouredGraph:
    """A coloured graph, or an error that says how one is made."""
    if not isinstance(graph, ColouredGraph):
        raise DuotoneError(
            f"a ColouredGraph is needed, got {type(graph).__name__}: ColouredGraph.from_networkx(graph, colour) makes one of a "
            "networkx graph, and family.graph() of a family"
        )
    return graph


def by_name(given: Any) -> Any:
    """A mapping of any kind, such as a pandas Series, as a plain one; anything else as it is."""
    return dict(given) if hasattr(given, "keys") else given


def _is_blue(name: Hashable, colour: object) -> bool:
    """Whether a colour is blue, as a word or as a Boolean (1 or 0 where a file has no Booleans)."""
    if isinstance(colour, str) and colour in ("blue", "red"):
        return colour == "blue"
    if isinstance(colour, bool | np.bool | int | np.integer) and colour in (0, 1):
        return bool(colour)
    raise DuotoneError(f"the colour of node {label(name)} must be blue or red, or True or False, got {colour}")


def _coloured(blue: Any, names: Sequence[Hashable] | None) -> tuple[Array, Sequence[Hashable]]:
    """Checked colours and names."""
    colours = np.asarray(blue)
    if colours.dtype != bool or colours.ndim != 1:
        raise DuotoneError("blue must be a one-dimensional Boolean array: True for blue, False for red")
    if names is not None and (len(names) != len(colours) or len(set(names)) != len(names)):
        raise DuotoneError(f"names must be {len(colours)} different values, one per node")
    return colours, range(len(colours)) if names is None else tuple(names)


def label(name: Hashable) -> str:
    """A dataset's name as text: `{1, 3}` for a set, `2,1` for counts."""
    if isinstance(name, frozenset):
        return "{" + ", ".join(sorted(map(str, name))) + "}"
    return ",".join(map(label, name)) if isinstance(name, tuple) else str(name)


def _require_no_budget(graph: Any) -> None:
    """Refuse a budget on an edge, a node or the graph: it would be ignored, and the mechanism less private than it
    says."""
    places = (
        ("an edge", (data for *_, data in graph.edges(data=True))),
        ("a node", (data for _, data in graph.nodes(data=True))),
        ("the graph", [graph.graph]),
    )
    for place, attributes in places:
        for data in attributes:
            if budget := next((str(name) for name in data if str(name).lower() in BUDGETS), None):
                raise carries_a_budget(place, budget)


def carries_a_budget(place: str, attribute: str) -> DuotoneError:
    """The error about a graph with a budget on an edge, on a node or of its own."""
    return DuotoneError(
        f"{place} has an attribute {attribute}, which would be ignored: every pair of neighbours has the budget that is given "
        "to design; remove the attribute"
    )
