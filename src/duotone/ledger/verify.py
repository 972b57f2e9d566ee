"""Verifying a ledger: whether every entry is as it was written, in its place, and adds up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from duotone.errors import DuotoneError
from duotone.ledger.accounts import Account, RenyiAccount, charge_of, write
from duotone.ledger.allowances import Askers
from duotone.ledger.close_calls import proved
from duotone.ledger.entries import DAMAGE, OF_LEDGER, Body, State, at, decoded, digest, key_of, member_key, row_of
from duotone.ledger.registration import Registered
from duotone.ledger.stores import Row
from duotone.model.cost import TOO_CLOSE, CloseCallCharge

MOST_PROBLEMS = 100


@dataclass(frozen=True)
class Verdict:
    """The result of `verify`: the number of entries, the hash of the last, and every entry with a problem."""

    entries: int
    head: str
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing was edited, removed or reordered."""
        return not self.problems


def verify(rows: Iterable[Row], head: Callable[[], tuple[int, str]], kept: str | None = None) -> Verdict:
    """Whether every entry is as it was written, in its place, and adds up.

    The chain shows any entry edited, removed or moved, and the stored head a tail that was cut off. Someone who can
    write the whole ledger can also write a whole new chain: against that, store a head elsewhere and pass it as `kept`.
    The ledger's own head is read after the last entry.

    >>> row = row_of("", 1, {"kind": "register", "dataset": "d", "version": "1", "after": {}})
    >>> verify([replace(row, seq=2)], lambda: (1, row.hash)).problems[0]
    'entry 1 is missing'
    """
    problems: list[str] = []
    seen = kept is None
    previous, count = "", 0
    replay = _Replay()
    for row in rows:
        while count + 1 < row.seq:
            count += 1
            problems.append(f"entry {count} is missing")
            if len(problems) > MOST_PROBLEMS:
                return Verdict(count, previous, (*problems, "…"))
        count = row.seq
        if digest(previous, row.seq, row.body) != row.hash:
            problems.append(f"entry {row.seq} is not the one that was written after entry {row.seq - 1}")
        elif (problem := replay.problem(row)) is not None:
            problems.append(f"entry {row.seq} {problem}")
        previous = row.hash
        seen = seen or row.hash == kept
    if (count, previous) != (ends := head()):
        problems.append(f"the ledger ends at entry {count}, but its head is entry {ends[0]} with another hash or number")
    if not seen:
        problems.append("no entry has the head that was kept: the chain was cut or rewritten")
    return Verdict(count, previous, tuple(problems))


@dataclass
class _Dataset:
    """A dataset as of the entries so far."""

    registered: Registered
    state: State = field(default_factory=State)
    open: dict[int, tuple[str, int | None, int]] = field(default_factory=dict)
    """The charges without an answer so far, each by its question, with its reserved close calls and its most
    answers."""
    versions: set[str] = field(default_factory=set)
    members: dict[str, list[str]] = field(default_factory=dict)
    """The versions of each member, the present one last."""
    askers: Askers = field(default_factory=Askers)


