"""What a command loads from a fresh process: seconds are not asserted (benchmarks/cold_start.py), modules are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LOADED = """
import sys
from duotone.cli.app import main
sys.argv = ["duotone", *sys.argv[1:]]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print("modules", *{name.partition(".")[0] for name in sys.modules})
"""
ASK = ["ask", "people.csv", "--epsilon", "1", "--delta", "1e-6"]


def loaded(folder: Path, *arguments: str) -> set[str]:
    (folder / "people.csv").write_text("age,vote\n" + "30,Y\n40,N\n" * 50)
    command = [sys.executable, "-c", LOADED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True)
    return set(done.stdout.rpartition("modules ")[2].split())


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        [*ASK, "count(*) filter (where vote = 'Y') > 20"],
        [*ASK, "avg(age) > 30", "--bounds", "age=0:100"],
        [*ASK, "count(*) > 20", "--preview"],
    ],
)
def test_a_question_loads_neither_pandas_nor_a_compiler(tmp_path: Path, arguments: list[str]) -> None:
    modules = loaded(tmp_path, *arguments)
    assert "ibis" in modules  # the list is one
    assert not modules & {"pandas", "polars", "numba", "llvmlite", "scipy", "matplotlib", "sqlalchemy", "pyspark"}


@pytest.mark.slow
def test_help_loads_no_engine(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "--help")
    assert "typer" in modules
    assert not modules & {"ibis", "duckdb", "numpy", "pyarrow", "sqlglot", "pydantic", "pandas", "numba"}
