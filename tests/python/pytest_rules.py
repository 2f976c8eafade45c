"""Rules of a run of pytest, for conftest.py: a test with a longer limit than others has as much more time before its
process is ended (faulthandler_timeout, for threads that wait in C)."""

from __future__ import annotations

import faulthandler

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key


def pytest_runtest_setup(item: pytest.Item) -> None:
    own = item.get_closest_marker("timeout")
    if own is not None:
        more_s = own.args[0] - float(item.config.getini("timeout"))
        end_s = float(item.config.getini("faulthandler_timeout")) + max(0, more_s)
        stderr = item.config.stash[fault_handler_stderr_fd_key]
        faulthandler.dump_traceback_later(end_s, file=stderr, exit=item.config.getini("faulthandler_exit_on_timeout"))
