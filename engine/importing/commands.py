"""The commands `deskproof import csv` and `deskproof import issue-form`. Exit codes: 0 fine, 1 findings, 2 usage."""

from __future__ import annotations

import click

from engine.importing.csv_command import csv
from engine.importing.form_command import issue_form


@click.group("import")
def import_() -> None:
    """Make packs of tickets or forms that are there already."""


import_.add_command(csv)
import_.add_command(issue_form)
