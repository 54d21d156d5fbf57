"""Where the workflow schema of an engine differs from ours, in our terms.

The engine's schema is first taken apart into facts: the keywords at each place, by a pointer such as
`#standardStep/prompt` (a member of a definition), `/steps/-` (an item) or `#promptPart<oneOf.1>` (a branch). Each fact
is then compared with the definition of ours that describes the same object. A branch that is chosen differently by an
older engine has a shape of its own here; an unknown choice is reported, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

Schema = dict[str, Any]
Facts = dict[str, Schema]

# Places of objects in the engine's schema, and our definitions of them.
SHAPES = {
    "/": "Workflow",
    "/recommendedPreferences": "RecommendedPreferences",
    "#functionParameter": "FunctionParameter",
    "#functionDefinition": "FunctionDefinition",
    "#functionCall": "FunctionCall",
    "#standardStep": "StandardStep",
    "#loopStep": "LoopStep",
    "#parallelStep": "ParallelStep",
    "#parallelDelegation": "Delegation",
    "#loopConfig": "LoopConfig",
    "#loopConfig/conditionSource<oneOf.0>": "ArtifactSource",
    "#loopConfig/conditionSource<oneOf.1>": "ContextSource",
    "#condition": "Condition",
    "#confirmationRule<oneOf.1>": "ConfirmationGate",
    "#validationRule": "ValidationRule",
    "#validationRule/condition": "RuleCondition",
    "#outputContract": "OutputContract",
    "#promptBlocks": "PromptBlocks",
    "#promptPart<oneOf.0>": "TextPart",
    "#promptPart<oneOf.1>": "RefPart",
    "#promptFragment": "PromptFragment",
    "#templateCall": "TemplateCall",
    "#extensionPoint": "ExtensionPoint",
    "#workflowReference": "WorkflowReference",
    "#assessmentDefinition": "AssessmentDefinition",
    "#assessmentDimension": "AssessmentDimension",
    "#assessmentConsequence": "AssessmentConsequence",
    "#assessmentConsequenceTrigger": "ConsequenceTrigger",
    "#assessmentConsequenceEffect": "ConsequenceAction",
    "#auditConfig": "AuditConfig",
    "#verificationConfig": "VerificationConfig",
    "#synthesisConfig": "SynthesisConfig",
}
_WORDS = ("type", "enum", "const", "pattern", "minLength", "maxLength", "minimum", "maximum")
_LISTS = ("minItems", "maxItems", "uniqueItems")
_PLAIN = (*_WORDS, *_LISTS, "required", "additionalProperties", "$ref")
_BRANCHES = ("oneOf", "anyOf", "allOf")
_CONDITIONS = ("if", "then", "else")
_IS_LOOP = {"type": "object", "required": ["type"], "properties": {"type": {"const": "loop"}}}
_STEP_WITHOUT_PARALLEL = {
    "title": "Step",
    "description": "A step: a loop if its `type` says so, otherwise a standard one.",
    "type": "object",
    "if": _IS_LOOP,
    "then": {"$ref": "#/definitions/LoopStep"},
    "else": {
        "if": {"required": ["type"]},
        "then": {"properties": {"type": {"enum": ["loop"]}}},
        "else": {"$ref": "#/definitions/StandardStep"},
    },
}
_BODY_WITHOUT_PARALLEL = {
    "title": "Body step",
    "description": "A step of a loop's body.",
    "$ref": "#/definitions/StandardStep",
}
_CONFIRMATION_WITHOUT_GATE = {
    "title": "Confirmation",
    "description": "Whether a person must confirm: always, never, or when a condition holds.",
    "type": ["boolean", "object"],
    "if": {"type": "boolean"},
    "then": {"type": "boolean"},
    "else": {"if": {"type": "object"}, "then": {"$ref": "#/definitions/Condition"}},
}


class Switch(NamedTuple):
    """A choice between shapes: the facts that describe it, and our shape for each state of them; None is ours."""

    path: str
    pointers: tuple[str, ...]
    shapes: tuple[tuple[tuple[Schema, ...], Any], ...]


def _refs(*names: str) -> tuple[Schema, ...]:
    return tuple({"$ref": f"#/$defs/{name}"} for name in names)


_SWITCHES = (
    Switch(
        "Step",
        ("/steps/-<oneOf.0>", "/steps/-<oneOf.1>", "/steps/-<oneOf.2>"),
        (
            (_refs("standardStep", "loopStep", "parallelStep"), None),
            ((*_refs("standardStep", "loopStep"), {}), _STEP_WITHOUT_PARALLEL),
        ),
    ),
    Switch(
        "BodyStep",
        ("#loopStep/body<oneOf.1>/-", "#loopStep/body<oneOf.1>/-<oneOf.0>", "#loopStep/body<oneOf.1>/-<oneOf.1>"),
        (
            (({"oneOf": 2}, *_refs("standardStep", "parallelStep")), None),
            ((*_refs("standardStep"), {}, {}), _BODY_WITHOUT_PARALLEL),
        ),
    ),
    Switch(
        "Confirmation",
        ("#confirmationRule",),
        ((({"oneOf": 3},), None), (({"oneOf": 2},), _CONFIRMATION_WITHOUT_GATE)),
    ),
    Switch(
        "LoopConfig/allOf/0/then",
        ("#loopConfig<allOf.0><then>",),
        ((({"anyOf": 2},), None), (({"required": ["condition"]},), {"required": ["condition"]})),
    ),
)


class Comparison(NamedTuple):
    """Values by their path below our definitions, None for what the engine lacks; and pointers that fit nothing."""

    differences: dict[str, Any]
    unknown: list[str]


def facts(schema: Schema) -> Facts:
    """Return the keywords at each place of an engine's schema."""
    result: Facts = {}
    _take_apart(schema, "", result)
    named: Schema = schema.get("$defs") or schema.get("definitions") or {}
    for name, definition in named.items():
        _take_apart(definition, f"#{name}", result)
    return result


