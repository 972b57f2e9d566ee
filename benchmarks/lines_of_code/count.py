"""How many lines of code three questions about the hospital stays take, here and elsewhere, and what each answers.

    python benchmarks/lines_of_code/count.py

Lines are counted as formatted by ruff, without empty ones, comments and docstrings. A script runs where its library is
installed: `opendp[polars]`, `smartnoise-sql` and `tmlt.analytics` each need an environment of their own, so run this once
in each.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
QUESTIONS = {"mean": "average stay above 5 days", "fifty": "fifty patients in a group", "wards": "one ward against another"}
LIBRARIES = {"duotone": "duotone", "opendp": "opendp", "smartnoise": "snsql", "tumult": "tmlt"}


def lines(script: Path) -> int:
    """Lines with code."""
    tree = ast.parse(script.read_text())
    documented = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.FunctionDef) and ast.get_docstring(node)]
    docstrings = {line for node in documented for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)}
    kept = (text.strip() for number, text in enumerate(script.read_text().splitlines(), 1) if number not in docstrings)
    return sum(1 for text in kept if text and not text.startswith("#"))


def answer(script: Path, module: str) -> tuple[str, bool]:
    """A script's output from one run, if its library is installed; and whether it failed."""
    if find_spec(module) is None:
        return "not installed", False
    done = subprocess.run([sys.executable, script], cwd=HERE.parents[1], capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout.strip(), False
    return f"FAILED: {(done.stderr.strip().splitlines() or ['without a word'])[-1]}", True


def main() -> int:
    """Every line of the table; 1 if a script failed."""
    failures = 0
    for question, words in QUESTIONS.items():
        for library, module in LIBRARIES.items():
            script = HERE / f"{library}_{question}.py"
            said, failed = answer(script, module)
            failures += failed
            print(f"{words:<28}{library:<12}{lines(script):>3} lines  {said}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
