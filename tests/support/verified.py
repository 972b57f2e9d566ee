"""The checker that Coq has proved, where `make proofs` has built it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

CHECKER = Path(__file__).parents[2] / "tools" / "verified-check"


def said(files: list[Path]) -> list[str]:
    """A line for each certificate."""
    if not CHECKER.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("tools/verified-check is not built: `make proofs` does that")
    lines: list[str] = []
    for start in range(0, len(files), 1000):
        done = subprocess.run([CHECKER, *files[start : start + 1000]], capture_output=True, text=True, check=False)
        assert not done.stderr
        lines += done.stdout.splitlines()
    assert len(lines) == len(files)
    return lines


def verdicts(texts: list[str], folder: Path) -> list[bool]:
    """What the proved checker says of each."""
    files = [folder / f"{number}.json" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8", errors="surrogatepass")
    return [line.startswith("PROVED: ") for line in said(files)]
