"""What people see of objects: one line in a terminal, a small page in a notebook; and the notebook, in a kernel of its own."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from duotone import ApproxDP, ColouredGraph, DuotoneError, ask, balanced, design, prepare, select_groups
from duotone.graphs import families
from duotone.line.table import line_table

P = ApproxDP(1, "1e-6")
VISITS = pa.table({"town": ["<b>Ely</b>"] * 900 + ["Wells"] * 800, "n": [1] * 1700})


class Cells(HTMLParser):
    """The texts of a page's cells, row by row; anything that is not closed, or not expected, fails."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        assert tag in ("div", "small", "table", "thead", "tbody", "tr", "th", "td", "svg", "rect"), tag
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        assert tag == "rect"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def test_one_line_each() -> None:
    line, graph = balanced(P), families.votes(3).graph()
    with prepare(VISITS, "count(*) > 5", P) as asked:
        answers = asked.release()
        seen = [line, line_table(line), graph, design(graph, P), asked, answers]
        for one in seen:
            assert repr(one).startswith(f"<{type(one).__name__}")
            assert "\n" not in repr(one)
            assert len(repr(one)) < 160
            assert Cells(one._repr_html_()).rows  # type: ignore[attr-defined]


def test_answers_have_every_shape() -> None:
    grouped = ask(VISITS, "select town, count(*) > 850 from visits group by town", ApproxDP(50, "1e-6"))
    weak = "note: weak: with epsilon 50 answers may tell whether a certain person is in the table; 1 is usual"
    assert (grouped.said, str(grouped)) == ("<b>Ely</b>: yes\nWells: no", f"{grouped.said}\n{weak}")
    ely, wells = (margin.value for margin in grouped.margins.values())
    town, other = grouped.sizes
    assert wells < 0 <= ely
    assert grouped.to_arrow().to_pylist() == [
        {"town": "<b>Ely</b>", "answer": True, "margin": ely, "p_value": 0.0, "certain": True, "size": grouped.sizes[town]},
        {"town": "Wells", "answer": False, "margin": wells, "p_value": 0.0, "certain": True, "size": grouped.sizes[other]},
    ]
    assert grouped.to_pandas().shape == (2, 6)
    about = [f"{size} rows" for size in grouped.sizes.values()]
    head = ["town", "answer", "how sure", "about"]
    cells = [head, ["<b>Ely</b>", "yes", "certain", about[0]], ["Wells", "no", "certain", about[1]]]
    assert Cells(grouped._repr_html_()).rows == cells
    assert ", 2 of 2 certain; " in repr(grouped)
    with pytest.raises(DuotoneError, match="many answers"):
        bool(grouped)
    single = ask(VISITS, "count(*) > 850", ApproxDP(50, "1e-6"))
    row = {"answer": True, "margin": single.margin, "p_value": 0.0, "certain": True}
    assert (single.said, single.to_arrow().to_pylist()) == ("yes", [row])
    assert repr(single) == (
        "<Answers: yes, certain; ApproxDP(epsilon=50.0, delta=1/1000000); exact distance; "
        f"wrong with probability at most 1.93e-22, never from 2 people on; {weak}>"
    )
    shown = select_groups(VISITS, ["town"], ApproxDP(50, "1e-6"))
    assert shown.to_arrow().column_names == ["town", "answer", "size"]
    nobody = ask(VISITS.slice(0, 0), "select town, count(*) > 9 from visits group by town", P)
    assert (nobody.said, nobody.to_arrow().num_rows) == ("", 0)
    assert nobody.to_arrow().column_names == grouped.to_arrow().column_names  # whatever is shown


def test_the_page_of_a_mechanism_is_about_its_numbers() -> None:
    line = balanced(P)
    rows = Cells(line._repr_html_()).rows
    assert rows[0] == ["people from flipping", "Pr[wrong]"]
    assert [row[0] for row in rows[1:]] == ["1", "2", "3", "5", "10"]  # from 15 on there is no error
    assert float(rows[2][1]) == pytest.approx(float(line.error(1)), rel=1e-2)
    edge = ColouredGraph([("a", "b")], {"a": "blue", "b": "red"})
    best = design(edge, ApproxDP(exp_epsilon=2, delta="1/10"))
    assert (str(best["a"]), str(best["b"])) == ("7/10", "3/10")
    assert Cells(best._repr_html_()).rows[1:] == [["a", "blue", "0", " 0.7"], ["b", "red", "-1", " 0.3"]]
    with pytest.raises(DuotoneError, match="no dataset c"):
        best["c"]
    apart = ColouredGraph([], {"a": "blue"})
    assert Cells(apart._repr_html_()).rows[1] == ["a", "blue", "never flips"]
    assert "more" in families.votes(5).graph()._repr_html_()


