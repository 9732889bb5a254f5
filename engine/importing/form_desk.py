"""Issue forms to a pack's document: a category and a ticket to be written for each form, a field for what it asks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from engine.importing.desk import TODO, Head
from engine.importing.forms import Element, Form

MESSAGE: Final = f"{TODO}: what a customer writes who opens such a ticket"
# A label that ends in one of these needs nothing before the description.
_ENDS: Final = "?!.:…？！。："

# The field that an element becomes: of each form, by the element's name.
Names = list[dict[str, str]]


def document(head: Head, forms: Sequence[Form], names: Names, task: str) -> dict[str, Any]:
    """A pack that has to be filled in: what is still to be written is TODO."""
    fewest = max(sum(one.required for one in form.elements) for form in forms) + 2  # the category, and resolving
    made = head.document(fewest)
    fields: dict[str, Any] = {}
    for form, own in zip(forms, names, strict=True):
        for element in form.elements:
            fields.setdefault(own[element.name], _field(element, own[element.name]))
    if fields:
        made["fields"] = fields
    made["categories"] = {form.name: _category(form, own) for form, own in zip(forms, names, strict=True)}
    made["tickets"] = [
        _ticket(f"t-{number}", task, form, own) for number, (form, own) in enumerate(zip(forms, names, strict=True), 1)
    ]
    return made


def field_names(forms: Sequence[Form]) -> tuple[Names, list[str]]:
    """The field of each element, and a sentence for each name that isn't simply one field.

    Elements of one name are one field, if they offer the same choice; else each choice is a field of its own, called
    after the form that has it first.
    """
    every: dict[str, list[tuple[Form, Element]]] = {}
    for form in forms:
        for element in form.elements:
            every.setdefault(element.name, []).append((form, element))
    taken = {name for name, uses in every.items() if len({element.choice for _, element in uses}) == 1}
    chosen: dict[tuple[str, Any], str] = {(name, every[name][0][1].choice): name for name in every if name in taken}
    notes = []
    for name, uses in every.items():
        for form, element in uses:
            if (name, element.choice) not in chosen:
                own = _free(f"{name} ({form.name})", taken)
                taken.add(own)
                chosen[name, element.choice] = own
        notes += _notes(name, uses, chosen)
    names = [{element.name: chosen[element.name, element.choice] for element in form.elements} for form in forms]
    return names, notes


def _free(name: str, taken: Iterable[str]) -> str:
    number = 1
    while (own := name if number == 1 else f"{name} {number}") in taken:
        number += 1
    return own


def _notes(name: str, uses: Sequence[tuple[Form, Element]], chosen: dict[tuple[str, Any], str]) -> list[str]:
    own: dict[Any, str] = {}
    for _, element in uses:
        own.setdefault(element.choice, f"'{chosen[name, element.choice]}' ({element.spot.place})")
    if len(own) > 1:
        listed = ", ".join(own.values())
        return [f"'{name}' doesn't offer the same in all forms, so it is {len(own)} fields: {listed}"]
    if len({(element.label, element.description) for _, element in uses}) > 1:
        places = ", ".join(str(element.spot.place) for _, element in uses)
        return [f"'{name}' is described in more than one way; the first one counts ({places})"]
    return []


def _field(element: Element, name: str) -> dict[str, Any]:
    made: dict[str, Any] = {}
    described = _described(element, name)
    if described:
        made["description"] = described
    if element.options and not element.several:
        made["schema"] = {"enum": list(element.options)}
        made["sample"] = list(element.options)
    return made


def _described(element: Element, name: str) -> str:
    """What agents read about a field: its label, where that isn't its name, its description, and what may be taken."""
    text = element.description
    if element.label != name:
        between = "" if not text else " " if element.label.endswith(tuple(_ENDS)) else ": "
        text = f"{element.label}{between}{text}"
    if element.options and element.several:
        text = f"{text or name} (any of: {', '.join(element.options)})"
    return text


def _category(form: Form, own: dict[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {"description": form.description} if form.description else {}
    made["requires"] = [own[element.name] for element in form.elements if element.required]
    return made


def _ticket(number: str, task: str, form: Form, own: dict[str, str]) -> dict[str, Any]:
    """A ticket to be written. What is chosen from a list is drawn, until its author answers it."""
    made: dict[str, Any] = {"id": number, "task": task, "category": form.name, "messages": [MESSAGE]}
    optional = [own[element.name] for element in form.elements if not element.required]
    if optional:
        made["optional"] = optional
    answers = {own[one.name]: TODO for one in form.elements if one.several or not one.options}
    if answers:
        made["answers"] = answers
    return made
