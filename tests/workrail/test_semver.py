"""Which part of a version has to rise: each kind of edit, every member of the IR, generated edits, and versions."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from tables import for_each

from workrail_lint import compile_workflow
from workrail_lint.base.result import Ok
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.diff import digested, outline
from workrail_lint.systems.workrail.semver import (
    STEP_FACETS,
    WORKFLOW_FACETS,
    Judgement,
    Part,
    judge_change,
    next_version,
    read_version,
)

Workflow = dict[str, Any]
Edit = Callable[[Workflow], None]
FIXTURES = Path(__file__).parents[2] / "fixtures/workflows"


def base() -> Workflow:
    return {
        "id": "test.ship",
        "name": "Ship",
        "description": "Ships a change.",
        "version": "1.4.2",
        "preconditions": ["The tree is clean"],
        "references": [
            {"id": "style", "title": "Style", "source": "style.md", "purpose": "How we write.", "authoritative": False}
        ],
        "assessments": [
            {
                "id": "risk",
                "purpose": "How risky it is.",
                "dimensions": [{"id": "blast", "purpose": "Who is hurt.", "levels": ["low", "high"]}],
            }
        ],
        "steps": [
            {"id": "classify", "title": "Classify", "prompt": "Set the context variable severity to low or high."},
            {
                "id": "warn",
                "title": "Warn",
                "prompt": "Warn the users.",
                "runCondition": {"var": "severity", "equals": "high"},
                "promptFragments": [
                    {"id": "calm", "when": {"var": "severity", "equals": "low"}, "text": "Stay calm."},
                    {"id": "loud", "when": {"var": "severity", "equals": "high"}, "text": "Be loud."},
                ],
            },
            {
                "id": "polish",
                "type": "loop",
                "title": "Polish",
                "loop": {"type": "for", "count": 2, "maxIterations": 5},
                "body": [{"id": "edit", "title": "Edit", "prompt": "Edit once more.", "notesOptional": True}],
            },
            {
                "id": "rate",
                "title": "Rate",
                "prompt": "Rate the risk.",
                "assessmentRefs": ["risk"],
            },
            {
                "id": "report",
                "title": "Report",
                "prompt": "Report with evidence.",
                "validationCriteria": [
                    {"type": "contains", "value": "evidence", "message": "Name the evidence."},
                    {"type": "length", "min": 40, "message": "Say more."},
                ],
            },
            {
                "id": "verdict",
                "title": "Verdict",
                "prompt": "Submit a wr.review_verdict artifact.",
                "outputContract": {"contractRef": "wr.contracts.review_verdict"},
            },
        ],
    }


def step(workflow: Workflow, ident: str) -> dict[str, Any]:
    flat = [each for top in workflow["steps"] for each in (top, *(top.get("body") or ()))]
    return next(each for each in flat if each["id"] == ident)


def _set(ident: str, **members: Any) -> Edit:
    return lambda workflow: step(workflow, ident).update(members)


def _drop(ident: str, member: str) -> Edit:
    return lambda workflow: step(workflow, ident).pop(member) and None


def _top(**members: Any) -> Edit:
    return lambda workflow: workflow.update(members)


def _new_step(ident: str = "tell") -> dict[str, Any]:
    return {"id": ident, "title": "Tell", "prompt": "Tell the user."}


# The edit, in the words of the table in docs/semver.md; the part that has to rise; the kind of the weightiest reason.
EDITS: dict[str, tuple[Edit, Part, str | None]] = {
    "nothing": (lambda workflow: None, Part.NONE, None),
    "the version alone": (_top(version="9.9.9"), Part.NONE, None),
    "a prompt, title or description": (_set("warn", prompt="Warn all users."), Part.PATCH, "wording"),
    "the name": (_top(name="Ship it"), Part.PATCH, "wording"),
    "the text of a fragment": (
        lambda workflow: step(workflow, "warn")["promptFragments"][0].update(text="Keep calm."),
        Part.PATCH,
        "wording",
    ),
    "a message of a criterion": (
        lambda workflow: step(workflow, "report")["validationCriteria"][0].update(message="Which evidence?"),
        Part.PATCH,
        "wording",
    ),
    "a new step": (lambda workflow: workflow["steps"].insert(1, _new_step()), Part.MINOR, "step-added"),
    "a new step at the end": (lambda workflow: workflow["steps"].append(_new_step()), Part.MINOR, "step-added"),
    "a new step in a loop": (
        lambda workflow: step(workflow, "polish")["body"].append(_new_step()),
        Part.MINOR,
        "step-added",
    ),
    "a new fragment, or another condition of one": (
        lambda workflow: step(workflow, "warn")["promptFragments"].pop(),
        Part.MINOR,
        "fragment-changed",
    ),
    "notes become optional": (_set("report", notesOptional=True), Part.MINOR, "output-relaxed"),
    "a criterion less": (
        lambda workflow: step(workflow, "report")["validationCriteria"].pop(),
        Part.MINOR,
        "output-relaxed",
    ),
    "no criteria any more": (_drop("report", "validationCriteria"), Part.MINOR, "output-relaxed"),
    "an assessment less": (_drop("rate", "assessmentRefs"), Part.MINOR, "output-relaxed"),
    "a higher bound of a loop": (
        lambda workflow: step(workflow, "polish")["loop"].update(maxIterations=9),
        Part.MINOR,
        "bound-raised",
    ),
    "a precondition less": (_top(preconditions=[]), Part.MINOR, "precondition-removed"),
    "recommended preferences": (
        _top(recommendedPreferences={"recommendedAutonomy": "guided"}),
        Part.MINOR,
        "option-changed",
    ),
    "a level more of an assessment": (
        lambda workflow: workflow["assessments"][0]["dimensions"][0]["levels"].append("medium"),
        Part.MINOR,
        "assessment-changed",
    ),
    "an optional artifact": (
        _set("verdict", outputContract={"contractRef": "wr.contracts.review_verdict", "required": False}),
        Part.MINOR,
        "output-relaxed",
    ),
    "a removed step": (lambda workflow: workflow["steps"].pop(0) and None, Part.MAJOR, "step-removed"),
    "a removed step of a loop": (
        lambda workflow: step(workflow, "polish").update(body=[_new_step()]),
        Part.MAJOR,
        "step-removed",
    ),
    "a renamed step": (_set("report", id="tell-all"), Part.MAJOR, "step-renamed"),
    "a moved step": (
        lambda workflow: workflow["steps"].append(workflow["steps"].pop(0)),
        Part.MAJOR,
        "step-moved",
    ),
    "a condition added to a step": (
        _set("report", runCondition={"var": "severity", "equals": "high"}),
        Part.MAJOR,
        "condition-changed",
    ),
    "a condition changed": (
        _set("warn", runCondition={"var": "severity", "equals": "low"}),
        Part.MAJOR,
        "condition-changed",
    ),
    "a condition taken from a step": (_drop("warn", "runCondition"), Part.MAJOR, "condition-changed"),
    "a confirmation, added or taken away": (
        _set("report", requireConfirmation=True),
        Part.MAJOR,
        "confirmation-changed",
    ),
    "notes become required": (_drop("edit", "notesOptional"), Part.MAJOR, "output-required"),
    "a new contract": (
        _set("report", outputContract={"contractRef": "wr.contracts.coding_handoff"}),
        Part.MAJOR,
        "output-required",
    ),
    "another contract": (
        _set("verdict", outputContract={"contractRef": "wr.contracts.coding_handoff"}),
        Part.MAJOR,
        "output-required",
    ),
    "a contract less": (_drop("verdict", "outputContract"), Part.MAJOR, "output-removed"),
    "a criterion more, or a stricter one": (
        lambda workflow: step(workflow, "report")["validationCriteria"][1].update(min=80),
        Part.MAJOR,
        "output-required",
    ),
    "an assessment more": (_set("classify", assessmentRefs=["risk"]), Part.MAJOR, "output-required"),
    "a level less of an assessment": (
        lambda workflow: workflow["assessments"][0]["dimensions"][0].update(levels=["low", "severe"]),
        Part.MAJOR,
        "assessment-narrowed",
    ),
    "a dimension more": (
        lambda workflow: workflow["assessments"][0]["dimensions"].append(
            {"id": "cost", "purpose": "What it costs.", "levels": ["low", "high"]}
        ),
        Part.MAJOR,
        "assessment-narrowed",
    ),
    "a lower bound of a loop": (
        lambda workflow: step(workflow, "polish")["loop"].update(maxIterations=3),
        Part.MAJOR,
        "bound-lowered",
    ),
    "another count, condition or list of a loop": (
        lambda workflow: step(workflow, "polish")["loop"].update(count=3),
        Part.MAJOR,
        "loop-changed",
    ),
    "another variable of a loop": (
        lambda workflow: step(workflow, "polish")["loop"].update(iterationVar="round"),
        Part.MAJOR,
        "loop-changed",
    ),
    "a precondition more": (_top(preconditions=["The tree is clean", "CI is green"]), Part.MAJOR, "precondition-added"),
    "a new input": (_top(preconditions=["Inputs: `ticketId`"]), Part.MAJOR, "input-added"),
    "another reference": (
        lambda workflow: workflow["references"][0].update(authoritative=True),
        Part.MINOR,
        "option-changed",
    ),
    "the id of the workflow": (_top(id="test.ship_it"), Part.NONE, None),
}


def compiled(workflow: Workflow) -> Any:
    result = compile_workflow(json.dumps(workflow))
    assert isinstance(result, Ok), result
    return outline(result.value.ir)


def judged(old: Workflow, new: Workflow, *, pinned: bool = False) -> Judgement:
    outlines = [compiled(old), compiled(new)]
    if pinned:
        outlines = [digested(each) for each in outlines]
    return judge_change(new["id"], *outlines)


def edited(edit: Edit) -> Workflow:
    workflow = base()
    edit(workflow)
    return workflow


@for_each("name", EDITS)
def test_every_kind_of_edit_has_its_part(name: str) -> None:
    edit, part, kind = EDITS[name]
    judgement = judged(base(), edited(edit))
    assert (judgement.required, judgement.reasons[0].kind if judgement.reasons else None) == (part, kind)
    assert judgement.ok is (part is Part.NONE)


@for_each("name", EDITS)
def test_a_lockfile_never_asks_for_less(name: str) -> None:
    """It keeps digests of long values, so that it may ask for more."""
    new = edited(EDITS[name][0])
    assert judged(base(), new, pinned=True).required >= judged(base(), new).required


@for_each("name", ["a new contract", "a contract less"])
def test_the_steps_say_whether_a_contract_came_or_went(name: str) -> None:
    """A lockfile has the digest of a pack, which says nothing about a pack that is on one side only."""
    judgement = judged(base(), edited(EDITS[name][0]), pinned=True)
    assert "contract-narrowed" not in {reason.kind for reason in judgement.reasons}


def test_another_id_is_major_where_both_are_known() -> None:
    old, new = compiled(base()), compiled(base())
    old.workflow["workflowId"], new.workflow["workflowId"] = "test.ship", "test.ship_it"
    assert judge_change("test.ship_it", old, new).required is Part.MAJOR


def _facets_of_the_ir() -> tuple[set[str], set[str]]:
    schema = load_schema("ir")
    definitions = schema.get("$defs", schema.get("definitions"))
    top = set(definitions["Program"]["properties"] if "Program" in definitions else schema["properties"])
    steps: set[str] = set()
    for name in ("PromptStep", "RepeatingStep", "DelegatingStep"):
        steps |= set(definitions[name]["properties"])
    steps |= {f"loop.{member}" for member in definitions["Repetition"]["properties"]}
    steps |= {f"output.{member}" for member in definitions["StepOutput"]["properties"]}
    return top - {"format", "steps", "contracts", "warnings"}, steps - {"id", "body", "loop", "output", "provenance"}


def test_every_member_of_the_ir_has_a_judge() -> None:
    top, steps = _facets_of_the_ir()
    assert top == set(WORKFLOW_FACETS)
    assert steps == set(STEP_FACETS)


# ------------------------------------------------------------------------------------------------- generated edits


def _generated(seed: int) -> tuple[Workflow, Workflow, Part]:
    """Return a shipped workflow, the same with one to three edits of known kinds, and the part they ask for."""
    draw = random.Random(seed)
    texts = [path.read_text("utf-8") for path in sorted(FIXTURES.glob("*.json")) if path.name != "design-form.json"]
    old = json.loads(draw.choice([text for text in texts if "templateCall" not in text]))
    new = deepcopy(old)
    needed = Part.NONE
    for number in range(draw.randint(1, 3)):
        kind = draw.choice(("prompt", "title", "added", "confirmed", "condition"))
        plain = [each for each in new["steps"] if "prompt" in each and each["id"] in {s["id"] for s in old["steps"]}]
        if kind == "added" or not plain:
            new["steps"].append(_new_step(f"added-{number}"))
            needed = max(needed, Part.MINOR)
            continue
        target = draw.choice(plain)
        match kind:
            case "prompt":
                target["prompt"] += " Take your time."
                needed = max(needed, Part.PATCH)
            case "title":
                target["title"] += " now"
                needed = max(needed, Part.PATCH)
            case "confirmed":
                target["requireConfirmation"] = not target.get("requireConfirmation", False)
                needed = max(needed, Part.MAJOR)
            case "condition":
                target["runCondition"] = {"var": "depth", "equals": f"deep-{number}"}
                needed = max(needed, Part.MAJOR)
    return old, new, needed


@for_each("seed", range(200))
def test_generated_edits_of_known_kinds(seed: int) -> None:
    old, new, needed = _generated(seed)
    judgement = judged(old, new)
    if needed is Part.MAJOR and _same_but_words(old, new):  # two confirmations of the same step cancel out
        assert judgement.required < needed
    else:
        assert judgement.required is needed, judgement.reasons


def _same_but_words(old: Workflow, new: Workflow) -> bool:
    members = ("id", "requireConfirmation", "runCondition")
    kept = [[(each.get(name) or None) for name in members] for each in new["steps"][: len(old["steps"])]]
    return kept == [[(each.get(name) or None) for name in members] for each in old["steps"]]


# ------------------------------------------------------------------------------------------------------- versions


@for_each(
    "before, part, after",
    [
        ("1.4.2", Part.MAJOR, "2.0.0"),
        ("1.4.2", Part.MINOR, "1.5.0"),
        ("1.4.2", Part.PATCH, "1.4.3"),
        ("1.4.2", Part.NONE, "1.4.2"),
        ("0.3.1", Part.MAJOR, "0.4.0"),
        ("0.3.1", Part.MINOR, "0.3.2"),
        ("0.3.1", Part.PATCH, "0.3.2"),
        ("1.0.0-rc.1", Part.PATCH, "1.0.1"),
    ],
)
def test_the_next_version(before: str, part: Part, after: str) -> None:
    version = read_version(before)
    assert version is not None
    assert str(next_version(version, part)) == after


@for_each("text", ["1.2", "v1.2.3", "", None, 3, "1.2.3.4", "1.2.x"])
def test_what_is_no_version(text: object) -> None:
    assert read_version(text) is None


def _verdicts() -> Iterator[tuple[str, str, bool]]:
    yield "1.4.2", "1.4.3", False
    yield "1.4.2", "1.5.0", True
    yield "1.4.2", "2.0.0", True
    yield "1.4.2", "1.3.0", False
    yield "1.4.2", "1.5.0-rc.1", True
    yield "1.4.2", "one", False


def test_a_version_that_is_high_enough() -> None:
    for before, declared, ok in _verdicts():
        judgement = Judgement("test.ship", before, declared, Part.MINOR, ())
        assert judgement.ok is ok, declared
        assert ("enough" in judgement.describe()) is ok
