"""Opens a step's file, whatever kind it is."""

from __future__ import annotations

from functools import partial

from hakobi.post import classic, grib, hdf5, vtkhdf, zarr_store
from hakobi.post.grib_scan import HEAD_BYTES, is_grib
from hakobi.post.grib_scan import SUFFIXES as GRIB_SUFFIXES
from hakobi.post.place import Location
from hakobi.post.reaching import open_location
from hakobi.post.source import Step


def open_step(path: Location, root: Location | None = None) -> Step:
    """Opens a step's file. Files that it names by links of its own (VTKHDF) must lie below `root`, by default its
    folder. Raises FileNotFoundError, PermissionError, FormatError (torn, still being written, of another kind)."""
    if zarr_store.is_store(path):
        found = zarr_store.survey(path)
        assert isinstance(found.reader, zarr_store.Store)
        return Step(path, found, None, (found.reader.identity,))
    file = open_location(path)
    try:
        head = file.read(HEAD_BYTES, 0)
        if head[:3] == b"CDF":
            found = classic.survey(file)
        elif is_grib(head) or path.name.endswith(GRIB_SUFFIXES):
            found = grib.survey(file)
        else:
            found = hdf5.survey(file, partial(vtkhdf.survey, opened=file, root=root or path.parent))
        others = found.mesh.identities() if found.mesh else ()
        return Step(path, found, file, (file.identity, *others))
    except BaseException:
        file.close()
        raise
