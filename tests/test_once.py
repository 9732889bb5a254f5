"""What is worked out about a pack: once, and no longer there than the pack is."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

from engine.action import action_space
from engine.automaton import Automaton, automaton
from engine.case import make_case
from engine.episode import Episode
from engine.load import load_pack
from engine.pack import Pack, once
from engine.rules import pack_rules
from engine.solve import fewest_steps, solve, variants
from engine.split import splits
from engine.turns import PLAIN


def played(pack: Pack) -> Automaton:
    """The automaton of an episode for which all is worked out that can be."""
    episode = Episode.start(make_case(pack, "t-1", 7))
    for action in ({"type": "classify"}, {"type": "ask_info", "field": "order"}, {}):
        episode = episode.step(action)
    assert (episode.observation["step_count"], 0 <= episode.score() <= 1, bool(splits(pack))) == (3, True, True)
    assert fewest_steps(episode.case.automaton) is not None
    return episode.case.automaton


def test_it_is_worked_out_once(desk: Pack) -> None:
    for function in (action_space, pack_rules, splits):
        assert function(desk) is function(desk)
    (machine, *_) = variants(desk, desk.tickets["e-two"])
    assert machine is automaton(desk, "e-two", frozenset(desk.tickets["e-two"].known), PLAIN)
    assert solve(machine) is solve(machine)

    calls: list[str] = []

    @once
    def nothing(pack: Pack) -> None:
        calls.append(pack.name)

    assert (nothing(desk), nothing(desk), calls) == (None, None, [desk.name])


def test_each_pack_has_its_own(root: Path) -> None:
    one, other = (load_pack(root / "tests" / "packs" / "lamps.yaml") for _ in range(2))
    assert one.digest == other.digest
    assert (played(one).pack, played(other).pack) == (one, other)


def test_a_pack_that_nobody_uses_any_more_is_gone(root: Path) -> None:
    pack = load_pack(root / "tests" / "packs" / "lamps.yaml")
    gone = weakref.ref(pack), weakref.ref(played(pack))
    gc.collect()
    assert None not in [reference() for reference in gone]
    del pack
    gc.collect()
    assert [reference() for reference in gone] == [None, None]