def _take_apart(schema: Schema, pointer: str, result: Facts) -> None:
    own = {word: schema[word] for word in _PLAIN if word in schema}
    if isinstance(own.get("additionalProperties"), dict):
        _take_apart(own.pop("additionalProperties"), f"{pointer}/*", result)
    if "required" in own:
        own["required"] = sorted(own["required"])
    if "$ref" in own:
        own["$ref"] = own["$ref"].replace("#/definitions/", "#/$defs/")
    result[pointer or "/"] = own
    for name, member in schema.get("properties", {}).items():
        _take_apart(member, f"{pointer}/{name}", result)
    if schema.get("items"):
        _take_apart(schema["items"], f"{pointer}/-", result)
    for word in _BRANCHES:
        for index, branch in enumerate(schema.get(word, ())):
            own[word] = len(schema[word])
            _take_apart(branch, f"{pointer}<{word}.{index}>", result)
    for word in _CONDITIONS:
        if word in schema:
            _take_apart(schema[word], f"{pointer}<{word}>", result)


def compare(engine: Facts, definitions: Schema) -> Comparison:
    """Return where the schema of an engine differs from our definitions."""
    differences: dict[str, Any] = {}
    unknown: list[str] = []
    for switch in _SWITCHES:
        state = tuple(engine.get(pointer, {}) for pointer in switch.pointers)
        shapes = [shape for known, shape in switch.shapes if known == state]
        if not shapes:
            unknown.append(switch.pointers[0])
        elif shapes[0] is not None:
            differences[switch.path] = shapes[0]
    for place, shape in SHAPES.items():
        if _is_object(engine, place):
            differences.update(_of_shape(engine, place, definitions[shape], shape, definitions))
    unknown += sorted(pointer for pointer in engine if _is_new_place(pointer))
    return Comparison(differences, unknown)


def shapes_in(engine: Facts) -> set[str]:
    """Return the definitions of ours that an engine's schema has a counterpart of."""
    objects = {shape for place, shape in SHAPES.items() if _is_object(engine, place)}
    return objects | ({switch.path.partition("/")[0] for switch in _SWITCHES} if engine else set())


