"""SE: names that look alike but differ in their characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import quoted
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules import characters, samples
from workrail_lint.systems.workrail.rules.base import Text, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.facts import character_kinds
from workrail_lint.systems.workrail.rules.prose import has_braces, label
from workrail_lint.systems.workrail.rules.samples import workflow
from workrail_lint.systems.workrail.rules.unicode import code_points, respelled
from workrail_lint.systems.workrail.rules.variables import expressions
from workrail_lint.systems.workrail.rules.walk import conditions_of

_LOOP_VARIABLES = ("iterationVar", "itemVar", "indexVar", "items", "count")


def has_letters(workflow: WorkflowContext) -> bool:
    """Whether a document can contain a letter beyond ASCII, and not only the dashes and quotes of prose."""
    kinds = character_kinds(workflow)
    return characters.LETTER in kinds or characters.SURROGATE in kinds


@lru_cache(maxsize=4)
def names(workflow: WorkflowContext) -> tuple[tuple[str, str, bool], ...]:
    """The names that are looked up and not plain ASCII: the name, its place, whether it is a member's name."""
    return tuple((name, place, key) for name, place, key in _names(workflow) if not name.isascii())


def _names(workflow: WorkflowContext) -> Iterator[tuple[str, str, bool]]:
    top = workflow.definition
    for index, item in enumerate(_objects(top.get("assessments"))):
        yield from _member(item, "id", f"/assessments/{index}")
        for position, entry in enumerate(_objects(item.get("dimensions"))):
            place = f"/assessments/{index}/dimensions/{position}"
            yield from _member(entry, "id", place)
            for number, level in enumerate(_list(entry.get("levels"))):
                if isinstance(level, str):
                    yield level, f"{place}/levels/{number}", False
    for condition in conditions_of(workflow):
        yield from _member(condition.condition, "var", condition.pointer)
    for step in workflow.all_steps:
        yield from _step_names(step)


def _step_names(step: Step) -> Iterator[tuple[str, str, bool]]:
    data = step.step
    for index, ref in enumerate(_list(data.get("assessmentRefs"))):
        if isinstance(ref, str):
            yield ref, step.at("assessmentRefs", index), False
    for index, item in enumerate(_objects(data.get("assessmentConsequences"))):
        when = item.get("when")
        for member in ("anyEqualsLevel", "forAssessment") if isinstance(when, dict) else ():
            yield from _member(when, member, step.at("assessmentConsequences", index, "when"))
    loop, blocks = data.get("loop"), data.get("promptBlocks")
    for member in _LOOP_VARIABLES if isinstance(loop, dict) else ():
        yield from _member(loop, member, step.at("loop"))
    yield from _keys(
        blocks.get("outputRequired") if isinstance(blocks, dict) else None, step.at("promptBlocks", "outputRequired")
    )
    for index, item in enumerate(_objects(data.get("parallelDelegations"))):
        mapping, place = item.get("contextMapping"), step.at("parallelDelegations", index, "contextMapping")
        yield from _keys(mapping, place)
        for name in mapping if isinstance(mapping, dict) else ():
            yield from _member(mapping, name, place)


def _member(holder: Any, name: str, pointer: str) -> Iterator[tuple[str, str, bool]]:
    if isinstance(holder.get(name), str):
        yield holder[name], child(pointer, name), False


def _keys(value: object, pointer: str) -> Iterator[tuple[str, str, bool]]:
    for name in value if isinstance(value, dict) else ():
        yield name, child(pointer, name), True


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _objects(value: object) -> list[dict[str, Any]]:
    return [item if isinstance(item, dict) else {} for item in _list(value)]


class UnicodeNotNfc(WorkflowRule):
    code = "SE018"
    name = "unicode-not-nfc"
    severity = Severity.INFO
    origin = "product"
    summary = "A name is not in Unicode's composed form (NFC)."
    why = (
        "A letter with an accent can be one character or two. They look the same but are not equal, so a lookup with "
        "the other spelling fails."
    )
    fix = "Write the composed form."
    fix_safety = "unsafe"
    needs = frozenset({characters.LETTER, characters.SURROGATE})

    def applies(self, workflow: WorkflowContext) -> bool:
        return has_letters(workflow)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        if not names(workflow):
            return
        import unicodedata

        for name, pointer, is_key in names(workflow):
            composed = unicodedata.normalize("NFC", name)
            if composed != name:
                report(
                    pointer,
                    f"the name {quoted(name)} has separate accent characters; write it in its composed form",
                    fix=respelled("write the composed form", composed, pointer, is_key, workflow),
                    on_name=is_key,
                )

    def examples(self) -> Iterable[Example]:
        good = _conditional("pr\u00e9cis")
        yield Example(_conditional("pre\u0301cis"), good, good)


def _conditional(variable: str) -> dict[str, Any]:
    return workflow(samples.step(), samples.step("next-step", runCondition={"var": variable, "equals": True}))


class UnicodeMixedScript(WorkflowRule):
    code = "SE019"
    name = "unicode-mixed-script"
    severity = Severity.WARNING
    origin = "product"
    summary = "A name mixes Latin letters with Cyrillic or Greek ones."
    why = "Many letters of these alphabets look the same, so typing the name as it looks gives a different name."
    needs = frozenset({characters.LETTER, characters.SURROGATE})

    def applies(self, workflow: WorkflowContext) -> bool:
        return has_letters(workflow)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for name, pointer, is_key in names(workflow):
            others = _LOOK_ALIKES.findall(name)
            if others and _LATIN.search(name):
                report(
                    pointer,
                    f"the name {quoted(name)} mixes Latin letters with {code_points(''.join(others))}; "
                    "write it in one alphabet",
                    on_name=is_key,
                )

    def examples(self) -> Iterable[Example]:
        yield Example(_conditional("p\u0430th"), _conditional("path"))


_LOOK_ALIKES = Pattern("[\u0370-\u03ff\u0400-\u052f\u1f00-\u1fff]")
_LATIN = Pattern("[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f]")


class UnicodeNonAsciiToken(WorkflowRule):
    code = "SE020"
    name = "unicode-non-ascii-token"
    severity = Severity.WARNING
    origin = "product"
    summary = "A `{{…}}` token contains characters beyond ASCII."
    why = "The engine only replaces names of ASCII letters, digits and `_`; the agent sees the token literally."
    needs = characters.KINDS
    words = ("{{",)

    def applies(self, workflow: WorkflowContext) -> bool:
        return bool(character_kinds(workflow)) and has_braces(workflow)

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        if text.text.isascii() or "{{" not in text.text:
            return
        bad = [expression for expression in expressions(text.text) if not expression.isascii()]
        if bad:
            where = f"{label(step)}: " if step is not None else ""
            shown = ", ".join(quoted(f"{{{{{expression}}}}}") for expression in dict.fromkeys(bad))
            odd = "".join(char for expression in bad for char in expression if not char.isascii())
            report(text.pointer, f"{where}{shown} contains {code_points(odd)} and is never replaced; use ASCII only")

    def examples(self) -> Iterable[Example]:
        yield Example(
            workflow(samples.step(prompt="Greet {{us\u0435r}} by name.")),
            workflow(samples.step(prompt="Greet {{user}} with \u201chello\u201d.")),
        )
