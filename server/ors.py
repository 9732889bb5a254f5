"""The Open Reward Standard: a session is an episode that is played by calling tools.

A session's id is its episode's, and everything about it is in the store: any worker can answer, and a call that is
repeated gets its first answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.episode import Episode
from engine.pack import Pack
from engine.tools import tools
from server.answers import encode
from server.body import MAX_ID, CreateBody, call_body, create_body
from server.choice import split_named, ticket_at
from server.http import Answer, Request, Route, answer
from server.problems import Problem, quoted
from server.service import Caller, Service
from server.store import Record
from server.tasks import BAD, environment, environments
from server.tools import told

HEADER = "x-session-id"
EXPIRY = 900.0  # seconds without a sign of life
NOTED_EVERY = 60.0  # seconds; a client pings more often than its pings have to be stored

# Stands among a record's options where the episode is a session. Its value is what a client asked for that named no
# environment: the paths of its requests will.
MARK = "ors"
CLOSED = "closed"

CHUNK = 4096  # characters of one event


def _session_id(request: Request) -> str:
    """Raises Problem 400."""
    name = request.headers.get(HEADER, "").strip()
    if not 1 <= len(name) <= MAX_ID:
        raise Problem(400, f"The header X-Session-ID is required, with 1 to {MAX_ID} characters.")
    return name


def _player(request: Request) -> Caller:
    """A session is named in every request: no cookie or address counts."""
    return Caller(owner=request.owner)


def _silence(service: Service, record: Record) -> float:
    """Seconds since the last sign of life."""
    return service.clock() - max(record.changed, record.touched or 0.0)


def _expired(service: Service, record: Record) -> bool:
    return MARK in record.start.options and _silence(service, record) > EXPIRY


def _session(service: Service, request: Request) -> Record:
    """The request's session, which this request keeps alive. Raises Problem 400, 404."""
    name = _session_id(request)
    record = service.record(name, request.caller)
    if record is None or MARK not in record.start.options or record.end_reason == CLOSED:
        raise Problem(404, f"There is no session {quoted(name)}: POST /create starts one.")
    if _expired(service, record):
        raise Problem(404, f"The session {quoted(name)} expired after {EXPIRY / 60:.0f} minutes of silence.")
    if _silence(service, record) > NOTED_EVERY:
        service.touch(record.key)
    return record


def _playing(service: Service, request: Request, env: str) -> tuple[str, Episode]:
    """The session's id, and its episode in the environment that the path names. Raises Problem 400, 404, 409."""
    pack = environment(service, env)
    record = _session(service, request)
    name, episode = _session_id(request), service.fold(record)
    if episode.case.pack.name == pack.name:
        return name, episode
    place = record.start.options[MARK]
    if not place or record.steps:
        played = quoted(episode.case.pack.name)
        raise Problem(400, f"The session {quoted(name)} plays in {played}, not in {quoted(pack.name)}.")
    ticket_id = ticket_at(pack, split_named(place["split"], BAD), place["index"], BAD, from_end=True)
    service.reset({"episode_id": name, "pack": pack.name, "ticket_id": ticket_id}, _player(request), **{MARK: place})
    return _playing(service, request, env)


def _create_session(service: Service, request: Request) -> Answer:
    return _stream(("task_id", service.new_id()), ("end", ""))


def _create(service: Service, request: Request) -> Answer:
    name = _session_id(request)
    asked = create_body(request.json())
    record = service.record(name, request.caller)
    if record is not None and record.end_reason is None and not _expired(service, record):
        raise Problem(400, f"The session {quoted(name)} exists already.")
    place: dict[str, Any] = {}
    if asked.index is None:
        pack = environment(service, asked.env_name or service.catalogue.default.name)
        chosen = {"ticket_id": asked.ticket_id, "task_id": asked.task_id, "seed": asked.seed}
    else:
        pack, ticket_id = _located(service, asked)
        chosen = {"ticket_id": ticket_id}
        if asked.env_name is None:
            place = {"split": asked.split, "index": asked.index}
    try:
        service.reset({"episode_id": name, "pack": pack.name, **chosen}, _player(request), **{MARK: place})
    except Problem as problem:
        errors = [{**error, "pointer": f"/task_spec{error['pointer']}"} for error in problem.errors]
        raise Problem(problem.status, problem.detail, errors, **problem.members) from None
    return answer({"sid": name})


