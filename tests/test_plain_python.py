"""Both packages use the public parts of Python only, so that a new release of it breaks nothing."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PRIVATE = {"marshal"} | {name for name in sys.stdlib_module_names if name.startswith("_") and name != "__future__"}
# A text that this does not match imports none of them; the others are parsed.
SUSPECT = re.compile(rf"^\s*(?:import|from)\b.*\b(?:{'|'.join(sorted(PRIVATE))})\b|^\s*import\b.*\\$", re.MULTILINE)

PRIVATE_MEMBER = re.compile(r"\bargparse\._\w+")


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield each absolute import with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.lineno, node.module or ""


def private_parts(path: Path) -> Iterator[str]:
    source = path.read_text(encoding="utf-8")
    for line, name in imported(ast.parse(source)) if SUSPECT.search(source) else ():
        if name.partition(".")[0] in PRIVATE:
            yield f"{path.relative_to(ROOT)}:{line} imports {name}"
    for private in PRIVATE_MEMBER.findall(source):
        yield f"{path.relative_to(ROOT)} uses {private}"
    if '"__annotations__"' in source:
        yield f"{path.relative_to(ROOT)} looks for __annotations__, which a class body need not have"


def test_no_private_part_of_python_is_used() -> None:
    files = [path for package in ("workrail_lint", "pytest_workrail") for path in (ROOT / package).rglob("*.py")]
    assert len(files) > 100
    assert [problem for path in sorted(files) for problem in private_parts(path)] == []


def test_a_private_part_would_be_noticed() -> None:
    lines = {"import _json": "_json", "    from _thread import RLock": "_thread", "import json, marshal": "marshal"}
    for line, private in lines.items():
        assert SUSPECT.search(f"import json\n{line}\n")
        assert private in [name for _, name in imported(ast.parse(line.strip()))]
        assert private in PRIVATE
    assert [*imported(ast.parse("from . import _json\n"))] == []


# Imports below the top and blocks for type checkers only. What is left has a reason: a heavy library, the module of a
# command or an option, a system none of whose files has come, an idle plugin, a run that compares nothing, or a cycle.
# The numbers only go down.
INDENTED = re.compile(r"^[ \t]+(?:from [\w.]+ import\b|import \w)", re.MULTILINE)
TYPES_ONLY = re.compile(r"^if TYPE_CHECKING:", re.MULTILINE)
MOST = {
    "workrail_lint": {INDENTED: 106, TYPES_ONLY: 28},
    "pytest_workrail": {INDENTED: 51, TYPES_ONLY: 5},
}


@pytest.mark.parametrize("package", MOST)
def test_imports_are_at_the_top(package: str) -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / package).rglob("*.py")]
    for pattern, most in MOST[package].items():
        count = sum(len(pattern.findall(source)) for source in sources)
        assert count <= most, f"{count} match {pattern.pattern}: move the new import to the top"
