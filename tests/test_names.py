"""Docstrings say what a caller gets, and names are nouns: `english.md` in the code of both packages and the tools."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHECKED = ("workrail_lint", "pytest_workrail", "tools")
# A participle does not say what a name holds: `findings`, `message`, `definition` do.
PARTICIPLES = frozenset({"found", "made", "said", "shown", "taken", "told"})
# Nor does a word for the mood of its author.
MOODS = frozenset({"crossing", "nonsense", "slip", "slips", "telling"})
# Rooms in which the docstring of a function says what a caller gets: "Return the …", "Yield each …".
_ROOMS = (
    *("base", "documents", "findings", "rules", "project", "report", "cli", "server", "studio"),
    *("systems/team", "systems/blocks", "systems/scenario"),
    *("systems/workrail/catalog", "systems/workrail/compat", "systems/workrail/engines", "systems/workrail/graph"),
)
IMPERATIVE = (*(f"workrail_lint/{room}" for room in _ROOMS), "tools")
NO_VERBS = frozenset(
    (
        *("A", "All", "An", "Any", "As", "Each", "Every", "Everything", "One", "Several", "The", "Those", "True"),
        *("By", "For", "From", "How", "In", "Of", "Once", "When", "Where", "Who", "Why"),
    )
)
# A module of these names does not say what of.
VAGUE_MODULES = frozenset({"facts", "kinds", "places", "records", "sources"})


def docstring_violations(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the docstrings that begin with "What", those of attributes included."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(ast.Constant(str(text))) if text.startswith("What "):
                yield node.lineno, f'docstring begins with "What": {text.splitlines()[0]}'


def noun_docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the docstrings of functions that return something and do not begin with a verb; properties are nouns."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        text = ast.get_docstring(node, clean=False) or ""
        if text.partition(" ")[0] not in NO_VERBS or node.returns is None or ast.unparse(node.returns) == "None":
            continue
        decorators = " ".join(map(ast.unparse, node.decorator_list))
        if "property" not in decorators and "contextmanager" not in decorators:
            yield node.lineno, f"docstring of {node.name} does not begin with a verb: {text.splitlines()[0]}"


def bound_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds: variables, parameters, captures, caught exceptions; not functions."""
    match node:
        case ast.Name(name, ast.Store()) | ast.arg(name):
            yield name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
            yield name
        case ast.Attribute(attr=name, ctx=ast.Store()):
            yield name


def name_violations(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the variables, parameters and attributes with a name that does not say what they hold."""
    for node in ast.walk(tree):
        for name in bound_names(node):
            if name in PARTICIPLES | MOODS:
                yield getattr(node, "lineno", 0), f"'{name}' does not say what it holds"


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def violations(tree: ast.AST) -> list[str]:
    """Return the violations in a module, each with its line."""
    return [f"{line}: {problem}" for line, problem in sorted({*docstring_violations(tree), *name_violations(tree)})]


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", CHECKED)
def test_docstrings_and_names(package: str) -> None:
    broken = [
        f"{path.relative_to(ROOT).as_posix()}:{each}" for path in modules(package) for each in violations(parsed(path))
    ]
    assert not broken, "\n" + "\n".join(broken)


def test_docstrings_begin_with_a_verb() -> None:
    broken = [
        f"{path.relative_to(ROOT).as_posix()}:{line}: {problem}"
        for room in IMPERATIVE
        for path in modules(room)
        for line, problem in noun_docstrings(parsed(path))
    ]
    assert not broken, "\n" + "\n".join(broken)


@pytest.mark.parametrize(
    ("text", "is_noun"),
    [
        ('def f() -> int:\n    """The number."""', True),
        ('def f() -> int:\n    """Return the number."""', False),
        ('def f() -> None:\n    """The hook."""', False),
        ('@property\ndef f(self) -> int:\n    """The number."""', False),
        ('@contextmanager\ndef f() -> Iterator[None]:\n    """All inside."""', False),
    ],
)
def test_each_noun_docstring_is_seen(text: str, is_noun: bool) -> None:
    assert bool(list(noun_docstrings(ast.parse(text)))) is is_noun


@pytest.mark.parametrize("package", CHECKED)
def test_modules_say_what_they_hold(package: str) -> None:
    assert [path for path in modules(package) if path.stem in VAGUE_MODULES] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"""What it is."""', ['1: docstring begins with "What": What it is.']),
        ('class A:\n    b = 1\n    """What b is."""', ['3: docstring begins with "What": What b is.']),
        ('def f():\n    """Whatever fits."""', []),
        ("found = 1", ["1: 'found' does not say what it holds"]),
        ("slips = 1", ["1: 'slips' does not say what it holds"]),
        ("def f(made): ...", ["1: 'made' does not say what it holds"]),
        ("for told in x: ...", ["1: 'told' does not say what it holds"]),
        ("y = [said for said in x]", ["1: 'said' does not say what it holds"]),
        ("if (taken := x): ...", ["1: 'taken' does not say what it holds"]),
        ("match x:\n    case A(shown): ...", ["2: 'shown' does not say what it holds"]),
        ("self.found = 1", ["1: 'found' does not say what it holds"]),
        ("class A:\n    said: str", ["2: 'said' does not say what it holds"]),
        ("try: ...\nexcept E as found: ...", ["2: 'found' does not say what it holds"]),
        ("def shown(value): return quoted(value)\nx = shown(1)", []),
    ],
)
def test_each_violation_is_seen(text: str, expected: list[str]) -> None:
    assert violations(ast.parse(text)) == expected
