"""The source texts of findings, read again when a part of them is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err
from workrail_lint.documents.json_reader import JsonDocument, read_json, text_of
from workrail_lint.documents.source_text import SourceText
from workrail_lint.findings import Finding
from workrail_lint.report.data import Edits, Reported

if TYPE_CHECKING:
    from workrail_lint.documents.json_edit import Editor

# Findings are ordered by file, so few texts are needed at a time.
_KEPT = 4


class Sources:
    """Gives `ReportData` the text of a path, and findings the edits of their fixes.

    `given` holds texts that are not those on disk, such as the one on standard input; with `disk` false there are
    no others.
    """

    def __init__(self, given: Mapping[str, bytes] | None = None, *, disk: bool = True) -> None:
        self._given = given or {}
        self._disk = disk
        self._texts: dict[str, SourceText | None] = {}
        self._documents: dict[str, JsonDocument | None] = {}
        self._editors: dict[str, Editor] = {}  # of those documents that have fixes to show

    def __call__(self, path: str) -> SourceText | None:
        if path in self._documents:
            document = self._documents[path]
            return None if document is None else document.source
        if path not in self._texts:
            if len(self._texts) >= _KEPT:
                del self._texts[next(iter(self._texts))]

            data = self._read(path)
            self._texts[path] = None if data is None else SourceText(text_of(data))
        return self._texts[path]

    def document(self, path: str) -> JsonDocument | None:
        if path not in self._documents:
            if len(self._documents) >= _KEPT:
                oldest = next(iter(self._documents))
                del self._documents[oldest]
                self._editors.pop(oldest, None)

            data = self._read(path)
            self._documents[path] = None if data is None else read_json(data, parity=True, max_bytes=None)
        return self._documents[path]

    def _read(self, path: str) -> bytes | None:
        data = self._given.get(path)
        if data is None:
            if not self._disk:
                return None
            read = read_file(path)
            if isinstance(read, Err):
                return None
            data = read.value
        return data

    def reported(self, findings: Iterable[Finding], reasons: Mapping[int, str] | None = None) -> list[Reported]:
        """Findings ready for a report; `reasons` are those of suppressions, by the identity of the finding."""
        return [Reported(finding, self.edits, (reasons or {}).get(id(finding))) for finding in findings]

    def edits(self, finding: Finding) -> Edits:
        """Return what the fix of a finding changes in the text; nothing when there is no fix or it can't be applied."""
        document = self.document(finding.path) if finding.fix is not None else None
        if document is None or finding.fix is None:
            return ()
        if finding.path not in self._editors:
            from workrail_lint.documents.json_edit import Editor  # only fixes that are shown need it

            self._editors[finding.path] = Editor(document)
        return self._editors[finding.path].edits(finding.fix)
