"""The documentation: what readers ask is answered two links behind the start page, in Markdown as a forge shows it and
on the built site (`make docs`); the references have every header, module and name."""

from __future__ import annotations

import doctest
import html
import importlib.util
import os
import re
import subprocess
import sys
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import hakobi
from building import ROOT, needs_build

START = "docs/index"
SITE = ROOT / "build" / "docs" / "html"

#: Question -> the page that answers it, and words of the answer there.
QUESTIONS = {
    "Which MPI libraries, compilers and file systems were tried, and when?": (
        "docs/platforms",
        "no file was ever written",
    ),
    "May two threads write?": ("docs/threads", "one thread at a time"),
    "May I pass a device pointer?": ("docs/gpu", "give its device pointer where a host pointer would stand"),
    "How do I write what CuPy computes?": ("docs/questions", "an array of cupy, pytorch or jax"),
    "How do I cite it?": ("docs/citing", "the hakobi developers"),
    "Where do I get help?": ("docs/help", "open an issue"),
    "How do I report a security hole?": ("SECURITY", "report a hole in private"),
    "Does my program run with the next version?": ("docs/compatibility", "a new patch version"),
    "I have PnetCDF. What do I write?": ("docs/migrating/pnetcdf", "ncmpi_put_vara_double_all"),
    "I have parallel netCDF-4. What do I write?": ("docs/migrating/netcdf", "nc_var_par_access"),
    "I have ADIOS2. What do I write?": ("docs/migrating/adios2", "engine.beginstep()"),
    "I have XIOS. What do I write?": ("docs/migrating/xios", "xios_send_field"),
    "Can I use it with HDF5?": ("docs/questions", "their collective calls are mpi-io below"),
    "Is it faster than PnetCDF?": ("docs/questions", "it depends on the pattern"),
    "What would it save my program, which I cannot change?": ("docs/assess", "drop-in: saves"),
    "What do other libraries do better?": ("docs/compared", "a record at scale"),
    "Can ADIOS2 hide output, and which MPI threads does HDF5 need?": ("docs/compared", "thread support of mpi"),
    "On which file systems does it work?": ("docs/questions", "were tried with real clients"),
    "How do I install it without a compiler?": ("docs/install", "pip install hakobi-*.whl"),
    "How does my CMake project find it?": ("docs/install", "find_package(hakobi)"),
    "Another MPI library than the first mpicc?": ("docs/install", "-dmpi_c_compiler=<where>/bin/mpicc"),
    "What are the six lines in Fortran?": ("docs/languages", "call out%begin_step(time_s)"),
    "Why does g++ refuse my .name after .units?": ("docs/languages", "in the order in which the struct declares"),
    "Which Python does the command use?": ("docs/environment", "hakobi_python"),
    "Which output methods are there?": ("docs/steps", "every n-th rank writes for its neighbours"),
    "Which environment variables are there?": ("docs/environment", "hakobi_fault takes the operations"),
    "What is wrong with my MPI library?": ("docs/mpi-faults", "a write is reported as success"),
    "How many aggregators?": ("docs/questions", "one on each node, unless you say otherwise"),
    "How do I stripe files on Lustre?": ("docs/questions", "lfs setstripe"),
    "Step 3's temperature in xarray?": ("docs/questions", 'xarray.open_dataset("run_000003.nc")["temperature"]'),
    "My job was killed.": ("docs/questions", "start the program again with the option if_exists"),
    "How do I start it by srun?": ("docs/questions", "srun -n 64 ./solver"),
    "The disk is full.": ("docs/questions", "throws no_space on every rank"),
    "How do I archive a GRIB file?": ("docs/questions", "hakobi store archive forecast"),
    "How do I write a daily mean?": ("docs/outputs", "its daily mean and its monthly extremes"),
}


