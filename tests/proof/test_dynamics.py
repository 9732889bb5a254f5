"""What automata are worth, calculated by hand beside each number."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from math import log
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from engine.automaton import Automaton
from engine.dynamics.graph import Edge, Graph, explore
from engine.dynamics.loops import paying_loop
from engine.dynamics.optimal import to_goal
from engine.dynamics.values import values
from engine.load import check_pack, load_pack, shipped_packs
from engine.pack import Pack
from engine.proof.episodes import choices_of
from engine.proof.tickets import Study, study
from engine.solve import Budget, OverBudget, solve, variants
from tests.proof.small_packs import Document, loaded

EASY, HARD = "easy-info-collection", "hard-efficient-resolution"


def pack_of(tickets: list[Document], **rest: Any) -> Pack:
    """A pack with the fields a, b and c, of which every ticket's message is the same."""
    tickets = [{"task": EASY, "messages": ["Hi."], **ticket} for ticket in tickets]
    fields: Document = {"a": {}, "b": {}, "c": {}}
    pack = loaded({"pack": "p", "version": "1", "fields": fields, **rest, "tickets": tickets})
    assert pack is not None
    return pack


def machine_of(pack: Pack, ticket: str = "t") -> Automaton:
    (machine,) = variants(pack, pack.tickets[ticket])
    return machine


def graph_of(pack: Pack, ticket: str = "t") -> Graph:
    return explore(machine_of(pack, ticket), Budget(100_000))


def study_of(pack: Pack, ticket: str = "t") -> Study:
    return study(graph_of(pack, ticket))


def outcomes(graph: Graph, state: int) -> dict[str, Edge]:
    return {edge.outcome: edge for edge in graph.edges[state]}


def test_one_field_one_turn_three_steps() -> None:
    # Three actions: ask_info(a), classify(), resolve(). A wasted step costs 1.0 / 3, rounded: 0.3333. Asking earns 0.5,
    # resolving 1.5. Two open states, S (a missing) and K (a known), and the resolved one.
    known = study_of(pack_of([{"id": "t", "required": ["a"], "answers": {"a": "x"}}], fields={"a": {}}, max_steps=3))
    numbers = known.numbers
    assert numbers.states == 3
    # ask_info(a), resolve(); nothing but wasted steps; ask_info(a) and no more.
    assert (numbers.optimum, numbers.worst, numbers.short) == (20_000, -9_999, 5_000)
    assert (numbers.fewest_steps, numbers.optimal_steps, numbers.optimal_episodes) == (2, 2, 1)
    # In ten-thousandths, with the steps that remain:
    #   K1 = (15000 - 2 x 3333) / 3 = 2778           K2 = (15000 + 2 x (2778 - 3333)) / 3 = 4630
    #   S1 = (5000 - 2 x 3333) / 3 = -1666/3         S2 = (5000 + K1 + 2 x (S1 - 3333)) / 3 = 4/9
    #   S3 = (5000 + K2 + 2 x (S2 - 3333)) / 3 = 26684/27
    assert numbers.random_return == Fraction(26_684, 27) / 10_000
    # a is known in the end unless it is never asked for.
    assert numbers.random_grades.easy == 1 - Fraction(2, 3) ** 3
    # 1 / asks where there are any. A: ask, x: one of the two others, R: resolve. Of 27 sequences of three, A R counts
    # for three (3 x 1); A A A 1/3, A A x 2 x 1/2, A classify A 1/2, A classify x 2 x 1; x A A 2 x 1/2, x A x 4 x 1;
    # x x A 4 x 1. Together 3 + 1/3 + 1 + 1/2 + 2 + 1 + 4 + 4 = 95/6.
    assert numbers.random_grades.medium == Fraction(95, 6) / 27
    # A R: 1/9 of all, at 2/2. Resolved with the third step: A x R (classify alone: A R is over) and x A R, 1/27 and
    # 2/27; but A A R too, 1/27: at 2/3.
    assert numbers.random_grades.hard == Fraction(1, 9) + Fraction(4, 27) * Fraction(2, 3)


