"""tools/check: each rule finds what it is there for, and the project itself keeps all of them."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "check"

if not SCRIPT.is_file():
    pytest.skip("the tests run without the source tree", allow_module_level=True)


def load() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("hakobi_check", str(SCRIPT))
    spec = importlib.util.spec_from_loader("hakobi_check", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["hakobi_check"] = module
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


check = load()


def findings(tmp_path: Path, rule: str, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [f"{item.path}:{item.line}" for item in check.RULES[rule][1](check.Tree(tmp_path))]


def test_a_circle_of_imports_is_found_wherever_they_stand(tmp_path: Path) -> None:
    files = {
        "python/hakobi/a.py": "from hakobi import b\n",
        "python/hakobi/b.py": "import os\n\n\ndef f() -> None:\n    import hakobi.part.c\n",
        "python/hakobi/part/__init__.py": "",
        "python/hakobi/part/c.py": "from hakobi.a import f\n",
        "python/hakobi/d.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from hakobi import e\n",
        "python/hakobi/e.py": "from hakobi import d, a\n",
    }
    found = findings(tmp_path, "import-circles", files)
    assert found == ["python/hakobi/a.py:1", "python/hakobi/b.py:5", "python/hakobi/part/c.py:1"]


def test_what_type_checkers_read_counts_between_packages(tmp_path: Path) -> None:
    for_types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from hakobi.{} import x\n"
    files = {
        "python/hakobi/a/__init__.py": "",
        "python/hakobi/a/one.py": for_types.format("a.two"),
        "python/hakobi/a/two.py": "from hakobi.a import one\nfrom hakobi.b import three\n",
        "python/hakobi/b/__init__.py": "",
        "python/hakobi/b/three.py": for_types.format("a.two"),
    }
    assert findings(tmp_path, "import-circles", files) == ["python/hakobi/a/two.py:2", "python/hakobi/b/three.py:3"]


def test_bindings_that_are_not_what_the_headers_say_are_found(tmp_path: Path) -> None:
    fortran = [f"fortran/{path.name}" for path in (ROOT / "fortran").glob("hakobi*.f90")]
    headers = (
        "include/hakobi.h",
        "include/hakobi_exchange.h",
        "include/hakobi_store.h",
        "include/hakobi/bindings.h",
        "include/hakobi/version.h",
    )
    for name in ("tools/bindings", *headers, "python/hakobi/_capi.py", *fortran):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    assert findings(tmp_path, "bindings", {}) == []
    header = (tmp_path / "include" / "hakobi.h").read_text()
    exchange = (tmp_path / "include" / "hakobi_exchange.h").read_text()
    changed = {"include/hakobi_exchange.h": exchange.replace("int root,", "int64_t root,")}
    assert findings(tmp_path, "bindings", changed) == ["python/hakobi/_capi.py:1", "fortran/hakobi_c_interface.f90:1"]
    assert findings(tmp_path, "bindings", {"include/hakobi_exchange.h": exchange}) == []
    for struct in (
        header.replace("typedef struct hakobi_axis {\n    size_t struct_size;", "typedef struct hakobi_axis {"),
        header.replace("} hakobi_axis;", "    int is_up;\n} hakobi_axis;"),
    ):
        assert findings(tmp_path, "bindings", {"include/hakobi.h": struct}) == ["include/hakobi.h:1"]


def test_another_version_and_a_name_of_no_version_are_found(tmp_path: Path) -> None:
    files = {
        "CMakeLists.txt": "project(hakobi VERSION 0.2.0 LANGUAGES C CXX)\n",
        "include/hakobi/version.h": '#define HAKOBI_VERSION "0.2.1"\n',
        "include/hakobi/a.hpp": "#pragma once\nnamespace hakobi::mpi {\n}\nnamespace hakobi {\ninline namespace v0 {\n",
        "include/hakobi/b.hpp": "#pragma once\nnamespace hakobi {\n}\n",
    }
    assert findings(tmp_path, "version", files) == ["include/hakobi/version.h:1", "include/hakobi/b.hpp:2"]


def test_the_project_keeps_its_rules() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--quiet"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def of_members(num: int) -> str:
    """A class of that many data members, and of other declarations."""
    members = "".join(f"    std::map<int, int> m{i}_ = {{}};\n" for i in range(num - 3))
    return f"""class A final : public B {{
  public:
    A(int a, int b) : a_(a), b_(b) {{}}
    A& operator=(const A&) = delete;
    [[nodiscard]] int sum() const {{ return a_ + b_; }}
    virtual void run(int a, int b) = 0;
    struct Inner {{
        int x = 0, y = 0;
    }} inner_;
    using Own = int;
    static constexpr int most = 3;

  private:
{members}    int a_ = f(1, 2), b_ = 0;  // of a pair; both are counted
}};
"""


def wrapped(num: int, part: str, more: str = "") -> str:
    """A class of ten data members and of a part, which has the rest of that many."""
    inner = "".join(f"        int p{i} = 0;\n" for i in range(num - 10))
    own = "".join(f"    int m{i}_;\n" for i in range(10))
    return f"class A {{\n{own}" + part.format(inner) + f"{more}}};\n"


@pytest.mark.parametrize(
    "head",
    [
        "struct HAKOBI_HIDDEN A::Impl",
        "struct alignas(64) A",
        "class alignas(cache_line_bytes()) [[nodiscard]] A final : public B",
        'struct __attribute__((visibility("hidden"))) A',
        "template <>\nstruct A<int>",
    ],
)
def test_members_are_counted_behind_attributes(tmp_path: Path, head: str) -> None:
    text = head + " {\n" + "    int a{0};\n" * 13 + "};\n"
    assert findings(tmp_path, "members", {"src/io/a.cpp": text}) != []
    assert findings(tmp_path, "members", {"src/io/a.cpp": text.replace("    int a{0};\n", "", 1)}) == []


@pytest.mark.parametrize(
    ("part", "more", "counts"),
    [
        ("    struct Part {{\n{}    }} part_;\n", "", True),
        ("    struct {{\n{}    }} part_;\n", "", True),
        ("    struct Part {{\n{}    }};\n    Part part_ = {{}};\n", "", True),
        ("    struct Part {{\n{}    }} part_;\n", "    std::vector<Part> parts() const;\n", False),
        ("    struct Part {{\n{}    }};\n", "    std::vector<Part> parts_;\n", False),
    ],
)
def test_a_part_with_one_object_counts_with_its_owner(tmp_path: Path, part: str, more: str, counts: bool) -> None:
    files = {"src/io/a.hpp": wrapped(16, part, more)}
    assert findings(tmp_path, "members", files) == (["src/io/a.hpp:1"] if counts else [])
    assert findings(tmp_path, "members", {"src/io/a.hpp": wrapped(15, part, more)}) == []


@pytest.mark.parametrize(
    ("rule", "path", "bad", "good"),
    [
        ("layers", "src/io/a.cpp", '#include "output/method.hpp"\n', '#include "storage/file.hpp"\n'),
        ("layers", "src/base/a.cpp", '#include "mpi/agree.hpp"\n', '#include "base/clock.hpp"\n'),
        ("layers", "src/format/a.cpp", '#include "io/plan.hpp"\n', '#include "mpi/agree.hpp"\n'),
        ("layers", "src/input/a.cpp", '#include "output/method.hpp"\n', '#include "series/piece.hpp"\n'),
        ("layers", "src/format/a.cpp", "#include <hakobi/output.hpp>\n", "#include <hakobi/axis.hpp>\n"),
        ("layers", "src/mpi/a.cpp", "#include <hakobi/novel.hpp>\n", "#include <hakobi/comm.hpp>\n"),
        ("layers", "src/novel/a.cpp", "\n", "\n"),
        ("members", "src/io/a.hpp", of_members(13), of_members(12)),
        ("mpi-header", "include/hakobi/block.hpp", "#include <mpi.h>\n", "#include <vector>\n"),
        ("mpi-header", "src/io/a.hpp", "#include <mpi.h>\n", "#include <hakobi/comm.hpp>\n"),
        ("mpi-calls", "src/io/a.cpp", "MPI_Barrier(comm);\n", "// MPI_Barrier(comm) waits\nMPI_Comm comm;\n"),
        ("mpi-calls", "src/io/a.cpp", "PMPI_Send (x);\n", 'check(x, "MPI_Send(x)");\n'),
        ("length", "src/io/a.cpp", "\n" * 401, "\n" * 400),
        ("folders", "src/utils/a.cpp", "", ""),
        ("guards", "src/io/a.hpp", "int x;\n", "#pragma once\n"),
        ("todo", "src/io/a.cpp", "// TODO: faster\n", "// TODO #12: faster\n"),
        ("houses", "python/hakobi/a.py", "from hakobi_lab import browser\n", "from hakobi import plugins\n"),
        ("columns", "src/io/a.cpp", "// " + "a " * 54, "// " + "a " * 53),
        ("columns", "fortran/a.f90", "!> " + "a " * 54, "!> name    " + "a " * 54),
        ("words", "src/io/a.hpp", "    /// What a call costs.\n", "    /// The cost of a call.\n"),
        ("words", "src/io/a.hpp", "//  1. Of each rank: its block.\n", "// Whatever it costs.\nint a;  // Of b.\n"),
        ("words", "include/a.h", "/* A thing.\n * Which it is. */\n", "/* A thing\n * which it is. */\n"),
        ("words", "fortran/a.f90", "!> Whose it is.\n", "x = 1 ! Whose it is.\n"),
        ("words", "python/a.py", '"""What it does."""\n', '"""Does it."""\nWHAT = "What it does."\n'),
        ("places", "docs/a.md", "see /root/notes\n", "see <prefix>/root/notes\n"),
    ],
)
def test_a_rule_finds_what_it_is_for(tmp_path: Path, rule: str, path: str, bad: str, good: str) -> None:
    assert findings(tmp_path / "bad", rule, {path: bad}) != []
    if bad != good:
        assert findings(tmp_path / "good", rule, {path: good}) == []


@pytest.mark.parametrize(
    ("link", "is_found"),
    [
        ("b.md", True),
        ("b.md#a-heading-of-code-twice", True),
        ("b.md#a-heading-of-code-twice-1", True),
        ("b.md#in-a-block", False),
        ("#here", True),
        ("#there", False),
        ("../src/a.cpp", True),
        ("../src", True),
        ("c.md", False),
        ("https://example.org/c.md", True),
    ],
)
def test_a_link_of_a_page_leads_somewhere(tmp_path: Path, link: str, is_found: bool) -> None:
    files = {
        "docs/a.md": f"# Here\n\n`[no](link)`, [text]({link})\n\n```\n[code](d.md)\n```\n",
        "docs/b.md": "# A heading of `code`, twice\n```\n# In a block\n```\n## A [heading](a.md) of `code`, twice\n",
        "src/a.cpp": "// docs/b.md says why\n",
    }
    assert findings(tmp_path, "links", files) == ([] if is_found else ["docs/a.md:3"])


def test_a_page_that_code_names_is_there(tmp_path: Path) -> None:
    assert findings(tmp_path, "links", {"src/a.cpp": "\n// docs/b.md says why\n"}) == ["src/a.cpp:2"]


def test_a_page_is_on_a_shelf(tmp_path: Path) -> None:
    toctree = "```{toctree}\n:hidden:\n\na\nparts/*\n```\n"
    files = {"docs/index.md": toctree, "docs/a.md": "", "docs/parts/b.md": "", "docs/c.md": ""}
    assert findings(tmp_path, "shelves", files) == ["docs/c.md:1"]
    (tmp_path / "docs" / "a.md").unlink()
    assert findings(tmp_path, "shelves", {}) == ["docs/index.md:1", "docs/c.md:1"]


def test_each_decision_has_a_status_and_each_gap_a_reason(tmp_path: Path) -> None:
    index = "| 1 | [One](0001-one.md) | in force |\n| 4 | [Four](0004-four.md) | replaced by 1 |\n"
    files = {
        "docs/decisions/0001-one.md": "# 1. One\n",
        "docs/decisions/0004-four.md": "# 4. Four\n",
        "docs/decisions/README.md": index + "## Numbers without a page\n2 and 3 were never written.\n",
    }
    assert findings(tmp_path, "decisions", files) == []
    assert findings(tmp_path, "decisions", {"docs/decisions/README.md": index}) == ["docs/decisions/README.md:1"] * 2
    lacks = {"docs/decisions/README.md": files["docs/decisions/README.md"].replace("| in force |", "| |")}
    assert findings(tmp_path, "decisions", lacks) == ["docs/decisions/0001-one.md:1"]


HEADER = "enum class ErrorCode : int {\n    ok = 0,\n    no_space = 9,  ///< full\n};\n"


@pytest.mark.parametrize(
    ("table", "num_findings"),
    [
        ("| 0 | `ok` |\n| 9 | `no_space` |\n", 0),
        ("| 0 | `ok` |\n", 1),
        ("| 0 | `ok` |\n| 8 | `no_space` |\n", 1),
        ("| 0 | `ok` |\n| 9 | `no_space` |\n| 10 | `io` |\n", 1),
    ],
)
def test_the_error_table_is_the_enum(tmp_path: Path, table: str, num_findings: int) -> None:
    files = {"include/hakobi/error.hpp": HEADER, "docs/errors.md": table}
    assert len(findings(tmp_path, "errors", files)) == num_findings


def test_architecture_names_files_that_exist(tmp_path: Path) -> None:
    page = "`io/engine` runs `src/io/plan.cpp`, and `Output::put` is no file, but `src/io/gone.cpp` was.\n"
    files = {"ARCHITECTURE.md": page, "src/io/plan.cpp": "", "src/io/engine.cpp": ""}
    assert findings(tmp_path, "architecture", files) == ["ARCHITECTURE.md:1"]


def test_a_missing_tree_is_one_line() -> None:
    command = [sys.executable, SCRIPT, "--root", "/nowhere"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "tools/check: /nowhere is no folder\n")


WRAP = ROOT / "tools" / "wrap"


def wrap(tmp_path: Path, name: str, text: str) -> str:
    path = tmp_path / name
    path.write_text(text)
    subprocess.run([sys.executable, WRAP, path], check=True)
    return path.read_text()


@pytest.mark.parametrize(
    ("name", "text", "heads"),
    [
        ("a.hpp", "    /// {}end.\n", ["    /// "] * 2),
        ("a.hpp", "/// {}\n/// ends early.\n/// Next.\n", ["/// "] * 3),
        ("a.cpp", "//  1. {}end\n//     of it.\n//  2. Next.\n", ["//  1. ", "//     ", "//  2. "]),
        ("a.h", "/* {}end. */\n", ["/* ", " * "]),
        ("a.c", "/* A.\n * {}end. */\n", ["/* ", " * ", " * "]),
        ("a.f90", "!> {}end.\n", ["!> "] * 2),
        ("a.py", "#: {}end.\n", ["#: "] * 2),
    ],
)
def test_long_comments_are_wrapped_as_they_are_made(tmp_path: Path, name: str, text: str, heads: list[str]) -> None:
    text = text.format("word " * 25)
    lines = wrap(tmp_path, name, text).splitlines()
    assert [line.startswith(head) for line, head in zip(lines, heads, strict=True)] == [True] * len(heads)
    assert max(map(len, lines)) <= 110
    told = "".join(line.removeprefix(head) + " " for line, head in zip(lines, heads, strict=True))
    marks = {mark for head in heads for mark in head.split()}
    assert told.split() == [word for word in text.split() if word not in marks]
    assert wrap(tmp_path, name, "\n".join(lines) + "\n").splitlines() == lines


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.hpp", f"///     {'code(); ' * 20}\n"),
        ("a.hpp", f"/// name    {'word ' * 25}\n"),
        ("a.cpp", f"int a;  // {'word ' * 25}\n"),
        ("a.cpp", f"// {'x' * 120}\n"),
        ("a.py", f'TEXT = """\n# {"word " * 25}\n"""\n'),
        ("a.hpp", "/// Short.\n/// Lines stay\n/// apart.\n"),
    ],
)
def test_other_lines_stay(tmp_path: Path, name: str, text: str) -> None:
    assert wrap(tmp_path, name, text) == text
