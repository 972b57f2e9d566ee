"""Questions by parts, through the released path: levels of neighbours, the distribution, the ledger, and what is said."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import support.part_functions as functions
from duotone import ApproxDP, Dataset, OverBudget, balanced, open_ledger
from duotone.errors import DuotoneError
from duotone.line.table import line_table
from duotone.line.three_way import ThreeWay
from duotone.tables.ask import ask, ask_any
from duotone.tables.check_by_parts import prepare_by_parts
from duotone.tables.parts import division, question
from duotone.tables.parts.isolation import Isolation
from duotone.tables.prepared import Prepared

STAYS = pa.table(
    {"patient": [f"p{i % 40}" for i in range(60)], "age": [20.0 + i for i in range(60)], "days": [i / 5 for i in range(60)]}
)
BUDGET: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
SQL = "corr(age, days) > 0.2"
Rows = tuple[tuple[str | None, int], ...]


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Parts are asked in this process, by a function that may be changed; the parts that were asked."""
    asked: list[Any] = []
    rule: list[Callable[[pa.Table], bool]] = [lambda rows: bool(rows.num_rows)]

    def answer_of(rows: pa.Table, task: Any) -> bool:
        asked.append(rows)
        return rule[0](rows)

    monkeypatch.setattr(question, "answers", lambda parts, task: (answer_of(rows, task) for rows in parts))
    monkeypatch.setattr(question, "tried", lambda *_: ("", Isolation(True, True, True, True)))
    return [asked, rule]


def level(prepared: Prepared) -> int:
    return int(prepared._levels()[2][0])


def table(rows: Rows) -> pa.Table:
    return pa.table({"who": pa.array([w for w, _ in rows], pa.string()), "x": pa.array([x for _, x in rows], pa.int64())})


def keyed(rows: Rows, key: bytes, parts: int = 3, **about: Any) -> Prepared:
    prepared = prepare_by_parts(table(rows), "true", parts=parts, **BUDGET, **about)
    return prepared.__class__(**{**vars(prepared), "asked": prepared.asked.keyed(key)})  # type: ignore[union-attr]


