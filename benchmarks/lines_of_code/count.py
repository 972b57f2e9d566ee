"""How many lines of code three questions about the hospital stays take, here and elsewhere, and what each answers.

    python benchmarks/lines_of_code/count.py

Lines are counted as formatted by ruff, without empty ones, comments and docstrings. A script runs where its library is
installed: `opendp[polars]` and `smartnoise-sql` each need an environment of their own, so run this once in each.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
QUESTIONS = {"mean": "average stay above 5 days", "fifty": "fifty patients in a group", "wards": "one ward against another"}
LIBRARIES = {"duotone": "duotone", "opendp": "opendp", "smartnoise": "snsql"}


def lines(script: Path) -> int:
    """Lines that have code on them."""
    tree = ast.parse(script.read_text())
    documented = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.FunctionDef) and ast.get_docstring(node)]
    docstrings = {line for node in documented for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)}
    kept = (text.strip() for number, text in enumerate(script.read_text().splitlines(), 1) if number not in docstrings)
    return sum(1 for text in kept if text and not text.startswith("#"))


def answer(script: Path, module: str) -> str:
    """What it prints, once, if its library is here."""
    if find_spec(module) is None:
        return "not installed"
    done = subprocess.run([sys.executable, script], cwd=HERE.parents[1], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


if __name__ == "__main__":
    for question, words in QUESTIONS.items():
        for library, module in LIBRARIES.items():
            script = HERE / f"{library}_{question}.py"
            print(f"{words:<28}{library:<12}{lines(script):>3} lines  {answer(script, module)}")
