"""The best that can be done in a case, exactly: V*, the optimal steps and the fewest steps.

A best-first search over an automaton's states. Progress telescopes, waste is never positive and resolving pays
`goal_reward` once, so what a state can still earn is bounded by `goal_reward` and the progress not yet made: the first
finished episode that leaves the queue is a best one, and among the best a shortest one (A*, Hart, Nilsson and Raphael
1968, with that bound and the number of turns that must still be played). States that differ only by interchangeable
fields (`engine.symmetry`) are looked at once.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from engine.automaton import Automaton, State, automaton
from engine.diagnostics import Finding, Place
from engine.pack import REWARD_UNIT, Pack, Scalar, Ticket, once
from engine.rules import fact_tests, same
from engine.symmetry import Symmetry
from engine.turns import manner, manners

# How many transitions a search may look at before a ticket counts as not proved; and, when a pack loads, all searches
# of the pack together: so much, and so much more for each ticket.
BUDGET = 200_000
PACK_BUDGET, TICKET_BUDGET = 20_000, 200
# How many combinations of the pack's own facts are looked at for a bound on the steps to the goal.
FACTS = 4_096
# How far past max_steps a search looks, to say how many steps a ticket would need.
BEYOND = 100
# How many tickets, or fields, a finding names.
NAMED = 4


@dataclass(frozen=True, slots=True)
class Solution:
    """`best` is the return in ten-thousandths, `optimal_steps` the fewest steps that earn it."""

    best: int
    optimal_steps: int


class OverBudget(Exception):
    """A search looked at as many transitions as it may: nothing is proved."""


class Budget:
    """Counts the transitions that searches look at."""

    def __init__(self, transitions: int) -> None:
        self.left = transitions

    def spend(self) -> None:
        """Raises OverBudget where nothing is left."""
        self.left -= 1
        if self.left < 0:
            raise OverBudget


class Unsound(NamedTuple):
    """What is wrong with a ticket, and what was expected; `needs` is the least max_steps with which it would be sound,
    where there is one."""

    code: str
    message: str
    expected: str
    needs: int | None = None


class Verdict(NamedTuple):
    """What was found of an automaton, None where it is sound, and how many transitions it took."""

    told: Unsound | None
    spent: int


# By the shape of the automaton.
Verdicts = dict[Hashable, Verdict]


class _Node(NamedTuple):
    """Ordered by the greatest return possible (negated), then by the fewest steps possible, then deepest first."""

    bound: int
    steps: int
    depth: int
    order: int
    total: int
    state: State


class _Bounds:
    """What a state can still earn at the most, and the steps that it still needs at the least."""

    def __init__(self, machine: Automaton, related: frozenset[int]) -> None:
        self._machine = machine
        self._related = related
        self._required = [machine.index[name] for name in machine.ticket.required]
        self._asks = [self._asks_left(index) for index in range(len(machine.scripts))]
        self._fact_steps = _fact_steps(machine)
        effects = [rule.then for action in machine.pack.actions.values() for rule in action.rules]
        self._most_set = max((len(then.set) for then in effects), default=0) or 1
        self._apart = all(then.learn + then.classify + bool(then.set) + then.resolve <= 1 for then in effects)

    def _asks_left(self, index: int) -> tuple[int, ...]:
        """For each turn of a script, the asks up to the next turn that settles its own field."""
        moves = self._machine.scripts[index].moves
        settles = [
            at
            for at, move in enumerate(moves)
            if move.kind == "waive" or any(given.slot == index and not given.wrong for given in move.gives)
        ]
        return tuple(min((end - at for end in settles if end >= at), default=0) + 1 for at in range(len(moves)))

    def asks(self, index: int) -> int:
        """The asks up to the first turn of a script that settles its own field."""
        return self._asks[index][0]

    def _facts_left(self, state: State) -> int:
        """At least so many steps set the goal's facts: one sets no more of them than the rule that sets the most."""
        values = dict(zip(self._machine.pack.facts, state.facts, strict=True))
        left = sum(not same(values[name], value) for name, value in self._machine.ticket.goal.items())
        return -(-left // self._most_set)

    def _pays_to_classify(self, state: State) -> bool:
        return state.classified == "none" and not state.asked and self._machine.pack.rewards.classification > 0

    def greatest_return(self, state: State, total: int) -> int:
        machine = self._machine
        if state.resolved:
            return total
        earned = state.earned or machine.ticket.category is None or self._pays_to_classify(state)
        lost = 0 if earned else machine.pack.rewards.classification
        return total + machine.goal_reward + machine.greatest_progress - machine.progress(state) - lost

    def fewest_steps(self, state: State, classify: bool) -> int:
        """`classify` counts the classification, without which the greatest return can't be had."""
        if state.resolved:
            return 0
        open_slots = [index for index in self._required if state.slots[index].value in ("none", "wrong")]
        asks = sum(
            self._asks[index][state.slots[index].turn]
            for index in open_slots
            if index not in self._related and self._asks[index]
        )
        asks += any(index in self._related for index in open_slots)
        facts = self._fact_steps[state.facts] if state.facts in self._fact_steps else self._facts_left(state)
        classifying = int(classify and self._pays_to_classify(state))
        # Where one rule does several of these things, one step may count for several.
        return asks + facts + classifying + 1 if self._apart else max(asks, facts, classifying, 1)


def _never_set(machine: Automaton) -> str | None:
    """A fact of the ticket's goal that no rule can bring to its value, whatever else rules ask; None if there is none.

    Facts are looked at one by one, as if each kept every value that it ever had.
    """
    rules = [rule for action in machine.pack.actions.values() for rule in action.rules if rule.then.set]
    values = {name: [value] for name, value in zip(machine.pack.facts, machine.initial.facts, strict=True)}
    grown = True
    while grown:
        grown = False
        for rule in rules:
            if all(any(test(value) for value in values[name]) for name, test in fact_tests(rule)):
                for name, value in rule.then.set.items():
                    if not any(same(value, one) for one in values[name]):
                        values[name].append(value)
                        grown = True
    for name, value in machine.ticket.goal.items():
        if not any(same(value, one) for one in values[name]):
            return f"'{name}' to be {json.dumps(value, ensure_ascii=False)}"
    return None


def _fact_steps(machine: Automaton) -> dict[tuple[Scalar, ...], int]:
    """The fewest steps that only set facts, from each combination of facts to the goal; whatever else rules ask.

    Empty, which bounds nothing, where there is no goal or there are too many combinations.
    """
    rules = [rule for action in machine.pack.actions.values() for rule in action.rules if rule.then.set]
    if not machine.ticket.goal:
        return {}
    names = tuple(machine.pack.facts)
    moves = [(fact_tests(rule), rule.then.set) for rule in rules]
    before: dict[tuple[Scalar, ...], list[tuple[Scalar, ...]]] = {machine.initial.facts: []}
    queue = [machine.initial.facts]
    for facts in queue:
        values = dict(zip(names, facts, strict=True))
        for tests, changes in moves:
            after = tuple(changes.get(name, values[name]) for name in names)
            if all(test(values[name]) for name, test in tests):
                if after not in before:
                    before[after] = []
                    queue.append(after)
                before[after].append(facts)
        if len(before) > FACTS:
            return {}
    steps = {facts: 0 for facts in before if machine.goal_met(facts)}
    reached = list(steps)
    for facts in reached:
        for earlier in before[facts]:
            if earlier not in steps:
                steps[earlier] = steps[facts] + 1
                reached.append(earlier)
    return steps


def _search(machine: Automaton, horizon: int, budget: Budget, goal_only: bool = False) -> Solution | None:
    """A best episode that resolves in at most `horizon` steps, and of these a shortest; None where there is none.

    With `goal_only`, a shortest of all that resolve, whatever it returns. Raises OverBudget.
    """
    symmetry = Symmetry(machine)
    bounds = _Bounds(machine, symmetry.related)
    order = count()

    def node(state: State, total: int, depth: int) -> _Node:
        greatest = 0 if goal_only else bounds.greatest_return(state, total)
        return _Node(-greatest, depth + bounds.fewest_steps(state, not goal_only), -depth, next(order), total, state)

    queue = [node(symmetry.canonical(machine.initial), 0, 0)]
    # The depth at which a state was opened. It was reached with the greatest total first, so only less depth is news.
    opened: dict[State, int] = {}
    while queue:
        current = heapq.heappop(queue)
        depth = -current.depth
        if current.state.resolved:
            return Solution(current.total, depth)
        too_long = depth + bounds.fewest_steps(current.state, classify=False) > horizon
        if too_long or opened.get(current.state, horizon + 1) <= depth:
            continue
        opened[current.state] = depth
        for choices in symmetry.alike(current.state).values():
            budget.spend()
            move = machine.apply(current.state, choices[0])
            after = symmetry.canonical(move.state)
            if opened.get(after, horizon + 1) > depth + 1:
                heapq.heappush(queue, node(after, current.total + move.reward, depth + 1))
    return None


def solve(machine: Automaton) -> Solution | None:
    """A best episode that resolves the ticket: V* and the optimal steps, if the ticket is sound; None if none resolves.

    Raises:
        OverBudget: after BUDGET transitions.
    """
    found = _solved(machine)
    if isinstance(found, OverBudget):
        raise OverBudget
    return found


@once
def _solved(machine: Automaton) -> Solution | OverBudget | None:
    """What `solve` finds or raises: what took long in vain isn't tried again."""
    try:
        return _search(machine, machine.pack.max_steps, Budget(BUDGET))
    except OverBudget as error:
        return error.with_traceback(None)  # which would hold on to all that was searched


@once
def fewest_steps(machine: Automaton) -> int | None:
    """The steps of a shortest episode that resolves the ticket, whatever it returns; None where none does.

    Raises:
        OverBudget: after BUDGET transitions.
    """
    found = _search(machine, machine.pack.max_steps, Budget(BUDGET), goal_only=True)
    return found.optimal_steps if found else None


def variants(pack: Pack, ticket: Ticket) -> tuple[Automaton, ...]:
    """The different automata of a ticket's cases: by what a message states, and by who the customer is."""
    known = dict.fromkeys(frozenset((*ticket.known, *message.known)) for message in ticket.messages)
    kinds = dict.fromkeys(manners(pack, ticket))
    return tuple(automaton(pack, ticket.id, names, manner) for names in known for manner in kinds)


def ticket_findings(pack: Pack, verdicts: Verdicts | None = None) -> Iterator[Finding]:
    """A finding for every ticket that can't be resolved, or whose best return isn't the reward range's maximum.

    What is found is added to `verdicts`, and what is there already isn't looked for: they are of packs that differ in
    their tickets and texts only.
    """
    found = [*_unsound(pack, {} if verdicts is None else verdicts)]
    short = [(machine.ticket, told.needs) for machine, told in found if told.needs is not None]
    if pack.max_steps_place is not None and len(short) > 1:  # it is the one mistake
        yield _too_few_steps(pack, pack.max_steps_place, short)
        found = [(machine, told) for machine, told in found if told.needs is None]
    for machine, told in found:
        message = f"ticket '{machine.ticket.id}' {told.message}"
        cause = _asks_needed(machine) if told.needs is not None else None
        message = f"{message}: {cause}" if cause else message
        yield Finding(told.code, message, machine.ticket.place, expected=told.expected)


def _unsound(pack: Pack, known: Verdicts) -> Iterator[tuple[Automaton, Unsound]]:
    """The first variant of each ticket that isn't sound, and what is wrong with it."""
    budget = Budget(PACK_BUDGET + TICKET_BUDGET * len(pack.tickets))
    judged: dict[Hashable, Unsound | None] = {}
    for ticket in pack.tickets.values():
        for machine in variants(pack, ticket):
            shape = Symmetry(machine).shape()
            if shape not in judged:
                judged[shape] = _judged(machine, shape, known, budget)
            told = judged[shape]
            if told is not None:
                yield machine, told
                break


def _too_few_steps(pack: Pack, place: Place, tickets: Sequence[tuple[Ticket, int]]) -> Finding:
    """One finding for all tickets that need more steps than the pack gives."""
    most = max(needs for _, needs in tickets)
    first = ", ".join(f"'{ticket.id}' needs {needs}" for ticket, needs in tickets[:NAMED])
    more = f", and {len(tickets) - NAMED:,} more" if len(tickets) > NAMED else ""
    message = f"{pack.max_steps} steps are too few for {len(tickets):,} of {len(pack.tickets):,} tickets: {first}{more}"
    return Finding("PACK060", message, place, expected=f"max_steps of at least {most}")


def _asks_needed(machine: Automaton) -> str | None:
    """What takes so long in a ticket, in words: the asks for each field, and who puts them off. None where one field's
    answer may tell another field."""
    ticket, state = machine.ticket, machine.initial
    slots = [machine.index[name] for name in ticket.required]
    slots = [slot for slot in slots if state.slots[slot].value in ("none", "wrong")]
    if not slots or Symmetry(machine).related or not all(machine.scripts[slot].moves for slot in slots):
        return None
    bounds = _Bounds(machine, frozenset())
    asks = sorted(((bounds.asks(slot), machine.fields[slot]) for slot in slots), key=lambda one: -one[0])
    first = ", ".join(f"{number} for '{name}'" for number, name in asks[:NAMED])
    more = f", {sum(number for number, _ in asks[NAMED:])} for others" if len(asks) > NAMED else ""
    total, ahead = sum(number for number, _ in asks), sum(machine.scripts[slot].ahead for slot in slots)
    people = [name for name in ticket.people if manner(ticket, machine.pack.people[name]) == machine.manner]
    put_off = f", of which the person '{people[0]}' puts off {ahead}" if ahead and people else ""
    return f"it takes {total} {'ask' if total == 1 else 'asks'} ({first}{more}){put_off}"


def _judged(machine: Automaton, shape: Hashable, known: Verdicts, budget: Budget) -> Unsound | None:
    """What is known of a shape costs as much of the budget as when it was found, so what comes out is the same."""
    before = budget.left
    if shape in known and known[shape].spent <= before:
        budget.left -= known[shape].spent
        return known[shape].told
    told = _verdict(machine, budget)
    if budget.left >= 0:
        known[shape] = Verdict(told, before - budget.left)
    return told


def _verdict(machine: Automaton, budget: Budget) -> Unsound | None:
    """What is wrong, or None for a sound automaton."""
    maximum, most = machine.pack.rewards.maximum, machine.pack.max_steps
    never = _never_set(machine)
    if never is not None:
        return Unsound("PACK060", f"can't be resolved: its goal needs {never}", "a rule that sets it, and can fire")
    try:
        found = _search(machine, most, budget)
        if found is not None and found.best == maximum:
            return None
        longer = _search(machine, most + BEYOND, budget)
    except OverBudget:
        expected = "fewer fields or facts, or shorter scripts"
        return Unsound("PACK062", "is not proved: it has more states than can be looked at", expected)
    expected, needs = "a way to the goal without waste", None
    if longer is not None and longer.best == maximum:
        needs = longer.optimal_steps
        expected = f"max_steps of at least {needs}"
    if found is None:
        return Unsound("PACK060", f"can't be resolved in {most} steps", expected, needs)
    best, whole = found.best / REWARD_UNIT, maximum / REWARD_UNIT
    return Unsound("PACK061", f"has a best possible return of {best}, not {whole}", expected, needs)
