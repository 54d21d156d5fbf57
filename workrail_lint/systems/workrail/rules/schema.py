"""SY, SC: the file and its JSON, and the schema.

The reader reports what is wrong with the text; only the rules about numbers check the spelling of each again. The rules
about the schema describe violations that nothing more specific is known about, and those of whole steps.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.suggest import did_you_mean, nearest
from workrail_lint.base.wording import quoted
from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.json_reader import MAX_BYTES, MAX_DEPTH, NumberLexeme
from workrail_lint.documents.operations import Remove, Rename, Replace, Respell
from workrail_lint.documents.schema.engine import Violation, compile_schema
from workrail_lint.documents.schema.messages import message_of, nearest_member, outside_set, shown
from workrail_lint.findings import Finding, Fix, Phase, Severity, safe, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import ANY, Description
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import text_at
from workrail_lint.systems.workrail.rules.rule_needs import ODD_NUMBERS
from workrail_lint.systems.workrail.rules.samples import controlled_loop, loop, parallel, step, workflow
from workrail_lint.systems.workrail.step_place import (
    STEP_SHAPES,
    StepPlace,
    choices,
    elsewhere,
    is_list_of_strings,
    other_step_shapes,
)

_LONGEST_SHOWN = 40


class _FileRule(WorkflowRule):
    """A rule about the text of a file; a part of an example is the text, or what is replaced in a valid one."""

    def document(self, part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        condition = {"var": "round", "equals": 3}
        steps = [{}, {"id": "last-step", "runCondition": condition}]
        text = json.dumps(super().document({"steps": steps}), indent=2) + "\n"
        for old, new in part.items():
            text = text.replace(old, new)
        return text


class FileNotReadable(_FileRule):
    code = "SY001"
    name = "file-not-readable"
    severity = Severity.ERROR
    origin = "load"
    summary = "The file does not exist, is not a regular file, or can't be read."
    why = "The engine silently skips a file that it can't read, so the workflow is missing at run time."

    def examples(self) -> Iterator[Example]:
        text = self.document({})
        yield Example(text, text, options={"missing": True})


class FileTooLarge(_FileRule):
    code = "SY002"
    name = "file-too-large"
    severity = Severity.ERROR
    origin = "load"
    summary = f"The file has more than {MAX_BYTES:,} bytes."
    why = "The engine silently skips larger files, so the workflow can't be found by its id."

    def examples(self) -> Iterator[Example]:
        text = self.document({})
        yield Example(text + " " * MAX_BYTES, text)


class JsonSyntax(_FileRule):
    code = "SY004"
    name = "json-syntax"
    severity = Severity.ERROR
    origin = "load"
    summary = "The file is not valid JSON with one object."
    why = "The engine can't use any part of the file. The message says what was expected and where."
    bad: ClassVar[Any] = (
        {'"demo.example"': "demo"},
        " \n",
        {'"equals": 3': '"equals": NaN'},
        "[]\n",
    )


class JsonBom(_FileRule):
    code = "SY005"
    name = "json-bom"
    severity = Severity.ERROR
    origin = "load"
    summary = "The file starts with a byte order mark (U+FEFF)."
    why = "JSON does not allow one; the engine rejects the file with an error that no editor shows."
    fix = "Remove the mark."
    fix_safety = "safe"
    bad = {'{\n  "id"': '\ufeff{\n  "id"'}


class JsonInvalidUtf8(_FileRule):
    code = "SY006"
    name = "json-invalid-utf8"
    severity = Severity.ERROR
    origin = "product"
    summary = "The file is not encoded in UTF-8."
    why = "The engine silently replaces what it can't decode with U+FFFD, so the agent reads a damaged prompt."

    def examples(self) -> Iterator[Example]:
        text = self.document({})
        yield Example(text.encode().replace(b"A step", b"A st\xffep"), text)


class JsonComment(_FileRule):
    code = "SY007"
    name = "json-comment"
    severity = Severity.ERROR
    origin = "load"
    summary = "The file contains a comment."
    why = "JSON has no comments; the engine rejects the whole file."
    fix = "Remove the comment, unless that would join two words or numbers."
    fix_safety = "safe"
    bad = {'"version": "1.0.0",': '"version": "1.0.0", /* bump me */'}
    fixed = {'"version": "1.0.0",': '"version": "1.0.0", '}


class JsonTrailingComma(_FileRule):
    code = "SY008"
    name = "json-trailing-comma"
    severity = Severity.ERROR
    origin = "load"
    summary = "A comma comes before a closing bracket."
    why = "JSON does not allow a trailing comma; the engine rejects the whole file."
    fix = "Remove the comma."
    fix_safety = "safe"
    bad = {'"equals": 3': '"equals": 3,'}


class JsonDuplicateKey(_FileRule):
    code = "SY010"
    name = "json-duplicate-key"
    severity = Severity.ERROR
    origin = "product"
    summary = "An object has two members with the same name."
    why = "The last one silently wins: what the author reads first is not what runs."
    fix = "Remove the members without effect, unless their position decides an order that the agent sees."
    fix_safety = "safe"
    bad = {'"name": "Example workflow"': '"name": "Old name",\n  "name": "Example workflow"'}


class JsonTooDeep(_FileRule):
    code = "SY011"
    name = "json-too-deep"
    severity = Severity.ERROR
    origin = "product"
    summary = f"Values are nested more than {MAX_DEPTH} levels deep."
    why = "No workflow needs that, and tools that read it recursively run out of stack; the engine does a bit later."
    bad = {'"equals": 3': '"equals": ' + "[" * MAX_DEPTH + "]" * MAX_DEPTH}


class NumberPrecisionLoss(_FileRule):
    code = "SY013"
    name = "number-precision-loss"
    severity = Severity.WARNING
    origin = "product"
    summary = "An integer has more digits than a double can represent."
    why = "The engine stores numbers as doubles. It compares and hashes the nearest one, not this one."
    fix = "Write the value that the engine uses."
    needs = frozenset({ODD_NUMBERS})
    bad = {'"equals": 3': '"equals": 9007199254740993'}
    good = {'"equals": 3': '"equals": 9007199254740992'}

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.document.odd_numbers

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for number in workflow.document.numbers():
            if loses_precision(number):
                used = js.number_text(number.value)
                fix = unsafe(f"write {used}", Respell(number.start, number.end, used))
                message = f"{_shown(number)} can't be represented exactly; the engine uses {used}"
                report(number.pointer, message, fix=fix)


class NumberNotFinite(_FileRule):
    code = "SY014"
    name = "number-not-finite"
    severity = Severity.ERROR
    origin = "runtime"
    summary = "A number is too large for a double and becomes infinity."
    why = "Infinity has no canonical form, so the workflow can't be hashed and a run can't be pinned to it."
    needs = frozenset({ODD_NUMBERS})
    bad = {'"equals": 3': '"equals": 1e400'}
    good = {'"equals": 3': '"equals": 1e+40'}

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.document.odd_numbers

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        # Where a number is expected the schema already rejects infinity.
        rejected = {finding.pointer for finding in workflow.earlier if finding.phase is Phase.SCHEMA}
        for number in workflow.document.numbers():
            if math.isinf(number.value) and number.pointer not in rejected:
                message = f"{_shown(number)} is too large for a double, so the workflow can't be hashed; reduce it"
                report(number.pointer, message)


class NumberNoncanonical(_FileRule):
    code = "SY015"
    name = "number-noncanonical"
    severity = Severity.INFO
    origin = "product"
    summary = "A number is not in its canonical form."
    why = "The same value in two spellings looks like a change in reviews and hides that the hashes are equal."
    fix = "Write the canonical spelling."
    fix_safety = "safe"
    needs = frozenset({ODD_NUMBERS})
    bad = {'"equals": 3': '"equals": 1e3'}
    good = {'"equals": 3': '"equals": 1000'}

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.document.odd_numbers

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for number in workflow.document.numbers():
            if math.isinf(number.value) or loses_precision(number):
                continue
            canonical = js.number_text(number.value)
            if canonical != number.lexeme:
                fix = safe(f"write {canonical}", Respell(number.start, number.end, canonical))
                report(number.pointer, f"{_shown(number)} is not canonical JSON; write {canonical}", fix=fix)


def loses_precision(number: NumberLexeme) -> bool:
    """Return whether an integer differs from the double that it is read as. Rounding a fraction is normal.

    The canonical spelling of a large double is rounded too, and there is no better one to write.
    """
    lexeme = number.lexeme
    if len(lexeme) < 16 or not lexeme.lstrip("-").isdigit() or math.isinf(number.value):
        return False
    return int(lexeme) != int(number.value) and js.number_text(number.value) != lexeme


def _shown(number: NumberLexeme) -> str:
    lexeme = number.lexeme
    return lexeme if len(lexeme) <= _LONGEST_SHOWN else f"{lexeme[: _LONGEST_SHOWN - 1]}…"


_CONNECTIVES = ("and", "or", "not")
_COMPOSITIONS = ("Composition", "AllCriteria", "AnyCriteria", "NotCriteria")
_SOURCE_FORMS = (
    'write `{"kind": "artifact_contract", "contractRef": …, "loopId": …}` or '
    '`{"kind": "context_variable", "condition": …}`'
)


class SchemaRule(WorkflowRule):
    """A rule about keywords of the schema, wherever they are."""

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        return Description.of(message_of(violation, place))


_STRING_MEMBERS = frozenset(
    ("id", "name", "title", "prompt", "description", "about", "version", "agentRole", "purpose")
)


class SchemaUnknownMember(SchemaRule):
    code = "SC001"
    name = "schema-unknown-member"
    severity = Severity.ERROR
    origin = "schema"
    summary = "An object has an unknown member."
    why = "The engine rejects unknown members, because a misspelled one would otherwise be ignored silently."
    fix = "Rename the member if exactly one known name is close to it."
    describes = ((ANY, "additionalProperties"),)

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        name, subject = violation.member, f"{shown(violation.member)}{place.inside}"
        home = elsewhere(name, violation.shape)
        if home is not None:
            return Description(f"unknown field {subject}; it belongs {home}", on_name=True)
        if violation.shape in _COMPOSITIONS:
            return Description(f"unknown member {subject}; a composition has only one of and, or, not", on_name=True)
        if violation.shape == "ValidationRule" and name in _CONNECTIVES:
            message = "a list can only contain plain rules; make `validationCriteria` itself the composition"
            return Description(f"{subject}: {message}", on_name=True)
        return super().describe(violation, place)

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        name, value = finding.suggestion, _value(workflow.definition, finding.pointer)
        # Under its right name the value must have the right type too.
        if name is None or (name in _STRING_MEMBERS and not isinstance(value, str)):
            return None
        return unsafe(f"rename it to {quoted(name)}", Rename(finding.pointer, name))

    def examples(self) -> Iterator[Example]:
        good = workflow(step())
        yield Example(workflow({"id": "first-step", "titel": "A step", "prompt": "Describe what you see."}), good, good)


class SchemaMissingMember(SchemaRule):
    code = "SC002"
    name = "schema-missing-member"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A required member is missing."
    why = "The engine rejects the workflow; required members have no default."
    describes = ((ANY, "required"), (ANY, "anyOf"))
    bad = {"title": ...}


# How a member is written, for one of a wrong type.
_FORMS = {
    "outputContract": '{"contractRef": "wr.contracts.review_verdict"}',
    "templateCall": '{"templateId": "wr.templates.routine.ideation", "args": {}}',
    "promptBlocks": '{"goal": "…", "constraints": ["…"], "procedure": ["…"]}',
    "runCondition": '{"var": "name", "equals": "value"}',
    "condition": '{"var": "name", "equals": "value"}',
    "when": '{"var": "name", "equals": "value"}',
    "validationCriteria": '[{"type": "contains", "value": "…", "message": "…"}]',
    "requireConfirmation": '{"kind": "human_approval"}',
    "items": '"nameOfTheVariable"',
    "loop": '{"type": "for", "count": 3, "maxIterations": 3}',
    "promptFragments": '[{"id": "…", "when": {"var": "name", "equals": "value"}, "text": "…"}]',
    "verification": '{"command": "make test"}',
    "audit": '{"rubric": ["…"]}',
    "synthesis": '{"prompt": "…"}',
    "metaGuidance": '["…"]',
    "preconditions": '["…"]',
}
_OBJECTS = {"outputContract": ("contractRef", "wr.contracts."), "templateCall": ("templateId", "wr.templates.")}
_CONDITIONS = ("runCondition", "condition", "when")
_OPERATORS = {"==": "equals", "!=": "not_equals", ">=": "gte", "<=": "lte", ">": "gt", "<": "lt"}
_COMPARISON = Pattern(
    r"(?:context\.)?([A-Za-z_]\w*)\s*(==|!=|>=|<=|>|<)=?\s*('[^'\"]*'|\"[^'\"]*\"|-?\d+(?:\.\d+)?|true|false)"
)
_LONGEST_FORM = 80


def _meant_value(violation: Violation, member: str) -> Any:
    """Return the value that one of a wrong type certainly means; None where that is open."""
    value, wanted = violation.value, violation.expected
    match value:
        case str() if member in _CONDITIONS:
            return _meant_condition(value)
        case str() if member in _OBJECTS:
            name, prefix = _OBJECTS[member]
            return {name: value} if value.startswith(prefix) else None
        case "true" | "false" if "boolean" in wanted:
            return value == "true"
        case str() if {"number", "integer"}.intersection(wanted) and re.fullmatch(r"\d{1,9}", value):
            return int(value)
        case str() if is_list_of_strings(violation.schema):
            return [value] if not js.is_blank(value) else None
        case [*lines] if wanted == ("string",) and set(map(type, lines)) == {str}:
            return "\n".join(value)
    return None


def _meant_condition(text: str) -> dict[str, Any] | None:
    match = _COMPARISON.fullmatch(text.strip())
    if match is None:
        return None
    name, operator, literal = match.groups()
    value = literal[1:-1] if literal[0] in "'\"" else json.loads(literal)
    needs_number = operator not in ("==", "!=")
    is_number = literal[0] == "-" or literal[0].isdecimal()
    return {"var": name, _OPERATORS[operator]: value} if is_number or not needs_number else None


def _is_valid(meant: Any, violation: Violation, member: str) -> bool:
    """Return whether a value breaks nothing at its place; objects are written in a form that is known to be right."""
    if member in _CONDITIONS or member in _OBJECTS:
        return True
    if member.isdecimal() or member == "items":
        return False  # an item may have to differ from the others, and the items of a loop are a name
    schema = violation.schema
    if "$ref" in json.dumps(schema):
        schema = {**schema, "definitions": load_schema("workflow")["definitions"]}
    return not compile_schema(schema).violations(meant)


def _as_code(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= _LONGEST_FORM:
        return f"`{text}`"
    return "a list with this string" if text[0] == "[" else "all of it as one string"


class SchemaType(SchemaRule):
    code = "SC003"
    name = "schema-type"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A value has the wrong JSON type."
    why = 'Values are not converted: `"3"` is not a number, and `null` is not the same as a missing member.'
    fix = "Write the value in the right form where its meaning is certain."
    describes = ((ANY, "type"),)
    bad = {"guidance": "Read first."}
    good = {"guidance": ["Read first."]}

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        description = super().describe(violation, place)
        if description is None:
            return None
        meant = _meant_value(violation, place.member)
        if meant is not None and _is_valid(meant, violation, place.member):
            message = f"{description.message}; write {_as_code(meant)}"
            return description.replaced(
                message=message, fix=unsafe("write it in the right form", Replace(violation.pointer, meant))
            )
        shape = _FORMS.get(place.member) if violation.value is not None else None
        return description.replaced(message=f"{description.message}; write `{shape}`") if shape else description


class SchemaEnum(SchemaRule):
    code = "SC004"
    name = "schema-enum"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A value is not one of those allowed at its place, such as the type of a step or the kind of a gate."
    why = "The engine has no behaviour for other values and rejects the workflow."
    fix = "Write the closest allowed value; remove the type `standard` of a step."
    describes = ((ANY, "enum"), (ANY, "const"), ("GateKind", "type"))
    bad: ClassVar[Any] = (
        {"steps": [{"modelTier": "Heavy"}]},
        {"type": "standard"},
        {"requireConfirmation": {"kind": "manager"}},
        {"requireConfirmation": {"kind": "human_aproval"}},
        {"promptBlocks": {"goal": [{"kind": "html", "text": "Find the cause."}]}},
    )
    good: ClassVar[Any] = (
        {"steps": [{"modelTier": "heavy"}]},
        {},
        {"requireConfirmation": {"kind": "human_approval"}},
        {"requireConfirmation": {"kind": "human_approval"}},
        {"promptBlocks": {"goal": [{"kind": "text", "text": "Find the cause."}]}},
    )
    fixed: ClassVar[Any] = (
        {"steps": [{"modelTier": "heavy"}]},
        {},
        None,
        {"requireConfirmation": {"kind": "human_approval"}},
        None,
    )

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        match violation.shape:
            case "Step" | "BodyStep":
                value, known = violation.value, violation.expected
                meant = nearest_member(value, known) if isinstance(value, str) else None
                kinds = " or ".join(quoted(kind) for kind in known)
                hint = f"use {kinds}, or remove `type` for a standard step{did_you_mean(meant)}"
                return Description(f"unknown step type {shown(value)}; {hint}")
            case "GateKind":
                return Description.of(outside_set(violation, place, choices("GateKind")))
            case "PromptPart":
                return Description(message_of(violation, place).text)
            case _:
                return super().describe(violation, place)

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        if finding.pointer.endswith("/type") and _value(workflow.definition, finding.pointer) == "standard":
            return unsafe("remove `type`", Remove(finding.pointer))
        if "/requireConfirmation" in finding.pointer:
            return self._gate_fix(finding, workflow)
        value = finding.suggestion
        return unsafe(f"write {quoted(value)}", Replace(finding.pointer, value)) if value else None

    @staticmethod
    def _gate_fix(finding: Finding, workflow: WorkflowContext) -> Fix | None:
        pointer = finding.pointer if finding.pointer.endswith("/kind") else f"{finding.pointer}/kind"
        kind = text_at(workflow.document.value, pointer)
        suggestion = nearest(kind, choices("GateKind")) if kind is not None else None
        return unsafe(f"use {quoted(suggestion)}", Replace(pointer, suggestion)) if suggestion else None


_LOOP_VARIABLES = ("iterationVar", "itemVar", "indexVar")


class SchemaPattern(SchemaRule):
    code = "SC005"
    name = "schema-pattern"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A string does not have the required form, such as a version, a loop variable or a function reference."
    why = "Names are used in tokens and lookups, which only work for names of the documented form."
    fix = "Write the intended spelling if it is certain, such as the missing parentheses of a function reference."
    describes = ((ANY, "pattern"),)

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        if (violation.shape, violation.member) == ("Workflow", "version"):
            return self._describe_version(violation.value)
        if violation.shape == "LoopConfig" and violation.member in _LOOP_VARIABLES:
            value = shown(violation.value)
            return Description(f"{place.path} must be an identifier (letters, digits and _), not {value}")
        if violation.member != "functionReferences" or violation.shape not in STEP_SHAPES:
            return super().describe(violation, place)
        name = violation.value
        suggestion = f"{name}()" if re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name) else None
        message = f"{place.path} must be a function name followed by () ({violation.expected}), not {shown(name)}"
        return Description(message + did_you_mean(suggestion), suggestion=suggestion)

    @staticmethod
    def _describe_version(version: str) -> Description:
        message = f"version {shown(version)} is not a semantic version (MAJOR.MINOR.PATCH)"
        if re.fullmatch(r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*))?", version):
            padded = version + ".0" * (2 - version.count("."))
            return Description(message + did_you_mean(padded), suggestion=padded)
        return Description(f"{message}; write one such as 1.0.0")

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        value = finding.suggestion
        return unsafe(f"write {quoted(value)}", Replace(finding.pointer, value)) if value else None

    def examples(self) -> Iterator[Example]:
        functions = [{"name": "score", "definition": "Rate it from 1 to 5."}]
        good = workflow(step(functionReferences=["score()"]), functionDefinitions=functions)
        yield Example(workflow(step(functionReferences=["score"]), functionDefinitions=functions), good, good)
        numbered = workflow()
        yield Example({**numbered, "version": "1.0"}, numbered, {**numbered, "version": "1.0.0"})
        config = {"type": "forEach", "items": "files", "maxIterations": 2}
        listing = step("list", "Set `files` to the list of files.")
        yield Example(
            workflow(listing, {**loop(), "loop": {**config, "itemVar": "1st"}}),
            workflow(listing, {**loop(), "loop": {**config, "itemVar": "first"}}),
        )


class SchemaBounds(SchemaRule):
    code = "SC006"
    name = "schema-bounds"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A string or list is too short or too long, a list repeats an item, or a number is out of range."
    why = "The engine rejects the workflow."
    fix = "Remove a repeated item."
    describes = tuple(
        (ANY, keyword)
        for keyword in ("minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minimum", "maximum")
    )
    bad: ClassVar[Any] = (
        {"agentRole": "dev"},
        {"examples": []},
        {"metaGuidance": ["Stay in scope.", "Stay in scope."]},
        {"validatedAgainstSpecVersion": 0},
        {"steps": []},
    )
    good: ClassVar[Any] = (
        {"agentRole": "Careful senior developer"},
        {},
        {"metaGuidance": ["Stay in scope."]},
        {},
        {},
    )
    fixed: ClassVar[Any] = (
        None,
        None,
        {"metaGuidance": ["Stay in scope."]},
        None,
        None,
    )

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        if (violation.shape, violation.keyword, violation.member) == ("Workflow", "minItems", "steps"):
            return Description("the workflow has no steps; add at least one")
        described = Description.of(message_of(violation, place))
        if violation.keyword != "uniqueItems":
            return described
        return described.replaced(fix=unsafe("remove the repeated item", Remove(violation.pointer)))

    def examples(self) -> Iterator[Example]:
        yield from super().examples()
        yield Example(workflow(step(title="Look again. " * 20)), workflow(step(title="Look again")))
        goals = [f"Review change number {number}" for number in range(1, 8)]
        yield Example(workflow(examples=goals), workflow(examples=goals[:6]))


class SchemaOneOfCriteria(WorkflowRule):
    code = "SC012"
    name = "schema-one-of-criteria"
    severity = Severity.ERROR
    origin = "schema"
    summary = "Validation criteria are neither a list of rules nor one composition with `and`, `or` or `not`."
    why = (
        "The engine accepts a list of rules or a composition. With two connectives it is unclear how the parts relate. "
        "Outside engine parity a single rule is read as a list of one and reported as `design-form-construct`."
    )
    fix = "Wrap a single rule in a list."
    describes = tuple((shape, keyword) for shape in _COMPOSITIONS for keyword in ("anyOf", "additionalProperties"))

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        if violation.keyword == "anyOf":
            wanted = "a list of rules, or an object with exactly one of and, or, not"
            if "type" in violation.value:
                return Description(f"{place.subject} is a single rule; wrap it in a list")
            return Description(f"{place.subject} must be {wanted}")
        if violation.member not in _CONNECTIVES:
            return None
        subject = f"{shown(violation.member)}{place.inside}"
        return Description(f"{subject} can't be next to another connective; keep one of and, or, not", on_name=True)

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        rule: Any = _value(workflow.definition, finding.pointer)
        is_single = isinstance(rule, dict) and "type" in rule
        return unsafe("wrap the rule in a list", Replace(finding.pointer, [rule])) if is_single else None

    def examples(self) -> Iterator[Example]:
        rule = {"type": "length", "min": 200, "message": "Say more."}
        yield Example(
            workflow(step(validationCriteria={"and": [rule], "or": [rule]})),
            workflow(step(validationCriteria={"and": [rule, {"or": [rule]}]})),
        )
        good = workflow(step(validationCriteria=[rule]))
        yield Example(workflow(step(validationCriteria=rule)), good, good, options={"engine_parity": True})


class StepMemberWrongShape(WorkflowRule):
    code = "SC014"
    name = "step-member-wrong-shape"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A step has a member that belongs to another kind of step."
    why = "The member would have no effect: for example, a loop has no prompt and a parallel step no audit."
    describes = tuple((shape, "additionalProperties") for shape in STEP_SHAPES)

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        name = violation.member
        kinds = " or ".join(other_step_shapes(name, violation.shape))
        if not kinds:
            return None
        message = f"{STEP_SHAPES[violation.shape]} can't have {shown(name)}, which belongs to {kinds}"
        return Description(message, on_name=True)

    def examples(self) -> Iterator[Example]:
        yield Example(workflow({**loop(), "prompt": "Look again."}), workflow(loop()))
        yield Example(workflow(parallel(type=...)), workflow(parallel()))


class ConditionSourceShape(WorkflowRule):
    code = "SC017"
    name = "condition-source-shape"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A loop's `conditionSource` has an invalid shape."
    why = (
        "A loop reads its decision from an artifact (`artifact_contract` with a `contractRef`) or from the context "
        "(`context_variable` with a `condition`). Any other shape decides nothing."
    )
    describes = (("ConditionSource",), ("ArtifactSource",), ("ContextSource",))

    def describe(self, violation: Violation, place: StepPlace) -> Description:
        message = message_of(violation, place)
        return Description(f"{message.text}; {_SOURCE_FORMS}", on_name=message.on_name)

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(controlled_loop(conditionSource={"kind": "artifact_contract"})), workflow(controlled_loop())
        )


def _value(root: object, pointer: str) -> object:
    try:
        return pointers.resolve(root, pointer)
    except KeyError:
        return None
