"""A pack, as the engine sees it: fields, categories, people, actions, rules, rewards and tickets, all immutable.

Everything here is data that has already been validated. `load_pack` reads it from disk. A `place` is where something
is written, None where nobody wrote it: in the contract, or nowhere.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import wraps
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeVar

from engine.diagnostics import Place
from engine.template import Template

Scalar = str | int | bool
Text = str | Template
Speaker = Literal["customer", "desk"]
Split = Literal["train", "validation", "test"]
Severity = Literal["error", "warning", "ignore"]
Grader = Callable[[Any], float]

# Rewards are integers in ten-thousandths, so that sums are exact; a float appears only on the wire.
REWARD_UNIT = 10_000


@dataclass(frozen=True, slots=True)
class Field:
    """One thing a customer can be asked for.

    `schema` is the JSON Schema fragment a right value meets; `sample` is a pattern ('#' a digit, '?' a capital
    letter, '\\' takes the next character as it is) or a tuple of literal values to choose from.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    sample: str | tuple[str, ...] | None = None
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Category:
    name: str
    description: str
    requires: tuple[str, ...]
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Noise:
    """What a customer says besides, before or after what a turn says: in one turn of `one_in`, on average."""

    before: tuple[Text, ...] = ()
    after: tuple[Text, ...] = ()
    one_in: int = 1
    place: Place | None = field(default=None, compare=False)

    @property
    def texts(self) -> tuple[Text, ...]:
        return (*self.before, *self.after)


@dataclass(frozen=True, slots=True)
class Person:
    """A reusable behaviour. Before each of the customer's answers come `refuses` refusals, each of which says one of
    `refuses_with`, then `stalls` stalls, each of which says one of `says`; `noise`, unless it is None, takes the place
    of the pack's. All of this under `fields` only; None: under every field."""

    name: str
    description: str
    stalls: int = 0
    says: tuple[Text, ...] = ()
    refuses: int = 0
    refuses_with: tuple[Text, ...] = ()
    fields: tuple[str, ...] | None = None
    noise: Noise | None = None
    place: Place | None = field(default=None, compare=False)

    @property
    def texts(self) -> tuple[Text, ...]:
        """All that this person says of their own."""
        return (*self.refuses_with, *self.says, *(self.noise.texts if self.noise is not None else ()))

    def behaves_under(self, field: str) -> bool:
        return self.fields is None or field in self.fields


@dataclass(frozen=True, slots=True)
class Given:
    """A value a turn gives for `field`; `wrong` marks one that isn't true."""

    field: str
    value: Text
    wrong: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a customer's script under a field.

    `say` is what is said, or None where the default phrase for `kind` is meant. `gives` are all values learned by
    it, the field's own first. `kind` is what the rules call `reply`.
    """

    say: Text | None
    kind: Literal["value", "wrong", "stall", "refusal", "waive"]
    gives: tuple[Given, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """An opening message; `known` names the fields that this wording states."""

    text: Text
    known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ticket:
    """A template for cases.

    `answers` maps a field to its turns. A field with a sample and no turns of its own answers with the drawn
    value. `facts` are this ticket's initial values where they differ from the pack's; `goal` maps facts to the
    values that they must have before the ticket can be resolved. `split` is None where the ticket names none.
    """

    id: str
    task: str
    category: str | None
    messages: tuple[Message, ...]
    required: tuple[str, ...]
    optional: tuple[str, ...]
    known: Mapping[str, Text]
    answers: Mapping[str, tuple[Turn, ...]]
    facts: Mapping[str, Scalar]
    goal: Mapping[str, Scalar]
    people: tuple[str, ...]
    split: Split | None
    place: Place = field(compare=False)

    def right_values(self) -> dict[str, tuple[Text, str]]:
        """Where each field's right value is written, and under which field: what is known, else the last right value
        of its own script, else the last one that the first other script gives. A field with none is left out."""
        own: dict[str, tuple[Text, str]] = {}
        others: dict[str, tuple[Text, str]] = {}
        for under, turns in self.answers.items():
            for given in (given for turn in turns for given in turn.gives if not given.wrong):
                if given.field == under:
                    own[under] = (given.value, under)
                elif others.get(given.field, ("", under))[1] == under:
                    others[given.field] = (given.value, under)
        return others | own | {name: (text, name) for name, text in self.known.items()}


@dataclass(frozen=True, slots=True)
class Fact:
    """A piece of the pack's own state: finitely many values, one of them initial."""

    name: str
    values: tuple[Scalar, ...]
    initial: Scalar


