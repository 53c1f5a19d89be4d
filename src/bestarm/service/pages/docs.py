"""The page of the API, made from its own OpenAPI document: nothing is loaded from elsewhere, no script is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from bestarm.service.pages.render import render

router = APIRouter()


@dataclass(frozen=True)
class ApiField:
    """One field of a body, or one part of an address."""

    name: str
    kind: str
    required: bool
    about: str


@dataclass(frozen=True)
class Operation:
    """One request that can be made."""

    method: str
    path: str
    about: str
    fields: list[ApiField]
    answers: list[tuple[str, str]]

    @property
    def anchor(self) -> str:
        """A name for it in this page's address."""
        return f"{self.method}{self.path}".lower().replace("/", "-").replace("{", "").replace("}", "")


@router.get("/docs")
def show(request: Request) -> Response:
    """Every request of the API, by subject. Public, as the OpenAPI document is."""
    described: dict[str, Any] = request.app.openapi()
    groups: dict[str, list[Operation]] = {}
    for path, methods in described["paths"].items():
        for method, said in methods.items():
            group = (said.get("tags") or ["other"])[0]
            groups.setdefault(group, []).append(_operation(described, method, path, said))
    return render(request, "docs.html", groups=groups, about=described["info"]["description"])


def _operation(described: dict[str, Any], method: str, path: str, said: dict[str, Any]) -> Operation:
    fields = [
        ApiField(one["name"], "in the address", one.get("required", False), one.get("description", ""))
        for one in said.get("parameters", [])
    ]
    body = said.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    shape = _resolved(described, body)
    needed = set(shape.get("required", ()))
    fields += [
        ApiField(name, _kind(described, one), name in needed, one.get("description", ""))
        for name, one in shape.get("properties", {}).items()
    ]
    answers = [(status, answer.get("description", "")) for status, answer in sorted(said["responses"].items())]
    return Operation(method.upper(), path, said.get("description") or said.get("summary", ""), fields, answers)


def _resolved(described: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in shape:
        return shape
    found: dict[str, Any] = described["components"]["schemas"][shape["$ref"].rsplit("/", 1)[1]]
    return found


def _kind(described: dict[str, Any], shape: dict[str, Any]) -> str:
    if "anyOf" in shape:
        kinds = dict.fromkeys(_kind(described, one) for one in shape["anyOf"])
        return " or ".join(kind for kind in kinds if kind != "null")
    if "enum" in shape or "const" in shape:
        return ", ".join(str(one) for one in shape.get("enum", [shape.get("const")]))
    if shape.get("type") == "array":
        return f"list of {_kind(described, shape.get('items', {}))}"
    if "$ref" in shape:
        return "object"
    return str(shape.get("type", "anything"))
