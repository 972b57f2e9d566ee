"""Facts: everything public about a question and how it is answered, without the table. Answers: what was released, in
the forms that people use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from duotone.errors import DuotoneError
from duotone.html import cell, table
from duotone.ledger.close_calls import CloseCalls
from duotone.line.noise import Margin
from duotone.line.table import Outcome
from duotone.model.accuracy import Accuracy, Basis, Clearness, written_budget
from duotone.model.answer import SHOWN, Key, Released, word
from duotone.model.cost import Receipt
from duotone.model.dataset import Dataset
from duotone.model.notice import Notice
from duotone.model.terms import DefiniteTerms, PaidTerms, Terms, WhichTerms
from duotone.privacy.numbers import show
from duotone.privacy.text import definition_document
from duotone.tables.compile_question import Compiled
from duotone.tables.engines.engine import Source, vouched_for
from duotone.tables.parts.question import ByParts
from duotone.tables.sql.comparison import ParsedQuestion
from duotone.tables.sql.syntax import one_line
from duotone.words import sentences as sure
from duotone.words.sentences import Audience, sentence


@dataclass(frozen=True)
class Facts:
    """The question, who is protected, and the terms. Askers and readers of the answer may know all of it."""

    question: str
    """The question in SQL, as a ledger records it, without declarations."""
    text: str
    """The question as it was written, for a report."""
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
    """What one person is called."""
    protected: str
    """Whom the budget protects, and under which relation, for a report."""
    clipped: str
    """What is clipped to what; empty for nothing."""
    grids: Mapping[str, str]
    """The grid steps of each column; an average and a variance of one column may have two."""
    vouched: Notice | None
    """What the owner vouches for; None for a stored table."""
    remarks: tuple[Notice, ...]
    """Notes about the table and the question."""
    by_parts: ByParts | None = field(default=None, repr=False)
    """How parts of the people are asked, if they are."""

    @property
    def scope(self) -> str:
        """What the answer is about, if it is not the table itself: most of several random parts of the people."""
        return "" if self.by_parts is None else self.by_parts.scope(self.unit)

    @property
    def accuracy(self) -> Accuracy | Clearness:
        """How often one answer is wrong, or too close to call."""
        return self.terms.accuracy

    @property
    def notes(self) -> tuple[Notice, ...]:
        """Notes about the budget, the table and the question."""
        return (*self.terms.budget_notes, *self.remarks)

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """The notes that must not be missed."""
        return tuple(note for note in self.notes if note.warns)

    @property
    def clipping(self) -> str | None:
        """What is clipped before it is counted, in a sentence; None for nothing. Pr[wrong] is about the answer after
        clipping: only the table's owner can see how much clipping changes (`duotone.tables.inspection`)."""
        if not self.clipped:
            return None
        return f"clipped before anything is counted: {self.clipped}; Pr[wrong] does not include the effect of clipping"

    @property
    def divided(self) -> str | None:
        """The share of each answer, if the budget is divided, in a sentence."""
        terms = self.terms
        if not isinstance(terms, PaidTerms) or terms.share == terms.privacy:
            return None
        return f"each answer gets {terms.share}, its share of the budget"

    def report(self, budget: str, audience: Audience = "python") -> str:
        """How an answer is made, for a report: the `budget`, whom it protects, what is clipped, how often it is
        wrong, and its notes."""
        terms, share, hidden = self.terms, None, None
        if isinstance(terms, PaidTerms):
            share = f"each answer with {written_budget(terms.share)}" if terms.share != terms.privacy else None
            if isinstance(terms, DefiniteTerms) and terms.groups is not None and terms.boundary != "selection":
                hidden = "groups of few people may be missing, since which are shown is decided privately"
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
            *(f"note: {sentence(note, audience)}" for note in self.warnings),
        ]
        return "; ".join(filter(None, said))

    @property
    def budget(self) -> str:
        """The budget and whom it protects, for a report."""
        terms = self.terms
        privacy = terms.privacy if isinstance(terms, PaidTerms) else terms.three_way.privacy
        return f"{written_budget(privacy)} {self.protected}"

    def document(self, audience: Audience = "python") -> dict[str, Any]:
        """The same as JSON, with notes as sentences for an audience."""
        if isinstance(self.terms, PaidTerms):
            privacy = {"privacy": {**definition_document(self.terms.privacy), "parts": self.terms.parts}}
        else:
            privacy = {"question_privacy": definition_document(self.terms.three_way.privacy)}
        about: dict[str, Any] = {"person": self.person, "basis": self.basis, "grids": dict(self.grids)}
        if isinstance(self.terms, DefiniteTerms) and self.terms.groups is not None:
            about["private_groups"] = self.terms.groups.document(self.terms.count)
        if isinstance(self.terms, WhichTerms):
            about |= {"among": list(self.terms.answers), "ordered": self.terms.mechanism.ordered}
        if self.by_parts is not None:
            about["by_parts"] = {"scope": self.scope, **self.by_parts.document()}
        notes = [sentence(note, audience) for note in self.notes]
        document = {**privacy, **about, **self.accuracy.document(), "clipping": self.clipping, "notes": notes}
        warned = [sentence(note, audience) for note in self.warnings if note.printed]
        return {**document, "warnings": warned} if warned else document


