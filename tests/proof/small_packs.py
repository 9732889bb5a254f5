"""Small packs of every kind, made by hypothesis, for proofs by brute force."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from engine.contract import load_contract
from engine.load import check_draft
from engine.pack import Pack

CONTRACT = load_contract()
# Brute force costs a lot: a quarter of the examples, in a soak as well.
COSTLY = settings(
    max_examples=settings().max_examples // 4,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
# No more sequences of actions of full length than this has any of the packs.
SEQUENCES = 1_300

Document = dict[str, Any]
TASKS = ("easy-info-collection", "medium-complete-info", "hard-efficient-resolution")
maybe = st.booleans()
TASK_ACTIONS = ("ask_info", "classify", "resolve")


def loaded(document: Document) -> Pack | None:
    """The pack that a document describes; None where the loader refuses it. JSON is YAML as well."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pack.yaml"
        path.write_text(json.dumps(document), encoding="utf-8")
        return check_draft(path, CONTRACT)[0]


def one_in(number: int) -> st.SearchStrategy[bool]:
    return st.integers(1, number).map(lambda drawn: drawn == number)


def some(names: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), unique=True) if names else st.just([])


def most(names: list[str]) -> st.SearchStrategy[list[str]]:
    return st.one_of(st.just(names), some(names))


@st.composite
def documents(draw: st.DrawFn, steps: int) -> Document:
    """A pack of one ticket, or of two that differ in names only, with this max_steps. Few are refused."""
    categories = [f"c{number}" for number in range(draw(st.sampled_from([0, 1, 1, 2, 3])))]
    fields = ["a", "b", "c"][: draw(st.sampled_from([1, 2, 3, 3]))]
    own = draw(st.sampled_from(["none", "none", "act", "how", "tell", "file"]))
    while _ways(fields, categories, own) ** steps > SEQUENCES:
        if own != "none":
            own = "none"
        elif len(fields) > 1 and len(fields) >= len(categories):
            fields.pop()
        else:
            categories.pop()
    facts = draw(st.sampled_from([["done"], ["done", "paid"], *([[]] * 3 if own == "none" else [])]))
    document: Document = {
        "pack": "small",
        "version": "1",
        "fields": {name: {"sample": [f"{name} right"]} if draw(one_in(3)) else {} for name in fields},
        "categories": {name: {"requires": draw(most(fields))} for name in categories},
        "people": {"slow": draw(_people(fields)), "quick": {}},
        "facts": {name: {"values": [False, True]} for name in facts},
        "max_steps": steps,
        "tasks": {task: draw(_tasks) for task in TASKS if draw(maybe)},
        "rewards": draw(_rewards(steps)),
        "rules": {},
    }
    if own != "none":
        document["actions"] = {own: _ACTIONS[own]}
    for action in ("ask_info", "classify", "resolve", *([] if own == "none" else [own])):
        rules = draw(_rules(action, fields, categories, facts))
        if rules or action == own:
            document["rules"][action] = rules or [{"outcome": "done", "then": {"set": {"done": True}, "say": "x"}}]
    if draw(one_in(6)):
        document["person"] = draw(st.sampled_from(["slow", ["quick", "slow"]]))
    if draw(one_in(3)):
        document["noise"] = draw(_noise)
    ticket = draw(_tickets(fields, categories, document["fields"], facts))
    document["tickets"] = [ticket, draw(_twins(ticket, fields, categories))] if draw(maybe) else [ticket]
    return document


_noise = st.one_of(
    st.just(["It rains."]),
    st.fixed_dictionaries(
        {"before": st.sampled_from([[], ["Hey!", "So."]]), "after": st.just(["Well."])},
        optional={"one_in": st.integers(1, 3)},
    ),
)


@st.composite
def _people(draw: st.DrawFn, fields: list[str]) -> Document:
    """Somebody who refuses or stalls, or both: three times at the most."""
    refuses, stalls = draw(st.sampled_from([(0, 1), (0, 2), (1, 0), (2, 0), (1, 1), (2, 1)]))
    person: Document = {"refuses": refuses, "stalls": stalls, "says": ["Hold on."] if stalls else []}
    if draw(one_in(3)):
        person["fields"] = draw(st.lists(st.sampled_from(fields), min_size=1, unique=True))
    if draw(one_in(4)):
        person["noise"] = draw(_noise)
    return person


