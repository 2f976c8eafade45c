"""Waiting that is visible: what is done, for how long, and about how long it still takes.

On a terminal a phase is one line that counts the seconds and goes away. In a log it is a line that stays: at once where
it is known to take longer than SILENT_S, else when so long has passed since the last line. So short phases one after
the other are one line now and then.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: Seconds that a user waits without being told why.
SILENT_S = 3.0

#: When a log got its last line (time.monotonic); None before the first phase.
_last_line_s: float | None = None


@contextmanager
def phase(text: str, expected_s: float | None = None) -> Iterator[None]:
    """Shows `text` on stderr while the block runs. `expected_s`: about how long that takes, where it is known."""
    if sys.stderr.isatty():
        with _counting(text, expected_s):
            yield
    else:
        with _logging(text, expected_s):
            yield


@contextmanager
def _logging(text: str, expected_s: float | None) -> Iterator[None]:
    global _last_line_s
    now_s = time.monotonic()
    _last_line_s = now_s if _last_line_s is None else _last_line_s
    silent_s = 0.0 if expected_s is not None and expected_s > SILENT_S else _last_line_s + SILENT_S - now_s
    line = f"{text}{words_left(0, expected_s)}"
    if silent_s <= 0:
        say(line)
        yield
        return
    timer = threading.Timer(silent_s, say, [line])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _counting(text: str, expected_s: float | None) -> Iterator[None]:
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


def run_program(text: str, command: list[str | Path], **options: Any) -> int:
    """Runs a program that says little, and at its end, within a phase. Returns its exit status. `options` go to
    subprocess.run."""
    with phase(text):
        done = subprocess.run(command, check=False, capture_output=True, **options)
    for stream, told in ((sys.stdout, done.stdout), (sys.stderr, done.stderr)):
        stream.write((told or b"").decode(errors="replace"))
        stream.flush()
    return int(done.returncode)


def say(text: str) -> None:
    """A line that stays, also within a phase."""
    global _last_line_s
    sys.stderr.write(f"\r\033[K{text}\n" if sys.stderr.isatty() else f"{text}\n")
    sys.stderr.flush()
    _last_line_s = time.monotonic()


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
