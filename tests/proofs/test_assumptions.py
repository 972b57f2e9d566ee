"""What the main theorems rest on, as Coq printed it: the axioms of the real numbers, or nothing, as the proofs' page says."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

PROOFS = Path(__file__).parents[2] / "proofs"
REAL_NUMBERS = {
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
}
EXCLUDED_MIDDLE, WITH_A_LOGARITHM = {"Classical_Prop.classic"}, {"theorem_4", "theorem_4_below", "theorem_5"}


@pytest.fixture(scope="module")
def printed() -> dict[str, set[str]]:
    """The axioms of each theorem, by name."""
    file = PROOFS / "assumptions.txt"
    if not file.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("proofs/assumptions.txt is not there: `make proofs` writes it")
    parts = re.split(r"^(\w+):\n", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    axioms: dict[str, set[str]] = {}
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        assert text.startswith(("  Axioms:\n", "  Closed under the global context\n")), text
        axioms[name] = set(re.findall(r"^  ([\w.]+)\s*(?::|$)", text.removeprefix("  Axioms:\n"), flags=re.MULTILINE))
        assert bool(axioms[name]) == text.startswith("  Axioms:\n"), text
    return axioms


def test_every_theorem_is_printed_once(printed: dict[str, set[str]]) -> None:
    text = (PROOFS / "Assumptions.v").read_text(encoding="utf-8")
    asked = re.findall(r"^Print Assumptions (\w+)\.$", text, flags=re.MULTILINE)
    assert list(printed) == asked
    assert len(asked) >= 30


def test_they_rest_on_the_real_numbers_alone(printed: dict[str, set[str]]) -> None:
    for name, axioms in printed.items():
        assert axioms <= REAL_NUMBERS | (EXCLUDED_MIDDLE if name in WITH_A_LOGARITHM else set()), name


def test_the_page_says_on_what(printed: dict[str, set[str]]) -> None:
    page = (PROOFS / "README.md").read_text(encoding="utf-8")
    rows = page[page.index("| it assumes | of |") :].splitlines()[2:7]
    two = REAL_NUMBERS - {"ClassicalDedekindReals.sig_not_dec"}
    one = two - {"FunctionalExtensionality.functional_extensionality_dep"}
    for row, axioms in zip(rows, (set(), one, two, REAL_NUMBERS, REAL_NUMBERS | EXCLUDED_MIDDLE), strict=True):
        assert re.findall(r"`(\w+)`", row.strip("|").split("|")[1]) == [name for name, its in printed.items() if its == axioms]
