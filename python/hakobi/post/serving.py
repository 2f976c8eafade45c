"""`hakobi post` as a process: a socket, uvicorn, and the lines that tell a person how to get there."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import getpass
import os
import resource
import secrets
import shlex
import socket
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hakobi.errors import StorageError
from hakobi.post.catalogue import Catalogue
from hakobi.post.place import Location
from hakobi.post.pool import Bounds
from hakobi.post.security import LOOPBACK, Guard, is_known
from hakobi.post.server import Server

#: Connections at once; more are answered with 503.
MOST_CONNECTIONS = 1000
#: Those of them that have not shown the token yet: one more ends the oldest. Who has it sends it with the
#: first bytes, and is never among these for long.
MOST_STRANGERS = 250
#: How long a connection may take until the head of its next request is whole.
HEAD_S = 20


@dataclass(frozen=True)
class Address:
    """Where the server listens."""

    host: str
    port: int
    token: str

    @property
    def url(self) -> str:
        """The address for a browser, on this machine or at the near end of the tunnel."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def tunnel(self) -> str:
        """The command for a person's own machine."""
        return f"ssh -N -L {self.port}:{self.host}:{self.port} {getpass.getuser()}@{socket.getfqdn()}"


class _Protocol(H11Protocol):
    """A connection, bounded in time while it has no request, and in number until it has shown the token."""

    def __init__(self, *arguments: Any, strangers: OrderedDict[_Protocol, None], **words: Any) -> None:
        super().__init__(*arguments, **words)
        self._strangers = strangers
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        self._strangers[self] = None
        while len(self._strangers) > MOST_STRANGERS:
            self._strangers.popitem(last=False)[0].transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        if is_known(dict(self.cycle.scope)):
            self._strangers.pop(self, None)
        self._wait()
        super().on_response_complete()
        if not self.cycle.response_complete:  # the next request was there already
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._strangers.pop(self, None)
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(HEAD_S, self.timeout_keep_alive_handler)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Uvicorn(uvicorn.Server):
    """Ends the streams of events before it waits for the connections that are open."""

    def __init__(self, config: uvicorn.Config, hakobi: Server) -> None:
        super().__init__(config)
        self._hakobi = hakobi

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._hakobi.stop()
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """Raises StorageError where the port is taken."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # asyncio sends at once (TCP_NODELAY) only if the protocol is named; else an answer can wait 40 ms for
        # its rest.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()  # who opens the printed address at once waits
    except OSError as error:
        raise StorageError(f"cannot listen at {host}:{port}: {error.strerror}") from error
    return listener


def make_server(
    path: Location,
    listener: socket.socket,
    token: str | None = None,
    hosts: tuple[str, ...] = (),
    cache_bytes: int = 128 << 20,
    bounds: Bounds | None = None,
) -> tuple[uvicorn.Server, Address]:
    """A server that is not running yet, and its address. Raises InputError where `path` leads to nothing."""
    _allow_many_files()
    host, port = listener.getsockname()[:2]
    token = token or secrets.token_urlsafe(24)
    names = LOOPBACK | {name.lower() for name in hosts}
    hakobi = Server(Catalogue(path), cache_bytes, bounds=bounds)
    app: Any = Guard(hakobi.app, token, frozenset(names))
    protocol: Any = functools.partial(_Protocol, strangers=OrderedDict())
    config = uvicorn.Config(
        app,
        http=protocol,
        log_level="error",
        access_log=False,
        server_header=False,
        date_header=False,
        ws="none",
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=HEAD_S,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=16 << 10,
    )
    return _Uvicorn(config, hakobi), Address(host, port, token)


def _allow_many_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * MOST_CONNECTIONS if hard == resource.RLIM_INFINITY else min(hard, 4 * MOST_CONNECTIONS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def serve(path: Location, host: str, port: int, hosts: tuple[str, ...], cache_bytes: int, bounds: Bounds) -> None:
    """Serves until it is interrupted. Prints the address to stdout, the tunnel beside it."""
    with listen(host, port) as listener:
        token = os.environ.get("HAKOBI_POST_TOKEN")
        server, address = make_server(path, listener, token, hosts, cache_bytes, bounds)
        print(address.url, flush=True)
        print(f"from another machine first: {address.tunnel}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):  # how a server is ended
            server.run(sockets=[listener])


def slurm_script(path: Location) -> str:
    """A job script that serves `path` on a compute node and says in its output how to get there."""
    place = shlex.quote(str(path.absolute() if isinstance(path, Path) else path))
    return f"""#!/bin/bash
# sbatch this file; then read hakobi-post.<job>.out: it has the address and the line for ssh.
#SBATCH --job-name=hakobi-post
#SBATCH --output=hakobi-post.%j.out
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --mem=5G
#SBATCH --time=04:00:00
port=$((20000 + SLURM_JOB_ID % 20000))
echo "on your machine: ssh -N -L $port:127.0.0.1:$port -J $USER@${{SLURM_SUBMIT_HOST}} $USER@$(hostname)"
exec hakobi post {place} --port $port"""
