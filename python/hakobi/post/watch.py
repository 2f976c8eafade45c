"""New steps while a run goes on: the folder is looked at time and again, viewers are told by server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from hakobi.post import answers
from hakobi.post.catalogue import Catalogue

MOST_STREAMS = 200
_BEAT_S = 15.0


class Watcher:
    """Looks every `poll_s`, less often where looking takes long: at most a fifth of the time."""

    def __init__(self, catalogue: Catalogue, poll_s: float) -> None:
        self._catalogue, self._poll_s = catalogue, poll_s
        self._queues: set[asyncio.Queue[str]] = set()
        self._is_stopping = False

    def has_room(self) -> bool:
        return len(self._queues) < MOST_STREAMS

    def stop(self) -> None:
        """Ends all streams."""
        self._is_stopping = True
        for queue in self._queues:
            with contextlib.suppress(asyncio.QueueFull):
                queue.put_nowait("")

    async def run(self) -> None:
        """For as long as the server runs."""
        while True:
            begin = time.monotonic()
            changed = await run_in_threadpool(self._catalogue.scan)
            for series in changed:
                self._tell(answers.describe_series(series))
            await asyncio.sleep(max(self._poll_s, 4 * (time.monotonic() - begin)))

    def _tell(self, news: dict[str, Any]) -> None:
        text = f"event: series\ndata: {json.dumps(news)}\n\n"
        for queue in list(self._queues):
            if queue.full():  # a slow client gets the newest only
                queue.get_nowait()
            queue.put_nowait(text)

    async def events(self, request: Request) -> AsyncIterator[str]:
        """The events for one viewer, with a beat now and then that finds those who left."""
        queue: asyncio.Queue[str] = asyncio.Queue(64)
        self._queues.add(queue)
        try:
            yield "retry: 2000\n\n"
            while not self._is_stopping:
                try:
                    text = await asyncio.wait_for(queue.get(), _BEAT_S)
                except TimeoutError:
                    text = ": beat\n\n"
                if not text or await request.is_disconnected():
                    return
                yield text
        finally:
            self._queues.discard(queue)
