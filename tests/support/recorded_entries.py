"""Entries as they stand in ledgers, and ledgers made of such texts."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from duotone.ledger.stores import Row, open_store

PLAIN = [
    '{"after":{"allowances":false,"answers":0,"charges":0,"closed":false,"spent":{"answers":0,"delta":"0","epsilon":"0",'
    '"exp_epsilon":"1","squares":"0"},"version":"1"},"at":"2026-11-15T11:00:00+00:00","budget":"epsilon=2 delta=1/100000'
    '0","dataset":"d","kind":"register","neighbours":"replace","rule":"sum","unit":"person","v":1,"version":"1"}',
    '{"after":{"allowances":false,"answers":0,"charges":1,"closed":false,"spent":{"answers":2,"delta":"0","epsilon":"1",'
    '"exp_epsilon":"1","squares":"1/2"},"version":"1"},"again":false,"answers":2,"at":"2026-11-15T11:00:01+00:00","bound'
    'ary":"balanced","by":"ann","dataset":"d","key":"70a6eba23c46c8e4e536163a8ffda3bb2378e5c063060bb9de1c8dc6ba4071cf","'
    'kind":"charge","notion":"epsilon=1/2 delta=0","question":"q","v":1,"version":"1"}',
    '{"at":"2026-11-14T09:00:00+00:00","before":"2026-11-15T11:00:01+00:00","by":"owner","dataset":"","kind":"clock","v":1}',
    '{"after":{"allowances":false,"answers":1,"charges":1,"closed":false,"spent":{"answers":2,"delta":"0","epsilon":"1",'
    '"exp_epsilon":"1","squares":"1/2"},"version":"1"},"answer":[true,false],"at":"2026-11-15T11:00:02+00:00","charge":2'
    ',"dataset":"d","key":"70a6eba23c46c8e4e536163a8ffda3bb2378e5c063060bb9de1c8dc6ba4071cf","kind":"answer","v":1}',
]
"""Entries of version 1, verbatim: they must be read, verified and continued for ever."""


ALLOWED = [
    '{"after":{"allowances":false,"answers":0,"charges":0,"closed":false,"spent":{"answers":0,"delta":"0","epsilon":"0",'
    '"exp_epsilon":"1","squares":"0"},"version":"1"},"at":"2026-11-16T11:00:00+00:00","budget":"epsilon=2 delta=1/100000'
    '0","dataset":"d","kind":"register","neighbours":"replace","rule":"sum","unit":"person","v":1,"version":"1"}',
    '{"after":{"allowances":false,"answers":0,"charges":1,"closed":false,"spent":{"answers":2,"delta":"0","epsilon":"1",'
    '"exp_epsilon":"1","squares":"1/2"},"version":"1"},"again":false,"answers":2,"at":"2026-11-16T11:00:01+00:00","bound'
    'ary":"balanced","by":"ann","dataset":"d","key":"70a6eba23c46c8e4e536163a8ffda3bb2378e5c063060bb9de1c8dc6ba4071cf","'
    'kind":"charge","notion":"epsilon=1/2 delta=0","question":"q","v":1,"version":"1"}',
    '{"after":{"allowances":false,"answers":1,"charges":1,"closed":false,"spent":{"answers":2,"delta":"0","epsilon":"1",'
    '"exp_epsilon":"1","squares":"1/2"},"version":"1"},"answer":[true,false],"at":"2026-11-16T11:00:02+00:00","charge":2'
    ',"dataset":"d","key":"70a6eba23c46c8e4e536163a8ffda3bb2378e5c063060bb9de1c8dc6ba4071cf","kind":"answer","v":1}',
    '{"after":{"allowances":true,"answers":1,"charges":1,"closed":false,"spent":{"answers":2,"delta":"0","epsilon":"1","'
    'exp_epsilon":"1","squares":"1/2"},"version":"1"},"asker":"ann","asker_spent":{"answers":2,"delta":"0","epsilon":"1"'
    ',"exp_epsilon":"1","squares":"1/2"},"at":"2026-11-16T11:00:03+00:00","by":"owner","dataset":"d","filed":"d85837dc7a'
    'fe35ff84782ecbcd911b66673fee432b3de462663e3979ee0d0c10","kind":"asker","v":1}',
    '{"after":{"allowances":true,"answers":1,"charges":1,"closed":false,"spent":{"answers":2,"delta":"0","epsilon":"1","'
    'exp_epsilon":"1","squares":"1/2"},"version":"1"},"asker":"ann","asker_spent":{"answers":2,"delta":"0","epsilon":"1"'
    ',"exp_epsilon":"1","squares":"1/2"},"at":"2026-11-16T11:00:04+00:00","budget":"epsilon=3/2 delta=0","by":"owner","d'
    'ataset":"d","filed":"d85837dc7afe35ff84782ecbcd911b66673fee432b3de462663e3979ee0d0c10","kind":"allowance","v":1}',
    '{"after":{"allowances":true,"answers":1,"charges":1,"closed":false,"spent":{"answers":2,"delta":"0","epsilon":"1","'
    'exp_epsilon":"1","squares":"1/2"},"version":"1"},"asker":"*","at":"2026-11-16T11:00:05+00:00","budget":"epsilon=1/2'
    ' delta=0","dataset":"d","filed":"51218f82e430a9d1a8a779d93c9c09cee2a23765fce9697a03f729dd7bfdd085","kind":"allowanc'
    'e","v":1}',
    '{"after":{"allowances":true,"answers":1,"charges":2,"closed":false,"spent":{"answers":3,"delta":"0","epsilon":"3/2"'
    ',"exp_epsilon":"1","squares":"3/4"},"version":"1"},"again":false,"allowance":5,"answers":1,"asker_spent":{"answers"'
    ':3,"delta":"0","epsilon":"3/2","exp_epsilon":"1","squares":"3/4"},"at":"2026-11-16T11:00:06+00:00","boundary":"bala'
    'nced","by":"ann","dataset":"d","filed":"d85837dc7afe35ff84782ecbcd911b66673fee432b3de462663e3979ee0d0c10","key":"fa'
    '507fb3e55d03a16f44d44e8e0184cc4214089deafa6a37d9bdd2bbbc03a348","kind":"charge","notion":"epsilon=1/2 delta=0","que'
    'stion":"r","v":1,"version":"1"}',
    '{"after":{"allowances":true,"answers":2,"charges":2,"closed":false,"spent":{"answers":3,"delta":"0","epsilon":"3/2"'
    ',"exp_epsilon":"1","squares":"3/4"},"version":"1"},"answer":true,"at":"2026-11-16T11:00:07+00:00","charge":7,"datas'
    'et":"d","key":"fa507fb3e55d03a16f44d44e8e0184cc4214089deafa6a37d9bdd2bbbc03a348","kind":"answer","v":1}',
    '{"after":{"allowances":true,"answers":2,"charges":2,"closed":true,"spent":{"answers":3,"delta":"0","epsilon":"3/2",'
    '"exp_epsilon":"1","squares":"3/4"},"version":"1"},"at":"2026-11-16T11:00:08+00:00","dataset":"d","kind":"close","v"'
    ":1}",
]
"""The same with allowances, a charge under one, and the closing."""


def rows_of(texts: list[str]) -> list[Row]:
    """Texts as they are chained, by the rule in docs/operate.md."""
    rows, previous = [], ""
    for seq, text in enumerate(texts, 1):
        body = json.loads(text)
        previous = sha256(f"{previous}\n{seq}\n{text}".encode()).hexdigest()
        rows.append(Row(seq, body["dataset"], body["kind"], body.get("filed", body.get("key", "")), text, previous))
    return rows


def stored(path: Path, texts: list[str]) -> Path:
    store = open_store(path)
    with store.writing(create=True) as entries:
        for row in rows_of(texts):
            entries.append(row)
    store.close()
    return path
