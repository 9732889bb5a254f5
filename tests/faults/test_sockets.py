"""Clients that send on a socket and never read, or never come to an end: what a server keeps for one is bounded."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from server.body import MAX_BODY
from server.mcp import MAX_BATCH
from tests.faults.memory import MB, resident
from tests.faults.processes import children
from tests.server.live import PING, PONG, RESET, TEXT, Raw, Server, frame, running
from tests.server.rpc import message
from tests.serving import healthy

PEERS = 3

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("faults")]


@pytest.fixture
def server(root: Path) -> Iterator[Server]:
    with running(root, WORKERS="1", STORE="memory:", WS_PING="0") as started:
        yield started


def memory(server: Server) -> Callable[[], int]:
    pids = children(server.process.pid)
    return lambda: resident(pids)


def asked() -> bytes:
    """As long a message as is read, with as long an answer as a batch of questions has.

    One character of four bytes makes Python keep four bytes for each of the others.
    """
    questions = json.dumps([message("tools/list", request_id=number) for number in range(MAX_BATCH - 1)])
    filled = json.dumps(message("ping", {"text": ""}))
    size = len(questions) + len(filled) + len(", ") + len("\U0001f600".encode())
    last = json.dumps(message("ping", {"text": "\U0001f600" + "x" * (MAX_BODY - size)}), ensure_ascii=False)
    text = f"{questions[:-1]}, {last}]".encode()
    assert len(text) == MAX_BODY
    return frame(TEXT, text)


def stuff(server: Server, held: ExitStack, sent: bytes) -> None:
    """Sends until the server takes nothing more, and reads nothing."""
    peer = held.enter_context(Raw(server, "/mcp"))
    peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    peer.socket.settimeout(1.5)
    with suppress(TimeoutError):
        for _ in range(1_000):
            peer.send(sent)
        pytest.fail("the server takes whatever comes")


def test_what_waits_for_a_peer_that_never_reads_is_bounded(server: Server) -> None:
    """Four messages of 256 KiB wait, a fifth for its place, a sixth for its answer to go, and some more is read: 2 MB.

    An answer of 300 kB waits too, and the allocator is untidy. 32 messages would be 8 MB.
    """
    sent, look = asked(), memory(server)
    with ExitStack() as held:
        stuff(server, held, sent)
        before = look()
        for _ in range(PEERS):
            stuff(server, held, sent)
        assert look() - before < PEERS * 5 * MB
        assert healthy(server.http)


def test_a_message_in_any_number_of_empty_pieces_fills_no_memory(server: Server) -> None:
    """Eight bytes for each of two million would be 16 MB."""
    empty, look = frame(0, last=False) * 100_000, memory(server)
    text = json.dumps(RESET)
    with Raw(server) as peer:
        peer.send(frame(TEXT, text[:9], last=False))
        before = look()
        for _ in range(20):
            peer.send(empty)
        peer.send(frame(PING, "done?"))
        assert peer.read() == (PONG, b"done?")
        assert look() - before < 6 * MB
        peer.send(frame(0, text[9:]))
        assert peer.read_json()["type"] == "observation"


def test_a_message_in_thousands_of_pieces_is_read_whole(server: Server) -> None:
    text = json.dumps({"type": "mcp", "data": message("ping", request_id="0123456789" * 500)})
    with Raw(server) as peer:
        peer.send(
            frame(TEXT, last=False), *(frame(0, character, last=False) for character in text), frame(0, "", last=True)
        )
        assert peer.read_json()["data"] == {"jsonrpc": "2.0", "id": "0123456789" * 500, "result": {}}
