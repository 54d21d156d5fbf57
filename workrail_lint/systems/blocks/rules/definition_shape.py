"""BC301 to BC304, BC306 to BC309, BC314, BC322, BC341: the shape of a definition, and of a mount where it is alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.suggest import nearest
from workrail_lint.documents.operations import Insert, Replace
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Severity
from workrail_lint.findings.fix import safe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.rules.base import ENGINES, BlockDocument, BlockRule
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
from workrail_lint.systems.blocks.wording import json_type, shown, type_in_words

if TYPE_CHECKING:
    from workrail_lint.documents.structure import Violation

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
_MOUNT_SOURCE = ("/source", "/localPath", "/githubUrl")
_UUID = Pattern(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ENUMS = ("gateType", "gateMode", "backend", "type", "blockType", "status", "defaultScrutinyLevel", "kind")


class DefinitionRule(BlockRule):
    """A rule about workflow definitions."""

    kinds = (BlockKind.WORKFLOW,)


def last(pointer: str) -> str:
    """The name of the member a pointer ends in; that of the list for an element."""
    tokens = pointer.split("/")
    return tokens[-2] if tokens[-1].isdigit() and len(tokens) > 2 else tokens[-1]


def is_condition_type(pointer: str) -> bool:
    return pointer.startswith("/transitions/") and pointer.endswith("/condition/type")


def is_node_type(pointer: str) -> bool:
    tokens = pointer.split("/")
    return len(tokens) == 4 and tokens[1] == "nodes" and tokens[3] == "type"


class WorkflowFieldMissing(BlockRule):
    code = "BC301"
    name = "workflow-field-missing"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A definition lacks a member it must have."
    why = "Studios refuse to load the definition, or stumble over the gap in the middle of a run."
    fix = "Add an empty list for gates, variables or tags."
    fix_safety = "safe"
    kinds = (BlockKind.WORKFLOW,)

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        if violation.keyword != "required" or _is_expression(violation):
            return False
        pointer, name = violation.pointer, str(violation.expected)
        place = child(pointer, name)
        fix = safe(f"add an empty {name}", Insert(pointer, name, None, [])) if place in _EMPTY_LISTS else None
        report(place, f"{_owner(pointer)} has no {shown(name)}", fix=fix)
        return True

    def examples(self) -> Iterator[Example]:
        whole = workflow()
        last_out = {**{k: v for k, v in whole.items() if k != "gates"}, "gates": []}
        yield Example(workflow(gates=...), whole, last_out, path=WORKFLOW_PATH)
        yield Example(workflow(node("plan", label=...)), workflow(node("plan")), path=WORKFLOW_PATH)


def _is_expression(violation: Violation) -> bool:
    return violation.expected == "expression" and violation.pointer.endswith("/condition")


def _owner(pointer: str) -> str:
    return shown(pointer[1:]) if pointer else "the definition"


class WorkflowFieldType(BlockRule):
    code = "BC302"
    name = "workflow-field-type"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A member of a definition or a mount is of the wrong type or in the wrong format."
    why = "Studios refuse to load the file, or take the value for something it is not."
    fix = "Put a single text into a list."
    fix_safety = "safe"
    kinds = (BlockKind.WORKFLOW, BlockKind.MOUNT)

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        pointer, value, name = violation.pointer, violation.value, last(violation.pointer)
        if document.kind is BlockKind.MOUNT and pointer in _MOUNT_SOURCE:
            return False
        if violation.keyword == "pattern" and name == "lastUsedAt":
            report(pointer, f"{shown(value)} is no ISO-8601 date and time")
            return True
        if violation.keyword != "type" or _is_closed_set(pointer):
            return False
        fix = None
        if name in _TEXT_LISTS and isinstance(value, str) and violation.expected == ("array",):
            fix = safe("put it into a list", Replace(pointer, [value]))
        wanted = " or ".join(type_in_words(kind) for kind in violation.expected)
        report(pointer, f"{shown(name)} must hold {wanted} here, not {json_type(value)}", fix=fix)
        return True

    def examples(self) -> Iterator[Example]:
        good = workflow(rules=["Keep it small."])
        yield Example(workflow(rules="Keep it small."), good, good, path=WORKFLOW_PATH)
        yield Example(workflow(timeoutSeconds="60"), workflow(timeoutSeconds=60), path=WORKFLOW_PATH)
        right = mount(fileRestrictions=["src/**"])
        yield Example(mount(fileRestrictions="src/**"), right, right, path=MOUNT_PATH)


def _is_closed_set(pointer: str) -> bool:
    """Whether a value is one out of a set, so that a value of a wrong type is simply none of them."""
    if is_condition_type(pointer) or is_node_type(pointer):
        return True
    return last(pointer) in (*_ENUMS, "mergeStrategy") and not pointer[-1].isdigit()


class WorkflowIdUnsafe(DefinitionRule):
    code = "BC303"
    name = "workflow-id-unsafe"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "An id could not be part of a file name."
    why = "Ids become names of files and folders; one with slashes, dots or blanks leads somewhere else or nowhere."

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        if violation.keyword != "pattern" or last(violation.pointer) != "id":
            return False
        what = "1 to 128 letters, digits, hyphens and underscores"
        report(violation.pointer, f"the id {shown(violation.value)} is not made of {what}")
        return True

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(id="a b"), workflow(id="a-b"), path=WORKFLOW_PATH)


class WorkflowIdNotUuid(DefinitionRule):
    code = "BC304"
    name = "workflow-id-not-uuid"
    severity = Severity.INFO
    origin = ENGINES
    summary = "Ids of the definition are no UUIDs."
    why = "Studios give every new part a UUID; ids written by hand work, but may clash when definitions are merged."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        count = sum(1 for ident in _ids(document.value) if _UUID.fullmatch(ident) is None)
        if count:
            are = "1 id is no UUID" if count == 1 else f"{count} ids are no UUIDs"
            report("", f"{are}, which is what studios use")

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(node("plan")), workflow(node(uuid(1)), id=uuid(0)), path=WORKFLOW_PATH)


def _ids(value: dict[str, Any]) -> Iterator[str]:
    owners = [value]
    for name in ("nodes", "transitions", "gates", "parallelGroups"):
        items = value.get(name)
        owners += [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    for owner in owners:
        if isinstance(owner.get("id"), str):
            yield owner["id"]


class NodeTypeUnknown(DefinitionRule):
    code = "BC306"
    name = "node-type-unknown"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "The type of a node is none that studios know."
    why = "No agent can be started for it, and what its block should produce is not defined."

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        if not is_node_type(violation.pointer):
            return False
        report(
            violation.pointer, f"{written(violation.value)} is no type of node{meant(violation.value, AgentNodeType)}"
        )
        return True

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(node("dev", "coder")), workflow(node("dev", "coding")), path=WORKFLOW_PATH)


class LabelBlank(DefinitionRule):
    code = "BC307"
    name = "label-blank"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A label, or another text that people have to read, is blank."
    why = "The node, group, port or gate has no name in the editor and in every log."

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        name = last(violation.pointer)
        if violation.keyword != "pattern" or name not in ("label", "dataType", "prompt", "name"):
            return False
        if violation.pointer.startswith("/metadata/"):
            return False
        report(violation.pointer, f"{shown(name)} is blank")
        return True

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
    summary = "The definition has no node."
    why = "There is nothing to run."

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        if violation.pointer != "/nodes" or violation.keyword != "minItems":
            return False
        report("/nodes", "the definition has no node")
        return True

    def examples(self) -> Iterator[Example]:
        yield Example({**workflow(), "nodes": [], "transitions": []}, workflow(), path=WORKFLOW_PATH)


class WorkflowNameBlank(DefinitionRule):
    code = "BC309"
    name = "workflow-name-blank"
    severity = Severity.WARNING
    origin = ENGINES
    summary = "The name or the version of the definition is blank."
    why = "People choose a workflow by its name; one without can't be told from others."

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        if violation.keyword != "pattern" or violation.pointer not in ("/metadata/name", "/metadata/version"):
            return False
        report(violation.pointer, f"the {last(violation.pointer)} is blank")
        return True

    def examples(self) -> Iterator[Example]:
        whole = workflow()
        yield Example({**whole, "metadata": {**whole["metadata"], "name": " "}}, whole, path=WORKFLOW_PATH)


class ConditionTypeUnknown(DefinitionRule):
    code = "BC314"
    name = "condition-type-unknown"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "The condition of a transition is of an unknown type."
    why = "Nobody can say when the transition holds, so that what follows it never runs."

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        if not is_condition_type(violation.pointer):
            return False
        hint = meant(violation.value, ConditionType) or f"; they are {', '.join(members(ConditionType))}"
        report(violation.pointer, f"{written(violation.value)} is no type of condition{hint}")
        return True

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
    summary = "A value is none of the words its member knows."
    why = "Studios refuse the definition, or silently fall back to a default that was not meant."

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        pointer = violation.pointer
        if violation.keyword not in ("enum", "type") or last(pointer) not in _ENUMS or pointer[-1].isdigit():
            return False
        if is_condition_type(pointer) or is_node_type(pointer):
            return False
        known = violation.expected if violation.keyword == "enum" else ()
        suggestion = nearest(violation.value, known) if isinstance(violation.value, str) else None
        hint = (
            f"; did you mean {shown(suggestion)}?" if suggestion else f"; they are {', '.join(known)}" if known else ""
        )
        report(pointer, f"{written(violation.value)} is nothing {shown(last(pointer))} knows{hint}")
        return True

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
    why = (
        "A block that may take no time, no turn and no money can't do anything; a number of retries can't be negative."
    )
    kinds = (BlockKind.WORKFLOW, BlockKind.MOUNT)

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        if violation.keyword not in ("exclusiveMinimum", "minimum"):
            return False
        least = "above 0" if violation.keyword == "exclusiveMinimum" else f"at least {violation.expected}"
        name = last(violation.pointer)
        report(violation.pointer, f"{shown(name)} must be {least}, not {js.number_text(violation.value)}")
        return True

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


def written(value: object) -> str:
    """A value of any type as an author wrote it."""
    return shown(value if isinstance(value, str) else js.text(value))


def meant(value: object, closed_set: Any) -> str:
    """The word that was probably meant."""
    suggestion = nearest(value, members(closed_set)) if isinstance(value, str) else None
    return f"; did you mean {shown(suggestion)}?" if suggestion else ""
