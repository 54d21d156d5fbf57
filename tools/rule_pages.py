"""The pages in `docs/rules/`, made from the rules: `python -m tools.rule_pages [--check]`.

One page for each family, with an anchor for each rule, and an index; beside them the picked bad examples in
`fixtures/broken/`. Run it in the root of the repository. Whatever else is in the two folders is removed: they belong to
the generator.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from tools.broken_files import FOLDER, picked_files
from workrail_lint.base.files import write_atomically
from workrail_lint.base.wording import counted
from workrail_lint.report.rule_docs import (
    AnyRule,
    anchor,
    census_section,
    families,
    index,
    retired_section,
    rules,
    section,
    undocumented,
)
from workrail_lint.rules.base import Rule

PAGES = "docs/rules"


def page_name(family: str) -> str:
    """Return the file name of a family: the letters that its codes start with, because a reader has the code."""
    return f"{family}.md"


def address(rule: AnyRule) -> str:
    """Return where a rule is explained, relative to the folder of the pages."""
    return f"{page_name(rule.family)}#{anchor(rule)}"


def family_page(family: str, members: list[Rule]) -> str:
    """Return the rules of a family, one after another."""
    about = (
        f"{counted(len(members), 'rule')}; [all families](README.md). `workrail-lint rule CODE` explains one on the "
        "command line. Examples leave out members that every workflow has and that make no difference."
    )
    contents = "\n".join(f"- [{rule.code}](#{anchor(rule)}) `{rule.name}`" for rule in members)
    return "\n\n".join([f"# {family}: {families()[family]}", about, contents, *map(section, members)]) + "\n"


def generated() -> dict[str, bytes]:
    """Return path and content of everything that is generated, relative to the root of the repository."""
    documented = (*rules(), *undocumented())
    files = picked_files()
    overview = index(documented, lambda rule: f"[{rule.code}]({address(rule)})")
    files[f"{PAGES}/README.md"] = f"{overview}\n{census_section()}\n{retired_section()}".encode()
    for family in families():
        members = [rule for rule in documented if rule.family == family]
        if members:
            files[f"{PAGES}/{page_name(family)}"] = family_page(family, members).encode()
    return files


def stale(root: str = os.curdir) -> list[str]:
    """Return the differences between the files on disk and the generated ones, one sentence each."""
    wanted = generated()
    problems = []
    for path in sorted(wanted.keys() | set(_existing(root))):
        try:
            with open(os.path.join(root, path), "rb") as file:
                data = file.read()
        except FileNotFoundError:
            problems.append(f"{path} is missing")
            continue
        if path not in wanted:
            problems.append(f"{path} is not generated")
        elif data != wanted[path]:
            problems.append(f"{path} is out of date")
    return problems


def write(root: str = os.curdir) -> int:
    """Bring the files up to date; returns how many were changed."""
    wanted = generated()
    changed = stale(root)
    for path in set(_existing(root)) - wanted.keys():
        target = os.path.join(root, path)
        os.unlink(target)
        with suppress(OSError):  # the folder is still in use
            os.removedirs(os.path.dirname(target))
    for path, data in wanted.items():
        target = os.path.join(root, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        write_atomically(target, data, os.path.dirname(target))
    return len(changed)


def _existing(root: str) -> list[str]:
    return [
        os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")
        for base in (PAGES, FOLDER)
        for folder, _, names in os.walk(os.path.join(root, base))
        for name in names
    ]


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        problems = stale()
        for problem in problems:
            sys.stderr.write(f"{problem}\n")
        if problems:
            sys.stderr.write("run make schemas\n")
        return 1 if problems else 0
    if arguments:
        sys.stderr.write("usage: python -m tools.rule_pages [--check]\n")
        return 2
    sys.stdout.write(f"{counted(write(), 'file')} changed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
