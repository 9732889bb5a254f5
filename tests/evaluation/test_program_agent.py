"""Agents that are programs: lines of JSON both ways, whatever a program does, and none left behind."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from engine.evaluation.agents import AgentError
from engine.evaluation.program_agent import KEPT, LINES, ProgramAgent

TOOLS = [{"name": "ask", "description": "", "inputSchema": {}}]
FIRST, SECOND = {"step_count": 0}, {"step_count": 1}
# Reads a question, and gives what the rest of the program makes of it: `answer(question)`.
LOOP = """
import json, os, sys, time
def answer(question):
    {body}
for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
"""

Made = Callable[..., ProgramAgent]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Made]:
    """An agent that is a program in Python: all of it, or the body of its `answer`."""
    made: list[ProgramAgent] = []

    def agent(body: str = "", *, text: str = "", seconds: float = 20) -> ProgramAgent:
        path = tmp_path / f"agent_{len(made)}.py"
        path.write_text(text or LOOP.format(body=body), "utf-8")
        made.append(ProgramAgent([sys.executable, str(path), str(tmp_path)], seconds))
        return made[-1]

    yield agent
    for one in made:
        one.close()


def failing(agent: ProgramAgent, observation: Any = FIRST) -> AgentError:
    with pytest.raises(AgentError) as failed:
        agent(observation, TOOLS)
    assert str(failed.value).startswith(f"The agent {agent.name} ")
    return failed.value


def alive(number: int) -> bool:
    with suppress(OSError):
        return "Z" not in Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    return False


def gone(number: int, seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while alive(number) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(number)


# -- Questions and answers


def test_a_question_is_a_line_and_so_is_the_answer(program: Made) -> None:
    agent = program("return {'type': 'ask', 'question': question}")
    asked = {"observation": {"step_count": 0, "text": "⚠️\n"}, "tools": TOOLS}
    told = {"instructions": "Be\nquick.", "episode_id": "e1"}
    assert agent(asked["observation"], asked["tools"], **told) == {"type": "ask", "question": {**asked, **told}}  # type: ignore[arg-type]


def test_one_program_plays_all_episodes(program: Made) -> None:
    agent = program("return {'type': 'ask', 'pid': os.getpid()}")
    pids = {agent(seen, TOOLS)["pid"] for seen in (FIRST, SECOND, FIRST, SECOND)}
    assert len(pids) == 1


def test_a_question_may_be_longer_than_a_pipe_holds_and_errors_may_be_many(program: Made) -> None:
    """The program writes a megabyte to its standard error before it reads, and answers with half of one."""
    agent = program(text=LOOP.format(body="return {'type': 'ask', 'text': question['observation']['text'][:500_000]}")
        .replace("for line", "sys.stderr.write('x' * 1_000_000)\nfor line"))  # fmt: skip
    assert agent({"step_count": 0, "text": "y" * 2_000_000}, TOOLS)["text"] == "y" * 500_000


def test_it_is_started_without_a_shell(tmp_path: Path) -> None:
    path = tmp_path / "echo.py"
    path.write_text(LOOP.format(body="return {'type': 'ask', 'given': sys.argv[1:]}"), "utf-8")
    agent = ProgramAgent([sys.executable, str(path), "$HOME; exit", "*"])
    try:
        assert agent(FIRST, TOOLS)["given"] == ["$HOME; exit", "*"]
    finally:
        agent.close()


def test_an_action_may_stand_inside(program: Made) -> None:
    assert program("return {'action': {'type': 'ask'}, 'thought': 'well'}")(FIRST, TOOLS) == {"type": "ask"}


# -- What goes wrong


def test_a_line_that_is_no_action_is_said_and_the_program_goes_on(program: Made) -> None:
    agent = program("return ['resolve'] if question['observation']['step_count'] else {'type': 'ask'}")
    assert 'answered ["resolve"], which is no action' in str(failing(agent, SECOND))
    assert agent(FIRST, TOOLS) == {"type": "ask"}
    said = str(failing(program(text="import sys\nfor line in sys.stdin: print('\\x1b[2J?', flush=True)")))
    assert said.endswith("answered with a line that isn't JSON: \\x1b[2J?")


def test_one_that_dies_says_why_and_is_started_anew(program: Made) -> None:
    agent = program(
        "if question['observation']['step_count']: raise ValueError('no idea')\n    "
        "return {'type': 'ask', 'pid': os.getpid()}"
    )
    before = agent(FIRST, TOOLS)["pid"]
    error = failing(agent, SECOND)
    assert str(error).endswith("ended with exit code 1: ValueError: no idea")
    assert error.trace is not None
    assert error.trace.startswith("Traceback")
    assert error.trace.endswith("ValueError: no idea")
    assert agent(FIRST, TOOLS)["pid"] != before


def test_of_its_last_words_the_end_is_kept(program: Made) -> None:
    error = failing(program(text="import sys\nfor n in range(100_000): print('line', n, file=sys.stderr)\nsys.exit(3)"))
    assert str(error).endswith("ended with exit code 3: line 99999")
    assert str(error.trace).splitlines() == [f"line {number}" for number in range(100_000 - LINES, 100_000)]
    long = failing(program(text="import sys\nsys.exit('\\x1b' + 'x' * 1_000_000)"))
    assert len(str(long)) < 600
    assert len(str(long.trace)) <= 4 * KEPT


def test_one_that_a_signal_ends(program: Made) -> None:
    error = failing(program("os.kill(os.getpid(), 9)"))
    assert str(error).endswith("ended with exit code 137.")  # as a shell has it: 128 and SIGKILL's 9


def test_one_that_ends_after_each_episode_is_started_for_the_next(program: Made) -> None:
    """It ends by itself after two answers, which is after each episode: nothing is wrong with that."""
    agent = program(text=LOOP.format(body="return {'type': 'ask', 'pid': os.getpid()}")
        + "    if json.loads(line)['observation']['step_count']: break\n")  # fmt: skip
    pids = [agent(seen, TOOLS)["pid"] for seen in (FIRST, SECOND) * 3]
    assert len(set(pids)) == 3


def test_one_that_always_dies_is_not_started_for_ever(program: Made) -> None:
    agent = program(text="print()")
    for _ in range(2):
        said = str(failing(agent))
        assert said.endswith(
            ("ended with exit code 0.", "with a line that isn't JSON.", "too long a one, for an answer.")
        )


def test_one_that_is_too_slow_is_ended(program: Made) -> None:
    agent = program(
        "time.sleep(60 * question['observation']['step_count'])\n    return {'type': 'ask', 'pid': os.getpid()}"
    )
    before = agent(FIRST, TOOLS)["pid"]
    agent._seconds = 0.3
    assert "gave no answer within 0.3 s (a program that prints has to flush each line)" in str(failing(agent, SECOND))
    assert gone(before)
    agent._seconds = 20
    assert agent(FIRST, TOOLS)["pid"] != before


def test_one_that_reads_nothing_is_too_slow(program: Made) -> None:
    agent = program(text="import time\ntime.sleep(60)", seconds=0.3)
    with pytest.raises(AgentError, match="gave no answer within"):
        agent({"step_count": 0, "text": "y" * 1_000_000}, TOOLS)


@pytest.mark.parametrize(
    "body", ["print('{}'); return {}", "sys.stdout.write('x' * 1_100_000); sys.stdout.flush(); time.sleep(60)"]
)
def test_what_it_was_not_asked_for_is_said(program: Made, body: str) -> None:
    """Two lines to one question, or one that doesn't end. Else the second would be the answer to the next question."""
    agent, said = program(body), ""
    for _ in range(3):  # the second line may come after the first was taken for the answer
        try:
            agent(FIRST, TOOLS)
        except AgentError as error:
            said = str(error)
            break
        time.sleep(0.5)
    assert "wrote more than one line, or too long a one, for an answer: " in said


