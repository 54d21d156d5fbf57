"""The names in a document and everything that mentions them: steps, variables, assessments, references, other ids."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from workrail_lint.base.files import read_file
from workrail_lint.base.result import Ok
from workrail_lint.base.wording import quoted
from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.pointer import decode, encode
from workrail_lint.server import configuration
from workrail_lint.server.document import CONFIGURATION, OpenDocument
from workrail_lint.server.place import Place
from workrail_lint.systems.workrail.analysis.definitions_and_uses import AUTHORED
from workrail_lint.systems.workrail.model.workflow import Step

STEP, VARIABLE, ASSESSMENT, REFERENCE, ID = "step", "variable", "assessment", "reference", "id"
_WORD = re.compile(r"[A-Za-z_]\w*")
# Members that name a step of the same workflow, or of the workflow of a scenario.
_STEP_MEMBERS = frozenset(("body", "loopId"))
_SCENARIO_STEP_MEMBERS = frozenset(("step", "pending", "steps"))
_ASSESSMENT_MEMBERS = frozenset(("assessmentRefs", "forAssessment"))
_LOOP_VARIABLES = frozenset(("iterationVar", "itemVar", "indexVar"))
_VARIABLE_MEMBERS = _LOOP_VARIABLES | {"var", "items", "count"}
# Members with prose, which may be equal to an id by chance.
_PROSE = frozenset(("title", "name", "label", "description", "summary", "text", "goal", "prompt", "purpose"))
_IDS = ("id", "slotId", "name", "workflowId")
_PATTERNS = {
    STEP: (r"[A-Za-z0-9][A-Za-z0-9_-]*", "letters, digits, - and _"),
    VARIABLE: (r"[A-Za-z_][A-Za-z0-9_]*", "letters, digits and _, not starting with a digit"),
    ASSESSMENT: (r"[A-Za-z0-9][A-Za-z0-9_-]*", "letters, digits, - and _"),
    REFERENCE: (r"[A-Za-z0-9][A-Za-z0-9_-]*", "letters, digits, - and _"),
    ID: (r'[^\s"\\\x00-\x1f]+', "characters other than spaces, quotes and backslashes"),
}


class Name(NamedTuple):
    """A name under a cursor."""

    kind: str
    text: str


class Mention(NamedTuple):
    """A place that has the name. The definition is where it is made."""

    start: int
    end: int
    is_definition: bool


class CannotRename(Exception):  # noqa: N818 - an answer to the editor, in a sentence
    """Why a name can't be changed."""


def name_at(document: OpenDocument, place: Place, offset: int) -> Name | None:
    """Return the name that a cursor is on."""
    tokens = place.tokens
    if document.kind == "scenario":
        return _name_in_scenario(document, place)
    if place.is_name:
        last = tokens[-1] if tokens else ""
        name = document.text[place.start : place.end]
        is_variable = document.is_workflow and last in ("contextMapping", "outputRequired")
        return Name(VARIABLE, name) if is_variable and mentions(document, Name(VARIABLE, name)) else None
    value, last = document.string_at(tokens), tokens[-1] if tokens else ""
    parent = tokens[-2] if len(tokens) > 1 else ""
    if value is None:
        return None
    if not document.is_workflow:
        return _plain_id(document, tokens, value)
    if last == "id" and _is_step(tokens[:-1]):
        return Name(STEP, value)
    if value in steps_by_id(document) and (last in _STEP_MEMBERS or parent in _STEP_MEMBERS):
        return Name(STEP, value)
    if last in _ASSESSMENT_MEMBERS or parent in _ASSESSMENT_MEMBERS or _is_entry(tokens, "assessments"):
        return Name(ASSESSMENT, value)
    if _is_entry(tokens, "references"):
        return Name(REFERENCE, value)
    if last in _VARIABLE_MEMBERS:
        return Name(VARIABLE, value.partition(".")[0])
    return _name_in_text(document, offset, place)


