"""YAML as it is written by hand, and read back as it was."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from engine.diagnostics import Report
from engine.importing.dump import dump, values
from engine.nodes import File
from engine.source import Budget, parse


def test_in_blocks_and_plain_where_that_is_safe() -> None:
    document = {
        "pack": "desk",
        "max_steps": 13,
        "version": "0.1.0",
        "empty": [],
        "texts": [
            "My lamp is late.",
            "no",
            "0042",
            "1e3",
            "#W23",
            "{name}",
            " blank ",
            "",
            "a: b",
            "12:30",
            "~",
            "=",
            "🙂",
        ],
        "long": "word " * 30 + "end",
        "lines": "Hi,\n\nmy lamp\n",
        "CRLF": "a\r\nb",
        "odd": "a\x07\x85\u2028\ufeffb",
        "no": {"yes": "y"},
    }
    assert dump(document) == (
        "pack: desk\n"
        "max_steps: 13\n"
        "version: 0.1.0\n"
        "empty: []\n"
        "texts:\n"
        "  - My lamp is late.\n"
        "  - 'no'\n"
        "  - '0042'\n"
        "  - '1e3'\n"
        "  - '#W23'\n"
        "  - '{name}'\n"
        "  - ' blank '\n"
        "  - ''\n"
        "  - 'a: b'\n"
        "  - '12:30'\n"
        "  - '~'\n"
        "  - '='\n"
        "  - 🙂\n"
        # 'long: ' and 21 words are 110 characters, so the line ends behind the next one.
        f"long: {'word ' * 21}word\n"
        f"  {'word ' * 8}end\n"
        "lines: |\n"
        "  Hi,\n"
        "\n"
        "  my lamp\n"
        'CRLF: "a\\r\\nb"\n'
        'odd: "a\\a\\N\\L\\uFEFFb"\n'
        "'no':\n"
        "  'yes': 'y'\n"
    )


PIECES = [
    *"\n\r\t '\"#:-?!&*{}[]|>%@`,\\0123456789ynoNul~=<.\x85\u2028\ufeff\x00\x07\xa0🙂é",
    *(
        "a ",
        "# ",
        "- ",
        "? ",
        ": ",
        " \n",
        "word ",
        "x" * 50,
        "---\n",
        "...\n",
        "1.5",
        "0x1",
        "no",
        "null",
        "2022-08-01",
    ),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=30)
NODES = st.recursive(
    TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=8
)


@given(NODES)
def test_what_is_read_back_is_what_was_written(node: Any) -> None:
    """By this engine's reader, and by any other one of YAML; and it comes to as many values as the reader counts."""
    document = {"node": node, "list": [node], "max_steps": 12}
    text = dump(document)
    budget, report = Budget(), Report()
    before = budget.nodes
    assert parse(File("pack.yaml", text), budget, report) == document
    assert report.findings() == ()
    assert before - budget.nodes == values(document)
    assert yaml.safe_load(text) == document
    assert dump(document) == text