def test_one_that_closes_its_output(program: Made) -> None:
    agent = program(text="import os, time\nos.close(1)\ntime.sleep(60)")
    assert str(failing(agent)).endswith("closed its standard output.")


# -- None is left behind

# Ends by nothing but a kill, and has a child that doesn't either.
STUBBORN = """
import json, os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import signal, time\\nsignal.signal(15, 1)\\ntime.sleep(600)"])
sys.stdin.readline()
print(json.dumps({"type": "ask", "pids": [os.getpid(), child.pid]}), flush=True)
while True:
    time.sleep(60)
"""


def test_closing_ends_it_and_all_that_it_started(program: Made) -> None:
    agent = program(text=STUBBORN)
    pids = agent(FIRST, TOOLS)["pids"]
    assert all(map(alive, pids))
    agent.close()
    assert all(map(gone, pids))
    agent.close()  # again: nothing


# Has a child in a session of its own that has its streams, and a child too; then it waits to be asked once more.
DETACHED = """
import json, os, subprocess, sys
child = "import subprocess, time; print(subprocess.Popen(['sleep', '600']).pid, flush=True); time.sleep(600)"
started = subprocess.Popen([sys.executable, "-c", child], start_new_session=True, stdout=subprocess.PIPE)
own = int(started.stdout.readline())
keeps = subprocess.Popen(["sleep", "600"], start_new_session=True)
sys.stdin.readline()
print(json.dumps({"type": "ask", "pids": [started.pid, own, keeps.pid]}), flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("last", ["", "sys.exit('I am done')\n"])
def test_what_it_started_in_another_session_ends_as_well(program: Made, last: str) -> None:
    """Though that has its streams, which don't close: neither when it is ended nor when it ends by itself."""
    agent = program(text=DETACHED + last)
    pids = agent(FIRST, TOOLS)["pids"]
    assert all(map(alive, pids))
    if last:
        assert str(failing(agent, SECOND)).endswith("ended with exit code 1: I am done")
    agent.close()
    assert all(map(gone, pids))