@st.composite
def _twins(draw: st.DrawFn, ticket: Document, fields: list[str], categories: list[str]) -> Document:
    """The same ticket with other fields in the places of its own, and perhaps something else that is another."""
    twin: Document = _renamed(ticket, dict(zip(fields, draw(st.permutations(fields)), strict=True)))
    twin["id"] = "twin"
    if "category" in twin:
        twin["category"] = draw(st.sampled_from(categories))
    if draw(one_in(4)):
        twin["task"] = draw(st.sampled_from(TASKS))
    if "goal" in twin and draw(one_in(4)):
        twin["goal" if draw(maybe) else "facts"] = {"done": draw(maybe)}
    return twin


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {_renamed(key, names): _renamed(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(inner, names) for inner in value]
    if isinstance(value, str) and value.removesuffix(" right") in names:
        name = value.removesuffix(" right")
        return names[name] + value[len(name) :]
    return value


# A pack's own actions: without a parameter, with one, one that asks as well, one that classifies as well.
_ACTIONS: Document = {
    "act": {"description": "x"},
    "how": {"parameters": {"how": {"enum": ["mail", "phone"], "required": False}}},
    "tell": {"asks": "what", "parameters": {"what": {"required": False}}, "speaker": "customer"},
    "file": {"classifies": "pile", "parameters": {"pile": {"required": True}}},
}


def _ways(fields: list[str], categories: list[str], own: str) -> int:
    """How many valid actions there are: asks, classifications, resolve, and the pack's own."""
    extra = {"none": 0, "act": 1, "how": 3, "tell": len(fields) + 1, "file": max(1, len(categories))}[own]
    return len(fields) + len(categories) + 2 + extra


_tasks = st.fixed_dictionaries(
    {},
    optional={
        "classifier": st.sampled_from(["desk", "agent"]),
        "required": st.sampled_from(["always", "after_classify"]),
    },
)


@st.composite
def _rewards(draw: st.DrawFn, steps: int) -> Document:
    if draw(maybe):
        return {}
    if draw(maybe):
        return {"fields": 1.0, "classification": 1.0}  # nothing is left for the goal
    wastes = [waste for waste in (0, -0.1, -0.25, -0.5) if waste * steps >= -1]
    values = {
        "fields": draw(st.sampled_from([0, 0.1, 0.5, 1.0])),
        "classification": draw(st.sampled_from([0, 0, 0.5, 1.0])),
        "waste": draw(st.sampled_from(wastes)),
    }
    return {name: value for name, value in values.items() if draw(maybe)}


# What the rules of these actions mostly do.
_EFFECTS = {"ask_info": "learn", "tell": "learn", "classify": "classify", "file": "classify"}


@st.composite
def _rules(draw: st.DrawFn, action: str, fields: list[str], categories: list[str], facts: list[str]) -> list[Document]:
    rules = []
    for number in range(draw(st.sampled_from([0, 1] if action in TASK_ACTIONS else [1, 2, 3]))):
        when = draw(_conditions(action, fields, categories, facts))
        then: Document = {"say": "x"}
        if action in _EFFECTS and not draw(one_in(4)):
            then[_EFFECTS[action]] = True
        for effect, odds in (("waste", 2), ("point_out", 4), ("resolve", 2), ("classify", 6)):
            if draw(one_in(odds)):
                then[effect] = True
        if draw(one_in(3 if action in TASK_ACTIONS else 2)) and facts:
            then["set"] = {name: draw(st.sampled_from([True, True, False])) for name in facts if draw(maybe)}
        rules.append({"outcome": f"o{number}", "when": when, "then": then})
    return rules


@st.composite
def _conditions(draw: st.DrawFn, action: str, fields: list[str], categories: list[str], facts: list[str]) -> Document:
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "classified": st.sampled_from(["none", "shown", "right", "wrong", ["right", "shown"]]),
        "classifier": st.sampled_from(["desk", "agent"]),
        "missing": st.sampled_from([0, 1, {"minimum": 1}, {"maximum": 1}]),
        "wrong": st.sampled_from([0, {"minimum": 1}]),
        "goal": st.sampled_from(["met", "unmet"]),
    }
    if action in ("ask_info", "tell"):
        kinds["need"] = st.sampled_from(["required", "optional", "none", {"not": {"const": "none"}}])
        kinds["value"] = st.sampled_from(["none", "right", "wrong", "waived", ["none", "wrong"]])
        kinds["reply"] = st.sampled_from(["value", "wrong", "stall", "refusal", "waive", "none"])
        name = st.sampled_from(fields)
        asked = st.one_of(name, name.map(lambda field: {"not": {"const": field}}), name.map(lambda field: [field]))
        kinds["parameters"] = st.fixed_dictionaries({"field" if action == "ask_info" else "what": asked})
    if action in ("classify", "file") and categories:
        kinds["category"] = st.sampled_from(["right", "wrong", "absent"])
        named = st.sampled_from(categories)
        chosen = st.one_of(named, named.map(lambda category: {"not": {"enum": [category]}}))
        kinds["parameters"] = st.fixed_dictionaries({"category" if action == "classify" else "pile": chosen})
    if action == "how":
        kinds["parameters"] = st.fixed_dictionaries({"how": st.sampled_from(["mail", "phone"])})
    if facts:
        kinds["facts"] = st.fixed_dictionaries({draw(st.sampled_from(facts)): maybe})
    chosen_kinds = draw(st.lists(st.sampled_from(sorted(kinds)), max_size=2, unique=True))
    if "parameters" in kinds and draw(maybe):
        chosen_kinds = list(dict.fromkeys([*chosen_kinds, "parameters"]))
    return {kind: draw(kinds[kind]) for kind in chosen_kinds}


