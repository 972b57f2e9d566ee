"""A demonstration: a survey and a hospital's stays, an owner, two analysts and an auditor, with small budgets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from duotone.desk.office import Office
from duotone.desk.office_file import read_office
from duotone.errors import DuotoneError
from duotone.http.app import open_desk, service
from duotone.http.serve import in_thread
from duotone.http.tokens import Tokens

FILES = ("office/office.toml", "chile/chile.csv", "stays/stays.csv")
PLACES = (Path(__file__).parent / "demo", Path(__file__).parents[3] / "examples")
"""Where the examples are: beside this file if Duotone is installed, else in the repository."""


def make_demo(folder: Path) -> tuple[Office, dict[str, str]]:
    """Write the demonstration office into a folder, with a token for each of its people."""
    for name in FILES:
        there = next((place / name for place in PLACES if (place / name).is_file()), None)
        if there is None:
            raise DuotoneError(f"{name} is not here: it comes with an installed Duotone, or with its repository")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(there.read_bytes())
    office = read_office(folder / FILES[0])
    tokens = Tokens(office.tokens_place)
    return office, {name: tokens.add(name) for name in office.people}


@contextmanager
def running() -> Iterator[tuple[str, dict[str, str]]]:
    """Run the service of `duotone serve --demo` on a free port during a block; yields its address, and the tokens by
    name.

    >>> import duotone
    >>> with running() as (address, tokens), duotone.connect(address, token=tokens["ana"]) as office:
    ...     print(office.ask("chile", "avg(age) > 30", epsilon="0.5", delta="1e-6"))
    yes
    """
    with TemporaryDirectory() as folder:
        office, tokens = make_demo(Path(folder))
        with in_thread(office, service(open_desk(office))) as address:
            yield address, tokens
