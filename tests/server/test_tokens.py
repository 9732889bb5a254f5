"""Tokens: whose they are, when a line that goes takes effect, and what is said of a file that is wrong."""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from server.logs import Text
from server.token_command import token
from server.tokens import EVERY, MAX_BYTES, Tokens, WrongFile, digest, is_name, new_token, read
from tests.server.clock import Clock

# FIPS 180-2, appendix B.1: the SHA-256 of "abc".
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.fixture
def clock() -> Clock:
    return Clock(50.0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    path.write_text(f"# who may play\n\nkim {ABC}\nSam_2.x-y\t{sha('sesame').upper()}  # a laptop\r\n")
    return path


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_token_is_long_random_and_fits_a_header() -> None:
    made = {new_token() for _ in range(100)}
    assert len(made) == 100
    assert all(len(each) == 43 and each.replace("-", "").replace("_", "").isalnum() for each in made)  # 256 bits in 64s


def test_a_digest_is_sha_256() -> None:
    assert digest("abc") == ABC
    assert len(digest("\udcff")) == 64  # no text makes it fail


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "x" * 64])
def test_good_names(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize("name", ["", "x" * 65, "a b", "a/b", "é", "a\n", "#a"])
def test_bad_names(name: str) -> None:
    assert not is_name(name)


def test_the_owner_of_a_token(file: Path, clock: Clock) -> None:
    tokens = Tokens(file, clock)
    assert tokens.owner("abc") == "kim"
    assert tokens.owner("sesame") == "Sam_2.x-y"
    assert [tokens.owner(wrong) for wrong in ("", "Sesame", ABC, "kim", "\udcff", "x" * 100_000)] == [None] * 6


def test_digests_that_begin_alike_are_told_apart(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"like {ABC[:60]}0000\nkim {ABC}\n")
    assert Tokens(path, clock).owner("abc") == "kim"
    path.write_text(f"like {ABC[:60]}0000\n")
    assert Tokens(path, clock).owner("abc") is None


# -- A file that changes


def test_a_line_that_goes_stops_working_and_a_new_one_works(file: Path, clock: Clock) -> None:
    tokens = Tokens(file, clock)
    file.write_text(f"new {sha('new')}\n")
    clock.now += EVERY
    assert tokens.owner("abc") is None
    assert tokens.owner("new") == "new"
    file.write_text("")  # nobody is left
    clock.now += EVERY
    assert tokens.owner("new") is None


def test_a_file_that_is_replaced_by_one_of_the_same_size_and_time(file: Path, clock: Clock) -> None:
    tokens, before = Tokens(file, clock), file.stat()
    other = file.with_name("other")
    other.write_bytes(file.read_bytes().replace(ABC.encode(), sha("other").encode()))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(file)
    assert file.stat().st_size == before.st_size
    clock.now += EVERY
    assert tokens.owner("abc") is None
    assert tokens.owner("other") == "kim"


def test_the_file_is_looked_at_once_a_second_and_read_when_it_changed(
    file: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = Tokens(file, clock)
    looks: list[Path] = []
    real = Path.stat

    def counted(path: Path) -> os.stat_result:
        looks.append(path)
        return real(path)

    monkeypatch.setattr(Path, "stat", counted)
    for _ in range(30):
        clock.now += EVERY / 10 + 1e-9
        tokens.owner("abc")
    assert looks == [file] * 3
    os.utime(file, (1, 1))
    clock.now += EVERY
    tokens.owner("abc")
    assert len(looks) > 4  # it was read again


@pytest.mark.parametrize(("wrong", "place"), [("garbage", "{file}, line 5"), (None, "{file}")])
def test_what_goes_wrong_later_changes_nothing_and_is_logged_once(
    file: Path, clock: Clock, wrong: str | None, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    tokens, good = Tokens(file, clock), file.read_text()
    for round_ in (1, 2):
        if wrong is None:
            file.unlink()
        else:
            file.write_text(f"{good}{wrong}\n")
        for _ in range(3):
            clock.now += EVERY
            assert tokens.owner("abc") == "kim"
        assert [record.levelno for record in caplog.records] == [logging.WARNING] * round_
        assert f"({place.format(file=file)})" in Text().format(caplog.records[-1])  # the log takes nothing for a secret
        assert "garbage" not in caplog.text
        file.write_text(good.replace("kim", f"kim{round_}"))  # well again, and a later mistake is logged again
        clock.now += EVERY
        assert tokens.owner("abc") == f"kim{round_}"
        file.write_text(good)
        clock.now += EVERY
        assert tokens.owner("abc") == "kim"


def test_many_threads_ask_while_it_changes(file: Path) -> None:
    ticks = iter(range(1_000_000))
    tokens, seen, good = Tokens(file, lambda: float(next(ticks))), set(), file.read_text()

    def ask() -> None:
        for _ in range(300):
            seen.add(tokens.owner("abc"))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(50):
        new = file.with_name("new")
        new.write_text(good if number % 2 else good.replace("kim", "jo"))
        new.replace(file)
    for thread in threads:
        thread.join()
    assert seen <= {"kim", "jo"}


# -- A file that is wrong from the start

SECRET = "c2VjcmV0LXRva2VuLXRoYXQtc29tZWJvZHktcGFzdGVk"  # what nobody is to read in a log


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SECRET, ":1: NAME SHA256HEX is meant"),
        (f"kim {SECRET}", ":1: NAME SHA256HEX is meant"),
        (f"kim {ABC}\nsam {ABC[:-1]}", ":2: NAME SHA256HEX is meant"),
        (f"kim {ABC} more", ":1: NAME SHA256HEX is meant"),
        (f"kim/sam {ABC}", ":1: NAME SHA256HEX is meant"),
        (f"{'x' * 65} {ABC}", ":1: NAME SHA256HEX is meant"),
        (f"kim {ABC[:-1]}é", ":1: NAME SHA256HEX is meant"),
        (f"{SECRET} {ABC}\n\n{SECRET} {sha('b')}", ":3: the same name as on line 1"),
        (f"kim {ABC}\nsam {ABC.upper()}", ":2: the same digest as on line 1"),
        ("#" * (MAX_BYTES + 1), f"{MAX_BYTES} bytes at the most"),
    ],
)
def test_a_wrong_file_is_refused_and_nothing_of_it_is_shown(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(text)
    with pytest.raises(ValueError, match=str(path)) as caught:
        Tokens(path)
    assert says in str(caught.value)
    assert SECRET[:8] not in str(caught.value)
    assert ABC[:8] not in str(caught.value).lower()


def test_a_name_may_look_like_a_digest(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"{ABC} {sha('b')}\nkim {ABC}\n")
    assert read(path) == {sha("b"): ABC, ABC: "kim"}


def test_a_file_that_is_not_there_or_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"can't be read \(no such file or directory\); deskproof token NAME --file"):
        Tokens(tmp_path / "missing")
    with pytest.raises(ValueError, match="a file is meant"):
        Tokens(tmp_path)
    os.mkfifo(tmp_path / "pipe")  # nobody writes into it: opening it would hang
    with pytest.raises(WrongFile, match="a file is meant"):
        Tokens(tmp_path / "pipe")


