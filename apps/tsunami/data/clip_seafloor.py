"""Clips the North Pacific's sea floor from ETOPO5 and stores it as a compact NetCDF-4 file.

Usage: clip_seafloor.py etopo5.cdf north_pacific_etopo5.nc   (needs numpy, netCDF4)

`etopo5.cdf` is NOAA's 5 arc minute relief of the Earth's surface as Debian's package `ferret-datasets` has it:

    apt-get download ferret-datasets && dpkg -x ferret-datasets_*.deb etopo
    python3 clip_seafloor.py etopo/usr/share/ferret-vis/data/etopo5.cdf north_pacific_etopo5.nc

Nodes lie at whole multiples of 5 arc minutes. The source's longitude axis was stored with a rounded step
(0.08333411 degrees instead of 1/12, which adds up to 0.003 degrees), so nodes are counted, not looked up by value.
"""

import hashlib
import sys

import netCDF4
import numpy as np

WEST, EAST, SOUTH, NORTH = 119, 241, -6, 63  # degrees: a degree more than the largest region that the program takes
NODES_PER_DEGREE = 12


def main(source: str, target: str) -> None:
    with netCDF4.Dataset(source) as etopo:
        relief = etopo["ROSE"]
        if relief.shape != (180 * NODES_PER_DEGREE + 1, 360 * NODES_PER_DEGREE):
            raise SystemExit(f"clip_seafloor: {source} is not ETOPO5: its array is {relief.shape}")
        rows = slice((SOUTH + 90) * NODES_PER_DEGREE, (NORTH + 90) * NODES_PER_DEGREE + 1)
        columns = slice(WEST * NODES_PER_DEGREE, EAST * NODES_PER_DEGREE + 1)
        clip = np.asarray(relief[rows, columns])
    if not np.array_equal(clip, np.round(clip)):
        raise SystemExit(f"clip_seafloor: {source} has heights that are not whole metres")

    with netCDF4.Dataset(target, "w", format="NETCDF4") as out:
        out.Conventions = "CF-1.8"
        out.title = "Sea floor of the North Pacific, clipped from ETOPO5"
        out.source = (
            "ETOPO5, Digital Relief of the Surface of the Earth, NOAA, National Geophysical Data Center, "
            "Data Announcement 88-MGG-02, 1988"
        )
        out.license = "public domain (work of the United States government)"
        for name, first, count, units in (
            ("lat", SOUTH, clip.shape[0], "degrees_north"),
            ("lon", WEST, clip.shape[1], "degrees_east"),
        ):
            out.createDimension(name, count)
            axis = out.createVariable(name, "f8", (name,))
            axis.units = units
            axis.standard_name = {"lat": "latitude", "lon": "longitude"}[name]
            axis[:] = first + np.arange(count) / NODES_PER_DEGREE
        height = out.createVariable(
            "z", "i2", ("lat", "lon"), zlib=True, complevel=9, shuffle=True, fletcher32=True, chunksizes=(69, 1465)
        )
        height.units = "m"
        height.standard_name = "height_above_mean_sea_level"
        height.long_name = "height of the ground above mean sea level"
        height[:] = clip.astype(np.int16)

    digest = hashlib.sha256(clip.astype("<i2").tobytes()).hexdigest()
    print(f"{target}: {clip.shape[0]} x {clip.shape[1]} nodes, {clip.min():.0f} to {clip.max():.0f} m, values {digest}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: clip_seafloor.py ETOPO5.CDF TARGET.NC")
    main(sys.argv[1], sys.argv[2])
