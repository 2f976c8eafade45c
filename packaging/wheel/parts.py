"""The libraries that libhakobi is linked with, made for the wheel: static libraries of Debian's sources (sources.txt),
and the headers of three MPI libraries. Nothing of it is looked for on the machine that the wheel goes to."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import zipfile
from pathlib import Path

from toolchain import Toolchain, call

HERE = Path(__file__).resolve().parent
_APT_HELPER = Path("/usr/lib/apt/apt-helper")
_FLAGS = "-O2 -fPIC -fvisibility=hidden"


def build_libraries(tools: Toolchain, cache: Path) -> None:
    """Builds what is missing in the toolchain's prefix. `cache` keeps downloads."""
    for name, build in _BUILDS.items():
        source = _source(name, cache)
        stamp = tools.prefix / "built" / f"{name}-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}"
        if stamp.exists():
            continue
        print(f"hakobi wheel: {name} for {tools.machine}", flush=True)
        folder = tools.folder / "sources" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        call("tar", "-xf", source, "-C", folder, "--strip-components=1")
        build(tools, folder)
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.touch()


def _source(name: str, cache: Path) -> Path:
    """The tarball of a source, downloaded where it is not yet, with the checksum that sources.txt names."""
    lines = [line.split() for line in (HERE / "sources.txt").read_text().splitlines() if line and line[0] != "#"]
    pool_path, sha256 = next((path, digest) for each, path, digest in lines if each == name)
    found = cache / Path(pool_path).name
    if not found.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        call(_APT_HELPER, "download-file", f"{_mirror()}{pool_path}", found, f"SHA256:{sha256}")
    if hashlib.sha256(found.read_bytes()).hexdigest() != sha256:
        sys.exit(f"hakobi wheel: {found} has not the checksum of {HERE / 'sources.txt'}: remove it")
    return found


def _mirror() -> str:
    """Where Debian's packages come from: HAKOBI_DEBIAN_MIRROR, or what apt uses."""
    if named := os.environ.get("HAKOBI_DEBIAN_MIRROR"):
        return named.rstrip("/") + "/"
    if not _APT_HELPER.is_file():
        sys.exit(
            "hakobi wheel: no apt here: put the tarballs of packaging/wheel/sources.txt into build/wheel/downloads"
        )
    sites = call("apt-get", "indextargets", "--format", "$(SITE)", "Origin: Debian", "Created-By: Packages").split()
    sites = [site for site in sites if "security" not in site]
    if not sites:
        sys.exit("hakobi wheel: apt knows no mirror of Debian: name one in HAKOBI_DEBIAN_MIRROR")
    return sites[0].rstrip("/") + "/"


def _zlib(tools: Toolchain, folder: Path) -> None:
    variables = {"CC": str(tools.tool("clang")), "AR": str(tools.tool("ar")), "CFLAGS": _FLAGS}
    variables |= {"RANLIB": str(tools.tool("ranlib"))}
    call("./configure", "--static", f"--prefix={tools.prefix}", folder=folder, **variables)
    call("make", "install", folder=folder)


def _libdeflate(tools: Toolchain, folder: Path) -> None:
    call("make", *tools.make, f"CFLAGS={_FLAGS}", "DISABLE_SHARED=1", "install", folder=folder)


def _zstd(tools: Toolchain, folder: Path) -> None:
    targets = ["install-static", "install-includes", "install-pc"]
    call("make", "-C", folder / "lib", *tools.make, f"CFLAGS={_FLAGS}", *targets)


def _xxhash(tools: Toolchain, folder: Path) -> None:
    (tools.prefix / "include").mkdir(parents=True, exist_ok=True)
    shutil.copy(folder / "xxhash.h", tools.prefix / "include")


def _liburing(tools: Toolchain, folder: Path) -> None:
    compilers = [f"--cc={tools.tool('clang')}", f"--cxx={tools.tool('clang++')}"]
    call("./configure", f"--prefix={tools.prefix}", *compilers, folder=folder)
    call("make", "-C", "src", "ENABLE_SHARED=0", f"CFLAGS={_FLAGS}", *tools.make[:2], "install", folder=folder)
    call("make", "liburing.pc", folder=folder)
    shutil.copy(folder / "liburing.pc", tools.prefix / "lib" / "pkgconfig")


def _cli11(tools: Toolchain, folder: Path) -> None:
    off = [f"-DCLI11_BUILD_{name}=OFF" for name in ("TESTS", "EXAMPLES", "DOCS")]
    _cmake(tools, folder, *off, "-DCLI11_SINGLE_FILE=OFF")


def _nlohmann(tools: Toolchain, folder: Path) -> None:
    _cmake(tools, folder, "-DJSON_BuildTests=OFF")


def _cmake(tools: Toolchain, folder: Path, *arguments: str, more_flags: str = "") -> None:
    common = [
        f"-DCMAKE_C_FLAGS={_FLAGS} {more_flags}",
        f"-DCMAKE_INSTALL_PREFIX={tools.prefix}",
        "-DCMAKE_BUILD_TYPE=Release",
    ]
    build = folder / "build"
    build.mkdir()
    call(
        "cmake", *tools.cmake, "-S", folder, "-B", build, *common, *arguments, folder=build
    )  # HDF5's checks write files here
    call("cmake", "--build", build, "--target", "install")


