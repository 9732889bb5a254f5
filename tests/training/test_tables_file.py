"""Files of tables: what is saved is loaded, and whatever else is in one is refused with a sentence."""

from __future__ import annotations

import contextlib
import io
import json
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.load import load_pack, pack_path
from engine.training.tables import ARRAYS, Tables, TablesError
from engine.training.tabulate import tables_of, tabulate
from engine.training.vector_env import SupportVectorEnv
from tests.training.seen import lamp


@pytest.fixture(scope="module")
def desk_tables() -> Tables:
    return tables_of(load_pack(pack_path("customer_support")))


def test_what_is_saved_is_loaded(tmp_path: Path, desk_tables: Tables) -> None:
    desk_tables.save(tmp_path / "a.npz")
    again = Tables.load(tmp_path / "a.npz")
    for name in ARRAYS:
        assert getattr(again, name).dtype == getattr(desk_tables, name).dtype
        assert np.array_equal(getattr(again, name), getattr(desk_tables, name))
        assert not getattr(again, name).flags.writeable
    for name in ("pack", "version", "digest", "max_steps", "actions", "columns", "tasks", "tickets", "messages"):
        assert getattr(again, name) == getattr(desk_tables, name)
    assert again.packed() == (tmp_path / "a.npz").read_bytes()


def changed(tables: Tables, **members: Any) -> bytes:
    """The file of tables with other arrays in it, of objects too; None leaves one out."""
    with zipfile.ZipFile(io.BytesIO(tables.packed())) as file:
        held = {name: file.read(name) for name in file.namelist()}
    for name, array in members.items():
        written = io.BytesIO()
        np.save(written, np.asarray(array), allow_pickle=True)
        held[f"{name}.npy"] = written.getvalue()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name, content in held.items():
            if members.get(name.removesuffix(".npy"), ...) is not None:
                file.writestr(name, content)
    return made.getvalue()


@pytest.mark.parametrize(
    "members",
    [
        {"next_state": np.full((6, 4), 6, np.int32)},  # there is no state 6
        {"next_state": np.full((6, 4), -1, np.int32)},
        {"next_state": np.zeros((6, 4), np.int64)},
        {"reward": np.zeros((6, 3), np.int32)},
        {"reward": None},
        {"message": np.array([0, 2], np.int32)},
        {"ticket": np.array([0, 1], np.int32)},
        {"expert": np.full(6, 4, np.int16)},
        {"start": np.zeros(0, np.int32)},
        {"observation": np.array([{"a": 1}], object)},  # pickled
        {"about": np.frombuffer(b"{", np.uint8)},
        {"about": np.frombuffer(b'{"format": 1}', np.uint8)},
        {"about": np.frombuffer(b"[]", np.uint8)},
        {"about": np.frombuffer(b"[" * 100_000, np.uint8)},
        {"terminated": np.full((6, 4), 2, np.uint8).view(np.bool_)},
        {"action_mask": np.full((6, 4), 2, np.int8)},
        {"action_mask": np.zeros((6, 4), np.int8)},  # nothing can be done
        {"observation": np.full((6, 7), 2, np.uint8)},  # more than the columns hold
        {"depth": np.full(6, 4, np.int16)},
        {"seed": np.full(2, -1, np.int64)},
    ],
    ids=lambda members: next(iter(members)),
)
def test_a_file_that_leads_nowhere_is_refused(tmp_path: Path, members: dict[str, Any]) -> None:
    path = tmp_path / "bad.npz"
    path.write_bytes(changed(tabulate(lamp()), **members))
    with pytest.raises(TablesError, match=r"bad\.npz holds no tables: deskproof compile PACK -o FILE\.npz writes some"):
        Tables.load(path)


@cache
def of_lamp() -> Tables:
    return tabulate(lamp())


def about() -> dict[str, Any]:
    """The part of the lamp's file that is JSON."""
    found: dict[str, Any] = json.loads(np.load(io.BytesIO(of_lamp().packed()))["about"].tobytes())
    return found


def with_about(replaced: Any) -> bytes:
    return changed(of_lamp(), about=np.frombuffer(json.dumps(replaced).encode(), np.uint8))


