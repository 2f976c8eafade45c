"""Debian's packages, fetched and unpacked into a folder of ours; nothing is installed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from hakobi import programs
from hakobi.file_lock import lock

#: Packages that every testbed needs: the nodes' kernel, and the loader of its modules.
COMMON = ("user-mode-linux", "busybox")


def folder() -> Path:
    """Where they are unpacked: build/testbed of the source tree, else below the user's cache."""
    tree = programs.source_tree()
    if tree is not None:
        return tree / "build" / "testbed"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hakobi" / "testbed"


def unpack(names: tuple[str, ...]) -> Path:
    """Fetches packages, and what they need that is not installed here, unless that was done before; returns the folder.
    Raises OSError, or subprocess.CalledProcessError with apt's text."""
    place = folder()
    debs = place / "debs"
    (debs / "partial").mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as held:
        lock(held.fileno())
        whole = place / ("whole-" + "-".join(names))
        if whole.exists():
            return place
        apt = [
            "apt-get",
            "-q",
            "-o",
            "DPkg::Lock::Timeout=120",
            "-o",
            f"Dir::Cache::archives={debs}",
            "-d",
            "-y",
            "--no-install-recommends",
        ]
        subprocess.run([*apt, "--reinstall", "install", *names], check=True, capture_output=True, text=True)
        for old in ("bin", "sbin", "lib"):  # as on the machine, or one library's parts would lie in two places
            link = place / old
            (place / "usr" / old).mkdir(parents=True, exist_ok=True)
            if not link.is_symlink():
                link.symlink_to(f"usr/{old}")
        for package in sorted(debs.glob("*.deb")):
            with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE) as tar:
                words = ["tar", "-x", "--keep-directory-symlink", "-C", str(place)]
                subprocess.run(words, stdin=tar.stdout, check=True, capture_output=True, text=True)
        whole.touch()
    return place
