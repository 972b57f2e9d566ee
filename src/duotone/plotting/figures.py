"""A figure: its colours, its frame, and how it is written to a file."""

from __future__ import annotations

import io
import textwrap
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from duotone.errors import DuotoneError, MissingExtra
from duotone.model.accuracy import written_budget
from duotone.privacy.text import Definition

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, RED, INK, FAINT = "#0072B2", "#D32F2F", "#222222", "#BBBBBB"
MARKER = {"blue": "o", "red": "s"}
COLOUR = {"blue": BLUE, "red": RED}
LINES = ("-", "--", "-.", ":")
SEQUENCE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00")


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure as SVG, PNG or PDF, by the ending of the path."""
    target = Path(path)
    if target.suffix not in (".svg", ".png", ".pdf"):
        raise DuotoneError(f"a picture must end in .svg, .png or .pdf, got {target.name}")
    try:
        target.write_bytes(_written(figure, target.suffix[1:]))
    except OSError as error:
        raise DuotoneError(f"cannot write {target}: {error.strerror}") from None
    return target


def _written(figure: Figure, kind: str) -> bytes:
    """A figure as a file of this kind: the same bytes each time."""
    import matplotlib

    content = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "duotone", "svg.fonttype": "path"}):
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        figure.savefig(content, format=kind, dpi=160, bbox_inches="tight", metadata=metadata)
    return content.getvalue()


@cache
def figure_class() -> Any:
    """The class of new figures; matplotlib is imported with the first one."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("a picture", "draw") from None

    class Picture(Figure):
        """A figure that a notebook shows, with any backend."""

        def _repr_png_(self) -> bytes:
            return _written(self, "png")

    return Picture


def new_axes(ax: Axes | None, size: tuple[float, float]) -> tuple[Figure, Any]:
    """These axes and their figure, or new ones of this size."""
    if ax is not None:
        return cast("Figure", ax.get_figure(root=True)), ax
    figure = figure_class()(figsize=size)
    return figure, figure.add_subplot()


def titled(ax: Axes, title: str | None) -> None:
    """Put a title, if any, above the axes, wrapped."""
    if title is not None:
        ax.set_title("\n".join(textwrap.wrap(title, 90)), fontsize=10, loc="left", parse_math=False)


def framed(ax: Axes) -> None:
    """Keep the parts of the frame that carry a scale, and draw horizontal grid lines."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color=FAINT, lw=0.4)


def budget_label(privacy: Any) -> str:
    """A privacy definition in a legend."""
    return written_budget(privacy) if isinstance(privacy, Definition) else str(privacy)
