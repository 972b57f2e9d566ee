"""Morphisms: maps between families of datasets along which mechanisms are carried over."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from duotone.errors import DuotoneError, NotAMorphism
from duotone.graphs.families import line
from duotone.graphs.graph import ColouredGraph, by_name, label, required
from duotone.line.mechanism import NEVER

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Morphism:
    """A map from one graph of datasets to another under which neighbours stay neighbours, or become the same dataset.

    It carries mechanisms over: a private mechanism on the second graph is private on the first if every dataset is
    answered like its image (`Mechanism.pullback`). So a large family of datasets can use the mechanism of a small one;
    below, three votes use that of their count.

    `source` and `target` are the two graphs, and `map` gives the image of every dataset of `source`, as a mapping or a
    function. In the paper's words, g of Definition 3. A map that separates neighbours raises `NotAMorphism`.

    Guarantee: constructing one checks every dataset and edge, so a `Morphism` that exists carries private
    mechanisms to private mechanisms (Theorem 1).

    >>> from duotone.graphs import families
    >>> votes, coarse = families.votes(3).graph(), families.line(2, 2).graph()
    >>> count = Morphism(votes, coarse, lambda d: 1 + d.count("2"))
    >>> count.map["112"], count.preserves_colour()
    (2, True)
    """

    source: ColouredGraph
    """The graph that the map starts from."""
    target: ColouredGraph
    """The graph that it leads to."""
    map: Mapping[Hashable, Hashable]
    """The image of every dataset of `source`."""

    def __init__(
        self,
        source: ColouredGraph,
        target: ColouredGraph,
        map: Mapping[Hashable, Hashable] | Callable[[Hashable], Hashable],  # noqa: A002
    ) -> None:
        required(source), required(target)
        images = by_name(map)
        if not (isinstance(images, Mapping) or callable(images)):
            raise DuotoneError(f"a map is a mapping or a function of the dataset, got {type(map).__name__}")
        image = images if isinstance(images, Mapping) else {d: images(d) for d in source.names}
        for name in source.names:
            if name not in image:
                raise DuotoneError(f"the map has no image for dataset {label(name)}")
            if image[name] not in target:
                raise DuotoneError(f"{label(name)} is mapped to {label(image[name])}, which is no dataset of the target")
        for attribute, value in {"source": source, "target": target, "map": image}.items():
            object.__setattr__(self, attribute, value)
        near = {(a, b) for pair in target.edges for a, b in (pair, pair[::-1])}
        for a, b in source.edges:
            if image[a] != image[b] and (image[a], image[b]) not in near:
                raise NotAMorphism((a, b), (image[a], image[b]))

    def __repr__(self) -> str:
        return f"<Morphism from {len(self.source)} to {len(self.target)} datasets>"

    def preserves_colour(self) -> bool:
        """Whether every dataset has the same true answer as its image: f₁ = f₂ ∘ g."""
        return all(self.source.colour(d) == self.target.colour(self.map[d]) for d in self.source.names)

    def then(self, following: Morphism) -> Morphism:
        """The composition: this map first, `following` after it."""
        if following.source != self.target:
            raise DuotoneError("the second morphism must start at the graph where the first one ends")
        return Morphism(self.source, following.target, {d: following.map[self.map[d]] for d in self.source.names})

    def pullback(self, values: Mapping[Hashable, T]) -> dict[Hashable, T]:
        """values ∘ g: each dataset gets the value of its image. For a mechanism's probabilities this is Theorem 1."""
        return {d: values[self.map[d]] for d in self.source.names}


def line_of(graph: ColouredGraph) -> tuple[int, int]:
    """Definition 9. (n_B, n_R) of the boundary graph; components of one colour have no boundary and do not count."""
    levels = graph.levels[(graph.levels != NEVER) & (graph.levels != -1 - NEVER)]
    return int(np.max(levels, initial=-1)) + 1, -int(np.min(levels, initial=0))


def boundary_morphism(graph: ColouredGraph) -> Morphism:
    """Definition 9. g_∂ from a coloured graph onto its boundary graph, the (n_B, n_R)-line.

    >>> from duotone.graphs import families
    >>> g = boundary_morphism(families.figure_2())
    >>> g.map["a"], g.map["h"], g.map["n"], g.map["e"]
    (1, 3, 4, 7)
    """
    blue, red = line_of(graph)
    if not (blue and red) or np.isin(graph.levels, (NEVER, -1 - NEVER)).any():
        raise DuotoneError(
            "a component of one colour has no boundary, so no boundary morphism: remove it (every answer is true there)"
        )
    levels = graph.levels.tolist()
    return Morphism(graph, line(blue, red).graph(), {d: blue - level for d, level in zip(graph.names, levels, strict=True)})
