"""Waiting that is visible: what is done, for how long, and about how long it still takes.

A phase is announced when it begins. On a terminal it is one line that counts the seconds and goes away; in a log it is
one line that stays. A phase of which is known that it takes less than SILENT_S says nothing in a log.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: Seconds that a user waits without being told why.
SILENT_S = 3.0


@contextmanager
def phase(text: str, expected_s: float | None = None) -> Iterator[None]:
    """Shows `text` on stderr while the block runs. `expected_s`: about how long that takes, where it is known."""
    if not sys.stderr.isatty():
        if expected_s is None or expected_s > SILENT_S:
            sys.stderr.write(f"{text}{words_left(0, expected_s)}\n")
            sys.stderr.flush()
        yield
        return
    ended = threading.Event()

    def count() -> None:
        begin = time.perf_counter()
        while True:
            passed_s = time.perf_counter() - begin
            sys.stderr.write(f"\r\033[K{text}{words_left(passed_s, expected_s)}")
            sys.stderr.flush()
            if ended.wait(1.0):
                return

    counter = threading.Thread(target=count, daemon=True)
    counter.start()
    try:
        yield
    finally:
        ended.set()
        counter.join()
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()


def words_left(passed_s: float, expected_s: float | None) -> str:
    """
    >>> words_left(0, 30), words_left(12, 30), words_left(40, 30), words_left(5, None), words_left(0, None)
    (', about 30 s', ' … 12 s, about 18 s left', ' … 40 s, soon done', ' … 5 s', ' …')
    """
    if passed_s < 1:
        return f", about {expected_s:.0f} s" if expected_s else " …"
    text = f" … {passed_s:.0f} s"
    if expected_s is None:
        return text
    left_s = expected_s - passed_s
    return f"{text}, about {left_s:.0f} s left" if left_s >= 1 else f"{text}, soon done"
