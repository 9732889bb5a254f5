"""The command `deskproof mutate`. Exit codes: 0 fine, 1 findings, 2 usage."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import click

from engine.contract import Contract, load_contract
from engine.diagnostics import Finding, PackError, Report, as_json, render
from engine.load import check_pack, pack_path, read_pack, with_lines
from engine.nodes import Map
from engine.output import Number
from engine.pack import Pack
from engine.pack_tests import run_tests
from engine.proof.apart import Difference
from engine.proof.commands import progress
from engine.proof.mutant import KINDS, Mutant
from engine.proof.mutants import mutants, some
from engine.proof.mutate import FATES, KILLED, Judged, Mutation
from engine.proof.mutate import mutate as judge
from engine.proof.told import at, count, words
from engine.terminal import printable

FINDINGS = 1


@click.command()
@click.argument("pack", metavar="PACK")
@click.option("--at-least", "least", type=Number(0, 1), help="Exit with 1 where the score is lower.")
@click.option("--most", type=click.IntRange(1), help="Try so many mutants at the most, always the same ones.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(KINDS)), help="Try this kind only; repeatable.")
@click.option("--survivors-only", is_flag=True, help="Print no table, and not the score.")
@click.option("--all", "every", is_flag=True, help="List every mutant, with what noticed it or why nothing can.")
@click.option("--json", "as_data", is_flag=True, help="Print every mutant as JSON.")
def mutate(
    pack: str,
    least: float | None,
    most: int | None,
    kinds: tuple[str, ...],
    survivors_only: bool,
    every: bool,
    as_data: bool,
) -> None:
    """Change PACK a little, in many ways, and see whether the loader, its tests or the proof notice.

    Lists the changes that nobody notices, each with a test that would.
    """
    loaded, document, contract = _sound(pack, as_data)
    chosen = [one for one in mutants(loaded, document) if not kinds or one.kind in kinds]
    tried: Sequence[Mutant] = some(loaded, chosen, most) if most is not None else chosen
    with progress(loaded, len(tried)) as advance:
        found = judge(loaded, document, contract, tried, advance)
    if as_data:
        click.echo(json.dumps(_as_json(found), ensure_ascii=False))
    elif not tried:
        click.echo(_nothing_to_change(loaded, kinds))
    else:
        for line in _lines(found, survivors_only, every):
            click.echo(line)
    raise SystemExit(FINDINGS if least is not None and found.score < least else 0)


def _sound(name: str, as_data: bool) -> tuple[Pack, Map, Contract]:
    """The pack of this name, what it was built from, and the contract. Ends where mutants can't be judged."""
    try:
        path = pack_path(name)
        contract = load_contract()
    except LookupError as error:
        raise click.UsageError(str(error.args[0])) from None
    except PackError as error:  # the contract's own mistakes
        _refuse(error.findings, as_data)
    pack, findings = check_pack(path, contract)
    document, _ = read_pack(path, Report())
    if pack is None or document is None:
        _refuse([finding for finding in findings if finding.severity == "error"], as_data)
    failed = with_lines(run_tests(pack))
    if failed:
        _refuse(failed, as_data)
    return pack, document, contract


def _refuse(findings: Sequence[Finding], as_data: bool) -> NoReturn:
    if as_data:
        click.echo(json.dumps({"findings": [as_json(finding) for finding in findings]}, ensure_ascii=False))
    else:
        for finding in findings:
            click.echo(render(finding), err=True)
        click.echo(f"{count(len(findings), 'error')}: nothing was changed, as the pack isn't sound as it is.", err=True)
    raise SystemExit(FINDINGS)


def _nothing_to_change(pack: Pack, kinds: Sequence[str]) -> str:
    """Why there are no mutants, in words: what each of the kinds that were asked for does."""
    what = "; ".join(f"{kind}: {KINDS[kind]}" for kind in kinds)
    return printable(f"{pack.name} {pack.version}: there is nothing to change{f' ({what})' if what else ''}.")


def _lines(found: Mutation, survivors_only: bool, every: bool) -> Iterator[str]:
    if not survivors_only:
        name, mutants = printable(f"{found.pack.name} {found.pack.version}"), count(len(found.judged), "mutant")
        yield f"{name}: {mutants}"
        yield ""
        yield from _table(found)
        yield ""
    for one in found.judged:
        if every or one.fate == "survived":
            yield f"{at(one.mutant.place)}: {one.fate}: {printable(one.mutant.what)}"
            yield f"  {_why(one)}"
    if not survivors_only:
        killed, survived, equivalent = (len(found.of(*fates)) for fates in (KILLED, ("survived",), ("equivalent",)))
        left_out = f"; {equivalent} that no episode can tell from the pack left out" if equivalent else ""
        yield f"Score: {float(found.score):.4f} ({killed} of {killed + survived} noticed{left_out})."


def _table(found: Mutation) -> Iterator[str]:
    yield "  kind       " + "".join(f"{fate:>12}" for fate in FATES)
    for kind, of_kind in found.kinds().items():
        fates = Counter(one.fate for one in of_kind.judged)
        yield f"  {kind:<11}" + "".join(f"{fates[fate] or '-':>12}" for fate in FATES)


def _why(one: Judged) -> str:
    if one.test is not None:
        return _test(one.test)
    return printable(one.by)


def _test(test: Difference) -> str:
    """What a test has to do in order to notice, and to expect."""
    actions = printable(", ".join(words(choice.canonical()) for choice in test.actions)) or "no step"
    expected, instead = (printable(json.dumps(value, ensure_ascii=False)) for value in (test.first, test.second))
    case = f"ticket {printable(test.ticket)}, seed {test.seed}"
    return f"a test would notice ({case}): {actions}; {test.what} is {expected}, not {instead}"


def _as_json(found: Mutation) -> dict[str, Any]:
    return {
        "pack": found.pack.name,
        "version": found.pack.version,
        "digest": found.pack.digest,
        "score": float(found.score),
        **{fate: len(found.of(fate)) for fate in FATES},
        "mutants": [_mutant(one) for one in found.judged],
    }


def _mutant(one: Judged) -> dict[str, Any]:
    mutant, test = one.mutant, one.test
    told: dict[str, Any] = {
        "kind": mutant.kind,
        "what": mutant.what,
        "ticket": mutant.ticket,
        "file": mutant.place.file,
        "line": mutant.place.line,
        "column": mutant.place.column,
        "fate": one.fate,
        "by": one.by or None,
    }
    if test is None:
        return {**told, "test": None}
    actions = [choice.canonical() for choice in test.actions]
    expected = {"ticket": test.ticket, "seed": test.seed, "steps": actions, "expect": {test.what: test.first}}
    return {**told, "test": {**expected, "mutant": {test.what: test.second}}}
