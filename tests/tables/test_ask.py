"""Asking, from SQL to an answer: audited, on the command line, by groups; and what no error shows."""

from __future__ import annotations

import dataclasses
import datetime
import json
import re
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

from duotone import ApproxDP, DuotoneError, audit_answers, prove
from duotone.cli.app import main
from duotone.questions import Neighbours
from duotone.tables.check_question import prepare
from duotone.tables.engines.any_ibis import AnyIbis
from duotone.tables.engines.engine import Abilities
from duotone.tables.engines.query import People, gather
from support.small_questions import P, Row, table


@pytest.mark.slow
@pytest.mark.false_alarm(2e-9)
@pytest.mark.parametrize(
    "sql", ["count(*) filter (where v = 'Y') > count(*) filter (where v = 'N')", "avg(x) > 1", "mode(v) = 'N'"]
)
def test_the_whole_path_passes_the_audit(sql: str) -> None:
    """Black box: 10^5 releases from each of two neighbouring tables; an audit that is as sure as 10^-9.

    One grouped question asks 10^5 copies of a table at once: from SQL over the engine to the coin, each is a release.
    """
    claim, copies = ApproxDP(1, "1e-2"), 10**5
    near = [("Y", 3)] * 4 + [("N", 0)] * 4

    def releases(rows: list[Row], n: int) -> Any:
        votes, numbers = zip(*rows, strict=True)
        keys = np.repeat(np.arange(n), len(rows))
        content = pa.table({"d": keys, "v": list(votes) * n, "x": list(numbers) * n})
        asked = f"select d, {sql} from t group by d"
        reply = prepare(content, asked, claim, bounds={"x": (0, 3)}, groups=[(i,) for i in range(n)]).release()
        return np.fromiter(reply.answers.values(), dtype=bool, count=n)

    yes = releases(near, copies)
    assert 0 < yes.mean() < 1
    for other in (near[1:], near[:-1]):
        drawn = [yes, releases(other, copies)]

        def black_box(i: int, n: int, drawn: Any = drawn) -> Any:
            return drawn[i][:n]

        assert not audit_answers(black_box, 0, 1, claim, draws=copies, confidence=1 - 1e-9).caught


AGES = ("--types", "age=number", "--bounds", "age=0:120:1")


@pytest.mark.slow
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.csv"
    file.write_text("vote,age,town\n" + "Y,30,Ely\n" * 600 + "N,20,Wells\n" * 300)
    (tmp_path / "towns.csv").write_text("Ely\nYork\n")

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["ask", str(file), *arguments, "--epsilon", "1", "--delta", "1e-6"])
        out = capsys.readouterr()
        return int(ended.value.code or 0), out.out, out.err

    code, out, _ = run("count(*) filter (where vote = 'Y') > count(*) filter (where vote = 'N')")
    assert code == 0
    assert out.startswith("yes, certain: at least ")
    assert "each row is a person; exact distance" in out
    assert "never wrong from 15 people on" in out
    document = json.loads(run("avg(age) > 25", *AGES, "--json", "--certificate", str(tmp_path / "c.json"))[1])
    assert (document["answer"], document["grids"], document["certain_from"]) == ("yes", {"age": "1"}, 15)
    assert prove(json.loads((tmp_path / "c.json").read_text()))
    preview = json.loads(run("avg(age) > 25", *AGES, "--preview", "--json", "--draw", str(tmp_path / "p.svg"))[1])
    assert "answer" not in preview
    assert (tmp_path / "p.svg").exists()
    grouped = "select town, count(*) >= 450 from t group by town"
    assert "Ely" in run(grouped)[1]
    listed = json.loads(run(grouped, "--groups", str(tmp_path / "towns.csv"), "--json")[1])
    assert listed["answers"] == [{"town": "Ely", "answer": "yes"}, {"town": "York", "answer": "no"}]
    for arguments, says in [
        (["count(*) > 1", "--neighbours", "both"], "neighbours must be add-remove or replace"),
        (["count(*) > 1", "--per-unit", "mean"], "avg, sum, min or max"),
        (["avg(age) > 25", *AGES[:2]], "needs bounds"), (["avg(age) > 25", "--bounds", "age"], "bounds are COL=LO:HI"),
        (["count(*) > 1", "--groups", str(tmp_path / "none.csv")], "cannot be read: it must be a CSV file"),
    ]:  # fmt: skip
        code, _, err = run(*arguments)
        assert code == 2
        assert says in err
        assert err.count("\n") == 1


