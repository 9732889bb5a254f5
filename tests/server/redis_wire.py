"""A wire to a Redis that can be cut: the server does what it is told, and the client never hears of it."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

BY_ITSELF = {b"CLIENT", b"HELLO"}  # what a client says of its own accord on each new connection


class Wire:
    """It passes on what comes, in both directions, however it is cut into pieces.

    `cuts` is how many connections are yet to be cut: each at its next command, once the server has answered it.
    """

    def __init__(self, server: Path) -> None:
        self._server = server
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listening.getsockname()[1]}/0"
        self.cuts = 0
        self._clients: list[socket.socket] = []
        self._relaying: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def close(self) -> None:
        _shut(self._listening)
        self._accepting.join()
        self._listening.close()
        for client in self._clients:
            _shut(client)
        for thread in self._relaying:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            self._clients.append(client)
            self._relaying.append(threading.Thread(target=self._relay, args=(client,)))
            self._relaying[-1].start()

    def _relay(self, client: socket.socket) -> None:
        cut = threading.Event()
        with client, client.makefile("rb") as asked, socket.socket(socket.AF_UNIX) as server:
            server.connect(str(self._server))
            answering = threading.Thread(target=_answer, args=(server, client, cut))
            answering.start()
            with suppress(OSError, ValueError):  # one of the two is gone, perhaps in the middle of a command
                while words := command(asked):
                    if self.cuts and not cut.is_set() and words[2].strip().upper() not in BY_ITSELF:
                        self.cuts -= 1
                        cut.set()  # all that was asked before has been answered: nobody asks ahead
                    server.sendall(b"".join(words))
            _shut(server)
            answering.join()


def _answer(server: socket.socket, client: socket.socket, cut: threading.Event) -> None:
    with suppress(OSError):
        while (piece := server.recv(65_536)) and not cut.is_set():
            client.sendall(piece)
    _shut(client)


def command(asked: BinaryIO) -> list[bytes]:
    """The pieces of the next command, which is an array of strings: lengths and words in turn; none at the end."""
    pieces = [asked.readline()]
    if not pieces[0]:
        return []
    for _ in range(int(pieces[0][1:])):
        pieces.append(asked.readline())
        pieces.append(asked.read(int(pieces[-1][1:]) + 2))
    return pieces


def _shut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
