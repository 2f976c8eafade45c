"""The compiler of the wheel's libraries: zig's clang with its own libc++, which compiles and links for any machine and
against the symbols of an old glibc."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

#: The glibc of RHEL 8, Debian 10 and Cray's systems of 2020; PyPI calls the wheels manylinux_2_28.
GLIBC = "2.28"
MACHINES = ("x86_64", "aarch64")

#: zig's driver by the name of a compiler, which ccache and CMake know what to make of.
_TOOLS = {"clang": "cc", "clang++": "c++", "ar": "ar", "ranlib": "ranlib"}


def call(*command: object, folder: Path | None = None, **variables: str) -> str:
    """The output of a command; ends the program with it when the command fails."""
    words = list(map(str, command))
    environment = os.environ | variables
    done = subprocess.run(words, cwd=folder, env=environment, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"hakobi wheel: {' '.join(words)} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


@dataclass(frozen=True)
class Toolchain:
    """Compilers for one machine. `folder`/bin has them, `folder`/toolchain.cmake tells CMake, `prefix` has the
    libraries that are built with them."""

    machine: str
    folder: Path

    @property
    def prefix(self) -> Path:
        return self.folder / "prefix"

    def tool(self, name: str) -> Path:
        return self.folder / "bin" / name

    @property
    def cmake(self) -> list[str]:
        """The arguments that every configuration takes."""
        found = [f"-DCMAKE_TOOLCHAIN_FILE={self.folder / 'toolchain.cmake'}", "-G", "Ninja"]
        launchers = [f"-DCMAKE_{name}_COMPILER_LAUNCHER=ccache" for name in ("C", "CXX")]
        return [*found, *(launchers if shutil.which("ccache") else [])]

    @property
    def make(self) -> list[str]:
        """The arguments of a Makefile without configuration."""
        return [f"CC={self.tool('clang')}", f"AR={self.tool('ar')}", f"PREFIX={self.prefix}"]

    def write(self, zig: Path) -> None:
        """Makes the folder's files where they are not yet."""
        (self.folder / "bin").mkdir(parents=True, exist_ok=True)
        # ccache knows the compiler by this text: it names zig's version, and no checkout's folder.
        head = f"#!/bin/sh\n# zig {call(zig, 'version').strip()}\n"
        place = os.path.relpath(zig, self.folder / "bin")
        for name, driver in _TOOLS.items():
            # Without optimisation zig has undefined behaviour looked for, by a library that nobody links.
            flags = (
                f" -target {self.machine}-linux-gnu.{GLIBC} -fno-sanitize=undefined" if name.startswith("clang") else ""
            )
            self._keep(self.tool(name), f'{head}exec "${{0%/*}}/{place}" {driver}{flags} "$@"\n')
            self.tool(name).chmod(0o755)
        self._keep(self.folder / "toolchain.cmake", self._toolchain_text())

    @staticmethod
    def _keep(path: Path, text: str) -> None:
        if not path.is_file() or path.read_text() != text:  # ninja and ccache look at its time
            path.write_text(text)

    def _toolchain_text(self) -> str:
        # HDF5 runs programs while it is built. `env` runs them as they are.
        is_own = self.machine == os.uname().machine
        emulator = "env" if is_own else f"qemu-{self.machine}-static;-L;/usr/{self.machine}-linux-gnu"
        return f"""\
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {self.machine})
set(CMAKE_C_COMPILER {self.tool("clang")})
set(CMAKE_CXX_COMPILER {self.tool("clang++")})
set(CMAKE_AR {self.tool("ar")})
set(CMAKE_RANLIB {self.tool("ranlib")})
set(CMAKE_CROSSCOMPILING_EMULATOR "{emulator}")
set(CMAKE_FIND_ROOT_PATH {self.prefix} {self.folder})
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(ENV{{PKG_CONFIG_LIBDIR}} {self.prefix}/lib/pkgconfig)
"""
