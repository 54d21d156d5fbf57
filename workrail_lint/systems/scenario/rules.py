"""The rules about scenario files. `workrail_lint.systems.scenario.check` detects what they describe."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Rule
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow

FAMILY = "SN"
TITLE = "Scenarios"

_PATH = "scenarios/example.scenario.json"
_WORKFLOW = "../workflows/example.json"
_FILES: dict[str, Any] = {"workflows/example.json": workflow()}
_ORIGIN = "product"


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
    summary = "The workflow, the catalog or the routines that a scenario names can't be read."
    why = "The scenario can't be run, so whatever it was meant to show is not tested."

    def examples(self) -> Iterable[Example]:
        yield Example(_scenario(workflow="../workflows/exmaple.json"), _scenario(), path=_PATH, files=_FILES)
        yield Example(_scenario(routines="../nowhere"), _scenario(), path=_PATH, files=_FILES)


class WorkflowInvalid(ScenarioRule):
    code = "SN002"
    name = "scenario-workflow-invalid"
    severity = Severity.ERROR
    summary = "The workflow that a scenario names does not compile, or not with the catalog or the routines it names."
    why = "Only a compiled workflow can be run; the findings of the workflow file say what is wrong with it."

    def examples(self) -> Iterable[Example]:
        files: dict[str, Any] = {**_FILES, "workflows/broken.json": workflow(step("a"))}
        yield Example(_scenario(workflow="../workflows/broken.json"), _scenario(), path=_PATH, files=files)


class StepUnknown(ScenarioRule):
    code = "SN003"
    name = "scenario-step-unknown"
    severity = Severity.ERROR
    summary = "A scenario names a step that its workflow does not have."
    why = "The turn is never played and the expectation never met: the scenario fails whenever it is run."

    def examples(self) -> Iterable[Example]:
        good = _agent({"step": "first-step", "does": "missing_notes"})
        bad = _agent({"step": "frist-step", "does": "missing_notes"})
        yield Example(_scenario(agent=bad), _scenario(agent=good), path=_PATH, files=_FILES)
        files: dict[str, Any] = {"workflows/example.json": workflow(step(), loop())}
        expected = {"steps": ["first-step", "inner-step", "inner-step"]}
        yield Example(
            _scenario(expect={"steps": ["first-step", "again"]}), _scenario(expect=expected), path=_PATH, files=files
        )


class ChoiceMismatch(ScenarioRule):
    code = "SN004"
    name = "scenario-choice-mismatch"
    severity = Severity.ERROR
    summary = "A choice, an answer or a code is none that can be given there, or a need does not say which."
    why = "A run knows a closed set of them; what is none of it answers nothing and never comes up."

    def examples(self) -> Iterable[Example]:
        def declared(**members: str) -> dict[str, Any]:
            need = {"reason": "user_only_dependency", "step": "first-step", **members}
            return _scenario(profile="locked", declares=[need])

        yield Example(
            declared(detail="needs_user_choice"),
            declared(detail="needs_user_choice", choice="irreversible_action"),
            path=_PATH,
            files=_FILES,
        )
        yield Example(
            declared(detail="needs_user_approval", choice="scope_boundary"),
            declared(detail="needs_user_approval"),
            path=_PATH,
            files=_FILES,
        )


class DeclaresUnheard(ScenarioRule):
    code = "SN005"
    name = "scenario-declares-unheard"
    severity = Severity.ERROR
    summary = "A scenario declares something that its run profile does not look at."
    why = "Under profile reference nothing but the workflow stands against a step, so the declaration has no effect."

    def examples(self) -> Iterable[Example]:
        declares = [{"reason": "missing_context_key", "step": "first-step", "key": "branch"}]
        yield Example(
            _scenario(declares=declares), _scenario(profile="locked", declares=declares), path=_PATH, files=_FILES
        )


class TurnShadowed(ScenarioRule):
    code = "SN006"
    name = "scenario-turn-shadowed"
    severity = Severity.ERROR
    summary = "A turn stands behind one that repeats, for the same step and visit."
    why = "A turn that repeats is never used up. The one behind it stays unused, which fails the scenario."

    def examples(self) -> Iterable[Example]:
        first, second = {"step": "first-step", "does": "right"}, {"step": "first-step", "does": "missing_notes"}
        yield Example(
            _scenario(agent=_agent({**first, "repeats": True}, second)),
            _scenario(agent=_agent(second, {**first, "repeats": True})),
            path=_PATH,
            files=_FILES,
        )


class ChecksLittle(ScenarioRule):
    code = "SN007"
    name = "scenario-checks-little"
    severity = Severity.WARNING
    summary = "A scenario has neither a golden nor any expectation, or asks for a comparison that compares nothing."
    why = "It passes as long as the run comes to its end; prompts, steps and outputs may change unnoticed."

    def examples(self) -> Iterable[Example]:
        yield Example(
            _scenario(golden=False),
            _scenario(golden=False, expect={"steps": ["first-step"]}),
            path=_PATH,
            files=_FILES,
        )


class MemberIgnored(ScenarioRule):
    code = "SN008"
    name = "scenario-member-ignored"
    severity = Severity.ERROR
    summary = "A scenario has a member, an answer or a variable that nothing in its run looks at."
    why = "Whoever wrote it expects something to happen that never does."

    def examples(self) -> Iterable[Example]:
        def turn(**members: Any) -> dict[str, Any]:
            return _scenario(agent=_agent({"step": "first-step", **members}))

        yield Example(
            turn(call="rehydrate", to="first-step"), turn(call="rewind", to="first-step"), path=_PATH, files=_FILES
        )
        request = {"notes": "Sent under another name."}
        yield Example(
            turn(call="resend", request=request),
            turn(call="continue_workflow", request=request),
            path=_PATH,
            files=_FILES,
        )
        provides = {"detail": "needs_user_approval"}
        yield Example(
            turn(prefers={"mode": "guided"}, provides=provides), turn(provides=provides), path=_PATH, files=_FILES
        )


class PathOutside(ScenarioRule):
    code = "SN009"
    name = "scenario-path-outside"
    severity = Severity.ERROR
    summary = "A scenario of blocks names a file that can't be in the workspace."
    why = (
        "Blocks write into a temporary workspace and nowhere else. A path that is absolute, climbs out with `..` or "
        "belongs to git or to the record of the run is refused, so the scenario can't show what it says."
    )

    def examples(self) -> Iterable[Example]:
        from workrail_lint.systems.blocks.rules import samples

        def block(path: str) -> dict[str, Any]:
            replies = {"plan": {"write": {path: "done\n"}}}
            return {"block": {"workflow": "run.workflow.json", "replies": replies}, "expect": {"blockers": []}}

        files: dict[str, Any] = {"scenarios/run.workflow.json": samples.workflow(samples.node("plan", "planner"))}
        yield Example(block("../notes.txt"), block("notes.txt"), path=_PATH, files=files)


RULES = (
    WorkflowMissing,
    WorkflowInvalid,
    StepUnknown,
    ChoiceMismatch,
    DeclaresUnheard,
    TurnShadowed,
    ChecksLittle,
    MemberIgnored,
    PathOutside,
)


@cache
def all_rules() -> tuple[Rule, ...]:
    """One instance of every rule, by code."""
    return tuple(cls() for cls in RULES)


@cache
def by_name() -> dict[str, Rule]:
    return {rule.name: rule for rule in all_rules()}
