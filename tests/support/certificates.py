"""Both checkers of certificates, the package's and the tool that shares no code with it; valid certificates, and
damaged ones."""

from __future__ import annotations

import copy
import importlib.util
import itertools
import json
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from duotone import ApproxDP, ColouredGraph, balanced, partition_selection, prove, with_boundary
from duotone.graphs.document import parsed
from duotone.graphs.table import graph_table
from duotone.ledger.close_calls import CloseCalls, Grid, deltas
from duotone.line.table import line_table
from duotone.line.three_way import ThreeWay
from duotone.line.which import Which
from duotone.privacy.renyi import RenyiDP
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
    """A certificate of as many close calls as coarse nodes can prove to fit, and of the first few levels of the table,
    after which it is constant."""
    grid = Grid.of(budget, question, jump)
    bounds = [*itertools.takewhile(lambda bound: bound <= budget.delta, deltas(budget, grid))]
    certificate = CloseCalls(budget, question, len(bounds), bounds[-1], grid).certificate()
    clear = clear_of(certificate)[:levels]
    return json.loads(json.dumps({**certificate, **sides_of(certificate, clear)}))  # type: ignore[no-any-return]


def clear_of(certificate: dict[str, Any]) -> list[str]:
    """For close calls: the numbers of a clear right answer, by distance to the boundary."""
    return [row["numbers"][0] for row in certificate["rows"][-certificate["lowest"] :]]


def sides_of(certificate: dict[str, Any], clear: list[str]) -> dict[str, Any]:
    """For close calls: the rows of both sides, from these numbers of a clear right answer."""
    one = 2 ** certificate["bits"]
    wrong = Fraction(certificate["wrong"]) * one // 1
    side = [[each, str(one - int(each) - wrong), str(wrong)] for each in clear]
    rows = [*(row[::-1] for row in side[::-1]), *side]
    return {"lowest": -len(clear), "rows": [{"numbers": row} for row in rows]}


def truths(certificate: dict[str, Any]) -> tuple[list[int], list[int]]:
    """For a line: the numbers of the truth, by distance to the boundary, for a true yes and for a true no."""
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
    """Set a value of a certificate, by the names on the path to it."""

    def apply(certificate: dict[str, Any]) -> None:
        *way, last = path.split(".")
        for key in way:
            certificate = certificate[key]
        certificate[last] = value

    return apply


def package_accepts(text: str) -> bool:
    try:
        certificate = parsed(text)
    except (ValueError, RecursionError):
        return False
    return accepted_by_the_package(certificate)


def tool_accepts(text: str) -> bool:
    try:
        certificate = tool.parsed(text)
        tool.check(certificate)
        tool.budget(certificate)
    except REFUSED_BY_THE_TOOL:
        return False
    return True


def good() -> list[dict[str, Any]]:
    path = ColouredGraph(
        [("1", "2"), ("2", "3"), ("3", "4"), ("4", "5")], dict(zip("12345", ["blue"] * 3 + ["red"] * 2, strict=True))
    )
    fork = ColouredGraph([("a", "r"), ("r", "b"), ("b", "c")], {"a": "blue", "b": "blue", "c": "blue", "r": "red"})
    alone = ColouredGraph([("a", "b")], {"a": "red", "b": "red"})
    exact, rounded, step = ApproxDP(exp_epsilon=2, delta="1/10"), ApproxDP("1/2", "1/5"), ApproxDP(exp_epsilon="1.1")
    tables = [
        line_table(balanced(exact)),
        line_table(balanced(rounded)),
        line_table(partition_selection(exact)),
        line_table(with_boundary(rounded, "1/3")),
        line_table(balanced(exact)).unclipped(),
        line_table(balanced(ApproxDP(exp_epsilon=64))),  # whose noise has no ends
        line_table(with_boundary(ApproxDP(exp_epsilon=64), 1)),
        graph_table(path, exact),
        graph_table(path, rounded, "3/5"),
        graph_table(fork, exact, {"a": "3/10", "b": "7/10"}),
        graph_table(fork, step, {"a": "0.6", "b": step.iterate("0.6", 2)[0]}),
        graph_table(fork, ApproxDP(0, 0), "1/2"),
        graph_table(alone, exact),
    ]
    calls = [
        small_close_calls(ApproxDP(exp_epsilon=8, delta="2/5"), ThreeWay(ApproxDP(exp_epsilon=2), "1/8")),
        small_close_calls(ApproxDP(1, "1/3"), ThreeWay(ApproxDP("1/2"), "0.01"), jump=1),
    ]
    return [*(json.loads(json.dumps(table.certificate())) for table in tables), *calls]


