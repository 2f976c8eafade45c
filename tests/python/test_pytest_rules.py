"""Rules of a run of tests: skips that CI's table does not have fail it; a longer limit is one for the process, too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_rules import load

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "skips"

if not SCRIPT.is_file():
    pytest.skip("the tests run without the source tree", allow_module_level=True)
skips = load()

CASES = """
import pytest

@pytest.mark.parametrize("tool", ["axe", "saw"])
def test_a_tool(tool):
    pytest.skip(f"no {tool}")

@pytest.mark.skipif(True, reason="no [x] here")
def test_of_a_mark(): pass

@pytest.mark.xfail(strict=True)
def test_that_fails(): raise ValueError

def test_that_passes(): pass
"""
MODULE = 'import pytest\npytest.skip("nothing is built", allow_module_level=True)\n'


def pytest_with_rules(*options: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """pytest with this project's settings and no more plugins than these need, which others' slow down."""
    environment = os.environ | {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": str(ROOT / "tests" / "python"),
        "HAKOBI_MPI": "openmpi",
    }
    plugins = [
        word for name in ("pytest_timeout", "xdist", "pytest_rules", "no:cacheprovider") for word in ("-p", name)
    ]
    command = [sys.executable, "-m", "pytest", "-q", "-c", ROOT / "pyproject.toml", *plugins, *options]
    return subprocess.run(
        command, env=environment | variables, capture_output=True, text=True, check=False, timeout=100
    )


def run_pytest(folder: Path, table: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_cases.py").write_text(CASES)
    (folder / "test_module.py").write_text(MODULE)
    (folder / "skips.txt").write_text(table)
    return pytest_with_rules(*options, folder, HAKOBI_SKIPS=str(folder / "skips.txt"))


ALL = """# a comment
both | *test_cases.py::test_a_tool[*] | no * | no carpenter
openmpi | *test_cases.py::test_of_a_mark | no [x] here | brackets are themselves
both | *test_module.py | nothing is built | a module
"""


def test_skips_that_are_listed_pass(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, ALL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not in" not in done.stdout


@pytest.mark.parametrize("options", [[], ["-n", "1"]], ids=["alone", "worker"])
def test_each_unlisted_skip_is_named_and_fails_the_run(tmp_path: Path, options: list[str]) -> None:
    table = ALL.replace("openmpi |", "mpich |").replace("test_a_tool[*] | no *", "test_a_tool[*] | no axe")
    done = run_pytest(tmp_path, table.replace("test_module.py", "test_other.py"), *options)
    assert done.returncode == 1, done.stdout + done.stderr
    told = [line.split(" is skipped (") for line in done.stdout.splitlines() if ": not in " in line]
    assert sorted((test.rpartition("/")[2], text.partition(")")[0]) for test, text in told) == [
        ("test_cases.py::test_a_tool[saw]", "no saw"),
        ("test_cases.py::test_of_a_mark", "no [x] here"),
        ("test_module.py", "nothing is built"),
    ]
    assert "warning: skips.txt:4: *test_other.py was not skipped" in done.stdout


def test_a_line_that_is_none_is_named(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, "both | test | text\n")
    assert done.returncode == 4
    assert "skips.txt:1: not 'both|openmpi|mpich [machine] | TEST | TEXT | REASON': both | test | text" in done.stderr


OUTPUT = """\x1b[0;32m[ RUN      ] \x1b[mDisk.IsFull
/src/disk_test.cpp:7: Skipped
hakobi: out/run: the program did not close its output
may not mount <here> & now

\x1b[0;32m[  SKIPPED ] \x1b[mDisk.IsFull (0 ms)
[ RUN      ] All/Disk.Keeps/null
[       OK ] All/Disk.Keeps/null (3 ms)
[ RUN      ] All/Disk.Keeps/none
/src/disk_test.cpp:9: Skipped


[  SKIPPED ] All/Disk.Keeps/none (12 ms)
[  SKIPPED ] 2 tests, listed below:
[  SKIPPED ] Disk.IsFull
"""


def by_ctest(folder: Path) -> Path:
    """CTest's file of tests that print OUTPUT among much else, end with 77, and pass."""
    (folder / "output").write_text("a line\n" * 1000 + OUTPUT + "a line\n" * 1000)
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(cases NONE)\nenable_testing()\n"
        f"add_test(NAME disk_test.3 COMMAND cat {folder}/output)\n"
        'add_test(NAME code COMMAND sh -c "echo skipped: no root; echo more; exit 77")\n'
        "set_tests_properties(code PROPERTIES SKIP_RETURN_CODE 77)\nadd_test(NAME passes COMMAND true)\n"
    )
    build = folder / "build"
    subprocess.run(["cmake", "-S", folder, "-B", build], check=True, capture_output=True, timeout=60)
    flags = ["--output-junit", "ctest.xml", "--test-output-size-passed", "1000000000"]
    subprocess.run(["ctest", "--test-dir", build, *flags], check=True, capture_output=True, timeout=60)
    return build / "ctest.xml"


def test_what_programs_skip_inside_is_held_against_the_table(tmp_path: Path) -> None:
    junit = by_ctest(tmp_path)

    def judged(table: str) -> tuple[int, list[str]]:
        (tmp_path / "table").write_text(table)
        command = [SCRIPT, tmp_path / "table", "mpich", junit]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, sorted(
            line.replace(str(tmp_path / "table"), "TABLE") for line in done.stderr.splitlines()
        )

    disk = "both | gtest/disk_test.*/Disk.IsFull | may not mount * | no root\n"
    keeps = "mpich | gtest/*.3/All/Disk.Keeps/* | * | of others\n"
    code = "both | ctest/code | skipped: no root | no root\n"
    assert judged(disk + keeps + code) == (0, [])
    assert judged(disk + keeps.replace("mpich", "openmpi") + "both machine | ctest/none | * | elsewhere\n") == (
        1,
        [
            "skips: ctest/code is skipped (skipped: no root): not in TABLE",
            "skips: gtest/disk_test.3/All/Disk.Keeps/none is skipped (without a reason): not in TABLE",
        ],
    )
    assert judged(disk + keeps + code + "both | gtest/*/Gone.Case | * | gone\nboth | tests/x.py | * | pytest's\n") == (
        0,
        ["skips: warning: table:4: gtest/*/Gone.Case was not skipped"],
    )
    assert judged("nothing\n")[0] == 2


def test_a_skip_without_a_line_for_its_reason_is_found() -> None:
    output = "[ RUN      ] Disk.Ends\n/src/disk_test.cpp:3: Skipped\n[  SKIPPED ] Disk.Ends (0 ms)\n"
    assert skips.skipped_in(output) == [skips.Skip("Disk.Ends", "")]


def test_the_table_of_ci_can_be_read() -> None:
    table = skips.read_table(ROOT / ".ci" / "skips.txt")
    for entry in table:
        file = entry.test.partition("::")[0]
        assert entry.test.startswith(("gtest/", "ctest/")) or (ROOT / file).is_file(), entry


LATE = """
import time
import pytest

@pytest.mark.timeout(20)
def test_with_a_longer_limit(): time.sleep(1.5)

def test_as_others(): time.sleep({})
"""


def test_a_longer_limit_is_one_for_the_process_too(tmp_path: Path) -> None:
    """faulthandler ends the process of a test that its own limit cannot end, and of no other."""

    def run(sleep_s: float) -> int:
        (tmp_path / "test_late.py").write_text(LATE.format(sleep_s))
        limits = ["-o", "timeout=10", "-o", "faulthandler_timeout=1"]
        return pytest_with_rules(*limits, tmp_path / "test_late.py").returncode

    assert run(0.1) == 0
    assert run(60) == 1
