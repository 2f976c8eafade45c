"""A real browser for tests and benchmarks: Chromium without a window, through WebDriver (W3C) by chromedriver."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

SWITCHES = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--enable-unsafe-swiftshader",
    "--disable-popup-blocking",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
]


def why_not() -> str:
    """Why there is no browser here; "" where there is one."""
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"{' and '.join(missing)} not installed (Debian packages chromium, chromium-driver)" if missing else ""


class Browser:
    """One browser with a profile of its own. Use with `with`."""

    def __init__(self, width: int = 1600, height: int = 900, namespace: str = "", address: str = "127.0.0.1") -> None:
        """`namespace` is that of a network in which the browser is, and `address` its own there."""
        self._folder = tempfile.TemporaryDirectory(prefix="hakobi-browser-", ignore_cleanup_errors=True)
        self._driver = subprocess.Popen(
            [
                *(["nsenter", f"--net=/run/netns/{namespace}"] if namespace else []),
                "chromedriver",
                "--port=0",
                *(["--allowed-ips=", "--allowed-origins=*"] if namespace else []),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self._session = ""
        try:
            self._base = f"http://{address}:{self._port()}"
            options = {
                "binary": shutil.which("chromium"),
                "args": [
                    *SWITCHES,
                    f"--user-data-dir={self._folder.name}",
                    f"--window-size={width},{height}",
                ],
            }
            capabilities = {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}
            made = self._call("POST", "/session", {"capabilities": capabilities})
            self._session = f"/session/{made['sessionId']}"
            self._call("POST", f"{self._session}/timeouts", {"script": 20000, "pageLoad": 20000})
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _port(self) -> int:
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            if "successfully on port" in line:
                return int(line.rstrip(". \n").rpartition(" ")[2])
        raise RuntimeError("chromedriver did not start")

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._base + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            told = json.load(error)["value"]
            raise RuntimeError(f"{told['error']}: {told['message'].splitlines()[0]}") from None

    def go(self, address: str) -> None:
        """Opens a page. What the page before has written to the console is dropped: its server may be gone already."""
        self._call("POST", f"{self._session}/url", {"url": address})
        if address == "about:blank":
            self.console()

    def run(self, script: str, *arguments: Any) -> Any:
        """Returns the script's result; waits for a promise."""
        return self._call("POST", f"{self._session}/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, condition: str, timeout_s: float = 15) -> Any:
        """Waits until the expression is true and returns its value."""
        until = time.monotonic() + timeout_s
        while not (found := self.run(f"return {condition}")):
            if time.monotonic() > until:
                raise TimeoutError(f"{condition} is {found!r} after {timeout_s} s; console: {self.console()}")
            time.sleep(0.03)
        return found

    def press(self, *keys: str) -> None:
        steps = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._call("POST", f"{self._session}/actions", {"actions": [{"type": "key", "id": "keys", "actions": steps}]})

    def drag(self, points: list[tuple[int, int]], kind: str = "mouse") -> None:
        """Presses at the first point, moves over the others, lets go at the last. One point: a click."""
        move: list[dict[str, Any]] = [
            {"type": "pointerMove", "duration": 20, "x": x, "y": y, "origin": "viewport"} for x, y in points
        ]
        steps = [move[0], {"type": "pointerDown", "button": 0}, *move[1:], {"type": "pointerUp", "button": 0}]
        action = {"type": "pointer", "id": kind, "parameters": {"pointerType": kind}, "actions": steps}
        self._call("POST", f"{self._session}/actions", {"actions": [action]})

    def picture(self, path: Path | None = None) -> bytes:
        data = base64.b64decode(self._call("GET", f"{self._session}/screenshot"))
        if path is not None:
            path.write_bytes(data)
        return data

    def command(self, name: str, parameters: dict[str, Any]) -> Any:
        """One of Chromium's own commands (its DevTools protocol): another size of the window, a dark scheme."""
        told = {"cmd": name, "params": parameters}
        return self._call("POST", f"{self._session}/goog/cdp/execute", told)

    def console(self) -> list[str]:
        """Lines that the page has written to the console since the last call, errors of scripts included."""
        told = self._call("POST", f"{self._session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in told]

    def close(self) -> None:
        if self._session:
            with contextlib.suppress(Exception):
                self._call("DELETE", self._session)
            self._session = ""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._driver.pid, signal.SIGKILL)
        self._driver.wait()
        if self._driver.stdout:
            self._driver.stdout.close()
        self._folder.cleanup()
