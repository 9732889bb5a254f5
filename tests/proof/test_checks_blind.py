"""P07: the bound on what a policy returns that doesn't read: by hand, and against the best such policy there is."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.action import action_space
from engine.case import Case, make_case
from engine.contract import load_contract
from engine.episode import Episode
from engine.load import check_draft
from engine.pack import Demands, Pack, Ticket
from engine.proof.prove import prove
from engine.proof.result import Check, PackProof
from tests.proof.brute import SEEDS
from tests.proof.small_packs import COSTLY, documents, loaded

CONTRACT = load_contract()
SPACE = CONTRACT.observation_space
HARD = "hard-efficient-resolution"

SHOP = """\
pack: shop
version: 1.0.0
fields: {order: {}, colour: {}}
categories:
  late: {description: Late, requires: [order]}
  swap: {description: Another one, requires: [colour]}
"""


def pack_of(tmp_path: Path, text: str) -> Pack:
    path = tmp_path / "pack.yaml"
    path.write_text(SHOP + text, encoding="utf-8")
    pack, findings = check_draft(path, CONTRACT)
    assert pack is not None, findings
    return pack


def p07(proof: PackProof) -> list[Check]:
    return [check for check in proof.checks if check.code == "P07"]


def test_tickets_with_nothing_of_their_own_to_see_are_one_group(tmp_path: Path) -> None:
    pack = pack_of(
        tmp_path,
        """\
tickets:
  - {id: q-1, task: hard-efficient-resolution, category: late, messages: [Hm.], answers: {order: A1}}
  - {id: q-2, task: hard-efficient-resolution, category: swap, messages: [Oh.], answers: {colour: red}}
  - {id: q-3, task: hard-efficient-resolution, category: swap, messages: [Ah.], answers: {colour: blue}}
""",
    )
    # "swap" is right twice, 2.0, and once wrong: -0.1, and what is left to earn is 0.5 for the field and 1.0.
    # Resolving early costs 0.1 and tells nothing: what would be 1.9 doesn't count.
    proof = prove(pack, SPACE)
    assert proof.blind == {HARD: Fraction(18, 10)}
    assert [check.status for check in p07(proof)] == ["fails"]


def test_a_ticket_is_shared_out_over_what_its_messages_state(tmp_path: Path) -> None:
    pack = pack_of(
        tmp_path,
        """\
tickets:
  - {id: q-1, task: hard-efficient-resolution, category: late, messages: [Hm.], answers: {order: A1}}
  - id: q-2
    task: hard-efficient-resolution
    category: swap
    messages: [Oh., Ah., "So!", {text: Order A2., known: [order]}]
    answers: {colour: red, order: A2}
""",
    )
    # Where the order is known, a quarter of q-2, the ticket stands alone: 2.0. Else q-1, and three quarters of q-2:
    # "late" gives (2.0 + 0.75 * 1.4) / 1.75. Of the two tickets together: (0.25 * 2.0 + 2.0 + 1.05) / 2.
    assert prove(pack, SPACE).blind == {HARD: Fraction(355, 200)}


def test_the_margin_is_asked_for_exactly(tmp_path: Path) -> None:
    pack = pack_of(
        tmp_path,
        """\
tickets:
  - {id: q-1, task: hard-efficient-resolution, category: late, messages: [Hm.], answers: {order: A1}}
  - {id: q-2, task: hard-efficient-resolution, category: swap, messages: [Oh.], answers: {colour: red}}
""",
    )
    # (2.0 + 1.4) / 2 is 0.3 less than 2.0.
    for margin, status in ((Fraction(3, 10), "holds"), (Fraction(30001, 100000), "fails")):
        proof = prove(pack, SPACE, Demands(margins={"P07": margin}))
        assert [check.status for check in p07(proof)] == [status]
        assert proof.blind == {HARD: Fraction(17, 10)}


def test_each_task_stands_for_itself(tmp_path: Path) -> None:
    pack = pack_of(
        tmp_path,
        """\
tasks: {easy-info-collection: {classifier: agent, required: always}}
tickets:
  - {id: q-1, task: hard-efficient-resolution, category: late, messages: [Hm.], answers: {order: A1}}
  - {id: q-2, task: hard-efficient-resolution, category: swap, messages: [Oh.], answers: {colour: red}}
  - {id: q-3, task: easy-info-collection, category: late, messages: [Hm.], answers: {order: A3}}
  - {id: q-4, task: easy-info-collection, category: swap, messages: [Oh.], answers: {colour: blue}}
