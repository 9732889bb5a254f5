"""Draws learning.svg, the README's learning curve, of a run of examples/q_learning.py: `python -m docs.learning`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from examples.q_learning import Learned, learn, tables

PICTURE = Path(__file__).with_name("learning.svg")
# In pixels: the picture, and the plot within it.
WIDTH, HEIGHT = 760, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 720, 44, 284
# Returns, and episodes, from the lower end of a scale to the upper one.
LOW, HIGH = -1.0, 2.0
FIRST, LAST = 1, 100_000

HEADING = "Tabular Q-learning, easy and medium tickets: mean return of its policy"
STYLE = """
text { font: 14px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600 }
.grid { stroke: #d0d7de }
.known { stroke: #57606a; stroke-width: 1.5; stroke-dasharray: 6 4 }
.curve { fill: none; stroke: #0969da; stroke-width: 2.5 }
.dot { fill: #0969da }
.paper { fill: #ffffff }
"""


def draw(learned: Learned) -> str:
    """The picture as SVG: nothing from elsewhere, the same text for the same curve."""
    return "\n".join(_parts(learned)) + "\n"


def _parts(learned: Learned) -> Iterator[str]:
    points = [(across(episodes), up(mean)) for episodes, mean in learned.curve]
    told = f"from {learned.curve[0][1]:.2f} at first to {learned.curve[-1][1]:.2f} in the end"
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="name">'
    yield f'<title id="name">Mean return of tabular Q-learning by the episodes played, {told}</title>'
    yield f"<style>{STYLE}</style>"
    yield f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>'
    yield f'<text class="title" x="{LEFT}" y="24">{HEADING}</text>'
    for tick in (-1, 0, 1, 2):
        yield f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{up(tick)}" y2="{up(tick)}"/>'
        yield f'<text x="{LEFT - 10}" y="{up(tick) + 5}" text-anchor="end">{tick}</text>'
    for power in range(6):
        x = across(10**power)
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP}" y2="{BOTTOM}"/>'
        yield f'<text x="{x}" y="{BOTTOM + 22}" text-anchor="middle">{10**power:,}</text>'
    yield f'<text x="{(LEFT + RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">episodes played</text>'
    for value, words in (
        (learned.best, f"V*, the best there is: {learned.best:.2f}"),
        (learned.random, f"chance, exactly: {learned.random:.2f}"),
    ):
        yield f'<line class="known" x1="{LEFT}" x2="{RIGHT}" y1="{up(value)}" y2="{up(value)}"/>'
        yield f'<text x="{RIGHT - 8}" y="{up(value) + 20}" text-anchor="end">{words}</text>'
    yield f'<polyline class="curve" points="{" ".join(f"{x},{y}" for x, y in points)}"/>'
    for x, y in points:
        yield f'<circle class="dot" cx="{x}" cy="{y}" r="3"/>'
    yield "</svg>"


def across(episodes: int) -> float:
    """Where a number of episodes stands, on a logarithmic scale; none at all at its lower end."""
    share = math.log(max(episodes, FIRST) / FIRST) / math.log(LAST / FIRST)
    return round(LEFT + share * (RIGHT - LEFT), 1)


def up(mean: float) -> float:
    """Where a return stands."""
    return round(BOTTOM - (mean - LOW) / (HIGH - LOW) * (BOTTOM - TOP), 1)


if __name__ == "__main__":
    PICTURE.write_text(draw(learn(tables())), encoding="utf-8")
