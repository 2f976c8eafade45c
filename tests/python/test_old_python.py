"""Decision 43: what `hakobi run` imports keeps to Python 3.9, by ruff, which pyproject.toml tells the files of."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

from hakobi import cli

ROOT = Path(__file__).resolve().parents[2]


def file_of(module: str) -> Path | None:
    """The file of a module of the package; None for other modules, and for what is no module."""
    path = ROOT.joinpath("python", *module.split("."))
    found = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return found if module.partition(".")[0] == "hakobi" and found.is_file() else None


def imports_of(path: Path) -> Iterator[str]:
    """The modules that a file imports, in its functions too, but not for type checkers."""
    tree = ast.parse(path.read_text())
    checkers = [
        node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    ]
    skipped = {id(node) for check in checkers for node in ast.walk(check)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{name.name}" for name in node.names))


def test_ruff_holds_what_run_imports_to_python_3_9() -> None:
    commands = [cli.COMMANDS[words] for words in cli.FOR_ALL_PYTHONS]
    found: dict[str, Path] = {}
    asked = ["hakobi.__main__", *commands]
    while asked:
        module = asked.pop()
        path = file_of(module)
        if path is not None and module not in found:
            found[module] = path
            asked += [module.rpartition(".")[0], *imports_of(path)]
    assert {"hakobi", "hakobi.drop_in", "hakobi.launchers"} <= found.keys()
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    held = {name for name, version in settings["tool"]["ruff"]["per-file-target-version"].items() if version == "py39"}
    assert held == {str(path.relative_to(ROOT)) for path in found.values()}
