"""What every store promises, shown on each."""

from __future__ import annotations

from itertools import islice
from types import MappingProxyType
from typing import Any

import pytest

from server.store import Conflict, EpisodeStore, Key, Record, Repeated, Start, Step
from tests.server.store_calls import start, step

# Text that is easily taken for something else, or lost. Half a pair of surrogates is no character, and two halves that
# were given as two aren't the one character that they would make.
TEXTS = [
    "",
    "e",
    "E",
    "é",
    "e\u0301",
    "版本",
    "a\nb",
    "a\0",
    "a\0b",
    "1:e",
    "e:1",
    "{e}",
    "x" * 255,
    "'",
    "\x7f",
    "\xff",
]
TEXTS += ["😀", "\ud83d\ude00", "\ud83d", "\ude00", "\ud83d?", "=", " "]


# -- Records


def test_a_record_grows(any_store: EpisodeStore) -> None:
    begun = start()
    created = any_store.create("e", begun)
    assert created == Record(Key("e", 1), begun, (), None, 1.0)
    assert any_store.get("e") == created
    any_store.append(Key("e", 1), 0, step(1), None)
    any_store.append(Key("e", 1), 1, step(2), "resolved")
    assert any_store.get("e") == Record(Key("e", 1), begun, (step(1), step(2)), "resolved", 12.0)
    assert any_store.get("another") is None


def test_an_append_names_the_step_it_expects(any_store: EpisodeStore) -> None:
    any_store.create("e", start())
    any_store.append(Key("e", 1), 0, step(1), None)
    for index in (0, 2):
        for request_id, end_reason in ((None, None), ("r", None), (None, "resolved")):
            with pytest.raises(Conflict) as caught:
                any_store.append(Key("e", 1), index, step(9, request_id), end_reason)
            assert caught.value.current == any_store.get("e") == Record(Key("e", 1), start(), (step(1),), None, 11.0)
    with pytest.raises(Conflict) as gone:
        any_store.append(Key("another", 1), 0, step(1, "r"), None)
    assert gone.value.current is None
    # What was refused was not answered either.
    assert any_store.find("e", "r") is None and any_store.find("another", "r") is None


def test_nothing_is_appended_after_the_end(any_store: EpisodeStore) -> None:
    any_store.create("e", start())
    any_store.append(Key("e", 1), 0, step(1), None)
    assert any_store.end(Key("e", 1), "superseded", 20.0)
    ended = any_store.get("e")
    assert ended == Record(Key("e", 1), start(), (step(1),), "superseded", 20.0)
    with pytest.raises(Conflict):
        any_store.append(Key("e", 1), 1, step(2), None)
    assert not any_store.end(Key("e", 1), "another", 30.0)
    assert any_store.get("e") == ended
    assert not any_store.end(Key("nobody", 1), "superseded", 20.0)
    assert any_store.get("nobody") is None


def test_attempts(any_store: EpisodeStore) -> None:
    any_store.create("e", start(1.0))
    any_store.append(Key("e", 1), 0, step(1), None)
    assert any_store.create("e", start(2.0)).key == Key("e", 2)
    with pytest.raises(Conflict) as caught:
        any_store.append(Key("e", 1), 1, step(2), None)
    assert caught.value.current == Record(Key("e", 2), start(2.0), (), None, 2.0)
    # The older one was left without an end; it can still be given one.
    assert any_store.end(Key("e", 1), "superseded", 30.0)
    assert [record.end_reason for record in any_store.records()] == ["superseded", None]


def test_a_request_is_found_as_it_was_answered(any_store: EpisodeStore) -> None:
    begun = start(1.0, "r0")
    any_store.create("e", begun)
    any_store.append(Key("e", 1), 0, step(1, "r1"), None)
    any_store.append(Key("e", 1), 1, step(2, "r2"), "resolved")
    any_store.create("e", start(3.0, "r3"))
    kept: dict[str, Any] = {"r0": (), "r1": (step(1, "r1"),), "r2": (step(1, "r1"), step(2, "r2"))}
    for request_id, steps in kept.items():
        assert any_store.find("e", request_id) == Record(Key("e", 1), begun, steps, None, 12.0)
    assert any_store.find("e", "r3") == any_store.get("e")
    assert any_store.find("e", "r4") is None
    assert any_store.find("another", "r1") is None


