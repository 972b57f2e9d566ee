"""Who may append to a ledger in Postgres cannot write what Duotone cannot read, and so block a dataset for everybody, nor an
answer to a question that it did not charge for."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from copy import deepcopy
from hashlib import sha256
from typing import Any

import pytest

from duotone import ApproxDP, open_ledger
from duotone.ledger.ledger import Ledger
from support.ledgers import ABOUT, HALF, ask, execute, register

psycopg = pytest.importorskip("psycopg") if "CI" not in os.environ else __import__("psycopg")
CALL = "SELECT duotone_append(%s::integer, %s::text, %s::text, %s::text, %s::text, %s::text)"
Body = dict[str, Any]


def canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def keyed(body: Body) -> Body:
    """The same with the key of what it says."""
    same = [body[name] for name in ("dataset", "version", "question", "notion", "boundary", "answers")]
    return {**body, "key": sha256(canonical({"same": [*same, "person", "replace"]}).encode()).hexdigest()}


def appended(url: str, last: Body, body: Body, text: str) -> bool:
    """Whether the append function takes a text, as an asker may give it one, without the ledger."""
    seq, filed = last["seq"] + 1, body.get("filed", body.get("key"))
    digest = sha256(f"{last['hash']}\n{seq}\n{text}".encode()).hexdigest()
    try:
        execute(url, CALL, seq, body["dataset"], body["kind"], filed, text, digest)
    except psycopg.Error:
        return False
    return True


def put(*path: Any) -> Callable[[Body], Body]:
    """Another value at a place of an entry."""

    def change(body: Body) -> Body:
        changed = inner = deepcopy(body)
        for name in path[:-2]:
            inner = inner[name]
        inner[path[-2]] = path[-1]
        return changed

    return change


ANY: dict[str, Callable[[Body], Body]] = {
    "a number as text": put("after", "charges", "3"),
    "a number with a point": put("after", "charges", 3.0),
    "more in its state": put("after", "x", 1),
    "more in it": put("x", 1),
    "close calls": put("close_calls", {}),
    "reserved ones": put("reserved", 1),
    "no time": put("at", "now"),
    "a time without a zone": put("at", "2026-11-18T00:00:00"),
    "a time with another zone": put("at", "2026-11-18T00:00:00+01:00"),
    "long ago": put("at", "2020-11-18T00:00:00+00:00"),
    "before all times": put("at", "-infinity"),
}
CHARGES = {
    **ANY,
    **{f"by {name!r:.20}": put("by", name) for name in ("", 5, None, "\x1b[2J", "a\u200bb", "\u00a0", "x" * 201, "*", "a\0")},
    "more sums": put("after", "spent", "x", 1),
    "a fraction not reduced": put("after", "spent", "epsilon", "6/4"),
    "a long power written out": put("after", "spent", "delta", f"1/{2**70}"),
    "a short power of two": put("after", "spent", "epsilon", "3/2^1"),
    "a little more": put("after", "spent", "epsilon", f"{3 * 10**200 + 1}/{2 * 10**200}"),
    "much more": put("after", "spent", "epsilon", "200"),
    "a count as text": put("after", "spent", "answers", "3"),
    "a product": put("after", "spent", "exp_epsilon", "3/2"),
    "the key of another question": put("key", "k"),
    "no question": lambda body: keyed({**body, "question": ""}),
    "a long question": lambda body: keyed({**body, "question": "x" * 100_001}),
    "an odd boundary": lambda body: keyed({**body, "boundary": "\x1b[31m"}),
    "a delta of 2": lambda body: keyed(put("after", "spent", "delta", "2")({**body, "notion": "epsilon=1/2 delta=2"})),
    "a large epsilon": lambda body: keyed(
        put("after", "spent", {"answers": 3, "epsilon": "9001", "exp_epsilon": "1", "delta": "0"})(
            {**body, "notion": "epsilon=9000 delta=0"}
        )
    ),
}
TEXTS: dict[str, Callable[[str], str]] = {
    "spaces": lambda text: text.replace(":", ": "),
    "another order": lambda text: canonical_reversed(json.loads(text)),
    "a name twice": lambda text: text[:-1] + ',"dataset":"census"}',
    "a state twice": lambda text: text.replace('{"after":', '{"after":{},"after":', 1),
    "an escape": lambda text: text.replace("census", "c\\u0065nsus"),
    "a slash": lambda text: text.replace("epsilon=1/2", "epsilon=1\\/2").replace('"answer":true', '"answer":"\\/"'),
    "no ASCII": lambda text: text.replace('"answer":true', '"answer":"é"').replace('"question":"b"', '"question":"é"'),
}
ANSWERS: dict[str, Callable[[str], str]] = {
    "deep": lambda text: text.replace('"answer":true', f'"answer":{"[" * 70}{"]" * 70}'),
    "very deep": lambda text: text.replace('"answer":true', f'"answer":{"[" * 5000}{"]" * 5000}'),
    "of many digits": lambda text: text.replace('"answer":true', f'"answer":{"1" * 4301}'),
    "beyond all numbers": lambda text: text.replace('"answer":true', '"answer":1e999'),
}


def canonical_reversed(body: Body) -> str:
    return json.dumps(dict(sorted(body.items(), reverse=True)), separators=(",", ":"))


def stripped(entry: Body) -> Body:
    return {name: value for name, value in entry.items() if name not in ("seq", "hash")}


def prepared(ledger: Ledger, **more: Any) -> tuple[Body, Body, Body]:
    """The last entry, a charge, and two honest bodies of which either may follow it: a charge, and the answer."""
    for text in ("a", "b"):
        ask(ledger, text, **more)
    with pytest.raises(ZeroDivisionError):
        ledger.ask("census", "b", HALF, lambda: 1 / 0, again=True, **ABOUT, **more)
    entries = ledger.entries()
    last, answer = entries[-1], stripped(entries[-2])
    charge = stripped(last)
    answer |= {"charge": last["seq"], "at": last["at"], "key": last["key"]}
    answer["after"] = {**charge["after"], "answers": 3}
    sums = {**charge["after"]["spent"], "answers": 4, "epsilon": "2"}
    charge["after"] = {**charge["after"], "charges": 4, "spent": sums}
    if "asker_spent" in charge:
        charge["asker_spent"] = sums
    return last, charge, answer


@pytest.mark.slow
def test_an_entry_is_written_as_duotone_writes_it(url: str) -> None:
    with open_ledger(url) as ledger:
        register(ledger, ApproxDP(5, "1e-3"))
        last, charge, answer = prepared(ledger)
        for body, changes, texts in ((charge, CHARGES, TEXTS), (answer, ANY, {**TEXTS, **ANSWERS})):
            for name, change in changes.items():
                changed = change(body)
                assert not appended(url, last, changed, canonical(changed)), name
            for name, rewrite in texts.items():
                assert (text := rewrite(canonical(body))) != canonical(body) or body is charge, name
                assert text == canonical(body) or not appended(url, last, body, text), name
        assert appended(url, last, answer, canonical(answer))
        assert ledger.verify().holds
        assert not ask(ledger, "z").free


@pytest.mark.slow
def test_an_asker_is_filed_under_their_name_and_allowance(url: str) -> None:
    with open_ledger(url) as ledger:
        register(ledger, ApproxDP(5))
        ledger.allow("census", "ann", ApproxDP(4))
        ledger.allow("census", "*", ApproxDP(4))
        last, charge, _ = prepared(ledger, asker="ann")
        own = charge["asker_spent"]
        for changed in (
            *({**charge, "allowance": number} for number in (0, 1, 3, 999)),
            {**charge, "by": "eve"},
            {**charge, "filed": "x", "asker_spent": {**own, "answers": 1, "epsilon": "1/2"}},
            {**charge, "asker_spent": {**own, "epsilon": "300"}},
            {**charge, "asker_spent": {**own, "epsilon": "4/2"}},
        ):
            assert not appended(url, last, changed, canonical(changed)), changed
        assert appended(url, last, charge, canonical(charge))
        assert ledger.verify().holds
        assert not ask(ledger, "z", asker="ann").free


@pytest.mark.parametrize("name", ["a\\b", 'a "b"', "José", "\U0001f600"])
def test_names_and_questions_of_every_kind_are_taken(url: str, name: str) -> None:
    """Escapes of JSON, and text that Postgres cannot hold, in one entry and not in the next."""
    with open_ledger(url) as ledger:
        ledger.register(name, ApproxDP(9), version=name, unit=name, neighbours="replace")
        for allowed in (False, True):
            if allowed:
                ledger.allow(name, name, ApproxDP(9))
            for text in ("q", "\0\\", '\ud800"\\u005c/\x7f\b', "\u00e9\U0001f600"):
                answer: Body = {text: [text, 1.5, -0.0, 1e-300, 10**4299, [], {}], name: None}
                about: Any = {"unit": name, "neighbours": "replace"}
                receipt = ledger.ask(name, text, HALF, lambda a=answer: a, asker=name, again=True, **about)
                assert receipt.answer == answer
        assert ledger.verify().holds
