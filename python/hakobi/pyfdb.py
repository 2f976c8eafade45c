"""pyfdb's calls over a field store: a script moves over by `import hakobi.pyfdb as pyfdb`.

The store is the one that FDB(path) names, else $HAKOBI_STORE. Keys and requests are dictionaries, as there.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from typing import Any

from hakobi.errors import InputError
from hakobi.store import Store, open_store
from hakobi.store.library import text_of


class FDB:
    """A store behind the calls of pyfdb.FDB. `config` is the store's path, or a mapping with "path" (and "schema")."""

    def __init__(self, config: str | os.PathLike[str] | Mapping[str, Any] | None = None) -> None:
        schema = ""
        path: Any = config if config is not None else os.environ.get("HAKOBI_STORE")
        if isinstance(config, Mapping):
            if "path" not in config:
                raise InputError("a store's configuration is its path, or {'path': …, 'schema': …}")
            schema, path = str(config.get("schema", "")), config["path"]
        if not path:
            raise InputError("no store: give FDB a path, or set HAKOBI_STORE")
        self._store: Store = open_store(path, schema)

    def archive(self, data: bytes, request: Mapping[str, Any] | str | None = None) -> None:
        """Takes a field under the key `request`; without one a GRIB message, under the keywords that it has."""
        if request is None:
            self._store.archive_grib(data)
            return
        self._store.archive(request, data, "grib" if data[:4] == b"GRIB" else None)

    def flush(self) -> None:
        """Makes everything archived durable and visible."""
        self._store.flush()

    def list(
        self, request: Mapping[str, Any] | str | None = None, duplicates: bool = False, keys: bool = False
    ) -> Iterator[dict[str, Any]]:
        """For each field a dictionary with path, offset and length, and `keys` if wanted."""
        for field in self._store.list(text_of(request or ""), replaced=duplicates, strict=False):
            entry: dict[str, Any] = {"path": field.path, "offset": field.offset, "length": field.length}
            if keys:
                entry["keys"] = field.keys
            yield entry

    def retrieve(self, request: Mapping[str, Any] | str) -> io.BytesIO:
        """The selected fields, one behind the other, as a file to read."""
        return io.BytesIO(b"".join(data for _, data in self._store.retrieve(text_of(request))))


_default: FDB | None = None


def _fdb() -> FDB:
    global _default
    if _default is None:
        _default = FDB()
    return _default


def archive(data: bytes, request: Mapping[str, Any] | str | None = None) -> None:
    """FDB.archive on the store that $HAKOBI_STORE names."""
    _fdb().archive(data, request)


def flush() -> None:
    """FDB.flush on the store that $HAKOBI_STORE names."""
    _fdb().flush()


def list(  # noqa: A001, pyfdb's name
    request: Mapping[str, Any] | str | None = None, duplicates: bool = False, keys: bool = False
) -> Iterator[dict[str, Any]]:
    """FDB.list on the store that $HAKOBI_STORE names."""
    return _fdb().list(request, duplicates, keys)


def retrieve(request: Mapping[str, Any] | str) -> io.BytesIO:
    """FDB.retrieve on the store that $HAKOBI_STORE names."""
    return _fdb().retrieve(request)
