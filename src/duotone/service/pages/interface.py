"""The interface for programs, as a page: every route, what it takes and what it gives, from its description by OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from duotone.service.pages.render import render

Schema = Mapping[str, Any]


async def interface_page(request: Request) -> Response:
    """Every route, and the shapes of what is sent."""
    described = request.app.openapi()
    routes = [
        {
            "method": method.upper(),
            "path": path,
            "summary": route.get("summary", ""),
            "about": route.get("description", ""),
            "body": _body(route),
        }
        for path, methods in described["paths"].items()
        for method, route in methods.items()
    ]
    shapes = {
        name: [_field(field, of, shape.get("required", ())) for field, of in fields.items()]
        for name, shape in described["components"]["schemas"].items()
        if (fields := shape.get("properties"))
    }
    return render(request, "interface.html", routes=routes, shapes=shapes)


def _field(name: str, schema: Schema, required: Sequence[str]) -> tuple[str, str, bool, str]:
    return name, _kind(schema), name in required, schema.get("description", "")


def _body(route: Schema) -> str | None:
    """The name of the shape that a route takes."""
    content = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    return None if content is None else _kind(content)


def _kind(schema: Schema) -> str:
    """What a value may be, in a few words.

    >>> _kind({"anyOf": [{"type": "string"}, {"type": "null"}]}), _kind({"type": "array", "items": {"type": "integer"}})
    ('string or null', 'array of integer')
    """
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_kind, schema["anyOf"])))
    if "enum" in schema:
        return " or ".join(f"“{value}”" for value in schema["enum"])
    if schema.get("type") == "array" and "items" in schema:
        return f"array of {_kind(schema['items'])}"
    return str(schema.get("type", "anything"))
