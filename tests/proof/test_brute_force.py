"""What `engine.dynamics` and `engine.solve` say of small packs is what brute force over all sequences says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import permutations
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, event, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from engine.action import action_space
from engine.automaton import Automaton, State
from engine.dynamics.graph import Graph, explore
from engine.dynamics.loops import paying_loop
from engine.dynamics.optimal import to_goal
from engine.episode import replay
from engine.pack import Pack
from engine.proof.episodes import choices_of
from engine.proof.tickets import Study, study
from engine.rules import parameter_tests
from engine.solve import Budget, fewest_steps, solve, variants
from engine.symmetry import Symmetry
from engine.turns import PLAIN, noise_under
from tests.proof.brute import Truth, brute_force, cases
from tests.proof.small_packs import COSTLY, Document, documents, loaded

GENEROUS = 100_000
MOST_STEPS = 6  # with more of them, fewer actions (brute.SEQUENCES)


def graph_of(machine: Automaton) -> Graph:
    return explore(machine, Budget(GENEROUS))


def worked_out(known: Study) -> Truth:
    """What the tables say of an automaton."""
    reaching = to_goal(known.values)
    numbers, grades = known.numbers, known.numbers.random_grades
    return Truth(
        optimum=numbers.optimum,
        worst=numbers.worst,
        short=numbers.short,
        goal=known.values.goal[-1][0],
        fewest_steps=numbers.fewest_steps,
        optimal_steps=numbers.optimal_steps,
        optimal_episodes=numbers.optimal_episodes,
        goal_steps=reaching.steps if reaching is not None else None,
        expected=numbers.random_return,
        easy=grades.easy,
        medium=grades.medium,
        hard=grades.hard,
    )


@pytest.mark.parametrize("steps", range(1, MOST_STEPS + 1))
@COSTLY
@given(data=st.data())
def test_everything_is_what_brute_force_says(steps: int, data: st.DataObject) -> None:
    pack = loaded(data.draw(documents(steps)))
    if pack is None:
        event("refused")
        return
    shapes: dict[Hashable, Truth] = {}
    for ticket in pack.tickets.values():
        found = cases(pack, ticket)
        assert {case.automaton for case in found} == set(variants(pack, ticket))
        for case in found:
            machine, truth = case.automaton, brute_force(case)
            graph = graph_of(machine)
            known = study(graph)
            assert asdict(worked_out(known)) == asdict(truth)
            # The line that is shown as a best one is one.
            best = replay(case, (choice.canonical() for choice in choices_of(graph, known.optimal.line)))
            assert sum(step.reward for step in best.steps) == truth.optimum
            assert len(best.steps) == truth.optimal_steps
            assert best.terminated == (truth.goal == truth.optimum)
            solution = solve(machine)
            searched = (solution.best, solution.optimal_steps) if solution is not None else (None, None)
            assert searched == (truth.goal, truth.goal_steps)
            assert fewest_steps(machine) == truth.fewest_steps
            # Automata of one shape are studied once: what is true of one must be true of all.
            assert shapes.setdefault(Symmetry(machine).shape(), truth) == truth


@COSTLY
@given(document=st.integers(2, MOST_STEPS).flatmap(documents))
def test_an_automaton_does_the_same_whatever_it_did_before(document: Document) -> None:
    pack = loaded(document)
    if pack is None:
        return
    for ticket in pack.tickets.values():
        for machine in variants(pack, ticket):
            known = frozenset(
                name for name, slot in zip(machine.fields, machine.initial.slots, strict=True) if slot.source
            )
            for state in reached(machine):
                for choice in action_space(pack).choices:
                    fresh = Automaton(pack, ticket, known, machine.manner)
                    assert machine.apply(state, choice) == fresh.apply(state, choice)


@pytest.mark.parametrize("steps", [2, 3, 4])
@COSTLY
@given(data=st.data())
def test_a_loop_that_pays_is_found_where_there_is_one(steps: int, data: st.DataObject) -> None:
    pack = loaded(data.draw(documents(steps)))
    if pack is None:
        return
    generous = replace(pack, rewards=replace(pack.rewards, waste=1_000))  # no YAML can say so
    machine = variants(generous, generous.tickets["t"])[0]
    graph = graph_of(machine)
    found = paying_loop(graph)
    soonest = soonest_loop(machine, graph.symmetry)
    assert (len(found[0]) if found is not None else None) == soonest
    if found is not None:
        line, length = found
        assert sum(edge.reward for _, edge in line[-length:]) > 0
        assert line[-1][1].target == line[-length][0]
        assert len(choices_of(graph, line)) == len(line)


def soonest_loop(machine: Automaton, symmetry: Symmetry) -> int | None:
    """After how many steps, at the least, one may be where one was before, with more; names don't matter."""
    # Each way is the states that it goes through, with what was earned by then.
    ways: list[tuple[tuple[State, int], ...]] = [((symmetry.canonical(machine.initial), 0),)]
    for steps in range(1, machine.pack.max_steps + 1):
        open_ways, ways = ways, []
        for way in open_ways:
            state, earned = way[-1]
            for choice in action_space(machine.pack).choices:
                move = machine.apply(state, choice)
                after, total = symmetry.canonical(move.state), earned + move.reward
                if any(place == after and total > before for place, before in way):
                    return steps
                if not move.state.resolved:
                    ways.append((*way, (after, total)))
    return None


