"""The expected shapes in `artifacts` of an output, and what is wrong with values of another shape.

Objects are open and none of their fields is required: the fields that are present must be right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from workrail_lint.documents.pointer import child
from workrail_lint.systems.team.roles import LIST_KEYS
from workrail_lint.systems.team.vocabulary import (
    CHECKLIST,
    FindingCategory,
    FindingSeverity,
    Level,
    ReviewCategory,
    ReviewSeverity,
    is_member,
    session_parts,
    words,
)
from workrail_lint.systems.team.wording import shown, suggestion, type_name

Problems = Iterator[tuple[str, str]]


def type_problems(name: str, value: Any) -> Problems:
    """Pointer below the artifact and message, for everything in it that has the wrong type or shape."""
    check = _CHECKS.get(name)
    if check is not None:
        yield from check(name, value)


def _texts(name: str, value: Any) -> Problems:
    if type(value) is not list:
        yield "", f"'{name}' must be a list of strings, not {type_name(value)}"
        return
    for index, item in enumerate(value):
        if type(item) is not str:
            yield f"/{index}", f"'{name}' must contain strings, not {type_name(item)}"


def _comments(name: str, value: Any) -> Problems:
    yield from _entries(name, value, ReviewSeverity, ReviewCategory, ("file", "line", "message", "suggested_fix"))


def _findings(name: str, value: Any) -> Problems:
    yield from _entries(name, value, FindingSeverity, FindingCategory, ("file", "description", "recommended_fix"))


def _entries(name: str, value: Any, severities: Any, categories: Any, texts: tuple[str, ...]) -> Problems:
    """A list of strings, or of objects with a severity, a category and some strings."""
    if type(value) is not list:
        yield "", f"'{name}' must be a list, not {type_name(value)}"
        return
    for index, item in enumerate(value):
        if type(item) is str:
            continue
        if type(item) is not dict:
            yield f"/{index}", f"'{name}' must contain strings or objects, not {type_name(item)}"
            continue
        for member, members in (("severity", severities), ("category", categories)):
            if member in item and not is_member(item[member], members):
                message = f"unknown {member} {shown(item[member])}{suggestion(item[member], words(members))}"
                yield f"/{index}/{member}", message
        for member in texts:
            if member in item and type(item[member]) is not str:
                yield f"/{index}/{member}", f"'{member}' must be a string, not {type_name(item[member])}"


def _text_or_null(name: str, value: Any) -> Problems:
    if value is not None and type(value) is not str:
        yield "", f"'{name}' must be a string or null, not {type_name(value)}"


def _session_path(name: str, value: Any) -> Problems:
    if value is not None and (type(value) is not str or session_parts(value) is None):
        yield "", f"'{name}' must be null or a path such as .agents-work/<session>/…, not {shown(value)}"


def _text_or_texts(name: str, value: Any) -> Problems:
    if type(value) is not str:
        yield from _texts(name, value)


def _confidence(name: str, value: Any) -> Problems:
    if not is_member(value, Level):
        yield "", f"unknown confidence {shown(value)}{suggestion(value, words(Level))}"


def _list(name: str, value: Any) -> Problems:
    if type(value) is not list:
        yield "", f"'{name}' must be a list, not {type_name(value)}"


def _checklist(name: str, value: Any) -> Problems:
    if type(value) is not dict:
        yield "", f"'{name}' must be an object, not {type_name(value)}"
        return
    for topic, verdict in value.items():
        at = child("", topic)
        if topic not in CHECKLIST:
            yield at, f"unknown checklist topic {shown(topic)}{suggestion(topic, CHECKLIST)}"
        elif type(verdict) is not str or not (verdict in ("OK", "issues_found") or verdict.startswith("N/A")):
            yield at, f"{shown(topic)} must be OK, issues_found or N/A with a reason, not {shown(verdict)}"


def _test_results(name: str, value: Any) -> Problems:
    if type(value) is not dict:
        yield "", f"'{name}' must be an object, not {type_name(value)}"
        return
    for member in ("passed", "failed", "skipped"):
        if member in value and (type(value[member]) is not int or value[member] < 0):
            yield f"/{member}", f"'{member}' must be a number of tests, not {shown(value[member])}"
    if "output" in value and type(value["output"]) is not str:
        yield "/output", f"'output' must be a string, not {type_name(value['output'])}"


_CHECKS: dict[str, Callable[[str, Any], Problems]] = {
    **dict.fromkeys(LIST_KEYS, _texts),
    "review_comments": _comments,
    "findings": _findings,
    "design_spec_inline": _text_or_null,
    "design_spec_file": _session_path,
    "research_summary": _text_or_null,
    "confidence": _confidence,
    "options": _list,
    "patch_summary": _text_or_texts,
    "checklist_summary": _checklist,
    "test_results": _test_results,
    "coverage_gaps": _text_or_texts,
    "ci_notes": _text_or_texts,
}
