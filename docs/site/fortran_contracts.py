"""Contracts of a Fortran module of the project, as the reference shows them: what is public, by the names that programs
write. Sphinx's Fortran domains show the procedures behind `call out%put(…)`, and stop at a continued line.

The sources are read by their style: a contract is the `!>` lines above a declaration; module procedures are indented
once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_PROCEDURE = re.compile(r" {4}(?!end )([\w(), :*=]*?)\b(subroutine|function) (\w+)\((.*?)\)( result\((\w+)\))?$")
_BINDING = re.compile(r"\s+(?:procedure|generic)(?:, \w+)* :: (\w+)(?: => (.*))?$")
_DECLARATION = re.compile(r" {8}(?:type|class|integer|real|logical|character|complex|procedure)\b.*::")
_TYPE = re.compile(r" {4}type(?:, [\w(), ]+)? :: (\w+)$")


@dataclass(frozen=True)
class Procedure:
    kind: str  # subroutine, function
    arguments: list[str]
    declarations: list[str]  # of the arguments and the result
    result: str  # a function's type where its head has it
    doc: list[str]


@dataclass
class Type:
    doc: list[str]
    components: list[str] = field(default_factory=list)
    bindings: dict[str, tuple[list[str], list[str]]] = field(default_factory=dict)  # name -> procedures, doc


@dataclass
class Module:
    doc: list[str] = field(default_factory=list)
    public: list[str] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)
    types: dict[str, Type] = field(default_factory=dict)
    interfaces: dict[str, tuple[list[str], list[str]]] = field(default_factory=dict)
    procedures: dict[str, Procedure] = field(default_factory=dict)


def joined(text: str) -> Iterator[str]:
    """Lines without ends that are continued.

    >>> list(joined("call a(b, &\\n       c)"))
    ['call a(b, c)']
    """
    begun = ""
    for line in text.splitlines():
        whole = begun + (line.lstrip().removeprefix("&").lstrip() if begun else line)
        if whole.rstrip().endswith("&"):
            begun = whole.rstrip().removesuffix("&").rstrip() + " "
            continue
        begun = ""
        yield whole


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _is_declared(line: str, names: set[str]) -> bool:
    """Whether the line declares one of the names, as a module procedure's first lines declare arguments and result.

    >>> _is_declared("        integer, intent(in) :: rank_at(:)", {"rank_at"})
    True
    """
    declared = re.sub(r"\([^()]*\)", "", line.partition("::")[2])
    return bool(names & set(_names(re.sub(r"=[^,]*", "", declared).lower())))


def read(text: str) -> Module:
    module, doc = Module(), list[str]()
    lines = list(joined(text))
    within: Type | None = None
    interface = ""
    for number, line in enumerate(lines):
        if line.lstrip().startswith("!>"):
            doc.append(line.strip().removeprefix("!>").removeprefix(" "))
            continue
        if line.startswith("module "):
            module.doc = doc
        elif line.startswith("    public ::"):
            module.public += _names(line.partition("::")[2])
        elif re.match(r" {4}\w.*, parameter, public ::", line):
            module.constants.append(line.strip())
        elif found := _TYPE.match(line):
            within = module.types[found.group(1)] = Type(doc)
        elif re.match(r"\s+end type", line):
            within = None
        elif found := re.match(r" {4}interface (\w+)$", line):
            interface = found.group(1)
            module.interfaces[interface] = ([], doc)
        elif line.startswith("    end interface"):
            interface = ""
        elif interface and "procedure" in line:
            module.interfaces[interface][0].extend(_names(line.partition("::")[2]))
        elif within and (found := _BINDING.match(line)):
            within.bindings[found.group(1)] = (_names(found.group(2) or found.group(1)), doc)
        elif within and "::" in line:
            within.components.append(line.strip())
        elif within and line.strip() == "private":
            within.components.append("private")
        elif found := _PROCEDURE.match(line):
            prefix, kind, name, arguments, _, result = found.groups()
            names = _names(arguments)
            wanted = {item.lower() for item in [*names, result or ""]} - {"self", ""}
            body = lines[number + 1 :]
            end = next(i for i, text in enumerate(body) if re.match(rf" {{4}}end {kind}", text))
            declared = [part.strip() for part in body[:end] if _DECLARATION.match(part) and _is_declared(part, wanted)]
            module.procedures[name] = Procedure(kind, names, declared, prefix.strip(), doc)
        doc = []
    return module


def _literal(doc: list[str]) -> list[str]:
    """Prose in reStructuredText, with its indented lines as code."""
    made: list[str] = []
    for number, line in enumerate(doc):
        if line.startswith("    ") and (number == 0 or not doc[number - 1].startswith("    ")):
            made += ["", ".. code-block:: fortran", ""]
        made.append(line)
    return [*made, ""]


def _shown(call: str, procedure: Procedure, doc: list[str]) -> Iterator[str]:
    """One procedure, by the name that a program calls it by."""
    optional = {
        name
        for line in procedure.declarations
        if "optional" in line
        for name in _names(re.sub(r"\([^()]*\)", "", line.partition("::")[2]))
    }
    words = [f"[{name}]" if name in optional else name for name in procedure.arguments if name != "self"]
    head = "call " if procedure.kind == "subroutine" else ""
    result = f" → {procedure.result}" if procedure.result else ""
    yield from (f".. describe:: {head}{call}({', '.join(words)}){result}", "")
    yield from (f"   {line}" for line in _literal(procedure.doc or doc))
    if procedure.declarations:
        yield from ("   .. code-block:: fortran", "")
        yield from (f"      {line}" for line in procedure.declarations)
        yield ""


def rst(path: Path) -> list[str]:
    """The module's reference: its types with what is called on them, then its procedures."""
    module = read(path.read_text(encoding="utf-8"))
    from_c = read(path.with_name("hakobi_c.f90").read_text(encoding="utf-8"))  # types that the module passes on
    made = _literal(module.doc)
    if module.constants:
        made += [".. code-block:: fortran", "", *(f"   {line}" for line in module.constants), ""]
    loose = list[str]()
    for name in module.public:
        found = module.types.get(name) or from_c.types.get(name)
        if found is None:
            loose.append(name)
            continue
        made += [name, "^" * len(name), "", *_literal(found.doc)]
        if found.components and "private" not in found.components:
            made += [".. code-block:: fortran", "", *(f"   {line}" for line in found.components), ""]
        for call, (targets, doc) in found.bindings.items():
            for target in targets:
                if target in module.procedures:
                    made += _shown(f"{_object(name)}%{call}", module.procedures[target], doc)
        made += _behind(name, module)
    made += [".. rubric:: Procedures", ""] if loose else []
    for name in loose:
        made += _behind(name, module)
    return made


def _behind(name: str, module: Module) -> Iterator[str]:
    """The procedures that a public name stands for."""
    targets, doc = module.interfaces.get(name, ([], []))
    for target in [name, *targets]:
        if target in module.procedures:
            yield from _shown(name, module.procedures[target], doc)


def _object(type_name: str) -> str:
    """The name of a type's objects in the examples: `out` for hakobi_output."""
    return {"hakobi_output": "out", "hakobi_outputs": "outs", "hakobi_input": "in"}.get(
        type_name, type_name.removeprefix("hakobi_")
    )
