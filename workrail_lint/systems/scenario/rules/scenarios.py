"""The rules about scenario files. `workrail_lint.systems.scenario.system` detects what they describe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Rule
from workrail_lint.rules.example_files import COMMON

_PATH = "scenarios/example.scenario.json"
_WORKFLOW = "../workflows/example.json"
_STEP = {"id": "first-step", "title": "A step", "prompt": "Describe what you see."}
_LOOP = {
    "id": "again",
    "type": "loop",
    "title": "A loop",
    "loop": {"type": "for", "count": 2, "maxIterations": 2},
    "body": [{"id": "inner-step", "title": "A step", "prompt": "Describe what you see."}],
}
_BLOCKS = {
    "id": "login",
    "metadata": {
        "name": "Login page",
        "version": "1.0.0",
        "createdAt": "2026-03-01T09:00:00Z",
        "updatedAt": "2026-03-01T09:00:00Z",
        "tags": [],
    },
    "nodes": [
        {
            "id": "plan",
            "type": "planner",
            "label": "Plan",
            "config": {"systemPrompt": "Plan the login page."},
            "inputs": [],
            "outputs": [],
            "position": {"x": 0, "y": 0},
        }
    ],
    "transitions": [],
    "gates": [],
    "variables": [],
}
_ORIGIN = "product"


def _workflow(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"id": "demo.example", **COMMON, "steps": list(steps)}


_FILES: dict[str, Any] = {"workflows/example.json": _workflow(_STEP)}


def _scenario(**members: Any) -> dict[str, Any]:
    return {"workflow": _WORKFLOW, **members}


def _agent(*turns: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "auto", "turns": list(turns)}


class ScenarioRule(Rule):
    """A rule whose finding the checker makes itself."""

    origin = _ORIGIN


class WorkflowMissing(ScenarioRule):
    code = "SN001"
    name = "scenario-workflow-missing"
    severity = Severity.ERROR
    summary = "The workflow, the catalog or the routines of a scenario can't be read."
    why = "The scenario can't run, so it tests nothing."
    example_path = _PATH

    def examples(self) -> Iterable[Example]:
        yield self.example(_scenario(workflow="../workflows/exmaple.json"), _scenario(), files=_FILES)
        yield self.example(_scenario(routines="../nowhere"), _scenario(), files=_FILES)


class WorkflowInvalid(ScenarioRule):
    code = "SN002"
    name = "scenario-workflow-invalid"
    severity = Severity.ERROR
    summary = "The workflow of a scenario does not compile with the catalog and routines that it names."
    why = "Only a compiled workflow can run; the findings of the workflow file say what is wrong with it."
    example_path = _PATH

    def examples(self) -> Iterable[Example]:
        files: dict[str, Any] = {**_FILES, "workflows/broken.json": _workflow({**_STEP, "id": "a"})}
        yield self.example(_scenario(workflow="../workflows/broken.json"), _scenario(), files=files)


class StepUnknown(ScenarioRule):
    code = "SN003"
    name = "scenario-step-unknown"
    severity = Severity.ERROR
    summary = "A scenario names a step that does not exist in its workflow."
    why = "The turn is never played and the expectation is never met, so the scenario always fails."
    example_path = _PATH

    def examples(self) -> Iterable[Example]:
        good = _agent({"step": "first-step", "does": "missing_notes"})
        bad = _agent({"step": "frist-step", "does": "missing_notes"})
        yield self.example(_scenario(agent=bad), _scenario(agent=good), files=_FILES)
        files: dict[str, Any] = {"workflows/example.json": _workflow(_STEP, _LOOP)}
        expected = {"steps": ["first-step", "inner-step", "inner-step"]}
        yield self.example(
            _scenario(expect={"steps": ["first-step", "again"]}), _scenario(expect=expected), files=files
        )


class ChoiceMismatch(ScenarioRule):
    code = "SN004"
    name = "scenario-choice-mismatch"
    severity = Severity.ERROR
    summary = "A choice, an answer or a code is not possible at this point, or a need does not name one."
    why = "A run knows a closed set of values; any other value answers nothing and never occurs."
    example_path = _PATH

    def examples(self) -> Iterable[Example]:
        def declared(**members: str) -> dict[str, Any]:
            need = {"reason": "user_only_dependency", "step": "first-step", **members}
            return _scenario(profile="locked", declares=[need])

        yield self.example(
            declared(detail="needs_user_choice"),
            declared(detail="needs_user_choice", choice="irreversible_action"),
            files=_FILES,
        )
        yield self.example(
            declared(detail="needs_user_approval", choice="scope_boundary"),
            declared(detail="needs_user_approval"),
            files=_FILES,
        )


class DeclaresUnheard(ScenarioRule):
    code = "SN005"
    name = "scenario-declares-unheard"
    severity = Severity.ERROR
    summary = "A scenario declares something that its run profile ignores."
    why = "Under the profile `reference` only the workflow can block a step, so the declaration has no effect."
    example_path = _PATH

    def examples(self) -> Iterable[Example]:
        declares = [{"reason": "missing_context_key", "step": "first-step", "key": "branch"}]
        yield self.example(_scenario(declares=declares), _scenario(profile="locked", declares=declares), files=_FILES)


class TurnShadowed(ScenarioRule):
    code = "SN006"
    name = "scenario-turn-shadowed"
    severity = Severity.ERROR
    summary = "A turn comes after a repeating turn for the same step and visit."
    why = "A repeating turn is never used up, so the later turn stays unused and the scenario fails."
    example_path = _PATH

    def examples(self) -> Iterable[Example]:
        first, second = {"step": "first-step", "does": "right"}, {"step": "first-step", "does": "missing_notes"}
        yield self.example(
            _scenario(agent=_agent({**first, "repeats": True}, second)),
            _scenario(agent=_agent(second, {**first, "repeats": True})),
            files=_FILES,
        )


class ChecksLittle(ScenarioRule):
    code = "SN007"
    name = "scenario-checks-little"
    severity = Severity.WARNING
    summary = "A scenario has neither a golden nor an expectation, or asks for a comparison that compares nothing."
    why = "It passes if the run ends; prompts, steps and outputs may change unnoticed."
    example_path = _PATH

    def examples(self) -> Iterable[Example]:
        yield self.example(
            _scenario(golden=False), _scenario(golden=False, expect={"steps": ["first-step"]}), files=_FILES
        )


class MemberIgnored(ScenarioRule):
    code = "SN008"
    name = "scenario-member-ignored"
    severity = Severity.ERROR
    summary = "A scenario has a field, an answer or a variable that its run never reads."
    why = "Its author expects an effect that never happens."
    example_path = _PATH

    def examples(self) -> Iterable[Example]:
        def turn(**members: Any) -> dict[str, Any]:
            return _scenario(agent=_agent({"step": "first-step", **members}))

        yield self.example(turn(call="rehydrate", to="first-step"), turn(call="rewind", to="first-step"), files=_FILES)
        request = {"notes": "Sent under another name."}
        yield self.example(
            turn(call="resend", request=request), turn(call="continue_workflow", request=request), files=_FILES
        )
        provides = {"detail": "needs_user_approval"}
        yield self.example(turn(prefers={"mode": "guided"}, provides=provides), turn(provides=provides), files=_FILES)


class PathOutside(ScenarioRule):
    code = "SN009"
    name = "scenario-path-outside"
    severity = Severity.ERROR
    summary = "A block scenario names a file that can't be in the workspace."
    why = (
        "Blocks write only into a temporary workspace. A path that is absolute, leaves it with `..`, or belongs "
        "to git or to the record of the run is refused, so the scenario can't show what it describes."
    )
    example_path = _PATH

    def examples(self) -> Iterable[Example]:
        def block(path: str) -> dict[str, Any]:
            replies = {"plan": {"write": {path: "done\n"}}}
            return {"block": {"workflow": "run.workflow.json", "replies": replies}, "expect": {"blockers": []}}

        files: dict[str, Any] = {"scenarios/run.workflow.json": _BLOCKS}
        yield self.example(block("../notes.txt"), block("notes.txt"), files=files)
