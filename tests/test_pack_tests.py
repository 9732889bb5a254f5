"""A pack's own tests: what they play, what they notice, and how they say it."""

from __future__ import annotations

from math import factorial, prod
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from engine.build import pack_schema
from engine.case import make_case
from engine.cli import main
from engine.contract import load_contract
from engine.diagnostics import Place
from engine.episode import Episode
from engine.load import check_pack, load_pack
from engine.pack import AnyOrder, Expectation, Pack, ScriptedStep, ScriptedTest
from engine.pack_tests import PARTS, Failure, all_failures, failures, instances, run_tests

BASE = (Path(__file__).parent / "packs" / "rings.yaml").read_text(encoding="utf-8")
TESTS = BASE.index("tests:\n")
NOWHERE = Place("", 1, 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rings.yaml"


def load(path: Path, tests: str = BASE[TESTS:]) -> Pack:
    path.write_text(BASE[:TESTS] + tests, encoding="utf-8")
    return load_pack(path)


def one_step(expect: str, ticket: str = "t-1", do: str = "{type: ask_info, field: order}", more: str = "") -> str:
    return f"tests:\n  - {{name: n, ticket: {ticket}, {more} steps: [{{do: {do}, expect: {expect}}}]}}\n"


# -- What is played


def scripted(seeds: tuple[int, ...], *groups: int) -> ScriptedTest:
    """A test with a step alone, then groups of so many steps, each with a step alone after it."""
    alone = ScriptedStep({"type": "resolve"}, Expectation(), NOWHERE)
    steps: list[ScriptedStep | AnyOrder] = [alone]
    for count in groups:
        steps += [AnyOrder((alone,) * count, Expectation(), NOWHERE), alone]
    return ScriptedTest("n", "t-1", seeds, tuple(steps), Expectation(), NOWHERE)


def test_an_instance_is_a_seed_and_an_order() -> None:
    assert [one.id for one in instances(scripted((7,)))] == ["n[7]"]
    assert [one.id for one in instances(scripted((1, 2, 3)))] == ["n[1]", "n[2]", "n[3]"]
    # Steps are numbered through: 1 alone, 2 and 3 in any order, 4 alone.
    assert [(one.seed, one.order) for one in instances(scripted((1, 5), 2))] == [
        (1, (2, 3)), (1, (3, 2)), (5, (2, 3)), (5, (3, 2))
    ]  # fmt: skip
    # 1 alone, 2 and 3, 4 alone, 5 and 6.
    assert [one.id for one in instances(scripted((0,), 2, 2))] == [
        "n[0, order 2-3-5-6]", "n[0, order 2-3-6-5]", "n[0, order 3-2-5-6]", "n[0, order 3-2-6-5]"
    ]  # fmt: skip


@given(st.lists(st.integers(2, 4), max_size=2), st.sets(st.integers(0, 99), min_size=1, max_size=3))
def test_every_order_once_at_every_seed(groups: list[int], seeds: set[int]) -> None:
    test = scripted(tuple(seeds), *groups)
    found = instances(test)
    assert len({one.id for one in found}) == len(found) == len(seeds) * prod(map(factorial, groups))
    starts = [2 + sum(groups[:index]) + index for index in range(len(groups))]
    for one in found:
        order = list(one.order or ())
        for start, count in zip(starts, groups, strict=True):
            assert sorted(order[:count]) == [*range(start, start + count)]
            order = order[count:]
        assert order == []


def test_seeds_are_listed_or_bounded_by_both_ends(path: Path) -> None:
    assert load(path, one_step("{}")).tests[0].seeds == (0,)
    assert load(path, one_step("{}", more="seed: 7,")).tests[0].seeds == (7,)
    assert load(path, one_step("{}", more="seeds: [3, 1],")).tests[0].seeds == (3, 1)
    assert load(path, one_step("{}", more="seeds: {from: 4, to: 6},")).tests[0].seeds == (4, 5, 6)
    assert load(path, one_step("{}", more="seeds: {from: 4, to: 4},")).tests[0].seeds == (4,)


# -- What is noticed


def test_steps_in_any_order_are_as_expected_in_every_order(path: Path) -> None:
    """The address is worth 0.25 unless it was told with the number: then the ask is wasted, -1 / 10 steps."""
    pack = load(path)
    [failure] = all_failures(pack)
    assert (failure.instance.id, failure.step) == ("whichever comes first[0, order 2-3]", 3)
    assert (failure.message, failure.expected, failure.got) == (
        "reward is -0.1, expected 0.25", {"reward": 0.25}, {"reward": -0.1}
    )  # fmt: skip
    assert [action.get("field") for action in failure.episode.actions] == [None, "order", "email"]
    line = next(number for number, text in enumerate(BASE.splitlines(), 1) if "reward: 0.25" in text)
    assert failure.place[1:] == (line, BASE.splitlines()[line - 1].index("0.25}}") + 1)
    other = instances(pack.tests[0])[1]
    assert other.order == (3, 2) and failures(pack, other) == ()


def test_what_is_expected_after_a_group_is_expected_in_every_order(path: Path) -> None:
    pack = load(path, BASE[TESTS:].replace("{reward: 0.25}", "{}").replace("[]}", "[order]}"))
    found = list(all_failures(pack))
    assert [(one.instance.order, one.step, one.got) for one in found] == [
        ((2, 3), 3, {"missing_required": []}), ((3, 2), 3, {"missing_required": []})
    ]  # fmt: skip
    [finding] = run_tests(pack)
    assert finding.message == (
        "test 'whichever comes first', seed 0, order 2-3, step 3: missing_required is [], expected [\"order\"]"
        " (at 2 of 2 orders)"
    )


def test_many_seeds_are_one_finding_that_counts_them(path: Path) -> None:
    """The drawn address is Ann's at some seeds; which, the episodes themselves say."""
    seeds = range(3, 23)
    pack = load(
        path,
        one_step("{says: ann@example.org}", "t-3", "{type: ask_info, field: email}", "seeds: {from: 3, to: 22},"),
    )
    asked = {seed: Episode.start(make_case(pack, "t-3", seed)).step(ASK_EMAIL) for seed in seeds}
    bobs = [seed for seed, episode in asked.items() if episode.observation["known_info"]["email"] != "ann@example.org"]
    assert 0 < len(bobs) < len(seeds)
    assert [failure.instance.seed for failure in all_failures(pack)] == bobs
    [finding] = run_tests(pack)
    says = 'says is "bob@example.org", expected "ann@example.org"'
    assert finding.message == f"test 'n', seed {bobs[0]}, step 1: {says} (at {len(bobs)} of 20 seeds)"


ASK_EMAIL = {"type": "ask_info", "field": "email"}


def test_a_step_after_the_end_is_a_failure(path: Path) -> None:
    steps = ", ".join(["{do: {type: resolve}}"] * 11)
    [failure] = all_failures(load(path, f"tests: [{{name: n, ticket: t-1, steps: [{steps}]}}]\n"))
    assert (failure.step, failure.episode.step_count) == (11, 10)
    assert failure.message == "the episode is over already (max_steps); expected at most 10 steps"


def test_the_end_is_judged_too(path: Path) -> None:
    # Number and address: 0.5 of 2.0. Nothing was lost: to classify is still worth 0.5, to resolve 1.0.
    final = "    final: {return: 0.5, optimal_steps: 3, regret: 0, end_reason: null, error: null, wasted: false}\n"
    tests = "tests:\n  - name: n\n    ticket: t-1\n    steps: [{do: {type: ask_info, field: order}}]\n"
    assert list(all_failures(load(path, tests + final))) == []
    [failure] = all_failures(load(path, tests + final.replace("end_reason: null", "end_reason: resolved")))
    assert (failure.step, failure.where) == (None, "at the end")
    assert failure.message == 'end_reason is null, expected "resolved"'


# What is expected of the answer to the first ask of t-1, and what is said of it; None where it is so.
EXPECTATIONS: list[tuple[str, str | None]] = [
    ("{reward: 0.5, says: It's R-123., outcome: ask_info.answered, done: false}", None),
    ("{reward: 0.4, says: R-123}", 'reward is 0.5, expected 0.4; says is "It\'s R-123.", expected "R-123"'),
    ("{step_count: 1.0, remaining_steps: 9}", None),
    ("{says: [Hm., It's R-123.]}", None),
    ("{says: [Hm., Well.]}", 'says is "It\'s R-123.", expected one of "Hm.", "Well."'),
    ("{says: {includes: R-123}}", None),
    ("{says: {includes: R-124}}", 'says is "It\'s R-123.", expected "R-124" in it'),
    ("{says: {template: \"It's {{ order }}.\"}}", None),
    ('{says: {template: "{{ email }}!"}}', 'says is "It\'s R-123.", expected "ann@example.org!"'),
    ("{says: [Hm., {template: \"It's {{ order }}.\"}]}", None),
    ("{reward: [0.25, 0.5]}", None),
    ("{reward: [0.25, 1]}", "reward is 0.5, expected one of 0.25, 1"),
    ("{reward: {minimum: 0.5, maximum: 0.5}}", None),
    ("{reward: {minimum: 0.6}}", "reward is 0.5, expected at least 0.6"),
    ("{reward: {minimum: 0.1, maximum: 0.4}}", "reward is 0.5, expected at least 0.1 and at most 0.4"),
    ("{known_info: {order: R-123, email: ann@example.org}}", None),
    ("{known_info: {order: R-123}}", 'known_info.email is "ann@example.org", expected nothing'),
    ("{known_info: {includes: {order: R-123}}}", None),
    ("{known_info: {includes: {order: R-1, size: '9'}}}",
     'known_info.order is "R-123", expected "R-1"; known_info.size is missing, expected "9"'),
    ('{known_info: {includes: {order: {template: "{{ order }}"}, email: {includes: ann}}}}', None),
    ("{known_info: {}}",
     'known_info.order is "R-123", expected nothing; known_info.email is "ann@example.org", expected nothing'),
    ("{required: [order, email]}", None),
    ("{required: [email, order]}",
     'required[0] is "order", expected "email"; required[1] is "email", expected "order"'),
    ("{required: {includes: [email]}}", None),
    ("{required: {includes: [size, email]}}", 'required is ["order", "email"], expected "size" in it'),
    ("{required: [order]}", 'required is ["order", "email"], expected ["order"]'),
    ("{missing_required: []}", None),
    ("{history: {includes: [{role: customer, text: {includes: R-}}, {action: {field: order}}]}}", None),
    ("{history: {includes: [{step: 1, text: No.}]}}", "history is [{"),
    ("{history: [{role: customer, step: 0, text: Where is my ring?},"
     " {role: agent, step: 1, action: {type: ask_info, field: order}}, {role: customer, step: 1, text: It's R-123.}]}",
     None),
    ("{status: open, error: null, end_reason: null, wasted: false, info_progress: 1}", None),
    ("{error: Oh.}", 'error is null, expected "Oh."'),
]  # fmt: skip


@pytest.mark.parametrize(("expect", "said"), EXPECTATIONS, ids=lambda value: value)
def test_what_may_be_expected(path: Path, expect: str, said: str | None) -> None:
    found = list(all_failures(load(path, one_step(expect))))
    assert len(found) == (said is not None)
    assert said is None or found[0].message.startswith(said)
    assert said is None or failed_parts(found[0])


def failed_parts(failure: Failure) -> bool:
    """All that differs stands on one of the two sides, and nothing that doesn't."""
    paths = {*failure.expected, *failure.got}
    return paths != set() and all(failure.expected.get(one) != failure.got.get(one) for one in paths)


def test_fields_may_have_the_names_of_words(path: Path) -> None:
    text = BASE.replace("size: {description: Ring size}", "size: {}\n  includes: {}\n  template: {}").replace(
        "{size: [{say: Let me look.}, '17']}", "{size: '17', includes: box, template: form}"
    )
    text = text[: text.index("tests:\n")].replace("requires: [size]", "requires: [size, includes, template]")
    steps = ", ".join(f"{{do: {{type: ask_info, field: {name}}}}}" for name in ("includes", "template"))
    for expect, number in (
        ("{includes: box, template: form}", 0),
        ("{includes: {includes: box}}", 0),
        ("{includes: {template: form}}", 0),
        ("{includes: box, template: {includes: or}}", 0),
        ("{template: form}", 1),
        ("{includes: {includes: bag}}", 1),
    ):
        test = f"tests: [{{name: n, ticket: t-2, steps: [{steps}], final: {{known_info: {expect}}}}}]\n"
        path.write_text(text + test, encoding="utf-8")
        assert len(list(all_failures(load_pack(path)))) == number, expect


# -- Every part of the answer may be named, and no other


def test_what_may_be_named_is_what_there_is() -> None:
    schema = pack_schema()["properties"]["tests"]["items"]["properties"]["final"]
    assert set(schema["properties"]) == {*PARTS, *load_contract().observation_space["properties"]}


@given(st.integers(0, 50), st.lists(st.sampled_from(["order", "email", "size"]), max_size=8))
def test_what_there_is_may_be_expected(seed: int, asked: list[str]) -> None:
    """Whatever comes of an episode, a test that expects all of it passes, and one that expects a text more doesn't."""
    episode = Episode.start(make_case(PACK, "t-3", seed))
    for name in asked:
        episode = episode.step({"type": "ask_info", "field": name})
    everything = {**episode.observation, **{name: part(episode) for name, part in PARTS.items()}}
    if not asked:
        everything = episode.observation
    steps = tuple(ScriptedStep(action, Expectation(), NOWHERE) for action in episode.actions)

    def found(parts: Any) -> tuple[Failure, ...]:
        test = ScriptedTest("n", "t-3", (seed,), steps, Expectation(parts), NOWHERE)
        return failures(PACK, instances(test)[0])

    assert found(everything) == ()
    some = {name: {"includes": value} for name, value in everything.items() if isinstance(value, list | dict)}
    assert found(some) == ()
    [failure] = found({**everything, "ticket_id": "t-33", "missing_required": [*everything["missing_required"], "x"]})
    assert failure.expected.keys() == failure.got.keys() == {"ticket_id", "missing_required"}


PACK = load_pack(Path(__file__).parent / "packs" / "rings.yaml")


# -- What is refused. The '▲' stands right before the place that is named.

REFUSED: list[tuple[str, str, str, str | None]] = [
    (one_step("{▲outcom: x}"), "PACK022", "unknown key 'outcom'", "outcome"),
    (one_step("{reward: ▲'0.5'}"), "PACK021", "a number, a list or a mapping is meant here", None),
    (one_step("{reward: {▲minimun: 1}}"), "PACK022", "unknown key 'minimun'", "minimum"),
    (one_step("{reward: ▲{}}"), "PACK024", "1 or more entries", None),
    (one_step("{reward: ▲[]}"), "PACK024", "1 or more items", None),
    (one_step("{says: ▲yes}"), "PACK020", "YAML reads yes as true; quote it", None),
    (one_step("{says: {▲include: x}}"), "PACK022", "unknown key 'include'", "includes"),
    (one_step("{says: ▲{includes: x, template: y}}"), "PACK024", "1 entries are the most", None),
    (one_step("{says: {template: '{{ ▲ordr }}'}}"), "PACK030", "'ordr'", "order"),
    (one_step("{says: {template: '{{ ▲size }}'}}"), "PACK043", "'size' has no right value in the ticket 't-1'", None),
    (one_step("{outcome: [ask_info.answered, ▲ask_info.answerd]}"), "PACK035", "no rule has the outcome",
     "ask_info.answered"),
    (one_step("{known_info: {▲ordr: x}}"), "PACK030", "unknown field 'ordr'", "order"),
    (one_step("{known_info: {includes: {▲ordr: x}}}"), "PACK030", "unknown field 'ordr'", "order"),
    (one_step("{required: [order, ▲emial]}"), "PACK030", "unknown field 'emial'", "email"),
    (one_step("{missing_required: {includes: [▲emial]}}"), "PACK030", "unknown field 'emial'", "email"),
    (one_step("{required: {▲include: [email]}}"), "PACK022", "unknown key 'include'", "includes"),
    (one_step("{history: [{▲txt: x}]}"), "PACK022", "unknown key 'txt'", "text"),
    (one_step("{history: {includes: [{role: ▲customr}]}}"), "PACK024", "'customr' can't stand here", "customer"),
    (one_step("{end_reason: ▲done}"), "PACK024", "'done' can't stand here", None),
    (one_step("{status: ▲closed}"), "PACK024", "'closed' can't stand here", None),
    (one_step("{}", more="▲sed: 7,"), "PACK022", "unknown key 'sed'", "seed"),
    (one_step("{}", more="seed: 7, ▲seeds: [1],"), "PACK046", "a test has `seed` or `seeds`, not both", None),
    (one_step("{}", more="seeds: [1, ▲1],"), "PACK040", "1 is listed twice", None),
    (one_step("{}", more="seeds: ▲[],"), "PACK024", "1 or more items", None),
    (one_step("{}", more="seeds: [▲-1],"), "PACK024", "0 is the least", None),
    (one_step("{}", more=f"seeds: ▲{[*range(101)]},"), "PACK024", "100 items are the most", None),
    (one_step("{}", more="seeds: ▲{from: 1},"), "PACK023", "'to' is missing", None),
    (one_step("{}", more="seeds: {from: 1, ▲too: 3},"), "PACK022", "unknown key 'too'", "to"),
    (one_step("{}", more="seeds: {from: 3, to: ▲2},"), "PACK024", "3 is the least that can stand here", None),
    (one_step("{}", more="seeds: ▲{from: 0, to: 9999999999},"), "PACK024", "100 are the most", None),
]  # fmt: skip
STEPS: list[tuple[str, str, str, str | None]] = [
    ("▲{expect: {}}", "PACK023", "'do' is missing", None),
    ("{▲doo: {type: resolve}}", "PACK022", "unknown key 'doo'", "do"),
    ("{any_order: [A, B], ▲do: {type: resolve}}", "PACK046", "a step has `do` or `any_order`, not both", None),
    ("{▲anyorder: [A, B]}", "PACK022", "unknown key 'anyorder'", "any_order"),
    ("{any_order: ▲[A]}", "PACK024", "2 or more items", None),
    ("{any_order: [A, ▲{expect: {}}]}", "PACK023", "'do' is missing", None),
    ("{any_order: [A, {▲any_order: [A, B], do: {type: resolve}}]}", "PACK022", "unknown key 'any_order'", None),
    ("{any_order: [A, {do: {type: ▲resolv}}]}", "PACK035", "there is no action 'resolv'", "resolve"),
    ("{any_order: [A, {do: {type: resolve}, expect: {outcome: ▲resolve.don}}]}", "PACK035",
     "no rule has the outcome 'resolve.don'", "resolve.done"),
    ("{any_order: [A, B], expect: {outcome: ▲resolve.don}}", "PACK035", "no rule has the outcome 'resolve.don'",
     "resolve.done"),
    ("{any_order: [A, B], expect: {▲rewards: 1}}", "PACK022", "unknown key 'rewards'", "reward"),
]  # fmt: skip
A, B = (f"{{do: {{type: ask_info, field: {field}}}}}" for field in ("order", "email"))
REFUSED += [
    (f"tests: [{{name: n, ticket: t-1, steps: [{step.replace('A', A).replace('B', B)}]}}]\n", code, message, near)
    for step, code, message, near in STEPS
]


@pytest.mark.parametrize(("tests", "code", "message", "near"), REFUSED, ids=lambda value: str(value)[-60:])
def test_what_cannot_be_meant_is_refused(path: Path, tests: str, code: str, message: str, near: str | None) -> None:
    before = (BASE[:TESTS] + tests).split("▲")[0]
    path.write_text(BASE[:TESTS] + tests.replace("▲", ""), encoding="utf-8")
    pack, [finding] = check_pack(path)
    assert pack is None
    assert (finding.code, finding.nearest) == (code, near) and message in finding.message
    assert finding.place[1:] == (before.count("\n") + 1, len(before) - before.rfind("\n"))


def test_the_command_shows_what_differs(path: Path) -> None:
    load(path, one_step("{done: true, says: No.}"))
    result = CliRunner().invoke(main, ["check", str(path)])
    assert result.exit_code == 1
    line = BASE[:TESTS].count("\n") + 2
    column = one_step("{done: true").splitlines()[1].index("true") + 1
    assert result.stderr.splitlines()[:1] == [
        f"{path}:{line}:{column}: PACK070: test 'n', seed 0, step 1: done is false, expected true; "
        'says is "It\'s R-123.", expected "No."'
    ]