HOSTILE: dict[str, Callable[[pa.Table], bool]] = {
    "anybody": lambda rows: rows.num_rows > 0,
    "nobody": lambda rows: rows.num_rows == 0,
    "even": lambda rows: rows.num_rows % 2 == 0,
    "a hash": lambda rows: hash(tuple(sorted(rows["x"].to_pylist()))) % 2 == 0,
    "one value": lambda rows: 2 in rows["x"].to_pylist(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_person_more_or_less_is_one_level(name: str, inside: list[Any]) -> None:
    inside[1][0] = HOSTILE[name]
    everybody: Rows = (("a", 1), ("b", 2), ("a", 2), ("c", 1), (None, 2), ("d", 3))
    for key in (b"one", b"two", b"three"):
        known: dict[frozenset[Any], int] = {}
        for many in range(5):
            for some in itertools.combinations("abcd", many):
                rows = tuple(row for row in everybody if row[0] in some or row[0] is None)
                with keyed(rows, key, unit="who") as prepared:
                    known[frozenset(some)] = level(prepared)
        moved = {abs(known[who] - known[who - {one}]) for who in known for one in who}
        assert moved <= {0, 1}, moved
        assert len(known) == 16


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_somebody_else_is_one_level_under_replace(name: str, inside: list[Any]) -> None:
    inside[1][0] = HOSTILE[name]
    people = ["a", "b", "c", "d", "e"]
    known: dict[frozenset[Any], int] = {}
    for some in itertools.combinations(people, 3):
        rows = tuple((who, people.index(who)) for who in some)
        with keyed(rows, b"key", parts=5, unit="who", neighbours="replace") as prepared:
            known[frozenset(some)] = level(prepared)
    assert max(abs(known[one] - known[other]) for one in known for other in known if len(one - other) == 1) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["anybody", "even", "a hash"])
def test_one_row_more_is_private_where_rows_are_people(name: str, inside: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly: the probability of a yes over all ways to draw the rows' parts, from the released table of each level."""
    inside[1][0] = HOSTILE[name]
    privacy, parts = ApproxDP(1, "1e-6"), 3
    released = line_table(balanced(privacy))

    def chance(rows: Rows) -> Fraction:
        total, ways = Fraction(0), list(itertools.product(range(parts), repeat=len(rows)))
        for way in ways:
            drawn = iter([np.array(way, dtype=np.uint64)])
            monkeypatch.setattr(division, "_random", lambda many, drawn=drawn: next(drawn, np.arange(many, dtype=np.uint64)))
            with keyed(rows, b"", parts=parts) as prepared:
                total += Fraction(released.yes(level(prepared)), 2**released.bits)
        return total / len(ways)

    rows: Rows = (("a", 1), ("a", 1), ("b", 2))
    fewer, more = chance(rows), chance((*rows, ("c", 2)))
    step = privacy.step
    assert more <= step(fewer)
    assert fewer <= step(more)


@pytest.mark.false_alarm(1e-8)
def test_the_released_distribution_is_that_of_the_level(inside: list[Any]) -> None:
    """Two of three parts say yes: level 0, at which a yes has probability 0.731."""
    with keyed((("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5), ("f", 6)), b"key", unit="who") as prepared:
        inside[1][0] = lambda rows: 1 not in rows["x"].to_pylist()
        assert level(prepared) == 0
        yes = sum(bool(prepared.release()) for _ in range(1000))
    assert abs(yes - 731) < 85  # six standard deviations


def test_everybody_is_in_one_part_and_rows_without_a_unit_in_none(inside: list[Any]) -> None:
    rows: Rows = (("a", 1), ("b", 2), ("a", 3), (None, 4), ("c", 5))
    with keyed(rows, b"key", parts=7, unit="who") as prepared:
        level(prepared)
    seen = [set(part["who"].to_pylist()) for part in inside[0]]
    assert len(seen) == 7
    assert sum(map(len, seen)) == 3
    assert Counter(x for part in inside[0] for x in part["x"].to_pylist()) == Counter([1, 2, 3, 5])


def test_texts_are_numbers_where_types_say_so(tmp_path: Path, inside: list[Any]) -> None:
    (tmp_path / "stays.csv").write_text("patient,age,days,ward\na,30,1,x\nb,n/a,2,y\n", encoding="utf-8")
    types = {"age": "number", "days": "money"}
    declared = Dataset(tmp_path / "stays.csv", unit="patient", bounds={"days": (0, 9)}, types=types, max_rows=2)
    with prepare_by_parts(declared, "true", parts=1, **BUDGET) as prepared:
        level(prepared)
        assert prepared.asked.task["names"] == ["stays", "stays.csv"]  # type: ignore[union-attr]
    (part,) = inside[0]
    assert {str(field.type) for field in part.schema if field.name in ("age", "days")} == {"double"}
    assert sorted(part["age"].to_pylist(), key=str) == [30.0, None]
    assert sorted(part["ward"].to_pylist()) == ["x", "y"]


def test_the_ledger_is_charged_before_a_part_is_asked_and_keeps_who_is_where(tmp_path: Path, inside: list[Any]) -> None:
    asked, rule = inside
    with open_ledger(tmp_path / "b.ledger") as ledger:
        ledger.register("stays", ApproxDP(3, "1e-5"), unit="patient", neighbours="add-remove", version="1")
        charges: list[int] = []
        rule[0] = lambda _: [*map(charges.append, [ledger.statement("stays").state.charges])] != []

        def ask(text: str = SQL, **options: Any) -> Any:
            about = {"parts": 5, "ledger": ledger, "dataset": "stays", "unit": "patient"}
            return ask_any(STAYS, text, **BUDGET, **{**about, **options})

        first = ask()
        assert charges == [1] * 5
        assert not first.receipt.free
        assert ask().receipt.free
        assert len(asked) == 5
        ask(again=True)
        ask("true")
        people = [[sorted(set(part["patient"].to_pylist())) for part in asked[i : i + 5]] for i in (0, 5, 10)]
        assert people[0] == people[1] == people[2]  # one key for the dataset
        with pytest.raises(OverBudget):
            ask(parts=7)
        assert len(asked) == 15
        texts = [entry["question"] for entry in ledger.entries() if entry["kind"] == "charge"]
        assert texts[0] == f"IN MOST OF 5 PARTS (10 s, 1024 MiB): {SQL}"
        assert ledger.verify().holds
        ledger.register("others", ApproxDP(3), unit="patient", neighbours="add-remove", version="1")
        keys = {entry["divider"] for entry in ledger.entries() if entry["kind"] == "register"}
        assert len(keys) == 2
        assert all(len(bytes.fromhex(key)) == 16 for key in keys)


def test_a_ledger_that_has_no_key_has_one_drawn(tmp_path: Path, inside: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from duotone.ledger import owner

    monkeypatch.setattr(owner, "KEY", 0)
    with open_ledger(tmp_path / "b.ledger") as ledger:
        ledger.register("stays", ApproxDP(3, "1e-5"), unit="patient", neighbours="add-remove", version="1")
        answer = ask_any(STAYS, SQL, parts=3, ledger=ledger, dataset="stays", unit="patient", **BUDGET)
    assert answer.receipt is not None
    assert len(inside[0]) == 3


def test_questions_may_be_too_close_to_call(tmp_path: Path, inside: list[Any]) -> None:
    called = ThreeWay(ApproxDP(1), "1e-6")
    with open_ledger(tmp_path / "b.ledger") as ledger:
        budget = ApproxDP(20, "1e-5")
        ledger.register("stays", budget, unit="patient", neighbours="add-remove", version="1", close_calls=called)
        answer = ask_any(STAYS, SQL, parts=3, ledger=ledger, dataset="stays", unit="patient")
    assert str(answer).startswith(("yes", "no", "too close"))
    assert "in most of 3 random parts of the patients" in str(answer)


def test_a_refusal_names_parts_and_ask_takes_them(inside: list[Any]) -> None:
    """As the command does; without any, an option left out changes nothing."""
    with pytest.raises(DuotoneError, match=r"random parts of the people \(parts=51\)$"):
        ask(STAYS, SQL, **BUDGET, parts=None)
    assert str(ask(STAYS, SQL, unit="patient", **BUDGET, parts=51)).endswith("in most of 51 random parts of the patients")


def test_the_answer_never_says_less_than_most_of_the_parts(inside: list[Any]) -> None:
    scope = "in most of 51 random parts of the patients"
    answer = ask_any(STAYS, SQL, unit="patient", **BUDGET)
    assert len(inside[0]) == 51
    assert str(answer) == f"{answer.words[()]}, {scope}"
    assert scope in repr(answer)
    assert f"“{SQL}” {scope} was answered" in answer.quote()
    document = answer.document()
    assert document["by_parts"] == {"scope": scope, "parts": 51, "part_seconds": 10, "part_memory": 1024}
    assert document["basis"] == "safe bound"
    assert any("most of them, and not more; one patient changes one part" in note for note in document["notes"])
    assert "most of them" in answer._repr_html_()
    with prepare_by_parts(STAYS, SQL, unit="patient", neighbours="replace", **BUDGET) as prepared:
        assert scope in prepared.quote()
        assert any("two parts count as one" in note for note in prepared.notes)
        assert prepared.work(1000).nanoseconds > 0
        with pytest.raises(DuotoneError, match="has no preview"):
            prepared.preview(100)
    with prepare_by_parts(STAYS, SQL, **BUDGET) as prepared:
        assert "random parts of the rows" in prepared.quote()
        assert "each row is a person" in prepared.quote()


def test_on_another_table_of_the_same_columns(inside: list[Any]) -> None:
    with prepare_by_parts(STAYS, SQL, parts=3, unit="patient", **BUDGET) as prepared:
        with prepared.on(STAYS.slice(0, 6)) as again:
            again.release()
            assert sum(part.num_rows for part in inside[0]) == 6
        with pytest.raises(DuotoneError, match="have changed"):
            prepared.on(STAYS.select(["patient", "age"]))


@pytest.mark.slow
def test_a_function_is_asked_of_each_part(tmp_path: Path) -> None:
    few = STAYS.append_column("more", STAYS["days"])
    for function, most in ((functions.longer, 2), (functions.raises, -2)):
        with prepare_by_parts(few, function, parts=3, part_seconds=5, unit="patient", **BUDGET) as prepared:
            assert level(prepared) == (1 if most > 0 else -2)
            assert re.search(r"SHA-256 [0-9a-f]{64}", prepared.normal)
            assert f"“{function.__name__} of part_functions.py” in most of 3" in prepared.quote()


def test_a_function_that_was_changed_is_not_asked(tmp_path: Path, inside: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_questions.py").write_text("def long(frame):\n    return True\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import own_questions  # type: ignore[import-not-found]

    with open_ledger(tmp_path / "b.ledger") as ledger:
        ledger.register("stays", ApproxDP(3, "1e-5"), unit="patient", neighbours="add-remove", version="1")
        with prepare_by_parts(STAYS, own_questions.long, parts=3, unit="patient", **BUDGET) as prepared:
            prepared.charge(ledger, "stays")
            (tmp_path / "own_questions.py").write_text("def long(frame):\n    return False\n", encoding="utf-8")
            with pytest.raises(DuotoneError, match="was written to since the question was checked"):
                prepared.charge(ledger, "stays", again=True)
            (tmp_path / "own_questions.py").unlink()
            with pytest.raises(DuotoneError, match="there is no file"):
                prepared.charge(ledger, "stays", again=True)
        assert ledger.statement("stays").state.charges == 1


def test_a_function_that_imports_what_was_changed_is_another_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "asked_beside.py").write_text(
        "from limits_beside import MOST\n\n\ndef few(frame):\n    return len(frame) < MOST\n"
    )
    (tmp_path / "limits_beside.py").write_text("MOST = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    import asked_beside  # type: ignore[import-not-found]

    names = []
    for most in ("3", "4", "3"):
        (tmp_path / "limits_beside.py").write_text(f"MOST = {most}\n")
        with prepare_by_parts(STAYS, asked_beside.few, parts=3, unit="patient", **BUDGET) as prepared:
            names.append(prepared.normal)
            (tmp_path / "limits_beside.py").write_text("MOST = 5\n")
            with pytest.raises(DuotoneError, match="or a file beside it, was written to since"):
                prepared.asked.checked()  # type: ignore[union-attr]
    assert names[0] == names[2] != names[1]


def local(frame: Any) -> bool:
    return True


local.__module__ = "no such module"


@pytest.mark.parametrize("bad", [lambda _: True, "x".join, len, local, functions.SEEN.append], ids=range(5))
def test_only_a_function_at_the_top_of_a_file_can_be_asked(bad: Any) -> None:
    with pytest.raises(DuotoneError, match="not a function at the top of a Python file"):
        prepare_by_parts(STAYS, bad, **BUDGET)


@pytest.mark.slow
def test_a_question_that_cannot_be_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    with pytest.raises(DuotoneError, match=r"cannot be asked of parts: .*height"):
        prepare_by_parts(STAYS, "avg(height) > 3", **BUDGET)
    with pytest.raises(DuotoneError, match=r"casts\.; a text file's columns are text: say what they hold \(types\)"):
        prepare_by_parts("examples/stays/stays.csv", "corr(age, days) > 0", **BUDGET)
    with pytest.raises(DuotoneError, match=r"1 columns \(INTEGER\)"):
        prepare_by_parts(STAYS, "select 1", **BUDGET)
    with pytest.raises(DuotoneError, match="does not end within its limits"):
        prepare_by_parts(
            STAYS, "select count(*) > 1 from range(100000000000000) r(i) where i % 7 = 6", part_seconds=1, **BUDGET
        )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"parts": 50}, "an odd number"), ({"parts": -1}, "an odd number"), ({"parts": 1003}, "an odd number"),
        ({"parts": 3.0}, "an odd number"), ({"part_seconds": 0}, "part_seconds"), ({"part_memory": 1}, "part_memory"),
        ({"max_rows": 3, "unit": "patient"}, "max_rows is not used"), ({"bounds": {"days": (0, 1)}}, "bounds is not used"),
        ({"public": {"t": STAYS}}, "about one table"), ({"also": {"t": STAYS}, "unit": "patient"}, "about one table"),
        ({"unit": "height"}, "no column height"),
    ],
)  # fmt: skip
def test_what_cannot_be_declared_is_refused(options: dict[str, Any], said: str, inside: list[Any]) -> None:
    with pytest.raises(DuotoneError, match=said):
        prepare_by_parts(STAYS, SQL, **BUDGET, **options)


def test_a_system_without_forks_is_refused(inside: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.fork")
    with pytest.raises(DuotoneError, match="use Linux or macOS"):
        prepare_by_parts(STAYS, SQL, **BUDGET)


def test_an_open_system_is_noted(inside: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question, "tried", lambda *_: ("", Isolation(False, True, True, True)))
    with prepare_by_parts(STAYS, SQL, **BUDGET) as prepared:
        assert any("does not hide other files" in note for note in prepared.notes)
