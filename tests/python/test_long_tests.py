"""tests/long.txt, by which `make test` leaves tests of CTest to `make nightly`."""

from __future__ import annotations

import fnmatch
import json
import re
import subprocess

import pytest

from building import BUILD, FLAVOUR, ROOT
from pytest_rules import long_rows

#: A row that ends with them is of some parameters only.
PARAMETERS = re.compile(r"\[.*")


def rows() -> list[tuple[str, float, str]]:
    return long_rows(ROOT)


def test_a_row_has_the_seconds_that_it_saves() -> None:
    assert all(library in ("openmpi", "mpich", "python") and seconds > 5 for library, seconds, _ in rows())
    assert len({(library, name) for library, _, name in rows()}) == len(rows())


@pytest.mark.programs
@pytest.mark.skipif(not (BUILD / "CTestTestfile.cmake").exists(), reason="the tests are not built")
def test_every_row_names_a_test() -> None:
    listed = subprocess.run(
        ["ctest", "--test-dir", str(BUILD), "--show-only=json-v1"], check=True, capture_output=True, text=True
    )
    names = {test["name"] for test in json.loads(listed.stdout)["tests"]}
    assert {name for library, _, name in rows() if library == FLAVOUR} <= names


def test_every_row_of_pytests_names_tests() -> None:
    for library, _, name in rows():
        if library == "python":
            files, _, function = name.partition("::")
            paths = list((ROOT / "tests" / "python").glob(files))
            defined = {found for path in paths for found in re.findall(r"^def (test_\w+)", path.read_text(), re.M)}
            plain = PARAMETERS.sub("", function)
            assert any(fnmatch.fnmatchcase(test, plain) for test in defined), name
