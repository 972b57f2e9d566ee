"""The interface for programs as a page: every route, what it takes and what it returns, from its OpenAPI
description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from duotone.pages.render import render

Schema = Mapping[str, Any]
WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "array": "list"}
"""Names of JSON's types on a page."""


async def interface_page(request: Request) -> Response:
    """Every route, and the shapes of the documents."""
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
        name: (shape.get("description", ""), [_field(field, of, shape.get("required", ())) for field, of in fields.items()])
        for name, shape in described["components"]["schemas"].items()
        if (fields := shape.get("properties"))
    }
    return render(request, "interface.html", routes=routes, shapes=shapes, here=str(request.base_url))


def _field(name: str, schema: Schema, required: Sequence[str]) -> tuple[str, str, bool, str]:
    return name, _kind(schema), name in required, schema.get("description", "")


def _body(route: Schema) -> str | None:
    """The name of the shape that a route takes."""
    content = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    return None if content is None else _kind(content)


def _kind(schema: Schema) -> str:
    """The type of a value, in a few words.

    >>> _kind({"anyOf": [{"type": "string"}, {"type": "null"}]}), _kind({"type": "array", "items": {"type": "integer"}})
    ('text', 'list of whole number')
    >>> _kind({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "number"}]})
    'number, or a text with one'
    """
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        kinds = [one.get("type") for one in schema["anyOf"]]
        if {"string", "integer", "number"} <= {*kinds}:
            return "number, or a text with one"
        return " or ".join(dict.fromkeys(_kind(one) for one in schema["anyOf"] if one.get("type") != "null"))
    if "enum" in schema:
        return " or ".join(f"“{value}”" for value in schema["enum"])
    if schema.get("type") == "array" and "items" in schema:
        return f"list of {_kind(schema['items'])}"
    return WORDS.get(schema.get("type", ""), "anything")
