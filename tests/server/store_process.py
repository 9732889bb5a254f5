"""What a process of its own does with a store: python -m tests.server.store_process ROLE URL [NUMBER]

It prints a line of JSON, or many; the tests read them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from server.store import Conflict, EpisodeStore, Key, Record, Start, Step, Unusable
from server.store.opening import open_store

ROOT = Path(__file__).resolve().parents[2]
START = Start("digest", "t-1", 7, {}, None, 1.0)


def started(role: str, url: str, *given: object) -> subprocess.Popen[str]:
    """A process that plays a role, and whose lines can be read."""
    command = [sys.executable, "-m", "tests.server.store_process", role, url, *map(str, given)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str]) -> Any:
    """What a process that went well said in its last line."""
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return json.loads(said.splitlines()[-1])


def say(words: Any) -> None:
    print(json.dumps(words), flush=True)


def opening(url: str, user: str = "") -> None:
    """Whether the store can be opened and used, by the user of this number."""
    if user:
        os.setuid(int(user))
    try:
        store = open_store(url)
    except Unusable as error:
        say(str(error))
    else:
        store.check()
        say("ready")


def race(url: str, writer: str) -> None:
    """Take part in an episode of 100 steps, and in 20 resets: which were won."""
    store = open_store(url)
    won = []
    while (taken := len(newest(store, "race").steps)) < 100:
        try:
            store.append(Key("race", 1), taken, Step({"writer": int(writer)}, None, 1.0), None)
            won.append(taken)
        except Conflict:
            pass
    say({"won": won, "attempts": [store.create("resets", START).key.attempt for _ in range(20)]})


def write(url: str, episode_id: str) -> None:
    """Take steps until somebody ends this process; each is said once it is kept."""
    store = open_store(url)
    key = store.create(episode_id, START).key
    number = 0
    while True:
        store.append(key, number, Step({"number": number}, f"r-{number}", 1.0), None)
        number += 1
        say(number)


def fork(url: str) -> None:
    """Three processes that were forked from one that used the store already, and uses it once more while they do."""
    store = open_store(url)
    store.create("parent", START)
    ends = os.pipe(), os.pipe()
    children = []
    for number in range(3):
        child = os.fork()
        if not child:
            forked(store, f"child-{number}", ends[0][1], ends[1][0])
        children.append(child)
    for _ in children:
        os.read(ends[0][0], 1)
    # All of them use it. If one that lets go took the others for gone, what they write from now on would be lost.
    store.append(Key("parent", 1), 0, Step({}, None, 1.0), None)
    store.close()
    os.write(ends[1][1], b"go!")
    codes = [os.waitpid(child, 0)[1] for child in children]
    store.append(Key("parent", 1), 1, Step({}, None, 1.0), None)
    say(codes)


def forked(store: EpisodeStore, name: str, ready: int, go: int) -> None:
    try:
        store.create(name, START)
        store.append(Key(name, 1), 0, Step({}, None, 1.0), None)
        os.write(ready, b"1")
        os.read(go, 1)
        store.append(Key(name, 1), 1, Step({}, None, 1.0), None)
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        os._exit(1)
    os._exit(0)


def newest(store: EpisodeStore, episode_id: str) -> Record:
    record = store.get(episode_id)
    assert record is not None
    return record


if __name__ == "__main__":
    roles = {"opening": opening, "race": race, "write": write, "fork": fork}
    roles[sys.argv[1]](*sys.argv[2:])  # type: ignore[operator]
