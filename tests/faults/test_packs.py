"""Whatever stands in a pack, `check_pack` says what is wrong and where, soon, and never fails itself.

The packs are the shipped ones and the tests', with lines, scalars, brackets and whole branches changed at random. `make
soak` takes 10,000 of them.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import automaton, solve
from engine.case import make_case
from engine.diagnostics import CODES, Finding, as_json, render
from engine.episode import Episode
from engine.load import check_pack, load_pack, rebuild, shipped_packs
from engine.pack import Pack
from tests.faults import hostile
from tests.faults.memory import MB, Growth, own

SOAK = bool(os.environ.get("SOAK"))
COUNT = 10_000 if SOAK else 120
# Of one pack, in seconds, on a machine that has other things to do.
PATIENCE = 60
# What memory may grow by after the first tenth: the allocator's own untidiness, and what hypothesis notes down.
SLACK = 48 * MB

ROOT = Path(__file__).resolve().parents[2]
# Where YAML ends a line.
BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")

pytestmark = pytest.mark.soak

LONG = 100_000
SIGNS = """{ } [ ] : # - * & ! | > ' " % @ ` , ? \\ ~ 7 no null true é 中 {{ }} {% {# --- ... << <<:"""
SCALARS = """2022-01-01 0x1F .inf .nan 1e999 1e400 1:30 -1 1.5 '' "" [] {} [[]] &a *a !x"""
PIECES = [
    *SIGNS.split(), *SCALARS.split(), " ", "\t", "\n", "\r", "\n\n", "\n  ", "\n- ", ": ", " #", " #x", "- ", "? ",
    "\0", "\x07", "\x85", "\u2028", "\ufeff", "\U0001f600", r'"\ud800"', r'"\0"', r'"\x9b"',
    "9" * 99, "9" * LONG, "0x" + "f" * 90, "a" * LONG, '"' + r"\r" * LONG + '"', "[" * 5_000, "{a: " * 5_000,
    "{a: b}", "&a [*a, *a]", "!!python/object:os.system ", "<<: *a", "{template: '{{ email }}{{ email }}'}",
    "{{ ((order)) }}", "{{ -order }}", '{template: "{{ order | join }} {{ missing | first }}"}',
    '{template: "{{ ' + "(" * 5_000 + 'order }}"}', '{template: "{{ ' + "-" * LONG + 'order }}"}',
    '{template: "{{ ' + "9" * 5_000 + ' }}"}', r"""{template: "{{ '\\ud800' }}"}""",
    "'[ab]*c'", "'(a+)+$'", "'(?:^){4000000000}'", r"'(a)\1'", "'(?=a)'", "'" + "(" * 250 + "'",
]  # fmt: skip


@cache
def bases() -> tuple[Mapping[str, str], ...]:
    """Packs that are sound, each as its files; of the shipped ones a few tickets and no tests, as they take long."""
    whole = [ROOT / "tests" / name for name in ("packs/lamps.yaml", "packs/desk.yaml", "server/lamps.yaml")]
    found = [{"pack.yaml": path.read_text("utf-8")} for path in (*whole, whole[0], whole[0])]
    for folder in shipped_packs():
        texts = {path.name: path.read_text("utf-8") for path in folder.glob("*.yaml") if path.name != "tests.yaml"}
        found.append({name: text if name == "pack.yaml" else few_tickets(text) for name, text in texts.items()})
    return tuple(found)


def few_tickets(text: str) -> str:
    starts = [found.start() for found in re.finditer(r"^  - id:", text, re.MULTILINE)]
    return text[: starts[3]]


def test_the_bases_are_sound(tmp_path: Path) -> None:
    for files in bases():
        for name, text in files.items():
            (tmp_path / name).write_text(text, "utf-8")
        assert load_pack(tmp_path).tickets
        for name in files:
            (tmp_path / name).unlink()


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
        # Both keep what was last proved, of thousands of tickets, for whoever plays them.
        automaton.automaton.cache_clear()
        solve.solve.cache_clear()


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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pack")


FEW = settings(
    max_examples=COUNT // 2, deadline=None, derandomize=not SOAK, database=None, suppress_health_check=list(HealthCheck)
)


