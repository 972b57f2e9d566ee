"""Accounts: register an office's datasets in its ledger, and check them before they are served."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from duotone.desk.office import Listed, Office, Population
from duotone.desk.records import Records
from duotone.desk.same_table import asked_as, remember
from duotone.desk.tables import OpenTable, check_tables
from duotone.errors import DuotoneError, LedgerError, OfficeError
from duotone.ledger.allowances import EVERYBODY
from duotone.ledger.ledger import Ledger, open_ledger
from duotone.ledger.registration import Registered
from duotone.ledger.request import Standing
from duotone.model.accuracy import written_budget
from duotone.model.checks import Mistakes
from duotone.model.dataset import Dataset
from duotone.privacy.approx_dp import ApproxDP

LOG = logging.getLogger("duotone.service")


def register_all(office: Office, tables: dict[str, OpenTable], ledger: Ledger, records: Records) -> None:
    """Register datasets that the ledger does not know; compare the others with it.

    Guarantee: a table keeps its budget under any name, as long as the records are kept. A budget in the ledger never
    changes.
    """
    try:
        known = set(ledger.datasets())
    except LedgerError:
        known = set()  # no ledger yet: the first registration creates it
    for name, population in office.populations.items():
        if name not in known:
            _register_population(ledger, name, population)
        _must_agree(name, ledger.stands(name), replace(population.registration, dataset=name))
        _allow(office, name, population, name, ledger)
    for name, dataset in office.datasets.items():
        keys = tables[name].keys
        for other in (asked_as(keys, records) or remember(name, keys, records)) - {name}:
            raise DuotoneError(
                f"the table of {name} was asked about as {other} before: one table has one budget, so keep that name"
            )
        remember(name, keys, records)
        account = dataset.in_ledger
        if account not in known:
            register(ledger, dataset)
        stands = held_against(ledger, name, dataset)
        if stands.version != dataset.version:
            _relabel(ledger, account, dataset.version)
        if dataset.shared is None:
            _allow(office, name, dataset, account, ledger)


def held_against(ledger: Ledger, name: str, dataset: Listed) -> Standing:
    """The ledger's state of a known dataset; refused if the office file declares it differently."""
    stands = ledger.stands(dataset.in_ledger)
    if stands.registered.population != dataset.declared.population:
        there, own = map(_charged_to, (stands.registered.population, dataset.declared.population))
        raise DuotoneError(
            f"{name} {there} in the ledger, and {own} in the office file: a dataset never leaves its budget; correct the "
            "office file, or name the dataset otherwise"
        )
    _must_agree(name, stands, dataset.registration)
    return stands


def _must_agree(name: str, stands: Standing, declared: Registered) -> None:
    """Refuse what is declared otherwise than it is registered."""
    if stands.registered.written() != declared.written():
        raise DuotoneError(
            f"{name} is registered in the ledger differently from the office file (it has {_brief(stands.registered)}; "
            f"the office file has {_brief(declared)}): a budget is given once; correct the office file, or, if "
            "the table holds new people, give them a label (people)"
        )


def _relabel(ledger: Ledger, account: str, version: str) -> None:
    """Give the data the office's label, unless it had that label before: then an owner has given it a newer one
    since."""
    try:
        ledger.relabel(account, version, done_by="the office")
    except LedgerError:
        raise
    except DuotoneError as error:
        LOG.warning("the ledger has a newer version than the office file", extra={"dataset": account, "error": str(error)})


def register(ledger: Ledger, dataset: Listed) -> None:
    """Register a dataset in a ledger, with its budget or its population, if another process of this office was not
    faster."""
    budget = None if dataset.shared is not None else dataset.budget
    about = {**dataset.registered_with, "version": dataset.version, "if_absent": True}
    ledger.register(dataset.in_ledger, budget, **about, done_by="the office")


def _register_population(ledger: Ledger, name: str, population: Population) -> None:
    about = {**population.registered_with, "version": "1", "if_absent": True}
    ledger.register(name, population.budget, **about, done_by="the office")


def rehearse(ledger: Ledger, dataset: Listed) -> None:
    """Register a dataset in a ledger that is new, after its population."""
    if dataset.shared is not None:
        _register_population(ledger, str(dataset.declared.population), dataset.shared)
    register(ledger, dataset)


def _allow(office: Office, name: str, dataset: Listed | Population, account: str, ledger: Ledger) -> None:
    """Grant the allowances of the office that the ledger does not have yet."""
    everybody = dataset.allowance
    wanted = {EVERYBODY: everybody} if everybody is not None else {}
    wanted |= {who: member.allowances[name] for who, member in office.people.items() if name in member.allowances}
    priced = dataset.registration.account
    for who, allowance in wanted.items():
        own, given = ledger.share(account, who), allowance.definition(priced)
        if own.budget != given or (who != EVERYBODY and not own.number):
            exactly = given if isinstance(given, ApproxDP) else None
            ledger.allow(account, who, exactly, share=allowance.share, done_by="the office")


def _charged_to(population: str | None) -> str:
    return "has a budget of its own" if population is None else f"is charged to {population}"


def _brief(registered: Registered) -> str:
    called, budget = registered.close_calls, written_budget(registered.budget)
    if called is not None:
        budget = f"{written_budget(called.budget)} for close calls, {budget} for definite answers"
    return f"{budget}, unit {registered.unit}, {registered.neighbours}, account {registered.account.name}"


def check_office(office: Office) -> list[str]:
    """Open every table of an office, compare declarations with columns and with the ledger, and return what is worth
    knowing.

    Registers and writes nothing.
    """
    mistakes = Mistakes(office.file.name, office.text)
    tables = {name: OpenTable(name, office, dataset) for name, dataset in office.datasets.items()}
    check_tables(tables, mistakes)
    notes = [note for name, table in tables.items() for note in _uses(name, table.declared)] + _check_ledger(office, mistakes)
    _check_names(office, tables, mistakes)
    if mistakes.every:
        raise OfficeError(*mistakes.sentences)
    late = [name for name, table in tables.items() if table.has_more_rows]
    return [*notes, *(f"{name} has more rows than rows says: answers may be late" for name in late)]


def _uses(name: str, dataset: Dataset) -> list[str]:
    """What a declaration does not allow to be asked, and what only the owner can ensure."""
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
            if "://" in place:  # the first start creates the ledger there
                return [f"budgets were not compared: {error}"]
            mistakes.add(("ledger",), f"is refused: {error}")
            return []
        for name, population in office.populations.items():
            if name in known:
                with mistakes.at("populations", name):
                    _must_agree(name, ledger.stands(name), replace(population.registration, dataset=name))
        for name, dataset in office.datasets.items():
            if dataset.in_ledger in known:
                with mistakes.at("datasets", name):
                    held_against(ledger, name, dataset)
    return []


def _check_names(office: Office, tables: Mapping[str, OpenTable], mistakes: Mistakes) -> None:
    """Record a mistake for each table that was asked about under another name. Without readable records there are
    none."""
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
            mistakes.add(("datasets", name), f"was asked about as {other} before: one table has one budget, so keep that name")
    records.close()
