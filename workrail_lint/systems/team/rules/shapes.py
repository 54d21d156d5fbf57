"""Violations of a schema in words: one description for every kind of document and every keyword."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from workrail_lint.base.js import json_text, members_of, objects_of
from workrail_lint.documents.operations import Rename, Replace
from workrail_lint.documents.pointer import child, decode
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.documents.yaml_reader import YamlDocument
from workrail_lint.findings import Fix, Severity, safe
from workrail_lint.rules.describing import ANY, Description
from workrail_lint.systems.team import edits
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.roles import known_artifacts
from workrail_lint.systems.team.rules.base import (
    AcceptanceDocument,
    Backlog,
    Document,
    HistoryDocument,
    OutputDocument,
    StatusDocument,
    TeamRule,
)
from workrail_lint.systems.team.vocabulary import SAME, AgentName, is_text
from workrail_lint.systems.team.wording import set_and_suggestion, shown, suggestion, type_name

_TYPES = {
    "string": "a string",
    "array": "a list",
    "object": "an object",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "null": "null",
}
# The form of a value that has one, by the member it is in, or by the definition and the member.
_FORMS = {
    "session": "a date and 2 to 4 words, as in 2026-03-01_add-login",
    "Task/id": "the form T-001",
    "Criterion/id": "AC-001 or AC-LOGIN-001",
    "ResearchOption/id": "OPT- and a number, such as OPT-1",
    "id": "an id such as T-001, or meta",
    "task_id": "meta",
    "recommended_task_id": "an id such as T-001, or meta",
    "answer": "changes-requested: and what to change",
    **dict.fromkeys(
        ("at", "last_update", "asked_at", "resolved_at", "copilot_checked_at"),
        "a date-time such as 2026-03-01T10:00:00Z",
    ),
}
_SHORT = 6  # a set of so many words is shown as a whole
_SYNONYMS = {"feature": "feat", "bugfix": "fix", **{agent.file_name: agent.value for agent in AgentName}}
_HINTS = {
    "acceptance_criteria": '; write a list such as [{"id": "AC-001", "description": "...", "verify": "npm test"}]',
    "tasks": "; write a list of tasks, each with id, status, goal and acceptance_checks",
    "depends_on": "; write [] if it depends on nothing",
    "verify": "; write a command, or 'manual: ' and a step",
    "acceptance_checks": '; write a list such as ["cmd: npm test"]',
    "next": "; write an object with recommended_agent, recommended_task_id and reason",
    "gates": "; write an object with meets_definition_of_done, needs_review, needs_tests and security_concerns",
    "repo_state": "; write an object with branch and ci_status",
}


class ShapeRule(TeamRule):
    """A rule about the schema of one kind of document. Rules that describe a certain violation come first."""

    kind: ClassVar[TeamKind]
    describes = ((ANY,),)

    def describe(self, violation: Violation, document: Document) -> Description | None:
        return shape_problem(violation, document) if document.kind is self.kind else None


def shape_problem(violation: Violation, document: Document) -> Description | None:
    """Return what is wrong with a member: missing, unknown, blank, of another type or form."""
    name, value, tokens = violation.member, violation.value, decode(violation.pointer)
    is_unset = value is None and violation.shape == "CorrectionStatus"
    if is_unset or name == "old_path" or _is_foreign(tokens, document):
        return None  # allowed, or for a rule about the role
    owner = _owner(violation, document)
    of_owner = f" of {owner}" if owner else ""
    is_item = bool(tokens) and tokens[-1].isdecimal()
    match violation.keyword:
        case "required" if (other := _only_list(name, document)) is not None:
            fix = safe(f"rename it to {name}", Rename(child("", other), name))
            return Description(f"'{name}' is missing; {shown(other)} is not read", fix, pointer=child("", other))
        case "required":
            return Description(f"'{name}' is missing{f' from {owner}' if owner else ''}{_HINTS.get(name, '')}")
        case "additionalProperties":
            return Description(f"unknown field '{name}'{of_owner}{suggestion(name, violation.expected)}", on_name=True)
        case "minItems":
            return Description(f"'{name}'{of_owner} is empty{_HINTS.get(name, '')}")
        case "minimum" | "maximum":
            return Description(f"'{name}'{of_owner} must be {_range(name)}, not {shown(value)}")
        case "type" if value is None and not is_item and isinstance(document, Backlog | AcceptanceDocument):
            return Description(f"'{name}' is missing{f' from {owner}' if owner else ''}{_HINTS.get(name, '')}")
        case "type" if violation.expected == ("integer",):
            return Description(f"'{name}'{of_owner} must be {_range(name)}, not {shown(value)}")
        case "type" if is_item:
            wanted = _in_words(violation.expected, plural=True)
            return Description(f"'{name}'{of_owner} must contain {wanted}, not {shown(value)}")
        case "type":
            wanted = _in_words(violation.expected)
            if violation.expected == ("array",) and violation.schema.get("items", {}).get("type") == "string":
                wanted = "a list of strings"
            return Description(
                f"'{name}'{of_owner} must be {wanted}, not {type_name(value)}", _wrapped(violation, document)
            )
        case "enum" | "const":
            known = violation.expected if violation.keyword == "enum" else [violation.expected]
            return _unknown_value(violation, document, known, of_owner)
    if violation.keyword != "pattern":
        return None  # duplicates and forbidden members have rules of their own
    if not is_text(value):
        return Description(f"'{name}'{of_owner} is empty")
    if name == "recommended_task_id" and value == SAME:
        return None
    if tokens[:1] == ["retry_counts"]:
        return Description(f"{shown(value)} is not a task id; use T-001 or meta", on_name=True)
    form = _FORMS.get(f"{violation.shape}/{name}") or _FORMS.get(name)
    level = Severity.WARNING if violation.shape == "Criterion" and name == "id" else None
    message = f"{shown(value)} is not a valid '{name}'{of_owner}; use {form}"
    return None if form is None else Description(message, severity=level)


def _only_list(name: str, document: Document) -> str | None:
    """Return the member that holds the criteria under another name: the only list of objects."""
    if name != "acceptance_criteria" or not isinstance(document, AcceptanceDocument):
        return None
    others = [key for key, value in members_of(document.value).items() if objects_of(value)]
    return others[0] if len(others) == 1 else None


def _unknown_value(violation: Violation, document: Document, known: Iterable[str], of_owner: str) -> Description:
    value, words = violation.value, [str(word) for word in known]
    meant = _meant(value, words)
    short = set_and_suggestion if len(words) <= _SHORT else suggestion
    near = f"; did you mean '{meant}'?" if meant is not None else short(value, words)
    fix = None if meant is None else _replaced(document, violation.pointer, meant)
    return Description(f"unknown value {shown(value)} for '{violation.member}'{of_owner}{near}", fix)


def _meant(value: object, words: list[str]) -> str | None:
    """Return the word that differs only in case, `-` or `_`, or is known by another name."""
    if type(value) is not str:
        return None
    folded = value.casefold().replace("_", "-")
    other = _SYNONYMS.get(folded)
    return next((word for word in words if word == other or word.casefold().replace("_", "-") == folded), None)


def _replaced(document: Document, pointer: str, word: str) -> Fix | None:
    title = f"replace with {word}"
    if isinstance(document.reader, YamlDocument):
        return edits.respell(title, document.reader, pointer, word)
    return safe(title, Replace(pointer, word))


def _wrapped(violation: Violation, document: Document) -> Fix | None:
    """Return the fix for a single string in the place of a list."""
    value, title = violation.value, "wrap it in a list"
    if violation.expected != ("array",) or not is_text(value):
        return None
    if isinstance(document, Backlog):
        return edits.replace(title, document.reader, violation.pointer, f"[{json_text(value)}]")
    return safe(title, Replace(violation.pointer, [value])) if isinstance(document, OutputDocument) else None


def _is_foreign(tokens: list[str], document: Document) -> bool:
    """Return whether a place is in an artifact that the role does not have."""
    if not isinstance(document, OutputDocument) or tokens[:1] != ["artifacts"] or len(tokens) == 1:
        return False
    is_option = tokens[1] == "options" and document.agent is not AgentName.RESEARCHER
    return is_option or tokens[1] not in known_artifacts(document.agent)


def _owner(violation: Violation, document: Document) -> str:
    """Return whose member it is, in the words of the reader."""
    path = decode(violation.pointer)
    if violation.keyword != "required" and path:
        path = path[:-2] if path[-1].isdecimal() else path[:-1]
    if isinstance(document, HistoryDocument):
        return f"line {int(path[0]) + 1}" if path else ""
    if len(path) > 1 and path[1].isdecimal():
        index = int(path[1])
        if isinstance(document, Backlog):
            return document.by_index[index].label
        if isinstance(document, StatusDocument):
            return next(each.label for each in document.decisions if each.index == index)
        if isinstance(document, AcceptanceDocument):
            return f"criterion {index}"
    return "/".join(path[1:] if path[:1] == ["artifacts"] and len(path) > 1 else path)


def _in_words(expected: Iterable[str], *, plural: bool = False) -> str:
    if plural:
        return " or ".join(_TYPES[name].removeprefix("a ").removeprefix("an ") + "s" for name in expected)
    return " or ".join(_TYPES[name] for name in expected)


def _range(name: str) -> str:
    return "0 to 3" if name.startswith("FIX_") else "a whole number from 0"
