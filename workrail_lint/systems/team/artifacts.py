"""Artifacts of some roles that the schema of an output leaves open, and what is wrong with values of another shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from workrail_lint.documents.pointer import child
from workrail_lint.systems.team.vocabulary import (
    CHECKLIST,
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


def _text_or_null(name: str, value: Any) -> Problems:
    if value is not None and type(value) is not str:
        yield "", f"'{name}' must be a string or null, not {type_name(value)}"


def _text_or_texts(name: str, value: Any) -> Problems:
    if type(value) is not str:
        yield from _texts(name, value)


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


_CHECKS: dict[str, Callable[[str, Any], Problems]] = {
    "research_summary": _text_or_null,
    "patch_summary": _text_or_texts,
    "checklist_summary": _checklist,
    "coverage_gaps": _text_or_texts,
    "ci_notes": _text_or_texts,
}
