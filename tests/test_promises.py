"""Numbers that the pages promise, and that no other test holds. (Times and rates: benchmarks/.)"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from duotone import ApproxDP, ColouredGraph, TruthTable, open_ledger
from duotone.graphs import families, truth_table
from duotone.ledger import accounts, entries, sums
from duotone.model import cost
from duotone.privacy import approx_dp
from duotone.release import certificate_numbers
from duotone.tables.comparisons import difference
from duotone.tables.engines import query, results, text_files
from support.ledgers import ask, register
from support.running import peak

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize(
    ("page", "sentence", "value"),
    [
        ("limits", "at most 2,000 are allowed under add-remove, 1,000 under replace", difference.MOST_LEVELS.values()),
        ("limits", "at most {:,} answers", [cost.MOST_ANSWERS]),
        ("limits", "end at {} voters", [truth_table.MOST_VOTERS]),
        ("limits", "ε above {}", [approx_dp.LARGEST_EPSILON]),
        ("operate", "at most {:,} characters each", [accounts.LONGEST]),
        ("operate", "a name or label {}", [entries.LONGEST_LABEL]),
        ("operate", "an answer {:,}", [entries.LONGEST_ANSWER]),
        ("theory", "at most {:,} bits above", [sums.EXACT]),
        ("theory", "of at most {:,} characters", [certificate_numbers.LONGEST_NUMBER]),
        ("theory", "({:,} for `epsilon`)", [certificate_numbers.LONGEST_EPSILON]),
        ("reading", "longer than {:,} bytes", [text_files.LONGEST_LINE]),
        ("reading", "of more than {:,} characters", [query.LONGEST]),
        ("reading", "people kept from each end (sums, averages, mode) | {:,}", [results.MOST_ENDS]),
    ],
)
def test_limits_are_those_of_the_code(page: str, sentence: str, value: Sequence[int]) -> None:
    text = " ".join((DOCS / f"{page}.md").read_text().split())
    assert sentence.format(*value) in text
    assert "{" in sentence or list(value) == [2000, 1000]


@pytest.mark.slow
def test_how_large_a_family_and_a_truth_table_are() -> None:
    """Two million datasets; 32 voters in 4.5 GiB."""
    assert 2e6 < families.LARGEST < 2.2e6
    TruthTable.from_weights([1, 2], 2).levels()  # imported and compiled
    held, _ = peak(lambda: TruthTable.from_weights(range(1, 23), 120).levels())
    assert held / 2**22 * 2**32 < 4.6 * 2**30


@pytest.mark.slow
def test_a_graph_takes_some_nine_bytes_an_edge() -> None:
    pairs = np.random.default_rng(1).integers(0, 20_000, (80_000, 2))
    graph = ColouredGraph.from_arrays(pairs[pairs[:, 0] != pairs[:, 1]], np.arange(20_000) < 100)
    arrays = graph.indptr.nbytes + graph.indices.nbytes + graph.blue.nbytes
    assert 8 < arrays / (len(graph.indices) / 2) < 9.5


@pytest.mark.slow
def test_a_question_reads_the_same_few_entries_in_a_ledger_of_any_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many reads after twenty charges as after one; each finds its entries by an index, or is about the last one."""
    statements: list[str] = []
    connect = sqlite3.connect

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    file, counts = tmp_path / "ledger", set()
    with open_ledger(file) as opened:
        register(opened, ApproxDP(100))
        ask(opened, "first")
        for i in range(20):
            statements.clear()
            ask(opened, f"question {i}")
            reads = [s for s in statements if s.startswith("SELECT") and "duotone_entries" in s]
            counts.add(len(reads))
    assert reads
    assert counts == {len(reads)}
    with contextlib.closing(connect(file)) as connection:
        for statement in reads:
            plan = " ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}"))
            assert "SEARCH" in plan or statement.endswith("duotone_entries ORDER BY seq DESC LIMIT 1"), (statement, plan)
