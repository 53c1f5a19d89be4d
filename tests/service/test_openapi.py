"""Requests made up from the OpenAPI document: no server error, and every answer is as described."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import booleans
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from starlette.testclient import TestClient

from bestarm.service import create_app
from bestarm.service.plans import Planner
from tests.service.conftest import Service, quick_plan
from tests.service.test_authorisation import ENDPOINTS


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    app = create_app(str(tmp_path_factory.mktemp("openapi") / "trials.db"), Planner(quick_plan))
    with TestClient(app) as http:
        found = Service(app, http)
        found.create()
        yield found


@pytest.fixture(scope="module")
def described(service: Service) -> Any:
    return schemathesis.openapi.from_asgi("/openapi.json", service.app)


CASES = [
    pytest.param(method, path, mode, id=f"{method} {path} {mode.value}")
    for method, path in ENDPOINTS
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    if not (path.endswith(("/health", "/ready")) and mode == GenerationMode.NEGATIVE)  # there is nothing to get wrong
]


@pytest.mark.parametrize(("method", "path", "mode"), CASES)
def test_every_answer_is_as_described(
    service: Service, described: Any, method: str, path: str, mode: GenerationMode
) -> None:
    admin = service.token("admin")

    @given(case=described[path][method].as_strategy(generation_mode=mode), known=booleans())
    @settings(max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    def check(case: Any, known: bool) -> None:
        if known and "trial" in case.path_parameters:
            case.path_parameters["trial"] = "dose"
        # A design has rules that no schema can say, so a body that fits its schema may still be bad input.
        case.call_and_validate(headers={"Authorization": f"Bearer {admin}"}, excluded_checks=[positive_data_acceptance])

    check()
