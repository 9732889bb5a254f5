"""What there is to see of a ticket: as the agent meets it, how its customer behaves, and the best that can be done.

Texts are as they are; whoever shows them makes them safe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.action import Choice, action_space
from engine.automaton import Automaton
from engine.case import Case, drawn, make_case
from engine.dynamics.graph import explore
from engine.episode import Episode
from engine.pack import Message, Pack, Person, Ticket
from engine.proof.episodes import choices_of
from engine.proof.tickets import study
from engine.solve import Budget, OverBudget, solve
from engine.turns import Manner, manner

Need = Literal["required", "optional", "not needed"]
# How many seeds are tried, for each of a ticket's messages and people, until all have come up.
_TRIES = 64


@dataclass(frozen=True, slots=True)
class Told:
    """A value that a turn gives."""

    field: str
    value: str
    wrong: bool


@dataclass(frozen=True, slots=True)
class Spoken:
    """A turn of a script: what kind it is, whether it is the person's own, what is said with the noise before and
    after it, and the values that it gives."""

    kind: str
    of_person: bool
    before: str
    said: str
    after: str
    told: tuple[Told, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What comes of asking for a field: its turns, the last of which is played again and again.

    `settles` is whether one of them gives the right value of the field, or waives it.
    """

    field: str
    need: Need
    known: bool
    turns: tuple[Spoken, ...]
    settles: bool


@dataclass(frozen=True, slots=True)
class Opening:
    """A message that may open the ticket, the fields that it states, and the least seed found that draws it."""

    seed: int
    text: str
    known: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Customer:
    """Somebody who may be the ticket's customer, and the least seed found that draws them."""

    seed: int
    person: Person
    manner: Manner


@dataclass(frozen=True, slots=True)
class Best:
    """The best return, in ten-thousandths, the fewest steps that earn it, the fewest steps to the goal (None: there is
    no way), and the actions of a best episode; None where there are too many to look at."""

    optimum: int
    steps: int
    fewest: int | None
    line: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class View:
    """A ticket at a seed. `seen` is the first observation; `openings` and `customers` are those of other seeds."""

    case: Case
    seen: Mapping[str, Any]
    openings: tuple[Opening, ...]
    customer: Customer | None
    customers: tuple[Customer, ...]
    asked: tuple[Asked, ...]
    best: Best | None


@dataclass(frozen=True, slots=True)
class Row:
    """A ticket in a few words. `steps` are the fewest that earn the best return; None where that isn't known."""

    ticket: Ticket
    message: str
    steps: int | None


def view(pack: Pack, ticket_id: str, seed: int, budget: int) -> View:
    """All there is to see of a ticket at a seed; `budget` is how many moves are looked at for the best line."""
    case = make_case(pack, ticket_id, seed)
    ticket = case.ticket
    message, person = drawn(pack, ticket, seed)
    seeds = _seeds(pack, ticket)
    return View(
        case=case,
        seen=Episode.start(case).observation,
        openings=tuple(
            Opening(at, make_case(pack, ticket_id, at).message, one.known)
            for one, at in seeds.items()
            if isinstance(one, Message) and one != message
        ),
        customer=Customer(seed, person, manner(ticket, person)) if person is not None else None,
        customers=tuple(
            Customer(at, one, manner(ticket, one))
            for one, at in seeds.items()
            if isinstance(one, Person) and one != person
        ),
        asked=tuple(_asked(case)),
        best=_best(case.automaton, budget),
    )


def row(pack: Pack, ticket: Ticket, seed: int) -> Row:
    """A ticket at a seed, in a few words."""
    case = make_case(pack, ticket.id, seed)
    try:
        found = solve(case.automaton)
    except OverBudget:
        found = None
    return Row(ticket, case.message, found.optimal_steps if found is not None else None)


def _seeds(pack: Pack, ticket: Ticket) -> dict[Message | Person, int]:
    """The least seed that draws each message and each person, as far as one is found, in the order written."""
    people = [pack.people[name] for name in ticket.people]
    found: dict[Message | Person | None, int] = {}
    wanted: list[Message | Person] = [*dict.fromkeys(ticket.messages), *people]
    for seed in range(_TRIES * len(ticket.messages) * max(1, len(people))):
        for one in drawn(pack, ticket, seed):
            found.setdefault(one, seed)
        if all(one in found for one in wanted):
            break
    return {one: found[one] for one in wanted if one in found}


# -- The customer


def _asked(case: Case) -> Iterator[Asked]:
    """What comes of asking for each field that the ticket has to do with, those required first."""
    machine, ticket = case.automaton, case.ticket
    order = dict.fromkeys((*ticket.required, *ticket.optional, *machine.fields))
    for name in order:
        slot = machine.index[name]
        script, known = machine.scripts[slot], machine.initial.slots[slot].value == "right"
        need: Need = "required" if name in ticket.required else "optional" if name in ticket.optional else "not needed"
        if script.turns or known or need != "not needed":
            moves = script.moves
            settles = any(move.kind == "waive" or _gives_right(move.gives, slot) for move in moves)
            turns = tuple(_spoken(case, slot, number) for number in range(len(moves)))
            yield Asked(name, need, known, turns, settles)


def _gives_right(gives: Any, slot: int) -> bool:
    return any(given.slot == slot and not given.wrong for given in gives)


def _spoken(case: Case, slot: int, number: int) -> Spoken:
    machine = case.automaton
    name, script = machine.fields[slot], machine.scripts[slot]
    ask = next((action.name for action in case.pack.actions.values() if action.asks is not None), "")
    words = machine.words(machine.initial, {"action": ask, "field": name})
    before, after = case.noise((slot, number))
    return Spoken(
        kind=script.moves[number].kind,
        of_person=script.part(number)[0] != "turn",
        before=before,
        said=case.turn((slot, number), words),
        after=after,
        told=tuple(
            Told(machine.fields[given.slot], case.value(given.source), given.wrong)
            for given in script.moves[number].gives
        ),
    )


# -- The best that can be done


def _best(machine: Automaton, budget: int) -> Best | None:
    try:
        known = study(explore(machine, Budget(budget)))
    except OverBudget:
        return None
    line = tuple(choice.canonical() for choice in choices_of(known.graph, known.optimal.line))
    return Best(known.numbers.optimum, known.optimal.steps, known.numbers.fewest_steps, line)


def ways(pack: Pack) -> dict[str, list[Choice]]:
    """The valid actions, by their type."""
    found: dict[str, list[Choice]] = {name: [] for name in pack.actions}
    for choice in action_space(pack).choices:
        found[choice.type].append(choice)
    return found
