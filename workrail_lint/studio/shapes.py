"""What the page expects of the files of other commands, so that a damaged or forged one is refused where it is read."""

from __future__ import annotations

import re
from typing import Any

# An object by its members (with `?`: may be missing or null), a list by its items, a text by a pattern, else types.
Shape = dict[str, Any] | list[Any] | re.Pattern[str] | type | tuple[type, ...]

_ANY: Shape = object
_TEXT: Shape = (str, list)
_OBJECTS: Shape = [dict]
_POINT: Shape = {"kind": str, "place": str, "case": str, "tests?": [str]}
_WORKFLOW: Shape = {
    "workflowId?": str,
    "workflowHash?": str,
    "workflowHashes?": [str],
    "points?": [_POINT],
    "survived?": _OBJECTS,
    "steps?": (list, dict),
    "cost?": dict,
}
REPORT: Shape = {"workflows": [_WORKFLOW]}
# People copy the id of a group into a shell.
_GROUP: Shape = {"id?": re.compile("[0-9A-Za-z-]*"), "goldens?": [str]}
PENDING: Shape = {"groups": [_GROUP], "pending?": [{"differences?": list}]}
LOCKS: Shape = {
    "totalLocks": int,
    "coveredLocks?": int,
    "provenLocks?": int,
    "byCategory?": dict,
    "locks?": (list, dict),
}
_ENTRY: Shape = {"request?": _ANY, "response?": {"pending?": {"stepId?": str, "prompt?": _TEXT}}}
_MERGE: Shape = {"result?": {"conflicts?": list}, "applied?": _ANY}
GOLDEN: Shape = {
    "prompts?": [{"step?": str, "text?": _TEXT}],
    "transcript?": [_ENTRY],
    "trace?": list,
    "states?": [str],
    "tasks?": dict,
    "decisions?": list,
    "blockers?": _OBJECTS,
    "plan?": _OBJECTS,
    "steps?": list,
    "fanIns?": [_MERGE],
    "events?": list,
}
RUNS: Shape = {"runs": list}  # each is looked at when it is drawn


def fits(value: Any, shape: Shape) -> bool:
    """Whether a JSON value has a shape."""
    match shape:
        case dict():
            return isinstance(value, dict) and all(_has(value, name, inner) for name, inner in shape.items())
        case list():
            return isinstance(value, list) and all(fits(item, shape[0]) for item in value)
        case re.Pattern():
            return isinstance(value, str) and shape.fullmatch(value) is not None
        case _:
            return isinstance(value, shape)


def _has(value: dict[str, Any], name: str, shape: Shape) -> bool:
    if name.endswith("?"):
        return value.get(name[:-1]) is None or fits(value[name[:-1]], shape)
    return name in value and fits(value[name], shape)
