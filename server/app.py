"""The Flask application: HTTP around the service. `server.app:app` is what WSGI servers load.

`server.settings` and `gunicorn.conf.py` read the environment, nothing else does.
"""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from asgiref.sync import markcoroutinefunction
from flask import Flask, Request, Response, g, request
from flask.globals import request_ctx
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from engine.contract import load_contract
from engine.pack import Pack
from server import about, body, http, logs, ors, pages, problems, tasks
from server.asgi import Asgi, count_request
from server.failures import problem_of
from server.gate import Gate
from server.limits import Limiter
from server.loading import Unfit, load_packs
from server.mcp import Mcp
from server.metrics import Metrics
from server.problems import Problem
from server.service import Service
from server.sessions import Sessions
from server.settings import Settings, settings_or_exit
from server.store import EpisodeStore, Unavailable, Unusable
from server.store.opening import open_store
from server.tally import COUNTED
from server.tokens import Tokens, WrongFile
from server.upkeep import Upkeep

app: Deskproof  # made when it is first asked for, so that importing this module loads no packs


def __getattr__(name: str) -> Any:
    if name == "app":
        configured = settings_or_exit()
        logs.set_up(configured.log, configured.log_level)
        globals()["app"] = made = create_app(configured=configured)
        return made
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Deskproof(Flask):
    """One callable for both worlds: with two arguments a WSGI application, otherwise an ASGI one."""

    asgi: Asgi
    service: Service
    packs: tuple[Path | str, ...]  # where they are
    metrics: Metrics
    upkeep: Upkeep

    def __call__(self, first: Any, second: Any, *third: Any) -> Any:
        return self.asgi(first, second, *third) if third else super().__call__(first, second)

    def make_default_options_response(self) -> Response:
        adapter = request_ctx.url_adapter
        assert adapter is not None  # there is a request
        response = Response(status=204, headers={"Allow": _listed(adapter.allowed_methods())})
        del response.headers["Content-Type"]  # there is nothing that it could be the type of
        return response


# ASGI servers ask whether it is one; what comes back from a call with three arguments is a coroutine.
markcoroutinefunction(Deskproof.__call__)


def create_app(
    packs: Sequence[Pack] | None = None,
    store: EpisodeStore | None = None,
    configured: Settings | None = None,
    make: Callable[..., Service] = Service,
) -> Deskproof:
    """An application that serves `packs`, by default those that the settings name, and keeps episodes in `store`.
    `make` makes its service.

    Without packs and settings everything is as the environment says (`server.settings`), and the process ends with
    status 1, and says why on stderr, where it can't be. Raises ValueError where `packs` is empty or has two of one
    name.
    """
    if configured is None:
        configured = settings_or_exit() if packs is None else Settings()
    if packs is None:
        packs = _loaded(configured)
    if store is None:
        store = _opened(configured.store)
    service = make(packs, store, load_contract(), most=configured.max_episodes)
    sessions = Sessions(time.time, lambda: uuid.uuid4().hex, configured.max_sessions, notes=store)
    gate = _gate(configured)
    application = Deskproof("server", static_folder=None)
    application.url_map.merge_slashes = False  # a path is right or wrong: nothing redirects
    application.service = service
    application.packs = configured.packs
    application.metrics = metrics = Metrics(
        COUNTED,
        version("deskproof"),
        packs=lambda: service.catalogue.by_name.values(),
        sockets=lambda: application.asgi.sockets,
        open_episodes=service.open_episodes,
    )
    application.upkeep = Upkeep(store, time.time, configured.idle, configured.keep, metrics.flush)
    mcp = Mcp(service, sessions)
    application.asgi = Asgi(application, sessions, mcp, configured.patience, gate)
    _add_hooks(application, gate)
    for routes in ({**http.HOT, **http.WHOLE}, mcp.routes, tasks.ROUTES, ors.ROUTES, pages.ROUTES, about.ROUTES):
        _add_routes(application, service, routes)
    application.add_url_rule("/metrics", "metrics", lambda: _exposition(metrics))
    _add_error_handlers(application)
    return application


def serve(
    host: str = "0.0.0.0",
    port: int | None = None,
    workers: int | None = None,
    packs: Sequence[Path | str] | None = None,
    store: str | None = None,
    watch: bool = False,
    allow_unproved: bool = False,
    load: Callable[[Settings], Deskproof] | None = None,
) -> None:
    """Serve until a signal comes: what `load` gives, else `packs`. What isn't given is as the environment says. Exits
    with 1 if it can't."""
    from gunicorn.app.base import Application  # type: ignore[import-untyped]

    flags = {"WATCH": watch, "ALLOW_UNPROVED": allow_unproved}
    given = {"WORKERS": workers, "STORE": store, **{name: 1 for name, on in flags.items() if on}}
    os.environ.update({name: str(value) for name, value in given.items() if value is not None})
    configured = settings_or_exit()
    configured = replace(configured, packs=tuple(packs or configured.packs))

    class Deskproof(Application):  # type: ignore[misc]
        def load_config(self) -> None:
            self.load_config_from_file(str(Path(__file__).with_name("gunicorn.conf.py")))
            ports = [port] if port is not None else [address[1] for address in self.cfg.address]
            self.cfg.set("bind", [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for port in ports])

        def load(self) -> Flask:
            return load(configured) if load is not None else create_app(configured=configured)

    Deskproof().run()