def facts_of(
    source: Source,
    asked: ParsedQuestion | ByParts | None,
    by: tuple[str, ...],
    declared: Dataset,
    most: int,
    terms: Terms,
    compiled: Compiled | None,
    listed: int | None,
) -> Facts:
    """The facts of a checked question, about so many `listed` groups; without `asked`, the question is which groups there
    are."""
    vouched = None if source.vouched is None else vouched_for(source.vouched, declared.person)
    limited = most if by and isinstance(terms, PaidTerms) else None
    if compiled is not None and compiled.groups is not None and most < compiled.groups.many:
        limited = most
    cut = declared.unit is not None and limited is not None and (listed is None or limited < listed)
    labels = by if asked is None or not by else asked.labels
    parts, unit = asked if isinstance(asked, ByParts) else None, declared.person or "row"
    text = f"the groups by {' and '.join(by)}" if asked is None else f"“{one_line(asked.text)}”"
    exact = parts is None and (compiled is None or compiled.exact)
    return Facts(
        question=f"groups by {', '.join(by)}" if asked is None else asked.normal,
        text=text if parts is None else f"{text} {parts.scope(unit)}",
        table=source.name if source.named else "the table",
        by=by,
        labels=labels if len({*labels, "answer"}) == len(by) + 1 else by,
        terms=terms,
        basis="exact distance" if exact else "safe bound",
        person=_person(source, asked, declared, limited),
        unit=unit,
        protected=f"per {unit} under {'replacement' if declared.replaced else 'addition or removal'}",
        clipped=_clipped(compiled, declared, limited),
        grids=_grids(compiled),
        vouched=vouched,
        remarks=(
            *filter(None, [vouched]),
            *terms.notes,
            *_remarks(parts, unit, declared, compiled),
            *([Notice("groups beyond", most=f"{limited} group{'s' * (limited != 1)}", unit=unit)] if cut else []),
        ),
        by_parts=parts,
    )


def _remarks(parts: ByParts | None, unit: str, declared: Dataset, compiled: Compiled | None) -> tuple[Notice, ...]:
    """Notes about the question."""
    if parts is None:
        return () if compiled is None else compiled.notes
    code = "by parts, replaced" if declared.replaced else "by parts"
    return (Notice(code, parts=parts.parts, unit=unit), *parts.notes)


def _person(source: Source, asked: ParsedQuestion | ByParts | None, declared: Dataset, groups: int | None) -> str:
    """Who counts as a person, in words."""
    if declared.person is None:
        return "each row is a person"
    article = "an" if declared.person[:1].lower() in "aeio" else "a"
    one = f"a person is {article} {declared.person} (rows without one do not count)"
    if declared.made_by is not None and isinstance(asked, ParsedQuestion) and asked.beside:
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
    """The grid steps of each column."""
    steps: dict[str, list[str]] = {}
    for compared in [] if compiled is None else compiled.comparisons:
        for column, grid in compared.grids.items():
            steps.setdefault(column, []).append(show(grid.step))
    return {column: " and ".join(dict.fromkeys(own)) for column, own in steps.items()}


