"""A run of a model behind a service where everything goes wrong once: each episode's record has the right verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.evaluation.ledger import EPISODES, TIMES
from engine.evaluation.record import Record, parse
from tests.commands import deskproof
from tests.evaluation.completions import COMPLETION, PROMPT, Reply, calls, error, hang, raw, refusal, serving
from tests.evaluation.runs import lamps

KEY = "sk-very-secret-key"
ORDER, COLOUR, RESOLVE = (
    calls(("ask_info", {"field": "order"})),
    calls(("ask_info", {"field": "colour"})),
    calls(("resolve",)),
)


def played(folder: Path, *replies: Reply, seeds: int, code: int, said: tuple[str, ...]) -> list[Record]:
    """The records of a run that plays t-1 and t-2 in turn, and asks the service once for each answer."""
    lamps(folder)
    with serving(*replies) as service:
        words = ("openai:m", folder / "lamps.yaml", "--seeds", seeds, "-o", folder / "run", "--base-url", service.url)
        done = deskproof("eval", *words, "--workers", 1, "--retries", 0, "--agent-timeout", 2)
    assert done.exit_code == code, done.output
    assert all(part in done.stdout + done.stderr for part in said)
    for file in (folder / "run").rglob("*.json*"):
        assert KEY not in file.read_text("utf-8")
    return [parse(line) for line in (folder / "run" / EPISODES).read_bytes().splitlines()]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def test_what_a_model_does_wrongly_is_a_step_and_what_its_service_does_is_an_error(tmp_path: Path) -> None:
    """In the order of play; records are by ticket. t-1 needs the order, which comes at the second ask; t-2 both fields.
    An invalid step costs 0.1, and without a classification 1.5 is the most."""
    replies = (
        *(calls(("ask_info", '{"field": "order"')), ORDER, ORDER, RESOLVE),  # t-1: arguments that are no JSON
        *(refusal(), refusal(), ORDER, COLOUR, RESOLVE),  # t-2: refused twice
        *(ORDER, error(429, "slow down")),  # t-1
        *(ORDER, COLOUR, hang(4)),  # t-2
        raw(b'{"choices": ['),  # t-1
        *(refusal(), ORDER, COLOUR, RESOLVE),  # t-2: refused once
    )
    # 16 answers counted tokens, as the accounts below say.
    spent = f"tokens {16 * (PROMPT + COMPLETION):,} (in {16 * PROMPT:,}, out {16 * COMPLETION:,}), time "
    found = played(tmp_path, *replies, seeds=3, code=1, said=(spent, "Ended in an error: 3 episodes."))
    assert [(one.ticket, one.seed, one.status, one.steps, one.total) for one in found] == [
        ("t-1", 0, "done", 4, 14_000),
        ("t-1", 1, "error", 1, 0),
        ("t-1", 2, "error", 0, 0),
        ("t-2", 0, "done", 4, 14_000),
        ("t-2", 1, "error", 2, 5_000),
        ("t-2", 2, "done", 3, 15_000),
    ]
    assert found[0].outcomes[0] == found[3].outcomes[0] == "invalid"
    assert [one.error.partition("/v1/ ")[2] for one in found if one.error is not None] == [
        "answered 429, asked 1 time: slow down",
        "answered what isn't JSON.",
        "gave no answer within 2 s, asked 1 time.",
    ]
    accounts = [json.loads(line) for line in (tmp_path / "run" / TIMES).read_bytes().splitlines()]
    assert [one["input_tokens"] // PROMPT for one in accounts] == [4, 5, 1, 2, 0, 4]
    assert [one["output_tokens"] // COMPLETION for one in accounts] == [4, 5, 1, 2, 0, 4]


@pytest.mark.parametrize("reply", [error(401, "Wrong key."), error(429, "Pay.", "insufficient_quota")])
def test_a_run_ends_where_no_episode_would_fare_better(tmp_path: Path, reply: Reply) -> None:
    """What was played by then stays, and the run can be gone on with."""
    found = played(
        tmp_path, ORDER, ORDER, RESOLVE, reply, seeds=5, code=2, said=("To go on: the same command with -o",)
    )
    assert [(one.ticket, one.seed, one.status) for one in found] == [("t-1", 0, "done")]
