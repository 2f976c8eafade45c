"""Processes that share work and never outlive who started them.

Each holds the reading end of a pipe whose other end only the parent has. When that closes, by the parent's end however
sudden, or since it gives up, the worker ends at once, whatever it is doing.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from typing import TypeVar

from hakobi.errors import RunError

Item = TypeVar("Item")
Result = TypeVar("Result")


def end_with(parent: Connection) -> None:
    """In a worker, before its work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the parent

    def wait() -> None:
        with contextlib.suppress(EOFError, OSError):
            parent.recv_bytes()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextlib.contextmanager
def workers(processes: int) -> Iterator[Executor]:
    """An executor of that many processes. Where the block raises, what they are doing is given up. Raises RunError
    where one of them was ended from outside."""
    context = multiprocessing.get_context("spawn")
    theirs, ours = context.Pipe(duplex=False)
    with theirs, ours:
        try:
            with ProcessPoolExecutor(processes, context, end_with, (theirs,)) as executor:
                try:
                    yield executor
                except BaseException:
                    ours.close()
                    raise
        except BrokenProcessPool as error:
            raise RunError("a process that shared the work was ended, by lack of memory perhaps") from error


def map_ahead(
    executor: Executor, function: Callable[[Item], Result], items: Iterable[Item], most: int
) -> Iterator[Result]:
    """What the function makes of each item, in order; at most `most` of them are handed out and not taken back."""
    pending: deque[Future[Result]] = deque()
    for item in items:
        if len(pending) == most:
            yield pending.popleft().result()
        pending.append(executor.submit(function, item))
    while pending:
        yield pending.popleft().result()
