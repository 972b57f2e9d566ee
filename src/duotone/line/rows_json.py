"""Tables and mechanisms as JSON: an entry that many rows share is written once, and the text of a large graph comes in
pieces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from duotone.privacy.definition import Array

ROWS = 2**14
"""Rows per piece of text."""


class Datasets(Protocol):
    """What a table needs of a graph: its datasets' names and true answers, and its edges."""

    @property
    def blue(self) -> Array:
        """Whether the true answer is yes, by dataset."""
        ...

    def find(self, name: Any) -> int | None:
        """The number of a dataset; None if there is no such dataset."""
        ...

    def labels(self) -> list[str]:
        """The names as distinct texts."""
        ...

    def edge_array(self, start: int = 0, stop: int | None = None) -> Array:
        """Each edge once, as two columns of numbers; only edges whose smaller number is in a range."""
        ...


@dataclass(frozen=True, eq=False)
class RowsJson:
    """A JSON object: the contents of `before`, and rows under a key, as a list; or, for a graph, by the names of its
    datasets, and then its edges.

    Row i is `entries[places[i]]`; with `held_by`, it also has the name of dataset `held_by[i]` as `from`, null for −1.

    Guarantee: `text` is `json.dumps` of `as_dict`, to the byte.

    >>> rows = RowsJson({"version": 1}, "rows", [{"yes": "1"}, {"yes": "0"}], np.array([1, 0, 0]))
    >>> "".join(rows.text())
    '{"version": 1, "rows": [{"yes": "0"}, {"yes": "1"}, {"yes": "1"}]}'
    """

    before: Mapping[str, Any]
    key: str
    entries: Sequence[dict[str, Any]]
    places: Array
    graph: Datasets | None = None
    held_by: Array | None = None

    def as_dict(self) -> dict[str, Any]:
        """As Python objects; no two rows share a mutable object."""
        rows: Any = ({**self.entries[place]} for place in self.places.tolist())
        if self.graph is None:
            return {**self.before, self.key: list(rows)}
        labels = self.graph.labels()
        names = _column([*labels, None])  # −1 is not a dataset
        if self.held_by is not None:
            rows = ({**row, "from": holder} for row, holder in zip(rows, names[self.held_by].tolist(), strict=True))
        by_name = dict(zip(labels, rows, strict=True))
        return {**self.before, self.key: by_name, "edges": names[self.graph.edge_array()].tolist()}

    def text(self) -> Iterator[str]:
        """As text, in pieces."""
        names = _column([] if self.graph is None else [*map(json.JSONEncoder().encode, self.graph.labels()), "null"])
        start, end = "[]" if self.graph is None else "{}"
        yield f'{json.dumps(self.before)[:-1]}, "{self.key}": {start}'
        yield from _without_first_comma(self._rows(names))
        yield end
        if self.graph is not None:
            yield ', "edges": ['
            yield from _without_first_comma(self._edges(self.graph, names))
            yield "]"
        yield "}"

    def _rows(self, names: Array) -> Iterator[str]:
        texts = _column([json.dumps(entry) for entry in self.entries])
        if self.held_by is not None:
            texts = _column([text[:-1] + ', "from": ' for text in texts])
        for start in range(0, len(self.places), ROWS):
            part = slice(start, min(start + ROWS, len(self.places)))
            row: list[Array | str] = [", ", texts[self.places[part]]]
            if self.graph is not None:
                row[1:1] = [names[part], ": "]
            if self.held_by is not None:
                row += [names[self.held_by[part]], "}"]
            yield _joined(row, part.stop - start)

    def _edges(self, graph: Datasets, names: Array) -> Iterator[str]:
        for start in range(0, len(self.places), ROWS):
            first, second = graph.edge_array(start, start + ROWS).T
            yield _joined([", [", names[first], ", ", names[second], "]"], len(first))


def _column(items: list[Any]) -> Array:
    return np.array(items, dtype=object)


def _joined(columns: Sequence[Array | str], rows: int) -> str:
    """Columns of text, row by row; a single text is repeated in every row."""
    parts = np.empty((rows, len(columns)), dtype=object)
    for k, column in enumerate(columns):
        parts[:, k] = column
    return "".join(parts.ravel().tolist())


def _without_first_comma(pieces: Iterable[str]) -> Iterator[str]:
    """Rows that each begin with a comma and a space, without those of the first."""
    texts = filter(None, pieces)
    yield next(texts, "")[2:]
    yield from texts
