"""A relay of HTTP that does to chosen requests what bad networks and busy servers do, and notes what it carries."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

#: Decides the fate of a request, by its number (from 1), method and path: "" nothing, "500" the server says
#: so and has done nothing, "lost" it is carried out and the connection ends without an answer, "half" it ends
#: amid the answer.
Fault = Callable[[int, str, str], str]


class Carried(NamedTuple):
    """A request, and how many bytes its answer had."""

    method: str
    path: str
    range: str  #: the header, or ""
    num_bytes: int


class _Relay(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, fault: Fault) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.port, self.fault = port, fault
        self.lock, self.num_requests, self.num_faults = threading.Lock(), 0, 0
        self.carried: list[Carried] = []

    def next_fault(self, method: str, path: str) -> str:
        with self.lock:
            self.num_requests += 1
            fault = self.fault(self.num_requests, method, path)
            self.num_faults += fault != ""
            return fault

    def handle_error(self, request: object, client_address: object) -> None:
        """The client has ended a connection: nothing to tell."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Relay

    def _carry(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self.server.next_fault(self.command, self.path)
        if fault == "500":
            text = b"<Error><Code>InternalError</Code><Message>injected</Message></Error>"
            self._answer(500, [("Content-Type", "application/xml")], text, len(text))
            return
        far = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        try:
            far.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                far.putheader(name, value)
            far.endheaders(body)
            answer = far.getresponse()
            content = answer.read()
        except OSError:  # the server is away: so is the line
            self.close_connection = True
            return
        finally:
            far.close()
        with self.server.lock:
            self.server.carried.append(Carried(self.command, self.path, self.headers.get("Range", ""), len(content)))
        if fault == "lost":
            self.close_connection = True
            return
        headers = [
            (n, v)
            for n, v in answer.getheaders()
            if n.lower() not in ("content-length", "transfer-encoding", "connection")
        ]
        length = int(answer.headers.get("Content-Length", 0)) if self.command == "HEAD" else len(content)
        if fault == "half":
            content = content[: len(content) // 2]
            self.close_connection = True
        self._answer(answer.status, headers, content, length)

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes, length: int) -> None:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _carry  # noqa: N815 (http.server's names)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Says nothing."""


@contextlib.contextmanager
def unreliable_line(port: int, fault: Fault) -> Iterator[_Relay]:
    """A port at 127.0.0.1 (`server_port`) that leads to `port` there."""
    with _Relay(port, fault) as relay:
        threading.Thread(target=relay.serve_forever, daemon=True).start()
        try:
            yield relay
        finally:
            relay.shutdown()
