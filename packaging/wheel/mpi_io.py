"""A collective write and read by MPI-IO, every second element a rank. Usage: mpi_io.py FILE"""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
values = np.arange(comm.rank, 20000 * comm.size, comm.size, dtype=np.int32)
element = MPI.INT.Create_resized(0, 4 * comm.size).Commit()
file = MPI.File.Open(comm, sys.argv[1], MPI.MODE_RDWR | MPI.MODE_CREATE)
file.Set_view(4 * comm.rank, MPI.INT, element)
file.Write_all(values)
back = np.zeros_like(values)
file.Read_at_all(0, back)
file.Close()
assert (back == values).all()
if comm.rank == 0:
    assert (np.fromfile(sys.argv[1], np.int32) == np.arange(20000 * comm.size)).all()
