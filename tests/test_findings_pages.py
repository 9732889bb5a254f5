"""Every code has a page, and what stands on it is so: what is wrong, what is said about it, and what is right.

A `yaml wrong` or `yaml right` block is a whole pack if it begins with `pack:`, else the file more.yaml beside the pack
that `deskproof new` writes. What can't be written as one block is brought about in SITUATIONS.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt
from rich.console import Console

from engine.check_command import Checker
from engine.cli import main
from engine.contract import Contract, load_contract
from engine.diagnostics import CODES, render
from engine.load import check_draft, check_pack
from engine.manual import TITLES, page
from engine.new import EXAMPLE
from engine.pack import Pack
from engine.proof import report
from engine.proof.prove import BUDGET, prove
from engine.proof.result import KINDS
from engine.proof.told import Proved

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "engine" / "findings"
WRONG, SAID, RIGHT = "yaml wrong", "text", "yaml right"


def blocks(code: str) -> dict[str, str]:
    """The fenced blocks of a page, by the words after their fences."""
    tokens = [token for token in MarkdownIt().parse(page(code)) if token.type in ("fence", "code_block")]
    found = {token.info: token.content for token in tokens}
    assert len(found) == len(tokens)
    return found


def written(block: str, folder: Path) -> Path:
    """The pack that a block is, or is a part of."""
    folder.mkdir()
    if block.startswith("pack:"):
        (folder / "pack.yaml").write_text(block, "utf-8")
        return folder / "pack.yaml"
    (folder / "pack.yaml").write_text(EXAMPLE, "utf-8")
    (folder / "more.yaml").write_text(block, "utf-8")
    return folder


def checked(path: Path, folder: Path) -> str:
    """What `deskproof check` finds, without the folder in front of places."""
    found = Checker({}).check(path).findings
    return "".join(f"{render(finding)}\n" for finding in found).replace(f"{folder}/", "")


def failures(pack: Pack, contract: Contract) -> str:
    """What `deskproof prove` prints below its table of checks, but for the last line."""
    console = Console(file=StringIO(), width=100, highlight=False, emoji=False)
    proof = prove(pack, contract.observation_space, None, BUDGET)
    report.report(Proved(pack, proof, None), console, report.Wish())
    assert isinstance(console.file, StringIO)
    shown = console.file.getvalue().split("\n\n", 3)[3].strip()
    shown = re.sub(r"\S*/rules\.yaml:[0-9:]+", "rules.yaml", shown)
    return f"{shown}\n".replace(f"{Path(pack.place.file).parent}/", "")


def proved(path: Path) -> str:
    pack, findings = check_draft(path, load_contract())
    assert pack is not None, findings
    return failures(pack, load_contract())


# -- What no block can show


def missing(folder: Path) -> str:
    (folder / "lamps").mkdir()
    (folder / "lamps" / "pack.yml").write_text(EXAMPLE, "utf-8")
    return checked(folder / "lamps", folder)


def in_another_encoding(folder: Path) -> str:
    text = EXAMPLE.replace("- My parcel never came.", "- I met your driver at the café.")
    (folder / "pack.yaml").write_bytes(text.encode("cp1252"))
    return checked(folder / "pack.yaml", folder)


def with_a_bell(folder: Path) -> str:
    (folder / "pack.yaml").write_text(EXAMPLE.replace("- My parcel", "- My \a parcel"), "utf-8")
    return checked(folder / "pack.yaml", folder)


def too_large(folder: Path) -> str:
    (folder / "pack.yaml").write_text(EXAMPLE + "#" * 8_000_000, "utf-8")
    return checked(folder / "pack.yaml", folder)


def of_another_kind(folder: Path) -> str:
    (folder / "compose.yaml").write_text("version: '3'\nservices:\n  web: {image: nginx}\n", "utf-8")
    return checked(folder / "compose.yaml", folder)


def with_drafts(folder: Path) -> str:
    (folder / "lamps" / "drafts").mkdir(parents=True)
    (folder / "lamps" / "pack.yaml").write_text(EXAMPLE, "utf-8")
    (folder / "lamps" / "drafts" / "more.yaml").write_text("tickets: []\n", "utf-8")
    return checked(folder / "lamps", folder)


def of_sixty_fields(folder: Path) -> str:
    names = [f"f{number}" for number in range(60)]
    answers = [
        f"{one}: {{value: x, gives: {{{other}: x}}}}" for one, other in zip(names, names[1:] + names[:1], strict=True)
    ]
    text = f"""\
pack: p
version: 1.0.0
max_steps: 100
fields: {{{", ".join(f"{name}: {{}}" for name in names)}}}
tickets:
  - id: t-1
    task: easy-info-collection
    messages: [Hello.]
    required: [{", ".join(names)}]
    answers: {{{", ".join(answers)}}}
