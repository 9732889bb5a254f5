"""The proof as text and as JSON: its numbers, its verdicts, and the episodes that show what is wrong."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from engine.pack import Demands
from engine.proof import told
from engine.proof.document import as_json
from engine.proof.report import SHOWN, Wish, report
from engine.proof.result import KINDS
from engine.proof.told import Proved
from tests.proof.drafts import FAULTY, HOSTILE, PAID, TINY, draft, loaded, proved

RULES = Path(__file__).parents[2] / "engine" / "rules.yaml"
PLAIN = Wish()


def printed(what: Proved, wish: Wish = PLAIN, width: int = 100, terminal: bool = False) -> str:
    file = io.StringIO()
    report(what, Console(file=file, width=width, highlight=False, emoji=False, force_terminal=terminal), wish)
    return file.getvalue()


def row(text: str, first: str) -> list[str]:
    """The words of the one line that begins with a word."""
    (line,) = (line.split() for line in text.splitlines() if line.split()[:1] == [first])
    return line


# -- Numbers and verdicts


def test_on_a_narrow_terminal_all_numbers_are_there(tmp_path: Path) -> None:
    """Its lines are wrapped then, as nothing else is."""
    what = proved(draft(tmp_path, TINY))
    wide = printed(what, width=100, terminal=True).splitlines()
    narrow = printed(what, width=30, terminal=True).splitlines()
    numbers = [line.split()[1:] for line in wide if line.split()[:1] == ["easy-info-collection"]]
    assert numbers and [line.split()[1:] for line in narrow if line.split()[:1] == ["easy"]] == numbers


def test_the_numbers_of_a_task(tmp_path: Path) -> None:
    """-2/9, 5/9, 1/2 and 1/9: see `drafts`."""
    text = printed(proved(draft(tmp_path, TINY)))
    assert row(text, "task") == "task tickets states V* fewest optimal random easy medium hard blind".split()
    assert row(text, "easy-info-collection") == ("easy-info-collection 1 3 2 2 2 -0.222 0.556 0.500 0.111 -".split())


def test_ranges_and_means(tmp_path: Path) -> None:
    """A second ticket, whose customer stalls once: it can't be resolved, and two asks earn 0.5. Three states too:
    nothing said, one thing said, the order known."""
    second = TINY[TINY.index("  - {") :].replace("t-1", "t-2").replace('"7"', '[{say: Hm.}, "7"]')
    stalling = TINY + second
    cells = row(printed(proved(draft(tmp_path, stalling))), "easy-info-collection")
    assert cells[1:6] == ["2", "3", "0.5–2", "2", "2"]


def test_the_checks_of_a_sound_pack(tmp_path: Path) -> None:
    text = printed(proved(draft(tmp_path, TINY)))
    assert row(text, "P01") == "P01 solvable holds 1 ticket".split()
    assert row(text, "P04") == "P04 no shortcut holds 1 ticket, margin 0.5".split()
    assert row(text, "P07") == "P07 blind no matter margin 0.25".split()  # nobody has to read in order to classify
    assert [code for code in KINDS if row(text, code)] == list(KINDS)
    assert "error" not in text and "warning" not in text


def test_a_check_that_is_ignored(tmp_path: Path) -> None:
    text = printed(proved(draft(tmp_path, TINY), Demands({}, {"P10": "ignore"})))
    assert row(text, "P10") == "P10 order ignored".split()


def test_no_blanks_at_the_ends_of_lines_and_none_too_long() -> None:
    for path in FAULTY.glob("*.yaml"):
        for line in printed(proved(loaded(path))).splitlines():
            assert line == line.rstrip()
        table = printed(proved(loaded(path)), width=80).split("P01")[0]
        assert all(len(line) <= 80 for line in table.splitlines())


def test_a_narrow_terminal_has_short_names_of_tasks(tmp_path: Path) -> None:
    assert row(printed(proved(draft(tmp_path, TINY)), width=80), "easy")[1] == "1"


# -- Counterexamples


def test_a_ticket_that_can_not_be_resolved() -> None:
    """Two stalls and an answer are three steps, all there are; the answer earns the field's 0.5."""
    text = printed(proved(loaded(FAULTY / "p01.yaml")))
    assert row(text, "P01") == "P01 solvable error 1 of 1 ticket".split()
    episode = text[text.index("error P01 ticket 'q-1'") :].split("\n\n")[0]
    assert f"\n  {FAULTY / 'p01.yaml'}:8:5\n" in episode  # where the ticket begins
    steps = [line.split() for line in episode.splitlines() if re.match(r" +\d ", line)]
    assert steps == [
        ["1", "ask_info", "order", "(stalled)", "+0.0000", "0.0000"],
        ["2", "ask_info", "order", "(stalled)", "+0.0000", "0.0000"],
        ["3", "ask_info", "order", "(answered)", "+0.5000", "0.5000"],
    ]
    said = [line.strip() for line in episode.splitlines() if "customer:" in line]
    assert said == ["customer: " + text for text in ("Nothing came.", "One moment.", "It must be here.", "L-4821")]
    assert episode.endswith("out of steps after 3 steps; return 0.5000, score 1.0000")  # the easy task's score


