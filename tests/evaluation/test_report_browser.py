"""The page of a run as a browser shows it: on a telephone and on a desk, in the light and in the dark.

`make test` installs Debian's chromium in CI; elsewhere, where there is none, these tests are skipped.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from engine.episode import Episode
from engine.evaluation.played import played
from engine.evaluation.report.page import page
from engine.evaluation.report.survey import survey
from tests.evaluation.made import run
from tests.evaluation.reports import NEEDED, played_so
from tests.lacking import cannot_run
from tests.proof.diffs import BASE
from tests.proof.drafts import HOSTILE, draft

pytestmark = pytest.mark.slow

NAMES = ("chromium", "chromium-browser", "google-chrome")
SIZES = {"telephone": (390, 844), "small telephone": (360, 640), "desk": (1280, 900)}
# Names and texts without a place to break them at.
LONG = f"""\
pack: {"版本long" * 30}
version: 1.0.0
description: Long.
max_steps: 4
fields: {{{"field" * 20}: {{description: Model}}}}
tickets:
  - id: {"ticket" * 30}
    task: medium-complete-info
    messages: [{"W" * 400}]
    required: [{"field" * 20}]
    answers: {{{"field" * 20}: {"m" * 300}}}
"""

# What is true of every page, as a browser sees it once all episodes are unfolded.
HEADINGS = "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(one => Number(one.tagName[1]))"
BARE_TABLES = """[...document.querySelectorAll('table')].filter(one =>
  !one.caption || !one.querySelector('thead th[scope=col]')).map(one => one.outerHTML)"""
BARE_PICTURES = """[...document.querySelectorAll('svg:not([aria-hidden=true])')].filter(one =>
  one.getAttribute('role') !== 'img' || !one.querySelector(':scope > title')?.textContent).map(one => one.outerHTML)"""
# WCAG 2.2, 1.4.3: 4.5 to 1, of large text (24 pixels, or 18.66 in bold) 3 to 1.
PALE = """(() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = ([red, green, blue]) => [red, green, blue].map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = element => {
    for (let one = element; one; one = one.parentElement) {
      const colour = parts(getComputedStyle(one).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const pale = new Set(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, style = getComputedStyle(element);
    if (!walker.currentNode.data.trim() || element.closest('title')) continue;
    const ink = light(parts(element.namespaceURI.endsWith('svg') ? style.fill : style.color));
    const paper = light(behind(element)), size = parseFloat(style.fontSize);
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) pale.add(`${ratio.toFixed(2)}: ${element.outerHTML.slice(0, 120)}`);
  }
  return [...pale];
})()"""
# Words of a picture that lie on each other, stick out of it, or are too small to be read.
UNREADABLE = """[...document.querySelectorAll('svg.plot')].flatMap(picture => {
  const paper = picture.getBoundingClientRect();
  const boxes = [...picture.querySelectorAll('text')].map(one => [one.textContent, one.getBoundingClientRect()]);
  const found = boxes.filter(([, box]) => box.left < paper.left - 1 || box.right > paper.right + 1 || box.height < 11)
    .map(([text]) => text);
  boxes.forEach(([text, box], at) => boxes.slice(at + 1).forEach(([other, beside]) => {
    const across = Math.min(box.right, beside.right) - Math.max(box.left, beside.left);
    const down = Math.min(box.bottom, beside.bottom) - Math.max(box.top, beside.top);
    if (across > 1 && down > 4) found.push(`${text} on ${other}`);
  }));
  return found;
})"""


# Tables of which a part is out of sight until somebody scrolls.
CUT = """[...document.querySelectorAll('.wide')].filter(one => one.scrollWidth > one.clientWidth)
  .map(one => one.getAttribute('aria-label'))"""
# How much of the page's width each of some tables has.
SHARES = """names => names.map(name => document.querySelector(name))
  .map(one => one.getBoundingClientRect().width / document.querySelector('main').getBoundingClientRect().width)"""


@dataclass(frozen=True)
class Shown:
    """A page, and what the browser said and asked for while it was read."""

    page: Page
    said: list[str]
    asked: list[str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        cannot_run("chromium is not on the PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run of three packs: one that is played as `reports` says, and two whose names and texts are odd."""
    folder = tmp_path_factory.mktemp("report")
    packs = [draft(folder, text) for text in (BASE, HOSTILE, LONG)]

    def play(episode: Episode, trial: int) -> Any:
        case, step = episode.case, len(episode.steps)
        if case.ticket.id in NEEDED:
            return played_so(episode, trial)
        if case.seed == 2:
            return "W" * 500
        missing = episode.observation["missing_required"]
        return {"type": "ask_info", "field": missing[0]} if missing and step < 2 else {"type": "resolve"}

    found = played(run(folder / "run", packs, play, seeds="3", name="agent" * 40))
    path = folder / "report.html"
    path.write_text("".join(page(found, survey(found), None)), "utf-8")
    return path


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=SIZES.values(), ids=[*SIZES])
def shown(browser: Browser, file: Path, scheme: Any, request: pytest.FixtureRequest) -> Iterator[Shown]:
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    opened = context.new_page()
    found = Shown(opened, [], [])
    opened.on("console", lambda message: found.said.append(message.text))
    opened.on("pageerror", lambda error: found.said.append(str(error)))
    opened.on("request", lambda request: found.asked.append(request.url))
    opened.goto(file.as_uri())
    opened.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    yield found
    context.close()


def test_it_reads_well(shown: Shown, file: Path) -> None:
    look = shown.page.evaluate
    assert look("document.scrollingElement.scrollWidth <= innerWidth"), look("document.scrollingElement.scrollWidth")
    levels = look(HEADINGS)
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(level - before <= 1 for before, level in pairwise(levels))
    assert look("document.querySelectorAll('table').length") > 10
    assert look(BARE_TABLES) == [] and look(BARE_PICTURES) == []
    assert look(PALE) == []
    assert look(UNREADABLE) == []
    assert shown.said == [] and shown.asked == [file.as_uri()]


def test_no_table_is_cut_off_on_a_telephone(shown: Shown) -> None:
    """There a row is stacked, each number under its head; on a desk tickets and episodes have all the width."""
    size = shown.page.viewport_size
    assert size is not None
    if size["width"] < 400:
        assert shown.page.evaluate(CUT) == []
        row = shown.page.locator("[aria-label=Tickets] tbody tr").first
        box = row.locator("td[data-head='success rate']").bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= size["width"]
    else:
        tickets, episode = shown.page.evaluate(SHARES, ["[aria-label=Tickets] table", ".episode"])
        assert tickets == 1 and episode > 0.95


def test_the_dark_is_dark(shown: Shown, scheme: str) -> None:
    paper = shown.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


def test_what_would_be_wrong_is_found(browser: Browser) -> None:
    """The rules above, on a page that breaks each of them."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    look = context.new_page()
    look.set_content(
        "<h1>a</h1><h3 style='color: #999'>b</h3><table><tr><td>c</table><p style='width: 500px'>d</p>"
        "<svg class='plot' width='90' height='30'><text x='0' y='20'>first</text><text x='9' y='20'>second</text></svg>"
    )
    assert look.evaluate("document.scrollingElement.scrollWidth > innerWidth")
    assert look.evaluate(HEADINGS) == [1, 3]
    assert len(look.evaluate(BARE_TABLES)) == len(look.evaluate(BARE_PICTURES)) == 1
    assert [one[:4] for one in look.evaluate(PALE)] == ["2.85"]  # 1.05 / (0.3185 + 0.05)
    assert look.evaluate(UNREADABLE) == ["first on second"]
    context.close()
