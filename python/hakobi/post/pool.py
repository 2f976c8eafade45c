"""Processes that answer calls, one at a time each, bounded in memory and time: what opens files of strangers.

A call that takes too long, needs too much memory or brings its process down is refused with one sentence, its process
is replaced, and the same call is refused at once for a while. Calls of one key never hold all processes: whatever one
file does, others are answered meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import pickle
import resource
import signal
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from hakobi.errors import HakobiError

_START_S = 120.0
_MOST_REFUSALS = 1000


def end_with(parent: Connection) -> None:
    """In a process, before its work: it ends at once when the other end of this pipe closes, by the end of its parent
    however sudden, or since that gives up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the parent

    def wait() -> None:
        with contextlib.suppress(EOFError, OSError):
            parent.recv_bytes()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@dataclass(frozen=True)
class Bounds:
    """`share` is how many processes calls of one key may hold."""

    processes: int = 4
    share: int = 3
    limit_s: float = 30.0
    memory_bytes: int = 1 << 30
    refused_s: float = 60.0


class RefusedError(HakobiError):
    """A call was given up."""


class _Process:
    """One process, and the end of the pipe to it."""

    def __init__(self, make: Callable[[], Any], bounds: Bounds) -> None:
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        lifeline, self._lifeline = context.Pipe(duplex=False)
        self._process = context.Process(
            target=_answer_calls, args=(theirs, lifeline, make, bounds.memory_bytes), daemon=True
        )
        self._process.start()
        theirs.close()
        lifeline.close()
        self._is_ready = False
        self.last_key: Any = None

    def ask(self, call: tuple[Any, ...], limit_s: float) -> Any:
        """The answer. Raises what the call raised, TimeoutError, EOFError where the process ended."""
        if not self._is_ready:
            if not self._line.poll(_START_S):
                raise TimeoutError
            self._line.recv()
            self._is_ready = True
        self._line.send(call)
        if not self._line.poll(limit_s):
            raise TimeoutError
        is_right, answer = self._line.recv()
        if is_right:
            return answer
        raise answer

    def is_alive(self) -> bool:
        return self._process.is_alive()

    def end(self) -> None:
        """A thread in `ask` sees the line's end: that is closed with its last user, never under one."""
        self._process.kill()
        self._process.join(0.5)  # one that waits for dead storage ends when the kernel lets it
        self._lifeline.close()


def _answer_calls(line: Connection, lifeline: Connection, make: Callable[[], Any], memory_bytes: int) -> None:
    """In a process: its work."""
    end_with(lifeline)
    answerer = make()
    _limit_memory(memory_bytes)
    with contextlib.suppress(EOFError, OSError):  # whoever asked has ended
        line.send(None)
        while True:
            name, *arguments = line.recv()
            try:
                answer = (True, getattr(answerer, name)(*arguments))
            except Exception as error:
                error.add_note(traceback.format_exc())
                answer = (False, error)
            line.send_bytes(_pickled(answer))


def _pickled(answer: tuple[bool, Any]) -> bytes:
    try:
        return pickle.dumps(answer)
    except Exception as error:  # an exception with what cannot travel
        return pickle.dumps((False, RuntimeError(f"{answer[1]!r}: {error!r}")))


def _limit_memory(memory_bytes: int) -> None:
    """That much beyond what the process has now."""
    [used] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmData")]
    most = int(used.split()[1]) * 1024 + memory_bytes
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


class Pool:
    """Used from one event loop. `make` makes in each process what has the methods that are called."""

    def __init__(self, make: Callable[[], Any], bounds: Bounds) -> None:
        self._make, self._bounds = make, bounds
        self._all: set[_Process] = set()
        self._idle: list[_Process] = []
        self._held: Counter[Any] = Counter()
        self._refused: dict[Any, tuple[float, str]] = {}
        self._changed = asyncio.Condition()
        self._threads = ThreadPoolExecutor(bounds.processes, "hakobi-post")
        self._is_closed = False

    def start(self) -> None:
        """Starts one process, so that the first call does not wait for it; others come when they are needed."""
        if not self._all:
            self._idle.append(self._new())

    async def close(self) -> None:
        """Ends all processes, whatever they are doing."""
        self._is_closed = True
        for process in list(self._all):
            self._drop(process)
        self._threads.shutdown(wait=False)
        async with self._changed:
            self._changed.notify_all()

    async def call(self, key: Any, part: str, name: str, *arguments: Any) -> Any:
        """Returns the method's result. `key` is what it opens and `part` what it reads of it, for which it is refused
        after a failure. Raises RefusedError, and what the method raises."""
        limit_s = self._bounds.limit_s
        until, text = self._refused.get((key, part), (0.0, ""))
        if time.monotonic() < until:
            raise RefusedError(text)
        process = await self._take(key)
        try:
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(self._threads, process.ask, (name, *arguments), limit_s)
        except MemoryError:
            most = self._bounds.memory_bytes >> 20
            text = f"This needs more than {most} MiB of memory: `hakobi post --memory` gives more."
            self._refuse(key, part, text)
            raise RefusedError(text) from None
        except (TimeoutError, EOFError, BrokenPipeError, ConnectionResetError) as error:
            self._drop(process)
            if isinstance(error, TimeoutError):
                text = f"This took longer than {limit_s:g} s and was given up: `hakobi post --limit` gives more time."
            else:
                text = "This ended the process that read it: the file is damaged, or the machine has no memory left."
            self._refuse(key, part, text)
            raise RefusedError(text) from None
        except asyncio.CancelledError:  # its answer is still to come
            self._drop(process)
            raise
        finally:
            await self._give_back(key, process)
        return answer

    def _refuse(self, key: Any, part: str, text: str) -> None:
        if len(self._refused) >= _MOST_REFUSALS:
            self._refused.clear()
        self._refused[(key, part)] = (time.monotonic() + self._bounds.refused_s, text)

    def _new(self) -> _Process:
        process = _Process(self._make, self._bounds)
        self._all.add(process)
        return process

    def _drop(self, process: _Process) -> None:
        self._all.discard(process)
        process.end()

    def _has_room(self, key: Any) -> bool:
        is_free = bool(self._idle) or len(self._all) < self._bounds.processes
        return self._is_closed or (is_free and self._held[key] < self._bounds.share)

    async def _take(self, key: Any) -> _Process:
        async with self._changed:
            try:
                await asyncio.wait_for(self._changed.wait_for(lambda: self._has_room(key)), self._bounds.limit_s)
            except TimeoutError:
                raise RefusedError("The server is busy with other requests: try again in a minute.") from None
            if self._is_closed:
                raise RefusedError("The server is ending.")
            self._held[key] += 1
            for dead in [p for p in self._idle if not p.is_alive()]:  # ended from outside
                self._idle.remove(dead)
                self._drop(dead)
            process = next((p for p in self._idle if p.last_key == key), self._idle[0] if self._idle else None)
            if process is None:
                process = self._new()
            else:
                self._idle.remove(process)
            process.last_key = key
            return process

    async def _give_back(self, key: Any, process: _Process) -> None:
        self._held[key] -= 1
        if not self._held[key]:
            del self._held[key]
        if process in self._all:
            self._idle.append(process)
        async with self._changed:
            self._changed.notify_all()
