"""Three checkers, one verdict: the package, the tool that shares no code with it, and the one that Coq has proved."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, Infeasible, balanced
from duotone.graphs import families
from duotone.graphs.table import graph_table
from duotone.line.table import line_table
from support.certificates import good, good_renyi, good_which, package_accepts, random_lines, spoilt, tool, tool_accepts
from support.verified import CHECKER, said, verdicts

EACH = 4000

pytestmark = pytest.mark.slow


def test_thousands_of_good_lines(tmp_path: Path) -> None:
    assert all(verdicts([json.dumps(certificate) for certificate in random_lines(2000, 17)], tmp_path))


def random_graphs(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Certificates of the paper's graph, boundaries and budgets at random."""
    rng = random.Random(seed)
    graphs = [families.figure_2(), families.line(3, 5).graph()]
    while count:
        privacy = ApproxDP(exp_epsilon=f"{rng.randrange(100, 500)}/100", delta=rng.choice(["0", "1/10", "1e-3"]))
        graph = rng.choice(graphs)
        own = {dataset: f"{rng.randrange(100)}/100" for dataset in graph.boundary("blue")}
        try:
            table = graph_table(graph, privacy, rng.choice(["balanced", "3/5", own]))
        except Infeasible:
            continue
        yield json.loads(json.dumps(table.certificate()))
        count -= 1


def test_thousands_of_good_graphs(tmp_path: Path) -> None:
    assert all(verdicts([json.dumps(certificate) for certificate in random_graphs(1000, 18)], tmp_path))


def test_it_says_what_it_proved(tmp_path: Path) -> None:
    """ε, or the ratio where that was given, and δ: digit for digit as the certificate has them."""
    graph = families.votes(3).graph()
    for table, says in (
        (
            line_table(balanced(ApproxDP(1, "1e-6"))),
            "30 levels, with their margins, are private and optimal under epsilon 1, delta 1/1000000",
        ),
        (graph_table(graph, ApproxDP(exp_epsilon="3/2")), "8 datasets are private and optimal under ratio 3/2, delta 0"),
        (line_table(balanced(ApproxDP("0.1" + "0" * 60 + "1", "1/7"))), f"under epsilon 1{'0' * 60}1/1{'0' * 62}, delta 1/7"),
    ):
        (file := tmp_path / "c.json").write_text(json.dumps(table.certificate()))
        (line,) = said([file])
        assert line.startswith("PROVED: ")
        assert line.endswith(says)


def of_close_calls(text: str) -> bool:
    try:
        return bool(tool.parsed(text)["outcomes"] == tool.THREE_WAY)
    except (SystemExit, LookupError, TypeError, ValueError):
        return False


@pytest.mark.parametrize("seed", range(6))
def test_all_three_give_the_same_verdict_on_spoilt_certificates(seed: int, tmp_path: Path) -> None:
    rng, originals = random.Random(seed), good()
    texts = [text for text in (spoilt(rng.choice(originals), rng) for _ in range(EACH)) if not of_close_calls(text)]
    proved = verdicts(texts, tmp_path)
    for text, verdict in zip(texts, proved, strict=True):
        assert verdict == tool_accepts(text) == package_accepts(text), text
    assert len(texts) / 100 < sum(proved) < len(texts) / 2


@pytest.mark.parametrize("seed", range(2))
def test_all_three_give_the_same_verdict_under_one_renyi_order(seed: int, tmp_path: Path) -> None:
    rng, originals = random.Random(seed), good_renyi()
    texts = [json.dumps(certificate) for certificate in originals] + [spoilt(rng.choice(originals), rng) for _ in range(EACH)]
    proved = verdicts(texts, tmp_path)
    for text, verdict in zip(texts, proved, strict=True):
        assert tool_accepts(text) == package_accepts(text), text
        assert verdict == tool_accepts(text) or (verdict and '"1e-5000"' in text), text  # numbers too long for the other two
    assert all(proved[: len(originals)])
    assert len(texts) / 100 < sum(proved) < len(texts) / 2


@pytest.mark.parametrize("seed", range(3))
def test_all_three_give_the_same_verdict_on_one_answer_among_several(seed: int, tmp_path: Path) -> None:
    """By (ε, δ): of one Rényi order the proved checker proves nothing about these."""
    rng, originals = random.Random(seed), [each for each in good_which() if "order" not in each["privacy"]]
    texts = [json.dumps(each) for each in originals] + [spoilt(rng.choice(originals), rng) for _ in range(EACH)]
    for certificate in originals:
        for row in range(len(certificate["rows"])):
            for column in range(len(certificate["outcomes"])):
                bad = json.loads(json.dumps(certificate))
                numbers = bad["rows"][row]["numbers"]
                numbers[column], numbers[0] = str(int(numbers[column]) + 1), str(int(numbers[0]) - 1)
                texts.append(json.dumps(bad))
    proved = verdicts(texts, tmp_path)
    for text, verdict in zip(texts, proved, strict=True):
        assert verdict == tool_accepts(text) == package_accepts(text), text
    assert all(proved[: len(originals)])
    assert len(texts) / 100 < sum(proved) < len(texts) / 2
    certificates = [json.dumps(each) for each in good_which() if "order" in each["privacy"]]
    assert not any(verdicts(certificates, tmp_path))


def test_all_three_give_the_same_verdict_on_other_caps_and_cut_tables(tmp_path: Path) -> None:
    """Levels clipped elsewhere, or not at all, and rows left out at the ends: changes of letters do not come upon these."""
    texts = []
    for certificate in good():
        if not isinstance(certificate["rows"], list) or "cap" not in certificate:
            continue
        rows, lowest, cap = certificate["rows"], certificate["lowest"], certificate["cap"] or len(certificate["rows"])
        near = {cap + more for more in range(-3, 4)} | {2 * cap, cap // 2, -lowest, len(rows) + lowest, -1, 0, 1, 10**39}
        for low, high in [(0, 0), (1, 0), (0, 1), (1, 1), (2, 2), (-lowest - 1, -lowest - 1), (-lowest, 0)]:
            kept = {"lowest": lowest + low, "rows": rows[low : len(rows) - high]}
            texts += [json.dumps({**certificate, **kept, "cap": other}) for other in (None, *sorted(near), True, 7.0, "7")]
    proved = verdicts(texts, tmp_path)
    for text, verdict in zip(texts, proved, strict=True):
        assert verdict == tool_accepts(text) == package_accepts(text), text
    assert 20 < sum(proved) < len(texts) / 2


def test_a_file_that_is_none(tmp_path: Path) -> None:
    texts = [
        "",
        "{",
        "[]",
        '"a"',
        "nul",
        "{}extra",
        '{"a": 1, "a": 1}',
        "[1,]",
        '"\\ud800"',
        "\ufeff{}",
        '{"a": 1e999}',
        "01",
        "[" * 10_000,
    ]
    assert not any(verdicts(texts, tmp_path))
    (tmp_path / "latin.json").write_bytes(b'"\xff"')
    done = subprocess.run([CHECKER, tmp_path / "latin.json", tmp_path / "none"], capture_output=True, check=False)
    assert (done.returncode, done.stdout.count(b"NOT PROVED")) == (1, 2)
