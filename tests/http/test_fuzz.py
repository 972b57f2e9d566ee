"""Every route of the interface for programs, fuzzed from its own description: no error of ours, and answers as described."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from support.offices import Served, make_office, serving
from support.running import PATIENCE

EXAMPLES = 200 if "DUOTONE_EXHAUSTIVE" in os.environ else 3
EVERY = [*HealthCheck]
CHECKS: list[Any] = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(make_office(tmp_path_factory.mktemp("office"))) as office:
        yield office


@pytest.mark.slow
@pytest.mark.parametrize(
    ("who", "mode"), [("olga", GenerationMode.POSITIVE), ("ana", GenerationMode.POSITIVE), ("ana", GenerationMode.NEGATIVE)]
)
def test_no_route_breaks(office: Served, who: str, mode: GenerationMode) -> None:
    """With made-up names, and with those of a dataset that is there."""
    schema = schemathesis.openapi.from_url(f"{office.url}/api/openapi.json")
    headers = {"Authorization": f"Bearer {office.token(who)}"}
    tried = 0
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()
        if mode is GenerationMode.NEGATIVE and not operation.body:
            continue  # hardly any path is wrong
        for fixed in ({}, {"dataset": "votes"}) if "{dataset}" in operation.path else ({},):

            @settings(max_examples=EXAMPLES, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=EVERY)
            @given(operation.as_strategy(mode, path_parameters=fixed or None))
            def holds(case: Case[Any]) -> None:
                nonlocal tried
                tried += 1
                response = case.call_and_validate(headers=headers, checks=CHECKS, timeout=PATIENCE)
                assert mode is GenerationMode.POSITIVE or response.status_code >= 400

            holds()
    assert tried > 10 * EXAMPLES
