"""Two workflows that have everything: operators, contracts, assessments and loops, where it makes a difference."""

from __future__ import annotations

from typing import Any


def _step(name: str, prompt: str = "Do it for {{goal}}: {{missing}}.", **members: Any) -> dict[str, Any]:
    return {"id": name, "title": f"„{name.title()}“", "prompt": prompt, **members}


def _loop(name: str, loop: dict[str, Any], *body: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"id": name, "type": "loop", "title": name.title(), "loop": loop, "body": list(body), **members}


def _workflow(name: str, *steps: dict[str, Any], **members: Any) -> dict[str, Any]:
    about = {"id": f"zoo.{name}", "name": name.title(), "description": "Everything at once.", "version": "1.0.0"}
    return {**about, "steps": list(steps), **members}


def _rule(word: str, **members: Any) -> dict[str, Any]:
    return {"type": "contains", "value": word, "message": f"say {word}", **members}


_DIMENSIONS = [
    {"id": "depth", "purpose": "How deep.", "levels": ["low", "middle", "high"]},
    {"id": "width", "purpose": "How wide.", "levels": ["low", "high"], "required": False},
]
_FOLLOW_UP = {"kind": "require_followup", "guidance": "Look again."}
OPERATORS = _workflow(
    "operators",
    _step("begin", validationCriteria=[_rule("begun", condition={"var": "strict"})]),
    _step("other", runCondition={"var": "größe", "in": ["small", "large"]}),
    _step("above", runCondition={"var": "count", "gt": 3}, requireConfirmation={"var": "count", "gte": 7}),
    _step("below", runCondition={"or": [{"var": "count", "lt": 0}, {"not": {"var": "count", "lte": 5}}]}),
    _step("never", runCondition={"and": [{"var": "count", "gt": 3}, {"var": "count", "lt": 2}]}),
    _step("words", runCondition={"var": "text", "contains": "now"}, notesOptional=True),
    _step("measured", runCondition={"var": "metrics_outcome", "not_equals": "success"}),
    _step(
        "judged",
        assessmentRefs=["quality", "risk"],
        assessmentConsequences=[{"when": {"anyEqualsLevel": "low"}, "effect": _FOLLOW_UP}],
        outputContract={"contractRef": "wr.contracts.assessment"},
        promptFragments=[
            {"id": "hint", "text": "Take care of {{größe}}.", "when": {"or": [{"var": "größe"}, {"var": "count"}]}},
            {"id": "always", "text": "Be brief."},
        ],
    ),
    _step("may", outputContract={"contractRef": "wr.contracts.gate_verdict", "required": False}),
    _step(
        "checked",
        validationCriteria={
            "and": [
                {"type": "regex", "pattern": "[0-9]{2}", "flags": "i", "message": "give a number"},
                {"type": "length", "min": 12, "max": 200, "message": "be „brief“"},
                {"or": [_rule("one"), _rule("two")]},
                {"not": {"and": [_rule("bad"), {"type": "length", "min": 150}]}},
            ]
        },
    ),
    assessments=[
        {"id": "quality", "purpose": "How good it is.", "dimensions": _DIMENSIONS},
        {"id": "risk", "purpose": "How risky it is.", "dimensions": _DIMENSIONS[:1]},
    ],
    capabilities={"web_browsing": "required", "delegation": "preferred"},
    metaGuidance=["Read everything.", "Ask nobody."],
    recommendedPreferences={"recommendedAutonomy": "guided", "recommendedRiskPolicy": "conservative"},
)
ELEMENTS = _workflow(
    "elements",
    _loop(
        "each",
        {"type": "forEach", "items": "files", "itemVar": "file", "indexVar": "at", "maxIterations": 3},
        _step("open", "Open {{file}} at {{at}}."),
        _step("special", runCondition={"or": [{"var": "file", "equals": "special"}, {"var": "at", "gt": 0}]}),
        runCondition={"var": "skip", "not_equals": True},
    ),
    _loop(
        "times",
        {"type": "for", "count": "many", "maxIterations": 3, "iterationVar": "round"},
        _step("again", "Round {{round}}.", runCondition={"var": "round", "gt": 1}),
        _step("sure", requireConfirmation={"var": "round", "equals": 2}),
    ),
    _loop(
        "until-done",
        {"type": "until", "condition": {"and": [{"var": "done"}, {"var": "round", "lt": 9}]}, "maxIterations": 2},
        _step(
            "try", promptFragments=[{"id": "late", "text": "Last try.", "when": {"var": "currentIteration", "gt": 1}}]
        ),
    ),
    _loop(
        "decided",
        {
            "type": "while",
            "conditionSource": {
                "kind": "artifact_contract",
                "contractRef": "wr.contracts.loop_control",
                "loopId": "decided",
            },
            "maxIterations": 2,
        },
        _step("choose", outputContract={"contractRef": "wr.contracts.loop_control"}, requireConfirmation=True),
    ),
    _step("close", runCondition={"var": "files", "contains": "special"}),
    preconditions=["There are files."],
)
ZOO = {"operators": OPERATORS, "elements": ELEMENTS}
