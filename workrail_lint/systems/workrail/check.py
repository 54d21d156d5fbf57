"""One workflow document through all phases: read, schema, structure, compile, lint.

The reference engine stops at the first phase that fails; here every phase that can still report something true
does, and what two phases report alike is reported once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Ok
from workrail_lint.documents.json_reader import MANY_PROBLEMS, JsonDocument, read_json
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.rules.base import Rule
from workrail_lint.rules.locate import reader_finding
from workrail_lint.systems.workrail.compat import Normalized, Policy, normalize
from workrail_lint.systems.workrail.compiler.compiled import (
    CompiledWorkflow,
    Passed,
    compile_definition,
    compile_errors,
    prevents_compiling,
    run_passes,
)
from workrail_lint.systems.workrail.model.build import workflow_model, workflow_validator
from workrail_lint.systems.workrail.model.workflow import Workflow
from workrail_lint.systems.workrail.project_bindings import project_overrides
from workrail_lint.systems.workrail.rules import RULES
from workrail_lint.systems.workrail.settings import REJECT, Settings
from workrail_lint.systems.workrail.structural import ir_only_findings, start_findings, structural_findings

# Read problems that the engine does not mind: it replaces bad bytes, keeps the last of repeated members, and
# reads a large file that is asked for by name.
_READ_ON = ("json-invalid-utf8", "json-duplicate-key", "file-too-large")
# What a later phase says again about the same place, in other words.
_SAID_BEFORE = {
    "id-duplicate": ("id-duplicate", "id-duplicate"),
    "loop-nested": ("loop-body-reference-invalid", "loop-nested"),
    "loop-body-reference-invalid": ("loop-body-empty", "loop-body-reference-invalid"),
    "assessment-ref-unknown": ("assessment-ref-unknown",),
    "binding-slot-undeclared": ("binding-no-extension-points",),
    "token-unresolved": ("binding-no-extension-points", "binding-slot-undeclared", "token-unresolved"),
}


_EXPANDED_ID = Pattern(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+\Z")
# One rule speaks for every construct of the design form; the construct's own code is in the details.
_DESIGN_FORM = "design-form-construct"


class CheckedDocument:
    """A document after all phases of the check."""

    __slots__ = (
        "compiled",
        "document",
        "findings",
        "model",
        "pointer_map",
        "workflow",
    )

    def __init__(self, document: JsonDocument) -> None:
        self.document = document
        self.workflow: Workflow | None = None  # None for what is no object
        self.pointer_map: Callable[[str], str] = str  # from places in the workflow to those in the document
        self.model: Workflow | None = None  # the workflow, if it compiles
        self.compiled: CompiledWorkflow | None = None
        self.findings: list[Finding] = []

    @property
    def definition(self) -> dict[str, Any] | None:
        """The workflow in the shipping form, if it compiles."""
        return None if self.model is None else self.model.raw


# The last phase: takes the document, its normalized form, its model, the refused constructs of the design form and all
# other findings so far; returns what the rules find.
Lint: TypeAlias = "Callable[[CheckedDocument, Normalized, Workflow, list[Finding], list[Finding]], list[Finding]]"


def check_document(
    data: bytes | str | JsonDocument,
    path: str,
    settings: Settings,
    lint: Lint | None,
    *,
    extra_describing: tuple[Rule, ...] = (),
) -> CheckedDocument:
    """Run the phases. Without `lint` only the errors of reading, schema, structure and compiling are found.

    `extra_describing` are the rules of plugins that describe violations of the schema.
    """
    document = data if isinstance(data, JsonDocument) else read_json(data, parity=settings.parity)
    checked = CheckedDocument(document)
    findings = [reader_finding(problem, document.source, RULES.by_name[problem.name]) for problem in document.problems]
    if document.readable and isinstance(document.value, dict):
        findings += _check_definition(checked, document.value, path, settings, lint, extra_describing)
    elif document.readable:
        findings.append(_finding("json-syntax", "", "the document must be a JSON object", Phase.READ))
    checked.findings = _with_rule_facts(findings, settings)
    return checked


def _check_definition(
    checked: CheckedDocument,
    value: dict[str, Any],
    path: str,
    settings: Settings,
    lint: Lint | None,
    extra_describing: tuple[Rule, ...],
) -> list[Finding]:
    normalized = normalize(value, Policy(settings.policy))
    definition: dict[str, Any] = normalized.document
    everywhere = workflow_validator().violations(definition)
    refused_there = everywhere
    release = settings.release if settings.engine else None
    if release is not None:
        refused_there = release.still_refused(definition, everywhere)
    # What normalization already refused, the schema would only say again.
    violations = [
        violation
        for violation in refused_there
        if not normalized.is_refused(normalized.pointer_map(violation.pointer))
        and not (settings.pinned and _is_expanded_id(violation))
    ]
    findings: list[Finding] = []
    if violations:
        from workrail_lint.systems.workrail import schema_findings as schema  # only a document with errors pays for it

        # People can use some of the findings at a time; a fix needs all of them.
        most = MANY_PROBLEMS if settings.options.get("fixing") else schema.MAX_FINDINGS
        findings = schema.schema_findings(violations, definition, most, extra_describing)
    checked.workflow = model = workflow_model(definition, everywhere, violations)
    checked.pointer_map = normalized.pointer_map
    if settings.engine or settings.parity:
        findings += ir_only_findings(model)
    findings += structural_findings(model)
    is_clean = not (everywhere or findings or checked.document.problems) and definition is value
    compiled, errors = _compile(model, settings, normalized, checked.document, path, is_clean=is_clean)
    start = start_findings(model, engine=settings.engine or settings.parity)
    findings = _without_repeats(findings + errors + start)
    if release is not None:
        findings = release.findings(model, everywhere, findings)
    # These speak of the document as it was written. Where the design form is refused outright, the schema does.
    refused = [] if settings.policy == REJECT else list(normalized.errors)
    if not refused and not any(_prevents_compiling(finding) for finding in findings):
        checked.model, checked.compiled = model, compiled
    if lint is not None:
        findings = findings + lint(checked, normalized, model, refused, findings)
    if normalized.document is not value:
        for finding in findings:
            if not finding.details.get("original"):
                _map_back(finding, normalized)
    return refused + findings


def _is_expanded_id(violation: Violation) -> bool:
    """Return whether the violation is only about the id of an expanded step, such as `smoke.start`."""
    is_step_id = violation.shape.endswith("Step") and violation.pointer.endswith("/id")
    return is_step_id and isinstance(violation.value, str) and _EXPANDED_ID.match(violation.value) is not None


def _prevents_compiling(finding: Finding) -> bool:
    """Return whether a finding means that there is no compiled workflow; one that can't be started still is one."""
    return finding.severity is Severity.ERROR and finding.phase is not Phase.START and prevents_compiling(finding)


