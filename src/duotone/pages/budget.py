"""The budget page: how many such questions are left, what was spent and by whom, and whether the ledger is intact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from duotone.desk.callers import Refused
from duotone.pages.asked_form import EPSILONS
from duotone.pages.menus import identifier
from duotone.pages.render import choose_dataset, download, render, who
from duotone.privacy.numbers import exact

if TYPE_CHECKING:
    from duotone.desk.desk import Desk


@dataclass(frozen=True)
class BudgetPages:
    """What the pages about budgets do."""

    desk: Desk

    async def choose(self, request: Request) -> Response:
        """The datasets that one may see."""
        return await choose_dataset(request, self.desk, "budget")

    async def page(self, request: Request) -> Response:
        """The gauge, and the history."""
        name = request.path_params["dataset"]
        dataset = await self.desk.dataset(who(request), name)
        price = {"epsilon": request.query_params.get("epsilon", "0.1"), "delta": request.query_params.get("delta", "")}
        problem, budget = None, None
        try:
            budget = await self.desk.budget(who(request), name, such(dataset, price))
        except Refused as refused:
            problem = refused.on_page
        if budget is None:
            budget = await self.desk.budget(who(request), name, None)
        history = await self.desk.history(who(request), name)
        about: dict[str, Any] = {
            "budget": budget,
            "gauge": gauge(budget, price),
            "history": history,
            "price": price,
            "problem": problem,
        }
        return render(request, "budget.html", dataset=dataset, epsilons=EPSILONS, **about)

    async def saved(self, request: Request) -> Response:
        """The same as JSON."""
        name = request.path_params["dataset"]
        budget = await self.desk.budget(who(request), name, None)
        return download(
            {"dataset": name, "budget": budget, "history": await self.desk.history(who(request), name)}, "budget.json"
        )

    async def verify(self, request: Request) -> Response:
        """Whether the ledger is as it was written."""
        name = request.path_params["dataset"]
        return render(request, "verified.html", name=name, verdict=await self.desk.verify(who(request), name))


def such(dataset: Mapping[str, Any], price: Mapping[str, str]) -> dict[str, Any]:
    """A plain question at a price; where close calls alone are charged, at none."""
    people = "count(*)" if dataset["unit"] is None else f"count(distinct {identifier(dataset['unit'])})"
    if dataset["close_calls"] is not None:
        return {"question": f"{people} > 1"}
    return {"question": f"{people} > 1", "epsilon": price["epsilon"], **({"delta": price["delta"]} if price["delta"] else {})}


def gauge(budget: Mapping[str, Any], price: Mapping[str, str]) -> dict[str, float]:
    """The shares of the budget that are spent and that a question takes; what is left is the rest."""
    calls = budget["close_calls"]
    if calls is not None:
        total, used, one = calls["of"], calls["used"] + calls["reserved"], 1.0
    else:
        total, used = budget["budget"]["epsilon"], budget["spent"]["epsilon"]
        one = float(exact(price["epsilon"])) if budget["this"] is not None else 0.0
    spent = min(1.0, used / total) if total else 1.0
    return {"spent": spent, "this": max(0.0, min(1 - spent, one / total if total else 0.0))}