@dataclass
class _Replay:
    """Replays every entry: sums are recomputed from what each charge says, never taken from entries."""

    datasets: dict[str, _Dataset] = field(default_factory=dict)
    members: dict[str, str] = field(default_factory=dict)
    """The population of each member."""
    latest: datetime | None = None

    def problem(self, row: Row) -> str | None:
        """What is wrong with an entry whose hash is right."""
        try:
            body = decoded(row)
            if row_of("", row.seq, body) != replace(row, hash=digest("", row.seq, row.body)):
                return "is filed under another dataset, kind or question than it says"
            return self._time(body) or (self._entry(row, body) if body["kind"] not in OF_LEDGER else None)
        except DAMAGE:
            return "does not make sense where it stands"

    def _time(self, body: Body) -> str | None:
        """Entries are in order of time, except after one that says that the clock was set back."""
        before, self.latest = self.latest, at(body)
        if body["kind"] == "clock":
            set_back = before is not None and datetime.fromisoformat(body["before"]) == before > self.latest
            return None if set_back else "sets back a clock that was not ahead"
        if before is not None and not self.latest >= before:
            return "is dated before the one it follows, and none says that the clock was set back"
        return None

    def _entry(self, row: Row, body: Body) -> str | None:
        """Columns that differ from the entry, and sums that do not add up."""
        if body["kind"] == "register":
            if row.dataset in self.datasets or row.dataset in self.members:
                return f"registers {row.dataset} a second time"
            registered = Registered.read(body)
            if registered.close_calls is not None and not proved(registered.close_calls):
                return "registers more close calls than fit into their budget"
            if isinstance(registered.account, RenyiAccount) and not registered.account.proved:
                return "registers prices that come to more than its budget"
            self.datasets[row.dataset] = _Dataset(registered)
        dataset = self.datasets[row.dataset]
        if body["kind"] == "member" and (
            body["member"] in self.datasets or self.members.setdefault(body["member"], row.dataset) != row.dataset
        ):
            return f"registers {body['member']} a second time"
        if not _belongs(row, body, dataset):
            return "does not make sense where it stands"
        dataset.state = dataset.state.after(body)
        if dataset.state != State.of(body):
            return "does not add up"
        dataset.askers.add(row, body)
        if (problem := dataset.askers.problem(row, body)) is not None:
            return problem
        account = dataset.registered.account
        if body["kind"] == "charge" and not account.fits(dataset.state.spent):
            return f"goes beyond the budget of {row.dataset}"
        if body["kind"] == "charge" and "calls" in body:
            return _not_reserved(body, dataset)
        return _not_covered(body, account) if body["kind"] == "charge" else None


def _not_reserved(body: Body, dataset: _Dataset) -> str | None:
    """Reserved close calls must exist, and belong to questions with the registered terms."""
    called, calls = dataset.registered.close_calls, dataset.state.calls
    if called is None or calls is None:
        return "reserves close calls of a dataset that has none"
    if calls.taken > called.count:
        return f"goes beyond the close calls of {body['dataset']}"
    asked = CloseCallCharge(called.question, body["answers"])
    same = body["notion"] == write(asked.privacy) and body["boundary"] == asked.boundary and body["calls"] <= body["answers"]
    return None if same else "reserves close calls for a question that is asked in another way"


def _counted(body: Body, answers: int) -> bool:
    """Whether an answer says how many of its outcomes were too close to call, and none follows the last reserved
    one."""
    listed = body["answer"].get("answers") if isinstance(body["answer"], dict) and "calls" in body else None
    if not isinstance(listed, list):
        return True
    outcomes = [outcome for _, outcome in listed]
    calls, stopped = outcomes.count(TOO_CLOSE), bool(outcomes) and outcomes[-1] == TOO_CLOSE
    ended = len(listed) == answers or (len(listed) < answers and calls == body["reserved"] and stopped)
    return bool(calls == body["calls"] and ended)


def _not_covered(body: Body, account: Account) -> str | None:
    """What was charged must be what its account covers: of answers that share ε and δ by one Rényi order, this many."""
    try:
        account.accepts(charge_of(body["notion"], body["boundary"], body["answers"]))
    except DuotoneError:
        return f"is for an answer that the account {account.name} does not cover"
    return None


def _belongs(row: Row, body: Body, dataset: _Dataset) -> bool:
    """Whether an entry follows from those before it."""
    match body["kind"]:
        case "register" | "version":
            known = body["version"] in dataset.versions
            dataset.versions.add(body["version"])
            return not known
        case "member":
            versions = dataset.members.setdefault(body["member"], [])
            versions.append(body["version"])
            return versions.count(body["version"]) == 1 and body["filed"] == member_key(body["member"])
        case "charge":
            dataset.open[row.seq] = body["key"], body.get("calls"), body["answers"]
            name, version = row.dataset, dataset.state.version
            if "member" in body:
                name, version = body["member"], dataset.members[body["member"]][-1]
            key = key_of(name, version, body, (dataset.registered.unit, dataset.registered.neighbours))
            return bool(body["version"] == version and body["key"] == key)
        case "answer":
            key, reserved, answers = dataset.open.pop(body["charge"], ("", None, 0))
            return (key, reserved) == (body["key"], body.get("reserved")) and _counted(body, answers)
    return True
