"""A real Spark standalone cluster on loopback: a master and two workers, from PySpark's package.

`python spark_cluster.py URL PARQUET STARTED` is a driver on it: it prints a JSON object with levels that the cluster computes,
and what is released while a worker dies.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from duotone import ApproxDP, open_ledger, prepare
from duotone.tables.check_question import prepare_groups
from duotone.tables.engines import open_source
from support import engine_cases
from support.running import EXHAUSTIVE

SHORT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SMALL = (
    "--driver-memory 768m --conf spark.executor.memory=512m --conf spark.sql.shuffle.partitions=2 --conf spark.ui.enabled=false"
    f' --driver-java-options "{SHORT}" --conf "spark.executor.extraJavaOptions={SHORT}"'
)
"""Two cores and little memory are enough, and in a session of minutes a JVM's second compiler does not pay off."""
INTERPRETED = "--conf spark.sql.codegen.wholeStage=false --conf spark.sql.codegen.factoryMode=NO_CODEGEN"
"""Spark compiles each query, which takes longer than a small table: on the cluster, and in `make exhaustive`."""


def missing() -> str | None:
    """What is not installed."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "PySpark"
    return None if shutil.which("java") else "Java"


def environment(*, compiled: bool = EXHAUSTIVE) -> dict[str, str]:
    return {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": " ".join([SMALL, *([] if compiled else [INTERPRETED]), "pyspark-shell"]),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": SHORT,
    }


@dataclass
class Cluster:
    """The master's address, and the processes of its workers."""

    url: str
    workers: list[subprocess.Popen[bytes]]

    def kill_one(self) -> None:
        """Kill a worker and everything it started."""
        worker = self.workers.pop()
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


@contextlib.contextmanager
def cluster() -> Iterator[Cluster]:
    """Start it, wait for it, and kill it at the end."""
    folder = Path(tempfile.mkdtemp(prefix="duotone-spark-"))
    log, workers = folder / "master.Master.log", list[subprocess.Popen[bytes]]()
    master = _start(folder, "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    try:
        _wait(log, "New state: ALIVE")
        (url,) = re.findall(r"Starting Spark master at (\S+)", log.read_text())  # at a port that the system chose
        for i in range(2):
            own = ("--webui-port", "0", "-c", "1", "-m", "600m", "-d", str(folder / f"work{i}"), url)
            workers.append(_start(folder, "worker.Worker", *own))
        _wait(log, "Registering worker", times=2)
        yield Cluster(url, workers)
    finally:
        for process in (*workers, master):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _start(folder: Path, which: str, *arguments: str) -> subprocess.Popen[bytes]:
    import pyspark

    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    command = [str(program), f"org.apache.spark.deploy.{which}", *arguments]
    environ = {**os.environ, **environment(compiled=True), "SPARK_HOME": str(program.parents[1])}
    with (folder / f"{which}.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=environ, start_new_session=True)


def _wait(log: Path, text: str, times: int = 1, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while log.read_text(errors="replace").count(text) < times:
        assert time.monotonic() < deadline, log.read_text(errors="replace")[-2000:]
        time.sleep(0.1)


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
