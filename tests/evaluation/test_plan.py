"""Plans: which episodes, in which order, and what there isn't."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.evaluation.plan import MAX_SEED, MOST, NothingPlanned, Plan, Seeds, Wish, seeds
from engine.evaluation.record import Key
from engine.load import load_pack, shipped_packs
from engine.split import splits
from tests.evaluation.runs import lamps

SHIPPED = [load_pack(path) for path in shipped_packs()]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("1", [0]),
        ("3", [0, 1, 2]),
        ("5-9", [5, 6, 7, 8, 9]),
        ("4-4", [4]),
        ("3,7,100-102", [3, 7, 100, 101, 102]),
        ("7, 3,3-5", [3, 4, 5, 7]),
        (f"0,{MAX_SEED}", [0, MAX_SEED]),
    ],
)
def test_seeds_are_how_many_or_which(text: str, meant: list[int]) -> None:
    found = seeds(text)
    assert [found.seed(number) for number in range(found.count)] == meant
    assert [found.number(seed) for seed in meant] == [*range(len(meant))]


@pytest.mark.parametrize("text", ["", "x", "-1", "5-3", "1,", "1.5", f"{MAX_SEED + 1}-{MAX_SEED + 1}", "٣"])
def test_what_is_no_seeds_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="is no seeds: how many, from 0 on, such as 20; or which ones"):
        seeds(text)


def test_no_seeds_are_none() -> None:
    with pytest.raises(ValueError, match="the seed 0 alone is 0-0"):
        seeds("0")


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), min_size=1, max_size=8))
def test_seeds_are_a_sorted_set(drawn: list[tuple[int, int]]) -> None:
    spans = [(first, first + more) for first, more in drawn]
    meant = sorted({seed for first, last in spans for seed in range(first, last + 1)})
    found = Seeds(spans)
    assert [found.seed(number) for number in range(found.count)] == meant
    for seed in range(75):
        if seed in meant:
            assert found.number(seed) == meant.index(seed)
        else:
            with pytest.raises(KeyError):
                found.number(seed)
    if len(found.spans) > 1 or found.spans[0][0] != 0:
        assert seeds(str(found)).spans == found.spans


@pytest.mark.parametrize(
    "wish",
    [Wish(), Wish(seeds="3,9-12", trials=3), Wish(split="test", seeds="4"), Wish(tasks=("easy-info-collection",))],
)
def test_places_are_in_the_order_of_the_keys_and_all_are_played(wish: Wish) -> None:
    plan = Plan(SHIPPED, wish)
    keys = [plan.key(place) for place in range(plan.count)]
    assert keys == sorted(set(keys))
    assert [plan.place(key) for key in keys] == [*range(plan.count)]
    assert sorted(plan.order()) == [*range(plan.count)]


def test_each_ticket_is_played_once_before_any_is_played_again(tmp_path: Path) -> None:
    plan = Plan([lamps(tmp_path)], Wish(seeds="5,8", trials=2))
    played = [(key.ticket, key.seed, key.trial) for key in map(plan.key, plan.order())]
    assert played == [
        ("t-1", 5, 1),
        ("t-2", 5, 1),
        ("t-1", 8, 1),
        ("t-2", 8, 1),
        ("t-1", 5, 2),
        ("t-2", 5, 2),
        ("t-1", 8, 2),
        ("t-2", 8, 2),
    ]


def test_a_key_that_is_not_planned_has_no_place(tmp_path: Path) -> None:
    plan = Plan([lamps(tmp_path)], Wish(seeds="5,8", trials=2))
    for key in (
        Key("lamps", "t-1", 6, 1),
        Key("lamps", "t-1", 5, 3),
        Key("lamps", "t-1", 5, 0),
        Key("lamps", "t-3", 5, 1),
        Key("lamp", "t-1", 5, 1),
    ):
        with pytest.raises(KeyError):
            plan.place(key)


def test_only_what_is_wished_for_is_played() -> None:
    (pack,) = (pack for pack in SHIPPED if pack.name == "customer-support")
    for split in ("train", "validation", "test"):
        assert {ticket for _, ticket in Plan([pack], Wish(split=split)).rows} == set(splits(pack)[split])
    hard = Plan([pack], Wish(tasks=("hard-efficient-resolution",))).rows
    assert {pack.tickets[ticket].task for _, ticket in hard} == {"hard-efficient-resolution"}
    some = tuple(ticket for _, ticket in hard[:2])
    assert Plan([pack], Wish(tickets=some)).rows == hard[:2]


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        (Wish(tickets=("t-3",)), "There is no ticket 't-3' in these packs. Did you mean 't-1'?"),
        (
            Wish(tasks=("nope",)),
            "There is no task 'nope' in these packs. There are: easy-info-collection, medium-complete-info.",
        ),
        (Wish(tickets=("zzz",)), "There is no ticket 'zzz' in these packs. There are: t-1, t-2."),
        (
            Wish(tasks=("hard-efficient-resolution",)),
            "No ticket is of the task 'hard-efficient-resolution'.",
        ),
        (
            Wish(tasks=("easy-info-collection",), tickets=("t-2",)),
            "The ticket 't-2' isn't of the task 'easy-info-collection'.",
        ),
        (Wish(seeds="5000001"), "These are 10,000,002 episodes; a run has 10,000,000 at the most."),
        (Wish(seeds=f"0-{MAX_SEED}"), f"These are {2 * (MAX_SEED + 1):,} episodes; a run has 10,000,000 at the most."),
    ],
)
def test_a_wish_for_what_there_is_not_is_told(tmp_path: Path, wish: Wish, told: str) -> None:
    assert MOST == 10_000_000
    with pytest.raises(NothingPlanned) as refused:
        Plan([lamps(tmp_path)], wish)
    assert refused.value.args == (told,)


def test_one_wish_is_written_in_one_way() -> None:
    assert (
        Wish(("b", "a"), ("y", "x", "y"), None, "3").as_json() == Wish(("a", "b"), ("x", "y"), None, "2,0-1").as_json()
    )
