"""Loads a pack that may be anything, and looks at all that comes of it; the tests do this in a process of its own."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from engine.case import make_case
from engine.diagnostics import CODES, Finding, as_json, render
from engine.episode import Episode
from engine.load import check_pack, rebuild
from engine.pack import Pack

# Of one pack, in seconds, on a machine that has other things to do.
PATIENCE = 60

# Where YAML ends a line.
BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")


@contextmanager
def patience(seconds: int) -> Iterator[None]:
    """TimeoutError where what is done takes longer."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"it isn't done after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check(folder: Path, files: Mapping[str, bytes]) -> None:
    """Loads a pack, looks at everything that is found, and plays what loads."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    try:
        with patience(PATIENCE):
            pack, found = check_pack(folder)
            assert (pack is None) == any(finding.severity == "error" for finding in found)
            for finding in found:
                look_at(finding, folder, files)
            if pack is not None:
                play(pack)
    finally:
        for name in files:
            (folder / name).unlink()


def look_at(finding: Finding, folder: Path, files: Mapping[str, bytes]) -> None:
    """It has a known code, and its place is in the pack."""
    assert finding.code in CODES
    path = Path(finding.place.file)
    assert path == folder or path.parent == folder, finding
    text = files[path.name].decode("utf-8-sig", "replace") if path != folder else ""
    lines = BREAK.split(text)
    assert 1 <= finding.place.line <= len(lines), finding
    assert 1 <= finding.place.column <= len(lines[finding.place.line - 1]) + 1, finding
    assert "Traceback" not in render(finding)
    orjson.dumps(as_json(finding))


def play(pack: Pack) -> None:
    """What loads can be played and written down, also by whoever kept its source."""
    assert rebuild(pack.source).digest == pack.digest
    for ticket_id in list(pack.tickets)[:3]:
        episode = Episode.start(make_case(pack, ticket_id, 7))
        for action in ({}, {"type": "classify"}, *({"type": "ask_info", "field": field} for field in pack.fields)):
            if not episode.done:
                episode = episode.step(action)
        orjson.dumps(episode.observation)
        assert 0 <= episode.score() <= 1
