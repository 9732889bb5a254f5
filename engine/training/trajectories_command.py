"""The command `deskproof trajectories`. Exit codes: 0 fine, 1 a pack or its tickets aren't fit, 2 usage."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import ceil
from typing import Any, get_args

import click
from rich.console import Console
from rich.progress import Progress

from engine.evaluation.agents import AgentError
from engine.evaluation.cluster import NoCluster
from engine.evaluation.opening import Unfit, load
from engine.evaluation.options import Engine, takes_engine
from engine.evaluation.plan import MOST, NothingPlanned, Plan, Wish
from engine.output import NewFile, Number, PackName, check_outputs, existing, write
from engine.pack import Pack
from engine.proof.told import count
from engine.split import SPLITS
from engine.terminal import printable
from engine.training.shards import Work, on_ray
from engine.training.trajectories import Form, Manner, Player, Policy, said
from engine.training.wordings import shared

FINDINGS = 1
EPSILON = Manner().epsilon


@click.command()
@click.argument("pack", type=PackName())
@click.option("-n", "--episodes", type=click.IntRange(1), metavar="N", help="How many. Default: each ticket once.")
@click.option(
    "--policy",
    type=click.Choice(get_args(Policy)),
    default="best",
    show_default=True,
    help="Who plays: the best line that the proof knows, chance, or now one and now the other.",
)
@click.option("--epsilon", type=Number(0, 1), help=f"mixed: the share of random steps. Default: {EPSILON}.")
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Form)),
    default="episodes",
    show_default=True,
    help="A line for each episode (SFT, offline RL), or for each pair of a better and a worse action (DPO).",
)
@click.option("-o", "--output", type=NewFile(), default="-", metavar="FILE", help="Default: standard output.")
@click.option("--split", type=click.Choice(SPLITS), help="Only the tickets of this split; none may be worded alike.")
@click.option("--task", "tasks", multiple=True, metavar="ID", help="Only tickets of this task; repeatable.")
@click.option("--ticket", "tickets", multiple=True, metavar="ID", help="Only this ticket; repeatable.")
@click.option("--seed", type=click.IntRange(0, 2**62), default=0, show_default=True, help="The first seed.")
@takes_engine
@click.option("--workers", type=click.IntRange(1, 256), help="ray: how many play at once.")
def trajectories(
    pack: str,
    episodes: int | None,
    policy: Policy,
    epsilon: float | None,
    form: Form,
    output: str,
    split: Any,
    tasks: tuple[str, ...],
    tickets: tuple[str, ...],
    seed: int,
    engine: Engine,
    workers: int | None,
) -> None:
    """Write episodes of PACK to learn from, as lines of JSON: each ticket at one seed, then all at the next.

    The same pack and the same options give the same bytes.
    """
    if epsilon is not None and policy != "mixed":
        raise click.UsageError("--epsilon is for --policy mixed: the other policies aren't mixed of two.")
    if workers is not None and engine != "ray":
        raise click.UsageError("--workers is for --engine ray: here one process plays.")
    path = existing(pack)
    check_outputs([output], [path])
    manner = Manner(policy, form, EPSILON if epsilon is None else epsilon)
    try:
        (loaded,) = load([path], allow_unproved=False)
        found = shared(loaded, [split]) if split is not None else None
        if found is not None:
            raise Unfit(printable(str(found)))
        many, wish = _wished(loaded, Wish(tasks, tickets, split), episodes, seed)
        _write(output, many, _lines(loaded, wish, manner, many, engine, workers))
    except (AgentError, Unfit) as error:
        click.echo(str(error), err=True)
        raise SystemExit(FINDINGS) from None
    except (NoCluster, NothingPlanned) as error:
        raise click.UsageError(str(error)) from None


def _wished(pack: Pack, wish: Wish, episodes: int | None, seed: int) -> tuple[int, Wish]:
    """How many episodes, and the wish with as many seeds as they take. Raises NothingPlanned."""
    rows = len(Plan([pack], wish).rows)
    many = episodes if episodes is not None else rows
    most = MOST - MOST % rows
    if many > most:
        raise NothingPlanned(f"{many:,} episodes are asked for; of {count(rows, 'ticket')} {most:,} are the most.")
    return many, Wish(wish.tasks, wish.tickets, wish.split, f"{seed}-{seed + ceil(many / rows) - 1}")


def _lines(
    pack: Pack, wish: Wish, manner: Manner, many: int, engine: Engine, workers: int | None
) -> Iterator[tuple[str, int]]:
    """The lines of a few episodes at a time, with how many they are."""
    plan = Plan([pack], wish)
    places = islice(plan.order(), many)
    if engine == "ray":
        return on_ray(Work(pack.source, wish, manner), places, workers)
    player = Player(pack, manner)
    return ((player.lines(plan.key(place)), 1) for place in places)


def _write(output: str, many: int, parts: Iterator[tuple[str, int]]) -> None:
    console = Console(stderr=True)
    written, chats = 0, set[int]()

    def pieces() -> Iterator[str]:
        nonlocal written
        with Progress(console=console, transient=True, disable=not console.is_terminal or output == "-") as bar:
            task = bar.add_task("Episodes", total=many)
            for piece, episodes in parts:
                yield piece
                written += piece.count("\n")
                chats.update(hash(said(line)) for line in piece.splitlines())
                bar.advance(task, episodes)

    write(output, pieces())
    if output != "-":
        again = f"; {written - len(chats):,} of them say what another one says" if len(chats) < written else ""
        click.echo(f"Wrote {count(written, 'line')} of {count(many, 'episode')} to {printable(output)}{again}.")
