"""Sphinx: docstrings as the site shows them.

The table that a system's docstring begins with (Releases, Costs, Departs, Published, Assumes) becomes a list of definitions; "See
``Base``" in place of a description becomes the descriptions of that class; and a file of ``docs/`` becomes a link to its page.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from numpydoc.docscrape import NumpyDocString, Parameter
from sphinx.application import Sphinx

import hedgerow as hr

ROW = re.compile(r"^(Releases(?:, costs, departs, published)?|Costs|Departs|Published|Assumes)\s{1,}(?=\S)(.*)$")
PAGE = re.compile(r"docs/([\w./-]+)\.md")
SEE = re.compile(r"(?:See|As for|as for) ``(\w+)``\.?")


def as_definitions(lines: list[str]) -> list[str]:
    """Turn the lines "Releases  ..." into definitions."""
    turned: list[str] = []
    inside = False
    for line in lines:
        row = ROW.match(line)
        if row and (inside or (not turned or not turned[-1].strip())):
            turned += ["", row[1], f"    {row[2]}"]
            inside = True
        elif inside and line.startswith("   "):
            turned.append(f"    {line.strip()}")
        else:
            if inside and line.strip():
                turned.append("")
            inside = False
            turned.append(line)
    return turned


def class_of(name: str, near: Any) -> Any:
    """Return the class that a docstring names: one of its bases, or a public one."""
    for base in getattr(near, "__mro__", ()):
        if base.__name__ == name:
            return base
    return getattr(hr, name, None)


def descriptions(source: Any, section: str) -> dict[str, Parameter]:
    """Return what a class's docstring says of each parameter, with what it takes from others."""
    found: dict[str, Parameter] = {}
    for entry in NumpyDocString(inspect.getdoc(source) or "")[section]:
        see = SEE.match(" ".join(entry.desc))
        other = class_of(see[1], source) if see else None
        theirs = descriptions(other, section) if other is not None and other is not source else {}
        for name in (name.strip() for name in entry.name.split(",")):
            found[name] = theirs.get(name, Parameter(name, entry.type, entry.desc))
    return found


def spelled_out(lines: list[str], near: Any) -> list[str]:
    """Put the descriptions of another class in the place of "See ``Other``"."""
    turned: list[str] = []
    section, index = "Parameters", 0
    while index < len(lines):
        line, below = lines[index], lines[index + 1] if index + 1 < len(lines) else ""
        if below and not below.strip("-") and line.strip():
            section = line.strip()
        see = SEE.match(below.strip()) if below.startswith("    ") and not line.startswith(" ") else None
        other = class_of(see[1], near) if see and section in ("Parameters", "Attributes") else None
        if not other or other is near:
            turned.append(line)
            index += 1
            continue
        theirs = descriptions(other, section)
        rest = below.strip()[see.end() :].strip() if see else ""
        index += 2
        more = []
        while index < len(lines) and lines[index].startswith("    "):
            more.append(lines[index].strip())
            index += 1
        for name in (name.strip() for name in line.split(":")[0].split(",")):
            entry = theirs.get(name)
            turned.append(f"{name} : {entry.type}" if entry and entry.type else name)
            turned += [f"    {text}" for text in (entry.desc if entry else [f"See ``{other.__name__}``."])]
        remark = " ".join([rest, *more]).strip()
        if remark and "Parameters" in turned:  # what the line says of several parameters together
            turned[turned.index("Parameters") : turned.index("Parameters")] = [remark, ""]
    return turned


def turn(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn the lines of one docstring."""
    turned = spelled_out(as_definitions(lines), thing)
    lines[:] = [PAGE.sub(r":doc:`/\1`", line) if "``docs/" not in line else line for line in turned]


def sign(app: Sphinx, what: str, name: str, thing: Any, options: Any, given: str, back: str) -> tuple[str, str] | None:
    """Show a class by the parameters of its ``__init__``, which its ``__new__`` would hide."""
    if what != "class" or "__init__" not in vars(thing):
        return None
    taken = list(inspect.signature(thing.__init__).parameters.values())[1:]
    if any(parameter.name.startswith("_") for parameter in taken):  # made by class methods
        return "", back
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in taken]
    return str(inspect.Signature(bare)), back


def skip(app: Sphinx, what: str, name: str, thing: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what classes have from scikit-learn and Python: its own documentation says what that does."""
    function = getattr(thing, "__func__", getattr(thing, "fget", thing))
    module = getattr(function, "__module__", "") or ""
    inherited = module.split(".")[0] in ("sklearn", "builtins") or not (getattr(thing, "__doc__", None) or "").strip()
    return True if inherited or name.startswith("_") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Turn docstrings before numpydoc reads them."""
    app.connect("autodoc-process-docstring", turn, priority=400)
    app.connect("autodoc-process-signature", sign)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
