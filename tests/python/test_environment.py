"""docs/environment.md names every environment variable that the sources read, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from building import ROOT

PAGE = ROOT / "docs" / "environment.md"
FOLDERS = ("src", "python", "fortran", "bench", "apps", "lab/hakobi_lab")
SUFFIXES = {".c", ".cpp", ".h", ".hpp", ".f90", ".py", ".sh", ""}
NAME = r"(_?[A-Z][A-Z0-9_]+)"

#: Ways to read a variable by a name that stands there: C's, Python's, and functions of the sources that pass
#: a name on.
READS = [
    rf'(?:getenv|is_set|variable|value|text_of|number_of|environ\.(?:get|pop|setdefault))\(\s*f?"{NAME}"',
    rf'environ\[f?"{NAME}"\]',
    rf'"{NAME}" (?:not )?in os\.environ',
    r"\$\{?(HAKOBI_[A-Z_]+)",  # shell
]
#: Lists of names that a loop asks for.
LISTS = r"(?:for \(const char\* name : |variables\[\] = |RANK_VARIABLES = )[{(]([^})]*)[})]"
#: Where a name is an argument or a loop's: what is called with it is found by READS and LISTS.
BY_NAME = {
    "apps/propeller/solver/propeller_setting.c",
    "bench/storage_model/model.cpp",
    "python/hakobi/measuring/lost_bytes.py",
    "src/io/report.cpp",
    "src/output/staging.cpp",
    "src/base/library.cpp",
    "src/mpi/comm.cpp",
    "src/storage/objects/objects_contract.hpp",
    "src/storage/objects/s3_settings.cpp",
    "src/store/store_folder.hpp",
    "src/mpiio/front_library.c",
    "python/hakobi/launch.py",
    "python/hakobi/_mpi.py",
    "src/mpiio/report.cpp",
    "src/recorder/trace.cpp",
    "src/storage/faulty.cpp",
    "src/storage/lock_file.cpp",
    "src/store/fdb/fdb.cpp",
}
#: Quoted names that are no variables: CMake's.
NO_VARIABLES = {"HAKOBI_MPI_FLAVOUR"}


def sources(*folders: str, with_tests: bool = False) -> Iterator[tuple[str, str]]:
    for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*")):
        is_test = path.stem.endswith("_test") or path.name.startswith("test_")
        if (
            path.is_file()
            and path.suffix in SUFFIXES
            and (with_tests or not is_test)
            and "__pycache__" not in path.parts
        ):
            yield str(path.relative_to(ROOT)), path.read_text(errors="ignore")


def read_in(text: str, is_script: bool) -> set[str]:
    found = {name for pattern in READS[: None if is_script else -1] for name in re.findall(pattern, text)}
    return found | {name for names in re.findall(LISTS, text) for name in re.findall(rf'"{NAME}"', names)}


def test_the_page_names_what_the_sources_read() -> None:
    page = PAGE.read_text()
    told = {name for row in re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    read = dict[str, str]()
    for path, text in sources(*FOLDERS):
        quoted = set(re.findall(r'"(HAKOBI_[A-Z_]+)"', text)) - NO_VARIABLES
        is_script = Path(path).suffix == ".sh" or text.startswith("#!/bin/sh")
        read |= dict.fromkeys(read_in(text, is_script) | quoted, path)
    command = "packaging/hakobi.in"  # the command of an installation
    read |= dict.fromkeys(read_in((ROOT / command).read_text(), True), command)
    assert {name: path for name, path in read.items() if name not in told} == {}, "not on the page"
    others = "\n".join(text for _, text in sources("tools", "tests", "lab", "src", with_tests=True))
    others += (ROOT / "Makefile").read_text()
    assert {name for name in told - set(read) if not re.search(rf"\b{name}\b", others)} == set(), "read by nothing"


def test_a_name_that_is_no_literal_is_seen_all_the_same() -> None:
    calls = re.compile(r'getenv\((?!\s*")|environ(?:\.get\(|\[)(?!\s*f?")')
    assert {path for path, text in sources(*FOLDERS) if calls.search(text)} <= BY_NAME


def test_reads_are_found_in_every_form() -> None:
    text = (
        'std::getenv("A_B"); os.environ["C_D"]; "E_F" in os.environ; for (const char* name : {"G_H", "I_J"}) x(name);'
    )
    assert read_in(text, False) == {"A_B", "C_D", "E_F", "G_H", "I_J"}
