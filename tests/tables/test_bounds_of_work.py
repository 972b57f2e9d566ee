"""What a plan costs at most: sizes against what DuckDB makes, rules for all that a question can be made of, and the ways by
which one row could take long, which are refused or counted.

Nothing here looks at a clock: work is held against the bound by what the engine makes, and by how the bound grows.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot

from duotone import ApproxDP, DuotoneError, prepare
from duotone.resources import EngineLimits, limited
from duotone.tables.engines.stored_values import LONGEST
from duotone.tables.patterns import like, matched, pattern_states
from duotone.tables.sql.condition import ANY_VALUE, Formula, parts_of
from duotone.tables.sql.functions import FUNCTIONS
from duotone.tables.work import Bound, Work, _Interpreter, work_of
from support import formula_cases
from support.engine_cases import BOUNDS, COMPUTED_KEYS, IN_PERSON, JOINED, PUBLIC, table

P = ApproxDP(1, "1e-6")
ROOM = EngineLimits(2**50, 2, 2**50)
LETTERS = ["a", "b", "é", "語", "🙂", " ", "%", "-", "1", "İ", "ß", "ŉ"]


def of(question: str, rows: float = 1000, longest: int = 1000, data: pa.Table | None = None, **options: Any) -> Work:
    with limited(ROOM), prepare(small() if data is None else data, question, P, longest_text=longest, **options) as asked:
        return asked.work(rows)


def small() -> pa.Table:
    return pa.table({"p": [1, 2], "n": [1, 2], "s": ["a", "b"], "dx": ["HIV", "flu"]})


def expression(draw: random.Random, depth: int) -> str:
    """A text, made by some functions of others."""
    if depth == 0:
        return draw.choice(["s", "s2", "'xyz'", "'é'"])
    inner, other = (expression(draw, depth - 1) for _ in range(2))
    old, new = draw.choice(LETTERS), "".join(draw.choices(LETTERS, k=draw.randrange(4)))
    return draw.choice(
        [
            f"lower({inner})", f"upper({inner})", f"trim({inner})", f"substr({inner}, {draw.randrange(1, 5)})",
            f"left({inner}, {draw.randrange(9)})", f"right({inner}, {draw.randrange(9)})", f"({inner} || {other} || 'q')",
            f"concat({inner}, {other}, a)", f"concat_ws('--', {inner}, {other})", f"replace({inner}, '{old}', '{new}')",
            f"split_part({inner}, '{old}', {draw.randrange(1, 4)})", f"coalesce({inner}, {other})",
            f"case when length({inner}) > 3 then {inner} else {other} end", f"greatest({inner}, {other})",
            f"nullif({inner}, {other})",
        ]
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_no_text_is_longer_than_its_bound(seed: int) -> None:
    """Against DuckDB's own reading of the same text, on rows of as many characters as may be read; and it grows with them."""
    draw = random.Random(seed)
    made = expression(draw, 1 + seed % 4)
    made = made if "s" in made.replace("case", "").replace("else", "").replace("substr", "") else f"({made} || s)"
    bounds = [size_of(made, longest) for longest in (8, 16, 32)]
    assert bounds == sorted(bounds)
    for longest, bound in zip((8, 16, 32), bounds, strict=True):
        texts = ["".join(draw.choices(LETTERS, k=longest)) for _ in range(150)] + [letter * longest for letter in LETTERS]
        rows = pa.table({"s": texts, "s2": texts[::-1], "a": list(range(len(texts)))})
        with duckdb.connect() as connection:
            connection.register("rows", rows)
            (longest_made,) = connection.execute(f"select coalesce(max(length({made})), 0) from rows").fetchone() or (0,)
        assert longest_made <= bound


def size_of(made: str, longest: int) -> float:
    """The bound of a text that a question compares, by the plan of that question."""
    rows = pa.table({"s": ["a"], "s2": ["b"], "a": [1]})
    question = f"count(*) filter (where {made} = 'x' or {made} is null) > 3"
    with limited(ROOM), prepare(rows, question, P, longest_text=longest) as asked:
        found, sizes = _Interpreter(1.0, {}), [0.0]
        known = found.value

        def noted(node: Any) -> Bound:
            sizes.append(known(node).size)
            return known(node)

        found.value = noted
        found.relation(asked._plan.op())
        return max(sizes)


