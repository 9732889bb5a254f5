"""Nothing in the docs is untested: every fenced block of README.md and docs/*.md is run or checked.

The words after the opening fence say how; a block whose words aren't listed here fails.

    yaml pack          a whole pack: it loads without any finding, and its own tests pass
    yaml fragment      what may stand in a file beside the page's last whole pack (where it has none: beside what
                       `deskproof new` writes): the two load as one folder without any finding, and the tests in it pass
    json               parses
    python             runs, warnings being errors
    console            the lines after `$ ` run in one shell; where something stands beneath one, it is what it prints;
                       what stands after `action> ` is typed
    sh                 runs as a shell script
    text output        what the `python` or `sh` block before it printed
    json output        the same as data: the last documents that were printed, as many as are shown
    sh setup           `git clone`, `cd` and `make` lines; the make targets exist (tests/test_setup.py runs them)
    text files         every line begins with the path of a file or folder of the project
    diff               with file=NAME: a change of that file, `-` before lines that go and `+` before those that come

More words, after those:

    server             (console, sh, python) the shipped packs are served on port 7860; one server a page. server=PACK:
                       a pack in the page's folder
    exit=N             (console, sh, python) the exit code; without it, 0. In a console block: the last command's
    file=NAME          (any language) the block is written to that file first; alone, that is all

A page's blocks run from top to bottom in one folder, a copy of the project. `...` on a line of its own stands for any
number of lines, inside a line for any text; in JSON, "..." for any value, and as a key or last item for any more.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from engine.diagnostics import render
from engine.load import check_pack
from engine.new import EXAMPLE
from engine.pack_tests import run_tests
from tests.serving import free_port, fresh_environment, serving

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
END = "--- end of a command:"


class Wrong(Exception):
    """What a page says doesn't hold."""


