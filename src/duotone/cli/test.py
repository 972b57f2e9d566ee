"""The command that tests a hypothesis about shares."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from duotone.cli.charging import LEDGER, PRICED, Charging, answered
from duotone.cli.tables import OPENING, table
from duotone.cli.terminal import AsJson, CertificateFile, Draw, takes, write_json, wrote
from duotone.words.sentences import printable, sentence

if TYPE_CHECKING:
    from duotone.model.dataset import Dataset as Declared

Hypothesis = Annotated[
    str,
    typer.Argument(
        help="What may be rejected: share(CONDITION) = 0.1, or <= or >=; a share with filter (where …); or two shares.",
    ),
]
Alpha = Annotated[str, typer.Option(metavar="A", help="How often a hypothesis that is true may be rejected.")]
SampleSize = Annotated[
    int | None,
    typer.Option("--sample-size", metavar="N", help="The number of people that the share is of, if that is public."),
]


@takes(declared=table(*OPENING, "neighbours", "public", "also"), how=LEDGER, privacy=PRICED)
def share_test(
    hypothesis: Hypothesis,
    privacy: Any,
    declared: Declared,
    how: Charging,
    alpha: Alpha = "0.05",
    sample_size: SampleSize = None,
    as_json: AsJson = False,
    draw: Draw = None,
    certificate: CertificateFile = None,
) -> None:
    """A private test of shares: is it more than chance?"""
    from duotone.tables.hypotheses import share_test_of

    asked = share_test_of(hypothesis, alpha=alpha, sample_size=sample_size)
    with asked.prepare(declared, privacy) as prepared:
        if draw is not None:
            from duotone import plotting

            plotting.save(plotting.power(asked, prepared.terms.table.noise, both=bool(prepared.by)), draw)
            wrote(draw)
        found = asked.tested(answered(prepared, how))
    if certificate is not None:
        write_json(certificate, found.answers.certificate())
    if as_json:
        print(json.dumps(found.document("command")))
        return
    print(printable(f"{hypothesis}: {found.said}"))
    print(found.found)
    facts = found.answers.facts
    for said in (sentence(found.method, "command"), f"{prepared.terms.price}; {facts.person}"):
        print(printable(said))
    for note in facts.notes:
        print(printable(sentence(note, "command")))
