"""How gunicorn serves the packs; `server.settings` says what the environment asks for."""

import errno
import gc
import os
import resource
import signal
import socket
import sys
import threading
from contextlib import suppress
from functools import partial

from engine.contract import load_contract
from engine.diagnostics import PackError
from server import logs, settings
from server.metrics import Shared
from server.reload import Reloader, announce, take_over, withdraw

MOST_FILES = 65_536  # that are open at once: each socket and each connection is one


def _allow_open_files() -> None:
    """Often a process may open 1,024 files unless it asks for more, and it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


try:
    ports = settings.ports(load_contract().port)
except (PackError, settings.Nonsense) as error:
    sys.exit(str(error))

configured = settings.settings_or_exit()
logs.set_up(configured.log, configured.log_level)
_allow_open_files()
bind = [f"0.0.0.0:{port}" for port in ports]
workers = configured.workers
# Sockets and the hot routes run on one event loop; what Flask answers runs in a thread beside it.
worker_class = "server.worker.Worker"
# The packs are loaded once, before the fork: their findings are printed once, and nothing listens if they are bad.
preload_app = True

keepalive = 75
timeout = 60
graceful_timeout = 10
limit_request_line = 8190
websocket_max_message_size = 128 * 1024  # up to here the sender is told that 64 KiB are enough, beyond it's cut off
accesslog = None
errorlog = None  # `server.logs` has seen to it
loglevel = configured.log_level
control_socket_disable = True
# The workers' heartbeat is a file: on a disk that is slow, one would be taken for dead.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def post_fork(server, worker):  # type: ignore[no-untyped-def]
    """The packs stay: leave them out when the garbage is collected; and collect it less often than for scripts."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 10, 20)


def on_starting(server):  # type: ignore[no-untyped-def]
    """Check what gunicorn would only log: that as many workers can be had, and that the port is free."""
    if server.cfg.workers > 1 and configured.store == "memory:":
        asked = server.cfg.workers
        print(f"Episodes are kept in one worker's memory: one worker is started, not {asked}.", file=sys.stderr)
        server.cfg.set("workers", 1)
        server.num_workers = 1
    if "GUNICORN_FD" in os.environ:
        return
    for address in server.cfg.address:
        if isinstance(address, tuple):
            _check_free(*address[:2])


def pre_fork(server, worker):  # type: ignore[no-untyped-def]
    worker.counted = server.shared.claim()
    worker.folder = server.shared.folder


def post_worker_init(worker):  # type: ignore[no-untyped-def]
    """Share counts with the other workers, and take over new packs when the first process has some."""
    application = worker.app.wsgi()
    if hasattr(application, "metrics"):
        application.metrics.join(worker.counted)
        on_signal = partial(take_over, application.service, worker.folder)
        loop = getattr(worker, "loop", None)
        if loop is not None:
            loop.add_signal_handler(signal.SIGHUP, on_signal)
        else:
            # In a thread: whatever is going on may hold a lock that is needed.
            signal.signal(signal.SIGHUP, lambda *_: threading.Thread(target=on_signal).start())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})


def child_exit(server, worker):  # type: ignore[no-untyped-def]
    server.shared.release(worker.counted)


def on_exit(server):  # type: ignore[no-untyped-def]
    if hasattr(server, "known_at"):
        withdraw(server.known_at)
    if hasattr(server, "shared"):
        server.shared.remove()


def when_ready(server):  # type: ignore[no-untyped-def]
    """Give up connections that nothing gets through any more; accepted ones take this from the listening ones.

    And take SIGHUP for new packs: gunicorn would start new workers, and end every socket.
    """
    for listener in server.LISTENERS:
        if listener.sock.family in (socket.AF_INET, socket.AF_INET6) and hasattr(socket, "TCP_USER_TIMEOUT"):
            listener.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, server.cfg.timeout * 1000)
    server.shared = Shared(server.cfg.worker_tmp_dir)
    application = server.app.wsgi()
    if hasattr(application, "service"):
        folder, proving = server.shared.folder, (configured.allow_unproved, configured.proofs)
        reloader = Reloader(application.service, application.packs, folder, *proving)
        server.known_at = server.address[0][1] if isinstance(server.address[0], tuple) else ports[0]
        announce(server.known_at, server.shared.folder)
        ask = _on_hangup(server, reloader)
        if configured.watch:
            signal.signal(signal.SIGALRM, lambda *_: ask() if reloader.changed() else None)
            signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)


def _on_hangup(server, reloader):  # type: ignore[no-untyped-def]
    """Have SIGHUP reload the packs once nothing else goes on: it may come while a lock is held, at a fork say.

    Signals that come before it is done with one are one. What is given asks for the same.
    """
    asked = []

    def ask(*_):  # type: ignore[no-untyped-def]
        if not asked:
            asked.append(True)
            server.signal(signal.SIGHUP, None)  # gunicorn keeps it until then

    def reload():  # type: ignore[no-untyped-def]
        asked.clear()
        if reloader.reload():
            for pid in list(server.WORKERS):
                with suppress(OSError):
                    os.kill(pid, signal.SIGHUP)

    server.handle_hup = reload
    signal.signal(signal.SIGHUP, ask)
    # A worker that is just beginning gets its signal once it can take over, and isn't ended by it.
    hold, let_through = (
        partial(signal.pthread_sigmask, how, {signal.SIGHUP}) for how in (signal.SIG_BLOCK, signal.SIG_UNBLOCK)
    )
    os.register_at_fork(before=hold, after_in_parent=let_through)
    return ask


def _check_free(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                name = "EXTRA_PORTS" if port in ports[1:] else "PORT"
                sys.exit(f"Port {port} is already taken: stop what listens there, or choose another with {name}.")
            sys.exit(f"Can't listen on {host}:{port}: {error.strerror}.")
