"""Who may ask: a random token once in the address, then as a cookie; only names of this server as Host; only its own
pages as Origin; only reading."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

_KNOWN = "hakobi-is-known"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


class Guard:
    """ASGI middleware in front of everything. `hosts` are the names that the server answers to, in lower case."""

    def __init__(self, app: Any, token: str, hosts: frozenset[str]) -> None:
        self._app, self._token, self._hosts = app, token, hosts
        # Cookies know no ports: each server has a name of its own, so that two on one machine do not meet.
        self.cookie = "hakobi-post-" + secrets.token_hex(4)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # no websockets
        refusal = self._refuse(scope)
        if refusal:
            await _refuse(send, *refusal)
            return
        scope.setdefault("state", {})[_KNOWN] = True
        given = self._token_in_address(scope)

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *HEADERS]
                if given:
                    cookie = f"{self.cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
                    message["headers"].append((b"set-cookie", cookie.encode()))
            await send(message)

        await self._app(scope, receive, with_headers)

    def _refuse(self, scope: Scope) -> tuple[int, str] | None:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        hosts = headers.get(b"host", [])
        host = hosts[0].decode("latin-1").lower() if len(hosts) == 1 else ""
        if _name_of(host) not in self._hosts:
            return 421, "This server does not answer to that Host."
        for origin in headers.get(b"origin", []):
            if _host_of(origin.decode("latin-1").lower()) != host:
                return 403, "Requests of other sites are refused."
        if headers.get(b"sec-fetch-site", [b"none"])[0] == b"cross-site" and scope["path"] != "/":
            return 403, "Requests of other sites are refused."
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "This server only reads: GET and HEAD."
        if not self._token_in_address(scope) and not self._has_cookie(headers.get(b"cookie", [])):
            return 403, "Open the address with the token that `hakobi post` printed."
        return None

    def _token_in_address(self, scope: Scope) -> bool:
        if scope["path"] != "/":
            return False
        try:
            given = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=20).get("token", [""])[0]
        except ValueError:
            return False
        return hmac.compare_digest(given.encode(), self._token.encode())

    def _has_cookie(self, values: list[bytes]) -> bool:
        for value in values:
            try:
                morsel = SimpleCookie(value.decode("latin-1")).get(self.cookie)
            except CookieError:
                continue
            if morsel is not None and hmac.compare_digest(morsel.value.encode(), self._token.encode()):
                return True
        return False


def is_known(scope: Scope) -> bool:
    """Whether the request came with the token."""
    return bool(scope.get("state", {}).get(_KNOWN))


def _name_of(host: str) -> str:
    """A Host header's name, without the port: a tunnel may end at any."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


async def _refuse(send: Send, status: int, text: str) -> None:
    body = text.encode() + b"\n"
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),  # what else the client sends is not read
        *HEADERS,
    ]
    if status == 405:
        headers.append((b"allow", b"GET, HEAD"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
