"""The compiled workflow: IR, provenance, determinism."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import for_each

from workrail_lint import CompiledWorkflow, Err, Ok, compile_workflow
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.findings import Finding
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.catalog import load_core
from workrail_lint.systems.workrail.check import engine_errors
from workrail_lint.systems.workrail.compile import read_for_compiling
from workrail_lint.systems.workrail.compiler.compiled import compile_definition
from workrail_lint.systems.workrail.compiler.engine_target import HashMode
from workrail_lint.systems.workrail.compiler.nodes import walk
from workrail_lint.systems.workrail.model.build import workflow_model
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, loop, parallel, step, workflow
from workrail_lint.systems.workrail.settings import Settings


def compiled(document: Any, **inputs: object) -> CompiledWorkflow:
    result = compile_workflow(document, **inputs)  # type: ignore[arg-type]
    assert isinstance(result, Ok), result
    return result.value


FULL = workflow(
    step(
        "plan",
        None,
        promptBlocks={
            "goal": [{"kind": "text", "text": "Plan with "}, {"kind": "ref", "refId": "wr.refs.memory_query"}],
            "constraints": ["Be brief."],
            "outputRequired": {"b": "second", "a": "first"},
        },
        requireConfirmation={"kind": "human_approval", "condition": {"var": "risky"}},
        promptFragments=[{"id": "extra", "text": "More.", "when": {"var": "deep"}}],
        modelTier="heavy",
    ),
    step("check", audit={"rubric": ["Complete"]}, runCondition={"var": "a"}, requireConfirmation=True),
    controlled_loop(step("improve", requireConfirmation={"var": "ask"}), decision()),
    {**loop(ident="each"), "loop": {"type": "forEach", "items": "files", "maxIterations": 5}, "body": "shared"},
    step("shared", "Look at {{currentItem}}.", notesOptional=True),
    parallel(),
    features=["wr.features.subagent_guidance", "wr.features.memory_context"],
    assessments=[
        {"id": "gate", "purpose": "p", "dimensions": [{"id": "d", "purpose": "p", "levels": ["low", "high"]}]}
    ],
)


CALL = {"templateId": "wr.templates.routine.ideation", "args": {"quantity": "3", "deliverable": "a list"}}


def test_ir_shape() -> None:
    ir = compiled(FULL).ir
    assert ir["format"] == "workrail.ir/1"
    assert ir["kind"] == "workflow"
    assert [item["id"] for item in ir["features"]] == ["wr.features.memory_context", "wr.features.subagent_guidance"]
    assert [item["ref"] for item in ir["contracts"]] == ["wr.contracts.loop_control"]
    steps = {item["id"]: item for item in ir["steps"]}
    assert list(steps) == ["plan", "check", "check__audit", "again", "each", "fan-out", "fan-out__synthesis"]
    assert steps["plan"]["confirmation"] == {
        "kind": "when",
        "gate": "human_approval",
        "explicit": True,
        "condition": {"var": "risky"},
    }
    assert steps["check"]["confirmation"] == {"kind": "always", "gate": "coordinator_eval"}
    assert steps["check__audit"]["runCondition"] == {"var": "a"}
    assert steps["check__audit"]["notes"] == "optional"
    assert steps["check__audit"]["provenance"]["origin"] == "check#audit"
    assert steps["again"]["loop"]["source"] == {
        "kind": "artifact",
        "contractRef": "wr.contracts.loop_control",
        "loopId": "again",
    }
    assert steps["again"]["body"][0]["confirmation"]["condition"] == {"var": "ask"}
    assert steps["again"]["body"][1]["output"]["contract"] == {"ref": "wr.contracts.loop_control", "required": True}
    assert steps["each"]["loop"]["source"] == {"kind": "items", "variable": "files"}
    assert steps["each"]["loop"]["variables"] == {
        "iteration": "currentIteration",
        "item": "currentItem",
        "index": "currentIndex",
    }
    assert [item["id"] for item in steps["each"]["body"]] == ["shared"]
    assert steps["each"]["body"][0]["notes"] == "optional"


def test_injected_text_is_accounted_for() -> None:
    workflow_ = compiled(FULL)
    plan = next(node for node in walk(workflow_.nodes) if node.id == "plan")
    prompt = plan.step["prompt"]
    assert plan.injections
    for item in plan.injections:
        assert prompt[item.start : item.end] == item.text
    kinds = [(item.kind, item.id) for item in plan.injections]
    assert kinds[0] == ("ref", "wr.refs.memory_query")
    assert ("feature", "wr.features.memory_context") in kinds
    assert ("ref", "wr.refs.memory_usage") in kinds
    recorded = workflow_.ir["steps"][0]["provenance"]["injected"]
    assert [(entry["kind"], entry["id"]) for entry in recorded] == list(dict.fromkeys(kinds))
    for entry in recorded:
        texts = [item.text for item in plan.injections if (item.kind, item.id) == (entry["kind"], entry["id"])]
        data = "\n".join(texts).encode()
        assert (entry["sha256"], entry["bytes"]) == (digest(data), len(data))


def test_the_order_of_features_shows_in_prompts_only() -> None:
    swapped = {**FULL, "features": list(reversed(FULL["features"]))}
    assert compiled(FULL).ir["features"] == compiled(swapped).ir["features"]
    assert compiled(FULL).hash != compiled(swapped).hash
    assert compiled(FULL).engine_hash != compiled(swapped).engine_hash


@pytest.mark.parametrize(("order", "place"), [([0, 1], "earlier"), ([1, 0], "later")])
def test_a_body_by_reference_says_where_its_step_is(order: list[int], place: str) -> None:
    steps = [step("body"), {**step("loop"), "type": "loop", "loop": {"type": "for", "count": 2, "maxIterations": 2}}]
    del steps[1]["prompt"]
    steps[1]["body"] = "body"
    assert compiled(workflow(*(steps[each] for each in order))).ir["steps"][0]["bodyRef"] == place
    steps[1]["body"] = [step("inner")]
    assert "bodyRef" not in compiled(workflow(*steps)).ir["steps"][1]


GATED = workflow(controlled_loop(step("inner-step")), metricsProfile="review")


def test_a_loop_that_nobody_decides_gets_a_gate() -> None:
    """@enforces loop-gate-by-construction"""
    result = compiled(GATED)
    inner, gate = result.ir["steps"][0]["body"]
    assert inner["id"] == "inner-step"
    assert {name: gate[name] for name in gate if name != "prompt"} == {
        "id": "again__gate",
        "title": "Decide: A loop",
        "type": "step",
        "notes": "optional",
        "confirmation": {"kind": "never"},
        "output": {"contract": {"ref": "wr.contracts.loop_control", "required": True}},
        "provenance": {"source": "virtual", "origin": "again#gate", "injected": []},
        **{name: [] for name in ("guidance", "fragments", "functions", "functionCalls", "functionReferences")},
    }
    assert "at most 3 time" in gate["prompt"]
    snapshot = result.engine_target().value
    assert [inner["id"] for inner in snapshot["definition"]["steps"][0]["body"]] == ["inner-step"]


@pytest.mark.parametrize("condition", [None, {"var": "thorough"}])
def test_an_authored_decision_means_no_gate(condition: dict[str, Any] | None) -> None:
    """@enforces loop-gate-by-construction"""
    members = {} if condition is None else {"runCondition": condition}
    ir = compiled(workflow(controlled_loop(step("inner-step"), decision(**members)))).ir
    assert [inner["id"] for inner in ir["steps"][0]["body"]] == ["inner-step", "decide"]


def test_a_body_by_reference_gets_a_gate_for_each_loop() -> None:
    loops = [{**controlled_loop(ident=ident), "body": "shared"} for ident in ("one", "two")]
    ir = compiled(workflow(step("shared"), *loops)).ir
    bodies = [[inner["id"] for inner in made["body"]] for made in ir["steps"]]
    assert bodies == [["shared", "one__gate"], ["shared", "two__gate"]]


def test_a_taken_gate_id_is_a_collision() -> None:
    taken = compile_definition(
        workflow_model(workflow(controlled_loop(step("inner-step")), step("again__gate"))), load_core()
    )
    assert isinstance(taken, Err)
    assert [(error.name, error.pointer) for error in taken.error] == [("id-duplicate", "/steps/0/id")]


def test_design_only_builtins_work_in_the_ir_only() -> None:
    document = workflow(step(prompt=None, promptBlocks={"goal": "g"}), features=["wr.features.mode_guidance"])
    result = compiled(document)
    assert result.hash
    assert result.engine_hash is None
    target = result.engine_target()
    assert isinstance(target, Err)
    assert target.error[0].name == "catalog-id-design-only"


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (workflow(step(), version=...), "schema-missing-member"),
        (workflow(step(), agentRole="Careful senior engineer"), "schema-unknown-member"),
        (workflow(step(), capabilities={"web_browsing": "preferred"}), "schema-unknown-member"),
        (workflow(step(validationCriteria=[{"type": "length", "min": 3}])), "schema-missing-member"),
        (workflow(step(), extensionPoints={"slot": {"purpose": "p", "defaultBinding": "x"}}), "schema-type"),
        (workflow(step("first", None, templateCall=CALL), step()), "template-call-first-step"),
        (json.dumps(workflow(step())).replace("}]", "},]"), "json-trailing-comma"),
    ],
    ids=["version", "agentRole", "capabilities", "message", "extensionPoints", "start", "syntax"],
)
def test_what_the_engine_refuses_has_no_engine_hash(document: Any, name: str) -> None:
    result = compiled(document)
    assert result.hash
    assert result.engine_hash is None
    for mode in HashMode:
        target = result.engine_target(mode)
        assert isinstance(target, Err)
        assert name in [finding.name for finding in target.error]
        assert all(finding.span for finding in target.error)


def test_what_only_a_body_may_have_is_compiled() -> None:
    fragments = [{"id": "same", "when": {"var": "a", "equals": 1}, "text": text} for text in ("One.", "{{wr.x}}")]
    result = compiled(workflow(loop(step("inner", promptFragments=fragments))))
    assert result.hash
    assert result.engine_hash


def test_required_and_preferred_capabilities_are_probed_first() -> None:
    document = workflow(
        step(prompt=None, promptBlocks={"goal": "g"}),
        capabilities={"web_browsing": "required", "delegation": "preferred"},
    )
    ir = compiled(document).ir
    assert ir["capabilities"] == {"web_browsing": "required", "delegation": "preferred"}
    assert [item["id"] for item in ir["steps"]] == ["wr_probe_delegation", "wr_probe_web_browsing", "first-step"]
    probe = ir["steps"][1]
    assert (probe["id"], probe["title"]) == ("wr_probe_web_browsing", "Probe: web_browsing")
    assert probe["provenance"]["source"] == "feature"
    assert probe["provenance"]["origin"] == "wr.templates.capability_probe"
    assert probe["output"]["contract"] == {
        "ref": "wr.contracts.capability_observation",
        "required": True,
        "capability": "web_browsing",
    }
    assert probe["notes"] == "optional"
    assert "wr.contracts.capability_observation" in [item["ref"] for item in ir["contracts"]]
    assert [item["code"] for item in ir["warnings"]] == ["compat-capabilities"]


def test_a_workflow_that_begins_with_its_own_probe_gets_no_other() -> None:
    call = {
        "templateId": "wr.templates.capability_probe",
        "args": {"capability": "delegation", "when": "early_if_required"},
    }
    document = workflow(step("own", None, templateCall=call), step(), capabilities={"delegation": "required"})
    ir = compiled(document).ir
    assert [item["id"] for item in ir["steps"]] == ["own.probe", "first-step"]
    assert ir["steps"][0]["output"]["contract"]["capability"] == "delegation"


def test_worked_normalization_of_the_design_form() -> None:
    text = """{"id":"demo.compat","name":"Compat","description":"Normalized from the design form.",
     "agentRole":"Careful senior engineer",
     "conditions":[{"id":"keep_going","kind":"loop_control","continueWhen":"continue"}],
     "steps":[
      {"id":"triage","title":"Triage","prompt":"Triage the report."},
      {"type":"loop","loopId":"dig_in","while":{"kind":"condition_ref","conditionId":"keep_going"},"maxIterations":5,
       "body":[
        {"id":"gather_evidence","title":"Gather evidence","prompt":"Gather evidence."},
        {"id":"decide","title":"Decide","prompt":"Continue or stop?",
         "output":{"contractRef":"wr.contracts.loop_control"}}]}]}"""
    result = compiled(text)
    shipped = compiled(result.definition)
    assert shipped.engine_hash == "sha256:0c1835ec7295e7ccafe54743943352abcc4595123a243adb953888bcb0fe76f2"
    assert result.engine_hash is None  # the engine refuses the document as it was written
    assert result.ir["agentRole"] == "Careful senior engineer"
    assert result.ir["conditions"] == [{"id": "keep_going", "kind": "loop_control", "continueWhen": "continue"}]
    assert result.ir["steps"][1]["provenance"]["source"] == "normalized"
    assert {item["code"] for item in result.ir["warnings"]} >= {"compat-version-missing", "compat-agent-role"}


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("", "no JSON value"),
        ("[]", "must be a JSON object"),
        ("{", "expected a key"),
        ('{"id": 1}', "id"),
        ({"id": object()}, "not a JSON document"),
        (b"\xff", "UTF-8"),
    ],
)
def test_bad_sources_are_findings(source: Any, part: str) -> None:
    result = compile_workflow(source)
    assert isinstance(result, Err)
    assert any(part in finding.message for finding in result.error)


def test_paths(tmp_path: Any) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(FULL), encoding="utf-8")
    assert compiled(path).hash == compiled(FULL).hash
    for bad in (tmp_path / "missing.json", tmp_path):
        result = compile_workflow(bad)
        assert isinstance(result, Err)
        assert result.error[0].name == "file-not-readable"


def shuffled(value: Any, random: Any) -> Any:
    """The same document with its members in another order, but for those whose order is part of the prompt."""
    if isinstance(value, dict):
        names = list(value)
        random.shuffle(names)
        return {
            name: dict(value[name]) if name == "outputRequired" else shuffled(value[name], random) for name in names
        }
    return [shuffled(item, random) for item in value] if isinstance(value, list) else value


@given(st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_member_order_does_not_reach_the_hash(random: Any) -> None:
    again = compiled(shuffled(FULL, random))
    assert (again.hash, again.engine_hash) == (compiled(FULL).hash, compiled(FULL).engine_hash)


def test_compiling_changes_nothing_it_was_given() -> None:
    from workrail_lint.systems.workrail.catalog.catalog import load_core
    from workrail_lint.systems.workrail.compiler.compiled import compile_definition

    document = json.loads(json.dumps(FULL))
    before = canonical_bytes(document)
    result = compile_definition(workflow_model(document), load_core())
    assert isinstance(result, Ok)
    assert result.value.hash
    assert result.value.engine_hash
    assert canonical_bytes(document) == before


def test_the_resolved_definition_compiles_to_itself() -> None:
    first = compiled(FULL)
    definition = first.engine_target().value["definition"]
    again = compiled({**definition, "features": first.definition["features"]})
    assert again.resolved == first.engine_target().value["definition"]["steps"]


_SCRIPT = """
import sys
from pathlib import Path
from workrail_lint import compile_workflow
result = compile_workflow(Path(sys.argv[1])).value
print(result.hash, result.engine_hash)
"""


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "0"},
        {"PYTHONHASHSEED": "4242", "LC_ALL": "C", "TZ": "Pacific/Kiritimati"},
        {"PYTHONHASHSEED": "7", "LC_ALL": "tr_TR.UTF-8", "TZ": "America/St_Johns", "PYTHONUTF8": "0"},
    ],
)
def test_same_hash_in_any_environment(tmp_path: Any, environment: dict[str, str]) -> None:
    path = tmp_path / "full.json"
    path.write_text(json.dumps(FULL), encoding="utf-8")
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    shown = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(path)],
        env={**os.environ, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.split() == [compiled(FULL).hash, str(compiled(FULL).engine_hash)]


_texts = st.text('ab {}\n😀"', max_size=12)
_blocks = st.fixed_dictionaries(
    {},
    optional={
        "goal": _texts,
        "constraints": st.lists(_texts, max_size=2),
        "procedure": st.lists(
            _texts | st.lists(st.builds(lambda t: {"kind": "text", "text": t}, _texts), max_size=2), max_size=2
        ),
        "outputRequired": st.dictionaries(_texts, _texts, max_size=3),
        "verify": st.lists(_texts, max_size=2),
    },
)


@given(
    st.lists(_blocks, min_size=1, max_size=3),
    st.lists(st.sampled_from(["wr.features.capabilities", "wr.features.memory_context"]), unique=True),
)
def test_rendering_is_total_and_deterministic(blocks: list[dict[str, Any]], features: list[str]) -> None:
    document = workflow(
        *(step(f"step-{i}", None, promptBlocks=item) for i, item in enumerate(blocks)), features=features
    )
    first, second = compile_workflow(document), compile_workflow(document)
    if isinstance(first, Err):
        assert {finding.code for finding in first.error} <= {"EMPTY_BLOCKS", "UNRESOLVED_TOKEN"}
        return
    assert isinstance(second, Ok)
    assert first.value.hash == second.value.hash
    for node in walk(first.value.nodes):
        assert node.step["prompt"].startswith("## ")
        for item in node.injections:
            assert node.step["prompt"][item.start : item.end] == item.text


def test_the_bytes_that_are_hashed_are_those_of_the_ir() -> None:
    for document in (FULL, workflow(), workflow(controlled_loop())):
        result = compiled(document)
        assert result.ir_bytes == canonical_bytes(result.ir)


def test_warnings_are_in_the_order_of_steps_by_number() -> None:
    """They are part of the IR, so their order decides about its hash."""
    steps = [step(f"part-{number}") for number in range(12)]
    for number in (10, 2, 11, 9):
        steps[number]["validationCriteria"] = [{"type": "contains", "value": "Risk"}]
    ir = compiled(workflow(*steps)).ir
    assert [item["pointer"].split("/")[2] for item in ir["warnings"]] == ["2", "9", "10", "11"]


_GOAL = {"goal": "Go."}
_PROBE = {"templateId": "wr.templates.capability_probe", "args": {"capability": "web_browsing", "when": "now"}}


@for_each(
    "document, is_refused",
    [
        (FULL, False),
        (workflow(step("one", None, promptBlocks=_GOAL), features=["wr.features.mode_guidance"]), True),
        (workflow(step("one"), step("two", None, templateCall=_PROBE)), True),
        (workflow(step("one", None, templateCall=_PROBE), step("two")), True),
        (workflow(step("one", outputContract={"contractRef": "block.contracts.environment"})), True),
    ],
)
def test_the_engine_refuses_a_clean_workflow_for_the_same_reasons_as_in_a_whole_check(
    document: dict[str, Any], is_refused: bool
) -> None:
    """What the first check made of a workflow in which it found nothing is used for the engine's verdict too."""
    text = json.dumps(document)
    whole = engine_errors(read_for_compiling(text), "", Settings(load_core(), engine=False))
    assert [facts_of(each) for each in compiled(text).engine_errors] == [facts_of(each) for each in whole]
    assert bool(whole) is is_refused, whole


