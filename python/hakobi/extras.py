"""The libraries that parts of the package need beside click: the extras of pyproject.toml, installed by `pip install
'hakobi[plots]'`. A part imports its libraries where it uses them; a missing one ends in one line."""

from __future__ import annotations

#: Extra -> what it is for, and the modules that only it brings.
EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "measure": ("benchmarks, compare and doctor", ("psutil", "rich", "scipy")),
    "plots": ("studies and reports", ("h5py", "jinja2", "matplotlib", "mpl_toolkits", "PIL")),
    "post": (
        "looking at results: post, ls and index",
        ("google_crc32c", "h5py", "matplotlib", "numcodecs", "obstore", "starlette", "uvicorn"),
    ),
    "fdb": ("copies to and from ECMWF's FDB", ("fdb5lib",)),
    "xarray": ("opening results with xarray", ("dask", "h5netcdf", "h5py", "xarray")),
}

#: The first word of a command -> its extra.
OF_COMMANDS = {
    **dict.fromkeys(("bench", "compare", "doctor"), "measure"),
    **dict.fromkeys(("demo", "report", "study"), "plots"),
    **dict.fromkeys(("index", "ls", "post"), "post"),
}


def advice(module: str, command: str = "") -> str:
    """Says what to install for a module that could not be imported: the extra of the command that needs it, where its
    words are given and it has one, or the first that brings the module; "" where none does.

    >>> advice("scipy.special")
    "pip install 'hakobi[measure]' (benchmarks, compare and doctor)"
    >>> advice("h5py", "ls")
    "pip install 'hakobi[post]' (looking at results: post, ls and index)"
    >>> advice("psutil", "study output-methods")
    "pip install 'hakobi[plots]' (studies and reports)"
    >>> advice("nowhere")
    ''
    """
    root = module.partition(".")[0]
    if root == "numpy":  # which pip brings; an installation by CMake may lack it
        return "pip install numpy"
    named = [extra for extra, (_purpose, modules) in EXTRAS.items() if root in modules]
    if not named:
        return ""
    extra = OF_COMMANDS.get(command.partition(" ")[0], named[0])
    return f"pip install 'hakobi[{extra}]' ({EXTRAS[extra][0]})"
