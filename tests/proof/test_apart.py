"""Whether an episode tells two packs apart, and in how few steps: as brute force over all sequences of actions says."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from engine.action import Choice, action_space
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
from tests.proof.small_packs import COSTLY, documents, loaded

GENEROUS = 100_000
MOST_STEPS = 4


def built(document: Map, mutant: Mutant) -> Pack | None:
    try:
        return rebuild(json.dumps(changed(document, mutant.at, mutant.value)), CONTRACT)
    except PackError:
        return None


def first_apart(first: Pack, second: Pack, ticket: str, seeds: Iterable[int], scores: bool) -> int | None:
    """After how many steps, at the least, something isn't the same; None where everything always is."""
    pairs = [[Episode.start(make_case(pack, ticket, seed)) for pack in (first, second)] for seed in seeds]
    for steps in range(1, first.max_steps + 1):
        choices = [choice.canonical() for choice in action_space(first).choices]
        pairs = [[each.step(choice) for each in pair] for pair in pairs if not pair[0].done for choice in choices]
        for pair in pairs:
            one, other = map(seen, pair)
            if one != other and (scores or without_score(one) != without_score(other)):
                return steps
    return None


def played(pack: Pack, ticket: str, seed: int, choices: Iterable[Choice]) -> dict[str, Any]:
    episode = Episode.start(make_case(pack, ticket, seed))
    for choice in choices:
        episode = episode.step(choice.canonical())
    return seen(episode)


def without_score(end: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in end.items() if name != "score"}


@pytest.mark.parametrize("steps", range(1, MOST_STEPS + 1))
@COSTLY
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
