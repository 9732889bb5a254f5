"""JSON Schema over values that know their places: every error becomes a finding in an author's words."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from engine.diagnostics import MAX_COUNTED, Report
from engine.misread import torn_apart, wrong_type
from engine.nodes import MERGE, Map, NotJson, Seq, Spot
from engine.unknown_keys import Path_, known_keys, listed, of_the_one_above, one_of, something_else, unknown_keys

# Keywords that have nothing to say about a text, and `type`.
_NOT_FOR_TEXT = frozenset(
    "$comment additionalProperties default description examples items maxItems maxProperties minItems minProperties "
    "properties required title type".split()
)

Errors = Iterator[ValidationError]
# What is taken out in the end: of each mapping or list, by identity, keys or numbers of items.
Dropped = dict[int, tuple[Map | Seq, set[Any]]]

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
    if not any(validator.is_type(instance, name) for name in listed(types)):
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
    sections = validator.schema.get("properties", {}) if isinstance(validator.schema, Mapping) else {}
    refused = Refused(*_not_all_there(root, sections))
    strange = something_else(root, sections) if whole else None
    if strange is not None:
        message = f"this is no pack: it has neither `pack` nor `tickets`, and no pack has a '{strange}'"
        report.add("PACK014", root.spot, f"{message}; `deskproof new` writes one to begin with")
        refused.paths |= {(section,) for section in sections}
        root.drop(root.keys())
        return refused
    errors = list(islice(validator.iter_errors(root), MAX_COUNTED))
    if len(errors) == MAX_COUNTED:
        report.stop()
    # Unknown keys first: one that is nearly right explains why another is missing.
    errors.sort(key=lambda error: error.validator != "additionalProperties")
    dropped: Dropped = {}
    meant: set[Path_] = set()
    torn, outside = _torn(root, errors), _of_empty_ones(root, errors)
    for at in outside:
        _mark(dropped, locate(root, at[:-1])[0], {at[-1]})
    for error in errors:
        path = tuple(error.absolute_path)
        if outside and not outside.isdisjoint(path[:length] for length in range(len(path) + 1)):
            continue
        value, spot = locate(root, path)
        refused.add(root, path)
        if error.validator == "required" and not _is_braces(error, value, spot):
            if path in torn:
                report.add("PACK023", torn[path], _TORN)
            elif path or whole:
                _missing(error, value, spot, report, {step[-1] for step in meant if step[:-1] == path})
        elif error.validator == "additionalProperties" and not _is_braces(error, value, spot):
            guesses = unknown_keys(error.schema, path, value, report)
            meant |= {(*path, key) for key in guesses.keys}
            refused.paths |= {(section,) for section in (guesses.sections if path else guesses.keys | guesses.sections)}
            _mark(dropped, value, value.keys() - known_keys(error.schema).keys())
        else:
            _explained(error, value, spot, report)
            _take_out(root, path, error, dropped)
    for node, keys in dropped.values():
        node.drop(keys)
    return refused


def _take_out(root: Map, path: Path_, error: ValidationError, dropped: Dropped) -> None:
    """Takes out a value that the schema refuses. What would be text in quotes is put right instead."""
    container, spot = locate(root, path[:-1])[0], locate(root, path)[1]
    if error.validator == "type" and _may_be_any_text(error.schema) and spot.raw is not None:
        container[path[-1]] = spot.raw
    elif path:
        _mark(dropped, container, {path[-1]})


def _of_empty_ones(root: Map, errors: Iterable[ValidationError]) -> set[Path_]:
    """The paths of keys that belong to the one above them, which has no value: it is what is told of."""
    found: set[Path_] = set()
    for error in errors:
        *above, name = (*error.absolute_path,) or ("",)
        container, (value, spot) = locate(root, above)[0], locate(root, error.absolute_path)
        if value is None and not spot.raw and isinstance(container, Map) and error.validator == "type" and above:
            found |= {(*above, key) for key in of_the_one_above(container, str(name), error.schema)}
    return found


def _not_all_there(root: Map, sections: Iterable[str]) -> set[str]:
    """The sections that were given twice, or in which something was: what they were to declare isn't all there. Where
    keys were to be merged into the root, all of them."""
    inner = {name for name, node in root.items() if isinstance(node, Map) and node.again}
    return {*sections} if MERGE in root.again else root.again | inner


def _torn(root: Map, errors: Iterable[ValidationError]) -> Mapping[Path_, Spot]:
    """The items that are pieces of one, by path, each with the place of the first piece that was torn off."""
    lists: dict[Path_, tuple[set[int], list[str]]] = {}
    for error in errors:
        *path, last = (*error.absolute_path,) or ("",)
        if error.validator == "required" and isinstance(last, int):
            lists.setdefault(tuple(path), (set(), listed(error.validator_value)))[0].add(last)
    torn: dict[Path_, Spot] = {}
    for at, (lacking, required) in lists.items():
        items = locate(root, at)[0]
        for pieces in torn_apart(items, lacking, required):
            torn |= {(*at, index): items.item_spot(pieces[1]) for index in pieces}
    return torn


def _mark(dropped: Dropped, node: Map | Seq, keys: set[Any]) -> None:
    """Remembers what to take out at the end: until then the paths of other errors must stay what they are."""
    dropped.setdefault(id(node), (node, set()))[1].update(keys)


def _may_be_any_text(schema: Any) -> bool:
    return "string" in listed(schema.get("type")) and not schema.keys() & {"enum", "then"}


def _explained(error: ValidationError, value: Any, spot: Spot, report: Report) -> None:
    if spot.excused:
        return
    if _is_braces(error, value, spot):
        report.add("PACK020", spot, "braces start a mapping; quote a text that begins with '{'")
        spot.excuse()
    else:
        _SENTENCES.get(str(error.validator), _other)(error, value, spot, report)


def _is_braces(error: ValidationError, value: Any, spot: Spot) -> bool:
    """Whether a mapping stands where a text may, and is most likely one: {name}."""
    may_be_text = isinstance(error.schema, Mapping) and "string" in listed(error.schema.get("type"))
    names = isinstance(value, Map) and bool(value) and all(inner is None for inner in value.values())
    return may_be_text and names and spot.starts("{")


def _type(error: ValidationError, value: Any, spot: Spot, report: Report) -> None:
    misread = wrong_type(listed(error.validator_value), value, spot)
    report.add(misread.code, misread.spot, misread.message, expected=misread.expected)
    spot.excuse()


def _missing(error: ValidationError, value: Any, spot: Spot, report: Report, meant: Collection[Any]) -> None:
    # jsonschema reports each missing key by itself, and names it in the message only.
    if meant and not known_keys(error.schema):
        return  # what is missing depends on a condition, and so perhaps on the key that was meant
    for key in listed(error.validator_value):
        missing = key not in value and key not in meant and not spot.excused
        if missing and repr(key) == error.message.removesuffix(" is a required property"):
            report.add("PACK023", spot, f"'{key}' is missing")


def _choice(error: ValidationError, value: Any, spot: Spot, report: Report) -> None:
    names = ["null" if name is None else str(name) for name in listed(error.validator_value)]
    meant = (value, names) if isinstance(value, str) else None
    report.add("PACK024", spot, f"{_shown(value, spot)} can't stand here", expected=one_of(names), meant=meant)


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
