"""What the structural checks share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.systems.workrail.compiler.nodes import Node

Definition = dict[str, Any]
# Every step that is not a loop: top level, and the inline bodies (whose nodes have a loop id).
Steps = list[Node]


def finding(
    name: str,
    pointer: str,
    message: str,
    *,
    engine: bool = True,
    severity: Severity = Severity.ERROR,
    suggestion: str | None = None,
    on_name: bool = False,
) -> Finding:
    details: dict[str, object] = {"engine": engine}
    if suggestion is not None:
        details["suggestion"] = suggestion
    return Finding(name, name, severity, message, pointer, phase=Phase.STRUCTURAL, details=details, on_name=on_name)


def items_of(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def members_of(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def repeated(values: Iterator[tuple[object, str]]) -> Iterator[tuple[str, str, int]]:
    """The duplicate strings: each with the pointer of the later occurrence and the index of the item that came first.

    The pointers name a member of the items of one list.
    """
    first: dict[str, str] = {}
    for value, pointer in values:
        if not isinstance(value, str):
            continue
        if value in first:
            yield value, pointer, int(first[value].split("/")[-2])
        first.setdefault(value, pointer)