def test_no_error_holds_private_values() -> None:
    source = prepare(table([[(("secret4711", 1),)]]), "count(*) > 0", P)
    broken = dataclasses.replace(source, source=dataclasses.replace(source.source, engine=AnyIbis(None)))
    with pytest.raises(DuotoneError, match="might quote rows") as caught:
        broken.release()
    frame = caught.value.__traceback__
    assert frame is not None
    frame, seen = frame.tb_next, 0  # this test has them
    while frame is not None:
        assert "4711" not in repr(frame.tb_frame.f_locals)
        frame, seen = frame.tb_next, seen + 1
    assert seen >= 2


@pytest.mark.slow
def test_listed_keys_of_every_kind() -> None:
    days = [datetime.date(2025, 1, 1), datetime.date(2025, 1, 2)]
    kinds: dict[str, list[Any]] = {"b": [True, False], "i": [7, 8], "d": days, "s": ["x", "y"]}
    shown = {"b": "true", "i": 7, "d": "2025-01-01", "s": "x"}
    content = pa.table({column: [first] * 40 + [second] for column, (first, second) in kinds.items()})
    for column, keys in kinds.items():
        question = f"select {column}, count(*) > 20 from t group by {column}"
        for groups in ([[key] for key in keys], None):
            reply = prepare(content, question, ApproxDP(40, "1e-6"), groups=groups).release()
            assert reply.answers[shown[column],] is True


@pytest.mark.slow
def test_the_plan_is_the_same_whatever_the_rows() -> None:
    """One statement, to the last constant, of many rows, few, or none with a value; and no other is run."""
    for sql, unit in (("avg(x) > 1", None), ("avg(x) > 1", "u"), ("sum(x) > 7", None), ("stddev(x) > 1", None)):
        statements = set()
        for rows in ([], [(("A", 1),)], [(("A", i),) for i in range(99)], [(("A", None),)] * 99):
            declared: dict[str, Any] = {"unit": unit, "per_unit": "max"} if unit else {}
            prepared = prepare(table([rows]), sql, P, bounds={"x": (0, 50)}, **declared)
            for embedded in (True, False):
                runs: list[Any] = []
                inner = prepared.source.engine.connection
                engine = Watched(inner, Abilities(embedded=embedded, bytes_of="strlen"), runs=runs)
                watched = dataclasses.replace(prepared.source, engine=engine)
                gather(
                    People(watched, prepared.population.where, unit), [(m.columns, m.requests) for m in prepared.comparisons]
                )
                (plan,) = runs
                statements.add((embedded, re.sub(r"duotone_\w+", "T", str(ibis.to_sql(plan)))))
        assert len(statements) == 2


@dataclasses.dataclass(frozen=True, eq=False)
class Watched(AnyIbis):
    """An engine that keeps the plans it is given."""

    runs: list[Any] = dataclasses.field(default_factory=list)

    def run(self, plan: Any) -> Any:
        self.runs.append(plan)
        return self.connection.to_pyarrow(plan)


@pytest.mark.slow
def test_a_persons_groups_are_bounded_among_the_listed_ones_however_long_the_list() -> None:
    """One person with rows in listed and unlisted groups is in one listed group, for short lists, long ones and keys of two
    columns of which each value is listed, but not every pair."""
    rows = pa.table({"u": [1] * 60, "g": [f"g{i}" for i in range(60)], "h": ["a", "b"] * 30})
    for filler in (0, 2000):
        one = [(f"g{i}",) for i in (7, *range(1000, 1000 + filler))]
        two = [("g7", "b"), ("g8", "b"), *((f"g{i}", "a") for i in (7, *range(1000, 1000 + filler)))]
        for by, listed in (("g", one), ("g, h", two)):
            question = f"select {by}, count(*) > 0 from t group by {by}"
            with prepare(rows, question, P, unit="u", max_rows=1, max_groups=1, groups=listed) as asked:
                counted = dict(zip(*asked._levels()[:2], strict=True))
            assert {key: n for key, n in counted.items() if n} == {("g7", "b") if "," in by else ("g7",): 1}


@pytest.mark.parametrize(("neighbours", "most"), [("add-remove", 2000), ("replace", 1000)])
def test_a_difference_with_too_many_levels_is_refused_before_anything_is_read(neighbours: Neighbours, most: int) -> None:
    sql = "avg(x) filter (where v = 'a') > avg(x) filter (where v = 'b')"
    content = pa.table({"v": ["a", "b"], "x": [1, 2]})
    says = rf"an answer has \d+ levels, and a difference of averages may have at most {most} under {neighbours}: raise epsilon"
    with pytest.raises(DuotoneError, match=says):
        prepare(content, sql, ApproxDP("0.001", "1e-6"), neighbours=neighbours, bounds={"x": (0, 3)})
    prepare(content, sql, ApproxDP("0.1", "1e-6"), neighbours=neighbours, bounds={"x": (0, 3)}).close()