def test_the_agent_classifies_two_steps() -> None:
    # Four actions: classify(), classify(p), classify(q), resolve(). A wasted step costs 0.5. Nothing is missing, so
    # resolving pays 1.5 at once; classify(p), which is right, 0.5.
    categories: Document = {"p": {}, "q": {}}
    ticket = {"id": "t", "task": HARD, "category": "p"}
    numbers = study_of(pack_of([ticket], fields={}, categories=categories, max_steps=2)).numbers
    assert (numbers.optimum, numbers.worst, numbers.short) == (20_000, -10_000, 5_000)
    assert (numbers.fewest_steps, numbers.optimal_steps, numbers.optimal_episodes) == (1, 2, 1)
    # resolve 1.5; classify(p) 0.5, then (1.5 - 3 x 0.5) / 4 = 0; classify() 0, then the same; classify(q) -0.5, then
    # (1.5 - 0.5) / 4 = 0.25, as only q again is wasted. Together (1.5 + 0.5 + 0 - 0.25) / 4.
    assert numbers.random_return == Fraction(7, 16)
    # Resolved with the first step, 1/4, or with the second, 3/4 x 1/4. No asks, so medium is easy's.
    assert numbers.random_grades.easy == numbers.random_grades.medium == Fraction(7, 16)
    # Unclassified 1/4 x 1/2; after classify(p) 1/16 x 1; after the others, 2/16 x 1/2.
    assert numbers.random_grades.hard == Fraction(1, 8) + Fraction(1, 16) + Fraction(1, 16)


def test_who_asks_before_classifying_earns_nothing_for_it() -> None:
    ticket = {"id": "t", "task": HARD, "category": "p", "answers": {"a": "x"}}
    pack = pack_of([ticket], fields={"a": {}}, categories={"p": {"requires": ["a"]}}, max_steps=4)
    graph = graph_of(pack)
    worth = values(graph)
    asked = outcomes(graph, 0)["ask_info.answered"]
    assert worth.optimum == 20_000
    # With the three steps that remain no more than the goal's 1.0, whatever is done.
    assert (asked.reward, worth.best[3][asked.target]) == (5_000, 10_000)


def test_fields_that_are_alike_are_merged() -> None:
    ticket = {"id": "t", "category": "p", "answers": {"a": "x", "b": "y", "c": "z"}}
    pack = pack_of([ticket], categories={"p": {"requires": ["a", "b", "c"]}}, max_steps=5)
    numbers = study_of(pack).numbers
    # 0, 1, 2 or 3 known, classified or not, and resolved, classified or not.
    assert numbers.states == 4 * 2 + 2
    # classify() or classify(p) and three asks in any order, then resolve().
    assert (numbers.optimal_steps, numbers.optimal_episodes) == (5, 4 * 3 * 2 * 2)
    assert outcomes(graph_of(pack), 0)["ask_info.answered"].number == 3


def test_wrong_categories_that_are_alike_are_merged() -> None:
    tickets = [{"id": "t", "task": HARD, "category": "p", "required": ["a"], "answers": {"a": "x"}}]
    categories: Document = {name: {} for name in "pqrs"}
    odd = {"outcome": "odd", "when": {"parameters": {"category": "q"}}, "then": {"say": "x"}}
    found = outcomes(graph_of(pack_of(tickets, categories=categories)), 0)
    assert [found[f"classify.{name}"].number for name in ("right", "wrong", "shown")] == [1, 3, 1]
    told = outcomes(graph_of(pack_of(tickets, categories=categories, rules={"classify": [odd]})), 0)
    assert [told[f"classify.{name}"].number for name in ("right", "wrong", "odd")] == [1, 2, 1]


def two_tickets(**rest: Any) -> Document:
    tickets = [
        {"id": "t", "task": HARD, "category": "p", "required": ["a"], "answers": {"a": "x"}},
        {"id": "u", "task": HARD, "category": "q", "required": ["b"], "answers": {"b": "x"}},
    ]
    each = [{"messages": [f"Hello {number}."], **ticket} for number, ticket in enumerate(tickets)]
    fields: Document = {"a": {}, "b": {}}
    categories: Document = {"p": {}, "q": {}}
    return {"pack": "p", "version": "1", "fields": fields, "categories": categories, "tickets": each, **rest}


@pytest.mark.parametrize(
    "rules",
    [
        {
            "ask_info": [
                {"outcome": "dear", "when": {"parameters": {"field": "b"}}, "then": {"learn": True, "waste": True}}
            ]
        },
        {
            "classify": [
                {
                    "outcome": "dear",
                    "when": {"parameters": {"category": "q"}, "classified": "none"},
                    "then": {"classify": True, "waste": True, "say": "x"},
                }
            ]
        },
    ],
    ids=["a field", "a category"],
)
def test_names_that_a_rule_tells_apart_are_not_merged(rules: Document, tmp_path: Path) -> None:
    # One step of the second ticket costs 0.1 more; but for names it is the first ticket.
    path = tmp_path / "pack.yaml"
    path.write_text(json.dumps(two_tickets(rules=rules)), encoding="utf-8")
    assert [(finding.code, finding.message) for finding in check_pack(path)[1]] == [
        ("PACK061", "ticket 'u' has a best possible return of 1.9, not 2.0")
    ]
    pack = loaded(two_tickets(rules=rules))
    assert pack is not None
    assert [study_of(pack, ticket).numbers.optimum for ticket in "tu"] == [20_000, 19_000]
    both = [solve(machine_of(pack, ticket)) for ticket in "tu"]
    assert [solution.best for solution in both if solution is not None] == [20_000, 19_000]


