"""The Flask application: HTTP around the service. `server.app:app` is what WSGI servers load.

The environment is read here and in `gunicorn.conf.py` only: PORT, WORKERS, PACKS (the packs to serve), and what
`create_app` says.
"""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from flask import Flask, Request, Response, request
from werkzeug.exceptions import HTTPException

from engine.contract import load_contract
from engine.diagnostics import PackError
from engine.load import load_pack, shipped_packs
from engine.pack import Pack
from server import body, http, openapi, ors, problems, tasks
from server.answers import encode
from server.asgi import Asgi
from server.mcp import Mcp
from server.peers import Patience
from server.problems import Problem
from server.service import Service
from server.sessions import CAPACITY, Sessions
from server.store import EpisodeStore
from server.store.memory import MemoryStore

app: Deskproof  # made when it is first asked for, so that importing this module loads no packs


def __getattr__(name: str) -> Any:
    if name == "app":
        globals()["app"] = made = create_app()
        return made
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Deskproof(Flask):
    """One callable for both worlds: with two arguments a WSGI application, otherwise an ASGI one."""

    asgi: Asgi

    def __call__(self, *args: Any) -> Any:
        if len(args) == 2:
            return super().__call__(*args)
        # uvicorn takes a callable object for an ASGI 2 application: called with the scope, it gives the rest.
        return self.asgi(*args) if len(args) == 3 else partial(self.asgi, *args)


def create_app(
    packs: Sequence[Pack] | None = None,
    store: EpisodeStore | None = None,
    *,
    max_sessions: int | None = None,
    patience: Patience | None = None,
) -> Deskproof:
    """An application that serves `packs`; by default those that PACKS names, else the shipped ones.

    `max_sessions` is how many sockets and MCP sessions there may be, `patience` how long a silent socket is kept; what
    isn't given comes from MAX_SESSIONS, WS_PING, WS_SILENT and WS_IDLE.

    Exits with status 1, and says why on stderr, where PACKS names a pack that can't be served, or a variable makes no
    sense. Raises ValueError where `packs` is empty or has two of one name.
    """
    if max_sessions is None:
        max_sessions = _whole_number("MAX_SESSIONS", CAPACITY, least=1)
    if patience is None:
        patience = _patience()
    if packs is None:
        packs = _load(_named_packs())
    service = Service(packs, MemoryStore() if store is None else store, load_contract())
    sessions = Sessions(time.monotonic, lambda: uuid.uuid4().hex, max_sessions)
    mcp = Mcp(service, sessions)
    application = Deskproof("server", static_folder=None)
    application.url_map.merge_slashes = False  # a path is right or wrong: nothing redirects
    _add_routes(application, service, {**http.HOT, **http.WHOLE})
    _add_routes(application, service, mcp.routes)
    _add_routes(application, service, tasks.ROUTES)
    _add_routes(application, service, ors.ROUTES)
    _add_catalogue_routes(application, service)
    _add_error_handlers(application)
    application.asgi = Asgi(service, sessions, mcp, application.wsgi_app, patience)
    return application


def serve(
    host: str = "0.0.0.0",
    port: int | None = None,
    workers: int | None = None,
    packs: Sequence[Path | str] | None = None,
) -> None:
    """Serve until a signal comes. What isn't given comes from PORT, WORKERS and PACKS. Exits with 1 if it can't."""
    from gunicorn.app.base import Application  # type: ignore[import-untyped]

    class Deskproof(Application):  # type: ignore[misc]
        def load_config(self) -> None:
            self.load_config_from_file(str(Path(__file__).with_name("gunicorn.conf.py")))
            if port is not None:
                self.cfg.set("bind", f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
            if workers is not None:
                self.cfg.set("workers", workers)

        def load(self) -> Flask:
            return create_app(_load(packs) if packs else None)

    Deskproof().run()


def main() -> None:
    """The console script `server`, and `python -m server.app`."""
    serve()


def _whole_number(name: str, default: int, least: int) -> int:
    text = os.environ.get(name, "").strip() or str(default)
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) < least:
        sys.exit(f"{name} must be a whole number from {least} to 999999999, not '{text}'.")
    return int(text)


