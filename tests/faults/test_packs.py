"""Whatever stands in a pack, `check_pack` says what is wrong and where, soon, and never fails itself.

The packs are the shipped ones and the tests', with lines, scalars, brackets and whole branches changed at random. `make
soak` takes 10,000 of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.load import check_pack, load_pack, shipped_packs
from tests.faults import hostile
from tests.faults.loading import PATIENCE, check, patience
from tests.faults.memory import MB, Growth, limit, own

# SOAK=full takes all of them, new ones each time; by itself a soak takes some, always the same.
SOAK = os.environ.get("SOAK", "")
SAME = SOAK != "full"
COUNT = {"": 0, "full": 10_000}.get(SOAK, 2_000) or 120
# What memory may grow by after the first tenth: the last packs' names, sorted, and the allocator's own untidiness.
SLACK = 32 * MB

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.soak,
    pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning"),  # that an example is too long to show
]

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pack")


@pytest.fixture(scope="module")
def loader() -> Iterator[ProcessPoolExecutor]:
    """A process that does nothing but load packs, so that its memory is theirs."""
    with ProcessPoolExecutor(1, get_context("spawn"), limit) as pool:
        yield pool


MANY = settings(
    max_examples=COUNT // 3,
    deadline=None,
    derandomize=SAME,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def load_many(
    loader: ProcessPoolExecutor, folder: Path, changes: st.SearchStrategy[Any], change: Callable[[bytes, Any], bytes]
) -> None:
    """Loads the packs that come of changes, each to one file of a pack."""
    growth = Growth(COUNT // 3, lambda: loader.submit(own).result())

    @MANY
    @given(st.integers(0, 10_000), changes)
    def load(which: int, made: Any) -> None:
        files = {name: text.encode() for name, text in bases()[which % len(bases())].items()}
        name = sorted(files)[which // 7 % len(files)]
        files[name] = change(files[name], made)
        loader.submit(check, folder, files).result()
        growth.example()

    load()
    assert growth.bytes() < SLACK


def test_packs_with_changed_texts(loader: ProcessPoolExecutor, folder: Path) -> None:
    edits = st.lists(hostile.edits(PIECES), min_size=1, max_size=4)

    def change(content: bytes, made: list[hostile.Edit]) -> bytes:
        return hostile.edited(content.decode(), made).encode("utf-8", "surrogatepass")

    load_many(loader, folder, edits, change)


def test_packs_with_changed_bytes(loader: ProcessPoolExecutor, folder: Path) -> None:
    def change(content: bytes, made: tuple[float, int, bytes]) -> bytes:
        where, far, piece = made
        at = int(where * len(content))
        return content[:at] + piece + content[at + far :]

    load_many(loader, folder, st.tuples(st.floats(0, 1), st.integers(0, 3), st.binary(max_size=4)), change)


def test_packs_with_changed_values(loader: ProcessPoolExecutor, folder: Path) -> None:
    def change(content: bytes, made: list[hostile.Change]) -> bytes:
        document = hostile.changed(yaml.load(content, yaml.CSafeLoader), made)
        return written(document).encode("utf-8", "surrogatepass")

    load_many(loader, folder, st.lists(hostile.CHANGES, min_size=1, max_size=4), change)


def written(document: Any) -> str:
    """As JSON, which is YAML as well; numbers without end as YAML has them."""
    text = hostile.as_json(document)
    return re.sub(r"\bInfinity\b", ".inf", re.sub(r"\bNaN\b", ".nan", text))


TEXT = "Not {{ colour }}!"
PATTERN = "pattern: '^L-[0-9]{3}$'"
KNOWN = "known: {email: a@example.org}"
TELL = "  tell:\n    description: Tell what comes next\n    parameters:\n"


def many(name: str) -> str:
    return "{template: '" + f"{{{{ {name} }}}}" * 100 + "'}"


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
        (TEXT, "{{ " + "a" * 4_000_000 + " }}", "PACK030"),
        # Values made of values: 100 times 100 times 100 characters.
        (KNOWN, f"known: {{email: {many('order')}, order: {many('colour')}, colour: {'x' * 100}}}", "PACK043"),
        # 1,000 values of each of ten parameters make 10^30 actions.
        (TELL, TELL + "".join(f"      p{n}: {{enum: {list(map(str, range(1_000)))}}}\n" for n in range(10)), "PACK012"),
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


def test_a_field_of_the_contracts_own_pack_that_is_none_of_its_fields_and_no_field_at_all(folder: Path) -> None:
    ticket = "{id: a, task: easy-info-collection, messages: [x]}"
    text = f"pack: customer-support\nversion: '1'\nfields: {{order_id: {{}}, extra: 5}}\ntickets: [{ticket}]\n"
    path = folder / "pack.yaml"
    path.write_text(text, "utf-8")
    pack, found = check_pack(path)
    assert (pack, [(finding.code, finding.place.line) for finding in found]) == (None, [("PACK021", 3)])
