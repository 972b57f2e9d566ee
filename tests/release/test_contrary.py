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
from duotone.graphs import families
from duotone.graphs.table import graph_table
coin = Coin(balanced(ApproxDP(1, "1e-6")))
levels = [0, 13, 14, 99, -1, -14, -15, -99]
said = {"one": [bool(coin.answer(level)) for level in levels], "many": coin.answers(np.array(levels)).tolist()}
said["margins"] = coin.margins(np.array(levels)).tolist()
said["within"] = coin.margins(np.array([99, -99, 99]), np.array([100, 100, 5])).tolist()
said["answers within"] = coin.answers(np.array([99, -99, 99]), np.array([100, 100, 5])).tolist()
votes = families.votes(3).graph()
weak, none = ApproxDP(exp_epsilon=2, delta="1/10"), ApproxDP(exp_epsilon=10**15, delta="999/1000")
graphs = [Coin(graph_table(votes, privacy)) for privacy in (weak, none)]
said["names"] = [bool(graphs[0].answer(name)) for name in votes.names]
said["numbers"] = [coin.answers(np.arange(len(votes))).tolist() for coin in graphs]
said["majority"] = [name.count("1") >= 2 for name in votes.names]
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
    assert [margin >= 0 for margin in said["within"]] == [True, False, False]
    assert said["answers within"] == [True, False, False]
    assert said["names"] == said["numbers"][0] == [not truth for truth in said["majority"]]
    assert said["numbers"][1] == said["majority"]  # where a wrong answer as good as never happens
    assert 0 < sum(said["seeded"]) < 99
    assert said["dictated"] == [True, True, True, True, True, True, False, False]  # the lowest bits are below every chance