def _name_in_text(document: OpenDocument, offset: int, place: Place) -> Name | None:
    """Return a variable or a step that a sentence names."""
    analysis = document.analysis
    begin = document.text.rfind(" ", place.start, offset) + 1 or place.start
    for match in re.finditer(r"[A-Za-z0-9_][\w-]*", document.text[begin : min(place.end, offset + 80)]):
        start, end = begin + match.start(), begin + match.end()
        if not start <= offset <= end:
            continue
        for kind in (STEP, REFERENCE):
            known = steps_by_id(document).keys() if kind == STEP else _reference_ids(document)
            if match[0] in known and any(
                each.start <= offset <= each.end for each in mentions(document, Name(kind, match[0]))
            ):
                return Name(kind, match[0])
    for match in _WORD.finditer(document.text, max(place.start, offset - 80), min(place.end, offset + 80)):
        known_variable = analysis is not None and (match[0] in analysis.by_name or match[0] in analysis.all_names)
        if match.start() <= offset <= match.end() and known_variable:
            name = Name(VARIABLE, match[0])
            if any(each.start <= offset <= each.end for each in mentions(document, name)):
                return name
    return None


def _name_in_scenario(document: OpenDocument, place: Place) -> Name | None:
    tokens = place.tokens
    if place.is_name:
        text = document.text[place.start : place.end]
        if tokens[-1:] == ("context",):
            return Name(VARIABLE, text)
        return Name(STEP, text) if tokens[-1:] == ("outputs",) else None
    value = document.string_at(tokens)
    if value is None or not tokens:
        return None
    parent = tokens[-2] if len(tokens) > 1 else ""
    if tokens[-1] in _SCENARIO_STEP_MEMBERS or parent in _SCENARIO_STEP_MEMBERS:
        return Name(STEP, value)
    return Name(VARIABLE, value) if parent == "variables" or tokens[-1] == "key" else None


def _plain_id(document: OpenDocument, tokens: tuple[str, ...], value: str) -> Name | None:
    """Return an id that an entry of this document has."""
    if tokens[-1] in _PROSE or not value:
        return None
    for at, other in _strings(document.value, ()):
        if other == value and at[-1] in ("id", "slotId"):
            return Name(ID, value)
    return None


def _is_entry(tokens: tuple[str, ...], member: str) -> bool:
    return len(tokens) == 3 and tokens[0] == member and tokens[2] == "id"


def _assessment_ids(document: OpenDocument) -> set[str]:
    return {assessment.id for assessment in document.workflow.assessments if assessment.has("id")}


def _reference_ids(document: OpenDocument) -> set[str]:
    return {reference.id for reference in document.workflow.references if reference.has("id")}


def steps_by_id(document: OpenDocument) -> dict[str, Step]:
    """Return the steps that have an id, those of loop bodies after their loop."""
    return {step.id: step for step in document.steps if step.has("id")}


def _is_step(tokens: tuple[str, ...]) -> bool:
    return len(tokens) in (2, 4) and tokens[0] == "steps" and (len(tokens) == 2 or tokens[2] == "body")


def step_at(document: OpenDocument, offset: int) -> str | None:
    """Return the id of the step that an offset is in, the inner one in a loop."""
    result = None
    for step in document.steps:
        place = document.range_of(step.pointer)
        if place is not None and place[0] <= offset <= place[1] and step.has("id"):
            result = step.id
    return result


# ------------------------------------------------------------------------------------------------------- mentions


def mentions(document: OpenDocument, name: Name) -> list[Mention]:
    """Return every place of a document that has the name, in order, each once."""
    if document.value is None:
        return []
    if document.kind == "scenario":
        occurrences = _scenario_mentions(document, name)
    else:
        of_kind: dict[str, Callable[[OpenDocument, str], Iterator[Mention]]] = {
            STEP: _step_mentions,
            VARIABLE: _variable_mentions,
            ASSESSMENT: _assessment_mentions,
            REFERENCE: _reference_mentions,
            ID: _id_mentions,
        }
        occurrences = of_kind[name.kind](document, name.text)
    unique: dict[tuple[int, int], bool] = {}
    for start, end, is_definition in occurrences:
        unique[start, end] = unique.get((start, end), False) or is_definition
    return [Mention(*span, is_definition) for span, is_definition in sorted(unique.items())]