@st.composite
def _turns(draw: st.DrawFn, name: str, others: list[str]) -> Any:
    kind = draw(st.sampled_from(["text", "value", "wrong", "wrong", "stall", "refusal", "waive"]))
    if kind == "text":
        return f"{name} right"
    turn: Document = {"say": "hm"}
    if kind in ("value", "wrong"):
        turn["value"] = f"{name} right" if kind == "value" else draw(st.sampled_from(["wrong 1", "wrong 2"]))
    turn.update({"wrong": {"wrong": True}, "refusal": {"refuse": True}, "waive": {"waive": True}}.get(kind, {}))
    if draw(one_in(3)) and others:
        given = draw(st.lists(st.sampled_from(others), min_size=1, unique=True))
        wrong = draw(some(given))
        turn["gives"] = {other: "wrong 3" if other in wrong else f"{other} right" for other in given}
        turn["gives_wrong"] = wrong
    return turn


@st.composite
def _scripts(draw: st.DrawFn, name: str, fields: list[str], needed: bool) -> list[Any]:
    others = [other for other in fields if other != name]
    script: list[Any] = draw(st.lists(_turns(name, others), min_size=1, max_size=3))
    if draw(one_in(5)):
        script = [f"{name} right", *script[:2]]  # what comes later may take it away again
    last = script[-1]
    if needed and isinstance(last, dict) and "waive" not in last and not draw(one_in(6)):
        script = [*script[:2], f"{name} right"]
    return script


def _tell_more(draw: st.DrawFn, answers: Document, fields: list[str]) -> None:
    """Makes one turn of otherwise equal scripts give another field too."""
    name = draw(st.sampled_from(sorted(answers)))
    other = draw(st.sampled_from([other for other in fields if other != name]))
    at = draw(st.integers(0, len(answers[name]) - 1))
    turn = answers[name][at]
    answers[name][at] = {**({"value": turn} if isinstance(turn, str) else turn), "gives": {other: f"{other} right"}}


@st.composite
def _tickets(
    draw: st.DrawFn, fields: list[str], categories: list[str], declared: Document, facts: list[str]
) -> Document:
    ticket: Document = {"id": "t", "task": draw(st.sampled_from(TASKS))}
    required = None
    if categories and not draw(one_in(6)):
        ticket["category"] = draw(st.sampled_from(categories))
    if "category" not in ticket or draw(maybe):
        ticket["required"] = required = draw(most(fields))
    needed = fields if required is None else required
    ticket["optional"] = draw(some([name for name in fields if name not in needed]))
    same_for_all = draw(maybe)
    answers: Document = {}
    for name in fields:
        if "sample" not in declared[name] or draw(maybe):
            first = next(iter(answers), name)
            if same_for_all and first != name:
                answers[name] = json.loads(json.dumps(answers[first]).replace(f"{first} right", f"{name} right"))
            elif name in needed or draw(maybe):
                answers[name] = draw(_scripts(name, [] if same_for_all else fields, name in needed))
    if same_for_all and len(answers) > 1 and not draw(one_in(3)):
        _tell_more(draw, answers, fields)
    ticket["answers"] = answers
    known = [name for name in fields if draw(one_in(6))]
    ticket["known"] = {name: f"{name} right" for name in known}
    told = {name for name in fields if name in known or f"{name} right" in json.dumps(answers.get(name, ""))}
    told |= {name for name in needed if "sample" in declared[name] and name not in answers}
    ticket["messages"] = ["Hello."]
    if draw(one_in(3)):
        stated = draw(some(sorted(told)))
        ticket["messages"].append({"text": "Hello again.", "known": stated})
    if draw(one_in(3)):
        ticket["person"] = draw(st.sampled_from(["slow", ["slow", "quick"], []]))
    if facts:
        ticket["facts"] = {name: True for name in facts if draw(one_in(4))}
        ticket["goal"] = {name: True for name in facts if draw(maybe)}
    return ticket
