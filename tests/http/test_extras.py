"""What the service's extra installs is enough for all that it promises; libraries that others of our extras bring are away."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.running import PATIENCE

ONLY = Path(__file__).parents[1] / "support" / "only_extras.py"
DEMO = """
import duotone
from duotone.http.demo import running
with running() as (address, tokens), duotone.connect(address, token=tokens["ana"]) as office:
    print(office.ask("chile", "avg(age) > 30", epsilon="0.5", delta="1e-6"))
"""
AWAY = """
for name in ("matplotlib", "numba", "scipy", "pyspark"):
    try:
        __import__(name)
    except ModuleNotFoundError:
        print(name)
"""


def said(extras: str, program: str) -> str:
    done = subprocess.run(
        [sys.executable, ONLY, extras, program], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_demonstration_needs_no_other_extra() -> None:
    assert said("service", DEMO) == "yes\n"


@pytest.mark.slow
def test_what_is_no_extra_of_it_is_away() -> None:
    assert said("cli", AWAY).split() == ["matplotlib", "numba", "scipy", "pyspark"]
