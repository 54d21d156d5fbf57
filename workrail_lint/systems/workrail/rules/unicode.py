"""SE: characters that are invisible, or that make one string look like another.

The strings are checked one by one only if the document contains such characters at all.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import quoted
from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.nodes import numbered
from workrail_lint.documents.operations import Rename, Replace
from workrail_lint.findings import Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules.base import Text, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import expressions, has_braces, label, value_at
from workrail_lint.systems.workrail.rules.rule_needs import (
    BIDI,
    BIDI_CHARACTERS,
    CONTROL,
    INVISIBLE,
    INVISIBLE_CHARACTERS,
    KINDS,
    LETTER,
    SURROGATE,
    TAG,
    character_kinds,
)
from workrail_lint.systems.workrail.rules.samples import step, workflow
from workrail_lint.systems.workrail.rules.walk import conditions_of

_CONTROL = "\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f"
_TAGS = "\U000e0000-\U000e007f"
_SURROGATES = "\ud800-\udfff"
_NAMES = {
    0x00AD: "soft hyphen",
    0x061C: "Arabic letter mark",
    0x180E: "Mongolian vowel separator",
    0x200B: "zero width space",
    0x200C: "zero width non-joiner",
    0x200D: "zero width joiner",
    0x200E: "left-to-right mark",
    0x200F: "right-to-left mark",
    0x202A: "left-to-right embedding",
    0x202B: "right-to-left embedding",
    0x202C: "pop directional formatting",
    0x202D: "left-to-right override",
    0x202E: "right-to-left override",
    0x2060: "word joiner",
    0x2066: "left-to-right isolate",
    0x2067: "right-to-left isolate",
    0x2068: "first strong isolate",
    0x2069: "pop directional isolate",
    0xFEFF: "zero width no-break space",
}
_LISTED = 4
# Scripts whose letters are joined or kept apart by U+200C and U+200D.
_JOINING = (
    (0x0600, 0x08FF),
    (0x0900, 0x0FFF),
    (0x1000, 0x109F),
    (0x1780, 0x18AF),
    (0xA840, 0xA87F),
    (0xFB50, 0xFDFF),
    (0xFE70, 0xFEFE),
    (0x10A00, 0x11FFF),
    (0x1E900, 0x1E95F),
)


def code_points(text: str) -> str:
    """Return the distinct characters of a text by number and, if it is well known, by name."""
    distinct = list(dict.fromkeys(text))
    names = [
        f"U+{ord(char):04X} ({_NAMES[ord(char)]})" if ord(char) in _NAMES else f"U+{ord(char):04X}"
        for char in distinct[:_LISTED]
    ]
    more = len(distinct) - _LISTED
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def respelled(title: str, text: str, pointer: str, is_name: bool, workflow: WorkflowContext) -> Fix | None:
    """Return a fix that respells a string; None if the result is empty, can't be written, or is a neighbour's."""
    if not text or not _is_writable(text) or _is_taken(text, pointer, is_name, workflow.document.value):
        return None
    return unsafe(title, Rename(pointer, text) if is_name else Replace(pointer, text))


def _is_taken(text: str, pointer: str, is_name: bool, root: object) -> bool:
    """Return whether a member, an item or the id of an element beside it already has that name."""
    place = pointers.parent(pointer)
    beside = value_at(root, place)
    match beside:
        case dict() if is_name:
            return text in beside
        case [*items]:
            return text in items
    match value_at(root, pointers.parent(place)) if pointer.endswith("/id") else None:
        case [*elements]:
            return any(value_at(element, "/id") == text for element in elements)
    return False


def _is_writable(text: str) -> bool:
    return text.isascii() or not _SURROGATE.search(text)


_SURROGATE = Pattern(f"[{_SURROGATES}]")


def _prompt(text: str) -> dict[str, Any]:
    return workflow(step(prompt=text))


def _escaped(text: str) -> str:
    """Return a document as text, with everything beyond ASCII written as an escape."""
    return json.dumps(_prompt(text), indent=2) + "\n"


def _find_bidi(value: str) -> tuple[str, str]:
    bad = "".join(char for char in value if char in BIDI_CHARACTERS)
    return bad, value.translate(dict.fromkeys(map(ord, BIDI_CHARACTERS))) if bad else value


def _find_invisible(value: str) -> tuple[str, str]:
    if not any(char in value for char in INVISIBLE_CHARACTERS):
        return "", value
    invisible = (place for place, char in enumerate(value) if char in INVISIBLE_CHARACTERS)
    places = [place for place in invisible if not is_needed_joiner(value, place)]
    kept = set(places)
    return "".join(value[place] for place in places), "".join(c for i, c in enumerate(value) if i not in kept)


def _find_tags(value: str) -> tuple[str, str]:
    bad: list[str] = []

    def keep_flags(match: re.Match[str]) -> str:
        if match[1]:
            return match[0]
        bad.append(match[0])
        return ""

    cleaned = _TAGGED.sub(keep_flags, value)
    return "".join(bad), cleaned


def _find_halves(value: str) -> tuple[str, str]:
    return "".join(_SURROGATE.findall(value)), ""  # no one knows the other half


def _find_controls(value: str) -> tuple[str, str]:
    bad = "".join(_CONTROLS.findall(value))
    return bad, _CONTROLS.sub("", value) if bad else value


# What finds characters of a kind and returns the string without them, what they do, and how bad that is.
_HIDDEN = (
    (_find_bidi, "which displays the text in another order; remove it", Severity.ERROR),
    (_find_invisible, "which is invisible; remove it", Severity.WARNING),
    (_find_tags, "which spells invisible text; remove it", Severity.ERROR),
    (_find_halves, "which is half of a character; write the whole one", Severity.ERROR),
)


class UnicodeInvisible(WorkflowRule):
    code = "SE014"
    name = "unicode-invisible"
    severity = Severity.WARNING
    origin = "product"
    summary = "A string contains invisible, reordering, control or broken characters."
    why = (
        "A reviewer and the agent read different things: another order, words that no screen shows, a terminal "
        "that was overwritten. Searches and comparisons miss such words. Joiners inside emoji and scripts are fine."
    )
    fix = "Remove the characters."
    needs = frozenset({BIDI, INVISIBLE, TAG, CONTROL, SURROGATE})

    def check_string(self, value: str, pointer: str, is_name: bool, workflow: WorkflowContext, report: Report) -> None:
        for find, effect, severity in () if value.isascii() else _HIDDEN:
            self._check(*find(value), effect, severity, pointer, is_name, workflow, report)
        controls = "which can control a terminal; remove it"
        self._check(*_find_controls(value), controls, Severity.WARNING, pointer, is_name, workflow, report)

    @staticmethod
    def _check(
        bad: str,
        cleaned: str,
        effect: str,
        severity: Severity,
        pointer: str,
        is_name: bool,
        workflow: WorkflowContext,
        report: Report,
    ) -> None:
        if bad:
            what = "this name" if is_name else "this string"
            report(
                pointer,
                f"{what} contains {code_points(bad)}, {effect}",
                fix=respelled("remove the characters", cleaned, pointer, is_name, workflow),
                on_name=is_name,
                severity=severity,
            )

    def examples(self) -> Iterable[Example]:
        good = _prompt("Run the tests.")
        for bad in ("Run the te\u200bsts.", "Run\ufeff the tests.", "Run the\u202e tests."):
            yield Example(_prompt(bad), good, good)
        yield Example(_prompt("Run the tests.\U000e006f\U000e0062\U000e0065\U000e0079"), good, good)
        yield Example(_prompt("Ask the te\u200bam."), _prompt("Ask the \U0001f469\u200d\U0001f52c team."))
        escaped = _escaped("Run the tests.")
        yield Example(_escaped("Run the tests.\x07"), escaped, escaped)
        yield Example(_escaped("Be happy \ud83d today."), _escaped("Be happy \U0001f600 today."))


def is_needed_joiner(text: str, place: int) -> bool:
    """Return whether a joiner is where it is needed: in an emoji, or between letters of a joining script."""
    if text[place] not in "\u200c\u200d" or place == 0 or place + 1 >= len(text):
        return False
    before, after = text[place - 1], text[place + 1]
    if _joins(before) and _joins(after):
        return True
    return text[place] == "\u200d" and _in_emoji(before) and _in_emoji(after)


def _joins(char: str) -> bool:
    return any(low <= ord(char) <= high for low, high in _JOINING)


def _in_emoji(char: str) -> bool:
    code = ord(char)
    # U+2194 has the category of a math symbol, but is also part of the head-shaking emoji.
    return code in (0xFE0F, 0x2194) or 0x1F3FB <= code <= 0x1F3FF or unicodedata.category(char) == "So"


# A flag made of tags, or else a stretch of tags.
_TAGGED = Pattern(f"(\U0001f3f4[\U000e0020-\U000e007e]{{1,8}}\U000e007f)|[{_TAGS}]+")


_CONTROLS = Pattern(f"[{_CONTROL}]")


# ------------------------------------------------------------------------------------------------- names

_LOOP_VARIABLES = ("iterationVar", "itemVar", "indexVar", "items", "count")


def has_letters(workflow: WorkflowContext) -> bool:
    """Return whether a document can contain a letter beyond ASCII, and not only the dashes and quotes of prose."""
    kinds = character_kinds(workflow)
    return LETTER in kinds or SURROGATE in kinds


@lru_cache(maxsize=4)
def names(workflow: WorkflowContext) -> tuple[tuple[str, str, bool], ...]:
    """Return the names that are looked up and not plain ASCII: the name, its place, whether it is a member's name."""
    return tuple((name, place, key) for name, place, key in _names(workflow) if not name.isascii())


