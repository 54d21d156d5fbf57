"""The smallest agent that gets any valid workflow to its end: what each step asks for, read from the IR."""

from __future__ import annotations

import re._parser as sre_parser  # type: ignore[import-not-found]  # the only way to look into a pattern
from collections.abc import Iterator
from typing import Any

from protocol_bench import WORKSPACE

from pytest_workrail.agents.agent import answer_kind
from pytest_workrail.engine.protocol.engine import Engine

_MAX_CALLS = 2000
_FILLER = "What was done in this step, what was decided and what is open. "


def initial_context(ir: dict[str, Any]) -> dict[str, Any]:
    """The variables without which a loop can't be decided."""
    context: dict[str, Any] = {}
    for step in ir["steps"]:
        source = step.get("loop", {}).get("source", {})
        if source.get("kind") == "items":
            context[source["variable"]] = [{}]
        elif source.get("kind") == "count" and "variable" in source:
            context[source["variable"]] = 1
    return context


def run_to_the_end(engine: Engine, ir: dict[str, Any], preferences: dict[str, str]) -> list[str]:
    """Run a workflow; the steps that were submitted, in order."""
    definitions = {step["id"]: step for step in _steps(ir)}
    answer = engine.start_workflow(
        {
            "workflowId": ir["workflowId"],
            "workspacePath": WORKSPACE,
            "goal": "run to the end",
            "initialContext": initial_context(ir),
            "preferences": preferences,
        }
    )
    visited: list[str] = []
    for _ in range(_MAX_CALLS):
        assert answer.is_ok, answer.error
        shown: Any = answer.value.to_json()
        assert shown.get("kind") != "blocked", (visited, shown["blockers"], shown.get("validation"))
        if answer_kind(shown) == "complete":
            return visited
        step = definitions[shown["pending"]["stepId"]]
        visited.append(step["id"])
        answer = engine.continue_workflow(
            {"continueToken": shown["continueToken"], "intent": "advance", "output": output_for(ir, step)}
        )
    raise AssertionError(f"no end after {_MAX_CALLS} calls")


def _steps(ir: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for step in ir["steps"]:
        yield step
        yield from step.get("body", ())


def output_for(ir: dict[str, Any], step: dict[str, Any]) -> dict[str, Any]:
    """Notes and artifacts that satisfy a step."""
    asked = step.get("output", {})
    artifacts: list[Any] = []
    if "contract" in asked:
        pack = next(pack for pack in ir["contracts"] if pack["ref"] == asked["contract"]["ref"])
        artifacts.append(_artifact(pack["example"], ir, step, asked["contract"]))
    if "assessments" in asked:
        artifacts += _assessments(ir, asked["assessments"])
    return {"notesMarkdown": notes_for(asked.get("criteria")), "artifacts": artifacts}


def _artifact(example: Any, ir: dict[str, Any], step: dict[str, Any], contract: dict[str, Any]) -> Any:
    if contract["ref"] == "wr.contracts.loop_control":
        loop = next(each for each in ir["steps"] if step in each.get("body", ()))
        return {"kind": "wr.loop_control", "decision": "stop", "loopId": loop["id"]}
    return example | {"capability": contract["capability"]} if "capability" in contract else example


def _assessments(ir: dict[str, Any], asked: dict[str, Any]) -> list[Any]:
    """Levels that set off no consequence, as far as there are any."""
    avoided = {consequence["when"]["anyEqualsLevel"] for consequence in asked["consequences"]}
    declared = {each["id"]: each for each in ir["assessments"]}
    return [
        {
            "kind": "wr.assessment",
            "assessmentId": ref,
            "dimensions": {
                dimension["id"]: next((level for level in dimension["levels"] if level not in avoided), "")
                for dimension in declared[ref]["dimensions"]
            },
        }
        for ref in asked["refs"]
    ]


def notes_for(criteria: Any) -> str:
    """Notes that hold every text the criteria ask for, and are as long as they must be."""
    rules = list(_rules(criteria))
    parts = [rule["value"] for rule in rules if rule["type"] == "contains"]
    parts += [shortest_match(rule["pattern"]) for rule in rules if rule["type"] == "regex"]
    longest = max((rule.get("min", 0) for rule in rules if rule["type"] == "length"), default=0)
    return _FILLER * (longest // len(_FILLER) + 1) + "\n".join(parts)


def shortest_match(pattern: str) -> str:
    """A text that a simple pattern matches: first alternatives, fewest repetitions."""
    return "".join(_matched(node) for node in sre_parser.parse(pattern))


def _matched(node: Any) -> str:
    kind, value = str(node[0]), node[1]
    match kind:
        case "LITERAL":
            return chr(value)
        case "BRANCH":
            return "".join(map(_matched, value[1][0]))
        case "SUBPATTERN":
            return "".join(map(_matched, value[3]))
        case "MAX_REPEAT" | "MIN_REPEAT":
            return "".join(map(_matched, value[2])) * value[0]
        case "IN":
            return _matched(value[0])
        case "RANGE":
            return chr(value[0])
        case "ANY":
            return "x"
        case _:
            return ""


def _rules(criteria: Any) -> Iterator[dict[str, Any]]:
    if isinstance(criteria, list):
        for rule in criteria:
            yield from _rules(rule)
    elif isinstance(criteria, dict):
        if "type" in criteria:
            yield criteria
        for member in criteria.get("and", ()):
            yield from _rules(member)
        yield from _rules((criteria.get("or") or [None])[0])