def _is_object(engine: Facts, place: str) -> bool:
    return place in engine and "$ref" not in engine[place]


def _is_new_place(pointer: str) -> bool:
    """Return whether a definition of the engine is one that nothing here describes."""
    return pointer.startswith("#") and not any(mark in pointer for mark in "/<") and pointer not in _DESCRIBED


# Definitions of the engine that are described as a whole, or as part of another.
_DESCRIBED = frozenset({*SHAPES, *(f"#{name}" for name in (
    "stepId", "confirmationRule", "validationComposition", "validationCriteria", "promptValue", "promptPart",
))})  # fmt: skip


def _of_shape(engine: Facts, place: str, ours: Schema, shape: str, definitions: Schema) -> Iterator[tuple[str, Any]]:
    members = {name: pointer for pointer in engine for name in [_member_of(pointer, place)] if name}
    for name in ours["properties"]:
        if name not in members:
            yield f"{shape}/properties/{name}", None
    for name, pointer in members.items():
        path = f"{shape}/properties/{name}"
        if name not in ours["properties"]:
            yield path, _translated(engine, pointer)
        else:
            yield from _of_value(engine, pointer, ours["properties"][name], path, definitions)
    required = engine[place].get("required", [])
    if sorted(ours.get("required", [])) != required:
        yield f"{shape}/required", [name for name in {**ours["properties"], **members} if name in required] or None


def _member_of(pointer: str, place: str) -> str:
    """Return the name of a direct member of an object, "" for any other place."""
    prefix = place.rstrip("/") + "/"
    name = pointer.removeprefix(prefix)
    is_direct = pointer.startswith(prefix) and name not in ("", "-", "*") and not any(mark in name for mark in "/<")
    return name if is_direct else ""


def _of_value(engine: Facts, pointer: str, ours: Schema, path: str, definitions: Schema) -> Iterator[tuple[str, Any]]:
    theirs = _resolved(engine, pointer)
    named = ours.get("$ref", "").rpartition("/")[2]
    mine = definitions[named] if named else ours
    if "$ref" in theirs or "oneOf" in theirs or "if" in mine or "properties" in mine:
        return  # an object, which is compared where it is defined, or a choice
    words = (*_LISTS, *(() if "const" in theirs else _WORDS))
    changed = {word: theirs.get(word) for word in words if theirs.get(word) != mine.get(word)}
    if changed and named:
        yield path, {**{word: ours[word] for word in ("title", "description") if word in ours}, **theirs}
    else:
        for word, value in changed.items():
            yield f"{path}/{word}", value
    if f"{pointer}/-" in engine and "items" in mine:
        yield from _of_value(engine, f"{pointer}/-", mine["items"], f"{path}/items", definitions)


def _resolved(engine: Facts, pointer: str) -> Schema:
    """Return the keywords at a place, those of a definition if it is that of a plain value."""
    own = engine[pointer]
    target = engine.get(f"#{own['$ref'].rpartition('/')[2]}", {}) if "$ref" in own else {}
    is_plain = target.get("type") in ("string", "number", "integer", "boolean")
    return target if is_plain else own


def _translated(engine: Facts, pointer: str) -> Schema:
    """Return the schema of a member that only the engine has, in our terms."""
    own = dict(_resolved(engine, pointer))
    if "$ref" in own:
        place = f"#{own['$ref'].rpartition('/')[2]}"
        return {"$ref": f"#/definitions/{SHAPES[place]}"} if place in SHAPES else _translated(engine, place)
    for word in _BRANCHES:
        if word in own:
            own[word] = [_translated(engine, f"{pointer}<{word}.{index}>") for index in range(own[word])]
    if f"{pointer}/-" in engine:
        own["items"] = _translated(engine, f"{pointer}/-")
    if f"{pointer}/*" in engine:
        own["additionalProperties"] = _translated(engine, f"{pointer}/*")
    members = {name: other for other in engine for name in [_member_of(other, pointer)] if name}
    if members:
        own["properties"] = {name: _translated(engine, other) for name, other in members.items()}
    return own
