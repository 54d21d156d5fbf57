"""C7 to C12: virtual steps, contracts and assessments that exist, and loops with their bodies and decisions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.suggest import nearest_id
from workrail_lint.base.wording import name_list, quoted
from workrail_lint.documents.nodes import numbered
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.catalog.catalog import Catalog
from workrail_lint.systems.workrail.compiler.nodes import (
    Node,
    Nodes,
    RawStep,
    StepSource,
    catalog_hint,
    compile_error,
    did_you_mean,
    name_hint,
    step_label,
)
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL
from workrail_lint.systems.workrail.model.workflow import (
    AssessmentConsequence,
    AssessmentDefinition,
    AuditConfig,
    LoopConfig,
    OutputContract,
    StandardStep,
    VerificationConfig,
)

# C8 to C10: contracts and assessments refer to things that exist.

FOLLOWUP = "require_followup"


def check_contracts(steps: list[Node], catalog: Catalog) -> list[Finding]:
    """C9 (and its part of C11): every output contract is a pack of the catalog."""
    errors: list[Finding] = []
    for node in steps:
        ref = node.model.contract
        if ref is None or ref in catalog.contracts:
            continue
        hint, details = catalog_hint(ref, catalog.workflow_contracts)
        errors.append(
            compile_error(
                "UNKNOWN_CONTRACT_REF",
                "contract-unknown",
                "C9" if node.loop_id is None else "C11",
                node,
                f"{step_label(node)}: unknown contract {quoted(ref)}{hint}",
                _contract_pointer(node),
                details=details,
            )
        )
    return errors


def _contract_pointer(node: Node) -> str:
    if node.origin is None:
        return f"{node.pointer}/outputContract/contractRef"
    if node.origin.source == "virtual":
        return f"{node.pointer}/{node.origin.part}/outputContract/contractRef"
    return node.place


class AssessmentProblem:
    """A problem of a step's assessments: its code and name, the message after the name of the step, and its place."""

    __slots__ = ("code", "details", "message", "name", "pointer")

    def __init__(self, code: str, name: str, message: str, pointer: str, details: dict[str, object]) -> None:
        self.code = code
        self.name = name
        self.message = message
        self.pointer = pointer
        self.details = details


Levels = dict[str, set[str]]


def declared_levels(assessments: Sequence[AssessmentDefinition]) -> Levels:
    """Return the levels of all dimensions, by assessment id; the first declaration of an id counts."""
    levels: Levels = {}
    for assessment in assessments:
        if assessment.has("id"):
            of_all = {level for dimension in assessment.dimensions for level in dimension.levels}
            levels.setdefault(assessment.id, of_all)
    return levels


def check_assessments(steps: list[Node], declared: Sequence[AssessmentDefinition]) -> list[Finding]:
    """C10, for body steps too: the first problem of each step.

    Inside a body the engine checks only references and missing references; the other rules hold there too, since a
    run would fail on them.
    """
    errors: list[Finding] = []
    levels = declared_levels(declared)
    for node in steps:
        step = node.model
        if step.kind != "standard" or not step.mentions_assessments:
            continue
        problem = next(assessment_problems(step, levels), None)
        if problem is not None:
            errors.append(
                compile_error(
                    problem.code,
                    problem.name,
                    "C10" if node.loop_id is None else "C11",
                    node,
                    f"{step_label(node)}: {problem.message}",
                    problem.pointer if node.origin is None else node.place,
                    engine=node.loop_id is None or problem.code in _CHECKED_IN_BODIES,
                    details=problem.details,
                )
            )
    return errors


_CHECKED_IN_BODIES = ("UNKNOWN_ASSESSMENT_REF", "CONSEQUENCE_WITHOUT_REFS")


