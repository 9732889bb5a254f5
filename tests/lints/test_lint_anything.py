"""Whatever a pack holds: lints come to an end, say where, and say the same again."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.contract import load_contract
from engine.lints.lint import LINTS, lint
from engine.load import read_draft

TASKS = ("easy-info-collection", "medium-complete-info", "hard-efficient-resolution")
names = st.sampled_from(["a", "退款", "late", "TODO", "TODO: x", "", " ", "a b", "{{ a }}", "⚠️ 版本?", "no", "'", "É"])
words = st.sampled_from(
    ["late", "a", "{{ a }}", "退款", "dark green", "TODO", "L-1", "'", "\n", "é", "e\u0301", "🙂", "\u0e01"]
)
texts = st.lists(words, max_size=14).map(" ".join) | st.lists(words, max_size=5).map("".join)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    fields = draw(st.lists(names, unique=True, min_size=1, max_size=3))
    categories = draw(st.lists(names, unique=True, max_size=3))
    tickets = []
    for number in range(draw(st.integers(1, 5))):
        answers = {name: draw(texts) for name in draw(st.lists(st.sampled_from(fields), unique=True))}
        messages = draw(
            st.lists(
                texts | st.fixed_dictionaries({"template": texts, "known": st.just([*answers])}), min_size=1, max_size=4
            )
        )
        category = draw(st.none() | st.sampled_from(categories)) if categories else None
        own = {} if category is None else {"category": category}
        ticket = {"id": f"t{number}", "task": draw(st.sampled_from(TASKS)), "messages": messages, "answers": answers}
        tickets.append({**ticket, **own, "required": [*answers]})
    return {
        "pack": draw(names.filter(bool)),
        "version": "1",
        "description": draw(texts),
        "fields": {name: {"description": draw(texts)} for name in fields},
        "categories": {name: {} for name in categories},
        "people": {name: {"stalls": 1} for name in draw(st.lists(names, unique=True, max_size=2))},
        "tickets": tickets,
    }


@given(documents())
@settings(max_examples=200, deadline=None)
def test_lints_of_anything(document: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pack.yaml"
        path.write_text(json.dumps(document), encoding="utf-8")
        pack, read, _ = read_draft(path, load_contract())
        if pack is None or read is None:
            return
        findings = lint(pack, read, {})
        assert findings == lint(pack, read, {})
        assert {finding.code for finding in findings} <= LINTS.keys()
        lines = path.read_text("utf-8").split("\n")
        for finding in findings:
            assert finding.place.file == str(path)
            assert finding.place.column <= len(lines[finding.place.line - 1]) + 1
            assert finding.source
