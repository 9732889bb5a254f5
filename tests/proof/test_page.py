"""The proof as a page: well-formed, needing nothing from elsewhere, harmless whatever a pack says, and right."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from engine.dynamics.graph import explore
from engine.load import shipped_packs
from engine.pack import Pack
from engine.proof.chart import LEFT, SCALE, chart
from engine.proof.drawing import DRAWN, Drawing, draw
from engine.proof.page import DRAWINGS, page
from engine.proof.prove import BUDGET
from engine.proof.tickets import study
from engine.solve import Budget, variants
from tests.pages import Reader, pictures, takes_nothing_from_elsewhere
from tests.proof.drafts import FAULTY, HOSTILE, PAID, TINY, draft, loaded, proved

# What the template itself is made of: a pack's text adds no element and no attribute.
ELEMENTS = set(
    "html head meta title style body a svg defs marker path g text rect circle desc header h1 h2 h3 h4 small p strong "
    "nav ul li main section div table caption thead tbody tr th td code bdi span details summary figure figcaption "
    "br".split()
)


def page_of(*packs: Pack, budget: int = BUDGET) -> str:
    return page([proved(pack, budget=budget) for pack in packs], budget)


def drawing(pack: Pack) -> Drawing:
    (ticket,) = pack.tickets.values()
    (machine,) = variants(pack, ticket)
    return draw(study(explore(machine, Budget(BUDGET))))


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    return page_of(draft(tmp_path, HOSTILE))


# -- The page as such


def sound(text: str) -> Reader:
    """What is true of every page."""
    reader = Reader(text)
    assert {element.name for element in reader.elements} <= ELEMENTS
    ids = [element.attributes["id"] for element in reader.elements if "id" in element.attributes]
    assert len(set(ids)) == len(ids)
    for element in reader.elements:
        for name, value in element.attributes.items():
            assert not name.startswith("on") and name not in ("style", "src", "srcset", "action", "xlink:href"), name
            assert name != "href" or (value[:1] == "#" and value[1:] in ids)
            assert "url(" not in value or re.fullmatch(r"url\(#(tip|tip-best)\)", value)
            if name == "aria-labelledby":
                assert set(value.split()) <= set(ids)
    for table in re.findall(r"<table.*?</table>", text, re.DOTALL):
        assert "<caption>" in table and 'scope="col"' in table
    for picture in pictures(text):
        assert picture.find("title") is not None or picture.get("aria-hidden") == "true"
        if picture.get("class") == "graph":
            apart(picture)
    return reader


def apart(picture: ElementTree.Element) -> None:
    """No state lies on another, or sticks out. States are circles or squares, 28 pixels wide."""
    width, height = (int(picture.get(name, "")) for name in ("width", "height"))
    places = [(int(one.get("cx", "")), int(one.get("cy", ""))) for one in picture.iter("circle")]
    places += [(int(one.get("x", "")) + 13, int(one.get("y", "")) + 13) for one in picture.iter("rect")]
    assert all(14 <= x <= width - 14 and 14 <= y <= height - 14 for x, y in places)
    for column in {x for x, _ in places}:
        rows = sorted(y for x, y in places if x == column)
        assert all(below - above > 28 for above, below in pairwise(rows))


def test_the_page_of_the_shipped_packs() -> None:
    packs = [loaded(path) for path in shipped_packs()]
    text = page_of(*packs)
    reader = sound(text)
    assert reader.text("h1") == ["Proof"]
    assert [text.split()[0] for text in reader.text("h2")] == ["bank-disputes", "customer-support", "it-helpdesk-de"]
    headings = reader.text("th")
    assert all(ticket in headings for pack in packs for ticket in pack.tickets)
    assert len(reader.all("svg", "chart")) == 3
    assert not re.search(r"(?i)https?:|//|javascript:", text)


def test_it_takes_nothing_from_elsewhere(hostile: str) -> None:
    takes_nothing_from_elsewhere(hostile)


def test_a_pack_s_text_is_text(hostile: str) -> None:
    reader = sound(hostile)
    assert all(character == "\n" or character.isprintable() for character in hostile)  # and so nothing turned around
    ticket = "</script><svg onload=alert(1)>\\u202e:warning:"
    assert any(ticket in text for text in reader.text("bdi"))
    assert "</p><script>alert(1)</script>" in reader.text("p")
    assert any("[2J\\x07[/red] \\u202e]]> <b>bold</b> {{ x }}\nsecond line" in text for text in reader.text("td"))
    assert any("'\"><img src=x onerror=alert(1)>" in text for text in reader.text("code"))
    for said in ("</table>", "<!--", "&amp;", "javascript:alert(1)"):
        assert any(text.endswith(said) for text in reader.text("td")), said


@pytest.mark.parametrize("path", sorted(FAULTY.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_pages_of_faulty_packs(path: Path) -> None:
    reader = sound(page_of(loaded(path)))
    code = path.stem.upper()
    assert any(text.startswith(code) for text in reader.text("h4")) == (path.stem != "clean")


def test_no_pack() -> None:
    assert "Proof of no pack" in sound(page([], BUDGET)).text("title")


# -- What it says


def test_the_numbers_of_a_ticket(tmp_path: Path) -> None:
    """-2/9, 5/9, 1/2 and 1/9: see `drafts`. The worst are two wasted steps; one best line: ask, then resolve."""
    reader = sound(page_of(draft(tmp_path, TINY)))
    cells = [text for text in reader.text("td") if text]
    row = "easy-info-collection - - 3 2 -1 0.5 2 2 1 -0.2222 0.5556 0.5000 0.1111".split()
    start = cells.index("easy-info-collection")
    assert cells[start : start + len(row)] == row


def test_a_counterexample_marks_its_step() -> None:
    reader = sound(page_of(loaded(FAULTY / "p04.yaml")))
    (paid,) = ("".join(one.texts) for one in reader.all("tbody", "paid"))
    assert "ask_info order" in paid and "+1.0000" in paid
    assert re.search(r"It comes down to this step: \+1\.0000 by rule ask_info\.answered, \S+/rules\.yaml:\d+:7", paid)


def test_many_failures_are_counted(tmp_path: Path) -> None:
    """Of 23 tickets that are paid for too early, 20 are shown."""
    tickets = "".join(
        f"  - {{id: u-{number}, task: easy-info-collection, category: late, messages: [Hi.], answers: {{order: x}}}}\n"
        for number in range(18)
    )
    reader = sound(page_of(draft(tmp_path, PAID + tickets)))
    assert sum("misses the goal" in text for text in reader.text("summary")) == 20
    assert any(text.startswith("And 3 more") for text in reader.text("p"))


def test_what_is_not_proved_has_no_drawing(tmp_path: Path) -> None:
    reader = sound(page_of(draft(tmp_path, TINY), budget=2))
    assert reader.all("svg", "graph") == []
    assert any("isn't proved: it has more than 2 different moves" in text for text in reader.text("li"))
    assert "not proved" in reader.text("td")


# -- The chart


def test_the_bars_of_the_chart(tmp_path: Path) -> None:
    """From -1 to 2 over SCALE pixels: nothing is at 1/3, the best return at the end, chance, -2/9, at 7/27."""
    what = proved(draft(tmp_path, TINY))
    one = chart(what.pack, what.proof)
    (bar,) = one.bars
    nothing = round(LEFT + SCALE / 3, 1)
    assert bar.best == (nothing, round(SCALE * 2 / 3, 1))
    start, length = bar.random
    assert (start, round(length, 1)) == (round(LEFT + SCALE * 7 / 27, 1), round(nothing - start, 1))
    assert bar.blind is None and not one.blind
    assert [label for _, label in one.ticks] == ["-1", "0", "1", "2"]
    assert bar.title == "t-1: random -0.2222, best 2"


def test_tickets_that_are_alike_share_a_row_where_there_are_many(tmp_path: Path) -> None:
    tickets = "".join(
        f'  - {{id: u-{n}, task: easy-info-collection, messages: [Hi.], required: [order], answers: {{order: "7"}}}}\n'
        for n in range(100)
    )
    what = proved(draft(tmp_path, TINY + tickets))
    one = chart(what.pack, what.proof)
    assert one.shared
    assert [bar.label for bar in one.bars] == ["t-1 +100"]


# -- The drawings


def test_the_drawing_of_three_states(tmp_path: Path) -> None:
    """Nothing known, the order known, resolved: one column each, all in the top row, since the best line has all."""
    found = drawing(draft(tmp_path, TINY))
    assert (found.states, found.dead, len(found.columns)) == (3, 0, 3)
    assert [(node.kind, node.best, node.cut, node.worth) for node in found.nodes] == [
        ("start", True, False, "2"),
        ("state", True, False, "1.5"),
        ("goal", True, False, ""),
    ]
    assert len({node.y for node in found.nodes}) == 1
    assert [node.x for node in found.nodes] == list(found.columns)
    # Of the three actions two lead nowhere: from the start classify and resolve, then ask and classify.
    assert [("2 of 3 actions lead back here" in node.title) for node in found.nodes] == [True, True, False]
    assert [(arrow.best, arrow.wasted, arrow.back) for arrow in found.arrows] == [(True, False, False)] * 2
    assert found.arrows[0].title == "ask_info order: ask_info.answered, +0.5000"
    assert [(label.words, label.reward) for label in found.labels] == [
        (("ask_info", "order"), "+0.5"),
        (("resolve",), "+1.5"),
    ]


def test_dead_ends() -> None:
    """Three asks are all there is time for: not one of four states is near enough to the goal."""
    found = drawing(loaded(FAULTY / "p01.yaml"))
    assert (found.states, found.dead) == (4, 4)
    assert {node.kind for node in found.nodes} == {"dead"}
    assert all("the goal is out of reach" in node.title for node in found.nodes)


def test_a_dead_end_beside_the_best_line(tmp_path: Path) -> None:
    """Asked for the bait, the desk has one step left, and the order alone takes two: a dead end, drawn below the line,
    and one more behind it, where the order is known with the last step. What the bait tells costs nothing."""
    bait = TINY.replace("{order: {description: Order}}", "{order: {description: Order}, bait: {description: Bait}}")
    bait = bait.replace('answers: {order: "7"}', 'optional: [bait], answers: {order: "7", bait: x}')
    found = drawing(draft(tmp_path, bait))
    top = found.nodes[0].y
    below = [node for node in found.nodes if node.y > top]
    dead = {(node.kind, node.x) for node in below if node.kind == "dead"}
    assert found.dead == 2
    assert dead == {("dead", found.columns[1]), ("dead", found.columns[2])}
    assert all(node.best == (node.y == top) for node in found.nodes)


def test_a_large_graph_is_drawn_in_part(tmp_path: Path) -> None:
    """Five fields with 0 to 4 stalls: 2 * 3 * 4 * 5 * 6 = 720 combinations of turns, and the end. The best line, drawn
    whole, has 1 + 2 + 3 + 4 + 5 asks and the end: 17 states."""
    names = [f"f{stalls}" for stalls in range(5)]
    scripts = ", ".join(f"{name}: [{', '.join(['{say: Hm.}'] * stalls + ['x'])}]" for stalls, name in enumerate(names))
    text = (
        "pack: large\nversion: 1.0.0\ndescription: Large.\nmax_steps: 16\nfields:\n"
        + "".join(f"  {name}: {{description: F}}\n" for name in names)
        + f"tickets:\n  - {{id: t-1, task: easy-info-collection, messages: [Hello.], required: [{', '.join(names)}], "
        f"answers: {{{scripts}}}}}\n"
    )
    pack = draft(tmp_path, text)
    found = drawing(pack)
    assert found.states == 721
    assert len(found.nodes) == DRAWN
    assert sum(node.best for node in found.nodes) == 17
    assert any(node.cut for node in found.nodes)
    assert f"Only {DRAWN} states are drawn" in page_of(pack)


# -- Large packs


def test_a_thousand_tickets_stay_below_ten_megabytes(tmp_path: Path) -> None:
    """105 shapes, one for each pair of numbers of stalls up to 13, are more than are drawn."""
    pairs = [(one, other) for one in range(14) for other in range(one, 14)]
    tickets = []
    for number in range(1_000):
        one, other = (", ".join(["{say: Hm.}"] * stalls + [f"x{number}"]) for stalls in pairs[number % len(pairs)])
        tickets.append(
            f"  - {{id: big-{number}, task: easy-info-collection, messages: [Number {number}.], "
            f"required: [order, email], answers: {{order: [{one}], email: [{other}]}}}}\n"
        )
    head = TINY[: TINY.index("  - {")].replace("max_steps: 2", "max_steps: 30")
    head = head.replace("{order: {description: Order}}", "{order: {description: Order}, email: {description: E}}")
    text = page_of(draft(tmp_path, head + "".join(tickets)))
    assert len(text.encode()) < 10_000_000
    drawn = text.count('<svg class="graph"')
    assert 0 < drawn <= DRAWINGS
    assert f"The graphs of {len(pairs) - drawn} more shapes of tickets are not drawn" in text
    assert len(re.findall(r'<th scope="row" class="words"><bdi>big-\d+</bdi>', text)) == 1_000
