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
COLLECTED = """
import atexit, gc
atexit.register(lambda: print("collections", *(of["collections"] for of in gc.get_stats())))
from duotone.__main__ import main
main()
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
        [*ASK, "avg(age) > 30", "--types", "age=number", "--bounds", "age=0:100"],
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


@pytest.mark.slow
def test_a_question_does_not_look_for_garbage_among_what_it_imports(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,vote\n" + "30,Y\n40,N\n" * 50)
    command = [sys.executable, "-c", COLLECTED, *ASK, "count(*) > 20"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    young, _, old = map(int, done.stdout.rpartition("collections ")[2].split())
    assert young < 50  # 340 with Python's own threshold
    assert old == 0


@pytest.mark.slow
def test_a_refusal_is_one_sentence_on_standard_error(tmp_path: Path) -> None:
    """DuckDB's binding lists all that is left of it at exit, unless Python looks for garbage once more then."""
    (tmp_path / "people.csv").write_text("age,vote\n" + "30,Y\n40,N\n" * 50)
    command = [sys.executable, "-m", "duotone", *ASK, "avg(age) > 30"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
