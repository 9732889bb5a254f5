"""The names that a pack declares, as far as they can be read: of a draft, whatever else is wrong with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from engine.automaton import INVALID, NO_EFFECT
from engine.build import contract_fields, default_rules, pack_validator
from engine.build_actions import MISTAKE_PHRASES, TURN_PHRASES, ActionBuilder
from engine.contract import Contract
from engine.diagnostics import Report
from engine.nodes import Map, entries, items, string
from engine.pack import Action, Scalar
from engine.schema import check
from engine.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Names:
    """A pack's own names and the contract's, most of them with what is said of each.

    `asking` and `classifying` are the actions that do so, `sayable` the phrases that there are, `phrases` those that
    there may be. `unsure` are the sections in which there may be more names.
    """

    pack: str
    fields: Mapping[str, str]
    categories: Mapping[str, str]
    people: Mapping[str, str]
    facts: Mapping[str, tuple[Scalar, ...]]
    actions: Mapping[str, Action]
    asking: Collection[str]
    classifying: Collection[str]
    tasks: Mapping[str, str]
    phrases: Mapping[str, str]
    sayable: Collection[str]
    outcomes: Collection[str]
    tickets: Collection[str]
    unsure: Collection[str]

    def sure(self, *sections: str) -> bool:
        """Whether all names in these sections are known."""
        return not any(section in self.unsure for section in sections)


def names_in(document: Map, unread: Collection[str], contract: Contract) -> Names:
    """The names in a document; `unread` are the sections in which there may be more. What the pack's schema refuses is
    taken out of the document."""
    report, defaults = Report(), default_rules()
    refused = check(document, pack_validator(), report, not unread)
    refused.paths |= {(section,) for section in unread}
    vocabulary = Vocabulary(document, contract, contract_fields(contract, defaults), refused, report)
    builder = ActionBuilder(document, defaults, vocabulary)
    actions = builder.actions(contract.actions)
    outcomes = {rule.outcome: None for action in actions.values() for rule in action.rules}
    default_phrases = entries(defaults, "phrases")
    phrases = [*default_phrases, *outcomes, *sorted(TURN_PHRASES), *MISTAKE_PHRASES, *sorted(builder.named_phrases())]
    bindings = {**entries(document, "actions"), **entries(defaults, "actions")}
    return Names(
        pack=string(document, "pack"),
        fields={name: field.description for name, field in vocabulary.fields.items()},
        categories={name: category.description for name, category in vocabulary.categories.items()},
        people={name: person.description for name, person in vocabulary.people.items()},
        facts={name: fact.values for name, fact in vocabulary.facts.items()},
        actions=actions,
        asking=_those_with("asks", bindings),
        classifying=_those_with("classifies", bindings),
        tasks={task.id: task.description for task in contract.tasks},
        phrases={name: _words(default_phrases.get(name)) for name in phrases if name},
        sayable=tuple(builder.phrases),
        outcomes=(*outcomes, *(f"{name}.{NO_EFFECT}" for name in actions), INVALID),
        tickets=tuple(dict.fromkeys(string(node, "id") for node in items(document, "tickets") if "id" in node)),
        unsure=frozenset(section for section in map(str, refused.sections) if refused.whole(section)),
    )


def _those_with(key: str, bindings: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(name for name, node in bindings.items() if isinstance(node, Map) and string(node, key))


def _words(phrase: Any) -> str:
    """What is said of a phrase: how the default rules have it."""
    words = string(phrase, "template") if isinstance(phrase, Map) else phrase
    return f"Default: {words}" if isinstance(words, str) else "What is said where the rule has no words of its own"