def _names(workflow: WorkflowContext) -> Iterator[tuple[str, str, bool]]:
    for assessment in workflow.model.assessments:
        yield assessment.id, assessment.at("id"), False
        for dimension in assessment.dimensions:
            yield dimension.id, dimension.at("id"), False
            for number, level in numbered(dimension.levels):
                yield level, dimension.at("levels", number), False
    for condition in conditions_of(workflow):
        yield condition.var or "", condition.at("var"), False
    for owner in workflow.all_steps:
        yield from _step_names(owner)


def _step_names(step: Step) -> Iterator[tuple[str, str, bool]]:
    if step.kind == "loop":
        config = step.loop
        variables = (config.iteration_var, config.item_var, config.index_var, config.items, config.count)
        for member, name in zip(_LOOP_VARIABLES, variables, strict=True):
            if isinstance(name, str):
                yield name, config.at(member), False
    elif step.kind == "parallel":
        for delegation in step.parallel_delegations:
            for name, inner in delegation.context_mapping.items():
                yield name, delegation.at("contextMapping", name), True
                yield inner, delegation.at("contextMapping", name), False
    else:
        for index, ref in numbered(step.assessment_refs):
            yield ref, step.at("assessmentRefs", index), False
        for consequence in step.assessment_consequences:
            yield consequence.when.any_equals_level, consequence.when.at("anyEqualsLevel"), False
            yield consequence.when.for_assessment or "", consequence.when.at("forAssessment"), False
        for name in step.prompt_blocks.output_required if step.prompt_blocks is not None else ():
            yield name, step.at("promptBlocks", "outputRequired", name), True


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
    needs = frozenset({LETTER, SURROGATE})
    bad = {"steps": [{}, {"id": "next-step", "runCondition": {"var": "pre\u0301cis", "equals": True}}]}
    good = {"steps": [{}, {"id": "next-step", "runCondition": {"var": "pr\xe9cis", "equals": True}}]}

    def applies(self, workflow: WorkflowContext) -> bool:
        return has_letters(workflow)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        if not names(workflow):
            return

        for name, pointer, is_key in names(workflow):
            composed = unicodedata.normalize("NFC", name)
            if composed != name:
                report(
                    pointer,
                    f"the name {quoted(name)} has separate accent characters; write it in its composed form",
                    fix=respelled("write the composed form", composed, pointer, is_key, workflow),
                    on_name=is_key,
                )


