"""GitHub's issue forms, read from YAML that knows its places: what each asks for, as it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from engine.diagnostics import Report
from engine.nearest import nearest
from engine.nodes import Map, Seq, Spot, entries, items, reading

# What a form's elements can be.
SILENT: Final = "markdown"
CHOICE, BOXES = "dropdown", "checkboxes"
# The keys that GitHub allows: of a form, of an element, and of each kind of element's attributes.
_FORM: Final = ("name", "description", "body", "title", "labels", "assignees", "projects", "type")
_ELEMENT: Final = ("type", "id", "attributes", "validations")
_ASKED: Final = ("label", "description")
_ATTRIBUTES: Final[Mapping[str, tuple[str, ...]]] = {
    SILENT: ("value",),
    "textarea": (*_ASKED, "placeholder", "value", "render"),
    "input": (*_ASKED, "placeholder", "value"),
    CHOICE: (*_ASKED, "options", "multiple", "default"),
    BOXES: (*_ASKED, "options"),
    "upload": _ASKED,
}
KINDS: Final = tuple(_ATTRIBUTES)
_VALIDATIONS: Final = ("required", "accept")
_OPTION: Final = ("label", "required")
# How many options a field can have.
MAX_OPTIONS: Final = 20_000
_TRUTHS: Final = {"true": True, "false": False}


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
    _check_keys(root, _FORM, report)
    name = _text(root, "name", report)
    where = root.value_spot("name") if "name" in root else root.spot
    if not name.strip():
        report.add("PACK023", where, "a form has a 'name'")
    elements: dict[str, Element] = {}
    body, silent = items(root, "body"), True
    for index, node in enumerate(body):
        silent = silent and isinstance(node, Map) and node.get("type") == SILENT
        element = _element(node, body.item_spot(index), report)
        if element is None:
            continue
        if element.name in elements:
            line = elements[element.name].spot.place.line
            message = f"'{element.name}' is the name of another element (first at line {line}); give this one an id"
            report.add("PACK040", element.spot, message)
        elements.setdefault(element.name, element)
    if silent:
        report.add(
            "PACK023",
            root.value_spot("body"),
            "this form asks for nothing: its 'body' needs an element that isn't markdown",
        )
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
    for key in ("attributes", "validations"):
        if key in node and not isinstance(node[key], Map):
            where = node.value_spot(key)
            report.add("PACK021", where, f"a mapping (key: value) is meant here, and {reading(node[key], where.raw)}")
    attributes, validations = entries(node, "attributes"), entries(node, "validations")
    _check_keys(node, _ELEMENT, report)
    _check_keys(attributes, _ATTRIBUTES[kind], report)
    _check_keys(validations, _VALIDATIONS, report)
    if kind == SILENT:
        return None
    options = _options(attributes, kind, spot, report)
    label = _text(attributes, "label", report)
    called = (_text(node, "id", report), label, *options)
    name = next((one for one in called if one.strip()), "")
    if not name:
        report.add("PACK023", spot, "an element has an 'id' or a 'label'")
        return None
    required = _truth(validations, "required", report) or any(options.values())
    several = kind == BOXES or _truth(attributes, "multiple", report)
    description = _text(attributes, "description", report)
    return Element(name, label or name, description, tuple(options), several, required, spot)


def _options(attributes: Map, kind: str, spot: Spot, report: Report) -> dict[str, bool]:
    """The options of a list, as they are written, and whether each has to be taken."""
    found: dict[str, bool] = {}
    if kind not in (CHOICE, BOXES):
        return found
    nodes = items(attributes, "options")
    where = attributes.value_spot("options") if "options" in attributes else spot
    if "options" in attributes and not isinstance(attributes["options"], Seq):
        report.add("PACK021", where, f"a list is meant here, and {reading(attributes['options'], where.raw)}")
    elif not nodes:
        report.add("PACK023", where, "a list has 'options'")
    elif len(nodes) > MAX_OPTIONS:
        report.add("PACK012", where, f"{len(nodes):,} options: {MAX_OPTIONS:,} are the most")
    lines: dict[str, int] = {}
    for index, node in enumerate(nodes):
        where = nodes.item_spot(index)
        option = _option(node, kind, where, report)
        if option is None:
            continue
        if option[0] in lines:
            message = f"the option '{option[0]}' is given twice (first at line {lines[option[0]]})"
            report.add("PACK040", where, message)
        lines.setdefault(option[0], where.place.line)
        found[option[0]] = option[1]
    return found


def _option(node: object, kind: str, where: Spot, report: Report) -> tuple[str, bool] | None:
    """An option, and whether it has to be taken; None where it can't be read."""
    if kind == CHOICE and not isinstance(node, Map | Seq):
        return _written(node, where), False
    if kind == BOXES and isinstance(node, Map):
        _check_keys(node, _OPTION, report)
        if "label" in node:
            return _text(node, "label", report), _truth(node, "required", report)
        report.add("PACK023", where, "a box has a 'label'")
        return None
    meant = "a text" if kind == CHOICE else "a mapping with a 'label'"
    hint = "; quote a text that holds ': '" if kind == CHOICE and isinstance(node, Map) else ""
    report.add("PACK021", where, f"{meant} is meant here, and {reading(node, where.raw)}{hint}")
    return None


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
    hint = ""
    if isinstance(value, str) and value.lower() in _TRUTHS:
        if where.starts(value):  # plain, with a comment behind it that may be text: `true #1`
            return _TRUTHS[value.lower()]
        hint = "; take the quotes away"
    if not isinstance(value, bool):
        report.add("PACK021", where, f"true or false is meant here, and {reading(value, where.raw)}{hint}")
    return value is True


def _check_keys(node: Map, known: tuple[str, ...], report: Report) -> None:
    """A key that is like a known one is a slip. Another one is worth a word, as forms may have more keys than are known
    here."""
    for key in node:
        if key in known:
            continue
        listed = ", ".join(known)
        if nearest(key, known) is not None:
            report.add("PACK022", node.key_spot(key), f"unknown key '{key}'", expected=listed, meant=(key, known))
        else:
            report.warn("PACK022", node.key_spot(key), f"'{key}' isn't read here", expected=listed)