def _step_mentions(document: OpenDocument, ident: str) -> Iterator[Mention]:
    for tokens, value in _strings(document.value, ()):
        last, parent = tokens[-1], tokens[-2] if len(tokens) > 1 else ""
        if value == ident and last == "id" and _is_step(tokens[:-1]):
            yield from _whole(document, tokens, True)
        elif value == ident and (last in _STEP_MEMBERS or parent in _STEP_MEMBERS):
            yield from _whole(document, tokens, False)
        elif last != "id":
            yield from _in_prose(document, tokens, value, ident)


def _in_prose(document: OpenDocument, tokens: tuple[str, ...], value: str, ident: str) -> Iterator[Mention]:
    """Yield a sentence names a step by its id in backticks or quotes, or by one that is no plain word."""
    if ident not in value:
        return
    word = re.compile(rf"(?<![\w.-]){re.escape(ident)}(?![\w-]|\.\w)")
    for match in word.finditer(value):
        around = value[match.start() - 1 : match.start()], value[match.end() : match.end() + 1]
        if re.search(r"[-_0-9]", ident) or around in (("`", "`"), ('"', '"'), ("'", "'")):
            yield from _part(document, tokens, match.start(), match.end(), False)


def _assessment_mentions(document: OpenDocument, ident: str) -> Iterator[Mention]:
    for tokens, value in _strings(document.value, ()):
        parent = tokens[-2] if len(tokens) > 1 else ""
        if value == ident and _is_entry(tokens, "assessments"):
            yield from _whole(document, tokens, True)
        elif value == ident and (tokens[-1] in _ASSESSMENT_MEMBERS or parent in _ASSESSMENT_MEMBERS):
            yield from _whole(document, tokens, False)
        elif tokens[-1] != "id":
            yield from _in_prose(document, tokens, value, ident)


def _reference_mentions(document: OpenDocument, ident: str) -> Iterator[Mention]:
    for tokens, value in _strings(document.value, ()):
        if value == ident and _is_entry(tokens, "references"):
            yield from _whole(document, tokens, True)
        elif tokens[-1] not in ("id", "source"):
            yield from _in_prose(document, tokens, value, ident)


def _variable_mentions(document: OpenDocument, name: str) -> Iterator[Mention]:
    analysis = document.analysis
    if analysis is None:
        return
    token = re.compile(rf"\{{\{{\s*({re.escape(name)})(?!\w)")
    for tokens, value in _strings(document.value, ()):
        if tokens[-1] in _VARIABLE_MEMBERS and value.partition(".")[0] == name:
            yield from _part(document, tokens, 0, len(name), tokens[-1] in _LOOP_VARIABLES)
        for match in token.finditer(value) if "{{" in value else ():
            yield from _part(document, tokens, match.start(1), match.end(1), False)
    for use in analysis.by_name.get(name, ()):
        place = document.range_of(use.pointer, on_name=True) if use.kind == "mapping" else None
        if place is not None:
            yield Mention(place[0] + 1, place[1] - 1, False)
    for definition in analysis.definitions(name):
        if definition.span[1] > definition.span[0]:
            yield from _span(document, definition.pointer, definition.span, name, True)
        elif tuple(decode(definition.pointer))[-1:] == (name,):  # a key of `outputRequired`
            place = document.range_of(definition.pointer, on_name=True)
            if place is not None:
                yield Mention(place[0] + 1, place[1] - 1, True)
    for mention in analysis.mentions(name):
        yield from _span(document, mention.pointer, mention.span, name, False)


def _id_mentions(document: OpenDocument, ident: str) -> Iterator[Mention]:
    for tokens, value in _strings(document.value, ()):
        if value == ident and tokens[-1] not in _PROSE:
            yield from _whole(document, tokens, tokens[-1] in ("id", "slotId"))


