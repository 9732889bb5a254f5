"""How gunicorn serves the packs. PORT (else the contract's) and WORKERS come from the environment."""

import asyncio
import errno
import gc
import os
import signal
import socket
import sys

from engine.contract import load_contract
from engine.diagnostics import PackError


def _number(name: str, default: int, least: int, most: int) -> int:
    text = os.environ.get(name, "").strip() or str(default)
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        sys.exit(f"{name} must be a whole number from {least} to {most}, not '{text}'.")
    return int(text)


try:
    contract = load_contract()
except PackError as error:
    sys.exit(str(error))

bind = f"0.0.0.0:{_number('PORT', contract.port, 1, 65535)}"
workers = _number("WORKERS", 1, 1, 64)
# Sockets and the hot routes run on one event loop; what Flask answers runs in a thread beside it.
worker_class = "asgi"
# The packs are loaded once, before the fork: their findings are printed once, and nothing listens if they are bad.
preload_app = True

keepalive = 75
timeout = 60
graceful_timeout = 10
limit_request_line = 8190
websocket_max_message_size = 1024 * 1024  # up to here the sender is told that 64 KiB are enough, beyond it's cut off
accesslog = None
loglevel = "info"
control_socket_disable = True
# The workers' heartbeat is a file: on a disk that is slow, one would be taken for dead.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def post_fork(server, worker):  # type: ignore[no-untyped-def]
    """The packs stay: leave them out when the garbage is collected; and collect it less often than for scripts."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def post_worker_init(worker):  # type: ignore[no-untyped-def]
    """On SIGTERM say goodbye on the sockets, finish what was asked over HTTP, and don't wait for idle connections."""
    if not hasattr(worker, "loop") or not hasattr(worker, "asgi"):
        return  # another class of worker: it has no sockets

    async def leave():  # type: ignore[no-untyped-def]
        await worker.asgi.asgi.leave()
        await asyncio.sleep(0.5)  # what was answered last may still be on its way
        worker.handle_quit_signal()

    def exit_soon():  # type: ignore[no-untyped-def]
        worker.handle_exit_signal()
        worker.leaving = worker.loop.create_task(leave())

    worker.loop.add_signal_handler(signal.SIGTERM, exit_soon)


def worker_int(worker):  # type: ignore[no-untyped-def]
    """On SIGINT and SIGQUIT, say goodbye on the sockets."""
    if hasattr(worker, "asgi"):
        worker.hanging_up = worker.asgi.asgi.hang_up()


def on_starting(server):  # type: ignore[no-untyped-def]
    """Check what gunicorn would only log: that one worker is enough, and that the port is free."""
    if server.cfg.workers > 1:
        asked = server.cfg.workers
        print(f"Episodes are kept in one worker's memory: one worker is started, not {asked}.", file=sys.stderr)
        server.cfg.set("workers", 1)
        server.num_workers = 1
    if "GUNICORN_FD" in os.environ:
        return
    for address in server.cfg.address:
        if isinstance(address, tuple):
            _check_free(*address[:2])


def _check_free(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                sys.exit(f"Port {port} is already taken: stop what listens there, or choose another (PORT=8000).")
            sys.exit(f"Can't listen on {host}:{port}: {error.strerror}.")
