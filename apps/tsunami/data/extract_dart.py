"""Cuts the hours around the 2011 tsunami out of NOAA's DART records and stores them as one small table.

Usage: extract_dart.py FOLDER dart_tohoku_2011.csv

FOLDER has 21401.txt, 21413.txt, 21418.txt and 21419.txt: the records of March 2011 as NOAA's National Data Buoy Center
gives them (https://www.ndbc.noaa.gov/station_history.php?station=21418; columns: year month day hour minute second,
sampling kind, height of the water column in metres; 9999 where there is none).
"""

import csv
import datetime
import pathlib
import sys

ORIGIN = datetime.datetime(2011, 3, 11, 5, 46, 24)
BUOYS = (21418, 21401, 21413, 21419)
HOURS_BEFORE, HOURS_AFTER = 12, 12


def main(folder: str, target: str) -> None:
    rows = []
    for buoy in BUOYS:
        heights = {}
        for line in (pathlib.Path(folder) / f"{buoy}.txt").read_text().splitlines():
            if line.startswith("#"):
                continue
            *when, _kind, height = line.split()
            seconds = (datetime.datetime(*map(int, when)) - ORIGIN).total_seconds()
            if -HOURS_BEFORE * 3600 <= seconds <= HOURS_AFTER * 3600 and float(height) < 9000:
                heights[int(seconds)] = height
        rows += [(buoy, seconds, height) for seconds, height in sorted(heights.items())]
    with pathlib.Path(target).open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("buoy", "seconds_after_origin", "water_column_m"))
        writer.writerows(rows)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: extract_dart.py FOLDER TARGET.CSV")
    main(sys.argv[1], sys.argv[2])