def engine_errors(document: JsonDocument, path: str, settings: Settings) -> list[Finding]:
    """Return why the public engine refuses a document, with places; none when it accepts it."""
    return _located_errors(check_document(document, path, settings.under_parity(), None).findings, document, path)


def _errors_of_engine_alone(workflow: Workflow, settings: Settings, passed: Passed) -> list[Finding]:
    """Return why the public engine refuses a workflow in which neither schema, structure nor passes find anything."""
    findings = ir_only_findings(workflow)
    overrides = project_overrides(settings.bindings, workflow.id)
    findings += compile_errors(workflow, settings.catalog, overrides, passed, settings.release)
    findings += start_findings(workflow)
    if settings.release is not None:
        findings = settings.release.findings(workflow, [], findings)
    return _with_rule_facts(findings, settings.under_parity()) if findings else []


def _located_errors(findings: list[Finding], document: JsonDocument, path: str) -> list[Finding]:
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    for finding in errors:
        finding.path = path
        if finding.span is None:
            finding.span = document.locate(finding.pointer, finding.on_name)
    return errors


def _map_back(finding: Finding, normalized: Normalized) -> None:
    """From the normalized document to the one on disk; a fix whose place moved can't be applied there."""
    if finding.fix is not None:
        places = [getattr(operation, "pointer", None) for operation in finding.fix.operations]
        if any(place is not None and normalized.pointer_map(place) != place for place in places):
            finding.fix = None
    finding.pointer = normalized.pointer_map(finding.pointer)