def test_a_repeated_request_changes_nothing(any_store: EpisodeStore) -> None:
    any_store.create("e", start(1.0, "r0"))
    any_store.append(Key("e", 1), 0, step(1, "r1"), None)
    before = any_store.get("e")
    # Also at the wrong index, also at an attempt that never was, and also as a reset: the id decides.
    for key, index in ((Key("e", 1), 0), (Key("e", 1), 1), (Key("e", 1), 5), (Key("e", 2), 0)):
        with pytest.raises(Repeated) as caught:
            any_store.append(key, index, step(2, "r1"), "resolved")
        assert caught.value.record == any_store.find("e", "r1")
    for request_id in ("r0", "r1"):
        with pytest.raises(Repeated) as again:
            any_store.create("e", start(2.0, request_id))
        assert again.value.record == any_store.find("e", request_id)
    assert any_store.get("e") == before
    # Another episode may use the same request id.
    assert any_store.create("f", start(2.0, "r1")).key == Key("f", 1)


def test_a_sign_of_life_changes_nothing_else(any_store: EpisodeStore) -> None:
    created = any_store.create("e", start())
    any_store.touch(Key("e", 1), 30.0)
    assert any_store.get("e") == created._replace(touched=30.0)
    any_store.append(Key("e", 1), 0, step(1), "resolved")
    any_store.touch(Key("e", 1), 40.0)
    ended = Record(Key("e", 1), start(), (step(1),), "resolved", 11.0, 40.0)
    assert any_store.get("e") == ended
    any_store.touch(Key("e", 2), 50.0)
    any_store.touch(Key("another", 1), 50.0)
    assert any_store.get("e") == ended and any_store.get("another") is None


def test_all_attempts_in_the_order_of_their_creation(any_store: EpisodeStore) -> None:
    names = ["b", "a", "c", "b", "a"] + [f"many-{number}" for number in range(300)]
    for name in names:
        any_store.create(name, start())
    any_store.append(Key("c", 1), 0, step(1), "resolved")
    any_store.append(Key("b", 2), 0, step(1), None)
    assert [record.key for record in islice(any_store.records(), 5)] == [
        ("b", 1),
        ("a", 1),
        ("c", 1),
        ("b", 2),
        ("a", 2),
    ]
    assert [record.key.episode_id for record in any_store.records()] == names
    kept = {record.key: record for record in any_store.records()}
    assert kept[Key("c", 1)] == any_store.get("c") and kept[Key("b", 2)] == any_store.get("b")


def test_records_while_others_write(any_store: EpisodeStore) -> None:
    for number in range(250):
        any_store.create(f"e-{number}", start())
    seen = any_store.records()
    next(seen)
    any_store.append(Key("e-249", 1), 0, step(1), "resolved")
    any_store.create("new", start())
    any_store.end(Key("e-248", 1), "superseded", 20.0)
    any_store.prune(15.0)
    kept = {record.key.episode_id: record for record in seen}
    assert set(kept) | {"new", "e-249"} == {f"e-{number}" for number in range(1, 250)} | {"new"}
    # Those that were read later are there as they are now, or as they were.
    assert kept["e-248"].end_reason in ("superseded", None)


def test_many_appends_at_once(any_store: EpisodeStore) -> None:
    for name in "abcd":
        any_store.create(name, start(1.0, "r"))
    assert any_store.append_all([])
    appends = [
        (Key("a", 1), 0, step(1), None),
        (Key("b", 1), 0, step(2, "s"), None),
        (Key("c", 1), 0, step(3, "s"), "resolved"),
    ]
    assert any_store.append_all(appends)
    kept = [
        Record(Key("a", 1), start(1.0, "r"), (step(1),), None, 11.0),
        Record(Key("b", 1), start(1.0, "r"), (step(2, "s"),), None, 12.0),
        Record(Key("c", 1), start(1.0, "r"), (step(3, "s"),), "resolved", 13.0),
        Record(Key("d", 1), start(1.0, "r"), (), None, 1.0),
    ]
    assert list(any_store.records()) == kept
    assert any_store.find("b", "s") == kept[1]
    assert any_store.open_count() == 3
    # All of them, or none.
    for key, index, request_id in (
        (Key("a", 1), 0, None),
        (Key("a", 1), 2, "t"),
        (Key("a", 2), 1, None),
        (Key("b", 1), 1, "s"),
        (Key("b", 1), 1, "r"),
        (Key("c", 1), 1, None),
        (Key("x", 1), 0, None),
    ):
        refused = (key, index, step(9, request_id), None)
        good = (Key("d", 1), 0, step(9, "u"), "resolved")
        assert not any_store.append_all([good, refused])
        assert not any_store.append_all([refused, good])
        assert list(any_store.records()) == kept
        assert any_store.find("d", "u") is None


