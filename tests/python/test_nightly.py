"""`tools/nightly`: what its parts print is counted, and a part that fails keeps no other from running; `tools/tested`:
docs/testing.md is what the record gives."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from building import ROOT

if not (ROOT / "tools" / "nightly").is_file():
    pytest.skip("the tests run without the source tree", allow_module_level=True)


def load(name: str) -> ModuleType:
    """A program of tools/ as a module; nothing is written beside it."""
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "tools" / name))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes
    return module


nightly, tested = load("nightly"), load("tested")

CTEST = """\
 1/12 Test #311: output_faults_test.2 .............   Passed   12.77 sec
 2/12 Test #7: store_kills ........................***Failed    0.50 sec

75% tests passed, 3 tests failed out of 12

Label Time Summary:
long    =  88.21 sec*proc (3 tests)

Total Test time (real) =  57.16 sec

The following tests did not run:
\t 23 - mpiio_session.2 (Skipped)

The following tests FAILED:
\t  7 - store_kills (Failed)
\t  8 - halo_test.4 (Timeout)
\t  9 - crew_test.4 (SEGFAULT)
Errors while running CTest
"""
CRASH = """\
test 801
    Start 801: crash_states_of_all_protocols.2

801: netcdf4             104 operations,   2113 states (12 orders, 180 losses, 44 nested),   14120 openers, 9.1 s
801: crash states: 118000 states, 310 orders, 9000 losses, 4400 nested, 700100 openers, 0 violations
802: crash states: 2000 states, 0 orders, 500 losses, 100 nested, 9000 openers, 1 violations
1/2 Test #801: crash_states_of_all_protocols.2 ...   Passed  812.20 sec

