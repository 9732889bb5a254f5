"""A pack made again from its own source is the same pack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.case import make_case
from engine.diagnostics import PackError
from engine.episode import Episode
from engine.load import load_pack, rebuild, shipped_packs

PACKS = (*shipped_packs(), *sorted((Path(__file__).parent / "packs").glob("*.yaml")))


@pytest.mark.parametrize("path", PACKS, ids=lambda path: path.name)
def test_a_pack_survives_its_source(path: Path) -> None:
    pack = load_pack(path)
    again = rebuild(pack.source)
    assert again.digest == pack.digest and again.source == pack.source
    assert (again.tickets, again.fields, again.rewards) == (pack.tickets, pack.fields, pack.rewards)
    for ticket in list(pack.tickets)[:5]:
        first, second = (Episode.start(make_case(each, ticket, 3)) for each in (pack, again))
        assert first.observation == second.observation


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "not the source of a pack"),
        ("[]", "not the source of a pack"),
        ("[" * 100_000, "not the source of a pack"),
        ("{}", "'pack' is missing"),
        ('{"pack": 1}', "quote it"),
    ],
)
def test_what_is_no_source_is_refused(source: str, message: str) -> None:
    with pytest.raises(PackError, match=message):
        rebuild(source)


def test_another_content_is_another_digest(root: Path) -> None:
    pack = load_pack(root / "tests" / "packs" / "desk.yaml")
    document = json.loads(pack.source)
    document["description"] += "!"
    assert rebuild(json.dumps(document)).digest != pack.digest
