"""P08: every reachable state's observation, and every history item, is valid under the contract.

Where the schema looks at the types of a part alone, as the contract's own does, the part is valid or not whatever its
words: a few observations that between them have it in every form that an episode of the pack may bring about stand for
all. If these are valid, nothing more has to be looked at. Numbers, the status, roles and steps may be asked for more
than their types: all values that they can have are tried.

Where that doesn't show it, every ticket is walked through: all its states as they are, none merged, in each all valid
actions; and where it is about what goes on with the steps, all that after each number of steps. So every pair of a
state and a step count, and every history item with every step, is part of an observation that is validated. What may
still escape is what is drawn, where the schema looks at words, and histories as a whole, where it looks at these: a
ticket is not proved then, unless a fault was found. Agents' mistakes are without number: those that are tried have each
name that the pack or the schema knows, with a value of every kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator

from engine.action import action_space
from engine.automaton import Automaton
from engine.case import Case, make_case
from engine.episode import Episode
from engine.openings import is_structural
from engine.pack import Pack
from engine.proof.result import Check, Counterexample
from engine.proof.wording import Wording
from engine.solve import Budget, OverBudget

# How many seeds are tried, for each of a ticket's messages and people, until all have come up.
_TRIES = 64
# A value of every kind, for mistakes.
_VALUES: tuple[Any, ...] = ("?", 0, 0.5, True, {}, {"?": 0}, [], ["?"], [0])
# Parts of an observation, and of a history item, of which all values are tried.
_FEW, _FEW_OF_ITEMS = ("info_progress", "status", "step_count", "remaining_steps"), ("role", "step")
# Parts that stay as they are at the start.
_AT_THE_START = frozenset({"ticket_id", "customer_message"})
# The longest that is quoted of what is wrong.
_LONGEST = 200


class Observations:
    """Validates what agents may see of a pack under the contract's observation space, a JSON Schema."""

    def __init__(self, pack: Pack, space: Mapping[str, Any], budget: int) -> None:
        self._pack, self._budget = pack, budget
        self._validator = Draft202012Validator(dict(space))
        self._actions = [choice.canonical() for choice in action_space(pack).choices]
        self._mistakes = [*_mistakes(pack, space)]
        self._wording = Wording(pack, space)
        self._doubtful = self._in_doubt(space)
        self._of_history = self._doubtful == frozenset({"history"})
        self._by_step = self._doubtful is None or bool(self._doubtful & {"history", *_FEW})

    def check(self, machine: Automaton) -> Check | None:
        """What is wrong with a variant of a ticket, or why that isn't known; None where nothing is."""
        if self._doubtful == frozenset():
            return None
        ticket, budget = machine.ticket, Budget(self._budget)
        for case in _cases(machine, bool(self._wording.judged)):
            try:
                found = self._walk(case, budget)
            except OverBudget:
                message = f"ticket '{ticket.id}' has more than {self._budget:,} different observations"
                return Check("P08", "not proved", ticket.id, message, ticket.place)
            if found is not None:
                episode, error = found
                when = f"after step {episode.step_count}" if episode.steps else "at the start"
                message = f"ticket '{ticket.id}' breaks the contract {when}, at {error}"
                shown = Counterexample(ticket.id, case.seed, episode.actions)
                return Check("P08", "fails", ticket.id, message, ticket.place, shown)
        escaped = self._wording.escaped(ticket)
        if escaped is None:
            return None
        message = f"ticket '{ticket.id}' shows nothing that breaks the contract so far, but {escaped}"
        return Check("P08", "not proved", ticket.id, message, ticket.place)

    def _walk(self, case: Case, budget: Budget) -> tuple[Episode, str] | None:
        """A shortest episode that shows something invalid, and what is wrong with it."""
        start = Episode.start(case)
        error = self._error(start)
        if error is not None:
            return start, error
        if self._doubtful is not None and self._doubtful <= _AT_THE_START:
            return None
        queue, seen = [start], {self._standing(start)}
        for episode in queue:
            if episode.done:
                continue
            # A mistake changes nothing, so it shows the same wherever it is made.
            mistakes = self._mistakes if episode.state == start.state else []
            for index, action in enumerate((*self._actions, *mistakes)):
                budget.spend()
                after = episode.step(action)
                at = self._standing(after)
                said = (after.step_count, index, after.steps[-1].text) if self._by_step else at
                if said not in seen or (at not in seen and not self._of_history):
                    error = self._error(after)
                    if error is not None:
                        return after, error
                if at not in seen:
                    queue.append(after)
                seen |= {at, said}
        return None

    def _standing(self, episode: Episode) -> tuple[object, ...]:
        return (episode.state, episode.step_count) if self._by_step else (episode.state,)

    def _error(self, episode: Episode) -> str | None:
        error = next(self._validator.iter_errors(episode.observation), None)
        if error is None:
            return None
        message = error.message if len(error.message) <= _LONGEST else error.message[:_LONGEST] + "…"
        return f"{error.json_path}: {message}"

    def _in_doubt(self, space: Mapping[str, Any]) -> frozenset[str] | None:
        """The parts of which a few forms don't show that they are always valid; None where it isn't part by part."""
        forms = [*self._every_form()]

        def shown(properties: Mapping[str, Any]) -> bool:
            schema = {**space, "properties": properties}
            return is_structural(_without_the_few(schema)) and all(map(Draft202012Validator(schema).is_valid, forms))

        properties = space.get("properties", {})
        anything = dict.fromkeys(properties, True)
        if not shown(anything):
            return None
        return frozenset(name for name, schema in properties.items() if not shown({**anything, name: schema}))

    def _every_form(self) -> Iterator[dict[str, Any]]:
        """Observations that between them have every part in every form that a schema of types can tell apart."""
        pack = self._pack
        start = Episode.start(make_case(pack, next(iter(pack.tickets)), 0))
        names, most = [*pack.fields], pack.max_steps
        items = start.history
        for action in (*self._actions_by_form(), *self._mistakes):
            items += start.step(action).exchange(1)
        items += [{**item, "step": step} for item in items[-2:] for step in range(1, most + 1)]
        empty = {**start.observation, "known_info": {}, "required": [], "missing_required": []}
        yield empty
        known = dict.fromkeys(names, "")
        yield {**empty, "history": items, "known_info": known, "required": names, "missing_required": names}
        yield from ({**empty, "status": status} for status in ("open", "resolved"))
        yield from ({**empty, "step_count": step, "remaining_steps": most - step} for step in range(most + 1))
        lists = (*pack.tickets.values(),), (*pack.categories.values(),)
        sizes = {len(ticket.required) for ticket in lists[0]} | {len(category.requires) for category in lists[1]}
        shares = {1 - missing / size for size in sizes if size for missing in range(size + 1)} | {0.0, 1.0}
        yield from ({**empty, "info_progress": share} for share in sorted(shares))

    def _actions_by_form(self) -> list[dict[str, Any]]:
        """A valid action for every combination of names and types."""
        forms = {
            tuple((name, name == "type" and value, type(value)) for name, value in action.items()): action
            for action in self._actions
        }
        return [*forms.values()]