@dataclass(frozen=True, repr=False, eq=False)
class Answers(Released):
    """Released answers: by group if the question is grouped, else under the empty key.

    Each is True or False; one of several words, if the question is which of them is true; or an `Outcome` if it may be too
    close to call. `str` of it is the answer, or a line for each group, and then what warns of it (`facts.warnings`). `bool`
    is the answer of a question without groups (an error if it is too close to call), which also equals True or "yes", False
    or "no". `certain`, `p_value`, `margin` and `at_least` say how sure it is; for groups, `margins` do. `sizes` are the
    estimated sizes of private groups. `to_arrow` and `to_pandas` make a table of it, `facts` are the question and its
    accuracy, `quote` is a sentence for a report. Levels and truths are not in it.
    """

    answers: Mapping[Key, bool | str | Outcome]
    margins: Mapping[Key, Margin]
    facts: Facts
    private: bool
    about: str
    """What it was asked about: a dataset of a ledger, or the table by its name."""
    receipt: Receipt | None = None
    """The receipt, if a ledger was charged."""
    unanswered: tuple[Key, ...] = ()
    """The groups after the last close call."""
    close_calls: CloseCalls | None = None
    """The dataset's registration for close calls, if they are counted."""
    sizes: Mapping[Key, int] = field(default_factory=dict)
    """The estimated number of people in each group, if groups are selected privately and sizes are released: usually
    off by at most `facts.terms.groups.noise.give_or_take`; a small group that is shown seems larger."""

    @property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        """Labels of the group columns."""
        return self.facts.labels

    @property
    def grouped(self) -> bool:  # type: ignore[override]
        """Whether the question has an answer for each group."""
        return bool(self.facts.by)

    @property
    def among(self) -> tuple[str, ...]:
        """The possible answers, if the question is which of several is true; else empty."""
        return self.facts.terms.answers if isinstance(self.facts.terms, WhichTerms) else ()

    @property
    def estimates(self) -> Mapping[Key, int]:  # type: ignore[override]
        """For a single count of people: the estimated count, by group."""
        count = self.facts.terms.count
        return {} if count is None else {key: count.count(margin.value) for key, margin in self.margins.items()}

    def numbers(self, key: Key) -> dict[str, Any]:
        """How sure an answer is, and the estimated count, if it is about one."""
        margin = self.margins[key].numbers()
        return {**margin, "estimate": self.estimates[key]} if key in self.estimates else margin

    @property
    def has_margins(self) -> bool:
        """Whether its answers have margins; also true if no group is shown."""
        terms = self.facts.terms
        known = isinstance(terms, DefiniteTerms) and terms.boundary != "selection" and terms.table.has_margins
        return bool(self.margins) or (known and not self.answers)

    @property
    def has_sizes(self) -> bool:
        """Whether its groups have sizes; also true if no group is shown."""
        return bool(self.sizes) or (isinstance(self.facts.terms, DefiniteTerms) and self.facts.terms.sized and not self.answers)

    @property
    def accuracy(self) -> Accuracy | Clearness:
        """How often each answer is wrong, or too close to call, by how many people would flip it."""
        return self.facts.accuracy

    def __str__(self) -> str:
        return "\n".join([self.said, *(f"note: {note}" for note in self.facts.warnings if note.printed)])

    @property
    def said(self) -> str:
        """The answer in words, or a line for each group, without notes."""
        warning = "" if self.private else " (NOT PRIVATE: test seed)"
        if not self.facts.by:
            scope = f", {self.facts.scope}" if self.facts.scope else ""
            return f"{word(self.answer)}{scope}{self._price}{warning}"
        return "\n".join(f"{', '.join(map(str, key))}: {said}{warning}" for key, said in self.words.items())

    @property
    def how_sure(self) -> str:
        """How sure the answer is, in words; for groups, how many are certain; empty if nothing is known."""
        if not self.facts.by:
            return sure.how_sure(self.numbers(()), self.facts.unit) if self.margins else ""
        certain = sum(margin.certain for margin in self.margins.values())
        return f"{certain} of {len(self.margins)} certain" if self.margins else ""

    @property
    def in_words(self) -> dict[Key, tuple[str, ...]]:
        """Each answer as a word and, if it has a margin, how sure it is."""
        if not self.facts.by:
            return {key: (said, self.how_sure) if self.margins else (said,) for key, said in self.words.items()}
        sure_of = {key: (sure.brief(self.numbers(key)),) for key in self.margins}
        return {key: (said, *sure_of.get(key, ())) for key, said in self.words.items()}

    def sizes_of(self, key: Key) -> tuple[str, ...]:
        """The estimated size of a group, in words; empty if it is not known."""
        return (sure.many(max(self.sizes[key], 1), self.facts.unit),) if key in self.sizes else ()

    @property
    def meaning(self) -> str:
        """What the p-value means, in words; empty without one, or if the answer is certain."""
        return sure.meaning(self.numbers(()), word(self.answer)) if self.margins and not self.facts.by else ""

    @property
    def _price(self) -> str:
        """What a close call cost."""
        if self.answer is not Outcome.TOO_CLOSE or self.receipt is None:
            return ""
        return " (as recorded)" if self.receipt.free else f" (charged; {self.receipt.left.close_calls} left)"

    def __repr__(self) -> str:
        facts, counts = self.facts, Counter(self.words.values())
        if not facts.by:
            said = self.said
        elif isinstance(facts.terms, DefiniteTerms):
            said = f"{counts['yes']} yes and {counts['no']} no by {', '.join(facts.labels)}"
        else:
            said = f"{', '.join(f'{many} {answer}' for answer, many in counts.items())} by {', '.join(facts.labels)}"
        if self.margins:
            said += f", {self.how_sure if facts.by else sure.brief(self.sure.numbers())}"
        brief = f"; {facts.terms.accuracy.brief}" if isinstance(facts.terms, PaidTerms) else ""
        notes = "".join(f"; note: {note}" for note in facts.warnings)
        return f"<Answers: {said}; {facts.terms}; {facts.basis}{brief}{notes}>"

    def _repr_html_(self) -> str:
        facts = self.facts
        rows = [[*map(cell, (*key, *said, *self.sizes_of(key)))] for key, said in list(self.in_words.items())[:SHOWN]]
        said = [self.meaning] if self.meaning else []
        said += [f"{facts.terms}; {facts.person}; {facts.basis}", *filter(None, [facts.clipping]), *self.notes]
        said += filter(None, [facts.divided])
        if isinstance(facts.terms, PaidTerms):
            said += filter(None, [facts.terms.accuracy.by_margin])
        said.append(facts.accuracy.ending)
        if len(self.answers) > SHOWN:
            said.insert(0, f"{len(self.answers) - SHOWN} more groups")
        if not self.private:
            said.append("NOT PRIVATE: test seed")
        head = (*facts.labels, "answer", *(["how sure"] if self.margins else []), *(["about"] if self.sizes else []))
        return table(head, rows, before=facts.question, after=said)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the answer should know, one sentence each."""
        return tuple(map(str, self.notices))

    @property
    def notices(self) -> tuple[Notice | str, ...]:
        """The same as notices, for `duotone.words` to say to others."""
        before = None if self.receipt is None else self.receipt.before
        missing = (Notice("groups unanswered", groups=len(self.unanswered)),) if self.unanswered else ()
        return (*self.facts.notes, *([] if before is None else [before.note]), *missing)

    def quote(self, audience: Audience = "python") -> str:
        """A sentence for a report: the question, the answers, and what a reader needs to judge them.

        >>> import pyarrow as pa
        >>> from duotone import ask
        >>> stays = pa.table({"patient": range(200), "days": [3, 9] * 100})
        >>> about = {"unit": "patient", "per_unit": "avg", "bounds": {"days": (0, 30)}}
        >>> longer = ask(stays, "avg(days) > 5", epsilon=1, delta=1e-6, **about)
        >>> said = longer.quote().replace("; ", ";\\n").replace("), with d", "),\\nwith d")
        >>> print(said.replace("stored is up", "stored is\\nup"))  # doctest: +ELLIPSIS
        In the table, “avg(days) > 5” was answered yes, certain (at least ... patients would have to be different to change it),
        with differential privacy, ε = 1, δ = 1e-06 per patient under addition or removal;
        a person is a patient (rows without one do not count), with the avg of its rows;
        clipped: days to [0, 30] in steps of 1/100000, a person's values to their avg, rounded down;
        wrong with probability at most 0.269, and never if 15 or more people would have to be different to change it;
        note: avg(days) > 5 is about clipped values: with 1% of them cut to [0, 30], by 30 on average, the average as stored is
        up to 0.3 away, with 10% up to 3, so near the limit the answer may be another.
        """
        warning = "" if self.private else "NOT PRIVATE, by a test seed: "
        before = "" if self.receipt is None or self.receipt.before is None else f"; {self.receipt.before.fact}"
        return f"{warning}In {self.about}, {self._said} with {self.facts.report(self._budget, audience)}{before}."

    @property
    def _said(self) -> str:
        """The answer, for a report."""
        text, reported = self.facts.text, self._reported()
        keys = {" ".join(map(str, key)): " ".join(said) for key, said in reported.items()}
        if not self.facts.by:
            return f"{text} was answered {', '.join(self._reported()[()])}{',' * bool(self.margins)}"
        if isinstance(self.facts.terms, DefiniteTerms) and self.facts.terms.boundary == "selection":
            named = [f"{' '.join(map(str, key))}{''.join(f' (about {n})' for n in self.sizes_of(key))}" for key in reported]
            return f"{', '.join(named) or 'none'} of {text} may be shown, selected"
        if keys:
            return f"{text} was answered {', '.join(f'{said} for {key}' for key, said in keys.items())},"
        return f"{text} was answered for no group, since none may be shown,"

    def _reported(self) -> dict[Key, tuple[str, ...]]:
        """Each answer as a report shows it."""
        if not self.facts.by and self.margins:
            said = word(self.answer)
            return {(): (said, sure.in_report(self.numbers(()), said, self.facts.unit))}
        return {key: (said, *(f"({how_sure})" for how_sure in rest)) for key, (said, *rest) in self.in_words.items()}

    @property
    def _budget(self) -> str:
        """The budget and whom it protects; for close calls, the budget of all answers together."""
        if self.close_calls is None:
            return self.facts.budget
        together = f"together with every other clear answer and up to {self.close_calls.count} that are too close to call"
        return f"{written_budget(self.close_calls.budget)} {self.facts.protected}, {together}"

    def certificate(self) -> dict[str, Any]:
        """The proof of the mechanism behind each answer, or of how many close calls are private: see `duotone
        check`."""
        terms = self.facts.terms
        if isinstance(terms, PaidTerms):
            return {**terms.certificate(), "basis": self.facts.basis}
        if self.close_calls is None:
            raise DuotoneError("the ledger that counts close calls has their certificate: ask through it")
        return {**self.close_calls.certificate(), "basis": self.facts.basis}

    def document(self, audience: Audience = "python") -> dict[str, Any]:
        """All of it as JSON: what the command prints with --json, and a service sends."""
        facts, document = self.facts, self.facts.document(audience)
        if self.unanswered:
            document["notes"] = [sentence(note, audience) for note in self.notices]
        if self.receipt is not None:
            document["ledger"] = self.receipt.document()
        if not facts.by:
            numbers = {**self.numbers(()), "unit": facts.unit} if self.margins else {}
            return {"answer": word(self.answer), **numbers, "private": self.private, **document}
        rows = [dict(zip((*facts.labels, "answer"), (*key, said), strict=True)) for key, said in self.words.items()]
        unanswered: dict[str, Any] = {"unanswered": [dict(zip(facts.labels, key, strict=True)) for key in self.unanswered]}
        if isinstance(facts.terms, PaidTerms):
            unanswered = {"margins": [self.numbers(key) for key in self.margins]} if self.has_margins else {}
        if self.has_sizes:
            unanswered["sizes"] = [*self.sizes.values()]
        return {"by": list(facts.labels), "answers": rows, **unanswered, "private": self.private, **document}
