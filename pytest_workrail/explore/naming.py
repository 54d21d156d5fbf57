"""What a generated scenario is called, and the sentence that says what it shows."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any

from pytest_workrail.coverage.exits import LIMIT
from pytest_workrail.coverage.points import Kind, Point
from pytest_workrail.coverage.reasons import APPROVAL, AT_LIMIT, GAP_OF_BLOCKER
from pytest_workrail.explore.cover import Selected
from workrail_lint.base.js import text
from workrail_lint.base.wording import counted, listed

_LONGEST = 60
_CAUSES = {
    "MISSING_REQUIRED_OUTPUT": "missing-output",
    "INVALID_REQUIRED_OUTPUT": "invalid-output",
    "MISSING_REQUIRED_NOTES": "missing-notes",
    "ASSESSMENT_FOLLOWUP_REQUIRED": "follow-up",
    "REQUIRED_CAPABILITY_UNKNOWN": "unknown-capability",
    "REQUIRED_CAPABILITY_UNAVAILABLE": "missing-capability",
}
_CAUSE_OF_GAP = {GAP_OF_BLOCKER[code]: word for code, word in _CAUSES.items()}
_NOUNS = {
    Kind.STEP: "step",
    Kind.CONDITION: "case of a condition",
    Kind.LOOP: "end of a loop",
    Kind.FRAGMENT: "case of a fragment",
    Kind.GATE: "case of a confirmation",
    Kind.LEVEL: "level",
    Kind.CONSEQUENCE: "consequence",
    Kind.BLOCKER: "blocker",
    Kind.CONTRACT: "contract",
    Kind.GAP: "gap",
    Kind.DECIDES: "member that decides",
    Kind.ORDER: "order of neighbours",
    Kind.LEFT_OUT: "dimension left out",
}
_PLURALS = {
    Kind.CONDITION: "cases of conditions",
    Kind.LOOP: "ends of loops",
    Kind.FRAGMENT: "cases of fragments",
    Kind.GATE: "cases of confirmations",
    Kind.DECIDES: "members that decide",
    Kind.ORDER: "orders of neighbours",
    Kind.LEFT_OUT: "dimensions left out",
}


def scenario_name(selected: Selected, is_first: bool, taken: Container[str]) -> str:
    """A name that says what the scenario shows, unlike those that are taken."""
    base = "complete" if is_first else _what(selected)
    base = re.sub(r"[^a-z0-9]+", "-", base.lower()).strip("-")[:_LONGEST].strip("-") or "more"
    name, number = base, 2
    while name in taken:
        name, number = f"{base[: _LONGEST - 3]}-{number}", number + 1
    return name


def _what(selected: Selected) -> str:
    points = [point for _, point in selected.unique]
    run = selected.plan.run
    if run.ending.kind == "refused":
        return "start-refused"
    if run.status == "gated":
        return "gated"
    if any(point.kind is Kind.LOOP and point.case == LIMIT for point in points) or _has(points, AT_LIMIT):
        return "loop-limit"
    if _has(points, APPROVAL):
        return "approval"
    blockers = [point for point in points if point.kind is Kind.BLOCKER]
    if blockers:
        places = {point.place.rpartition("/")[2] for point in blockers}
        place = f"{next(iter(places))}-" if len(places) == 1 else ""
        return f"{place}blocked-by-{_CAUSES.get(blockers[0].case, blockers[0].case)}"
    gaps = [point for point in points if point.kind is Kind.GAP]
    if gaps:
        causes = {_CAUSE_OF_GAP.get(point.case, point.case) for point in gaps}
        return f"gaps-{next(iter(causes))}" if len(causes) == 1 else "gaps-never-stop"
    loops = [point for point in points if point.kind is Kind.LOOP]
    if loops:
        return f"{loops[0].place}-{loops[0].case}-iterations" if loops[0].case != "one" else f"{loops[0].place}-once"
    branch = next(_branches(selected), None)
    return branch or (f"{points[0].place}-{points[0].case}" if points else "more")


def _has(points: list[Point], code: str) -> bool:
    return any(point.case in (code, GAP_OF_BLOCKER[code]) for point in points)


def _branches(selected: Selected) -> Any:
    """Variables and their values, in the order in which the run sets them."""
    contexts = [selected.plan.context, *(getattr(each.action, "context", None) or {} for each in selected.plan.taken)]
    for context in contexts:
        for name, value in context.items():
            if isinstance(value, str | bool | int | float):
                yield f"{name}-{text(value)}"


def description(selected: Selected, is_first: bool) -> str:
    """One sentence about what the scenario shows."""
    if is_first:
        return "The shortest run to the end."
    counts: dict[Kind, int] = {}
    for _, point in selected.unique:
        counts[point.kind] = counts.get(point.kind, 0) + 1
    words = [_counted(number, kind) for kind, number in counts.items()]
    if not words:
        return "A run that others cover as well."
    return f"Shows {listed(words)} that no other generated scenario shows."


def _counted(number: int, kind: Kind) -> str:
    if number > 1 and kind in _PLURALS:
        return f"{number} {_PLURALS[kind]}"
    return counted(number, _NOUNS[kind])
