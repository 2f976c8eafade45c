"""`xarray.open_dataset(path, engine="hakobi", request="…")`: a variable for each parameter of a store."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import xarray
from xarray.backends import BackendEntrypoint

from hakobi.store.arrays import dataset_of
from hakobi.store.library import open_store


class HakobiBackend(BackendEntrypoint):
    """xarray.open_dataset(path, engine="hakobi", request="param=t/u,…")."""

    description = "Fields of a Hakobi store"

    def open_dataset(
        self, filename_or_obj: Any, *, drop_variables: str | Iterable[str] | None = None, request: Any = ""
    ) -> xarray.Dataset:
        dropped = [drop_variables] if isinstance(drop_variables, str) else list(drop_variables or ())
        return dataset_of(open_store(filename_or_obj).list(request)).drop_vars(dropped, errors="ignore")

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        return isinstance(filename_or_obj, str | Path) and (Path(filename_or_obj) / "hakobi-store").is_file()
