"""Votes of yes or no: datasets as numbers, weights as whole numbers, and how often a mechanism is wrong over all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from duotone.errors import DuotoneError
from duotone.line.mechanism import LineMechanism
from duotone.privacy.definition import Array
from duotone.privacy.numbers import Given, Number, number


def datasets_of(datasets: Any, voters: int) -> Array:
    """Datasets as numbers, checked."""
    x = np.asarray(datasets)
    if x.size and not (np.issubdtype(x.dtype, np.integer) and 0 <= x.min() <= x.max() < 2**voters):
        raise DuotoneError(f"a dataset of {voters} voters is a whole number from 0 to {2**voters - 1}")
    return x.astype(np.int64)


def whole_weights(weights: Sequence[Given], threshold: Given) -> tuple[list[int], int]:
    """Weights and their threshold as whole numbers, exactly: the same rule."""
    numbers = [number(w, "weight") for w in (*weights, threshold)]
    if not all(math.isfinite(w) for w in numbers):
        raise DuotoneError("weights and the threshold must be finite numbers")
    exact = [Fraction(w) for w in numbers]
    scale = math.lcm(*(w.denominator for w in exact))
    *scaled, least = (int(w * scale) for w in exact)
    if not sum(map(abs, (*scaled, least))) < 2**62:
        raise DuotoneError("the weights span too many digits: their sum, as whole numbers, must stay below 2^62")
    return scaled, least


def mean_error(histogram: Mapping[float, int], mechanism: LineMechanism) -> Number:
    """How often a mechanism is wrong on average over all datasets, of which so many have each level.

    >>> from duotone import ApproxDP, balanced
    >>> of_three_voters = {-2: 1, -1: 3, 0: 3, 1: 1}
    >>> mean_error(of_three_voters, balanced(ApproxDP(exp_epsilon=2, delta="1/10")))
    Fraction(1, 4)
    """
    if not sum(histogram.values()) > 0:
        raise DuotoneError("the histogram has no dataset")
    wrong = sum(count * mechanism.error(level) for level, count in histogram.items())
    return wrong / sum(histogram.values())  # type: ignore[no-any-return]
