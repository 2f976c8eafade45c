"""Rules of a run of pytest, for conftest.py:

1. With HAKOBI_SKIPS=FILE it fails where a test is skipped that the table in FILE does not have (tools/skips).
2. The tests of the rows of tests/long.txt are long.
3. A test with a longer limit than others has as much more time before its process is ended (faulthandler_timeout, for
   threads that wait in C).
"""

from __future__ import annotations

import faulthandler
import importlib.machinery
import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

SKIPS = os.environ.get("HAKOBI_SKIPS")
MPI = os.environ.get("HAKOBI_MPI", "openmpi")
LONG_TESTS = pytest.StashKey[list[re.Pattern[str]]]()


def pytest_configure(config: pytest.Config) -> None:
    if SKIPS and not hasattr(config, "workerinput"):
        try:
            allowed = AllowedSkips(config.rootpath, SKIPS, MPI)
        except (OSError, ValueError) as error:
            raise pytest.UsageError(f"HAKOBI_SKIPS: {error}") from error
        config.pluginmanager.register(allowed)


def long_rows(root: Path) -> list[tuple[str, float, str]]:
    """The rows of tests/long.txt: who runs the test, its seconds, its name."""
    lines = (line.split("#")[0].split() for line in (root / "tests" / "long.txt").read_text().splitlines())
    return [(words[0], float(words[1]), words[2]) for words in lines if words]


def long_tests(root: Path) -> list[re.Pattern[str]]:
    """Patterns of the names, below tests/python, of pytest's tests in tests/long.txt."""
    names = [name for library, _, name in long_rows(root) if library == "python"]
    return [re.compile(".*".join(re.escape(part) for part in name.split("*"))) for name in names]


def pytest_itemcollected(item: pytest.Item) -> None:
    if LONG_TESTS not in item.config.stash:
        item.config.stash[LONG_TESTS] = long_tests(item.config.rootpath)
    name = item.nodeid.removeprefix("tests/python/")
    if any(pattern.fullmatch(name) for pattern in item.config.stash[LONG_TESTS]):
        item.add_marker("long")


def pytest_runtest_setup(item: pytest.Item) -> None:
    own = item.get_closest_marker("timeout")
    if own is not None:
        more_s = own.args[0] - float(item.config.getini("timeout"))
        end_s = float(item.config.getini("faulthandler_timeout")) + max(0, more_s)
        stderr = item.config.stash[fault_handler_stderr_fd_key]
        faulthandler.dump_traceback_later(end_s, file=stderr, exit=item.config.getini("faulthandler_exit_on_timeout"))


def load() -> ModuleType:
    """tools/skips as a module."""
    loader = importlib.machinery.SourceFileLoader("skips", str(Path(__file__).resolve().parents[2] / "tools" / "skips"))
    spec = importlib.util.spec_from_loader("skips", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


class AllowedSkips:
    """Plugin of the process that reports: pytest's own, or with xdist the one that has the workers."""

    def __init__(self, root: Path, table: str, mpi: str) -> None:
        self._skips = load()
        self._name, self._mpi = table, mpi
        self._table = self._skips.read_table(root / table)
        self._found: list[object] = []
        self._lines: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not hasattr(report, "wasxfail"):
            self._take(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._take(report)

    def _take(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped:
            assert isinstance(report.longrepr, tuple)
            self._found.append(self._skips.Skip(report.nodeid, report.longrepr[2].removeprefix("Skipped: ")))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        judgement = self._skips.judge(self._table, self._found, self._mpi, by_ctest=False)
        self._lines = judgement.lines(self._name)
        if judgement.unlisted and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._lines:
            terminalreporter.section("skips")
        for line in self._lines:
            terminalreporter.write_line(line)
