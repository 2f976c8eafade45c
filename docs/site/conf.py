"""Sphinx's configuration of the documentation site: `make docs` builds it from the source's root as build/docs/html.

Pages are Markdown and read as well on a forge. What the site adds is made from the code: docs/reference/ has directives
that doxygen (C++, C), autodoc (Python), fortran_contracts.py and sphinx-click (the command) fill with contracts.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent)]

project = "Hakobi"
author = "The Hakobi developers"
copyright = author  # noqa: A001, Sphinx's name
_version = re.search(r"project\(hakobi VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
assert _version, "CMakeLists.txt has the version"
version = release = _version.group(1)

extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc", "sphinx_click", "contracts"]

root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/**/*.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "apps/*/README.md",
    "changelog.d/README.md",
    "lab/README.md",
    "packaging/README.md",
]
exclude_patterns = [".*", "build", "dist", "shared", "tests", "out", "docs/site"]
default_role = "code"
highlight_language = "none"
smartquotes = False  # --option is two hyphens

myst_heading_anchors = 4
myst_links_external_new_tab = False
#: The namespace stands on each page of C++; `…` stands for code in examples.
suppress_warnings = ["myst.header", "duplicate_declaration.cpp", "misc.highlighting_failure"]

html_theme = "furo"
html_title = f"Hakobi {version}"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["theme"]
html_css_files = ["site.css"]
html_js_files = ["search.js"]  # before Sphinx's own, which begins when the page is there
html_search_scorer = "docs/site/scorer.js"
html_extra_path = ["door"]  # index.html, which leads to the start page
html_theme_options = {"navigation_with_keys": False}
pygments_style = "friendly"
pygments_dark_style = "native"

breathe_projects = {"hakobi": str(ROOT / "build/docs/doxygen/xml")}
breathe_default_project = "hakobi"
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}
breathe_default_members = ("members", "undoc-members")
breathe_show_include = False

autodoc_member_order = "bysource"
autodoc_default_options: dict[str, Any] = {"members": True, "undoc-members": True}
autodoc_typehints_format = "short"
autodoc_class_signature = "separated"
