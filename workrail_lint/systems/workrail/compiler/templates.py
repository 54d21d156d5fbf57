"""C1: the steps of its routine replace every template call in place; probes of capabilities come first."""

from __future__ import annotations

import re
from collections.abc import Mapping

from workrail_lint.base import js
from workrail_lint.base.wording import name_list, quoted
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.catalog.catalog import (
    PLACEHOLDER,
    TEMPLATE_PREFIX,
    Catalog,
    Routine,
    load_core,
    text_of,
)
from workrail_lint.systems.workrail.compiler.nodes import (
    Node,
    Nodes,
    RawStep,
    StepSource,
    catalog_hint,
    compile_error,
    step_label,
    walk,
)

PROBE_TEMPLATE = "wr.templates.capability_probe"
_PASS = "C1"


def expand_templates(nodes: Nodes, catalog: Catalog) -> tuple[Nodes, list[Finding]]:
    """Expand the calls; a call that fails stays as it is, so that later passes can still report."""
    errors: list[Finding] = []
    if not any(node.model.calls_template for node in walk(nodes)):
        return nodes, duplicate_ids(nodes)
    expanded: list[Node] = []
    for node in nodes:
        if node.is_loop:
            if node.body:
                node.body = tuple(new for inner in node.body for new in _expand(inner, catalog, errors))
            expanded.append(node)
        else:
            expanded.extend(_expand(node, catalog, errors))
    result = tuple(expanded)
    return result, errors + duplicate_ids(result)


def _expand(node: Node, catalog: Catalog, errors: list[Finding]) -> list[Node]:
    call = node.model.template_call if node.model.kind == "standard" else None
    if call is None or not call.has("templateId"):
        return [node]
    routine = catalog.templates.get(call.template_id)
    if routine is None:
        errors.append(_unknown_template(node, call.template_id, catalog))
        return [node]
    steps: list[Node] = []
    for step in routine.definition["steps"]:
        expanded = _instantiate(node, step, routine, call.args)
        if isinstance(expanded, Finding):
            errors.append(expanded)
            return [node]
        steps.append(expanded)
    return steps


def _instantiate(caller: Node, step: RawStep, routine: Routine, args: Mapping[str, js.Json]) -> Node | Finding:
    step_id = text_of(step.get("id"))
    for field in ("id", "title", "prompt"):
        if not text_of(step.get(field)):
            return _field_missing(caller, routine, step_id, field)
    emitted = dict(step)
    for field in ("prompt", "title"):
        filled = _substitute(step[field], args)
        if isinstance(filled, str):
            emitted[field] = filled
        else:
            return _bad_arguments(caller, routine, step_id, *filled)
    emitted["id"] = f"{caller.id}.{step_id}"
    match routine.definition, step:
        case {"metaGuidance": [_, *_] as guidance}, {"guidance": [*own]}:
            emitted["guidance"] = [*own, *guidance]
        case {"metaGuidance": [_, *_] as guidance}, _:
            emitted["guidance"] = [*guidance]
    if caller.model.run_condition is not None and emitted.get("runCondition") is None:
        emitted["runCondition"] = caller.model.run_condition.raw
    probed = args.get("capability") if routine.template_id == PROBE_TEMPLATE else None
    origin = StepSource("template", routine.template_id, step_id, probed if isinstance(probed, str) else None)
    return Node.of_step(emitted, caller.pointer, origin=origin, loop_id=caller.loop_id)


def _substitute(text: str, args: Mapping[str, js.Json]) -> str | tuple[list[str], list[str]]:
    """The text with its placeholders filled, or the names that are missing and those of a wrong type."""
    if "{" not in text:
        return text
    missing: list[str] = []
    wrong: list[str] = []

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        if name not in args:
            missing.append(name)
            return ""
        match args[name]:
            case str() as value:
                return value
            case bool() as value:
                return "true" if value else "false"
            case int() | float() as value:
                return js.number_text(value)
        wrong.append(name)
        return ""

    filled = PLACEHOLDER.sub(fill, text)
    return (missing, [] if missing else wrong) if missing or wrong else filled


def duplicate_ids(nodes: Nodes) -> list[Finding]:
    """Ids must be unique over the top level, all inline bodies and the loops themselves."""
    ids = [node.id for node in walk(nodes)]
    seen: set[str] = set(ids)
    errors: list[Finding] = []
    if len(seen) == len(ids):
        return errors
    seen.clear()
    for node in nodes:
        for step in (*node.body, node) if node.body else (node,):
            ident = step.id
            if ident in seen and ident:
                errors.append(_duplicate(step))
            seen.add(ident)
    return errors


def _duplicate(node: Node) -> Finding:
    from_template = node.origin.ref if node.origin else None
    source = f" (expanded from template {quoted(from_template)})" if from_template else ""
    return compile_error(
        "DUPLICATE_STEP_ID",
        "id-duplicate",
        _PASS,
        node,
        f"{step_label(node)}: duplicate step id {quoted(node.id)}{source}; ids must be unique across the top level "
        "and all loop bodies",
        pointer=node.place if from_template else f"{node.pointer}/id",
        details={"templateId": from_template} if from_template else None,
    )