100% tests passed, 0 tests failed out of 2
"""
PYTEST = """\
........F.                                                               [100%]
=========================== short test summary info ============================
FAILED tests/python/test_killed.py::test_a_cell[zarr-1] - AssertionError: 2 == 3
ERROR tests/python/test_stage.py::test_killed - OSError: [Errno 28] No space left on device
SKIPPED [3] tests/python/test_mesh.py:190: the package vtk is not installed
1 failed, 8 passed, 3 skipped, 12 deselected, 1 error in 61.02s (0:01:01)
"""
FUZZ = """\
grib             1902345 runs in 601 s, 812 edges, 233 inputs kept
zarr         FOUND (status 77)
==4711==ERROR: AddressSanitizer: stack-overflow on address 0x7ffc (pc 0x1 bp 0x2 sp 0x3 T0)
src/series/receipts.cpp:51:5: runtime error: signed integer overflow: 1 + 2 cannot be represented in type 'long'
"""


def test_ctests_end_is_counted() -> None:
    summary = nightly.summary_of(CTEST)
    assert summary.counts == {"C++ tests failed": 3, "C++ tests": 8}
    assert summary.skips == 1
    assert summary.findings == ["store_kills failed", "halo_test.4 failed", "crew_test.4 failed"]


def test_crash_states_and_faults_are_summed_up() -> None:
    summary = nightly.summary_of(CRASH)
    assert summary.counts["crash states: states"] == 120000
    assert summary.counts["crash states: openers"] == 709100
    assert summary.counts["crash states: violations"] == 1
    assert summary.counts["C++ tests"] == 2
    line = "faults: 31 operations, 14 kinds, 2560 fired, 0 violations\n"
    summary = nightly.summary_of(f"17: {line}18: {line}")
    assert summary.counts == {f"faults: {k}": n for k, n in
                              (("operations", 31), ("kinds", 14), ("fired", 5120), ("violations", 0))}  # fmt: skip


def test_pytests_end_is_counted() -> None:
    summary = nightly.summary_of(PYTEST)
    assert summary.counts == {"Python tests failed": 2, "Python tests": 8}
    assert summary.skips == 3
    assert summary.findings == [
        "FAILED tests/python/test_killed.py::test_a_cell[zarr-1]",
        "ERROR tests/python/test_stage.py::test_killed",
    ]
    assert nightly.summary_of("2 passed in 0.52s\n").counts == {"Python tests": 2}
    assert nightly.summary_of("=========== 2 passed, 1 warning in 0.52s ===========\n").counts == {"Python tests": 2}


def test_fuzz_targets_and_what_sanitizers_say_are_told() -> None:
    summary = nightly.summary_of(FUZZ)
    assert summary.fuzzed == {"grib": {"seconds": 601, "runs": 1902345, "edges": 812, "inputs": 233}}
    assert summary.counts == {"fuzz seconds": 601, "fuzz runs": 1902345}
    assert [finding.split(":")[0] for finding in summary.findings] == [
        "zarr FOUND (status 77)",
        "ERROR",
        "src/series/receipts.cpp",
    ]
    here = FUZZ.replace("src/series", f"{nightly.ROOT}/src/series")
    assert nightly.summary_of(here).findings == summary.findings


def test_what_the_scripts_of_kills_say() -> None:
    summary = nightly.summary_of("200 kills, 713 steps, all whole\n50 fields; 2 findings\n")
    assert summary.counts == {"kills": 200, "steps after kills": 713, "fields drawn": 50, "fields drawn wrong": 2}


def test_a_part_goes_on_behind_a_step_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nightly, "ROOT", tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "long.txt").write_text("openmpi 9 some_test.2 another\n")
    steps = (
        nightly.Step("false | true"),
        nightly.Step('echo "$long_ctests $build"; echo 3 passed in 1.00s', {"kills": 7}),
        nightly.Step("exit 1", {"kills": 100}),
    )
    record = nightly.run_part(nightly.Part("trial", 1, "", steps), "openmpi")
    assert (record["part"], record["status"], record["seconds"]) == ("trial", "failed", 0)
    assert record["counts"] == {"Python tests": 3, "kills": 7}
    assert record["findings"] == ["false | true: failed", "exit 1: failed"]
    assert "^(some_test.2)$ build/openmpi" in (tmp_path / "build/nightly/trial.openmpi.log").read_text()
    json.dumps(record)


def test_a_part_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    status, _ = nightly.run_step(nightly.Step("sleep 100 & wait"), log, {"PATH": "/usr/bin:/bin"}, 0.3)
    assert status == "out of time"


def test_parts_fit_and_their_programs_are_there() -> None:
    assert all(0 < part.minutes <= nightly.MOST_MINUTES for part in nightly.PARTS)
    assert len({part.name for part in nightly.PARTS}) == len(nightly.PARTS)
    for part in nightly.PARTS:
        for word in " ".join(step.command for step in part.steps).split():
            if word.startswith(("tests/", "tools/")):
                assert (ROOT / word).is_file(), (part.name, word)


def test_an_unknown_part_is_refused() -> None:
    done = subprocess.run([ROOT / "tools" / "nightly", "nothing"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no part nothing; there are tests, asan" in done.stderr


def test_the_page_is_what_the_record_gives() -> None:
    page = (ROOT / "docs" / "testing.md").read_text()
    assert tested.made(page, tested.read_record(ROOT / "tests" / "nightly.jsonl")) == page, "run tools/tested"


def test_a_record_becomes_rows() -> None:
    common = {"commit": "0123456789", "library": "openmpi", "seed": 1, "machine": "a machine", "findings": []}
    records = [
        common | {"part": "fuzz", "date": "2026-11-01", "seconds": 7200, "status": "passed", "skips": 0,
                  "counts": {"fuzz seconds": 5400, "fuzz runs": 1000},
                  "fuzzed": {"grib": {"seconds": 5400, "runs": 1000}}},
        common | {"part": "fuzz", "date": "2026-11-02", "seconds": 60, "status": "passed", "skips": 0,
                  "asked": {"FUZZ_TARGETS": "grib"}, "counts": {"fuzz seconds": 60, "fuzz runs": 10},
                  "fuzzed": {"grib": {"seconds": 60, "runs": 10}}},
        common | {"part": "crash-2", "date": "2026-11-03", "seconds": 600, "status": "failed", "skips": 2,
                  "is_changed": True, "counts": {"crash states: states": 120000}, "findings": ["x failed"]},
    ]  # fmt: skip
    page = tested.made("<!-- made: parts -->\n<!-- end --><!-- made: fuzzed -->\n<!-- end -->", records)
    assert "| 2026-11-01, `0123456789` | 2.0 h | passed | 1 target, 1,000 runs |" in page
    assert "| 2026-11-03, `0123456789`, changed | 10 min | failed, 1 finding, 2 skipped | 120,000 states |" in page
    assert "| 1.5 h | 1,010 | 2026-11-02 |" in page
    assert "| none yet |  |  |" in page
