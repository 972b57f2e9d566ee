"""A certificate of answers that share a budget proves that: both checkers agree, on true ones and on every spoilt number."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, balanced, prove
from duotone.line.choice import MOST_SHARED, shared_by
from duotone.line.table import line_table
from duotone.model.terms import DefiniteTerms
from duotone.privacy.renyi import Shared
from duotone.release.certificate import Unproved

CHECKER = Path(__file__).parents[2] / "tools" / "check_certificate.py"


def both(certificate: Any, folder: Path) -> bool:
    """Whether it is proved, if both checkers agree."""
    file = folder / "c.json"
    file.write_text(json.dumps(certificate))
    done = subprocess.run([sys.executable, str(CHECKER), str(file)], capture_output=True, text=True, check=False)
    try:
        said = prove(certificate)
    except Unproved:
        said = ""
    assert bool(said) is done.stdout.startswith("PROVED"), (said, done.stdout, done.stderr)
    if said:
        assert "answers are private together under" in said
        assert "such answers together under" in done.stdout
    return bool(said)


@pytest.mark.slow
@pytest.mark.parametrize("at_least", [0, 1])
@pytest.mark.parametrize("privacy", [ApproxDP(1, "1e-6"), ApproxDP(exp_epsilon=2, delta="1e-4")], ids=str)
def test_what_is_shared_is_proved(privacy: ApproxDP, at_least: int, tmp_path: Path) -> None:
    terms = DefiniteTerms(privacy, 20, at_least=at_least, shared=Shared.of(privacy, 20))
    certificate = json.loads(json.dumps(terms.certificate()))
    assert both(certificate, tmp_path)

    def spoilt(**change: Any) -> bool:
        other = copy.deepcopy(certificate)
        other["together"] |= change
        return both(other, tmp_path)

    assert spoilt(answers=19)
    assert spoilt(delta="1/1000")
    for change in (
        {"answers": 21},
        {"answers": 0},
        {"answers": "20"},
        {"answers": 10**9},
        {"answers": None},
        {"delta": "1e-7"},
    ):
        assert not spoilt(**change)
    smaller = {"epsilon": None, "ratio": "3/2"}
    assert not spoilt(**smaller)
    assert not both({**certificate, "together": {}}, tmp_path)
    assert not both({**certificate, "together": []}, tmp_path)


def test_as_many_share_as_can_be_proved(tmp_path: Path) -> None:
    privacy = ApproxDP(8, "1e-9")
    most = shared_by(privacy, MOST_SHARED, selected=True)
    assert most is not None
    assert both(json.loads(json.dumps(DefiniteTerms(privacy, MOST_SHARED, shared=most).certificate())), tmp_path)
    assert shared_by(privacy, MOST_SHARED + 1, selected=True) is None
    assert shared_by(privacy, 10**6, selected=False, margins=False) is None
    more = DefiniteTerms(privacy, 10**5, shared=Shared.of(privacy, 10**5)).certificate()
    assert not both(json.loads(json.dumps(more)), tmp_path)


def test_only_one_order_shares_by_prices(tmp_path: Path) -> None:
    usual = ApproxDP(1, "1e-6")
    certificate = line_table(balanced(usual)).certificate()
    together = DefiniteTerms(usual, 20, shared=Shared.of(usual, 20)).certificate()["together"]
    assert not both({**certificate, "together": together}, tmp_path)