# -- What is kept is what was given


def test_any_text(any_store: EpisodeStore) -> None:
    first, second = {}, {}
    for text in TEXTS:
        first[text] = any_store.create(text, start(request_id=text))
    for text in TEXTS:
        begun = Start(text, text, 7, {text: text}, None, 1.5)
        taken = Step({"type": text, text: [text, {text: None}]}, text + "r", 2.5)
        key = any_store.create(text, begun).key
        any_store.append(key, 0, taken, text)
        second[text] = Record(key, begun, (taken,), text, 2.5)
    for text in TEXTS:
        assert any_store.get(text) == second[text]
        assert any_store.find(text, text) == first[text]
        assert any_store.find(text, text + "r") == second[text]._replace(end_reason=None)
        with pytest.raises(Repeated):
            any_store.create(text, start(request_id=text + "r"))
    assert list(any_store.records()) == [*first.values(), *second.values()]


def test_any_text_as_names(any_store: EpisodeStore) -> None:
    for number, text in enumerate(TEXTS):
        assert any_store.bind(text, Key(text, 2)) is None
        any_store.keep_pack(text, text + "!")
        assert any_store.swap(text, None, text, number)
    for text in TEXTS:
        assert any_store.bound(text) == text
        assert any_store.bind(text, Key("other", 1)) == Key(text, 2)
        assert any_store.pack(text) == text + "!"
        assert any_store.recall(text) == text
        assert any_store.count(text) == sum(name.startswith(text) for name in TEXTS)
        assert any_store.swap(text, text, text + "!", 1.0)
        assert any_store.recall(text) == text + "!"


def test_any_value(any_store: EpisodeStore) -> None:
    values: list[Any] = [
        2**63,
        -(2**64),
        10**300,
        0.1,
        1e300,
        -0.0,
        5e-324,
        1,
        True,
        None,
        "",
        [],
        {},
        [[{}]],
        {"b": 1, "a": [2]},
    ]
    for number, value in enumerate(values):
        begun = Start("digest", "t-1", 2**63 - 1, {"z": value, "a": value}, None, 1712345678.123456)
        taken = Step({"z": value, "type": "x", "a": value}, None, 1712345678.654321)
        any_store.create(f"e-{number}", begun)
        any_store.append(Key(f"e-{number}", 1), 0, taken, None)
        record = any_store.get(f"e-{number}")
        assert record == Record(Key(f"e-{number}", 1), begun, (taken,), None, 1712345678.654321)
        # repr tells what equality doesn't: the order of the keys, 1 from True, 0.0 from its negative.
        assert repr(record.steps[0].action) == repr(taken.action)
        assert repr(record.start.options) == repr(begun.options)


def test_a_mapping_is_kept_as_an_object(any_store: EpisodeStore) -> None:
    options = MappingProxyType({"seed": 7, "more": MappingProxyType({})})
    any_store.create("e", start()._replace(options=options))
    record = any_store.get("e")
    assert record is not None
    assert record.start.options == {"seed": 7, "more": {}}


def test_a_long_episode(any_store: EpisodeStore) -> None:
    steps = [Step({"type": "x", "text": "long " * 2_000}, f"r{number}", float(number)) for number in range(60)]
    any_store.create("e", start())
    for number, taken in enumerate(steps):
        any_store.append(Key("e", 1), number, taken, None)
    assert any_store.get("e") == Record(Key("e", 1), start(), tuple(steps), None, 59.0)
    found = any_store.find("e", "r29")
    assert found is not None
    assert found.steps == tuple(steps[:30])
