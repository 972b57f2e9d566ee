"""Reading an office file: all mistakes are reported at once, before anything starts."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from duotone.desk.office import Allowed, Listed, Member, Office, Population, Privacy
from duotone.desk.terms import model_at, sentence
from duotone.errors import DatasetError, DuotoneError, OfficeError
from duotone.model import checks
from duotone.model.accuracy import written_budget
from duotone.model.checks import Mistakes
from duotone.model.dataset import KEYS, Dataset
from duotone.options import close, unknown
from duotone.privacy.approx_dp import ApproxDP

LARGEST = 2**20
"""Most bytes of an office file."""
HIDDEN = {"file", "text", "declared", "shared"}
"""Fields of an office that are not in its file."""
EXAMPLES = {
    "ledger": 'ledger = "budget.ledger"', "people": "a heading [people.NAME] for each of them",
    "datasets": "a heading [datasets.NAME] for each of them", "role": 'role = "analyst", owner or auditor',
    "source": 'source = "table.csv"', "version": 'version = "1", a label of the data',
    "rows": "rows = 10_000, a public upper limit", "budget": 'budget = { epsilon = 3, delta = "1e-4" }',
    "epsilon": "epsilon = 1", "issuer": 'issuer = "https://…"', "client_id": 'client_id = "…"',
}  # fmt: skip
"""How each required key is written."""
OWN = Listed.model_fields.keys() - HIDDEN
"""What an office says of a dataset besides the declaration of its table."""
HERE = [key for key in KEYS if key not in ("dataset", "ledger")]
UNKNOWN = Dataset("unknown", version="unknown", budget=ApproxDP(1))
"""A placeholder for entries with mistakes, so that the mistakes of all others are found."""
LONGEST = 1000
"""Characters of a stored text that are read if nothing is declared; a longer text is cut."""


def read_office(path: Path) -> Office:
    """Read an office file; if anything is wrong, raise an `OfficeError` with all mistakes."""
    try:
        if path.stat().st_size > LARGEST:
            raise OfficeError(f"{path} is not an office file: it has more than {LARGEST} bytes")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise OfficeError(f"{path} is not there: name an office file, or write one (see docs/serve.md)") from None
    except (OSError, UnicodeDecodeError):
        raise OfficeError(f"{path} cannot be read: it must be a TOML file in UTF-8") from None
    try:
        written = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise OfficeError(f"{path.name}: this is not TOML: {error}") from None
    mistakes = Mistakes(path.name, text)
    for name in HIDDEN & written.keys():
        mistakes.add((name,), "is not known")
        del written[name]
    written = _with_declared(path, written, mistakes)
    try:
        office = Office(file=path.resolve(), text=text, **written)
    except ValidationError as error:
        every = [(_steps(one["loc"], written), one) for one in error.errors()]
        strange = [steps for steps, one in every if one["type"] == "extra_forbidden"]
        meant = {(*steps[:-1], close(str(steps[-1]), _known(steps))) for steps in strange}
        for steps, one in every:
            if not (one["type"] == "missing" and steps in meant):  # a similar key that is there
                mistakes.add(*_mistake(steps, one))
        raise OfficeError(*mistakes.sentences) from None
    office = _with_populations(office, mistakes)
    if not mistakes.every:
        _check(office, mistakes)
    if mistakes.every:
        raise OfficeError(*mistakes.sentences)
    return office


def _with_populations(office: Office, mistakes: Mistakes) -> Office:
    """The same, with the population of each dataset that is charged to one."""
    datasets = dict(office.datasets)
    for name, listed in office.datasets.items():
        steps, declared = ("datasets", name), listed.declared
        population = declared.population
        if name in office.populations:
            mistakes.add(("populations", name), "is the name of a dataset, too: rename one of them")
        if population is None:
            continue
        shared = office.populations.get(population)
        if shared is None:
            mistakes.add((*steps, "population"), f"is not one of this office: write a heading [populations.{population}]")
            continue
        for key, own, there in (
            ("unit", declared.unit or "row", shared.unit), ("neighbours", declared.neighbours, shared.neighbours)
        ):  # fmt: skip
            if own != there:
                mistakes.add((*steps, key), f"is {own}, and that of the population {population} is {there}: make them the same")
        for key in ("close_calls", "allowance"):
            if getattr(listed, key) is not None:
                mistakes.add((*steps, key), f"is said of the population: write it under [populations.{population}]")
        datasets[name] = listed.model_copy(update={"shared": shared, "close_calls": shared.close_calls})
    return office.model_copy(update={"datasets": datasets})


def _with_declared(path: Path, written: dict[str, Any], mistakes: Mistakes) -> dict[str, Any]:
    """The same, with each dataset's declaration turned into a `Dataset`."""
    datasets = written.get("datasets")
    if not isinstance(datasets, dict):
        return written
    every: dict[str, Any] = {}
    for name, one in datasets.items():
        every[name] = one
        if isinstance(one, dict):
            own = {key: value for key, value in one.items() if key in OWN}
            declared = {key: value for key, value in one.items() if key not in OWN}
            every[name] = {**own, "declared": UNKNOWN}
            with mistakes.at("datasets", name):
                every[name]["declared"] = _declared(path, name, declared)
    return {**written, "datasets": every}


