"""A headless Chromium whose screen is watched: when its picture had colours, and when it last changed.

The browser hands over a small copy of every frame that it shows, with the time at which it was shown (DevTools'
screencast, over a pipe: nothing of this crosses the network). So any page is timed alike, whatever draws in it.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import io
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from hakobi_lab.browser import SWITCHES

#: A pixel has colour where its channels differ by more than this; a picture where this share of the part's
#: pixels has.
_COLOUR, _SHARE = 30, 0.25

#: Left, top, right, bottom, as shares of the window.
Part = tuple[float, float, float, float]


@dataclass(frozen=True)
class Seen:
    """Seconds since the address was given: the first frame with the picture, and the last that differed from it."""

    first_s: float
    last_s: float


class Screen:
    """One browser with a profile of its own. Use with `with`."""

    def __init__(self, width: int, height: int, namespace: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="hakobi-browser-", ignore_cleanup_errors=True)
        (commands, self._to), (self._from, answers) = os.pipe(), os.pipe()
        # 3 and 4 are what the browser talks by: others' numbers are moved out of the way first
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in (commands, answers)]
        enter = ["nsenter", f"--net=/run/netns/{namespace}"] if namespace else []
        browser = ["chromium", *SWITCHES, "--remote-debugging-pipe", f"--user-data-dir={self._folder.name}"]
        shell = ["bash", "-c", f'exec "$@" 3<&{high[0]} 4>&{high[1]}', "bash"]
        self._process = subprocess.Popen(
            [*shell, *enter, *browser, f"--window-size={width},{height}", "about:blank"],
            pass_fds=high, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        for fd in (commands, answers, *high):
            os.close(fd)
        self._buffer, self._number, self._events = b"", 0, list[dict[str, Any]]()
        self._session = ""
        try:
            targets = self.call("Target.getTargets")["targetInfos"]
            target = next(t["targetId"] for t in targets if t["type"] == "page")
            self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Raises RuntimeError, TimeoutError."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        until = time.monotonic() + 60
        while (answer := self._receive(until)).get("id") != message["id"]:
            self._events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _receive(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._from], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError
            piece = os.read(self._from, 1 << 20)
            if not piece:
                raise RuntimeError("the browser ended")
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        told: dict[str, Any] = json.loads(message)
        return told

    def _frame(self, until: float) -> dict[str, Any]:
        """The next frame that was shown. Raises TimeoutError."""
        while True:
            event = self._events.pop(0) if self._events else self._receive(until)
            if event.get("method") == "Page.screencastFrame":
                frame: dict[str, Any] = event["params"]
                self.call("Page.screencastFrameAck", sessionId=frame["sessionId"])
                return frame

    def run(self, script: str) -> Any:
        """The value of the expression; a promise is waited for."""
        told = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in told:
            raise RuntimeError(str(told["exceptionDetails"].get("exception", {}).get("description", "")))
        return told["result"].get("value")

    def at_every_page(self, script: str) -> None:
        """The script runs in each page that is opened from now on, before the page's own."""
        self.call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def blank(self) -> None:
        self.call("Page.navigate", url="about:blank")
        time.sleep(0.5)
        self._events.clear()

    def watch(self, address: str, within: Part, most_s: float, quiet_s: float = 2.0) -> Seen:
        """Opens the address and looks at a part of the window until nothing has changed for `quiet_s`. Raises
        TimeoutError where there is no picture after `most_s`."""
        self.blank()
        self.call("Page.startScreencast", format="png", maxWidth=400, maxHeight=225)
        begin, until = time.time(), time.monotonic() + most_s
        self.call("Page.navigate", url=address)
        first_s = last_s = -1.0
        before = None
        try:
            while True:
                frame = self._frame(until if first_s < 0 else time.monotonic() + quiet_s)
                part = _part_of(base64.b64decode(frame["data"]), within)
                when_s = frame["metadata"]["timestamp"] - begin
                if first_s < 0 and is_picture(part):
                    first_s = last_s = when_s
                elif first_s >= 0 and before is not None and np.abs(part - before).mean() > 0.5:
                    last_s = when_s
                before = part
        except TimeoutError:
            if first_s < 0:
                raise
        self.call("Page.stopScreencast")
        self._events.clear()
        return Seen(first_s, last_s)

    def save(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for fd in (self._to, self._from):
            os.close(fd)
        self._folder.cleanup()


def _part_of(data: bytes, within: Part) -> np.ndarray[Any, np.dtype[np.float32]]:
    image = Image.open(io.BytesIO(data)).convert("RGB")
    left, top, right, bottom = (round(share * n) for share, n in zip(within, 2 * image.size, strict=True))
    return np.asarray(image.crop((left, top, right, bottom)), np.float32)


def is_picture(part: np.ndarray[Any, np.dtype[np.float32]]) -> bool:
    return bool(((part.max(axis=2) - part.min(axis=2)) > _COLOUR).mean() > _SHARE)


def why_not() -> str:
    return "" if shutil.which("chromium") else "chromium is not installed (Debian's package)"
