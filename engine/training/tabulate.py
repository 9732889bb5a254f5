"""Makes tables of a pack: walks the automaton of each ticket, in each of its variants, and writes down all states."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from engine.action import action_space
from engine.automaton import Automaton
from engine.case import drawn, make_case
from engine.draw import digest
from engine.pack import Pack, Ticket, once
from engine.split import SPLITS, splits
from engine.training.columns import Encoder, columns
from engine.training.expert import best_actions, pointless
from engine.training.extra import np
from engine.training.tables import Array, Tables, TablesError, TicketOf
from engine.training.wordings import shared
from engine.turns import Manner, manner

# How many moves, states times actions, tables may have: some 400 MB, and two minutes.
LIMIT = 20_000_000
# How many seeds are tried for each message and person until all have come up.
_TRIES = 64


class Case(NamedTuple):
    """A case by its ticket and seed, the number of its first state, and its opening message."""

    ticket: str
    seed: int
    start: int
    message: str


def tabulate(
    pack: Pack, tickets: Iterable[str] | None = None, seeds: Iterable[int] | None = None, limit: int = LIMIT
) -> Tables:
    """The tables of a pack's tickets, of all of them unless some are named.

    Of each ticket they hold the cases that `seeds` make of it. Without seeds there is one case for each of its messages
    with each of its people, by the least seed that draws both. The order of the cases is drawn, the same each time.

    Action masks are those of the whole pack's tables, whichever tickets and seeds are chosen: what is pointless in all
    of some chosen ones tells what they are. So a choice takes as long as the whole pack does; where that would have
    more than `LIMIT` moves, the masks of a choice allow every action.

    Raises:
        KeyError: the pack has no such ticket.
        TablesError: there would be more moves (states times actions) than `limit`, or there is no case.
    """
    named = None if tickets is None else {pack.tickets[name].id for name in tickets}
    chosen = [ticket for ticket in pack.tickets.values() if named is None or ticket.id in named]
    wanted = None if seeds is None else tuple(dict.fromkeys(seeds))
    made = _Rows(pack, limit)
    cases = [case for ticket in chosen for case in _cases(made, ticket, wanted)]
    if not cases:
        raise TablesError(f"pack '{pack.name}': no ticket and no seed, no tables")
    cases.sort(key=lambda case: digest(pack.name, case.ticket, case.seed, "tables"))
    numbers = {ticket.id: number for number, ticket in enumerate(chosen)}
    messages = {text: number for number, text in enumerate(dict.fromkeys(case.message for case in cases))}
    names, split_of = list(pack.tasks), {name: split for split, ids in splits(pack).items() for name in ids}
    alike: dict[str, str] = {split: str(found) for split in SPLITS if (found := shared(pack, [split])) is not None}
    arrays = made.arrays()
    if wanted is not None or len(chosen) < len(pack.tickets):
        arrays["action_mask"] = _masks_of_all(pack, arrays["observation"], len(made.choices))
    return Tables(
        pack=pack.name,
        version=pack.version,
        digest=pack.digest,
        max_steps=pack.max_steps,
        actions=tuple(choice.canonical() for choice in made.choices),
        columns=columns(pack),
        tasks=tuple(names),
        tickets=tuple(TicketOf(ticket.id, names.index(ticket.task), split_of[ticket.id]) for ticket in chosen),
        messages=tuple(messages),
        alike=alike,
        start=np.array([case.start for case in cases], np.int32),
        message=np.array([messages[case.message] for case in cases], np.int32),
        ticket=np.array([numbers[case.ticket] for case in cases], np.int32),
        seed=np.array([case.seed for case in cases], np.int64),
        **arrays,
    )


@once
def tables_of(pack: Pack) -> Tables:
    """The tables of all of a pack's tickets, made once."""
    return tabulate(pack, limit=LIMIT)


def _masks_of_all(pack: Pack, observation: Array, actions: int) -> Array:
    """The mask that the whole pack's tables have for each observation; where they have none, all is allowed."""
    try:
        whole = tables_of(pack)
    except TablesError:
        return np.ones((len(observation), actions), np.int8)
    _, looks = np.unique(np.concatenate((whole.observation, observation)), axis=0, return_inverse=True)
    looks = looks.reshape(-1)  # NumPy 2.0.0 keeps an axis
    masks = np.ones((looks.max() + 1, actions), np.int8)
    masks[looks[: whole.states]] = whole.action_mask
    found: Array = masks[looks[whole.states :]]
    return found


