"""Who the people of an office are now: whoever is taken out of the office file is out without a restart."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from duotone.desk.log import audit
from duotone.desk.office import Member, Office
from duotone.desk.office_file import read_office
from duotone.errors import DuotoneError

LOG = logging.getLogger("duotone.service")
EVERY = 1.0
"""Seconds after which the file is looked at again, at most."""
Stamp = tuple[int, int, int, int]


class Members:
    """The people of an office, by its file as it is now.

    Guarantee: what the file takes away (a person, a dataset of theirs) is gone at the latest a second later. What it gives
    counts from the next start, at which allowances are given to the ledger: nobody asks beyond theirs. A file that cannot be
    read or has mistakes changes nothing, and the log says so.
    """

    def __init__(
        self, office: Office, *, changed: Callable[[Office], None] = lambda _: None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._started, self._now, self._changed, self._clock = office, office, changed, clock
        self._lock = threading.Lock()
        self._stamp: Stamp | None = None
        self._looked: float | None = None

    def office(self) -> Office:
        """The office with the people that it has now."""
        with self._lock:
            if self._looked is None or self._clock() >= self._looked + EVERY:
                self._looked = self._clock()
                self._look()
            return self._now

    def _look(self) -> None:
        stamp = self._stamp_now()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            people = read_office(self._started.file).people
        except DuotoneError as error:
            LOG.error("the office file cannot be used: its people stay who they were", extra={"error": str(error)})
            return
        kept = {name: _both(was, people[name]) for name, was in self._started.people.items() if _same(was, people.get(name))}
        for name in self._now.people.keys() - kept.keys():
            audit("a person was taken out of the office file", whose=name)
        self._now = self._started.model_copy(update={"people": kept})
        self._changed(self._now)

    def _stamp_now(self) -> Stamp | None:
        try:
            status = self._started.file.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns


def _same(was: Member, now: Member | None) -> bool:
    """Whether this is still the same person with the same role."""
    return now is not None and (now.role, now.subject) == (was.role, was.subject)


def _both(was: Member, now: Member) -> Member:
    """The datasets that a person had at the start, and still has."""
    return was.model_copy(update={"datasets": tuple(name for name in was.datasets if name in now.datasets)})