def _hdf5(tools: Toolchain, folder: Path) -> None:
    off = "BUILD_SHARED_LIBS BUILD_TESTING HDF5_BUILD_CPP_LIB HDF5_BUILD_TOOLS HDF5_BUILD_EXAMPLES HDF5_BUILD_UTILS "
    off += "HDF5_BUILD_FORTRAN HDF5_ENABLE_SZIP_SUPPORT HDF5_ENABLE_PARALLEL HDF5_ENABLE_DEPRECATED_SYMBOLS_WARNING"
    arguments = [f"-D{name}=OFF" for name in off.split()]
    arguments += ["-DHDF5_BUILD_HL_LIB=ON", "-DHDF5_ENABLE_Z_LIB_SUPPORT=ON"]
    _cmake(tools, folder, *arguments, more_flags="-w -Wno-error=implicit-int")  # newer compilers insist on newer C


_BUILDS = {
    "zlib": _zlib,
    "libdeflate": _libdeflate,
    "zstd": _zstd,
    "xxhash": _xxhash,
    "liburing": _liburing,
    "cli11": _cli11,
    "nlohmann": _nlohmann,
    "hdf5": _hdf5,
}


def locked_mpi(flavour: str) -> tuple[str, str]:
    """Name and version of the MPI library whose headers a build takes, of its lock."""
    found = re.search(r"^(\w+)==(\S+)", (HERE / f"{flavour}.lock").read_text(), re.MULTILINE)
    assert found is not None, flavour
    return found[1], found[2]


def unpack_mpi(tools: Toolchain, flavour: str, python: Path, cache: Path) -> Path:
    """The prefix of an MPI library's headers and shared library, of the wheel that the flavour's lock names, with an
    `mpicc` that tells CMake where they are."""
    name, version = locked_mpi(flavour)
    prefix = tools.folder / "mpi" / flavour
    stamp = prefix / "version"
    if stamp.is_file() and stamp.read_text() == version:
        return prefix
    cache.mkdir(parents=True, exist_ok=True)
    pip = [python, "-m", "pip", "download", "-q", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
    call(*pip, "--platform", f"manylinux_2_28_{tools.machine}", "-d", cache, "-r", HERE / f"{flavour}.lock")
    shutil.rmtree(prefix, ignore_errors=True)
    with zipfile.ZipFile(next(cache.glob(f"{name}-{version}-*_{tools.machine}.whl"))) as wheel:
        for info in wheel.infolist():
            found = re.fullmatch(r"[^/]+\.data/data/((?:include|lib)/.*)", info.filename)
            if found and not info.is_dir():
                target = prefix / found[1]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(wheel.read(info))
    library, definition = ("mpi_abi", "-DMPI_ABI ") if flavour == "mpi_abi" else ("mpi", "")
    # There libmpi.so is a script of the linker's, which names a file beside it; not every linker looks there.
    plain = prefix / "lib" / f"lib{library}.so"
    plain.unlink()
    plain.symlink_to(next((prefix / "lib").glob(f"{plain.name}.*")).name)
    (prefix / "bin").mkdir()
    flags = {"compile": f"{definition}-I{prefix}/include", "link": f"-L{prefix}/lib -l{library}"}
    (prefix / "bin" / "mpicc").write_text(
        "#!/bin/sh\ncase $1 in\n"
        + "".join(f'-showme:{what}) echo "{text}" ;;\n' for what, text in flags.items())
        + f'-show) echo "{tools.tool("clang")} {" ".join(flags.values())}" ;;\n'
        + f'*) exec {tools.tool("clang")} "$@" {" ".join(flags.values())} ;;\nesac\n'
    )
    (prefix / "bin" / "mpicc").chmod(0o755)
    stamp.write_text(version)
    return prefix


#: The functions of the unwinder that C++ calls, behind _Unwind_.
_UNWINDER = """
Backtrace DeleteException FindEnclosingFunction ForcedUnwind GetCFA GetDataRelBase GetGR GetIP GetIPInfo
GetLanguageSpecificData GetRegionStart GetTextRelBase RaiseException Resume Resume_or_Rethrow SetGR SetIP
"""


def unwinder(tools: Toolchain) -> Path:
    """A library to link with that stands for the machine's libgcc_s.so.1, by which the process's exceptions travel. zig
    would link an unwinder of its own in, and an exception of a program's error handler, on its way through the drop-in,
    would meet two of them."""
    library, source = tools.prefix / "lib" / "libgcc_s.so.1", tools.folder / "unwinder.c"
    source.write_text("".join(f"void _Unwind_{name}(void) {{}}\n" for name in _UNWINDER.split()))
    call(tools.tool("clang"), "-w", "-shared", "-nostdlib", f"-Wl,-soname,{library.name}", source, "-o", library)
    return library
