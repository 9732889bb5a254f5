"""Puts the contract and the shipped packs into a wheel, inside engine/; an editable install reads them in place."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PackedData(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build_data["force_include"].update({"openenv.yaml": "engine/openenv.yaml", "scenarios": "engine/scenarios"})
