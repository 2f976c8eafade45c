"""Hakobi carries a parallel simulation's data and proves what each carrying costs.

`hakobi.Output` writes time steps from an MPI program; the command `hakobi` measures what that costs. Importing this
package loads nothing heavy: names are fetched when they are first used.
"""

from __future__ import annotations

import importlib
from typing import Any

#: Public name -> module that has it.
_EXPORTS = {
    "Axis": "hakobi.output",
    "Block": "hakobi.output",
    "Comm": "hakobi.output",
    "FormatError": "hakobi.errors",
    "HakobiError": "hakobi.errors",
    "InputError": "hakobi.errors",
    "Output": "hakobi.output",
    "StorageError": "hakobi.errors",
    "gather_pieces": "hakobi.output",
    "output_methods": "hakobi.output",
    "split": "hakobi.output",
}

__all__ = [*_EXPORTS, "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("hakobi")
    if name in _EXPORTS:
        return getattr(importlib.import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'hakobi' has no attribute {name!r}")
