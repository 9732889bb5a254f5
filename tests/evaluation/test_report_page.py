"""The page of a run: well-formed, needing nothing from elsewhere, harmless whatever stands in a run, and right."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import pytest

from engine.episode import Episode
from engine.evaluation.ledger import EPISODES
from engine.evaluation.numbers_told import rows
from engine.evaluation.played import played
from engine.evaluation.report.csv_file import csv_file
from engine.evaluation.report.page import page
from engine.evaluation.report.survey import survey
from tests.evaluation.made import run
from tests.evaluation.reports import BROKEN, lamps_run
from tests.pages import Reader, pictures, takes_nothing_from_elsewhere
from tests.proof.diffs import BASE
from tests.proof.drafts import HOSTILE, draft

# What the template itself is made of: a run's text adds no element and no attribute.
ELEMENTS = set(
    "html head meta title style body a svg path g text rect circle header h1 h2 h3 h4 small p strong nav ul li main "
    "section div dl dt dd table caption thead tbody tr th td code bdi span details summary figure figcaption br".split()
)
NASTY = "</bdi><script>alert(1)</script>\x1b[2J\u202e'\""


def page_of(path: Path, most: int | None = None) -> str:
    found = played(path)
    return "".join(page(found, survey(found), most))


def sound(text: str) -> Reader:
    """What is true of every page."""
    takes_nothing_from_elsewhere(text)
    reader = Reader(text)
    assert {element.name for element in reader.elements} <= ELEMENTS
    ids = [element.attributes["id"] for element in reader.elements if "id" in element.attributes]
    assert len(set(ids)) == len(ids)
    for element in reader.elements:
        for name, value in element.attributes.items():
            assert not name.startswith("on") and name not in ("style", "src", "srcset", "action"), name
            assert name != "href" or (value[:1] == "#" and value[1:] in ids)
            assert name != "aria-labelledby" or set(value.split()) <= set(ids)
    for picture in pictures(text):
        assert picture.find("title") is not None or picture.get("aria-hidden") == "true"
    assert all(character == "\n" or character.isprintable() for character in text)
    return reader


@pytest.fixture
def lamps(tmp_path: Path) -> Path:
    return lamps_run(tmp_path)


def test_the_numbers_are_those_that_eval_tells(lamps: Path) -> None:
    reader = sound(page_of(lamps))
    texts = [element.text for element in (*reader.all("th"), *reader.all("td"))]
    for row in rows(played(lamps).table().overall):
        assert set(filter(None, row)) <= set(texts), row
    assert [one.text for one in reader.all("p", "coverage")] == ["5 of 6 episodes done (83.3%), 2 tickets"]
    tiles = [one.text for one in reader.all("li") if "chance" in one.text or "95%" in one.text]
    assert [tile.split()[0] for tile in tiles][:3] == ["score", "return", "success"]


def test_how_episodes_ended(lamps: Path) -> None:
    reader = sound(page_of(lamps))
    words = ["the ticket was resolved", "out of steps", "the agent gave up", "the agent failed: an error"]
    table = next(one.words for one in reader.all("table") if words[0] in one.text)
    shares = " ".join(f"{word} {share}" for word, share in zip(words, ("3 50.0%", *["1 16.7%"] * 3), strict=True))
    assert table.endswith(f"ended episodes share {shares}")
    assert any(one.text == BROKEN for one in reader.all("bdi"))


def test_what_was_lost(lamps: Path) -> None:
    """3.25, of which premature ends are 3: 92.3%."""
    reader = sound(page_of(lamps))
    (told,) = (one.text for one in reader.all("p") if one.text.startswith("A step's cost"))
    assert told.endswith("cost 3.25 together.")
    table = next(one.words for one in reader.all("table") if "steps that cost" in one.text)
    assert "resolve.premature 4 of 4 3.00 92.3%" in table and "ask_info.unneeded 1 of 1 0.25 7.7%" in table


def test_each_episode_with_its_blame(lamps: Path) -> None:
    reader = sound(page_of(lamps))
    told = [one.text for one in reader.all("summary")]
    assert told == [
        "dark seed 1 1 step, return 0.5, score 1.000",
        "hum seed 1 4 steps, return -1, score 0.000, cost 3",
        "dark seed 2 0 steps, not counted",
        "hum seed 0 3 steps, return 1.75, score 1.000, cost 0.25",
        "dark seed 0 2 steps, return 2, score 1.000",
        "hum seed 2 2 steps, return 2, score 1.000",
    ]
    blamed = [one.words for one in reader.all("tbody", "paid")]
    assert len(blamed) == 5
    assert blamed[2].startswith("3 resolve premature -0.2500 -0.7500 cost 1.75 ; best was ask_info socket")
    assert [one.text for one in reader.all("h3") if one.text.startswith(("Not", "Ended", "Resolved"))] == [
        "Not resolved 2",
        "Ended in an error 1",
        "Resolved, at a cost 1",
        "Resolved 2",
    ]


def test_it_says_what_is_left_out(lamps: Path) -> None:
    reader = sound(page_of(lamps, 2))
    assert len(reader.all("summary")) == 2
    assert any(one.text.startswith("2 of 6 episodes are shown") for one in reader.all("p"))
    assert "Resolved 2, 0 shown" in [one.text for one in reader.all("h3")]


def test_a_task_without_an_episode_that_is_done(tmp_path: Path) -> None:
    """An agent that fails at all tickets of a task: its numbers are none, and its success is 0 at least."""
    text = BASE.replace("task: easy-info-collection", "task: medium-complete-info", 1)

    def play(episode: Episode, trial: int) -> dict[str, object] | str:
        return "It broke." if episode.case.ticket.id == "dark" else {"type": "resolve"}

    reader = sound(page_of(run(tmp_path / "run", [draft(tmp_path, text)], play)))
    cells = [one.words for one in reader.all("tr") if one.text.startswith("medium-complete-info")]
    assert cells == ["medium-complete-info 0 of 1 0 - - - at least 0.000 - -"]
    tiles = [one.words for one in reader.all("li") if one.text.startswith("success rate")]
    assert tiles == ["success rate 0.000 0.000 to 0.793 95% interval, at least 0.000"]


def test_an_invalid_action_is_shown_as_it_was_given(tmp_path: Path) -> None:
    given: list[dict[str, object]] = [{}, {"foo": 1}, {"type": "ask_info", "fied": "model"}, {"type": "dance"}]

    def play(episode: Episode, trial: int) -> dict[str, object]:
        return given[len(episode.steps)]

    path = run(tmp_path / "run", [draft(tmp_path, BASE)], play)
    codes = [one.text for one in sound(page_of(path)).all("code")]
    told = ["{}", '{"foo": 1}', '{"type": "ask_info", "fied": "model"}', "dance"]
    assert [code for code in codes if code in told][:4] == told
    assert next(csv.DictReader(StringIO("".join(csv_file(played(path))))))["actions"] == ", ".join(told)


def test_a_run_that_nothing_was_played_of(lamps: Path) -> None:
    (lamps / EPISODES).write_bytes(b"")
    reader = sound(page_of(lamps))
    assert any(one.text == "Note: Not played to the end: 6 episodes." for one in reader.all("p"))
    assert "No episode is done, so there are none." in [one.text for one in reader.all("p")]


def test_every_text_is_text(tmp_path: Path) -> None:
    """The pack's, the agent's name, and its error. The ticket's id ends every table cell that it stands in."""

    def play(episode: Episode, trial: int) -> dict[str, object] | str:
        fields = ("[/]", "'\"><img src=x onerror=alert(1)>", NASTY)
        step = len(episode.steps)
        return NASTY if step == len(fields) else {"type": "ask_info", "field": fields[step]}

    path = run(tmp_path / "run", [draft(tmp_path, HOSTILE)], play, name=NASTY)
    reader = sound(page_of(path))
    told = "</bdi><script>alert(1)</script>\\x1b[2J\\u202e'\""
    assert reader.all("title")[0].text == f"Report of {told}"
    assert [one.text for one in reader.all("p", "cause")] == [f"error {told}"]
    assert any(one.text == "</script><svg onload=alert(1)>\\u202e:warning:" for one in reader.all("code"))
    assert any("[2J\\x07[/red]" in one.text for one in reader.all("td", "said"))


def test_records_with_words_that_nobody_writes(lamps: Path) -> None:
    """Whoever made a run may have written anything into it."""
    text = (lamps / EPISODES).read_text("utf-8")
    changed = text.replace('"end_reason":"max_steps"', '"end_reason":"<b>"').replace(
        '"task":"easy-info-collection"', '"task":"<i>\\u001b"'
    )
    (lamps / EPISODES).write_text(changed, "utf-8")
    reader = sound(page_of(lamps))
    assert any("otherwise" in one.text for one in reader.all("caption"))
