"""The shortest episode in which two packs aren't the same to whoever plays it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from engine.action import Choice, action_space
from engine.automaton import Applied, Automaton, State, Transition
from engine.case import Case, make_case
from engine.dynamics.graph import Graph, explore
from engine.episode import Episode
from engine.pack import REWARD_UNIT, Pack, once
from engine.proof.episodes import choices_of, seed_of
from engine.solve import Budget, variants
from engine.symmetry import Symmetry

# How many seeds of a ticket are looked at, at the least: drawn values of two packs may be the same by chance.
SEEDS = 8
# How many seeds are tried, for each of a ticket's messages and people, until all have come up.
_TRIES = 64
# All that decides how a pack behaves, but its actions and their rules.
_BESIDE_RULES = ("max_steps", "rewards", "fields", "categories", "people", "facts", "tasks", "phrases", "tickets")


@dataclass(frozen=True, slots=True)
class Difference:
    """A case of both packs, and what has to be done in it until something differs.

    `what` is called as a pack's tests call it; `first` is what it is in the first pack, `second` in the other.
    """

    ticket: str
    seed: int
    actions: tuple[Choice, ...]
    what: str
    first: Any
    second: Any


def difference(first: Pack, second: Pack, tickets: Iterable[str], budget: Budget) -> Difference | None:
    """An episode of the first of these tickets that isn't the same in two packs with the same actions taken, a shortest
    one of its case; None where there is none.

    Raises:
        OverBudget: after as many moves as the budget has.
    """
    if all(getattr(first, part) == getattr(second, part) for part in _BESIDE_RULES):
        return _Rules(first, second, budget).search(tickets)
    for ticket in tickets:
        for seed in _seeds(first, ticket):
            found = _Pair(make_case(first, ticket, seed), make_case(second, ticket, seed)).search(budget)
            if found is not None:
                return found
    return None


def _seeds(pack: Pack, ticket: str) -> Iterator[int]:
    """Seeds under which every message and every person of a ticket comes up, and some more."""
    messages, people = pack.tickets[ticket].messages, pack.tickets[ticket].people
    wanted = len(messages) * max(1, len(people))
    seen = set()
    for seed in range(_TRIES * wanted):
        case = make_case(pack, ticket, seed)
        key = (case.message, case.person.name if case.person is not None else None)
        if key not in seen or seed < SEEDS:
            seen.add(key)
            yield seed
        elif len(seen) >= wanted:
            return


class _Pair:
    """The case of a seed in two packs, played side by side."""

    def __init__(self, first: Case, second: Case) -> None:
        self._first, self._second = first, second
        self._machines = first.automaton, second.automaton
        self._choices = action_space(first.pack).choices

    def search(self, budget: Budget) -> Difference | None:
        """Breadth first over pairs of states. A test has at least one step, so the start comes last."""
        start = (self._machines[0].initial, self._machines[1].initial)
        ways: dict[tuple[State, State], tuple[Choice, ...]] = {start: ()}
        queue = [start]
        for states in queue:  # it grows
            way = ways[states]
            if states[0].resolved or len(way) == self._first.pack.max_steps:
                continue
            for choice in self._choices:
                budget.spend()
                moves = self._moves(states, choice)
                for differing in self._differ(*moves):
                    return self._found((*way, choice), *differing)
                after = (moves[0].state, moves[1].state)
                if after not in ways:
                    ways[after] = (*way, choice)
                    queue.append(after)
        for differing in self._seen(*start):
            return self._found((), *differing)
        return self._graded(budget) if self._machines[0].task.grader is not self._machines[1].task.grader else None

    def after(self, way: tuple[Choice, ...]) -> Difference | None:
        """What differs with the next action, where nothing does on the way."""
        states = (self._machines[0].initial, self._machines[1].initial)
        for choice in way:
            moves = self._moves(states, choice)
            states = (moves[0].state, moves[1].state)
        for choice in self._choices:
            for differing in self._differ(*self._moves(states, choice)):
                return self._found((*way, choice), *differing)
        return None

    def _moves(self, states: tuple[State, State], choice: Choice) -> tuple[Transition, Transition]:
        return self._machines[0].transition(states[0], choice), self._machines[1].transition(states[1], choice)

    def _found(self, actions: tuple[Choice, ...], what: str, first: Any, second: Any) -> Difference:
        return Difference(self._first.ticket.id, self._first.seed, actions, what, first, second)

    def _differ(self, first: Transition, second: Transition) -> Iterator[tuple[str, Any, Any]]:
        """What of a step's answer isn't the same, as a pack's tests call it."""
        if first.outcome != second.outcome:
            yield "outcome", first.outcome, second.outcome
        if first.reward != second.reward:
            yield "reward", first.reward / REWARD_UNIT, second.reward / REWARD_UNIT
        yield from self._seen(first.state, second.state)
        said = self._first.bare(first), self._second.bare(second)  # a pack's tests leave noise out
        if said[0] != said[1]:
            yield "says", *said
        if first.wasted != second.wasted:  # graders count what is wasted, also where it costs nothing
            yield "wasted", first.wasted, second.wasted

    def _seen(self, first: State, second: State) -> Iterator[tuple[str, Any, Any]]:
        """What an agent sees of a state that isn't the same in both."""
        if first.resolved != second.resolved:
            yield "terminated", first.resolved, second.resolved
        one, other = self._machines[0].observation(first), self._machines[1].observation(second)
        if one.required != other.required:
            yield "required", list(one.required), list(other.required)
        if one.missing != other.missing:
            yield "missing_required", list(one.missing), list(other.missing)
        if one.progress != other.progress:
            yield "info_progress", one.progress, other.progress
        known = {name: self._first.value(source) for name, source in one.known}
        known_there = {name: self._second.value(source) for name, source in other.known}
        if known != known_there:
            yield "known_info", known, known_there
        if self._first.message != self._second.message:
            yield "customer_message", self._first.message, self._second.message

    def _graded(self, budget: Budget) -> Difference | None:
        """Breadth first over what graders read of episodes, in packs that behave alike but grade in another way."""
        queue: list[tuple[tuple[Choice, ...], Episode, Episode]]
        queue = [((), Episode.start(self._first), Episode.start(self._second))]
        seen: set[Hashable] = set()
        for way, one, other in queue:  # it grows
            if one.score() != other.score():
                return self._found(way, "score", one.score(), other.score())
            for choice in () if one.done else self._choices:
                budget.spend()
                after = one.step(choice.canonical())
                key = (after.state, *after.record().values())
                if key not in seen:
                    seen.add(key)
                    queue.append(((*way, choice), after, other.step(choice.canonical())))
        return None


