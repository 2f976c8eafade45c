"""README.md has at most 120 lines, and six lines of code; these and those of docs/languages.md compile."""

from __future__ import annotations

import re
import subprocess

import pytest

from building import ROOT, mpi_flags, needs_build

README = (ROOT / "README.md").read_text()
LANGUAGES = (ROOT / "docs" / "languages.md").read_text()

#: A function around the lines: `comm` and `block` are given, or made by their first two.
CPP = """#include <hakobi/hakobi.hpp>
#include <vector>

void write(%sint ny, int nx, double time_s, const std::vector<double>& eta) {
%s}
"""
GIVEN = "hakobi::Comm& comm, const hakobi::Block& block, "
C = """#include <mpi.h>
#include <hakobi.h>

void write(int64_t ny, int64_t nx, double time_s, const double* eta) {
    hakobi_comm* comm;
    hakobi_block block;
    hakobi_output* out;
    int64_t field;
%s}
"""


def listing(text: str, language: str) -> str:
    """The only listing of the language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return str(found)


def diagnostics(language: str, text: str) -> str:
    """A compiler's errors and warnings of a source's text; nothing is made."""
    compiler = {"c": ["cc", "-xc", "-std=c99"], "c++": ["c++", "-xc++", "-std=c++20"]}[language]
    includes = [f"-I{ROOT}/include", *(flag for flag in mpi_flags() if flag.startswith("-I"))]
    command = [*compiler, "-fsyntax-only", "-Wall", "-Wextra", *includes, "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_the_readme_is_short_and_its_code_has_six_lines() -> None:
    assert len(README.splitlines()) <= 120
    assert len(listing(README, "cpp").splitlines()) == 6


def test_the_languages_page_has_the_same_lines_behind_its_first_two() -> None:
    first, second, *rest = listing(LANGUAGES, "cpp").splitlines()
    assert f"`{first}`" in README
    assert f"`{second}`" in README
    assert rest == listing(README, "cpp").splitlines()


@needs_build
@pytest.mark.parametrize("page", [README, LANGUAGES], ids=["readme", "languages"])
def test_the_lines_compile_in_cpp(page: str) -> None:
    given = GIVEN if page is README else ""
    assert diagnostics("c++", CPP % (given, listing(page, "cpp"))) == ""


@needs_build
def test_a_name_that_does_not_exist_is_seen() -> None:
    with pytest.raises(AssertionError, match="cannot convert"):
        diagnostics("c++", CPP % (GIVEN, listing(README, "cpp").replace(".units", ".unitz")))


@needs_build
def test_the_lines_compile_in_c() -> None:
    assert diagnostics("c", C % listing(LANGUAGES, "c")) == ""


def test_the_lines_are_python() -> None:
    compile(listing(LANGUAGES, "python"), "docs/languages.md", "exec")
