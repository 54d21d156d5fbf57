"""Violations of a schema in words: one description for outputs, definitions and mounts."""

from __future__ import annotations

from typing import Any

from workrail_lint.base import js
from workrail_lint.base.closed_sets import is_member
from workrail_lint.base.suggest import did_you_mean, nearest
from workrail_lint.documents.operations import Insert, Rename, Replace
from workrail_lint.documents.pointer import child
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Fix, Severity, safe, unsafe
from workrail_lint.rules.describing import Description
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.rules.base import BlockDocument, wrong_type
from workrail_lint.systems.blocks.vocabulary import EXPECTED_KIND, BlockType, DeliverableKind, kinds_of_profile
from workrail_lint.systems.blocks.wording import shown, written

# Lists that are empty if nothing is said, by their place, and lists in which a single string is one entry.
_EMPTY_LISTS = ("/gates", "/variables", "/metadata/tags", "/filesModified", "/filesCreated")
_TEXT_LISTS = (
    *(
        "rules",
        "tags",
        "allowedTools",
        "extraFlags",
        "outputChecklist",
        "fileRestrictions",
        "laneNodeIds",
        "bodyNodeIds",
    ),
    *("filesModified", "filesCreated", "taskList", "filesChanged", "findings", "operations"),
)
_ID = "1 to 128 letters, digits, hyphens and underscores"


def shape_problem(violation: Violation, document: BlockDocument) -> Description:
    """Return what is wrong with a member: missing, unknown, blank, of another type or form."""
    name, value = violation.member, violation.value
    match violation.keyword:
        case "required":
            return _missing(violation, document)
        case "enum" | "type" if "enum" in violation.schema:  # a value of another type is simply not in the set
            return _unknown(violation, document, violation.schema["enum"])
        case "type" | "minimum" if violation.shape == "TestResults" and name != "testResults":
            return Description(f"{shown(name)} must be a non-negative integer")
        case "exclusiveMinimum" | "minimum":
            least = "greater than 0" if violation.keyword == "exclusiveMinimum" else f"at least {violation.expected}"
            return Description(f"{shown(name)} must be {least}, not {js.number_text(value)}")
        case "minItems":
            return Description("the definition has no nodes")
        case "pattern" if name in ("timestamp", "lastUsedAt"):
            return Description(f"{written(value)} is not an ISO 8601 date and time such as 2026-03-01T10:00:00Z")
        case "pattern" if name in ("id", "blockId"):
            return Description(f"the {'id' if name == 'id' else 'block id'} {shown(value)} must consist of {_ID}")
        case "pattern":
            level = Severity.WARNING if violation.shape == "Metadata" else None
            return Description(f"{shown(name)} is blank", severity=level)
    return wrong_type(violation, _TEXT_LISTS)


def _missing(violation: Violation, document: BlockDocument) -> Description:
    pointer, name = violation.pointer, violation.member
    place = child(pointer, name)
    if place == "/deliverables/blockType":
        block_type = document.output.block_type
        kind = None if block_type is None else EXPECTED_KIND[BlockType(block_type)].value
        fix = None if kind is None else unsafe(f"add the kind {kind}", Insert(pointer, name, None, kind))
        return Description("'blockType' is missing from the deliverables; it names their kind", fix, pointer=place)
    owner = shown(pointer[1:]) if pointer else "the output" if document.kind is BlockKind.OUTPUT else "the definition"
    typo = misspelling(document.value if not pointer else {}, name, violation)
    if typo is not None:
        fix = safe(f"rename it to {name}", Rename(child(pointer, typo), name))
        message = f"{shown(name)} is missing from {owner}; {shown(typo)} is not read"
        return Description(message, fix, pointer=child(pointer, typo))
    fix = safe(f"add {name} as an empty list", Insert(pointer, name, None, [])) if place in _EMPTY_LISTS else None
    return Description(f"{shown(name)} is missing from {owner}", fix, pointer=place)


def misspelling(value: dict[str, Any], name: str, violation: Violation) -> str | None:
    """Return the unknown member that was probably meant to be the missing one."""
    known = violation.schema.get("properties", {})
    return next((key for key in value if key not in known and nearest(key, known) == name), None)


def _unknown(violation: Violation, document: BlockDocument, known: Any) -> Description:
    name, value, pointer = violation.member, violation.value, violation.pointer
    similar = nearest(value, known) if isinstance(value, str) else None
    hint = did_you_mean(similar)
    fix: Fix | None = None
    what = shown(name)
    if pointer == "/blockType" and value == "code":
        fix = unsafe("replace with dev", Replace(pointer, "dev"))
    elif pointer == "/deliverables/blockType":
        what = "the kind of the deliverables"
        known = [kind.value for kind in kinds_of_profile(document.options.extended)]
        hint = "; the extended profile allows it" if is_member(value, DeliverableKind) else hint
        fix = unsafe("replace with code", Replace(pointer, "code")) if value == "dev" else None
    return Description(f"unknown value {written(value)} for {what}; expected one of {', '.join(known)}{hint}", fix)