def good_renyi() -> list[dict[str, Any]]:
    """The same under one Rényi order."""
    fork = ColouredGraph([("a", "r"), ("r", "b"), ("b", "c")], {"a": "blue", "b": "blue", "c": "blue", "r": "red"})
    pure, with_delta, loose = RenyiDP(20, "7/5"), RenyiDP(20, "6/5", "1/20"), RenyiDP(3, 40, "1/10")
    tables = [
        line_table(balanced(pure)),
        line_table(balanced(loose)),
        line_table(with_boundary(with_delta, "1/3")),
        line_table(partition_selection(with_delta)),
        graph_table(fork, pure),
        graph_table(fork, loose, "3/5"),
        graph_table(fork, with_delta, {"a": "0.45", "b": "0.5"}),
        graph_table(fork, pure, {"a": "0.5", "b": pure.step(pure.step(0.5))}),
    ]
    return [json.loads(json.dumps(table.certificate())) for table in tables]


def good_which() -> list[dict[str, Any]]:
    """Of one answer among k: in both kinds, with and without a δ, and under one Rényi order."""
    exact, step = ApproxDP(exp_epsilon=2, delta="1/10"), ApproxDP(exp_epsilon=64)
    mechanisms = [
        Which(exact, 3),
        Which(exact, 4, ordered=True),
        Which(ApproxDP("1/2", "1/5"), 5, ordered=True),
        Which(step, 2),
        Which(step, 6),
        Which(step, 3, ordered=True),
        Which(ApproxDP(0, "1/4"), 7, ordered=True),
        Which(RenyiDP(3, 40, "1/10"), 4),
        Which(RenyiDP(20, "7/5"), 3),
    ]
    return [json.loads(json.dumps(each.certificate())) for each in mechanisms]


JUNK: list[Any] = [
    None, True, False, 0, 1, 2, -1, 128, 64, 0.0, 1.0, 0.5, 1e300, "", "0", "1", "2", "1/2", "3/10", "0.5", "1.0", "nan", "inf",
    "-0", "1/0", "0/0", "1e5000", "1e5001", "1e-5000", "1e99999", "1E0", "balanced", "selection", "blue", "red", "yes",
    "no", "too close to call", "duotone", ["yes", "no"], ["no", "yes"], ["yes", "too close to call", "no"],
    "a", "b", "r", "1 ", " 1", "+1", "1_0", "\u0661", "\uff11", "\u00b2", "x" * 30_000, "1" * 20_001, "1" * 4_400, [], {}, [[]],
    ["a"], ["a", "b"], ["a", "b", "c"], ["a", "a"], {"a": "b"}, [None], ["0"], ["1", "2"], "ab", "2^-60", [0, 1], {"h": "1/2"},
    {"answers": 3, "ordered": False}, ["0", "others"],
]  # fmt: skip