def test_another_thread_may_end_it_though_a_child_has_its_streams(program: Made) -> None:
    agent = program(
        text=DETACHED + "import time\nopen(sys.argv[1] + '/asked', 'w').close(); time.sleep(600)\n", seconds=60
    )
    pids = agent(FIRST, TOOLS)["pids"]
    failed: list[AgentError] = []
    thread = threading.Thread(target=lambda: failed.append(failing(agent, SECOND)))
    thread.start()
    while not Path(agent._command[-1], "asked").exists():
        time.sleep(0.01)
    agent.close()
    thread.join(20)
    assert len(failed) == 1
    assert all(map(gone, pids))


def test_a_program_may_end_by_itself_when_its_input_does(program: Made, tmp_path: Path) -> None:
    agent = program(text=LOOP.format(body="return {'type': 'ask'}") + "open(sys.argv[1] + '/ended', 'w').close()\n")
    agent(FIRST, TOOLS)
    agent.close()
    assert (tmp_path / "ended").exists()


def test_it_ends_even_where_whoever_asked_it_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "stubborn.py"
    path.write_text(STUBBORN, "utf-8")
    asking = (
        "import sys, time\nfrom engine.evaluation.program_agent import ProgramAgent\n"
        f"agent = ProgramAgent([sys.executable, {str(path)!r}])\n"
        f"print(agent({FIRST!r}, {TOOLS!r})['pids'], flush=True)\ntime.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", asking], stdout=subprocess.PIPE, text=True) as asker:
        assert asker.stdout is not None
        pids = json.loads(asker.stdout.readline())
        assert all(map(alive, pids))
        asker.send_signal(signal.SIGKILL)
    assert all(map(gone, pids))


def test_another_thread_may_end_it_while_it_is_asked(program: Made) -> None:
    agent = program("open(sys.argv[1] + f'/{os.getpid()}', 'w').close(); time.sleep(600)", seconds=60)
    failed: list[AgentError] = []

    def ask() -> None:
        failed.append(failing(agent))

    thread = threading.Thread(target=ask)
    thread.start()
    folder = Path(agent._command[-1])
    while not (pids := [path.name for path in folder.iterdir() if path.name.isdigit()]):
        time.sleep(0.01)
    agent.close()
    thread.join(20)
    assert not thread.is_alive()
    assert len(failed) == 1
    assert gone(int(pids[0]))


def test_one_whose_question_was_interrupted_is_started_anew(program: Made) -> None:
    """As Ctrl-C does, or a run's alarm: its answer would else be taken for that to the next question."""

    class Interrupted(BaseException): ...

    def ring(*_: Any) -> None:
        raise Interrupted

    agent = program(
        "time.sleep(3 * question['observation']['step_count']); return {'type': 'ask', **question['observation']}"
    )
    agent(FIRST, TOOLS)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Interrupted):
            agent(SECOND, TOOLS)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert agent(FIRST, TOOLS) == {"type": "ask", "step_count": 0}


def test_no_descriptor_is_left_open(program: Made) -> None:
    def opened() -> int:
        return len([*Path("/proc/self/fd").iterdir()])

    agent = program("return {'type': 'ask'}")
    agent(FIRST, TOOLS)
    agent.close()
    before = opened()
    for _ in range(3):
        agent(FIRST, TOOLS)
        agent.close()
        failing(program(text="pass"))
    assert opened() == before


def test_its_name_shows_no_secret() -> None:
    agent = ProgramAgent(shlex.split("play --api-key sk-123 TOKEN=abc 'my agent'"))
    assert agent.name == "play --api-key '***' 'TOKEN=***' 'my agent'"