def _unknown_template(node: Node, template_id: str, catalog: Catalog) -> Finding:
    recursive = catalog.recursive_templates.get(template_id)
    if recursive:
        return compile_error(
            "TEMPLATE_EXPAND_FAILED",
            "routine-not-expandable",
            _PASS,
            node,
            f"{step_label(node)}: template {quoted(template_id)} can't be used, because step {quoted(recursive[1])} of "
            f"its routine {quoted(recursive[0])} calls a template",
            f"{node.pointer}/templateCall/templateId",
            details={"cause": "RECURSIVE_ROUTINE", "routineId": recursive[0]},
        )
    hint, details = catalog_hint(template_id, catalog.templates)
    has_token = "{{" in template_id
    if has_token:
        hint = "; a token in a template id is never resolved, because templates are expanded before bindings"
    elif template_id.startswith(TEMPLATE_PREFIX) and not details:
        hint += ". Load your own routines with --routines DIR or the setting routines"
    return compile_error(
        "UNKNOWN_TEMPLATE",
        "template-id-token" if has_token else "catalog-id-unknown",
        _PASS,
        node,
        f"{step_label(node)}: unknown template {quoted(template_id)}{hint}",
        f"{node.pointer}/templateCall/templateId",
        details=details,
    )


def _field_missing(node: Node, routine: Routine, step_id: str, field: str) -> Finding:
    label = quoted(step_id) if step_id else "(missing id)"
    return compile_error(
        "TEMPLATE_EXPAND_FAILED",
        "routine-not-expandable",
        _PASS,
        node,
        f"{step_label(node)}: step {label} of routine {quoted(routine.routine_id)} has no {field}; "
        "a routine's steps need an id, a title and a plain prompt",
        f"{node.pointer}/templateCall/templateId",
        details={"cause": "ROUTINE_FIELD_MISSING", "routineId": routine.routine_id, "field": field},
    )


def _bad_arguments(node: Node, routine: Routine, step_id: str, missing: list[str], wrong: list[str]) -> Finding:
    where = f"step {quoted(step_id)} of routine {quoted(routine.routine_id)}"
    if missing:
        names = ", ".join(map(quoted, missing))
        return compile_error(
            "TEMPLATE_EXPAND_FAILED",
            "template-argument-invalid",
            _PASS,
            node,
            f"{step_label(node)}: {where} needs {'argument' if len(missing) == 1 else 'arguments'} {names}; "
            f"the routine takes {name_list(routine.required_args)}",
            f"{node.pointer}/templateCall",
            details={"cause": "MISSING_TEMPLATE_ARG", "routineId": routine.routine_id, "arguments": missing},
        )
    names = ", ".join(map(quoted, wrong))
    return compile_error(
        "TEMPLATE_EXPAND_FAILED",
        "template-argument-invalid",
        _PASS,
        node,
        f"{step_label(node)}: {where} needs a string, number or boolean for {names}",
        child(f"{node.pointer}/templateCall/args", wrong[0]),
        details={"cause": "INVALID_TEMPLATE_ARG_TYPE", "routineId": routine.routine_id, "arguments": wrong},
    )


# A capability that the workflow requires or prefers is probed before anything else happens (IR only).
_PROBED = ("required", "preferred")


def insert_probes(
    nodes: Nodes, authored: Nodes, capabilities: dict[str, str], catalog: Catalog
) -> tuple[Nodes, list[Finding]]:
    """Put the probe step of each required or preferred capability, in ascending order, right before the first step.

    A workflow that begins with its own call of the probe template already probes that capability.
    """
    done = _probed_first(authored)
    wanted = [name for name in sorted(capabilities) if capabilities[name] in _PROBED and name not in done]
    if not wanted:
        return nodes, []
    calls = tuple(_call(name) for name in wanted)
    probes, errors = expand_templates(calls, _with_template(catalog))
    return tuple(map(_inserted, probes)) + nodes, errors


def _probed_first(authored: Nodes) -> set[str]:
    probed: set[str] = set()
    for node in authored:
        call = node.model.template_call if node.model.kind == "standard" else None
        if call is None or call.template_id != PROBE_TEMPLATE:
            break
        probed.add(str(call.args.get("capability")))
    return probed


def _with_template(catalog: Catalog) -> Catalog:
    """An imported engine catalog has no probe template; then the one of the core catalog is used."""
    if PROBE_TEMPLATE in catalog.templates:
        return catalog

    return load_core()


def _call(capability: str) -> Node:
    args = {"capability": capability, "when": "early_if_required"}
    step = {
        "id": f"wr_probe_{capability}",
        "title": f"Probe: {capability}",
        "templateCall": {"templateId": PROBE_TEMPLATE, "args": args},
    }
    return Node.of_step(step, f"/capabilities/{capability}")


def _inserted(probe: Node) -> Node:
    """The one step of the template under the id and title that an inserted probe has."""
    assert probe.origin is not None
    capability = probe.origin.capability
    step = {**probe.step, "id": f"wr_probe_{capability}", "title": f"Probe: {capability}"}
    return Node.of_step(step, probe.pointer, origin=StepSource("feature", PROBE_TEMPLATE, capability=capability))