def test_the_step_that_paid_its_rule_and_where_the_rule_stands() -> None:
    """The first of two steps that pay 1.0 each: the ask, by the engine's own rule."""
    text = printed(proved(loaded(FAULTY / "p04.yaml")))
    line = next(n for n, line in enumerate(RULES.read_text("utf-8").splitlines(), 1) if "outcome: answered" in line)
    assert row(text, "P04") == "P04 no shortcut warning 1 of 1 ticket, margin 0.5".split()
    assert re.search(r"\n  > +1 ask_info order \(answered\) +\+1\.0000 1\.0000\n", text)
    assert f"\n  > step 1: +1.0000 by rule ask_info.answered, {RULES}:{line}:7\n" in text


def test_a_terminal_shows_that_step_in_reverse() -> None:
    text = printed(proved(loaded(FAULTY / "p04.yaml")), terminal=True)
    (marked,) = (line for line in text.splitlines() if "ask_info order" in line and "\x1b[1;7m" in line)
    assert "+1.0000" in marked


def test_some_failures_are_shown_and_the_others_are_counted(tmp_path: Path) -> None:
    five = proved(draft(tmp_path, PAID))
    few, every = printed(five), printed(five, Wish(every=True))
    assert few.count("warning P04 ticket") == SHOWN == 3
    assert "\nand 2 more of P04; --all shows every one\n" in few
    assert every.count("warning P04 ticket") == 5
    assert "--all" not in every


def test_what_is_not_proved_is_said_once(tmp_path: Path) -> None:
    """Of the first state alone there are three different moves, one more than may be looked at."""
    text = printed(proved(draft(tmp_path, TINY), budget=2))
    assert row(text, "easy-info-collection") == "easy-info-collection 1 - - - - - - - - -".split()
    assert row(text, "P01") == "P01 solvable not proved 1 of 1 ticket".split()
    assert text.count("ticket 't-1' isn't proved") == 1
    (codes,) = (line.strip().split(", ") for line in text.splitlines() if line.startswith("  P01, "))
    assert {"P02", "P03", "P04", "P05", "P06", "P10"} <= set(codes)


# -- Best lines


def test_the_best_line_of_every_ticket(tmp_path: Path) -> None:
    text = printed(proved(draft(tmp_path, TINY)), Wish(lines=True))
    assert "\n  t-1: 2 in 2 steps: ask_info order, resolve\n" in text
    assert "Best lines" not in printed(proved(draft(tmp_path, TINY)))


def test_an_action_several_times_in_a_row_is_told_once() -> None:
    """The three asks of the ticket that can't be resolved; by hand: all that earns is the third."""
    assert "\n  q-1: 0.5 in 3 steps: ask_info order (x3)\n" in printed(
        proved(loaded(FAULTY / "p01.yaml")), Wish(lines=True)
    )


