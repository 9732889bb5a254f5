"""The routes that say what is served, and whether it can be."""

from __future__ import annotations

from collections.abc import Mapping

from server import openapi
from server.http import Answer, Request, Route, answer
from server.service import Service


def _ready(service: Service, request: Request) -> Answer:
    service.check()
    return answer({"status": "ready"})


ROUTES: Mapping[tuple[str, str], Route] = {
    ("GET", "/"): lambda service, request: answer(openapi.index(service.catalogue.openapi())),
    ("GET", "/metadata"): lambda service, request: answer(service.catalogue.metadata()),
    ("GET", "/packs"): lambda service, request: answer(service.catalogue.packs()),
    ("GET", "/tasks"): lambda service, request: answer(service.catalogue.tasks(request.query.get("pack"))),
    ("GET", "/schema"): lambda service, request: answer(service.catalogue.schema(request.query.get("pack"))),
    ("GET", "/openapi.json"): lambda service, request: answer(service.catalogue.openapi()),
    ("GET", "/ready"): _ready,
}
