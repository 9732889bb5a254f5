"""Clients under fire: each plays episodes over HTTP, notes every answer, and sends again what got none."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ACTIONS: Sequence[Mapping[str, Any]] = (
    {"type": "classify"},
    {"type": "ask_info", "field": "order_id"},
    {"type": "ask_info", "field": "account_email"},
    {"type": "ask_info", "field": "browser"},
    {"type": "resolve"},
    {"type": "no_such_action"},
    {},
)
PATIENCE = 30.0  # seconds in which a request has to be answered after all
PAUSE = 0.02  # seconds before it is sent again


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and the bytes of the answer that counts; `action` is None for a reset."""

    request_id: str
    action: Mapping[str, Any] | None
    answer: bytes


class Player(threading.Thread):
    """Plays until `done` is set. `addresses` are (host, port) of servers, all of one store; any may be asked anything.

    `told` holds the exchanges of each episode, `unanswered` counts requests whose connection broke, `refused` answers
    503; `wrong` is what should not have happened.
    """

    def __init__(self, name: str, addresses: Sequence[tuple[str, int]], done: threading.Event) -> None:
        super().__init__(name=name, daemon=True)
        self._addresses = addresses
        self._done = done
        self.told: dict[str, list[Exchange]] = {}
        self.unanswered = self.refused = 0
        self.wrong: list[str] = []
        self._random = random.Random(name)
        self._connections: dict[tuple[str, int], http.client.HTTPConnection] = {}

    def run(self) -> None:
        number = 0
        while not self._done.is_set() and not self.wrong:
            number += 1
            try:
                self._play(f"{self.name}-{number}")
            except AssertionError as error:
                self.wrong.append(str(error))
        for connection in self._connections.values():
            connection.close()

    def _play(self, episode_id: str) -> None:
        exchanges = self.told[episode_id] = []
        asked: dict[str, Any] = {"episode_id": episode_id, "seed": self._random.randrange(1_000)}
        exchanges.append(self._exchange("/reset", f"{episode_id}/0", None, asked))
        over = False
        while not over and not self._done.is_set():
            action = self._random.choice(ACTIONS)
            request_id = f"{episode_id}/{len(exchanges)}"
            exchanges.append(
                self._exchange("/step", request_id, action, {"episode_id": episode_id, "action": dict(action)})
            )
            over = json.loads(exchanges[-1].answer)["done"]

    def _exchange(
        self, path: str, request_id: str, action: Mapping[str, Any] | None, asked: dict[str, Any]
    ) -> Exchange:
        body = json.dumps({**asked, "request_id": request_id})
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            status, answer = self._send(path, body)
            if status == 200:
                return Exchange(request_id, action, answer)
            assert status in (None, 503), f"{path} {body}: {status} {answer!r}"
            time.sleep(PAUSE)
        raise AssertionError(f"{path} {body} was not answered for {PATIENCE} seconds")

    def _send(self, path: str, body: str) -> tuple[int | None, bytes]:
        """The status and the answer; no status where the connection broke."""
        address = self._random.choice(self._addresses)
        connection = self._connections.pop(address, None) or http.client.HTTPConnection(*address, timeout=20)
        try:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            self.unanswered += 1
            return None, b""
        if response.will_close:
            connection.close()
        else:
            self._connections[address] = connection
        self.refused += response.status == 503
        return response.status, answer


def play(
    addresses: Sequence[tuple[str, int]], players: int, seconds: float, disturb: Callable[[threading.Event], None]
) -> list[Player]:
    """Let so many players play for a time while `disturb` does its worst, until its event is set."""
    done = threading.Event()
    playing = [Player(f"player-{number}", addresses, done) for number in range(players)]
    trouble = threading.Thread(target=disturb, args=(done,), daemon=True)
    for thread in (*playing, trouble):
        thread.start()
    done.wait(seconds)
    done.set()
    for thread in (*playing, trouble):
        thread.join(PATIENCE + 30)
        assert not thread.is_alive(), f"{thread.name} hangs"
    return playing
