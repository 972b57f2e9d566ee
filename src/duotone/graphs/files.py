"""Graphs in files: GraphML, GML, node-link JSON, and edge lists in CSV, Parquet or plain text.

DuckDB reads, numbers and streams edge lists, so that no edge is ever a Python object.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from duotone.errors import DuotoneError, MissingExtra
from duotone.graphs.edges import compressed
from duotone.graphs.graph import BUDGETS, ColouredGraph, carries_a_budget
from duotone.privacy.definition import Array
from duotone.resources import literal_path, temporary_folder

PLAIN = (".edgelist", ".edges", ".txt")
"""Endings of edge lists whose nodes are separated by spaces or tabs, as networkx writes them."""
EDGE_LISTS = (".csv", ".parquet", *PLAIN)
"""Endings of files with edges but no colours."""
CHUNK = 2**22
"""Edges fetched at a time."""
IN_MEMORY = 2**26
"""Up to this many bytes, a file is numbered in memory; a larger one uses a temporary database beside it."""
HEADS = [("source", "target"), ("from", "to")]


def read_graph(path: str | Path, *, colour: str | None = None, blue: Iterable[str] | Path | None = None) -> ColouredGraph:
    """Read a graph from a file: GraphML, GML or node-link JSON with a node attribute `colour`, or one of another name; or
    an edge list and its blue nodes, given by name or as a file (a `Path`) that lists them, one in a row.

    An edge list is CSV, Parquet (two columns) or text with spaces between two nodes (.edgelist, .edges, .txt). In CSV
    and text a row with one name is a node without neighbours. In CSV a first row `source,target` is a header; in text
    `#` starts a comment, and the attributes that networkx writes (`{'weight': 3}`) are left out.
    """
    file = Path(path)
    if not (colour is None or blue is None):
        raise DuotoneError("give the attribute that is the colour, or the blue nodes, one of the two")
    if isinstance(blue, str):
        raise DuotoneError("the blue nodes are a list of names, or the Path of a file that lists them, got one text")
    if file.suffix in EDGE_LISTS:
        if blue is None:
            raise DuotoneError("an edge list has no colours: name the blue nodes")
        return ColouredGraph.from_rows(*_read_edge_list(file, blue))
    try:
        graph = read_networkx(file, str(file))
    except OSError as error:
        raise DuotoneError(f"cannot read {file}: {error.strerror}") from None
    if blue is not None:
        if isinstance(blue, Path):
            raise DuotoneError(f"a file of blue nodes goes with an edge list ({', '.join(EDGE_LISTS)})")
        chosen = _chosen(blue, {str(name) for name in graph})
        for name, data in graph.nodes(data=True):
            data["colour"] = "blue" if str(name) in chosen else "red"
    return ColouredGraph.from_networkx(graph, colour or "colour")


def _chosen(blue: Iterable[str], names: set[str]) -> set[str]:
    chosen = set(blue)
    if unknown := sorted(chosen - names):
        raise DuotoneError(f"there is no node {unknown[0]} to be blue")
    return chosen


def read_networkx(file: Path, name: str) -> Any:
    """The networkx graph of a GraphML, GML or node-link JSON file; errors call the file by `name`."""
    import networkx as nx

    if file.suffix == ".gml":
        try:
            return _read_gml(file)
        except (nx.NetworkXError, LookupError, ValueError) as reason:
            raise DuotoneError(f"{name} is not a GML file: {reason}") from None
    if file.suffix == ".graphml":
        from xml.etree.ElementTree import ParseError

        try:
            with warnings.catch_warnings(action="ignore"):
                return nx.read_graphml(file)
        except (nx.NetworkXError, ParseError, LookupError, ValueError):
            raise DuotoneError(f"{name} is not a GraphML file") from None
    if file.suffix == ".json":
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            return nx.node_link_graph(data, edges="edges" if "edges" in data else "links")
        except (KeyError, TypeError, ValueError, nx.NetworkXError, AttributeError):
            raise DuotoneError(f"{name} is not node-link JSON (nodes and edges)") from None
    raise DuotoneError(f"{name} must end in .graphml, .gml, .json, or, for an edge list, {', '.join(EDGE_LISTS)}")


def _read_gml(file: Path) -> Any:
    """Nodes are called by their labels, or by their numbers where they have no labels."""
    import networkx as nx

    graph = nx.read_gml(file, label="id")
    labels = dict(graph.nodes(data="label"))
    if None in labels.values():
        return graph
    if len(set(labels.values())) != len(labels):
        raise ValueError("node label is duplicated")
    return nx.relabel_nodes(graph, labels)


def _read_edge_list(file: Path, blue: Iterable[str] | Path) -> tuple[tuple[Array, Array], Array, Sequence[Hashable]]:
    """Compressed rows, colours and names of an edge list and its blue nodes: a list, or a file with one in a row.

    Two columns are an edge; in a CSV file a row with one name is a node without neighbours. If the integers of a
    Parquet file are exactly 0 … n − 1, no separate names are kept.
    """
    with _database(file) as database:
        _load(database, file)
        nodes, names = _number(database)
        colours = np.zeros(nodes, dtype=bool)
        colours[_blue(database, blue)] = True
        (edges,) = database.execute("SELECT count(*) FROM numbered").fetchone()

        def chunks() -> Iterator[tuple[Array, Array]]:
            for start in range(0, edges, CHUNK):
                part = database.execute(
                    f"SELECT a, b FROM numbered WHERE rowid BETWEEN {start} AND {start + CHUNK - 1}"
                ).fetchnumpy()
                yield part["a"], part["b"]

        return compressed(chunks, nodes, names.__getitem__), colours, names


@contextmanager
def _database(file: Path) -> Iterator[Any]:
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("an edge list in a file", "tables") from None
    if not file.is_file():
        raise DuotoneError(f"cannot read {file}: No such file or directory")
    with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
        place = ":memory:" if file.stat().st_size <= IN_MEMORY else f"{folder}/edges.duckdb"
        with duckdb.connect(place) as database:
            yield database


def _load(database: Any, file: Path) -> None:
    """Create table `edges` with columns a and b, neither null; and `alone`, the nodes without neighbours."""
    import duckdb

    try:
        if file.suffix == ".parquet":
            _load_parquet(database, file)
        elif file.suffix in PLAIN:
            _load_plain(database, file)
        else:
            _load_csv(database, file)
    except duckdb.Error as error:
        if file.suffix == ".parquet":
            raise DuotoneError(f"{file} is not a Parquet file, or a broken one") from None
        if any(word in str(error).lower() for word in ("unicode", "utf-8", "encod")):
            kind = "text" if file.suffix in PLAIN else "a CSV file"
            raise DuotoneError(f"{file} is not {kind} in UTF-8") from None
        raise _row(file) from None


def _load_parquet(database: Any, file: Path) -> None:
    source = database.read_parquet(literal_path(file))
    kinds = [str(kind) for kind in source.types]
    integers = all(kind in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER") for kind in kinds)
    if len(kinds) != 2 or not (integers or kinds == ["VARCHAR", "VARCHAR"]):
        raise DuotoneError(f"{file} must have two columns of integers or of text, got {', '.join(kinds)}")
    kind = "BIGINT" if integers else "VARCHAR"
    source.project(f"#1::{kind} AS a, #2::{kind} AS b").create("edges")
    if database.execute("SELECT count(*) FROM edges WHERE a IS NULL OR b IS NULL").fetchone()[0]:
        raise DuotoneError(f"an edge of {file} has an end that is missing: give both, or leave the edge out")
    database.execute(f"CREATE TABLE alone (name {kind})")


def _rows(skip: int = 0) -> str:
    """Read two columns of a CSV file completely, without guessing."""
    return (
        "SELECT trim(a) AS a, trim(b) AS b FROM read_csv(?, header=false, auto_detect=false, delim=',', quote='\"', "
        f"escape='\"', skip={skip}, columns={{'a': 'VARCHAR', 'b': 'VARCHAR'}}, null_padding=true, nullstr='\\0')"
    )


def _load_csv(database: Any, file: Path) -> None:
    place = [literal_path(file)]
    first = database.execute(f"{_rows()} LIMIT 1", place).fetchone()
    named = first is not None and tuple(str(cell).lower() for cell in first) in HEADS
    database.execute(f"CREATE TABLE lines AS {_rows(int(named))}", place)
    database.execute("DELETE FROM lines WHERE coalesce(a, '') = '' AND coalesce(b, '') = ''")
    if database.execute("SELECT count(*) FROM lines WHERE coalesce(a, '') = '' OR b = ''").fetchone()[0]:
        raise _row(file)
    database.execute("CREATE TABLE edges AS SELECT a, b FROM lines WHERE b IS NOT NULL")
    database.execute("CREATE TABLE alone AS SELECT a AS name FROM lines WHERE b IS NULL")


def _load_plain(database: Any, file: Path) -> None:
    lines = (
        "SELECT trim(string_split(line, '#')[1], ' \t\r') AS line FROM read_csv(?, header=false, auto_detect=false, "
        "delim='\x01', quote='', escape='', comment='', strict_mode=false, columns={'line': 'VARCHAR'}, nullstr='\x02')"
    )
    parts = r"regexp_extract(line, '^(\S+)(?:\s+(\S+))?(?:\s+(\{.*\}))?$', ['a', 'b', 'data'])"
    database.execute(f"CREATE TABLE lines AS SELECT {parts} AS parts FROM ({lines}) WHERE line <> ''", [literal_path(file)])
    if database.execute("SELECT count(*) FROM lines WHERE parts.a = ''").fetchone()[0]:
        raise _row(file)
    written = "|".join(sorted(BUDGETS))
    found = f"regexp_extract(lower(parts.data), '[''\"]({written})[''\"]\\s*:', 1)"
    budget = database.execute(f"SELECT max({found}) FROM lines").fetchone()[0]
    if budget:
        raise carries_a_budget("an edge", budget)
    database.execute("CREATE TABLE edges AS SELECT parts.a AS a, parts.b AS b FROM lines WHERE parts.b <> ''")
    database.execute("CREATE TABLE alone AS SELECT parts.a AS name FROM lines WHERE parts.b = ''")


def _number(database: Any) -> tuple[int, Sequence[Hashable]]:
    """Create tables `nodes` and `numbered`; names in order of appearance, or plain numbers if they are 0 … n − 1."""
    integers = database.table("edges").types[0] == "BIGINT"
    if integers:
        least, most = database.execute("SELECT min(least(a, b)), max(greatest(a, b)) FROM edges").fetchone()
        everyone = "SELECT a AS name FROM edges UNION SELECT b FROM edges"
        count = database.execute(f"SELECT count(*) FROM ({everyone})").fetchone()[0]
        if count and least == 0 and most == count - 1 and count < 2**31:
            database.execute(f"CREATE VIEW nodes AS SELECT range AS name, range::INTEGER AS id FROM range({count})")
            database.execute("CREATE TABLE numbered AS SELECT a::INTEGER AS a, b::INTEGER AS b FROM edges")
            return count, range(count)
    place = "name" if integers else "min(place)"
    database.execute(
        f"CREATE TABLE nodes AS SELECT name, (row_number() OVER (ORDER BY {place}) - 1)::BIGINT AS id FROM ("
        "SELECT a AS name, 2 * rowid AS place FROM edges UNION ALL SELECT b, 2 * rowid + 1 FROM edges "
        "UNION ALL SELECT name, 2 * rowid + 4000000000000000000 FROM alone) GROUP BY name"
    )
    database.execute(
        "CREATE TABLE numbered AS SELECT x.id::INTEGER AS a, y.id::INTEGER AS b "
        "FROM edges JOIN nodes x ON edges.a = x.name JOIN nodes y ON edges.b = y.name"
    )
    names = database.execute("SELECT name FROM nodes ORDER BY id").fetchnumpy()["name"].tolist()
    return len(names), tuple(names)


def _blue(database: Any, blue: Iterable[str] | Path) -> Array:
    """The numbers of the blue nodes."""
    import duckdb

    if isinstance(blue, Path):
        if not blue.is_file():
            raise DuotoneError(f"cannot read {blue}: No such file or directory")
        try:
            if blue.suffix == ".parquet":
                source = database.read_parquet(literal_path(blue))
                several = len(source.columns) > 1
                source.project("#1::VARCHAR AS name").create("chosen")
            else:
                database.execute(f"CREATE TABLE chosen AS SELECT a AS name, b FROM ({_rows()})", [literal_path(blue)])
                several = database.execute("SELECT count(*) FROM chosen WHERE b <> ''").fetchone()[0] > 0
                database.execute("DELETE FROM chosen WHERE coalesce(name, '') = ''")  # blank lines
        except duckdb.Error:
            raise DuotoneError(f"{blue} is not a list of nodes in Parquet or CSV, one in a row") from None
        if several:
            raise DuotoneError(f"{blue} has more than one column: list the blue nodes alone, one in a row")
    else:
        database.execute("CREATE TABLE chosen AS SELECT unnest(?::VARCHAR[]) AS name", [[str(name) for name in blue]])
    database.execute(
        "CREATE TABLE matched AS SELECT chosen.name, id FROM chosen LEFT JOIN nodes ON nodes.name::VARCHAR = chosen.name"
    )
    missing, unknown = database.execute("SELECT count(*), min(name) FROM matched WHERE id IS NULL").fetchone()
    if missing:
        (edges,) = database.execute("SELECT count(*) FROM edges").fetchone()
        alone = "" if edges else ", and no row has two nodes: separate them by a comma"
        raise DuotoneError(f"there is no node {unknown} to be blue{alone}" if unknown else "a blue node has no name")
    return np.asarray(database.execute("SELECT id FROM matched").fetchnumpy()["id"], dtype=np.int64)


def _row(file: Path) -> DuotoneError:
    return DuotoneError(f"a row of {file} must be two nodes (an edge) or one (a node alone)")
