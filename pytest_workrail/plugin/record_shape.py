"""What a record of a machine looks like. A record may come from elsewhere, so nothing in it is taken on trust."""

from __future__ import annotations

import ast
import posixpath
from enum import Enum
from typing import Any

from pytest_workrail.coverage.points import Kind
from pytest_workrail.golden.records import GoldenStatus
from pytest_workrail.run.pytest_session import ItemOutcome


def _is_path_inside(value: Any) -> bool:
    """Whether a path is one below the root folder: a golden or a test module there is written by an update."""
    if not isinstance(value, str) or not value or "\\" in value or "\0" in value:
        return False
    return posixpath.normpath(value) == value and not posixpath.isabs(value) and value.split("/")[0] not in ("..", ".")


def _is_literal(value: Any) -> bool:
    """Whether a text can stand where a test has its expected outline, and nothing else."""
    try:
        made = ast.parse(value, mode="eval").body if value else ast.Constant("")
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return False
    return isinstance(made, ast.Constant) and isinstance(made.value, str)


def _is_inline(value: Any) -> bool:
    """A golden in a test. Without a digest nothing is ever written, and its place is only shown."""
    if not _fits(value, (str, (int, int, int, int), GoldenStatus, str, _is_literal)):
        return False
    return not value[3] or _is_path_inside(value[0])


def _is_revision(value: Any) -> bool:
    return value is None or type(value) is int


# A type stands for a value of it, an enumeration for the value of a member, a list for a list of what it holds, a tuple
# for a list of just these, a dict for an object of these members, or of any where the name is a type, a function for
# what it says yes to.
_POINT = (Kind, str, str)
_TEST = {
    "passed": bool,
    "records": [(_is_path_inside, GoldenStatus, str)],
    "inline": [_is_inline],
}
_WORKFLOW = {"workflowId": str, "workflowHash": str, "goals": {str: [_POINT]}, "tests": [(_POINT, [str])]}
_CLAIM = (str, _is_revision, bool)
_EVIDENCE = (str, str, str, [_CLAIM], ItemOutcome, bool)
_RECORD = {"exit": int, "failed": int, "ran": [str], "deselected": [str]}
_SEEN: dict[str, Any] = {
    "goldens": {str: _TEST},
    "coverage": [_WORKFLOW],
    "locks": {"evidence": [_EVIDENCE], "problems": [str]},
}


def is_record(content: dict[str, Any]) -> bool:
    """Whether all parts of a record have the shape that a session gives them; a part may be missing as a whole."""
    parts = all(content[name] is None or _fits(content[name], shape) for name, shape in _SEEN.items())
    return parts and _fits(content, _RECORD)


def _fits(value: Any, shape: Any) -> bool:
    match shape:
        case list():
            return isinstance(value, list) and all(_fits(item, shape[0]) for item in value)
        case tuple():
            fits = isinstance(value, list) and len(value) == len(shape)
            return fits and all(map(_fits, value, shape))
        case dict():
            if not isinstance(value, dict):
                return False
            if str in shape:
                return all(_fits(item, shape[str]) for item in value.values())
            return all(name in value and _fits(value[name], inner) for name, inner in shape.items())
        case type() if issubclass(shape, Enum):
            return isinstance(value, str) and value in {member.value for member in shape}
        case type():
            return type(value) is shape
        case _:
            return bool(shape(value))
