"""Which fields of an automaton are interchangeable: same need, same script, nothing said about other fields, no rule
that tells them apart. So are wrong categories that no rule tells apart.

States that differ only by interchangeable fields have the same future but for names. They share a representative.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
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
        self._bases = [self._base(index) for index in range(len(machine.scripts))]
        leader = {index: group[0] for group in groups.values() for index in group}
        first: dict[Hashable, str] = {}
        asked = ((name, tuple(test(name) for test in self._tests.categories)) for name in machine.pack.categories)
        leading = {name: first.setdefault(tests, name) for name, tests in asked}
        # For each slot, the first that is like it, and for each category the first that no rule tells from it.
        self.leaders = leader, leading

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
        # Of a source no more matters than which wrong value it is.
        slots = [
            slot if not slot.source or slot.value == "wrong" else Slot(slot.turn, slot.value, 0, slot.pointed)
            for slot in state.slots
        ]
        for group in self._shared:
            for index, slot in zip(group, sorted(self._local(slots[index], index) for index in group), strict=True):
                slots[index] = slot._replace(source=slot.source + self._bases[index]) if slot.source else slot
        return state._replace(slots=tuple(slots), chosen=None)

    def alike(self, state: State) -> dict[Hashable, list[Choice]]:
        """The valid choices, those together that do the same but for names."""
        groups: dict[Hashable, list[Choice]] = {}
        for choice, key, index in self._choices:
            found: Hashable = key if index is None else (key, self._local(state.slots[index], index))
            groups.setdefault(found, []).append(choice)
        return groups

    @cached_property
    def _choices(self) -> list[tuple[Choice, int, int | None]]:
        """Each valid choice, a number for what is alike but for what is known, and the index of the field asked for."""
        machine, (fields, categories) = self._machine, self.leaders
        keys: dict[Hashable, int] = {}
        found = []
        for choice in action_space(machine.pack).choices:
            action, parameters = machine.pack.actions[choice.type], dict(choice.parameters)
            name = parameters.pop(action.asks, None) if action.asks is not None else None
            category = parameters.pop(action.classifies, None) if action.classifies is not None else None
            index = machine.index[str(name)] if name is not None else None
            judged = (category == machine.ticket.category, categories[str(category)]) if category is not None else None
            key = (choice.type, *parameters.items(), judged, fields[index] if index is not None else None)
            found.append((choice, keys.setdefault(key, len(keys)), index))
        return found

    def _local(self, slot: Slot, index: int) -> Slot:
        """A slot with no more of its source than matters: which wrong value of its own script was given."""
        if not slot.source:
            return slot
        return slot._replace(source=slot.source - self._bases[index] if slot.value == "wrong" else 0)

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
