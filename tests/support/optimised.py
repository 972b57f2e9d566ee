"""Run as `python -O optimised.py FOLDER`: without assertions, everything must still be refused and charged.

Prints nothing and exits with 0, or says what was not refused.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from duotone import ApproxDP, DuotoneError, open_ledger, prepare
from duotone.ledger.ledger import Ledger
from duotone.tables.sql.read_question import read_question
from support.refusals import COLUMNS, DECLARED, REFUSED, TABLE


def main(folder: str) -> None:
    if __debug__:
        raise SystemExit("this must run under python -O")
    for text, says in REFUSED.items():
        said = refusal(read_question, text, COLUMNS, "u", "clinic.visits")
        if not re.search(says, said):
            raise SystemExit(f"{text[:80]} was to be refused with {says}: {said}")
    with open_ledger(Path(folder) / "o.ledger") as ledger:
        ledger.register("rows", ApproxDP(1, "1e-6"), unit="row", neighbours="add-remove", version="1")
        for text, options, says in DECLARED:
            said = refusal(charged, ledger, text, options)
            if not re.search(says, said):
                raise SystemExit(f"{text} with {options} was to be refused with {says}: {said}")
        if ledger.statement("rows").state.charges != 0:
            raise SystemExit("a question that is refused was charged")
        charged(ledger, "count(*) > 0", {})
        if ledger.statement("rows").state.charges != 1:
            raise SystemExit("a question that is answered was not charged")


def charged(ledger: Ledger, text: Any, options: Any) -> None:
    with prepare(TABLE, text, ApproxDP("0.5"), **options) as prepared:
        prepared.charge(ledger, "rows")


def refusal(work: Any, *arguments: Any) -> str:
    try:
        work(*arguments)
    except DuotoneError as error:
        return str(error)
    return "it was accepted"


if __name__ == "__main__":
    main(*sys.argv[1:])
