"""The block system: which files are its documents, and how each kind is checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import JsonDocument, read_json
from workrail_lint.findings import Finding, Severity, by_path
from workrail_lint.rules.locate import locate
from workrail_lint.systems.base import Compiled, FileResult, Picture, RunSettings, System
from workrail_lint.systems.blocks import documents
from workrail_lint.systems.blocks.check import check_document, check_unit, read_document, unusable
from workrail_lint.systems.blocks.documents import SUFFIXES, BlockKind, kind_by_name
from workrail_lint.systems.blocks.ir import compile_definition
from workrail_lint.systems.blocks.options import block_options
from workrail_lint.systems.blocks.plan import make_plan
from workrail_lint.systems.blocks.rules import RULES
from workrail_lint.systems.blocks.unit_files import links, lone_units, prompt_text, regular_bytes, units_on_disk
from workrail_lint.systems.blocks.units import Unit, record_of


class BlockSystem(System):
    """Studio definitions, outputs of blocks, and what is recorded beside them."""

    name = "blocks"
    table = RULES
    suffixes = SUFFIXES

    def may_claim(self, path: str) -> bool:
        return documents.may_claim(path)

    def claims(self, path: str, data: bytes, named: bool) -> str | None:
        return documents.claims(path, data, named)

    def check(self, path: str, data: bytes | str, kind: str, settings: RunSettings) -> FileResult:
        return self._checked(path, data, kind, settings, alone=False)

    def check_data(self, path: str, data: bytes | str, kind: str, settings: RunSettings) -> FileResult:
        """Check a text in memory, which is its whole unit."""
        return self._checked(path, data, kind, settings, alone=True)

    def _checked(self, path: str, data: bytes | str, kind: str, settings: RunSettings, *, alone: bool) -> FileResult:
        options = block_options(settings.options)
        document = read_document(path, data, BlockKind(kind), options)
        value = document.document.value if document.document.readable else None
        record = record_of(document.kind, value)
        findings = check_document(document)
        if alone:
            findings += check_unit(Unit({path: record}, options))
        _span_whole_text(findings, document.document, document.kind)
        locate(findings, document.document, path, value=value, fingerprints=settings.fingerprints)
        return FileResult(findings, record)

    def compile(self, path: str, data: bytes, kind: str, settings: RunSettings) -> Ok[Compiled] | Err[list[Finding]]:
        """Return the plan of a definition and the prompts of its blocks, or what is wrong with it."""
        findings = self.check_data(path, data, kind, settings).findings
        errors = [each for each in findings if each.severity is Severity.ERROR]
        if errors:
            return Err(errors)
        value: Any = read_json(data).value
        compiled = compile_definition(value, options=block_options(settings.options))
        # What a lenient project is only warned of can still leave a definition without an order.
        return Err(findings) if isinstance(compiled, Err) else Ok(Compiled(value["id"], compiled.value))

    def picture(self, path: str, data: bytes, kind: str, settings: RunSettings) -> Ok[Picture] | Err[list[Finding]]:
        """Return the plan of a definition as a drawing, or what is wrong with it."""
        from workrail_lint.systems.blocks.picture import picture  # a check draws nothing

        checked = self.check_data(path, data, kind, settings).findings
        errors = [each for each in checked if each.severity is Severity.ERROR]
        definition = read_document(path, data, BlockKind(kind), block_options(settings.options)).definition
        plan = make_plan(definition)
        if errors or isinstance(plan, Err) or not plan.value.entries:
            return Err(errors or checked)
        return Ok(picture(definition, plan.value))

    def cross_check(self, records: Mapping[str, object], settings: RunSettings, complete: bool) -> list[Finding]:
        """Return the findings about a unit as a whole; files named on the command line are checked alone."""
        options = block_options(settings.options)
        own = {path: record for path, record in records.items() if isinstance(record, dict)}
        units: list[Unit] = list((units_on_disk if complete else lone_units)(own, options))
        findings = [finding for unit in units for finding in check_unit(unit)]
        findings += unusable(links(own), "an output must be a regular file, not a symlink")
        if options.workflow is not None and regular_bytes(options.workflow) is None:
            findings += unusable([options.workflow], "the definition in the setting block-workflow can't be read")
        _locate(findings)
        return findings


def _locate(findings: list[Finding]) -> None:
    """Findings made without the text get their spans from the file; one that can't be read has none to give."""
    for path, own in by_path(findings).items():
        document = _document(path)
        if document is not None:
            _span_whole_text(own, document, kind_by_name(path))
            locate(own, document, path, value=document.value)


def _span_whole_text(findings: list[Finding], document: JsonDocument, kind: BlockKind | None) -> None:
    """Point the findings at the whole text: a prompt has no positions that a pointer could name."""
    if kind is BlockKind.PROMPT:
        for finding in findings:
            finding.span = document.source.span(0, len(document.text))


def _document(path: str) -> JsonDocument | None:
    data = regular_bytes(path)
    if data is None:
        return None
    if kind_by_name(path) is BlockKind.PROMPT:
        return JsonDocument(prompt_text(data) or "")
    return read_json(data) if path.endswith(".json") else None
