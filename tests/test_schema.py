"""The pack's JSON Schema, as editors read it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator


def test_the_schema_explains_every_key_and_knows_no_alternatives(root: Path) -> None:
    schema = json.loads((root / "engine" / "pack.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)

    def inner(part: Any) -> Iterator[dict[str, Any]]:
        if isinstance(part, dict):
            yield part
        for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
            yield from inner(each)

    for part in inner(schema):
        assert not part.keys() & {"anyOf", "oneOf"}
        for name, described in part.get("properties", {}).items():
            assert described.get("title") or described.get("description"), name
    pack = (root / "tests" / "packs" / "lamps.yaml").read_text(encoding="utf-8")
    assert Draft202012Validator(schema).is_valid(yaml.load(pack, yaml.CSafeLoader))
