"""JSON Schema over values that know their places: every error becomes a finding in an author's words."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from engine.diagnostics import MAX_COUNTED, Report, nearest
from engine.misread import Misread, stray_key, text_with_colon, torn_apart, wrong_type
from engine.nodes import Map, NotJson, Seq, Spot

Path_ = tuple[str | int, ...]

# Keywords that have nothing to say about a text, and `type`.
_NOT_FOR_TEXT = frozenset(
    "$comment additionalProperties default description examples items maxItems maxProperties minItems minProperties "
    "properties required title type".split()
)

Errors = Iterator[ValidationError]

# How many keys a text with colons in it may have become.
_FEW = 3
_TORN = "'- ' begins a new item here; what belongs to the item above stands below it, without '- '"


def _descend(validator: Any, instance: Any, schema: Any, path: str | int) -> Errors:
    """As jsonschema descends, but past texts under schemas that allow every text: most of a pack is such texts."""
    if type(instance) is str and schema is not False:
        types = schema.get("type", ())
        if (types == "string" or "string" in types) and schema.keys() <= _NOT_FOR_TEXT:
            return iter(())
    descended: Errors = validator.descend(instance, schema, path=path)
    return descended


def _of_type(validator: Any, types: Any, instance: Any, schema: Any) -> Errors:
    """As jsonschema does it, but without the whole instance in the message."""
    if not any(validator.is_type(instance, name) for name in _listed(types)):
        yield ValidationError("wrong type")


def _one_of_these(validator: Any, values: Any, instance: Any, schema: Any) -> Errors:
    if not any(type(value) is type(instance) and value == instance for value in values):
        yield ValidationError("not one of these")


def _properties(validator: Any, properties: Mapping[str, Any], instance: Any, schema: Any) -> Errors:
    if isinstance(instance, dict):
        for name, value in instance.items():
            if name in properties:
                yield from _descend(validator, value, properties[name], name)


def _additional(validator: Any, additional: Any, instance: Any, schema: Any) -> Errors:
    """In the order written, where jsonschema goes by a set."""
    if not isinstance(instance, dict):
        return
    declared = schema.get("properties", {})
    if additional is False:
        if not instance.keys() <= declared.keys():
            yield ValidationError("unknown keys")
        return
    for name, value in instance.items():
        if name not in declared:
            yield from _descend(validator, value, additional, name)


def _items(validator: Any, items: Any, instance: Any, schema: Any) -> Errors:
    if isinstance(instance, list):
        for index, value in enumerate(instance):
            yield from _descend(validator, value, items, index)


# Draft 2020-12 for schemas without patternProperties and prefixItems, which ours don't use.
_extend: Any = extend
_Validator = _extend(
    Draft202012Validator,
    {
        "type": _of_type,
        "enum": _one_of_these,
        "properties": _properties,
        "additionalProperties": _additional,
        "items": _items,
    },
)


def validator_of(schema: Mapping[str, Any]) -> Validator:
    validator: Validator = _Validator(schema)
    return validator


def own_schema(name: str) -> dict[str, Any]:
    """A JSON Schema that comes with the engine, by its path in there."""
    return read_schema(Path(__file__).parent / name)


def written(name: str) -> str:
    """A JSON Schema that comes with the engine as it is written, for those who read it themselves."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def read_schema(path: Path) -> dict[str, Any]:
    """A JSON Schema file with each local `$ref` replaced by what it names, which makes validation faster."""
    document = json.loads(path.read_text(encoding="utf-8"))
    definitions: Mapping[str, Any] = document.pop("$defs", {})

    def inline(part: Any) -> Any:
        if isinstance(part, list):
            return [inline(item) for item in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            part = {
                **definitions[part["$ref"].removeprefix("#/$defs/")],
                **{k: v for k, v in part.items() if k != "$ref"},
            }
        return {key: inline(value) for key, value in part.items()}

    inlined: dict[str, Any] = inline(document)
    return inlined


def locate(root: Map, path: Iterable[str | int]) -> tuple[Any, Spot]:
    """The value at a path, and where it stands."""
    value: Any = root
    spot = root.spot
    for step in path:
        spot = value.value_spot(str(step)) if isinstance(value, Map) else value.item_spot(step)
        value = value[step]
    return value, spot


class Refused:
    """What a schema refused, and what is therefore no longer in the document. About that nothing more is said.

    `paths` are the first steps, at most two, of the paths to it; a section with an unknown key of nearly its name is
    among them. `spots` are where what these steps lead to is written.
    """

    def __init__(self, *sections: str) -> None:
        self.paths: set[Path_] = {(section,) for section in sections}
        self.spots: set[Spot] = set()

    @property
    def sections(self) -> set[str | int]:
        """All sections in which anything was refused."""
        return {path[0] for path in self.paths if path}

    def names(self, section: str) -> list[str]:
        """The names in a section under which anything was refused."""
        found = (path[1] for path in self.paths if len(path) > 1 and path[0] == section)
        return sorted(name for name in found if isinstance(name, str))

    def whole(self, section: str) -> bool:
        """Whether a section as a whole was refused, so that nobody knows which names it was to declare."""
        return (section,) in self.paths

    def add(self, root: Map, path: Path_) -> None:
        self.paths.add(path[:2])
        self.spots.add(locate(root, path[:2])[1])


def check(root: Map, validator: Validator, report: Report, whole: bool = True) -> Refused:
    """Reports where `root` isn't valid, and makes it valid but for what is missing: what the schema refuses is taken
    out. A value that would have been text in quotes is put right instead. `whole` says whether `root` is all that
    there is, so that more than that is missing."""
    refused = Refused(*_given_again(root))
    errors = list(islice(validator.iter_errors(root), MAX_COUNTED))
    if len(errors) == MAX_COUNTED:
        report.stop()
    # Unknown keys first: one that is nearly right explains why another is missing.
    errors.sort(key=lambda error: error.validator != "additionalProperties")
    dropped: dict[int, tuple[Map | Seq, set[Any]]] = {}
    meant: set[Path_] = set()
    torn = _torn(root, errors)
    for error in errors:
        path = tuple(error.absolute_path)
        value, spot = locate(root, path)
        refused.add(root, path)
        if error.validator == "required" and not _is_braces(error, value, spot):
            if path in torn:
                report.add("PACK023", torn[path], _TORN)
            elif path or whole:
                _missing(error, value, spot, report, {step[-1] for step in meant if step[:-1] == path})
        elif error.validator == "additionalProperties" and not _is_braces(error, value, spot):
            known = _unknown(error, value, report)
            meant |= {(*path, key) for key in known}
            refused.paths |= {(key,) for key in known if not path}
            _mark(dropped, value, value.keys() - _known_keys(error).keys())
        else:
            _explained(error, value, spot, report)
            container = locate(root, path[:-1])[0]
            if error.validator == "type" and _may_be_any_text(error.schema) and spot.raw is not None:
                container[path[-1]] = spot.raw
            elif path:
                _mark(dropped, container, {path[-1]})
    for node, keys in dropped.values():
        node.drop(keys)
    return refused


def _given_again(root: Map) -> set[str]:
    """The sections that were given twice, or in which something was: what they were to declare isn't all there."""
    return root.again | {name for name, node in root.items() if isinstance(node, Map) and node.again}


def _torn(root: Map, errors: Iterable[ValidationError]) -> Mapping[Path_, Spot]:
    """The items that are pieces of one, by path, each with the place of the first piece that was torn off."""
    lists: dict[Path_, tuple[set[int], list[str]]] = {}
    for error in errors:
        *path, last = (*error.absolute_path,) or ("",)
        if error.validator == "required" and isinstance(last, int):
            lists.setdefault(tuple(path), (set(), _listed(error.validator_value)))[0].add(last)
    torn: dict[Path_, Spot] = {}
    for at, (lacking, required) in lists.items():
        items = locate(root, at)[0]
        for pieces in torn_apart(items, lacking, required):
            torn |= {(*at, index): items.item_spot(pieces[1]) for index in pieces}
    return torn


def _mark(dropped: dict[int, tuple[Map | Seq, set[Any]]], node: Map | Seq, keys: set[Any]) -> None:
    """Remembers what to take out at the end: until then the paths of other errors must stay what they are."""
    dropped.setdefault(id(node), (node, set()))[1].update(keys)


def _may_be_any_text(schema: Any) -> bool:
    return "string" in _listed(schema.get("type")) and not schema.keys() & {"enum", "then"}


def _explained(error: ValidationError, value: Any, spot: Spot, report: Report) -> None:
    if spot.excused:
        return
    if _is_braces(error, value, spot):
        report.add("PACK020", spot, "braces start a mapping; quote a text that begins with '{'")
        spot.excuse()
    else:
        _SENTENCES.get(str(error.validator), _other)(error, value, spot, report)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_braces(error: ValidationError, value: Any, spot: Spot) -> bool:
    """Whether a mapping stands where a text may, and is most likely one: {name}."""
    may_be_text = isinstance(error.schema, Mapping) and "string" in _listed(error.schema.get("type"))
    names = isinstance(value, Map) and bool(value) and all(inner is None for inner in value.values())
    return may_be_text and names and spot.starts("{")


def _type(error: ValidationError, value: Any, spot: Spot, report: Report) -> None:
    _report(wrong_type(_listed(error.validator_value), value, spot), report)
    spot.excuse()


def _report(misread: Misread, report: Report) -> None:
    report.add(misread.code, misread.spot, misread.message, expected=misread.expected)


def _known_keys(error: ValidationError) -> Mapping[str, Any]:
    return error.schema.get("properties", {}) if isinstance(error.schema, Mapping) else {}


def _unknown(error: ValidationError, value: Any, report: Report) -> set[str]:
    """Reports the keys that aren't known; returns the known ones that they were most likely meant to be, or that are
    missing because of them."""
    known, schema = _known_keys(error), error.schema if isinstance(error.schema, Mapping) else {}
    strange = [key for key in value if key not in known and not value.key_spot(key).excused]
    if "string" in _listed(schema.get("type")) and _is_text(value, strange, known):
        _report(text_with_colon(value, strange[0], _one_of(known)), report)
        value.spot.excuse()
        return {*schema.get("required", ())}
    meant: set[str] = set()
    for before, key in _not_inside(value, {*strange}, known):
        if report.full:
            break
        near = nearest(key, known) if report.lists_more else None
        stray = stray_key(value, key, before) if near is None else None
        if stray is not None:
            _report(stray, report)
            continue
        if near is not None and near not in value:
            meant.add(near)
        message = f"unknown key '{key}'" if known else f"'{key}' can't stand here"
        report.add("PACK022", value.key_spot(key), message, expected=_one_of(known), meant=(key, known))
    return meant


def _is_text(node: Map, strange: Collection[str], known: Iterable[str]) -> bool:
    """Whether a mapping that isn't in braces has only keys that are like none that is known, and few of them."""
    few = 0 < len(strange) == len(node) <= _FEW and not node.spot.starts("{")
    return few and all(nearest(key, known) is None for key in strange)


def _not_inside(node: Map, strange: Container[str], known: Mapping[str, Any]) -> Iterator[tuple[str | None, str]]:
    """The strange keys, each with the one before it, but for those right behind a key without a value: they belong to
    it, and are indented too little, which is said of it."""
    before, empty = None, False
    for key, value in node.items():
        if key not in strange:
            types = _listed(known[key].get("type", "string")) if key in known else ["string"]
            empty = value is None and not node.value_spot(key).raw and "string" not in types and "null" not in types
        elif not empty or node.spot.starts("{"):
            yield before, key
        before = key


def _missing(error: ValidationError, value: Any, spot: Spot, report: Report, meant: Collection[Any]) -> None:
    # jsonschema reports each missing key by itself, and names it in the message only.
    if meant and not _known_keys(error):
        return  # what is missing depends on a condition, and so perhaps on the key that was meant
    for key in _listed(error.validator_value):
        missing = key not in value and key not in meant and not spot.excused
        if missing and repr(key) == error.message.removesuffix(" is a required property"):
            report.add("PACK023", spot, f"'{key}' is missing")


def _choice(error: ValidationError, value: Any, spot: Spot, report: Report) -> None:
    names = ["null" if name is None else str(name) for name in _listed(error.validator_value)]
    meant = (value, names) if isinstance(value, str) else None
    report.add("PACK024", spot, f"{_shown(value, spot)} can't stand here", expected=_one_of(names), meant=meant)


def _bound(sentence: str) -> Callable[[ValidationError, Any, Spot, Report], None]:
    def sentence_for(error: ValidationError, value: Any, spot: Spot, report: Report) -> None:
        report.add("PACK024", spot, sentence.format(error.validator_value))

    return sentence_for


def _unlike(error: ValidationError, value: Any, spot: Spot, report: Report) -> None:
    examples = error.schema.get("examples", ()) if isinstance(error.schema, Mapping) else ()
    expected = "like " + " or ".join(map(str, examples)) if examples else None
    report.add("PACK024", spot, f"{_shown(value, spot)} can't stand here", expected=expected)


def _other(error: ValidationError, value: Any, spot: Spot, report: Report) -> None:
    report.add("PACK024", spot, f"{_shown(value, spot)} can't stand here ({error.validator}: {error.validator_value})")


def _shown(value: Any, spot: Spot) -> str:
    if isinstance(value, Map | Seq):
        return "this"
    return (
        f"'{value}'" if isinstance(value, str) else str(spot.raw if isinstance(value, NotJson) else spot.raw or value)
    )


def _one_of(names: Iterable[str]) -> str | None:
    """The names, as far as they are few enough to be read."""
    listed = list(islice(names, 13))
    if not listed:
        return None
    return ", ".join(listed[:12]) + (", ..." if len(listed) > 12 else "")


_SENTENCES: Mapping[str, Callable[[ValidationError, Any, Spot, Report], None]] = {
    "type": _type,
    "enum": _choice,
    "pattern": _unlike,
    "minimum": _bound("{} is the least that can stand here"),
    "exclusiveMinimum": _bound("more than {} is meant here"),
    "maximum": _bound("{} is the most that can stand here"),
    "minLength": _bound("a text of {} or more characters is meant here"),
    "maxLength": _bound("a text of {} characters at the most is meant here"),
    "minItems": _bound("{} or more items are meant here"),
    "maxItems": _bound("{} items are the most that can stand here"),
    "minProperties": _bound("{} or more entries are meant here"),
    "maxProperties": _bound("{} entries are the most that can stand here"),
}
