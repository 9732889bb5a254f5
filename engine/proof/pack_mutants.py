"""The mutants of what all tickets share: rules, categories, people, facts, rewards and tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.nodes import Map, Seq, Spot, entries, items
from engine.pack import REWARD_UNIT, Pack
from engine.proof.mutant import GONE, Mutant, following
from engine.rules import NAMED

# The bounds of a condition, as JSON Schema calls them.
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
# What a rule does if it says so.
_EFFECTS = ("learn", "classify", "point_out", "resolve")


def pack_mutants(pack: Pack, document: Map) -> Iterator[Mutant]:
    """Every mutant of each kind that isn't about a single ticket."""
    yield from _categories(pack, entries(document, "categories"))
    yield from _people(pack, entries(document, "people"))
    yield from _facts(pack, entries(document, "facts"))
    rules = entries(document, "rules")
    for action in rules:
        yield from _rules(pack, action, items(rules, action))
    yield from _rewards(pack, document)
    yield from _views(pack, document)


def _categories(pack: Pack, nodes: Map) -> Iterator[Mutant]:
    for category in nodes:
        node = entries(nodes, category)
        listed, at = items(node, "requires"), ("categories", category, "requires")
        spot = node.value_spot("requires") if "requires" in node else nodes.key_spot(category)
        for name in pack.fields:
            if name in listed:
                what = f"lets the category '{category}' do without '{name}'"
                where = listed.item_spot(listed.index(name)).place
                yield Mutant("required", what, where, at, [one for one in listed if one != name])
            else:
                what = f"requires '{name}' in the category '{category}'"
                yield Mutant("required", what, spot.place, at, [*listed, name])


def _people(pack: Pack, nodes: Map) -> Iterator[Mutant]:
    for name in nodes:
        person, node = pack.people[name], entries(nodes, name)
        for key, number, verb in (("stalls", person.stalls, "stall"), ("refuses", person.refuses, "refuse")):
            if number:
                what = f"lets the person '{name}' {verb} one time less"
                yield Mutant("turn", what, node.value_spot(key).place, ("people", name, key), number - 1)
        listed, at = items(node, "fields"), ("people", name, "fields")
        if listed and (person.stalls or person.refuses):
            what = f"lets the person '{name}' be like that whatever is asked for"
            yield Mutant("turn", what, node.value_spot("fields").place, at, GONE)
        for index, field in enumerate(listed) if len(listed) > 1 and (person.stalls or person.refuses) else ():
            what = f"lets the person '{name}' simply answer when asked for '{field}'"
            rest = [one for one in listed if one != field]
            yield Mutant("turn", what, listed.item_spot(index).place, at, rest)


def _facts(pack: Pack, nodes: Map) -> Iterator[Mutant]:
    """Only facts with which some ticket begins as the pack has it: where each has its own value, nothing changes."""
    for name, fact in pack.facts.items():
        if len(fact.values) > 1 and any(name not in ticket.facts for ticket in pack.tickets.values()):
            other = following(fact.values, fact.initial)
            what = f"begins with '{name}' {_shown(other)}"
            yield Mutant("fact", what, nodes.key_spot(name).place, ("facts", name, "initial"), other)


def _rules(pack: Pack, action: str, nodes: Seq) -> Iterator[Mutant]:
    for index, node in enumerate(nodes):
        rule, at = f"{action}.{node['outcome']}", ("rules", action)
        what = f"drops the rule {rule}"
        yield Mutant("rule", what, nodes.item_spot(index).place, at, [*nodes[:index], *nodes[index + 1 :]])
        for what, spot, when in _of_conditions(entries(node, "when")):
            yield Mutant("condition", f"lets the rule {rule} {what}", spot.place, (*at, index, "when"), when)
        then = entries(node, "then")
        doing = node.value_spot("then") if "then" in node else nodes.item_spot(index)
        for kind, what, spot, effects in _of_effects(pack, then, doing):
            yield Mutant(kind, f"lets the rule {rule} {what}", spot.place, (*at, index, "then"), effects)


