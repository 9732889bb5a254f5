"""Files that one process writes while others read them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from server import json_file


def test_a_reader_sees_all_of_a_file_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "numbers.json"
    assert json_file.read(path) is None
    done = threading.Event()

    def write() -> None:
        for number in range(1, 300):
            json_file.write(path, [number] * number * 100)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    while not done.is_set():
        found = json_file.read(path) or [0]
        assert found == [found[0]] * max(found[0] * 100, 1)
        seen.add(found[0])
    writer.join()
    assert len(seen) > 1
    assert json_file.read(path) == [299] * 29_900
    assert list(tmp_path.iterdir()) == [path]


def test_any_text_comes_back(tmp_path: Path) -> None:
    value = {"⚠️ 版本?": ["\ud800", "\u2028", None, 2**70, 0.1]}
    json_file.write(tmp_path / "any.json", value)
    assert json_file.read(tmp_path / "any.json") == value


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    json_file.write(path, 1)
    with pytest.raises(TypeError):
        json_file.write(path, [2, object()])
    assert json_file.read(path) == 1
    with pytest.raises(OSError, match="No such file"):
        json_file.write(tmp_path / "gone" / "kept.json", 1)


@pytest.mark.parametrize("content", [b"", b'{"a": ', b"\xff"])
def test_what_is_no_json_is_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other.json").write_bytes(content)
    assert json_file.read(tmp_path / "other.json") is None