def _patience() -> Patience:
    """WS_PING, WS_SILENT and WS_IDLE, in whole seconds."""
    default = Patience()
    return Patience(
        ping=_whole_number("WS_PING", int(default.ping), least=0),
        silent=_whole_number("WS_SILENT", int(default.silent), least=0),
        idle=_whole_number("WS_IDLE", int(default.idle), least=0),
    )


def _named_packs() -> Sequence[Path | str]:
    """PACKS: paths, separated by spaces or as in PATH; one path with a space in it stands as it is."""
    named = os.environ.get("PACKS", "").strip()
    if not named:
        return shipped_packs()
    if _exists(named):
        return [named]
    return [path for part in named.split(os.pathsep) for path in part.split()]


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:  # too long for a path
        return False


def _load(paths: Sequence[Path | str]) -> list[Pack]:
    """The packs, or the end of the process with everything that is wrong with them."""
    packs: dict[str, Pack] = {}
    wrong = [] if paths else ["There is no pack to serve."]
    for path in paths:
        try:
            pack = load_pack(path)
        except PackError as error:
            wrong.append(str(error))
            continue
        if pack.name in packs:
            wrong.append(f"{path}: another pack is called '{pack.name}' too: {packs[pack.name].place.file}")
        packs[pack.name] = pack
    if wrong:
        print(*wrong, sep="\n", file=sys.stderr)
        sys.exit(1)
    return list(packs.values())


def _add_routes(application: Flask, service: Service, routes: Mapping[tuple[str, str], http.Route]) -> None:
    """Let Flask serve routes; the parts of a path that vary come as keywords."""
    for (method, path), route in routes.items():

        def view(route: http.Route = route, **parts: str) -> Response:
            return _response(http.respond(service, partial(route, **parts), _request(request)))

        application.add_url_rule(path, f"{method} {path}", view, methods=[method])


def _add_catalogue_routes(application: Flask, service: Service) -> None:
    catalogue = service.catalogue
    application.add_url_rule("/", "index", lambda: _json(openapi.index(catalogue.contract)))
    application.add_url_rule("/metadata", "metadata", lambda: _json(catalogue.metadata()))
    application.add_url_rule("/packs", "packs", lambda: _json(catalogue.packs()))
    application.add_url_rule("/tasks", "tasks", lambda: _json(catalogue.tasks(request.args.get("pack"))))
    application.add_url_rule("/schema", "schema", lambda: _json(catalogue.schema(request.args.get("pack"))))
    application.add_url_rule("/openapi.json", "openapi", lambda: _json(catalogue.openapi()))


def _add_error_handlers(application: Flask) -> None:
    @application.errorhandler(Problem)
    def client_mistake(problem: Problem) -> Response:
        return _problem(problem)

    @application.errorhandler(HTTPException)
    def http_error(error: HTTPException) -> Response:
        response = _problem(_routing(error))
        kept = [(name, value) for name, value in error.get_headers() if name.lower() == "allow"]
        response.headers.extend(kept)
        return response

    @application.errorhandler(Exception)
    def server_error(error: Exception) -> Response:
        application.logger.exception("%s %s failed", request.method, request.path, exc_info=error)
        return _problem(Problem(500, "The server made a mistake, and has logged it."))


def _routing(error: HTTPException) -> Problem:
    where = problems.quoted(request.path)
    if error.code == 404:
        return Problem(404, f"There is nothing at {where}; GET / lists the routes.")
    if error.code == 405:
        return Problem(405, f"{where} does not take {request.method}; GET / lists the routes.")
    return Problem(error.code or 500, error.description or "The request can't be answered.")


def _request(asked: Request) -> http.Request:
    """Raises Problem 413."""
    limit = http.limit(asked.path)
    content = bytearray()
    while len(content) <= limit + body.PATIENCE and (piece := asked.stream.read(body.MAX_BODY)):
        content += piece
    if len(content) > limit:
        raise body.too_large(limit)
    headers = {name.lower(): value for name, value in asked.headers.items()}
    cookie = http.cookie(headers.get("cookie"))
    return http.Request(bytes(content), http.query(asked.query_string), headers, cookie, asked.remote_addr)


def _response(answer: http.Answer) -> Response:
    return Response(answer.body, answer.status, answer.headers, mimetype=answer.media_type)


def _json(document: Any) -> Response:
    return Response(encode(document), mimetype="application/json")


def _problem(problem: Problem) -> Response:
    return _response(http.refuse(problem))


if __name__ == "__main__":
    main()