EXAMPLES = Path(__file__).parents[1] / "examples"
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
book = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(book, kernel_name="python3", timeout=300).execute()
nbformat.write(book, sys.argv[2])
"""


def shown(cell: Any) -> dict[str, Any]:
    """What a cell of a notebook shows, besides a warning about clipped values."""
    output, *warned = sorted(cell["outputs"], key=lambda output: output["output_type"] == "stream")
    assert all(re.search("(is|are) about (clipped|at most) ", "".join(one["text"])) for one in warned)
    return dict(output["data"])


@pytest.mark.slow
def test_an_error_is_one_sentence_and_all_of_it_if_it_is_asked_for(tmp_path: Path) -> None:
    book, executed = tmp_path / "wrong.ipynb", tmp_path / "executed.ipynb"
    ask = "import duotone, pyarrow\nduotone.ask(pyarrow.table({'x': [1]}), 'avg(x) > 0.5', epsilon=1, bound={})"
    cell: dict[str, Any] = {
        "cell_type": "code",
        "metadata": {"tags": ["raises-exception"]},
        "outputs": [],
        "execution_count": None,
    }
    cells = [{**cell, "id": f"cell{place}", "source": source} for place, source in enumerate([ask, "%tb"])]
    book.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    done = subprocess.run([sys.executable, "-c", EXECUTE, book, executed], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wrong,), again = (cell["outputs"] for cell in json.loads(executed.read_text())["cells"])
    assert wrong["traceback"] == ["UnknownOption: bound is not known: bounds is"]
    everything = json.dumps(again)
    assert "Traceback (most recent call last)" in everything
    assert "require_known" in everything


def test_an_error_without_a_notebook_is_as_ever() -> None:
    error = DuotoneError("give an epsilon")
    shell = error._render_traceback_(), "".join(error._render_traceback_())
    assert shell == (["DuotoneError: give an epsilon"], "duotone.errors.DuotoneError: give an epsilon\n")


@pytest.mark.slow
def test_the_example_in_a_real_kernel(tmp_path: Path) -> None:
    """Every cell runs; a prepared question and answers are pages, a picture is a picture, and nothing else is said."""
    book, executed = EXAMPLES / "first_hour.ipynb", tmp_path / "executed.ipynb"
    assert not any(cell.get("outputs") for cell in json.loads(book.read_text())["cells"])
    done = subprocess.run([sys.executable, "-c", EXECUTE, book, executed], cwd=EXAMPLES, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    cells = json.loads(executed.read_text())["cells"]
    table, asked, picture, answer, quote, by_ward, frame, proof = (shown(cell) for cell in cells if cell["cell_type"] == "code")
    assert "<table" in "".join(table["text/html"])
    assert Cells("".join(asked["text/html"])).rows[0] == ["people from flipping", "Pr[wrong]", "Pr[certain]"]
    assert base64.b64decode("".join(picture["image/png"])).startswith(b"\x89PNG")
    assert Cells("".join(answer["text/html"])).rows[0] == ["answer", "how sure"]
    said, how_sure = Cells("".join(answer["text/html"])).rows[1]
    assert said == "yes"
    assert re.fullmatch("certain: at least [0-9]+ patients would have to be different", how_sure)
    assert "never if 15 or more people would have to be different" in "".join(quote["text/plain"])
    groups = Cells("".join(by_ward["text/html"])).rows
    assert groups[0] == ["ward", "answer", "how sure"]
    assert [row[0] for row in groups] == ["ward", "Cardiology", "Geriatrics", "Maternity", "Surgery"]
    assert "text/html" in frame
    assert "private and optimal" in "".join(proof["text/plain"])
