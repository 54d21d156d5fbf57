"""Completions for a place: members and closed sets from the schema, names from the catalog, project and document, and
snippets: whole parts of a workflow to start from, in which `${1:text}` is a place that the author fills in."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from workrail_lint.documents.schema.walk import SchemaWalk
from workrail_lint.server import configuration
from workrail_lint.server.document import CONFIGURATION, OpenDocument
from workrail_lint.server.names import related, steps_by_id
from workrail_lint.server.place import Place, siblings

Snippets = dict[str, tuple[str, dict[str, Any]]]

_DECIDE = "Submit a wr.loop_control artifact: continue if another round would help, else stop."
_LOOP = {
    "id": "${1:refine}",
    "type": "loop",
    "title": "${2:Refine}",
    "loop": {
        "type": "while",
        "maxIterations": 5,
        "conditionSource": {
            "kind": "artifact_contract",
            "contractRef": "wr.contracts.loop_control",
            "loopId": "${1:refine}",
        },
    },
    "body": [
        {"id": "${1:refine}-work", "title": "${3:Work}", "prompt": "${4:What one round does.}"},
        {
            "id": "${1:refine}-decide",
            "title": "Decide",
            "prompt": _DECIDE,
            "outputContract": {"contractRef": "wr.contracts.loop_control"},
        },
    ],
}
_STEP = {"id": "${1:step-id}", "title": "${2:Title}", "prompt": "${3:What the agent does.}"}
STEPS: Snippets = {
    "step": ("a step", _STEP),
    "loop with a decision": ("repeats until the agent decides to stop", _LOOP),
    "gated step": ("a person confirms it", {**_STEP, "requireConfirmation": {"kind": "human_approval"}}),
    "conditional step": (
        "runs only if a variable has a value",
        {**_STEP, "runCondition": {"var": "${4:variable}", "equals": "${5:value}"}},
    ),
    "assessed step": (
        "sent back for another try when its assessment is low",
        {
            **_STEP,
            "assessmentRefs": ["${4:quality}"],
            "assessmentConsequences": [
                {
                    "when": {"anyEqualsLevel": "${5:low}"},
                    "effect": {"kind": "require_followup", "guidance": "${6:What to improve.}"},
                }
            ],
        },
    ),
    "step with a contract": (
        "submits an artifact that a machine can read",
        {**_STEP, "outputContract": {"contractRef": "${4:wr.contracts.review_verdict}"}},
    ),
}
ASSESSMENT: Snippets = {
    "assessment": (
        "what the agent judges about its own work",
        {
            "id": "${1:quality}",
            "purpose": "${2:How good the result is.}",
            "dimensions": [
                {"id": "${3:completeness}", "purpose": "${4:Whether all is covered.}", "levels": ["low", "high"]}
            ],
        },
    )
}


_TOKEN = re.compile(r"\{\{\s*([\w.]*)$")
_STATED = re.compile(
    r"\b(?:[Ss]et|[Rr]ecord|[Ss]tore|context variables?) (?:the )?(?:context variable )?`?([A-Za-z_]\w*)"
)
_MEMBER, _VALUE, _VARIABLE, _SNIPPET = "member", "value", "variable", "snippet"


class Completion(NamedTuple):
    """Something to insert instead of the text between two offsets."""

    label: str
    kind: str
    detail: str
    insert: str
    start: int
    end: int
    is_snippet: bool = False


Read = Callable[[str], OpenDocument | None]


def completions(document: OpenDocument, offset: int, read: Read = lambda path: None) -> list[Completion]:
    """Return everything that fits at a cursor, best first. `read` opens another file."""
    if document.kind == CONFIGURATION:
        suggestions = configuration.suggestions(document.path, document.text, offset, document.project)
        return [Completion(label, _VALUE, detail, text, start, end) for label, detail, text, start, end in suggestions]
    place = document.place(offset)
    known = document.known
    if place.is_name:
        members = [*_members(document, known, place, offset), *_named_members(document, known, place, offset, read)]
        if members or document.is_json:
            return members
    token = _TOKEN.search(place.prefix) if place.in_string else None
    if token is not None and known.is_workflow:
        start = place.start + token.start(1)
        end = start + len(re.match(r"[\w.]*", document.text[start:])[0])  # type: ignore[index]
        close = "" if document.text.startswith("}}", end) else "}}"
        return [Completion(n, _VARIABLE, d, n + close, start, end) for n, d in _tokens(known)]
    values = [*_named(document, known, place, read), *_choices(document, known, place)]
    return list(dict.fromkeys(values)) + list(_snippets(known, place))


def _tokens(known: OpenDocument) -> Iterator[tuple[str, str]]:
    """Yield what can be in double braces: variables, and the slots that bindings fill."""
    yield from _variables(known, dotted=True)
    for point in known.workflow.extension_points:
        if point.has("slotId"):
            yield f"wr.bindings.{point.slot_id}", point.purpose if point.has("purpose") else "a slot"


def _taken(document: OpenDocument, place: Place, offset: int) -> set[str]:
    """Return the members that an object has already."""
    if document.is_json:
        return siblings(document.text, offset)
    present = document.at(place.tokens)
    return set(present) - {document.text[place.start : place.end]} if isinstance(present, dict) else set()


def _members(document: OpenDocument, known: OpenDocument, place: Place, offset: int) -> Iterator[Completion]:
    walk = known.walk
    if walk is None:
        return
    used = _taken(document, place, offset)
    for member in walk.members(walk.at(place.tokens)):
        if member.name not in used:
            detail = walk.description(member.schemas) or ("required" if member.required else "")
            yield _member(document, place, member.name, detail, _shape(member.schemas, walk))


def _member(document: OpenDocument, place: Place, name: str, detail: str, shape: str) -> Completion:
    if not document.is_json:
        has_colon = document.text[place.end :].lstrip(" ").startswith(":")
        return Completion(name, _MEMBER, detail, name if has_colon else f"{name}: ", place.start, place.end)
    has_value = place.in_string and document.text[place.end + 1 :].lstrip().startswith(":")
    quoted = name if place.in_string else json.dumps(name)
    insert = quoted if has_value or place.in_string else f"{quoted}: {shape}"
    return Completion(name, _MEMBER, detail, insert, place.start, place.end, "$" in insert)


def _shape(schemas: list[dict[str, Any]], walk: SchemaWalk) -> str:
    """Return the beginning of a value, as a snippet."""
    types = walk.types(schemas)
    for kind, text in (("string", '"$1"'), ("array", "[$1]"), ("object", "{$1}")):
        if kind in types:
            return text
    return "$1"


def _named_members(
    document: OpenDocument, known: OpenDocument, place: Place, offset: int, read: Read
) -> Iterator[Completion]:
    """Yield members that another part names: arguments of a template, slots, steps and variables of a workflow."""
    tokens = place.tokens
    last = tokens[-1] if tokens else ""
    names: Iterable[tuple[str, str]] = ()
    if known.is_workflow and last == "args" and tokens[-2:-1] == ("templateCall",):
        call = known.string_at((*tokens[:-1], "templateId"))
        routine = None if call is None else known.project.settings.catalog.templates.get(call)
        if routine is not None:
            values = routine.arg_values
            names = [(name, ", ".join(values.get(name, ())) or "required") for name in routine.required_args]
    elif known.is_workflow and last == "contextMapping":
        names = _variables(known)
    elif known.kind == "bindings" and len(tokens) < 2:
        names = _workflow_ids(known) if not tokens else ((slot, "a slot") for slot in _slots(known, last))
    elif known.kind == "scenario" and last in ("context", "outputs"):
        for other in related(known, read):
            if other.is_workflow:
                names = _variables(other) if last == "context" else ((ident, "step") for ident in steps_by_id(other))
    used = _taken(document, place, offset)
    for name, detail in names:
        if name not in used:
            shape = "{$1}" if (known.kind == "bindings" and not tokens) or last == "outputs" else '"$1"'
            yield _member(document, place, name, detail, shape)


def _workflow_ids(known: OpenDocument) -> Iterator[tuple[str, str]]:
    yield from ((workflow.id, workflow.path) for workflow in known.project.workflows())


def _slots(known: OpenDocument, ident: str) -> Iterator[str]:
    yield from (slot for workflow in known.project.workflows() if workflow.id == ident for slot in workflow.slots)


def _choices(document: OpenDocument, known: OpenDocument, place: Place) -> Iterator[Completion]:
    if known.walk is None:
        return
    for value in known.walk.choices(known.walk.at(place.tokens)):
        if isinstance(value, str):
            yield _string(document, place, value, "")
        elif not place.in_string:
            yield Completion(json.dumps(value), _VALUE, "", json.dumps(value), place.start, place.end)


def _string(document: OpenDocument, place: Place, value: str, detail: str, kind: str = _VALUE) -> Completion:
    text = json.dumps(value, ensure_ascii=False)
    is_bare = place.in_string or not document.is_json
    return Completion(value, kind, detail, text[1:-1] if is_bare else text, place.start, place.end)


def _named(document: OpenDocument, known: OpenDocument, place: Place, read: Read) -> Iterator[Completion]:
    """Yield ids from the catalog, the project and the document itself."""
    if not place.tokens:
        return
    last = place.tokens[-1]
    parent = place.tokens[-2] if len(place.tokens) > 1 else ""
    if not known.is_workflow:
        yield from (_string(document, place, *pair) for pair in _ids(known, last, parent, read))
        return
    catalog = known.project.settings.catalog
    tables: list[tuple[bool, Any]] = [
        (last == "contractRef", catalog.workflow_contracts.values()),
        (parent == "features" or (last == "id" and "features" in place.tokens), catalog.features.values()),
        (last == "refId", catalog.refs.values()),
        ("capabilities" in (last, parent), catalog.capabilities.values()),
    ]
    for applies, entries in tables:
        if applies:
            yield from (_string(document, place, entry.id, entry.title) for entry in entries)
    if last == "templateId":
        for ident, routine in catalog.templates.items():
            yield _string(document, place, ident, str(routine.definition.get("name", "")))
    if parent == "args" and "templateCall" in place.tokens:
        call = known.string_at((*place.tokens[:-2], "templateId"))
        called = None if call is None else catalog.templates.get(call)
        yield from (
            _string(document, place, value, "") for value in (called.arg_values.get(last, ()) if called else ())
        )
    if last == "body":
        yield from (_string(document, place, ident, "step") for ident in steps_by_id(known))
    if last == "loopId":
        loops = (step for step in steps_by_id(known).values() if step.kind == "loop")
        yield from (_string(document, place, step.id, "loop") for step in loops)
    if last == "workflowId":
        yield from (_string(document, place, ident, path) for ident, path in _workflow_ids(known))
    if parent == "assessmentRefs" or last == "forAssessment":
        for assessment in known.workflow.assessments:
            if assessment.has("id"):
                purpose = assessment.purpose if assessment.has("purpose") else "assessment"
                yield _string(document, place, assessment.id, purpose)
    if last == "anyEqualsLevel":
        yield from (_string(document, place, level, "level") for level in _levels(known))
    if last in ("var", "items", "count"):
        yield from (_string(document, place, name, detail, _VARIABLE) for name, detail in _variables(known))
    yield from _condition_values(document, known, place)


def _ids(known: OpenDocument, last: str, parent: str, read: Read) -> Iterator[tuple[str, str]]:
    """Yield ids that a place of another document can have: steps of a scenario's workflow, nodes, tasks."""
    if known.kind == "scenario":
        for other in related(known, read):
            if other.is_workflow and (last in ("step", "pending") or parent == "steps"):
                yield from ((ident, "step") for ident in steps_by_id(other))
            elif other.is_workflow and (parent == "variables" or last == "key"):
                yield from _variables(other)
        if last == "workflow":
            yield from ((path, ident) for ident, path in _relative_workflows(known))
    for member in ("nodes", "tasks"):
        listed = known.at((member,))
        wanted = last.endswith("NodeId") or parent.endswith("NodeIds") or parent == "depends_on"
        for item in listed if isinstance(listed, list) and wanted else ():
            if isinstance(item, dict) and isinstance(item.get("id"), str):
                yield item["id"], str(item.get("label") or item.get("title") or item.get("goal") or "")


