"""The owner's page: who there is, what was late or failed, and the labels of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from duotone.desk.callers import Refused
from duotone.pages.render import form_of, quoted, render, to, who

if TYPE_CHECKING:
    from duotone.desk.desk import Desk


@dataclass(frozen=True)
class OwnerPages:
    """What the owner's page does."""

    desk: Desk

    async def page(self, request: Request) -> Response:
        """People, datasets, and what the owner should know of their engines."""
        return await self._page(request)

    async def _page(self, request: Request, status: int = 200, problem: str | None = None) -> Response:
        overview = await self.desk.overview(who(request))
        datasets = (await self.desk.datasets(who(request)))["datasets"]
        changed = next((one for one in datasets if one["name"] == request.query_params.get("relabelled")), None)
        about: dict[str, Any] = {"overview": overview, "datasets": datasets, "problem": problem, "changed": changed}
        sessions = [] if who(request).assistant else (await self.desk.sessions(who(request)))["sessions"]
        return render(request, "owner.html", status, sessions=sessions, **about)

    async def end_session(self, request: Request) -> Response:
        """End a session; one's own, too."""
        await self.desk.end_session(who(request), request.path_params["session"])
        return to(request, "/owner")

    async def relabel(self, request: Request) -> Response:
        """Say that the data has changed; with a label that it had before, the page and what is wrong."""
        version, name = (await form_of(request)).get("version", "").strip(), request.path_params["dataset"]
        try:
            await self.desk.relabel(who(request), name, version)
        except Refused as refused:
            if refused.kind != "bad question":
                raise
            return await self._page(request, refused.status, refused.on_page)
        return to(request, f"/owner?relabelled={quoted(name)}")
