"""The limits in docs/packs.md: each is the code's own, keeps what is beyond it out, and lets in what isn't."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from engine import (
    build_actions,
    build_tests,
    checks,
    diagnostics,
    load,
    nodes,
    patterns,
    solve,
    source,
    template,
    values,
    vocabulary,
)
from engine.load import check_pack

ROOT = Path(__file__).resolve().parent.parent
SCHEMA: dict[str, Any] = json.loads((ROOT / "engine" / "pack.schema.json").read_text("utf-8"))
Files = Mapping[str, str]

PACK: dict[str, Any] = {
    "pack": "p",
    "version": "1",
    "tickets": [{"id": "a", "task": "easy-info-collection", "messages": ["Hi"]}],
}


def pack(**more: Any) -> Files:
    """A pack whose one ticket needs nothing, and what is added to it."""
    return {"pack.yaml": json.dumps({**PACK, **more})}


def ticket(fields: Mapping[str, Any], **more: Any) -> Files:
    return pack(fields=fields, tickets=[{**PACK["tickets"][0], **more}])


def texts(count: int) -> list[str]:
    return [f"v{number}" for number in range(count)]


def mapping(count: int, value: Any) -> dict[str, Any]:
    return dict.fromkeys(texts(count), value)


# -- Packs that come to `most` of something, and no further


def of_bytes(most: int) -> Files:
    text = pack()["pack.yaml"] + "\n"
    return {"pack.yaml": text + "#" * (most - len(text))}


def of_files(most: int) -> Files:
    return {**pack(), **{f"{number}.yaml": "phrases: {}" for number in range(most - 1)}}


def of_values(most: int) -> Files:
    def count(node: yaml.Node) -> int:
        """Of a text 1, of a mapping or a list 2, and what stands in it."""
        if isinstance(node, yaml.MappingNode):
            return 2 + sum(count(key) + count(value) for key, value in node.value)
        return 2 + sum(map(count, node.value)) if isinstance(node, yaml.SequenceNode) else 1

    without = yaml.compose(pack(fields={"f": {"sample": []}})["pack.yaml"], yaml.CSafeLoader)
    assert without is not None
    return pack(fields={"f": {"sample": texts(most - count(without))}})


def of_levels(most: int) -> Files:
    return {"pack.yaml": "x: " + "[" * (most - 1) + "]" * (most - 1)}


def of_ways(most: int) -> Files:
    # Without fields and categories there are two: classify and resolve. 78 * 641 = 49,998.
    two = {"p": {"enum": texts(78)}, "q": {"enum": texts(641)}}
    actions = {"a": {"parameters": two}, **mapping(most - 50_000, {})}
    return pack(actions=actions, rules={name: [{"outcome": "o", "then": {"say": "x"}}] for name in actions})


def of_names(most: int) -> Files:
    own = most - (ROOT / "engine" / "rules.yaml").read_text("utf-8").count("{{")
    counts = [100] * (own // 100) + [own % 100]
    messages = [{"template": f"{index}" + "{{ f }}" * count} for index, count in enumerate(counts)]
    return ticket({"f": {}}, known={"f": "x"}, messages=messages)


def of_names_in_one(most: int) -> Files:
    return ticket({"f": {}}, known={"f": "x"}, messages=[{"template": "{{ f }}" * most}])


def of_an_argument(most: int) -> Files:
    return ticket({"f": {}}, known={"f": "x"}, messages=[{"template": "{{ f | default('" + "x" * most + "') }}"}])


def of_a_text(most: int) -> Files:
    text = "{{ f }}" * 100 + "x" * (most - 100_000)
    return ticket({"f": {}}, known={"f": "y" * 1_000}, messages=[{"template": text}])


def of_a_chain(most: int) -> Files:
    answers = {f"v{n}": {"value": {"template": f"{{{{ v{n - 1} }}}}"}} for n in range(1, most + 1)}
    fields = mapping(most + 1, {})
    return ticket(fields, known={"v0": "x"}, answers=answers, messages=[{"template": f"{{{{ v{most} }}}}"}])


def of_a_chain_told_backwards(most: int) -> Files:
    made = yaml.safe_load(of_a_chain(most)["pack.yaml"])
    answers = made["tickets"][0]["answers"]
    return ticket(made["fields"], known={"v0": "x"}, answers=dict(reversed(answers.items())), messages=["Hi"])


def of_rounds(most: int) -> Files:
    return pack(fields={"f": {"schema": {"pattern": f"^(a?){{{most}}}$"}}})


def of_brackets(most: int) -> Files:
    return pack(fields={"f": {"schema": {"pattern": "(" * most + "a" + ")" * most}}})


# 500 steps at each place of a text and at its end: 500 * (length + 1), and 500 * 4,000 = 2,000,000.
LITERAL = "x" * 500


def of_steps(most: int) -> Files:
    length = -(-most // 500) - 1
    return pack(fields={"f": {"schema": {"pattern": LITERAL}, "sample": [LITERAL.ljust(length)]}})


def of_steps_in_all(most: int) -> Files:
    samples = [LITERAL + f"{number:03}".ljust(3_499) for number in range(-(-most // 2_000_000))]
    return pack(fields={"f": {"schema": {"pattern": LITERAL}, "sample": samples}})


def of_findings(most: int) -> Files:
    return ticket({}, optional=texts(most))


def of_transitions(most: int) -> Files:
    """Each of 60 answers gives another field too, so that no two are alike; or, for what is within, of 4."""
    names = texts(60 if most > 20_000 else 4)
    answers = {
        name: {"say": "x", "value": "x", "gives": {other: "x"}}
        for name, other in zip(names, [*names[1:], names[0]], strict=True)
    }
    made = ticket(mapping(len(names), {}), required=names, answers=answers)
    return {"pack.yaml": json.dumps({**json.loads(made["pack.yaml"]), "max_steps": 100})}


def of_tests(*tests: Mapping[str, Any]) -> Files:
    one = {"ticket": "a", "steps": [{"do": {"type": "resolve"}}]}
    return pack(tests=[{"name": str(number), **one, **test} for number, test in enumerate(tests)])


def in_any_order(*counts: int) -> dict[str, Any]:
    return {"steps": [{"any_order": [{"do": {"type": "resolve"}}] * count} for count in counts]}


def of_orders(most: int) -> Files:
    # 5! is 120; the next number of orders that steps can have is 5! * 2!
    return of_tests(in_any_order(5) if most <= 120 else in_any_order(5, 2))


def of_played(most: int) -> Files:
    return of_tests(*[{"seeds": {"from": 1, "to": 100}}] * (most // 100), *[{}] * (most % 100))


class Limit(NamedTuple):
    """What stands in a row, as the code has it, and what makes a pack that comes to so much."""

    most: tuple[int, ...]
    finding: str
    make: Callable[[int], Files]


def in_schema(*path: str) -> tuple[int]:
    node = SCHEMA
    for key in path:
        node = node[key]
    assert isinstance(node, int)
    return (node,)


FIELD = ("$defs", "field", "properties", "schema", "properties")
LIMITS = {
    "bytes of all files": Limit((source.MAX_BYTES,), "PACK012", of_bytes),
    "files of a folder": Limit((load.MAX_FILES,), "PACK012", of_files),
    "values, keys among them": Limit((nodes.MAX_NODES,), "PACK012", of_values),
    "levels of mappings and lists": Limit((source.MAX_DEPTH,), "PACK012", of_levels),
    "fields": Limit((vocabulary.MAX_FIELDS,), "PACK012", lambda most: pack(fields=mapping(most, {}))),
    "ways to act: every action with every combination of its parameters' values": Limit(
        (build_actions.MAX_CHOICES,), "PACK012", of_ways
    ),
    "names in all templates, those of `engine/rules.yaml` among them": Limit(
        (vocabulary.MAX_EXPRESSIONS,), "PACK012", of_names
    ),
    "names in one template": Limit((template.MAX_NAMES,), "PACK045", of_names_in_one),
    "characters of a text in a filter's brackets": Limit((template.MAX_ARGUMENT,), "PACK045", of_an_argument),
    "characters of a text that holds values, with the longest that they may be": Limit(
        (checks.MAX_LENGTH,), "PACK043", of_a_text
    ),
    "values in a row that are each made of the one before": Limit((checks.MAX_CHAIN,), "PACK043", of_a_chain),
    "characters of `pack`": Limit(
        in_schema("properties", "pack", "maxLength"), "PACK024", lambda most: pack(pack="x" * most)
    ),
    "characters of `version`": Limit(
        in_schema("properties", "version", "maxLength"), "PACK024", lambda most: pack(version="x" * most)
    ),
    "`max_steps`": Limit(in_schema("properties", "max_steps", "maximum"), "PACK024", lambda most: pack(max_steps=most)),
    "`stalls`": Limit(
        in_schema("$defs", "person", "properties", "stalls", "maximum"),
        "PACK024",
        lambda most: pack(people={"slow": {"stalls": most}}),
    ),
    "`refuses`": Limit(
        in_schema("$defs", "person", "properties", "refuses", "maximum"),
        "PACK024",
        lambda most: pack(people={"wary": {"refuses": most}}),
    ),
    "`one_in`": Limit(
        in_schema("$defs", "noise", "properties", "one_in", "maximum"),
        "PACK024",
        lambda most: pack(noise={"after": ["Well."], "one_in": most}),
    ),
    "values of a fact": Limit(
        in_schema("$defs", "fact", "properties", "values", "maxItems"),
        "PACK024",
        lambda most: pack(facts={"f": {"values": texts(most)}}),
    ),
    "values of a parameter": Limit(
        in_schema("$defs", "parameter", "properties", "enum", "maxItems"),
        "PACK024",
        lambda most: pack(
            actions={"a": {"parameters": {"p": {"enum": texts(most)}}}},
            rules={"a": [{"outcome": "o", "then": {"say": "x"}}]},
        ),
    ),
    "values in a field's `enum`": Limit(
        in_schema(*FIELD, "enum", "maxItems"),
        "PACK024",
        lambda most: pack(fields={"f": {"schema": {"enum": texts(most)}}}),
    ),
    "characters of a `pattern`": Limit(
        in_schema(*FIELD, "pattern", "maxLength"),
        "PACK024",
        lambda most: pack(fields={"f": {"schema": {"pattern": "a" * most}}}),
    ),
    "levels of brackets in a `pattern`": Limit((patterns.MAX_BRACKETS,), "PACK047", of_brackets),
    "rounds of a repeat in a `pattern` that has repeats or alternatives in it": Limit(
        (patterns.MAX_REPEATS,), "PACK047", of_rounds
    ),
    "seeds of a test": Limit(
        (build_tests.MAX_SEEDS,), "PACK024", lambda most: of_tests({"seeds": {"from": 3, "to": most + 2}})
    ),
    "steps in an `any_order`": Limit(
        in_schema("$defs", "test", "properties", "steps", "items", "properties", "any_order", "maxItems"),
        "PACK024",
        lambda most: of_tests(in_any_order(most)),
    ),
    "orders in which a test's steps may be taken": Limit((build_tests.MAX_ORDERS,), "PACK012", of_orders),
    "episodes that all tests come to": Limit((build_tests.MAX_EPISODES,), "PACK012", of_played),
    "steps to look for a `pattern` in one value": Limit((patterns.MAX_COST,), "PACK044", of_steps),
    "steps to look for all patterns in all values": Limit((values.MAX_TOTAL,), "PACK044", of_steps_in_all),
    "steps looked at to find the best episodes: so many, and so many more for each ticket": Limit(
        (solve.PACK_BUDGET, solve.TICKET_BUDGET), "PACK062", of_transitions
    ),
    "findings that are listed, and that are counted beyond these": Limit(
        (diagnostics.MAX_FINDINGS, diagnostics.MAX_COUNTED), "PACK099", of_findings
    ),
}


def rows(heading: str) -> list[list[str]]:
    """The cells of the table under a heading of docs/packs.md."""
    page = (ROOT / "docs" / "packs.md").read_text("utf-8")
    table = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_table_is_what_the_code_has() -> None:
    found = {what: (tuple(map(number, re.findall(r"[\d,]+", most))), code) for what, most, code in rows("Limits")}
    assert found == {what: (limit.most, limit.finding) for what, limit in LIMITS.items()}


def number(text: str) -> int:
    return int(text.replace(",", ""))


# Those that aren't about packs.
OTHERS = {"cli.MAX_SEED", "transcript.MAX_DEPTH"}


def test_no_limit_of_the_code_is_left_out() -> None:
    """Every MAX_... of the engine is that of a row."""
    there = set()
    for path in (ROOT / "engine").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id.startswith("MAX_"):
                there.add(f"{path.stem}.{node.id}")
    written = Path(__file__).read_text("utf-8").split("LIMITS = {")[1].split("\n}\n")[0]
    assert {name for name in there if name not in written} == OTHERS


def codes(folder: Path, files: Files) -> set[str]:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    return {finding.code for finding in check_pack(folder)[1]}


@pytest.mark.parametrize("what", LIMITS)
def test_so_much_and_no_more(what: str, tmp_path: Path) -> None:
    limit = LIMITS[what]
    assert limit.finding not in codes(tmp_path / "within", limit.make(limit.most[0]))
    assert limit.finding in codes(tmp_path / "beyond", limit.make(limit.most[0] + 1))


def of_an_answer(most: int) -> Files:
    text = {"template": "{{ f }}" * 100 + "x" * (most - 100_000)}
    made = ticket({"f": {}}, known={"f": "y" * 1_000})
    return {"pack.yaml": json.dumps({**json.loads(made["pack.yaml"]), "phrases": {"resolve.premature": text}})}


def of_what_people_say(most: int) -> Files:
    made = json.loads(of_an_answer(most)["pack.yaml"])
    return pack(**{**made, "phrases": {}, "people": {"slow": {"stalls": 1, "says": [*made["phrases"].values()]}}})


def of_refusals(most: int) -> Files:
    made = json.loads(of_an_answer(most)["pack.yaml"])
    return pack(**{**made, "phrases": {}, "people": {"wary": {"refuses_with": [*made["phrases"].values()]}}})


def of_noise(most: int) -> Files:
    made = json.loads(of_an_answer(most)["pack.yaml"])
    return pack(**{**made, "phrases": {}, "noise": {"before": [*made["phrases"].values()]}})


def of_a_list(most: int) -> Files:
    """The default phrases list a parameter's values, with two characters between any two, in few words more."""
    count = most // 1_000 + (1 if most > checks.MAX_LENGTH else -1)
    values = [f"{number:03}".ljust(998) for number in range(count)]
    rules = {"a": [{"outcome": "o", "then": {"say": "x"}}]}
    return pack(actions={"a": {"parameters": {"p": {"enum": values}}}}, rules=rules)


@pytest.mark.parametrize("make", [of_an_answer, of_what_people_say, of_refusals, of_noise, of_a_list])
def test_whatever_is_said_is_no_longer_than_that(make: Callable[[int], Files], tmp_path: Path) -> None:
    assert "PACK043" not in codes(tmp_path / "within", make(checks.MAX_LENGTH))
    assert "PACK043" in codes(tmp_path / "beyond", make(checks.MAX_LENGTH + 1))


def test_a_chain_is_as_long_in_whatever_order_it_is_told(tmp_path: Path) -> None:
    """The last one's text isn't one of those that it is made of, where nothing else names it."""
    assert codes(tmp_path / "within", of_a_chain_told_backwards(checks.MAX_CHAIN + 1)) == set()
    assert codes(tmp_path / "beyond", of_a_chain_told_backwards(checks.MAX_CHAIN + 2)) == {"PACK043"}
