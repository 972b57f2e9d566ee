"""Both checkers of certificates: the package's, and the tool that shares no code with it."""

from __future__ import annotations

import importlib.util
import itertools
import json
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from duotone import ApproxDP, balanced, partition_selection, prove, with_boundary
from duotone.ledger.close_calls import CloseCalls, Grid, deltas
from duotone.line.table import line_table
from duotone.line.three_way import ThreeWay
from duotone.release.certificate import Unproved

TOOL = Path(__file__).parents[2] / "tools" / "check_certificate.py"
_spec = importlib.util.spec_from_file_location("check_certificate", TOOL)
assert _spec is not None
assert _spec.loader is not None
tool = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tool)

REFUSED_BY_THE_TOOL = (SystemExit, LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)


def accepted_by_the_package(certificate: Any) -> bool:
    try:
        prove(certificate)
    except Unproved:
        return False
    return True


def accepted_by_the_tool(certificate: Any) -> bool:
    try:
        tool.check(certificate)
    except REFUSED_BY_THE_TOOL:
        return False
    return True


CHECKERS: list[Callable[[Any], bool]] = [accepted_by_the_package, accepted_by_the_tool]


def both_reject(certificate: dict[str, Any]) -> bool:
    return not any(check(json.loads(json.dumps(certificate))) for check in CHECKERS)


def small_close_calls(budget: ApproxDP, question: ThreeWay, jump: int = 2, levels: int = 6) -> dict[str, Any]:
    """A certificate of as many close calls as coarse nodes show to fit, and of the first few levels of the table: beyond these
    it stays as it is."""
    grid = Grid.of(budget, question, jump)
    bounds = [*itertools.takewhile(lambda bound: bound <= budget.delta, deltas(budget, grid))]
    certificate = CloseCalls(budget, question, len(bounds), bounds[-1], grid).certificate()
    clear = clear_of(certificate)[:levels]
    return json.loads(json.dumps({**certificate, **sides_of(certificate, clear)}))  # type: ignore[no-any-return]


def clear_of(certificate: dict[str, Any]) -> list[str]:
    """Of close calls: the numbers of a clear right answer, by distance to the boundary."""
    return [row["numbers"][0] for row in certificate["rows"][-certificate["lowest"] :]]


def sides_of(certificate: dict[str, Any], clear: list[str]) -> dict[str, Any]:
    """Of close calls: the rows of both sides, of these numbers of a clear right answer."""
    one = 2 ** certificate["bits"]
    wrong = Fraction(certificate["wrong"]) * one // 1
    side = [[each, str(one - int(each) - wrong), str(wrong)] for each in clear]
    rows = [*(row[::-1] for row in side[::-1]), *side]
    return {"lowest": -len(clear), "rows": [{"numbers": row} for row in rows]}


def truths(certificate: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Of a line: the numbers of the truth, by distance to the boundary, where it is yes and where it is no."""
    lowest, rows = certificate["lowest"], [[int(each) for each in row["numbers"]] for row in certificate["rows"]]
    return [row[0] for row in rows[-lowest:]], [row[1] for row in rows[:-lowest][::-1]]


def row_of(truth: int, one: int, *, yes: bool) -> dict[str, Any]:
    """A row whose truth has this number, with its error."""
    numbers = [truth, one - truth] if yes else [one - truth, truth]
    return {"numbers": [str(each) for each in numbers], "error": repr(float(1 - Fraction(truth, one)))}


def random_lines(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Certificates of random mechanisms on the line."""
    rng = random.Random(seed)
    for _ in range(count):
        delta: Any = rng.choice([0, "1/10", "1e-3", 1e-6, Fraction(1, 3)])
        ratio = str(Fraction(rng.randrange(150, 900), 100))
        privacy = ApproxDP(exp_epsilon=ratio, delta=delta) if rng.random() < 0.5 else ApproxDP(rng.uniform(0.5, 6), delta)
        value = Fraction(rng.randrange(101), 100)
        line = rng.choice([balanced(privacy), partition_selection(privacy), with_boundary(privacy, value)])
        yield json.loads(json.dumps(line_table(line).certificate()))


def change(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Puts a value at a place of a certificate, by the names on the way to it."""

    def apply(certificate: dict[str, Any]) -> None:
        *way, last = path.split(".")
        for key in way:
            certificate = certificate[key]
        certificate[last] = value

    return apply
