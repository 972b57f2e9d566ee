"""Coins that say what is less likely, with which `make exhaustive` looks for tests that pass by luck."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from support import TESTS

SAID = """
import os, json, sys, warnings
sys.path.insert(0, sys.argv[1])
from support import contrary
contrary.install()
assert contrary.COIN not in sys.modules
import numpy as np
from duotone import ApproxDP, Coin, balanced
from duotone.release.coin import insecure_test_seed
coin = Coin(balanced(ApproxDP(1, "1e-6")))
levels = [0, 13, 14, 99, -1, -14, -15, -99]
said = {"one": [bool(coin.answer(level)) for level in levels], "many": coin.answers(np.array(levels)).tolist()}
said["margins"] = coin.margins(np.array(levels)).tolist()
warnings.simplefilter("ignore")
with insecure_test_seed(1):
    said["seeded"] = [bool(coin.answer(0)) for _ in range(99)]
os.urandom = bytes
said["dictated"] = [bool(coin.answer(level)) for level in levels]
print(json.dumps(said))
"""


@pytest.mark.slow
def test_contrary_coins_say_what_is_less_likely_unless_a_test_decides() -> None:
    command = [sys.executable, "-c", SAID, str(TESTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    assert said["one"] == said["many"] == [False, False, True, True, True, True, False, False]
    assert [margin >= 0 for margin in said["margins"]] == said["many"]
    assert 0 < sum(said["seeded"]) < 99
    assert said["dictated"] == [True, True, True, True, True, True, False, False]  # the lowest bits are below every chance
