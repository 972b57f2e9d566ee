"""The command mcp: a service's tools for an assistant on this machine."""

from __future__ import annotations

from typing import Annotated

import typer


def mcp(
    url: Annotated[str, typer.Argument(metavar="URL", help="The service, as https://duotone.example.org.")],
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow http:// beyond this machine, where something else encrypts the way.")
    ] = False,
) -> None:
    """Let an assistant plan questions to a service, and ask what its person approved (Model Context Protocol).

    The token is DUOTONE_TOKEN in the environment, made with `duotone token add NAME --assistant`.
    """
    import asyncio

    from duotone.client.connect import connect
    from duotone.mcp.server import office_of, serve_stdio

    with connect(url, insecure=insecure) as connection:
        asyncio.run(serve_stdio(office_of(connection)))
