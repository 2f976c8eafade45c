"""Where ECMWF's FDB 5 is: the libraries of PyPI's wheels, which the extra `fdb` installs, for programs that load it."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

#: The wheels whose libraries libfdb5.so needs, itself first.
_WHEELS = ("fdb5lib", "metkitlib", "eckitlib", "eccodeslib")


def library_folders() -> list[Path]:
    """The folders of the wheels' libraries; empty where FDB is not installed as wheels.

    >>> all(folder.is_dir() for folder in library_folders())
    True
    """
    folders = []
    for wheel in _WHEELS:
        found = importlib.util.find_spec(wheel)
        if found is None or not found.submodule_search_locations:
            return []
        folders.append(Path(next(iter(found.submodule_search_locations))) / "lib64")
    return [folder for folder in folders if folder.is_dir()]


def environment() -> dict[str, str]:
    """The variables that a program needs to load FDB, added to the loader's present path."""
    folders = library_folders()
    if not folders:
        return {}
    earlier = [path for path in (os.environ.get("LD_LIBRARY_PATH"),) if path]
    return {"LD_LIBRARY_PATH": ":".join([*map(str, folders), *earlier])}
