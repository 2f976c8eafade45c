"""Recipes of packagers agree with what they package."""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPACK = ROOT / "packaging" / "spack" / "spack_repo" / "hakobi"
DIRECTIVES = ("license", "version", "variant", "depends_on", "conflicts", "requires", "generator")


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[tuple[str, tuple[Any, ...]]]]:
    """The class of Spack's recipe and its directives, read with the names that Spack 1 gives a recipe."""
    said: list[tuple[str, tuple[Any, ...]]] = []

    def directive(name: str) -> Callable[..., object]:
        return lambda *words, **_options: said.append((name, words))

    modules = ("spack", "spack.package", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems")
    for name in (*modules, "spack_repo.builtin.build_systems.cmake"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    package, cmake = sys.modules["spack.package"], sys.modules["spack_repo.builtin.build_systems.cmake"]
    for name in DIRECTIVES:
        setattr(cmake if name == "generator" else package, name, directive(name))
    package.__dict__.update(when=lambda _condition: nullcontext(), EnvironmentModifications=dict, Executable=str)
    cmake.__dict__["CMakePackage"] = type("CMakePackage", (), {})
    found = runpy.run_path(str(SPACK / "packages" / "hakobi" / "package.py"))
    return found["Hakobi"], said


def test_spacks_recipe_is_of_this_tree_and_of_spack_1(recipe: Any) -> None:
    package, _said = recipe
    assert package.git == f"file://{ROOT}"
    assert (SPACK / "repo.yaml").read_text() == "repo:\n  namespace: hakobi\n  api: v2.0\n"


def test_spack_installs_the_python_that_the_command_needs(recipe: Any) -> None:
    _package, said = recipe
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lab = tomllib.loads((ROOT / "lab" / "pyproject.toml").read_text())["project"]
    wanted = {*project["dependencies"], *project["optional-dependencies"]["measure"], *lab["dependencies"]}
    wanted = {word.replace(">=", "@") for word in wanted if word != "hakobi"}
    depended = [words[0] for name, words in said if name == "depends_on" and words[0].startswith("py-")]
    assert {re.sub(r":.*", "", word.removeprefix("py-")) for word in depended} == wanted


def test_spack_sets_options_that_there_are(recipe: Any) -> None:
    package, said = recipe
    package.define = staticmethod(lambda name, _value: name)
    package.define_from_variant = staticmethod(lambda name, variant: f"{name} {variant}")
    package.spec = {"mpi": type("Mpi", (), {"mpicc": "/mpicc"})}
    variants = {words[0] for name, words in said if name == "variant"}
    cmake = (ROOT / "CMakeLists.txt").read_text()
    for word in package().cmake_args():
        name, _, variant = word.partition(" ")
        assert name == "MPI_C_COMPILER" or re.search(rf"option\({name} ", cmake), name
        assert not variant or variant in variants
