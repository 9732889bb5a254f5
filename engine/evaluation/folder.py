"""The folder of a run: what it is a run of, and everything that is needed to go on with it, or to play it again.

    run.json                what was asked for, and its guard
    packs/NAME.json         each pack's source: nobody needs the files that it was written in
    certificates/NAME.json  what was proved of it
    episodes.jsonl          a record for each episode that was played (`engine.evaluation.record`)
    times.jsonl             what isn't the same in every run: seconds, tokens, cost (`engine.evaluation.ledger`)
    replaced.jsonl          records of episodes that were done, and then played again on purpose

A folder is made whole, under another name at first, so there never is half of one.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import quote

from engine.contract import Contract, load_contract
from engine.diagnostics import PackError
from engine.evaluation.ledger import sync_folder
from engine.evaluation.limits import EpisodeLimits
from engine.evaluation.plan import NothingPlanned, Plan, Wish
from engine.evaluation.reading import content, opened
from engine.load import rebuild
from engine.pack import Pack
from engine.split import SPLITS
from engine.terminal import printable

FORMAT = 1
ABOUT, PACKS, CERTIFICATES = "run.json", "packs", "certificates"
# A pack's name may be any text; a file's may not.
_LONGEST_NAME = 100


class Unusable(ValueError):
    """A folder that is no run, or not the one that is meant; the text says why, and what differs."""


class Changed(Unusable):
    """A run that isn't what was written any more."""


