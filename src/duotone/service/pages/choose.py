"""Choosing a dataset, to ask about it or to see its budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from duotone.service.pages.render import quoted, render, to, who
from duotone.service.prices import smaller

if TYPE_CHECKING:
    from duotone.service.desk import Desk


async def choose_dataset(request: Request, desk: Desk, page: str) -> Response:
    """The datasets that one may see, each with its address under this page; the only one at once."""
    datasets = (await desk.datasets(who(request)))["datasets"]
    if len(datasets) == 1:
        return to(request, f"/{page}/{quoted(datasets[0]['name'])}")
    shown = [{**one, "can_spend": smaller(one["left"], one["allowance"])} for one in datasets]
    return render(request, "choose.html", datasets=shown, page=page, title=page.capitalize())