def assessment_problems(step: StandardStep, levels: Levels) -> Iterator[AssessmentProblem]:
    """Yield everything that is wrong with a step's references and consequences, in the order of the checks."""
    for index, ref in numbered(step.assessment_refs):
        if ref not in levels:
            hint, details = _hint(ref, "declared assessments", levels)
            yield AssessmentProblem(
                "UNKNOWN_ASSESSMENT_REF",
                "assessment-ref-unknown",
                f"unknown assessment {quoted(ref)}{hint}",
                step.at("assessmentRefs", index),
                details,
            )
    if step.assessment_consequences and not step.assessment_refs:
        yield AssessmentProblem(
            "CONSEQUENCE_WITHOUT_REFS",
            "consequence-without-refs",
            "assessmentConsequences requires assessmentRefs on the same step",
            step.at("assessmentConsequences"),
            {},
        )
        return
    seen: set[tuple[str, str | None]] = set()
    for consequence in step.assessment_consequences:
        yield from _consequence_problems(consequence, step.assessment_refs, levels, seen)


def _consequence_problems(
    consequence: AssessmentConsequence,
    refs: Sequence[str],
    levels: Levels,
    seen: set[tuple[str, str | None]],
) -> Iterator[AssessmentProblem]:
    when, effect = consequence.when, consequence.effect
    level, scope = when.any_equals_level, when.for_assessment
    has_unknown = any(ref not in levels for ref in refs)
    if has_unknown and scope in levels and scope not in refs:
        return  # the unknown reference was probably meant to be this one
    if scope is not None and scope not in refs:
        hint, details = did_you_mean(scope, [ref for ref in refs if ref in levels])
        yield AssessmentProblem(
            "CONSEQUENCE_FOR_UNKNOWN_ASSESSMENT",
            "consequence-level-unknown",
            f"forAssessment {quoted(scope)} is not in the step's assessmentRefs ({name_list(refs)}){hint}",
            when.at("forAssessment"),
            details,
        )
        return
    assessments = refs if scope is None else [scope]
    if any(ref not in levels for ref in assessments):
        return  # the unknown assessment may declare the level
    if when.has("anyEqualsLevel") and not any(level in levels[ref] for ref in assessments):
        known = sorted({name for ref in assessments for name in levels[ref]})
        named = "any referenced assessment" if scope is None else f"assessment {quoted(scope)}"
        hint, details = _hint(level, "declared levels", known)
        yield AssessmentProblem(
            "CONSEQUENCE_UNKNOWN_LEVEL",
            "consequence-level-unknown",
            f"level {quoted(level)} is not declared by {named}{hint}",
            when.at("anyEqualsLevel"),
            details,
        )
        return
    if effect.kind is None:
        yield AssessmentProblem(
            "CONSEQUENCE_UNSUPPORTED_EFFECT",
            "schema-enum",
            f"unsupported effect {quoted(effect.raw.get('kind'))}; the only effect is {FOLLOWUP}",
            effect.at("kind"),
            {},
        )
    if (level, scope) in seen:
        scoped = f"for assessment {quoted(scope)}" if scope else "without forAssessment"
        yield AssessmentProblem(
            "CONSEQUENCE_DUPLICATE_TRIGGER",
            "consequence-duplicate-trigger",
            f"two consequences trigger on level {quoted(level)} {scoped}, so their events would "
            "have the same deduplication key; merge them",
            when.pointer,
            {},
        )
    seen.add((level, scope))


def _hint(name: str, what: str, known: Collection[str]) -> tuple[str, dict[str, object]]:
    suggestion = nearest_id(name, known)
    return name_hint(suggestion, what, known), {} if suggestion is None else {"suggestion": suggestion}


# C7: verification, audit and synthesis blocks become separate steps.


