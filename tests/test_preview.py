"""`deskproof preview`: what an author gets to see of tickets, and its exit codes (0 fine, 1 findings, 2 usage)."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from engine.cli import main
from engine.load import load_pack, shipped_packs
from engine.preview.text import overview, pages
from engine.preview.view import View, row, view
from tests.commands import deskproof
from tests.proof.drafts import HOSTILE

BUDGET = 100_000

LAMPS = """\
pack: lamp-shop
version: 1.0.0
description: A shop for lamps.
fields:
  order: {description: The order's number}
  email: {description: Where to write to}
  colour: {description: The colour}
  size: {description: The size}
categories:
  late: {description: Late, requires: [order, email]}
  swap: {description: Another one, requires: [order, colour]}
people:
  wary: {description: Asks back, refuses: 1, refuses_with: [Why?], stalls: 1, says: [Hm.], fields: [email]}
noise: [It rains.]
tickets:
  - id: l-1
    task: hard-efficient-resolution
    category: late
    person: wary
    messages: [Where is my lamp?]
    optional: [colour]
    answers:
      order:
        - {say: "A-1, I think.", value: A-1, wrong: true}
        - {say: "No, A-2, and it's blue.", value: A-2, gives: {colour: blue}}
      email: kim@example.net
  - id: l-2
    task: easy-info-collection
    category: swap
    messages: [{template: "Another one for {{ order }}, please!", known: [order]}]
    answers:
      order: A-7
      colour: {say: Who can tell in the dark?, waive: true}
"""
# By hand. Nothing of the category shows before classifying. The wary customer refuses and stalls under email alone. The
# category, two asks for the order, three for the mail and the end: seven steps, of which only V* needs the first.
FIRST = """\
lamp-shop 1.0.0, ticket l-1, seed 0
hard-efficient-resolution: Fully resolve ticket with optimal steps

What the agent sees
  customer  Where is my lamp?
  known     nothing
  required  nothing shows before classifying
  missing   nothing shows before classifying
  progress  0; 10 steps at the most
  actions   ask_info: order, email, colour, size
            classify: (alone), late, swap
            resolve: (alone)

Hidden from the agent
  category  late, which needs order, email; the agent classifies
  required  order, email
  optional  colour
  goal      whatever is required is known
  customer  wary: Asks back; 1 refusal and 1 stall before each answer under
            email

How the customer answers (hidden)
  order  required
    1 is wrong A-1, I think.
               noise after: It rains.
               -> order = A-1, which is wrong
    2 answers  No, A-2, and it's blue.
               noise after: It rains.
               -> order = A-2
               -> colour = blue
      then     turn 2 again each time
  email  required
    1 refuses (person) Why?
                       noise after: It rains.
    2 stalls (person)  Hm.
                       noise after: It rains.
    3 answers          kim@example.net
                       noise after: It rains.
                       -> email = kim@example.net
      then             turn 3 again each time
  colour  optional
    there is nothing to say
  Nothing is said of size.

The best that can be done (hidden)
  V* 2 in 7 steps; the goal takes 6 at the least
  classify late, ask_info order (x2), ask_info email (x3), resolve
"""


def run(*arguments: str | Path) -> Result:
    return deskproof("preview", *arguments)


@pytest.fixture
def lamps(tmp_path: Path) -> Path:
    path = tmp_path / "lamps.yaml"
    path.write_text(LAMPS, "utf-8")
    return path


# -- What is shown


def test_a_ticket(lamps: Path) -> None:
    result = run(lamps, "--ticket", "l-1")
    # The best line may begin with either field.
    either = FIRST.replace("ask_info order (x2), ask_info email (x3)", "ask_info email (x3), ask_info order (x2)")
    assert result.output in (FIRST, either)
    assert result.exit_code == 0


def test_a_ticket_that_knows_something(lamps: Path) -> None:
    said = run(lamps, "--ticket", "l-2").output
    seen, hidden = said.split("Hidden from the agent")
    assert "  customer  Another one for A-7, please!\n" in seen
    assert "  known     order = A-7\n  required  order, colour\n  missing   colour\n  progress  0.5; " in seen
    assert "late, swap" in seen and "the desk knows it" not in seen
    assert "  category  swap, which needs order, colour; the desk knows it\n" in hidden
    assert "  order  required, known from the start\n" in hidden
    assert "    1 waives Who can tell in the dark?\n" in hidden
    assert "      then   the same again each time\n" in hidden


def test_other_openings_and_customers(tmp_path: Path) -> None:
    text = LAMPS.replace("messages: [Where is my lamp?]", 'messages: [A, {text: "B\\nb", known: [email]}, C, D]')
    text = text.replace("person: wary", "person: [wary, calm]").replace("  wary:", "  calm: {noise: []}\n  wary:")
    path = tmp_path / "lamps.yaml"
    path.write_text(text, "utf-8")
    pack = load_pack(path)
    for seed in range(6):
        found = view(pack, "l-1", seed, BUDGET)
        # Each of the others stands there with a seed that makes it so.
        texts = {opening.text: opening.seed for opening in found.openings}
        assert {*texts, found.case.message} == {"A", "B\nb", "C", "D"} and len(texts) == 3
        assert all(view(pack, "l-1", at, BUDGET).case.message == text for text, at in texts.items())
        assert found.customer is not None
        (other,) = found.customers
        assert {found.customer.person.name, other.person.name} == {"wary", "calm"}
        again = view(pack, "l-1", other.seed, BUDGET).customer
        assert again is not None and again.person == other.person
        shown = printed(found, 80)
        assert f"  or        {other.person.name}" in shown
        assert ("states email" in shown) == (found.case.message != "B\nb")


def test_what_is_shown_is_what_is_played(lamps: Path) -> None:
    """Each turn with its noise, in the order in which it is heard."""
    pack = load_pack(lamps)
    found = view(pack, "l-1", 3, BUDGET)
    episode = found.case
    state, machine = episode.automaton.initial, episode.automaton
    asks = {dict(choice.parameters).get("field"): choice for choice in machine.actions.choices}
    for asked in found.asked:
        for turn in asked.turns:
            move = machine.transition(state, asks[asked.field])
            assert episode.say(move) == " ".join(filter(None, (turn.before, turn.said, turn.after)))
            state = move.state


def test_nothing_is_ever_known(tmp_path: Path) -> None:
    path = tmp_path / "pack.yaml"
    text = LAMPS.replace(
        "    answers:\n      order: A-7\n", "    answers:\n      size: {say: No idea.}\n      order: A-7\n"
    )
    path.write_text(text, "utf-8")
    said = run(path, "--ticket", "l-2").output
    assert "  size  not needed\n    1 stalls No idea.\n" in said
    assert "      then   the same again each time; it never becomes known\n" in said


# -- Which tickets


def test_a_list_of_tickets(lamps: Path) -> None:
    result = run(lamps)
    lines = result.output.splitlines()
    assert lines[0] == "lamp-shop 1.0.0: 2 tickets"
    assert [line.split() for line in lines[2:5]] == [
        ["ticket", "task", "category", "steps", "opening", "message"],
        ["l-1", "hard", "late", "7", "Where", "is", "my", "lamp?"],
        # Classified, the colour asked for, resolved.
        ["l-2", "easy", "swap", "3", "Another", "one", "for", "A-7,", "please!"],
    ]
    assert lines[-1] == f"One of them: deskproof preview {lamps} --ticket l-1"


def test_tickets_of_one_task_and_all_of_them(lamps: Path) -> None:
    one = run(lamps, "--task", "easy-info-collection")
    assert one.output == run(lamps, "--ticket", "l-2").output
    every = run(lamps, "--all").output
    assert every == f"{run(lamps, '--ticket', 'l-1').output}\n{one.output}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ticket", "l-11"], "There is no ticket 'l-11'. Did you mean 'l-1'?"),
        (["--ticket", "?"], "There is no ticket '?'. There are: l-1, l-2."),
        (["--task", "easy"], "There is no task 'easy'. "),
        (["--task", "medium-complete-info"], "The pack has no ticket for the task 'medium-complete-info'."),
        (["--task", "easy-info-collection", "--ticket", "l-1"], "Ticket 'l-1' belongs to the task 'hard-efficient-"),
        (["--all", "--ticket", "l-1"], "--all is for every ticket: leave --ticket out."),
        (["--seed", "-1"], "Invalid value for '--seed'"),
    ],
)
def test_usage(lamps: Path, arguments: list[str], message: str) -> None:
    result = run(lamps, *arguments)
    assert result.exit_code == 2 and message in result.output


def test_no_such_pack() -> None:
    result = run("costumer-support")
    assert result.exit_code == 2 and "Did you mean 'customer-support'?" in result.output


# -- Packs with something wrong


def test_findings_of_a_pack_that_cannot_be_read(lamps: Path) -> None:
    lamps.write_text(LAMPS.replace("person: wary", "person: weary"), "utf-8")
    result = CliRunner().invoke(main, ["preview", str(lamps)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "PACK033: unknown person 'weary'" in result.stderr and "did you mean 'wary'?" in result.stderr


def test_a_draft_can_be_looked_at(lamps: Path) -> None:
    """A ticket that nobody can resolve in time is a finding, and shown all the same: that is where one has to look."""
    lamps.write_text(LAMPS + "max_steps: 5\n", "utf-8")
    result = CliRunner().invoke(main, ["preview", str(lamps), "--ticket", "l-1"])
    assert result.exit_code == 1
    assert "PACK060: ticket 'l-1' can't be resolved in 5 steps" in result.stderr
    assert "there is no way to the goal" in result.stdout
    assert CliRunner().invoke(main, ["preview", str(lamps)]).stdout.splitlines()[3].split()[:4] == [
        "l-1",
        "hard",
        "late",
        "-",
    ]


# -- What it looks like


def printed(found: View, width: int, terminal: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=terminal, highlight=False, emoji=False)
    for part in pages(found):
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("path", shipped_packs(), ids=lambda path: path.name)
@pytest.mark.parametrize("width", [40, 80])
def test_no_line_is_wider_than_the_terminal(path: Path, width: int) -> None:
    pack = load_pack(path)
    for ticket in list(pack.tickets)[:3]:
        lines = printed(view(pack, ticket, 0, BUDGET), width).splitlines()
        assert max(map(cell_len, lines)) <= width
    console = Console(file=io.StringIO(), width=width)
    for part in overview(pack, [row(pack, ticket, 0) for ticket in pack.tickets.values()], width):
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    assert max(map(cell_len, console.file.getvalue().splitlines())) <= width


def test_messages_are_whole_where_there_is_little_room(lamps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert run(lamps).stdout == (
        "lamp-shop 1.0.0: 2 tickets\n\n"
        "  ticket  l-1, hard, late, 7 steps\n"
        "          Where is my lamp?\n"
        "  ticket  l-2, easy, swap, 3 steps\n"
        "          Another one for A-7, please!\n"
        f"\nOne of them: deskproof preview {lamps} --ticket l-1\n"
    )


def test_a_pipe_gets_plain_text_without_blanks_at_the_ends(lamps: Path) -> None:
    for line in run(lamps, "--all").output.splitlines():
        assert line == line.rstrip() and "\x1b" not in line


def test_colours_on_a_terminal_say_the_same(lamps: Path) -> None:
    found = view(load_pack(lamps), "l-1", 0, BUDGET)
    coloured = printed(found, 80, terminal=True)
    assert "\x1b[" in coloured
    assert Text.from_ansi(coloured).plain.split() == printed(found, 80).split()


def test_texts_do_not_steer_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "pack.yaml"
    path.write_text(HOSTILE.replace("max_steps: 4", "max_steps: 9"), "utf-8")
    said = run(path, "--all").output + run(path).output
    assert r"\x1b[2J\x07[/red] \u202e]]> <b>bold</b> {{ x }}" in said and "[bold]<i>" in said
    assert all(character.isprintable() or character == "\n" for character in said)
