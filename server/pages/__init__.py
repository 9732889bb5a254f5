"""The page for people at /docs, made from the OpenAPI document. It needs nothing from anywhere else, nor any script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from server.answers import encode
from server.http import Answer, Request, Route
from server.pages.view import page
from server.service import Service

_HERE = Path(__file__).parent
_HOST = re.compile(r"[A-Za-z0-9._:\[\]-]{1,255}")
_SPANS = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")
_STYLE = (_HERE / "docs.css").read_text("utf-8")


def _docs(service: Service, request: Request) -> Answer:
    document = encode(service.catalogue.openapi())
    return Answer(200, render(document, _base(request, service)), "text/html", _HEADERS)


def _base(request: Request, service: Service) -> str:
    """The server's address, as far as the request shows it; it stands in the page's commands."""
    host = request.headers.get("host", "")
    if not _HOST.fullmatch(host):
        host = f"localhost:{service.catalogue.contract.port}"
    forwarded = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip()
    scheme = "https" if forwarded == "https" else "http"
    return f"{scheme}://{host}"


@lru_cache(maxsize=8)
def render(document: bytes, base: str) -> bytes:
    """The page of an OpenAPI document in JSON; `base` is the server's address, without a slash at the end."""
    template = _ENVIRONMENT.get_template("docs.html")
    return template.render(page=page(json.loads(document), base), style=Markup(_STYLE)).encode()


def _prose(text: str) -> Markup:
    """Paragraphs, `code` and **strong** words: as much of Markdown as our own descriptions have."""
    paragraphs = (Markup("<p>{}</p>").format(_spans(paragraph)) for paragraph in text.split("\n\n"))
    return Markup("\n").join(paragraphs)


def _spans(text: str) -> Markup:
    """The same for one line."""
    found, end = Markup(), 0
    for span in _SPANS.finditer(text):
        code, strong = span.groups()
        inside = Markup("<code>{}</code>").format(code) if code else Markup("<strong>{}</strong>").format(strong)
        found += escape(text[end : span.start()]) + inside
        end = span.end()
    return found + escape(text[end:])


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
_ENVIRONMENT.filters["prose"] = _prose
_ENVIRONMENT.filters["spans"] = _spans

_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS = (
    ("Content-Security-Policy", f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-cache"),
)

ROUTES: Mapping[tuple[str, str], Route] = {("GET", "/docs"): _docs}
