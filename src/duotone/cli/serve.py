"""The commands of a service: serve, token."""

from __future__ import annotations

import signal
import sys
import tempfile
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from duotone.cli.terminal import print_table, say
from duotone.errors import DuotoneError
from duotone.words.sentences import printable

if TYPE_CHECKING:
    from duotone.desk.office import Office
    from duotone.http.tokens import Tokens

OfficeFile = Annotated[Path, typer.Option("--office", metavar="OFFICE.toml", help="The office that the token is for.")]
TERMINATED = 143
"""The exit code that shells report after SIGTERM."""
tokens = typer.Typer(no_args_is_help=True, help="Tokens that identify people and programs to a service.")


def serve(
    office: Annotated[Path | None, typer.Argument(metavar="OFFICE.toml", help="Tables, people and budgets.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Only check the file and open its tables; change nothing.")] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Serve two example tables, with made-up people and budgets.")] = False,
    port: Annotated[int | None, typer.Option(metavar="P", help="A port, instead of the file's.")] = None,
    processes: Annotated[int, typer.Option(metavar="N", min=1, max=64, help="How many processes serve.")] = 1,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy encrypts: listen beyond this machine without TLS.")
    ] = False,
) -> None:
    """Answer questions over HTTP about tables that stay on this machine."""
    from duotone.desk.accounts import check_office
    from duotone.http.serve import exposed
    from duotone.http.serve import serve as serve_office

    if (office is None) != demo:
        raise DuotoneError("name an office file, or give --demo for an example: one of the two")
    if office is None:
        if check or processes > 1:
            raise DuotoneError("the demonstration is served by one process, and needs no check: give --demo without the other")
        _serve_demo(port)
        return
    opened = _office(office)
    if check:
        for note in filter(None, (*check_office(opened), exposed(opened))):
            say(note, line="duotone: note: ")
        many = f"{len(opened.datasets)} dataset{'s' * (len(opened.datasets) > 1)}"
        print(f"{printable(office.name)} holds: {many}, {len(opened.people)} people")
        return
    serve_office(opened, processes=processes, unencrypted=behind_proxy, port=port, announce=partial(_announce, office.name))


def _office(file: Path) -> Office:
    """An office by its file, if the libraries of a service are installed."""
    import_module("duotone.http")  # which says what is missing
    from duotone.desk.office_file import read_office

    return read_office(file)


def _tokens(office: Office) -> Tokens:
    from duotone.http.tokens import Tokens

    return Tokens(office.tokens_place)


def _announce(name: str, address: str) -> None:
    say(f"serving {name} at {address}; stop with Ctrl-C", line="duotone: ")


def _serve_demo(port: int | None) -> None:
    from duotone.http.demo import make_demo
    from duotone.http.serve import serve as serve_office

    def announce(address: str) -> None:
        print_table(("who", "role", "token, to log in with"), [(w, office.people[w].role, token) for w, token in made.items()])
        print(f"open {address} in a browser; stop with Ctrl-C, and everything is gone", flush=True)

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # otherwise the folder would remain
    with tempfile.TemporaryDirectory() as folder:
        office, made = make_demo(Path(folder))
        serve_office(office, port=port, announce=announce)


@tokens.command()
def add(
    name: Annotated[str, typer.Argument(help="A person of the office.")],
    office: OfficeFile = Path("office.toml"),
    assistant: Annotated[
        bool, typer.Option("--assistant", help="For a program that asks only what the person approves or allows.")
    ] = False,
    days: Annotated[int, typer.Option(metavar="N", help="Days until it expires.")] = 90,
) -> None:
    """Print a new token, once; only its hash is stored."""
    opened = _office(office)
    if name not in opened.people:
        raise DuotoneError(f"{name} is not a person of this office; it has {', '.join(opened.people)}")
    print(_tokens(opened).add(name, assistant=assistant, days=days))
    say("keep it like a password: it is not shown again", line="duotone: ")


@tokens.command("list")
def list_tokens(office: OfficeFile = Path("office.toml")) -> None:
    """List tokens by their owners, without the secrets."""
    every = _tokens(_office(office)).every()
    held = {True: "their assistant", False: "the person"}
    rows = [(t.id, t.person, held[t.assistant], t.made[:10], t.expires[:10]) for t in every]
    print_table(("id", "person", "held by", "made", "ends"), rows)


@tokens.command()
def revoke(
    name: Annotated[str, typer.Argument(help="The owner of the tokens.")],
    office: OfficeFile = Path("office.toml"),
    ident: Annotated[str | None, typer.Option("--id", metavar="ID", help="Only this one.")] = None,
) -> None:
    """Revoke tokens: they are unknown from the next request on."""
    many = _tokens(_office(office)).revoke(name, ident)
    if not many:
        raise DuotoneError(f"{name} has no such token")
    print(f"{many} token{'s' * (many > 1)} of {printable(name)} revoked")


def mcp(
    url: Annotated[str, typer.Argument(metavar="URL", help="The service, as https://duotone.example.org.")],
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow http:// beyond this machine, where something else encrypts the way.")
    ] = False,
) -> None:
    """Let an assistant plan questions for a service, and ask those that its person approved (Model Context Protocol).

    The token is DUOTONE_TOKEN in the environment, made with `duotone token add NAME --assistant`.
    """
    import asyncio

    from duotone.client.connect import connect
    from duotone.mcp.tools import office_of, serve_stdio

    with connect(url, insecure=insecure) as connection:
        asyncio.run(serve_stdio(office_of(connection)))
