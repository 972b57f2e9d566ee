"""The proofs as files: nothing is left open in them, and what their page names is there. `make proofs` compiles them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROOFS = sorted((ROOT / "proofs").glob("*.v"))
PAGE = (ROOT / "proofs" / "README.md").read_text(encoding="utf-8")
OPEN = (
    r"\b(Admitted|admit|Axioms?|Parameters?|Conjecture|Hypothesis\s+\w+\s*:\s*False|give_up|bypass_check"
    r"|Unset (Guard|Positivity|Universe) Checking)\b"
)


def code(file: Path) -> str:
    """The text without comments, which may be nested."""
    kept, depth = [], 0
    for part in re.split(r"(\(\*|\*\))", file.read_text(encoding="utf-8")):
        depth += (part == "(*") - (part == "*)")
        if depth == 0 and part != "*)":
            kept.append(part)
    return "".join(kept)


@pytest.mark.parametrize("file", PROOFS, ids=lambda file: file.stem)
def test_nothing_is_left_open(file: Path) -> None:
    text = code(file)
    assert not re.search(OPEN, text)
    assert len(re.findall(r"\bProof\b", text)) == len(re.findall(r"\b(Qed|Defined)\.", text))
    assert all(len(line) <= 128 for line in file.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("left", ["Lemma a : 1 = 2. Admitted.", "Axiom a : False.", "Parameter a : nat.", "Proof. admit. Qed."])
def test_what_is_left_open_is_found(left: str) -> None:
    assert re.search(OPEN, left)


def test_the_page_lists_every_file() -> None:
    rows = PAGE[PAGE.index("| what | files |") : PAGE.index("## Paper, lemma")].splitlines()
    listed = [name for row in rows if row for name in re.findall(r"`(\w+)`", row.strip("|").split("|")[1])]
    assert sorted(listed) == [file.stem for file in PROOFS]


def test_every_lemma_and_test_on_the_page_is_there() -> None:
    proved = set(re.findall(r"\b(?:Theorem|Lemma|Corollary|Example)\s+([\w']+)", "".join(map(code, PROOFS))))
    tests = set(
        re.findall(r"def (test_\w+)", "".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("*.py")))
    )
    source = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))
    table = PAGE[PAGE.index("| paper or page |") : PAGE.index("## What it rests on")]
    for row in table.splitlines()[2:]:
        if row:
            _, lemmas, functions, named = (re.findall(r"`([^`]+)`", cell) for cell in row.strip("|").split("|"))
            assert set(lemmas) <= proved, set(lemmas) - proved
            assert set(named) <= tests, set(named) - tests
            for function in functions:
                assert "/" in function or re.search(rf"(def|class) {function.split('.')[-1]}\b", source), function
