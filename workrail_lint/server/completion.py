"""What fits at a place: members and closed sets from the schema, names from the catalog and the workflow itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from workrail_lint.documents.schema_walk import SchemaWalk
from workrail_lint.server.document import OpenDocument
from workrail_lint.server.names import step_ids
from workrail_lint.server.place import Place, place_at

_TOKEN = re.compile(r"\{\{\s*([\w.]*)$")
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


def completions(document: OpenDocument, offset: int) -> list[Completion]:
    """Everything that fits at a cursor, best first."""
    place = place_at(document.text, offset)
    known = document.known
    if place.is_name:
        return list(_members(document, known, place))
    token = _TOKEN.search(place.prefix) if place.in_string else None
    if token is not None and known.is_workflow:
        start = place.start + token.start(1)
        return [Completion(n, _VARIABLE, d, n, start, offset) for n, d in _variables(known, dotted=True)]
    found = [*_named(known, place), *_choices(known, place)]
    return list(dict.fromkeys(found)) + list(_snippets(known, place))


def _members(document: OpenDocument, known: OpenDocument, place: Place) -> Iterator[Completion]:
    walk = known.walk
    if walk is None:
        return
    present = known.at(place.tokens)
    taken = set(present) - {place.prefix} if isinstance(present, dict) else set()
    has_value = place.in_string and document.text[place.end + 1 :].lstrip().startswith(":")
    for member in walk.members(walk.at(place.tokens)):
        if member.name in taken:
            continue
        quoted = member.name if place.in_string else json.dumps(member.name)
        shape = "" if has_value else _shape(member.schemas, walk)
        insert = f"{quoted}: {shape}" if shape and not place.in_string else quoted
        detail = walk.description(member.schemas) or ("required" if member.required else "")
        yield Completion(member.name, _MEMBER, detail, insert, place.start, place.end, "$" in insert)


def _shape(schemas: list[dict[str, Any]], walk: SchemaWalk) -> str:
    """The beginning of a value, as a snippet."""
    types = walk.types(schemas)
    for kind, text in (("string", '"$1"'), ("array", "[$1]"), ("object", "{$1}")):
        if kind in types:
            return text
    return "$1"


def _choices(known: OpenDocument, place: Place) -> Iterator[Completion]:
    if known.walk is None:
        return
    for value in known.walk.choices(known.walk.at(place.tokens)):
        if isinstance(value, str):
            yield _string(place, value, "")
        elif not place.in_string:
            yield Completion(json.dumps(value), _VALUE, "", json.dumps(value), place.start, place.end)


def _string(place: Place, value: str, detail: str, kind: str = _VALUE) -> Completion:
    text = json.dumps(value, ensure_ascii=False)
    return Completion(value, kind, detail, text[1:-1] if place.in_string else text, place.start, place.end)


def _named(known: OpenDocument, place: Place) -> Iterator[Completion]:
    """Ids from the catalog and from the workflow itself."""
    if not known.is_workflow or not place.tokens:
        return
    catalog = known.setup.settings.catalog
    last = place.tokens[-1]
    parent = place.tokens[-2] if len(place.tokens) > 1 else ""
    tables: list[tuple[bool, Any]] = [
        (last == "contractRef", catalog.workflow_contracts.values()),
        (parent == "features" or (last == "id" and "features" in place.tokens), catalog.features.values()),
        (last == "refId", catalog.refs.values()),
    ]
    for applies, entries in tables:
        if applies:
            yield from (_string(place, entry.id, entry.title) for entry in entries)
    if last == "templateId":
        for ident, routine in catalog.templates.items():
            yield _string(place, ident, str(routine.definition.get("name", "")))
    if last in ("stepId", "body") or parent == "body":
        yield from (_string(place, ident, "step") for ident in step_ids(known))
    if parent == "assessmentRefs":
        listed = known.value.get("assessments") if isinstance(known.value, dict) else None
        for item in listed if isinstance(listed, list) else ():
            if isinstance(item, dict) and isinstance(item.get("id"), str):
                yield _string(place, item["id"], str(item.get("purpose", "assessment")))
    if last in ("var", "items", "countVar"):
        yield from (_string(place, name, detail, _VARIABLE) for name, detail in _variables(known))
    yield from _condition_values(known, place)


def _variables(known: OpenDocument, *, dotted: bool = False) -> Iterator[tuple[str, str]]:
    """The variables of a workflow, with where each is set."""
    analysis = known.analysis
    if analysis is None:
        return
    names = set(analysis.by_name) | {name for facts in analysis.loops.values() for name in facts.variables}
    for name in sorted(names | ({"goal"} if dotted else set())):
        setters = [analysis.steps[made.step].id for made in analysis.definitions(name) if made.step is not None]
        domain = analysis.domain(name)
        values = "" if domain is None else f"; {', '.join(map(json.dumps, domain.values))}"
        where = f"set in {setters[0]}" if setters else "given by the engine" if analysis.is_given(name) else "never set"
        yield name, f"{where}{values}"


def _condition_values(known: OpenDocument, place: Place) -> Iterator[Completion]:
    """The values that the compared variable can have."""
    comparison = place.tokens[:-1]
    if len(place.tokens) > 1 and place.tokens[-1].isdecimal() and place.tokens[-2] == "in":
        comparison = place.tokens[:-2]
    elif place.tokens[-1] not in ("equals", "not_equals", "contains"):
        return
    condition = known.at(comparison)
    name = condition.get("var") if isinstance(condition, dict) else None
    domain = known.analysis.domain(name) if known.analysis is not None and isinstance(name, str) else None
    for value in () if domain is None else domain.values:
        if isinstance(value, str):
            yield _string(place, value, f"value of {name}")
        elif not place.in_string:
            text = json.dumps(value)
            yield Completion(text, _VALUE, f"value of {name}", text, place.start, place.end)


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
_STEPS: dict[str, tuple[str, dict[str, Any]]] = {
    "step": ("a step", _STEP),
    "loop with a decision": ("repeats until the agent decides to stop", _LOOP),
    "gated step": ("a person confirms it", {**_STEP, "requireConfirmation": {"kind": "human_approval"}}),
}


def _snippets(known: OpenDocument, place: Place) -> Iterator[Completion]:
    is_step = len(place.tokens) in (2, 4) and place.tokens[0] == "steps" and place.tokens[-1].isdecimal()
    if known.is_workflow and is_step and not place.in_string:
        for label, (detail, step) in _STEPS.items():
            yield Completion(label, _SNIPPET, detail, json.dumps(step, indent=2), place.start, place.end, True)