def test_every_function_of_a_question_has_a_rule() -> None:
    """What the reader understands can be asked in a service: nothing is refused for want of a rule."""
    rows, used = formula_cases.table(), set[str]()
    texts = [*formula_cases.VALUES, *formula_cases.LOGARITHMS, *formula_cases.UNICODE, *formula_cases.READ]
    conditions = [*formula_cases.CONDITIONS, *formula_cases.MATCHES, *(f"({text}) is null and n > 1" for text in texts)]
    for condition in conditions:
        if "0.000001" in condition:
            continue  # is not understood in a filter
        if condition.startswith("(coalesce(f, false)) is null"):
            continue  # no row can satisfy it
        asked = prepare(rows, f"count(*) filter (where {condition}) > 5", P)
        assert 0 < asked.work(1000).nanoseconds < float("inf")
        used |= {part.function for part in parts_of(asked.asked) if isinstance(part, Formula)}
    assert set(FUNCTIONS) <= used
    assert set(ANY_VALUE) <= set(FUNCTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_inner_selects_joins_and_keys_are_counted(neighbours: Any) -> None:
    rows = table()
    for question, bounds in IN_PERSON:
        assert prepare(rows, question, P, bounds=bounds, unit="u", neighbours=neighbours).work(1000).nanoseconds > 1e5
    for question, bounds in JOINED:
        asked = prepare(rows, question.format("t"), P, bounds=bounds, public=PUBLIC, neighbours=neighbours)
        assert 1e5 < asked.work(1000).nanoseconds < 1e12
    for key in COMPUTED_KEYS if neighbours == "add-remove" else ():
        asked = prepare(rows, f"select {key}, count(*) > 3 group by {key}", P, unit="u", max_rows=2, max_groups=2)
        assert asked.work(1000).nanoseconds > 1e5
    for question in ("avg(x) > 2", "median(f) > 1", "mode(v) = 'Y'", "count(distinct v) > 4", "stddev(x) > 2"):
        few, many = (
            (prepare(rows, question, P, bounds=BOUNDS).work(n).nanoseconds for n in (10, 1000))
            if question[:3] in ("avg", "std")
            else (prepare(rows, question, P).work(n).nanoseconds for n in (10, 1000))
        )
        assert few < many


LONG = "replace(replace(s, 'e', 'eeeeeeeeee'), 'a', 'eeeeeeeeee')"
ATTACK = f"""select count(*) > 3 from (select p, max({LONG}) as t where dx = 'HIV' and p = 7 group by p)
    where regexp_matches(t, 'e[a-z ]{{990}}q')"""


def test_what_an_inner_select_makes_is_as_long_as_it_is() -> None:
    """The attack: a text that a person's inner select makes counted as one that is stored, and a constant a hundredth."""
    inner, plain = (
        of(ATTACK, 2000, unit="p"),
        of(f"count(*) filter (where regexp_matches({LONG}, 'e[a-z ]{{990}}q')) > 3", 2000),
    )
    assert min(inner.nanoseconds, plain.nanoseconds) > 1e12  # a thousand seconds: no service waits for them
    assert inner.nanoseconds > plain.nanoseconds / 4


JOINED_TO = "select count(*) > 3 from t {join} names on t.s = names.s where t.p = 7 and t.dx = 'HIV' and {condition}"


@pytest.mark.slow
@pytest.mark.parametrize("join", ["join", "left join"])
@pytest.mark.parametrize("inner", [False, True], ids=["", "inner"])
def test_public_rows_are_counted_by_their_own_number(join: str, inner: bool) -> None:
    """DuckDB tries a condition on a public column on every public row before it joins, unless no private row is left: then it
    looks at none. With 10^6 public rows and few private ones, an answer was late where one person was ill."""

    def asked(condition: str, many: int, length: int = 8) -> float:
        names = pa.table({"s": [f"{i:0{length}}" for i in range(many)], "w": list(range(many))})
        question = JOINED_TO.format(join=join, condition=condition)
        if inner:
            made = f"select p, max(names.s) as m from t {join} names on t.s = names.s where {condition} group by p"
            question = f"select count(*) > 3 from ({made}) where m > 'a'"
        return of(question, 10, unit="p" if inner else None, public={"names": names}).nanoseconds

    slow, plain, private = "regexp_matches(names.s, 'a[0-9]{50}b')", "names.w > 5", "regexp_matches(t.s, 'a[0-9]{50}b')"
    few, many = (asked(slow, many) - asked(plain, many) for many in (100, 10_000))
    assert many - few > 0.9 * 9900 * matched("a[0-9]{50}b", 8)
    assert asked(plain, 10_000) - asked(plain, 100) > 9900 * 1000
    assert asked(slow, 100, 30) - asked(slow, 100, 10) > 0.9 * 100 * 20 * 40 * 50
    few, many = (asked(private, many) - asked(plain, many) for many in (100, 10_000))
    assert abs(many - few) < 1e8  # a private row has one public one at most


SLOW = {
    "regexp_matches({}, '(a|b)*a(a|b){{500}}x')": 100,
    "regexp_matches({}, '(?i)[é-ü]{{200}}q')": 100,
    "{} like '%a_%a_%a_%b'": 1600,
    "{} like '%{}%'".replace("{}%'", "a" * 500 + "%'"): 4,
    "contains(replace({}, 'a', 'bbbbbbbbbbbbbbbbbbbb'), 'bbc')": 8,
    "length(concat({0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0})) > 5": 1,
    "length({0} || {0} || {0} || {0} || {0} || {0} || {0} || {0} || {0}) > 5": 1,
    "split_part({}, 'a', 900) = 'x'": 6.3,
    "strpos({}, 'aaaaaaaaaaaaaaaaaaab') > 3": 4.6,
    "({})::double > 3": 1.4,
    "({})::date > date '2020-01-01'": 0.8,
    " or ".join(f"substr({{0}}, {i}, 1) = 'q'" for i in range(900, 990, 3)): 40,  # what stands before is passed over
    "substr({}, 999, 1) = 'q'": 9,  # letters of one to four bytes in turn: what is passed over when it is read, and again
    "length({}) > 900": 5.5,
    "{} = 'yyy'": 9.5,  # the same in a Parquet file, as it is read and cut
    "trim({}) = 'X'": 25,
    "trim(upper(lower({}))) = 'X'": 95,
}


@pytest.mark.parametrize("condition", SLOW)
@pytest.mark.parametrize("inner", [False, True], ids=["", "inner"])
def test_what_takes_long_on_long_texts_is_counted(condition: str, inner: bool) -> None:
    """For each character of a thousand rows, at least as many nanoseconds as were measured where DuckDB takes longest for it,
    on two slow cores; in an inner select, too."""

    def asked(longest: int) -> float:
        if not inner:
            return of(f"count(*) filter (where {condition.format('s')}) > 3", longest=longest).nanoseconds
        made = "select p, max(s) as t, count(*) as c group by p"
        return of(f"select count(*) > 3 from ({made}) where {condition.format('t')}", longest=longest, unit="p").nanoseconds

    compared = of("count(*) filter (where s = 'x') > 3", longest=1000).nanoseconds
    assert asked(1000) - asked(100) > 900 * 1000 * SLOW[condition]
    assert asked(1000) > compared


def test_patterns_are_counted_as_engines_search() -> None:
    assert like("%a%b%", 1000) < 1e5 < like("%a_%b_%c", 1000)
    assert matched("e[a-z ]{990}q", 1000) > 3e7
    assert pattern_states("[à-ü]{3}") > 300
    assert pattern_states("(?i)k{10}") >= 30


RANGES = "".join(chr(i) for i in range(33, 127, 2) if chr(i) not in "[]^-\\$'")
"""Letters of which no two stand beside each other, so that each is a range of its own."""


def test_a_state_of_many_ranges_takes_longer() -> None:
    """RE2 looks at each range of a state: 61 microseconds a character were measured of this pattern, where all its states of
    one range would have taken 18."""
    assert matched(f"[{RANGES[:35]}][{RANGES}]{{450}}~", 999) > 1000 * 61_000
    assert pattern_states("[0-9][a-z]{20}") == 21
    assert pattern_states(f"[^{RANGES}]{{9}}") > pattern_states("[^a]{9}")
    assert pattern_states("[\\200\\202\\204\\206]") > 100  # letters of two bytes, by their numbers


def test_regular_expressions_take_memory() -> None:
    """Each thread keeps the states that an expression has met: 282 MB were measured of 200 such, beside DuckDB's own limit."""
    searched = " or ".join(f"regexp_matches(s, 'a[ab]{{12}}c{i}')" for i in range(60))
    with limited(EngineLimits(2**28, 2, 2**30)), pytest.raises(DuotoneError, match="MiB for its patterns"):
        prepare(small(), f"count(*) filter (where {searched}) > 3", P)
    with limited(EngineLimits(2**28, 2, 2**30)), prepare(small(), "count(*) filter (where regexp_matches(s, 'a+b')) > 3", P):
        pass


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_all_of_a_line_of_text_is_taken_apart(name: str, tmp_path: Path) -> None:
    """Also columns that a question does not use. 13 microseconds a line were measured of 20 columns of 40 characters in quotes,
    and 8 where each character has four bytes."""
    names = [f"c{i}" for i in range(20)]
    (tmp_path / name).write_text((",".join(names) + "\n") * name.endswith(".csv"))
    declared: dict[str, Any] = {} if name.endswith(".csv") else {"json_columns": names}
    with prepare(str(tmp_path / name), "count(*) filter (where c1 > 'x') > 3", P, longest_text=40, **declared) as asked:
        assert asked.work(1000).nanoseconds - asked.work(0).nanoseconds > 1000 * 13_000
    beside = {"also": {"u": str(tmp_path / name)}, "unit": "c0", **declared}
    (tmp_path / "own.csv").write_text("c0,x\n")
    if name.endswith(".csv"):
        own, other = "select c0, max(x::text) as x from own group by c0", "select c0, max(c1::text) as c1 from u group by c0"
        question = f"select count(*) > 3 from ({own}) a join ({other}) b using (c0) where b.c1 > 'x'"
        with prepare(str(tmp_path / "own.csv"), question, P, longest_text=40, **beside) as asked:
            assert asked.work(1000).nanoseconds - asked.work(0).nanoseconds > 1000 * 13_000


def test_a_stored_text_is_read_up_to_its_declared_length() -> None:
    """Cut by its own characters, whatever the others are; and by default at a number that is written."""
    rows = pa.table({"s": ["é" * 7, "abc", "abcdef", "🙂" * 6, None, "x" * (LONGEST + 5)] * 20})
    plain = {limit: [None if s is None else s[:limit] for s in rows["s"].to_pylist()] for limit in (3, 6, LONGEST)}
    for limit, texts in plain.items():
        for size in {len(text) for text in texts if text is not None}:
            many = sum(text is not None and len(text) == size for text in texts)
            for least, yes in ((many - 1, True), (many, False)):
                question = f"count(*) filter (where length(s) = {size}) > {least}"
                with prepare(rows, question, P, longest_text=limit) as asked:
                    assert bool(asked._levels()[2][0] >= 0) is yes
    with pytest.raises(DuotoneError, match="longest_text must be a whole number"):
        prepare(rows, "count(s) > 3", P, longest_text=0)
    with prepare(rows, "count(s) > 3", P, longest_text=5) as declared, prepare(rows, "count(s) > 3", P) as default:
        assert declared.normal != default.normal


@pytest.mark.parametrize("question", ["count(distinct u) > 5", "select count(*) > 5 from (select u, count(*) as c group by u)"])
def test_two_persons_are_never_made_one_by_cutting_their_names(question: str) -> None:
    """Who joins beside another of the same first characters would change that one's rows: of two persons, the level could move
    by two. A unit that may have been cut names nobody."""
    names = ["abcdefgh" + str(i) for i in range(50)] + ["ab" + str(i) for i in range(10)]
    for longest, people in ((8, 10), (9, 10), (11, 60)):
        with prepare(pa.table({"u": names}), question, P, unit="u", longest_text=longest) as asked:
            assert asked._levels()[1][0] == people


@pytest.mark.parametrize("times", [80, 150])
def test_texts_that_might_not_fit_in_memory_are_refused_before_reading(times: int) -> None:
    rows = pa.table({"notes": ["n" * 300] * 5000})
    question = f"count(*) filter (where length(concat({', '.join(['notes'] * times)})) > 5) > 100"
    with limited(EngineLimits(2**29, 2, 2**30)), pytest.raises(DuotoneError, match=r"could (need|make)|nested too deeply"):
        prepare(rows, question, P)
    chained = " || ".join(["notes"] * 20)
    with limited(EngineLimits(2**29, 2, 2**30)), prepare(rows, f"count(*) filter (where length({chained}) > 5) > 9", P,
                                                         longest_text=300) as asked:  # fmt: skip
        assert asked._levels()[2][0] >= 0
        assert "||" not in asked.source.engine.connection.compile(asked._plan)


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_an_engine_has_the_limits_that_are_given_to_it(tmp_path: Path, kind: str) -> None:
    """By what DuckDB says itself of the connection that will be asked."""
    source: Any = small()
    if kind != "frame":
        source = str(tmp_path / f"rows.{kind}")
        with duckdb.connect() as connection:
            connection.register("rows", small())
            connection.execute(f"copy rows to '{source}' (format {kind})")
    with limited(EngineLimits(2**29, 3, 2**31)), prepare(source, "count(*) > 5", P) as asked:
        names = ("memory_limit", "threads", "max_temp_directory_size")
        settings = ", ".join(f"current_setting('{name}')::varchar" for name in names)
        assert asked.source.engine.connection.con.execute(f"select {settings}").fetchone() == ("512.0 MiB", "3", "2.0 GiB")


def test_a_text_that_is_split_is_a_list_of_parts() -> None:
    """Each has 16 bytes of its own: 24 of them took 830 MiB of an engine that has 512, for 2,048 rows in two threads."""
    split = " or ".join(f"split_part(s, 'a', {i}) = 'x'" for i in range(1, 25))
    with limited(EngineLimits(2**29, 2, 2**30)), pytest.raises(DuotoneError, match="could need"):
        prepare(small(), f"count(*) filter (where {split}) > 3", P, longest_text=1000)
    # one took 85 MB, of texts of 525 characters, so that the list of their parts is a little more than a power of two
    assert 2 * 2048 * of("count(*) filter (where split_part(s, 'a', 3) = 'x') > 3", longest=525).room > 85 * 2**20


def test_a_text_without_a_limit_has_no_bound() -> None:
    import ibis

    stored = ibis.table({"s": "string"}, name="t")
    with pytest.raises(DuotoneError, match="without a limit"):
        work_of(stored.agg(n=stored.s.lower().max()), 10)
    with pytest.raises(DuotoneError, match="no bound is known"):
        work_of(stored.agg(n=stored.s.substr(0, 5).reverse().max()), 10)
    assert Bound().size == 0


LONG_STATEMENTS = {
    "n // 3": " or ".join(f"n // {i} = 1" for i in range(3, 240)),
    "s::bigint": " or ".join(f"s::bigint > {i}" for i in range(25)),
    "n % 3": " or ".join(f"n % {i} = 1" for i in range(3, 330)),
    "case": "case when n = 1 then " * 45 + "n" + " else n + 1 end" * 45 + " > 1",
    "and": " and ".join(f"n > {i}" for i in range(400)),
    "round": " or ".join(f"round(n / {i}, 2) = 1" for i in range(2, 100)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG_STATEMENTS)
def test_a_long_statement_takes_long_though_there_are_no_rows(name: str) -> None:
    """What an engine plans, it plans before it reads: an answer that was late by that would tell what a row added. The oracle
    is the statement itself: DuckDB planned each of these in at most 10 microseconds a character."""
    question = f"count(*) filter (where {LONG_STATEMENTS[name]}) > 3"
    with limited(ROOM), prepare(small(), question, P) as asked:
        assert asked.work(0).nanoseconds > 15_000 * len(str(asked.source.engine.connection.compile(asked._plan)))


@pytest.mark.parametrize("declared", [{}, {"unit": "p", "max_rows": 3}, {"unit": "p", "max_rows": 9}], ids=str)
def test_what_is_added_up_for_a_person_is_counted_once(declared: dict[str, Any]) -> None:
    """However many counts look at it: the parts of a statement are no more than the words of its text. Else a share of two
    conditions, of people with several rows, would have 34,823 operations where its statement has 1,600, and be refused."""
    question = "count(*) filter (where s = 'a' and dx = 'flu' and n > 3) / count(*) > 0.05"
    with limited(ROOM), prepare(small(), question, P, **declared) as asked:
        words = sqlglot.tokenize(str(asked.source.engine.connection.compile(asked._plan)), dialect="duckdb")
        assert len(words) / 10 < asked.work(0).operations < len(words)


def test_a_statement_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused before its trial, which would take longer still: 200 casts had a statement of a million characters."""
    monkeypatch.setattr("duotone.tables.check_question.require_trial", lambda *_, **__: pytest.fail("the trial was begun"))
    with pytest.raises(DuotoneError, match="too long for an engine"):
        prepare(small(), f"count(*) filter (where {' or '.join(f's::bigint > {i}' for i in range(200))}) > 3", P)
