"""The mutants of one ticket: its labels, what it requires and tells, and the customer's turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.checks import turn_spot
from engine.nodes import Map, Seq, Spot, entries, items
from engine.pack import Pack, Task, Text
from engine.proof.mutant import GONE, Mutant, following
from engine.template import Template
from engine.turns import PLAIN, manner


class TicketMutants:
    """`node` is what is written of a ticket at `spot`, number `index` of the document's."""

    def __init__(self, pack: Pack, node: Map, spot: Spot, index: int) -> None:
        self._pack, self._node, self._spot, self._index = pack, node, spot, index
        self._ticket = pack.tickets[node["id"]]
        self._name = f"ticket '{self._ticket.id}'"

    def all(self) -> Iterator[Mutant]:
        """Every mutant of each kind."""
        yield from self._labels()
        yield from self._facts()
        yield from self._requirements()
        yield from self._known()
        yield from self._people()
        for field in entries(self._node, "answers"):
            yield from self._script(field)

    def _mutant(self, kind: str, what: str, spot: Spot, **changes: Any) -> Mutant:
        """`changes` are the ticket's keys with their new values; GONE takes one out."""
        kept = {name: value for name, value in self._node.items() if changes.get(name) is not GONE}
        value = {**kept, **{name: new for name, new in changes.items() if new is not GONE}}
        return Mutant(kind, what, spot.place, ("tickets", self._index), value, self._ticket.id)

    def _key(self, name: str) -> Spot:
        """Where the ticket says something about a key; where it stands itself, if it says nothing."""
        return self._node.value_spot(name) if name in self._node else self._spot

    def _labels(self) -> Iterator[Mutant]:
        category, task = self._ticket.category, self._ticket.task
        if category is not None and len(self._pack.categories) > 1:
            other = _likest(category, {name: each.requires for name, each in self._pack.categories.items()})
            what = f"files {self._name} under '{other}'"
            yield self._mutant("category", what, self._key("category"), category=other)
        if len(self._pack.tasks) > 1:
            other = _likest(task, {name: _traits(each) for name, each in self._pack.tasks.items()})
            yield self._mutant("task", f"gives {self._name} the task '{other}'", self._key("task"), task=other)

    def _facts(self) -> Iterator[Mutant]:
        for section, kind in (("goal", "goal"), ("facts", "fact")):
            nodes = entries(self._node, section)
            for name, value in nodes.items():
                other = following(self._pack.facts[name].values, value)
                what = f"begins {self._name} with" if kind == "fact" else f"closes {self._name} only with"
                changes: dict[str, Any] = {section: {**nodes, name: other}}
                spot = nodes.value_spot(name)
                yield self._mutant(kind, f"{what} '{name}' {_shown(other)}", spot, **changes)
        nodes = entries(self._node, "goal")
        for name in nodes:
            what = f"closes {self._name} whatever '{name}' is"
            yield self._mutant("goal", what, nodes.key_spot(name), goal=_without(nodes, name))

    def _requirements(self) -> Iterator[Mutant]:
        required, optional = self._ticket.required, self._ticket.optional
        for name in self._pack.fields:
            rest, others = _less(required, name), _less(optional, name)
            if name in required:
                spot = self._listed("required", name)
                what = f"lets {self._name} do without '{name}'"
                yield self._mutant("required", what, spot, required=rest)
                what = f"makes '{name}' optional in {self._name}"
                yield self._mutant("optional", what, spot, required=rest, optional=[*optional, name])
                continue
            spot = self._listed("optional", name)
            more = {"optional": others} if name in optional else {}
            yield self._mutant(
                "required", f"requires '{name}' in {self._name}", spot, required=[*required, name], **more
            )
            if name in optional:
                yield self._mutant("optional", f"makes '{name}' needless in {self._name}", spot, optional=others)
            else:
                what = f"makes '{name}' optional in {self._name}"
                yield self._mutant("optional", what, spot, optional=[*optional, name])

    def _listed(self, section: str, name: str) -> Spot:
        nodes = items(self._node, section)
        return nodes.item_spot(nodes.index(name)) if name in nodes else self._key(section)

    def _known(self) -> Iterator[Mutant]:
        known, rights = entries(self._node, "known"), self._ticket.right_values()
        for name in known:
            what = f"hides '{name}', which {self._name} knows from the start"
            yield self._mutant("known", what, known.key_spot(name), known=_without(known, name))
        for name in self._ticket.required:
            if name not in self._ticket.known and (name in rights or self._pack.fields[name].sample is not None):
                value = _written(rights[name][0]) if name in rights else {"template": f"{{{{ {_quoted(name)} }}}}"}
                what = f"lets {self._name} know '{name}' from the start"
                yield self._mutant("known", what, self._key("known"), known={**known, name: value})
        messages = items(self._node, "messages")
        for index, message in enumerate(messages):
            for name in items(message, "known") if isinstance(message, Map) else ():
                hiding = {**message, "known": _less(message["known"], name)}
                new = [*messages[:index], hiding, *messages[index + 1 :]]
                what = f"hides '{name}', which message {index + 1} of {self._name} states"
                yield self._mutant("known", what, message.value_spot("known"), messages=new)

    def _people(self) -> Iterator[Mutant]:
        for name in self._ticket.people:
            if manner(self._ticket, self._pack.people[name]) != PLAIN:
                what = f"takes the person '{name}' from {self._name}"
                yield self._mutant("turn", what, self._key("person"), person=_less(self._ticket.people, name))

    def _script(self, field: str) -> Iterator[Mutant]:
        scripts = entries(self._node, "answers")
        script = scripts[field]
        turns: list[Any] = list(script) if isinstance(script, Seq) else [script]
        of = f"for '{field}' in {self._name}"

        def mutant(kind: str, what: str, spot: Spot, new: list[Any]) -> Mutant:
            answers = {**scripts, field: new} if new else _without(scripts, field)
            return self._mutant(kind, f"{what} {of}", spot, answers=answers)

        for index, turn in enumerate(turns):
            spot = turn_spot(scripts, field, index, None)
            called = f"answer {index + 1}" if len(turns) > 1 else "the answer"
            yield mutant("turn", f"drops {called}", spot, turns[:index] + turns[index + 1 :])
            if index + 1 < len(turns):
                swapped = [*turns[:index], turns[index + 1], turn, *turns[index + 2 :]]
                yield mutant("order", f"swaps answers {index + 1} and {index + 2}", spot, swapped)
            for kind, what, at, new in _of_turn(field, turn, spot):
                yield mutant(kind, f"{what} in {called}", at, [*turns[:index], new, *turns[index + 1 :]])