class _Rows:
    """What was written down so far, a row for each state and a number for each of its actions."""

    def __init__(self, pack: Pack, limit: int) -> None:
        self.pack = pack
        self.choices = action_space(pack).choices
        self._limit = limit
        self._next, self._reward, self._depth = array("i"), array("i"), array("h")
        self._observations = bytearray()
        self._resolved = bytearray()

    def add(self, machine: Automaton) -> int:
        """Writes down an automaton; the number of its initial state.

        A state that is resolved, or reached with the last step only, leads to itself.
        """
        base, most = len(self._depth), self.pack.max_steps
        numbers, states, depths = {machine.initial: base}, [machine.initial], array("h", [0])
        encoder = Encoder(machine)
        for number, state in enumerate(states, base):  # it grows
            depth = depths[number - base]
            if state.resolved or depth == most:
                self._next.extend([number] * len(self.choices))
                self._reward.extend([0] * len(self.choices))
                continue
            for choice in self.choices:
                move = machine.apply(state, choice)
                target = numbers.setdefault(move.state, base + len(states))
                if target == base + len(states):
                    states.append(move.state)
                    depths.append(depth + 1)
                    self._check(machine.ticket, base + len(states))
                self._next.append(target)
                self._reward.append(move.reward)
        self._depth.extend(depths)
        self._observations += b"".join(map(encoder.row, states))
        self._resolved += bytes(state.resolved for state in states)
        return base

    def _check(self, ticket: Ticket, states: int) -> None:
        if states * len(self.choices) > self._limit:
            raise TablesError(
                f"pack '{self.pack.name}' isn't tabled: with ticket '{ticket.id}' there would be more than "
                f"{self._limit:,} moves. Choose fewer tickets, or a greater limit"
            )

    def arrays(self) -> dict[str, Array]:
        """The arrays of `Tables` that go by state."""
        states = len(self._depth)
        next_state = np.frombuffer(self._next, np.int32).reshape(states, -1)
        reward = np.frombuffer(self._reward, np.int32).reshape(states, -1)
        depth = np.frombuffer(self._depth, np.int16)
        observation = np.frombuffer(self._observations, np.uint8).reshape(states, -1)
        resolved = np.frombuffer(self._resolved, np.bool_)
        over = resolved | (depth == self.pack.max_steps)
        return {
            "next_state": next_state,
            "reward": reward,
            "depth": depth,
            "observation": observation,
            "terminated": resolved[next_state],
            "action_mask": (~pointless(observation, next_state, reward, over)).astype(np.int8),
            "expert": best_actions(next_state, reward, depth, over, self.pack.max_steps),
        }


def _cases(made: _Rows, ticket: Ticket, seeds: tuple[int, ...] | None) -> Iterator[Case]:
    """The cases of a ticket, and on the way the automata that they share, each written down once."""
    pack = made.pack
    starts: dict[tuple[frozenset[str], Manner], int] = {}
    for seed in _telling(pack, ticket) if seeds is None else seeds:
        message, person = drawn(pack, ticket, seed)
        key = frozenset((*ticket.known, *message.known)), manner(ticket, person)
        if key not in starts:
            # One of its own: what an automaton keeps of its states is let go with it.
            starts[key] = made.add(Automaton(pack, ticket, *key))
        yield Case(ticket.id, seed, starts[key], make_case(pack, ticket.id, seed).message)


def _telling(pack: Pack, ticket: Ticket) -> Iterator[int]:
    """The least seed for each message with each person."""
    wanted = len(ticket.messages) * max(1, len(ticket.people))
    seen: set[tuple[int, str | None]] = set()
    for seed in range(_TRIES * wanted):
        message, person = drawn(pack, ticket, seed)
        key = id(message), person.name if person is not None else None
        if key not in seen:
            seen.add(key)
            yield seed
        if len(seen) == wanted:
            return
