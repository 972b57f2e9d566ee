"""What an assistant's tools take: strict, so that a word too many is refused and not passed over."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from duotone.errors import MissingExtra

try:
    from pydantic import BaseModel, ConfigDict, Field
except ImportError:
    raise MissingExtra("the interface for assistants", "assistant") from None


class Arguments(BaseModel):
    """What a tool takes: this and nothing else."""

    model_config = ConfigDict(extra="forbid")


class OfDataset(Arguments):
    """Which dataset."""

    dataset: Annotated[str, Field(min_length=1, max_length=200, description="A dataset's name, as list_datasets has it.")]


class WantedError(Arguments):
    """The error that is wanted."""

    wrong: Annotated[float, Field(gt=0, lt=0.5, description="How often the answer may be wrong, as 0.01.")]
    people: Annotated[int, Field(ge=1, description="If this many people would have to be different to change the true answer.")]


class OfQuestion(OfDataset):
    """A question and its price."""

    question: Annotated[
        str | None,
        Field(
            max_length=100_000,
            description="SQL with a yes/no answer: a comparison of aggregates, as avg(age) > 38 or"
            " count(*) filter (where vote = 'Y') > 500, or a select with one, with where and group by.",
        ),
    ] = None
    by: Annotated[
        list[str] | None,
        Field(description="Instead of a question: which groups by these columns are large enough to be shown."),
    ] = None
    epsilon: Annotated[
        str | float | None,
        Field(description="The price: the privacy loss ε, as 0.5. None with error, or where close calls are counted."),
    ] = None
    delta: Annotated[str | float | None, Field(description="The second part of the price, very small, as 1e-6.")] = None
    error: Annotated[
        WantedError | None, Field(description="Instead of epsilon: how accurate the answer must be; the least ε follows.")
    ] = None
    max_groups: Annotated[
        int | None, Field(ge=1, description="With group by and a unit: in how many groups a person counts at most.")
    ] = None
    costs: Annotated[
        tuple[str | float, str | float] | None,
        Field(description="How bad a false no and a false yes are, as [10, 1], where one mistake is worse."),
    ] = None
    groups: Annotated[
        Literal["listed", "private"] | None,
        Field(description="private: select the groups privately although the owner lists them."),
    ] = None
    again: Annotated[bool, Field(description="Pay for a new answer although one is recorded, which would be free.")] = False

    @property
    def terms(self) -> dict[str, Any]:
        """As a service takes them."""
        terms = self.model_dump(exclude={"dataset"}, exclude_none=True)
        return terms if self.again else {name: value for name, value in terms.items() if name != "again"}


class ToPreview(OfQuestion):
    """A question to be previewed."""

    people: Annotated[
        int | None, Field(ge=1, description="A public guess of how many people there are, to see the accuracy in real units.")
    ] = None


class ToPlan(OfQuestion):
    """A question to be asked later."""

    purpose: Annotated[str | None, Field(max_length=2000, description="What the answer is for: whoever approves reads it.")] = (
        None
    )


class OfPlan(Arguments):
    """Which plan."""

    plan: Annotated[int, Field(ge=1, description="The number that plan_question gave.")]


class OfCharge(OfDataset):
    """Which charge."""

    charge: Annotated[int, Field(ge=1, description="The number of the charge, as an answer and history have it.")]
