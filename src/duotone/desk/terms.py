"""Terms: what a person asks and at which price, and what else a request may carry. Unknown keys are mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from duotone.desk.callers import Refused
from duotone.errors import DuotoneError
from duotone.model.dataset import KEYS
from duotone.model.wanted import MOST, Wanted, budget_of
from duotone.options import unknown
from duotone.privacy.numbers import exact
from duotone.privacy.text import Definition

Number = Annotated[str, Field(max_length=200)] | Annotated[int, Field(strict=True)] | Annotated[float, Field(strict=True)]
"""A number, or a text with one, as 1/10; a float means the decimal that it is written as."""
Small = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]


WAYS = ("epsilon", "exp_epsilon", "wrong", "one_of", "price")
"""How a price can be given."""
NUMBERS = dict.fromkeys(
    ("epsilon", "exp_epsilon", "delta", "wrong", "price", "share"), "must be a number, or a text with one, as 1/10"
)
NUMBERS["costs"] = "must be two numbers"


class Sent(BaseModel):
    """What a request carries."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    @classmethod
    def read(cls, sent: Any) -> Self:
        """Read a request's fields; anything else is refused."""
        try:
            return sent if isinstance(sent, cls) else cls.model_validate(sent)
        except ValidationError as error:
            raise wrong_request(cls, error.errors()[0]) from None


class Version(Sent):
    """A new public version of the data."""

    version: Annotated[str, Field(min_length=1, max_length=60)]
    """A version that the data has not had before."""


class Decision(Sent):
    """Whether a request may be asked."""

    approve: Annotated[bool, Field(strict=True)]
    """Approved if true, refused if false."""


class AssistantAllowance(Sent):
    """What an assistant may ask by itself: sums of ε and δ, or a share of the budget; and questions that may be close
    calls."""

    epsilon: Number = 0
    """The sum of ε of all its answers."""
    delta: Number = 0
    """The sum of δ of all its answers."""
    share: Number | None = None
    """Instead of ε and δ: a part of the dataset's budget, as 1/5."""
    questions: Annotated[int, Field(strict=True, ge=0, le=10**6)] = 0
    """How many questions, where only close calls are charged."""


class Terms(Sent):
    """A question and its price. The unit, bounds and neighbours are the owner's."""

    question: Annotated[str, Field(max_length=100_000)] | None = None
    """SQL with a yes/no answer: a comparison of aggregates, as avg(age) > 38 or count(*) filter (where vote = 'Y') > 500, or a
    select with one, with where and group by. Or which of several answers is true: mode(town), bracket(avg(age), 20, 40), a
    case whose answers are constants, or select town from votes group by town order by avg(age) desc limit 1."""
    by: list[Annotated[str, Field(max_length=200)]] | None = None
    """Instead of a question: which groups by these columns are large enough to be shown."""
    epsilon: Number | None = None
    """The price: the privacy loss ε, as 0.5. Where only close calls are charged, a question without a price is free
    unless it is too close to call."""
    exp_epsilon: Number | None = None
    """Instead of epsilon: e^ε itself."""
    delta: Number | None = None
    """The second part of the price, very small, as 1e-6; 0 by default."""
    wrong: Number | None = None
    """Instead of epsilon: how often the answer may be wrong if `people` would flip it; the least ε follows, or, where prices
    multiply, the least price."""
    one_of: Annotated[int, Field(strict=True, ge=1, le=MOST)] | None = None
    """Instead of epsilon: a number of answers; this one costs one such part of the whole budget."""
    price: Number | None = None
    """Instead of epsilon, for experts: a price above 1, where the account is renyi."""
    max_groups: Small | None = None
    """With group by and a unit: the most groups in which one person counts. The price is divided by it."""
    at_least: Small | None = None
    """The fewest people in a group that is shown, if groups are selected privately."""
    costs: tuple[Number, Number] | None = None
    """How bad a false no and a false yes are, as [10, 1], if one mistake is worse."""
    margins: bool | None = None
    """With many groups: true divides the price, so that each answer says how sure it is; false never does where yes and no
    alone take fewer people. By default, yes and no alone where that takes half as many."""
    groups: Literal["listed", "private"] = "listed"
    """public: the groups that the owner lists. private: shown groups are selected privately."""
    people: Annotated[int, Field(strict=True, ge=1, le=10**12)] | None = None
    """With wrong: how many people would have to be different to flip the answer. Else, with a preview: a public guess of
    the number of people, to see the accuracy in real units."""
    parts: Small | None = None
    """Where the owner allows it: ask each of this many random parts of the people by itself, an odd number; the answer says
    whether it holds in most of them. The question is then any SQL of DuckDB with one yes/no value."""
    again: Annotated[bool, Field(strict=True)] = False
    """Pay for a new answer even if there is a recorded one, which would be free."""
    purpose: Annotated[str, Field(max_length=2000)] | None = None
    """What the answer is for: whoever approves reads it."""
    request: Small | None = None
    """The number of an approved request; nothing else is needed then."""
    made_up: Annotated[bool, Field(strict=True)] = False
    """Ask about made-up rows: free, and about nobody."""

    @property
    def priced(self) -> bool:
        """Whether a price is given, so that the answer will be definite."""
        return any(getattr(self, way) is not None for way in WAYS)

    @property
    def budget(self) -> Definition | Wanted:
        """The price, in the one way that it is given."""
        if len(given := [way for way in WAYS if getattr(self, way) is not None]) != 1:
            raise DuotoneError(f"say what the answer may cost by one of {', '.join(WAYS[:-1])} and {WAYS[-1]}")
        return budget_of(**{given[0]: getattr(self, given[0])}, people=self.people, delta=self.delta)

    @property
    def costs_exact(self) -> tuple[Fraction, Fraction] | None:
        """How bad a false no and a false yes are."""
        return None if self.costs is None else (as_exact(self.costs[0], "costs"), as_exact(self.costs[1], "costs"))


