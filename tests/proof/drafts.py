"""Small packs whose numbers can be worked out by hand, and their proofs."""

from __future__ import annotations

from pathlib import Path

from engine.contract import load_contract
from engine.load import check_draft
from engine.pack import Demands, Pack
from engine.proof.prove import BUDGET, prove
from engine.proof.told import Proved

FAULTY = Path(__file__).parent / "faulty"

# Three actions (ask for the order, classify, resolve), two steps. Wasted ones cost 1.0 / 2 = 0.5; the field earns 0.5,
# so resolving earns 2.0 - 0.5 = 1.5. Three states: nothing known, the order known, resolved.
#
# At random, the first step earns (0.5 - 0.5 - 0.5) / 3 = -1/6. The second, where the first asked (1 in 3), asks again
# (-0.5), classifies (-0.5) or resolves (1.5): 1/6; else -1/6 again. Together -1/6 + (1/3 - 2/3) / 6 = -2/9.
# easy: whether the order is known: 1/3 + 2/3 * 1/3 = 5/9. medium: that, times the share of asks that weren't wasted,
# so half where both ask: 5/9 - 1/9 / 2 = 1/2. hard: only ask and resolve, two steps of two: 1/9.
TINY = """\
pack: tiny
version: 1.0.0
description: One field, two steps.
max_steps: 2
fields: {order: {description: Order}}
tickets:
  - {id: t-1, task: easy-info-collection, messages: [Hello.], required: [order], answers: {order: "7"}}
"""

# Everything is paid for before the ticket is resolved: P04 fails for each of five tickets.
PAID = """\
pack: paid
version: 1.0.0
description: Five tickets that are paid for too early.
rewards: {fields: 1.0, classification: 1.0}
fields: {order: {description: Order}}
categories: {late: {description: Late, requires: [order]}}
tickets:
""" + "".join(
    f"  - {{id: t-{number}, task: easy-info-collection, category: late, messages: [Hello {number}.], "
    f'answers: {{order: "{number}"}}}}\n'
    for number in range(5)
)

# Names and texts that mean something to a terminal, to rich, or to a browser. Four asks and the end are five steps, and
# there are four: so all that is said is shown, as the best that can be had.
HOSTILE = """\
pack: "[bold]<i>"
version: "1.0.0"
description: "</p><script>alert(1)</script>"
max_steps: 4
fields: {"[/]": {description: "[red]"}, "'\\"><img src=x onerror=alert(1)>": {description: b}}
tickets:
  - id: "</script><svg onload=alert(1)>\\u202e:warning:"
    task: easy-info-collection
    messages: ["\\e[2J\\a[/red] \\u202e]]> <b>bold</b> {{ x }}\\nsecond line"]
    required: ["[/]", "'\\"><img src=x onerror=alert(1)>"]
    answers:
      "[/]": [{say: "</table>"}, {say: "<!--"}, {say: "&amp;", value: "</style>"}]
      "'\\"><img src=x onerror=alert(1)>": "javascript:alert(1)"
"""


def draft(folder: Path, text: str) -> Pack:
    """The pack in a file of a folder, whether or not its tickets can be resolved."""
    path = folder / "pack.yaml"
    path.write_text(text, "utf-8")
    return loaded(path)


def loaded(path: Path) -> Pack:
    pack, findings = check_draft(path, load_contract())
    assert pack is not None, findings
    return pack


def proved(pack: Pack, demands: Demands | None = None, budget: int = BUDGET) -> Proved:
    return Proved(pack, prove(pack, load_contract().observation_space, demands, budget))
