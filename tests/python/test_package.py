"""The package's exports, and the libraries that its parts need."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import hakobi
from hakobi import cli, extras

ROOT = Path(__file__).resolve().parents[2]


def test_what_is_exported_is_there_and_known_to_type_checkers() -> None:
    for name in hakobi.__all__:
        assert getattr(hakobi, name) is not None
    tree = ast.parse(Path(hakobi.__file__).read_text())
    typed = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == hakobi._EXPORTS
    assert set(hakobi.__all__) == {*typed, "__version__"}


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = hakobi.nothing


def test_every_extra_that_is_advised_is_in_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extra, (_purpose, modules) in extras.EXTRAS.items():
        wanted = " ".join(project["optional-dependencies"][extra]).lower().replace("-", "_")
        for module in modules:
            assert module.lower() in wanted, (extra, module)


def test_the_wheels_page_has_no_links_into_the_repository_and_names_commands_that_are_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / project["readme"]).read_text()
    assert re.findall(r"\]\((?!https?://)", text) == []
    commands = set(re.findall(r"^hakobi (\w+)", text, re.MULTILINE))
    assert len(commands) >= 4
    assert commands <= set(cli.COMMANDS)
    (program,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    compile(program, "packaging/wheel/README.md", "exec")


WITHOUT_EXTRAS = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        extras = {"numpy", "psutil", "rich", "scipy", "jinja2", "matplotlib", "PIL", "h5py", "xarray", "starlette"}
        if name.partition(".")[0] in extras:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Refuse())
from hakobi import cli
sys.exit(cli.run(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("words", "status", "error"),
    [
        (["--help"], 0, ""),
        (["run", "--off", "--print", "--", "true"], 0, ""),
        (["run", "--help"], 0, ""),
        (["compare", "a.jsonl", "b.jsonl"], 2, "needs the Python module numpy: pip install numpy"),
    ],
)
def test_without_the_extras_what_needs_none_runs_and_the_rest_says_what_to_install(
    tmp_path: Path, words: list[str], status: int, error: str
) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text("")
    done = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    assert error in done.stderr
    assert len(done.stderr.splitlines()) == (1 if error else 0), done.stderr
