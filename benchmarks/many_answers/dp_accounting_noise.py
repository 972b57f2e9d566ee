"""The noise of n counts that share (1, 10^-6), as little as dp-accounting's privacy loss distributions allow."""

import json

import dp_accounting
from dp_accounting import pld

EVENTS = {"gaussian": dp_accounting.GaussianDpEvent, "laplace": dp_accounting.LaplaceDpEvent}


def scale(kind: str, answers: int) -> float:
    """The least scale at which so many are (1, 10^-6)-private together."""
    calibrated = dp_accounting.calibrate_dp_mechanism(
        pld.PLDAccountant,
        lambda scale: dp_accounting.SelfComposedDpEvent(EVENTS[kind](scale), answers),
        1.0,
        1e-6,
        bracket_interval=dp_accounting.ExplicitBracketInterval(2 * answers**0.5, 10 * answers**0.5),
        tol=1e-2,
    )
    return float(calibrated)


found = {
    "dp-accounting, Gaussian": ["gaussian", {n: scale("gaussian", n) for n in (10, 100, 1_000, 10_000)}],
    "dp-accounting, Laplace": ["laplace", {n: scale("laplace", n) for n in (10, 100)}],  # more is beyond its grid
}
print(json.dumps(found))
