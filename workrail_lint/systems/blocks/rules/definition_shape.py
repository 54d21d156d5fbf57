"""BC301 to BC304, BC306 to BC309, BC314, BC322, BC341: the shape of definitions, and of mounts where it is the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.suggest import nearest
from workrail_lint.documents.operations import Insert
from workrail_lint.documents.pointer import child
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Severity, safe
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import ANY, Description
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.model.documents import StudioWorkflow
from workrail_lint.systems.blocks.rules.base import ENGINES, BlockDocument, BlockRule, wrong_type
from workrail_lint.systems.blocks.rules.samples import (
    GATE,
    MOUNT_PATH,
    WORKFLOW_PATH,
    edge,
    group,
    mount,
    node,
    uuid,
    workflow,
)
from workrail_lint.systems.blocks.vocabulary import AgentNodeType, ConditionType, members
from workrail_lint.systems.blocks.wording import shown, written

_EMPTY_LISTS = ("/gates", "/variables", "/metadata/tags")
_TEXT_LISTS = (
    "rules",
    "tags",
    "allowedTools",
    "extraFlags",
    "outputChecklist",
    "fileRestrictions",
    "laneNodeIds",
    "bodyNodeIds",
)
_UUID = Pattern(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CLOSED_SETS = ("Backend", "GateMode", "GateType", "NodeKind", "PortType", "Scrutiny", "VariableType", "WorkflowStatus")


class DefinitionRule(BlockRule):
    """A rule about workflow definitions."""

    kinds = (BlockKind.WORKFLOW,)


class WorkflowFieldMissing(BlockRule):
    code = "BC301"
    name = "workflow-field-missing"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A definition lacks a required field."
    why = "Studios refuse to load the definition, or fail on the missing field in the middle of a run."
    fix = "Add an empty list for `gates`, `variables` or `tags`."
    fix_safety = "safe"
    kinds = (BlockKind.WORKFLOW,)
    describes = ((ANY, "required"),)

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        pointer, name = violation.pointer, violation.member
        place = child(pointer, name)
        fix = safe(f"add {name} as an empty list", Insert(pointer, name, None, [])) if place in _EMPTY_LISTS else None
        owner = shown(pointer[1:]) if pointer else "the definition"
        return Description(f"{shown(name)} is missing from {owner}", fix, pointer=place)

    def examples(self) -> Iterator[Example]:
        whole = workflow()
        last_out = {**{k: v for k, v in whole.items() if k != "gates"}, "gates": []}
        yield Example(workflow(gates=...), whole, last_out, path=WORKFLOW_PATH)
        yield Example(workflow(node("plan", label=...)), workflow(node("plan")), path=WORKFLOW_PATH)


class WorkflowFieldType(BlockRule):
    code = "BC302"
    name = "workflow-field-type"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A field of a definition or a mount has the wrong type or format."
    why = "Studios refuse to load the file, or misread the value."
    fix = "Wrap a single string in a list."
    fix_safety = "safe"
    kinds = (BlockKind.WORKFLOW, BlockKind.MOUNT)
    describes = ((ANY, "type"), ("Metadata", "pattern", "lastUsedAt"))

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        if violation.keyword == "pattern":
            return Description(f"{shown(violation.value)} is not an ISO 8601 date and time")
        return wrong_type(violation, _TEXT_LISTS)

    def examples(self) -> Iterator[Example]:
        good = workflow(rules=["Keep it small."])
        yield Example(workflow(rules="Keep it small."), good, good, path=WORKFLOW_PATH)
        yield Example(workflow(timeoutSeconds="60"), workflow(timeoutSeconds=60), path=WORKFLOW_PATH)
        right = mount(fileRestrictions=["src/**"])
        yield Example(mount(fileRestrictions="src/**"), right, right, path=MOUNT_PATH)


class WorkflowIdUnsafe(DefinitionRule):
    code = "BC303"
    name = "workflow-id-unsafe"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "An id can't be part of a file name."
    why = "Ids become names of files and folders; slashes, dots or blanks lead to another place or nowhere."
    describes = ((ANY, "pattern", "id"),)

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        what = "1 to 128 letters, digits, hyphens and underscores"
        return Description(f"the id {shown(violation.value)} must consist of {what}")

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(id="a b"), workflow(id="a-b"), path=WORKFLOW_PATH)


class WorkflowIdNotUuid(DefinitionRule):
    code = "BC304"
    name = "workflow-id-not-uuid"
    severity = Severity.INFO
    origin = ENGINES
    summary = 'Ids of the definition are not UUIDs (with `block-profile = "studio"` an error for each id).'
    why = "Studios give every new part a UUID, and the public one loads nothing else; ids written by hand may clash."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        others = [(place, ident) for place, ident in _ids(document.definition) if _UUID.fullmatch(ident) is None]
        if document.options.studio:
            for place, ident in others:
                text = f"the studio can't load this definition: the id {shown(ident)} is not a UUID"
                report(place, text, severity=Severity.ERROR)
        elif others:
            are = "1 id is not a UUID" if len(others) == 1 else f"{len(others)} ids are not UUIDs"
            report("", f"{are}; studios use UUIDs")

    def examples(self) -> Iterator[Example]:
        bad, good = workflow(node("plan")), workflow(node(uuid(1)), id=uuid(0))
        yield Example(bad, good, path=WORKFLOW_PATH)
        yield Example(bad, good, path=WORKFLOW_PATH, options={"block-profile": "studio"})


def _ids(definition: StudioWorkflow) -> Iterator[tuple[str, str]]:
    """Yield every id with its place."""
    parts = (definition.nodes, definition.transitions, definition.gates, definition.parallel_groups)
    for owner in (definition, *(each for part in parts for each in part)):
        if owner.has("id"):
            yield owner.at("id"), owner.id


class NodeTypeUnknown(DefinitionRule):
    code = "BC306"
    name = "node-type-unknown"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "The type of a node is unknown."
    why = "No agent can be started for it, and the output of its block is not defined."
    describes = (("AgentNodeType", "enum"), ("AgentNodeType", "type"))

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        return Description(f"unknown node type {written(violation.value)}{meant(violation.value, AgentNodeType)}")

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(node("dev", "coder")), workflow(node("dev", "coding")), path=WORKFLOW_PATH)


class LabelBlank(DefinitionRule):
    code = "BC307"
    name = "label-blank"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A label, or another name that people read, is blank."
    why = "The node, group, port or gate has no name in the editor and in the logs."
    describes = tuple((ANY, "pattern", member) for member in ("label", "dataType", "prompt", "name"))

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        return Description(f"{shown(violation.member)} is blank")

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(node("plan", label="")), workflow(node("plan", label="Plan")), path=WORKFLOW_PATH)
        two = (node("a"), node("b"))
        yield Example(
            workflow(*two, parallelGroups=[group("a", "b", label=" ")]),
            workflow(*two, parallelGroups=[group("a", "b")]),
            path=WORKFLOW_PATH,
        )


class WorkflowEmpty(DefinitionRule):
    code = "BC308"
    name = "workflow-empty"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "The definition has no nodes."
    why = "There is nothing to run."
    describes = (("StudioWorkflow", "minItems"),)

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        return Description("the definition has no nodes")

    def examples(self) -> Iterator[Example]:
        yield Example({**workflow(), "nodes": [], "transitions": []}, workflow(), path=WORKFLOW_PATH)


class WorkflowNameBlank(DefinitionRule):
    code = "BC309"
    name = "workflow-name-blank"
    severity = Severity.WARNING
    origin = ENGINES
    summary = "The name or the version of the definition is blank."
    why = "People choose a workflow by its name; without a name it can't be identified."
    describes = (("Metadata", "pattern", "name"), ("Metadata", "pattern", "version"))

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        return Description(f"the {violation.member} is blank")

    def examples(self) -> Iterator[Example]:
        whole = workflow()
        yield Example({**whole, "metadata": {**whole["metadata"], "name": " "}}, whole, path=WORKFLOW_PATH)


class ConditionTypeUnknown(DefinitionRule):
    code = "BC314"
    name = "condition-type-unknown"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "The condition of a transition has an unknown type."
    why = "The engine can't decide when the transition applies, so its target never runs."
    describes = (("Transition", "enum"),)

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        hint = meant(violation.value, ConditionType) or f"; expected one of {', '.join(members(ConditionType))}"
        return Description(f"unknown condition type {written(violation.value)}{hint}")

    def examples(self) -> Iterator[Example]:
        two = (node("a"), node("b"))
        yield Example(
            workflow(*two, edges=[edge("a", "b", "on_error")]),
            workflow(*two, edges=[edge("a", "b", "on_failure")]),
            path=WORKFLOW_PATH,
        )


class EnumUnknown(DefinitionRule):
    code = "BC322"
    name = "enum-unknown"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A value is not one of the values that its field allows."
    why = "Studios refuse the definition, or silently fall back to an unintended default."

    # A value of another type is simply not in the set.
    describes = ((ANY, "enum"), ("Config", "type", "blockType"), *((shape, "type") for shape in _CLOSED_SETS))

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        known = violation.expected if violation.keyword == "enum" else ()
        suggestion = nearest(violation.value, known) if isinstance(violation.value, str) else None
        hint = f"; expected one of {', '.join(known)}" if known else ""
        if suggestion:
            hint = f"; did you mean {shown(suggestion)}?"
        return Description(f"unknown value {written(violation.value)} for {shown(violation.member)}{hint}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(node("plan", config={"gateMode": "manual"})),
            workflow(node("plan", config={"gateMode": "gate"})),
            path=WORKFLOW_PATH,
        )
        yield Example(workflow(gates=[{**GATE, "gateType": "approve"}]), workflow(gates=[GATE]), path=WORKFLOW_PATH)


class LimitNotPositive(BlockRule):
    code = "BC341"
    name = "limit-not-positive"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A limit is zero or negative."
    why = "A block without time, turns or money can't do anything; a number of retries can't be negative."
    kinds = (BlockKind.WORKFLOW, BlockKind.MOUNT)
    describes = ((ANY, "exclusiveMinimum"), (ANY, "minimum"))

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        least = "greater than 0" if violation.keyword == "exclusiveMinimum" else f"at least {violation.expected}"
        return Description(f"{shown(violation.member)} must be {least}, not {js.number_text(violation.value)}")

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(node("plan", config={"maxTurns": 0})),
            workflow(node("plan", config={"maxTurns": 20})),
            path=WORKFLOW_PATH,
        )
        yield Example(
            workflow(node("plan", config={"maxRetries": -1})),
            workflow(node("plan", config={"maxRetries": 0})),
            path=WORKFLOW_PATH,
        )


def meant(value: object, closed_set: Any) -> str:
    """A similar known value, if there is one."""
    suggestion = nearest(value, members(closed_set)) if isinstance(value, str) else None
    return f"; did you mean {shown(suggestion)}?" if suggestion else ""
