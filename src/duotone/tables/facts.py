"""Facts: all that is public about a question and about how it is answered, without the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from duotone.model.accuracy import Accuracy, Basis, Clearness, written_budget
from duotone.model.dataset import Dataset
from duotone.model.notice import Notice
from duotone.model.terms import DefiniteTerms, Terms
from duotone.privacy.numbers import show
from duotone.privacy.text import definition_document
from duotone.tables.compile_question import Compiled
from duotone.tables.engines.source import Source, vouched_for
from duotone.tables.sql.comparison import ParsedQuestion
from duotone.tables.sql.syntax import one_line
from duotone.words.sentences import Audience, sentence


@dataclass(frozen=True)
class Facts:
    """What is asked, of whom, and on which terms. Whoever asked, and whoever reads the answer, may know all of it."""

    question: str
    """What is asked, in SQL, as a ledger records it without what is declared."""
    text: str
    """What is asked, as it was written, for a report."""
    table: str
    """The table's name, or "the table"."""
    by: tuple[str, ...]
    """The columns that the question is grouped by."""
    labels: tuple[str, ...]
    """Labels of the group columns: query aliases, or column names where aliases clash."""
    terms: Terms = field(repr=False)
    basis: Basis
    """Whether levels are exact distances, or safe bounds."""
    person: str
    """Who counts as a person, in words."""
    unit: str
    """What one of them is called."""
    protected: str
    """Whom the budget protects, and under which relation, for a report."""
    clipped: str
    """What is clipped to what; empty for nothing."""
    grids: Mapping[str, str]
    """The steps that each column is put on; an average and a variance of one column may have two."""
    vouched: Notice | None
    """What the owner vouches for; None of a stored table."""
    remarks: tuple[Notice, ...]
    """What to know about the table and the question."""

    @property
    def accuracy(self) -> Accuracy | Clearness:
        """How often one answer is wrong, or too close to call."""
        return self.terms.accuracy

    @property
    def notes(self) -> tuple[Notice, ...]:
        """What to know about the budget, the table and the question."""
        return (*self.terms.budget_notes, *self.remarks)

    @property
    def clipping(self) -> str | None:
        """What is clipped before it is counted, in a sentence; None for nothing. Pr[wrong] is that of the answer after it: how
        much a choice changes is for the table's owner to see (`duotone.tables.inspection`)."""
        if not self.clipped:
            return None
        return f"clipped before anything is counted: {self.clipped}; Pr[wrong] does not include the effect of clipping"

    @property
    def divided(self) -> str | None:
        """The share of each answer, where the budget is divided, in a sentence."""
        terms = self.terms
        if not isinstance(terms, DefiniteTerms) or terms.share == terms.privacy:
            return None
        return f"each answer gets {terms.share}, its share of the budget"

    def report(self, budget: str) -> str:
        """How an answer is made, for a report: the `budget`, whom it protects, what is clipped, how often it is wrong."""
        terms, share, hidden = self.terms, None, None
        if isinstance(terms, DefiniteTerms):
            share = f"each answer with {written_budget(terms.share)}" if terms.share != terms.privacy else None
            hidden = "groups of few people may be missing, since which are shown is decided privately" if terms.beside else None
        cut = f"clipped: {self.clipped}" if self.clipped else None
        wrong = self.accuracy.sentence(self.basis)
        said = [
            f"differential privacy, {budget}",
            share,
            self.person,
            cut,
            None if self.vouched is None else str(self.vouched),
            wrong,
            hidden,
        ]
        return "; ".join(filter(None, said))

    @property
    def budget(self) -> str:
        """The budget and whom it protects, for a report."""
        terms = self.terms
        privacy = terms.privacy if isinstance(terms, DefiniteTerms) else terms.three_way.privacy
        return f"{written_budget(privacy)} {self.protected}"

    def document(self, audience: Audience = "python") -> dict[str, Any]:
        """The same as JSON, the notes as sentences for an audience."""
        if isinstance(self.terms, DefiniteTerms):
            privacy = {"privacy": {**definition_document(self.terms.privacy), "parts": self.terms.parts}}
        else:
            privacy = {"question_privacy": definition_document(self.terms.three_way.privacy)}
        about = {"person": self.person, "basis": self.basis, "grids": dict(self.grids)}
        notes = [sentence(note, audience) for note in self.notes]
        return {**privacy, **about, **self.accuracy.document(), "clipping": self.clipping, "notes": notes}


