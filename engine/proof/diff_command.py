"""The command `deskproof diff`. Exit codes: 0 all stays comparable, 1 something doesn't, 2 usage or trouble."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from engine.contract import load_contract
from engine.diagnostics import PackError
from engine.load import check_draft, pack_path
from engine.proof import told
from engine.proof.certificate import certificate, manner_of, read
from engine.proof.commands import progress
from engine.proof.compare import NUMBERS, Cases, Change, Difference, Edition, Failing, compare
from engine.proof.prove import prove
from engine.terminal import printable

_PRESENCES = {
    ("not there", "proved"): "new cases",
    ("not there", "not proved"): "new cases, not proved",
    ("proved", "not there"): "no such cases any more",
    ("not proved", "not there"): "no such cases any more",
}
# By whether it was proved before, and is now.
_UNPROVED = {
    (True, False): "not proved any more",
    (False, True): "not proved before",
    (False, False): "not proved, before or now",
}

NOT_COMPARABLE = 1
TROUBLE = 2
# How many tickets of a pack are shown, and how many changes of one: all of them stand in the JSON.
SHOWN, CHANGES = 20, 3


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--json", "as_data", is_flag=True, help="Print all that changed as JSON.")
def diff(old: str, new: str, as_data: bool) -> None:
    """Show which tickets came, went and changed between OLD and NEW, and so whose scores stop being comparable.

    Each is a certificate (FILE.json, from deskproof prove --certificate) or a pack, which is proved first.

    Exits 1 where something stops being comparable, 2 where OLD or NEW can't be read.
    """
    found = compare(_certificate(old), _certificate(new))
    comparable = all(one.comparable for one in found)
    if as_data:
        document = {"comparable": comparable, "packs": [_as_json(one) for one in found]}
        click.echo(json.dumps(document, ensure_ascii=False))
    else:
        for line in (line for one in found for line in _lines(one)):
            click.echo(line)
        click.echo(_sum(found))
    raise SystemExit(0 if comparable else NOT_COMPARABLE)


def _certificate(name: str) -> dict[str, Any]:
    """The certificate in a file; that of a pack, where it is none."""
    try:
        path = pack_path(name)
        if path.suffix == ".json" and path.is_file():
            return read(str(path), path.read_bytes())
        return _proved(path)
    except LookupError as error:
        raise click.UsageError(str(error.args[0])) from None
    except OSError as error:
        raise click.UsageError(f"{printable(name)} can't be read: {error.strerror}.") from None
    except PackError as error:
        click.echo(str(error), err=True)
        raise SystemExit(TROUBLE) from None


def _proved(path: Path) -> dict[str, Any]:
    contract = load_contract()
    pack, findings = check_draft(path, contract)
    if pack is None:
        raise PackError(finding for finding in findings if finding.severity == "error")
    with progress(pack) as advance:
        proof = prove(pack, contract.observation_space, progress=advance)
    return certificate([(pack, proof)], version("deskproof"))


# -- For people


def _lines(found: Difference) -> Iterator[str]:
    name = printable(found.pack)
    old, new = found.old, found.new
    if old is None or new is None:
        number = told.count(len(found.came) + len(found.went), "ticket")
        yield f"{name}: the pack {'came' if old is None else 'went'}, with {number}"
        return
    yield f"{name}: {_editions(old, new)}"
    if found.contradictory:
        yield (
            "  the digest and the version of Deskproof are the same, but not the contents: "
            "one of the two was changed by hand, or made by other code"
        )
    if found.decides is not None:
        number = told.count(len(found.changed), "ticket")
        yield f"  the pack's names, actions, rules, facts, rewards or tasks decide otherwise: that changes {number}"
    for word, tickets in (("came", found.came), ("went", found.went)):
        yield from _some(f"  {printable(ticket)} {word}" for ticket in tickets)
    own = ((ticket, changes) for ticket, changes in found.changed.items() if changes[0].what != "pack")
    yield from _some(f"  {printable(ticket)}: {changes_told(changes)}" for ticket, changes in own)
    yield from _some(
        f"  {printable(ticket)}: {_UNPROVED[sides]}, so it can't be compared"
        for ticket, sides in found.unproved.items()
    )
    for task, change in found.blind.items():
        yield f"  {printable(task)}: what isn't read comes to {_shown(change.old)} -> {_shown(change.new)} at the most"
    for code, failing in found.failing.items():
        yield from _failing(printable(code), failing)
    if found.same:
        number = told.count(len(found.same), "ticket")
        texts = "" if found.identical else "; texts may have changed"
        yield f"  {number} with the same numbers: returns and scores stay comparable{texts}"


def _failing(code: str, failing: Failing) -> Iterator[str]:
    ended = "is ignored now" if failing.now == "ignored" else "doesn't fail any more"
    for word, tickets in (("fails now", failing.began), (ended, failing.stopped)):
        names = [printable(ticket) if ticket is not None else "the pack as a whole" for ticket in tickets]
        if names:
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            yield f"  {code} {word}: {', '.join(names[:SHOWN])}{more}"


def _editions(old: Edition, new: Edition) -> str:
    if old.digest == new.digest:
        return f"{printable(new.version)}, the same digest"
    versions = (
        printable(old.version)
        if old.version == new.version
        else f"{printable(old.version)} -> {printable(new.version)}"
    )
    return f"{versions}, digest {old.digest[:12]} -> {new.digest[:12]}"


def _some(lines: Iterable[str]) -> Iterator[str]:
    every = [*lines]
    yield from every[:SHOWN]
    if len(every) > SHOWN:
        yield f"  and {told.count(len(every) - SHOWN, 'more ticket')}; --json has every one"


def changes_told(changes: Sequence[Change]) -> str:
    """The changes of the first cases that have any, in a line, and how many there are besides."""
    by_cases = [(cases, [*group]) for cases, group in groupby(changes, lambda change: change.cases)]
    cases, first = by_cases[0]
    more = len(changes) - len(first[:CHANGES])
    title = f"{_title(cases)}: " if cases is not None else ""
    rest = f", and {told.count(more, 'more change')}" if more else ""
    return title + ", ".join(map(_change, first[:CHANGES])) + rest


def _title(cases: Cases) -> str:
    known = ", ".join(map(printable, cases.known)) or "nothing"
    return ", ".join(filter(None, (f"{known} known at the start", told.before(cases.manner))))


def _change(change: Change) -> str:
    if change.what == "cases":
        return _PRESENCES[change.old, change.new]
    if change.what == "decides":
        return "what it takes isn't what it was"
    return f"{NUMBERS.get(change.what, change.what)} {_shown(change.old)} -> {_shown(change.new)}"


def _shown(number: Any) -> str:
    if number is None:
        return "none"
    if isinstance(number, Mapping):
        return f"{number['about']:.4f}".rstrip("0").rstrip(".")
    return f"{number:g}" if isinstance(number, float) else printable(str(number))


def _sum(found: Sequence[Difference]) -> str:
    if all(one.comparable for one in found):
        same = all(one.identical for one in found)
        same = same and not any(one.failing for one in found)
        return "Nothing changed." if same else "All scores stay comparable."
    parts = ("changed", "came", "went", "unproved")
    changed, came, went, unproved = (sum(len(getattr(one, part)) for one in found) for part in parts)
    if not (changed or came or went or unproved):
        about = "the contents contradict each other" if any(one.contradictory for one in found) else "P07's bound did"
        return f"No ticket changed, but {about}: scores don't compare with those from before."
    counts = f"{told.count(changed, 'ticket')} changed, {came} came, {went} went"
    counts += f", {unproved} not proved" if unproved else ""
    return f"{counts}: their scores don't compare with those from before, nor do means over all tickets."


# -- For programs


def _as_json(found: Difference) -> dict[str, Any]:
    return {
        "pack": found.pack,
        "comparable": found.comparable,
        "old": _edition(found.old),
        "new": _edition(found.new),
        "came": list(found.came),
        "went": list(found.went),
        "changed": {ticket: [change_json(one) for one in changes] for ticket, changes in found.changed.items()},
        "unproved": {ticket: {"old": was, "new": now} for ticket, (was, now) in found.unproved.items()},
        "same": list(found.same),
        "decides": {"old": found.decides.old, "new": found.decides.new} if found.decides is not None else None,
        "blind": {task: {"old": change.old, "new": change.new} for task, change in found.blind.items()},
        "failing": {
            code: {"began": list(one.began), "stopped": list(one.stopped), "now": one.now}
            for code, one in found.failing.items()
        },
        "contradictory": found.contradictory,
    }


def _edition(edition: Edition | None) -> dict[str, str] | None:
    if edition is None:
        return None
    return {"version": edition.version, "digest": edition.digest, "deskproof": edition.deskproof}


def change_json(change: Change) -> dict[str, Any]:
    cases = {"known": list(change.cases.known), **manner_of(change.cases.manner)} if change.cases is not None else None
    return {"what": change.what, "cases": cases, "old": change.old, "new": change.new}
