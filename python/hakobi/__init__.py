"""Hakobi carries a parallel simulation's data and proves what each carrying costs.

`hakobi.Output` writes time steps from an MPI program; the command `hakobi` measures what that costs. Importing this
package loads nothing heavy: names are fetched when they are first used.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if sys.version_info < (3, 9):  # noqa: UP036 (pip says so itself; a folder in PYTHONPATH does not)
    raise ImportError(f"hakobi needs Python 3.9 or newer, this is {sys.version.split()[0]}")

if TYPE_CHECKING:  # what _EXPORTS fetches, for type checkers and editors
    from hakobi.collectives import CollectivePlan, Collectives
    from hakobi.errors import ExistsError, FormatError, HakobiError, InputError, RunError, StorageError
    from hakobi.exchange import BufferArray, BufferArrays, Halo, HaloGrid, allocate_shared
    from hakobi.fields import Block, FieldId
    from hakobi.input import Input, InputField
    from hakobi.mesh import InputMesh, MeshPart
    from hakobi.output import Comm, Output, dims_of_ranks, gather_pieces, output_methods, split
    from hakobi.output_options import Axis
    from hakobi.outputs import Derived, Outputs
    from hakobi.store import Store, open_store
    from hakobi.topology import Reordering, Topology, reordered
    from hakobi.uncaught import report_errors

    __version__: str

#: Public name -> module that has it.
_EXPORTS = {
    "Axis": "hakobi.output_options",
    "Block": "hakobi.fields",
    "BufferArray": "hakobi.exchange",
    "BufferArrays": "hakobi.exchange",
    "CollectivePlan": "hakobi.collectives",
    "Collectives": "hakobi.collectives",
    "Comm": "hakobi.output",
    "Derived": "hakobi.outputs",
    "ExistsError": "hakobi.errors",
    "FieldId": "hakobi.fields",
    "FormatError": "hakobi.errors",
    "HakobiError": "hakobi.errors",
    "Halo": "hakobi.exchange",
    "HaloGrid": "hakobi.exchange",
    "Input": "hakobi.input",
    "InputError": "hakobi.errors",
    "InputField": "hakobi.input",
    "InputMesh": "hakobi.mesh",
    "MeshPart": "hakobi.mesh",
    "Output": "hakobi.output",
    "Outputs": "hakobi.outputs",
    "Reordering": "hakobi.topology",
    "RunError": "hakobi.errors",
    "StorageError": "hakobi.errors",
    "Store": "hakobi.store",
    "Topology": "hakobi.topology",
    "allocate_shared": "hakobi.exchange",
    "dims_of_ranks": "hakobi.output",
    "gather_pieces": "hakobi.output",
    "open_store": "hakobi.store",
    "output_methods": "hakobi.output",
    "reordered": "hakobi.topology",
    "report_errors": "hakobi.uncaught",
    "split": "hakobi.output",
}

__all__ = [
    "Axis",
    "Block",
    "BufferArray",
    "BufferArrays",
    "CollectivePlan",
    "Collectives",
    "Comm",
    "Derived",
    "ExistsError",
    "FieldId",
    "FormatError",
    "HakobiError",
    "Halo",
    "HaloGrid",
    "Input",
    "InputError",
    "InputField",
    "InputMesh",
    "MeshPart",
    "Output",
    "Outputs",
    "Reordering",
    "RunError",
    "StorageError",
    "Store",
    "Topology",
    "__version__",
    "allocate_shared",
    "dims_of_ranks",
    "gather_pieces",
    "open_store",
    "output_methods",
    "reordered",
    "report_errors",
    "split",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from hakobi._capi import VERSION

        return VERSION
    if name in _EXPORTS:
        if sys.version_info < (3, 11):
            own = sys.version.split()[0]
            raise ImportError(
                f"hakobi.{name} needs Python 3.11 or newer, this is {own}; the command hakobi run needs 3.9"
            )
        try:
            return getattr(importlib.import_module(_EXPORTS[name]), name)
        except ModuleNotFoundError as error:
            from hakobi import extras

            if how := extras.advice(error.name or ""):
                raise ModuleNotFoundError(f"hakobi.{name} needs {error.name}: {how}", name=error.name) from error
            raise
    raise AttributeError(f"module 'hakobi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