""",
    )
    proof = prove(pack, SPACE)
    # Under easy what is required shows from the start, and with it the category.
    assert proof.blind == {HARD: Fraction(17, 10), "easy-info-collection": Fraction(2)}
    (check,) = p07(proof)
    assert check.status == "fails" and "easy-info-collection" in check.message


def test_with_one_step_only_the_first_move_counts(tmp_path: Path) -> None:
    pack = pack_of(
        tmp_path,
        """\
max_steps: 1
tickets:
  - {id: q-1, task: hard-efficient-resolution, category: late, messages: [Hm.], answers: {order: A1}}
""",
    )
    # A right classification, 0.5, is all that one step can earn.
    assert prove(pack, SPACE).blind == {HARD: Fraction(1, 2)}


def test_nothing_is_said_of_what_was_not_looked_at(tmp_path: Path) -> None:
    pack = pack_of(
        tmp_path,
        """\
tickets:
  - {id: q-1, task: hard-efficient-resolution, category: late, messages: [Hm.], answers: {order: A1}}
""",
    )
    proof = prove(pack, SPACE, budget=3)
    assert [check.status for check in p07(proof)] == ["not proved"] and proof.blind == {}


def test_it_does_not_matter_where_the_desk_classifies(tmp_path: Path) -> None:
    pack = pack_of(
        tmp_path,
        """\
tickets:
  - {id: q-1, task: medium-complete-info, category: late, messages: [Hm.], answers: {order: A1}}
  - {id: q-2, task: hard-efficient-resolution, messages: [Oh.], required: [colour], answers: {colour: red}}
""",
    )
    proof = prove(pack, SPACE)
    assert [check.status for check in p07(proof)] == ["no matter"] and proof.blind == {}


# -- Against brute force

Believed = list[tuple[Fraction, Episode]]  # what may be the case, and how likely


def best_blind(believed: Believed) -> Fraction:
    """The most that a policy returns, times the likelihood of it all, which knows no more than what is seen."""
    best = Fraction(0)
    if not believed[0][1].done:
        for choice in action_space(believed[0][1].case.pack).choices:
            after = [(weight, episode.step(choice.canonical())) for weight, episode in believed]
            paid = sum((weight * Fraction(episode.steps[-1].reward, 10_000) for weight, episode in after), Fraction(0))
            best = max(best, paid + sum(best_blind(apart) for apart in seen_apart(after)))
    return best


def seen_apart(believed: Believed) -> Iterator[Believed]:
    """By what is seen of an episode without reading; the last reward and outcome as well, which may only help."""
    apart: dict[Hashable, Believed] = {}
    for weight, episode in believed:
        seen = {**episode.standing, "known_info": sorted(episode.standing["known_info"])}
        last = episode.steps[-1] if episode.steps else None
        key = (episode.case.ticket.task, repr(seen), last and (last.reward, last.outcome))
        apart.setdefault(key, []).append((weight, episode))
    yield from apart.values()


def openings(pack: Pack, ticket: Ticket) -> Iterator[tuple[Fraction, Case]]:
    """Each message with each person, which are drawn equally often."""
    cases = [make_case(pack, ticket.id, seed) for seed in range(SEEDS)]
    people = ticket.people or (None,)
    for message in ticket.messages:
        for person in people:
            named = (case for case in cases if (case.person.name if case.person else None) == person)
            case = next(case for case in named if case.message == message.text)
            yield Fraction(1, len(ticket.messages) * len(people)), case


@pytest.mark.parametrize("steps", [1, 2, 3])
@COSTLY
@given(data=st.data())
def test_no_policy_that_does_not_read_does_better(steps: int, data: st.DataObject) -> None:
    pack = loaded(data.draw(documents(steps)))
    if pack is None:
        return
    proof = prove(pack, SPACE)
    for task, bound in proof.blind.items():
        tickets = [one for one in pack.tickets.values() if one.task == task and one.category is not None]
        start = [(weight, Episode.start(case)) for ticket in tickets for weight, case in openings(pack, ticket)]
        assert sum(best_blind(group) for group in seen_apart(start)) / len(tickets) <= bound