def _declared(path: Path, name: str, written: dict[str, Any]) -> Dataset:
    """The declaration of a dataset: inline, or in a file of its own. Its name and its ledger are the office's."""
    mistakes, there = Mistakes(), ""
    called: dict[str, Any] = {"dataset": name} if checks.NAME.fullmatch(name) else {}
    if "file" in written:
        there = f" in {Path(str(written['file'])).name}"
        for key in written.keys() - {"file"}:
            mistakes.add((key,), f"is declared{there}: write it there" if key in HERE else unknown(key, [*OWN, "file"]))
        declared = UNKNOWN
        try:
            declared = replace(Dataset.load(path.parent / checks.text(written["file"])), ledger=None, **called)
        except DuotoneError as error:
            sentences = error.sentences if isinstance(error, DatasetError) else (str(error),)
            for sentence_there in sentences:
                mistakes.add(("file",), f"is refused: {sentence_there}")
        mistakes.refuse()
    else:
        declared = Dataset.of(written, known=HERE, **called)
    needed = ("version", "budget") if declared.population is None else ("version",)
    lacking = [key for key in needed if getattr(declared, key) is None]
    for key in lacking:
        mistakes.add((key,), f"is missing{there}: write {EXAMPLES[key]}")
    if declared.groups is not None and not isinstance(declared.groups, Mapping):
        mistakes.add(("groups",), 'must be lists by columns, as { ward = ["A", "B"] }')
    mistakes.refuse()
    return declared if declared.longest_text is not None else replace(declared, longest_text=LONGEST)


def _steps(place: tuple[str | int, ...], written: Any) -> tuple[str | int, ...]:
    """The existing steps to a mistake in the file, and the missing name; pydantic adds the types that it tried."""
    steps: list[str | int] = []
    for step in place:
        inside = isinstance(written, dict) and step in written
        if not (inside or (isinstance(written, list) and isinstance(step, int) and step < len(written))):
            return (*steps, step) if isinstance(written, dict) and isinstance(step, str) and "[" not in step else (*steps,)
        steps.append(step)
        written = written[step]
    return tuple(steps)


def _mistake(steps: tuple[str | int, ...], error: Any) -> tuple[tuple[str | int, ...], str]:
    """Where a mistake is, and pydantic's finding in our words."""
    key = str(steps[-1]) if steps else ""
    match error["type"]:
        case "missing":
            return steps, f"is missing: write {EXAMPLES[key]}" if key in EXAMPLES else "is missing"
        case "extra_forbidden":
            return steps, unknown(key, _known(steps))
        case "model_type" if error["ctx"]["class_name"] in (Privacy.__name__, Allowed.__name__):
            return steps, 'must be { epsilon = …, delta = … }, as { epsilon = 1, delta = "1e-6" }'
        case "model_type":
            return steps, f"must be a table with {', '.join(_known((*steps, '')))}"
        case "string_pattern_mismatch":
            name = "x1f" in str(error["ctx"])
            return steps, "has characters that a name cannot have" if name else "must be https://host[:port]"
    return steps, sentence(error)


def _known(steps: tuple[str | int, ...]) -> list[str]:
    """The keys that are allowed at this place."""
    model = model_at(Office, steps[:-1])
    return [] if model is None else [key for key in model.model_fields if key not in HIDDEN]


