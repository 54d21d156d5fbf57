"""SY: the file and its JSON, before anything is known about workflows.

The reader finds what is wrong with the text; only the rules about numbers look again, at how each is spelled.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from workrail_lint.base import js
from workrail_lint.documents.json_reader import MAX_BYTES, MAX_DEPTH
from workrail_lint.documents.operations import Respell
from workrail_lint.findings import Phase, Severity
from workrail_lint.findings.fix import safe, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import Workflow, WorkflowRule

if TYPE_CHECKING:
    from workrail_lint.documents.json_reader import NumberLexeme

_LONGEST_SHOWN = 40


def _text(old: str = "", new: str = "") -> str:
    """A valid workflow as text, one stretch of it replaced by another that need not be JSON."""
    condition = {"var": "round", "equals": 3}
    text = json.dumps(samples.workflow(samples.step(), samples.step("last-step", runCondition=condition)), indent=2)
    return text.replace(old, new) + "\n"


class FileNotReadable(WorkflowRule):
    code = "SY001"
    name = "file-not-readable"
    severity = Severity.ERROR
    origin = "load"
    summary = "The file does not exist, is no regular file, or can't be read."
    why = "The engine skips a file that it can't read without a word, and the workflow is missing at run time."

    def examples(self) -> Iterator[Example]:
        yield Example(_text(), _text(), options={"missing": True})


class FileTooLarge(WorkflowRule):
    code = "SY002"
    name = "file-too-large"
    severity = Severity.ERROR
    origin = "load"
    summary = f"The file has more than {MAX_BYTES:,} bytes."
    why = "Discovery leaves larger files out silently, so that the workflow can't be found by its id."

    def examples(self) -> Iterator[Example]:
        yield Example(_text() + " " * MAX_BYTES, _text())


class FileEmpty(WorkflowRule):
    code = "SY003"
    name = "file-empty"
    severity = Severity.ERROR
    origin = "load"
    summary = "The file holds nothing but white space."
    why = "There is no workflow in it; usually an editor or a script was interrupted while it wrote the file."

    def examples(self) -> Iterator[Example]:
        yield Example(" \n", _text())


class JsonSyntax(WorkflowRule):
    code = "SY004"
    name = "json-syntax"
    severity = Severity.ERROR
    origin = "load"
    summary = "The text breaks JSON's grammar."
    why = "Nothing in a file that is not JSON can be used. The message says what was expected where."

    def examples(self) -> Iterator[Example]:
        yield Example(_text('"demo.example"', "demo"), _text())


class JsonBom(WorkflowRule):
    code = "SY005"
    name = "json-bom"
    severity = Severity.ERROR
    origin = "load"
    summary = "The file starts with a byte order mark (U+FEFF)."
    why = "JSON must not start with one, and the engine refuses the file for an error that no editor shows."
    fix = "Remove the mark."
    fix_safety = "safe"

    def examples(self) -> Iterator[Example]:
        yield Example("\ufeff" + _text(), _text(), _text())


class JsonInvalidUtf8(WorkflowRule):
    code = "SY006"
    name = "json-invalid-utf8"
    severity = Severity.ERROR
    origin = "product"
    summary = "The bytes of the file are not UTF-8."
    why = "The engine replaces what it can't decode by U+FFFD and goes on, so that an agent reads a damaged prompt."

    def examples(self) -> Iterator[Example]:
        yield Example(_text().encode().replace(b"A step", b"A st\xffep"), _text())


class JsonComment(WorkflowRule):
    code = "SY007"
    name = "json-comment"
    severity = Severity.ERROR
    origin = "load"
    summary = "The text holds a comment."
    why = "JSON has no comments; the engine refuses the whole file for one."
    fix = "Remove the comment, unless two words or numbers would become one."
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
    summary = "A comma stands before a closing bracket."
    why = "JSON separates by commas and ends by brackets; the engine refuses the whole file for one comma too many."
    fix = "Remove the comma."
    fix_safety = "safe"

    def examples(self) -> Iterator[Example]:
        yield Example(_text('"equals": 3', '"equals": 3,'), _text(), _text())


class JsonNonFiniteLiteral(WorkflowRule):
    code = "SY009"
    name = "json-non-finite-literal"
    severity = Severity.ERROR
    origin = "load"
    summary = "NaN or Infinity stands where JSON has no such value."
    why = "JSON knows finite numbers only. Some serializers write these words all the same; the engine refuses them."

    def examples(self) -> Iterator[Example]:
        yield Example(_text('"equals": 3', '"equals": NaN'), _text())


class JsonDuplicateKey(WorkflowRule):
    code = "SY010"
    name = "json-duplicate-key"
    severity = Severity.ERROR
    origin = "product"
    summary = "An object has two members with one name."
    why = "The last one wins silently: what the author reads first is not what runs."
    fix = "Remove the members that lose. None is offered where their place decides an order an agent sees."
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
    summary = f"Values nest deeper than {MAX_DEPTH} levels."
    why = "No workflow needs that, and tools that read it by recursion run out of stack; the engine does, a bit later."

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
    summary = "A whole number has more digits than a double can hold."
    why = "Numbers are doubles in the engine. It compares and hashes the nearest one it can represent, not this one."
    fix = "Write the value that is really used."
    fix_safety = "unsafe"

    def applies(self, workflow: Workflow) -> bool:
        return workflow.document.odd_numbers

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        for number in workflow.document.numbers():
            if loses_precision(number):
                used = js.number_text(number.value)
                fix = unsafe(f"write {used}", Respell(number.start, number.end, used))
                report(number.pointer, f"{_shown(number)} can't be held exactly; {used} is used instead", fix=fix)

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

    def applies(self, workflow: Workflow) -> bool:
        return workflow.document.odd_numbers

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        # Where a number is expected the schema refuses infinity already.
        refused = {finding.pointer for finding in workflow.found if finding.phase is Phase.SCHEMA}
        for number in workflow.document.numbers():
            if math.isinf(number.value) and number.pointer not in refused:
                report(number.pointer, f"{_shown(number)} is too large for a double; the workflow has no hash")

    def examples(self) -> Iterator[Example]:
        yield Example(_text('"equals": 3', '"equals": 1e400'), _text('"equals": 3', '"equals": 1e+40'))


class NumberNoncanonical(WorkflowRule):
    code = "SY015"
    name = "number-noncanonical"
    severity = Severity.INFO
    origin = "product"
    summary = "A number is not spelled the way its canonical form is."
    why = "The same value in two spellings looks like a difference in reviews and hides that the hashes are equal."
    fix = "Write the canonical spelling."
    fix_safety = "safe"

    def applies(self, workflow: Workflow) -> bool:
        return workflow.document.odd_numbers

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        for number in workflow.document.numbers():
            if math.isinf(number.value) or loses_precision(number):
                continue
            canonical = js.number_text(number.value)
            if canonical != number.lexeme:
                fix = safe(f"write {canonical}", Respell(number.start, number.end, canonical))
                report(number.pointer, f"{_shown(number)} is written {canonical} in canonical JSON", fix=fix)

    def examples(self) -> Iterator[Example]:
        plain = _text('"equals": 3', '"equals": 1000')
        yield Example(_text('"equals": 3', '"equals": 1e3'), plain, plain)


def loses_precision(number: NumberLexeme) -> bool:
    """Whether a whole number is not the double it reads as. A fraction is rounded by everybody's leave.

    The canonical spelling of a large double is rounded too, and there is no better one to write.
    """
    lexeme = number.lexeme
    if len(lexeme) < 16 or not lexeme.lstrip("-").isdigit() or math.isinf(number.value):
        return False
    return int(lexeme) != int(number.value) and js.number_text(number.value) != lexeme


def _shown(number: NumberLexeme) -> str:
    lexeme = number.lexeme
    return lexeme if len(lexeme) <= _LONGEST_SHOWN else f"{lexeme[: _LONGEST_SHOWN - 1]}…"
