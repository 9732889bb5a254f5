"""Holds answers against /openapi.json, and remembers which of what it promises was seen."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema

PROBLEM = "application/problem+json"
TEXTS = ("text/", "application/openmetrics-text")
# What a browser is told by every answer, whatever it is.
ALWAYS = ("X-Content-Type-Options", "Cache-Control", "Referrer-Policy", "Content-Security-Policy")
EVENT = re.compile(r"event: (?P<event>[^\r\n]*)\r\ndata: (?P<data>[^\r\n]*)\r\n\r\n")


class Specification:
    """An OpenAPI document. `seen` are the statuses that were checked, each as ("POST /reset", "200")."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self.seen: set[tuple[str, str]] = set()

    def promised(self) -> Iterator[tuple[str, str]]:
        """Every status of every operation, as in `seen`."""
        for path, operations in self.document["paths"].items():
            for method, operation in operations.items():
                yield from ((f"{method.upper()} {path}", status) for status in operation["responses"])

    def resolved(self, part: Any) -> Any:
        """What a part of the document refers to, else the part itself."""
        while "$ref" in part:
            found = self.document
            for key in part["$ref"].removeprefix("#/").split("/"):
                found = found[key]
            part = found
        return part

    def check(self, method: str, path: str, status: int, headers: httpx.Headers, content: bytes) -> Any:
        """The answer's content, read: JSON as data, events as pairs. AssertionError where it isn't as promised.

        `path` is as it was sent, without the query; a HEAD is answered as a GET is, without the content.
        """
        template = self._template(path)
        operation = self.document["paths"][template].get("get" if method == "HEAD" else method.lower())
        assert operation is not None, f"{method} {template} is not described"
        label = f"{method} {template}"
        assert str(status) in operation["responses"], f"{label} answers {status}, which is not described: {content!r}"
        described = self.resolved(operation["responses"][str(status)])
        if method != "HEAD":
            self.seen.add((label, str(status)))
        for name in ALWAYS:
            assert len(headers.get_list(name)) == 1, f"{label} {status} has {headers.get_list(name)} for {name}"
        for name, header in described.get("headers", {}).items():
            assert name in headers or not header["required"], f"{label} {status} comes without {name}"
            if name in headers:
                number = header["schema"].get("type") == "integer"
                self._validate(header["schema"], int(headers[name]) if number else headers[name])
        kind = headers.get("content-type", "")
        if "content" not in described:
            assert content == b"", f"{label} {status}"
            return None
        assert kind.partition(";")[0] in described["content"], f"{label} {status} is {kind}"
        schema = described["content"][kind.partition(";")[0]]["schema"]
        return None if method == "HEAD" else self._content(schema, status, headers, content)

    def _content(self, schema: Any, status: int, headers: httpx.Headers, content: bytes) -> Any:
        kind = headers["content-type"]
        assert b"Traceback" not in content
        if kind.startswith("text/event-stream"):
            text = content.decode()
            events = [found.groupdict() for found in EVENT.finditer(text)]
            assert EVENT.sub("", text) == ""
            for event in events:
                self._validate(schema, event)
            return [(event["event"], event["data"]) for event in events]
        if kind.startswith(TEXTS):
            assert kind.endswith("; charset=utf-8")
            self._validate(schema, content.decode())
            return content.decode()
        document = json.loads(content)
        self._validate(schema, document)
        if status >= 400 and kind == PROBLEM:
            assert (document["type"], document["status"]) == ("about:blank", status)
            assert document["detail"].endswith(".")
            assert str(document.get("retry_after", "")) == headers.get("retry-after", "")
        return document

    def _validate(self, schema: Any, value: Any) -> None:
        root = {**schema, "components": self.document["components"]}
        jsonschema.Draft202012Validator(root).validate(value)

    def _template(self, path: str) -> str:
        """The described path that a path belongs to: the one without parts that vary, if there is one."""
        if path in self.document["paths"]:
            return path
        for template in self.document["paths"]:
            if "{" in template and re.fullmatch(re.sub(r"\\{\w+\\}", ".+", re.escape(template)), path):
                return str(template)
        raise AssertionError(f"{path} is not described")
