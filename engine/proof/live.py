"""P09: every rule that the pack adds, every answer turn and every field can come to play somewhere.

A turn is live where any variant of its ticket plays it, a rule where any ticket's variant fires it, a field where some
ticket needs it, knows it or has an answer for it. A person is live where some ticket has them, with an answer under
each field that they are particular about, and each turn of their own is played somewhere; the pack's noise where some
customer has none of their own. The default rules needn't come to play: a pack takes them as they are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from engine.action import Choice
from engine.automaton import Automaton
from engine.build import default_rules
from engine.dynamics.graph import Graph, explore
from engine.pack import Action, Pack, Person, Rule, Ticket
from engine.proof.episodes import asked, choices_of, seed_of
from engine.proof.result import Check, Counterexample
from engine.solve import Budget, OverBudget, variants
from engine.symmetry import Symmetry
from engine.turns import PLAIN, Part, manner, noise_under

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
    people = [*_dead_people(pack, plays)]
    budget = Budget(_LOOK)
    dead = [_dead_rule(pack, action, rule, budget) for action, rule in rules if not unproved]
    dead += [_dead_turn(pack, *turn) for turn in turns if turn[0].id not in unproved]
    dead += [_dead_turn_of(pack, *turn) for turn in people if unproved.isdisjoint(_tickets_of(pack, turn[0]))]
    dead += _unused(pack)
    open_turns = sum(ticket.id in unproved for ticket, _, _ in turns)
    open_turns += sum(not unproved.isdisjoint(_tickets_of(pack, person)) for person, *_ in people)
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
    unused = [("field", field.name, field.place) for field in pack.fields.values() if field.name not in fields]
    unused += [("person", person.name, person.place) for person in pack.people.values() if person.name not in people]
    for what, name, place in unused:
        text = f"no ticket has anything to do with the {what} '{name}'"
        yield Check("P09", "fails", None, text, place or pack.place)
    yield from _unused_people(pack)


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
            ahead = machine.scripts[machine.index[name]].ahead
            live = (number for number in range(len(turns)) if (kind, number + ahead) in seen.turns)
            heard[machine.ticket.id].update((name, number) for number in live)
    for ticket in pack.tickets.values():
        for name, turns in ticket.answers.items():
            for number in range(len(turns)):
                if (name, number) not in heard[ticket.id]:
                    yield ticket, name, number


def _dead_turn(pack: Pack, ticket: Ticket, name: str, number: int) -> Check:
    machines = variants(pack, ticket)
    needed = number + min(machine.scripts[machine.index[name]].ahead for machine in machines) + 1
    why = "no ask gets that far"
    if needed > pack.max_steps:
        why = f"it takes {needed} asks to hear it, and an episode has {pack.max_steps} steps"
    message = f"ticket '{ticket.id}': turn {number + 1} under '{name}' is never played: {why}"
    return Check("P09", "fails", None, message, ticket.place, asked(pack, ticket, name, number + 1))


# -- People


def _dead_people(pack: Pack, plays: Plays) -> Iterator[tuple[Person, Part, int]]:
    """People with the first turn of their own that is never played: what it is, and its number, from 0."""
    heard: dict[str, set[tuple[Part, int]]] = {name: set() for name in pack.people}
    for machine, seen in plays:
        if seen is None:
            continue
        symmetry = Symmetry(machine)
        turns = {
            script.part(number)
            for slot, script in enumerate(machine.scripts)
            for number in range(script.ahead)
            if (symmetry.kind(slot), number) in seen.turns
        }
        for name in machine.ticket.people:
            if manner(machine.ticket, pack.people[name]) == machine.manner:
                heard[name] |= turns
    for person in pack.people.values():
        own: list[tuple[Part, int]] = [("refusal", number) for number in range(person.refuses)]
        own += [("stall", number) for number in range(person.stalls)]
        dead = next((turn for turn in own if turn not in heard[person.name]), None)
        if dead is not None and _first_ticket_of(pack, person) is not None:
            yield person, *dead


def _first_ticket_of(pack: Pack, person: Person) -> Ticket | None:
    """The first ticket in which a person does something of their own before they answer."""
    tickets = (pack.tickets[name] for name in _tickets_of(pack, person))
    return next((ticket for ticket in tickets if manner(ticket, person) != PLAIN), None)


def _dead_turn_of(pack: Pack, person: Person, part: Part, number: int) -> Check:
    message = f"{part} {number + 1} of the person '{person.name}' is never played: no ask gets that far"
    ticket, place = _first_ticket_of(pack, person), person.place or pack.place
    if ticket is None:
        return Check("P09", "fails", None, message, place)
    how = manner(ticket, person)
    machine = next(one for one in variants(pack, ticket) if one.manner == how)
    field = next(field for field in ticket.answers if any(how.before(field)))
    asks = number + 1 + (person.refuses if part == "stall" else 0)
    episode = asked(pack, ticket, field, asks - sum(how.before(field)), seed_of(pack, ticket, machine))
    return Check("P09", "fails", None, message, place, episode)


def _unused_people(pack: Pack) -> Iterator[Check]:
    """What of people doesn't go with the tickets that have them, and noise that nobody makes."""
    for person in pack.people.values():
        tickets = _tickets_of(pack, person)
        answered = {field for name in tickets for field in pack.tickets[name].answers}
        for field in (person.fields or ()) if tickets else ():
            if field not in answered:
                text = f"no ticket of the person '{person.name}' has an answer for '{field}', one of their fields"
                yield Check("P09", "fails", None, text, person.place or pack.place)
    if pack.noise.texts and not any(_hears_noise(pack, ticket) for ticket in pack.tickets.values()):
        text = "no customer ever says anything of the pack's noise"
        yield Check("P09", "fails", None, text, pack.noise.place or pack.place)


def _hears_noise(pack: Pack, ticket: Ticket) -> bool:
    customers: tuple[Person | None, ...] = tuple(pack.people[name] for name in ticket.people) or (None,)
    return any(noise_under(pack, one, field) is pack.noise for one in customers for field in ticket.answers)


def _tickets_of(pack: Pack, person: Person) -> tuple[str, ...]:
    return tuple(ticket.id for ticket in pack.tickets.values() if person.name in ticket.people)
