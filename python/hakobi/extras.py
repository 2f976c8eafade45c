"""What parts of the package need beside click: the extras of pyproject.toml, installed by
`pip install 'hakobi[plots]'`. A part imports its libraries where it uses them; a missing one ends in one line."""

from __future__ import annotations

#: Extra -> what it is for, and the modules that only it brings.
EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "output": ("hakobi.Output and hakobi.Store in Python", ("numpy",)),
    "measure": ("benchmarks, compare and doctor", ("psutil", "rich", "scipy")),
    "plots": ("studies with their reports", ("jinja2", "matplotlib", "mpl_toolkits", "PIL")),
    "post": ("looking at results: post, ls and index", ("google_crc32c", "starlette", "uvicorn")),
    "fdb": ("copies to and from ECMWF's FDB", ("fdb5lib",)),
    "xarray": ("opening results with xarray", ("dask", "h5netcdf", "xarray")),
}


def advice(module: str) -> str:
    """What to install for a module that could not be imported; "" where no extra brings it.

    >>> advice("scipy.special")
    "pip install 'hakobi[measure]' (benchmarks, compare and doctor)"
    >>> advice("nowhere")
    ''
    """
    root = module.partition(".")[0]
    if root == "h5py":
        return "pip install 'hakobi[post]', 'hakobi[plots]' or 'hakobi[xarray]'"
    for extra, (purpose, modules) in EXTRAS.items():
        if root in modules:
            return f"pip install 'hakobi[{extra}]' ({purpose})"
    return ""
