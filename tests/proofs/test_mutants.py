"""The checker made weaker, in thirty-five ways: each time a lemma fails, and the proofs' page says which."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

PROOFS = Path(__file__).parents[2] / "proofs"
PAGE = (PROOFS / "README.md").read_text(encoding="utf-8")

BETWEEN = ("LineSides",)
"""What stands on the checks of a line, and under the proofs of its margins."""

pytestmark = pytest.mark.slow


class Mutant(NamedTuple):
    """A change of the checker's text, and where a proof then fails."""

    weaker: str
    file: str
    old: str
    new: str
    proof: str
    lemma: str


MUTANTS = [
    Mutant(
        "neighbours may differ by one part of ONE more than delta",
        "Table",
        "* b + Zpos (Qden ratio) * Qnum delta * one).",
        "* b + Zpos (Qden ratio) * Qnum delta * one + Zpos (Qden ratio * Qden delta)).",
        "Table",
        "fits_iff",
    ),
    Mutant(
        "no is not compared, only yes",
        "Table",
        "fits p q && fits q p && fits (one - p) (one - q) && fits (one - q) (one - p)",
        "fits p q && fits q p && true && true",
        "Table",
        "allowed_iff",
    ),
    Mutant(
        "an entry may be one part of ONE below the largest",
        "Table",
        "negb (may (t + 1) q)",
        "negb (may (t + 2) q)",
        "Table",
        "tight_iff",
    ),
    Mutant(
        "the bound from above is rounded down",
        "Table",
        "    (up (Qnum ratio * ",
        "    (Z.div (Qnum ratio * ",
        "Table",
        "ceiling_sound",
    ),
    Mutant(
        "rounding may cost 2^-59",
        "LineCheck",
        "Definition LOSS := 2 ^ 60.",
        "Definition LOSS := 2 ^ 59.",
        "LineSides",
        "close_sound",
    ),
    Mutant(
        "rounding may cost 2^-60 itself",
        "LineCheck",
        "top - t <? one / LOSS",
        "top - t <=? one / LOSS",
        "LineSides",
        "close_sound",
    ),
    Mutant(
        "a claimed error may be off by 2^-49 of itself",
        "LineCheck",
        "Definition RELATIVE := 2 ^ 1020.",
        "Definition RELATIVE := 2 ^ 1021.",
        "LineSides",
        "honest_sound",
    ),
    Mutant(
        "the balanced value's bound is rounded down",
        "LineCheck",
        "  up ((Qnum above * Zpos (Qden most)",
        "  Z.div ((Qnum above * Zpos (Qden most)",
        "LineCertificate",
        "balanced_bound",
    ),
    Mutant(
        "a boundary value may be another one nearby",
        "LineCheck",
        "None => t =? floor_of m",
        "None => true",
        "LineSides",
        "tops_sound",
    ),
    Mutant(
        "beyond a table's end nothing is bounded",
        "LineCheck",
        "close (if rise last =? last then last else one) (further (reach - 1) here rest)",
        "true",
        "LineSides",
        "checked_side_near",
    ),
    Mutant(
        "margins are compared one way only",
        "Margin",
        "&& (excess left right qs ps <=? room)",
        "&& true",
        "Margin",
        "over_all_events_fits",
    ),
    Mutant(
        "of all margins the one that tells most is compared, alone",
        "Margin",
        "Z.max 0 (left * p - right * q) + excess left right ps qs",
        "Z.max (Z.max 0 (left * p - right * q)) (excess left right ps qs)",
        "Margin",
        "event_excess",
    ),
    Mutant(
        "what lies beyond the last row is not compared",
        "Margin",
        "(row 0 (tl yes)) (row 0 (removelast yes)).",
        "(removelast (row 0 (tl yes))) (removelast (row 0 (removelast yes))).",
        "Margin",
        "all_events",
    ),
    Mutant(
        "an entry may be smaller than the one before",
        "Margin",
        "  rising yes && over_all_events",
        "  true && over_all_events",
        "Margin",
        "all_events_iff",
    ),
    Mutant(
        "noise without ends may stop at the cap",
        "LineCheck",
        "(many red =? 2 * cap - 1)",
        "(many red =? cap)",
        "LineCertificate",
        "noise_accepted",
    ),
    Mutant(
        "a witness need not be a neighbour",
        "GraphCheck",
        "if joined n w && (same || Names.mem w fixed)",
        "if (joined n w || true) && (same || Names.mem w fixed)",
        "GraphCertificate",
        "climb_sound",
    ),
    Mutant(
        "a witness of the other colour need not be fixed",
        "GraphCheck",
        "if joined n w && (same || Names.mem w fixed)",
        "if joined n w && (same || Names.mem w fixed || true)",
        "GraphCertificate",
        "climb_sound",
    ),
    Mutant(
        "a dataset may say the truth more often than always",
        "GraphCheck",
        "(says_truth (snd e) <=? one)",
        "true",
        "GraphCertificate",
        "in_the_range",
    ),
    Mutant(
        "the ratio may be above e^epsilon",
        "Exponential",
        "if Qle_bool y below && Qle_bool",
        "if Qle_bool y above && Qle_bool",
        "Exponential",
        "definition_right",
    ),
    Mutant(
        "the bound above e^epsilon is the one below it",
        "Exponential",
        "short * (one + 4) # ",
        "short * one # ",
        "Exponential",
        "exponential_digits",
    ),
    Mutant(
        "a fraction may have the denominator 0",
        "ReadCertificate",
        "if (1 <=? count) && (1 <=? d) then",
        "if (1 <=? count) && true then",
        "ReadNumber",
        "number_of_is",
    ),
    Mutant(
        "the numbers of a row need not add up",
        "ReadCertificate",
        "need! y + n =? one in",
        "need! y + n <=? one in",
        "ReadCertificate",
        "read_row_adds_up",
    ),
    Mutant(
        "d may be one part of ONE more than it is",
        "RenyiTable",
        "let up := Z.max 0 (Zpos (Qden d) * v - Qnum d * one) in",
        "let up := Z.max 0 (Zpos (Qden d) * v - Qnum d * one - Zpos (Qden d)) in",
        "RenyiTable",
        "within_iff",
    ),
    Mutant(
        "of one Rényi order the price of no is left out",
        "RenyiTable",
        "* least + down * power_of k down * most)",
        "* least + 0 * power_of k down * most)",
        "RenyiTable",
        "within_iff",
    ),
    Mutant(
        "the price may be one part of all that is compared higher",
        "RenyiTable",
        "<=? right * (most * least)",
        "<=? (right + 1) * (most * least)",
        "RenyiTable",
        "within_iff",
    ),
    Mutant(
        "the price is kept to one way round only",
        "RenyiTable",
        "within right s t && within right (one - t) (one - s)",
        "within right s t && true",
        "RenyiTable",
        "by_price_iff",
    ),
    Mutant(
        "the bound from above is what may still stand there",
        "RenyiTable",
        "if high - low <=? 1 then high else",
        "if high - low <=? 1 then low else",
        "RenyiTable",
        "refused_is",
    ),
    Mutant(
        "a balanced value's bound is the table's own",
        "RenyiTable",
        "then one else t + 1.",
        "then one else t.",
        "RenyiTable",
        "renyi_balanced_sound",
    ),
    Mutant(
        "by one Rényi order a table may have levels that are clipped for a margin",
        "ReadCertificate",
        "(match line_cap l with None => true | Some _ => false end)",
        "(match line_cap l with None => true | Some _ => true end)",
        "VerifiedCheck",
        "by_order_sound",
    ),
    Mutant(
        "the numbers of a row of places need not add up",
        "WhichCheck",
        "(sum_of row =? one)",
        "true",
        "WhichRight",
        "row_is",
    ),
    Mutant(
        "in the first row others need not be alike",
        "WhichCheck",
        "(together || forallb (Z.eqb q) others)",
        "(together || true)",
        "WhichRight",
        "first_is",
    ),
    Mutant(
        "in the first row another answer may be likelier than the truth",
        "WhichCheck",
        "(q <=? t)",
        "true",
        "WhichRight",
        "first_is",
    ),
    Mutant(
        "two answers that change places may differ by one part of ONE more",
        "WhichCheck",
        "fits one y d t q",
        "fits one y d (t - 1) q",
        "WhichRight",
        "first_is",
    ),
    Mutant(
        "rows of neighbouring distances are not compared",
        "WhichCheck",
        "[] => true end && neighbours_private rows",
        "[] => true end || neighbours_private rows",
        "WhichRight",
        "neighbours_are",
    ),
    Mutant(
        "the least of each other answer may be one part more",
        "WhichCheck",
        "(Qnum above + (k - 1) * Zpos (Qden above))).",
        "(Qnum above + (k - 1) * Zpos (Qden above))) + 1.",
        "WhichRight",
        "least_other_least",
    ),
]


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    if not shutil.which("coqc") or not (PROOFS / "CheckComplete.vo").exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("the proofs are not compiled: `make proofs` does that")


