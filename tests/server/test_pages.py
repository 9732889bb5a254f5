"""The page at /docs: whole, well-formed, escaped, in need of nothing from elsewhere; and its commands work."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from flask.testing import FlaskClient

from engine.contract import Contract
from engine.load import load_pack, shipped_packs
from engine.pack import Pack
from server.openapi import document
from server.pages import render
from server.pages.shapes import Member, Shape, shape
from tests.serving import free_port, serving

LAMPS = Path(__file__).with_name("lamps.yaml")
BASE = "http://localhost:7860"
# An author's names that would break out of HTML, of a shell's quotes, of a path, or of our own marks for code.
NASTY = "</code><script>alert(1)</script> \"a\" 'b' `touch pwned` $(touch pwned) **x** {{ 7*7 }} a/../b?c#d&amp; ü"
VOID = {"br", "meta"}
HEADINGS = ("h1", "h2", "h3", "h4")


class Reader(HTMLParser):
    """What a page holds. AssertionError where a tag isn't closed, or closed twice."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[str] = []
        self.commands: list[str] = []
        self.style = ""
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), attrs
        self.tags.append((tag, dict(attrs)))
        if tag in VOID:
            return
        # A paragraph ends by itself where a block begins, which leaves a tag over.
        assert tag in ("a", "code", "span", "strong", "br") or "p" not in self.open, f"<{tag}> in a paragraph"
        self.open.append(tag)
        if tag in HEADINGS:
            self.headings.append(tag)
        if ("class", "command") in attrs:
            self.commands.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            self.style += data
            return
        self.text += data
        if self.open[-1:] == ["code"] and self.tags[-1] == ("code", {"class": "command"}):
            self.commands[-1] += data

    def values(self, name: str) -> list[str]:
        return [str(attributes[name]) for _, attributes in self.tags if name in attributes]


def words(text: str) -> str:
    """A text without white space, and without our marks for code and strong words."""
    return re.sub(r"\s+|`|\*\*", "", text)


def hostile(folder: Path) -> Path:
    """The lamps, with names that mean harm wherever an author can name something."""
    pack = yaml.safe_load(LAMPS.read_text("utf-8"))
    pack["pack"] = pack["description"] = NASTY
    pack["fields"] = {f"{name} {NASTY}": {"description": NASTY} for name in pack["fields"]}
    for category in pack["categories"].values():
        category.update(description=NASTY, requires=[f"{name} {NASTY}" for name in category["requires"]])
    for ticket in pack["tickets"]:
        ticket["id"] += NASTY
        ticket["answers"] = {f"{name} {NASTY}": answer for name, answer in ticket["answers"].items()}
    path = folder / "hostile.yaml"
    path.write_text(yaml.safe_dump(pack, allow_unicode=True, sort_keys=False), "utf-8")
    return path


@pytest.fixture(scope="module", params=["lamps", "desk", "hostile", *(path.name for path in shipped_packs())])
def pack(request: pytest.FixtureRequest, lamps: Pack, desk: Pack, tmp_path_factory: pytest.TempPathFactory) -> Pack:
    if request.param == "hostile":
        return load_pack(hostile(tmp_path_factory.mktemp("hostile")))
    shipped = {path.name: path for path in shipped_packs()}
    own = {"lamps": lamps, "desk": desk}
    return own[request.param] if request.param in own else load_pack(shipped[request.param])


@pytest.fixture(scope="module")
def described(pack: Pack, contract: Contract) -> Any:
    return document(contract, pack, (pack.name, NASTY + "2"))


@pytest.fixture(scope="module")
def page(described: Any) -> str:
    return render(json.dumps(described).encode(), BASE).decode()


@pytest.fixture(scope="module")
def read(page: str) -> Reader:
    return Reader(page)


# -- The page


def test_it_is_a_page_that_is_well_formed(page: str, read: Reader) -> None:
    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert [tag for tag, _ in read.tags].count("h1") == 1
    levels = [int(heading[1]) for heading in read.headings]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    ids = read.values("id")
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[\w-]+", name) for name in ids)


