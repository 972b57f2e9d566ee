"""Connecting to a service with a token: questions look like those to a local table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from ssl import SSLContext
from typing import Any, Self, Unpack

from duotone.client.answers import RemoteAnswers, RemotePreview, Waiting, read_reply
from duotone.client.transport import Asked, Transport, as_body, budget_terms, open_transport, question_terms, written
from duotone.desk.operations import OPERATIONS, Document
from duotone.errors import AnswerWarning, DuotoneError, MissingExtra, ServiceError
from duotone.model.notice import warn
from duotone.options import known_options
from duotone.privacy.approx_dp import ApproxDP
from duotone.privacy.numbers import Given

TOKEN = "DUOTONE_TOKEN"
WAIT = 600.0
"""Most seconds to wait for an answer: it leaves at a tick of the service's clock, after a time declared for its
kind."""


@known_options
def connect(
    url: str,
    *,
    token: str | None = None,
    wait: float = WAIT,
    insecure: bool = False,
    verify: SSLContext | None = None,
) -> Connection:
    """A connection to a service that answers questions about its owner's tables.

    The `token` identifies the caller; by default it is the environment's DUOTONE_TOKEN. It is never shown. `wait` is
    the longest time to wait for an answer, in seconds. http:// is for this machine alone; `insecure` allows it
    elsewhere, if something else encrypts the connection. `verify` is for certificates of a private authority.

    >>> service = connect("http://localhost:8000", token="duo_example")
    >>> service
    <Connection to http://localhost:8000>
    """
    secret = os.environ.get(TOKEN) if token is None else token
    if not secret or not isinstance(secret, str):
        raise DuotoneError(f"give a token, or set it in the environment as {TOKEN}")
    return Connection(open_transport(url, secret, wait, insecure, verify))


@dataclass(frozen=True, repr=False)
class Connection:
    """A service, as one person sees it; `with connect(…) as service` closes it.

    `ask`, `preview` and `groups` take the parameters of `duotone.ask`, but refuse those that the owner declares (unit,
    bounds, neighbours …).
    """

    transport: Transport

    def __repr__(self) -> str:
        return f"<Connection to {self.transport.url}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self.transport.close()

    def call(self, name: str, *given: Any) -> Any:
        """Run an operation by its name: see `duotone.desk.operations`."""
        return self.transport.call(OPERATIONS[name], *given)

    def me(self) -> Document:
        """The token's owner: name, role, and whether it is an assistant's."""
        return dict(self.call("me"))

    def datasets(self) -> dict[str, Document]:
        """The datasets that may be asked about, by name: columns, the unit, budget, what is left."""
        return {dataset["dataset"]: dataset for dataset in self._listed("datasets")}

    def dataset(self, dataset: str) -> Document:
        """One dataset."""
        return dict(self.call("dataset", dataset))

    def ask(
        self, dataset: str, question: str | None = None, privacy: ApproxDP | None = None, **terms: Unpack[Asked]
    ) -> RemoteAnswers | Waiting:
        """A private answer to a yes/no question, which is charged; a question that was asked before is free.

        The budget is `epsilon` and `delta`, or a `privacy` definition, or the wanted `error`: {"wrong": 0.01, "people":
        10} is the least ε (or price) for which an answer is wrong with probability at most 0.01 if 10 people would flip it.
        `one_of` is a number of answers: this one costs one such part of the budget; `price` is a price where these multiply. A
        dataset whose close calls are counted needs none. `groups`, `max_groups`, `at_least` and `costs` are as in
        `duotone.ask`, and `again` pays for a new answer. With `parts`, any SQL is asked of so many random parts of the
        people, where the owner allows that. If another person must approve questions, give a `purpose`: the result is
        `Waiting`, and `ask(dataset, request=…)` asks it later. With `made_up`, the question is about made-up rows and free.
        """
        if question is None and terms.get("request") is None:
            raise DuotoneError("give a question, or the number of an approved request")
        return self._asked(dataset, question_terms(question, None, privacy, terms))

    def groups(
        self, dataset: str, by: str | Sequence[str], privacy: ApproxDP | None = None, **terms: Unpack[Asked]
    ) -> RemoteAnswers | Waiting:
        """Which keys occur; each is shown with the largest probability that privacy allows for its number of people."""
        return self._asked(dataset, question_terms(None, by, privacy, terms))

    def preview(
        self,
        dataset: str,
        question: str | None = None,
        privacy: ApproxDP | None = None,
        *,
        by: str | Sequence[str] | None = None,
        **terms: Unpack[Asked],
    ) -> RemotePreview:
        """How accurate the answer would be, and what it would cost; nothing is read or spent. It takes what `ask`
        takes, or `by` for groups; `people` is a public guess of their number, to show accuracy in the question's own
        units."""
        return RemotePreview(dataset, self.call("preview", dataset, question_terms(question, by, privacy, terms)))

    def plan(self, dataset: str, question: str | None = None, **terms: Any) -> Document:
        """File a question with its price for one's person to approve; nothing is spent. It takes what `preview` takes,
        as a service names it, and a `purpose`."""
        return dict(self.call("plan", dataset, as_body({"question": question, **terms})))

    def history(self, dataset: str) -> Document:
        """What was asked, by whom, at which price; the answers to one's own questions."""
        return dict(self.call("history", dataset))

    def budget(self, dataset: str) -> Document:
        """What is spent and what is left."""
        return dict(self.call("budget", dataset))

    def requests(self) -> list[Document]:
        """Questions that need, or needed, approval: your own, and those that you may approve."""
        return self._listed("requests")

    def request(self, request: int) -> Document:
        """A question that needs approval, with the preview that its asker sees."""
        return dict(self.call("request", request))

    def decide(self, request: int, approve: bool) -> Document:
        """Approve a question that waits, or refuse it."""
        return dict(self.call("decide", request, approve))

    def assistant_allowance(self, dataset: str) -> Document:
        """What one's assistant may still ask without approval."""
        return dict(self.call("assistant_allowance", dataset))

    def allow_assistant(
        self,
        dataset: str,
        *,
        epsilon: Given | None = None,
        delta: Given | None = None,
        share: Given | None = None,
        questions: int | None = None,
    ) -> Document:
        """Let one's assistant ask without approval: up to a budget, a share of the dataset's, or a number of questions."""
        allowance = as_body({**budget_terms(epsilon=epsilon, delta=delta), "share": written(share), "questions": questions})
        return dict(self.call("allow_assistant", dataset, allowance))

    def certificate(self, dataset: str, charge: int) -> Document:
        """The proof of the mechanism behind a charge: see `duotone check`."""
        return dict(self.call("certificate", dataset, charge))

    def relabel(self, dataset: str, version: str) -> Document:
        """For owners: give the data a new version. Every question is then new; the budget is unchanged."""
        return dict(self.call("relabel", dataset, version))

    def verify(self, dataset: str) -> Document:
        """For owners and auditors: whether any entry of the ledger was edited, removed or moved."""
        return dict(self.call("verify", dataset))

    def overview(self) -> Document:
        """For owners: people, late answers, and how often an engine failed."""
        return dict(self.call("overview"))

    def sessions(self) -> list[Document]:
        """For owners: the sessions of browsers."""
        return self._listed("sessions")

    def end_session(self, session: str) -> Document:
        """For owners: end a session."""
        return dict(self.call("end_session", session))

    def made_up_csv(self, dataset: str) -> str:
        """Made-up rows with the dataset's columns, as CSV: about nobody, for trying questions."""
        return str(self.call("made_up", dataset))

    def made_up(self, dataset: str) -> Any:
        """The same as an Arrow table, with the dataset's column types."""
        try:
            import pyarrow as pa
            from pyarrow import csv
        except ImportError:
            raise MissingExtra("an Arrow table", "tables") from None
        types = {
            "integer": pa.int64(), "float": pa.float64(), "decimal": pa.decimal128(38, 10), "boolean": pa.bool_(),
            "date": pa.date32(), "time": pa.timestamp("us"),
        }  # fmt: skip
        kinds = {name: column["kind"] for name, column in self.dataset(dataset)["columns"].items()}
        columns = {name: types.get(kind, pa.string()) for name, kind in kinds.items()}
        text = pa.BufferReader(self.made_up_csv(dataset).encode())
        return csv.read_csv(text, convert_options=csv.ConvertOptions(column_types=columns, strings_can_be_null=True))

    def _asked(self, dataset: str, terms: Document) -> RemoteAnswers | Waiting:
        reply = read_reply(self.call("ask", dataset, terms), dataset, self.certificate)
        if isinstance(reply, RemoteAnswers):
            with suppress(AnswerWarning):  # it is charged: where warnings are errors, it must not be lost for one
                warn(reply.warnings)
        return reply

    def _listed(self, what: str) -> list[Document]:
        """The list under a name in a service's reply."""
        document = self.call(what)
        if not (isinstance(document, dict) and isinstance(document.get(what), list)):
            raise ServiceError(f"the service sent no {what}: is the address right?")
        return list(document[what])