def test_one_ticket_alone_has_its_best_line_as_an_episode(tmp_path: Path) -> None:
    """The only way to 2.0: ask (0.5), then resolve (1.5)."""
    text = printed(proved(draft(tmp_path, TINY)), Wish(ticket="t-1"))
    assert row(text, "nothing")[:6] == "nothing known at the start 3".split()
    episode = text[text.index("A best line of play, nothing known at the start") :]
    assert "the only one that returns as much" in episode
    assert re.search(r"1 ask_info order \(answered\) +\+0\.5000 0\.5000\n", episode)
    assert re.search(r"2 resolve \(done\) +\+1\.5000 2\.0000\n", episode)
    assert "resolved after 2 steps; return 2.0000, score 1.0000" in episode


# -- Hostile texts


@pytest.mark.parametrize("wish", [PLAIN, Wish(lines=True), Wish(ticket="")], ids=["plain", "lines", "ticket"])
@pytest.mark.parametrize("terminal", [False, True])
def test_no_text_of_a_pack_steers_a_terminal(tmp_path: Path, wish: Wish, terminal: bool) -> None:
    text = printed(proved(draft(tmp_path, HOSTILE)), wish, terminal=terminal)
    own = re.sub(r"\x1b\[[0-9;]*m", "", text)  # the report's own colours
    assert all(character == "\n" or character.isprintable() for character in own)
    assert "\\x1b[2J\\x07[/red] \\u202e]]> <b>bold</b> {{ x }}" in own  # as it was written, but for what steers
    assert "second line" in own
    assert "</script><svg onload=alert(1)>\\u202e:warning:" in own  # no emoji
    assert "[bold]<i>" in own
    assert "ask_info [/]" in own and "ask_info '\"><img src=x onerror=alert(1)>" in own


# -- For programs


def test_the_proof_as_json(tmp_path: Path) -> None:
    """The same numbers; the least is two wasted steps, -1.0, and the most without the end 0.5."""
    document = json.loads(json.dumps(as_json(proved(draft(tmp_path, TINY)).proof)))
    assert (document["pack"], document["version"], document["sound"], document["blind"]) == ("tiny", "1.0.0", True, {})
    ((variant,),) = (ticket["variants"] for ticket in document["tickets"])
    numbers = variant.pop("numbers")
    assert variant == {"known": [], "stalls": 0, "seed": 0}
    grades = numbers.pop("random_grades")
    assert numbers.pop("random_return") == pytest.approx(-2 / 9, abs=1e-15)
    assert grades == {"easy": pytest.approx(5 / 9), "medium": 0.5, "hard": pytest.approx(1 / 9)}
    steps = {"fewest_steps": 2, "optimal_steps": 2, "optimal_episodes": 1}
    assert numbers == {"states": 3, "optimum": 2.0, "worst": -1.0, "short": 0.5, **steps}
    assert {check["code"] for check in document["checks"]} == set(KINDS)


def test_a_failure_as_json() -> None:
    document = as_json(proved(loaded(FAULTY / "p04.yaml")).proof)
    (failed,) = (check for check in document["checks"] if check["status"] == "fails")
    assert (failed["code"], failed["ticket"], failed["severity"], failed["line"]) == ("P04", "q-1", "warning", 10)
    shown = failed["counterexample"]
    assert (shown["ticket"], shown["paid"], shown["rule"]) == ("q-1", 1, "ask_info.answered")
    assert shown["actions"][0] == {"type": "ask_info", "field": "order"}
    assert shown["rule_place"].startswith(str(RULES))


# -- Words


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ({"type": "resolve"}, "resolve"),
        ({"type": "tell", "how": "mail", "loud": True}, "tell mail True"),
        ({"type": "tell", "parameters": {"type": "x"}}, "tell x"),  # a parameter that is called like the action's type
        ({"type": "tell", "how": "\x1b[2J"}, "tell \\x1b[2J"),
    ],
)
def test_an_action_in_words(action: dict[str, object], words: str) -> None:
    assert told.words(action) == words


def test_huge_counts() -> None:
    assert [told.many(number) for number in (1, 240_660, 10**12)] == ["1", "240,660", "1.00e+12"]
    assert told.many(3 * 10**5000) == "3.00e+5000"  # more digits than Python writes of an int
