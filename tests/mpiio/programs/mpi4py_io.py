"""Runs mpi4py's own tests of MPI.File and leaves each rank's outcomes in a file: mpi4py_io.py FOLDER-OF-ITS-TESTS."""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path


class Outcomes(unittest.TestResult):
    def __init__(self) -> None:
        super().__init__()
        self.table: dict[str, str] = {}

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().startTest(test)
        self.table[test.id()] = "passed"

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        self.table[test.id()] = f"skipped: {reason}"

    def addFailure(self, test: unittest.TestCase, error: object) -> None:  # noqa: N802
        self.table[test.id()] = "failed"

    def addError(self, test: unittest.TestCase, error: object) -> None:  # noqa: N802
        self.table[test.id()] = "error"


def main() -> None:
    sys.path.insert(0, sys.argv[1])
    tests = unittest.defaultTestLoader.loadTestsFromName("test_io")
    from mpi4py import MPI

    outcomes = Outcomes()
    tests.run(outcomes)
    rank = MPI.COMM_WORLD.Get_rank()
    Path(f"outcomes.{rank}.json").write_text(json.dumps(outcomes.table, indent=1, sort_keys=True))
    if rank == 0:
        print(f"{outcomes.testsRun} tests, {len(outcomes.table)} outcomes")


main()
