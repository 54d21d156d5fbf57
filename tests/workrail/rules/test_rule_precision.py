"""Where rules used to say too much, or fixes damaged what an author had done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lint_probe import fixed, lint

from workrail_lint import check, check_text
from workrail_lint.findings import Confidence, Finding, Severity
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL
from workrail_lint.systems.workrail.rules import RULES
from workrail_lint.systems.workrail.rules.assessments import AssessmentNoConsequence
from workrail_lint.systems.workrail.rules.evidence import CriteriaFlagOnly, CriteriaPreferContract
from workrail_lint.systems.workrail.rules.lifecycle import DeprecatedMember, ModelIdHardcoded
from workrail_lint.systems.workrail.rules.loop_exit import (
    LoopContextControlled,
    LoopControlOutsideLoop,
    LoopSourceLoopIdMismatch,
    LoopStopSkipsNext,
)
from workrail_lint.systems.workrail.rules.prompt_parts import GuidanceNotDelivered
from workrail_lint.systems.workrail.rules.prompt_wording import PromptLazyWording
from workrail_lint.systems.workrail.rules.references import ReferenceNotShipped
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, loop, parallel, step, workflow
from workrail_lint.systems.workrail.rules.structure import PromptBoundaryBoilerplate
from workrail_lint.systems.workrail.rules.templates import TemplateArgUnused, TemplateCallMemberIgnored

DEEP, QUICK = {"var": "mode", "equals": "deep"}, {"var": "mode", "equals": "quick"}


def test_severities_and_defaults() -> None:
    severities = {
        "contract-optional": Severity.WARNING,
        "reference-not-shipped": Severity.WARNING,
        "workflow-id-legacy": Severity.INFO,
        "loop-prompt-long": Severity.INFO,
    }
    assert {name: RULES.by_name[name].severity for name in severities} == severities


def test_retired_codes_stay_retired() -> None:
    assert not {"CT006", "LC003", "LC004", "PR022"} & {info.code for info in RULES.infos}


def test_rules_that_were_arguable_are_not_of_high_confidence() -> None:
    labels = Path(__file__, "../../../../docs/precision.jsonl").resolve().read_text(encoding="utf-8").splitlines()
    doubtful = {row["rule"] for row in map(json.loads, labels) if row["label"] in ("arguable", "false")}
    assert doubtful
    assert [info.code for info in RULES.infos if info.code in doubtful and info.confidence is Confidence.HIGH] == []


# --------------------------------------------------------------------------------------- package references


def package(folder: Path, described: object, sources: list[str]) -> list[Finding]:
    (folder / "spec").mkdir()
    (folder / "docs").mkdir()
    for name in ("spec/here.json", "docs/here.md", "README.md"):
        (folder / name).write_text("{}\n")
    if described is not None:
        (folder / "package.json").write_text(described if isinstance(described, str) else json.dumps(described))
    references = [
        {
            "id": f"r-{number}",
            "title": "A document",
            "source": source,
            "purpose": "Says it.",
            "authoritative": True,
            "resolveFrom": "package",
        }
        for number, source in enumerate(sources)
    ]
    path = str(folder / "workflows" / "a.json")
    return lint(
        ReferenceNotShipped, workflow(references=references), path, workspace=str(folder), source_kind="bundled"
    )


@pytest.mark.parametrize(
    ("files", "published"),
    [
        (["docs"], True),
        (["docs/"], True),
        (["/docs/**"], True),
        (["docs/here.md"], True),
        (["docs/*.md"], True),
        (["spec"], False),
        (["docs/there.md"], False),
        ([], False),
        (None, True),
    ],
)
def test_files_of_the_package_say_what_is_published(files: list[str] | None, published: bool, tmp_path: Path) -> None:
    described = {"name": "engine"} if files is None else {"name": "engine", "files": files}
    found = package(tmp_path, described, ["docs/here.md", "./README.md"])
    assert [finding.pointer for finding in found] == ([] if published else ["/references/0/source"])


def test_a_missing_file_of_the_package(tmp_path: Path) -> None:
    (finding,) = package(tmp_path, {"files": ["docs"]}, ["docs/gone.md", "docs/here.md"])
    assert finding.message == "the package has no file 'docs/gone.md'; correct the path"
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize("described", [None, "no json", "[]", '{"files": "docs"}'])
def test_without_a_usable_package_nothing_is_claimed(described: object, tmp_path: Path) -> None:
    assert package(tmp_path, described, ["docs/here.md"]) == []


# ------------------------------------------------------------------------------------------------- loops


def test_the_engine_ignores_the_loop_id() -> None:
    source = {"kind": "artifact_contract", "contractRef": LOOP_CONTROL, "loopId": "other"}
    document = workflow(controlled_loop(conditionSource=source))
    assert len(lint(LoopSourceLoopIdMismatch, document)) == 1
    [finding] = lint(LoopSourceLoopIdMismatch, document, engine=True)
    assert finding.severity is Severity.INFO


WRITE = controlled_loop(step("draft"), decision("draft-done"), ident="write")
CHECK = controlled_loop(step("review"), decision("review-done"), ident="check")


@pytest.mark.parametrize(
    ("steps", "is_read"),
    [
        ([decision(), CHECK], True),
        ([decision(), step(runCondition=DEEP), CHECK], True),
        ([decision(), step(), CHECK], False),
        ([decision(), loop()], False),
        ([decision(audit={"prompt": "Look again."}), CHECK], False),
        ([decision(runCondition=DEEP), {**CHECK, "runCondition": QUICK}], False),
    ],
)
def test_a_decision_before_a_loop_decides_whether_it_starts(steps: list[dict[str, Any]], is_read: bool) -> None:
    assert (lint(LoopControlOutsideLoop, workflow(*steps)) == []) is is_read


def test_a_synthesis_before_a_loop_decides_too() -> None:
    fan = parallel(synthesis={"prompt": "Continue or stop?", "outputContract": {"contractRef": LOOP_CONTROL}})
    assert lint(LoopControlOutsideLoop, workflow(step(), fan, CHECK)) == []


@pytest.mark.parametrize(
    ("steps", "pointers"),
    [
        ([WRITE, CHECK], ["/steps/1/loop/conditionSource"]),
        ([WRITE, step(), CHECK], []),
        ([WRITE, step(runCondition=DEEP), CHECK], ["/steps/2/loop/conditionSource"]),
        ([{**WRITE, "runCondition": DEEP}, step(runCondition=DEEP), CHECK], []),
        ([{**WRITE, "runCondition": {"and": [DEEP, {"var": "x"}]}}, step(runCondition=DEEP), CHECK], []),
        ([{**WRITE, "runCondition": DEEP}, {**CHECK, "runCondition": QUICK}], []),
        ([{**WRITE, "runCondition": DEEP}, {**CHECK, "runCondition": DEEP}], ["/steps/1/loop/conditionSource"]),
        ([WRITE, loop()], []),
        ([loop(), CHECK], []),
        ([controlled_loop(step("draft"), ident="write"), CHECK], []),
        ([WRITE, {**CHECK, "body": "review"}, step("review")], ["/steps/1/loop/conditionSource"]),
        ([{**WRITE, "body": "draft"}, decision("draft"), CHECK], ["/steps/2/loop/conditionSource"]),
    ],
)
def test_a_stop_that_skips_the_next_loop(steps: list[dict[str, Any]], pointers: list[str]) -> None:
    assert [finding.pointer for finding in lint(LoopStopSkipsNext, workflow(*steps))] == pointers


def test_a_skipped_step_between_two_loops_is_named() -> None:
    (finding,) = lint(LoopStopSkipsNext, workflow(WRITE, step("tidy-up", runCondition=DEEP), CHECK))
    assert "never starts when 'tidy-up' is skipped" in finding.message


@pytest.mark.parametrize(
    ("members", "is_fixed"),
    [
        ({}, True),
        ({"runCondition": DEEP}, False),
        ({"validationCriteria": [{"type": "contains", "value": "x", "message": "m"}]}, False),
        ({"assessmentRefs": ["depth"]}, False),
    ],
)
def test_the_contract_goes_on_the_last_step_and_replaces_no_check(members: dict[str, Any], is_fixed: bool) -> None:
    body = [step("first"), step("last", **members)]
    document = workflow(
        step(), loop(*body, type="while", count=..., maxIterations=3, condition={"var": "open", "gt": 0})
    )
    (finding,) = lint(LoopContextControlled, document)
    assert (finding.fix is not None) is is_fixed
    if is_fixed:
        mended = json.loads(fixed(finding, document))["steps"][1]["body"]
        assert ["outputContract" in inner for inner in mended] == [False, True]


# --------------------------------------------------------------------------------------------- contracts


def test_packs_of_other_systems_are_not_suggested() -> None:
    flag = [{"type": "contains", "value": "done", "message": "Say so."}]
    for title in ("Architecture document", "Task backlog", "Repo mount"):
        document = workflow(step(title=title, validationCriteria=flag))
        (finding,) = lint(CriteriaFlagOnly, document)
        assert "team." not in finding.message
        assert "block." not in finding.message
        assert lint(CriteriaPreferContract, document) == []
    (finding,) = lint(CriteriaPreferContract, workflow(step(title="Review it", validationCriteria=flag)))
    assert "wr.contracts.review_verdict" in finding.message


@pytest.mark.parametrize("ref", ["wr.contracts.sesion", "team.contracts.sesion", "architecture_document"])
def test_an_unknown_contract(ref: str) -> None:
    document = workflow(step(outputContract={"contractRef": ref}))
    (finding,) = (f for f in check_text(json.dumps(document)).findings if f.name == "contract-unknown")
    assert "team.contracts." not in finding.message.replace(ref, "")
    assert len(finding.message) < 250


def test_two_prompts_are_reported_once() -> None:
    for first, second in (("prompt", "promptBlocks"), ("promptBlocks", "prompt")):
        sources: dict[str, Any] = {"prompt": "Look.", "promptBlocks": {"goal": "Look."}}
        document = workflow({"id": "one", "title": "One", first: sources[first], second: sources[second]})
        found = [f.name for f in check_text(json.dumps(document)).findings]
        assert found.count("prompt-source-invalid") == 1


def test_a_misspelt_level_is_one_finding() -> None:
    dimension = {"id": "coverage", "purpose": "How much.", "levels": ["low", "high"]}
    declared = [{"id": "depth", "purpose": "How deep.", "dimensions": [dimension]}]
    consequence = {"when": {"anyEqualsLevel": "lwo"}, "effect": {"kind": "require_followup", "guidance": "Go on."}}
    document = workflow(step(assessmentRefs=["depth"], assessmentConsequences=[consequence]), assessments=declared)
    assert lint(AssessmentNoConsequence, document) == []
    assert len(lint(AssessmentNoConsequence, workflow(step(assessmentRefs=["depth"]), assessments=declared))) == 1


# --------------------------------------------------------------------------------------------- templates

SIMULATION = "wr.templates.routine.execution-simulation"
IDEATION = "wr.templates.routine.ideation"


def calling(template: str, args: dict[str, Any], **members: Any) -> dict[str, Any]:
    return workflow(step(), step("call", None, templateCall={"templateId": template, "args": args}, **members))


def test_an_argument_is_renamed_to_the_one_that_is_missing() -> None:
    document = calling(IDEATION, {"deliverable": "options.md", "howMany": 3})
    (finding,) = lint(TemplateArgUnused, document)
    mended = json.loads(fixed(finding, document))["steps"][1]["templateCall"]["args"]
    assert mended == {"deliverable": "options.md", "quantity": 3}


def test_no_argument_is_dropped_while_one_is_missing() -> None:
    for finding in lint(TemplateArgUnused, calling(IDEATION, {"alpha": "options.md", "omega": 3})):
        assert finding.fix is None
    (finding,) = lint(TemplateArgUnused, calling(SIMULATION, {"flavour": "x"}))
    assert finding.fix is not None


def test_default_values_are_no_loss() -> None:
    assert lint(TemplateCallMemberIgnored, calling(SIMULATION, {}, requireConfirmation=False, guidance=[])) == []
    assert len(lint(TemplateCallMemberIgnored, calling(SIMULATION, {}, requireConfirmation=True))) == 1


# ----------------------------------------------------------------------------------------------- wording

SAME = "Do not edit any file in this step, and hand over before you start the next one."


def repeated(*conditions: dict[str, Any] | None) -> list[Finding]:
    steps = [step(f"s-{n}", SAME, **({"runCondition": c} if c else {})) for n, c in enumerate(conditions)]
    return lint(PromptBoundaryBoilerplate, workflow(*steps))


def test_what_no_run_shows_twice_is_not_repeated() -> None:
    assert repeated(*({"var": "mode", "equals": mode} for mode in ("a", "b", "c"))) == []
    assert repeated(None, DEEP, QUICK) == []
    assert len(repeated(None, None, DEEP)) == 1
    fragments = [
        step(f"s-{n}", promptFragments=[{"id": "f", "when": {"var": "mode", "equals": n}, "text": SAME}])
        for n in range(3)
    ]
    assert lint(PromptBoundaryBoilerplate, workflow(*fragments)) == []


@pytest.mark.parametrize(
    ("prompt", "count"),
    [
        ("You may read the tests.", 0),
        ("Make the smallest change.", 0),
        ("Make the smallest safe change.", 0),
        ("Write the smallest report.", 1),
        ("Do a light scan.", 1),
    ],
)
def test_lazy_wording(prompt: str, count: int) -> None:
    assert len(lint(PromptLazyWording, workflow(step(prompt=prompt)))) == count


@pytest.mark.parametrize(
    ("prompt", "count"),
    [
        ("Use gpt-4o-mini for it.", 1),
        ("Name the model, e.g. gpt-4o-mini.", 0),
        ("Name the model (for example gpt-4o-mini).", 0),
        ("```\nmodel: gpt-4o-mini\n```", 0),
        ("```\na\n```\nUse gpt-4o-mini.", 1),
    ],
)
def test_models_in_examples(prompt: str, count: int) -> None:
    assert len(lint(ModelIdHardcoded, workflow(step(prompt=prompt)))) == count
    assert lint(ModelIdHardcoded, workflow(examples=["Compare gpt-4o-mini with others"])) == []


# ---------------------------------------------------------------------------------- once per file, or per run


def test_undelivered_guidance_is_reported_once() -> None:
    steps = [step(f"s-{n}", guidance=["Prefer evidence."]) for n in range(3)]
    document = workflow(*steps, metaGuidance=["Be careful."])
    (finding,) = lint(GuidanceNotDelivered, document)
    assert "metaGuidance and the guidance of 3 steps" in finding.message


def test_old_members_are_reported_once() -> None:
    document = workflow(*(step(f"s-{n}", hasValidation=True, askForFiles=False) for n in range(2)))
    (finding,) = lint(DeprecatedMember, document)
    assert "in 3 other places" in finding.message
    assert all(mended.keys() <= {"id", "title", "prompt"} for mended in json.loads(fixed(finding, document))["steps"])


def test_the_catalog_is_mentioned_once_per_run(tmp_path: Path) -> None:
    blocks = {"goal": "Describe what you see."}
    for name in ("b", "a", "c"):
        document = workflow(
            step(prompt=None, promptBlocks=blocks), id=f"demo.x-{name}", features=["wr.features.capabilities"]
        )
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    found = [f.path for f in check([tmp_path]).findings if f.name == "catalog-hash-not-engine"]
    assert [Path(path).name for path in found] == ["a.json"]


# ------------------------------------------------------------------------------------------------- step ids


def test_a_taken_step_id_is_never_suggested() -> None:
    document = workflow(step("plan-it"), step("Plan It"), step("Do It"), step("do it"))
    found = [f for f in check_text(json.dumps(document), options={}).findings if f.name == "step-id-pattern"]
    said = {finding.pointer: "did you mean" in finding.message for finding in found}
    assert said == {"/steps/1/id": False, "/steps/2/id": True, "/steps/3/id": False}
    assert [finding.details.get("suggestion") for finding in found] == [None, "do-it", None]
