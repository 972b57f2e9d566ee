"""Parquet files written by Spark: `python tests/hostile/by_spark.py FROM TO`, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def write(source: str, target: str) -> None:
    """Copy a Parquet file by Spark."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    session.read.parquet(source).coalesce(1).write.parquet(target)
    session.stop()


def written(table: pa.Table, folder: Path, environment: Mapping[str, str]) -> Path:
    """The file that Spark makes of a table."""
    pq.write_table(table, folder / "given.parquet")
    command = [sys.executable, __file__, str(folder / "given.parquet"), str(folder / "by_spark")]
    subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True, timeout=300)
    (part,) = (folder / "by_spark").glob("part-*.parquet")
    return part


if __name__ == "__main__":
    write(*sys.argv[1:])
