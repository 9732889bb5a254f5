"""The command `deskproof prove`. Exit codes: 0 fine, 1 findings, 2 usage."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from engine.contract import Contract, load_contract
from engine.diagnostics import Finding, PackError, as_json, render
from engine.load import check_draft
from engine.misread import not_a_check
from engine.nearest import nearest
from engine.output import NewFile, PackName, check_name, check_outputs, existing, write
from engine.pack import Demands, Pack, Severity
from engine.proof import document, report, told
from engine.proof.certificate import certificate
from engine.proof.certificate import write as as_text
from engine.proof.page import page
from engine.proof.prove import BUDGET, OF_TICKETS
from engine.proof.prove import prove as proof_of
from engine.proof.result import KINDS, PackProof
from engine.proof.told import Proved
from engine.terminal import printable

FINDINGS = 1
SEVERITIES = ("error", "warning", "ignore")
# How wide text is where nothing says how wide the paper is.
WIDTH = 100
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


class OfCheck(click.ParamType[tuple[str, Any]]):
    """CODE=WHAT, of one of the checks that take it."""

    def __init__(self, name: str, codes: Sequence[str], why: Callable[[str], str | None]) -> None:
        """`codes` are those that take it; `why` says of another why it doesn't, or None where there is no such code."""
        self.name, self._codes, self._why = name, tuple(codes), why

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        code, sign, what = str(value).partition("=")
        if not sign:
            self.fail(f"'{printable(code)}' is not of the form {self._codes[0]}=...", param, ctx)
        if code not in self._codes:
            close, why = nearest(code, self._codes), self._why(code)
            hint = f"did you mean '{close}'?" if close and why is None else f"there is: {', '.join(self._codes)}"
            nothing = f"there is no check '{printable(code)}'"
            self.fail(f"{why or nothing}; {hint}", param, ctx)
        return code, self._read(what, param, ctx)

    def _read(self, what: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        raise NotImplementedError


class Margin(OfCheck):
    """CODE=NUMBER: how much less than the best return the others must come to, in reward units."""

    def _read(self, what: str, param: click.Parameter | None, ctx: click.Context | None) -> Fraction:
        if _NUMBER.fullmatch(what) is None:
            self.fail(f"'{printable(what)}' is no margin: a number of reward units, such as 0.3", param, ctx)
        return Fraction(what)


class Severe(OfCheck):
    """CODE=SEVERITY: how grave it is where the check fails."""

    def _read(self, what: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if what not in SEVERITIES:
            close = nearest(what, SEVERITIES)
            hint = f"did you mean '{close}'?" if close else f"there are: {', '.join(SEVERITIES)}"
            self.fail(f"there is no severity '{printable(what)}'; {hint}", param, ctx)
        return what


def _no_margin(code: str) -> str | None:
    return f"{code} has no margin" if code in KINDS else not_a_check(code)


def _always_error(code: str) -> str | None:
    return f"{code} is an error whatever is asked for" if code in KINDS else not_a_check(code)


def _one(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> str | None:
    """The only value of an option. Twice, and the last one alone would count, without a word."""
    if len(values) > 1:
        raise click.BadParameter("one ticket at a time.", context, option)
    return values[0] if values else None


@click.command()
@click.argument("packs", nargs=-1, required=True, type=PackName(), metavar="PACK...")
@click.option(
    "--ticket",
    multiple=True,
    callback=_one,
    metavar="ID",
    help="Prove this ticket alone, and show its best line of play.",
)
@click.option(
    "--margin",
    "margins",
    multiple=True,
    type=Margin("margin", [code for code, kind in KINDS.items() if kind.margin is not None], _no_margin),
    metavar="CODE=NUMBER",
    help="Ask for another margin, in reward units; repeatable. Such as P04=0.3.",
)
@click.option(
    "--severity",
    "severities",
    multiple=True,
    type=Severe("severity", [code for code, kind in KINDS.items() if kind.severity != "error"], _always_error),
    metavar="CODE=SEVERITY",
    help="Make a check an error, a warning, or ignore it; repeatable. Such as P07=error.",
)
@click.option(
    "--budget",
    type=click.IntRange(1),
    default=BUDGET,
    show_default=True,
    help="How many different moves of a ticket are looked at, at the most.",
)
@click.option("--lines", is_flag=True, help="Print the best line of play of every ticket.")
@click.option("--all", "every", is_flag=True, help=f"Show every failure, not {report.SHOWN} a check.")
@click.option("--html", "html", type=NewFile(dir_okay=False, writable=True), metavar="FILE", help="Write a page.")
@click.option(
    "--certificate",
    "certificate_file",
    type=NewFile(dir_okay=False, writable=True),
    metavar="FILE",
    help="Write what is proved as JSON, exactly, for deskproof diff and other programs.",
)
@click.option("--json", "as_data", is_flag=True, help="Print the proofs as JSON.")
def prove(
    packs: tuple[str, ...],
    ticket: str | None,
    margins: tuple[tuple[str, Fraction], ...],
    severities: tuple[tuple[str, Any], ...],
    budget: int,
    lines: bool,
    every: bool,
    html: str | None,
    certificate_file: str | None,
    as_data: bool,
) -> None:
    """Prove PACKS: what the best returns are, and that checks P01 to P11 hold, for every ticket.

    Exits 1 where a check that is an error fails, or a pack can't be read.
    """
    demands = Demands(dict(margins), dict(severities))
    wish = report.Wish(ticket, every, lines, budget)
    if ticket is not None and len(packs) > 1:
        raise click.UsageError("--ticket is for one PACK.")
    if ticket is not None and certificate_file is not None:
        raise click.UsageError("--certificate is of whole packs: leave --ticket out.")
    paths = [existing(name) for name in packs]
    check_outputs([path for path in (html, certificate_file) if path is not None], paths)
    console = _console()
    proved: list[Proved] = []
    findings: list[Finding] = []
    for pack in _drafts(paths, findings):
        if ticket is not None:
            pack = _alone(pack, ticket)
        proved.append(_proved(pack, load_contract(), demands, wish))
        if not as_data:
            report.report(proved[-1], console, wish)
    proofs = [one.proof for one in proved]
    if html is not None:
        write(html, page(proved, budget))
    if certificate_file is not None:
        _check_apart(proofs)
        stated = certificate([(one.pack, one.proof) for one in proved], version("deskproof"))
        write(certificate_file, as_text(stated))
    errors, warnings = told.tally(proofs)
    errors += len(findings)
    if as_data:
        found = {
            "errors": errors,
            "warnings": warnings,
            "findings": [as_json(one) for one in findings],
            "packs": [document.as_json(proof) for proof in proofs],
        }
        click.echo(json.dumps(found, ensure_ascii=False))
    else:
        for finding in findings:
            click.echo(render(finding), err=True)
        click.echo(report.closing(errors, warnings, wish))
    raise SystemExit(FINDINGS if errors else 0)


def _console() -> Console:
    """Standard output, in colours if it is a terminal."""
    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)
    return console


def _drafts(paths: Sequence[Path], findings: list[Finding]) -> Iterator[Pack]:
    """The packs that stand there, whether or not their tickets can be resolved; the others' errors are `findings`."""
    try:
        contract = load_contract()
    except PackError as error:  # the contract's own mistakes
        findings += error.findings
        return
    for path in paths:
        pack, found = check_draft(path, contract)
        if pack is None:
            findings += (finding for finding in found if finding.severity == "error")
        else:
            yield pack


def _alone(pack: Pack, ticket: str) -> Pack:
    """The pack with one ticket only, which is as it was with the others."""
    check_name("ticket", ticket, pack.tickets)
    return replace(pack, tickets={ticket: pack.tickets[ticket]})


def _proved(pack: Pack, contract: Contract, demands: Demands, wish: report.Wish) -> Proved:
    if wish.ticket is not None:  # what is true of a whole pack can't be seen from one ticket
        of_packs: dict[str, Severity] = {code: "ignore" for code in KINDS if code not in OF_TICKETS}
        demands = Demands(demands.margins, {**demands.severities, **of_packs})
    began = monotonic()
    with progress(pack) as advance:
        proof = proof_of(pack, contract.observation_space, demands, wish.budget, advance)
    if wish.ticket is not None:
        proof = replace(proof, blind={})
    return Proved(pack, proof, monotonic() - began)


@contextmanager
def progress(pack: Pack, total: int | None = None) -> Iterator[Any]:
    """A bar on a terminal's standard error, which hears how many of so many are through, by default of the pack's
    tickets; nothing elsewhere."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(printable(pack.name), total=total if total is not None else len(pack.tickets))
        yield lambda through: bar.update(task, completed=through)


def _check_apart(proofs: Sequence[PackProof]) -> None:
    names = [proof.pack for proof in proofs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise click.UsageError(f"Two of these packs are called '{printable(twice)}': a certificate goes by names.")