def _relative_workflows(known: OpenDocument) -> Iterator[tuple[str, str]]:
    for ident, path in _workflow_ids(known):
        yield ident, os.path.relpath(path, os.path.dirname(known.path) or os.curdir).replace(os.sep, "/")


def _levels(known: OpenDocument) -> list[str]:
    dimensions = (dimension for assessment in known.workflow.assessments for dimension in assessment.dimensions)
    return list(dict.fromkeys(level for dimension in dimensions for level in dimension.levels))


def _variables(known: OpenDocument, *, dotted: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the variables of a workflow, with where each is set."""
    analysis = known.recent_analysis
    if analysis is None:
        return
    names = set(analysis.by_name) | {name for facts in analysis.loops.values() for name in facts.variables}
    names |= analysis.inputs.keys()
    # What is set and not read yet. Searching for every word that may be a variable would delay typing.
    stated = {match[1] for match in _STATED.finditer(known.text)} - names
    names |= {name for name in stated if analysis.setters(name)}
    for name in sorted(names | ({"goal"} if dotted else set())):
        steps = [definition.step for definition in analysis.definitions(name)]
        setters = [analysis.steps[step].id for step in steps if step is not None]
        domain = analysis.domain(name)
        values = "" if domain is None else f"; {', '.join(map(json.dumps, domain.values))}"
        giver = analysis.giver(name)
        where = f"given by {giver}" if giver else f"set in {setters[0]}" if setters else "never set"
        yield name, f"{where}{values}"


def _condition_values(document: OpenDocument, known: OpenDocument, place: Place) -> Iterator[Completion]:
    """Yield the values that the compared variable can have."""
    comparison = place.tokens[:-1]
    if len(place.tokens) > 1 and place.tokens[-1].isdecimal() and place.tokens[-2] == "in":
        comparison = place.tokens[:-2]
    elif place.tokens[-1] not in ("equals", "not_equals", "contains"):
        return
    name = known.string_at((*comparison, "var"))
    analysis = known.recent_analysis
    domain = analysis.domain(name) if analysis is not None and name is not None else None
    for value in () if domain is None else domain.values:
        if isinstance(value, str):
            yield _string(document, place, value, f"value of {name}")
        elif not place.in_string:
            text = json.dumps(value)
            yield Completion(text, _VALUE, f"value of {name}", text, place.start, place.end)


def _snippets(known: OpenDocument, place: Place) -> Iterator[Completion]:
    tokens = place.tokens
    if not known.is_workflow or place.in_string or not tokens or not tokens[-1].isdecimal():
        return
    snippets: dict[str, tuple[str, dict[str, Any]]] = {}
    if len(tokens) in (2, 4) and tokens[0] == "steps":
        snippets = STEPS
    elif len(tokens) == 2 and tokens[0] == "assessments":
        snippets = ASSESSMENT
    for label, (detail, value) in snippets.items():
        if len(tokens) == 2 or value.get("type") != "loop":
            yield Completion(label, _SNIPPET, detail, json.dumps(value, indent=2), place.start, place.end, True)
