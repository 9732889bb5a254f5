"""A small client of a language server: what an editor says to it over its standard streams, and what it answers.

A text that is opened may hold a CURSOR, which is where one asks; the server doesn't see it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import IO, Any

CURSOR = "‸"
# How many seconds an answer may take on a machine that is busy.
PATIENCE = 60.0

# An editor's settings for YAML. Nothing comes from elsewhere: no list of schemas is fetched.
SETTINGS: Mapping[str, Any] = {
    "completion": True,
    "hover": True,
    "validate": True,
    "schemaStore": {"enable": False},
    "kubernetesCRDStore": {"enable": False},
}


@dataclass(frozen=True)
class Asked:
    """A text as the server sees it, and the position at which one asks."""

    text: str
    position: Mapping[str, int]

    @classmethod
    def at_cursor(cls, text: str) -> Asked:
        before, cursor, after = text.partition(CURSOR)
        last = before.rpartition("\n")[2]
        column = len(last.encode("utf-16-le")) // 2 if cursor else 0
        return cls(before + after, {"line": before.count("\n") if cursor else 0, "character": column})


@dataclass
class LanguageServer:
    """A server that was told who we are. Use `language_server`, which ends it as well."""

    process: subprocess.Popen[bytes]
    heard: Queue[dict[str, Any] | None] = field(default_factory=Queue)
    # By address: what the server said last of a text that is open, and how often the text changed.
    diagnostics: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    asked: int = 0
    settings: dict[str, Any] = field(default_factory=lambda: dict(SETTINGS))

    def diagnose(self, path: Path, text: str) -> list[tuple[int, str]]:
        """The line, from 1, and the words of all that is wrong with a file's text; first things first."""
        address = self._show(path, text)
        while address not in self.diagnostics:
            self._hear()
        return sorted((each["range"]["start"]["line"] + 1, each["message"]) for each in self.diagnostics[address])

    def complete(self, path: Path, text: str) -> dict[str, dict[str, Any]]:
        """What is offered at the cursor, by label."""
        asked = Asked.at_cursor(text)
        answer = self._at("textDocument/completion", path, asked)
        items = answer["items"] if isinstance(answer, dict) else answer or []
        return {item["label"]: item for item in items}

    def hover(self, path: Path, text: str) -> str:
        """What is shown where the pointer rests on the cursor's place."""
        answer = self._at("textDocument/hover", path, Asked.at_cursor(text))
        return str(answer["contents"]["value"]) if answer else ""

    def written(self, path: Path) -> None:
        """Tells that a file was written, as an editor that watches its folder does."""
        changed = [{"uri": path.as_uri(), "type": 2}]
        self._send({"method": "workspace/didChangeWatchedFiles", "params": {"changes": changed}})

    def configure(self, **settings: Any) -> None:
        """Changes the editor's settings for YAML."""
        self.settings |= settings
        self._send({"method": "workspace/didChangeConfiguration", "params": {"settings": None}})
        self._hear_of("workspace/configuration")

    # -- The protocol

    def _show(self, path: Path, text: str) -> str:
        """Opens a text, or changes it where it is open. What was said of it before is forgotten."""
        address = path.as_uri()
        self.diagnostics.pop(address, None)
        version = self.versions[address] = self.versions.get(address, 0) + 1
        if version == 1:
            document = {"uri": address, "languageId": "yaml", "version": version, "text": text}
            self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        else:
            changed = {"textDocument": {"uri": address, "version": version}, "contentChanges": [{"text": text}]}
            self._send({"method": "textDocument/didChange", "params": changed})
        return address

    def _at(self, method: str, path: Path, asked: Asked) -> Any:
        address = self._show(path, asked.text)
        return self._ask(method, {"textDocument": {"uri": address}, "position": asked.position})

    def _ask(self, method: str, params: Mapping[str, Any] | None) -> Any:
        self.asked += 1
        number = self.asked
        self._send({"id": number, "method": method, "params": params})
        while (message := self._hear()).get("id") != number or "method" in message:
            pass
        if "error" in message:
            raise AssertionError(f"{method}: {message['error']}")
        return message["result"]

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def _hear(self) -> dict[str, Any]:
        """The next message. What the server asks is answered, and what it says of a text is kept."""
        try:
            message = self.heard.get(timeout=PATIENCE)
        except Empty:
            raise AssertionError(f"the language server said nothing for {PATIENCE:.0f} s") from None
        if message is None:
            raise AssertionError("the language server ended")
        if message.get("method") == "textDocument/publishDiagnostics":
            params = message["params"]
            if params.get("version", self.versions.get(params["uri"])) == self.versions.get(params["uri"]):
                self.diagnostics[params["uri"]] = params["diagnostics"]
        elif "method" in message and "id" in message:
            self._send({"id": message["id"], "result": self._answer(message)})
        return message

    def _hear_of(self, method: str) -> None:
        """Waits until the server asked for something, and answers."""
        while self._hear().get("method") != method:
            pass

    def _answer(self, message: Mapping[str, Any]) -> Sequence[Any] | None:
        if message["method"] != "workspace/configuration":
            return None
        return [self.settings if item["section"] == "yaml" else {} for item in message["params"]["items"]]

    def _greet(self, folder: Path) -> None:
        capabilities = {
            "workspace": {
                "configuration": True,
                "workspaceFolders": True,
                "didChangeConfiguration": {"dynamicRegistration": True},
                "didChangeWatchedFiles": {"dynamicRegistration": True},
            },
            "textDocument": {
                "completion": {"completionItem": {"documentationFormat": ["markdown"], "snippetSupport": True}},
                "hover": {"contentFormat": ["markdown"]},
                "publishDiagnostics": {"versionSupport": True},
            },
        }
        folders = [{"uri": folder.as_uri(), "name": folder.name}]
        about = {"processId": None, "rootUri": folder.as_uri(), "workspaceFolders": folders, "locale": "en"}
        self._ask("initialize", {**about, "capabilities": capabilities})
        self._send({"method": "initialized", "params": {}})
        self._hear_of("workspace/configuration")


@contextmanager
def language_server(command: Sequence[str], folder: Path) -> Iterator[LanguageServer]:
    """Starts a server that speaks over its standard streams, for the texts of a folder."""
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        server = LanguageServer(process)
        assert process.stdout is not None
        Thread(target=_listen, args=(process.stdout, server.heard), daemon=True).start()
        try:
            server._greet(folder)
            yield server
            with suppress(BrokenPipeError):
                server._ask("shutdown", None)
                server._send({"method": "exit"})
                process.wait(timeout=PATIENCE)
        finally:
            process.kill()


def _listen(stream: IO[bytes], heard: Queue[dict[str, Any] | None]) -> None:
    """Takes messages apart: a header of lines, an empty line, and as many bytes of JSON as the header says."""
    while True:
        length = 0
        while (line := stream.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not line:
            heard.put(None)
            return
        heard.put(json.loads(stream.read(length)))
