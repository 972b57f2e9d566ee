"""The noise of n counts that share (1, 10^-6), by Tumult Core: a budget of zero-concentrated privacy, split evenly."""

import json
from fractions import Fraction

from tmlt.core.measurements.converters import RhoZCDPToApproxDP
from tmlt.core.measurements.noise_mechanisms import AddDiscreteGaussianNoise
from tmlt.core.measures import RhoZCDP
from tmlt.core.utils.exact_number import ExactNumber
from tmlt.core.utils.parameters import calculate_noise_scale

LIMIT = ExactNumber(1), ExactNumber("1/1000000")


def fits(rho: Fraction) -> bool:
    """Whether this much zero-concentrated privacy is (1, 10^-6)-private."""
    one = AddDiscreteGaussianNoise(ExactNumber(f"{1 / (2 * rho)}"))
    return RhoZCDPToApproxDP(one).privacy_relation(ExactNumber(1), LIMIT)


low, high = 1, 2**14
while high - low > 1:
    middle = (low + high) // 2
    low, high = (middle, high) if fits(Fraction(middle, 2**16)) else (low, middle)
rho = Fraction(low, 2**16)
scales = {
    n: calculate_noise_scale(1, ExactNumber(f"{rho / n}"), RhoZCDP()).to_float(round_up=True) for n in (10, 100, 1000, 10_000)
}
print(json.dumps({"Tumult, zCDP": ["gaussian", scales]}))
