"""Graphs as JSON: an entry that many datasets share is made once, and the text of a large graph comes in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from duotone.graphs.graph import ColouredGraph
from duotone.privacy.definition import Array

ROWS = 2**14
"""The datasets of a piece of text."""


@dataclass(frozen=True, eq=False)
class GraphJson:
    """A JSON object about a graph: something `before`, its datasets by name, something `between`, and its edges by names.

    Dataset i has the entry `entries[places[i]]`, and beside it, where there is `held_by`, the name of dataset `held_by[i]` as
    `from`, null for −1. `names` are the graph's labels.

    Guarantee: `text` is `json.dumps` of `as_dict`, to the byte.

    >>> graph = ColouredGraph([("a", "b")], {"a": "blue", "b": "red"})
    >>> colours = [{"colour": "red"}, {"colour": "blue"}]
    >>> "".join(GraphJson(graph, graph.labels(), {"version": 1}, colours, graph.blue.astype(int)).text())
    '{"version": 1, "datasets": {"a": {"colour": "blue"}, "b": {"colour": "red"}}, "edges": [["a", "b"]]}'
    """

    graph: ColouredGraph
    names: Sequence[str]
    before: Mapping[str, Any]
    entries: Sequence[dict[str, Any]]
    places: Array
    held_by: Array | None = None
    between: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """As Python has it; no two datasets share an object that could be changed."""
        names = _column([*self.names, None])  # number −1 is no dataset
        entries = map(self.entries.__getitem__, self.places.tolist())
        if self.held_by is None:
            datasets = {name: {**entry} for name, entry in zip(self.names, entries, strict=True)}
        else:
            rows = zip(self.names, entries, names[self.held_by].tolist(), strict=True)
            datasets = {name: {**entry, "from": holder} for name, entry, holder in rows}
        edges = names[self.graph.edge_array()].tolist()
        return {**self.before, "datasets": datasets, **(self.between or {}), "edges": edges}

    def text(self) -> Iterator[str]:
        """As text, in pieces."""
        names = _column([*map(json.JSONEncoder().encode, self.names), "null"])
        yield json.dumps(self.before)[:-1] + ', "datasets": {'
        yield from _without_first_comma(self._dataset_rows(names))
        yield "}"
        if self.between:
            yield ", " + json.dumps(self.between)[1:-1]
        yield ', "edges": ['
        yield from _without_first_comma(self._edge_rows(names))
        yield "]}"

    def _dataset_rows(self, names: Array) -> Iterator[str]:
        texts = _column([json.dumps(entry) for entry in self.entries])
        if self.held_by is not None:
            texts = _column([text[:-1] + ', "from": ' for text in texts])
        for start in range(0, len(self.graph), ROWS):
            part = slice(start, min(start + ROWS, len(self.graph)))
            row: list[Array | str] = [", ", names[part], ": ", texts[self.places[part]]]
            if self.held_by is not None:
                row += [names[self.held_by[part]], "}"]
            yield _joined(row, part.stop - start)

    def _edge_rows(self, names: Array) -> Iterator[str]:
        for start in range(0, len(self.graph), ROWS):
            first, second = self.graph.edge_array(start, start + ROWS).T
            yield _joined([", [", names[first], ", ", names[second], "]"], len(first))


def _column(items: list[Any]) -> Array:
    return np.array(items, dtype=object)


def _joined(columns: Sequence[Array | str], rows: int) -> str:
    """Columns of text, row by row; a text by itself is in every row."""
    parts = np.empty((rows, len(columns)), dtype=object)
    for k, column in enumerate(columns):
        parts[:, k] = column
    return "".join(parts.ravel().tolist())


def _without_first_comma(pieces: Iterable[str]) -> Iterator[str]:
    """Rows that begin with a comma and a space each, without those of the first."""
    texts = filter(None, pieces)
    yield next(texts, "")[2:]
    yield from texts