def _located(service: Service, asked: CreateBody) -> tuple[Pack, str]:
    """The ticket at a split and an index. Where no environment is named: in the first that has it; see MARK."""
    names = [asked.env_name] if asked.env_name is not None else environments(service)
    split = split_named(asked.split or "", BAD)
    refusal: Problem | None = None
    for pack in [environment(service, name) for name in names]:
        try:
            return pack, ticket_at(pack, split, asked.index or 0, BAD, from_end=True)
        except Problem as problem:
            refusal = refusal or problem
    assert refusal is not None  # there is a pack
    raise refusal


def _ping(service: Service, request: Request) -> Answer:
    _session(service, request)
    return answer({"status": "ok"})


def _delete(service: Service, request: Request) -> Answer:
    name = _session_id(request)
    record = service.record(name, request.caller)
    if record is not None and MARK in record.start.options:
        service.end(record.key, CLOSED)
    return answer({"sid": name})


def _tools(service: Service, request: Request, env: str) -> Answer:
    return _described(environment(service, env))


def _task_tools(service: Service, request: Request, env: str) -> Answer:
    return _described(_playing(service, request, env)[1].case.pack)


def _described(pack: Pack) -> Answer:
    return answer(
        {
            "tools": [
                {"name": tool["name"], "description": tool["description"], "input_schema": tool["inputSchema"]}
                for tool in tools(pack)
            ]
        }
    )


def _prompt(service: Service, request: Request, env: str) -> Answer:
    case = _playing(service, request, env)[1].case
    return answer(_blocks(case.pack.instructions, *told(Episode.start(case).observation)))


def _call(service: Service, request: Request, env: str) -> Answer:
    asked = call_body(request.json())
    name, _ = _playing(service, request, env)
    if asked.task_id is not None:
        earlier = service.again(name, asked.task_id, request.caller)
        if earlier is None:
            return _stream(("error", "unknown task_id"))
        return _result(asked.task_id, _output(earlier))
    task_id = service.new_id()
    step = {"episode_id": name, "request_id": task_id, "action": {"name": asked.name, "arguments": asked.input}}
    try:
        return _result(task_id, _output(service.step(step, _player(request))))
    except Problem as problem:
        if problem.status != 409:
            raise
        return _result(task_id, {"ok": False, "error": problem.detail})


def _output(answered: Mapping[str, Any]) -> dict[str, Any]:
    """What came of a call: the blocks are for the agent, the rest is for its trainer."""
    return {
        "ok": True,
        "output": {
            "blocks": _blocks(*told(answered["observation"])),
            "metadata": answered["metadata"],
            "reward": answered["reward"],
            "finished": answered["done"],
        },
    }


def _blocks(*texts: str) -> list[dict[str, Any]]:
    return [{"text": text, "detail": None, "type": "text"} for text in texts]


def _result(task_id: str, result: Mapping[str, Any]) -> Answer:
    """A call's result: the client joins the data of all events."""
    text = encode(result).decode()
    chunks = [text[start : start + CHUNK] for start in range(0, len(text), CHUNK)]
    # Clients strip white space off the front of an event's data; where JSON has any, it stands in a string.
    kept = [f"\\u{ord(chunk[0]):04x}{chunk[1:]}" if chunk[0].isspace() else chunk for chunk in chunks]
    return _stream(("task_id", task_id), *(("chunk", chunk) for chunk in kept[:-1]), ("end", kept[-1]))


def _stream(*events: tuple[str, str]) -> Answer:
    """Server-sent events, all at once: nothing here takes time."""
    body = "".join(f"event: {event}\r\ndata: {data}\r\n\r\n" for event, data in events)
    headers = (("Cache-Control", "no-cache"), ("X-Accel-Buffering", "no"))
    return Answer(200, body.encode(), "text/event-stream", headers)


ROUTES: Mapping[tuple[str, str], Route] = {
    ("POST", "/create_session"): _create_session,
    ("POST", "/create"): _create,
    ("POST", "/delete"): _delete,
    ("POST", "/delete_session"): _delete,
    ("POST", "/ping"): _ping,
    ("GET", "/<path:env>/tools"): _tools,
    ("GET", "/<path:env>/task_tools"): _task_tools,
    ("GET", "/<path:env>/prompt"): _prompt,
    ("POST", "/<path:env>/call"): _call,
}
