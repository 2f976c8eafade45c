"""Hatch's hook for wheels: takes the libraries and programs of the folder HAKOBI_WHEEL_CONTENT, `lib` and `bin`, into
the package, and gives the wheel the platform HAKOBI_WHEEL_PLATFORM. Without the former (editable ones, wheels without
libraries) it does nothing. tools/wheel sets both."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelHook(BuildHookInterface[Any]):
    """Registered in pyproject.toml."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get("HAKOBI_WHEEL_CONTENT")
        if not folder or version == "editable":
            return
        for path in sorted(Path(folder).glob("*/*")):
            build_data["force_include"][str(path)] = f"hakobi/{path.parent.name}/{path.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['HAKOBI_WHEEL_PLATFORM']}"
