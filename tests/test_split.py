"""Splits: a ticket's own, else its hash's; from six tickets on, none is empty where that can be helped."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from engine.case import pick_ticket
from engine.diagnostics import PackError
from engine.load import load_pack, shipped_packs
from engine.pack import Split
from engine.split import FULL_FROM, SPLITS, assign, splits

Named = dict[str, Split | None]

NAMED = st.dictionaries(
    st.text(max_size=4), st.one_of(st.none(), st.none(), st.sampled_from(SPLITS)), min_size=1, max_size=14
)
PACK = st.sampled_from(["lamps", "p", "⚠️ 版本?"])


def home(pack: str, ticket: str) -> str:
    """Where a ticket's hash alone puts it."""
    number = int(hashlib.sha256(f'["{pack}","{ticket}","split"]'.encode()).hexdigest(), 16) % 5
    return ("train", "train", "train", "validation", "test")[number]


def homes(pack: str, named: Named) -> dict[str, Split]:
    """Each ticket's place as if it were alone: below FULL_FROM nothing is filled up."""
    return {ticket: assign(pack, {ticket: own})[ticket] for ticket, own in named.items()}


def test_the_hash_decides() -> None:
    tickets = [f"t-{number}" for number in range(1, FULL_FROM)]
    assert assign("lamps", dict.fromkeys(tickets)) == {ticket: home("lamps", ticket) for ticket in tickets}
    assert assign("lamps", {"t-1": None}) != assign("lamps", {"t-1": "validation"}) == {"t-1": "validation"}


def test_three_fifths_train() -> None:
    found = list(assign("p", {f"t-{number}": None for number in range(2000)}).values())
    # 1200, 400 and 400 expected; the standard deviations are 22, 18 and 18; five of them either way.
    assert 1090 <= found.count("train") <= 1310
    assert 310 <= found.count("validation") <= 490
    assert 310 <= found.count("test") <= 490


def test_an_empty_split_gets_the_ticket_with_the_highest_hash_for_it() -> None:
    trained = [ticket for number in range(99) if home("p", ticket := f"t-{number}") == "train"][:7]
    found = assign("p", dict.fromkeys(trained))

    def highest(among: list[str], split: str) -> str:
        return max(among, key=lambda ticket: hashlib.sha256(f'["p","{ticket}","split","{split}"]'.encode()).digest())

    validation = highest(trained, "validation")
    test = highest([ticket for ticket in trained if ticket != validation], "test")
    assert found == {**dict.fromkeys(trained, "train"), validation: "validation", test: "test"}


@given(PACK, NAMED)
def test_a_ticket_is_where_it_says(pack: str, named: Named) -> None:
    found = assign(pack, named)
    assert found.keys() == named.keys()
    assert all(found[ticket] == own for ticket, own in named.items() if own is not None)


@given(PACK, NAMED)
def test_no_split_of_six_is_empty_where_a_ticket_may_move(pack: str, named: Named) -> None:
    found = assign(pack, named)
    empty = set(SPLITS) - set(found.values())
    spare = [
        ticket
        for ticket, own in named.items()
        if own is None and sum(split == found[ticket] for split in found.values()) > 1
    ]
    assert len(named) < FULL_FROM or not empty or not spare


@given(PACK, st.sets(st.text(max_size=4), min_size=FULL_FROM, max_size=14))
def test_where_no_ticket_names_a_split_none_is_empty(pack: str, tickets: set[str]) -> None:
    assert set(assign(pack, dict.fromkeys(tickets)).values()) == set(SPLITS)


@given(PACK, NAMED)
def test_no_more_tickets_move_than_splits_are_empty(pack: str, named: Named) -> None:
    before, after = homes(pack, named), assign(pack, named)
    moved = [ticket for ticket in named if before[ticket] != after[ticket]]
    filled = set(after.values()) - set(before.values())
    assert sorted(after[ticket] for ticket in moved) == sorted(filled)
    assert set(before.values()) <= set(after.values())


@given(PACK, NAMED, st.text(max_size=4), st.one_of(st.none(), st.sampled_from(SPLITS)))
def test_a_new_ticket_moves_no_other(pack: str, named: Named, new: str, own: Split | None) -> None:
    """Where no split had to be filled up; where one had, only the tickets that fill may go or come."""
    before, after = assign(pack, named), assign(pack, {**named, new: named.get(new, own)})
    alone = homes(pack, named)
    for ticket in named:
        assert before[ticket] == after[ticket] or alone[ticket] in (before[ticket], after[ticket])
    if set(alone.values()) == set(SPLITS):
        assert {ticket: after[ticket] for ticket in named} == before


@given(PACK, NAMED)
def test_the_order_of_the_tickets_makes_no_difference(pack: str, named: Named) -> None:
    assert assign(pack, dict(reversed(named.items()))) == assign(pack, named)


def pack_text(*tickets: Mapping[str, object]) -> str:
    """A pack of tickets that differ in nothing but what is given."""
    document = {
        "pack": "p",
        "version": "1",
        "fields": {"order": {}},
        "categories": {"delivery": {"requires": ["order"]}},
        "tickets": [
            {
                "id": f"t-{number}",
                "task": "easy-info-collection",
                "category": "delivery",
                "messages": ["Hello."],
                "answers": {"order": "A-1"},
                **ticket,
            }
            for number, ticket in enumerate(tickets)
        ],
    }
    return yaml.safe_dump(document)


def test_a_pack_says_it_in_yaml(tmp_path: Path) -> None:
    file = tmp_path / "pack.yaml"
    file.write_text(pack_text({"split": "test"}, {"split": "train"}, {"split": "test"}, {"split": "validation"}))
    pack = load_pack(file)
    assert [ticket.split for ticket in pack.tickets.values()] == ["test", "train", "test", "validation"]
    assert splits(pack) == {"train": ("t-1",), "validation": ("t-3",), "test": ("t-0", "t-2")}


def test_a_split_is_part_of_the_digest(tmp_path: Path) -> None:
    digests = set()
    for number, ticket in enumerate([{}, {"split": "train"}, {"split": "test"}]):
        file = tmp_path / f"{number}.yaml"
        file.write_text(pack_text(ticket))
        digests.add(load_pack(file).digest)
    assert len(digests) == 3


def test_another_word_is_no_split(tmp_path: Path) -> None:
    file = tmp_path / "pack.yaml"
    file.write_text(pack_text({"split": "tests"}))
    with pytest.raises(PackError) as caught:
        load_pack(file)
    (finding,) = caught.value.findings
    assert (finding.code, finding.nearest) == ("PACK024", "test")
    assert finding.expected is not None and all(split in finding.expected for split in SPLITS)


@pytest.mark.parametrize("path", shipped_packs(), ids=lambda path: path.name)
def test_every_shipped_ticket_is_in_one_split(path: Path) -> None:
    pack = load_pack(path)
    held = [ticket for split in splits(pack).values() for ticket in split]
    assert sorted(held) == sorted(pack.tickets)
    assert all(splits(pack).values())


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_the_seed_picks_within_a_split(seed: int, split: Split) -> None:
    pack = load_pack(shipped_packs()[0])
    picked = pick_ticket(pack, seed, split=split)
    assert picked in splits(pack)[split]
    task = pack.tickets[picked].task
    assert pack.tickets[pick_ticket(pack, seed, task, split)].task == task


def test_a_seed_picks_nothing_where_there_is_nothing(tmp_path: Path) -> None:
    file = tmp_path / "pack.yaml"
    file.write_text(pack_text({"split": "train"}))
    with pytest.raises(LookupError, match="in the split 'test'"):
        pick_ticket(load_pack(file), 1, split="test")
