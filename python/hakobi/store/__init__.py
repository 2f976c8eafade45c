"""Fields archived and found by meaning: the calls of C++'s hakobi::Store, and the same fields as xarray.

    store = hakobi.open_store("forecast", schema="weather")
    store.archive({"class": "od", …, "step": 24, "param": "t"}, values)     # bytes, or a numpy array
    store.flush()
    for field in store.list("param=t/u,step=0/to/24/by/6"): ...
    store.sel(param="t", step=slice(0, 24))                                 # lazily, as xarray.DataArray

The functions behind it are those of hakobi_store.h; nothing here needs MPI. Errors are those of hakobi/errors.py.
"""

from __future__ import annotations

from hakobi.store.library import Field, Listing, Store, open_store

__all__ = ["Field", "Listing", "Store", "open_store"]