def facts_of(
    source: Source,
    asked: ParsedQuestion | None,
    by: tuple[str, ...],
    declared: Dataset,
    most: int,
    terms: Terms,
    compiled: Compiled | None,
) -> Facts:
    """The facts of a question as it was checked; without `asked`, it is only which groups there are."""
    vouched = None if source.vouched is None else vouched_for(source.vouched, declared.person)
    limited = most if by and isinstance(terms, DefiniteTerms) else None
    labels = by if asked is None else asked.labels
    return Facts(
        question=f"groups by {', '.join(by)}" if asked is None else asked.normal,
        text=f"the groups by {' and '.join(by)}" if asked is None else f"“{one_line(asked.text)}”",
        table=source.name if source.named else "the table",
        by=by,
        labels=labels if len({*labels, "answer"}) == len(by) + 1 else by,
        terms=terms,
        basis="exact distance" if compiled is None or compiled.exact else "safe bound",
        person=_person(source, asked, declared, limited),
        unit=declared.person or "row",
        protected=f"per {declared.person or 'row'} under {'replacement' if declared.replaced else 'addition or removal'}",
        clipped=_clipped(compiled, declared, limited),
        grids=_grids(compiled),
        vouched=vouched,
        remarks=(*filter(None, [vouched]), *terms.notes, *(() if compiled is None else compiled.notes)),
    )


def _person(source: Source, asked: ParsedQuestion | None, declared: Dataset, groups: int | None) -> str:
    """Who counts as a person, in words."""
    if declared.person is None:
        return "each row is a person"
    article = "an" if declared.person[:1].lower() in "aeio" else "a"
    one = f"a person is {article} {declared.person} (rows without one do not count)"
    if declared.made_by is not None and asked is not None and asked.beside:
        tables = " and ".join(dict.fromkeys([source.name, *(other.table for other in asked.beside)]))
        return f"{one} in {tables} together, reduced to one row by the inner selects"
    if declared.made_by is not None:
        return f"{one}, reduced to one row by the inner select"
    many = declared.max_rows
    one += "" if many is None else f", counted as at most {many} row{'s' * (many > 1)}"
    one += "" if declared.per_unit is None else f", with the {declared.per_unit} of its rows"
    return one if groups is None else f"{one}, in at most {groups} group{'s' * (groups > 1)}"


def _clipped(compiled: Compiled | None, declared: Dataset, groups: int | None) -> str:
    """What is clipped to what."""
    cut = [
        f"{column} to [{show(grid.low * grid.step)}, {show(grid.high * grid.step)}] in steps of {show(grid.step)}"
        for compared in ([] if compiled is None else compiled.comparisons)
        for column, grid in compared.grids.items()
    ]
    if compiled is not None and compiled.rows_counted:
        cut.append(f"a person's rows to {declared.max_rows}")
    if declared.per_unit is not None:
        cut.append(f"a person's values to their {declared.per_unit}{', rounded down' * (declared.per_unit == 'avg')}")
    if declared.unit is not None and groups is not None:
        cut.append(f"a person's groups to {groups}")
    return ", ".join(dict.fromkeys(cut))


def _grids(compiled: Compiled | None) -> Mapping[str, str]:
    """The steps that each column is put on."""
    steps: dict[str, list[str]] = {}
    for compared in [] if compiled is None else compiled.comparisons:
        for column, grid in compared.grids.items():
            steps.setdefault(column, []).append(show(grid.step))
    return {column: " and ".join(dict.fromkeys(own)) for column, own in steps.items()}