@pytest.mark.parametrize(
    "replaced",
    [
        {"actions": [1] * 4},
        {"actions": [{"type": "resolve"}] * 3},
        {"actions": [{"type": "resolve", "how": [1]}] * 4},
        {"actions": [{"type": 1}] * 4},
        {"columns": [["a", 1000]] * 6 + [["remaining", 3]]},
        {"columns": [["a", 100]] * 7},
        {"tasks": 5},
        {"tasks": []},
        {"tickets": [["lamp", 3, "train"]]},  # there is no task 3
        {"tickets": [["lamp", 0, "tests"]]},
        {"tickets": [["lamp", 0]]},
        {"messages": [1, 2]},
        {"max_steps": 40_000},
        {"max_steps": 3.0},
        {"max_steps": True},
        {"max_steps": 4},  # the column of what remains holds 3
        {"pack": None},
        {"alike": {"tests": "x"}},
        {"format": None},
    ],
    ids=str,
)
def test_json_that_says_something_else_is_refused(tmp_path: Path, replaced: dict[str, Any]) -> None:
    path = tmp_path / "bad.npz"
    path.write_bytes(with_about({**about(), **replaced}))
    with pytest.raises(TablesError, match=r"bad\.npz holds no tables"):
        Tables.load(path)


def use(tables: Tables) -> None:
    """All that trainers do with tables."""
    envs = SupportVectorEnv(2, tables=tables)
    seen, _ = envs.reset(seed=0)
    for action in range(len(envs.action_names)):
        assert seen in envs.observation_space
        seen, *_ = envs.step(np.full(2, action))
    assert all(len(tables.P[state]) == len(tables.actions) for state in range(tables.states))
    for one in tables.tickets:
        with contextlib.suppress(TablesError):
            assert tables.choose(tables.tasks[one.task], one.split, one.id).size


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_whatever_happens_to_the_bytes_it_is_refused_or_the_same(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = bytearray(of_lamp().packed())
    whole, path = bytes(content), tmp_path_factory.getbasetemp() / "flipped.npz"
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=3)):
        content[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.none(), st.integers(0, len(content))))
    path.write_bytes(content[:cut])
    try:
        found = Tables.load(path)
    except TablesError:
        return
    assert found.packed() == whole


def places(value: Any) -> list[tuple[Any, Any]]:
    """Everything in a JSON value, by what holds it and where."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in pairs for place in [(value, key), *places(inner)]]


_numbers = st.one_of(st.integers(), st.sampled_from([0, 1, 255, 256, 1000, 40_000, 2**63]), st.floats())
_json = st.recursive(
    st.one_of(st.none(), st.booleans(), _numbers, st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=4,
)


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_whatever_the_json_says_it_is_refused_or_can_be_used(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    told, path = about(), tmp_path_factory.getbasetemp() / "replaced.npz"
    holder, key = data.draw(st.sampled_from(places(told)))
    holder[key] = data.draw(_json)
    path.write_bytes(with_about(told))
    try:
        found = Tables.load(path)
    except TablesError:
        return
    use(found)


def test_what_is_no_file_of_ours_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    for content in (b"", b"PK", b"tickets:\n", b"\x93NUMPY"):
        path.write_bytes(content)
        with pytest.raises(TablesError, match="holds no tables"):
            Tables.load(path)
    path.write_bytes(with_about({**about(), "format": 2}))
    with pytest.raises(TablesError, match="is of format 2, not 1: compile the pack anew"):
        Tables.load(path)
    with pytest.raises(FileNotFoundError):
        Tables.load(tmp_path / "none.npz")


def test_a_file_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    """The directory of a zip file says how much is in it."""
    path = tmp_path / "bomb.npz"
    content = bytearray(tabulate(lamp()).packed())
    at = content.index(b"PK\x01\x02")  # the first entry of the directory; its size unpacked stands 24 bytes on
    content[at + 24 : at + 28] = (0xFFFFFFF0).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(TablesError, match="would unpack to more than 4,000,000,000 bytes"):
        Tables.load(path)
