"""The command `deskproof eval`. Exit codes: 0 fine, 1 where episodes ended in an error, 2 usage, 130 after Ctrl-C."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from engine.contract import load_contract
from engine.evaluation.agents import AgentError
from engine.evaluation.aside import printing_aside
from engine.evaluation.cluster import NoCluster
from engine.evaluation.crew import Crew
from engine.evaluation.folder import Run, Unusable, is_run, locked
from engine.evaluation.ledger import REPLACED, Damaged, OpenLedger, Unwritable
from engine.evaluation.limits import EpisodeLimits, RunLimits
from engine.evaluation.naming import AgentFactory, agent_factory
from engine.evaluation.numbers import as_json
from engine.evaluation.numbers_told import standard_output, told_numbers
from engine.evaluation.opening import RUNS, Unfit, load, new_folder, open_run
from engine.evaluation.options import Engine, options_of, takes_agent_options, takes_engine
from engine.evaluation.plan import NothingPlanned, Wish, seeds
from engine.evaluation.played import over
from engine.evaluation.playing import Until
from engine.evaluation.progress import progress
from engine.evaluation.result import State
from engine.evaluation.runner import Again, Gather, Sitting, crew_of, play
from engine.evaluation.spent_told import told_spent
from engine.load import shipped_packs
from engine.output import Number, PackName, existing
from engine.proof.told import count
from engine.split import SPLITS
from engine.terminal import printable

FINDINGS = 1
USAGE = 2
INTERRUPTED = 130
# The agent that connects; and its crew: of a run, at a host and a port, which tells an address and a token.
PULL = "pull"
Pull = Callable[[Run, str, int, Callable[[str, str], None], Until, int], Crew]
# The kinds of agents that wait for others most of the time.
WAITING = ("http", "cmd", "openai")
_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


class Span(click.ParamType[float]):
    """A span of time, such as 30m, 12h or 2.5s; in seconds."""

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = _SPAN.fullmatch(str(value))
        if found is None or not float(found[1]):
            self.fail(
                f"'{printable(str(value))}' is no span of time: a number and s, m, h or d, such as 30m", param, ctx
            )
        return float(found[1]) * _SECONDS[found[2]]


class SeedsWanted(click.ParamType[str]):
    """How many seeds, or which."""

    name = "seeds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            seeds(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)


@click.command("eval")
@click.argument("agent")
@click.argument("packs", nargs=-1, type=PackName(), metavar="[PACK...]")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help=f"The run's folder; where it is one already, the run goes on. Default: a new one, {RUNS}/AGENT-N.",
)
@click.option("--task", "tasks", multiple=True, metavar="ID", help="Only tickets of this task; repeatable.")
@click.option("--ticket", "tickets", multiple=True, metavar="ID", help="Only this ticket; repeatable.")
@click.option("--split", type=click.Choice(SPLITS), help="Only the tickets of this split.")
@click.option(
    "--seeds",
    "wanted",
    type=SeedsWanted(),
    default="1",
    show_default=True,
    metavar="SEEDS",
    help="How many seeds of each ticket, from 0 on; or which, such as 5-9 or 3,7,100-199.",
)
@click.option(
    "--trials",
    type=click.IntRange(1, 1_000_000),
    default=1,
    show_default=True,
    help="How often each is played.",
)
@click.option("--workers", type=click.IntRange(1, 256), help="How many play at once. Default: as many as seem right.")
@takes_engine
@click.option("--episode-time", type=Span(), metavar="SPAN", help="What an episode may take, such as 2m.")
@click.option("--max-steps", type=click.IntRange(1), help="The most steps of an episode, where the pack allows more.")
@click.option("--time", "whole_time", type=Span(), metavar="SPAN", help="Stop after so long, such as 30m.")
@click.option("--max-tokens", type=click.IntRange(1), help="Stop at so many tokens.")
@click.option("--max-cost", type=Number(0, min_open=True), metavar="USD", help="Stop at so much money.")
@click.option("--retry-errors", is_flag=True, help="Play again what ended in an error.")
@click.option("--only-failing", is_flag=True, help="Play again what wasn't resolved, and nothing else.")
@click.option("--allow-unproved", is_flag=True, help="Play drafts too: packs that can't be proved sound.")
@click.option("--json", "as_data", is_flag=True, help="Print the numbers as JSON.")
@click.option("--host", default="127.0.0.1", show_default=True, help="pull: the address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), help="pull: the port; default: the contract's.")
@takes_agent_options
@click.pass_obj
def evaluate(
    pull: Pull,
    /,
    agent: str,
    packs: tuple[str, ...],
    output: Path | None,
    tasks: tuple[str, ...],
    tickets: tuple[str, ...],
    split: Any,
    wanted: str,
    trials: int,
    workers: int | None,
    engine: Engine,
    episode_time: float | None,
    max_steps: int | None,
    whole_time: float | None,
    max_tokens: int | None,
    max_cost: float | None,
    retry_errors: bool,
    only_failing: bool,
    allow_unproved: bool,
    as_data: bool,
    host: str,
    port: int | None,
    **of_agent: Any,
) -> None:
    """Let AGENT play tickets of PACKS (default: the shipped ones), and say how good it is.

    AGENT is random, ask-everything, playbook or oracle; http:URL, cmd:PROGRAM, py:module:callable or openai:MODEL; or
    pull: it connects to a server that the run has of its own.
    Exits 1 where episodes ended in an error.
    """
    if retry_errors and only_failing:
        raise click.UsageError("--only-failing plays errors again as well: leave --retry-errors out.")
    if (retry_errors or only_failing) and output is None:
        option = "--retry-errors" if retry_errors else "--only-failing"
        raise click.UsageError(f"{option} plays a run's episodes again: name its folder with -o.")
    again: Again = "errors" if retry_errors else "failing" if only_failing else "new"
    wish, limits = Wish(tasks, tickets, split, wanted, trials), EpisodeLimits(max_steps, episode_time)
    sitting = Sitting(again, RunLimits(whole_time, max_tokens, max_cost))
    options = options_of(of_agent)
    try:
        with printing_aside():  # its module may print
            factory = agent_factory(agent, options) if agent != PULL else None
        if factory is None:
            _check_pull(workers, engine, max_tokens, max_cost)
        else:
            _check_counted(factory, max_tokens, max_cost)
        loaded = load([existing(name) for name in packs] or shipped_packs(), allow_unproved)
        path = output if output is not None else new_folder(factory.short if factory is not None else PULL)
        if only_failing and not is_run(path):
            raise click.UsageError(f"--only-failing plays a run's episodes again, and {printable(str(path))} is none.")
        described = factory.described() if factory is not None else {"agent": PULL}
        run = open_run(path, described, loaded, wish, limits, allow_unproved)
        if factory is not None:
            gather = crew_of(run, factory, factory.kind in WAITING, workers, engine, foreign=factory.kind == "py")
        else:
            gather = partial(pull, run, host, port or load_contract().port, _invite)
        with locked(path), closing(OpenLedger(path, run.plan)) as ledger:
            ended = _sat(run, ledger, sitting, gather)
            _report(run, ledger, ended, as_data)
    except Unfit as error:
        click.echo(str(error), err=True)
        raise SystemExit(FINDINGS) from None
    except (AgentError, NoCluster, NothingPlanned, Unusable, Damaged, Unwritable) as error:
        raise click.UsageError(str(error)) from None
    raise SystemExit(FINDINGS if ledger.count(State.ERROR) else 0)


def _sat(run: Run, ledger: OpenLedger, sitting: Sitting, gather: Gather) -> str | None:
    """Plays, and gives the limit of the run that ended it. Ctrl-C ends the process; what was played by then stays."""
    try:
        with progress(Console(stderr=True, highlight=False)) as hear, printing_aside():
            return play(run, ledger, sitting, gather, hear)
    except KeyboardInterrupt:
        planned = ledger.plan.count
        played = f"{planned - ledger.count(State.NOTHING, State.UNFINISHED):,} of {count(planned, 'episode')}"
        click.echo(f"Stopped: {played} are played. {_onwards(run)}", err=True)
        raise SystemExit(INTERRUPTED) from None
    except (AgentError, Unwritable) as error:
        click.echo(f"{error}\n{_onwards(run)}", err=True)
        raise SystemExit(USAGE) from None


def _check_pull(workers: int | None, engine: Engine, max_tokens: int | None, max_cost: float | None) -> None:
    """Refuses what there is no use for where an agent plays by itself."""
    if workers is not None or engine != "local":
        raise click.UsageError(
            "An agent that connects says itself how much it plays at once: no --workers, no --engine."
        )
    if max_tokens is not None or max_cost is not None:
        raise click.UsageError("What an agent spends that connects isn't known: no --max-tokens, no --max-cost.")


def _check_counted(factory: AgentFactory, max_tokens: int | None, max_cost: float | None) -> None:
    """Refuses limits that would never end the run."""
    if not factory.counts_tokens and (max_tokens is not None or max_cost is not None):
        raise click.UsageError(
            "What this agent spends isn't known, so no --max-tokens and no --max-cost: openai:MODEL counts tokens."
        )
    if max_cost is not None and not factory.counts_cost:
        raise click.UsageError("--max-cost needs --price-in and --price-out: no prices are known without them.")


def _invite(address: str, token: str) -> None:
    click.echo(f"Each reset at {address} begins the next episode. The token: {token}", err=True)


def _report(run: Run, ledger: OpenLedger, ended: str | None, as_data: bool) -> None:
    """The numbers, and what is to be known of them."""
    played = over(run, ledger)
    table, replaced = played.table(), played.replaced
    unplayed, errors = ledger.count(State.NOTHING, State.UNFINISHED), ledger.count(State.ERROR)
    if as_data:
        about = {"run": str(run.path), "ended_by": ended, "not_played": unplayed, "replaced": replaced}
        click.echo(json.dumps({**about, **as_json(table)}, ensure_ascii=False))
        return
    told_numbers(table, standard_output())
    spent = told_spent(run.path)
    if spent is not None:
        click.echo(spent)
    if unplayed:
        why = f"{ended} " if ended is not None else ""
        click.echo(f"{why}Not played to the end: {count(unplayed, 'episode')}. {_onwards(run)}")
    if errors:
        click.echo(f"Ended in an error: {count(errors, 'episode')}. To play them again: the same with --retry-errors.")
    if replaced:
        click.echo(
            f"Played again though they were done (--only-failing): {count(replaced, 'episode')}. These numbers are "
            f"better than the agent is; what came of it before stands in {REPLACED}."
        )
    click.echo(f"The run is in {printable(str(run.path))}.")


def _onwards(run: Run) -> str:
    return f"To go on: the same command with -o {shlex.quote(printable(str(run.path)))}."
