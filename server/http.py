"""What a route is: a request in, an answer out, no I/O. Flask serves every route, ASGI the hot ones itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote

from server import batch, body, problems
from server.answers import encode
from server.failures import problem_of
from server.gate import FRAMED, SECURITY_HEADERS, Headers, headers_for
from server.openapi import COOKIE
from server.problems import Problem
from server.service import Caller, Service

JSON = "application/json"


class Request(NamedTuple):
    """What a route may look at. Header names are in lower case; `cookie` is the value of COOKIE as it was sent.

    `address` is None where there are tokens, for it is nobody's own then. `owner` is the name of the token that it came
    with; `spend` counts more requests, and may raise Problem 429.
    """

    body: bytes
    query: Mapping[str, str]
    headers: Mapping[str, str]
    cookie: str | None
    address: str | None
    owner: str = ""
    spend: batch.Spend = lambda count: None

    @property
    def caller(self) -> Caller:
        return Caller(unquote(self.cookie) if self.cookie is not None else None, self.address, owner=self.owner)

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
    episode_id, content = service.reset_encoded(request.json(), request.caller)
    # Any text may be an episode id; a cookie takes only some of ASCII.
    cookie = f"{COOKIE}={quote(episode_id, safe='')}; HttpOnly; Path=/; SameSite=Lax"
    return Answer(200, b"".join(content), headers=(("Set-Cookie", cookie),))


def _step(service: Service, request: Request) -> Answer:
    return Answer(200, b"".join(service.step_encoded(request.json(), request.caller)))


def _state(service: Service, request: Request) -> Answer:
    return answer(service.state(request.query.get("episode_id"), request.caller))


def _health(service: Service, request: Request) -> Answer:
    return Answer(200, b'{"status":"healthy"}')


Route = Callable[..., Answer]  # of the service, the request, and by keyword the parts of the path that vary
STEP = ("POST", "/step")
HOT: Mapping[tuple[str, str], Route] = {
    ("POST", "/reset"): _reset,
    STEP: _step,
    ("GET", "/state"): _state,
    ("GET", "/health"): _health,
}

Batch = Callable[[Service, bytes, str, batch.Spend], batch.Work]  # with the owner of the token

# Routes whose work can be put down between two slices, so that others don't have to wait for all of it.
BATCHES: Mapping[tuple[str, str], Batch] = {
    ("POST", "/batch/reset"): batch.reset,
    ("POST", "/batch/step"): batch.step,
}


def respond(service: Service, route: Route, request: Request) -> Answer:
    """The route's answer; a problem document where it raises."""
    try:
        return route(service, request)
    except Exception as error:
        return _failed(error)


def respond_in_slices(work: batch.Work) -> Generator[None, None, Answer]:
    """Yields between slices, and returns the answer to a batch."""
    try:
        return Answer(200, (yield from work))
    except Exception as error:
        return _failed(error)


def _in_one_go(start: Batch, service: Service, request: Request) -> Answer:
    work = start(service, request.body, request.owner, request.spend)
    while True:
        try:
            next(work)
        except StopIteration as end:
            return Answer(200, end.value)


WHOLE: Mapping[tuple[str, str], Route] = {key: partial(_in_one_go, start) for key, start in BATCHES.items()}


def dress(path: str) -> Headers:
    """The headers of every answer to a path, unless it brings its own."""
    return FRAMED if path == "/" else SECURITY_HEADERS


def limit(path: str) -> int:
    """How many bytes the body of a request may have."""
    return body.MAX_BATCH if path.startswith("/batch/") else body.MAX_BODY


def refuse(problem: Problem) -> Answer:
    return Answer(problem.status, encode(problem.document()), problems.MEDIA_TYPE, headers_for(problem))


def _failed(error: Exception) -> Answer:
    return refuse(problem_of(error, "a request failed"))


def query(raw: bytes) -> dict[str, str]:
    """What a query string says; of a name that comes more than once, the first. What isn't UTF-8 becomes U+FFFD."""
    found: dict[str, str] = {}
    if raw:
        for name, value in parse_qsl(raw.decode("utf-8", "replace"), keep_blank_values=True):
            found.setdefault(name, value)
    return found


def cookie(header: str | None) -> str | None:
    """The value of COOKIE in a Cookie header; of several, the first."""
    if header is not None and COOKIE in header:
        for pair in re.split("[;,]", header):
            name, _, value = pair.partition("=")
            if name.strip() == COOKIE:
                return value.strip().strip('"')
    return None
