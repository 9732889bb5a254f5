"""The description of the routes that say what is served."""

from __future__ import annotations

from collections.abc import Mapping

from engine.proof.certificate import VERDICTS
from server.openapi_examples import Examples
from server.schemas import COUNT, FLAG, TEXT, Schema, answered, array_of, header, object_of, operation, parameter, ref

TAG: Schema = {"name": "Catalogue", "description": "What is served. Nothing here tells a ticket's answers."}
PROBES: Schema = {
    "name": "Probes",
    "description": "For whoever runs the server. The page `docs/operations.md` of the project says more.",
}

PACK: Schema = {"pack": TEXT, "pack_version": TEXT, "pack_digest": TEXT}

_SUMMARY: Schema = {
    "name": TEXT,
    "version": TEXT,
    "digest": TEXT,
    "language": TEXT,
    "description": TEXT,
    "max_steps": COUNT,
    "tickets": COUNT | {"description": "How many"},
}
_PROVED: Schema = object_of(
    {
        "sound": FLAG | {"description": "Every check that is an error holds"},
        "checks": {
            "type": "object",
            "additionalProperties": {"enum": [*VERDICTS]},
            "description": "What came of each check, by its code: P01 to P11",
        },
        "warnings": COUNT | {"description": "How many findings are warnings"},
    },
    description="What came of the pack's proof; null where it wasn't proved",
) | {"type": ["object", "null"]}
_INSTRUCTIONS: Schema = TEXT | {"description": "Tells an agent how to work"}
_TASK = object_of(
    {
        "id": TEXT,
        "description": TEXT,
        "difficulty": TEXT,
        "max_steps": COUNT,
        "tickets": array_of(TEXT) | {"description": "Ids, for ticket_id of /reset"},
    }
)
_SCHEMA: Schema = {"type": "object", "description": "A JSON Schema"}
_METRICS = ("text/plain", "application/openmetrics-text")

SCHEMAS: Mapping[str, Schema] = {
    "Schemas": object_of(dict.fromkeys(("action", "observation", "state", "reset_observation", "reset"), _SCHEMA)),
    "Packs": object_of({"default": TEXT, "packs": array_of(object_of(_SUMMARY | {"proved": _PROVED}))}),
    "Tasks": object_of({**PACK, "instructions": _INSTRUCTIONS, "tasks": array_of(_TASK)}),
    "Metadata": object_of(
        {
            "name": TEXT,
            "description": TEXT,
            "version": TEXT,
            "tags": array_of(TEXT),
            "default_pack": TEXT,
            "packs": array_of(object_of(_SUMMARY | {"instructions": _INSTRUCTIONS})),
        }
    ),
    "Index": object_of(
        {
            "name": TEXT,
            "description": TEXT,
            "routes": {"type": "object", "additionalProperties": TEXT, "description": "What each path is for"},
        }
    ),
}


def paths(packs: tuple[str, ...], examples: Examples) -> dict[str, Schema]:
    """The paths, with what their methods do."""
    pack = parameter("pack", {"type": "string", "enum": list(packs)}, "Else the default pack", example=examples.pack)
    of_pack: Schema = {"errors": {"404": "There is no such pack"}, "parameters": [pack]}
    page = answered(
        "A page", TEXT, "text/html", headers={"Content-Security-Policy": header("The page needs nothing from anywhere")}
    )
    routes: dict[str, tuple[str, Schema, Schema]] = {
        "/metadata": (
            "What the environment is, and how an agent is told to work",
            answered("The contract's part, then each pack's", ref("Metadata")),
            {},
        ),
        "/tasks": ("A pack's tasks and tickets", answered("The tasks", ref("Tasks")), of_pack),
        "/packs": ("The packs that are served", answered("The packs", ref("Packs")), {}),
        "/schema": (
            "The JSON Schemas of a pack's actions, observations, states and resets",
            answered("The schemas, with the reward and `done` in the observation's", ref("Schemas")),
            of_pack,
        ),
        "/openapi.json": (
            "The whole interface, described for machines",
            answered("An OpenAPI 3.1 document", {"type": "object", "required": ["openapi", "info", "paths"]}),
            {},
        ),
        "/docs": ("The same, described for people", page, {}),
        "/": ("A list of the routes", answered("The paths, and what they are for", ref("Index")), {}),
    }
    probes: dict[str, tuple[str, Schema, Schema]] = {
        "/health": ("Whether the server answers", _status("It does", "healthy"), {"probe": True}),
        "/ready": (
            "Whether episodes can be played",
            _status("They can: the store works", "ready"),
            {
                "probe": True,
                "stored": True,
                "description": "A server that was told to stop answers 503, while it finishes what was asked.",
            },
        ),
        "/metrics": (
            "Counts and times, for Prometheus",
            answered("In the form that `Accept` asks for; by default in plain text", TEXT, *_METRICS),
            {},
        ),
    }
    return {
        path: {"get": operation(_name(path), tag["name"], summary, answer, **more)}
        for tag, described in ((TAG, routes), (PROBES, probes))
        for path, (summary, answer, more) in described.items()
    }


def _status(description: str, status: str) -> Schema:
    return answered(description, object_of({"status": {"const": status}}))


def _name(path: str) -> str:
    return path[1:].removesuffix(".json") or "index"
