"""Parquet files written by Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from duotone.tables.engines import open_source


def written(table: pa.Table, folder: Path, environment: Mapping[str, str]) -> Path:
    """The file that Spark makes of a table, in the session that all tests of a process share."""
    os.environ.update(environment)
    pq.write_table(table, folder / "given.parquet")
    session = open_source("spark://local[2]", table=str(folder / "given.parquet")).engine.connection._session
    session.read.parquet(str(folder / "given.parquet")).coalesce(1).write.parquet(str(folder / "by_spark"))
    (part,) = (folder / "by_spark").glob("part-*.parquet")
    return part
