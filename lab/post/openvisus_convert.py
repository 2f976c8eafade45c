"""Makes OpenVisus's own file of a field. For compare.py; run with a Python that has openvisusnogui and h5py.

openvisus_convert.py FILE FIELD FOLDER
"""

from __future__ import annotations

import sys
import time

import h5py
import OpenVisus

path, name, folder = sys.argv[1:]
begin = time.monotonic()
with h5py.File(path, "r") as file:
    field = file[name]
    nz, ny, nx = field.shape
    fields = [OpenVisus.Field(name, "float32", "row_major")]
    made = OpenVisus.CreateIdx(url=f"{folder}/field.idx", dims=[nx, ny, nz], fields=fields)
    access = made.createAccess()
    slab = 64
    for z in range(0, nz, slab):
        made.write(field[z : z + slab], x=0, y=0, z=z, access=access)
print(f"{time.monotonic() - begin:.2f}")
