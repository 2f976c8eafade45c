"""mesh_by_vtk.py PREFIX EDGE STEPS: the same fields (bench.h) by VTK's parallel writer, vtkXMLPUnstructuredGridWriter.

A step is a file a rank, PREFIX_<step>_<rank>.vtu, and PREFIX_<step>.pvtu, which names them; the format has the mesh in
every file. What makes it fast is set: raw appended data, no compressor, large writes. Where VTK is built with MPI
(Debian's python3-paraview, with python3-mpi4py) the ranks share its controller; else (PyPI's wheels of vtk and mpi4py)
each writes its piece.
`mesh_by_vtk.py check PREFIX STEP` reads a step's files back, alone.
"""

import sys
import time
from pathlib import Path

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray, vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkUnstructuredGrid
from vtkmodules.vtkIOParallelXML import vtkXMLPUnstructuredGridWriter
from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader

FIELDS = (("p", 1), ("U", 3), ("gradU", 9))
BLOCK_BYTES = 16 << 20  # of one write to the file; VTK's default is 32 KiB


def controller():
    """VTK's own over MPI, which mpi4py has initialised; None where VTK is built without."""
    try:
        from vtkmodules.vtkParallelMPI import vtkMPIController
    except ImportError:
        return None
    made = vtkMPIController()
    made.Initialize()
    return made


def grid_of(size):
    """Three factors, as near to each other as they can be."""
    found = [(a, b, size // a // b) for a in range(1, size + 1) for b in range(1, size + 1) if size % (a * b) == 0]
    return min(found, key=lambda dims: (max(dims) - min(dims), dims))


def part_of(edge, rank, size):
    """(first, extent) of the rank's hexahedra, slowest dimension first."""
    dims = grid_of(size)
    place = (rank // (dims[1] * dims[2]), rank // dims[2] % dims[1], rank % dims[2])
    first = [edge * at // of for at, of in zip(place, dims, strict=True)]
    return first, [edge * (at + 1) // of - begin for at, of, begin in zip(place, dims, first, strict=True)]


def mesh_of(first, extent):
    axes = [np.arange(begin, begin + length + 1, dtype=float) for begin, length in zip(first, extent, strict=True)]
    z, y, x = np.meshgrid(*axes, indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    row = extent[2] + 1
    plane = row * (extent[1] + 1)
    z, y, x = np.meshgrid(*(np.arange(length, dtype=np.int64) for length in extent), indexing="ij")
    corners = np.array([0, 1, row + 1, row, plane, plane + 1, plane + row + 1, plane + row])
    connectivity = ((z * plane + y * row + x).ravel()[:, None] + corners).ravel()
    cells = vtkCellArray()
    offsets = 8 * np.arange(np.prod(extent) + 1, dtype=np.int64)
    cells.SetData(numpy_to_vtkIdTypeArray(offsets, deep=True), numpy_to_vtkIdTypeArray(connectivity, deep=True))
    grid, vtk_points = vtkUnstructuredGrid(), vtkPoints()
    vtk_points.SetData(numpy_to_vtk(points, deep=True))
    grid.SetPoints(vtk_points)
    grid.SetCells(12, cells)
    return grid


def write(prefix, edge, steps):
    from mpi4py import MPI

    ranks, mpi = controller(), MPI.COMM_WORLD
    first, extent = part_of(edge, mpi.rank, mpi.size)
    grid = mesh_of(first, extent)
    num_cells = int(np.prod(extent))
    first_cell = sum(int(np.prod(part_of(edge, rank, mpi.size)[1])) for rank in range(mpi.rank))
    for step in range(steps):
        values = []
        for f, (name, components) in enumerate(FIELDS):
            numbers = np.arange(components * first_cell, components * (first_cell + num_cells), dtype=float)
            values.append((3 * numbers + f + 0.5 * step).reshape(num_cells, components))
            array = numpy_to_vtk(values[-1])
            array.SetName(name)
            grid.GetCellData().AddArray(array)
        if mpi.rank == 0 and step > 0:  # as bench.h says
            for path in files_of(prefix, step - 1):
                path.unlink()
        mpi.Barrier()
        begin_s = time.monotonic()
        writer = vtkXMLPUnstructuredGridWriter()
        if ranks is not None:
            writer.SetController(ranks)
        writer.SetInputDataObject(grid)
        writer.SetFileName(f"{prefix}_{step:06d}.pvtu")
        writer.SetNumberOfPieces(mpi.size)
        writer.SetStartPiece(mpi.rank)
        writer.SetEndPiece(mpi.rank)
        writer.SetDataModeToAppended()
        writer.EncodeAppendedDataOff()
        writer.SetCompressorTypeToNone()
        writer.SetHeaderTypeToUInt64()
        writer.SetBlockSize(BLOCK_BYTES)
        if writer.Write() != 1:
            sys.exit("vtkXMLPUnstructuredGridWriter failed")
        mpi.Barrier()
        if mpi.rank == 0:
            print(f"{time.monotonic() - begin_s:.6f} {13 * 8 * edge**3}", flush=True)


def files_of(prefix, step, ending="*"):
    found = Path(prefix).parent.glob(f"{Path(prefix).name}_{step:06d}{ending}")
    return sorted(found, key=lambda path: (len(path.name), path))


def check(prefix, step):
    first = [0, 0, 0]
    pieces = files_of(prefix, step, "_*.vtu")
    for piece in pieces:
        reader = vtkXMLUnstructuredGridReader()
        reader.SetFileName(str(piece))
        reader.Update()
        for f, (name, _) in enumerate(FIELDS):
            values = vtk_to_numpy(reader.GetOutput().GetCellData().GetArray(name)).ravel()
            numbers = np.arange(first[f], first[f] + values.size, dtype=float)
            if not np.array_equal(values, 3 * numbers + f + 0.5 * step):
                sys.exit(f"{piece}: {name} differs")
            first[f] += values.size
    if not pieces or first[1] != 3 * first[0] or first[2] != 9 * first[0]:
        sys.exit(f"step {step}: values are missing")


if __name__ == "__main__":
    if sys.argv[1] == "check":
        check(sys.argv[2], int(sys.argv[3]))
    else:
        write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
