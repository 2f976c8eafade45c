"""pytest's rules of this project."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def pytest_with_rules(*options: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """pytest with this project's settings and no more plugins than these need, which others' slow down."""
    environment = os.environ | {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": str(ROOT / "tests" / "python"),
        "HAKOBI_MPI": "openmpi",
    }
    plugins = [
        word for name in ("pytest_timeout", "xdist", "pytest_rules", "no:cacheprovider") for word in ("-p", name)
    ]
    command = [sys.executable, "-m", "pytest", "-q", "-c", ROOT / "pyproject.toml", *plugins, *options]
    return subprocess.run(
        command, env=environment | variables, capture_output=True, text=True, check=False, timeout=100
    )


LATE = """
import time
import pytest

@pytest.mark.timeout(20)
def test_with_a_longer_limit(): time.sleep(1.5)

def test_as_others(): time.sleep({})
"""


def test_a_longer_limit_is_one_for_the_process_too(tmp_path: Path) -> None:
    """faulthandler ends the process of a test that its own limit cannot end, and of no other."""

    def run(sleep_s: float) -> int:
        (tmp_path / "test_late.py").write_text(LATE.format(sleep_s))
        limits = ["-o", "timeout=10", "-o", "faulthandler_timeout=1"]
        return pytest_with_rules(*limits, tmp_path / "test_late.py").returncode

    assert run(0.1) == 0
    assert run(60) == 1