def places(node: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every position in a JSON value."""
    for key in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
        yield (*way, key)
        yield from places(node[key], (*way, key))


def inside(certificate: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        certificate = certificate[key]
    return certificate


def replaced(certificate: Any, way: tuple[Any, ...], rng: random.Random) -> None:
    inside(certificate, way[:-1])[way[-1]] = copy.deepcopy(rng.choice(JUNK))


def removed(certificate: Any, way: tuple[Any, ...], rng: random.Random) -> None:
    del inside(certificate, way[:-1])[way[-1]]


def added(certificate: Any, way: tuple[Any, ...], rng: random.Random) -> None:
    holder, new = inside(certificate, way[:-1]), copy.deepcopy(rng.choice([*JUNK, inside(certificate, way)]))
    if isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), new)
    else:
        holder[rng.choice(["z", "extra", "basis", "a", "1", "", "\u0661", str(way[-1]) + " "])] = new


def respelled(certificate: Any, way: tuple[Any, ...], rng: random.Random) -> None:
    """The same number, or nearly, in other characters."""
    text = str(inside(certificate, way))
    at = rng.randrange(len(text) + 1)
    spellings = [
        " " + text, text + "\n", "+" + text, "-" + text, "0" + text, text + "/1", text + ".0", text + "e0", text + "E0",
        text[:at] + "_" + text[at:], text[:at] + rng.choice("0123456789/.e-\u0665") + text[at:], text[:at] + text[at + 1 :],
        text.translate({ord(c): 0x0660 + int(c) for c in "0123456789"}), text.replace("/", " / "), text.upper(),
        text + "e-00000", text + "e+00",
    ]  # fmt: skip
    inside(certificate, way[:-1])[way[-1]] = rng.choice(spellings)


def retyped(certificate: Any, way: tuple[Any, ...], rng: random.Random) -> None:
    """The same thing as another JSON type."""
    old = inside(certificate, way)
    forms: list[Callable[[], Any]] = [
        lambda: [old], lambda: {"a": old}, lambda: bool(old), lambda: float(old), lambda: int(old), lambda: str(old),
        lambda: None,
        lambda: "".join(old), lambda: dict(enumerate(old)), lambda: dict.fromkeys(old), lambda: [*old], lambda: [*old.items()],
        lambda: [*old, *old], lambda: old[::-1],
    ]  # fmt: skip
    try:
        inside(certificate, way[:-1])[way[-1]] = rng.choice(forms)()
    except (TypeError, ValueError, AttributeError, OverflowError):
        replaced(certificate, way, rng)


def swapped(certificate: Any, way: tuple[Any, ...], rng: random.Random) -> None:
    """Two values change places, within one object or list or across them."""
    other = rng.choice([*places(certificate)])
    if other[: len(way)] == way or way[: len(other)] == other:
        return
    one, two = inside(certificate, way), inside(certificate, other)
    inside(certificate, way[:-1])[way[-1]], inside(certificate, other[:-1])[other[-1]] = two, one


def shifted(certificate: Any, way: tuple[Any, ...], rng: random.Random) -> None:
    """A whole number becomes the next one."""
    text = inside(certificate, way)
    if isinstance(text, str) and text.isdecimal() and len(text) < 4000:
        inside(certificate, way[:-1])[way[-1]] = str(int(text) + rng.choice([-1, 1]))
    else:
        removed(certificate, way, rng)


CHANGES = [replaced, removed, added, respelled, retyped, swapped, shifted]


def spoilt(certificate: dict[str, Any], rng: random.Random) -> str:
    bad = copy.deepcopy(certificate)
    for _ in range(rng.choice([1, 1, 1, 2])):
        ways = [*places(bad)]
        if ways:
            top = rng.choice([way for way in ways if len(way) == 1])  # otherwise most changes would hit long lists
            rng.choice(CHANGES)(bad, rng.choice([way for way in ways if way[0] == top[0]]), rng)
    text = json.dumps(bad)
    if rng.random() < 0.1:  # a reader might take the first or the last of two equal names
        keys = [
            "bits",
            "version",
            "boundary",
            "delta",
            "colour",
            "numbers",
            "from",
            "lowered",
            "lowest",
            "cap",
            "margin",
            "wrong",
            "fine",
            "close_calls",
        ]
        key = rng.choice(keys)
        value = json.dumps(rng.choice(JUNK))
        text = text.replace(f'"{key}": ', f'"{key}": {value}, "{key}": ', 1)
    return text