@dataclass(frozen=True, slots=True)
class Effects:
    """What a rule does when it fires. `say` None means the phrase named like the outcome."""

    learn: bool = False
    classify: bool = False
    waste: bool = False
    point_out: bool = False
    resolve: bool = False
    set: Mapping[str, Scalar] = field(default_factory=dict)
    say: Text | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """`outcome` is the full name, `ask_info.answered`. `when` is matched as `engine.rules` says."""

    outcome: str
    when: Mapping[str, Any]
    then: Effects
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter with finitely many values, in the order in which they were written."""

    name: str
    description: str
    type: Literal["string", "integer", "boolean"]
    enum: tuple[Scalar, ...]
    required: bool = True


@dataclass(frozen=True, slots=True)
class Action:
    """`asks` / `classifies` name the parameter that holds a field / a category, where the action has one."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    rules: tuple[Rule, ...]
    speaker: Speaker = "desk"
    asks: str | None = None
    classifies: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """`classifier` is who knows the category; `required` is when the requirements are visible."""

    id: str
    description: str
    difficulty: str
    grader: Grader
    classifier: Literal["desk", "agent"]
    required: Literal["always", "after_classify"]


@dataclass(frozen=True, slots=True)
class Rewards:
    """In ten-thousandths. `maximum` and `minimum` are the reward range; `waste` is 0 or less."""

    fields: int
    classification: int
    waste: int
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class Demands:
    """What a pack, or somebody who proves it, asks of the checks P01 to P11 where it isn't what is asked by default.

    By code: a margin in reward units, and how grave it is where a check fails.
    """

    margins: Mapping[str, Fraction] = field(default_factory=dict)
    severities: Mapping[str, Severity] = field(default_factory=dict)

    def over(self, others: Demands) -> Demands:
        """These demands, and of the others those about which these say nothing."""
        return Demands({**others.margins, **self.margins}, {**others.severities, **self.severities})


@dataclass(frozen=True, slots=True)
class Expectation:
    """What is expected of an answer: its parts by name, as `engine.expected` compares them.

    A text in it may be a template. `places` are where the parts are written.
    """

    parts: Mapping[str, Any] = field(default_factory=dict)
    places: Mapping[str, Place] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class ScriptedStep:
    """One step of a pack's own test: the raw action, and what is expected of the answer."""

    do: Mapping[str, Any]
    expect: Expectation
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class AnyOrder:
    """Steps that may be taken in any order; `expect` is about the answer to the last one, whichever it is."""

    steps: tuple[ScriptedStep, ...]
    expect: Expectation
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class ScriptedTest:
    """A test of the pack's own, of one case for each of `seeds`."""

    name: str
    ticket: str
    seeds: tuple[int, ...]
    steps: tuple[ScriptedStep | AnyOrder, ...]
    final: Expectation
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Pack:
    """A validated pack, completed with the contract and the default rules.

    Mappings keep the order in which things were written; it is part of the digest. Packs compare by identity: equal
    content is equal `digest`. `source` is the document as JSON: what `engine.load.rebuild` makes the pack of again.
    `kept` is what was worked out about it (`once`). Pickled it goes without that; a deep copy is the pack itself.
    """

    name: str
    version: str
    language: str
    description: str
    digest: str
    instructions: str
    max_steps: int
    rewards: Rewards
    fields: Mapping[str, Field]
    categories: Mapping[str, Category]
    people: Mapping[str, Person]
    noise: Noise
    facts: Mapping[str, Fact]
    actions: Mapping[str, Action]
    tasks: Mapping[str, Task]
    phrases: Mapping[str, Text]
    tickets: Mapping[str, Ticket]
    tests: tuple[ScriptedTest, ...]
    demands: Demands
    source: str = field(repr=False)
    place: Place = field(compare=False)
    max_steps_place: Place | None = field(compare=False)
    kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return Pack, tuple(getattr(self, each.name) for each in fields(self) if each.init)

    def __deepcopy__(self, memo: Any) -> Pack:
        return self


def _read_only(mapping: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(mapping)


# The mappings of a pack are views, which nobody pickles or copies unless told how.
copyreg.dispatch_table[MappingProxyType] = lambda view: (_read_only, (dict(view),))


class Keeper(Protocol):
    """A pack, or what was made of one."""

    @property
    def kept(self) -> dict[Any, Any]: ...


K = TypeVar("K", bound=Keeper)
T = TypeVar("T")


def once(function: Callable[[K], T]) -> Callable[[K], T]:
    """Works something out once and lets the object itself keep it: a cache beside it would keep the object alive."""

    @wraps(function)
    def found(keeper: K) -> T:
        known: T = keeper.kept.get(function, _UNKNOWN)
        return keeper.kept.setdefault(function, function(keeper)) if known is _UNKNOWN else known

    return found


_UNKNOWN: Any = object()
