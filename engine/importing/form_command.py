"""The command `deskproof import issue-form`. Exit codes: 0 fine, 1 findings, 2 usage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from engine.diagnostics import Finding, Report, render
from engine.importing.form_desk import document, field_names
from engine.importing.forms import Form, read_form
from engine.importing.placing import (
    FINDINGS,
    check_free,
    contract_and_task,
    fitting,
    head,
    is_stream,
    long_names,
    pack_options,
    place,
)
from engine.load import with_lines
from engine.nodes import File
from engine.proof.told import count
from engine.source import Budget, open_file, parse
from engine.terminal import printable
from engine.vocabulary import MAX_FIELDS

# What stands beside forms and is none: GitHub's own settings for them.
_SETTINGS = ("config.yml", "config.yaml")
# What templates end in that aren't forms.
_MARKDOWN = (".md", ".markdown")
# What may be meant as it stands in a form: a comment behind a text.
_MILD = frozenset({"PACK010"})


@click.command("issue-form")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False), metavar="FILE...")
@pack_options
@click.option("--skip-broken", is_flag=True, help="Leave out files that aren't forms, and write the others.")
def issue_form(
    files: tuple[str, ...],
    output: str | None,
    name: str | None,
    language: str | None,
    task: str | None,
    force: bool,
    skip_broken: bool,
) -> None:
    """Make a pack of GitHub issue forms: a category for each FILE, with the fields that it asks for.

    Where a file is no form, nothing is written, unless --skip-broken is given; the exit code is 1 either way.
    """
    if output is None:
        raise click.UsageError("-o PACK says what to write.")
    contract, of_tickets = contract_and_task(task)
    top = head(output, files[0], name, language, contract)
    check_free([output], [Path(file) for file in files], force)
    forms, broken = _forms(files)
    if not forms and not broken:
        click.echo("None of these files is a form: nothing was written.", err=True)
        raise SystemExit(FINDINGS)
    if not forms or (broken and not skip_broken):
        them = "it" if broken == 1 else "them"
        hint = f". --skip-broken leaves {them} out" if broken and forms else ""
        click.echo(f"{count(broken, 'file')} of {len(files)} can't be used: nothing was written{hint}.", err=True)
        raise SystemExit(FINDINGS)
    names, notes = field_names(forms)
    fields = {field for own in names for field in own.values()}
    made = document(top, forms, names, of_tickets)
    text, wrong = fitting(output, made)
    if len(fields) > MAX_FIELDS:
        wrong = f"{MAX_FIELDS} fields are the most of a pack, and these forms ask for {len(fields)}"
    wrong = wrong or long_names(made)
    if wrong is not None:
        click.echo(f"{wrong}: nothing was written.", err=True)
        raise SystemExit(FINDINGS)
    for note in notes:
        click.echo(f"Note: {printable(note)}.", err=True)
    wrote = place([(output, text)])
    to_stderr = is_stream(output)
    click.echo(f"{count(len(forms), 'form')}, {count(len(fields), 'field')}", err=to_stderr)
    click.echo(wrote, err=to_stderr)
    raise SystemExit(FINDINGS if broken else 0)


def _forms(files: Sequence[str]) -> tuple[list[Form], int]:
    """The forms in files, and how many files are none. Everything that is wrong with them is told."""
    forms: dict[str, Form] = {}
    broken = 0
    for file in files:
        if Path(file).name in _SETTINGS:
            click.echo(f"Note: {printable(file)} holds settings, not a form: left out.", err=True)
            continue
        report = Report()
        form = _form(file, report)
        if form is not None and form.name in forms:
            message = f"another form is called '{form.name}' (at {forms[form.name].spot.place}); each is a category"
            report.add("PACK040", form.spot, message)
        findings = [_mild(finding) for finding in report.findings()]
        for finding in with_lines(findings):
            click.echo(render(finding), err=True)
        if form is None or any(finding.severity == "error" for finding in findings):
            broken += 1
        else:
            forms[form.name] = form
    return [*forms.values()], broken


def _form(file: str, report: Report) -> Form | None:
    if file.lower().endswith(_MARKDOWN):
        message = "this is a Markdown template; only forms, which are YAML, can be imported"
        report.add("PACK001", File(file, "").spot(0), message)
        return None
    budget = Budget()
    opened = open_file(Path(file), budget, report)
    root = parse(opened, budget, report) if opened is not None else None
    return read_form(root, report) if root is not None else None


def _mild(finding: Finding) -> Finding:
    return replace(finding, severity="warning") if finding.code in _MILD else finding