def test_fields_of_one_ticket_that_a_rule_tells_apart() -> None:
    rule = {"outcome": "dear", "when": {"parameters": {"field": "b"}}, "then": {"learn": True, "waste": True}}
    ticket = {"id": "t", "required": ["a", "b"], "answers": {"a": "x", "b": "y"}}
    known = study_of(pack_of([ticket], rules={"ask_info": [rule]}))
    # Both have to be asked for, and b costs 0.1.
    assert known.numbers.optimum == 19_000
    # Known: nothing, a, b, both; and resolved.
    assert known.numbers.states == 5


def test_which_wrong_value_was_pointed_out() -> None:
    # Asked once: waived; again: wrong; and again: another wrong value, which is then repeated.
    turns = [{"say": "no", "waive": True}, *({"say": "hm", "value": value, "wrong": True} for value in "xy")]
    graph = graph_of(pack_of([{"id": "t", "required": ["a"], "answers": {"a": turns}}]))
    state, seen = 0, []
    for outcome in (
        "ask_info.waived",
        "ask_info.known",  # x
        "resolve.mistaken",  # x is pointed out
        "ask_info.mistaken",  # y is news
        "resolve.mistaken",  # y is pointed out as well
        "ask_info.mistaken",  # y again: what is only repeated stays pointed out
        "resolve.premature",
    ):
        state = outcomes(graph, state)[outcome].target
        slot = graph.states[state].slots[0]
        seen.append((slot.value, slot.pointed))
    fresh, pointed = ("wrong", False), ("wrong", True)
    assert seen == [("waived", False), fresh, pointed, fresh, pointed, pointed, pointed]
    # Each of these but the repetitions is a state of its own; besides them the start, and resolved after the waiver.
    assert len(graph.states) == 5 + 2


def test_it_may_be_best_to_stop() -> None:
    # Progress pays all of 2.0, and a rule makes resolving cost 0.25.
    rule = {"outcome": "dear", "then": {"resolve": True, "waste": True, "say": "x"}}
    ticket = {"id": "t", "category": "p", "answers": {"a": "x"}}
    pack = pack_of(
        [ticket],
        fields={"a": {}},
        categories={"p": {"requires": ["a"]}},
        rewards={"fields": 1.0, "classification": 1.0},
        rules={"resolve": [rule]},
        max_steps=4,
    )
    known = study_of(pack)
    # Classify and ask, in either order, and stop; no such episode reaches the goal.
    assert (known.numbers.optimum, known.numbers.optimal_steps, known.numbers.optimal_episodes) == (20_000, 2, 0)
    assert not known.graph.states[known.optimal.line[-1][1].target].resolved
    # The best that does takes a step more, and is what a score is measured by.
    reaching = to_goal(known.values)
    assert reaching is not None
    assert (known.values.goal[-1][0], reaching.steps) == (17_500, 3)


def test_a_graph_ends_with_the_steps() -> None:
    ticket = {"id": "t", "required": ["a"], "answers": {"a": [{"say": "hm"}, {"say": "hm"}, "x"]}}
    graph = graph_of(pack_of([ticket], fields={"a": {}}, max_steps=2))
    # Asked not at all, once, twice: the last is met with no step left.
    assert graph.depths == (0, 1, 2)
    assert [bool(edges) for edges in graph.edges] == [True, True, False]
    assert [graph.within(remaining) for remaining in range(3)] == [3, 2, 1]
    assert study(graph).numbers.fewest_steps is None
    assert [choice.type for choice in choices_of(graph, graph.line_to(2))] == ["ask_info", "ask_info"]


# -- Loops


def test_a_wasted_step_that_pays_is_a_loop() -> None:
    pack = pack_of([{"id": "t", "required": ["a"], "answers": {"a": "x"}}])
    assert paying_loop(graph_of(pack)) is None
    found = paying_loop(graph_of(_paid(pack)))
    assert found is not None
    line, length = found
    assert (len(line), length, line[0][1].reward, line[0][1].target) == (1, 1, 1_000, 0)


