"""Opens a step's file, whatever kind it is."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from hakobi.post import classic, hdf5, vtkhdf, zarr_store
from hakobi.post.source import Identity, Step, open_file


def open_step(path: Path, root: Path | None = None) -> Step:
    """Opens a step's file. Files that it names by links of its own (VTKHDF) must lie below `root`, by default its
    folder. Raises FileNotFoundError, PermissionError, FormatError (torn, still being written, of another kind)."""
    if zarr_store.is_store(path):
        metadata = path / zarr_store.METADATA
        return Step(path, zarr_store.survey(path), -1, (Identity.of(metadata, metadata.lstat()),))
    fd = open_file(path)
    try:
        identity = Identity.of(path, os.fstat(fd))
        if os.pread(fd, 3, 0) == b"CDF":
            found = classic.survey(fd, path)
        else:
            found = hdf5.survey(fd, path, partial(vtkhdf.survey, fd=fd, path=path, root=root or path.parent))
        others = found.mesh.identities() if found.mesh else ()
        return Step(path, found, fd, (identity, *others))
    except BaseException:
        os.close(fd)
        raise
