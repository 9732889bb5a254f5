"""What a route is: a request in, an answer out, no I/O. Flask serves every route, ASGI the hot ones itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from server import body, problems
from server.answers import encode
from server.openapi import COOKIE
from server.problems import Problem
from server.service import Caller, Service

JSON = "application/json"

logger = logging.getLogger("server")


class Request(NamedTuple):
    """What a route may look at. Header names are in lower case; `cookie` is the value of COOKIE as it was sent."""

    body: bytes
    query: Mapping[str, str]
    headers: Mapping[str, str]
    cookie: str | None
    address: str | None

    @property
    def caller(self) -> Caller:
        return Caller(unquote(self.cookie) if self.cookie is not None else None, self.address)

    def json(self) -> Any:
        """Raises Problem 400 or 413."""
        return body.decode(self.body)


class Answer(NamedTuple):
    status: int
    body: bytes
    media_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


def answer(document: Any) -> Answer:
    return Answer(200, encode(document))


def _reset(service: Service, request: Request) -> Answer:
    document = service.reset(request.json(), request.caller)
    # Any text may be an episode id; a cookie takes only some of ASCII.
    cookie = f"{COOKIE}={quote(document['metadata']['episode_id'], safe='')}; HttpOnly; Path=/; SameSite=Lax"
    return answer(document)._replace(headers=(("Set-Cookie", cookie),))


def _step(service: Service, request: Request) -> Answer:
    return answer(service.step(request.json(), request.caller))


def _state(service: Service, request: Request) -> Answer:
    return answer(service.state(request.query.get("episode_id"), request.caller))


def _health(service: Service, request: Request) -> Answer:
    return Answer(200, b'{"status":"healthy"}')


Route = Callable[..., Answer]  # of the service, the request, and by keyword the parts of the path that vary
HOT: Mapping[tuple[str, str], Route] = {
    ("POST", "/reset"): _reset,
    ("POST", "/step"): _step,
    ("GET", "/state"): _state,
    ("GET", "/health"): _health,
}


def respond(service: Service, route: Route, request: Request) -> Answer:
    """The route's answer; a problem document where it raises."""
    try:
        return route(service, request)
    except Problem as problem:
        return refuse(problem)
    except Exception:
        logger.exception("a request failed")
        return refuse(Problem(500, "The server made a mistake, and has logged it."))


def refuse(problem: Problem) -> Answer:
    return Answer(problem.status, encode(problem.document()), problems.MEDIA_TYPE)
