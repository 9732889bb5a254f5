"""Which fields of an automaton are interchangeable: same need, same script, nothing said about other fields, no rule
that tells them apart.

States that differ only by interchangeable fields have the same future but for names. They share a representative.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.action import Choice, action_space
from engine.automaton import Automaton, Slot, State
from engine.pack import Pack, once
from engine.rules import Test, parameter_tests


class Symmetry:
    """The interchangeable slots of an automaton, and the representatives of states that are alike."""

    def __init__(self, machine: Automaton) -> None:
        self._machine = machine
        self.related = frozenset(
            index
            for under, script in enumerate(machine.scripts)
            for move in script.moves
            for given in move.gives
            if given.slot != under
            for index in (given.slot, under)
        )
        self._tests = _tests(machine.pack)
        groups: dict[Hashable, list[int]] = {}
        for index in range(len(machine.scripts)):
            groups.setdefault(self.kind(index), []).append(index)
        self._groups = groups
        self._shared = [group for group in groups.values() if len(group) > 1]
        self.leader = {index: group[0] for group in groups.values() for index in group}

    def kind(self, index: int) -> Hashable:
        """What makes slots alike; a related slot is like no other."""
        machine = self._machine
        name, moves = machine.fields[index], machine.scripts[index].moves
        ticket, named = machine.ticket, tuple(test(name) for test in self._tests.fields)
        need = (name in ticket.required, name in ticket.optional, machine.initial.slots[index].value, named)
        if index in self.related:
            return (*need, index, tuple((move.kind, tuple((g.slot, g.wrong) for g in move.gives)) for move in moves))
        return (*need, tuple(move.kind for move in moves))

    def shape(self) -> Hashable:
        """What decides all that can come of an automaton but the names: automata of one shape are looked at once."""
        machine = self._machine
        ticket = machine.ticket
        slots = sorted(repr(self.kind(index)) for index in range(len(machine.scripts)))
        goal = tuple((name, type(value), value) for name, value in ticket.goal.items())
        facts = tuple((type(value), value) for value in machine.initial.facts)
        told = ticket.category is not None, *(test(ticket.category) for test in self._tests.categories)
        return told, machine.task, machine.initial.classified, tuple(slots), facts, goal

    def counterpart(self, other: Symmetry) -> Callable[[Choice], Choice]:
        """For an automaton of the same shape: the action that does in it what an action does in this one."""
        machine, theirs = self._machine, other._machine
        names = {
            machine.fields[mine]: theirs.fields[its]
            for kind, group in self._groups.items()
            for mine, its in zip(group, other._groups[kind], strict=True)
        }
        right, its_right = machine.ticket.category, theirs.ticket.category
        categories = {right: its_right, its_right: right}

        def renamed(choice: Choice) -> Choice:
            action = machine.pack.actions[choice.type]
            values: dict[str | None, Mapping[Any, Any]] = {action.asks: names, action.classifies: categories}
            pairs = ((name, values.get(name, {}).get(value, value)) for name, value in choice.parameters)
            return choice._replace(parameters=tuple(pairs))

        return renamed

    def canonical(self, state: State) -> State:
        """The representative of all states that differ only by interchangeable fields or by what is shown."""
        slots = [self._local(slot, index) for index, slot in enumerate(state.slots)]
        for group in self._shared:
            for index, slot in zip(group, sorted(slots[index] for index in group), strict=True):
                slots[index] = slot
        absolute = (
            slot._replace(source=slot.source + self._base(i)) if slot.source else slot for i, slot in enumerate(slots)
        )
        return state._replace(slots=tuple(absolute), chosen=None)

    def alike(self, state: State) -> dict[Hashable, list[Choice]]:
        """The valid choices, those that ask for interchangeable fields in the same state together."""
        groups: dict[Hashable, list[Choice]] = {}
        actions = self._machine.pack.actions
        for choice in action_space(self._machine.pack).choices:
            asks = actions[choice.type].asks
            name = dict(choice.parameters).get(asks) if asks is not None else None
            key: Hashable = choice
            if name is not None:
                index = self._machine.index[str(name)]
                others = tuple(pair for pair in choice.parameters if pair[0] != asks)
                key = (choice.type, others, self.leader[index], self._local(state.slots[index], index))
            groups.setdefault(key, []).append(choice)
        return groups

    def _local(self, slot: Slot, index: int) -> Slot:
        """A slot with no more of its source than matters: which wrong value of its own script was given."""
        source = slot.source - self._base(index) if slot.value == "wrong" else 0
        return slot if source == slot.source else slot._replace(source=source)

    def _base(self, index: int) -> int:
        if index in self.related:
            return 0
        moves = self._machine.scripts[index].moves
        return next((given.source - 1 for move in moves for given in move.gives), 0)


@dataclass(frozen=True, slots=True)
class _Tests:
    """What rules ask of the name of a field that is asked for, or of a category that is chosen."""

    fields: tuple[Test, ...]
    categories: tuple[Test, ...]


@once
def _tests(pack: Pack) -> _Tests:
    found = [
        (action, name, test)
        for action in pack.actions.values()
        for rule in action.rules
        for name, test in parameter_tests(rule)
    ]
    return _Tests(
        tuple(test for action, name, test in found if name == action.asks),
        tuple(test for action, name, test in found if name == action.classifies),
    )