def _without_the_few(space: Mapping[str, Any]) -> dict[str, Any]:
    """A schema that says nothing of the parts of which all values are tried."""
    properties = {**space.get("properties", {}), **dict.fromkeys(_FEW, True)}
    history = properties.get("history")
    items = history.get("items") if isinstance(history, Mapping) else None
    if isinstance(history, Mapping) and isinstance(items, Mapping):
        inner = {**items.get("properties", {}), **dict.fromkeys(_FEW_OF_ITEMS, True)}
        properties["history"] = {**history, "items": {**items, "properties": inner}}
    return {**space, "properties": properties}


def _cases(machine: Automaton, words: bool) -> Iterator[Case]:
    """A case of an automaton; where words matter, one for each message and person, and for all that people say."""
    pack, ticket = machine.pack, machine.ticket
    plain = {message.text for message in ticket.messages if isinstance(message.text, str)}
    seen: set[object] = set()
    for seed in range(_TRIES * len(ticket.messages) * max(1, len(ticket.people))):
        case = make_case(pack, ticket.id, seed)
        if case.automaton is not machine:
            continue
        if not words:
            yield case
            return
        kinds = {(case.message in plain and case.message, case.person and case.person.name), *_of_people(case)}
        if not kinds <= seen:
            seen |= kinds
            yield case


def _of_people(case: Case) -> Iterator[object]:
    """What of a case people say of their own, and noise."""
    for slot, script in enumerate(case.automaton.scripts):
        for number in range(len(script.turns)):
            yield case.noise((slot, number))
            yield case.own_words((slot, number))


def _mistakes(pack: Pack, space: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Actions that aren't valid, or hardly any is."""
    declared = {parameter.name for action in pack.actions.values() for parameter in action.parameters}
    yield {}
    yield from ({"type": value} for value in _VALUES)
    for name in sorted({"?", *declared, *_names(space)} - {"type"}):
        yield from ({"type": next(iter(pack.actions)), name: value} for value in _VALUES)


def _names(schema: Any) -> Iterator[str]:
    """Every name that a schema speaks of."""
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key == "properties" and isinstance(value, Mapping):
                yield from value
            if key == "required" and isinstance(value, list):
                yield from value
            yield from _names(value)
    elif isinstance(schema, list | tuple):
        for value in schema:
            yield from _names(value)
