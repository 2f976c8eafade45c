"""tools/setup where it may not install anything: what is missing is named, with the ways to get it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def setup(tmp_path: Path, packages: str, *arguments: str, **fakes: str) -> subprocess.CompletedProcess[str]:
    """tools/setup of a copy for a user without root, on a machine that has none of the packages."""
    (tmp_path / "tools").mkdir()
    script = (ROOT / "tools" / "setup").read_text()
    if "python3" in fakes:
        script = script.replace("/usr/bin/python3 python3", "python3")
    (tmp_path / "tools" / "setup").write_text(script)
    (tmp_path / "tools" / "setup").chmod(0o755)
    (tmp_path / "tools" / "packages").write_text(packages)
    for name in ("pyproject.toml", "requirements.lock"):
        (tmp_path / name).write_text("")
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in (
        "sh",
        "dirname",
        "sed",
        "awk",
        "sort",
        "xargs",
        "comm",
        "tr",
        "mktemp",
        "rm",
        "cat",
        "sha256sum",
        "env",
    ):
        (folder / tool).symlink_to(str(shutil.which(tool)))
    missing = {"id": "echo 1000", "dpkg-query": "exit 1", "apt-get": "exit 1"}
    for name, text in (missing | fakes).items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return subprocess.run(
        [tmp_path / "tools" / "setup", *arguments],
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_without_root_what_is_missing_is_named_with_the_ways_to_get_it(tmp_path: Path) -> None:
    done = setup(tmp_path, "libneeded-dev   # why\n\n# Tests: readers\nncdump-bin\nlibtest-dev # a test\n")
    assert done.returncode == 1
    assert done.stdout == ""
    first, *ways = done.stderr.splitlines()
    assert first == "hakobi setup: root or sudo is needed once to install: libneeded-dev "
    typed = [line.strip() for line in ways if not line.lstrip().startswith("#")]
    for way in ("apt-get install", "conda env create", "spack repo add", "module load", "pip install hakobi-"):
        assert any(line.startswith(way) for line in typed), way
    # Each line can be typed as it is, and ends with the programs: nothing builds or runs tests, which need more.
    syntax = subprocess.run(["sh", "-n"], input="\n".join(typed), capture_output=True, text=True, check=False)
    assert (syntax.returncode, syntax.stderr) == (0, "")
    assert all(line.endswith("make programs") for line in typed if "make" in line)
    for path in re.findall(r"packaging/[\w/.-]+", done.stderr):
        assert (ROOT / path).exists(), path


@pytest.mark.skipif(not os.access("/usr/bin/python3", os.X_OK), reason="another machine's Python")
def test_what_only_tests_need_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / ".venv").touch()  # the step after it ends at once
    done = setup(tmp_path, "# Tests: readers\nncdump-bin\n")
    assert "for the tests only, not installed (no root, no sudo): ncdump-bin" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("hakobi setup: could not make .venv")


def test_the_programs_need_nothing_of_what_only_tests_need(tmp_path: Path) -> None:
    listed = setup(tmp_path, "libneeded-dev # why\n\n# Tests: readers\nncdump-bin\n", "programs", "--list")
    assert (listed.stdout, listed.stderr, listed.returncode) == ("libneeded-dev\n", "", 0)


def test_the_lock_of_the_programs_has_what_the_extras_want() -> None:
    """Whatever `hakobi[plots,post]` asks for stands above the tests' part of requirements.lock."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["measure"], *extras["plots"], *extras["post"]]
    above, _, below = (ROOT / "requirements.lock").read_text().partition("\n# Tests")
    assert below
    locked = {line.partition("==")[0].lower() for line in above.splitlines()}
    names = {re.split(r"[\[>=]", want)[0] for want in wanted} - {"hakobi"}
    assert names <= locked


def build(tmp_path: Path, *targets: str) -> list[str]:
    """What tools/build of a copy calls: cmake's and ninja's arguments."""
    folder = tmp_path / "bin"
    if not folder.is_dir():
        (tmp_path / "tools").mkdir()
        shutil.copy(ROOT / "tools" / "build", tmp_path / "tools")
        folder.mkdir()
        for name in ("cmake", "ninja"):
            (folder / name).write_text(f'#!/bin/sh\necho {name} "$@" >>{tmp_path}/calls\n')
            (folder / name).chmod(0o755)
    (tmp_path / "calls").write_text("")
    path = f"{folder}:{os.environ['PATH']}"
    subprocess.run([tmp_path / "tools" / "build", "openmpi", *targets], env={"PATH": path}, check=True, timeout=60)
    (tmp_path / "build" / "openmpi" / "build.ninja").touch()
    return (tmp_path / "calls").read_text().splitlines()


def test_tests_are_configured_when_more_than_the_programs_is_built(tmp_path: Path) -> None:
    """A machine that is to run the demonstration alone need not have what the tests need."""
    assert "-DHAKOBI_TESTS=OFF" in build(tmp_path, "demonstration")[0]
    assert not any(call.startswith("cmake") for call in build(tmp_path, "programs"))
    assert "-DHAKOBI_TESTS=ON" in build(tmp_path)[0]
    assert not any(call.startswith("cmake") for call in build(tmp_path))
    assert not any(call.startswith("cmake") for call in build(tmp_path, "programs"))


def test_a_folder_of_another_preset_is_configured_anew(tmp_path: Path) -> None:
    assert not any(call.startswith("cmake") for call in build(tmp_path)[1:])
    made = build(tmp_path, "--preset=dev", "all")
    assert made[0].startswith("cmake --preset dev -B build/openmpi --fresh -DHAKOBI_MPI=openmpi")
    assert made[-1] == "ninja -C build/openmpi all"
    assert not any(call.startswith("cmake") for call in build(tmp_path, "--preset=dev"))
    assert build(tmp_path)[0].startswith("cmake --preset openmpi -B build/openmpi --fresh")


def test_a_python_too_old_is_named_with_the_ways_to_a_newer_one(tmp_path: Path) -> None:
    old = 'case "$*" in -V) echo Python 3.9.2;; *) exit 1;; esac'
    done = setup(tmp_path, "", python3=old)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "hakobi setup: Python 3.11 or newer is needed, here is Python 3.9.2: apt-get install python3, "
        "module load python, or conda install python=3.12"
    )


@pytest.mark.parametrize("failing", ["update", "install"])
def test_without_a_network_one_line_says_what_to_do(tmp_path: Path, failing: str) -> None:
    """apt-get update may end well without one, so that only the installation fails."""
    done = setup(tmp_path, "libneeded-dev\n", id="echo 0", **{"apt-get": f'case "$*" in *{failing}*) exit 100;; esac'})
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"hakobi setup: apt-get {failing} failed")
    assert "no network, or no mirror in /etc/apt/sources.list" in last
    assert "HAKOBI_NO_APT=1" in last


@pytest.mark.parametrize("missing", ["c++", "cmake"])
def test_a_missing_compiler_or_tool_is_one_line(tmp_path: Path, missing: str) -> None:
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "build", tmp_path / "tools")
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in {"cmake", "ninja", "c++", "cc"} - {missing}:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    for name in ("sh", "dirname"):
        (folder / name).symlink_to(str(shutil.which(name)))
    build = [tmp_path / "tools" / "build", "openmpi", "programs"]
    done = subprocess.run(build, env={"PATH": str(folder)}, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr == (f"hakobi build: no {missing} in PATH: tools/setup installs it or says how to get it\n")