OWNERS = frozenset(KEYS) - Terms.model_fields.keys() - {"dataset"}
"""Options of `duotone.ask` that the owner of a dataset declares here."""


def wrong_request(model: type[BaseModel] | None, error: Mapping[str, Any]) -> Refused:
    """What is wrong with a request, without quoting it.

    >>> wrong = lambda kind, place: str(wrong_request(Terms, {"type": kind, "loc": (place,), "msg": ""}))
    >>> wrong("extra_forbidden", "eps"), wrong("extra_forbidden", "unit")
    ('eps is not known: epsilon is', 'unit cannot be given: the owner of the dataset declares it')
    >>> wrong("bool_type", "again")
    'again must be true or false'
    """
    steps, known = [], model
    for step in error["loc"]:  # the path in the request; pydantic adds the types that it tried
        steps.append(str(step)[:100])
        known = None if known is None else model_at(known, (step,))
        if known is None:
            break
    place, inside = ".".join(steps) or "the request", None if model is None else model_at(model, tuple(steps[:-1]))
    if error["type"] != "extra_forbidden":
        numeric = str(error["type"]).endswith("_type") and steps and steps[-1] in NUMBERS
        return Refused("bad question", f"{place} {NUMBERS[steps[-1]] if numeric else sentence(error)}")
    if steps[-1] in OWNERS:
        return Refused("bad question", f"{place} cannot be given: the owner of the dataset declares it")
    return Refused("bad question", f"{place} {unknown(steps[-1], [] if inside is None else inside.model_fields)}")


def as_exact(value: Number, name: str) -> Fraction:
    """A number as it was written."""
    return exact(str(value) if isinstance(value, float) else value, name)


KINDS = {
    "bool": "must be true or false",
    "string": "must be a text, in quotes",
    "int": "must be a whole number",
    "float": "must be a number",
    "tuple": "must be a list, in [ ]",
    "list": "must be a list, in [ ]",
    "dict": "must be a table, in { } or under a heading of its own",
    "mapping": "must be a table, in { } or under a heading of its own",
    "literal": "must be {expected}",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "too_short": "is empty",
    "too_long": "has too many entries",
    "string_too_short": "is empty",
    "string_too_long": "has more than {max_length} characters",
    "value_error": "{error}",
    "missing": "is missing",
    "json_invalid": "must be JSON",
}
"""Sentences by pydantic's names of mistakes, or by their beginnings, as for bool_type and bool_parsing."""


def sentence(error: Mapping[str, Any]) -> str:
    """A mistake in our words.

    >>> sentence({"type": "bool_parsing", "msg": "Input should be a valid boolean, unable to interpret input"})
    'must be true or false'
    >>> sentence({"type": "greater_than_equal", "msg": "", "ctx": {"ge": 1}})
    'must be at least 1'
    """
    kind = str(error["type"])
    words = KINDS.get(kind) or KINDS.get(kind.partition("_")[0])
    return str(error["msg"]).replace("Input should be", "must be") if words is None else words.format(**error.get("ctx", {}))


def model_at(model: type[BaseModel], place: tuple[str | int, ...]) -> type[BaseModel] | None:
    """The model at a place of a document; None if there is none."""
    steps = list(place)
    while steps:
        field = model.model_fields.get(str(steps.pop(0)))
        inside = None if field is None else _model_in(field.annotation)
        if field is None or inside is None:
            return None
        if _is_mapping(field.annotation):
            steps = steps[1:]  # the name of the key
        model = inside
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part)) is not None), None)


def _is_mapping(annotation: Any) -> bool:
    origin = get_origin(annotation)
    return isinstance(origin, type) and issubclass(origin, Mapping)
