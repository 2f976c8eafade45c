"""Prints what VTK's own reader finds in VTKHDF files: a line of JSON a file, or a step where a file has several.

Run by a Python that has VTK, or by pvpython.

show_mesh.py FILE...
"""

import json
import sys
from pathlib import Path


def grids_of(path):
    """Each step and its time, None where the file has no times. By ParaView's reader where this is its Python."""
    try:
        from paraview.simple import VTKHDFReader
    except ImportError:
        from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
        from vtkmodules.vtkIOHDF import vtkHDFReader

        reader = vtkHDFReader()
        reader.SetFileName(path)
        reader.UpdateInformation()
        times = reader.GetOutputInformation(0).Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS())
        for time in times or [None]:
            reader.Update() if time is None else reader.UpdateTimeStep(time)
            yield time, reader.GetOutputDataObject(0)
        return
    from paraview import servermanager

    reader = VTKHDFReader(FileName=[path])
    for time in reader.TimestepValues or [None]:
        reader.UpdatePipeline() if time is None else reader.UpdatePipeline(time)
        yield time, servermanager.Fetch(reader)


def told_of(grid, time):
    cells, points = grid.GetCellData(), grid.GetPointData()
    ghosts = cells.GetArray("vtkGhostType")
    fields = grid.GetFieldData()
    level = fields.GetArray("level")
    return {
        "points": grid.GetNumberOfPoints(),
        "cells": grid.GetNumberOfCells(),
        "types": [grid.GetCellType(i) for i in range(grid.GetNumberOfCells())],
        "bounds": list(grid.GetBounds()),
        "p": list(cells.GetArray("p").GetRange()),
        "U": cells.GetArray("U").GetNumberOfComponents(),
        "T": list(points.GetArray("T").GetRange()),
        "ghosts": [int(ghosts.GetValue(i)) for i in range(ghosts.GetNumberOfValues())],
        "level": [level.GetValue(i) for i in range(level.GetNumberOfTuples())],
        "time": fields.GetArray("TimeValue").GetValue(0) if time is None else time,
    }


def main():
    for path in sys.argv[1:]:
        for time, grid in grids_of(path):
            print(json.dumps({"file": Path(path).name, **told_of(grid, time)}), flush=True)


if __name__ == "__main__":
    main()
