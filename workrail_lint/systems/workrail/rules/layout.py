"""LC: the formatting of the file. It does not change what a workflow means."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial

from workrail_lint.documents.json_format import formatted, layout_problem
from workrail_lint.documents.json_reader import JsonDocument
from workrail_lint.documents.operations import Respell
from workrail_lint.findings import Fix, Safety, Severity, safe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.facts import CARRIAGE_RETURN


class LineEndings(WorkflowRule):
    code = "LC018"
    name = "line-endings"
    severity = Severity.INFO
    origin = "product"
    summary = "Lines end with CR LF or CR instead of LF, or with a mixture."
    why = "If an editor converts the line endings, every line changes, and a one-word edit looks like a rewrite."
    fix = "End every line with LF."
    fix_safety = "safe"
    needs = frozenset({CARRIAGE_RETURN})

    def applies(self, workflow: WorkflowContext) -> bool:
        return "\r" in workflow.document.text

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        text = workflow.document.text
        pairs, feeds, returns = text.count("\r\n"), text.count("\n"), text.count("\r")
        kind = "CR LF" if pairs == feeds == returns else "CR" if not feeds else "a mixture of CR and LF"
        # JSON strings contain no raw line breaks, so all of them are between values.
        plain = text.replace("\r\n", "\n").replace("\r", "\n")
        report("", f"lines end with {kind} instead of LF", fix=safe("end lines with LF", Respell(0, len(text), plain)))

    def examples(self) -> Iterator[Example]:
        yield Example(_text().replace("\n", "\r\n"), _text(), _text())


class FormatNoncanonical(WorkflowRule):
    code = "LC019"
    name = "format-noncanonical"
    severity = Severity.INFO
    origin = "product"
    summary = "The file is not formatted with two spaces per level, one item per line and a final newline."
    why = (
        "A single format keeps diffs small and reviews about content. Short lists and objects may stay on one line; "
        "the order of fields, escapes and numbers is not changed."
    )
    fix = "Format the file."
    fix_safety = "safe"

    def applies(self, workflow: WorkflowContext) -> bool:
        return not workflow.document.problems

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        text = workflow.document.text
        line = None if self._is_as_written(workflow.document) else layout_problem(text)
        workflow.document.is_laid_out = line is None and "\r" not in text
        if line is not None:
            fix = Fix("format the file", Safety.SAFE, lambda: (Respell(0, len(text), formatted(text)),))
            report("", self._message(text, line), fix=fix)

    def _is_as_written(self, document: JsonDocument) -> bool:
        """Return whether the file is exactly what an encoder writes. Importing one pays off only for many files."""
        global _checked, _encode
        if _encode is None:
            _checked += 1
            if _checked < _WORTH_AN_IMPORT and "orjson" not in sys.modules:
                return False
            import orjson

            _encode = partial(orjson.dumps, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        try:
            written, data = _encode(document.value), document.source.data
            # Other encoders and authors escape some of what is not ASCII, or all.
            return written == data or (
                b"\\u" in data and self._in_ascii(written.decode()) == self._in_ascii(document.text)
            )
        except TypeError:
            return False  # a number or a character that it can't write

    @staticmethod
    def _in_ascii(text: str) -> bytes:
        return text.encode("ascii", "backslashreplace")

    @staticmethod
    def _message(text: str, line: int) -> str:
        if not text.endswith("\n"):
            return "the file does not end with a newline"
        return f"line {line} is not formatted with two spaces per level and one item per line"

    def examples(self) -> Iterator[Example]:
        document = samples.workflow()
        yield Example(json.dumps(document), _text(), _text())


_WORTH_AN_IMPORT = 300
_checked = 0
_encode: Callable[[object], bytes] | None = None


def _text() -> str:
    return json.dumps(samples.workflow(), indent=2) + "\n"
