"""The core computes; it reads no clock, no disk, no dice."""

from __future__ import annotations

import ast
from pathlib import Path

from tables import for_each

import pytest_workrail

_ROOT = Path(pytest_workrail.__file__).parent
_IMPURE = frozenset(
    [
        "os",
        "io",
        "time",
        "random",
        "uuid",
        "pathlib",
        "datetime",
        "secrets",
        "socket",
        "subprocess",
        "tempfile",
        "threading",
        "shutil",
        "glob",
        "sys",
        "logging",
    ]
)
_PURE = ("engine/core", "engine/projections")
_MODULES = [path for folder in _PURE for path in sorted((_ROOT / folder).rglob("*.py"))]
_each_module = for_each("path", _MODULES, key=lambda path: path.relative_to(_ROOT))


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add((node.module or "").partition(".")[0])
    return found


# @enforces durable-core-no-node-imports
@_each_module
def test_a_pure_module_imports_nothing_impure(path: Path) -> None:
    assert not _imports(path) & _IMPURE


def test_there_is_something_to_look_at() -> None:
    assert len([path for path in _MODULES if path.parent.name == "core"]) > 10


# @enforces durable-core-no-buffer
@_each_module
def test_a_pure_module_calls_no_builtin_with_effects(path: Path) -> None:
    names = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not names & {"open", "print", "input", "exec", "eval", "__import__"}


# @enforces profile-is-data
def test_profiles_are_asked_for_choices_and_never_for_their_name() -> None:
    for path in (_ROOT / "engine").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if path.name == "profiles.py" or not any(name in source for name in ("profile.name", "locked", "reference")):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Compare):
                operands = ast.unparse(node)
                assert "profile.name" not in operands, path
                assert "'locked'" not in operands, path
                assert "'reference'" not in operands, path
