"""An agent that is a program: questions are lines of JSON on its standard input, answers lines on its standard output.

What is asked is what `HttpAgent` posts. The program runs on from episode to episode; one that ended, was too slow or
wrote what it wasn't asked for is started anew. `engine.evaluation.keeper` sees to it that none is left behind.
"""

from __future__ import annotations

import json
import os
import selectors
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from engine.evaluation.agents import Action, AgentError, Tools, action_of, question_of, shortened
from engine.evaluation.http_agent import MAX_ANSWER, SECONDS
from engine.evaluation.masking import masked_words
from engine.proof import told

# What is kept of its standard error, in bytes, and shown of it, in lines.
KEPT, LINES = 16_384, 20
# How long it may take to end once its input has, and the keeper once it is told to, in seconds.
PATIENCE, ENDING = 0.5, 10.0
PIECE = 65_536

_KEEPER = str(Path(__file__).with_name("keeper.py"))


class ProgramAgent:
    """Asks a program, started without a shell, within `seconds` a step. `close` may be called by another thread."""

    def __init__(self, command: Sequence[str], seconds: float = SECONDS) -> None:
        self.name = told.lines(shlex.join(masked_words(command)))
        self._command = [*command]
        self._seconds = seconds
        self._running: _Running | None = None

    def __repr__(self) -> str:
        return f"<ProgramAgent {self.name}>"

    def __call__(
        self, observation: Mapping[str, Any], tools: Tools, *, instructions: str = "", episode_id: str = ""
    ) -> Action:
        __tracebackhide__ = True
        # One that ended after an episode is only missed when the next one begins.
        again = self._running is not None and observation["step_count"] == 0
        raw = self._answer(question_of(observation, tools, instructions, episode_id) + b"\n", again)
        try:
            answer = json.loads(raw)
        except (ValueError, RecursionError):
            raise self._error("answered with a line that isn't JSON", raw.decode("utf-8", "replace")) from None
        return action_of(answer, tools, f"The agent {self.name} answered")

    def close(self) -> None:
        """Ends the program; the next question starts it anew."""
        running, self._running = self._running, None
        if running is not None:
            running.end()

    def _answer(self, question: bytes, again: bool) -> bytes:
        if self._running is not None and self._running.asked:  # whoever asked last was interrupted
            self.close()
        running = self._running = self._running or _Running(self._command)
        try:
            return running.ask(question, time.monotonic() + self._seconds)
        except _Ended:
            closed = self._running is not running
            self.close()
            if again and not closed:
                return self._answer(question, again=False)
            words = running.last_words
            raise self._error(running.how, words[-1] if words else "", words) from None
        except TimeoutError:
            self.close()
            hint = "a program that prints has to flush each line"
            why = f"gave no answer within {self._seconds:g} s ({hint})"
            raise self._error(why, words=running.last_words) from None
        except _Unasked as unasked:
            self.close()
            what = unasked.written.decode("utf-8", "replace")
            raise self._error("wrote more than one line, or too long a one, for an answer", what) from None

    def _error(self, what: str, text: str = "", words: Sequence[str] = ()) -> AgentError:
        shown = shortened(text).strip()
        trace = told.lines("\n".join(words)) or None
        return AgentError(f"The agent {self.name} {what}" + (f": {shown}" if shown else "."), trace)


class _Ended(Exception):
    """The program ended, or its standard output did."""


class _Unasked(Exception):
    """The program wrote something that is no answer."""

    def __init__(self, written: bytes) -> None:
        super().__init__()
        self.written = written