def _scenario_mentions(document: OpenDocument, name: Name) -> Iterator[Mention]:
    """Yield the steps and variables of its workflow that a scenario names.

    Steps of a template carry the id of the call.
    """
    ident = re.compile(rf"{re.escape(name.text)}(?=\Z|\.|__)")
    for tokens, value in _strings(document.value, ()):
        last, parent = tokens[-1], tokens[-2] if len(tokens) > 1 else ""
        if name.kind == VARIABLE:
            if value == name.text and (parent == "variables" or last == "key"):
                yield from _whole(document, tokens, False)
        elif last in _SCENARIO_STEP_MEMBERS or parent in _SCENARIO_STEP_MEMBERS:
            if ident.match(value):
                yield from _part(document, tokens, 0, len(name.text), False)
        elif parent == "goals":
            for match in re.finditer(rf"(?<=:){re.escape(name.text)}(?=:|\.|__)", value):
                yield from _part(document, tokens, match.start(), match.end(), False)
    wanted = "context" if name.kind == VARIABLE else "outputs"
    for tokens, member in _members(document.value, ()):
        if tokens[-1:] == (wanted,) and (member == name.text or (wanted == "outputs" and ident.match(member))):
            place = document.range_of((*tokens, member), on_name=True)
            if place is not None:
                yield Mention(place[0] + 1, place[0] + 1 + len(name.text), False)


def _span(
    document: OpenDocument, pointer: str, span: tuple[int, int], name: str, is_definition: bool
) -> Iterator[Mention]:
    tokens = tuple(decode(pointer))
    value = document.string_at(tokens)
    if value is not None and value[span[0] : span[1]] == name:
        yield from _part(document, tokens, *span, is_definition)


def _whole(document: OpenDocument, tokens: tuple[str, ...], is_definition: bool) -> Iterator[Mention]:
    place = document.range_of(tokens)
    if place is None:
        return
    is_quoted = document.text[place[0]] in "\"'"
    yield Mention(place[0] + is_quoted, place[1] - is_quoted, is_definition)


def _part(
    document: OpenDocument, tokens: tuple[str, ...], start: int, end: int, is_definition: bool
) -> Iterator[Mention]:
    place = document.part_of(encode(tokens), start, end)
    if place is not None:
        yield Mention(*place, is_definition)


