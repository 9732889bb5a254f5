"""The finite state machine of a case: pure functions over immutable states, with no text in them.

Cases of one ticket that differ only in their words share an automaton. A state excludes the history and the step
count; rewards are integers in ten-thousandths (`engine.pack.REWARD_UNIT`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from engine.action import Choice, Mistake, action_space
from engine.pack import Effects, Pack, Rule, Scalar, Speaker, Text, Ticket, once
from engine.rules import Situation, pack_rules, same
from engine.template import Template
from engine.turns import Manner, Move, Source, scripts

INVALID = "invalid"
NO_EFFECT = "no_effect"


class Slot(NamedTuple):
    """What is known of one field: the turn that the next ask plays, and the value that was learned.

    `value` is "none", "right", "wrong" or "waived". `source` numbers the place in the pack that the known value comes
    from (0: none). `pointed` marks a wrong value that was pointed out.
    """

    turn: int
    value: str
    source: int
    pointed: bool


class State(NamedTuple):
    """`chosen` is the wrongly chosen category whose playbook shows; `asked` counts only until classification earns."""

    slots: tuple[Slot, ...]
    classified: str
    chosen: str | None
    earned: bool
    asked: bool
    facts: tuple[Scalar, ...]
    resolved: bool


class View(NamedTuple):
    """What of a state an agent may see. `known` pairs a field with the source of its value."""

    required: tuple[str, ...]
    missing: tuple[str, ...]
    progress: float
    known: tuple[tuple[str, int], ...]


class Applied(NamedTuple):
    """What an action does, before anything is said: `reward` in ten-thousandths, `then` the effects of its rule.

    `asked` is the slot asked for, `pointed` the slots whose wrong values were pointed out.
    """

    state: State
    reward: int
    outcome: str
    then: Effects
    asked: int | None
    pointed: tuple[int, ...]


class Transition(NamedTuple):
    """`reward` in ten-thousandths. What is said is the turn (slot, number) of a script, else `text`.

    A text that is a template still waits for the case's own values; `words` are the rest that it needs.
    """

    state: State
    reward: int
    outcome: str
    wasted: bool
    speaker: Speaker
    turn: tuple[int, int] | None
    text: Text
    words: Mapping[str, Any]


class _Meaning(NamedTuple):
    """What an action says whatever the state: the slot asked for, the category, and whether that is the right one."""

    asked: int | None
    category: Scalar | None
    judged: str
    parameters: Mapping[str, Scalar]


class _Standing(NamedTuple):
    """What rules and rewards count in a state: fields that are missing, wrong values not pointed out, and Phi."""

    missing: int
    wrong: int
    progress: int


class Automaton:
    """The machine of every case of `ticket` in which `known` fields are known at the start.

    `manner` says which turns of the customer's own come before each script.
    """

    def __init__(self, pack: Pack, ticket: Ticket, known: frozenset[str], manner: Manner) -> None:
        self.pack = pack
        self.ticket = ticket
        self.known = known
        self.manner = manner
        self.task = pack.tasks[ticket.task]
        self.actions = action_space(pack)
        self.fields = tuple(pack.fields)
        self.index = {name: index for index, name in enumerate(self.fields)}
        self._required = tuple(self.index[name] for name in ticket.required)
        self.missing_at_start = tuple(index for index in self._required if self.fields[index] not in known)
        needs = dict.fromkeys(ticket.optional, "optional") | dict.fromkeys(ticket.required, "required")
        self._need = [needs.get(name, "none") for name in self.fields]
        self.scripts, self.sources = scripts(pack, ticket, manner)
        self._rules = pack_rules(pack)
        self._meanings: dict[Choice, _Meaning] = {}
        self._fired: dict[Hashable, Rule | None] = {}
        self._transitions: dict[tuple[State, Choice], Transition] = {}
        self._views: dict[State, View] = {}
        self.kept: dict[Any, Any] = {}  # what was worked out about it (`engine.pack.once`)
        classified_pays = pack.rewards.classification if ticket.category is not None else 0
        self.greatest_progress = (pack.rewards.fields if self.missing_at_start else 0) + classified_pays
        self.goal_reward = pack.rewards.maximum - self.greatest_progress
        self.initial = self._initial(known)
        # Of the last state that was asked about: who explores takes every action in one state after the other.
        self._stood = self.initial, self._standing_in(self.initial)

    def __reduce__(self) -> tuple[Any, ...]:
        return Automaton, (self.pack, self.ticket, self.known, self.manner)

    def _initial(self, known: frozenset[str]) -> State:
        slots = []
        for name in self.fields:
            if name in known:
                slots.append(Slot(0, "right", len(self.sources), False))
                self.sources.append(Source(self.ticket.known.get(name), name))
            else:
                slots.append(Slot(0, "none", 0, False))
        facts = tuple(self.ticket.facts.get(name, fact.initial) for name, fact in self.pack.facts.items())
        # With no category there is nothing to classify: the ticket's own list shows from the start.
        classified = "none" if self.ticket.category is not None else "shown"
        return State(tuple(slots), classified, None, False, False, facts, False)

    @property
    def reads(self) -> bool:
        """Whether an agent has to read in order to classify."""
        return self.task.classifier == "agent" and self.ticket.category is not None

    def transition(self, state: State, choice: Choice | Mistake) -> Transition:
        """What a valid action, or a mistake, does in a state. Memoised for valid actions."""
        if isinstance(choice, Mistake):
            words = self.words(state, {"action": "", "field": "", **choice.words})
            text = _filled(self.pack.phrases[choice.phrase], words)
            return Transition(state, self.pack.rewards.waste, INVALID, True, "desk", None, text, words)
        key = (state, choice)
        found = self._transitions.get(key)
        if found is None:
            found = self._transitions[key] = self._spoken(state, choice)
        return found

    def reward(self, state: State, choice: Choice | Mistake) -> int:
        """The reward of an action in a state, in ten-thousandths."""
        return self.transition(state, choice).reward

    def terminated(self, state: State) -> bool:
        return state.resolved

    def truncated(self, state: State, steps: int) -> bool:
        return not state.resolved and steps >= self.pack.max_steps

    def observation(self, state: State) -> View:
        """The part of the observation that depends on the state alone; `engine.episode` adds the words."""
        view = self._views.get(state)
        if view is None:
            view = self._views[state] = self._view(state)
        return view

    def progress(self, state: State) -> int:
        """Phi in ten-thousandths: what n fields share telescopes to exactly `rewards.fields`."""
        total = len(self.missing_at_start)
        shared = self.pack.rewards.fields * self.collected(state) // total if total else 0
        return shared + (self.pack.rewards.classification if state.earned else 0)

    def collected(self, state: State) -> int:
        """How many of the fields missing at the start are rightly known or waived."""
        return sum(state.slots[index].value in ("right", "waived") for index in self.missing_at_start)

    def apply(self, state: State, choice: Choice) -> Applied:
        """What a valid action does in a state: the transition without its words."""
        meaning = self._meanings.get(choice) or self._meaning(choice)
        standing = self._standing(state)
        rule = self._rule(state, choice, meaning, standing)
        outcome, then = (rule.outcome, rule.then) if rule else (f"{choice.type}.{NO_EFFECT}", Effects(waste=True))
        after, pointed = self._after(state, then, meaning)
        reward = self.pack.rewards.waste if then.waste else 0
        if after is not state:
            reward += self.progress(after) - standing.progress + (self.goal_reward if after.resolved else 0)
        return Applied(after, reward, outcome, then, meaning.asked, pointed)

    def _meaning(self, choice: Choice) -> _Meaning:
        action, parameters = self.pack.actions[choice.type], dict(choice.parameters)
        name = parameters.get(action.asks) if action.asks is not None else None
        asked = self.index[name] if isinstance(name, str) else None
        category = parameters.get(action.classifies) if action.classifies is not None else None
        judged = "absent" if category is None else "right" if category == self.ticket.category else "wrong"
        return self._meanings.setdefault(choice, _Meaning(asked, category, judged, parameters))

    def _standing(self, state: State) -> _Standing:
        last, standing = self._stood
        if last is not state:
            standing = self._standing_in(state)
            self._stood = state, standing
        return standing

    def _standing_in(self, state: State) -> _Standing:
        missing = sum(self._lacking(state.slots[index]) for index in self._required)
        return _Standing(missing, len(self._mistaken(state)), self.progress(state))

    def _rule(self, state: State, choice: Choice, meaning: _Meaning, standing: _Standing) -> Rule | None:
        """The rule that fires. It is kept by all that rules may look at."""
        missing, wrong, _ = standing
        asked, need, value, reply = meaning.asked, "none", "none", "none"
        if asked is not None:
            need, value, reply = self._need[asked], state.slots[asked].value, self._move(state, asked).kind
        key = (choice, value, reply, state.classified, missing, wrong, state.facts)
        if key not in self._fired:
            goal = "met" if self.goal_met(state.facts) else "unmet"
            facts = dict(zip(self.pack.facts, state.facts, strict=True))
            known = need, value, reply, meaning.judged, state.classified, self.task.classifier, missing, wrong, goal
            self._fired[key] = self._rules[choice.type](Situation(*known, facts, meaning.parameters))
        return self._fired[key]

    def _spoken(self, state: State, choice: Choice) -> Transition:
        done = self.apply(state, choice)
        action, after, then = self.pack.actions[choice.type], done.state, done.then
        shown = self.observation(after).required
        words = self.words(
            after,
            {
                "action": action.name,
                "field": self.fields[done.asked] if done.asked is not None else "",
                "category": self._spoken_category(after, dict(choice.parameters).get(action.classifies or "")),
                "wrong": [self.fields[index] for index in done.pointed if self.fields[index] in shown],
            },
        )
        turn, text = self._said(state, done.outcome, done.asked if then.learn else None, then.say)
        text = _filled(text, words)
        return Transition(after, done.reward, done.outcome, then.waste, action.speaker, turn, text, words)

    def _after(self, state: State, then: Effects, meaning: _Meaning) -> tuple[State, tuple[int, ...]]:
        """The state after a rule's effects, and the fields whose wrong values were pointed out."""
        asked = meaning.asked
        if asked is not None and self.task.classifier == "agent" and state.classified == "none":
            state = state._replace(asked=True)
        if then.learn and asked is not None:
            state = self._learned(state, asked)
        if then.classify:
            state = self._classified(state, meaning)
        if then.set:
            facts = zip(self.pack.facts, state.facts, strict=True)
            state = state._replace(facts=tuple(then.set.get(name, value) for name, value in facts))
        pointed = self._mistaken(state) if then.point_out else ()
        if pointed:
            slots = (slot._replace(pointed=slot.pointed or index in pointed) for index, slot in enumerate(state.slots))
            state = state._replace(slots=tuple(slots))
        if then.resolve and self._finished(state):
            state = state._replace(resolved=True)
        return state, pointed

    def _move(self, state: State, index: int) -> Move:
        moves = self.scripts[index].moves
        return moves[state.slots[index].turn] if moves else Move("none", ())

    def _learned(self, state: State, asked: int) -> State:
        slots = list(state.slots)
        move = self._move(state, asked)
        for given in move.gives:
            old = slots[given.slot]
            value = "wrong" if given.wrong else "right"
            # A wrong value that was pointed out and is only repeated stays pointed out.
            pointed = given.wrong and old.pointed and old.source == given.source
            slots[given.slot] = Slot(old.turn, value, given.source, pointed)
        turn, value, source, pointed = slots[asked]
        if move.kind == "waive" and value != "right":
            value, pointed = "waived", False
        last = max(len(self.scripts[asked].moves) - 1, 0)
        slots[asked] = Slot(min(turn + 1, last), value, source, pointed)
        return State(tuple(slots), *state[1:])

    def _classified(self, state: State, meaning: _Meaning) -> State:
        if meaning.judged == "wrong":
            hidden = self.task.required == "after_classify"
            return state._replace(classified="wrong", chosen=str(meaning.category) if hidden else None, asked=False)
        told = meaning.judged == "right" or self.task.classifier == "desk"
        first = state.classified == "none" and not state.asked
        return state._replace(
            classified="right" if told else "shown", chosen=None, earned=state.earned or (told and first), asked=False
        )

    def _lacking(self, slot: Slot) -> bool:
        return slot.value == "none" or slot.pointed

    def _mistaken(self, state: State) -> tuple[int, ...]:
        """The required fields that hold a wrong value not yet pointed out."""
        slots = state.slots
        return tuple(index for index in self._required if slots[index].value == "wrong" and not slots[index].pointed)

    def goal_met(self, facts: tuple[Scalar, ...]) -> bool:
        """Whether the pack's facts are what the ticket's goal asks for."""
        values = dict(zip(self.pack.facts, facts, strict=True))
        return all(same(values[name], value) for name, value in self.ticket.goal.items())

    def _finished(self, state: State) -> bool:
        complete = all(state.slots[index].value in ("right", "waived") for index in self._required)
        return complete and self.goal_met(state.facts)

    def _said(
        self, state: State, outcome: str, learned: int | None, say: Text | None
    ) -> tuple[tuple[int, int] | None, Text]:
        """The turn that is played, if it has or means words of its own, else the rule's text, else a phrase."""
        if say is not None:
            return None, say
        phrases = self.pack.phrases
        if learned is not None:
            if not self.scripts[learned].moves:
                return None, phrases["unanswered"]
            turn = state.slots[learned].turn
            return (learned, turn), ""
        return None, phrases.get(outcome, phrases[NO_EFFECT])

    def _spoken_category(self, state: State, chosen: Scalar | None) -> str:
        if state.classified in ("right", "shown"):
            return self.ticket.category or ""
        return str(chosen if chosen is not None else state.chosen or "")

    def words(self, state: State, words: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a text may hold in a state besides fields: facts, lists of fields, and these words."""
        view = self.observation(state)
        facts = dict(zip(self.pack.facts, state.facts, strict=True))
        lists = {"required": list(view.required), "missing": list(view.missing)}
        return {"category": "", "wrong": [], **facts, **lists, **words}

    def _view(self, state: State) -> View:
        hidden = self.task.required == "after_classify" and state.classified == "none"
        required: tuple[str, ...] = () if hidden else self.ticket.required
        if state.chosen is not None:
            required = self.pack.categories[state.chosen].requires
        missing = tuple(name for name in required if self._lacking(state.slots[self.index[name]]))
        known = tuple((name, slot.source) for name, slot in zip(self.fields, state.slots, strict=True) if slot.source)
        progress = 1 - len(missing) / len(required) if required else float(not hidden)
        return View(required, missing, progress, known)


def _filled(text: Text, words: Mapping[str, Any]) -> Text:
    """The text with its names filled in, unless some of them are the case's own."""
    if isinstance(text, Template) and not text.fields and text.plain <= words.keys():
        return text.render(words)
    return text


def automaton(pack: Pack, ticket_id: str, known: frozenset[str], manner: Manner) -> Automaton:
    """The one automaton of a ticket's cases with these fields known at the start and customers of this manner."""
    return _automata(pack)(ticket_id, known, manner)


@once
def _automata(pack: Pack) -> Callable[[str, frozenset[str], Manner], Automaton]:
    @lru_cache(maxsize=8192)
    def made(ticket_id: str, known: frozenset[str], manner: Manner) -> Automaton:
        return Automaton(pack, pack.tickets[ticket_id], known, manner)

    return made