def require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Wrong(otherwise)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language and words, what it holds, and the line of its opening fence."""

    kind: str  # language and words without options: "yaml pack"
    options: dict[str, str]
    text: str
    line: int


def blocks(markdown: str) -> Iterator[Block]:
    for token in MarkdownIt().parse(markdown):
        if token.type not in ("fence", "code_block"):
            continue
        words = shlex.split(token.info)
        extra = [word for word in words if "=" in word or word == "server"]
        kind = " ".join(word for word in words if word not in extra)
        options = {name: value for name, _, value in (word.partition("=") for word in extra)}
        yield Block(kind, options, token.content, (token.map or [0])[0] + 1)


@dataclass
class Page:
    """A page that is being checked, top to bottom."""

    folder: Path
    closing: ExitStack
    pack: str = EXAMPLE
    printed: str = ""
    port: int | None = None
    count: int = 0
    checks: dict[str, Callable[[Block], None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.checks = {
            "yaml pack": self.whole_pack,
            "yaml fragment": self.fragment,
            "json": lambda block: json.loads(block.text),
            "python": self.python,
            "console": self.console,
            "sh": self.script,
            "sh setup": self.setup,
            "text output": self.text_output,
            "json output": self.json_output,
            "text files": self.files,
            "diff": self.change,
        }

    def check(self, block: Block) -> None:
        """Raises an exception that says what is wrong with the block."""
        if name := block.options.get("file") if block.kind != "diff" else None:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(block.text, "utf-8")
            if " " not in block.kind:
                return
        if block.kind not in self.checks:
            raise Wrong(f"nothing says how to check '{block.kind}'; see tests/test_docs.py")
        if "server" in block.options and self.port is None:
            self.port = free_port()
            packs = [block.options["server"]] if block.options["server"] else []
            command = [str(Path(sys.executable).parent / "deskproof"), "serve", *packs, "--port", str(self.port)]
            self.closing.enter_context(serving(command, self.port, cwd=self.folder, env=self.env()))
        self.checks[block.kind](block)

    # -- YAML

    def whole_pack(self, block: Block) -> None:
        self.pack = block.text
        self.load({"pack.yaml": block.text})

    def fragment(self, block: Block) -> None:
        self.load({"pack.yaml": self.pack, "fragment.yaml": block.text})

    def load(self, files: dict[str, str]) -> None:
        self.count += 1
        folder = self.folder / f".pack-{self.count}"
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8")
        pack, findings = check_pack(folder)
        if pack is not None and (len(files) == 1 or "\ntests:\n" in f"\n{files['fragment.yaml']}"):
            findings = (*findings, *run_tests(pack))
        require(not findings, "\n".join(map(render, findings)))

    def change(self, block: Block) -> None:
        file = self.folder / block.options["file"]
        lines, text = block.text.splitlines(keepends=True), file.read_text("utf-8")
        before, after = ("".join(line[1:] for line in lines if line[0] in sides) for sides in (" -\n", " +\n"))
        require(text.count(before) == 1, f"not once in {file.name}:\n{before}")
        file.write_text(text.replace(before, after), "utf-8")

    # -- What runs

    def env(self) -> dict[str, str]:
        """The environment of a reader whose state is in the page's folder; the server is at the port that is theirs."""
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        own = {
            "PATH": path,
            "COLUMNS": "100",
            "PYTHONIOENCODING": "utf-8",
            "XDG_STATE_HOME": str(self.folder / ".state"),
        }
        return fresh_environment() | own | ({"PORT": str(self.port)} if self.port is not None else {})

    def run(self, block: Block, command: list[str], code: int | None = None) -> str:
        moved = [word.replace("7860", str(self.port)) if "server" in block.options else word for word in command]
        done = subprocess.run(
            moved, cwd=self.folder, env=self.env(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300
        )
        printed = done.stdout.decode()
        if "server" in block.options:
            printed = printed.replace(str(self.port), "7860")
        wanted = int(block.options.get("exit", 0)) if code is None else code
        require(done.returncode == wanted, f"exit code {done.returncode}, not {wanted}; printed:\n{printed}")
        return printed

    def python(self, block: Block) -> None:
        self.printed = self.run(block, [sys.executable, "-W", "error", "-c", block.text])

    def script(self, block: Block) -> None:
        self.printed = self.run(block, ["bash", "-euo", "pipefail", "-c", block.text])

    def console(self, block: Block) -> None:
        steps = [with_typed(*step) for step in commands(block.text)]
        # Each command's exit code is printed after it, and handed on, so that the next may say `echo $?`.
        script = "".join(f"{step[0]}\n_code=$?; echo; echo '{END}' $_code; (exit $_code)\n" for step in steps)
        printed = re.split(rf"\n{END} (\d+)\n", self.run(block, ["bash", "-c", f"{script}exit 0"], 0))
        for number, (command, shown) in enumerate(steps):
            output, code = printed[2 * number], int(printed[2 * number + 1])
            last = number == len(steps) - 1
            wanted = int(block.options.get("exit", 0)) if last else 0
            require(code == wanted, f"$ {command}\nexit code {code}, not {wanted}; printed:\n{output}")
            same = not shown.strip() or same_text(shown, output)
            require(same, f"$ {command}\nprinted:\n{output}\nshown:\n{shown}")

    def setup(self, block: Block) -> None:
        for line in filter(None, (line.split("#")[0].strip() for line in block.text.splitlines())):
            program, *words = line.split()
            require(program in ("cd", "make") or line.startswith("git clone "), line)
            if program == "make":
                said = subprocess.run(["make", "-n", *words], cwd=ROOT, env=self.env(), capture_output=True, text=True)
                require(said.returncode == 0, said.stderr)

    # -- What was printed, and what is there

    def text_output(self, block: Block) -> None:
        require(same_text(block.text, self.printed), f"printed:\n{self.printed}\nshown:\n{block.text}")

    def json_output(self, block: Block) -> None:
        shown, printed = documents(block.text), documents(self.printed)
        same = bool(shown) and same_data(shown, printed[-len(shown) :])
        require(same, f"printed:\n{self.printed}\nshown:\n{block.text}")

    def files(self, block: Block) -> None:
        for line in filter(str.strip, block.text.splitlines()):
            if not line.startswith(" "):  # an indented line goes on with the one above
                require((ROOT / line.split()[0]).exists(), line)


def commands(text: str) -> list[tuple[str, str]]:
    """A console block as (command, what is shown beneath it). A command goes on after a backslash, or after `> `."""
    found: list[tuple[list[str], list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
            continue
        require(bool(found), f"a console block begins with '$ ', not with {line!r}")
        command, shown = found[-1]
        if not shown and (command[-1].endswith("\\") or line.startswith("> ")):
            command.append(line.removeprefix("> "))
        else:
            shown.append(line)
    require(bool(found), "a console block without a command")
    return [("\n".join(command), "\n".join(shown)) for command, shown in found]


def with_typed(command: str, shown: str) -> tuple[str, str]:
    """A command and what it prints, where a person types what stands behind a prompt."""
    typed = re.findall(r"action> (.+)\n", shown + "\n")
    if typed:
        command = "\n".join((f"{command} <<'typed'", *typed, "typed"))
    return command, re.sub(r"action> .+\n", "action> ", shown + "\n")


def same_text(shown: str, printed: str) -> bool:
    """Line by line, blanks at the ends of lines and of the whole aside; `...` as the module says."""
    pattern = ""
    for line in shown.strip().splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(map(re.escape, line.rstrip().split("..."))) + r"[ \t]*\n"
    return re.fullmatch(pattern, printed.strip() + "\n") is not None


def documents(text: str) -> list[Any]:
    """The JSON documents in `text`, one after the other."""
    found, rest, decoder = [], text.strip(), json.JSONDecoder()
    while rest:
        document, end = decoder.raw_decode(rest)
        found.append(document)
        rest = rest[end:].lstrip()
    return found


def same_data(shown: Any, printed: Any) -> bool:
    """Whether `printed` is what is shown; "..." as the module says."""
    if shown == "...":
        return True
    if isinstance(shown, dict) and isinstance(printed, dict):
        keys = shown.keys() - {"..."}
        fits = printed.keys() >= keys if "..." in shown else printed.keys() == keys
        return fits and all(same_data(shown[key], printed[key]) for key in keys)
    if isinstance(shown, list) and isinstance(printed, list):
        if shown[-1:] == ["..."]:
            shown, printed = shown[:-1], printed[: len(shown) - 1]
        return len(shown) == len(printed) and all(map(same_data, shown, printed))
    return type(shown) is type(printed) and bool(shown == printed)


def failures(markdown: str, folder: Path) -> list[str]:
    """What is wrong with a page's blocks: one text each, beginning with the line."""
    # What is compiled goes along, but for what another process is just writing.
    made = shutil.ignore_patterns(".*", "*.pyc.*", "build", "dist", "*.egg-info")
    shutil.copytree(ROOT, folder, ignore=made, dirs_exist_ok=True)
    wrong = []
    with ExitStack() as closing:
        page = Page(folder, closing)
        for block in blocks(markdown):
            try:
                page.check(block)
            except Exception as error:
                wrong.append(f"line {block.line}: {error or type(error).__name__}")
    return wrong


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_block_of_the_page_holds(path: Path, tmp_path: Path) -> None:
    if wrong := failures(path.read_text("utf-8"), tmp_path):
        pytest.fail(f"{path.name}:\n" + "\n\n".join(wrong), pytrace=False)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_links_of_the_page_lead_somewhere(path: Path) -> None:
    for inline in MarkdownIt().parse(path.read_text("utf-8")):
        for token in inline.children or []:
            target = str(token.attrGet("href") or token.attrGet("src") or "")
            if target and "://" not in target and not target.startswith(("#", "mailto:")):
                assert (path.parent / target.split("#")[0]).exists(), f"{path.name}: {target}"


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        ("```yaml\na: b\n```", "nothing says how to check 'yaml'"),
        ("```\na\n```", "nothing says how to check ''"),
        ("    indented", "nothing says how to check ''"),
        ("```yaml pack\npack: x\n```", "pack.yaml:"),
        ("```python\nraise SystemExit(3)\n```", "exit code 3, not 0"),
        ("```console\n$ echo a\nb\n```", "shown:"),
        ("```console\n$ false\n$ true\n```", "exit code 1, not 0"),
        ('```sh\necho \'{"a": 1}\'\n```\n```json output\n{"a": true}\n```', "shown:"),
        ("```sh setup\nmake nothing-like-it\n```", "nothing-like-it"),
        ("```text files\nnot/there\n```", "not/there"),
        ("```text file=x\na\na\n```\n```diff file=x\n-a\n+b\n```", "not once in x"),
    ],
)
def test_a_block_that_does_not_hold_is_found(block: str, complaint: str, tmp_path: Path) -> None:
    (wrong,) = failures(block, tmp_path)
    assert complaint in wrong


def test_a_block_that_holds_is_accepted(tmp_path: Path) -> None:
    page = """
```text file=greeting
hello
```
```console exit=4
$ cat greeting
hello
$ printf 'a\\nb\\nc (%s)\\n' \\
    7
...
c (...)
$ exit_with() { return $1; }
$ exit_with 4
```
```sh
printf '{"a": 1}'
printf '{"b": [1, 2, 3], "c": null}'
```
```json output
{"b": [1, "..."], "...": "..."}
```
```diff file=greeting
-hello
+goodbye
```
```console
$ cat greeting
goodbye
$ bash -c 'printf "action> "; read typed; echo "$typed!"'
action> yes
yes!
```
"""
    assert failures(page, tmp_path) == []
