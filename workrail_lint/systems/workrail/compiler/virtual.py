"""C7: verification, audit and synthesis blocks become separate steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from workrail_lint.base.wording import quoted
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.nodes import Node, Nodes, Origin, RawStep, compile_error, step_label

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.model.workflow import AuditConfig, OutputContract, VerificationConfig

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
        for made in (node, *(() if node.is_loop else _virtual_steps(node))):
            if made.id and made.id in seen:
                errors.append(_collision(made, seen[made.id], workflow_id))
            seen.setdefault(made.id, made)
            result.append(made)
    return tuple(result), errors


def _needs_expanding(nodes: Nodes) -> bool:
    """Whether a list has virtual steps, or ids to complain about; a quick test, because most lists have neither."""
    return len({node.id for node in nodes}) != len(nodes) or any(
        not _BLOCKS.isdisjoint(node.step) or (node.body and _needs_expanding(node.body)) for node in nodes
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
    return Node(step, node.pointer, origin=Origin("virtual", node.id, block), loop_id=node.loop_id)


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
            "step-id-collision",
            "C7",
            node,
            f"{step_label(node)}: duplicate step id {quoted(node.id)} in workflow {quoted(workflow_id)}",
            f"{node.pointer}/id" if node.origin is None else node.place,
        )
    assert generated.origin is not None
    block = generated.origin.part
    return compile_error(
        "VIRTUAL_STEP_ID_COLLISION",
        "virtual-id-collision",
        "C7",
        node,
        f"{step_label(node)}: id {quoted(node.id)}, generated for the {block} block, already exists in workflow "
        f"{quoted(workflow_id)}; rename the other step",
        f"{node.pointer}/{block}"
        if node is generated
        else (f"{node.pointer}/id" if node.origin is None else node.place),
        details={"block": block},
    )