class _Rules:
    """Two packs that differ by the rules of some actions alone: only these need be tried, in the states of the first.

    Up to the first difference both are in the same state.
    """

    def __init__(self, first: Pack, second: Pack, budget: Budget) -> None:
        self._first, self._second, self._budget = first, second, budget
        self._actions = {name for name, action in first.actions.items() if action != second.actions[name]}
        self._equal: set[Hashable] = set()

    def search(self, tickets: Iterable[str]) -> Difference | None:
        for ticket in tickets:
            both = (variants(pack, pack.tickets[ticket]) for pack in (self._first, self._second))
            for one, other in zip(*both, strict=True):
                found = self._of_machines(one, other)
                if found is not None:
                    return found
        return None

    def _of_machines(self, one: Automaton, other: Automaton) -> Difference | None:
        symmetries = Symmetry(one), Symmetry(other)
        shapes = symmetries[0].shape(), symmetries[1].shape()
        if shapes in self._equal:
            return None
        seed = seed_of(self._first, one.ticket, one)
        pair = _Pair(make_case(self._first, one.ticket.id, seed), make_case(self._second, one.ticket.id, seed))
        if symmetries[0].leaders != symmetries[1].leaders:  # a rule tells names apart that are alike in the other pack
            return pair.search(self._budget)
        graph = _graph(one, self._budget)
        number = self._first_different(graph, one, other)
        if number is None:
            self._equal.add(shapes)
            return None
        # What differs may be a fact, which doesn't show before a rule asks for it.
        return pair.after(choices_of(graph, graph.line_to(number))) or pair.search(self._budget)

    def _first_different(self, graph: Graph, one: Automaton, other: Automaton) -> int | None:
        """The number of a state, of those that are reached in the fewest steps, in which some action differs."""
        for number, state in enumerate(graph.states):
            if state.resolved or graph.depths[number] == graph.horizon:
                continue
            for choices in graph.symmetry.alike(state).values():
                if choices[0].type in self._actions:
                    self._budget.spend()
                    if not _same(one.apply(state, choices[0]), other.apply(state, choices[0])):
                        return number
        return None


def _same(one: Applied, other: Applied) -> bool:
    """Whether the same comes of an action, and the same is said."""
    alike = one[:3] == other[:3] and one.pointed == other.pointed
    return alike and all(getattr(one.then, part) == getattr(other.then, part) for part in ("learn", "say", "waste"))


def _graph(machine: Automaton, budget: Budget) -> Graph:
    graphs = _graphs(machine.pack)
    if machine not in graphs:
        graphs[machine] = explore(machine, budget)
    return graphs[machine]


@once
def _graphs(pack: Pack) -> dict[Automaton, Graph]:
    return {}
