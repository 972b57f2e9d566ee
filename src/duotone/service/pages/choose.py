"""Choosing a dataset, to ask about it or to see its budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from duotone.service.pages.render import quoted, render, to, who

if TYPE_CHECKING:
    from duotone.service.desk import Desk


async def choose_dataset(request: Request, desk: Desk, page: str) -> Response:
    """The datasets that one may see, each with its address under this page; the only one at once."""
    datasets = (await desk.datasets(who(request)))["datasets"]
    if len(datasets) == 1:
        return to(request, f"/{page}/{quoted(datasets[0]['name'])}")
    shown = [{**one, "can_spend": can_spend(one["left"], one["allowance"])} for one in datasets]
    return render(request, "choose.html", datasets=shown, page=page, title=page.capitalize())


def can_spend(left: Mapping[str, Any], allowance: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """What one can still spend: of the budget's rest and one's own the smaller.

    >>> can_spend({"epsilon": 3, "delta": 1e-06}, {"epsilon": 1, "delta": 1e-05}), can_spend({"close_calls": 3}, None)
    ({'epsilon': 1, 'delta': 1e-06}, {'close_calls': 3})
    """
    if allowance is None or "epsilon" not in left:
        return left
    return {name: min(left[name], allowance[name]) for name in ("epsilon", "delta")}