def main() -> None:
    """The console script `server`, and `python -m server.app`."""
    serve()


def _loaded(configured: Settings) -> list[Pack]:
    """The packs, or the end of the process with everything that is wrong with them."""
    try:
        return load_packs(configured.packs, configured.allow_unproved, configured.proofs)
    except Unfit as error:
        sys.exit(str(error))


def _opened(url: str) -> EpisodeStore:
    """The store, or the end of the process."""
    try:
        return open_store(url)
    except (Unusable, Unavailable) as error:
        sys.exit(str(error))


def _gate(configured: Settings) -> Gate:
    """Each worker lets its share of the rate in."""
    rate = configured.rate / configured.workers
    limiter = Limiter(rate, configured.burst, time.monotonic) if rate else None
    try:
        tokens = Tokens(configured.tokens) if configured.tokens is not None else None
    except WrongFile as error:
        sys.exit(str(error))
    return Gate(tokens, limiter, configured.origins)


def _add_hooks(application: Deskproof, gate: Gate) -> None:
    """What every request that Flask answers passes, on its way in and out."""

    @application.before_request
    def come_in() -> Response | None:
        g.started = time.perf_counter()
        headers = _headers(request)
        preflight = gate.preflight(request.method, headers)
        if preflight is not None:
            return Response(status=204, headers=preflight)
        g.owner = gate.admit(request.path, headers, request.remote_addr)
        g.spend = partial(gate.spend_more, g.owner, request.remote_addr)
        _take_body()
        return None

    @application.after_request
    def go_out(response: Response) -> Response:
        for name, value in (*http.dress(request.path), *gate.cors(request.headers.get("origin"))):
            response.headers.setdefault(name, value)
        route = request.url_rule.rule if request.url_rule is not None else "other"
        count_request(route, response.status_code, time.perf_counter() - g.started)
        return response


def _exposition(metrics: Metrics) -> Response:
    content, media_type = metrics.exposition(request.headers.get("accept", ""))
    return Response(content, content_type=media_type)


def _add_routes(application: Flask, service: Service, routes: Mapping[tuple[str, str], http.Route]) -> None:
    """Let Flask serve routes; the parts of a path that vary come as keywords."""
    for (method, path), route in routes.items():

        def view(route: http.Route = route, **parts: str) -> Response:
            return _response(http.respond(service, partial(route, **parts), _request(request)))

        application.add_url_rule(path, f"{method} {path}", view, methods=[method])


def _add_error_handlers(application: Flask) -> None:
    @application.errorhandler(Problem)
    def client_mistake(problem: Problem) -> Response:
        return _problem(problem)

    @application.errorhandler(HTTPException)
    def http_error(error: HTTPException) -> Response:
        response = _problem(_routing(error))
        if isinstance(error, MethodNotAllowed):
            response.headers["Allow"] = _listed(error.valid_methods or ())
        return response

    @application.errorhandler(Exception)
    def server_error(error: Exception) -> Response:
        return _problem(problem_of(error, "a request failed"))


def _listed(methods: Iterable[str]) -> str:
    """Always in the same order: Werkzeug's is that of a set."""
    return ", ".join(sorted(methods))


def _routing(error: HTTPException) -> Problem:
    where = problems.quoted(request.path)
    if error.code == 404:
        return Problem(404, f"There is nothing at {where}; GET / lists the routes.")
    if error.code == 405:
        return Problem(405, f"{where} does not take {request.method}; GET / lists the routes.")
    return Problem(error.code or 500, error.description or "The request can't be answered.")


def _take_body() -> None:
    """Read the body of a request, whether its route looks at it or not. Raises Problem 413."""
    limit = http.limit(request.path)
    content = bytearray()
    while len(content) <= limit + body.PATIENCE and (piece := request.stream.read(body.MAX_BODY)):
        content += piece
    if len(content) > limit:
        raise body.too_large(limit)
    g.content = bytes(content)


def _request(asked: Request) -> http.Request:
    headers = _headers(asked)
    query, cookie = http.query(asked.query_string), http.cookie(headers.get("cookie"))
    # Where there are tokens an address is nobody's own.
    return http.Request(g.content, query, headers, cookie, None if g.owner else asked.remote_addr, g.owner, g.spend)


def _headers(asked: Request) -> dict[str, str]:
    return {name.lower(): value for name, value in asked.headers.items()}


def _response(answer: http.Answer) -> Response:
    return Response(answer.body, answer.status, answer.headers, mimetype=answer.media_type)


def _problem(problem: Problem) -> Response:
    return _response(http.refuse(problem))


if __name__ == "__main__":
    main()
