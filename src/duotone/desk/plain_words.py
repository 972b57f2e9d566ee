"""What pydantic finds wrong with a file or a request, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_origin

from pydantic import BaseModel

KINDS = {
    "bool": "must be true or false",
    "string": "must be a text, in quotes",
    "int": "must be a whole number",
    "float": "must be a number",
    "tuple": "must be a list, in [ ]",
    "list": "must be a list, in [ ]",
    "dict": "must be a table, in { } or under a heading of its own",
    "mapping": "must be a table, in { } or under a heading of its own",
    "literal": "must be {expected}",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "too_short": "is empty",
    "too_long": "has too many entries",
    "string_too_short": "is empty",
    "string_too_long": "has more than {max_length} characters",
    "value_error": "{error}",
    "missing": "is missing",
    "json_invalid": "must be JSON",
}
"""By what pydantic calls a mistake; or by how that begins, as bool_type and bool_parsing."""


def sentence(error: Mapping[str, Any]) -> str:
    """A mistake in our words.

    >>> sentence({"type": "bool_parsing", "msg": "Input should be a valid boolean, unable to interpret input"})
    'must be true or false'
    >>> sentence({"type": "greater_than_equal", "msg": "", "ctx": {"ge": 1}})
    'must be at least 1'
    """
    kind = str(error["type"])
    words = KINDS.get(kind) or KINDS.get(kind.partition("_")[0])
    return str(error["msg"]).replace("Input should be", "must be") if words is None else words.format(**error.get("ctx", {}))


def model_at(model: type[BaseModel], place: tuple[str | int, ...]) -> type[BaseModel] | None:
    """The model of what stands at a place of a document; None where that is none."""
    steps = list(place)
    while steps:
        field = model.model_fields.get(str(steps.pop(0)))
        inside = None if field is None else _model_in(field.annotation)
        if field is None or inside is None:
            return None
        if _is_mapping(field.annotation):
            steps = steps[1:]  # the name under which it stands
        model = inside
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part)) is not None), None)


def _is_mapping(annotation: Any) -> bool:
    origin = get_origin(annotation)
    return isinstance(origin, type) and issubclass(origin, Mapping)
