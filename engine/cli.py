"""The command line. Exit codes: 0 fine, 1 findings, 2 usage; `engine.entry` has those of a process that can't go on."""

from __future__ import annotations

if __name__ == "__main__":
    from engine.entry import run

    run()  # before anything else is imported; it never comes back

import secrets
from pathlib import Path

import click
from rich.console import Console

from engine import play as player
from engine.case import make_case, pick_ticket
from engine.check_command import check
from engine.diagnostics import PackError
from engine.episode import Episode
from engine.evaluation.compare_command import compare_runs
from engine.evaluation.eval_command import evaluate
from engine.evaluation.report.command import report
from engine.explain_command import explain
from engine.importing.commands import import_
from engine.load import load_pack
from engine.new import EXAMPLE
from engine.output import PackName, check_name, existing, write
from engine.pack import Pack
from engine.preview.command import preview
from engine.proof.commands import prove
from engine.proof.diff_command import diff
from engine.proof.mutate_command import mutate
from engine.schema_command import BESIDE, put_beside, schema
from engine.terminal import printable, shell_path
from engine.training.compile_command import compile_
from engine.training.trajectories_command import trajectories
from server.commands import episodes, reload_, replay
from server.pull import Pulled
from server.token_command import token

MAX_SEED = 2**63 - 1
FINDINGS = 1
USAGE = 2


@click.group(context_settings={"help_option_names": ["-h", "--help"], "obj": Pulled})
@click.version_option(package_name="deskproof")
def main() -> None:
    """Customer-support tickets as proved, playable environments."""


@main.command()
@click.argument("packs", nargs=-1, type=PackName(path_type=Path))
@click.option("--host", default="0.0.0.0", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), help="Default: PORT in the environment, else the contract's.")
@click.option("--workers", type=click.IntRange(1, 64), help="Default: WORKERS in the environment, else 1.")
@click.option(
    "--store", metavar="URL", help="memory:, sqlite:PATH or redis://HOST:6379/0. Default: STORE, else a file."
)
@click.option("--watch", is_flag=True, help="Load the packs anew whenever one of their files is written.")
@click.option("--allow-unproved", is_flag=True, help="Serve drafts too: packs that can't be proved sound.")
def serve(
    packs: tuple[Path, ...],
    host: str,
    port: int | None,
    workers: int | None,
    store: str | None,
    watch: bool,
    allow_unproved: bool,
) -> None:
    """Serve PACKS (default: the shipped ones) over HTTP."""
    from server.app import serve as run  # the server is loaded only where it is asked for

    run(host=host, port=port, workers=workers, packs=packs, store=store, watch=watch, allow_unproved=allow_unproved)


@main.command()
@click.argument("pack", type=PackName(path_type=Path))
@click.option("--ticket", help="The ticket to play; default: the seed picks one.")
@click.option("--task", help="Let the seed pick from the tickets of this task.")
@click.option("--seed", type=click.IntRange(0, MAX_SEED), help="Default: drawn, and shown.")
def play(pack: Path, ticket: str | None, task: str | None, seed: int | None) -> None:
    """Play a ticket of PACK in the terminal, and see reward, outcome and final score."""
    loaded = _loaded(pack)
    seed = secrets.randbelow(2**31) if seed is None else seed
    check_name("task", task, loaded.tasks)
    check_name("ticket", ticket, loaded.tickets)
    if ticket is not None and task not in (None, loaded.tickets[ticket].task):
        raise click.UsageError(f"Ticket '{ticket}' belongs to the task '{loaded.tickets[ticket].task}'.")
    try:
        chosen = ticket if ticket is not None else pick_ticket(loaded, seed, task)
    except LookupError as error:
        raise click.UsageError(str(error.args[0])) from None
    episode = Episode.start(make_case(loaded, chosen, seed))
    player.play(episode, Console(highlight=False, emoji=False), input)


@main.command()
@click.argument("pack", type=PackName(path_type=Path))
def new(pack: Path) -> None:
    """Write a small, commented, valid pack: PACK is a *.yaml file, else a folder for pack.yaml."""
    path = pack if pack.suffix in (".yaml", ".yml") else pack / "pack.yaml"
    if path.exists():
        raise click.UsageError(f"{path} exists already; nothing was written.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.UsageError(f"{path} can't be written: {error.strerror}.") from None
    schema_name, is_new = put_beside(path)
    beside = f", and {schema_name} beside it for editors" if is_new else ""
    write(str(path), EXAMPLE.replace(BESIDE, schema_name, 1))
    click.echo(f"Wrote {printable(str(path))}{beside}. Next: deskproof check {shell_path(str(path))}")


def _loaded(path: Path) -> Pack:
    try:
        return load_pack(existing(path))
    except PackError as error:
        click.echo(str(error), err=True)
        raise SystemExit(FINDINGS) from None


for command in (
    check,
    compare_runs,
    compile_,
    diff,
    episodes,
    evaluate,
    explain,
    import_,
    mutate,
    preview,
    prove,
    reload_,
    replay,
    report,
    schema,
    token,
    trajectories,
):
    main.add_command(command)
