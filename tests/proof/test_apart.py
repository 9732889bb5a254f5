"""Whether an episode tells two packs apart, and in how few steps: as brute force over all sequences of actions says."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from engine.action import action_space
from engine.case import make_case
from engine.diagnostics import PackError
from engine.episode import Episode
from engine.load import rebuild
from engine.nodes import File, Map, placeless
from engine.pack import Pack
from engine.proof.apart import SEEDS, difference
from engine.proof.mutant import Mutant, changed
from engine.proof.mutants import mutants
from engine.solve import Budget
from tests.proof.changes import CONTRACT, seen
from tests.proof.small_packs import documents, loaded

GENEROUS = 100_000
MOST_STEPS = 3


def built(document: Map, mutant: Mutant) -> Pack | None:
    try:
        return rebuild(json.dumps(changed(document, mutant.at, mutant.value)), CONTRACT)
    except PackError:
        return None


def first_apart(first: Pack, second: Pack, ticket: str, seeds: Iterable[int], scores: bool) -> int | None:
    """After how many steps, at the least, something isn't the same; None where everything always is."""
    for steps in range(1, first.max_steps + 1):
        for choices in product(action_space(first).choices, repeat=steps):
            for seed in seeds:
                ends = [played(pack, ticket, seed, choices) for pack in (first, second)]
                if ends[0] != ends[1] and (scores or without_score(ends[0]) != without_score(ends[1])):
                    return steps
    return None


def played(pack: Pack, ticket: str, seed: int, choices: Any) -> dict[str, Any]:
    episode = Episode.start(make_case(pack, ticket, seed))
    for choice in choices:
        if not episode.done:
            episode = episode.step(choice.canonical())
    return seen(episode)


def without_score(end: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in end.items() if name != "score"}


@pytest.mark.parametrize("steps", range(1, MOST_STEPS + 1))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(data=st.data())
def test_packs_are_apart_where_brute_force_says_so(steps: int, data: st.DataObject) -> None:
    document = placeless(data.draw(documents(steps)), File("small", ""))
    pack = loaded(document)
    assume(pack is not None)
    assert pack is not None
    mutant = data.draw(st.sampled_from([*mutants(pack, document)]))
    other = built(document, mutant)
    assume(other is not None)
    assert other is not None
    ticket = mutant.ticket or data.draw(st.sampled_from([*pack.tickets]))
    found = difference(pack, other, [ticket], Budget(GENEROUS))
    event(f"{mutant.kind}: {'apart' if found else 'alike'}")
    if found is None:
        # A task that grades in the same way is all that may be another then.
        assert first_apart(pack, other, ticket, range(SEEDS), scores=True) is None, mutant.what
        return
    ends = [played(each, ticket, found.seed, found.actions) for each in (pack, other)]
    if found.what != "wasted":
        assert (ends[0][found.what], ends[1][found.what]) == (found.first, found.second), mutant.what
    if found.what not in ("wasted", "score") and found.actions:
        assert len(found.actions) == first_apart(pack, other, ticket, [found.seed], scores=False), mutant.what