def facts_of(finding: Finding) -> tuple[object, ...]:
    return finding.code, finding.name, finding.severity, finding.message, finding.pointer, finding.span, finding.details


# A workflow whose only step gets one more member, by that member; what it refers to is in all of them.
WITH_MEMBER: dict[str, Any] = {
    "promptBlocks": {"goal": "Say why."},
    "templateCall": {
        "templateId": "wr.templates.capability_probe",
        "args": {"capability": "delegation", "when": "now"},
    },
    "agentRole": "A patient observer",
    "modelTier": "mid",
    "guidance": ["Be calm."],
    "requireConfirmation": True,
    "runCondition": {"var": "deep"},
    "validationCriteria": {"type": "contains", "value": "done", "message": "Say done."},
    "outputContract": {"contractRef": "wr.contracts.gate_verdict"},
    "output": {"contractRef": "wr.contracts.gate_verdict"},
    "assessmentRefs": ["gate"],
    "assessmentConsequences": [
        {"when": {"anyEqualsLevel": "low"}, "effect": {"kind": "require_followup", "guidance": "Look again."}}
    ],
    "notesOptional": True,
    "functionDefinitions": [{"name": "sum_up", "definition": "Write the gist."}],
    "functionCalls": [{"name": "gist", "args": {"tone": "dry"}}],
    "functionReferences": ["gist()"],
    "promptFragments": [{"id": "extra", "text": "More.", "when": {"var": "more"}}],
    "audit": {"rubric": ["Complete"]},
    "verification": {"prompt": "Prove it."},
}
# Every step has these, or they have no effect.
ELSEWHERE = {"id", "title", "prompt", "askForFiles", "hasValidation"}


def test_every_member_of_a_step_is_tried_below() -> None:
    definitions = load_schema("workflow-design")["definitions"]
    assert set(WITH_MEMBER) | ELSEWHERE == set(definitions["DesignStandardStep"]["properties"])


@for_each("member", WITH_MEMBER)
def test_every_member_of_a_step_changes_the_ir(member: str) -> None:
    members: dict[str, Any] = {member: WITH_MEMBER[member]}
    base = step("look", "Look.")
    if member == "assessmentConsequences":
        base["assessmentRefs"] = ["gate"]
    around: dict[str, Any] = {
        "assessments": FULL["assessments"],
        "capabilities": {"delegation": "preferred"},
        "functionDefinitions": [
            {
                "name": "gist",
                "definition": "Five lines.",
                "parameters": [{"name": "tone", "type": "string", "required": True}],
            }
        ],
    }
    changed = {**base, **members}
    if member in ("promptBlocks", "templateCall"):
        del changed["prompt"]
    without, with_it = (compile_workflow(workflow(one, **around)) for one in (base, changed))
    assert isinstance(with_it, Ok), with_it.error
    assert with_it.value.hash != without.value.hash
