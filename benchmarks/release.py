"""Answers per second, side by side in one run: Duotone, the limits above it, and its peers. Usage: release.py [ANSWERS]."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import measure
import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numba import njit

from duotone import ApproxDP, Coin, balanced, partition_selection

PRIVACY = ApproxDP(1, "1e-6")


def rate(work: Callable[[], Any], answers: int, repeats: int = 7) -> float:
    """Median answers per second; the first call, which compiles, is not counted."""
    return answers / measure.timed(work, repeats)[0]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def bare_loop(levels: Any, lowest: int, top: Any, random: Any, out: Any) -> int:
    """A key-stream byte and a table look-up per answer, ties only counted: the physical limit."""
    ties = 0
    for i in range(len(levels)):
        threshold = top[levels[i] - lowest]
        out[i] = random[i] < threshold
        ties += random[i] == threshold
    return ties


def bare(coin: Coin, levels: Any) -> Any:
    """The bare loop under one key, in the same chunks."""
    encryptor = Cipher(algorithms.AES(os.urandom(16)), modes.CTR(os.urandom(16))).encryptor()
    zeros, random = np.zeros(2**18, dtype=np.uint8), np.empty(2**18 + 16, dtype=np.uint8)
    out = np.empty(len(levels), dtype=np.bool_)
    for start in range(0, len(levels), 2**18):
        chunk = levels[start : start + 2**18]
        encryptor.update_into(zeros[: len(chunk)].data, random.data)
        bare_loop(chunk, coin._lowest, coin._top, random, out[start : start + 2**18])
    return out


def insecure_numpy(table: Any, lowest: int, levels: Any) -> Any:
    """numpy's own generator and floats: neither secure nor exact."""
    return np.random.default_rng().random(len(levels)) < table[levels - lowest]


def main(n: int) -> None:
    warnings.simplefilter("ignore")
    coin = Coin(balanced(PRIVACY))
    bits = coin.table.bits
    table = np.array([row[0] / 2**bits for row in coin.table.entries])
    rng = np.random.default_rng(1)
    levels = rng.integers(coin._lowest, coin._highest + 1, n)
    narrow = levels.astype(np.int32)
    rates = {
        "bare loop of key-stream bytes and look-ups (limit)": rate(lambda: bare(coin, levels), n),
        "the same, 32-bit levels (limit)": rate(lambda: bare(coin, narrow), n),
        "Duotone, batch": rate(lambda: coin.answers(levels), n),
        "Duotone, batch, 32-bit levels": rate(lambda: coin.answers(narrow), n),
        "Duotone, batch of margins": rate(lambda: coin.margins(levels), n),
        "numpy table and PCG64 (insecure)": rate(lambda: insecure_numpy(table, coin._lowest, levels), n),
        "Duotone, one answer a call": rate(lambda: [coin.answer(3) for _ in range(50_000)], 50_000),
    }
    rates |= peers(rng)
    limit, batch = rates["bare loop of key-stream bytes and look-ups (limit)"], rates["Duotone, batch"]
    print(f"{measure.machine()}; one core, medians of up to 7")
    for name, value in rates.items():
        print(f"{value:>14.3g} a second  {value / batch:>10.3g} of Duotone's batch   {name}")
    secure = max(value for name, value in rates.items() if name.startswith(("OpenDP", "python-dp")))
    narrow_share = rates["Duotone, batch, 32-bit levels"] / rates["the same, 32-bit levels (limit)"]
    print(f"batch / limit: {batch / limit:.2f}, with 32-bit levels {narrow_share:.2f} (goal 0.5)")
    print(f"batch / fastest secure peer: {batch / secure:.0f} (goal 100)")
    scalar = rates["Duotone, one answer a call"] / rates["OpenDP randomised response, one a call"]
    print(f"one answer / OpenDP's scalar call: {scalar:.0f} (goal 10)")


def peers(rng: Any) -> dict[str, float]:
    """Other libraries, used as their documents say."""
    import opendp.prelude as dp
    from diffprivlib.mechanisms import Binary
    from pydp.algorithms.partition_selection import create_truncated_geometric_partition_strategy

    dp.enable_features("contrib")
    response = dp.m.make_randomized_response_bool(prob=0.75)
    vector = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=4), dp.discrete_distance(), f=0.5)
    packed = np.packbits(rng.integers(0, 2, 100_000).astype(bool)).tobytes()
    binary = Binary(epsilon=1.0, value0="no", value1="yes")
    strategy = create_truncated_geometric_partition_strategy(1.0, 1e-6, 1)
    groups = Coin(partition_selection(PRIVACY))
    sizes = rng.integers(1, 30, 100_000)
    few = sizes.tolist()
    return {
        "OpenDP randomised response, one a call": rate(lambda: [response(True) for _ in range(5_000)], 5_000),
        "OpenDP randomised response, bit vector": rate(lambda: vector(packed), 100_000, 3),
        "diffprivlib Binary (floats)": rate(lambda: [binary.randomise("yes") for _ in range(20_000)], 20_000),
        "python-dp should_keep": rate(lambda: [strategy.should_keep(n) for n in few], len(few)),
        "Duotone, the same groups": rate(lambda: groups.answers(sizes - 1), len(few)),
    }


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7)
