"""What the environment says about how to serve: defaults, nonsense, and that docs/http-api.md tells all of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from engine.contract import Contract
from engine.load import shipped_packs
from server.peers import Patience
from server.settings import Nonsense, Settings, ports, settings, settings_or_exit, store_url


@pytest.fixture
def nothing(tmp_path: Path) -> dict[str, str]:
    """An environment that says nothing of the server; its state and its cache are folders of its own."""
    return {"XDG_STATE_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}


# -- Defaults


def test_where_nothing_is_said(nothing: dict[str, str], tmp_path: Path) -> None:
    assert settings(nothing) == Settings(
        packs=tuple(shipped_packs()),
        store=f"sqlite:{tmp_path / 'deskproof' / 'episodes.db'}",
        workers=1,
        max_sessions=4_096,
        patience=Patience(ping=20, silent=300, idle=3_600),
        idle=24 * 3_600,
        keep=2_592_000,  # thirty days
        max_episodes=1_000_000,
        tokens=None,
        rate=0,
        burst=4_096,
        origins=(),
        watch=False,
        allow_unproved=False,
        proofs=tmp_path / "cache" / "deskproof" / "proofs",
        log=None,
        log_level="info",
    )


def test_blanks_say_nothing(nothing: dict[str, str]) -> None:
    names = [name for name, _ in table() if name not in ("PORT", "EXTRA_PORTS")]
    assert settings({**nothing, **dict.fromkeys(names, " ")}) == settings(nothing)


def test_what_is_said(nothing: dict[str, str], tmp_path: Path) -> None:
    said = settings(
        {
            **nothing,
            "PACKS": "a.yaml b.yaml", "STORE": " memory: ", "WORKERS": "3", "MAX_SESSIONS": "5", "WS_PING": "1",
            "WS_SILENT": "2", "WS_IDLE": "0", "IDLE": "60", "KEEP": "0600", "MAX_EPISODES": "7", "TOKENS": "tokens",
            "RATE": "8", "BURST": "9", "CORS": "https://one.example  http://two.example:8080", "WATCH": "1",
            "ALLOW_UNPROVED": "1", "LOG": "JSON", "LOG_LEVEL": "Debug",
        }
    )  # fmt: skip
    assert said == Settings(
        packs=("a.yaml", "b.yaml"),
        store="memory:",
        workers=3,
        max_sessions=5,
        patience=Patience(ping=1, silent=2, idle=0),
        idle=60,
        keep=600,
        max_episodes=7,
        tokens=Path("tokens"),
        rate=8,
        burst=9,
        origins=("https://one.example", "http://two.example:8080"),
        watch=True,
        allow_unproved=True,
        proofs=tmp_path / "cache" / "deskproof" / "proofs",
        log="json",
        log_level="debug",
    )


def test_several_packs(tmp_path: Path) -> None:
    """Separated by blanks or as in PATH; a path that has a blank in it, and is there, is one."""
    for named in ("a b  c", f"a{os.pathsep}b{os.pathsep}c", f"a b{os.pathsep}c"):
        assert settings({"STORE": "memory:", "PACKS": named}).packs == ("a", "b", "c")
    one = tmp_path / "my packs"
    one.mkdir()
    assert settings({"STORE": "memory:", "PACKS": str(one)}).packs == (str(one),)
    assert settings({"STORE": "memory:", "PACKS": "x" * 5_000}).packs == ("x" * 5_000,)  # longer than any path


def test_where_episodes_are_kept(nothing: dict[str, str], tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOME", str(tmp_path))
        # By the XDG specification a relative path there is to be ignored.
        for environment in (home, home | {"XDG_STATE_HOME": ""}, home | {"XDG_STATE_HOME": "relative"}):
            assert store_url(environment) == f"sqlite:{tmp_path}/.local/state/deskproof/episodes.db"
    assert (tmp_path / ".local/state/deskproof").stat().st_mode & 0o777 == 0o700
    assert store_url({**nothing, "STORE": "redis://localhost:6379/0"}) == "redis://localhost:6379/0"


def test_where_proofs_are_kept(nothing: dict[str, str], tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOME", str(tmp_path))
        for cache in ("", "relative"):  # to be ignored, as above
            assert settings({**nothing, "XDG_CACHE_HOME": cache}).proofs == tmp_path / ".cache/deskproof/proofs"


# -- Nonsense


@pytest.mark.parametrize(
    "value", ["many", "-1", "1.5", "1e3", "0x10", "٣", "9" * 30, "1 2", "1;", "\N{SUPERSCRIPT TWO}"]
)
@pytest.mark.parametrize(
    "name",
    [
        "WORKERS",
        "MAX_SESSIONS",
        "WS_PING",
        "WS_SILENT",
        "WS_IDLE",
        "IDLE",
        "KEEP",
        "MAX_EPISODES",
        "RATE",
        "BURST",
        "WATCH",
        "ALLOW_UNPROVED",
    ],
)
def test_numbers_that_are_none(name: str, value: str) -> None:
    assert re.fullmatch(rf"{name} must be a whole number from \d+ to \d+, not '.{{1,80}}'\.", nonsense(name, value))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WORKERS", "0"),
        ("WORKERS", "65"),
        ("MAX_SESSIONS", "0"),
        ("MAX_EPISODES", "0"),
        ("BURST", "0"),
        ("WATCH", "2"),
        ("ALLOW_UNPROVED", "2"),
    ],
)
def test_numbers_that_are_out_of_range(name: str, value: str) -> None:
    assert nonsense(name, value).endswith(f", not '{value}'.")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("LOG", "xml", "LOG must be one of json, text, not 'xml'."),
        ("LOG_LEVEL", "loud", "LOG_LEVEL must be one of debug, info, warning, error, not 'loud'."),
        ("CORS", "one.example", "CORS holds origins such as https://example.org, or *, not 'one.example'."),
        (
            "CORS",
            "* https://a.example/",
            "CORS holds origins such as https://example.org, or *, not 'https://a.example/'.",
        ),
        ("CORS", "https://a.example,https://b.example/x", None),
        ("CORS", "ftp://a.example", None),
        ("CORS", "null", None),
    ],
)
def test_words_that_are_none(name: str, value: str, said: str | None) -> None:
    assert said in (None, nonsense(name, value))


def test_a_start_ends_with_the_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RATE", "fast")
    with pytest.raises(SystemExit) as ended:
        settings_or_exit()
    assert (
        ended.value.code == "RATE must be a whole number from 0 to 999999999, not 'fast'."
    )  # to stderr, with status 1


def nonsense(name: str, value: str) -> str:
    with pytest.raises(Nonsense) as raised:
        settings({"STORE": "memory:", name: value})
    return str(raised.value)


# -- What the page says


ROOT = Path(__file__).parent.parent.parent
ROW = re.compile(r"\| `([A-Z_]+)` \| (.+?) \| .+ \|")


def table() -> Iterator[tuple[str, str]]:
    """Each variable of docs/http-api.md, and what stands in its second column."""
    text = (ROOT / "docs" / "http-api.md").read_text("utf-8")
    for row in text.partition("| variable | default | meaning |\n")[2].partition("\n\n")[0].splitlines()[1:]:
        found = ROW.fullmatch(row)
        assert found is not None, row
        yield found[1], found[2]


class Noted(Mapping[str, str]):
    """An environment without anything in it that notes what was asked for."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def test_every_variable_stands_in_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    noted = Noted()
    settings(noted)
    ports(1, noted)
    names = [name for name, _ in table()]
    assert len(set(names)) == len(names)
    assert set(names) == noted.asked - {"XDG_STATE_HOME", "XDG_CACHE_HOME"}
    assert {"PORT", "EXTRA_PORTS"} <= set(names)


def test_the_defaults_in_the_docs_are_the_defaults(nothing: dict[str, str], contract: Contract) -> None:
    """A default that is a value means the same as saying nothing."""
    values = {name: found[1] for name, default in table() if (found := re.match(r"`?(\w+)`?", default)) is not None}
    given = {name: value for name, value in values.items() if value.isdigit() or name == "LOG_LEVEL"}
    assert len(given) == 14
    assert given.pop("PORT") == str(contract.port) == "7860"
    for name, value in given.items():
        assert settings({**nothing, name: value}) == settings(nothing), name
