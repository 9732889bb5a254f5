"""Draws play.svg, the picture in the README, from a real game of `deskproof play`: `python -m docs.picture`."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from engine import play as player
from engine.case import make_case, pick_ticket
from engine.episode import Episode
from engine.load import load_pack, shipped_packs

PICTURE = Path(__file__).with_name("play.svg")
KEYS = (
    "classify delivery_issue",
    "ask_info order_id",
    "ask_info order_id",
    "ask_info account_email",
    "ask_info account_email",
    "resolve",
)


def draw() -> str:
    """The picture as SVG: no fonts or scripts from elsewhere, the same text each time."""
    pack = load_pack(next(path for path in shipped_packs() if path.name == "customer_support"))
    console = Console(
        record=True, width=100, file=io.StringIO(), force_terminal=True, color_system="truecolor", highlight=False
    )
    keys = iter(KEYS)

    def ask(prompt: str) -> str:
        line = next(keys, None)
        if line is None:
            raise EOFError  # the ticket is resolved before that
        console.print(f"{prompt}{line}", markup=False)
        return line

    ticket = pick_ticket(pack, 9, "hard-efficient-resolution")
    player.play(Episode.start(make_case(pack, ticket, 9)), console, ask)
    svg = console.export_svg(title="deskproof play customer-support", theme=MONOKAI, unique_id="play")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
