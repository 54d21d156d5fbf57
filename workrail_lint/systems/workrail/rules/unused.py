"""RF: declarations that are never used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Remove
from workrail_lint.findings import Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.compiler.bindings import PREFIX, TOKEN
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import author_text
from workrail_lint.systems.workrail.rules.samples import step, workflow

_WORD = Pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_ALMOST_TOKEN = Pattern(rf"\{{\{{[{js.WHITESPACE_CLASS}]*wr\.bindings\.([^{js.WHITESPACE_CLASS}{{}}]+)", re.IGNORECASE)
_FEW = 20  # tokens with an unknown slot; among more, none is suggested


class AssessmentUnused(WorkflowRule):
    code = "RF012"
    name = "assessment-unused"
    severity = Severity.WARNING
    origin = "spec"
    summary = "An assessment is declared, but no step refers to it."
    why = "The agent is never asked for it, so a check that seems to exist does not."
    needs = frozenset({"assessments"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        used = {ref for found in workflow.all_steps for ref in _strings(found.step.get("assessmentRefs"))}
        for index, assessment in enumerate(_list(workflow.definition.get("assessments"))):
            ident = assessment.get("id") if isinstance(assessment, dict) else None
            if isinstance(ident, str) and ident not in used:
                report(
                    f"/assessments/{index}/id",
                    f"no step refers to the assessment {quoted(ident)}; add it to `assessmentRefs` or remove it",
                )

    def examples(self) -> Iterator[Example]:
        dimension = {"id": "coverage", "purpose": "How much was read.", "levels": ["low", "high"]}
        assessment = {"id": "depth", "purpose": "How deep the work went.", "dimensions": [dimension]}
        yield Example(
            workflow(step(), assessments=[assessment]),
            workflow(
                step(prompt="Rate the depth in a wr.assessment artifact.", assessmentRefs=["depth"]),
                assessments=[assessment],
            ),
        )


class FunctionUnused(WorkflowRule):
    code = "RF013"
    name = "function-unused"
    severity = Severity.INFO
    origin = "product"
    summary = "A function is defined, but nothing calls, references or mentions it."
    why = "The definition is hashed and reviewed with the workflow, but the agent never sees it."
    needs = frozenset({"functionDefinitions"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        definitions = list(_functions(workflow))
        unused = {name for name, _, _ in definitions}.difference(
            name for found in workflow.all_steps for name in _called(found.step)
        )
        if not unused:
            return
        unused = {name for name in unused if not _has_word(author_text(workflow), name)}
        # One definition may use another, but its own name in its text does not count as a use.
        mentions = Counter(word for _, _, body in definitions for word in _words(body)) if unused else Counter()
        for name, pointer, body in definitions:
            if name in unused and mentions[name] == (name in _words(body)):
                report(pointer, f"nothing uses the function {quoted(name)}; call it or remove it")

    def examples(self) -> Iterator[Example]:
        functions = [{"name": "score", "definition": "Rate it from 1 to 5."}]
        yield Example(
            workflow(functionDefinitions=functions),
            workflow(step(functionCalls=[{"name": "score", "args": {}}]), functionDefinitions=functions),
        )


def _has_word(text: str, name: str) -> bool:
    """Whether a name is one of the words of a text, without taking the text apart."""
    at = text.find(name)
    while at >= 0:
        end, before = at + len(name), at - 1
        while before >= 0 and "0" <= text[before] <= "9":
            before -= 1  # a word starts after digits
        if not (end < len(text) and _in_word(text[end])) and not (before >= 0 and _in_word(text[before])):
            return _WORD.fullmatch(name) is not None
        at = text.find(name, at + 1)
    return False


def _in_word(char: str) -> bool:
    return char == "_" or (char.isascii() and char.isalnum())


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text))


def _functions(workflow: WorkflowContext) -> Iterator[tuple[str, str, str]]:
    """Every definition at any level: name, place of the name, text."""
    holders = [(workflow.definition, "")] + [(found.step, found.pointer) for found in workflow.all_steps]
    for holder, pointer in holders:
        for index, item in enumerate(_list(holder.get("functionDefinitions"))):
            name = item.get("name") if isinstance(item, dict) else None
            if isinstance(name, str):
                text = item.get("definition")
                place = f"{pointer}/functionDefinitions/{index}/name"
                yield name, place, text if isinstance(text, str) else ""


def _called(data: dict[str, Any]) -> Iterator[str]:
    for call in _list(data.get("functionCalls")):
        if isinstance(call, dict) and isinstance(call.get("name"), str):
            yield call["name"]
    for reference in _strings(data.get("functionReferences")):
        yield reference.removesuffix("()")


def _called_prompts(workflow: WorkflowContext) -> Iterator[str]:
    """The prompts of the routines that are called: their tokens are resolved with the slots of the caller."""
    for found in workflow.all_steps:
        call = found.step.get("templateCall")
        routine = workflow.catalog.templates.get(call.get("templateId", "")) if isinstance(call, dict) else None
        for inner in routine.steps if routine is not None else ():
            if isinstance(inner.get("prompt"), str):
                yield inner["prompt"]


def _misspelled(texts: list[str]) -> dict[str, str]:
    """The slots of tokens that are misspelled with spaces, capital letters or a missing end; each with its token."""
    found = (match for text in texts if "{{" in text for match in _ALMOST_TOKEN.finditer(text))
    return {match[1].lower(): match[0] for match in found}


class ExtensionPointUnused(WorkflowRule):
    code = "RF014"
    name = "extension-point-unused"
    severity = Severity.WARNING
    origin = "product"
    summary = "An extension point is declared, but no token uses it."
    why = "A project that binds the slot expects something to change, but nothing does."
    fix = "Remove the declaration, unless a token with an unknown slot may mean this one."
    fix_safety = "unsafe"
    needs = frozenset({"extensionPoints"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        points = _list(workflow.definition.get("extensionPoints"))
        texts = [text.text for found in workflow.all_steps for text in found.texts]
        tokens = [match[1] for text in texts for match in TOKEN.finditer(text)]
        called = list(_called_prompts(workflow))
        used = {*tokens, *(match[1] for text in called for match in TOKEN.finditer(text))}
        # A token that is unfinished, has an unknown slot, or is in a step too broken to be read may mean this one.
        all_understood = len(tokens) >= workflow.document.text.count(PREFIX)
        slots = [point.get("slotId") if isinstance(point, dict) else None for point in points]
        strays = used.difference(slot for slot in slots if isinstance(slot, str))
        misspelled = _misspelled([*texts, *called])
        for index, slot in enumerate(slots):
            if not isinstance(slot, str) or slot in used:
                continue
            # Removing the last one removes the whole member, not leaving an empty list.
            place = "/extensionPoints" if len(points) == 1 else f"/extensionPoints/{index}"
            meant = misspelled.get(slot) or (nearest(slot, strays) if len(strays) <= _FEW else None)
            name = quoted(slot)[1:-1]
            advice = (
                f"correct {quoted(meant)}, which may mean it"
                if meant
                else f"use {{{{wr.bindings.{name}}}}}, or remove the slot"
            )
            report(
                f"/extensionPoints/{index}/slotId",
                f"no prompt uses the slot {quoted(slot)}; {advice}",
                # A token that means the slot must be corrected, and needs the declaration.
                fix=unsafe("remove the extension point", Remove(place))
                if all_understood and not strays and not meant
                else None,
            )

    def examples(self) -> Iterator[Example]:
        points = [
            {"slotId": "final_check", "purpose": "Checks the result.", "default": "routine-check"},
            {"slotId": "first_look", "purpose": "Looks around.", "default": "routine-look"},
        ]
        used = step(prompt="Run {{wr.bindings.final_check}} on the result.")
        good = workflow(used, extensionPoints=points[:1])
        yield Example(workflow(used, extensionPoints=points), good, good)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _strings(value: object) -> list[str]:
    return [item for item in _list(value) if isinstance(item, str)]
