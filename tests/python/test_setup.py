"""tools/setup where it may not install anything: what is missing is named, with the ways to get it."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]


def setup(
    tmp_path: Path, packages: str, *arguments: str, mpi: str = "openmpi", **fakes: str
) -> subprocess.CompletedProcess[str]:
    """tools/setup of a copy for a user without root, on a machine that has none of the packages."""
    (tmp_path / "tools").mkdir()
    script = (ROOT / "tools" / "setup").read_text()
    if "python3" in fakes:
        script = script.replace("/usr/bin/python3 python3", "python3")
    (tmp_path / "tools" / "setup").write_text(script)
    (tmp_path / "tools" / "setup").chmod(0o755)
    (tmp_path / "tools" / "packages").write_text(packages)
    (tmp_path / "lab").mkdir()
    for name in ("pyproject.toml", "lab/pyproject.toml", "requirements.lock"):
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
        env={"PATH": str(folder), "HAKOBI_MPI": mpi},
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
    # Each line can be typed as it is, and ends with the programs: nothing builds or runs tests, which need
    # more.
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


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_the_demonstration_needs_one_mpi_library_and_nothing_of_other_programs(tmp_path: Path, mpi: str) -> None:
    packages = (
        "libneeded-dev # why\nlibopenmpi-dev\nmpich\n\n# Programs. From here on\nlibmore-dev\n\n# Tests\nncdump-bin\n"
    )
    mpi_package = {"openmpi": "libopenmpi-dev", "mpich": "mpich"}[mpi]
    folders = [tmp_path / "demo", tmp_path / "programs", tmp_path / "all"]
    for folder in folders:
        folder.mkdir()
    listed = [
        setup(folder, packages, *level, "--list", mpi=mpi).stdout.split()
        for folder, level in zip(folders, (["demo"], ["programs"], []), strict=True)
    ]
    assert listed[0] == ["libneeded-dev", mpi_package]
    assert sorted(listed[1]) == sorted([*listed[0], "libmore-dev"])
    assert sorted(listed[2]) == ["libmore-dev", "libneeded-dev", "libopenmpi-dev", "mpich", "ncdump-bin"]


PLAN = """case "$*" in
*--assume-no*)
    echo 'Need to get 800 kB/163 MB of archives.'
    echo 'After this operation, 1,645 MB of additional disk space will be used.'
    exit 1;;
esac"""


@pytest.mark.parametrize(
    ("plan", "size"), [(PLAN, "1 MB to fetch, 1645 MB unpacked, about 60 s: "), ("", "")], ids=["known", "unknown"]
)
def test_one_installation_is_said_with_its_size_before_it_begins(tmp_path: Path, plan: str, size: str) -> None:
    (tmp_path / ".venv").touch()  # the step after it ends at once
    apt = f'{plan}\n[ "$1" = -q ] && echo "$@"'
    done = setup(tmp_path, "libneeded-dev\nlibother-dev\n", id="echo 0", **{"apt-get": apt})
    packages = "libneeded-dev libother-dev"
    assert done.stdout.splitlines()[:3] == [
        "-q update",
        f"hakobi setup: installing Debian packages: {size}{packages}",
        f"-q install -y --no-install-recommends {packages}",
    ]


def closure(*names: str) -> set[str]:
    """The packages that these need, with themselves, as the environment of the tests has it: name, or name[extra,…]."""
    found: set[str] = set()
    asked: set[tuple[str, str]] = set()
    wanted = [Requirement(name) for name in names]
    while wanted:
        requirement = wanted.pop()
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        found.add(name)
        for extra in ("", *requirement.extras):
            if (name, extra) in asked:
                continue
            asked.add((name, extra))
            for text in importlib.metadata.requires(requirement.name) or []:
                needed = Requirement(text)
                if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                    wanted.append(needed)
    return found


def test_the_lock_of_the_programs_is_what_they_need() -> None:
    """pip installs it without asking what else its packages need: all that the extras want and the build backend."""
    above, _, below = (ROOT / "requirements.lock").read_text().partition("\n# Tests")
    assert below
    locked = {line.partition("==")[0].lower().replace("_", "-") for line in above.splitlines() if "==" in line}
    assert locked == closure("hakobi[measure,post]", "hakobi-lab", "hatchling", "editables") - {"hakobi", "hakobi-lab"}


def test_the_lock_is_whole() -> None:
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "No broken requirements found.\n")


def build(tmp_path: Path, *targets: str) -> list[str]:
    """The calls of tools/build of a copy: cmake's and ninja's arguments."""
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
    assert not any(call.startswith("cmake") for call in build(tmp_path, "demonstration"))
    again = build(tmp_path, "programs")[0]  # finds what was installed for them meanwhile
    assert "-DHAKOBI_TESTS=OFF" in again
    assert "--fresh" not in again
    assert not any(call.startswith("cmake") for call in build(tmp_path, "programs"))
    assert "-DHAKOBI_TESTS=ON" in build(tmp_path)[0]
    assert not any(call.startswith("cmake") for call in build(tmp_path))
    assert not any(call.startswith("cmake") for call in build(tmp_path, "programs"))


def test_how_much_is_compiled_and_how_long_it_takes_is_said_before(tmp_path: Path) -> None:
    build(tmp_path, "demonstration")
    objects = [f"[{i}/41] Building CXX object src/objects.dir/Unity/unity_{i}_cxx.cxx.o" for i in range(1, 41)]
    plan = "\\n".join([*objects, "[41/41] Linking CXX shared library lib/libhakobi.so"])
    (tmp_path / "bin" / "ninja").write_text(f"""#!/bin/sh
case "$*" in *" -n "*) printf '{plan}\\n' ;; *) echo '[1/41] as ninja says it' ;; esac
""")
    (tmp_path / "bin" / "nproc").write_text("#!/bin/sh\necho 2\n")
    (tmp_path / "bin" / "nproc").chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    command = [tmp_path / "tools" / "build", "openmpi", "demonstration"]
    done = subprocess.run(command, env={"PATH": path}, capture_output=True, text=True, check=True, timeout=60)
    first, *more = done.stdout.splitlines()
    assert first == "hakobi build: to compile: 40, about 4 min on 2 cores, less where ccache has them"
    assert more[-1] == "[1/41] as ninja says it"
    assert all(line.startswith("hakobi build: ") for line in more[:-1])


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
