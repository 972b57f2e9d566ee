"""Asking: a question about a table is checked, charged to a ledger if there is one, and answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from duotone.errors import DuotoneError, got
from duotone.ledger.ledger import Ledger, opened_ledger
from duotone.model.dataset import KEYS, Dataset
from duotone.model.notice import warn
from duotone.model.wanted import Wanted, budget_of
from duotone.options import options_of, require_known
from duotone.privacy.text import Definition
from duotone.tables.answers import Answers
from duotone.tables.billing import account_in, asked_with
from duotone.tables.check_by_parts import prepare_by_parts
from duotone.tables.check_question import ToPrice, prepare, prepare_all, prepare_groups
from duotone.tables.prepared import Prepared, require_all_fit


def ask(
    source: Any,
    question: str,
    privacy: Definition | Wanted | ToPrice | None = None,
    *,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    again: bool = False,
    asker: str | None = None,
    **options: Any,
) -> Answers:
    """A private answer to a question about a table: a file, a data frame, an open `Source`, or a `Dataset`.

    The question is SQL: one Boolean expression over aggregates, or a select with one, with where and group by; or which of
    several answers is true (a `case`, `bracket(avg(x), 3, 5)`, `mode(x)`, the first group of an order). The budget is
    `epsilon` and `delta`, or a `privacy` definition; or `wrong` and `people`, `one_of` or `price`: see `prepare`.
    `help(Dataset)` lists all declarations.

    With a `ledger`, its place or an open one, or a `Dataset` that names one, the answer is charged to a `dataset` there first:
    see `Prepared.charge`, also for `again` and `asker`. A dataset that counts close calls is asked without a budget,
    and an answer may then be too close to call. With `parts`, any SQL is asked of random parts of the people (`ask_any`).

    Guarantee: the answers together satisfy the budget between tables that differ in one person, as `neighbours` says.

    >>> import pyarrow as pa
    >>> votes = pa.table({"vote": ["Y"] * 868 + ["N"] * 700})
    >>> question = "count(*) filter (where vote = 'Y') > count(*) filter (where vote = 'N')"
    >>> print(ask(votes, question, epsilon=1, delta=1e-6))
    yes
    """
    charged, by_parts = (ledger, dataset, again, asker), options.get("parts") is not None
    options = options if by_parts else {key: value for key, value in options.items() if key != "parts"}
    checked: Any = prepare_by_parts if by_parts else prepare
    require_known(options, [*options_of(ask, checked), *KEYS])
    return answered(checked, source, question, privacy, options, charged, close_calls=not _priced(privacy, options))


def ask_all(
    source: Any,
    questions: Sequence[str],
    privacy: Definition | Wanted | ToPrice | None = None,
    *,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    again: bool = False,
    asker: str | None = None,
    **options: Any,
) -> list[Answers]:
    """Private answers to several questions about a table, which share a budget; `each` gives all of it to each. From about
    a dozen questions on, they share it by one Rényi order (`margins` as for `prepare`), unless a ledger is charged.

    It takes what `prepare_all` takes. With a `ledger`, as of `ask`, each answer is charged, if all of them fit.

    Guarantee: the answers together satisfy the budget; with `each`, each by itself does. Every question has been checked before
    the first is answered.

    >>> import pyarrow as pa
    >>> votes = pa.table({"vote": ["Y"] * 868 + ["N"] * 700})
    >>> [str(answer) for answer in ask_all(votes, ["count(*) > 500", "mode(vote) = 'N'"], epsilon=1, delta=1e-6)]
    ['yes', 'no']
    """
    require_known(options, [*options_of(ask_all, prepare_all), *KEYS])
    ledger, dataset = _charged(source, ledger, dataset, again, asker)
    if ledger is None:
        with prepare_all(source, questions, privacy, **{"together": True, **options}) as prepared:
            warn(dict.fromkeys(note for question in prepared for note in question.facts.warnings))
            return [question.release() for question in prepared]
    with opened_ledger(ledger) as opened:
        budget = _to_price(opened, source, dataset, privacy, options)
        with prepare_all(source, questions, budget, **options) as prepared:
            warn(dict.fromkeys(note for question in prepared for note in question.facts.warnings))
            require_all_fit(prepared, opened, dataset, again=again, asker=asker)
            return [question.charge(opened, dataset, again=again, asker=asker) for question in prepared]


def select_groups(
    source: Any,
    by: Sequence[str] | str,
    privacy: Definition | Wanted | ToPrice | None = None,
    *,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    again: bool = False,
    asker: str | None = None,
    **options: Any,
) -> Answers:
    """Release which keys occur, each with the largest probability that privacy allows for its number of people.

    With `unit`, all rows of a person count as one, and a person counts in at most `max_groups` groups: those with the
    smallest MD5 of person and key, which depends on nobody else. Rows whose key or unit is null take no part.

    Guarantee: one person joining or leaving changes the number of people of at most `max_groups` keys, each by 1, and a
    key without people is never shown. Keys come in their own order, not the engine's.

    >>> import pyarrow as pa
    >>> visits = pa.table({"town": ["Ely"] * 90 + ["Wells"], "person": range(91)})
    >>> list(select_groups(visits, "town", epsilon=1, delta=1e-13, unit="person", max_groups=1).answers)
    [('Ely',)]
    """
    require_known(options, [*options_of(select_groups, prepare_groups), *KEYS])
    return answered(prepare_groups, source, by, privacy, options, (ledger, dataset, again, asker))


def ask_any(
    source: Any,
    question: str | Callable[[Any], Any],
    privacy: Definition | Wanted | ToPrice | None = None,
    *,
    parts: int = 51,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    again: bool = False,
    asker: str | None = None,
    **options: Any,
) -> Answers:
    """A private answer to any question at all: whether it holds in most of several random `parts` of the people, an odd number.

    The question is any SQL that DuckDB understands, with a yes/no value; or a function of a data frame to bool, as a
    regression, a trained model's accuracy, a test of scipy. Each part is asked by itself, in a process that knows no other
    part: see `duotone.tables.check_by_parts.prepare_by_parts`, also for limits of time and memory. The ledger keeps
    the key that divides people into parts; without one a key is drawn for each answer. To a ledger a function is another
    question once its file, or one beside it that it may import, was changed.

    >>> import pyarrow as pa
    >>> stays = pa.table({"age": range(2000), "days": [age / 100 for age in range(2000)]})
    >>> print(ask_any(stays, "corr(age, days) > 0.2", parts=31, epsilon=1, delta=1e-6))
    yes, in most of 31 random parts of the rows
    """
    require_known(options, [*options_of(ask_any, prepare_by_parts), *KEYS])
    options, charged = {**options, "parts": parts}, (ledger, dataset, again, asker)
    close_calls = not _priced(privacy, options)
    return answered(prepare_by_parts, source, question, privacy, options, charged, close_calls=close_calls)


def _priced(privacy: Any, options: dict[str, Any]) -> bool:
    """Whether a budget is given, so that the answer is definite."""
    return privacy is not None or any(options.get(way) is not None for way in ("epsilon", "wrong", "one_of", "price"))


def answered(
    prepare: Callable[..., AbstractContextManager[Prepared]],
    source: Any,
    asked: Any,
    privacy: Any,
    options: dict[str, Any],
    charged: tuple[Any, str | None, bool, str | None],
    *,
    close_calls: bool = False,
) -> Answers:
    """An answer to what is asked, charged to a ledger, as a dataset, again or not, for an asker; or released without one.
    With `close_calls`, a dataset whose close calls are counted is asked so."""
    ledger, dataset = _charged(source, *charged)
    if ledger is None:
        with prepare(source, asked, privacy, **options) as prepared:
            warn(prepared.facts.warnings)  # before anything is charged: where warnings are errors, nothing is
            return prepared.release()
    _, _, again, asker = charged
    with opened_ledger(ledger) as opened:
        called = asked_with(opened, _declared(source, options), dataset) if close_calls else None
        budget = _to_price(opened, source, dataset, privacy, options) if called is None else called
        with prepare(source, asked, budget, **options) as prepared:
            warn(prepared.facts.warnings)
            if not prepared.shared_in_an_account_renyi(opened, dataset):
                return prepared.charge(opened, dataset, again=again, asker=asker)
        with prepare(source, asked, budget, **{**options, "margins": True}) as prepared:
            return prepared.charge(opened, dataset, again=again, asker=asker)


def _charged(source: Any, ledger: Any, dataset: str | None, again: bool, asker: str | None) -> tuple[Any, str | None]:
    """The ledger and the dataset that are charged: the given ones, or those that a `Dataset` names."""
    if not isinstance(again, bool):
        raise DuotoneError(f"again must be True or False, got {got(again)}")
    if isinstance(source, Dataset):
        ledger, dataset = (source.ledger if ledger is None else ledger), (source.in_ledger if dataset is None else dataset)
    if ledger is None and (again or asker is not None or (dataset is not None and not isinstance(source, Dataset))):
        raise DuotoneError("dataset, again and asker need a ledger: name it (ledger)")
    return ledger, dataset


def _to_price(ledger: Ledger, source: Any, dataset: str | None, privacy: Any, options: dict[str, Any]) -> Any:
    """The budget as given; what is wanted instead is taken from the options, for the account of the charged dataset."""
    given = {way: options[way] for way in ("wrong", "one_of", "price") if options.get(way) is not None}
    if not (given or isinstance(privacy, Wanted)):
        return privacy
    others = ["epsilon", "delta", *(["people"] if "wrong" in given else [])]
    wanted = budget_of(privacy, **given, **{name: options.pop(name) for name in others if name in options})
    for way in given:
        del options[way]
    return (
        wanted if isinstance(wanted, Definition) else ToPrice(wanted, account_in(ledger, _declared(source, options), dataset))
    )


def _declared(source: Any, options: dict[str, Any]) -> Dataset:
    """The table that is asked about, by its place and name."""
    return source if isinstance(source, Dataset) else Dataset(source, table=options.get("table"))
