"""Groups: which keys of a table may be shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from duotone.engines import Source
from duotone.errors import DuotoneError
from duotone.line import partition_selection
from duotone.privacy import ApproxDP
from duotone.release import Coin
from duotone.table import LineTable

PEOPLE = "duotone_people"


@dataclass(frozen=True)
class Groups:
    """The keys that were selected, in their own order, under which total budget, and the rule each of them passed.

    `share` is the part of the budget that each group got: a person may be in `most` of them.
    """

    by: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...]
    privacy: ApproxDP
    share: ApproxDP
    unit: str | None
    most: int
    table: LineTable = field(repr=False)

    def certificate(self) -> dict[str, Any]:
        """What proves the rule by which each group was selected."""
        return self.table.certificate()


def select_groups(source: Source, by: Sequence[str], privacy: ApproxDP, *, unit: str | None = None, most: int = 1) -> Groups:
    """Release which keys occur, each with the largest probability that privacy allows for its number of people.

    With `unit`, all rows of a person count as one, and a person counts in at most `most` groups: of more, those with
    the smallest MD5 of person and key, which looks at nobody else. Without it, each row is a person. Rows whose key or
    unit is null are nobody's. The budget is divided by `most`, evenly.

    Guarantee: one person joining or leaving changes the number of people of at most `most` keys, each by 1, and a key
    that nobody has is never shown. Keys come in their own order, not the engine's.

    >>> import pyarrow as pa
    >>> from duotone.engines import open_source
    >>> visits = open_source(pa.table({"town": ["Ely"] * 40 + ["Wells"], "person": range(41)}))
    >>> select_groups(visits, ["town"], ApproxDP(1, "1e-6"), unit="person").keys
    (('Ely',),)
    """
    if not (by and len(set(by)) == len(by)):
        raise DuotoneError("name at least one column to group by, each once")
    if not (isinstance(most, int) and most >= 1):
        raise DuotoneError(f"the number of groups a person may be in must be at least 1, got {most}")
    if unit is None and most != 1:
        raise DuotoneError("without a unit each row is a person, in one group: name the unit (--unit)")
    source.require([*by, *([unit] if unit is not None else [])])
    for column in [*by, *([unit] if unit is not None else [])]:
        kind = source.table[column].type()
        if not (kind.is_string() or kind.is_numeric() or kind.is_boolean() or kind.is_temporal() or kind.is_uuid()):
            raise DuotoneError(f"column {column} cannot be a key or a unit: it must be text, numbers, Booleans, dates or times")
    if unit in by:
        raise DuotoneError("the unit cannot be a key too: its groups would be persons")
    if not privacy.delta > 0:
        raise DuotoneError("with delta 0 no group may ever be shown: give a delta above 0")
    share = privacy.split(most)
    rule = Coin(partition_selection(share))
    counted = source.run(counts(source.table, by, unit, most))
    kept = rule.answers(counted[PEOPLE].combine_chunks().to_numpy() - 1)
    chosen = counted.select(list(by)).filter(kept).sort_by([(column, "ascending") for column in by])
    keys = tuple(zip(*(column.to_pylist() for column in chosen.columns), strict=True))
    assert isinstance(rule.table, LineTable)
    return Groups(tuple(by), keys, privacy, share, unit, most, rule.table)


def counts(table: Any, by: Sequence[str], unit: str | None, most: int) -> Any:
    """The plan: how many people each key has, after every person has been bounded."""
    import ibis

    present = [table[column].notnull() for column in ([*by] if unit is None else [*by, unit])]
    rows = table.filter(present)
    if unit is not None:
        pairs = rows.select(unit, *by).distinct()
        text = ibis.literal("\x1f").join([pairs[column].cast("string") for column in (unit, *by)])
        ranked = pairs.mutate(duotone_order=text.hexdigest("md5"))
        window = ibis.window(group_by=unit, order_by=["duotone_order", *by])
        rows = ranked.mutate(duotone_rank=ibis.row_number().over(window)).filter(lambda t: t.duotone_rank < most)
    return rows.group_by(list(by)).agg(**{PEOPLE: lambda t: t.count()})
