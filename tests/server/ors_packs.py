"""What the tests of ORS play: the small pack, and a bigger one beside it whose customer says a lot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LAMPS = Path(__file__).with_name("lamps.yaml")
EASY, HARD = "easy-info-collection", "hard-efficient-resolution"
# An ideal episode of ticket t-1.
GOOD: tuple[tuple[str, dict[str, str]], ...] = (
    ("classify", {}),
    ("ask_info", {"field": "order"}),
    ("ask_info", {"field": "email"}),
    ("resolve", {}),
)
LONG = "  ☕ \u3000\u2028" * 3_000  # several chunks, most of which begin with white space


def write_many(path: Path) -> Path:
    """A pack of five tickets, all for training; the lamps have fewer of these."""
    document: dict[str, Any] = {
        "pack": "many",
        "version": "1",
        "fields": {"order": {}},
        "categories": {"delivery": {"requires": ["order"]}},
        "tickets": [
            {
                "id": f"m-{number}",
                "task": EASY,
                "category": "delivery",
                "messages": [f"Message {number}."],
                "answers": {"order": {"say": LONG, "value": "A-1"}},
                "split": "train",
            }
            for number in range(5)
        ],
    }
    path.write_text(json.dumps(document), "utf-8")
    return path