#: Words that people type into the search -> pages that answer them: one is among the first three hits.
#: Written before the search was.
SEARCHES = {
    "can I use it with HDF5": ("docs/questions", "docs/drop-in"),
    "is it faster than PnetCDF": ("docs/questions", "docs/compared"),
    "monthly mean and maximum": ("docs/outputs",),
    "which file system": ("docs/questions", "docs/platforms", "docs/storage"),
    "my job was killed, how do I continue": ("docs/questions", "docs/steps"),
    "how do I install it without root": ("docs/install",),
    "what happens when the disk is full": ("docs/questions",),
    "which MPI libraries are supported": ("docs/platforms",),
    "can two threads write at the same time": ("docs/threads",),
    "how do I write from Fortran": ("docs/languages",),
    "numpy example": ("docs/languages", "docs/first-hour", "docs/questions"),
    "read one step with xarray": ("docs/questions",),
    "does it work on a GPU": ("docs/gpu",),
    "how many aggregators should I use": ("docs/questions", "docs/hints"),
    "Lustre stripe size": ("docs/questions", "docs/storage"),
    "write to an S3 bucket": ("docs/steps", "docs/storage"),
    "look at results in a browser": ("docs/post",),
    "what does error code 9 mean": ("docs/errors",),
    "environment variables": ("docs/environment",),
    "restart on another number of ranks": ("docs/first-hour", "docs/questions", "docs/steps"),
    "how do I run it with slurm": ("docs/slurm", "docs/questions"),
    "difference to ADIOS2": ("docs/compared", "docs/migrating/adios2"),
    "unstructured mesh for ParaView": ("docs/meshes",),
    "why is my output slow": ("docs/questions", "docs/engine", "docs/own-study"),
    "how do I compress fields": ("docs/steps",),
}


def page_of(link: str, page: str) -> str:
    """The page that a link of another one leads to, without suffix; "" where that is no page."""
    file = link.partition("#")[0]
    if not file or ":" in file:
        return ""
    to = os.path.normpath(Path(page).parent / file)
    return to.removesuffix(Path(to).suffix) if Path(to).suffix in (".md", ".html") else ""


def markdown(page: str) -> tuple[str, list[str]]:
    text = (ROOT / f"{page}.md").read_text()
    return text.replace("`", ""), re.findall(r"\]\(([^()\s]+)\)", text)


def built(page: str) -> tuple[str, list[str]]:
    text = (SITE / f"{page}.html").read_text()
    article = text[text.index("<article") : text.index("</article>")]  # not the lists of pages beside it
    return html.unescape(re.sub(r"<[^>]*>", "", article)), re.findall(r'href="([^"]+)"', article)


def two_clicks_away(read: Callable[[str], tuple[str, list[str]]]) -> set[str]:
    first = {page_of(link, START) for link in read(START)[1]} - {""}
    return first | {page_of(link, page) for page in first for link in read(page)[1]}


def unanswered(read: Callable[[str], tuple[str, list[str]]]) -> list[str]:
    near = two_clicks_away(read)
    return [
        question
        for question, (page, words) in QUESTIONS.items()
        if page not in near or words not in " ".join(read(page)[0].lower().split())
    ]


def test_questions_are_answered_two_clicks_from_the_start() -> None:
    assert unanswered(markdown) == []