def _compile(
    model: Workflow, settings: Settings, normalized: Normalized, document: JsonDocument, path: str, *, is_clean: bool
) -> tuple[CompiledWorkflow | None, list[Finding]]:
    """Return the compiled workflow, if there is one, and the errors; `is_clean`: nothing was found in it before."""
    overrides = project_overrides(settings.bindings, model.id)
    passed = run_passes(model, settings.catalog, overrides, release=settings.release)
    errors = compile_errors(model, settings.catalog, overrides, passed, settings.release) if settings.engine else []
    # What found nothing need not run again for the engine.
    is_clean = is_clean and not (passed.resolve_errors or passed.index_errors)

    def find_engine_errors() -> list[Finding]:
        if is_clean:
            return _located_errors(_errors_of_engine_alone(model, settings, passed), document, path)
        return engine_errors(document, path, settings)

    result = compile_definition(
        model,
        settings.catalog,
        overrides,
        side=normalized.side,
        warnings=[(warning.code, warning.pointer) for warning in normalized.warnings],
        normalized=normalized.step_codes,
        find_engine_errors=find_engine_errors,
        plain_source=lambda: document.is_plain,
        passed=passed,
        release=settings.release,
    )
    if isinstance(result, Ok):
        return result.value, errors + result.value.remarks
    return None, errors + result.error


def _without_repeats(findings: list[Finding]) -> list[Finding]:
    """Return the findings without repeats: the earlier phase reports, a later one may add that the engine refuses it.

    Two different messages of one phase about one place are two findings, such as two missing members.
    """
    reported: dict[tuple[str, str], Finding] = {}
    places: dict[str, set[str]] = {}
    result: list[Finding] = []
    for finding in findings:
        earlier = reported.get((finding.name, finding.pointer))
        is_another = earlier is not None and earlier.phase is finding.phase and earlier.message != finding.message
        if earlier is None:
            names = places.get(finding.pointer, set())
            covering = [reported[name, finding.pointer] for name in _SAID_BEFORE.get(finding.name, ()) if name in names]
            if finding.phase is Phase.COMPILE:
                there = [reported[name, finding.pointer] for name in names]
                covering += [other for other in there if other.phase is Phase.SCHEMA]
            earlier = covering[0] if covering else None
        if earlier is not None and not is_another:
            if finding.details.get("engine"):
                earlier.details["engine"] = True
            continue
        reported[finding.name, finding.pointer] = finding
        places.setdefault(finding.pointer, set()).add(finding.name)
        result.append(finding)
    return result


def _with_rule_facts(findings: list[Finding], settings: Settings) -> list[Finding]:
    """Codes and severities from the rules; under parity an error is what the engine rejects, nothing else."""
    if not findings:
        return findings
    for finding in findings:
        if finding.name.startswith("compat-"):
            finding.details["compat"] = finding.name
            finding.name = _DESIGN_FORM
        if settings.parity and not _engine_rejects(finding):
            cap_at_warning(finding)
        rule = RULES.by_name.get(finding.name)
        if rule is None and finding.phase in (Phase.LINT, Phase.SCHEMA):
            continue  # a plugin's rule, which spoke for itself
        assert rule is not None, finding
        if finding.code != rule.code:
            finding.details["compileCode"] = finding.code
            finding.code = rule.code
    return findings


def cap_at_warning(finding: Finding) -> None:
    """Make of a finding a warning at most, whatever a project would like."""
    finding.details["atMost"] = Severity.WARNING.value
    if finding.severity is Severity.ERROR:
        finding.severity = Severity.WARNING


def _engine_rejects(finding: Finding) -> bool:
    if finding.phase is Phase.READ:
        return bool(finding.details.get("blocking", True)) and finding.name not in _READ_ON
    return bool(finding.details.get("engine"))


def _finding(name: str, pointer: str, message: str, phase: Phase) -> Finding:
    rule = RULES.by_name[name]
    return Finding(rule.code, name, rule.severity, message, pointer, phase=phase)
