"""Checking an office: all that would keep it from being served is found before, and nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from duotone.desk.accounts import held_against
from duotone.desk.office import Office
from duotone.desk.records import Records
from duotone.desk.same_table import asked_as
from duotone.desk.tables import OpenTable, refuse_same
from duotone.errors import DuotoneError, LedgerError, OfficeError
from duotone.http.serve import exposed
from duotone.ledger.ledger import Ledger, open_ledger
from duotone.model.dataset import Dataset
from duotone.model.mistakes import Mistakes


def check_office(office: Office) -> list[str]:
    """Open every table of an office, hold what is declared against its columns and against the ledger; what is worth knowing.

    Nothing is registered, noted or made.
    """
    mistakes, notes = Mistakes(office.file.name, office.text), list[str]()
    tables = {name: OpenTable(name, office, dataset) for name, dataset in office.datasets.items()}
    for name, table in tables.items():
        table.check(mistakes)
        table.reopen()
        notes += _uses(name, table.declared)
    refuse_same(tables, mistakes)
    notes += _check_ledger(office, mistakes)
    _check_names(office, tables, mistakes)
    if mistakes.every:
        raise OfficeError(*mistakes.sentences)
    notes += [
        f"{name} has more rows than rows says: answers may be late" for name, table in tables.items() if table.has_more_rows
    ]
    unsafe = exposed(office)
    return notes if unsafe is None else [*notes, unsafe]


def _uses(name: str, dataset: Dataset) -> list[str]:
    """What a declaration leaves out of what could be asked, and what only the owner can see to."""
    if dataset.vouched:
        return [f"{name} is vouched for: if it is a view, do not offer the tables behind it under another name as well"]
    if dataset.unit is None or dataset.max_rows is not None or dataset.per_unit is not None:
        return []
    undeclared = f"{name} has a unit, and neither max_rows nor per_unit"
    return [f"{undeclared}: people can be counted; a sum, average or median needs one of these"]


def _check_ledger(office: Office, mistakes: Mistakes) -> list[str]:
    place = office.ledger_place
    if "://" not in place:
        if not Path(place).parent.is_dir():
            mistakes.add(("ledger",), f"is in a folder that is not there: {Path(place).parent}")
        if not Path(place).exists():
            return []
    with open_ledger(place) as ledger:
        try:
            known = ledger.datasets()
        except LedgerError as error:
            if "://" in place:  # where the first start makes it
                return [f"budgets were not compared: {error}"]
            mistakes.add(("ledger",), f"is refused: {error}")
            return []
        _check_registered(office, ledger, set(known), mistakes)
    return []


def _check_registered(office: Office, ledger: Ledger, known: set[str], mistakes: Mistakes) -> None:
    for name, dataset in office.datasets.items():
        if dataset.account in known:
            with mistakes.at("datasets", name):
                held_against(ledger, name, dataset)


def _check_names(office: Office, tables: Mapping[str, OpenTable], mistakes: Mistakes) -> None:
    """Whether a table was asked about by another name; where there are no records yet, or none can be read, it was not."""
    place = office.records_place
    if "://" in place or not Path(place).exists():
        return
    try:
        records = Records(place)
    except DuotoneError as error:
        mistakes.add(("records",), f"is refused: {error}")
        return
    for name, table in tables.items():
        for other in sorted(asked_as(table.keys, records) - {name}):
            mistakes.add(("datasets", name), f"was asked about as {other}: one table has one budget, keep its name")
    records.close()
