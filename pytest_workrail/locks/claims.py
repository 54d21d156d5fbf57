"""Claims: which locks a test says it enforces, by marker, docstring or comment.

`@pytest.mark.enforces("lock-id", ...)` on a test, class or module; a line `@enforces lock-id` in the docstring of one
of them; the same in a comment, which belongs to the innermost test or class around it, else to the module.
`lock-id@2` names the revision the test was written for.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from workrail_lint.base.files import read_bytes

MARKER = "enforces"

_TAG = re.compile(r"^\s*(?:\*|#)?\s*@enforces\s+([a-z0-9-]+(?:@\d+)?)", re.IGNORECASE | re.MULTILINE)
_NAMES_NONE = 'claims no lock: pass the ids as strings, such as @pytest.mark.enforces("lock-id")'
_CLAIM = re.compile(r"(?P<lock>[a-z0-9]+(?:-[a-z0-9]+)*)(?:@(?P<revision>[1-9]\d*))?")


class Claim(NamedTuple):
    """One lock that a test claims, with the revision it names, if it names one.

    `is_own` distinguishes a claim of the test itself from one of its class or module, which holds for all their tests.
    """

    lock_id: str
    revision: int | None
    is_own: bool = True


class Claims(NamedTuple):
    """All claims of a test, and what is wrong with how they are written."""

    claims: tuple[Claim, ...]
    problems: tuple[str, ...]


def read_claim(text: str) -> Claim | None:
    """A claim, or None if the string is not one."""
    match = _CLAIM.fullmatch(text)
    if match is None:
        return None
    revision = match["revision"]
    return Claim(match["lock"], int(revision) if revision else None)


def tagged(text: str | None) -> list[str]:
    """The claims in a docstring or comment, one for each line that begins with the tag."""
    return [found.lower() for found in _TAG.findall(text or "")]


class ClaimReader:
    """Reads the claims of collected tests; each test file is read once."""

    def __init__(self) -> None:
        self._comments: dict[Path, CommentClaims] = {}

    def read(self, item: pytest.Item) -> Claims:
        """Every claim of a test, each once, in the order of their ids."""
        claims: dict[tuple[str, int | None], Claim] = {}
        problems = [_NAMES_NONE] if any(not mark.args or mark.kwargs for mark in item.iter_markers(MARKER)) else []
        for is_own, written in self._written(item):
            for text, times in Counter(map(str, written)).items():
                if times > 1:
                    problems.append(f'claims "{text}" {times} times in one place')
                claim = read_claim(text)
                if claim is None:
                    problems.append(f'claims "{text}", which is not a lock id')
                else:
                    known = claims.get((claim.lock_id, claim.revision))
                    is_known = known is not None and known.is_own
                    claims[claim.lock_id, claim.revision] = claim._replace(is_own=is_own or is_known)
        ordered = sorted(claims.values(), key=lambda claim: (claim.lock_id, claim.revision or 0))
        return Claims(tuple(ordered), tuple(sorted(set(problems))))

    def _written(self, item: pytest.Item) -> Iterator[tuple[bool, Iterable[object]]]:
        """The lists of claims that apply to a test, one for each place, and whether that is the test itself."""
        for node in item.listchain():
            yield node is item, [argument for mark in node.own_markers if mark.name == MARKER for argument in mark.args]
        function = getattr(item, "function", None)
        documented = {
            id(owner): owner for owner in (getattr(item, "module", None), getattr(item, "cls", None), function)
        }
        for owner in documented.values():
            yield owner is function, tagged(getattr(owner, "__doc__", None))
        if isinstance(item, pytest.Function):
            yield from self._comments_of(item.path).of(item)

    def _comments_of(self, path: Path) -> CommentClaims:
        if path not in self._comments:
            self._comments[path] = CommentClaims(path)
        return self._comments[path]


class CommentClaims:
    """The claims in the comments of one file, by the qualified name of the scope they are in."""

    def __init__(self, path: Path) -> None:
        self._claims: dict[str, list[str]] = {}
        try:
            source = read_bytes(str(path)).decode()
        except (OSError, UnicodeDecodeError):
            return
        if "@enforces" not in source.lower():
            return
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
            tree = ast.parse(source)
        except (SyntaxError, tokenize.TokenError):
            return
        scopes = list(_scopes(tree, ""))
        for token in tokens:
            if token.type == tokenize.COMMENT:
                for claim in tagged(token.string):
                    self._claims.setdefault(_innermost(scopes, token.start[0]), []).append(claim)

    def of(self, item: pytest.Function) -> Iterator[tuple[bool, list[str]]]:
        """The claims of the module, of the classes around a test, and of the test itself."""
        names = item.function.__qualname__.split(".")
        for depth in range(len(names) + 1):
            yield depth == len(names), self._claims.get(".".join(names[:depth]), [])


class _Scope(NamedTuple):
    name: str
    first: int
    last: int


def _scopes(node: ast.AST, prefix: str) -> Iterator[_Scope]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}.{child.name}" if prefix else child.name
            first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
            yield _Scope(name, first, child.end_lineno or child.lineno)
            if isinstance(child, ast.ClassDef):
                yield from _scopes(child, name)


def _innermost(scopes: list[_Scope], line: int) -> str:
    around = [scope for scope in scopes if scope.first <= line <= scope.last]
    return min(around, key=lambda scope: scope.last - scope.first).name if around else ""
