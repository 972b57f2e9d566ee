"""The built wheel, installed on its own: the core works with few libraries, and the rest says which extra it needs."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = {
    "duckdb",
    "ibis-framework",
    "llvmlite",
    "matplotlib",
    "numba",
    "pandas",
    "pyarrow",
    "rich",
    "scipy",
    "sqlglot",
    "typer",
}
CORE = """
from duotone import ApproxDP, Coin, balanced, design, prove, open_ledger
from duotone.graphs import families
privacy = ApproxDP(1, "1e-6")
coin = Coin(balanced(privacy))
assert coin.answer(10**6).answer
assert prove(coin.table.certificate())
assert design(families.votes(3).graph(), privacy).check(privacy).holds
open_ledger("l").register("d", privacy, unit="person", neighbours="replace", version="1")
try:
    from duotone import ask
except Exception as error:
    print(type(error).__name__, error)
"""
GRAPH = {
    "nodes": [{"id": "a", "colour": "blue"}, {"id": "b", "colour": "red"}, {"id": "c", "colour": "red"}],
    "edges": [{"source": "a", "target": "b"}, {"source": "b", "target": "c"}],
}


@pytest.mark.slow
def test_the_wheel_works_without_extras(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("duotone-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"duotone/py.typed", "duotone/__init__.pyi"} <= set(names)
    pages = ("templates/ask.html", "static/duotone.css", "static/htmx.min.js", "static/htmx.LICENSE")
    assert {f"duotone/pages/{file}" for file in pages} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python, duotone = tmp_path / "venv" / "bin" / "python", str(tmp_path / "venv" / "bin" / "duotone")

    def install(what: str) -> None:
        own_pip = [sys.executable, "-m", "pip", "--python", str(python), "--quiet", "--disable-pip-version-check"]
        subprocess.run([*own_pip, "install", "--no-compile", "-c", str(ROOT / "constraints.txt"), what], check=True)

    def run(*command: str | Path) -> tuple[int, str, str]:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr.strip()

    install(str(wheel))
    named = "import importlib.metadata as m; print(*(d.name.lower() for d in m.distributions()))"
    installed = set(run(python, "-c", named)[1].split())
    assert {"duotone", "numpy"} <= installed
    assert not HEAVY & installed
    assert run(python, "-W", "error", "-c", CORE) == (
        0, 'MissingExtra a question about a table needs an optional library: pip install "duotone[tables]"\n', ""
    )  # fmt: skip
    line = [duotone, "line", "4", "3", "--exp-epsilon", "1.3", "--delta", "0.1", "--blue-at-boundary", "0.2"]
    assert run(*line) == (2, "", 'duotone: the command needs an optional library: pip install "duotone[cli]"')

    install(f"duotone[cli] @ {wheel.as_uri()}")
    assert run(*line)[0] == 0
    (tmp_path / "g.json").write_text(json.dumps(GRAPH))
    (tmp_path / "g.csv").write_text("a,b\nb,c\n")
    design = [duotone, "design", "g.json", "--exp-epsilon", "2", "--delta", "1/10"]
    assert "7/10 = 0.7" in run(*design)[1]
    for command, extra in (
        ([*design, "--draw", "m.svg"], "draw"),
        ([duotone, "design", "g.csv", "--blue", "a", "--exp-epsilon", "2"], "tables"),
        ([duotone, "ask", "g.csv", "count(*) > 1", "--epsilon", "1"], "tables"),
    ):
        code, _, said = run(*command)
        assert code == 2
        assert said.endswith(f'pip install "duotone[{extra}]"')