def compiled(name: str, folder: Path) -> str:
    """The lemma at which the compilation of a file stops; nothing if it does not."""
    command = ["coqc", "-q", "-Q", ".", "Duotone", f"{name}.v"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if not done.returncode:
        return ""
    stopped = re.search(rf'^File "\./{name}\.v", line (\d+), characters [\d-]+:\nError', done.stderr, flags=re.MULTILINE)
    assert stopped, done.stderr
    before = (folder / f"{name}.v").read_text(encoding="utf-8").splitlines()[: int(stopped[1])]
    lemmas: list[str] = re.findall(r"^(?:Theorem|Lemma) (\w+)", "\n".join(before), flags=re.MULTILINE)
    return lemmas[-1]


def fails_at(mutant: Mutant, folder: Path) -> str:
    """Where the proof of a weaker checker stops; all other files are as compiled."""
    for file in PROOFS.glob("*.vo"):
        (folder / file.name).symlink_to(file)
    between = BETWEEN if (mutant.file, mutant.proof) == ("LineCheck", "LineCertificate") else ()
    for name in {mutant.file, *between, mutant.proof}:
        (folder / f"{name}.vo").unlink()
        shutil.copy(PROOFS / f"{name}.v", folder)
    text = (PROOFS / f"{mutant.file}.v").read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1, f"{mutant.old!r} does not stand once in {mutant.file}.v"
    (folder / f"{mutant.file}.v").write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    for name in (mutant.file, *between) if mutant.file != mutant.proof else ():
        assert not compiled(name, folder)
    return compiled(mutant.proof, folder)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.weaker)
def test_a_weaker_checker_is_not_proved(mutant: Mutant, tmp_path: Path) -> None:
    assert fails_at(mutant, tmp_path) == mutant.lemma


def test_the_checker_itself_is(tmp_path: Path) -> None:
    """The same way of compiling, with nothing changed."""
    assert not fails_at(Mutant("", "LineCheck", "Section Check.", "Section Check.", "LineCertificate", ""), tmp_path)


def test_the_page_lists_them() -> None:
    rows = [f"| {mutant.weaker} | `{mutant.file}` | `{mutant.lemma}` |" for mutant in MUTANTS]
    page = PAGE[PAGE.index("| the checker, made weaker |") :].split("\n\n")[0].splitlines()[2:]
    assert page == rows
    assert len(rows) >= 10
