"""SY: the file and its JSON, before anything is known about workflows.

The reader reports what is wrong with the text; only the rules about numbers check the spelling of each again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from workrail_lint.base import js
from workrail_lint.documents.json_reader import MAX_BYTES, MAX_DEPTH, NumberLexeme
from workrail_lint.documents.operations import Respell
from workrail_lint.findings import Phase, Severity, safe, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.facts import ODD_NUMBERS

_LONGEST_SHOWN = 40


def _text(old: str = "", new: str = "") -> str:
    """Return a valid workflow as text, with one part replaced by another that need not be JSON."""
    condition = {"var": "round", "equals": 3}
    text = json.dumps(samples.workflow(samples.step(), samples.step("last-step", runCondition=condition)), indent=2)
    return text.replace(old, new) + "\n"


class FileNotReadable(WorkflowRule):
    code = "SY001"
    name = "file-not-readable"
    severity = Severity.ERROR
    origin = "load"
    summary = "The file does not exist, is not a regular file, or can't be read."
    why = "The engine silently skips a file that it can't read, so the workflow is missing at run time."

    def examples(self) -> Iterator[Example]:
        yield Example(_text(), _text(), options={"missing": True})


class FileTooLarge(WorkflowRule):
    code = "SY002"
    name = "file-too-large"
    severity = Severity.ERROR
    origin = "load"
    summary = f"The file has more than {MAX_BYTES:,} bytes."
    why = "The engine silently skips larger files, so the workflow can't be found by its id."

    def examples(self) -> Iterator[Example]:
        yield Example(_text() + " " * MAX_BYTES, _text())


class FileEmpty(WorkflowRule):
    code = "SY003"
    name = "file-empty"
    severity = Severity.ERROR
    origin = "load"
    summary = "The file is empty or contains only white space."
    why = "It contains no workflow; usually an editor or a script was interrupted while writing it."

    def examples(self) -> Iterator[Example]:
        yield Example(" \n", _text())


class JsonSyntax(WorkflowRule):
    code = "SY004"
    name = "json-syntax"
    severity = Severity.ERROR
    origin = "load"
    summary = "The file is not valid JSON."
    why = "The engine can't use any part of the file. The message says what was expected and where."

    def examples(self) -> Iterator[Example]:
        yield Example(_text('"demo.example"', "demo"), _text())


class JsonBom(WorkflowRule):
    code = "SY005"
    name = "json-bom"
    severity = Severity.ERROR
    origin = "load"
    summary = "The file starts with a byte order mark (U+FEFF)."
    why = "JSON does not allow one; the engine rejects the file with an error that no editor shows."
    fix = "Remove the mark."
    fix_safety = "safe"

    def examples(self) -> Iterator[Example]:
        yield Example("\ufeff" + _text(), _text(), _text())


class JsonInvalidUtf8(WorkflowRule):
    code = "SY006"
    name = "json-invalid-utf8"
    severity = Severity.ERROR
    origin = "product"
    summary = "The file is not encoded in UTF-8."
    why = "The engine silently replaces what it can't decode with U+FFFD, so the agent reads a damaged prompt."

    def examples(self) -> Iterator[Example]:
        yield Example(_text().encode().replace(b"A step", b"A st\xffep"), _text())


class JsonComment(WorkflowRule):
    code = "SY007"
    name = "json-comment"
    severity = Severity.ERROR
    origin = "load"
    summary = "The file contains a comment."
    why = "JSON has no comments; the engine rejects the whole file."
    fix = "Remove the comment, unless that would join two words or numbers."
    fix_safety = "safe"

    def examples(self) -> Iterator[Example]:
        yield Example(
            _text('"version": "1.0.0",', '"version": "1.0.0", /* bump me */'),
            _text(),
            _text('"version": "1.0.0",', '"version": "1.0.0", '),
        )


class JsonTrailingComma(WorkflowRule):
    code = "SY008"
    name = "json-trailing-comma"
    severity = Severity.ERROR
    origin = "load"
    summary = "A comma comes before a closing bracket."
    why = "JSON does not allow a trailing comma; the engine rejects the whole file."
    fix = "Remove the comma."
    fix_safety = "safe"

    def examples(self) -> Iterator[Example]:
        yield Example(_text('"equals": 3', '"equals": 3,'), _text(), _text())


class JsonNonFiniteLiteral(WorkflowRule):
    code = "SY009"
    name = "json-non-finite-literal"
    severity = Severity.ERROR
    origin = "load"
    summary = "A value is NaN or Infinity, which JSON does not have."
    why = "JSON has finite numbers only. Some serializers write these words anyway; the engine rejects the file."

    def examples(self) -> Iterator[Example]:
        yield Example(_text('"equals": 3', '"equals": NaN'), _text())


class JsonDuplicateKey(WorkflowRule):
    code = "SY010"
    name = "json-duplicate-key"
    severity = Severity.ERROR
    origin = "product"
    summary = "An object has two members with the same name."
    why = "The last one silently wins: what the author reads first is not what runs."
    fix = "Remove the members without effect, unless their position decides an order that the agent sees."
    fix_safety = "safe"

    def examples(self) -> Iterator[Example]:
        yield Example(
            _text('"name": "Example workflow"', '"name": "Old name",\n  "name": "Example workflow"'), _text(), _text()
        )


class JsonTooDeep(WorkflowRule):
    code = "SY011"
    name = "json-too-deep"
    severity = Severity.ERROR
    origin = "product"
    summary = f"Values are nested more than {MAX_DEPTH} levels deep."
    why = "No workflow needs that, and tools that read it recursively run out of stack; the engine does a bit later."

    def examples(self) -> Iterator[Example]:
        yield Example(_text('"equals": 3', f'"equals": {"[" * MAX_DEPTH}{"]" * MAX_DEPTH}'), _text())


class JsonRootNotObject(WorkflowRule):
    code = "SY012"
    name = "json-root-not-object"
    severity = Severity.ERROR
    origin = "load"
    summary = "The document is a list or a plain value instead of an object."
    why = "A file holds one workflow, which is an object. Several workflows need several files."

    def examples(self) -> Iterator[Example]:
        yield Example("[]\n", _text())


class NumberPrecisionLoss(WorkflowRule):
    code = "SY013"
    name = "number-precision-loss"
    severity = Severity.WARNING
    origin = "product"
    summary = "An integer has more digits than a double can represent."
    why = "The engine stores numbers as doubles. It compares and hashes the nearest one, not this one."
    fix = "Write the value that the engine uses."
    fix_safety = "unsafe"
    needs = frozenset({ODD_NUMBERS})

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.document.odd_numbers

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for number in workflow.document.numbers():
            if loses_precision(number):
                used = js.number_text(number.value)
                fix = unsafe(f"write {used}", Respell(number.start, number.end, used))
                message = f"{_shown(number)} can't be represented exactly; the engine uses {used}"
                report(number.pointer, message, fix=fix)

    def examples(self) -> Iterator[Example]:
        exact = _text('"equals": 3', '"equals": 9007199254740992')
        yield Example(_text('"equals": 3', '"equals": 9007199254740993'), exact, exact)


class NumberNotFinite(WorkflowRule):
    code = "SY014"
    name = "number-not-finite"
    severity = Severity.ERROR
    origin = "runtime"
    summary = "A number is too large for a double and becomes infinity."
    why = "Infinity has no canonical form, so the workflow can't be hashed and a run can't be pinned to it."
    needs = frozenset({ODD_NUMBERS})

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.document.odd_numbers

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        # Where a number is expected the schema already rejects infinity.
        rejected = {finding.pointer for finding in workflow.found if finding.phase is Phase.SCHEMA}
        for number in workflow.document.numbers():
            if math.isinf(number.value) and number.pointer not in rejected:
                message = f"{_shown(number)} is too large for a double, so the workflow can't be hashed; reduce it"
                report(number.pointer, message)

    def examples(self) -> Iterator[Example]:
        yield Example(_text('"equals": 3', '"equals": 1e400'), _text('"equals": 3', '"equals": 1e+40'))


class NumberNoncanonical(WorkflowRule):
    code = "SY015"
    name = "number-noncanonical"
    severity = Severity.INFO
    origin = "product"
    summary = "A number is not in its canonical form."
    why = "The same value in two spellings looks like a change in reviews and hides that the hashes are equal."
    fix = "Write the canonical spelling."
    fix_safety = "safe"
    needs = frozenset({ODD_NUMBERS})

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

    def examples(self) -> Iterator[Example]:
        plain = _text('"equals": 3', '"equals": 1000')
        yield Example(_text('"equals": 3', '"equals": 1e3'), plain, plain)


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