_BLOCKS = frozenset({"verification", "audit", "synthesis"})
_FENCE = "```"
# The reference engine's texts, word for word, because agents see them.
_VERIFY_COMMAND = (
    "Run the following verification command to assert correctness:\n\n"
    f"{_FENCE}bash\n%s\n{_FENCE}\n\nEnsure that the command succeeds and report any failures."
)
_VERIFY_GENERIC = (
    "Run the appropriate verification commands, test suites, or build checks for this workspace to assert that "
    "your changes are complete and correct. Verify that all tests pass and report any failures."
)
_AUDIT = (
    "Audit the results of step '%s'. Ensure all work is complete, correct, and meets high-quality standards.%s"
    "\n\nConfirm if the audit passed or if changes/corrections are required."
)
_AUDIT_RUBRIC = "\n\nAssert the output against the following rubric:\n"
_SYNTHESIS = (
    "Synthesize and merge the parallel execution outputs from the subagent sessions. Resolve any contradictions "
    "and produce a unified report."
)


def expand_virtual(nodes: Nodes, workflow_id: str) -> tuple[Nodes, list[Finding]]:
    """Every step followed by its virtual steps; a loop's inline body is a separate list."""
    errors: list[Finding] = []
    if not _needs_expanding(nodes):
        return nodes, errors
    result: list[Node] = []
    seen: dict[str, Node] = {}
    for node in nodes:
        if node.body:
            inner, inner_errors = expand_virtual(node.body, workflow_id)
            errors += inner_errors
            if inner is not node.body:
                node = node.replaced(body=inner)
        for step in (node, *(() if node.is_loop else _virtual_steps(node))):
            if step.id and step.id in seen:
                errors.append(_collision(step, seen[step.id], workflow_id))
            seen.setdefault(step.id, step)
            result.append(step)
    return tuple(result), errors


def _needs_expanding(nodes: Nodes) -> bool:
    """Return whether a list has virtual steps, or ids to complain about.

    A quick test, because most lists have neither.
    """
    return len({node.id for node in nodes}) != len(nodes) or any(
        not _BLOCKS.isdisjoint(node.model.raw) or (node.body and _needs_expanding(node.body)) for node in nodes
    )


def _virtual_steps(node: Node) -> Iterator[Node]:
    step = node.model
    if step.kind == "standard":
        if step.verification is not None:
            yield _virtual(node, "verification", f"Verify: {step.title}", _verification_prompt(step.verification))
        if step.audit is not None:
            yield _virtual(node, "audit", f"Audit: {step.title}", _audit_prompt(step.audit, step.title))
    elif step.kind == "parallel" and step.synthesis is not None:
        contract = step.synthesis.output_contract
        prompt = step.synthesis.prompt or _SYNTHESIS
        yield _virtual(node, "synthesis", f"Synthesis: {step.title}", prompt, contract)


def _virtual(node: Node, block: str, title: str, prompt: str, contract: OutputContract | None = None) -> Node:
    step: RawStep = {"id": f"{node.id}__{block}", "title": title, "prompt": prompt, "notesOptional": True}
    if node.model.run_condition is not None:
        step["runCondition"] = node.model.run_condition.raw
    if contract is not None:
        step["outputContract"] = contract.raw
    return Node.of_step(step, node.pointer, origin=StepSource("virtual", node.id, block), loop_id=node.loop_id)


def _verification_prompt(config: VerificationConfig) -> str:
    return config.prompt or (_VERIFY_COMMAND % config.command if config.command else _VERIFY_GENERIC)


def _audit_prompt(config: AuditConfig, title: str) -> str:
    rubric = _AUDIT_RUBRIC + "\n".join(f"- {item}" for item in config.rubric) if config.rubric else ""
    return config.prompt or _AUDIT % (title, rubric)


def _is_virtual(node: Node) -> bool:
    return node.origin is not None and node.origin.source == "virtual"


