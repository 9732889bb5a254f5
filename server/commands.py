"""The command line of the store: `deskproof episodes`; and `deskproof replay`, of its episodes or of a run's.

Exit codes: 0 fine, 1 findings, 2 usage.
"""

from __future__ import annotations

import re
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import IO, BinaryIO

import click
from rich.console import Console
from rich.markup import escape

from engine.contract import load_contract
from engine.diagnostics import PackError
from engine.evaluation.replay.command import replay_folder
from engine.load import load_pack, shipped_packs
from engine.output import NewFile
from engine.pack import Pack
from engine.transcript import Unreadable, line, transcript
from engine.transcript import replay as replay_line
from server.naming import told
from server.reload import NotRunning, tell
from server.settings import Nonsense, ports, store_url
from server.shelf import Shelf, Unserved
from server.store import EpisodeStore, Record, Unavailable, Unusable
from server.store.opening import open_store

FINDINGS = 1
_SPAN = re.compile(r"(\d{1,9})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

_store = click.option("--store", "url", metavar="URL", help="Default: STORE in the environment, else the server's own.")


class Span(click.ParamType[int]):
    """A span of time, such as 30d, 12h, 45m or 10s; in seconds."""

    name = "span"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = _SPAN.fullmatch(value)
        if found is None:
            self.fail(f"'{value}' is no span of time: a number and s, m, h or d, such as 30d", param, ctx)
        return int(found[1]) * _SECONDS[found[2]]


@click.group()
def episodes() -> None:
    """Look at stored episodes, export them, and forget old ones."""


@episodes.command("list")
@_store
@click.option("--pack", help="Only those of this pack, by its name.")
@click.option("--open/--over", "open_", default=None, help="Only those that can still be stepped, or only the others.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="The newest so many.")
def list_(url: str | None, pack: str | None, open_: bool | None, limit: int) -> None:
    """List episodes, the newest last: id, attempt, pack, ticket, seed, steps, how it ended, when it last changed."""
    with _opened(url) as store:
        shelf = Shelf((), store)
        chosen: deque[tuple[Record, str]] = deque(maxlen=limit)
        for record in store.records():
            name = _pack_name(shelf, record)
            if pack in (None, name) and open_ is not (record.end_reason is not None):
                chosen.append((record, name))
    for record, name in chosen:
        start, (_, episode_id) = record.start, told(record.key.episode_id)
        fields = (_shown(episode_id), record.key.attempt, name, start.ticket_id, start.seed, len(record.steps))
        click.echo("\t".join((*map(str, fields), record.end_reason or "open", _time(record.changed))))


@episodes.command()
@_store
@click.argument("episode_id")
def show(url: str | None, episode_id: str) -> None:
    """Show what happened in an episode, all its attempts one after the other."""
    with _opened(url) as store:
        records = [record for record in store.records() if told(record.key.episode_id)[1] == episode_id]
        if not records:
            raise click.UsageError(f"There is no episode '{_shown(episode_id)}': deskproof episodes list shows them.")
        shelf = Shelf((), store)
        for record in records:
            _show(record, shelf, Console(highlight=False, soft_wrap=True))


@episodes.command()
@_store
@click.option("--over", is_flag=True, help="Leave out what can still be stepped.")
@click.option("-o", "--output", type=click.File("wb", lazy=True), default="-", help="Default: standard output.")
def export(url: str | None, over: bool, output: BinaryIO) -> None:
    """Write episodes as JSON Lines: one attempt a line, all that happened in it.

    What a server forgot is not among them: it forgets what has been over for KEEP seconds, thirty days by default.

    Exits 1 where the pack version of an episode isn't kept any more; the others are written all the same.
    """
    lost = 0
    with _opened(url) as store:
        shelf = Shelf((), store)
        for record in store.records():
            if over and record.end_reason is None:
                continue
            try:
                output.write(line(exported(record, shelf)))
            except Unserved as error:
                lost += 1
                click.echo(f"{_shown(told(record.key.episode_id)[1])}: {error}", err=True)
    raise SystemExit(FINDINGS if lost else 0)


@episodes.command()
@_store
@click.option("--older-than", "span", type=Span(), required=True, help="Since the last change; such as 30d or 12h.")
def prune(url: str | None, span: int) -> None:
    """Forget episodes that are over and haven't changed for a time. What can still be stepped stays."""
    with _opened(url) as store:
        count = store.prune(time.time() - span)
    click.echo(f"Forgot {count} {'attempt' if count == 1 else 'attempts'}.")


@click.command()
@_store
@click.argument("what", type=click.Path(exists=True, allow_dash=True), metavar="FILE|RUN")
@click.option(
    "--pack",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Of a file: a pack to play from; repeatable.",
)
@click.option("--sign-off", type=NewFile(), metavar="FILE", help="Of a run: write what was checked, as JSON.")
def replay(url: str | None, what: str, paths: tuple[Path, ...], sign_off: str | None) -> None:
    """Play what was played again, from actions alone, and compare.

    FILE has exported episodes. The packs are those named by --pack, the shipped ones, and those that the store keeps.
    Exits 1 at the first byte that differs, or where a line can't be played.

    RUN is the folder of a run of `deskproof eval`: every episode is played again on the packs in it, these are proved
    again, and the numbers are worked out from what comes of it. Exits 1 where anything differs, 2 where it is no run.
    """
    if Path(what).is_dir():
        if url is not None or paths:
            raise click.UsageError("A run is played on the packs in its folder: no --store, no --pack.")
        raise SystemExit(replay_folder(Path(what), sign_off))
    if sign_off is not None:
        raise click.UsageError("--sign-off is about the folder of a run.")
    with click.open_file(what, "rb") as file:
        _replay_file(file, paths, url)


def _replay_file(file: IO[bytes], paths: tuple[Path, ...], url: str | None) -> None:
    packs = {pack.digest: pack for pack in map(_loaded, (*shipped_packs(), *paths))}

    def pack_of(digest: str) -> Pack:
        if digest not in packs:
            packs[digest] = _kept(digest, url)
        return packs[digest]

    played = 0
    for number, raw in enumerate(file, 1):
        if not raw.strip():
            continue
        try:
            difference = replay_line(raw, pack_of)
        except (Unreadable, Unserved) as error:
            raise _finding(f"{file.name}:{number}: {error}") from None
        if difference is not None:
            raise _finding(
                f"{file.name}:{number}: differs at byte {difference.byte}, in {difference.member}\n"
                f"  written: ...{difference.written}\n  played:  ...{difference.played}"
            )
        played += 1
    click.echo(f"{played} {'episode' if played == 1 else 'episodes'} played again: every byte is the same.")


@click.command("reload")
@click.option("--port", type=click.IntRange(1, 65535), help="Default: PORT in the environment, else the contract's.")
def reload_(port: int | None) -> None:
    """Have the server on this machine load its packs anew, for new episodes; running ones go on with the old packs.

    Exits 1, and says why, where the packs are unfit: the server keeps the old ones.
    """
    try:
        wrong = tell(port or _port())
    except NotRunning as error:
        raise _finding(str(error)) from None
    if wrong is not None:
        raise _finding(wrong)
    click.echo("The packs were loaded anew.")


def _port() -> int:
    """Where a server of this environment listens."""
    try:
        return ports(load_contract().port)[0]
    except Nonsense as error:
        raise click.UsageError(str(error)) from None


def exported(record: Record, shelf: Shelf) -> dict[str, object]:
    """The transcript of a stored attempt. Raises Unserved."""
    owner, episode_id = told(record.key.episode_id)
    about = {
        "episode_id": episode_id,
        "attempt": record.key.attempt,
        **({"owner": owner} if owner else {}),
        "options": dict(record.start.options),
        "started": record.start.at,
        "changed": record.changed,
        "deskproof": _version(),
    }
    return transcript(shelf.episode(record), about, record.end_reason)


@cache
def _version() -> str:
    """Of what is installed; finding out takes as long as a whole episode."""
    return version("deskproof")


def _show(record: Record, shelf: Shelf, console: Console) -> None:
    key, start = record.key, record.start
    try:
        episode = shelf.episode(record)
    except Unserved as error:
        console.print(f"{escape(_shown(told(key.episode_id)[1]))}, attempt {key.attempt}: {escape(str(error))}")
        return
    console.print(
        f"[bold]{escape(_shown(told(key.episode_id)[1]))}[/], attempt {key.attempt}: {escape(episode.case.pack.name)} "
        f"{escape(episode.case.pack.version)}, ticket {escape(start.ticket_id)}, seed {start.seed}, {_time(start.at)}"
    )
    for said in episode.history:
        what = said.get("text") or line(said["action"]).decode().strip()
        console.print(f"  {said['step']:>3} [cyan]{said['role']}:[/] {escape(_shown(what))}")
    console.print(
        f"  {record.end_reason or 'open'}; return {episode.total:.4f}, score {episode.score():.4f}, "
        f"{episode.step_count} steps (optimal: {episode.optimal_steps})\n"
    )


@contextmanager
def _opened(url: str | None) -> Iterator[EpisodeStore]:
    """The store; where it can't be used, one sentence on stderr and exit code 1."""
    try:
        store = open_store(url or store_url())
        try:
            yield store
        finally:
            store.close()
    except (Unusable, Unavailable) as error:
        raise _finding(str(error)) from None


def _kept(digest: str, url: str | None) -> Pack:
    """The pack that the store keeps. Raises Unserved."""
    with _opened(url) as store:
        return Shelf((), store).pack(digest)


def _loaded(path: Path) -> Pack:
    try:
        return load_pack(path)
    except PackError as error:
        raise _finding(str(error)) from None


def _pack_name(shelf: Shelf, record: Record) -> str:
    try:
        return shelf.pack(record.start.pack_digest).name
    except Unserved:
        return record.start.pack_digest[:12]


def _finding(text: str) -> SystemExit:
    print(text, file=sys.stderr)
    return SystemExit(FINDINGS)


def _shown(text: str) -> str:
    """Text that a client chose, for a terminal: nothing in it moves the cursor or begins a line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