def _of_conditions(when: Map) -> Iterator[tuple[str, Spot, dict[str, Any]]]:
    """(what, where, new conditions) for each mutant of a rule's conditions."""
    for name, condition in when.items():
        if name not in NAMED:
            for what, spot, new in _of_condition(f"`{name}`", condition, when.value_spot(name)):
                yield what, spot, _with(when, name, new)
            continue
        for inner, its in condition.items():
            for what, spot, new in _of_condition(f"'{inner}'", its, condition.value_spot(inner)):
                yield what, spot, _with(when, name, _with(condition, inner, new) or None)


def _of_condition(name: str, condition: Any, spot: Spot) -> Iterator[tuple[str, Spot, Any]]:
    """(what, where, new condition) for each mutant of one condition; None where it is dropped."""
    yield f"fire whatever {name} is", spot, None
    if isinstance(condition, Seq) and len(condition) > 1:
        for index, value in enumerate(condition):
            others = [*condition[:index], *condition[index + 1 :]]
            yield f"no longer fire where {name} is {_shown(value)}", condition.item_spot(index), others
    for bound in _BOUNDS if isinstance(condition, Map) else ():
        if bound in condition:
            for moved in (condition[bound] - 1, condition[bound] + 1):
                yield (
                    f"take {moved} for the {bound} of {name}",
                    condition.value_spot(bound),
                    {**condition, bound: moved},
                )


def _of_effects(pack: Pack, then: Map, spot: Spot) -> Iterator[tuple[str, str, Spot, dict[str, Any]]]:
    """(kind, what, where, new effects) for each mutant of what a rule does."""
    if then.get("waste") is True:
        yield "reward", "not waste the step", then.key_spot("waste"), _with(then, "waste", None)
    else:
        yield "reward", "waste the step", spot, {**then, "waste": True}
    for name in _EFFECTS:
        if then.get(name) is True:
            yield "effect", f"not {name.replace('_', ' ')}", then.key_spot(name), _with(then, name, None)
    settings = entries(then, "set")
    for name, value in settings.items():
        what, where = f"leave '{name}' alone", settings.key_spot(name)
        yield "effect", what, where, _with(then, "set", _with(settings, name, None) or None)
        values = pack.facts[name].values
        other = following(values, value)
        if len(values) > 2:  # of two values the other is most often the one that it has already
            yield "effect", f"set '{name}' to {_shown(other)}", where, _with(then, "set", {**settings, name: other})


def _rewards(pack: Pack, document: Map) -> Iterator[Mutant]:
    node = entries(document, "rewards")
    spot = document.value_spot("rewards") if "rewards" in document else document.value_spot("pack")
    fields, classification = pack.rewards.fields / REWARD_UNIT, pack.rewards.classification / REWARD_UNIT
    new = {**node, "fields": classification, "classification": fields}
    what = f"pays {classification} for the fields and {fields} for the classification"
    yield Mutant("reward", what, spot.place, ("rewards",), new)


def _views(pack: Pack, document: Map) -> Iterator[Mutant]:
    nodes = entries(document, "tasks")
    spot = document.value_spot("tasks") if "tasks" in document else document.value_spot("pack")
    used = {ticket.task for ticket in pack.tickets.values()}
    for task in (task for task in pack.tasks.values() if task.id in used):
        place = (nodes.key_spot(task.id) if task.id in nodes else spot).place
        shown = "always" if task.required == "after_classify" else "after_classify"
        what = f"shows the requirements of '{task.id}' {'from the start' if shown == 'always' else 'after classifying'}"
        yield Mutant("view", what, place, ("tasks", task.id, "required"), shown)
        other = "agent" if task.classifier == "desk" else "desk"
        what = f"lets the {other} classify in '{task.id}'"
        yield Mutant("view", what, place, ("tasks", task.id, "classifier"), other)


def _with(nodes: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """The entries with another value under a name, or without it where that is None."""
    new = {**nodes, name: value}
    return {key: inner for key, inner in new.items() if key != name or inner is not None}


def _shown(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value).lower()