def _collision(node: Node, earlier: Node, workflow_id: str) -> Finding:
    """A duplicate id; if one of the two was generated, the finding names the block that generated it."""
    generated = node if _is_virtual(node) else earlier
    if not _is_virtual(generated):
        return compile_error(
            "DUPLICATE_STEP_ID",
            "id-duplicate",
            "C7",
            node,
            f"{step_label(node)}: duplicate step id {quoted(node.id)} in workflow {quoted(workflow_id)}",
            f"{node.pointer}/id" if node.origin is None else node.place,
        )
    assert generated.origin is not None
    block = generated.origin.part
    return compile_error(
        "VIRTUAL_STEP_ID_COLLISION",
        "id-duplicate",
        "C7",
        node,
        f"{step_label(node)}: id {quoted(node.id)}, generated for the {block} block, already exists in workflow "
        f"{quoted(workflow_id)}; rename the other step",
        f"{node.pointer}/{block}"
        if node is generated
        else (f"{node.pointer}/id" if node.origin is None else node.place),
        details={"block": block},
    )


# C8, C11, C12: the step index, loop bodies, what decides whether a loop continues, and the gate that asks for it.


GATE = "gate"
GATE_ID_COLLISION = "VIRTUAL_STEP_ID_COLLISION"
_GATE_PROMPT = (
    "Judge the pass of this loop that you have just finished. Decide `continue` only if another pass would change the "
    "result, and say in `metadata.reason` what it would change; otherwise decide `stop`. The loop runs at most {} "
    "time(s)."
)


class Loop:
    """A loop with its body resolved.

    `gate` is the step that asks for a decision where no step of the body does. It is in the IR only: the public engine
    has none.
    """

    __slots__ = ("body", "gate", "node", "source")

    def __init__(self, node: Node, body: Nodes, source: dict[str, Any] | None, gate: Node | None = None) -> None:
        self.node = node
        self.body = body
        self.source = source
        self.gate = gate

    @property
    def config(self) -> LoopConfig:
        """The loop configuration: what repeats the body and when it stops."""
        model = self.node.model
        assert model.kind == "loop"
        return model.loop


class LoopIndex:
    """The loops by id, every step by id, and the ids that run only inside a loop."""

    __slots__ = ("body_ids", "by_id", "caller_ids", "loops")

    def __init__(self) -> None:
        self.by_id: dict[str, Node] = {}
        self.loops: dict[str, Loop] = {}
        self.body_ids: set[str] = set()
        self.caller_ids: set[str | None] = set()  # of template calls that were expanded

    def add(self, nodes: Nodes) -> None:
        """Add steps, but for those whose id is taken: that was reported by C7 or is reported here."""
        by_id = self.by_id
        for node in nodes:
            if node.id not in by_id:
                by_id[node.id] = node
                if node.origin is not None:
                    self.caller_ids.add(_caller_id(node))


def resolve_loops(nodes: Nodes, workflow_id: str) -> tuple[LoopIndex, list[Finding]]:
    index = LoopIndex()
    errors: list[Finding] = []
    index.add(nodes)
    for node in [node for node in nodes if node.is_loop]:
        body = _inline_body(node, index, workflow_id, errors) if node.body else _referenced_body(node, index, errors)
        index.body_ids.update(inner.id for inner in body)
        source = condition_source(node, body)
        index.loops.setdefault(node.id, Loop(node, body, source, _gate(node, body, source)))
    errors += [
        _taken_gate_id(loop, workflow_id)
        for loop in index.loops.values()
        if loop.gate is not None and loop.gate.id in index.by_id
    ]
    return index, errors


def _gate(node: Node, body: Nodes, source: dict[str, Any] | None) -> Node | None:
    """The decision step of an artifact-driven loop whose body has none, not even a conditional one."""
    by_artifact = source is not None and source.get("kind") == "artifact_contract"
    if not by_artifact or not body or any(inner.model.decides_loop for inner in body):
        return None
    step = {
        "id": f"{node.id}__{GATE}",
        "title": f"Decide: {node.model.title}",
        "prompt": _GATE_PROMPT.format(js.text(node.step["loop"].get("maxIterations"))),
        "notesOptional": True,
        "outputContract": {"contractRef": LOOP_CONTROL},
    }
    return Node.of_step(step, node.pointer, origin=StepSource("virtual", node.id, GATE), loop_id=node.id)


