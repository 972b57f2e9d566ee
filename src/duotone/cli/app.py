"""The command's subcommands and exit codes. Heavy imports happen at use, so that `duotone --help` is fast."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

from duotone.cli.budget import budget
from duotone.cli.charging import LOST
from duotone.cli.declare import declare, inspect
from duotone.cli.design import audit, check, design, line, paper
from duotone.cli.ledger import ledgers
from duotone.cli.serve import mcp, serve, tokens
from duotone.cli.tables import ask, groups
from duotone.cli.terminal import say
from duotone.cli.test import share_test
from duotone.errors import DatasetError, DuotoneError, Mistake, OfficeError
from duotone.words.sentences import sentence

UsageError: Any = typer.BadParameter.__base__
"""The class of errors about missing or unknown arguments; typer does not export it."""
INTERRUPTED, BROKEN_PIPE = 130, 141
"""Exit codes of 128 plus a signal's number, as shells report after SIGINT or SIGPIPE."""


class _InOrder(TyperGroup):
    """Commands in the order of `--help`: the most common first. Typer puts groups of commands last."""

    def list_commands(self, _: Any) -> list[str]:
        first = ["ask", "test", "groups", "inspect", "declare", "budget", "ledger", "serve", "token", "mcp"]
        return [*first, *(name for name in self.commands if name not in first)]


app = typer.Typer(
    name="duotone",
    cls=_InOrder,
    help="Private yes/no answers that are as accurate as differential privacy allows.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(ask)
app.command("test")(share_test)
app.command()(groups)
app.command()(inspect)
app.command()(declare)
app.command()(budget)
app.add_typer(ledgers, name="ledger")
app.command()(serve)
app.add_typer(tokens, name="token")
app.command()(design)
app.command()(line)
app.command()(check)
app.command(context_settings={"ignore_unknown_options": True})(audit)  # so that a level may be -1
app.command()(paper)
app.command()(mcp)


def _version(wanted: bool) -> None:
    if wanted:
        from duotone import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None: ...


def main(arguments: list[str] | None = None) -> None:
    """Run the command. Exit code 0 when done, 1 when a check does not hold, 2 for bad input or unwritable output, 130
    after an interrupt, 141 when the reader of the output stopped reading."""
    LOST.set("")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (else notes would go to standard output)
    if sys.stdout is None:
        say("duotone: standard output is closed: nothing was asked, since there is nowhere to answer")
        sys.exit(2)
    output, place = sys.stdout, _place(sys.stdout)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without ε must not end the work
    try:
        with _interrupts() as interrupts:
            code = _ended(arguments, interrupts)
        output.flush()
        if sys.stdout is not output or _place(output) != place:  # how typer and rich end when a pipe breaks
            code = BROKEN_PIPE
    except KeyboardInterrupt:
        code = _interrupted()
    except (OSError, ValueError) as error:
        if not (isinstance(error, OSError) or output.closed):
            raise
        code = _unwritten(error)
    if code in (BROKEN_PIPE, 2):
        _drop(output)
    sys.exit(code)


def _ended(arguments: list[str] | None, interrupts: list[int]) -> int:
    """Run a command and return its exit code; mistakes in its input are reported in one line."""
    try:
        code = app(arguments, standalone_mode=False)
    except Exception as error:
        if interrupts:
            return _interrupted()
        if isinstance(error, OfficeError | DatasetError):
            for said in error.sentences if isinstance(error, OfficeError) else map(_mistake, error.mistakes):
                say(said, line="duotone: ")
        elif isinstance(error, DuotoneError):
            say(sentence(error, "command"), line="duotone: ")
        elif isinstance(error, UsageError):
            _say_usage(error)
        elif isinstance(error, MemoryError | RecursionError):
            say("duotone: this does not fit into memory")
        else:
            raise
        return 2
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int | None) else 2
    return _interrupted() if code == INTERRUPTED else code or 0


def _mistake(mistake: Mistake) -> str:
    """A mistake in a file with its line, or in an option with its flag."""
    first, *steps = mistake.steps or ("",)
    flag = "" if mistake.place or not first else f"--{str(first).replace('_', '-')}"
    return mistake.sentence if not flag else " ".join([flag, *map(str, steps), mistake.words])


NAMED = dict.fromkeys(("plot", "show"), ": a dataset is named by --dataset") | {"groups": ": columns are named by --by"}
"""What a surplus argument of a command was probably meant for."""


def _say_usage(error: Any) -> None:
    """Print what is wrong with the arguments, and where to find help, unless help was printed because there were
    none."""
    said = " ".join(error.format_message().split()).rstrip(".")
    command = "duotone" if error.ctx is None else error.ctx.command_path
    if said.startswith("Got unexpected extra argument"):
        said += NAMED.get(command.split()[-1], "")
    if said:
        say(f"{said[0].lower()}{said[1:]} (see {command} --help)", line="duotone: ")


@contextlib.contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Record each Ctrl-C: a busy library may turn it into another error."""
    noted: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield noted
        return

    def note(number: int, frame: Any) -> None:
        noted.append(number)
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupted() -> int:
    say("duotone: interrupted")
    return INTERRUPTED


def _unwritten(error: OSError | ValueError) -> int:
    """Say that the output is lost, and what that means for an answer that may have been drawn."""
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    why = (error.strerror if isinstance(error, OSError) else None) or "it is closed"
    say(f"duotone: the output cannot be written: {why}{LOST.get()}")
    return 2


def _place(output: TextIO) -> tuple[int, int] | None:
    """The file or device of standard output."""
    try:
        there = os.fstat(output.fileno())
    except (OSError, ValueError):
        return None
    return there.st_dev, there.st_ino


def _drop(output: TextIO) -> None:
    """Discard the rest of the buffer, so that it does not fail again when Python ends."""
    with contextlib.suppress(OSError, ValueError):
        output.flush()
        return
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, output.fileno())
        os.close(nowhere)
