"""What MkDocs needs to know of how we write: the README is the front page, and `>>>` begins an example, in docstrings too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File
from pygments.formatters import HtmlFormatter

README = Path(__file__).parents[1] / "README.md"
STYLE = """
.wy-nav-content { max-width: 62rem }
.rst-content .highlight pre, .rst-content .highlight code { border: 0; margin: 0 }
.rst-content table.docutils td, .rst-content table.docutils th, .wy-table-responsive table td { white-space: normal }
.doc-class > .doc-contents > .doc-children { border-left: 2px solid #e1e4e5; padding-left: 1.2rem }
h4.doc-heading { font-size: 105% }
"""
EXAMPLE = re.compile(r"^( *)(>>> (?:.*\S.*(?:\n|$))+)", re.M)  # up to an empty line, as for doctest


def on_files(files: Any, config: Any) -> Any:
    """The README, its links as seen from docs/; what is not a page there is named and not linked."""
    text = README.read_text().replace("[docs/", "[").replace("](docs/", "](")
    text = re.sub(r"\[([^\]]+)\]\((?!http|figures/)(?!\S+\.md\))\S+\)", r"\1", text)
    files.append(File.generated(config, "index.md", content=text))
    files.append(File.generated(config, "site.css", content=HtmlFormatter().get_style_defs(".highlight") + STYLE))
    return files


def on_page_markdown(text: str, **_: Any) -> str:
    """Python blocks are sessions, with their output. GitHub wants a bar escaped in a table's code, MkDocs shows the escape."""
    text = text.replace("```python\n>>>", "```pycon\n>>>")
    return re.sub(r"`[^`\n]+`", lambda code: code[0].replace("\\|", "|"), text)


class Docstrings(griffe.Extension):
    """Examples become blocks of code, and a guarantee stands out."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Each docstring, before it is rendered."""
        if obj.docstring:
            text = EXAMPLE.sub(r"\1```pycon\n\1\2\n\1```\n", obj.docstring.value)
            obj.docstring.value = re.sub(r"^(Guarantee\w*:)", r"**\1**", text, flags=re.M)