# -- deskproof token


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(token, [str(word) for word in words])


def test_a_token_is_made_shown_once_and_kept_as_its_digest(tmp_path: Path, clock: Clock) -> None:
    path, before = tmp_path / "tokens", os.umask(0)
    try:
        done = run("kim", "--file", path)
    finally:
        os.umask(before)
    assert done.exit_code == 0
    made = done.stdout.strip()
    assert "won't be shown again" in done.stderr
    assert made not in done.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == f"kim {sha(made)}\n"
    assert Tokens(path, clock).owner(made) == "kim"


def test_a_second_token_is_added_below(file: Path, clock: Clock) -> None:
    file.write_text(file.read_text().rstrip())  # its last line has no end
    file.chmod(0o640)
    done = run("jo", "--file", file)
    assert done.exit_code == 0
    tokens = Tokens(file, clock)
    assert [tokens.owner(each) for each in ("abc", "sesame", done.stdout.strip())] == ["kim", "Sam_2.x-y", "jo"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["a/b", "--file", "{file}"], "A token's name has 1 to 64 letters"),
        (["kim", "--file", "{file}"], "has a token called 'kim' already"),
        (["jo"], "Missing option '--file'"),
        (["--file", "{file}"], "Missing argument 'NAME'"),
        (["jo", "--file", "{file}/tokens"], "can't be written"),
        (["jo", "--file", "{folder}/no/tokens"], "can't be written"),
    ],
)
def test_usage(words: list[str], says: str, file: Path) -> None:
    before = file.read_bytes()
    done = run(*(word.format(file=file, folder=file.parent) for word in words))
    assert done.exit_code == 2
    assert done.stdout == ""
    assert says in " ".join(done.stderr.replace("│", " ").split())
    assert file.read_bytes() == before


def test_nothing_is_added_to_a_wrong_file(file: Path) -> None:
    file.write_text(f"{SECRET}\n")
    done = run("jo", "--file", file)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert f"{file}:1: NAME SHA256HEX is meant" in done.stderr
    assert file.read_text() == f"{SECRET}\n"