@dataclass(frozen=True, slots=True)
class About:
    """What a run is a run of, as run.json has it. The guard is over the packs' digests, the agent and the options."""

    tool: str
    agent: Mapping[str, Any]
    options: Mapping[str, Any]
    packs: tuple[Mapping[str, str], ...]  # name, version, digest, and the name of their files
    planned: int

    @property
    def guard(self) -> str:
        """SHA-256 of all that decides what the records say."""
        whole = [[[pack["name"], pack["digest"]] for pack in self.packs], self.agent, self.options]
        text = json.dumps(whole, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def wish(self) -> Wish:
        asked = self.options
        tasks, tickets = tuple(asked["tasks"]), tuple(asked["tickets"])
        return Wish(tasks, tickets, asked["split"], asked["seeds"], asked["trials"])

    @property
    def limits(self) -> EpisodeLimits:
        return EpisodeLimits(self.options["max_steps"], self.options["episode_time"])

    def as_json(self) -> dict[str, Any]:
        return {
            "run": FORMAT,
            "tool": self.tool,
            "agent": self.agent,
            "options": self.options,
            "packs": list(self.packs),
            "planned": self.planned,
            "guard": self.guard,
        }

    def text(self) -> str:
        """What stands in run.json."""
        return json.dumps(self.as_json(), indent=1, allow_nan=False) + "\n"


def about(tool: str, agent: Mapping[str, Any], plan: Plan, wish: Wish, limits: EpisodeLimits) -> About:
    """What a run of a plan would be."""
    packs = [
        {"name": pack.name, "version": pack.version, "digest": pack.digest, "file": _file_name(pack.name)}
        for _, pack in sorted(plan.packs.items())
    ]
    options = {**wish.as_json(), "max_steps": limits.max_steps, "episode_time": limits.seconds}
    return About(tool, agent, options, tuple(packs), plan.count)


@dataclass(frozen=True, slots=True)
class Run:
    """A run's folder as it was read. Its records: `engine.evaluation.ledger.Ledger(run.path, run.plan).records()`."""

    path: Path
    about: About
    plan: Plan

    def certificate(self, pack: str) -> bytes:
        """What was proved of a pack, as `engine.proof.certificate` reads it."""
        return content(self.path / CERTIFICATES / f"{_file_name(pack)}.json")


def make(path: Path, what: About, packs: Sequence[Pack], certificates: Mapping[str, str]) -> None:
    """Makes the folder of a run; `certificates` are texts, by the packs' names.

    Raises:
        Unusable: it can't be made there.
    """
    new = path.with_name(f".{path.name[:100]}-{secrets.token_hex(4)}")
    texts = {ABOUT: what.text()}
    for pack in packs:
        texts[f"{PACKS}/{_file_name(pack.name)}.json"] = pack.source
        texts[f"{CERTIFICATES}/{_file_name(pack.name)}.json"] = certificates[pack.name]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.mkdir()
        for folder in (PACKS, CERTIFICATES):
            (new / folder).mkdir()
        for name, text in texts.items():
            with (new / name).open("xb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
        new.rename(path)  # where an empty folder is, it takes its place
        sync_folder(path.parent)
    except BaseException as error:  # Ctrl-C too
        shutil.rmtree(new, ignore_errors=True)
        if isinstance(error, OSError):
            raise Unusable(f"The folder {_named(path)} can't be made: {error.strerror}.") from None
        raise


def is_run(path: Path) -> bool:
    """Whether there is anything at a path that a run would be gone on with. Raises Unusable: it is something else."""
    if (path / ABOUT).is_file():
        return True
    try:
        if not path.exists() or not any(path.iterdir()):
            return False
    except OSError as error:
        raise Unusable(f"{_named(path)} can't be used as a folder: {error.strerror}.") from None
    raise Unusable(f"{_named(path)} is no run: there is something in it, but no {ABOUT}. Name another folder.")


def read(path: Path, contract: Contract | None = None) -> Run:
    """The run in a folder, with the packs that it was played with.

    Raises:
        Unusable: it isn't one, or it was made by a version that wrote something else.
    """
    what = _about(path)
    packs = []
    for told in what.packs:
        name = f"{PACKS}/{told['file']}.json"
        try:
            pack = rebuild(content(path / name).decode(), contract or load_contract())
        except (OSError, UnicodeDecodeError):
            raise Unusable(f"{_named(path)} is no whole run: {printable(name)} can't be read.") from None
        except PackError as error:
            raise Unusable(f"{_named(path / name)} can't be played by this version:\n{error}") from None
        if (pack.name, pack.digest) != (told["name"], told["digest"]):
            raise Changed(f"{_named(path / name)} isn't the pack that the run was played with: its digest differs.")
        packs.append(pack)
    try:
        plan = Plan(packs, what.wish)
    except (NothingPlanned, ValueError) as error:
        raise Unusable(f"{_named(path / ABOUT)} asks for what there isn't: {error}") from None
    return Run(path, what, plan)


def check_same(path: Path, there: About, here: About) -> None:
    """Raises Unusable where a folder's run isn't the one that is asked for, and says all that differs."""
    if there.guard == here.guard:
        return
    differences = [*_of_packs(there, here), *_of_members("agent", there.agent, here.agent)]
    differences += _of_members("option", there.options, here.options)
    listed = "\n".join(f"  {line}" for line in differences)
    raise Unusable(f"{_named(path)} is another run, and can't be gone on with:\n{listed}\nName another folder with -o.")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keeps others from playing a run. Raises Unusable where somebody does. The lock goes when the process does."""
    import fcntl  # not every system has it, and there the other commands work

    try:
        file = os.open(path / ABOUT, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise Unusable(f"{_named(path)} can't be used: {error.strerror}.") from None
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Unusable(f"{_named(path)} is being played by another process.") from None
        yield
    finally:
        with suppress(OSError):
            os.close(file)


def check_unplayed(path: Path) -> None:
    """Raises Unusable where somebody plays a run now: what is in its folder isn't all that comes of it."""
    try:
        import fcntl
    except ImportError:  # nor can it be played there
        return
    with opened(path / ABOUT) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # it goes with the file
        except BlockingIOError:
            raise Unusable(f"{_named(path)} is being played by another process: try again once it is over.") from None


def _about(path: Path) -> About:
    where = _named(path / ABOUT)
    try:
        found = json.loads(content(path / ABOUT))
    except OSError as error:
        raise Unusable(f"{_named(path)} is no run: its {ABOUT} can't be read ({error.strerror}).") from None
    except (ValueError, RecursionError):
        raise Unusable(f"{where} is not JSON.") from None
    form = found.get("run") if isinstance(found, dict) else None
    if form != FORMAT:
        what = (
            f'it has no "run": {FORMAT}' if form is None else f"it is of form {form!r}, and form {FORMAT} is read here"
        )
        raise Unusable(f"{where} is not what this version writes: {what}.")
    try:
        packs = tuple(
            {name: str(pack[name]) for name in ("name", "version", "digest", "file")} for pack in found["packs"]
        )
        made = About(str(found["tool"]), dict(found["agent"]), dict(found["options"]), packs, found["planned"])
        sound = made.guard == found["guard"] and type(made.planned) is int and _fit(made.options)
        sound = sound and all(pack["file"] == _file_name(pack["name"]) for pack in packs)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        sound = False
    if not sound:
        raise Changed(f"{where} was changed after it was written: its guard doesn't fit.")
    return made


def _fit(options: Mapping[str, Any]) -> bool:
    """Whether options are what a wish and limits are made of. Raises KeyError, OverflowError where they aren't."""
    names = [*options["tasks"], *options["tickets"], options["seeds"]]
    numbers = [options["trials"], 1 if options["max_steps"] is None else options["max_steps"]]
    seconds = options["episode_time"]
    return (
        all(isinstance(name, str) for name in names)
        and options["split"] in (None, *SPLITS)
        and all(type(number) is int and number >= 1 for number in numbers)
        and (seconds is None or (type(seconds) in (int, float) and seconds > 0 and isfinite(seconds)))
    )


def _of_packs(there: About, here: About) -> Iterator[str]:
    old, new = ({pack["name"]: pack for pack in run.packs} for run in (there, here))
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            yield f"the pack '{printable(name)}': played there, not asked for now"
        elif name not in old:
            yield f"the pack '{printable(name)}': not played there, asked for now"
        elif old[name]["digest"] != new[name]["digest"]:
            versions = [
                f"{printable(pack['version'])}, digest {pack['digest'][:12]}" for pack in (old[name], new[name])
            ]
            yield f"the pack '{printable(name)}': {versions[0]} there, {versions[1]} now"


def _of_members(kind: str, there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*there, *here)):
        old, new = (json.dumps(run.get(name), ensure_ascii=False) for run in (there, here))
        if old != new:
            what = f"the {kind}" if name == kind else f"the {kind} {name}".replace("_", " ")
            yield printable(f"{what}: {old} there, {new} now")


def _file_name(pack: str) -> str:
    """A name for a pack's files: its own where that is one, else as much of it as there is room for, and a digest."""
    plain = quote(pack, safe=" ")
    if plain == pack and len(plain) <= _LONGEST_NAME and not pack.startswith((".", " ")):
        return pack
    return f"{plain[:_LONGEST_NAME].lstrip('. ')}-{hashlib.sha256(pack.encode()).hexdigest()[:12]}"


def _named(path: Path) -> str:
    return printable(str(path))