lints: {{PACK092: ignore}}
"""
    (folder / "pack.yaml").write_text(text, "utf-8")
    return checked(folder / "pack.yaml", folder)


def with_many_mistakes(folder: Path) -> str:
    ticket = "{id: t-3, task: easy-info-collection, messages: [Hi]"
    text = f"tickets: [{ticket}, optional: [{', '.join(f'f{number}' for number in range(150))}]}}]\n"
    return "\n".join(checked(written(text, folder / "pack"), folder / "pack").splitlines()[-1:]) + "\n"


def contract_with(folder: Path, old: str, new: str) -> Contract:
    text = (ROOT / "openenv.yaml").read_text("utf-8")
    assert text.count(old) == 1
    (folder / "openenv.yaml").write_text(text.replace(old, new), "utf-8")
    return load_contract(folder / "openenv.yaml")


def checked_with(contract: Contract, folder: Path) -> str:
    (folder / "pack.yaml").write_text(EXAMPLE, "utf-8")
    _, findings = check_pack(folder / "pack.yaml", contract)
    return "".join(f"{render(finding)}\n" for finding in findings).replace(f"{folder}/", "")


def with_a_misspelt_grader(folder: Path) -> str:
    return checked_with(contract_with(folder, "graders.grade_easy", "graders.grade_esay"), folder)


def with_short_messages(folder: Path) -> str:
    contract = load_contract()
    space = dict(contract.observation_space)
    properties = {**space["properties"], "customer_message": {"type": "string", "maxLength": 30}}
    return checked_with(replace(contract, observation_space={**space, "properties": properties}), folder)


def example(folder: Path) -> Pack:
    (folder / "pack.yaml").write_text(EXAMPLE, "utf-8")
    pack, findings = check_draft(folder / "pack.yaml", load_contract())
    assert pack is not None, findings
    first = next(iter(pack.tickets))
    return replace(pack, tickets={first: pack.tickets[first]})


def failing(code: str, pack: Pack, contract: Contract) -> str:
    """What is printed about one check, where others fail too."""
    parts = re.split(r"\n\n", failures(pack, contract).strip())
    return "\n\n".join(part for part in parts if f" {code} " in part.splitlines()[0]) + "\n"


def with_waste_that_pays(folder: Path) -> str:
    pack = example(folder)
    return failing("P05", replace(pack, rewards=replace(pack.rewards, waste=100)), load_contract())


def with_a_kind_grader(folder: Path) -> str:
    pack = example(folder)
    tasks = {name: replace(task, grader=lambda record: 0.25) for name, task in pack.tasks.items()}
    return failing("P06", replace(pack, tasks=tasks), load_contract())


def with_numbers_promised(folder: Path) -> str:
    contract = load_contract()
    known = {"type": "object", "additionalProperties": {"type": "integer"}}
    space = dict(contract.observation_space)
    promised = replace(
        contract, observation_space={**space, "properties": {**space["properties"], "known_info": known}}
    )
    return failing("P08", example(folder), promised)


SITUATIONS: dict[str, Callable[[Path], str]] = {
    "PACK001": missing,
    "PACK002": in_another_encoding,
    "PACK003": with_a_bell,
    "PACK012": too_large,
    "PACK014": of_another_kind,
    "PACK051": with_a_misspelt_grader,
    "PACK062": of_sixty_fields,
    "PACK063": with_short_messages,
    "PACK086": with_drafts,
    "PACK099": with_many_mistakes,
    "P05": with_waste_that_pays,
    "P06": with_a_kind_grader,
    "P08": with_numbers_promised,
}


# -- The pages


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert {path.stem for path in PAGES.iterdir()} == {*CODES, *KINDS} == {*TITLES}


@pytest.mark.parametrize("code", TITLES)
def test_a_page_begins_with_its_title_and_is_short(code: str) -> None:
    first, blank, *rest = page(code).replace(blocks(code)[SAID], "").splitlines()
    assert (first, blank) == (f"# {code}: {TITLES[code]}", "")
    assert "What to do: " in page(code)
    assert len(rest) <= 80
    assert all(len(line) <= 140 for line in rest)


@pytest.mark.parametrize("code", TITLES)
def test_a_page_shows_what_is_wrong_and_what_is_right_or_a_situation(code: str) -> None:
    wanted = {SAID} if code in SITUATIONS else {WRONG, SAID, RIGHT}
    assert {*blocks(code)} == wanted


@pytest.mark.parametrize("code", SITUATIONS)
def test_what_no_block_can_show_comes_about_as_the_page_says(code: str, tmp_path: Path) -> None:
    said = SITUATIONS[code](tmp_path)
    assert said == blocks(code)[SAID]
    assert code in said


@pytest.mark.parametrize("code", [code for code in CODES if code not in SITUATIONS])
def test_what_is_wrong_is_told_in_these_words_and_nothing_else_is(code: str, tmp_path: Path) -> None:
    found = blocks(code)
    said = checked(written(found[WRONG], tmp_path / "wrong"), tmp_path / "wrong")
    assert said == found[SAID]
    assert {*re.findall(r"^\S+: (PACK\d+): ", said, re.MULTILINE)} == {code}


@pytest.mark.parametrize("code", [code for code in CODES if code not in SITUATIONS])
def test_what_is_right_checks_clean(code: str, tmp_path: Path) -> None:
    assert checked(written(blocks(code)[RIGHT], tmp_path / "right"), tmp_path / "right") == ""


@pytest.mark.parametrize("code", [code for code in KINDS if code not in SITUATIONS])
def test_a_proof_fails_in_these_words_and_holds_where_it_is_right(code: str, tmp_path: Path) -> None:
    found = blocks(code)
    said = proved(written(found[WRONG], tmp_path / "wrong"))
    assert said == found[SAID]
    assert re.findall(r"^(?:error|warning|not proved) (P\d+)", said, re.MULTILINE) == [code]
    assert proved(written(found[RIGHT], tmp_path / "right")) == "\n"


def test_the_commands_print_what_the_pages_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once each, through the command line."""
    monkeypatch.chdir(written(blocks("PACK030")[WRONG], tmp_path / "pack"))
    result = CliRunner().invoke(main, ["check", "."])
    assert result.exit_code == 1
    assert blocks("PACK030")[SAID] in result.output
    Path("pack.yaml").write_text(blocks("P03")[WRONG], "utf-8")
    result = CliRunner().invoke(main, ["prove", "pack.yaml"])
    assert result.exit_code == 1
    assert blocks("P03")[SAID] in result.output