def _of_turn(field: str, turn: Any, spot: Spot) -> Iterator[tuple[str, str, Spot, Any]]:
    """(kind, what, where, new turn) for each mutant of a turn."""
    if not isinstance(turn, Map):
        yield "value", "gives a wrong value", spot, {"say": turn, "value": turn, "wrong": True}
        return
    if "value" in turn:
        at = turn.value_spot("value")
        if turn.get("wrong") is True:
            yield "value", "takes the wrong value for right", at, _without(turn, "wrong")
        else:
            yield "value", "gives a wrong value", at, {**turn, "wrong": True}
    for key, verb in (("waive", "waives"), ("refuse", "refuses")):
        if turn.get(key) is True:
            yield "reply", f"no longer {verb}", turn.key_spot(key), _without(turn, key)
    gives, wrong = entries(turn, "gives"), items(turn, "gives_wrong")
    for name in gives:
        at, others = gives.key_spot(name), _less(wrong, name)
        rest = {"gives": _without(gives, name), "gives_wrong": others}
        new = {key: value for key, value in {**turn, **rest}.items() if key not in rest or value}
        yield "turn", f"no longer gives '{name}'", at, new
        new = {**turn, "gives_wrong": others if name in wrong else [*wrong, name]}
        verb = "takes the wrong" if name in wrong else "gives a wrong"
        yield "value", f"{verb} '{name}'" + " for right" * (name in wrong), at, new


def _likest(own: str, traits: Mapping[str, Sequence[str]]) -> str:
    """The name, other than `own`, that has most of its traits and fewest others, the first of several."""
    return min((name for name in traits if name != own), key=lambda name: len(set(traits[own]) ^ set(traits[name])))


def _traits(task: Task) -> tuple[str, str]:
    return task.classifier, task.required


def _less(names: Sequence[str], name: str) -> list[str]:
    return [one for one in names if one != name]


def _without(nodes: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in nodes.items() if key != name}


def _written(text: Text) -> Any:
    return {"template": text.source} if isinstance(text, Template) else text


def _quoted(field: str) -> str:
    name = field.replace("\\", "\\\\").replace("'", "\\'")
    return f"fields['{name}']"


def _shown(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value).lower()
