"""Documents and certificates of large graphs as JSON text, beside `json.dumps` of the same object made beforehand.

    python benchmarks/graph_json.py [DATASETS …]

Text is produced piece by piece and discarded, with the printed memory; `json.dumps` of a ready object is the limit for
any code that visits each dataset. Each size and kind has a process of its own, so that none pays for another's garbage.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import measure
from large_graphs import KINDS

from duotone import ApproxDP, ColouredGraph, design
from duotone.graphs.document import document, document_text
from duotone.graphs.table import graph_table
from support.running import peak

PRIVACY = ApproxDP("1", "1e-3")


def written(pieces: Callable[[], Iterator[str]]) -> None:
    with Path(os.devnull).open("w", encoding="utf-8") as file:
        file.writelines(pieces())


def one(kind: str, size: int) -> None:
    graph = ColouredGraph.from_arrays(*KINDS[kind](size))
    mechanism, table = design(graph, PRIVACY), graph_table(graph, PRIVACY)
    print(f"{kind} of {len(graph):,} datasets and {len(graph.indices) // 2:,} edges", flush=True)
    building, _ = measure.timed(lambda: graph_table(graph, PRIVACY), 3)
    print(f"  the table of a certificate: {building:.2f} s", flush=True)
    works: dict[str, tuple[Callable[[], Iterator[str]], Callable[[], Any]]] = {
        "document": (lambda: document_text(mechanism, PRIVACY), lambda: document(mechanism, PRIVACY)),
        "certificate": (table.certificate_text, table.certificate),
    }
    for name, (text, made) in works.items():
        held = peak(lambda: written(text))[0] / len(graph)  # noqa: B023
        ready = made()
        assert "".join(text()) == json.dumps(ready)
        ours, limit = measure.in_turns([lambda: written(text), lambda: json.dumps(ready)], 3)  # noqa: B023
        print(f"  {name}: {ours:.2f} s, {held:.0f} bytes per dataset at most; json.dumps alone {limit:.2f} s", flush=True)


def main() -> None:
    if len(sys.argv) == 3 and sys.argv[1] in KINDS:
        one(sys.argv[1], int(sys.argv[2]))
        return
    print(f"{measure.machine()}; medians", flush=True)
    for size in sys.argv[1:] or ["100000", "1000000"]:
        for kind in ("grid", "hypercube"):
            subprocess.run([sys.executable, __file__, kind, size], check=True)


if __name__ == "__main__":
    main()
