"""A driver on a cluster, run as a program: `python on_cluster.py URL PARQUET STARTED`.

Prints a JSON object: levels that the cluster computes, and what is released while a worker dies.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from duotone import ApproxDP, open_ledger, prepare
from duotone.tables.ask import prepare_groups
from duotone.tables.engines import open_source
from support import engine_cases


def main(url: str, parquet: str, started: str) -> None:
    source = open_source(url, table=parquet)
    told: dict[str, Any] = {"levels": {str(k): v for k, v in some(source).items()}}
    frame = source.engine.connection._session.read.parquet(parquet).repartition(2)

    def slow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        Path(started).touch()
        time.sleep(1)
        yield from batches

    slowly = open_source(frame.mapInArrow(slow, frame.schema), vouched=True)
    with open_ledger(f"{started}.ledger") as ledger:
        ledger.register("visits", ApproxDP(9, "1e-3"), unit="row", neighbours="add-remove", version="1")
        told["answer"] = [bool(prepare(slowly, "count(*) > 100", engine_cases.P).charge(ledger, "visits"))]
        told["groups"] = list(prepare_groups(slowly, ["g"], engine_cases.P).charge(ledger, "visits").answers)
        state = ledger.statement("visits").state
        told["ledger"] = [state.charges, state.unanswered, ledger.verify().holds]
    print(json.dumps(told))


def some(source: Any) -> dict[Any, Any]:
    """A few plans: the rest is the same code as on one machine."""
    return engine_cases.levels(source, [*engine_cases.COUNTS, "sum(big) > 1000"], ("g",), unit="u", max_rows=1, most=2)


if __name__ == "__main__":
    main(*sys.argv[1:])
