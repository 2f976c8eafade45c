"""What VTK's own reader finds in VTKHDF files: a line of JSON each. Run by a Python that has VTK, or by pvpython.

show_mesh.py FILE...
"""

import json
import sys
from pathlib import Path


def grid_of(path):
    """Through ParaView's readers where this is ParaView's Python."""
    try:
        from paraview.simple import VTKHDFReader
    except ImportError:
        from vtkmodules.vtkIOHDF import vtkHDFReader

        reader = vtkHDFReader()
        reader.SetFileName(path)
        reader.Update()
        return reader.GetOutputDataObject(0)
    from paraview import servermanager

    return servermanager.Fetch(VTKHDFReader(FileName=[path]))


def main():
    for path in sys.argv[1:]:
        grid = grid_of(path)
        cells, points = grid.GetCellData(), grid.GetPointData()
        ghosts = cells.GetArray("vtkGhostType")
        print(
            json.dumps(
                {
                    "file": Path(path).name,
                    "points": grid.GetNumberOfPoints(),
                    "cells": grid.GetNumberOfCells(),
                    "types": [grid.GetCellType(i) for i in range(grid.GetNumberOfCells())],
                    "bounds": list(grid.GetBounds()),
                    "p": list(cells.GetArray("p").GetRange()),
                    "U": cells.GetArray("U").GetNumberOfComponents(),
                    "T": list(points.GetArray("T").GetRange()),
                    "ghosts": [int(ghosts.GetValue(i)) for i in range(ghosts.GetNumberOfValues())],
                    "time": grid.GetFieldData().GetArray("TimeValue").GetValue(0),
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
