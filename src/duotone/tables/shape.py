"""The table that a question is about: joined with public tables, reduced to one row per person, with computed keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from duotone.tables.engines.derived_tables import joined_people, per_person, with_keys
from duotone.tables.engines.engine import closed_on_error
from duotone.tables.engines.open import Others, closing
from duotone.tables.engines.public_rows import PublicTable
from duotone.tables.engines.public_tables import join_public
from duotone.tables.engines.source import Source
from duotone.tables.sql.comparison import ParsedQuestion


def shaped(
    source: Source, others: Others, public: Mapping[str, PublicTable], asked: ParsedQuestion, *, everybody: bool
) -> tuple[Source, ParsedQuestion]:
    """The table as the question makes it, and the question with the digests of the public rows that it joins.

    `others` are further private tables; with `everybody`, an inner select keeps people without a row in its where.
    """
    joins, beside = asked.joins, [(others[joined.table], joined) for joined in asked.beside]
    with closed_on_error(lambda: source.close()):
        if joins:
            source, digest = join_public(source, asked, public)
            asked = asked.followed_by(f" JOIN {digest}")
        for i, (other, joined) in enumerate(beside):
            if joined.people.joins:
                other, digest = join_public(other, replace(asked, joins=joined.people.joins), public)
                source = replace(closing(source, [other]), public={**source.public, **other.public})
                beside[i] = (other, joined)
                asked = asked.followed_by(f" TO {joined.join.label} JOIN {digest}")
        if asked.people is not None:
            people = asked.people
            source = joined_people(source, people, beside) if beside else per_person(source, people, everybody=everybody)
        return (with_keys(source, asked.keys) if asked.keys else source), asked
