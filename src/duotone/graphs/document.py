"""Documents: the JSON that `design` prints and `check` reads back."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from duotone.errors import DuotoneError
from duotone.graphs.graph import ColouredGraph
from duotone.graphs.mechanism import Mechanism
from duotone.graphs.morphism import line_of
from duotone.line.rows_json import RowsJson
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Number, complement, probability, show

LONGEST_INTEGER = 40
"""Most characters of a number in a file, if it is not text: more than we ever write."""


def document(mechanism: Mechanism, privacy: ApproxDP) -> dict[str, Any]:
    """A mechanism as a JSON object: exact probabilities as fractions in strings, others as numbers.

    Guarantee: `from_document` returns the same probabilities, to the last bit. If Pr[yes] is a float too close to 1 to
    determine Pr[no], `no` is written as well.
    """
    return _written(mechanism, privacy).as_dict()


def document_text(mechanism: Mechanism, privacy: ApproxDP) -> Iterator[str]:
    """`json.dumps` of that document in pieces, without ever holding all of it."""
    return _written(mechanism, privacy).text()


def from_document(data: Any) -> tuple[Mechanism, ApproxDP]:
    """The mechanism of a document and the privacy definition claimed for it. Nothing in it is trusted: check the
    mechanism.

    The definition is the document's exp_epsilon and delta; its epsilon is for reading only.
    """
    try:
        datasets: Mapping[str, Any] = data["datasets"]
        graph = ColouredGraph([(a, b) for a, b in data["edges"]], {d: entry["colour"] for d, entry in datasets.items()})
        truth = [_truth(d, entry) for d, entry in datasets.items()]
        privacy = ApproxDP.from_exp_epsilon(data["privacy"]["exp_epsilon"], data["privacy"]["delta"])
    except DuotoneError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DuotoneError(f"not the JSON document of a mechanism: {_what(error)}") from None
    return Mechanism(graph, tuple(truth)), privacy


def read(path: str | Path) -> Any:
    """Read a JSON file in UTF-8 strictly: names are unique within an object, and numbers are finite and short."""
    try:
        return parsed(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DuotoneError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise DuotoneError(f"{path} is not JSON") from None


def parsed(text: str) -> Any:
    """Parse JSON text strictly; a ValueError says what is wrong."""
    return json.loads(text, object_pairs_hook=_once, parse_int=_short, parse_float=_finite, parse_constant=_finite)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name occurs twice in an object")
    return dict(pairs)


def _short(digits: str) -> int:
    if len(digits) > LONGEST_INTEGER:
        raise ValueError("a number is too long")
    return int(digits)


def _finite(text: str) -> float:
    value = float(text) if len(text) <= LONGEST_INTEGER else math.inf
    if not math.isfinite(value):
        raise ValueError("a number is not finite, or too long")
    return value


def _truth(d: str, entry: Mapping[str, Any]) -> Number:
    yes = probability(entry["yes"], f"the probability at {d}")
    if entry["colour"] == "blue":
        return yes
    no = probability(entry["no"], f"the probability of no at {d}") if "no" in entry else complement(yes)
    excess = Fraction(yes) + Fraction(no) - 1
    if not abs(excess) <= (0 if isinstance(yes, Fraction) else Fraction(1, 2**52)):
        raise DuotoneError(f"yes and no at {d} do not sum to 1")
    return no


def _written(mechanism: Mechanism, privacy: ApproxDP) -> RowsJson:
    graph, truth = mechanism.graph, mechanism.truth
    blue, red = line_of(graph)
    infinite = max(blue, red)  # no finite distance is as large
    shape = len(truth.values), 2, infinite + 1
    kinds = np.ravel_multi_index((truth.places, graph.blue.view(np.int8), np.minimum(graph.distances, infinite)), shape)
    different, places = np.unique(kinds, return_inverse=True)
    entries = [
        _entry(truth.values[value], bool(colour), None if distance == infinite else distance)
        for value, colour, distance in zip(*(index.tolist() for index in np.unravel_index(different, shape)), strict=True)
    ]
    before = {
        "privacy": {
            "exp_epsilon": show(privacy.exp_epsilon),
            "epsilon": privacy.epsilon,
            "delta": _text_if_exact(privacy.delta),
        },
        "line": {"blue": blue, "red": red},
    }
    return RowsJson(before, "datasets", entries, places, graph)


def _entry(truth: Number, blue: bool, distance: int | None) -> dict[str, Any]:
    """A document's entry for a dataset, by its distance to the boundary."""
    error = 1 - truth
    yes = truth if blue else error
    entry = {
        "colour": "blue" if blue else "red",
        "level": distance if blue or distance is None else -1 - distance,
        "yes": _text_if_exact(yes),
        "error": _text_if_exact(error),
    }
    return entry if blue or complement(yes) == truth else {**entry, "no": _text_if_exact(truth)}


def _text_if_exact(x: Number) -> str | float:
    return show(x) if isinstance(x, Fraction) else x


def _what(error: Exception) -> str:
    return f"no {error.args[0]!r} in it" if isinstance(error, KeyError) else "it has another shape"