def _taken_gate_id(loop: Loop, workflow_id: str) -> Finding:
    assert loop.gate is not None
    return compile_error(
        GATE_ID_COLLISION,
        "id-duplicate",
        "C12",
        loop.node,
        f"loop {quoted(loop.node.id)}: id {quoted(loop.gate.id)}, generated for the decision step of the loop, already "
        f"exists in workflow {quoted(workflow_id)}; rename the other step",
        f"{loop.node.pointer}/id",
        engine=False,
        details={"block": GATE},
    )


def _inline_body(node: Node, index: LoopIndex, workflow_id: str, errors: list[Finding]) -> Nodes:
    for inner in node.body or ():
        if inner.is_loop:
            errors.append(_nested(node, inner.id, f"{inner.pointer}/type"))
            continue
        if inner.id in index.by_id:
            errors.append(
                compile_error(
                    "LOOP_BODY_ID_COLLISION",
                    "id-duplicate",
                    "C11",
                    inner,
                    f"loop {quoted(node.id)}: body step id {quoted(inner.id)} is already used in workflow "
                    f"{quoted(workflow_id)}; step ids must be unique",
                    f"{inner.pointer}/id" if inner.origin is None else inner.place,
                )
            )
        index.add((inner,))
    return node.body or ()


def _referenced_body(node: Node, index: LoopIndex, errors: list[Finding]) -> Nodes:
    body_id = node.model.body if node.model.kind == "loop" else None
    if not isinstance(body_id, str):
        return ()
    pointer = f"{node.pointer}/body"
    target = index.by_id.get(body_id)
    if target is None and body_id in index.caller_ids:
        message = (
            f"loop {quoted(node.id)}: the body names the template call {quoted(body_id)}, whose id no longer exists "
            "after it is expanded; put the call inline in the loop's body"
        )
        errors.append(compile_error("LOOP_BODY_MISSING", "loop-body-reference-invalid", "C11", node, message, pointer))
        return ()
    if target is None:
        _, details = did_you_mean(body_id, index.by_id.keys() - {node.id})
        hint = f"; did you mean {quoted(details['suggestion'])}?" if details else ""
        errors.append(
            compile_error(
                "LOOP_BODY_MISSING",
                "loop-body-reference-invalid",
                "C11",
                node,
                f"loop {quoted(node.id)}: the body names the step {quoted(body_id)}, which does not exist at the "
                f"top level after templates are expanded{hint}",
                pointer,
                details=details,
            )
        )
        return ()
    if target.is_loop:
        errors.append(_nested(node, body_id, pointer))
        return ()
    return (target,)


def _caller_id(node: Node) -> str | None:
    """The id of the step whose template call this step was expanded from."""
    origin = node.origin
    if origin is None or origin.source != "template":
        return None
    return node.id.removesuffix(f".{origin.part}")


def _nested(node: Node, inner_id: str, pointer: str) -> Finding:
    return compile_error(
        "LOOP_NESTED",
        "loop-nested",
        "C11",
        node,
        f"loop {quoted(node.id)}: contains loop {quoted(inner_id)}, but loops can't be nested",
        pointer,
    )


def condition_source(node: Node, body: Nodes) -> dict[str, Any] | None:
    """C12: an explicit source, else a loop-control step in the body, else the plain condition."""
    if node.model.kind != "loop" or node.model.loop.type not in ("while", "until"):
        return None
    config = node.model.loop
    if config.condition_source is not None:
        return dict(config.condition_source.raw)
    if any(inner.model.decides_loop for inner in body):
        return {"kind": "artifact_contract", "contractRef": LOOP_CONTROL, "loopId": node.id}
    if config.condition is not None:
        return {"kind": "context_variable", "condition": config.condition.raw, "derived": "legacy"}
    return None