def test_it_reads_well_anywhere(page: str, read: Reader) -> None:
    """On a phone, in the dark, by keyboard; without any script."""
    metas = [attributes for tag, attributes in read.tags if tag == "meta"]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in metas
    for needed in ("color-scheme: light dark", "prefers-color-scheme: dark", ":focus-visible", "overflow-wrap"):
        assert needed in read.style
    assert "#routes" in read.values("href")[0], "the first thing that a keyboard reaches skips what is known already"
    assert "tabindex" not in page


def test_it_needs_nothing_from_elsewhere(read: Reader) -> None:
    assert not {tag for tag, _ in read.tags} & {"script", "link", "img", "iframe", "object", "base", "form", "svg"}
    assert {name for _, attributes in read.tags for name in attributes} <= {
        "aria-label", "charset", "class", "content", "href", "id", "lang", "name",
    }  # fmt: skip
    assert "url(" not in read.style and "@import" not in read.style and "@font-face" not in read.style


def test_every_link_leads_somewhere(read: Reader) -> None:
    links = read.values("href")
    assert {link for link in links if not link.startswith("#")} == {"openapi.json"}  # beside /docs
    assert {link[1:] for link in links if link.startswith("#")} <= set(read.values("id"))


def walk(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        yield part
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from walk(inner)


def test_nothing_that_the_document_says_is_left_out(described: Any, read: Reader) -> None:
    shown = words(read.text)
    for part in walk(described):
        said = [part[key] for key in ("summary", "description", "title") if isinstance(part.get(key), str)]
        if isinstance(part.get("enum"), list):
            said += [json.dumps(value, ensure_ascii=False) for value in part["enum"]]
        if isinstance(part.get("properties"), dict):
            said += [name for name in part["properties"] if isinstance(part["properties"][name], dict)]
        for text in said:
            assert words(text) in shown, text
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert f"{method.upper()}{path}" in shown
            assert operation["operationId"] in read.values("id")
    assert {f"schema-{name}" for name in described["components"]["schemas"]} <= set(read.values("id"))


def test_it_says_how_a_token_is_sent(read: Reader) -> None:
    for header in ("Authorization: Bearer TOKEN", "X-API-Key: TOKEN"):
        assert header in read.text


def test_names_are_data(described: Any, page: str, contract: Contract, lamps: Pack) -> None:
    """Whoever writes a pack, or the contract, writes no HTML here and no template."""
    assert json.dumps(NASTY + "2", ensure_ascii=False) in Reader(page).text
    assert "alert(1)" in page
    assert "<script" not in page
    mean = replace(contract, name=NASTY, description=NASTY, version=NASTY)
    other = render(json.dumps(document(mean, lamps, ("lamps",))).encode(), BASE).decode()
    assert "<script" not in other
    assert NASTY in Reader(other).text
    assert "49" not in re.sub(r"<style>.*</style>", "", other, flags=re.DOTALL)


# -- How it is served


def test_its_headers(client: FlaskClient) -> None:
    response = client.get("/docs")
    assert response.content_type == "text/html; charset=utf-8"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    policy = dict(part.strip().split(" ", 1) for part in response.headers["Content-Security-Policy"].split(";"))
    digest = base64.b64encode(hashlib.sha256(Reader(response.text).style.encode()).digest()).decode()
    assert policy == {
        "default-src": "'none'",
        "style-src": f"'sha256-{digest}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert client.get("/docs").data == response.data
    assert client.get("/openapi.json").status_code == 200


@pytest.mark.parametrize(
    ("headers", "base"),
    [
        ({"Host": "desk.example.org"}, "http://desk.example.org"),
        ({"Host": "[::1]:7860"}, "http://[::1]:7860"),
        ({"Host": "desk.example.org", "X-Forwarded-Proto": "https"}, "https://desk.example.org"),
        ({"Host": "desk.example.org", "X-Forwarded-Proto": "https, http"}, "https://desk.example.org"),
        ({"Host": "desk.example.org", "X-Forwarded-Proto": "javascript"}, "http://desk.example.org"),
        ({"Host": "$(touch pwned)"}, BASE),
        ({"Host": "a'b\"><script>"}, BASE),
        ({"Host": ""}, BASE),
    ],
)
def test_the_commands_have_the_address_that_was_asked(client: FlaskClient, headers: dict[str, str], base: str) -> None:
    commands = Reader(client.get("/docs", headers=headers).text).commands
    assert commands
    assert all(f" {base}/" in command or f" '{base}/" in command for command in commands)


def test_it_is_in_the_wheel(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
    own = {path.relative_to(root).as_posix() for path in (root / "server/pages").iterdir() if path.is_file()}
    assert {"server/pages/docs.html", "server/pages/shapes.html", "server/pages/docs.css"} <= own <= names


# -- The commands


def play(packs: Sequence[Path | str], folder: Path, root: Path) -> list[str]:
    """Runs the page's commands from top to bottom, each as it stands; gives their statuses."""
    port = free_port()
    own = {"PYTHONPATH": str(root), "PORT": str(port), "PACKS": os.pathsep.join(map(str, packs))}
    env = {**os.environ, **own, "STORE": f"sqlite:{folder / 'episodes.db'}", "NO_PROXY": "localhost,127.0.0.1"}
    with serving((sys.executable, "-m", "server.app"), port, cwd=folder, env=env) as url:
        page = Reader(httpx.get(f"{url}/docs", headers={"Host": f"localhost:{port}"}, trust_env=False).text)
        described: Any = httpx.get(f"{url}/openapi.json", trust_env=False).json()
        assert set(page.commands[3:]) >= set(page.commands[:3])  # those to try first stand below as well
        assert len(page.commands) - 3 == sum(len(methods) for methods in described["paths"].values())
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
        session = httpx.post(f"{url}/mcp", json=hello, trust_env=False).headers["Mcp-Session-Id"]
        lines = [f"{command} -o answer -w '%{{http_code}}\\n' || echo failed" for command in page.commands]
        done = subprocess.run(
            ["bash", "-u", "-c", "\n".join(lines)],
            cwd=folder,
            env={**env, "MCP_SESSION_ID": session},
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.slow
@pytest.mark.xdist_group("server-process")
@pytest.mark.parametrize("which", ["shipped", "hostile"])
def test_every_command_works_as_it_stands(root: Path, tmp_path: Path, which: str) -> None:
    packs = [hostile(tmp_path)] if which == "hostile" else shipped_packs()
    statuses = play(packs, tmp_path, root)
    assert len(statuses) > 30
    assert set(statuses) == {"200"}
    assert not (tmp_path / "pwned").exists()


# -- Schemas in words


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (True, Shape("anything")),
        (False, Shape("nothing")),
        ({}, Shape("anything")),
        ({"description": "x"}, Shape("anything", description="x")),
        ({"type": ["string", "null"], "minLength": 1}, Shape("string or null", limits=("at least 1 characters",))),
        ({"type": "integer", "minimum": 0, "maximum": 9}, Shape("integer", limits=("0 to 9",))),
        ({"type": "number", "maximum": 2.0}, Shape("number", limits=("at most 2.0",))),
        ({"type": "array", "items": {"$ref": "#/a/b/C"}}, Shape("array", item=Shape("", link="C"))),
        ({"type": "array", "maxItems": 3}, Shape("array", limits=("at most 3 items",))),
        ({"const": "ü"}, Shape("", values=('"ü"',))),
        ({"const": None}, Shape("", values=("null",))),
        ({"enum": ["a", 1, True, None]}, Shape("", values=('"a"', "1", "true", "null"))),
        ({"type": "string", "pattern": "^a$"}, Shape("string", limits=("matches ^a$",))),
        ({"type": "string", "format": "email"}, Shape("string", limits=('format: "email"',))),
        ({"type": "object", "additionalProperties": False}, Shape("object", limits=("and no others",))),
        ({"additionalProperties": {"type": "null"}}, Shape("", limits=('additionalProperties: {"type": "null"}',))),
        (
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["b", "c"]},
            Shape(
                "object",
                limits=("with c",),
                members=(Member("a", False, Shape("string")), Member("b", True, Shape("anything"))),
            ),
        ),
        (
            {"oneOf": [{"title": "A", "type": "null"}, {"required": ["x"]}]},
            Shape("", choose="one of", choices=(Shape("null", title="A"), Shape("", limits=("with x",)))),
        ),
    ],
)
def test_a_schema_in_words(schema: Any, said: Shape) -> None:
    assert shape(schema) == said