class _Running:
    """A program that runs. It belongs to whoever asks it; anybody may end it."""

    def __init__(self, command: Sequence[str]) -> None:
        lifeline, self._lifeline = os.pipe()
        self._over, over = (
            os.pipe()
        )  # the keeper alone holds the other end: a child of the program may hold its streams
        try:
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", "-S", _KEEPER, str(lifeline), *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(lifeline, over),
                start_new_session=True,  # Ctrl-C is the business of whoever asks
                bufsize=0,
            )
        except BaseException:
            os.close(self._lifeline)
            os.close(self._over)
            raise
        finally:
            os.close(lifeline)
            os.close(over)
        self.asked = False  # and not answered yet
        self._code: int | None = None
        self._stderr = bytearray()
        self._mine = threading.Lock()  # whoever has it reads and writes
        for stream in self._streams:
            os.set_blocking(stream.fileno(), False)

    @property
    def _streams(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        keeper = self._keeper
        assert keeper.stdin and keeper.stdout and keeper.stderr
        return keeper.stdin, keeper.stdout, keeper.stderr

    @property
    def how(self) -> str:
        """How it ended by itself, once it was told to end."""
        return "closed its standard output" if self._code is None else f"ended with exit code {self._code}"

    @property
    def last_words(self) -> list[str]:
        """The last lines of what it wrote to its standard error."""
        return self._stderr.decode("utf-8", "replace").rstrip().splitlines()[-LINES:]

    def ask(self, question: bytes, end: float) -> bytes:
        """The line that it answers with, before `end`. Raises _Ended, _Unasked, TimeoutError."""
        with self._mine:
            _, stdout, _ = self._streams
            if stdout.closed:
                raise _Ended
            self.asked = True
            before = self._said()
            if before:
                raise _Unasked(before)
            answer = self._exchange(memoryview(question), end)
            line, _, rest = answer.partition(b"\n")
            if rest:
                raise _Unasked(answer)
            self.asked = False
            return line

    def _exchange(self, left: memoryview, end: float) -> bytes:
        """Writes what is left of a question, and reads until there is a whole line."""
        stdin, stdout, stderr = self._streams
        answer = bytearray()
        with selectors.DefaultSelector() as ready:
            ready.register(stdin, selectors.EVENT_WRITE)
            ready.register(stdout, selectors.EVENT_READ)
            ready.register(stderr, selectors.EVENT_READ)
            ready.register(self._over, selectors.EVENT_READ)
            while left or b"\n" not in answer:
                if time.monotonic() >= end:
                    raise TimeoutError
                for key, _ in ready.select(max(end - time.monotonic(), 0)):
                    if key.fileobj is stdin:
                        left = left[_written(stdin, left) :]
                        if not left:
                            ready.unregister(stdin)
                    elif key.fileobj is stdout:
                        answer += self._said()
                    elif key.fileobj is stderr:
                        if not self._complained():
                            ready.unregister(stderr)
                    else:
                        return self._last_answer(answer)
                if len(answer) > MAX_ANSWER:
                    raise _Unasked(bytes(answer))
        return bytes(answer)

    def _last_answer(self, answer: bytearray) -> bytes:
        """What a program that has ended still said. Raises _Ended where that is no whole line."""
        while b"\n" not in answer:
            piece = self._said()
            if not piece or len(answer) > MAX_ANSWER:
                raise _Ended
            answer += piece
        return bytes(answer)

    def _said(self) -> bytes:
        piece = _read(self._streams[1])
        if piece is None:
            raise _Ended
        return piece

    def _complained(self) -> bool:
        """Reads what it wrote to its standard error; False where there was nothing."""
        piece = _read(self._streams[2])
        self._stderr += piece or b""
        del self._stderr[:-KEPT]
        return bool(piece)

    def end(self) -> None:
        """Ends it, and all that it started. Whoever asks it just now finds that it ended."""
        mine = self._mine.acquire(blocking=False)
        try:
            if mine:
                self._streams[0].close()  # most programs end by themselves then
                with suppress(subprocess.TimeoutExpired):
                    self._code = self._keeper.wait(PATIENCE)
            if self._lifeline >= 0:
                lifeline, self._lifeline = self._lifeline, -1
                os.close(lifeline)
            try:
                self._keeper.wait(ENDING)
            except subprocess.TimeoutExpired:
                self._keeper.kill()
            mine = mine or self._mine.acquire()
            if not self._streams[2].closed:
                for _ in range(MAX_ANSWER // PIECE):  # what is left over may be writing still
                    if not self._complained():
                        break
                os.close(self._over)
            for stream in self._streams:
                stream.close()
        finally:
            if mine:
                self._mine.release()


def _read(stream: IO[bytes]) -> bytes | None:
    """What there is to read; None at the end."""
    try:
        return os.read(stream.fileno(), PIECE) or None
    except BlockingIOError:
        return b""


def _written(stream: IO[bytes], question: memoryview) -> int:
    """How much was written; all of it where nobody reads it, as it then says so itself."""
    try:
        return os.write(stream.fileno(), question)
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(question)