# What the packs above must have among them, at least once in 1,200.
INTERESTING = """
1 field | 2 fields | 3 fields | 0 categories | 1 category | 2 categories | 3 categories
reply value | reply wrong | reply stall | reply refusal | reply waive | another field given | another field given wrong
an optional field | a known field | a message that states a field | stalls | refusals | refusals, then stalls
several people | noise | under some fields only | fields that only the person tells apart
desk always | desk after_classify | agent always | agent after_classify
no action of its own | act | how | tell | file
a rule that wastes | a rule that doesn't | a rule that names a field | a rule that names a category | a goal
fields merged | fields that only a rule tells apart | fields that only what they give tells apart | twins of one shape
twins that only a rule tells apart
unsolvable | best at the maximum | best below the maximum | better not resolved | many best episodes
a wrong value pointed out | asked before classifying | a right value lost | resolved by a rule of its own
"""


def test_packs_of_every_kind_are_among_them() -> None:
    wanted = set(INTERESTING.strip().replace("\n", " | ").split(" | "))
    seen: Counter[str] = Counter()

    def no_more_to_see(document: Document) -> bool:
        pack = loaded(document)
        seen.update(["looked at", "refused"] if pack is None else {"looked at", *kinds_of(pack)})
        return wanted <= seen.keys()

    many = settings(
        max_examples=1_200,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    with suppress(NoSuchExample):
        find(st.integers(1, MOST_STEPS).flatmap(documents), no_more_to_see, settings=many, random=Random(1))
    assert wanted - seen.keys() == set()
    assert seen["refused"] < seen["looked at"] / 6


def kinds_of(pack: Pack) -> Iterator[str]:
    """What is interesting about a pack."""
    yield _counted(len(pack.fields), "field", "fields")
    yield _counted(len(pack.categories), "category", "categories")
    yield from [name for name in pack.actions if name not in ("ask_info", "classify", "resolve")] or [
        "no action of its own"
    ]
    own = [rule for action in pack.actions.values() for rule in action.rules if rule.place.file.endswith("pack.yaml")]
    for rule in own:
        yield "a rule that wastes" if rule.then.waste else "a rule that doesn't"
    for action in pack.actions.values():
        for rule in action.rules:
            named = {parameter for parameter, _ in parameter_tests(rule)}
            yield from ["a rule that names a field"] * (action.asks in named)
            yield from ["a rule that names a category"] * (action.classifies in named)
    machines = [machine for ticket in pack.tickets.values() for machine in variants(pack, ticket)]
    for machine in machines:
        yield from _kinds_of_ticket(machine)
        yield from _kinds_of_graph(graph_of(machine), {id(rule) for rule in own})
    if len(pack.tickets) == 2:
        first, second = (next(m for m in machines if m.ticket.id == name) for name in pack.tickets)
        shapes = Symmetry(first).shape(), Symmetry(second).shape()
        plain = [_without_tests(Symmetry(machine)) for machine in (first, second)]
        if shapes[0] == shapes[1]:
            yield "twins of one shape"
        elif plain[0] == plain[1] and first.ticket.category is not None and second.ticket.category is not None:
            yield "twins that only a rule tells apart"


def _counted(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


def _kinds_of_ticket(machine: Automaton) -> Iterator[str]:
    ticket, task = machine.ticket, machine.task
    for script in machine.scripts:
        for turn in script.turns:
            yield f"reply {turn.kind}"
            own = turn.kind in ("value", "wrong")
            for given_too in turn.gives[1:] if own else turn.gives:
                yield "another field given wrong" if given_too.wrong else "another field given"
    yield from ["an optional field"] * bool(ticket.optional)
    yield from ["a known field"] * bool(ticket.known)
    yield from ["a message that states a field"] * any(message.known for message in ticket.messages)
    refuses, stalls, fields = machine.manner
    yield from ["stalls"] * (stalls > 0)
    yield from ["refusals"] * (refuses > 0)
    yield from ["refusals, then stalls"] * (refuses > 0 and stalls > 0)
    yield from ["several people"] * (len(ticket.people) > 1)
    yield from ["noise"] * any(noise_under(machine.pack, None, name).texts for name in ticket.answers)
    yield from ["under some fields only"] * (fields is not None)
    plain = Symmetry(Automaton(machine.pack, ticket, frozenset(), PLAIN))
    same = Symmetry(Automaton(machine.pack, ticket, frozenset(), machine.manner))
    kinds = [len({each.kind(slot) for slot in range(len(machine.fields))}) for each in (plain, same)]
    yield from ["fields that only the person tells apart"] * (kinds[0] < kinds[1])
    yield from ["a goal"] * bool(ticket.goal)
    yield f"{task.classifier} {task.required}"


def _kinds_of_graph(graph: Graph, own: set[int]) -> Iterator[str]:
    machine, truth = graph.machine, worked_out(study(graph))
    yield from ["fields merged"] * (len(graph.states) < len(reached(machine)))
    kinds = [graph.symmetry.kind(index) for index in range(len(machine.fields))]
    yield from ["fields that only a rule tells apart"] * (len(set(kinds)) > len(set(_without_tests(graph.symmetry))))
    yield from ["fields that only what they give tells apart"] * _one_gives(machine)
    if truth.goal is None:
        yield "unsolvable"
    elif truth.goal < truth.optimum:
        yield "better not resolved"
    else:
        best = truth.optimum == machine.pack.rewards.maximum
        yield "best at the maximum" if best else "best below the maximum"
        yield from ["many best episodes"] * (truth.optimal_episodes > 1)
    for state, edges in zip(graph.states, graph.edges, strict=True):
        yield from ["a wrong value pointed out"] * any(slot.pointed for slot in state.slots)
        yield from ["asked before classifying"] * state.asked
        for edge in edges:
            yield from ["a right value lost"] * (graph.collected()[edge.target] < machine.collected(state))
            if graph.states[edge.target].resolved and id(edge.rule) in own:
                yield "resolved by a rule of its own"


def _without_tests(symmetry: Symmetry) -> list[str]:
    """The kinds of all slots without what rules ask of names."""
    kinds = [symmetry.kind(index) for index in sorted(symmetry.leaders[0])]
    return sorted(repr((*kind[:3], *kind[4:])) for kind in kinds if isinstance(kind, tuple))


def _one_gives(machine: Automaton) -> bool:
    """Whether of two required fields with the same kinds of turns one gives a third."""
    names = [index for index, name in enumerate(machine.fields) if name in machine.ticket.required]
    for one, other in permutations(names, 2):
        moves, same = machine.scripts[one].moves, machine.scripts[other].moves
        given = {given.slot for move in moves for given in move.gives} - {one, other}
        if given and [move.kind for move in moves] == [move.kind for move in same]:
            return all(each.slot == other for move in same for each in move.gives)
    return False


def reached(machine: Automaton) -> set[State]:
    """The states that are reached within max_steps, each by itself."""
    found = layer = {machine.initial}
    for _ in range(machine.pack.max_steps):
        open_states = [state for state in layer if not state.resolved]
        layer = {
            machine.apply(state, choice).state for state in open_states for choice in action_space(machine.pack).choices
        }
        found = found | layer
    return found