def _check(office: Office, mistakes: Mistakes) -> None:
    """Check entries against each other."""
    if not any(member.role == "owner" for member in office.people.values()):
        mistakes.add(("people",), "has no owner: give one person the role owner")
    with mistakes.at("ledger"):
        office.path(office.ledger)
    if not office.limits.share < max(2, office.limits.workers):
        mistakes.add(("limits", "at_once"), "must be less than workers, so that one person never has all places")
    if (office.server.certificate is None) != (office.server.key is None):
        mistakes.add(("server",), "needs both certificate and key, or neither")
    for name in ("certificate", "key"):
        file = getattr(office.server, name)
        if file is not None and not Path(office.path(file)).is_file():
            mistakes.add(("server", name), "is not a file")
    with mistakes.at("openid", "client_secret_file"):
        try:
            _ = office.client_secret
        except (OSError, UnicodeDecodeError):
            mistakes.add(("openid", "client_secret_file"), "cannot be read")
    subjects = [member.subject or name for name, member in office.people.items()]
    for name, member in office.people.items():
        _check_member(office, name, member, mistakes)
        if subjects.count(member.subject or name) > 1:
            mistakes.add(("people", name), "has the same subject as another person")
    for name, population in office.populations.items():
        _check_budget(population, ("populations", name), mistakes)
    for name, dataset in office.datasets.items():
        _check_dataset(office, name, dataset, mistakes)
        with mistakes.at("datasets", name, "source"):
            office.path(dataset.declared.source)


def _check_member(office: Office, name: str, member: Member, mistakes: Mistakes) -> None:
    if member.role != "analyst" and (member.datasets or member.allowances):
        mistakes.add(("people", name), f"is an {member.role}: datasets and allowances are for analysts")
    if member.role == "analyst" and not member.datasets:
        mistakes.add(("people", name), 'is an analyst of no dataset: name some, as datasets = ["…"]')
    for i, dataset in enumerate(member.datasets):
        if dataset not in office.datasets:
            mistakes.add(("people", name, "datasets", i), f"is not a dataset of this office: {dataset}")
    charged = {one: office.datasets[one] for one in member.datasets if one in office.datasets}
    shared = {str(one.declared.population): one.shared for one in charged.values() if one.shared is not None}
    for dataset, allowance in member.allowances.items():
        place = "people", name, "allowances", dataset
        if dataset in shared:
            with mistakes.at(*place):
                _check_allowance(shared[dataset], allowance)
        elif dataset not in charged:
            mistakes.add(place, f"is for a dataset that {name} may not ask about")
        elif charged[dataset].shared is not None:
            mistakes.add(
                place, f"is for a dataset that is charged to {charged[dataset].declared.population}: name that instead"
            )
        else:
            with mistakes.at(*place):
                _check_allowance(charged[dataset], allowance)


def _check_allowance(dataset: Listed | Population, allowance: Allowed) -> None:
    if dataset.close_calls is not None:
        raise DuotoneError("close calls are counted for all askers together: leave it out")
    own, most = allowance.definition(dataset.registration.account), dataset.budget
    if isinstance(own, ApproxDP) and (own.exp_epsilon > most.exp_epsilon or own.delta > most.delta):
        raise DuotoneError(f"it is more than the whole budget, {written_budget(most)}")


def _check_budget(dataset: Listed | Population, steps: tuple[str, str], mistakes: Mistakes) -> None:
    with mistakes.at(*steps, "budget"):
        _ = dataset.registration
    if dataset.allowance is not None:
        with mistakes.at(*steps, "allowance"):
            _check_allowance(dataset, dataset.allowance)


def _check_dataset(office: Office, name: str, dataset: Listed, mistakes: Mistakes) -> None:
    steps = "datasets", name
    if dataset.shared is None:
        _check_budget(dataset, steps, mistakes)
    if dataset.approvers and not dataset.approval:
        mistakes.add((*steps, "approvers"), "is for a dataset with approval = true")
    for i, approver in enumerate(dataset.approvers):
        if approver not in office.people:
            mistakes.add((*steps, "approvers", i), f"is not a person of this office: {approver}")
