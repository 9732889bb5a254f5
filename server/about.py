"""The routes that say what is served, and whether it can be."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from server import openapi
from server.http import Answer, Request, Route, answer
from server.problems import Problem
from server.service import Service

stopping = threading.Event()  # this process was told to stop, and finishes what was asked
_GONE = 10  # seconds; by then it is, or it has come back


def _ready(service: Service, request: Request) -> Answer:
    """Raises Problem 503."""
    if stopping.is_set():
        raise Problem(503, "The server is stopping: ask another one.", retry_after=_GONE)
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
