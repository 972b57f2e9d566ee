"""Graphs in files: GraphML, node-link JSON, and edge lists in CSV or Parquet."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError
from duotone.graphs import edge_list
from duotone.graphs.graph import ColouredGraph

EDGE_LISTS = (".csv", ".parquet")
"""How the names of files end that have edges and no colours."""


def read_graph(path: str | Path, *, blue: Iterable[str] | Path | None = None) -> ColouredGraph:
    """A graph from a file: GraphML or node-link JSON with a node attribute `colour`, or an edge list (CSV or Parquet, two
    columns) and its blue nodes, given by name or as a file (a `Path`) that lists them.

    In a CSV file a row with one name is a node without neighbours, and a first row `source,target` is a header.
    """
    file = Path(path)
    if file.suffix in EDGE_LISTS:
        if blue is None:
            raise DuotoneError("an edge list has no colours: name the blue nodes")
        return ColouredGraph.from_rows(*edge_list.read(file, blue))
    try:
        graph = _read_networkx(file)
    except OSError as error:
        raise DuotoneError(f"cannot read {file}: {error.strerror}") from None
    if blue is not None:
        if isinstance(blue, Path):
            raise DuotoneError("a file of blue nodes goes with an edge list (.csv or .parquet)")
        chosen = _chosen(blue, {str(name) for name in graph})
        for name, data in graph.nodes(data=True):
            data["colour"] = "blue" if str(name) in chosen else "red"
    return ColouredGraph.from_networkx(graph)


def _chosen(blue: Iterable[str], names: set[str]) -> set[str]:
    chosen = set(blue)
    if unknown := sorted(chosen - names):
        raise DuotoneError(f"there is no node {unknown[0]} to be blue")
    return chosen


def _read_networkx(file: Path) -> Any:
    import networkx as nx

    if file.suffix == ".graphml":
        from xml.etree.ElementTree import ParseError

        try:
            with warnings.catch_warnings(action="ignore"):
                return nx.read_graphml(file)
        except (nx.NetworkXError, ParseError, LookupError, ValueError):
            raise DuotoneError(f"{file} is not a GraphML file") from None
    if file.suffix == ".json":
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            return nx.node_link_graph(data, edges="edges" if "edges" in data else "links")
        except (KeyError, TypeError, ValueError, nx.NetworkXError, AttributeError):
            raise DuotoneError(f"{file} is not node-link JSON (nodes and edges)") from None
    raise DuotoneError(f"{file} must end in .graphml, .json, .csv or .parquet")