def test_every_figure_of_the_comparison_stands_on_its_page() -> None:
    """A row without a link is of the page above it."""
    page, found = Path(), 0
    for line in (ROOT / "docs" / "compared.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("| ") or len(cells) != 4 or cells[0].startswith("what"):
            continue
        if link := re.search(r"\]\(([^)#]+)", cells[3]):
            page = ROOT / "docs" / link.group(1)
        figures = re.findall(r"\d+\.\d+", " ".join(cells[1:3]).replace("FDB 5.25", "FDB"))
        assert [figure for figure in figures if figure not in page.read_text()] == [], cells[0]
        found += len(figures)
    assert found >= 40


SERIES = """
import numpy
import hakobi

comm = hakobi.Comm.duplicate(None)
with hakobi.Output.create(comm, "run") as out:
    for step in range(5):
        out.begin_step(step)
        block = hakobi.split((4, 6), comm.size, comm.rank)
        out.put("temperature", "K", block, numpy.full(block.count, 280.0 + step), dims=["y", "x"])
        out.end_step()
comm.free()
"""


@needs_build
@pytest.mark.programs
@pytest.mark.once
def test_step_3s_temperature_is_got_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xarray")
    subprocess.run([sys.executable, "-c", SERIES], cwd=tmp_path, check=True, timeout=100)
    page = (ROOT / "docs" / "questions.md").read_text()
    lines = re.search(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert lines
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    exec(lines.group(1), found)
    assert found["step"].dims == ("time", "y", "x")
    assert float(found["step"].mean()) == 283.0
    assert found["whole"].shape == (5, 4, 6)
    assert float(found["whole"][3].mean()) == 283.0
    for name in ("step", "whole"):
        found[name].close()


def referenced(pattern: str) -> list[str]:
    pages = [path.read_text() for path in (ROOT / "docs" / "reference").glob("*.md")]
    return sorted(name for text in pages for name in re.findall(pattern, text))


def test_the_reference_has_every_header_module_and_name_once() -> None:
    headers = [path.name for path in (ROOT / "include").rglob("*.h*")]
    gathered = {"hakobi.hpp", "export.hpp", "bindings.h"}  # includes the others; macros; not for programs
    assert referenced(r"\{doxygenfile\} (\S+)") == sorted(set(headers) - gathered)
    modules = [path.stem for path in (ROOT / "fortran").glob("hakobi*.f90")]
    shared = {"hakobi_c", "hakobi_c_interface", "hakobi_options", "hakobi_values"}
    assert referenced(r"fortran-contracts:: (\w+)") == sorted(set(modules) - shared)
    assert referenced(r"auto\w+:: hakobi\.(\w+)") == sorted(set(hakobi.__all__) - {"__version__"})


def test_the_citation_names_this_version() -> None:
    found = re.search(r"project\(hakobi VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert found
    assert f"\nversion: {found.group(1)}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"version = {{{found.group(1)}}}" in (ROOT / "docs" / "citing.md").read_text()


def site_module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "site" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["c_contracts", "fortran_contracts"])
def test_contracts_are_read_as_their_examples_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = doctest.testmod(site_module(name, monkeypatch))
    assert result.attempted > 0
    assert result.failed == 0


def test_calls_of_fortran_are_shown_as_programs_write_them(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = site_module("fortran_contracts", monkeypatch).rst(ROOT / "fortran" / "hakobi.f90")
    assert ".. describe:: call out%begin_step(time, [stat], [errmsg])" in shown
    assert any(line.startswith(".. describe:: call out%create(comm, prefix, [method]") for line in shown)
    assert any(line.startswith(".. describe:: hakobi_split(global, num_ranks, rank") for line in shown)


@pytest.mark.long
def test_the_site_answers_and_finds(tmp_path: Path) -> None:
    """As `make nightly` has built it."""
    if not (SITE / "search.html").exists():
        pytest.skip("the site is not built: make docs")
    assert unanswered(built) == []
    assert "docs/hints" in hits("aggregator", tmp_path)


def hits(query: str, folder: Path) -> list[str]:
    """The pages that the site's search shows for it, the best first."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}", "--virtual-time-budget=5000"]
    address = f"{(SITE / 'search.html').as_uri()}?q={urllib.parse.quote_plus(query)}"
    command = ["chromium", *options, "--dump-dom", address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    found = re.search(r'<div id="search-results">.*', done.stdout, re.DOTALL)
    links = re.findall(r'<a href="([^"?#]+)\.html', found.group(0)) if found else []
    return list(dict.fromkeys(links))


@pytest.mark.long
@pytest.mark.parametrize("query", SEARCHES)
def test_the_site_is_searched_by_questions(tmp_path: Path, query: str) -> None:
    if not (SITE / "search.html").exists():
        pytest.skip("the site is not built: make docs")
    first = hits(query, tmp_path)[:3]
    assert set(first) & set(SEARCHES[query]), first
