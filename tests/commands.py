"""The command line without a process of its own."""

from __future__ import annotations

from click.testing import CliRunner, Result

from engine.cli import main


def deskproof(*arguments: object, keys: str = "") -> Result:
    """What `deskproof ARGUMENTS` comes to, with these keys typed: any exit code will do, and no traceback."""
    result = CliRunner().invoke(main, [*map(str, arguments)], input=keys)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result
