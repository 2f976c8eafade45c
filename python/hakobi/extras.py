"""The libraries that parts of the package need beside click: the extras of pyproject.toml, installed by `pip install
'hakobi[post]'`. A part imports its libraries where it uses them; a missing one ends in one line."""

from __future__ import annotations

from hakobi import plugins

#: Extra -> what it is for, and the modules that only it brings.
EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "measure": ("tune, assess and doctor", ("rich", "scipy")),
    "post": (
        "looking at results: post, ls and index",
        ("google_crc32c", "h5py", "matplotlib", "numcodecs", "obstore", "starlette", "uvicorn"),
    ),
    "fdb": ("copies to and from ECMWF's FDB", ("fdb5lib",)),
    "xarray": ("opening results with xarray", ("dask", "h5netcdf", "h5py", "xarray")),
}


def advice(module: str, command: str = "") -> str:
    """Says what to install for a module that could not be imported, for the command with these words or without one:
    the first extra that brings it, or the workbench for its commands; "" where none does.

    >>> advice("scipy.special")
    "pip install 'hakobi[measure]' (tune, assess and doctor)"
    >>> advice("h5py", "ls")
    "pip install 'hakobi[post]' (looking at results: post, ls and index)"
    >>> advice("jinja2", "study output-methods")
    "pip install ./lab in Hakobi's source repository (docs/install.md)"
    >>> advice("nowhere")
    ''
    """
    root = module.partition(".")[0]
    if root in ("numpy", "psutil"):  # which pip brings; an installation by CMake may lack them
        return f"pip install {root}"
    if command.partition(" ")[0] in plugins.WORKBENCH and not root.startswith("hakobi"):
        return plugins.HOW_TO_GET_IT
    named = [extra for extra, (_purpose, modules) in EXTRAS.items() if root in modules]
    return f"pip install 'hakobi[{named[0]}]' ({EXTRAS[named[0]][0]})" if named else ""