class UnicodeMixedScript(WorkflowRule):
    code = "SE019"
    name = "unicode-mixed-script"
    severity = Severity.WARNING
    origin = "product"
    summary = "A name mixes Latin letters with Cyrillic or Greek ones."
    why = "Many letters of these alphabets look the same, so typing the name as it looks gives a different name."
    needs = frozenset({LETTER, SURROGATE})
    bad = {"steps": [{}, {"id": "next-step", "runCondition": {"var": "p\u0430th", "equals": True}}]}
    good = {"steps": [{}, {"id": "next-step", "runCondition": {"var": "path", "equals": True}}]}

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


_LOOK_ALIKES = Pattern("[\u0370-\u03ff\u0400-\u052f\u1f00-\u1fff]")
_LATIN = Pattern("[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f]")


class UnicodeNonAsciiToken(WorkflowRule):
    code = "SE020"
    name = "unicode-non-ascii-token"
    severity = Severity.WARNING
    origin = "product"
    summary = "A `{{…}}` token contains characters beyond ASCII."
    why = "The engine only replaces names of ASCII letters, digits and `_`; the agent sees the token literally."
    needs = KINDS
    words = ("{{",)
    bad = {"prompt": "Greet {{us\u0435r}} by name."}
    good = {"prompt": "Greet {{user}} with \u201chello\u201d."}

    def applies(self, workflow: WorkflowContext) -> bool:
        return bool(character_kinds(workflow)) and has_braces(workflow)

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        if text.text.isascii() or "{{" not in text.text:
            return
        bad = [expression for expression in expressions(text.text) if not expression.isascii()]
        if bad:
            where = f"{label(step)}: " if step is not None else ""
            tokens = ", ".join(quoted(f"{{{{{expression}}}}}") for expression in dict.fromkeys(bad))
            odd = "".join(char for expression in bad for char in expression if not char.isascii())
            report(text.pointer, f"{where}{tokens} contains {code_points(odd)} and is never replaced; use ASCII only")
