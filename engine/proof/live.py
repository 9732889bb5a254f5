"""P09: every rule that the pack adds, every answer turn and every field can come to play somewhere.

A turn is live where any variant of its ticket plays it, a rule where any ticket's variant fires it, a field where some
ticket needs it, knows it or has an answer for it, and a person where some ticket has them. The default rules needn't
come to play: a pack takes them as they are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from engine.action import Choice
from engine.automaton import Automaton
from engine.build import default_rules
from engine.dynamics.graph import Graph, explore
from engine.pack import Action, Pack, Rule, Ticket
from engine.proof.episodes import asked, choices_of, seed_of
from engine.proof.result import Check, Counterexample
from engine.solve import Budget, OverBudget, variants
from engine.symmetry import Symmetry

# How many different moves are looked at, for all dead rules together, to say why they are dead.
_LOOK = 50_000


@dataclass(frozen=True, slots=True)
class Played:
    """What comes to play in automata of one shape: rules by identity, and turns of scripts by the kind of the slot."""

    rules: frozenset[int]
    turns: frozenset[tuple[Hashable, int]]


Plays = Sequence[tuple[Automaton, Played | None]]


def played(graph: Graph) -> Played:
    """What comes to play in an automaton."""
    edges = [edge for edges in graph.edges for edge in edges]
    turns = {edge.turn for edge in edges if edge.turn is not None}
    rules = frozenset(id(edge.rule) for edge in edges if edge.rule is not None)
    return Played(rules, frozenset((graph.symmetry.kind(slot), number) for slot, number in turns))


def live(pack: Pack, plays: Plays) -> tuple[Check, ...]:
    """The checks of the whole pack: one that holds, else one for each thing that never comes to play.

    Where a ticket isn't proved, it may be there that a rule or one of its turns does.
    """
    unproved = {machine.ticket.id for machine, seen in plays if seen is None}
    rules, turns = [*_dead_rules(pack, plays)], [*_dead_turns(pack, plays)]
    budget = Budget(_LOOK)
    dead = [_dead_rule(pack, action, rule, budget) for action, rule in rules if not unproved]
    dead += [_dead_turn(pack, *turn) for turn in turns if turn[0].id not in unproved]
    dead += _unused(pack)
    open_turns = sum(ticket.id in unproved for ticket, _, _ in turns)
    if unproved and (rules or open_turns):
        message = (
            f"{len(rules)} rules and {open_turns} turns are not seen in what was looked at; ticket "
            f"'{min(unproved)}' has too many moves"
        )
        dead.append(Check("P09", "not proved", None, message, pack.place))
    return tuple(dead) or (Check("P09", "holds"),)


def _unused(pack: Pack) -> Iterator[Check]:
    tickets = pack.tickets.values()
    fields = {name for ticket in tickets for name in _fields(ticket)}
    people = {name for ticket in tickets for name in ticket.people}
    for what, declared, used in (("field", pack.fields, fields), ("person", pack.people, people)):
        for name in declared:
            if name not in used:
                yield Check("P09", "fails", None, f"no ticket has anything to do with the {what} '{name}'", pack.place)


def _fields(ticket: Ticket) -> Iterator[str]:
    yield from (*ticket.required, *ticket.optional, *ticket.known, *ticket.answers)
    yield from (name for message in ticket.messages for name in message.known)
    yield from (given.field for turns in ticket.answers.values() for turn in turns for given in turn.gives)


# -- Rules


def _dead_rules(pack: Pack, plays: Plays) -> Iterator[tuple[Action, Rule]]:
    fired = frozenset[int]().union(*(seen.rules for _, seen in plays if seen is not None))
    default = default_rules().file.name
    for action in pack.actions.values():
        for rule in action.rules:
            if rule.place.file != default and id(rule) not in fired:
                yield action, rule


def _dead_rule(pack: Pack, action: Action, rule: Rule, budget: Budget) -> Check:
    message = f"the rule '{rule.outcome}' never fires"
    try:
        episode = _shadowed(pack, action, rule, budget)
    except OverBudget:
        return Check("P09", "fails", None, message, rule.place)
    if episode is None:
        message += ": what it asks for never comes about"
    elif episode.rule is not None:
        message += f": wherever it would, an earlier one does, as '{episode.rule.outcome}' at {episode.rule.place}"
    return Check("P09", "fails", None, message, rule.place, episode)


def _shadowed(pack: Pack, action: Action, rule: Rule, budget: Budget) -> Counterexample | None:
    """An episode whose last step the rule would have answered, had it stood first; None where there is none.

    Until a rule fires for the first time, it makes no difference where it stands.
    """
    ahead = replace(action, rules=(rule, *(one for one in action.rules if one is not rule)))
    moved = replace(pack, actions={**pack.actions, action.name: ahead})
    shapes: set[Hashable] = set()
    for ticket in pack.tickets.values():
        for machine, first in zip(variants(pack, ticket), variants(moved, moved.tickets[ticket.id]), strict=True):
            shape = Symmetry(first).shape()
            if shape in shapes:
                continue
            shapes.add(shape)
            choices = _fired(explore(first, budget), rule)
            if choices:
                return _answered(machine, choices)
    return None


def _fired(graph: Graph, rule: Rule) -> tuple[Choice, ...]:
    """A shortest way to fire a rule; empty where there is none."""
    for state, edges in enumerate(graph.edges):
        for edge in edges:
            if edge.rule is rule:
                return choices_of(graph, (*graph.line_to(state), (state, edge)))
    return ()


def _answered(machine: Automaton, choices: Sequence[Choice]) -> Counterexample:
    """The episode of these actions, and the rule that answers the last."""
    state, fired = machine.initial, None
    for choice in choices:
        move = machine.apply(state, choice)
        state, fired = move.state, move.then
    rule = next((one for one in machine.pack.actions[choices[-1].type].rules if one.then is fired), None)
    actions = tuple(choice.canonical() for choice in choices)
    seed = seed_of(machine.pack, machine.ticket, machine)
    return Counterexample(machine.ticket.id, seed, actions, len(actions), rule)


# -- Turns


def _dead_turns(pack: Pack, plays: Plays) -> Iterator[tuple[Ticket, str, int]]:
    """The ticket, the field, and the number of the turn, from 0; a person's stalls aren't the ticket's."""
    heard: dict[str, set[tuple[str, int]]] = {ticket: set() for ticket in pack.tickets}
    for machine, seen in plays:
        if seen is None:
            continue
        symmetry = Symmetry(machine)
        for name, turns in machine.ticket.answers.items():
            kind = symmetry.kind(machine.index[name])
            live = (number for number in range(len(turns)) if (kind, number + machine.stalls) in seen.turns)
            heard[machine.ticket.id].update((name, number) for number in live)
    for ticket in pack.tickets.values():
        for name, turns in ticket.answers.items():
            for number in range(len(turns)):
                if (name, number) not in heard[ticket.id]:
                    yield ticket, name, number


def _dead_turn(pack: Pack, ticket: Ticket, name: str, number: int) -> Check:
    machine = min(variants(pack, ticket), key=lambda machine: machine.stalls)
    needed = number + machine.stalls + 1
    why = "no ask gets that far"
    if needed > pack.max_steps:
        why = f"it takes {needed} asks to hear it, and an episode has {pack.max_steps} steps"
    message = f"ticket '{ticket.id}': turn {number + 1} under '{name}' is never played: {why}"
    return Check("P09", "fails", None, message, ticket.place, asked(pack, ticket, name, number + 1))
