"""Regret as it is shown in the terminal, exported, and played again."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from engine import play as player
from engine import transcript as transcripts
from engine.case import make_case
from engine.cli import main
from engine.contract import load_contract
from engine.dynamics import regret
from engine.episode import Episode
from engine.load import load_pack
from engine.pack import Pack
from engine.transcript import line, transcript
from server.service import Caller, Service
from server.store.opening import open_store
from tests.proof.five_steps import DELIVERY, EMAIL, FLY, ORDER, RESOLVE, SHOW, draft, played


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return draft(tmp_path_factory.mktemp("small") / "small.yaml")


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pack:
    """Seven moves at the start are more than may be looked at here."""
    monkeypatch.setattr(regret, "BUDGET", 6)
    return draft(tmp_path / "large.yaml")


def test_a_ticket_over_the_budget(large: Pack) -> None:
    episode = played(large, "hard", FLY, DELIVERY)
    assert (episode.regrets, episode.regret) == (None, None)
    document = transcript(episode, {})
    assert [document[name] for name in ("regret", "regrets", "best_actions")] == [None, None, None]
    assert transcripts.replay(line(document), lambda digest: large) is None


# -- In the terminal


def shown(pack: Pack, ticket: str, *keys: str) -> str:
    console = Console(file=StringIO(), width=200, highlight=False)
    typed = iter(keys)
    player.play(Episode.start(make_case(pack, ticket, 0)), console, lambda prompt: next(typed))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_play_says_at_the_end_what_steps_cost(small: Pack) -> None:
    told = shown(small, "hard", "ask_info device", "ask_info order", "ask_info email", "resolve")
    # 'device' isn't needed: wasted, and an ask before the classification: 0.2 + 0.5. The score is halved without one.
    assert told.endswith(
        "Resolved after 4 steps (optimal: 4). Return 1.3000, score 0.5000.\n"
        "  step 1 cost 0.7; best was classify(delivery)\n"
        "Regret 0.7000.\n"
    )
    assert "Regret" not in told.removesuffix("Regret 0.7000.\n") and told.count("cost") == 1
    assert shown(small, "hard", "classify delivery", "ask_info order", "ask_info email", "resolve").endswith(
        "Return 2.0000, score 1.0000.\nRegret 0.0000.\n"
    )
    stopped = shown(small, "hard", "ask_info device", "quit")
    assert stopped.endswith("Stopped.\n") and "egret" not in stopped


def test_play_of_a_ticket_over_the_budget(large: Pack) -> None:
    told = shown(large, "hard", "classify delivery", "ask_info order", "ask_info email", "resolve")
    assert told.endswith("Regret is not known: the ticket has too many states.\n")


# -- In transcripts


@pytest.fixture(scope="module")
def lamps(root: Path) -> Pack:
    return load_pack(root / "tests" / "server" / "lamps.yaml")


@pytest.fixture
def document(lamps: Pack) -> dict[str, Any]:
    """lamps' t-1: ten steps, a wasted one costs 0.1; its best episode takes four."""
    return transcript(played(lamps, "t-1", FLY, SHOW, RESOLVE), {"episode_id": "e"}, "superseded")


def difference(document: dict[str, Any], pack: Pack) -> str | None:
    found = transcripts.replay(line(document), lambda digest: pack)
    return found.member if found is not None else None


def test_a_transcript_says_what_each_step_cost(document: dict[str, Any], lamps: Pack) -> None:
    assert (document["transcript"], document["regret"], document["regrets"]) == (2, 0.2, [0.1, 0.0, 0.1])
    # With ten steps there is time for everything in any order: the first in the action space that isn't wasted.
    assert document["best_actions"] == [ORDER, None, ORDER]
    assert difference(document, lamps) is None


def test_export_has_it_and_what_was_exported_is_played_again(tmp_path: Path, lamps: Pack) -> None:
    url, file = f"sqlite:{tmp_path / 'episodes.db'}", tmp_path / "episodes.jsonl"
    store = open_store(url)
    service = Service([lamps], store, load_contract())
    for name, actions in (("over", (FLY, SHOW, ORDER, EMAIL, RESOLVE)), ("open", (ORDER, ORDER)), ("new", ())):
        service.reset({"episode_id": name, "ticket_id": "t-1", "seed": 7}, Caller())
        for action in actions:
            service.step({"episode_id": name, "action": action}, Caller())
    store.close()
    exported = CliRunner().invoke(main, ["episodes", "export", "--store", url, "-o", str(file)])
    assert exported.exit_code == 0, exported.output
    lines = [json.loads(text) for text in file.read_text("utf-8").splitlines()]
    # Asking again for 'order' is wasted; of what isn't, asking for 'email' comes before classifying.
    assert [(one["episode_id"], one["regret"], one["regrets"], one["best_actions"]) for one in lines] == [
        ("over", 0.1, [0.1, 0.0, 0.0, 0.0, 0.0], [ORDER, None, None, None, None]),
        ("open", 0.1, [0.0, 0.1], [None, EMAIL]),
        ("new", 0.0, [], []),
    ]
    played = CliRunner().invoke(main, ["replay", str(file), "--store", url])
    assert (played.exit_code, played.output) == (0, "3 episodes played again: every byte is the same.\n")


@pytest.mark.parametrize(
    ("change", "member"),
    [
        (lambda document: document.update(regret=0.1), "regret"),
        (lambda document: document["regrets"].__setitem__(1, 0.1), "regrets[1]"),
        (lambda document: document["best_actions"].__setitem__(0, EMAIL), "best_actions[0]"),
        (lambda document: document.pop("best_actions"), "best_actions"),
        (lambda document: document.update(transcript=1), "form"),
    ],
)
def test_what_was_changed_is_found(
    document: dict[str, Any], lamps: Pack, change: Callable[[Any], Any], member: str
) -> None:
    change(document)
    assert difference(document, lamps) == member


def test_a_transcript_of_the_first_form_is_played_again(document: dict[str, Any], lamps: Pack) -> None:
    old = {name: value for name, value in document.items() if name not in ("regret", "regrets", "best_actions")}
    old["transcript"] = 1
    assert difference(old, lamps) is None
    # There, its keeper's own words may be called anything else.
    assert difference({"regret": "deep", **old}, lamps) is None
    assert difference({**old, "transcript": True}, lamps) == "form"
    assert difference({**old, "return": 1.0}, lamps) == "return"
    with pytest.raises(transcripts.Unreadable, match="no transcript"):
        difference({**old, "transcript": 3}, lamps)
    assert json.loads(line(old)) == old
