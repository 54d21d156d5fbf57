"""Violations of the schema as findings: names, places, words, suggestions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import for_each

from workrail_lint.documents.schema import dialect
from workrail_lint.documents.schema.engine import compile_schema
from workrail_lint.documents.schema.messages import MESSAGES
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.rules import RULES
from workrail_lint.systems.workrail.rules.samples import controlled_loop, loop, parallel, step, workflow
from workrail_lint.systems.workrail.schema_findings import MAX_FINDINGS, schema_findings

VALIDATOR = compile_schema(load_schema("workflow"))
RULE = {"type": "length", "min": 200, "message": "Say more."}


def found(document: Any) -> list[Finding]:
    return schema_findings(VALIDATOR.violations(document), document)


def single(document: Any) -> Finding:
    findings = found(document)
    assert len(findings) == 1, findings
    return findings[0]


def assessed(levels: list[str]) -> dict[str, Any]:
    dimension = {"id": "depth", "purpose": "How deep.", "levels": levels}
    return workflow(assessments=[{"id": "one", "purpose": "Judges.", "dimensions": [dimension]}])


def conditional(condition: Any) -> dict[str, Any]:
    return workflow(step(runCondition=condition))


def ruled(condition: Any) -> dict[str, Any]:
    return workflow(step(validationCriteria=[{**RULE, "condition": condition}]))


@for_each(
    "document, name, pointer",
    [
        (workflow(id="My.Flow"), "workflow-id-pattern", "/id"),
        (workflow(id="aa.bb\n"), "workflow-id-pattern", "/id"),
        (workflow(id="1a.bc"), "workflow-id-pattern", "/id"),
        (workflow(id=".ab"), "workflow-id-pattern", "/id"),
        (workflow(id="a.review"), "workflow-id-pattern", "/id"),
        (workflow(id="ab.c"), "workflow-id-pattern", "/id"),
        (workflow(id="A.review"), "workflow-id-pattern", "/id"),
        (workflow(id="a1.b2.c3"), "workflow-id-pattern", "/id"),
        (workflow(id="ab"), "schema-bounds", "/id"),
        (workflow(version="1.0"), "schema-pattern", "/version"),
        (workflow(version="v1.0.0"), "schema-pattern", "/version"),
        ({**workflow(), "steps": []}, "schema-bounds", "/steps"),
        ({**workflow(), "steps": {}}, "schema-type", "/steps"),
        ({**workflow(), "steps": [None]}, "schema-type", "/steps/0"),
        (workflow(step("ab")), "step-id-pattern", "/steps/0/id"),
        (workflow(step("a" * 65)), "step-id-pattern", "/steps/0/id"),
        (workflow(loop(step("Bad Id"))), "step-id-pattern", "/steps/0/body/0/id"),
        (workflow(step(type="standard")), "schema-enum", "/steps/0/type"),
        (workflow(step(type=None)), "schema-enum", "/steps/0/type"),
        (workflow(loop(loop(ident="inner"))), "loop-nested", "/steps/0/body/0/type"),
        (workflow(loop(step(type="template"))), "schema-enum", "/steps/0/body/0/type"),
        (workflow({**loop(), "prompt": "x"}), "step-member-wrong-shape", "/steps/0/prompt"),
        (workflow(parallel(audit={})), "step-member-wrong-shape", "/steps/0/audit"),
        (workflow(step(synthesis={})), "step-member-wrong-shape", "/steps/0/synthesis"),
        (workflow({**loop(), "body": []}), "loop-body-empty", "/steps/0/body"),
        (workflow({**loop(), "body": [None]}), "schema-type", "/steps/0/body/0"),
        (workflow(loop(type="repeat", count=...)), "loop-type-invalid", "/steps/0/loop/type"),
        (workflow(loop(type=3)), "loop-type-invalid", "/steps/0/loop/type"),
        (workflow(loop(maxIterations=...)), "loop-member-missing", "/steps/0/loop"),
        (workflow(loop(maxIterations=0)), "loop-max-iterations-invalid", "/steps/0/loop/maxIterations"),
        (workflow(loop(maxIterations=1001)), "loop-max-iterations-invalid", "/steps/0/loop/maxIterations"),
        (workflow(loop(count=...)), "loop-member-missing", "/steps/0/loop"),
        (workflow(loop(count=-1)), "loop-count-not-positive", "/steps/0/loop/count"),
        (workflow(loop(count=1001)), "schema-bounds", "/steps/0/loop/count"),
        (workflow(loop(type="forEach", items="x", count=-1)), "schema-bounds", "/steps/0/loop/count"),
        (workflow(loop(type="forEach", count=...)), "loop-member-missing", "/steps/0/loop"),
        (workflow(loop(type="until", count=...)), "loop-condition-missing", "/steps/0/loop"),
        (workflow(loop(itemVar="1st")), "schema-pattern", "/steps/0/loop/itemVar"),
        (workflow(controlled_loop(conditionSource={})), "condition-source-shape", "/steps/0/loop/conditionSource"),
        (workflow(controlled_loop(conditionSource=3)), "condition-source-shape", "/steps/0/loop/conditionSource"),
        (
            workflow(controlled_loop(conditionSource={"kind": "context_variable", "condition": {}, "loopId": "x"})),
            "condition-source-shape",
            "/steps/0/loop/conditionSource/loopId",
        ),
        (conditional({"var": "a", "eq": 1}), "condition-operator-unknown", "/steps/0/runCondition/eq"),
        (conditional({"and": [{"x": 1}]}), "condition-operator-unknown", "/steps/0/runCondition/and/0/x"),
        (
            conditional({"var": "a", "matches": "^x"}),
            "condition-operator-unknown",
            "/steps/0/runCondition/matches",
        ),
        (ruled({"var": "a", "in": [1]}), "condition-operator-unknown", "/steps/0/validationCriteria/0/condition/in"),
        (
            ruled({"var": "a", "contains": "b"}),
            "condition-operator-unknown",
            "/steps/0/validationCriteria/0/condition/contains",
        ),
        (
            ruled({"var": "a", "endsWith": "b"}),
            "condition-operator-unknown",
            "/steps/0/validationCriteria/0/condition/endsWith",
        ),
        (
            workflow(step(requireConfirmation={"kind": "manager"})),
            "schema-enum",
            "/steps/0/requireConfirmation/kind",
        ),
        (workflow(step(requireConfirmation={"kind": 1})), "schema-enum", "/steps/0/requireConfirmation/kind"),
        (
            workflow(step(prompt=None, promptBlocks={"goal": [{"kind": "html"}]})),
            "schema-enum",
            "/steps/0/promptBlocks/goal/0/kind",
        ),
        (assessed(["low", "low"]), "assessment-level-duplicate", "/assessments/0/dimensions/0/levels/1"),
        (workflow(step(outputSchema={})), "contract-inline-schema", "/steps/0/outputSchema"),
        (
            workflow(step(outputContract={"contractRef": "wr.contracts.x", "schema": {}})),
            "contract-inline-schema",
            "/steps/0/outputContract/schema",
        ),
        (workflow(step(validationCriteria=RULE)), "schema-one-of-criteria", "/steps/0/validationCriteria"),
        (workflow(step(validationCriteria={})), "schema-one-of-criteria", "/steps/0/validationCriteria"),
        (
            workflow(step(validationCriteria={"and": [RULE], "not": RULE})),
            "schema-one-of-criteria",
            "/steps/0/validationCriteria/not",
        ),
        (
            workflow(step(validationCriteria=[{"and": [RULE]}])),
            "schema-unknown-member",
            "/steps/0/validationCriteria/0/and",
        ),
        (workflow(step(modelTier="huge")), "schema-enum", "/steps/0/modelTier"),
        (workflow(examples=[]), "schema-bounds", "/examples"),
        (workflow(metaGuidance=["a", "b", "a"]), "schema-bounds", "/metaGuidance/2"),
        (workflow(tags=["x"]), "schema-unknown-member", "/tags"),
        (workflow(name=None), "schema-type", "/name"),
        (workflow(name=...), "schema-missing-member", ""),
    ],
)
def test_each_violation_has_its_most_specific_name(document: Any, name: str, pointer: str) -> None:
    finding = single(document)
    assert (finding.name, finding.pointer) == (name, pointer)
    assert finding.phase is Phase.SCHEMA
    assert finding.severity is Severity.ERROR
    assert finding.details["engine"] is True
    assert name in RULES.by_name, "no rule lends this finding its code"


@pytest.mark.parametrize(
    ("document", "suggestion"),
    [
        (workflow(id="My Flow.X1"), "my_flow.x1"),
        (workflow(version="1"), "1.0.0"),
        (workflow(version="1.2"), "1.2.0"),
        (workflow(version="1.2.3.4"), None),
        (workflow(version="01.2"), None),
        (workflow(step("Step_1")), "step-1"),
        (workflow(step("über uns")), "ber-uns"),
        (workflow(step("ß")), None),
        (workflow(step(metaGuidance=["x"])), None),
        (workflow(step(agent_role="Careful reader")), "agentRole"),
        (workflow(step(Guidance=["x"])), "guidance"),
        (workflow(step(titel="again")), None),  # there is a title already
        (workflow(loop(type="foreach", items="files", count=...)), "forEach"),
        (workflow(step(modelTier="lightwieght")), "lightweight"),
        (conditional({"var": "a", "less_than_or_equal_to": 1}), "lte"),
        (conditional({"var": "a", "neq": 1}), "not_equals"),
        (conditional({"variable": "a"}), "var"),
        (conditional({"var": "a", "variable": "b"}), None),
        (conditional({"var": "a", "==": 1}), "equals"),
        (workflow(step(requireConfirmation={"kind": "human_aproval"})), "human_approval"),
        (workflow(step(functionReferences=["score"])), "score()"),
    ],
)
def test_suggestions(document: Any, suggestion: str | None) -> None:
    finding = single(document)
    assert finding.details.get("suggestion") == suggestion
    assert (f"did you mean '{suggestion}'?" in finding.message) == (suggestion is not None)


def test_the_id_of_a_loop_in_the_design_form_is_not_taken_for_its_settings() -> None:
    bent = {name: value for name, value in loop().items() if name not in ("id", "loop")}
    told = [finding for finding in found(workflow({**bent, "loopId": "again"})) if finding.pointer.endswith("/loopId")]
    assert ["design form" in finding.message for finding in told] == [True]
    assert "suggestion" not in told[0].details


def test_unknown_members_point_at_the_name() -> None:
    assert single(workflow(step(zzz=1))).on_name
    assert single(conditional({"zzz": 1})).on_name
    assert not single(workflow(step(title=3))).on_name


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (workflow(step(maxIterations=3)), "belongs inside `loop` of a loop step"),
        (workflow(step(preconditions=["x"])), "belongs at the top level"),
        (workflow(prompt="x"), "belongs on a standard step"),
        (workflow(loop(title="x")), "next to `loop`"),
        (workflow(parallel(guidance=["x"])), "which belongs to a standard step"),
        (workflow(step(requireConfirmation={"condition": {}})), "coordinator_eval or human_approval"),
        (workflow(step(modelTier="x")), "must be one of lightweight, mid, heavy, not 'x'"),
        (workflow(step(functionCalls=[{"name": "1a", "args": {}}])), "the pattern ^[a-zA-Z_][a-zA-Z0-9_]*$"),
        (workflow(loop(maxIterations=1e400)), "too large for a double"),
        (workflow(step(guidance=None)), "remove the member"),
        (workflow(step(agentRole="dev")), "has 3 characters; it needs at least 10"),
        (workflow(step(functionReferences=["my score"])), r"(^[a-zA-Z_][a-zA-Z0-9_]*\(\)$)"),
        (workflow(step(titel="again")), "did you mean 'title', which already exists?"),
        (workflow(Name="again"), "did you mean 'name', which already exists?"),
        (workflow({**loop(), "type": "lop"}), "did you mean 'loop'?"),
        (workflow(loop(step("inner", type="paralel"))), "did you mean 'parallel'?"),
        (conditional({"var": "a", "matches": "^x"}), "use equals, in or contains"),
        (ruled({"var": "a", "matches": "^x"}), "use equals"),
        (workflow(step(validationCriteria={"and": [RULE], "note": "x"})), "only one of and, or, not"),
    ],
)
def test_messages_say_what_to_do(document: Any, words: str) -> None:
    assert any(words in finding.message for finding in found(document))


def test_messages_name_the_step() -> None:
    assert single(workflow(step("plan", title=3))).message.startswith("step 'plan': title must be")
    assert single(workflow(loop(step("plan", title=3), ident="round"))).message.startswith(
        "step 'plan' (in loop 'round'): title"
    )
    assert single(workflow(step(), {"title": "x", "prompt": "x"})).message.startswith("step number 2: ")
    assert single(workflow({**loop(ident="round"), "title": 3})).message.startswith("loop 'round': title")


def test_author_text_stays_on_one_line() -> None:
    finding = single(workflow(**{"a\nb\x1b[31m": 1}))
    assert "\n" not in finding.message
    assert "\x1b" not in finding.message


def test_a_misspelled_required_member_is_reported_once() -> None:
    finding = single(workflow({"id": "plan", "titel": "Plan", "prompt": "Plan."}))
    assert finding.name == "schema-unknown-member"
    assert finding.details["suggestion"] == "title"


@pytest.mark.parametrize(
    ("bent", "kind"),
    [({name: value for name, value in loop().items() if name != "type"}, "loop"), (parallel(type=...), "parallel")],
)
def test_a_step_without_its_type_is_reported_once(bent: dict[str, Any], kind: str) -> None:
    findings = [finding for finding in found(workflow(step(), bent)) if finding.name == "step-member-wrong-shape"]
    assert findings[0].pointer == "/steps/1"
    assert f"set `type` to '{kind}'" in findings[0].message
    assert not any(finding.pointer.endswith(("/loop", "/body", "Delegations")) for finding in findings)


def test_findings_keep_the_order_of_the_document() -> None:
    document = workflow(step(title=3, modelTier="x"), step("Bad Id"), zzz=1, version="1")
    assert [finding.pointer for finding in found(document)] == [
        "/version",
        "/zzz",
        "/steps/0/title",
        "/steps/0/modelTier",
        "/steps/1/id",
    ]


def keywords(schema: Any) -> set[str]:
    """The keywords of a schema at any depth; names of members are none."""
    if isinstance(schema, list):
        return {word for part in schema for word in keywords(part)}
    if not isinstance(schema, dict):
        return set()
    used = set(schema)
    for word, parameter in schema.items():
        if word in ("properties", "definitions"):
            used |= keywords(list(parameter.values()))
        elif word not in ("const", "enum", "required", "default", "examples"):
            used |= keywords(parameter)
    return used


def test_every_keyword_of_the_schema_has_words() -> None:
    structure = {"properties", "items", "$ref", "if", "then", "else", "allOf"}
    assert keywords(load_schema("workflow")) - dialect.ANNOTATIONS - structure == MESSAGES.keys()


def test_a_flood_of_slips_is_cut_short() -> None:
    document = workflow(**{f"extra{number}": 0 for number in range(50_000)})
    assert len(found(document)) == MAX_FINDINGS


def test_messages_stay_short_whatever_an_author_wrote() -> None:
    long = "x" * 100_000
    for document in (
        workflow(id=long.upper()),
        workflow(**{long: 1}),
        workflow(step(long)),
        workflow(step(modelTier=long)),
        workflow(parallel(parallelDelegations=[{"workflowId": "a", "args": {long: 1}}])),
        conditional({long: 1}),
    ):
        assert all(len(finding.message) < 400 for finding in found(document))


_NAMES = st.sampled_from(
    ["id", "title", "prompt", "type", "loop", "body", "steps", "and", "or", "not", "var", "kind", "zzz", "levels"]
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.sampled_from(["", "loop", "parallel", "ab\n"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*workflow(), "assessments", "extensionPoints", "zzz"]), _JSON), _JSON)
def test_any_document_gets_findings_that_can_be_shown(members: dict[str, Any], odd_step: Any) -> None:
    document = {**workflow(), **members}
    if isinstance(document["steps"], list):
        document["steps"] = [*document["steps"], odd_step]
    violations = VALIDATOR.violations(document)
    findings = schema_findings(violations, document)
    assert bool(findings) == bool(violations)
    for finding in findings:
        assert finding.name in RULES.by_name
        assert finding.message.isprintable()
