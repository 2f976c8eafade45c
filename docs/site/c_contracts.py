"""Prints a C header with its comments as doxygen reads them: `make docs` filters hakobi.h through it.

The headers are written for people: plain comments, one for a row of declarations. Here
 1. `/* ---- Output ---- */` begins a group of that name;
 2. a comment on lines of its own is the contract of each declaration up to an empty line or another comment;
 3. a comment behind a member, on its line, is the member's;
 4. `typedef struct name {` … `} name;` is shown as the struct alone.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_GROUP = re.compile(r"/\* -{4} (.+?) -+ \*/")


def _escaped(text: str) -> str:
    """Escapes text that doxygen would take for commands of its own."""
    return re.sub(r"([\\@%])", r"\\\1", text)


def _as_contract(comment: str) -> str:
    return "/** " + _escaped(comment.strip().removeprefix("/*").strip())


def filtered(text: str) -> str:
    """The header's text for doxygen.

    >>> print(filtered("/* Head. */\\n/* Local. */\\nint a(void);\\nint b(void);\\n\\nint c(void);"))
    /** @file
     *
     * Head. */
    /** Local. */
    int a(void);
    /** Local. */
    int b(void);
    <BLANKLINE>
    int c(void);
    >>> print(filtered("/* Head. */\\nstruct a {\\n    /* Lent. */\\n    int* b; /* or NULL */\\n};"))
    /** @file
     *
     * Head. */
    struct a {
    /** Lent. */
        int* b; /**< or NULL */
    };
    """
    text = re.sub(r"^typedef struct (\w+) \{(.*?)^\} \1;$", r"struct \1 {\2};", text, flags=re.MULTILINE | re.DOTALL)
    made: list[str] = []
    contract = ""  # of the declarations that follow
    comment: list[str] | None = None  # the lines of one that has not ended
    in_declaration = is_grouped = has_head = False
    depth = 0  # of braces
    for line in text.splitlines():
        if comment is not None or line.lstrip().startswith("/*"):
            if group := _GROUP.fullmatch(line.strip()):
                made += ["/** @} */"] if is_grouped else []
                made += [f"/** @name {group.group(1)}", " *  @{ */"]
                is_grouped = True
                continue
            comment = [*(comment or []), line]
            if "*/" not in line:
                continue
            contract = _as_contract("\n".join(comment))
            comment = None
            if not has_head:
                has_head = True
                made.append(contract.replace("/** ", "/** @file\n *\n * ", 1))
                contract = ""
            elif depth:
                made.append(contract)
                contract = ""
            continue
        code, opened, rest = line.partition("/*")
        if not line.strip() or line.startswith("#"):
            contract = ""
        elif contract and not in_declaration and depth == 0:
            made.append(contract)
        # C++'s linkage is no scope of the header's.
        if 'extern "C"' not in code and not (depth == 0 and code.strip() == "}"):
            depth += code.count("{") - code.count("}")
            in_declaration = not code.rstrip().endswith((";", "}")) and bool(code.strip())
        made.append(f"{code}/**< {_escaped(rest.strip())}" if opened and not line.startswith("#") else line)
    if is_grouped:
        made.append("/** @} */")
    return "\n".join(made)


if __name__ == "__main__":
    print(filtered(Path(sys.argv[1]).read_text(encoding="utf-8")))
