"""GitHub's issue forms, read from YAML that knows its places: what each asks for, as it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from engine.diagnostics import Report
from engine.nodes import Map, Seq, Spot, entries, items, reading

# What a form's elements can be, and their keys.
SILENT: Final = "markdown"
CHOICE, BOXES = "dropdown", "checkboxes"
KINDS: Final = (SILENT, "textarea", "input", CHOICE, BOXES, "upload")
_KEYS: Final = ("type", "id", "attributes", "validations")
_ATTRIBUTES: Final = ("label", "description", "placeholder", "value", "render", "options", "multiple", "default")


@dataclass(frozen=True, slots=True)
class Element:
    """Something that a form asks for. `options` are those of a list; `several`: more than one of them may be taken."""

    name: str
    label: str
    description: str
    options: tuple[str, ...]
    several: bool
    required: bool
    spot: Spot

    @property
    def choice(self) -> tuple[tuple[str, ...], bool]:
        """What may be answered; two elements of one name that differ in this are two fields."""
        return self.options, self.several


@dataclass(frozen=True, slots=True)
class Form:
    name: str
    description: str
    elements: tuple[Element, ...]
    spot: Spot


def read_form(root: Map, report: Report) -> Form | None:
    """The form that a document is; None where it is none. Reports everything that is wrong with it."""
    if not isinstance(root.get("body"), Seq):
        message = "this is no issue form: it has no list 'body' of what is asked for"
        report.add("PACK023", root.value_spot("body") if "body" in root else root.spot, message)
        return None
    name = _text(root, "name", report)
    where = root.value_spot("name") if "name" in root else root.spot
    if not name:
        report.add("PACK023", where, "a form has a 'name'")
    elements: dict[str, Element] = {}
    body = items(root, "body")
    for index, node in enumerate(body):
        element = _element(node, body.item_spot(index), report)
        if element is None:
            continue
        if element.name in elements:
            line = elements[element.name].spot.place.line
            message = f"'{element.name}' is the name of another element (first at line {line}); give this one an id"
            report.add("PACK040", element.spot, message)
        elements.setdefault(element.name, element)
    return Form(name, _text(root, "description", report), tuple(elements.values()), where)


def _element(node: object, spot: Spot, report: Report) -> Element | None:
    """What an element asks for; None where it asks for nothing, or can't be read."""
    if not isinstance(node, Map):
        report.add("PACK021", spot, f"an element of a form is meant here, and {reading(node, spot.raw)}")
        return None
    kind = _text(node, "type", report)
    if kind not in KINDS:
        where = node.value_spot("type") if "type" in node else spot
        message = f"unknown type of element '{kind}'" if kind else "an element has a 'type'"
        report.add("PACK024", where, message, expected=", ".join(KINDS), meant=(kind, KINDS))
        return None
    if kind == SILENT:
        return None
    for key in ("attributes", "validations"):
        if key in node and not isinstance(node[key], Map):
            where = node.value_spot(key)
            report.add("PACK021", where, f"a mapping (key: value) is meant here, and {reading(node[key], where.raw)}")
    attributes = entries(node, "attributes")
    _check_keys(node, _KEYS, report)
    _check_keys(attributes, _ATTRIBUTES, report)
    options = tuple(_options(attributes, kind, spot, report))
    label = _text(attributes, "label", report)
    name = _text(node, "id", report) or label or next((option for option, _ in options), "")
    if not name:
        report.add("PACK023", spot, "an element has an 'id' or a 'label'")
        return None
    required = _truth(entries(node, "validations"), "required", report) or any(must for _, must in options)
    several = kind == BOXES or _truth(attributes, "multiple", report)
    texts = tuple(dict.fromkeys(option for option, _ in options))
    return Element(name, label or name, _text(attributes, "description", report), texts, several, required, spot)


def _options(attributes: Map, kind: str, spot: Spot, report: Report) -> Iterator[tuple[str, bool]]:
    """The options of a list, as they are written, and whether each has to be taken."""
    if kind not in (CHOICE, BOXES):
        return
    nodes = items(attributes, "options")
    if not nodes:
        where = attributes.value_spot("options") if "options" in attributes else spot
        report.add("PACK023", where, "a list has 'options'")
    for index, node in enumerate(nodes):
        where = nodes.item_spot(index)
        if kind == CHOICE and not isinstance(node, Map | Seq):
            yield _written(node, where), False
        elif kind == BOXES and isinstance(node, Map) and "label" in node:
            yield _text(node, "label", report), _truth(node, "required", report)
        else:
            meant = "a text" if kind == CHOICE else "a mapping with a 'label'"
            hint = "; quote a text that holds ': '" if kind == CHOICE and isinstance(node, Map) else ""
            report.add("PACK021", where, f"{meant} is meant here, and {reading(node, where.raw)}{hint}")


def _text(node: Map, key: str, report: Report) -> str:
    """The text under a key, as it is written; nothing where there is none."""
    if key not in node:
        return ""
    value, where = node[key], node.value_spot(key)
    if isinstance(value, Map | Seq):
        report.add("PACK021", where, f"a text is meant here, and {reading(value, where.raw)}")
        return ""
    return _written(value, where)


def _written(value: object, where: Spot) -> str:
    """A scalar as it is written, whatever YAML made of it."""
    return value if isinstance(value, str) else where.raw or ""


def _truth(node: Map, key: str, report: Report) -> bool:
    if key not in node:
        return False
    value, where = node[key], node.value_spot(key)
    if isinstance(value, str):  # as in `true #1`, or in quotes
        value = {"true": True, "false": False}.get(value.strip().lower(), value)
    if not isinstance(value, bool):
        report.add("PACK021", where, f"true or false is meant here, and {reading(value, where.raw)}")
    return value is True


def _check_keys(node: Map, known: tuple[str, ...], report: Report) -> None:
    """A key that nobody reads may be a slip: a word about it, as forms may have more keys than are known here."""
    for key in node:
        if key not in known:
            report.warn("PACK022", node.key_spot(key), f"'{key}' isn't read here", expected=", ".join(known))
