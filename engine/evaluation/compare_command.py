"""The command `deskproof compare`. Exit codes: 0 compared, 1 there is what can't be compared, 2 usage."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from engine.evaluation.compare import Side, Unlike, compare, unlike
from engine.evaluation.compare_told import as_json, told_comparison, told_unlike, unlike_json
from engine.evaluation.folder import Unusable
from engine.evaluation.numbers import Planned, Row, known_of, planned, success_at_least
from engine.evaluation.numbers_told import shown
from engine.evaluation.played import Played, played
from engine.evaluation.result import DONE, State
from engine.proof.told import count
from engine.terminal import printable

NOT_COMPARABLE = 1
# Options that decide how an episode ends; the others say which are played, and those in both are compared.
_ENDS = ("max_steps", "episode_time")


@click.command("compare")
@click.argument("first", metavar="FIRST", type=click.Path(path_type=Path))
@click.argument("second", metavar="SECOND", type=click.Path(path_type=Path))
@click.option("--common", is_flag=True, help="Leave out the tickets that aren't the same in both runs.")
@click.option("--json", "as_data", is_flag=True, help="Print everything as JSON.")
def compare_runs(first: Path, second: Path, common: bool, as_data: bool) -> None:
    """Show how the run in the folder SECOND differs from that in FIRST, over the episodes that are done in both.

    Refused are runs with a ticket that both play and that isn't the same in both: its certificates differ in what is
    proved of it, or in what decides it.

    Exits 1 where they are refused or have nothing in common, 2 where one can't be read.
    """
    runs = (_read(first), _read(second))
    tickets = _in_both(*runs)
    refused = _unlike(*runs, tickets)
    kept = [one for one in tickets if (one.pack, one.ticket) not in refused]
    about: dict[str, Any] = {"first": _about(runs[0]), "second": _about(runs[1]), "unlike": unlike_json(refused)}
    if not kept or (refused and not common):
        _refuse(about, refused, len(tickets), as_data)
    found = compare(_side(runs[0]), _side(runs[1]), kept)
    if as_data:
        click.echo(json.dumps({"comparable": True, **about, **as_json(found)}))
    else:
        for line in _heading(runs, refused):
            click.echo(line)
        told_comparison(found, Console(highlight=False, emoji=False))
    raise SystemExit(0 if found.overall.pairs else NOT_COMPARABLE)


def _read(path: Path) -> Played:
    try:
        return played(path)
    except Unusable as error:
        raise click.UsageError(str(error)) from None


def _side(one: Played) -> Side:
    plan = one.run.plan
    return Side(plan.seeds, plan.trials, known_of(plan.packs, one.certificates), one.records())


def _in_both(first: Played, second: Played) -> list[Planned]:
    """The tickets that both runs play, as the second one has them."""
    rows = set(first.run.plan.rows)
    return [one for one in planned(second.run.plan) if (one.pack, one.ticket) in rows]


def _unlike(first: Played, second: Played, tickets: Sequence[Planned]) -> dict[Row, Unlike]:
    found: dict[Row, Unlike] = {}
    for pack in dict.fromkeys(one.pack for one in tickets):
        own = [one.ticket for one in tickets if one.pack == pack]
        found |= unlike(first.certificates[pack], second.certificates[pack], pack, own)
    return found


# -- For people


def _refuse(about: Mapping[str, Any], refused: Mapping[Row, Unlike], tickets: int, as_data: bool) -> None:
    if as_data:
        click.echo(json.dumps({"comparable": False, **about}))
    elif not tickets:
        click.echo("These runs can't be compared: no ticket is played in both.")
    else:
        click.echo(
            f"These runs can't be compared: {len(refused):,} of {count(tickets, 'ticket')} that both play "
            f"{'is' if len(refused) == 1 else 'are'} not the same in both."
        )
        for line in told_unlike(refused):
            click.echo(line)
        if len(refused) < tickets:
            click.echo(f"--common compares the other {tickets - len(refused):,}.")
    raise SystemExit(NOT_COMPARABLE)


def _heading(runs: Sequence[Played], refused: Mapping[Row, Unlike]) -> Iterator[str]:
    for name, one in zip(("first", "second"), runs, strict=True):
        about = one.run.about
        agent = printable(str(about.agent.get("agent")))
        done = f"{one.ledger.count(*DONE):,} of {count(about.planned, 'episode')} done{_at_least(one)}"
        yield f"{name + ':':<8}{printable(str(one.run.path))}: {agent}, {done}"
    for name, one in zip(("first", "second"), runs, strict=True):
        if one.replaced:
            yield (
                f"The {name} run played again what was done (--only-failing), {count(one.replaced, 'episode')}: its "
                "numbers are better than the agent is"
            )
    first, second = (one.run for one in runs)
    for option in _ENDS:
        was, now = (json.dumps(one.about.options.get(option)) for one in (first, second))
        if was != now:
            name = option.replace("_", " ")
            yield f"Episodes are cut off otherwise: the {name} is {was} in the first run, {now} in the second"
    for name in sorted(first.plan.packs.keys() & second.plan.packs.keys()):
        if first.plan.packs[name].digest != second.plan.packs[name].digest:
            yield f"{printable(name)} has another digest in each run: its texts may have changed"
    if refused:
        yield f"{count(len(refused), 'ticket')} left out:"
        yield from told_unlike(refused)
    yield ""


def _at_least(one: Played) -> str:
    """What the success rate would be if all that isn't done had failed; nothing where all is done."""
    planned, ledger = one.run.plan.count, one.ledger
    if ledger.count(*DONE) == planned:
        return ""
    return f"; success at least {shown(success_at_least(ledger.count(State.RESOLVED), planned))}"


# -- For programs


def _about(one: Played) -> dict[str, Any]:
    about = one.run.about
    packs = {pack["name"]: pack["digest"] for pack in about.packs}
    done = one.ledger.count(*DONE)
    return {
        **{"agent": about.agent, "options": about.options, "packs": packs},
        **{"planned": about.planned, "done": done, "replaced": one.replaced},
    }
