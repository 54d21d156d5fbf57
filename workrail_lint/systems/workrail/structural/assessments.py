"""Assessments, the steps that reference them, and the consequences they have."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.base.wording import quoted
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.checks import assessed_steps, assessment_problems, declared_levels
from workrail_lint.systems.workrail.structural.common import (
    Definition,
    Steps,
    finding,
    items_of,
    members_of,
    repeated,
)

# The schema checks the effects, and only the compiler rejects a duplicate trigger.
_LEFT_TO_OTHERS = ("CONSEQUENCE_UNSUPPORTED_EFFECT", "CONSEQUENCE_DUPLICATE_TRIGGER")


def check_assessments(definition: Definition, steps: Steps) -> Iterator[Finding]:
    declared = [members_of(item) for item in items_of(definition.get("assessments"))]
    for ident, pointer, first in repeated((item.get("id"), f"/assessments/{i}/id") for i, item in enumerate(declared)):
        message = f"duplicate assessment id {quoted(ident)}; assessments[{first}] already uses it"
        yield finding("assessment-id-duplicate", pointer, message)
    for i, item in enumerate(declared):
        dimensions = items_of(item.get("dimensions"))
        pairs = ((members_of(d).get("id"), f"/assessments/{i}/dimensions/{j}/id") for j, d in enumerate(dimensions))
        for ident, pointer, first in repeated(pairs):
            message = (
                f"assessment {quoted(item.get('id'))}: duplicate dimension id {quoted(ident)}; dimensions[{first}] "
                "already uses it"
            )
            yield finding("assessment-dimension-duplicate", pointer, message)
    levels = declared_levels(definition.get("assessments"))
    for node in assessed_steps(steps):
        if node.step.get("type") == "parallel":
            continue
        for problem in assessment_problems(node, levels):
            if problem.code not in _LEFT_TO_OTHERS:
                suggestion = problem.details.get("suggestion")
                yield finding(
                    problem.name,
                    f"{node.pointer}/{problem.part}",
                    problem.message,
                    suggestion=str(suggestion) if suggestion else None,
                )
