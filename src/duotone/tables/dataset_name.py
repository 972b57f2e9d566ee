"""Which dataset of a ledger a table is, where nobody says: a file's is called as the file is, without its ending."""

from __future__ import annotations

from duotone.errors import LedgerError
from duotone.ledger.ledger import Ledger
from duotone.model.notice import Notice, Refusal
from duotone.tables.engines.source import Source
from duotone.tables.sql.names import ENDINGS

LISTED = 10
"""The datasets that an error names, at most."""


def own_names(source: Source) -> tuple[str, ...]:
    """What a table may be registered as: a file without its ending, or with it, as it was first; any other by its name."""
    ending = next((ending for ending in ENDINGS if source.name.lower().endswith(ending)), "")
    in_a_file = source.named and source.engine.can.embedded and source.sibling is None
    if not (in_a_file and ending and len(ending) < len(source.name)):
        return (source.name,)
    return source.name[: -len(ending)], source.name


def dataset_of(source: Source, ledger: Ledger) -> str:
    """The dataset that a table is by its name. Only one that is registered is taken, so that no name opens a second budget."""
    names, registered = own_names(source), ledger.datasets()
    known = [name for name in names if name in registered]
    if len(known) > 1:
        raise Refusal("two datasets of a table", datasets=" and ".join(known))
    if known:
        return known[0]
    if not registered:
        raise LedgerError(Notice("table not registered", dataset=names[0]))
    raise LedgerError(Notice("table not registered among others", dataset=names[0], others=", ".join(registered[:LISTED])))
