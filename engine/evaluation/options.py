"""What may be said of an agent besides its name: how long it may take, what a model is asked with, and where it plays.

Keys are no options: they are read from the environment where they are used, and written nowhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

import click

from engine.evaluation.http_agent import SECONDS
from engine.output import Number
from engine.terminal import printable

RETRIES = 5

F = TypeVar("F", bound=Callable[..., Any])
# Who plays: this machine, or a cluster.
Engine = Literal["local", "ray"]

takes_engine = click.option(
    "--engine",
    type=click.Choice(get_args(Engine)),
    default="local",
    show_default=True,
    help="Play here, or on a cluster of Ray's: that of RAY_ADDRESS, else one that is started here.",
)


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """`seconds` is what an answer may take. All others are for `openai:MODEL` alone.

    `base_url` None: as the environment says. `request` are members of each request besides, as JSON. Prices are in US
    dollars for a million tokens; `retries` is how often a request is sent again that the service refused for now.
    """

    seconds: float = SECONDS
    base_url: str | None = None
    temperature: float | None = None
    request: tuple[tuple[str, str], ...] = ()
    retries: int = RETRIES
    price_in: float | None = None
    price_out: float | None = None


# The members of a request that an episode makes.
OURS = ("model", "messages", "tools", "stream", "n")


class _Member(click.ParamType[tuple[str, str]]):
    """NAME=VALUE, the value as JSON, else as text."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, equals, written = str(value).partition("=")
        if not name or not equals:
            self.fail(f"'{printable(str(value))}' is not NAME=VALUE, such as top_p=0.9", param, ctx)
        if name in OURS:
            self.fail(f"'{printable(name)}' is not to be set: it is what the episode makes of it", param, ctx)
        try:
            return name, json.dumps(json.loads(written))
        except (ValueError, RecursionError):
            return name, json.dumps(written)


_OPTIONS = (
    click.option(
        "--agent-timeout",
        type=Number(0, 86_400, min_open=True),
        default=SECONDS,
        show_default=True,
        metavar="SECONDS",
        help="What an answer of the agent may take.",
    ),
    click.option(
        "--base-url",
        metavar="URL",
        help="openai: where the model is. Default: OPENAI_BASE_URL, else API_BASE_URL, else OpenAI's.",
    ),
    click.option("--temperature", type=Number(0, 2), help="openai: default: the service's own."),
    click.option(
        "--request",
        type=_Member(),
        multiple=True,
        help="openai: a member of each request, such as max_completion_tokens=500; the value is JSON, else text.",
    ),
    click.option(
        "--retries",
        type=click.IntRange(0, 100),
        default=RETRIES,
        show_default=True,
        help="openai: how often a request is sent again that the service refused for now.",
    ),
    click.option("--price-in", type=Number(0), metavar="USD", help="openai: a million tokens of questions."),
    click.option("--price-out", type=Number(0), metavar="USD", help="openai: a million tokens of answers."),
)


def takes_agent_options(command: F) -> F:
    """Gives a command the options of agents; what comes is for `options_of`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def options_of(given: dict[str, Any]) -> AgentOptions:
    """Takes the values of `takes_agent_options` out of a command's."""
    seconds = given.pop("agent_timeout")
    names = ("base_url", "temperature", "request", "retries", "price_in", "price_out")
    options = AgentOptions(seconds=seconds, **{name: given.pop(name) for name in names})
    if (options.price_in is None) != (options.price_out is None):
        raise click.UsageError("--price-in and --price-out go together.")
    return options
