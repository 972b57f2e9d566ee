"""An assistant: the `mcp` package's own client, over standard input and output, over HTTP, or in memory."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from mcp.client.streamable_http import streamable_http_client

import duotone
from mcp import Client, StdioServerParameters
from support.running import PATIENCE

T = TypeVar("T")


class Failed(Exception):
    """A tool's error, as an assistant reads it."""


class Assistant:
    """Calls tools."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def tools(self) -> dict[str, Any]:
        return {tool.name: tool for tool in (await self.client.list_tools()).tools}

    async def use(self, name: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(name, arguments)
        (content,) = result.content
        text: str = content.text  # type: ignore[union-attr]
        if result.is_error:
            raise Failed(text)
        assert isinstance(result.structured_content, dict)
        return result.structured_content


@asynccontextmanager
async def over_stdio(url: str, token: str) -> AsyncIterator[Assistant]:
    """Through the command `duotone mcp URL`, in another process."""
    source = str(Path(duotone.__file__).parents[1])
    environment = {"DUOTONE_TOKEN": token, "PYTHONPATH": source, "PYTHONWARNINGS": "error"}
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "duotone", "mcp", url], env=environment)
    async with Client(parameters) as client:
        yield Assistant(client)


@asynccontextmanager
async def over_http(url: str, token: str) -> AsyncIterator[Assistant]:
    """At a service's /mcp."""
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE)
    async with http, Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client:
        yield Assistant(client)


@asynccontextmanager
async def in_memory(server: Any, mode: str = "auto") -> AsyncIterator[Assistant]:
    """In the same process."""
    async with Client(server, mode=mode) as client:
        yield Assistant(client)


def played(connected: Any, play: Callable[[Assistant], Awaitable[T]]) -> T:
    """Run an assistant's steps while it is connected."""

    async def main() -> T | Failed:
        async with connected as assistant:
            try:
                return await play(assistant)
            except Failed as failed:  # raised below: the client would make a group of it
                return failed

    result = asyncio.run(main())
    if isinstance(result, Failed):
        raise result
    return result