def _strings(value: Any, tokens: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    pending = [(tokens, value)]
    while pending:
        at, item = pending.pop()
        if isinstance(item, str):
            if at:
                yield at, item
        elif isinstance(item, dict):
            pending.extend(((*at, name), each) for name, each in reversed(item.items()))
        elif isinstance(item, list):
            pending.extend(((*at, str(n)), each) for n, each in reversed([*enumerate(item)]))


def _members(value: Any, tokens: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    pending = [(tokens, value)]
    while pending:
        at, item = pending.pop()
        if isinstance(item, dict):
            yield from ((at, name) for name in item)
            pending.extend(((*at, name), each) for name, each in item.items())
        elif isinstance(item, list):
            pending.extend(((*at, str(n)), each) for n, each in enumerate(item))


# ---------------------------------------------------------------------------------------------------- other files


def related(document: OpenDocument, read: Callable[[str], OpenDocument | None]) -> Iterator[OpenDocument]:
    """Yield the workflow of a scenario; the scenarios of a workflow. `read` opens a file."""
    if document.kind == "scenario":
        target = document.string_at(("workflow",))
        if target is not None:
            other = read(os.path.normpath(os.path.join(os.path.dirname(document.path), target)))
            if other is not None:
                yield other
                yield from (each for each in related(other, read) if each.path != document.path)
    elif document.is_workflow:
        for path in document.project.scenarios:
            other = read(path)
            target = None if other is None else other.string_at(("workflow",))
            if other is None or target is None:
                continue
            if os.path.abspath(os.path.join(os.path.dirname(path), target)) == os.path.abspath(document.path):
                yield other


class Target(NamedTuple):
    """Another file, and a place in it."""

    path: str
    tokens: tuple[str, ...] | str | None = None


def file_at(document: OpenDocument, offset: int) -> Target | None:
    """Return the file that the value under a cursor names."""
    if document.kind == CONFIGURATION:
        place = configuration.suppressed_place(document.path, document.text, offset)
        return None if place is None else _place_by_ids(os.path.normpath(place[0]), place[1])
    at = document.place(offset)
    value = document.string_at(at.tokens)
    return None if at.is_name or value is None else _named_file(document, at.tokens, value)


def links(document: OpenDocument) -> Iterator[tuple[int, int, Target]]:
    """Yield the places of a document that name a file, and the file."""
    for tokens, value in _strings(document.value, ()):
        target = _named_file(document, tokens, value)
        place = None if target is None else next(_whole(document, tokens, False), None)
        if target is not None and place is not None:
            yield place.start, place.end, target


def _named_file(document: OpenDocument, tokens: tuple[str, ...], value: str) -> Target | None:
    folder, last = os.path.dirname(document.path), tokens[-1] if tokens else ""
    if document.kind == "scenario" and last in ("workflow", "catalog"):
        return Target(os.path.normpath(os.path.join(folder, value)))
    if document.is_workflow and last in ("templateId", "workflowId"):
        routine = document.project.settings.catalog.templates.get(value)
        ident = value if routine is None else routine.routine_id
        for known in document.project.workflows():
            if known.id == ident:
                return Target(known.path, ("id",))
    if document.is_workflow and last == "source" and tokens[0] == "references":
        return Target(os.path.normpath(os.path.join(document.project.settings.workspace or folder, value)))
    return None


def _place_by_ids(path: str, pointer: str) -> Target:
    """Return the place that a suppression names, with numbers where it has ids."""
    read = read_file(path)
    value: Any = read_json(read.value).value if isinstance(read, Ok) and path.endswith(".json") else None
    tokens: list[str] = []
    for token in decode(pointer) if pointer.startswith("/") else ():
        if isinstance(value, list):
            numbers = (n for n, item in enumerate(value) if isinstance(item, dict) and token in map(item.get, _IDS))
            number = str(next(numbers, token))
            value = value[int(number)] if number.isdecimal() and int(number) < len(value) else None
        else:
            number = token
            value = value.get(token) if isinstance(value, dict) else None
        if value is None:
            break
        tokens.append(number)
    return Target(path, tuple(tokens))


def everywhere(
    document: OpenDocument, name: Name, read: Callable[[str], OpenDocument | None]
) -> Iterator[tuple[OpenDocument, list[Mention]]]:
    """Yield the mentions of a name in a document and in those that are about the same workflow."""
    documents = [document]
    if name.kind in (STEP, VARIABLE):
        documents += related(document, read)
    for each in documents:
        occurrences = mentions(each, name)
        if occurrences:
            yield each, occurrences


def check_rename(document: OpenDocument, name: Name, new: str) -> None:
    """Raise `CannotRename` if the new name would mean something else, or if part of the old one can't be changed."""
    pattern, allowed = _PATTERNS[name.kind]
    if not re.fullmatch(pattern, new):
        raise CannotRename(f"{quoted(new)} can't be the name of a {name.kind}; use {allowed}")
    if new == name.text or not document.is_workflow:
        used = name.kind == ID and new != name.text and any(value == new for _, value in _strings(document.value, ()))
        if used:
            raise CannotRename(f"{quoted(new)} is already used in this document")
        return
    others = {
        STEP: set(steps_by_id(document)),
        ASSESSMENT: _assessment_ids(document),
        REFERENCE: _reference_ids(document),
        VARIABLE: set() if document.analysis is None else {*document.analysis.all_names, *document.analysis.by_name},
    }
    if new in others[name.kind]:
        raise CannotRename(f"there is already a {name.kind} {quoted(new)}")
    if name.kind == VARIABLE:
        _check_variable(document, name.text, new)


def _check_variable(document: OpenDocument, name: str, new: str) -> None:
    analysis = document.analysis
    if analysis is None:
        raise CannotRename("the workflow can't be analysed; fix its errors first")
    if analysis.is_given(name) or analysis.is_given(new):
        raise CannotRename(f"{quoted(name if analysis.is_given(name) else new)} is set by the engine")
    loop_names = {each for facts in analysis.loops.values() for each in facts.variables}
    named = {value for tokens, value in _strings(document.value, ()) if tokens[-1] in _LOOP_VARIABLES}
    if name in loop_names - named:
        raise CannotRename(f"{quoted(name)} is what the engine calls this loop variable; name it in the loop first")
    if new in loop_names:
        raise CannotRename(f"{quoted(new)} is a variable of a loop")
    origins = [use.origin for use in analysis.by_name.get(name, ())]
    origins += [setter.origin for setter in analysis.setters(name)]
    for origin in origins:
        if origin.via != AUTHORED:
            raise CannotRename(f"{quoted(name)} is also used by text of a {origin.via}, which is not in this file")
