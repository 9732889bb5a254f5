"""From a line through a graph to an episode that can be played."""

from __future__ import annotations

from engine.action import Choice, action_space
from engine.automaton import Automaton
from engine.case import make_case
from engine.dynamics.graph import Graph
from engine.dynamics.optimal import Line
from engine.episode import Episode
from engine.pack import Pack, Ticket
from engine.proof.result import Counterexample

# How many seeds are tried, for each of a ticket's messages and people, until one makes a certain case.
_TRIES = 64


def seed_of(pack: Pack, ticket: Ticket, machine: Automaton) -> int:
    """The least seed whose case of a ticket has this automaton; 0 where none of many has."""
    tries = _TRIES * len(ticket.messages) * max(1, len(ticket.people))
    return next((seed for seed in range(tries) if make_case(pack, ticket.id, seed).automaton is machine), 0)


def choices_of(graph: Graph, line: Line) -> tuple[Choice, ...]:
    """The actions that take a line. Its states are merged ones: each action is looked up where it stands by then."""
    machine, state, found = graph.machine, graph.machine.initial, []
    for _, edge in line:
        wanted = (graph.states[edge.target], edge.reward, edge.outcome)
        for choice in action_space(machine.pack).choices:
            move = machine.apply(state, choice)
            fired = edge.rule is None or move.then is edge.rule.then
            if fired and (graph.symmetry.canonical(move.state), move.reward, move.outcome) == wanted:
                found.append(choice)
                state = move.state
                break
    return tuple(found)


def shown(graph: Graph, line: Line, paid: int | None = None) -> Counterexample:
    """The episode that takes a line; `paid` is the step, from 1, whose rule paid, where it is one step's fault."""
    machine = graph.machine
    rule = line[paid - 1][1].rule if paid is not None else None
    actions = tuple(choice.canonical() for choice in choices_of(graph, line))
    return Counterexample(machine.ticket.id, seed_of(machine.pack, machine.ticket, machine), actions, paid, rule)


def asked(pack: Pack, ticket: Ticket, name: str, turn: int, seed: int = 0) -> Counterexample | None:
    """The episode that asks for nothing but one field, up to a turn of the ticket's, or to its end.

    The ticket's turns are counted from 1; those of the person's before them are 0, -1 and so on. None where no action
    asks for it.
    """
    asks = {action.name: action.asks for action in pack.actions.values()}
    choices = action_space(pack).choices
    ask = next((one for one in choices if dict(one.parameters).get(asks[one.type] or "") == name), None)
    if ask is None:
        return None
    episode = Episode.start(make_case(pack, ticket.id, seed))
    machine = episode.case.automaton
    ahead = machine.scripts[machine.index[name]].ahead
    while not episode.done and episode.step_count < turn + ahead:
        episode = episode.step(ask.canonical())
    return Counterexample(ticket.id, seed, episode.actions)
