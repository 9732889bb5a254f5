"""Agents by the words on the command line: what names one, what doesn't, and what is written down of it."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from engine.evaluation.agents import AgentError, AgentUnusable
from engine.evaluation.http_agent import HttpAgent
from engine.evaluation.masking import is_secret, marked, masked_url, masked_value, masked_words
from engine.evaluation.naming import BUILT_IN, agent_factory, model_service
from engine.evaluation.options import AgentOptions, options_of, takes_agent_options
from engine.evaluation.spent import Beginning, Closing, Spending
from engine.pack import Pack
from tests.evaluation.completions import calls, raw, serving
from tests.evaluation.desks import played, words

FIRST, SECOND = {"step_count": 0}, {"step_count": 1}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that one is in, whose modules are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "API_BASE_URL", "API_KEY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


# -- What names an agent


@pytest.mark.parametrize("name", BUILT_IN)
def test_those_that_come_with_deskproof(desk: Pack, name: str) -> None:
    factory = pickle.loads(pickle.dumps(agent_factory(name)))
    agent = factory()
    assert agent.name == name
    assert factory() is not agent
    assert factory.described() == {"agent": name}
    assert played(agent, desk, "e-two").done
    assert isinstance(agent, Beginning) == (name == "oracle")


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("http://h:8000/act", "http://h:8000/act"),
        ("https://h/", "https://h/"),
        ("http:http://h:8000/act", "http://h:8000/act"),
        ("http:https://h/", "https://h/"),
        ("127.0.0.1:18755", "http://127.0.0.1:18755"),
        ("localhost:8000/act?fast=1", "http://localhost:8000/act?fast=1"),
        ("http:[::1]:8000/act", "http://[::1]:8000/act"),
    ],
)
def test_addresses(spec: str, name: str) -> None:
    factory = agent_factory(spec, AgentOptions(seconds=5))
    agent = factory()
    assert isinstance(agent, HttpAgent)
    assert agent.name == name
    assert factory.described() == {"agent": f"http:{name}"}


def test_programs(here: Path) -> None:
    path = here / "my agent.py"
    path.write_text('import sys\nfor line in sys.stdin: print(\'{"type": "resolve"}\', flush=True)\n', "utf-8")
    factory = pickle.loads(pickle.dumps(agent_factory(f"cmd:{sys.executable} 'my agent.py' --token abc")))
    agent = factory()
    assert agent(FIRST, []) == {"type": "resolve"}
    assert isinstance(agent, Closing)
    agent.close()
    assert factory.described() == {"agent": f"cmd:{sys.executable} 'my agent.py' --token '***ba78'"}


def test_functions_and_classes_beside_us(here: Path) -> None:
    """A function is called at each step; of a class there is an instance for each episode."""
    (here / "mine.py").write_text(
        "def act(observation): return {'type': 'resolve'}\n"
        "class Shop:\n"
        "    def __init__(self): self.seen = []\n"
        "    def __call__(self, observation, tools, episode_id):\n"
        "        self.seen.append(observation['step_count'])\n"
        "        return {'type': 'ask', 'seen': self.seen, 'id': episode_id}\n"
        "class Wide:\n    def __init__(self, size): ...\n"
        "class Sad:\n    def __init__(self): raise ValueError('no')\n"
        "    def __call__(self, observation): ...\n",
        "utf-8",
    )
    assert agent_factory("py:mine:act")()(FIRST, []) == {"type": "resolve"}
    shop: Any = pickle.loads(pickle.dumps(agent_factory("py:mine:Shop")))()
    assert shop.name == "mine:Shop"
    seen = [shop(asked, [], episode_id="e1")["seen"] for asked in (FIRST, SECOND, FIRST)]
    assert seen == [[0], [0, 1], [0]]
    with pytest.raises(AgentUnusable, match=r"The class mine:Wide takes \(size\): one is made without arguments"):
        agent_factory("py:mine:Wide")
    with pytest.raises(AgentError, match="The agent mine:Sad raised ValueError: no") as failed:
        agent_factory("py:mine:Sad")()(FIRST, [])
    assert "__init__" in str(failed.value.trace)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Dumb", "The agent mine:Dumb can't be asked: its class has no __call__."),
        ("Late", "The agent mine:Late is a coroutine: give a function that runs it (asyncio.run)."),
        ("late", "The agent mine:late is a coroutine: give a function that runs it (asyncio.run)."),
        ("LATE", "The agent mine:LATE is a coroutine: give a function that runs it (asyncio.run)."),
        ("bit_by_bit", "The agent mine:bit_by_bit is a coroutine: give a function that runs it (asyncio.run)."),
        (
            "Greedy",
            "The agent mine:Greedy takes (a, b, c): an agent takes (observation, tools), and if it likes instructions "
            "and episode_id by name.",
        ),
    ],
)
def test_what_could_be_asked_in_no_episode_is_refused_at_once(here: Path, name: str, said: str) -> None:
    (here / "mine.py").write_text(
        "class Dumb: ...\n"
        "class Late:\n    async def __call__(self, observation): ...\n"
        "async def late(observation): ...\n"
        "LATE = Late()\n"
        "async def bit_by_bit(observation): yield {}\n"
        "class Greedy:\n    def __call__(self, a, b, c): ...\n",
        "utf-8",
    )
    with pytest.raises(AgentUnusable) as failed:
        agent_factory(f"py:mine:{name}")
    assert str(failed.value) == said


def test_models(no_keys: pytest.MonkeyPatch, desk: Pack) -> None:
    with serving(calls(("resolve",))) as service:
        no_keys.setenv("OPENAI_BASE_URL", service.url)
        options = AgentOptions(
            temperature=0.5, request=(("top_p", "0.9"), ("user_token", '"x"')), price_in=1, price_out=2
        )
        factory = pickle.loads(pickle.dumps(agent_factory("openai:org/m:1", options)))
        agent: Any = factory()
        assert words(played(agent, desk, "e-idle")) == ["resolve"]
        agent.close()
    assert isinstance(agent, Spending)
    assert agent.spent.cost is not None
    assert service.asked[0].body["model"] == "org/m:1"
    assert factory.described() == {
        "agent": "openai:org/m:1",
        "base_url": service.url,
        "temperature": 0.5,
        "request": {"top_p": "0.9", "user_token": '"***2d71"'},
    }


# -- Keys


OPEN, HUB, KEY = {"OPENAI_API_KEY": "o-key"}, {"HF_TOKEN": "h-key"}, {"API_KEY": "a-key"}
HERE, THERE = {"OPENAI_BASE_URL": "http://here"}, {"API_BASE_URL": "http://there"}
SERVICES: list[tuple[str | None, dict[str, str], tuple[str | None, str]]] = [
    (None, OPEN, (None, "o-key")),
    (None, {**OPEN, **HUB, **KEY}, (None, "o-key")),
    (None, {**HERE, **THERE, **OPEN, **HUB}, ("http://here", "o-key")),
    (None, {**HERE, **HUB}, ("http://here", "h-key")),
    (None, {**THERE, **OPEN, **HUB, **KEY}, ("http://there", "h-key")),
    (None, {**THERE, **OPEN, **KEY}, ("http://there", "a-key")),
    (None, {**THERE, **OPEN}, ("http://there", "o-key")),
    (None, THERE, ("http://there", "no-key")),
    ("http://said", {**HERE, **THERE}, ("http://said", "no-key")),
    ("http://said", {**THERE, **OPEN, **HUB}, ("http://said", "o-key")),
    (None, {**OPEN, "OPENAI_BASE_URL": "", "API_BASE_URL": ""}, (None, "o-key")),
]


@pytest.mark.parametrize(("given", "environment", "service"), SERVICES)
def test_where_a_model_is_and_which_key_it_is_sent(
    given: str | None, environment: dict[str, str], service: tuple[str | None, str]
) -> None:
    assert model_service(given, environment) == service


@pytest.mark.parametrize("environment", [{}, HUB, KEY])
def test_openai_is_never_sent_a_key_of_others(environment: dict[str, str]) -> None:
    with pytest.raises(AgentUnusable, match="No key for OpenAI's service: set OPENAI_API_KEY"):
        model_service(None, environment)


def test_without_its_library_a_sentence_says_how_to_get_it(no_keys: pytest.MonkeyPatch) -> None:
    no_keys.setenv("OPENAI_API_KEY", "o-key")
    no_keys.setitem(sys.modules, "openai", None)  # as where it isn't installed
    with pytest.raises(
        AgentUnusable, match=r"needs the library openai, which isn't there: pip install 'deskproof\[openai"
    ):
        agent_factory("openai:m")


# -- What names none


WRONG: list[tuple[str, str]] = [
    ("", "There is no agent ''. There are: random, ask-everything, playbook, oracle, http:URL, cmd:PROGRAM,"),
    ("orcale", "There is no agent 'orcale'. Did you mean 'oracle'?"),
    ("playbok", "There is no agent 'playbok'. Did you mean 'playbook'?"),
    ("opanai:gpt-4o", "There is no agent 'opanai:gpt-4o'. Did you mean 'openai:MODEL'?"),
    ("mine:act", "There is no agent 'mine:act'. A function of a module is named py:mine:act."),
    ("pack.mine:Shop.act", "A function of a module is named py:pack.mine:Shop.act."),
    ("random:", "There is no agent 'random:'. Did you mean 'random'?"),
    ("\x1b[2J", "There is no agent '\\x1b[2J'. There are: "),
    ("http:", "'http:' names no agent: it is http:URL."),
    ("cmd: ", "'cmd:' names no agent: it is cmd:PROGRAM."),
    ("openai:", "'openai:' names no agent: it is openai:MODEL."),
    ("http:localhost", "'localhost' is no address of an agent: http://HOST:PORT/PATH, or https://…"),
    ("localhost:99999", "'http://localhost:99999' is no address of an agent: http://HOST:PORT/PATH, or https://…"),
    ("agent.example/?api_key=s3cr3t", "There is no agent 'agent.example/?api_key=***'. There are: "),
    ("cmd:play --api-key s3cr3t 'x", "'cmd:play --api-key *** 'x' is no command: no closing quotation."),
    ("http://", "'http://' is no address of an agent"),
    ("cmd:play 'x", "'cmd:play 'x' is no command: no closing quotation."),
    ("cmd:no-such-program --fast", "There is no program 'no-such-program' that can be started."),
    ("cmd:''", "There is no program '' that can be started."),
    ("py:mine", "An agent is named as module:function, not 'mine'."),
    ("py:no_such_module:act", "There is no module 'no_such_module' to take the agent from"),
    ("py:json:lods", "The module 'json' has no 'lods'. Did you mean 'load"),
    ("py:json:__name__", "'json:__name__' is no function, but 'json'."),
    ("py:mine:slip", "The agent mine:slip takes (a, b, c): an agent takes (observation, tools)"),
]


@pytest.mark.parametrize(("spec", "said"), WRONG)
def test_what_names_no_agent_is_said(here: Path, spec: str, said: str) -> None:
    (here / "mine.py").write_text("def slip(a, b, c): ...\n", "utf-8")
    with pytest.raises(AgentUnusable) as failed:
        agent_factory(spec)
    assert said in str(failed.value)


# -- Secrets


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://h/?a=1&b=%20", "http://h/?a=1&b=%20"),
        ("http://me:pw@h:8/p?a=1", "http://me:***@h:8/p?a=1"),
        ("http://token@h/", "http://***@h/"),
        ("http://h/?v=1&api_key=abc&X-Sig=2&design=3", "http://h/?v=1&api_key=***&X-Sig=***&design=3"),
        ("http://[me:pw@h/?key=1", "h/"),
    ],
)
def test_addresses_without_secrets(url: str, shown: str) -> None:
    assert masked_url(url) == shown


def test_commands_without_secrets() -> None:
    command = ["API_TOKEN=x", "run", "--password", "pw", "--key=1", "--auth", "--fast", "http://a:b@c/", "keys.txt"]
    command += ["-H", "Authorization: Bearer x", "--url=http://h/?api_key=x", "--max-tokens", "500", "--monkey=3"]
    shown = [
        "API_TOKEN=***",
        "run",
        "--password",
        "***",
        "--key=***",
        "--auth",
        "--fast",
        "http://a:***@c/",
        "keys.txt",
        "-H",
        "Authorization: ***",
        "--url=http://h/?api_key=***",
        "--max-tokens",
        "500",
        "--monkey=3",
    ]
    assert masked_words(command) == shown


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        *(
            (name, True)
            for name in ("key", "api_key", "apiKey", "APIKey", "X-Api-Key", "HF_TOKEN", "Authorization", "sig")
        ),
        *((name, False) for name in ("max_tokens", "max_completion_tokens", "monkey", "author", "design", "keys.txt")),
    ],
)
def test_a_secret_goes_by_whole_words(name: str, secret: bool) -> None:
    assert is_secret(name) is secret


def test_of_a_request_texts_under_a_secret_name_are_hidden_and_told_apart() -> None:
    """The marks are the first four digits of SHA-256: of s3cr3t 4e73, of abc ba78."""
    asked = {"api_key": "s3cr3t", "max_tokens": 5, "token": 7, "extra": [{"auth": {"by": ["abc"]}, "user": "me"}]}
    told = {"api_key": "***4e73", "max_tokens": 5, "token": 7, "extra": [{"auth": {"by": ["***ba78"]}, "user": "me"}]}
    assert masked_value("request", asked, marked) == told


@pytest.mark.parametrize(
    ("spec", "short", "described"),
    [
        (
            "http://me:s3cr3t@h:8000/act?api_key=s3cr3t&v=1",
            "http:h:8000/act",
            "http:http://me:***4e73@h:8000/act?api_key=***4e73&v=1",
        ),
        ("cmd:/bin/sh agent.sh --api-key s3cr3t", "cmd:sh", "cmd:/bin/sh agent.sh --api-key '***4e73'"),
        ("oracle", "oracle", "oracle"),
        ("py:json:loads", "py:json:loads", "py:json:loads"),
    ],
)
def test_the_short_name_has_nothing_that_is_secret(spec: str, short: str, described: str) -> None:
    factory = agent_factory(spec)
    assert factory.short == short
    assert factory.described() == {"agent": described}


def test_a_password_in_an_address_is_sent_and_never_shown() -> None:
    with serving(raw(b"no")) as service:
        url = service.url.replace("http://", "http://me:p%40ss@")
        agent: Any = agent_factory(url)()
        with pytest.raises(AgentError) as failed:
            agent(FIRST, [])
        assert service.asked[0].headers["authorization"] == "Basic bWU6cEBzcw=="  # me:p@ss
        assert "p%40ss" not in f"{failed.value} {agent_factory(url).described()}"
        agent.close()


# -- Options


@click.command()
@takes_agent_options
def shows(**given: Any) -> None:
    click.echo(repr(options_of(given)))
    assert not given


def test_options_of_a_command() -> None:
    run = CliRunner().invoke
    assert run(shows, []).output.strip() == repr(AgentOptions())
    line = "--agent-timeout 5 --base-url http://h --temperature 0 --retries 2 --price-in 0.5 --price-out 2"
    more = ["--request", "top_p=0.9", "--request", "tier=flex", "--request", 'stop=["a"]']
    request = (("top_p", "0.9"), ("tier", '"flex"'), ("stop", '["a"]'))
    options = AgentOptions(5.0, "http://h", 0.0, request, 2, 0.5, 2.0)
    assert run(shows, [*line.split(), *more]).output.strip() == repr(options)
    assert [json.loads(value) for _, value in request] == [0.9, "flex", ["a"]]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--price-in 1", "--price-in and --price-out go together."),
        ("--request top_p", "'top_p' is not NAME=VALUE, such as top_p=0.9"),
        ("--request messages=[]", "'messages' is not to be set: it is what the episode makes of it"),
        ("--agent-timeout 0", "0.0 is not in the range"),
        ("--temperature 3", "is not in the range"),
    ],
)
def test_options_that_make_no_sense(line: str, said: str) -> None:
    done = CliRunner().invoke(shows, line.split())
    assert done.exit_code == 2
    assert said in done.output
