"""Finds the first wave in the DART records and writes the list of gauges that the program reads.

Usage: observed_waves.py dart_tohoku_2011.csv gauges_tohoku_2011.json   (needs numpy)

The tide is a polynomial of degree 12 fitted to the 24 hours by least squares with the tsunami's own hours left out,
and what remains is the tsunami. It arrives when the surface first reaches 0.2 m, linear between samples; its first
crest is the first sample of at least 0.2 m that is not exceeded in the 15 minutes after it. The first 15 minutes after
the earthquake are left out, when a pressure gauge records seismic waves (those reach 0.1 m for a while longer).
gauges.cpp applies the same rules to the computed records.
"""

import json
import pathlib
import sys

import numpy as np

ORIGIN = "2011-03-11T05:46:24Z"
THRESHOLD_M, WINDOW_S, FROM_S = 0.2, 15 * 60, 15 * 60
TIDE_DEGREE = 12
TSUNAMI_S = (0.0, 6 * 3600.0)
# Positions: B. T. MacInnes, A. R. Gusman, R. J. LeVeque, Y. Tanioka, Comparison of earthquake source models
# for the 2011 Tohoku event using tsunami simulations and near-field observations, BSSA 103 (2013), 1256-1274
# (its run set-up).
POSITIONS = {
    21418: (148.694, 38.711),
    21401: (152.583, 42.617),
    21413: (152.1167, 30.5153),
    21419: (155.736, 44.455),
}


def without_tide(seconds: np.ndarray, height_m: np.ndarray) -> np.ndarray:
    """Height less the tide, both in metres; `seconds` after the origin, ascending."""
    scaled = seconds / np.abs(seconds).max()
    calm = (seconds < TSUNAMI_S[0]) | (seconds > TSUNAMI_S[1])
    tide = np.polynomial.Chebyshev.fit(scaled[calm], height_m[calm], TIDE_DEGREE, domain=[-1, 1])
    return height_m - tide(scaled)


def first_crest(seconds: np.ndarray, eta_m: np.ndarray) -> tuple[float, float]:
    """Time (s) and height (m) of the first crest."""
    for i in range(len(seconds)):
        if seconds[i] < FROM_S or eta_m[i] < THRESHOLD_M:
            continue
        after = (seconds > seconds[i]) & (seconds <= seconds[i] + WINDOW_S)
        if not np.any(eta_m[after] > eta_m[i]):
            return float(seconds[i]), float(eta_m[i])
    raise SystemExit("observed_waves: a record has no crest")


def arrival(seconds: np.ndarray, eta_m: np.ndarray) -> float:
    """Time (s) at which the surface first reaches the threshold."""
    for i in range(1, len(seconds)):
        if seconds[i - 1] >= FROM_S and eta_m[i - 1] < THRESHOLD_M <= eta_m[i]:
            part = (THRESHOLD_M - eta_m[i - 1]) / (eta_m[i] - eta_m[i - 1])
            return float(seconds[i - 1] + part * (seconds[i] - seconds[i - 1]))
    raise SystemExit("observed_waves: a record has no tsunami")


def main(source: str, target: str) -> None:
    table = np.loadtxt(source, delimiter=",", skiprows=1)
    gauges = []
    for buoy, (longitude, latitude) in POSITIONS.items():
        record = table[table[:, 0] == buoy]
        seconds, height_m = record[:, 1], record[:, 2]
        eta_m = without_tide(seconds, height_m)
        time_s, crest_m = first_crest(seconds, eta_m)
        gauges.append(
            {
                "name": f"DART {buoy}",
                "longitude": longitude,
                "latitude": latitude,
                "arrival_minutes": round(arrival(seconds, eta_m) / 60, 1),
                "first_crest_minutes": round(time_s / 60, 1),
                "first_crest_m": round(crest_m, 2),
            }
        )
    with pathlib.Path(target).open("w") as file:
        json.dump(
            {
                "origin_time": ORIGIN,
                "source": "NOAA National Data Buoy Center, DART records of March 2011, one value a minute; "
                "derived by observed_waves.py",
                "gauges": gauges,
            },
            file,
            indent=2,
        )
        file.write("\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: observed_waves.py RECORDS.CSV GAUGES.JSON")
    main(sys.argv[1], sys.argv[2])
