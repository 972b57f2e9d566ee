"""The line of a value in a TOML file, against a plain search in files where each value stands on a line of its own."""

from __future__ import annotations

import random

import pytest

from duotone.model.checks import line_of
from support.running import thinned

VALUES = ["1", '"text = [no]"', "{ a = 1, b = [2] }", "[\n1,\n2, # two\n]", '"""\nk9 = 3\n[tables.t9]\n"""']


@pytest.mark.parametrize("seed", thinned(range(60), 6))
def test_every_value_is_found_where_it_stands(seed: int) -> None:
    draw, lines, places = random.Random(seed), list[str](), dict[tuple[str, ...], int]()
    for table in range(draw.randint(1, 8)):
        lines += draw.choices(["", "# a comment with [brackets] = and a quote '"], k=draw.randint(0, 3))
        lines.append(f"[tables.t{table}]")
        for key in range(draw.randint(1, 6)):
            places["tables", f"t{table}", f"k{key}"] = len(lines) + 1
            value = draw.choice(
                ["1", '"text = [no]"', "{ a = 1, b = [2] }", "[\n1,\n2, # two\n]", '"""\nk9 = 3\n[tables.t9]\n"""']
            )
            lines += f"k{key} = {value}".split("\n")
    text = "\n".join(lines) + "\n"
    for path, line in places.items():
        assert line_of(text, path) == line
        assert line_of(text, (*path[:2], "missing")) == next(n for n, at in enumerate(lines, 1) if at == f"[tables.{path[1]}]")
