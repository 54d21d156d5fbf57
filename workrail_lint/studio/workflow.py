"""What the page shows of one workflow: its drawing, its steps with who wrote what, its variables, its findings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from workrail_lint.systems.workrail.analysis.analysis import Analysis, analyse
from workrail_lint.systems.workrail.check import CheckedDocument
from workrail_lint.systems.workrail.compat import normalize
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.compiler.nodes import Node, walk
from workrail_lint.systems.workrail.graph import drawing_data
from workrail_lint.systems.workrail.graph.texts import condition_text, needs_person, notes
from workrail_lint.systems.workrail.provenance import pieces

Data = dict[str, Any]
# Stands in the source of a step for its prompt, which no JSON text can hold.
PROMPT_HERE = "\x01"
_SHORT = 80
# How what a step has to submit can be refused.
_ANSWER = ("MISSING_REQUIRED_OUTPUT", "INVALID_REQUIRED_OUTPUT")


class Source(NamedTuple):
    """A workflow of the project. One that does not compile has findings and nothing else."""

    path: str
    checked: CheckedDocument
    findings: Sequence[Data]  # as the JSON report has them


def workflow_data(source: Source) -> Data:
    """Everything about a workflow that its file alone decides."""
    checked = source.checked
    compiled, definition = checked.compiled, checked.definition
    value = checked.document.value if isinstance(checked.document.value, dict) else {}
    about: Data = {
        "id": str(value.get("id") or source.path),
        "name": str(value.get("name") or source.path),
        "path": source.path,
        "findings": list(source.findings),
    }
    if compiled is None or definition is None:
        return {**about, "hash": None, "steps": [], "layout": None, "tree": [], "vars": []}
    analysis = analyse(compiled.model, compiled.catalog, compiled=compiled, path=source.path)
    return {**about, **_compiled_data(checked, compiled, analysis)}


def _compiled_data(checked: CheckedDocument, compiled: CompiledWorkflow, analysis: Analysis) -> Data:
    ir = compiled.ir
    nodes = {node.id: node for node in walk(compiled.nodes)}
    reads, sets = _flows(analysis)
    samples = _samples(analysis)
    steps = [
        _step_data(step, loop, nodes.get(step["id"]), checked, reads, sets, samples)
        for outer in ir["steps"]
        for step, loop in ((outer, None), *((inner, outer["id"]) for inner in outer.get("body", ())))
    ]
    return {
        "id": ir["workflowId"],
        "name": ir["name"],
        "about": ir.get("about") or ir["description"],
        "version": ir["version"],
        "hash": compiled.hash,
        "features": [feature["id"] for feature in ir["features"]],
        "contracts": {pack["ref"]: {"schema": pack["schema"], "example": pack["example"]} for pack in ir["contracts"]},
        "assessments": ir["assessments"],
        "steps": steps,
        "vars": _variables(analysis, reads, sets),
        **drawing_data(ir, analysis),
    }


def _step_data(
    step: Data,
    loop: str | None,
    node: Node | None,
    checked: CheckedDocument,
    reads: dict[str, set[str]],
    sets: dict[str, set[str]],
    samples: dict[str, str],
) -> Data:
    ident = step["id"]
    prompt = step.get("prompt", "")
    data: Data = {
        "id": ident,
        "title": step["title"],
        "type": step["type"],
        "loop": loop,
        "writer": step["provenance"]["source"],
        "origin": step["provenance"].get("origin"),
        "pieces": _pieces(node, prompt),
        "notes": step["notes"],
        "badges": [note._asdict() for note in notes(step)],
        "reads": sorted(reads.get(ident, ())),
        "sets": sorted(sets.get(ident, ())),
        "bytes": len(prompt.encode("utf-8", "surrogatepass")),
        "guidance": step.get("guidance", []),
        "source": _source(node, checked, prompt),
        "blockers": _blockers(step),
    }
    if "runCondition" in step:
        data["condition"] = condition_text(step["runCondition"])
    if step.get("fragments"):
        data["fragments"] = [
            {"text": item.get("text", ""), "when": condition_text(item["when"]) if item.get("when") else None}
            for item in step["fragments"]
        ]
    output = step.get("output", {})
    data |= {name: output[name] for name in ("contract", "assessments", "criteria") if name in output}
    if step["type"] == "loop":
        data["rounds"] = step["loop"]["maxIterations"]
    if step["type"] == "parallel":
        data["delegations"] = step["delegations"]
    used = {name: samples[name] for name in data["reads"] if name in samples}
    return {**data, "samples": used} if used else data


def _pieces(node: Node | None, prompt: str) -> list[list[str | None]]:
    """The prompt in parts: who wrote it, which builtin it is, the text."""
    if node is None:
        return [["virtual", None, prompt]] if prompt else []
    return [[piece.kind, piece.id, prompt[piece.start : piece.end]] for piece in pieces(node)]


def _source(node: Node | None, checked: CheckedDocument, prompt: str) -> Data | None:
    """The step as its file has it: the line it begins at, and its JSON. A prompt that was not changed is said once."""
    if node is None:
        return None
    pointer = normalize(checked.document.value).pointer_map(node.pointer)
    span = checked.document.locate(pointer)
    if span is None:
        return None
    text = checked.document.text[span.start.offset : span.end.offset]
    literal = json.dumps(prompt, ensure_ascii=False)
    if len(literal) > _SHORT and not node.injections and node.origin is None:
        text = text.replace(literal, PROMPT_HERE, 1)
    return {"line": span.start.line, "indent": span.start.column - 1, "text": text}


def _flows(analysis: Analysis) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """By step id: the variables it reads, and those it is told to set."""
    reads: dict[str, set[str]] = {}
    sets: dict[str, set[str]] = {}
    for name, uses in analysis.by_name.items():
        for use in uses:
            reads.setdefault(analysis.steps[use.step].id, set()).add(name)
        for made in analysis.setters(name):
            if made.step is not None:
                sets.setdefault(analysis.steps[made.step].id, set()).add(name)
    return reads, sets


def _variables(analysis: Analysis, reads: dict[str, set[str]], sets: dict[str, set[str]]) -> list[Data]:
    result = []
    for name in sorted(analysis.by_name):
        domain = analysis.domain(name)
        result.append(
            {
                "name": name,
                "set": [step.id for step in analysis.steps if name in sets.get(step.id, ())],
                "read": [step.id for step in analysis.steps if name in reads.get(step.id, ())],
                "values": None if domain is None else list(domain.values),
                "given": analysis.is_given(name),
            }
        )
    return result


def _samples(analysis: Analysis) -> dict[str, str]:
    """A value for every variable: the first that a text names, else the name itself as a placeholder."""
    result = {}
    for name in analysis.by_name:
        domain = analysis.domain(name)
        result[name] = str(domain.values[0]) if domain is not None and domain.values else f"<{name}>"
    return result


def _blockers(step: Data) -> list[str]:
    """The codes with which an engine can refuse an answer to this step, or stop before it, under either profile."""
    source: Data = step["loop"]["source"] if step["type"] == "loop" else {}
    result = ["MISSING_CONTEXT_KEY"] if step.get("runCondition") or "variable" in source else []
    if source:
        return [*result, *(_ANSWER if source["kind"] == "artifact" else ()), "INVARIANT_VIOLATION"]
    output = step.get("output", {})
    if "contract" in output:
        result += _ANSWER if output["contract"]["required"] else _ANSWER[1:]
    elif "assessments" in output:
        result += _ANSWER[1:]
    elif "criteria" in output:
        result += _ANSWER
    if "capability" in output.get("contract", {}):
        result += ["REQUIRED_CAPABILITY_UNKNOWN", "REQUIRED_CAPABILITY_UNAVAILABLE"]
    if step["notes"] == "required" and "contract" not in output:
        result.append("MISSING_REQUIRED_NOTES")
    if output.get("assessments", {}).get("consequences"):
        result.append("ASSESSMENT_FOLLOWUP_REQUIRED")
    if step["confirmation"]["kind"] != "never" and needs_person(step["confirmation"]):
        result.append("USER_ONLY_DEPENDENCY")
    return result
