#!/usr/bin/env python3
"""Times each threshold of the engine with its value and without it, on the cases that it exists for.

    without.py [--rounds 5] [--threshold NAME]... [--storage model|tmpfs] [--json FILE]
    without.py --library before/libhakobi_mpiio.so --case small-calls     another build instead

The table of thresholds is docs/hints.md's, which a test compares with the code. Run it with the project's Python
(.venv/bin/python).

1. A case is one of `hakobi bench collective --suite regressions`. A job repeats it under the drop-in, with the
   threshold's default or with the value at which it does not exist; the two take turns, forwards and then backwards.
2. A round's ratio is the speed with the threshold over the speed without, by the medians of its two jobs. The row
   shows the ratio of the medians over all rounds and the range of the rounds' ratios. A threshold pays in a row whose
   whole range is above 1.
3. Rows of `study stripes` are simulated: each scale is one number with and one without.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import statistics
import sys
import tempfile
from pathlib import Path

from hakobi.errors import HakobiError, RunError
from hakobi.measuring import regressions
from hakobi.measuring.regression_cases import CASES, MODEL, TMPFS, Case
from hakobi.measuring.regressions import OURS, Contender, Row
from hakobi.records import Record

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| `hakobi_policy_(\w+)` \| `(\d+)` \| `(\d+)` \| ([^|]*) \|$", re.MULTILINE)
STRIPES = "study stripes"


@dataclasses.dataclass(frozen=True)
class Threshold:
    name: str
    default: int
    without: int
    rows: str

    def cases(self) -> list[Case]:
        by_name = {case.name: case for case in CASES}
        return [by_name[word] for word in self.rows.split() if word in by_name]


def thresholds() -> list[Threshold]:
    text = (ROOT / "docs/hints.md").read_text()
    return [Threshold(name, int(default), int(without), rows) for name, default, without, rows in ROW.findall(text)]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threshold", action="append", default=[], metavar="NAME")
    parser.add_argument("--case", action="append", default=[], metavar="NAME", help="these cases instead of its own")
    parser.add_argument("--storage", choices=(MODEL, TMPFS), action="append", default=[])
    parser.add_argument("--library", type=Path, help="a drop-in of another build, in place of a threshold's absence")
    parser.add_argument("--dir", type=Path, default=Path("/dev/shm"), help="where the files go; a memory file system")
    parser.add_argument("--json", type=Path, help="append a record for each row")
    return parser.parse_args()


def row_of(case: Case, storage: str, one: Contender, other: Contender, rounds: int, folder: Path) -> list[Record]:
    """A record for each operation. Raises HakobiError."""
    row = Row(case, storage)
    for turn in range(rounds):
        for contender in (one, other) if turn % 2 == 0 else (other, one):
            regressions._run_job(row, contender, turn, folder, 120)
    if row.failed:
        raise RunError(f"{case.name}, {storage}: {row.failed}")
    records = []
    for operation in sorted({operation for operation, _ in row.samples}):
        medians = [
            [statistics.median(float(line["time_s"]) for line in samples) for samples in taken.values()]
            for taken in (row.samples[operation, one.names[0]], row.samples[operation, other.names[0]])
        ]
        ratios = [without / own for own, without in zip(*medians, strict=True)]
        records.append(
            {
                "case": case.name,
                "storage": storage,
                "operation": operation,
                "with_s": statistics.median(medians[0]),
                "without_s": statistics.median(medians[1]),
                "ratio": statistics.median(medians[1]) / statistics.median(medians[0]),
                "low": min(ratios),
                "high": max(ratios),
            }
        )
    return records


def shown(name: str, record: Record) -> str:
    pays = "pays" if record["low"] > 1 else "costs" if record["high"] < 1 else ""
    return (
        f"{name:30} {record['case']:16} {record['storage']:6} {record['operation']:6} {record['ratio']:6.2f} "
        f"({record['low']:.2f} to {record['high']:.2f}) {pays}"
    )


def main() -> int:
    asked = parsed()
    known = thresholds()
    for name in asked.threshold:
        if name not in {each.name for each in known}:
            print(f"without.py: no threshold '{name}'", file=sys.stderr)
            return 2
    chosen = [each for each in known if not asked.threshold or each.name in asked.threshold]
    cases = {case.name: case for case in CASES}
    work = [
        (each.name, case, f"hakobi_policy_{each.name}={each.without}")
        for each in chosen
        for case in ([cases[name] for name in asked.case] or each.cases())
    ]
    if asked.library:
        work = [(asked.library.parent.name, cases[name], "") for name in asked.case]
    with tempfile.TemporaryDirectory(dir=asked.dir) as folder:
        for name, case, hints in work:
            for storage in asked.storage or case.storages:
                one = Contender((OURS,), has_drop_in=True)
                other = Contender(("without",), {"HAKOBI_HINTS": hints} if hints else {}, has_drop_in=True)
                if asked.library:
                    other = Contender(("without",), has_drop_in=True, drop_in=asked.library.resolve())
                try:
                    records = row_of(case, storage, one, other, asked.rounds, Path(folder))
                except HakobiError as error:
                    print(f"{name:30} {case.name:16} {storage:6} failed: {error}", flush=True)
                    continue
                for record in records:
                    print(shown(name, record), flush=True)
                    if asked.json:
                        with asked.json.open("a") as file:
                            file.write(json.dumps({"threshold": name, **record}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
