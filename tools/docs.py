"""Hooks for MkDocs: the README is the front page, and `>>>` begins an example, in docstrings too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File

README = Path(__file__).parents[1] / "README.md"
STYLE = """
.md-grid { max-width: 76rem }
.md-typeset h1, .md-typeset h2, .md-typeset h3 { color: var(--md-default-fg-color); font-weight: 600; letter-spacing: 0 }
.md-typeset h1 { font-size: 1.7em } .md-typeset h2 { font-size: 1.35em } .md-typeset h3 { font-size: 1.1em }
.md-typeset pre { line-height: 1.3 }
.md-typeset .highlight span.gp, .md-typeset .highlight span.go { user-select: none }
[data-md-copying] .gp, [data-md-copying] .go { display: none }
.md-typeset table:not([class]) code { word-break: normal }
.md-typeset .doc-class > .doc-contents > .doc-children {
  border-left: .1rem solid var(--md-default-fg-color--lightest); padding-left: 1rem }
[data-md-color-scheme="slate"] .md-typeset img[src$=".svg"] { background: #fff; border-radius: .2rem }
"""
EXAMPLE = re.compile(r"^( *)(>>> (?:.*\S.*(?:\n|$))+)", re.M)  # up to an empty line, as for doctest


def on_files(files: Any, config: Any) -> Any:
    """The README, its links as seen from docs/; targets outside docs/ are named and not linked."""
    text = README.read_text().replace("[docs/", "[").replace("](docs/", "](")
    text = re.sub(r"\[([^\]]+)\]\((?!http|figures/)(?!\S+\.md\))\S+\)", r"\1", text)
    files.append(File.generated(config, "index.md", content=text))
    files.append(File.generated(config, "site.css", content=STYLE))
    return files


def on_page_markdown(text: str, **_: Any) -> str:
    """Python blocks are sessions, with their output. GitHub needs a bar escaped in a table's code; MkDocs would show
    the escape."""
    text = text.replace("```python\n>>>", "```pycon\n>>>")
    return re.sub(r"`[^`\n]+`", lambda code: code[0].replace("\\|", "|"), text)


class Docstrings(griffe.Extension):
    """Examples become blocks of code, and a guarantee is highlighted."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Each docstring, before it is rendered."""
        if obj.docstring:
            text = EXAMPLE.sub(r"\1```pycon\n\1\2\n\1```\n", obj.docstring.value)
            obj.docstring.value = re.sub(r"^(Guarantee\w*:)", r"**\1**", text, flags=re.M)