def test_a_loop_that_takes_more_steps_than_there_are() -> None:
    # The door is opened, shut again, which pays, and opened: of three steps, and there are two.
    pack = _paid(pack_of(**_door(), max_steps=3))
    assert paying_loop(graph_of(pack)) is not None
    assert paying_loop(graph_of(replace(pack, max_steps=2))) is None


def _paid(pack: Pack) -> Pack:
    """The same pack, but a wasted step earns 0.1: no YAML can say so."""
    return replace(pack, rewards=replace(pack.rewards, waste=1_000))


def _door() -> dict[str, Any]:
    """A door is opened by an ask; then classify() shuts it, wastefully, and opens it again. Nothing else counts."""
    quiet = {"outcome": "quiet", "then": {"say": "x"}}

    def turns(before: str, after: str, **more: bool) -> Document:
        then = {"set": {"door": after}, "say": "x", **more}
        return {"outcome": after, "when": {"facts": {"door": before}}, "then": then}

    rules = {
        "ask_info": [turns("new", "open"), quiet],
        "classify": [turns("open", "shut", waste=True), turns("shut", "open"), quiet],
        "resolve": [quiet],
    }
    tickets = [{"id": "t", "required": ["a"], "answers": {"a": "x"}}]
    return {
        "tickets": tickets,
        "fields": {"a": {}},
        "facts": {"door": {"values": ["new", "open", "shut"]}},
        "rules": rules,
    }


def test_a_loop_of_two_steps_after_another() -> None:
    pack = pack_of(**_door())
    assert paying_loop(graph_of(pack)) is None
    found = paying_loop(graph_of(_paid(pack)))
    assert found is not None
    line, length = found
    assert length == 2
    assert [edge.outcome for _, edge in line] == ["ask_info.open", "classify.shut", "classify.open"]
    assert sum(edge.reward for _, edge in line[-2:]) == 1_000
    assert line[-1][1].target == line[-2][0]


# -- Every pack that ships


@pytest.mark.parametrize("path", shipped_packs(), ids=lambda path: path.name)
def test_search_and_tables_agree_on_what_ships(path: Path) -> None:
    pack = load_pack(path)
    for ticket in pack.tickets.values():
        for machine in variants(pack, ticket):
            known = study(explore(machine, Budget(100_000)))
            solution = solve(machine)
            assert solution is not None
            assert (solution.best, solution.optimal_steps) == (known.numbers.optimum, known.numbers.optimal_steps)
            assert solution.best == pack.rewards.maximum


def test_over_the_budget_there_is_no_graph() -> None:
    pack = pack_of([{"id": "t", "required": ["a"], "answers": {"a": "x"}}], fields={"a": {}}, max_steps=3)
    machine = machine_of(pack)
    assert len(explore(machine, Budget(6)).states) == 3  # S and K have three moves each
    with pytest.raises(OverBudget):
        explore(machine, Budget(5))


def test_a_thousand_steps_are_too_many_for_many_states() -> None:
    # In each state a polynomial with up to a thousand coefficients of some thousand digits.
    ends = {"a": "x", "b": {"waive": True}, "c": {"refuse": True}, "d": {"say": "hm"}}
    answers = {name: [{"say": "hm"}, turn] for name, turn in ends.items()}
    ticket = {"id": "t", "required": ["a", "b"], "optional": ["c", "d"], "answers": answers}
    pack = pack_of([ticket], fields={name: {} for name in ends}, max_steps=1_000)
    start = process_time()
    with pytest.raises(OverBudget):
        study_of(pack)
    assert process_time() - start < 10


def test_a_thousand_steps_are_fine_for_a_few() -> None:
    known = study_of(
        pack_of([{"id": "t", "required": ["a"], "answers": {"a": "x"}}], fields={"a": {}}, max_steps=1_000)
    )
    grades = known.numbers.random_grades
    # As good as sure to have asked and resolved by then. Until a is asked for, which takes n steps with 2^(n-1) / 3^n,
    # nothing is asked; then k asks in all are 1 / k, as one more ask or the end, or neither, is as likely: an ask comes
    # before resolve() with 1/2, so there are k with 1 / 2^k, and the mean of 1 / k is the logarithm of 2.
    assert grades.easy > 1 - Fraction(1, 10**100)
    assert abs(float(grades.medium) - log(2)) < 1e-12
