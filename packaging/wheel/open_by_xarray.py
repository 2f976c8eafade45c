"""A field store and the steps of PREFIX as xarray's data sets. Usage: open_by_xarray.py PREFIX"""

import sys

import numpy as np
import xarray

import hakobi

t = np.linspace(250, 300, 12).reshape(3, 4)
key = "class=od,stream=oper,expver=0001,date=20260101,time=0000,type=fc,levtype=sfc,step={},param=2t"
with hakobi.open_store("store", schema="weather") as store:
    for step in (0, 6):
        store.archive(key.format(step), t + step)
opened = xarray.open_dataset("store", engine="hakobi", request="step=6")
assert (next(iter(opened.data_vars.values())).values == t + 6).all()
with xarray.open_dataset(f"{sys.argv[1]}_000001.nc", engine="h5netcdf") as step:
    assert step.eta[..., 1, 2].item() == 403
print(opened)