def test_packs_with_changed_texts(folder: Path) -> None:
    growth = Growth(COUNT // 2, own)

    @FEW
    @given(st.integers(0, 10_000), st.lists(hostile.edits(PIECES), min_size=1, max_size=4), st.binary(max_size=2))
    def load(which: int, made: list[hostile.Edit], bytes_: bytes) -> None:
        files = {name: text.encode() for name, text in bases()[which % len(bases())].items()}
        name = sorted(files)[which // 7 % len(files)]
        content = hostile.edited(files[name].decode(), made).encode("utf-8", "surrogatepass")
        at = which * 31 % (len(content) + 1)
        files[name] = content[:at] + bytes_ + content[at:] if which % 9 == 0 else content
        check(folder, files)
        growth.example()

    load()
    assert growth.bytes() < SLACK


def test_packs_with_changed_values(folder: Path) -> None:
    growth = Growth(COUNT // 2, own)

    @FEW
    @given(st.integers(0, 10_000), st.lists(hostile.CHANGES, min_size=1, max_size=4))
    def load(which: int, changes: list[hostile.Change]) -> None:
        files = {name: text.encode() for name, text in bases()[which % len(bases())].items()}
        name = sorted(files)[which // 7 % len(files)]
        document = hostile.changed(yaml.load(files[name], yaml.CSafeLoader), changes)
        files[name] = written(document).encode("utf-8", "surrogatepass")
        check(folder, files)
        growth.example()

    load()
    assert growth.bytes() < SLACK


def written(document: Any) -> str:
    """As JSON, which is YAML as well; numbers without end as YAML has them."""
    text = hostile.as_json(document)
    return re.sub(r"\bInfinity\b", ".inf", re.sub(r"\bNaN\b", ".nan", text))


TEXT = "Not {{ colour }}!"
PATTERN = "pattern: '^L-[0-9]{3}$'"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (f"{PATTERN}}}, sample: 'L-###'", "pattern: '[ab]*c'}, sample: '" + "a" * 400_000 + "'", "PACK044"),
        (PATTERN, "pattern: '(?:^){4000000000}'", "PACK044"),
        (PATTERN, "pattern: '" + "(" * 249 + ")" * 249 + "'", "PACK047"),
        (TEXT, "{{ " + "(" * 5_000 + "colour" + ")" * 5_000 + " }}", "PACK045"),
        (TEXT, "{{ " + "-" * LONG + "colour }}", "PACK045"),
        (TEXT, "{{ " + "not " * LONG + "colour }}", "PACK045"),
        (TEXT, "{{ colour" + ".x" * LONG + " }}", "PACK045"),
        (TEXT, "{{ " + "9" * 5_000 + " }}", "PACK045"),
        (TEXT, "{{ colour | default(" + "9" * 5_000 + ") }}", "PACK045"),
        (TEXT, r"{{ colour }}{{ '\\ud800' }}", "PACK045"),
        (TEXT, r"\r" * LONG + "{{ délai }}", "PACK030"),
        ("stalls: 1", "stalls: " + "9" * 99, "PACK024"),
        ("stalls: 1", "stalls: " + "9" * LONG, "PACK021"),
        ("[false, true]", "[" + ", ".join(map(str, range(1_001))) + "]", "PACK024"),
        ("tickets:\n", "tickets:\n" + "  - " * LONG + "\n", "PACK012"),
        ("phrases: {", "phrases: " + "[" * LONG + "{", "PACK012"),
        ("{told: false}", "{told: " + "{not: " * 60 + "{}" + "}" * 61, "PACK012"),
        ("{told: false}", "{told: " + "{not: " * 30 + "{}" + "}" * 31, "PACK022"),
        ("{format: email}", "{not: " * 30 + "{}" + "}" * 30, "PACK022"),
    ],
    ids=lambda text: text[:24],
)
def test_hostile_on_purpose(old: str, new: str, code: str, folder: Path) -> None:
    """Each is refused for what it is, at its place."""
    text = bases()[0]["pack.yaml"]
    assert text.count(old) == 1
    path = folder / "pack.yaml"
    path.write_text(text.replace(old, new), "utf-8")
    with patience(PATIENCE):
        pack, found = check_pack(path)
    assert pack is None
    assert code in [finding.code for finding in found]
    line = text[: text.index(old)].count("\n") + 1
    assert {finding.place.line for finding in found if finding.code == code} <= {line, line + 1}
