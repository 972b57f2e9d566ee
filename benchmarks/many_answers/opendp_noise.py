"""The noise of n counts that share (1, 10^-6), by OpenDP: Gaussian by zero-concentrated privacy, or Laplace by a split of ε."""

import json
import math

import opendp.prelude as dp

dp.enable_features("contrib")
SPACE = dp.atom_domain(T=int), dp.absolute_distance(T=int)


def gaussian(answers: int) -> float:
    """The least scale at which so many are (1, 10^-6)-private together."""
    low, high = 1.0, 10_000.0
    while high / low > 1.0001:
        scale = math.sqrt(low * high)
        together = dp.c.make_composition([dp.m.make_gaussian(*SPACE, scale=scale)] * answers)
        epsilon = dp.c.make_zCDP_to_approxDP(together).map(1).epsilon(delta=1e-6)
        low, high = (low, scale) if epsilon <= 1 else (scale, high)
    return high


def laplace(answers: int) -> float:
    """What a context that splits ε evenly over so many queries takes."""
    noise = dp.binary_search_chain(lambda scale: dp.m.make_laplace(*SPACE, scale=scale), 1, 1 / answers, T=float)
    return 1 / noise.map(1)


COUNTS = 10, 100, 1_000, 10_000
found = {"gaussian": {n: gaussian(n) for n in COUNTS}, "laplace": {n: laplace(n) for n in COUNTS}}
print(
    json.dumps({"OpenDP, Gaussian by zCDP": ["gaussian", found["gaussian"]], "OpenDP, ε split": ["laplace", found["laplace"]]})
)
